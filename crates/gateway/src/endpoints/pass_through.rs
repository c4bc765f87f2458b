//! OpenAI operations that are passed through with only the model replaced: embeddings,
//! moderations, reranking, images, speech and transcriptions.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use gateway_store::Scope;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};
use wire::error::Code;

use super::admission::{MemberRequest, Received};
use super::form::{Boundary, Form};
use super::media;
use super::model_request::{AnswerForm, ModelRequest};
use super::upload::Upload;
use crate::caps::{self, Conversation};
use crate::catalogue::{MEDIA_CAPABILITIES, Model, Target};
use crate::config::{Capability, Kind, Operation};
use crate::failure::{ApiError, ApiResult, Dialect};
use crate::identity::{Caller, may_use};
use crate::images::Images;
use crate::media::{Media, MediaRequest, RunContext};
use crate::provider::{
    EMBEDDINGS_PATH, IMAGE_EDITS_PATH, IMAGES_PATH, MODERATIONS_PATH, RERANK_PATH, SPEECH_PATH,
    TRANSCRIPTIONS_PATH,
};
use crate::proxy::chat_request::{AnswerReader, UpstreamRequest, unsupported};
use crate::proxy::whole::WholeReader;
use crate::raw_object::{RawObject, Rest};
use crate::request_info::RequestInfo;
use crate::upstream_pool::RequestBody;
use crate::upstreams::Upstreams;

struct PassThrough {
    /// Path at the upstream; ours begins with `/v1`.
    path: &'static str,
    /// Separates the uses of one idempotency key.
    purpose: &'static str,
    capability: Capability,
    /// Required fields; the first is checked against the caps of the model.
    required: &'static [&'static str],
    /// If this field is missing, an answer is empty, and free.
    content: &'static str,
}

const fn passed(
    (path, purpose): (&'static str, &'static str),
    capability: Capability,
    required: &'static [&'static str],
    content: &'static str,
) -> PassThrough {
    PassThrough { path, purpose, capability, required, content }
}

static OPERATIONS: [PassThrough; 7] = [
    passed((EMBEDDINGS_PATH, "createEmbeddings"), Capability::Embeddings, &["input"], "data"),
    passed((MODERATIONS_PATH, "createModeration"), Capability::Moderation, &["input"], "results"),
    passed((RERANK_PATH, "rerank"), Capability::Rerank, &["documents", "query"], "results"),
    passed((IMAGES_PATH, "createImage"), Capability::Image, &["prompt"], "data"),
    passed((IMAGE_EDITS_PATH, "editImage"), Capability::Image, &["prompt"], "data"),
    passed((SPEECH_PATH, "createSpeech"), Capability::Speech, &["input"], ""),
    passed(
        (TRANSCRIPTIONS_PATH, "createTranscription"),
        Capability::Transcription,
        &["file"],
        "text",
    ),
];

enum Content<'a> {
    Json(RawObject<'a>),
    Form(Form),
    Upload(Upload),
}

enum Outgoing {
    Json(Rest),
    Form(Form),
    Upload(Upload),
}

