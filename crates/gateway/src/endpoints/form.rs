//! Bodies of the type `multipart/form-data`.

use std::convert::Infallible;

use bytes::{BufMut, Bytes, BytesMut};
use http::HeaderValue;
use wire::error::Code;

use crate::failure::ApiError;

/// The most parts of a body.
const MAX_PARTS: usize = 64;

/// A form, with its files in memory: the body was admitted within the limits of the service.
pub(super) struct Form(Vec<Part>);

struct Part {
    name: String,
    /// The headers of the part, without its name.
    file_name: Option<String>,
    media_type: Option<String>,
    content: Bytes,
}

impl Form {
    /// Parses a body; `None` if its type is another one.
    pub(super) async fn parse(
        media_type: Option<&str>,
        body: &Bytes,
    ) -> Result<Option<Self>, ApiError> {
        let Some(media_type) = media_type.filter(|it| it.starts_with("multipart/form-data")) else {
            return Ok(None);
        };
        let wrong = |error: multer::Error| {
            ApiError::new(Code::InvalidRequest, format!("the body is not a valid form: {error}"))
        };
        let boundary = multer::parse_boundary(media_type).map_err(wrong)?;
        let body = futures_util::stream::iter([Ok::<_, Infallible>(body.clone())]);
        let mut fields = multer::Multipart::new(body, boundary);
        let mut parts = Vec::new();
        while let Some(field) = fields.next_field().await.map_err(wrong)? {
            if parts.len() == MAX_PARTS {
                let message = format!("the form has more than {MAX_PARTS} parts");
                return Err(ApiError::new(Code::InvalidRequest, message));
            }
            let name = field.name().unwrap_or_default().to_owned();
            let file_name = field.file_name().map(str::to_owned);
            let media_type = field.content_type().map(ToString::to_string);
            let content = field.bytes().await.map_err(wrong)?;
            parts.push(Part { name, file_name, media_type, content });
        }
        Ok(Some(Self(parts)))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|part| part.name == name && !part.content.is_empty())
    }

    /// A field that is a text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let part = self.0.iter().find(|part| part.name == name)?;
        std::str::from_utf8(&part.content).ok().map(str::to_owned)
    }

    /// The form with another value of a field, and its type.
    pub(super) fn with(&self, name: &str, value: &str) -> (Bytes, HeaderValue) {
        let boundary = format!("form-{:032x}{:032x}", fastrand::u128(..), fastrand::u128(..));
        let length = self.0.iter().map(|part| part.content.len() + 256).sum();
        let mut out = BytesMut::with_capacity(length);
        for part in self.0.iter().filter(|part| part.name != name) {
            part.write(&boundary, &mut out);
        }
        let content = Bytes::copy_from_slice(value.as_bytes());
        Part { name: name.to_owned(), file_name: None, media_type: None, content }
            .write(&boundary, &mut out);
        out.put_slice(format!("--{boundary}--\r\n").as_bytes());
        let media_type = format!("multipart/form-data; boundary={boundary}");
        let media_type = HeaderValue::from_str(&media_type);
        (out.freeze(), media_type.unwrap_or(HeaderValue::from_static("multipart/form-data")))
    }
}

impl Part {
    fn write(&self, boundary: &str, out: &mut BytesMut) {
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            quoted(&self.name)
        );
        if let Some(file_name) = &self.file_name {
            head += &format!("; filename=\"{}\"", quoted(file_name));
        }
        if let Some(media_type) = &self.media_type {
            head += &format!("\r\nContent-Type: {media_type}");
        }
        out.put_slice(head.as_bytes());
        out.put_slice(b"\r\n\r\n");
        out.put_slice(&self.content);
        out.put_slice(b"\r\n");
    }
}

/// A value of a header, with the escapes of browsers.
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
