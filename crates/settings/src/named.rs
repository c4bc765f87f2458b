//! Mappings from names to values that keep the order of the file.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// For `#[serde(with = "Named::<T>")]` on fields of type `Vec<(String, T)>`.
#[derive(Debug)]
pub struct Named<T>(PhantomData<T>);

impl<T> Named<T> {
    /// Writes the default of a field, which is no entries: nothing.
    pub fn serialize<S: Serializer>(_: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_none()
    }
}

impl<'de, T: Deserialize<'de>> Named<T> {
    /// Reads a field.
    pub fn deserialize<D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, T)>, D::Error> {
        deserializer.deserialize_map(Self(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Named<T> {
    type Value = Vec<(String, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let values = generator.subschema_for::<T>();
        json_schema!({"type": "object", "additionalProperties": values})
    }
}
