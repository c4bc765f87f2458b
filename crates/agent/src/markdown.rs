//! Markdown as it comes, for a terminal.

/// Renders one text, piece by piece.
#[derive(Debug)]
pub(crate) struct Renderer {
    _width: usize,
}

impl Renderer {
    /// For a terminal of so many columns.
    pub(crate) fn new(width: usize) -> Self {
        Self { _width: width }
    }

    /// Takes the next piece; gives what can be shown.
    #[expect(clippy::unused_self, reason = "what was pushed before decides what is shown")]
    pub(crate) fn push(&mut self, text: &str) -> String {
        text.to_owned()
    }

    /// The rest.
    #[expect(clippy::unused_self, reason = "what was pushed before decides what is shown")]
    pub(crate) fn finish(&mut self) -> String {
        String::new()
    }
}
