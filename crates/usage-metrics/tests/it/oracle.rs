//! The validator agrees with an independent one: the published schema in the crate boon.

use std::collections::HashSet;
use std::fmt;

use agent_test_support::json_schema::JsonSchema;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use usage_metrics::schema::json_schema;
use usage_metrics::validate::{validate, validate_without_fast_path};

use crate::generate::{self, Layout};

/// A JSON value that rejects an object with a repeated key, as our validator does.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let mut seen = HashSet::new();
        while let Some((key, Strict(value))) = fields.next_entry::<String, Strict>()? {
            if !seen.insert(key.clone()) {
                return Err(serde::de::Error::custom("duplicate key"));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

pub(crate) fn oracle() -> JsonSchema {
    JsonSchema::of(&json_schema())
}

fn oracle_accepts(oracle: &JsonSchema, document: &[u8]) -> bool {
    serde_json::from_slice::<Strict>(document).is_ok_and(|Strict(value)| {
        let moments = ["generated_at", "period_end", "period_start"];
        oracle.accepts(&value) && moments.iter().all(|key| has_digits_in_date(&value[key]))
    })
}

/// The oracle accepts some punctuation as digits in a date, so digits are checked here.
fn has_digits_in_date(moment: &Value) -> bool {
    let digits = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18];
    moment.as_str().is_some_and(|text| {
        digits.iter().all(|at| text.as_bytes().get(*at).is_some_and(u8::is_ascii_digit))
            && text.rfind(['+', '-']).filter(|at| *at > 18).is_none_or(|at| {
                text[at + 1..].bytes().all(|byte| byte == b':' || byte.is_ascii_digit())
            })
    })
}

/// The oracle parses numbers as doubles: beyond their precision only our exact rule is right.
fn beyond_double_precision(document: &[u8]) -> bool {
    document.split(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')).any(
        |token| {
            let digits = token.iter().filter(|byte| byte.is_ascii_digit()).count();
            digits > 15 && token.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
                || digits > 300
        },
    )
}

/// Enough for every change; `ORACLE_CASES=300000` compares millions of packages.
const CASES_PER_SEED: u64 = 8_000;

fn compare_with_the_oracle(seed: u64) {
    let oracle = oracle();
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut valid, mut invalid, mut skipped) = (0_u64, 0_u64, 0_u64);
    let cases = std::env::var("ORACLE_CASES").map_or(CASES_PER_SEED, |text| text.parse().unwrap());
    for case in 0..cases {
        let entries = random.usize(1..=3);
        let mut document = generate::package(&mut random, entries);
        for _ in 0..[0, 1, 1, 1, 2, 3][random.usize(..6)] {
            generate::mutate(&mut random, &mut document);
        }
        let layout = [Layout::Compact, Layout::Indented, Layout::Odd][random.usize(..3)];
        let mut bytes = generate::write(&mut random, &document, layout).into_bytes();
        if random.u8(..6) == 0 {
            generate::mutate_bytes(&mut random, &mut bytes);
        }
        let expected = oracle_accepts(&oracle, &bytes);
        let verdict = validate(&bytes);
        if verdict.is_valid() != expected && beyond_double_precision(&bytes) {
            skipped += 1;
            continue;
        }
        assert_eq!(
            verdict.is_valid(),
            expected,
            "seed {seed}, case {case}: {:?}\n{}",
            verdict.violations,
            String::from_utf8_lossy(&bytes)
        );
        assert_eq!(
            verdict,
            validate_without_fast_path(&bytes),
            "the fast path changed the verdict"
        );
        if expected { valid += 1 } else { invalid += 1 }
    }
    // The test would prove nothing if nearly all cases were valid, or invalid.
    assert!(valid > cases / 5 && invalid > cases / 5, "{valid} / {invalid}");
    assert!(skipped < cases / 1000, "{skipped} cases skipped");
}

macro_rules! seeds {
    ($($name:ident = $seed:literal),+ $(,)?) => { $(
        #[test]
        fn $name() {
            compare_with_the_oracle($seed);
        }
    )+ };
}

seeds! {
    agrees_with_boon_on_seed_1 = 1,
    agrees_with_boon_on_seed_2 = 2,
    agrees_with_boon_on_seed_3 = 3,
    agrees_with_boon_on_seed_4 = 4,
    agrees_with_boon_on_seed_5 = 5,
    agrees_with_boon_on_seed_6 = 6,
    agrees_with_boon_on_seed_7 = 7,
    agrees_with_boon_on_seed_8 = 8,
}
