//! Facts from a file's header.

use std::collections::BTreeMap;
use std::path::Path;

use crate::file::GgufFile;
use crate::template::Template;
use crate::{Problem, tokenizer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    pub name: Option<String>,
    /// Its licence as declared: `apache-2.0`.
    pub licence: Option<String>,
    pub parameters: u64,
    /// Format of most of its weights: `Q4_1`.
    pub quantisation: String,
    /// Context length of the model.
    pub context: u32,
    pub file_bytes: u64,
    /// Memory of the loaded model, without conversations.
    pub loaded_bytes: u64,
    /// Memory per token of a conversation.
    pub token_bytes: u64,
}

impl About {
    /// Reads the header of a file and checks that it can be used: a complete GGUF file of the
    /// Llama architecture with a supported tokenizer and chat template.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let file = GgufFile::open(path)?;
        tokenizer::check(&file)?;
        Template::read(&file)?;
        let text = |key: &str| {
            let text = file.text(key).map(crate::file::printable);
            text.filter(|text| !text.trim().is_empty())
        };
        let mut forms: BTreeMap<&str, u64> = BTreeMap::new();
        for name in file.names() {
            let place = file.place(&name)?;
            *forms.entry(place.form.name).or_default() += place.numbers();
        }
        let parameters = forms.values().sum();
        let most = forms.into_iter().max_by_key(|(_, numbers)| *numbers);
        let shape = &file.shape;
        let token_numbers = 2 * shape.layers as u64 * shape.shared() as u64;
        Ok(Self {
            name: text("general.name"),
            licence: text("general.license"),
            parameters,
            quantisation: most.map_or_else(String::new, |(form, _)| form.to_owned()),
            context: u32::try_from(shape.context).unwrap_or(u32::MAX),
            file_bytes: file.bytes,
            // Blocks of 32 numbers have a scale of four bytes.
            loaded_bytes: parameters + parameters / 8,
            token_bytes: token_numbers * size_of::<f32>() as u64,
        })
    }
}
