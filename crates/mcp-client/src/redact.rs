//! Secrets taken out of text.
use std::borrow::Cow;
/// x
#[derive(Debug, Default)]
pub struct Redactor;
impl Redactor {
    /// x
    pub fn new(_: impl IntoIterator<Item = (String, String)>) -> Self {
        Self
    }
    /// x
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }
    /// x
    pub fn clean_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }
}
