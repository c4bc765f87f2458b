//! `GET /v1/downloads/…`: files that everybody may download.

use axum::extract::{Path, State};
use futures_util::TryStreamExt;
use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderValue, Method};
use wire::download::{Manifest, is_name};
use wire::error::Code;

use super::AppState;
use super::files::{self, File};
use super::json;
use crate::config::Config;
use crate::downloads::{MANIFEST, MAX_MANIFEST_BYTES, MEDIA_TYPE, OF_VERSION};
use crate::failure::{ApiError, ApiResult};
use crate::media::ArtifactStore;
use crate::openapi::Routes;

/// The files of a version never change.
const CACHING: &str = "public, max-age=31536000, immutable";

pub(super) fn add(routes: Routes<AppState>, config: &Config) -> Routes<AppState> {
    if config.downloads.is_none() {
        return routes;
    }
    routes.get("/v1/downloads/manifest.json", manifest).get("/v1/downloads/{version}/{name}", file)
}

async fn manifest(State(service): State<AppState>) -> ApiResult {
    let config = &service.config;
    let mut manifest = read(config, MANIFEST).await?;
    let base = config.base_url();
    for file in &mut manifest.files {
        file.url = format!("{base}/v1/downloads/{}/{}", manifest.version, file.name);
    }
    let mut response = json(&manifest);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

async fn file(
    State(service): State<AppState>,
    parts: Result<Path<(String, String)>, axum::extract::rejection::PathRejection>,
    method: Method,
    headers: HeaderMap,
) -> ApiResult {
    let Path((version, name)) = parts.map_err(|_| missing())?;
    if !is_name(&version) || !is_name(&name) {
        return Err(missing());
    }
    let store = store(&service.config)?;
    let object = format!("{version}/{name}");
    let manifest = read(&service.config, &format!("{version}/{OF_VERSION}")).await?;
    let listed = manifest.files.iter().find(|file| file.name == name);
    let listed = listed.ok_or_else(missing)?;
    let file = File {
        store: &store,
        object: &object,
        bytes: listed.bytes,
        sha256: digest(&listed.sha256).ok_or_else(missing)?,
        media_type: MEDIA_TYPE,
        caching: CACHING,
    };
    files::answer(&file, &method, &headers).await
}

fn store(config: &Config) -> ApiResult<ArtifactStore> {
    let downloads = config.downloads.as_ref().ok_or_else(missing)?;
    ArtifactStore::folder(&downloads.folder).map_err(|error| {
        tracing::error!(%error, "cannot read downloads");
        ApiError::internal()
    })
}

/// The manifest of the last or of one version.
async fn read(config: &Config, object: &str) -> ApiResult<Manifest> {
    let unreadable = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "cannot read the manifest of downloads");
        ApiError::new(Code::Unavailable, "the manifest is currently unavailable")
    };
    let content = store(config)?.read(object, None).await.map_err(|error| unreadable(&error))?;
    let mut chunks = content.ok_or_else(missing)?.chunks;
    let mut text = Vec::new();
    while let Some(chunk) = chunks.try_next().await.map_err(|error| unreadable(&error))? {
        text.extend_from_slice(&chunk);
        if text.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(unreadable(&"the file is too large"));
        }
    }
    serde_json::from_slice(&text).map_err(|error| unreadable(&error))
}

fn digest(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    for (place, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(place * 2..place * 2 + 2)?, 16).ok()?;
    }
    Some(digest)
}

fn missing() -> ApiError {
    ApiError::new(Code::NotFound, "no such download")
}
