//! Generates random valid packages from the catalogue, and mutates them.

use usage_metrics::catalogue::{
    COUNTER_TYPE, Domain, KINDS, Kind, KindSpec, RESOURCE, SCHEMA_VERSION,
};

/// A JSON document whose keys may repeat, in any order.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// Written verbatim: numbers, literals, nonsense.
    Raw(String),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Compact,
    Indented,
    /// Random white space, and unnecessary escapes.
    Odd,
}

fn text(text: impl Into<String>) -> Node {
    Node::Text(text.into())
}

fn pick<'a, T>(random: &mut fastrand::Rng, items: &'a [T]) -> &'a T {
    &items[random.usize(..items.len())]
}

/// A valid package with sorted keys.
pub(crate) fn package(random: &mut fastrand::Rng, entries: usize) -> Node {
    let day = random.u32(1..=28);
    let mut resource = vec![("agent_version".to_owned(), text(version(random)))];
    for field in RESOURCE {
        resource.push((field.key.to_owned(), domain(random, field.domain)));
    }
    let metrics = (0..entries)
        .map(|_| {
            let spec = pick(random, &KINDS);
            entry(random, spec)
        })
        .collect();
    Node::Object(vec![
        ("generated_at".to_owned(), text(format!("2026-11-{day:02}T13:37:42.125Z"))),
        ("install_id".to_owned(), text(uuid(random))),
        ("metrics".to_owned(), Node::Array(metrics)),
        ("package_id".to_owned(), text(uuid(random))),
        ("period_end".to_owned(), text(format!("2026-11-{:02}T00:00:00Z", day + 1))),
        ("period_start".to_owned(), text(format!("2026-11-{day:02}T00:00:00Z"))),
        ("resource".to_owned(), Node::Object(resource)),
        ("schema_version".to_owned(), text(SCHEMA_VERSION)),
    ])
}

fn entry(random: &mut fastrand::Rng, spec: &KindSpec) -> Node {
    let dimensions = spec
        .dimensions
        .iter()
        .map(|dimension| (dimension.key.to_owned(), domain(random, dimension.domain)))
        .collect();
    let value = match spec.kind {
        Kind::ClientActive => 1,
        _ => random.u64(1..=5000),
    };
    Node::Object(vec![
        ("dimensions".to_owned(), Node::Object(dimensions)),
        ("name".to_owned(), text(spec.name)),
        ("type".to_owned(), text(COUNTER_TYPE)),
        ("value".to_owned(), Node::Raw(value.to_string())),
    ])
}

fn domain(random: &mut fastrand::Rng, domain: Domain) -> Node {
    match domain {
        Domain::Listed(texts) => text(*pick(random, texts)),
        Domain::Identifier { max_chars: 256 } => text(*pick(
            random,
            &["gpt-5.2", "anthropic/claude-4.5", "qwen3:32b", "m", "llama-3.3-70b@q4"],
        )),
        Domain::Identifier { .. } => {
            text(*pick(random, &["openai", "anthropic", "openrouter", "custom:lab", "0"]))
        }
    }
}

fn version(random: &mut fastrand::Rng) -> String {
    match random.u8(..8) {
        0 => "😀".repeat(64),
        1 => " ".to_owned(),
        _ => format!("0.{}.{}", random.u8(..20), random.u8(..20)),
    }
}

/// A random UUID of version 4.
pub(crate) fn uuid(random: &mut fastrand::Rng) -> String {
    let (high, low) = (random.u64(..), random.u64(..));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        8 + (low >> 62),
        (low >> 48) & 0xfff,
        low & 0xffff_ffff_ffff,
    )
}

