//! A complete HTTP request.

use std::io::{BufRead, Read};

use serde_json::{Map, Value, json};

const MAX_HEADER_LINES: usize = 200;
const MAX_BODY_BYTES: u64 = 256 * 1024 * 1024;

/// A request with its whole body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// In the order received, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection, if there is one.
    pub(crate) fn read(reader: &mut impl BufRead) -> std::io::Result<Option<Self>> {
        let first = line(reader)?;
        let mut words = first.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut headers = Vec::new();
        for _ in 0..MAX_HEADER_LINES {
            let header = line(reader)?;
            let Some((name, value)) = header.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Request { method, path, headers, body: Vec::new() };
        request.body = request.read_body(reader)?;
        Ok(Some(request))
    }

    /// The first header of this name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The log entry of this request at the named server; repeated headers are joined by a comma.
    pub(crate) fn record(&self, server: &str) -> Value {
        let mut headers = Map::new();
        for (name, value) in &self.headers {
            let joined = match headers.get(name).and_then(Value::as_str) {
                Some(before) => format!("{before}, {value}"),
                None => value.clone(),
            };
            headers.insert(name.clone(), joined.into());
        }
        json!({
            "server": server,
            "method": self.method,
            "path": self.path,
            "headers": headers,
            "body": String::from_utf8_lossy(&self.body),
        })
    }

    fn read_body(&self, reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            loop {
                let length = line(reader)?;
                let length = length.split(';').next().unwrap_or_default().trim().to_owned();
                let length = u64::from_str_radix(&length, 16).unwrap_or(0);
                reader.by_ref().take(length).read_to_end(&mut body)?;
                line(reader)?;
                if length == 0 {
                    return Ok(body);
                }
            }
        }
        let length = self.header("content-length").and_then(|length| length.parse().ok());
        let length: u64 = length.unwrap_or(0);
        reader.take(length.min(MAX_BODY_BYTES)).read_to_end(&mut body)?;
        Ok(body)
    }
}

/// A line without its line break; empty at the end of the connection.
fn line(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    reader.read_until(b'\n', &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned())
}
