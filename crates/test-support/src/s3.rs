//! The S3 server moto, with one bucket and one user, whose version 4 signatures it verifies.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::mcp::installed::{python_of, script};
use crate::oauth::Process;

#[derive(Debug)]
pub struct S3 {
    process: Process,
}

impl S3 {
    pub const BUCKET: &str = "made-here";

    pub fn start() -> Self {
        let mut launch = python_of("s3", &[&script("s3.py")]);
        launch.env.push(("S3_BUCKET".to_owned(), Self::BUCKET.to_owned()));
        Self { process: Process::start(&launch) }
    }

    pub fn endpoint(&self) -> &str {
        self.process.address("s3")
    }

    pub fn key(&self) -> &str {
        self.process.address("key")
    }

    pub fn secret(&self) -> &str {
        self.process.address("secret")
    }

    pub fn objects(&self) -> Vec<Vec<u8>> {
        let answer = self.process.control("objects", &Value::Null);
        let objects = answer["objects"].as_array().into_iter().flatten();
        objects.filter_map(|body| STANDARD.decode(body.as_str()?).ok()).collect()
    }
}
