//! Durations in a file: with a unit, as in `90s`, `15m`, `24h` and `30d`, or as a number in
//! the unit of the key.
//!
//! The types here are for `#[serde(with = "..")]` on fields of type [`Duration`], or of type
//! `Option<Duration>` where 0 means none. `schemars` takes the schema from the same attribute.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Seconds, with an optional fraction.
#[derive(Debug)]
pub struct AnySeconds<const MAY_BE_ZERO: bool>;

/// Positive seconds, with an optional fraction.
pub type Seconds = AnySeconds<false>;
/// Non-negative seconds, with an optional fraction.
pub type SecondsOrZero = AnySeconds<true>;

/// A duration in whole seconds, from 1 to `MAX` units of `SECONDS` seconds; a bare number counts
/// units.
#[derive(Debug)]
pub struct Whole<const SECONDS: u64, const MAX: u64>;

pub type WholeSeconds<const MAX: u64> = Whole<1, MAX>;
pub type Hours<const MAX: u64> = Whole<3600, MAX>;
pub type Days<const MAX: u64> = Whole<86400, MAX>;

/// The type of a field that holds a duration.
pub trait DurationField {
    fn from_duration(duration: Duration) -> Self;
}

impl DurationField for Duration {
    fn from_duration(duration: Duration) -> Self {
        duration
    }
}

impl DurationField for Option<Duration> {
    fn from_duration(duration: Duration) -> Self {
        Some(duration).filter(|duration| !duration.is_zero())
    }
}

impl<const MAY_BE_ZERO: bool> AnySeconds<MAY_BE_ZERO> {
    pub fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: DurationField,
    {
        let duration = Duration::try_from_secs_f64(f64::deserialize(deserializer)?);
        duration.map(T::from_duration).map_err(serde::de::Error::custom)
    }

    /// Writes a field; nothing if 0 is not allowed and there is no duration.
    pub fn serialize<T, S>(field: &T, serializer: S) -> Result<S::Ok, S::Error>
    where
        T: Copy + Into<Option<Duration>>,
        S: Serializer,
    {
        let duration: Option<Duration> = (*field).into();
        let duration = duration.unwrap_or_default();
        if duration.is_zero() && !MAY_BE_ZERO {
            serializer.serialize_none()
        } else if duration.subsec_nanos() == 0 {
            duration.as_secs().serialize(serializer)
        } else {
            duration.as_secs_f64().serialize(serializer)
        }
    }
}

impl<const SECONDS: u64, const MAX: u64> Whole<SECONDS, MAX> {
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        #[expect(clippy::cast_precision_loss, reason = "units are at most a day")]
        let seconds = (f64::deserialize(deserializer)? * SECONDS as f64).round();
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }

    pub fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        (time.as_secs() / SECONDS).serialize(serializer)
    }
}

impl<const MAY_BE_ZERO: bool> JsonSchema for AnySeconds<MAY_BE_ZERO> {
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let bound = if MAY_BE_ZERO { "minimum" } else { "exclusiveMinimum" };
        json_schema!({"type": "number", "format": "seconds", "x-unit": 1, bound: 0})
    }
}

impl<const SECONDS: u64, const MAX: u64> JsonSchema for Whole<SECONDS, MAX> {
    fn schema_name() -> Cow<'static, str> {
        "WholeUnits".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "x-unit": SECONDS, "minimum": 1, "maximum": MAX})
    }
}
