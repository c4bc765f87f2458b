//! Reading a request: absent and null are the same, and a wrong type reports its path.

use serde_json::{Map, Value};

use super::Untranslatable;

pub(super) type Object = Map<String, Value>;

pub(super) type Result<T, E = Untranslatable> = std::result::Result<T, E>;

/// The value of a field that is there and not null.
pub(super) fn present<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

pub(super) fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    present(object, name).and_then(Value::as_str)
}

pub(super) fn object<'a>(from: &'a Object, name: &str) -> Option<&'a Object> {
    present(from, name).and_then(Value::as_object)
}

/// Copies the fields that are neither absent nor null, by source and target name.
pub(super) fn copy(from: &Object, to: &mut Object, fields: &[(&str, &str)]) {
    for (name, new_name) in fields {
        if let Some(value) = present(from, name) {
            to.insert((*new_name).to_owned(), value.clone());
        }
    }
}

/// An object of a request, and its path.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    pub(super) object: &'a Object,
    place: String,
}

impl<'a> Node<'a> {
    pub(super) fn root(object: &'a Object) -> Self {
        Self { object, place: String::new() }
    }

    /// Fails if the value is not an object.
    pub(super) fn new(value: &'a Value, place: impl Into<String>) -> Result<Self> {
        let place = place.into();
        match value {
            Value::Object(object) => Ok(Self { object, place }),
            _ => Err(Untranslatable::new(place, "must be an object")),
        }
    }

    pub(super) fn place(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    pub(super) fn error(&self, name: &str, message: impl Into<String>) -> Untranslatable {
        Untranslatable::new(self.place(name), message)
    }

    /// The error of the object itself.
    pub(super) fn own_error(&self, message: &str) -> Untranslatable {
        Untranslatable::new(self.place.as_str(), message)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        present(self.object, name)
    }

    pub(super) fn get_or_null(&self, name: &str) -> &'a Value {
        self.object.get(name).unwrap_or(&Value::Null)
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str> {
        text(self.object, name).ok_or_else(|| self.error(name, "must be a string"))
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.error(name, "must be true or false")),
        }
    }

    pub(super) fn object(&self, name: &str) -> Result<Self> {
        Self::new(self.get_or_null(name), self.place(name))
    }

    pub(super) fn optional_object(&self, name: &str) -> Result<Option<Self>> {
        self.get(name).map(|value| Self::new(value, self.place(name))).transpose()
    }

    /// The list in a field; empty if absent.
    pub(super) fn list(&self, name: &str) -> Result<&'a [Value]> {
        match self.get(name) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(self.error(name, "must be a list")),
        }
    }

    /// The items of that list: objects.
    pub(super) fn objects(&self, name: &str) -> Result<impl Iterator<Item = Result<Self>>> {
        Ok(objects(self.list(name)?, self.place(name)))
    }
}

/// The items of a list, which must be objects.
pub(super) fn objects(items: &[Value], place: String) -> impl Iterator<Item = Result<Node<'_>>> {
    items.iter().enumerate().map(move |(n, item)| Node::new(item, format!("{place}[{n}]")))
}
