//! Content parts of items as chat content parts.

use serde_json::{Value, json};

use super::super::Untranslatable;
use super::super::fields::{Node, Result, objects};

/// An assistant message: its texts joined, its refusal separate.
pub(super) fn assistant(parts: &[Value], place: String) -> Result<Value> {
    let mut text = String::new();
    let mut refusal = None;
    for part in objects(parts, place) {
        let part = part?;
        match part.text("type")? {
            "output_text" | "input_text" | "text" => text.push_str(part.text("text")?),
            "refusal" => refusal = Some(part.text("refusal")?),
            kind => return Err(unknown(kind, &part)),
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
pub(super) fn content(item: &Node<'_>, name: &str) -> Result<Vec<Value>> {
    match item.get_or_null(name) {
        Value::String(text) => Ok(vec![json!({ "type": "text", "text": text })]),
        Value::Array(parts) => {
            objects(parts, item.place(name)).map(|part| chat_part(&part?)).collect()
        }
        _ => Err(item.error(name, "must be a string or a list")),
    }
}

fn chat_part(part: &Node<'_>) -> Result<Value> {
    match part.text("type")? {
        "input_text" | "output_text" | "text" => {
            Ok(json!({ "type": "text", "text": part.text("text")? }))
        }
        "refusal" => Ok(json!({ "type": "text", "text": part.text("refusal")? })),
        "input_image" => {
            not_stored(part, "file_id")?;
            let mut image = json!({ "url": part.text("image_url")? });
            match part.get("detail") {
                None => {}
                // Chat completions support no finer detail.
                Some(detail) if detail == "original" => image["detail"] = "high".into(),
                Some(detail) => image["detail"] = detail.clone(),
            }
            Ok(json!({ "type": "image_url", "image_url": image }))
        }
        "input_file" => {
            not_stored(part, "file_id")?;
            not_stored(part, "file_url")?;
            let mut file = json!({ "file_data": part.text("file_data")? });
            if let Some(name) = part.get("filename") {
                file["filename"] = name.clone();
            }
            Ok(json!({ "type": "file", "file": file }))
        }
        "input_audio" => Ok(json!({ "type": "input_audio", "input_audio": audio(part)? })),
        kind => Err(unknown(kind, part)),
    }
}

/// Audio as an object, or as the data URL that Codex sends.
fn audio(part: &Node<'_>) -> Result<Value> {
    if let Some(audio) = part.get("input_audio") {
        return Ok(audio.clone());
    }
    let url = part.text("audio_url")?;
    let audio = url.strip_prefix("data:audio/").and_then(|rest| rest.split_once(";base64,"));
    let Some((format, data)) = audio else {
        return Err(part.error("audio_url", "must be a base64 data URL"));
    };
    let format = if format == "mpeg" { "mp3" } else { format };
    Ok(json!({ "data": data, "format": format }))
}

fn not_stored(part: &Node<'_>, name: &str) -> Result<()> {
    match part.get(name) {
        None => Ok(()),
        Some(_) => Err(part.error(name, "files must be sent with the request")),
    }
}

fn unknown(kind: &str, part: &Node<'_>) -> Untranslatable {
    part.error("type", format!("content of type {kind} is not available for this model"))
}
