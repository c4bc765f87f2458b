//! Files that pages load. They are part of the program: nothing is loaded from elsewhere.
//!
//! The address of a file contains a digest of all files, so that browsers may keep it for ever.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use crate::secure;

#[derive(Debug, Clone, Copy)]
pub struct Asset {
    name: &'static str,
    media_type: &'static str,
    pub text: &'static str,
}

/// Colours, fonts and basic elements of every page.
pub const BASE_STYLE: Asset =
    Asset::new("base.css", "text/css; charset=utf-8", include_str!("../assets/base.css"));

/// The files of every page.
const SHARED: [Asset; 4] = [
    BASE_STYLE,
    Asset::new("pages.css", "text/css; charset=utf-8", include_str!("../assets/pages.css")),
    Asset::new("pages.js", "text/javascript; charset=utf-8", include_str!("../assets/pages.js")),
    Asset::new("icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

impl Asset {
    pub const fn new(name: &'static str, media_type: &'static str, text: &'static str) -> Self {
        Self { name, media_type, text }
    }
}

/// The files of a site.
#[derive(Debug, Clone)]
pub struct AssetSet {
    assets: Vec<Asset>,
    version: String,
}

impl AssetSet {
    /// The shared files and those of the site.
    pub fn new(own: &[Asset]) -> Self {
        let assets: Vec<Asset> = SHARED.iter().chain(own).copied().collect();
        let bytes = assets.iter().flat_map(|asset| asset.name.bytes().chain(asset.text.bytes()));
        // FNV-1a: the digest only has to change with the files.
        let digest = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { assets, version: format!("{digest:016x}") }
    }

    /// The path prefix of the files.
    pub fn path(&self) -> String {
        format!("/assets/{}", self.version)
    }

    /// The response for a file; `None` for an unknown name.
    pub fn answer(&self, version: &str, name: &str, headers: &HeaderMap) -> Option<Response> {
        let asset = self.assets.iter().find(|asset| asset.name == name)?;
        let etag = format!("\"{}\"", self.version);
        let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        let mut response = Response::new(Body::from(asset.text));
        if known == Some(&etag) {
            *response.body_mut() = Body::empty();
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        secure(headers);
        // A page of another release may request its own version.
        let caching = if version == self.version {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
        headers.extend(HeaderValue::try_from(etag).ok().map(|value| (ETAG, value)));
        Some(response)
    }
}

#[cfg(test)]
mod tests;
