//! A whole chat completion as a message.

use bytes::BytesMut;
use serde_json::Value;

use super::super::{Malformed, ToolTable};
use super::shape::Shape;
use super::stream::Stream;

/// The message that says what the completion says.
///
/// `tools` is that of the translated request; `ids` makes an id for a prefix such as `toolu`. For an
/// answer of several rounds, use a [`Stream`] and [`Stream::add_completion`].
pub fn answer(
    completion: &Value,
    shape: &Shape,
    tools: &ToolTable,
    ids: impl FnMut(&str) -> String + Send + 'static,
) -> Result<Value, Malformed> {
    let mut stream = Stream::new(shape.clone(), tools.clone(), ids);
    let mut events = BytesMut::new();
    stream.add_completion(completion, &mut events)?;
    stream.finish(&mut events);
    Ok(stream.message())
}
