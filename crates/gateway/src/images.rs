//! Images of a conversation: their number, and those given by URL; tools on servers given by URL.
//!
//! **Invariant:** no upstream receives an address that it would fetch, unless the operator allows it
//! for tools: it could reach hosts of the operator's network. What a provider's own tools read, such
//! as the pages of its web search, is the provider's decision.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ledger::LineageId;
use memchr::{memchr_iter, memmem};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use web_reader::Image;
use wire::error::Code;

use crate::config::{RemoteImages, RemoteTools};
use crate::failure::{ApiError, ApiResult};
use crate::raw_object::{Key, RawObject, is_like};
use crate::web_services::WebServices;

/// Limits on the images that are fetched for one request.
const MAX_FETCHED: usize = 16;
const MAX_IMAGE_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Images {
    pub(crate) count: usize,
    /// Images that are not inline.
    remote: usize,
    /// The first field with other content that is not inline.
    other: Option<&'static str>,
    /// Whether a tool is on a server given by URL.
    has_server: bool,
}

/// URL field of a content block of the Messages API.
const SOURCE_URL: &str = "source.url";

/// Fields whose value is a URL that an upstream may fetch.
const FIELDS: [&str; 5] = ["image_url", "video_url", "audio_url", "file_url", SERVER_URL];
/// The address of a tool's server.
const SERVER_URL: &str = "server_url";

impl Images {
    pub(crate) fn in_text(text: &str) -> ApiResult<Self> {
        let mut found = Self::default();
        // Most conversations have none.
        if may_have_url(text.as_bytes()) {
            let mut reader = serde_json::Deserializer::from_str(text);
            Walk { found: &mut found, under: None }.deserialize(&mut reader).map_err(|error| {
                ApiError::new(Code::InvalidJson, format!("the body is not valid JSON: {error}"))
            })?;
        }
        Ok(found)
    }

    pub(crate) fn in_items(items: &[Value]) -> Self {
        let mut found = Self::default();
        for item in items {
            // A tree of values cannot be malformed.
            let _ = Walk { found: &mut found, under: None }.deserialize(item);
        }
        found
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            remote: self.remote + other.remote,
            other: self.other.or(other.other),
            has_server: self.has_server || other.has_server,
        }
    }

    pub(crate) fn check_servers(self, choice: RemoteTools, field: &str) -> ApiResult<()> {
        if !self.has_server || choice == RemoteTools::Pass {
            return Ok(());
        }
        let message = format!(
            "`{field}` names a server by URL; this service does not let providers connect to it"
        );
        Err(ApiError::invalid(field, message))
    }

    /// Whether images must be fetched; an error if that is not allowed.
    pub(crate) fn check_remote(self, choice: RemoteImages) -> ApiResult<Remote> {
        let refuse = |field: &str, message: String| Err(ApiError::invalid(field, message));
        if let Some(field) = self.other {
            return refuse(field, format!("`{field}` must be a `data:` URL"));
        }
        match choice {
            _ if self.remote == 0 => Ok(Remote::None),
            RemoteImages::Refuse => {
                let message =
                    "`image_url` must be a `data:` URL: this service does not fetch images";
                refuse("image_url", message.to_owned())
            }
            RemoteImages::Inline if self.remote > MAX_FETCHED => {
                refuse("image_url", too_many(self.remote))
            }
            RemoteImages::Inline => Ok(Remote::Fetched),
        }
    }

    /// Whether images of a message must be fetched; an error for other content that is not inline.
    pub(crate) fn check_sources(self, choice: RemoteImages) -> ApiResult<Remote> {
        match (self.other, choice) {
            (Some(SOURCE_URL), RemoteImages::Inline) if self.remote == 0 => Ok(Remote::Fetched),
            _ => self.check_inline().map(|()| Remote::None),
        }
    }

    pub(crate) fn check_inline(self) -> ApiResult<()> {
        let field = self.other.or((self.remote > 0).then_some("image_url"));
        let Some(field) = field else { return Ok(()) };
        let message =
            format!("`{field}` with a URL is not supported; send the content inline as `base64`");
        Err(ApiError::invalid(field, message))
    }

    fn see(&mut self, field: &'static str, address: &str) {
        self.count += usize::from(field == "image_url");
        let scheme = address.trim_start().get(..5).unwrap_or_default();
        if scheme.eq_ignore_ascii_case("data:") {
            return;
        }
        match field {
            "image_url" => self.remote += 1,
            SERVER_URL => self.has_server = true,
            field => self.other = Some(field),
        }
    }
}