/// Texts near the limit of a rule.
const EDGE_TEXTS: &[&str] = &[
    "",
    " ",
    "unknown",
    "Unknown",
    "success",
    "succes",
    "success\n",
    "counter",
    "0",
    "1",
    "gte_11",
    "none",
    "x",
    "agent.client.active",
    "agent.tool_call.count",
    "agent.shared_metrics.v1",
    "agent.shared_metrics.v2",
    "2026-07-28",
    "2026-07-28T00:00:00",
    "2026-07-28t00:00:00z",
    "2026-07-28T00:00:00-00:00",
    "1998-12-31T23:59:60Z",
    "2026-02-30T00:00:00Z",
    "2024-02-29T23:59:59.123456789012+05:30",
    "2026-07-28T24:00:00Z",
    "0000-01-01T00:00:00Z",
    "2026-07-28 00:00:00Z",
    "2026-07-28T00:00:00+0000",
    "1998-12-31T15:59:60-08:00",
    "2026-07-28T00:00:00Z\n",
    "00000000-0000-0000-0000-000000000000",
    "018f4b1a-0000-7000-8000-000000000000",
    "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
    "gpt-5",
    "GPT-5",
    "-gpt",
    "gpt 5",
    "a/b:c@d+e-f_g.h",
    "é",
    "a\u{301}",
    "😀",
    "\u{0}",
    "a\u{0}",
];

/// Numbers and literals near the limit of a rule.
const EDGE_RAWS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "1e0",
    "1E2",
    "10e-1",
    "1.5",
    "0.5",
    "2",
    "true",
    "false",
    "null",
    "{}",
    "[]",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "1000000000000000000000000000000",
    "1e30",
    "1e400",
    "01",
    "+1",
    ".5",
    "1.",
    "NaN",
    "Infinity",
    "\"\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"\\u0031\"",
    "[1]",
    "{\"a\":1}",
    "1e-1",
    "0e5",
    "0.0",
    "100.00e-2",
    "nul",
    "tru",
    "\"\t\"",
    "--1",
];

/// Makes a document invalid, or changes it into another valid one.
pub(crate) fn mutate(random: &mut fastrand::Rng, document: &mut Node) {
    let target = random.usize(..count(document));
    let mut left = target;
    visit(document, &mut left, &mut |node| change(random, node));
}

fn count(node: &Node) -> usize {
    1 + match node {
        Node::Array(items) => items.iter().map(count).sum(),
        Node::Object(fields) => fields.iter().map(|(_, value)| count(value)).sum(),
        Node::Raw(_) | Node::Text(_) => 0,
    }
}

fn visit(node: &mut Node, left: &mut usize, act: &mut impl FnMut(&mut Node)) -> bool {
    if *left == 0 {
        act(node);
        return true;
    }
    *left -= 1;
    match node {
        Node::Array(items) => items.iter_mut().any(|item| visit(item, left, act)),
        Node::Object(fields) => fields.iter_mut().any(|(_, value)| visit(value, left, act)),
        Node::Raw(_) | Node::Text(_) => false,
    }
}

fn change(random: &mut fastrand::Rng, node: &mut Node) {
    if random.u8(..8) == 0 {
        *node = match random.u8(..4) {
            0 => Node::Raw((*pick(random, EDGE_RAWS)).to_owned()),
            1 => text(*pick(random, EDGE_TEXTS)),
            2 => Node::Array(Vec::new()),
            _ => Node::Object(Vec::new()),
        };
        return;
    }
    match node {
        Node::Raw(raw) => (*pick(random, EDGE_RAWS)).clone_into(raw),
        Node::Text(text) => change_text(random, text),
        Node::Array(items) => change_list(random, items),
        Node::Object(fields) => change_fields(random, fields),
    }
}

fn change_text(random: &mut fastrand::Rng, text: &mut String) {
    match random.u8(..7) {
        0 => (*pick(random, EDGE_TEXTS)).clone_into(text),
        1 => text.push(*pick(random, &['\n', 'a', ' ', '😀', '"', '\\', '\u{0}', '_', '0'])),
        2 => drop(text.pop()),
        3 => *text = text.to_uppercase(),
        4 => *text = "a".repeat(*pick(random, &[1, 63, 64, 65, 255, 256, 257])),
        5 => {
            let spec = pick(random, &KINDS);
            spec.name.clone_into(text);
        }
        _ => {
            let spec = pick(random, &KINDS);
            if let Some(dimension) = spec.dimensions.first()
                && let Domain::Listed(texts) = dimension.domain
            {
                (*pick(random, texts)).clone_into(text);
            }
        }
    }
}

