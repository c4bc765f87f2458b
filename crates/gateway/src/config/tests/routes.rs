//! Aliases and prices: what a name leads to, and what it costs.

use super::*;

const PROVIDERS: &str = "\
providers:
  one: {kind: openai, base_url: \"https://a.b\", models: [big, small], weight: 2}
  two: {kind: openai, base_url: \"https://a.b\", models: {big: {price_micros: 70}, mid: }}
  all: {kind: openai, base_url: \"https://a.b\", discover: true}
";
/// The line after the providers.
const NEXT: usize = 5;

fn with(text: &str) -> String {
    format!("{PROVIDERS}{text}")
}

/// What an alias leads to, as words: groups separated by commas, weights after `*`.
fn way(config: &Config, name: &str) -> String {
    let alias = config.alias(name).unwrap_or_else(|| panic!("there is no {name}"));
    let group = |targets: &Vec<Target>| {
        let targets: Vec<_> = targets
            .iter()
            .map(|target| format!("{}/{}*{}", target.provider, target.model, target.weight))
            .collect();
        targets.join(" + ")
    };
    alias.groups.iter().map(group).collect::<Vec<_>>().join(", ")
}

#[test]
fn an_alias_has_one_several_or_weighted_targets() {
    let config = clean(&with(
        "models:
  plain: one/big
  ordered: [one/big, two/mid, all/org/anything]
  weighted: {targets: [{model: one/small, weight: 9}, {model: one/big}, {model: two/mid}]}
  priced: {targets: [two/big, one/big], price_micros: 5, description: Both, context_length: 10}
  single: {targets: two/big}
  nested: [weighted, plain, two/big, one/big]
  vendor/name: plain
",
    ));
    assert_eq!(way(&config, "plain"), "one/big*2");
    assert_eq!(way(&config, "ordered"), "one/big*2, two/mid*1, all/org/anything*1");
    assert_eq!(way(&config, "weighted"), "one/small*9 + one/big*2 + two/mid*1");
    assert_eq!(way(&config, "priced"), "two/big*1, one/big*2");
    assert_eq!(way(&config, "single"), "two/big*1");
    assert_eq!(way(&config, "nested"), "one/small*9 + one/big*2 + two/mid*1, two/big*1");
    assert_eq!(way(&config, "vendor/name"), "one/big*2");
    let priced = config.alias("priced").unwrap();
    assert_eq!(priced.price_micros, Some(5));
    assert_eq!(priced.description.as_deref(), Some("Both"));
    assert_eq!(priced.context_length, Some(10));
}

#[test]
fn an_alias_must_have_existing_targets() {
    refused(
        &with(
            "models:
  a: three/big
  b: one/bigg
  c: big
  d: [one/big, two/]
  e: {targets: [{model: nowhere}, {model: all/x}]}
  f: zzz/y
",
        ),
        &[
            "error 6:6: models.a: `three/big` names an unknown provider (known providers: \
             `one`, `two`, `all`)",
            "error 7:6: models.b: `one/bigg` names a model that its provider does not list (did \
             you mean `one/big`?)",
            "error 8:6: models.c: `big` is not an alias or a full id `<provider>/<model>` (did you \
             mean `one/big`?)",
            "error 9:16: models.d[1]: `two/` names a model that its provider does not list (did \
             you mean `two/mid`?)",
            "error 10:25: models.e.targets[0].model: `nowhere` is not an alias or a full id \
             `<provider>/<model>` (known providers: `one`, `two`, `all`)",
            "error 11:6: models.f: `zzz/y` names an unknown provider (known providers: \
             `one`, `two`, `all`)",
        ],
    );
    refused(
        "models: {a: x/y}",
        &["error 1:13: models.a: `x/y` names an unknown provider (no `providers` are configured)"],
    );
}

#[test]
fn alias_cycles_are_rejected() {
    refused(
        &with("models:\n  a: b\n  b: [one/big, c]\n  c: {targets: [{model: a}]}\n  d: a\n"),
        &["error 8:25: models.c.targets[0].model: the aliases form a cycle: a → b → c → a (make \
             one of them name a model)"],
    );
    refused(
        &with("models: {a: a}"),
        &["error 5:13: models.a: the aliases form a cycle: a → a (make one of them name a model)"],
    );
}

#[test]
fn an_alias_cannot_hide_a_provider_model() {
    refused(
        &with("models: {one/big: two/big}"),
        &["error 5:10: models.one/big: starts with the name of the provider `one` and would hide \
           its model (choose another name)"],
    );
}

#[test]
fn a_weighted_target_is_a_single_model() {
    refused(
        &with(
            "models:
  several: [one/big, two/big]
  a: {targets: [{model: several, weight: 1}]}
  b: {targets: [{model: one/big, weight: 0}, {weight: 2}, {model: one/big, wieght: 2}]}
  c: {targets: [one/big, {model: two/big}]}
  d: {price_micros: -1}
  e: []
  f: [one/big, one/big]
  g: 5
  h: {targets: [{model: one/big}], prize: 1}
",
        ),
        &[
            "error 7:25: models.a.targets[0].model: `several` resolves to several models (a \
             weighted target must be a single model)",
            "error 8:42: models.b.targets[0].weight: must be a whole number from 1 to 1000000",
            "error 8:46: models.b.targets[1]: has no `model` (name a model as \
             `<provider>/<model>`)",
            "error 8:59: models.b.targets[2].model: `one/big` is named twice (remove one of them)",
            "error 8:76: models.b.targets[2].wieght: is not a known key (did you mean `weight`?)",
            "error 9:16: models.c.targets: mixes names and mappings in one list (use either names, \
             tried in order, or mappings with `model` and `weight`)",
            "error 10:3: models.d: has no `targets` (list the models of the alias)",
            "error 10:21: models.d.price_micros: must be a whole number of micro-credits, at least \
             0, found `-1` (1 credit is 1000000 micro-credits)",
            "error 11:6: models.e: must name 1 to 64 models",
            "error 12:16: models.f[1]: `one/big` is named twice (remove one of them)",
            "error 13:6: models.g: must be a model as `<provider>/<model>`, or an alias, found a \
             number",
            "error 14:36: models.h.prize: is not a known key (known keys: `targets`, \
             `price_micros`, `description`, `context_length`, `max_n`, `max_tokens`, \
             `max_message_bytes`, `max_images`)",
        ],
    );
}

#[test]
fn alias_names_have_plain_characters() {
    refused(
        &with("models: {\"a b\": one/big, \"\": one/big}"),
        &[
            "error 5:10: models.a b: the name of an alias must be 1 to 128 letters, digits and the \
             characters `._-/:*?`",
            "error 5:26: models.: the name of an alias must be 1 to 128 letters, digits and the \
             characters `._-/:*?`",
        ],
    );
}

#[test]
fn alias_names_have_a_maximum_length() {
    let named = |length: usize| with(&format!("models: {{{}: one/big}}", "n".repeat(length)));
    clean(&named(128));
    let long = "n".repeat(129);
    let expected = format!(
        "error 5:10: models.{long}: the name of an alias must be 1 to 128 letters, digits and the \
         characters `._-/:*?`"
    );
    refused(&named(129), &[&expected]);
}

#[test]
fn hints_list_a_limited_number_of_models() {
    let ids: Vec<_> = (0..9).map(|n| format!("m{n}")).collect();
    let text = |ids: &[String]| {
        format!(
            "providers: {{p: {{kind: openai, base_url: \"https://a.b\", models: [{}]}}}}\n\
             models: {{a: p/other}}",
            ids.join(", ")
        )
    };
    let missing = "error 2:13: models.a: `p/other` names a model that its provider does not list";
    let eight = "its models are `m0`, `m1`, `m2`, `m3`, `m4`, `m5`, `m6`, `m7`";
    refused(&text(&ids[..8]), &[&format!("{missing} ({eight})")]);
    refused(&text(&ids), &[&format!("{missing} ({eight}, …)")]);
}

#[test]
fn alias_limits_are_enforced() {
    let aliases = |count: usize| {
        let lines: Vec<_> = (0..count).map(|n| format!("  a{n}: one/big\n")).collect();
        with(&format!("models:\n{}", lines.concat()))
    };
    assert_eq!(clean(&aliases(MAX_ALIASES)).aliases.len(), MAX_ALIASES);
    let line = NEXT + 1;
    let expected = format!("error {line}:3: models: must be at most 1024 aliases");
    refused(&aliases(MAX_ALIASES + 1), &[&expected]);

    let targets = |count: usize| -> String {
        let ids: Vec<_> = (0..count).map(|n| format!("all/m{n}")).collect();
        format!("[{}]", ids.join(", "))
    };
    let config = clean(&with(&format!("models: {{a: {}}}", targets(MAX_TARGETS))));
    assert_eq!(config.aliases[0].groups.len(), MAX_TARGETS);
    refused(
        &with(&format!("models: {{a: {}}}", targets(MAX_TARGETS + 1))),
        &["error 5:13: models.a: must name 1 to 64 models"],
    );
    refused(
        &with(&format!("models:\n  a: {}\n  b: [a, one/big]\n", targets(MAX_TARGETS))),
        &["error 7:3: models.b: resolves to 65 models; at most 64 are allowed"],
    );

    let chain = |length: usize| {
        let lines: Vec<_> = (1..length).map(|n| format!("  a{n}: a{}\n", n - 1)).collect();
        let last = length - 1;
        with(&format!("models:\n  z: a{last}\n  a0: one/big\n{}", lines.concat()))
    };
    assert_eq!(way(&clean(&chain(15)), "z"), "one/big*2");
    refused(
        &chain(16),
        &["error 8:7: models.a1: more than 16 aliases are chained (name models instead of \
             aliases)"],
    );
}

#[test]
fn the_most_specific_price_applies() {
    let config = clean(&with(
        "models:
  own: {targets: [one/big], price_micros: 1}
  listed: one/big
  dearest: [one/small, one/big, two/big]
prices:
  default_micros: {chat: 10, models: 3}
  models: {one/big: 20, \"one/*\": 30, \"*\": 40, \"one/s*\": 50, listed: 60}
",
    ));
    for (name, price) in [
        ("own", 1),
        ("listed", 60),
        ("dearest", 70),
        ("one/big", 20),
        ("one/small", 50),
        ("two/big", 70),
        ("two/mid", 40),
        ("all/any", 40),
        ("", 10),
    ] {
        assert_eq!(config.price_micros(Operation::Chat, name), price, "{name}");
    }
    assert_eq!(config.price_micros(Operation::Models, ""), 3);
    assert_eq!(config.price_micros(Operation::Responses, ""), 1000);
    assert_eq!(config.prices.models().len(), 5);
}

#[test]
fn prices_are_integers_of_existing_models() {
    refused(
        &with(
            "prices:
  default_micros: {chat: 0.5, chatt: 1, me: none}
  models:
    one/biggg: 1
    nobody/*: 2
    all/x: 3
    one/big: -1
    two/big: 1000000000000001
    two/mid:
    small: 4
",
        ),
        &[
            "error 6:26: prices.default_micros.chat: must be a whole number of micro-credits, at \
             least 0, found `0.5` (1 credit is 1000000 micro-credits)",
            "error 6:31: prices.default_micros.chatt: is not a known key (did you mean `chat`?)",
            "error 6:45: prices.default_micros.me: must be a number, found `none`",
            "error 8:16: prices.models.one/biggg: `one/biggg` names a model that its provider does \
             not list (did you mean `one/big`?)",
            "error 11:14: prices.models.one/big: must be a whole number of micro-credits, at least \
             0, found `-1` (1 credit is 1000000 micro-credits)",
            "error 12:14: prices.models.two/big: must be a whole number from 0 to 1000000000000000",
            "error 13:5: prices.models.two/mid: must be a number, found nothing",
            "error 14:12: prices.models.small: `small` is not an alias or a full id \
             `<provider>/<model>` (did you mean `one/small`?)",
        ],
    );
    warned(
        "providers: {p: {kind: openai, base_url: \"https://a.b\", models: [m]}}\n\
         prices: {models: {\"p/x*\": 1, \"p/*\": 2}}",
        &["warning 2:27: prices.models.p/x*: matches no model"],
    );
}

#[test]
fn the_number_of_prices_is_limited() {
    let prices = |count: usize| {
        let lines: Vec<_> = (0..count).map(|n| format!("    all/m{n}: 1\n")).collect();
        with(&format!("prices:\n  models:\n{}", lines.concat()))
    };
    assert_eq!(clean(&prices(MAX_PRICES)).prices.models().len(), MAX_PRICES);
    refused(&prices(MAX_PRICES + 1), &["error 7:5: prices.models: must be at most 4096 prices"]);
}
