//! The schema of a configuration file, derived from the structs that it is read into.
//!
//! A key is declared once, as a field of a [`crate::section!`]: its type, its default, its bounds
//! (`#[schemars(range(..))]`, `length`) and its documentation (the comment above it).
//! `schemars` makes a JSON Schema of that; [`crate::Reader`] checks files against it, [`DocumentedSection`]
//! lists it for the reference page, and [`Schema::published`] is what editors use.
//!
//! Some keywords of our own refine the schema. They begin with `x-` and are not published:
//!
//! | keyword | on | meaning |
//! |---|---|---|
//! | `x-order` | mappings | the keys in the order of their declaration |
//! | `x-about` | mappings | the documentation of the struct |
//! | `x-short` | mappings | the key that a value without braces is taken for |
//! | `x-tag` | mappings | the key whose value decides which other keys are allowed |
//! | `x-kinds` | keys | the values of that key with which this one is allowed |
//! | `x-maximum` | numbers | other upper bounds, by the value of that key |
//! | `x-unit` | numbers | a duration: the seconds of the unit that a bare number counts in |
//! | `x-missing` | keys | the key is needed; the hint if it is missing |
//! | `x-wanted` | all | what the value must be, in the words of an error |
//! | `x-hint` | all | the hint of that error |
//! | `x-items` | named values | what they are, in the plural |
//! | `x-size`, `x-empty` | lists | the errors of a list that is too long, too short |
//! | `x-whole` | lists | errors of items are reported for the list |
//! | `x-words` | words | other spellings and the words that they stand for |
//! | `x-exact` | words | case counts |
//! | `x-otherwise` | words | the word that a wrong one is taken for, and how a warning says so |
//! | `x-scalar` | strings | numbers and booleans are taken as they are written |
//! | `x-optional` | strings | numbers are taken as they are written, an empty string as no value |
//! | `x-verbatim` | strings | white space around the value is kept |
//! | `x-text` | strings | the spelling is kept beside the value, for [`crate::Text`] |
//! | `x-accepts` | all | the schema of further values that are understood |
//! | `x-type` | all | the type in the words of the reference page |

mod published;
mod section;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema as Generated};
use serde::de::value::Error;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Value as Json, json};

pub use section::{DocumentedKey, DocumentedSection, limits_table};

/// The schema of a file or of a mapping in it.
#[derive(Debug, Clone)]
pub struct Schema(pub(crate) Json);

impl Schema {
    pub fn of<T: JsonSchema>() -> Self {
        let simplify = RecursiveTransform(simplify);
        let mut settings = SchemaSettings::draft2020_12().with_transform(simplify);
        settings.inline_subschemas = true;
        Self(settings.into_generator().into_root_schema_for::<T>().to_value())
    }

    /// A mapping without keys, to which those of structs are added.
    pub fn with_about(about: &str) -> Self {
        Self(json!({"type": "object", "properties": {}, "x-order": [], "x-about": about}))
    }

    /// Adds the keys of another struct that is read from the same mapping. `kind` limits them to
    /// mappings of this kind.
    #[must_use]
    pub fn and<T: JsonSchema>(mut self, kind: Option<&str>) -> Self {
        let Self(mut other) = Self::of::<T>();
        let properties = other["properties"].as_object_mut().map(std::mem::take);
        for (name, mut property) in properties.unwrap_or_default() {
            if let Some(kind) = kind {
                property["x-kinds"] = vec![kind].into();
            }
            self.0["properties"][&name] = property;
        }
        let more = other["x-order"].as_array_mut().map(std::mem::take).unwrap_or_default();
        if let Json::Array(names) = &mut self.0["x-order"] {
            names.extend(more);
        }
        self
    }

    /// The kinds of mappings that a key is for; empty for all.
    pub fn kinds_of(&self, name: &str) -> Vec<&str> {
        let kinds = self.0["properties"][name]["x-kinds"].as_array().into_iter().flatten();
        kinds.filter_map(Json::as_str).collect()
    }

    /// Adds a key; the documentation of its struct is that of the key.
    #[must_use]
    pub fn with_key(mut self, name: &str, Self(mut schema): Self) -> Self {
        schema["description"] = schema["x-about"].clone();
        self.0["properties"][name] = schema;
        if let Json::Array(names) = &mut self.0["x-order"] {
            names.push(name.into());
        }
        self
    }

    /// A mapping from names to values of this schema.
    #[must_use]
    pub fn named(self) -> Self {
        Self(json!({"type": "object", "additionalProperties": self.0}))
    }

    /// The same mapping, with further keys.
    #[must_use]
    pub fn with_other_keys(mut self) -> Self {
        self.0["additionalProperties"] = true.into();
        self
    }

