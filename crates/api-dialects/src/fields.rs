//! Reading fields of a request: absent and null are the same, and a wrong type names the field.

use serde_json::{Map, Value};

use super::Untranslatable;

pub(super) type Object = Map<String, Value>;

/// The value of a field that is there and not null.
pub(super) fn present<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// A text field of an object somewhere inside the request at `place`.
pub(super) fn text_at<'a>(
    object: &'a Object,
    name: &str,
    place: &str,
) -> Result<&'a str, Untranslatable> {
    present(object, name)
        .and_then(Value::as_str)
        .ok_or_else(|| Untranslatable::new(format!("{place}.{name}"), "must be a string"))
}

/// The list in a field, empty when there is none.
pub(super) fn list<'a>(object: &'a Object, name: &str) -> Result<&'a [Value], Untranslatable> {
    match present(object, name) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(Untranslatable::new(name, "must be a list")),
    }
}

/// A yes or no, if one was given.
pub(super) fn flag(object: &Object, name: &str) -> Result<Option<bool>, Untranslatable> {
    match present(object, name) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(Untranslatable::new(name, "must be true or false")),
    }
}

/// The value as an object, or an error that names its place.
pub(super) fn object_at<'a>(value: &'a Value, place: &str) -> Result<&'a Object, Untranslatable> {
    value.as_object().ok_or_else(|| Untranslatable::new(place, "must be an object"))
}
