//! Counters and their serialization.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Metric;
use crate::catalogue::{COUNTER_TYPE, Cell, Domain, Kind, is_identifier};

/// A counter: a cell of a closed kind, or a model route.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Counter {
    Cell(Cell),
    Route { model: String, provider: String },
}

impl Counter {
    pub fn kind(&self) -> Kind {
        match self {
            Counter::Cell(cell) => cell.kind(),
            Counter::Route { .. } => Kind::ModelRoute,
        }
    }

    /// The dimensions, sorted by key.
    pub fn dimensions(&self) -> Vec<(&'static str, &str)> {
        let keys = self.kind().spec().keys.iter().copied();
        match self {
            Counter::Cell(cell) => keys.zip(cell.values()).collect(),
            Counter::Route { model, provider } => keys.zip([&**model, &**provider]).collect(),
        }
    }

    pub fn find(
        name: &str,
        dimensions: &BTreeMap<impl AsRef<str> + Ord, impl AsRef<str>>,
    ) -> Option<Counter> {
        let kind = Kind::parse(name)?;
        let spec = kind.spec();
        let keys = dimensions.keys().map(AsRef::as_ref);
        if !keys.eq(spec.keys.iter().copied()) {
            return None;
        }
        let mut values = dimensions.values().map(AsRef::as_ref);
        if kind != Kind::ModelRoute {
            return Cell::find(kind, values).map(Counter::Cell);
        }
        let mut identifier = |at: usize| match spec.dimensions.get(at)?.domain {
            Domain::Identifier { max_chars } => {
                values.next().filter(|text| is_identifier(text, max_chars)).map(str::to_owned)
            }
            Domain::Listed(_) => None,
        };
        Some(Counter::Route { model: identifier(0)?, provider: identifier(1)? })
    }

    /// The dimensions as compact JSON with sorted keys, as the store names a counter.
    pub fn dimensions_json(&self) -> String {
        serde_json::to_string(&Dimensions(self)).unwrap_or_default()
    }
}

/// Ordered by names and dimensions, byte by byte.
impl Ord for Counter {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |counter: &Self| counter.kind().name();
        key(self).cmp(key(other)).then_with(|| self.dimensions().cmp(&other.dimensions()))
    }
}

impl PartialOrd for Counter {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

struct Dimensions<'a>(&'a Counter);

impl Serialize for Dimensions<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.0.dimensions())
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut entry = out.serialize_map(Some(4))?;
        entry.serialize_entry("dimensions", &Dimensions(&self.counter))?;
        entry.serialize_entry("name", self.counter.kind().name())?;
        entry.serialize_entry("type", COUNTER_TYPE)?;
        entry.serialize_entry("value", &self.value)?;
        entry.end()
    }
}
