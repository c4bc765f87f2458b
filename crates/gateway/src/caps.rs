//! The operator's limits on single requests to a model.

use wire::error::Code;

use crate::config::Caps;
use crate::failure::ApiError;
use crate::raw_object::RawObject;

/// All field names of the token limit.
const TOKENS: [&str; 3] = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

pub(crate) struct Conversation {
    /// The field that contains it.
    pub(crate) field: &'static str,
    /// Its length as JSON, with earlier responses.
    pub(crate) bytes: usize,
    pub(crate) images: usize,
}

/// Checks a request against the caps of its model. Returns the token limit to add, if the request
/// has none.
pub(crate) fn check(
    caps: &Caps,
    object: &RawObject<'_>,
    conversation: &Conversation,
) -> Result<Option<u64>, ApiError> {
    if let Some(cap) = caps.n {
        check_field(object, "n", cap.into())?;
    }
    let is_over = |number: usize, cap: u64| u64::try_from(number).is_ok_and(|number| number > cap);
    let Conversation { field, bytes, images } = *conversation;
    if let Some(cap) = caps.message_bytes.filter(|cap| is_over(bytes, *cap)) {
        let message = format!("`{field}` has {bytes} bytes; this model allows at most {cap}");
        return Err(ApiError::of_param(Code::InvalidRequest, field, message));
    }
    if let Some(cap) = caps.images.filter(|cap| is_over(images, (*cap).into())) {
        let message = format!("`{field}` has {images} images; this model allows at most {cap}");
        return Err(ApiError::of_param(Code::InvalidRequest, field, message));
    }
    let Some(cap) = caps.tokens else { return Ok(None) };
    let mut is_given = false;
    for name in TOKENS {
        is_given |= check_field(object, name, cap)?;
    }
    Ok((!is_given).then_some(cap))
}

/// Checks every field that some server accepts for this one; returns whether there is any.
fn check_field(object: &RawObject<'_>, name: &'static str, cap: u64) -> Result<bool, ApiError> {
    let mut is_given = false;
    for value in object.all_like(name) {
        is_given = true;
        let wrong = |message: String| ApiError::of_param(Code::InvalidRequest, name, message);
        let number = value.parse::<f64>().ok().filter(|number| *number >= 0.0);
        let number = number.ok_or_else(|| wrong(format!("`{name}` must be a whole number")))?;
        #[expect(clippy::cast_precision_loss, reason = "caps are far below 2^53")]
        if number > cap as f64 {
            let message = format!("`{name}` is {number}; this model allows at most {cap}");
            return Err(wrong(message));
        }
    }
    Ok(is_given)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(caps: Caps, body: &str) -> Result<Option<u64>, String> {
        let object = RawObject::parse(body.as_bytes()).unwrap();
        let conversation = Conversation { field: "messages", bytes: 100, images: 3 };
        check(&caps, &object, &conversation).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn nothing_is_checked_without_caps() {
        assert_eq!(checked(Caps::default(), r#"{"n":1000,"max_tokens":"x"}"#), Ok(None));
    }

    #[test]
    fn each_cap_names_the_field_its_value_and_itself() {
        let of = |text: &str| Err(text.to_owned());
        let n = Caps { n: Some(2), ..Caps::default() };
        assert_eq!(checked(n, r#"{"n":2}"#), Ok(None));
        assert_eq!(checked(n, r#"{"n":3}"#), of("`n` is 3; this model allows at most 2"));
        assert_eq!(checked(n, r#"{"n":"9"}"#), of("`n` must be a whole number"));
        assert_eq!(checked(n, r#"{"N":3e0,"n":1}"#), of("`n` is 3; this model allows at most 2"));
        assert_eq!(checked(n, r#"{"n":9,"n":1}"#), of("`n` is 9; this model allows at most 2"));
        let bytes = Caps { message_bytes: Some(99), ..Caps::default() };
        let message = "`messages` has 100 bytes; this model allows at most 99";
        assert_eq!(checked(bytes, "{}"), of(message));
        let images = Caps { images: Some(2), ..Caps::default() };
        let message = "`messages` has 3 images; this model allows at most 2";
        assert_eq!(checked(images, "{}"), of(message));
    }

    #[test]
    fn a_request_without_a_limit_on_tokens_gets_the_cap() {
        let caps = Caps { tokens: Some(50), ..Caps::default() };
        assert_eq!(checked(caps, "{}"), Ok(Some(50)));
        assert_eq!(checked(caps, r#"{"max_tokens":null}"#), Ok(Some(50)));
        for name in TOKENS {
            assert_eq!(checked(caps, &format!(r#"{{"{name}":50}}"#)), Ok(None));
            let error = checked(caps, &format!(r#"{{"{name}":51}}"#)).unwrap_err();
            assert_eq!(error, format!("`{name}` is 51; this model allows at most 50"));
        }
    }
}