pub(super) async fn create(asked: MemberRequest) -> ApiResult {
    let request = &asked.request;
    let path = request.uri().path().strip_prefix("/v1").unwrap_or_default();
    let passed = OPERATIONS.iter().find(|passed| passed.path == path);
    let passed = passed.ok_or_else(ApiError::internal)?;
    let media_type = request.headers().get(CONTENT_TYPE).cloned();
    let is_media = MEDIA_CAPABILITIES.contains(&passed.capability);
    let scope = if is_media { Scope::Media } else { Scope::Chat };
    let purpose = passed.purpose;
    let is_upload = passed.capability == Capability::Transcription
        && Upload::is_for(request.headers(), request.body());
    let (received, upload) = if is_upload {
        let (received, upload) = Upload::receive(asked, scope, purpose).await?;
        (received, Some(upload))
    } else {
        (asked.receive(scope, purpose).await?, None)
    };
    let Received { service, info, caller, bytes, idempotency } = received;
    let media_type = media_type.as_ref().and_then(|value| value.to_str().ok());
    let content = match upload {
        Some(upload) => Content::Upload(upload),
        None => match Form::parse(media_type, &bytes).await? {
            Some(form) => Content::Form(form),
            None => Content::Json(RawObject::parse(&bytes)?),
        },
    };
    let model = passed.model(&service.upstreams, &service.media, &caller, &content)?;
    passed.check(&model, &service.media, &content)?;
    if matches!(content, Content::Json(_)) {
        Images::in_text(std::str::from_utf8(&bytes).unwrap_or_default())?.check_inline()?;
    }
    let target = model.full_target();
    if passed.capability == Capability::Speech
        && target.is_some_and(|target| target.provider.kind == Kind::Espeak)
    {
        let request = program_input(&model, &content)?;
        let RequestInfo { id, span, .. } = info;
        let run = RunContext { id, caller, idempotency, span };
        return media::answer_with_file(&service.media, run, &request).await;
    }
    let outgoing = match content {
        Content::Json(object) => Outgoing::Json(object.without(&["model"])),
        Content::Form(form) => Outgoing::Form(form),
        Content::Upload(upload) => Outgoing::Upload(upload),
    };
    let operation = passed.capability.operation().unwrap_or(Operation::Media);
    let dialect = Dialect::OpenAi;
    let (name, member) = (model.quoted_id.clone(), caller.key.member);
    let media_service = service.media.clone();
    let request = ModelRequest { info, caller, model, operation, idempotency, dialect };
    let prepare = async move {
        Ok(move |target: &Target| {
            if target.provider.kind != Kind::OpenAi {
                return Err(unsupported(target, "another model"));
            }
            let (body, media_type) = outgoing.with_model(target)?;
            let whole = WholeReader::Plain { model: name.clone(), content: passed.content };
            let reader = match passed.capability {
                Capability::Speech => AnswerReader::Bytes,
                Capability::Image => {
                    let (media, provider) = (media_service.clone(), target.provider.clone());
                    let check = move |answer: Bytes| {
                        async move { media.check_images(&provider, member, &answer).await }.boxed()
                    };
                    AnswerReader::Checked(whole, Box::new(check))
                }
                // Events, and texts of several formats.
                Capability::Transcription => AnswerReader::ByType(whole),
                _ => AnswerReader::Whole(whole),
            };
            let header = media_type.map(|media_type| (CONTENT_TYPE, media_type));
            Ok(UpstreamRequest { path: passed.path, body, reader, header })
        })
    };
    let is_speech = passed.capability == Capability::Speech;
    let form = if is_speech { AnswerForm::Bytes } else { AnswerForm::Whole };
    request.answer(&service, form, None, prepare).await
}

impl PassThrough {
    fn model(
        &self,
        upstreams: &Upstreams,
        media: &Media,
        caller: &Caller,
        content: &Content<'_>,
    ) -> ApiResult<Arc<Model>> {
        let asked = content.text("model")?.filter(|model| !model.is_empty());
        let asked = match asked {
            Some(asked) => asked,
            // Clients may omit the model of a moderation.
            None if self.capability == Capability::Moderation => {
                let catalogue = upstreams.catalogue.load();
                let can = |model: &&Arc<Model>| {
                    model.is_for(self.capability) && model.is_usable() && may_use(caller, &model.id)
                };
                let found = catalogue.models().find(can).map(|model| model.id.to_string());
                found.ok_or_else(|| {
                    let message = "no moderation model is currently available";
                    ApiError::new(Code::CapabilityUnavailable, message)
                })?
            }
            None => return Err(missing("model")),
        };
        if MEDIA_CAPABILITIES.contains(&self.capability) {
            return media.model_for(caller, &asked, self.capability);
        }
        upstreams.resolve(caller, &asked, self.capability)
    }