fn change_list<T: Clone>(random: &mut fastrand::Rng, items: &mut Vec<T>) {
    if items.is_empty() {
        return;
    }
    let at = random.usize(..items.len());
    match random.u8(..4) {
        0 => drop(items.remove(at)),
        1 => items.push(items[at].clone()),
        2 => items.truncate(at),
        _ => random.shuffle(items),
    }
}

fn change_fields(random: &mut fastrand::Rng, fields: &mut Vec<(String, Node)>) {
    match random.u8(..4) {
        // Any order is valid.
        0 => random.shuffle(fields),
        1 => fields.push(("extra".to_owned(), Node::Raw("1".to_owned()))),
        2 if !fields.is_empty() => {
            let at = random.usize(..fields.len());
            change_text(random, &mut fields[at].0);
        }
        _ => change_list(random, fields),
    }
}

pub(crate) fn write(random: &mut fastrand::Rng, node: &Node, layout: Layout) -> String {
    let mut out = String::new();
    write_node(random, node, layout, 0, &mut out);
    out
}

fn write_node(
    random: &mut fastrand::Rng,
    node: &Node,
    layout: Layout,
    depth: usize,
    out: &mut String,
) {
    match node {
        Node::Raw(raw) => out.push_str(raw),
        Node::Text(text) => write_text(random, text, layout, out),
        Node::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(random, layout, depth + 1, at, out);
                write_node(random, item, layout, depth + 1, out);
            }
            close(random, layout, depth, items.is_empty(), out);
            out.push(']');
        }
        Node::Object(fields) => {
            out.push('{');
            for (at, (key, value)) in fields.iter().enumerate() {
                separate(random, layout, depth + 1, at, out);
                write_text(random, key, layout, out);
                out.push_str(if layout == Layout::Indented { ": " } else { ":" });
                space(random, layout, out);
                write_node(random, value, layout, depth + 1, out);
            }
            close(random, layout, depth, fields.is_empty(), out);
            out.push('}');
        }
    }
}

fn separate(random: &mut fastrand::Rng, layout: Layout, depth: usize, at: usize, out: &mut String) {
    if at > 0 {
        space(random, layout, out);
        out.push(',');
    }
    if layout == Layout::Indented {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    space(random, layout, out);
}

fn close(random: &mut fastrand::Rng, layout: Layout, depth: usize, empty: bool, out: &mut String) {
    if layout == Layout::Indented && !empty {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    space(random, layout, out);
}

fn space(random: &mut fastrand::Rng, layout: Layout, out: &mut String) {
    if layout == Layout::Odd && random.u8(..4) == 0 {
        out.push(*pick(random, &[' ', '\t', '\n', '\r']));
    }
}

fn write_text(random: &mut fastrand::Rng, text: &str, layout: Layout, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        let needless = layout == Layout::Odd && random.u8(..24) == 0;
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter < ' ' || needless => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}

/// Changes a few bytes of a serialized document.
pub(crate) fn mutate_bytes(random: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.u8(1..=2) {
        if bytes.is_empty() {
            return;
        }
        let at = random.usize(..bytes.len());
        match random.u8(..5) {
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, *pick(random, b"{}[],:\"\\ \n\t01.-eE+tfn\xff\xc3\x00aZ_")),
            2 => bytes[at] = *pick(random, b"{}[],:\"\\ \n\t01.-eE+tfn\xff\xc3\x00aZ_"),
            3 => bytes.truncate(at),
            _ => bytes.swap(at, 0),
        }
    }
}
