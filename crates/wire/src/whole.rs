//! Whole numbers in JSON, and fields that may be null.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};

/// A whole number in any JSON notation: `5` and `5.0` are the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<T>(pub T);

impl<'de, T: TryFrom<i64>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Maximum whole number that a float represents exactly.
        const MAX_EXACT: f64 = 9_007_199_254_740_991.0;
        let number = serde_json::Number::deserialize(deserializer)?;
        let exact = number.as_i64().or_else(|| {
            let float = number.as_f64().filter(|float| float.abs() <= MAX_EXACT)?;
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
            (float.fract() == 0.0).then_some(float as i64)
        });
        let in_range = exact.and_then(|number| T::try_from(number).ok()).map(Self);
        let shown = Unexpected::Float(number.as_f64().unwrap_or(f64::NAN));
        in_range.ok_or_else(|| D::Error::invalid_value(shown, &"a whole number"))
    }
}

pub(crate) fn whole<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    Whole::deserialize(deserializer).map(|Whole(number)| number)
}

/// For fields that may be absent.
pub(crate) fn optional_whole<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    Ok(Option::deserialize(deserializer)?.map(|Whole(number)| number))
}

#[expect(clippy::option_option, reason = "null is not the same as nothing")]
pub(crate) fn given_whole<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    optional_whole(deserializer).map(Some)
}

/// Distinguishes an explicit null from an absent field.
#[expect(clippy::option_option, reason = "null is not the same as nothing")]
pub(crate) fn given<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests;