    fn check(&self, model: &Model, media: &Media, content: &Content<'_>) -> ApiResult<()> {
        if let Some(field) = self.required.iter().find(|field| !content.has(field)) {
            return Err(missing(field));
        }
        if let Content::Json(object) = content {
            for field in self.required {
                if !object.raw(field).is_some_and(|value| value.starts_with(['"', '['])) {
                    let message = format!("`{field}` must be a string or a list");
                    return Err(ApiError::invalid(*field, message));
                }
            }
        }
        if let (Content::Json(object), Some(field)) = (content, self.required.first()) {
            let bytes = object.all_like(field).map(str::len).sum();
            caps::check(&model.caps, object, &Conversation { field, bytes, images: 0 })?;
        }
        match self.capability {
            Capability::Image => {
                // Only a whole answer can be checked before it is charged.
                if content.text("stream")?.is_some_and(|stream| stream != "false") {
                    let message = "`stream` is not supported for images; leave it out";
                    return Err(ApiError::invalid("stream", message));
                }
                let count = content.text("n")?.unwrap_or_else(|| "1".to_owned());
                model.caps.n.map_or(Ok(()), |cap| caps::check_number("n", &count, cap.into()))?;
                media.check_image_count(&count)
            }
            Capability::Speech => {
                let text = content.text("input")?.unwrap_or_default();
                media.check_speech(&text)
            }
            _ => Ok(()),
        }
    }
}

impl Content<'_> {
    /// A field as text; numbers and booleans as they are written.
    fn text(&self, name: &'static str) -> ApiResult<Option<String>> {
        match self {
            Self::Form(form) => Ok(form.text(name)),
            Self::Upload(upload) => Ok(upload.fields.text(name)),
            Self::Json(object) => match object.raw(name) {
                Some(value) if value.starts_with('"') => object.read(name, "a string"),
                Some(value) if value.starts_with(['{', '[']) => {
                    let message = format!("`{name}` must not be a list or an object");
                    Err(ApiError::invalid(name, message))
                }
                value => Ok(value.filter(|value| *value != "null").map(str::to_owned)),
            },
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Form(form) => form.has(name),
            Self::Upload(upload) => name == "file" || upload.fields.has(name),
            Self::Json(object) => {
                object.raw(name).is_some_and(|value| !matches!(value, "null" | "\"\"" | "[]"))
            }
        }
    }
}

impl Outgoing {
    fn with_model(&self, target: &Target) -> ApiResult<(RequestBody, Option<http::HeaderValue>)> {
        Ok(match self {
            Self::Json(rest) => (rest.with(&[("model", Some(&target.quoted_name))]).into(), None),
            Self::Form(form) => {
                let (boundary, mut body) = (Boundary::new(), BytesMut::new());
                form.write_without("model", &boundary, &mut body);
                boundary.write_field("model", &target.name, &mut body);
                boundary.write_end(&mut body);
                (body.freeze().into(), Some(boundary.media_type()))
            }
            Self::Upload(upload) => {
                let (body, media_type) = upload.with_model(&target.name)?;
                (body, Some(media_type))
            }
        })
    }
}

/// A speech request for a local program, which supports fewer options.
fn program_input(model: &Model, content: &Content<'_>) -> ApiResult<MediaRequest> {
    let mut input = Map::new();
    input.insert("text".to_owned(), content.text("input")?.into());
    if let Some(format) = content.text("response_format")? {
        input.insert("response_format".to_owned(), format.into());
    }
    if let Some(speed) = content.text("speed")? {
        input.insert("speed".to_owned(), speed.parse::<f64>().map_or(json!(speed), Into::into));
    }
    let input = Value::Object(input).to_string().into();
    Ok(MediaRequest { model: model.id.to_string(), input })
}

fn missing(field: &'static str) -> ApiError {
    ApiError::invalid(field, format!("`{field}` is missing"))
}
