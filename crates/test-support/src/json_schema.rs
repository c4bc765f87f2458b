//! A JSON Schema validator that shares nothing with ours.

use std::fmt;

use boon::{Compiler, Draft, ErrorKind, SchemaIndex, Schemas, ValidationError};
use serde_json::Value;

/// A schema of draft 2020-12, with assertions of formats.
pub struct JsonSchema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl JsonSchema {
    /// Panics if it is not a valid schema.
    #[track_caller]
    pub fn of(schema: &Value) -> Self {
        const NAME: &str = "schema.json";
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.set_default_draft(Draft::V2020_12);
        compiler.enable_format_assertions();
        compiler.add_resource(NAME, schema.clone()).expect("the name is a relative URL");
        let index = compiler
            .compile(NAME, &mut schemas)
            .unwrap_or_else(|error| panic!("not a valid schema: {error}"));
        Self { schemas, index }
    }

    pub fn accepts(&self, value: &Value) -> bool {
        self.schemas.validate(value, self.index).is_ok()
    }

    /// The paths of what it rejects.
    pub fn faults(&self, value: &Value) -> Vec<String> {
        let mut paths = Vec::new();
        if let Err(error) = self.schemas.validate(value, self.index) {
            collect(&error, &mut paths);
        }
        paths
    }
}

impl fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonSchema").finish_non_exhaustive()
    }
}

/// Alternatives are one fault; everything else that has causes is a group of faults.
fn collect(error: &ValidationError<'_, '_>, paths: &mut Vec<String>) {
    match error.kind {
        ErrorKind::Schema { .. }
        | ErrorKind::Group
        | ErrorKind::Reference { .. }
        | ErrorKind::AllOf => error.causes.iter().for_each(|cause| collect(cause, paths)),
        _ => paths.push(error.instance_location.to_string()),
    }
}
