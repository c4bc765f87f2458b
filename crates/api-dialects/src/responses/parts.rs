//! Content parts of items as chat content parts.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Object, object_at, present, text_at};

/// An assistant message: its texts in one, its refusal apart.
pub(super) fn assistant(parts: &[Value], place: &str) -> Result<Value, Untranslatable> {
    let mut text = String::new();
    let mut refusal = None;
    for (n, part) in parts.iter().enumerate() {
        let place = format!("{place}[{n}]");
        let part = object_at(part, &place)?;
        match text_at(part, "type", &place)? {
            "output_text" | "input_text" | "text" => text.push_str(text_at(part, "text", &place)?),
            "refusal" => refusal = Some(text_at(part, "refusal", &place)?),
            kind => return Err(unknown(kind, &place)),
        }
    }
    let content = if text.is_empty() && refusal.is_some() { Value::Null } else { text.into() };
    let mut message = json!({ "role": "assistant", "content": content });
    if let Some(refusal) = refusal {
        message["refusal"] = refusal.into();
    }
    Ok(message)
}

/// The content of a user message or a tool output: a text or a list of parts.
pub(super) fn content(content: Option<&Value>, place: &str) -> Result<Vec<Value>, Untranslatable> {
    match content {
        Some(Value::String(text)) => Ok(vec![json!({ "type": "text", "text": text })]),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().enumerate().map(|(n, part)| {
                let place = format!("{place}[{n}]");
                chat_part(object_at(part, &place)?, &place)
            });
            parts.collect()
        }
        _ => Err(Untranslatable::new(place, "must be a string or a list")),
    }
}

fn chat_part(part: &Object, place: &str) -> Result<Value, Untranslatable> {
    match text_at(part, "type", place)? {
        "input_text" | "output_text" | "text" => {
            Ok(json!({ "type": "text", "text": text_at(part, "text", place)? }))
        }
        "refusal" => Ok(json!({ "type": "text", "text": text_at(part, "refusal", place)? })),
        "input_image" => {
            no_stored_file(part, place)?;
            let mut image = json!({ "url": text_at(part, "image_url", place)? });
            match present(part, "detail") {
                None => {}
                // Chat completions have no finer detail than this.
                Some(detail) if detail == "original" => image["detail"] = "high".into(),
                Some(detail) => image["detail"] = detail.clone(),
            }
            Ok(json!({ "type": "image_url", "image_url": image }))
        }
        "input_file" => {
            no_stored_file(part, place)?;
            if present(part, "file_url").is_some() {
                let message = "files must be sent with the request";
                return Err(Untranslatable::new(format!("{place}.file_url"), message));
            }
            let mut file = json!({ "file_data": text_at(part, "file_data", place)? });
            if let Some(name) = present(part, "filename") {
                file["filename"] = name.clone();
            }
            Ok(json!({ "type": "file", "file": file }))
        }
        "input_audio" => Ok(json!({ "type": "input_audio", "input_audio": audio(part, place)? })),
        kind => Err(unknown(kind, place)),
    }
}

/// Audio as an object, or as the data URL that Codex sends.
fn audio(part: &Object, place: &str) -> Result<Value, Untranslatable> {
    if let Some(audio) = present(part, "input_audio") {
        return Ok(audio.clone());
    }
    let url = text_at(part, "audio_url", place)?;
    let audio = url.strip_prefix("data:audio/").and_then(|rest| rest.split_once(";base64,"));
    let Some((format, data)) = audio else {
        let message = "must be a base64 data URL";
        return Err(Untranslatable::new(format!("{place}.audio_url"), message));
    };
    let format = if format == "mpeg" { "mp3" } else { format };
    Ok(json!({ "data": data, "format": format }))
}

fn no_stored_file(part: &Object, place: &str) -> Result<(), Untranslatable> {
    if present(part, "file_id").is_none() {
        return Ok(());
    }
    let message = "files must be sent with the request";
    Err(Untranslatable::new(format!("{place}.file_id"), message))
}

fn unknown(kind: &str, place: &str) -> Untranslatable {
    let message = format!("content of type {kind} is not available for this model");
    Untranslatable::new(format!("{place}.type"), message)
}