    /// Whether a mapping has this key; the outermost one has no name.
    pub fn has_key(&self, mapping: &str, name: &str) -> bool {
        let schema = if mapping.is_empty() { &self.0 } else { &self.0["properties"][mapping] };
        schema["properties"].get(name).is_some()
    }

    /// The names of the keys, in the order of their declaration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        names(&self.0)
    }
}

/// The names of the keys of a mapping, in the order of their declaration.
pub(crate) fn names(schema: &Json) -> impl Iterator<Item = &str> {
    schema["x-order"].as_array().into_iter().flatten().filter_map(Json::as_str)
}

pub(crate) fn listed(schema: &Json) -> String {
    names(schema).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A transform for `#[schemars(transform = section::<Self>)]` on every struct of a file: JSON
/// objects have no order, and the documentation of a field replaces that of its struct.
pub fn section<'de, T: Deserialize<'de>>(schema: &mut Generated) {
    let known =
        |name: &&&str| schema.get("properties").is_some_and(|keys| keys.get(name).is_some());
    let order: Vec<&str> = declared_names::<T>().iter().filter(known).copied().collect();
    let about = schema.get("description").cloned().unwrap_or_default();
    if schema.get("x-order").is_none() {
        schema.insert("x-order".to_owned(), order.into());
    }
    schema.insert("x-about".to_owned(), about);
}

/// Declares a section of a file: a struct whose fields are its keys, each with its documentation,
/// type, form (`as "Seconds"`, as in `#[serde(with = "Seconds")]`), bounds (`where 1..=9`) and default
/// (`= VALUE`; without it, the default of the type). After `private`, the struct has no derived
/// `Debug`.
#[macro_export]
macro_rules! section {
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (private $($section:tt)+) => { $crate::section!(@section [] $($section)+); };
    (@section [$($debug:ident)?] $(#[$about:meta])* $visible:vis struct $name:ident {
        $(
            $(#[$key:meta])*
            $shown:vis $field:ident: $type:ty
                $(as $form:tt)? $(where $least:tt..=$most:tt)? $(= $default:expr)?,
        )+
    }) => {
        #[derive($($debug,)? Clone, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(default)]
        #[schemars(transform = $crate::section::<Self>)]
        $(#[$about])*
        $visible struct $name {
            $(
                $(#[$key])*
                $(#[serde(with = $form)])?
                $(#[schemars(range(min = $least, max = $most))])?
                $shown $field: $type,
            )+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::section!(@default $($default)?),)+ }
            }
        }
    };
    ($(#[$about:meta])* $visible:vis struct $($section:tt)+) => {
        $crate::section!(@section [Debug] $(#[$about])* $visible struct $($section)+);
    };
}

/// The name in files of an enum variant, by its index.
pub fn word<'de, T: Deserialize<'de>>(variant: usize) -> &'static str {
    declared_names::<T>().get(variant).copied().unwrap_or_default()
}

/// The field names of a struct, or the variant names of an enum.
fn declared_names<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    // Always fails: only the names are needed.
    let _ = T::deserialize(DeclaredNames(&mut names));
    names
}

/// A deserializer without values that records the names.
struct DeclaredNames<'n>(&'n mut &'static [&'static str]);

impl<'de> Deserializer<'de> for DeclaredNames<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("there is no value"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = variants;
        Err(Error::custom("there is no value"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("there is no value"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// Normalizes equivalent forms of `schemars`: no explicit null, since a key without a value
/// counts as missing, and words are an `enum`.
fn simplify(schema: &mut Generated) {
    let Some(keywords) = schema.as_object_mut() else { return };
    if let Some(Json::Array(alternatives)) = keywords.get_mut("anyOf") {
        alternatives.retain(|one| one["type"] != "null");
        if let [Json::Object(only)] = alternatives.as_mut_slice() {
            let only = std::mem::take(only);
            keywords.remove("anyOf");
            keywords.insert("x-nullable".to_owned(), true.into());
            for (key, value) in only {
                keywords.entry(key).or_insert(value);
            }
        }
    }
    let words = keywords.get("oneOf").and_then(Json::as_array);
    let words =
        words.and_then(|words| words.iter().map(|word| word.get("const").cloned()).collect());
    if let Some(Json::Array(words)) = words {
        keywords.remove("oneOf");
        keywords.insert("type".to_owned(), "string".into());
        keywords.insert("enum".to_owned(), words.into());
    }
    if let Some(Json::Array(types)) = keywords.get_mut("type") {
        types.retain(|kind| kind != "null");
        let only = types.pop().unwrap_or_default();
        keywords.insert("type".to_owned(), only);
        keywords.insert("x-nullable".to_owned(), true.into());
    }
    if let Some(Json::Array(words)) = keywords.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
}