/// Checks that a request gives a provider no server to connect to, unless that is allowed.
pub(crate) fn check_tools(choice: RemoteTools, object: &RawObject<'_>) -> ApiResult<()> {
    // An empty list has no key.
    let has_server = object.all_like("mcp_servers").any(|servers| servers.contains('"'));
    Images { has_server, ..Images::default() }.check_servers(choice, "mcp_servers")?;
    object.all_like("tools").try_for_each(|tools| {
        Images::in_text(tools).and_then(|found| found.check_servers(choice, "tools"))
    })
}

/// Whether a text may have one of [`FIELDS`] or `source` as a key, in any case or with escapes.
fn may_have_url(text: &[u8]) -> bool {
    let is_url =
        |at: usize| text.get(at + 1..at + 4).is_some_and(|it| it.eq_ignore_ascii_case(b"url"));
    let words = [&b"\\u"[..], b"ce\"", b"cE\"", b"Ce\"", b"CE\""];
    memchr_iter(b'_', text).any(is_url)
        || words.iter().any(|word| memmem::find(text, word).is_some())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remote {
    None,
    Fetched,
}

/// Replaces URLs of images by the images, fetched through the page reader for a key.
pub(crate) async fn inline(web: &WebServices, key: LineageId, value: &mut Value) -> ApiResult<()> {
    let mut addresses = Vec::new();
    gather(value, &mut addresses);
    for address in addresses {
        let image = fetch(web, key, address, "image_url").await?;
        *address = format!("data:{};base64,{}", image.media_type, BASE64.encode(image.bytes));
    }
    Ok(())
}

/// Replaces URLs of images in content blocks of the Messages API by the images.
pub(crate) async fn inline_sources(
    web: &WebServices,
    key: LineageId,
    value: &mut Value,
) -> ApiResult<()> {
    let mut sources = Vec::new();
    gather_sources(value, &mut sources);
    if sources.len() > MAX_FETCHED {
        return Err(ApiError::invalid(SOURCE_URL, too_many(sources.len())));
    }
    for source in sources {
        let address = source["url"].as_str().unwrap_or_default().to_owned();
        let image = fetch(web, key, &address, SOURCE_URL).await?;
        *source = json!({
            "type": "base64", "media_type": image.media_type, "data": BASE64.encode(image.bytes),
        });
    }
    Ok(())
}

fn too_many(found: usize) -> String {
    format!("the request references {found} images by URL; at most {MAX_FETCHED} are allowed")
}

async fn fetch(web: &WebServices, key: LineageId, address: &str, field: &str) -> ApiResult<Image> {
    web.image(key, address, MAX_IMAGE_BYTES).await.map_err(|fault| {
        let message = fault.to_string().replace("`url`", &format!("`{field}`"));
        ApiError::from(fault).about(field, message)
    })
}

fn gather_sources<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| gather_sources(item, found)),
        Value::Object(fields) => {
            let is_image = fields.get("type").is_some_and(|kind| kind == "image");
            for (name, value) in fields {
                if is_image && name == "source" && value["type"] == "url" {
                    found.push(value);
                } else {
                    gather_sources(value, found);
                }
            }
        }
        _ => {}
    }
}

fn gather<'a>(value: &'a mut Value, found: &mut Vec<&'a mut String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| gather(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    value if !is_like(name, "image_url") => gather(value, found),
                    Value::String(address) => take(address, found),
                    Value::Object(image) => {
                        for (name, value) in image {
                            if let Value::String(address) = value
                                && is_like(name, "url")
                            {
                                take(address, found);
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn take<'a>(address: &'a mut String, found: &mut Vec<&'a mut String>) {
    let mut seen = Images::default();
    seen.see("image_url", address);
    if seen.remote > 0 {
        found.push(address);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Under {
    /// One of [`FIELDS`], or `url` within it.
    Field(&'static str),
    /// An object that may contain the URL of its content.
    Source,
    /// The media type of inline content.
    MediaType,
}

impl Under {
    /// The field of a value by its key and the field of its object.
    fn of(key: &str, above: Option<Self>) -> Option<Self> {
        if is_like(key, "url") {
            return above.map(|above| match above {
                Self::Source => Self::Field(SOURCE_URL),
                other => other,
            });
        }
        if is_like(key, "media_type") && above == Some(Self::Source) {
            return Some(Self::MediaType);
        }
        if is_like(key, "source") {
            return Some(Self::Source);
        }
        FIELDS.into_iter().find(|field| is_like(key, field)).map(Self::Field)
    }
}

/// Scans JSON without building a tree.
struct Walk<'a> {
    found: &'a mut Images,
    under: Option<Under>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        // `source` is often a plain word; only a field within it can be an address.
        match self.under {
            Some(Under::Field(field)) => self.found.see(field, text),
            Some(Under::MediaType) => self.found.count += usize::from(text.starts_with("image/")),
            Some(Under::Source) | None => {}
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { found, under: above } = self;
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            map.next_value_seed(Walk { found, under: Under::of(&key, above) })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Walk { found: self.found, under: None })?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
