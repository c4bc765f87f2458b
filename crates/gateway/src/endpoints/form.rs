//! Bodies of the type `multipart/form-data`.

use std::convert::Infallible;

use bytes::{BufMut, Bytes, BytesMut};
use http::HeaderValue;
use wire::error::Code;

use crate::failure::{ApiError, ApiResult};

const MAX_PARTS: usize = 64;

/// A form in memory: the body was admitted within the limits of the service.
#[derive(Debug, Default)]
pub(super) struct Form(Vec<Part>);

#[derive(Debug)]
struct Part {
    head: PartHead,
    content: Bytes,
}

#[derive(Debug)]
pub(super) struct PartHead {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    media_type: Option<String>,
}

/// Separates the parts of a form that we write.
#[derive(Debug, Clone)]
pub(super) struct Boundary(String);

impl Form {
    /// Parses a body; `None` if its type is another one.
    pub(super) async fn parse(media_type: Option<&str>, body: &Bytes) -> ApiResult<Option<Self>> {
        let Some(boundary) = boundary(media_type)? else { return Ok(None) };
        let body = futures_util::stream::iter([Ok::<_, Infallible>(body.clone())]);
        let mut fields = multer::Multipart::new(body, boundary);
        let mut form = Self::default();
        while let Some(field) = fields.next_field().await.map_err(|error| wrong(&error))? {
            let head = PartHead::of(&field);
            let content = field.bytes().await.map_err(|error| wrong(&error))?;
            form.push(head, content)?;
        }
        Ok(Some(form))
    }

    pub(super) fn push(&mut self, head: PartHead, content: Bytes) -> ApiResult<()> {
        if self.0.len() == MAX_PARTS {
            let message = format!("the form has more than {MAX_PARTS} parts");
            return Err(ApiError::new(Code::InvalidRequest, message));
        }
        self.0.push(Part { head, content });
        Ok(())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|part| part.head.name == name && !part.content.is_empty())
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        let part = self.0.iter().find(|part| part.head.name == name)?;
        std::str::from_utf8(&part.content).ok().map(str::to_owned)
    }

    /// Writes all parts but fields of a name.
    pub(super) fn write_without(&self, name: &str, boundary: &Boundary, out: &mut BytesMut) {
        let length = self.0.iter().map(|part| part.content.len() + 256).sum();
        out.reserve(length);
        for part in self.0.iter().filter(|part| part.head.name != name) {
            part.head.write(boundary, out);
            out.put_slice(&part.content);
            out.put_slice(b"\r\n");
        }
    }
}

impl PartHead {
    pub(super) fn of(field: &multer::Field<'_>) -> Self {
        Self {
            name: field.name().unwrap_or_default().to_owned(),
            file_name: field.file_name().map(str::to_owned),
            media_type: field.content_type().map(ToString::to_string),
        }
    }

    pub(super) fn write(&self, boundary: &Boundary, out: &mut BytesMut) {
        let name = quoted(&self.name);
        let mut head =
            format!("--{}\r\nContent-Disposition: form-data; name=\"{name}\"", boundary.0);
        if let Some(file_name) = &self.file_name {
            head += &format!("; filename=\"{}\"", quoted(file_name));
        }
        if let Some(media_type) = &self.media_type {
            head += &format!("\r\nContent-Type: {media_type}");
        }
        out.put_slice(head.as_bytes());
        out.put_slice(b"\r\n\r\n");
    }
}

impl Boundary {
    pub(super) fn new() -> Self {
        Self(format!("form-{:032x}{:032x}", fastrand::u128(..), fastrand::u128(..)))
    }

    pub(super) fn media_type(&self) -> HeaderValue {
        let media_type =
            HeaderValue::from_str(&format!("multipart/form-data; boundary={}", self.0));
        media_type.unwrap_or(HeaderValue::from_static("multipart/form-data"))
    }

    pub(super) fn write_field(&self, name: &str, value: &str, out: &mut BytesMut) {
        let head = PartHead { name: name.to_owned(), file_name: None, media_type: None };
        head.write(self, out);
        out.put_slice(value.as_bytes());
        out.put_slice(b"\r\n");
    }

    pub(super) fn write_end(&self, out: &mut BytesMut) {
        out.put_slice(format!("--{}--\r\n", self.0).as_bytes());
    }
}

pub(super) fn boundary(media_type: Option<&str>) -> ApiResult<Option<String>> {
    let form = media_type.filter(|it| it.starts_with("multipart/form-data"));
    form.map(|it| multer::parse_boundary(it).map_err(|error| wrong(&error))).transpose()
}

pub(super) fn wrong(error: &multer::Error) -> ApiError {
    if let multer::Error::StreamReadFailed(cause) = error
        && let Some(error) = cause.downcast_ref::<ApiError>()
    {
        return error.clone();
    }
    ApiError::new(Code::InvalidRequest, format!("the body is not a valid form: {error}"))
}

/// A value of a header, with the escapes of browsers.
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
