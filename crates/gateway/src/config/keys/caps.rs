//! The caps of a model or alias.

use super::{Known, key};

pub(super) const MAX_N: Known =
    key("max_n", "integer", "", "The most answers (`n`) of one request; more are refused.");
pub(super) const MAX_TOKENS: Known = key(
    "max_tokens",
    "integer",
    "",
    "The most tokens of an answer (`max_tokens`, `max_completion_tokens`, `max_output_tokens`); more \
     are refused, and a request that names none is sent with this.",
);
pub(super) const MAX_MESSAGE_BYTES: Known = key(
    "max_message_bytes",
    "integer",
    "",
    "The longest conversation in bytes of JSON, images and earlier responses included.",
);
pub(super) const MAX_IMAGES: Known =
    key("max_images", "integer", "", "The most images of one conversation.");
