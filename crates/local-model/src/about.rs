//! What a file says of itself.

use std::path::Path;

use crate::Problem;

/// What a file says of itself, read from its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its name, as its makers gave it.
    pub name: Option<String>,
    /// Its licence, as its makers gave it: `apache-2.0`.
    pub licence: Option<String>,
    /// How many weights it has.
    pub parameters: u64,
    /// How most of them are stored: `Q4_1`.
    pub quantisation: String,
    /// How many tokens it was made to look at.
    pub context: u32,
    /// How large the file is.
    pub file_bytes: u64,
    /// How much memory it takes when it is loaded, without conversations.
    pub loaded_bytes: u64,
    /// How much memory a token of a conversation takes.
    pub token_bytes: u64,
}

impl About {
    /// Reads the header of a file and checks that it can be used: a complete GGUF file of the Llama
    /// architecture with a tokenizer and a chat template known here.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        Err(Problem::new(format!("{} cannot be read yet", path.display())))
    }
}
