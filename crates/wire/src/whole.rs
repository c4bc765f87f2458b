//! Whole numbers in JSON: `5` and `5.0` are the same number.

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A whole number in any JSON notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole(pub u32);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

/// For fields that may be absent: `#[serde(deserialize_with = "whole::optional")]`.
pub(crate) fn optional<'de, D: Deserializer<'de>>(source: D) -> Result<Option<u32>, D::Error> {
    let number = Option::<Whole>::deserialize(source)?;
    Ok(number.map(|Whole(number)| number))
}

struct Written;

impl Visitor<'_> for Written {
    type Value = Whole;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a whole number that is not negative")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Whole, E> {
        u32::try_from(number)
            .map(Whole)
            .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Whole, E> {
        Err(E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Whole, E> {
        // Without a fraction and an exponent, it is parsed like any other.
        let digits = number.to_string();
        let digits = if digits == "-0" { "0" } else { &digits };
        let refused = |_| E::invalid_value(de::Unexpected::Float(number), &self);
        digits.parse().map(Whole).map_err(refused)
    }
}

#[cfg(test)]
mod tests;
