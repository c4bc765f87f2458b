//! The operator's limits on single requests to a model.

use crate::config::Caps;
use crate::failure::{ApiError, ApiResult};
use crate::raw_object::RawObject;

const TOKENS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
/// `best_of` also generates choices, and returns the best of them.
const CHOICES: [&str; 2] = ["n", "best_of"];
/// Fields beside the conversation that the model reads.
const DEFINITIONS: [&str; 8] = [
    "tools", "functions", "response_format", "text", "output_format", "output_config",
    "prediction", "suffix",
];

pub(crate) struct Conversation {
    pub(crate) field: &'static str,
    /// Its length as JSON, with earlier responses and without [`DEFINITIONS`].
    pub(crate) bytes: usize,
    pub(crate) images: usize,
}

/// Checks a request against the caps of its model. Returns the token limit to add, if the request
/// has none.
pub(crate) fn check(
    caps: &Caps,
    object: &RawObject<'_>,
    conversation: &Conversation,
) -> ApiResult<Option<u64>> {
    if let Some(cap) = caps.n {
        for name in CHOICES {
            check_field(object, name, cap.into())?;
        }
    }
    let is_over = |number: usize, cap: u64| u64::try_from(number).is_ok_and(|number| number > cap);
    let Conversation { field, bytes, images } = *conversation;
    if let Some(cap) = caps.message_bytes {
        let definitions = DEFINITIONS.iter().flat_map(|name| object.all_like(name));
        let defined: usize = definitions.map(str::len).sum();
        let bytes = bytes + defined;
        if is_over(bytes, cap) {
            let with = if defined == 0 { "" } else { " with tools and formats" };
            let message =
                format!("`{field}`{with} has {bytes} bytes; the limit of this model is {cap}");
            return Err(ApiError::invalid(field, message));
        }
    }
    if let Some(cap) = caps.images.filter(|cap| is_over(images, (*cap).into())) {
        let message = format!("`{field}` has {images} images; the limit of this model is {cap}");
        return Err(ApiError::invalid(field, message));
    }
    let Some(cap) = caps.tokens else { return Ok(None) };
    let mut is_given = false;
    for name in TOKENS {
        is_given |= check_field(object, name, cap)?;
    }
    Ok((!is_given).then_some(cap))
}

/// Checks every field that some server accepts for this one; returns whether there is any.
fn check_field(object: &RawObject<'_>, name: &'static str, cap: u64) -> ApiResult<bool> {
    let mut is_given = false;
    for value in object.all_like(name) {
        is_given = true;
        check_number(name, value, cap)?;
    }
    Ok(is_given)
}

pub(crate) fn check_number(name: &'static str, value: &str, cap: u64) -> ApiResult<()> {
    let wrong = |message: String| Err(ApiError::invalid(name, message));
    match value.parse::<f64>() {
        #[expect(clippy::cast_precision_loss, reason = "caps are far below 2^53")]
        Ok(number) if number > cap as f64 => {
            wrong(format!("`{name}` is {number}; the limit of this model is {cap}"))
        }
        Ok(number) if number >= 0.0 => Ok(()),
        _ => wrong(format!("`{name}` must be a whole number")),
    }
}

#[cfg(test)]
mod tests;
