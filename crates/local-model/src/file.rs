//! A GGUF file: its header, checked against the file length and the supported features.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::blocks::BLOCK;
use crate::gguf::{Header, Value};
use crate::quantisation::Form;
use crate::{Problem, Result};

/// Maximum size before the weights: names, tokens, the chat template. Current models use a
/// third of it.
const MAX_HEADER_BYTES: u64 = 32 * 1024 * 1024;
/// Maximum values of header fields; current models stay far below.
const MAX_LAYERS: usize = 1024;
const MAX_HEADS: usize = 1024;
const MAX_WIDTH: usize = 1 << 20;

/// The only supported architecture.
const ARCHITECTURE: &str = "llama";

#[derive(Debug)]
pub(crate) struct GgufFile {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    pub(crate) bytes: u64,
    pub(crate) shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) layers: usize,
    /// Width of the residual stream: numbers per token between layers.
    pub(crate) width: usize,
    /// Width of the feed-forward part of a layer.
    pub(crate) inner: usize,
    pub(crate) heads: usize,
    /// Heads of keys and values; several heads share one.
    pub(crate) kv_heads: usize,
    pub(crate) head: usize,
    /// Rotated numbers of a head (`RoPE`).
    pub(crate) turned: usize,
    pub(crate) turn_base: f32,
    pub(crate) epsilon: f32,
    pub(crate) context: usize,
    pub(crate) vocabulary: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) form: Form,
    offset: u64,
}

impl GgufFile {
    /// Reads the header and checks that the file is complete and supported.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let wrong = |what: String| Problem::new(format!("{}: {what}", path.display()));
        let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
        let data = file.metadata().map_err(|error| wrong(error.to_string()))?;
        if !data.is_file() {
            return Err(wrong("not a regular file".to_owned()));
        }
        let mut bytes = Vec::new();
        file.take(MAX_HEADER_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| wrong(error.to_string()))?;
        let header = Header::parse(&bytes).map_err(wrong)?;
        let shape = Shape::of(&header).map_err(wrong)?;
        let file = Self { path: path.to_owned(), header, bytes: data.len(), shape };
        for name in file.names() {
            file.place(&name)?;
        }
        Ok(file)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.header.text(key)
    }

    /// Location of a tensor, checked to be in the file.
    pub(crate) fn place(&self, name: &str) -> Result<Place> {
        let wrong = |what: String| self.wrong(format!("the tensor `{name}` {what}"));
        let Some(info) = self.header.tensors.get(name) else {
            return Err(wrong("is missing".to_owned()));
        };
        let (rows, columns) = match info.dimensions[..] {
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            ref other => return Err(wrong(format!("has {} dimensions", other.len()))),
        };
        let (expected_rows, expected_columns) = self.expected(name);
        if (rows, columns) != (expected_rows as u64, expected_columns as u64) {
            return Err(wrong(format!(
                "has {rows} rows of {columns}, expected {expected_rows} of {expected_columns} from \
                 the header"
            )));
        }
        let place = Place {
            rows: expected_rows,
            columns: expected_columns,
            form: info.form,
            offset: info.offset,
        };
        if !place.columns.is_multiple_of(place.form.block_numbers) {
            return Err(wrong(format!(
                "has rows of {columns}, which is not a multiple of its block size"
            )));
        }
        let begin = self.header.data_offset.checked_add(place.offset);
        let bytes = place.bytes().and_then(|bytes| begin?.checked_add(bytes));
        match bytes {
            Some(end) if end <= self.bytes => Ok(place),
            _ => Err(wrong("extends past the end of the file; the file is truncated".to_owned())),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.header.tensors.contains_key(name)
    }

    /// Hands over the numbers of a tensor, some rows at a time.
    pub(crate) fn read(&self, name: &str, mut take: impl FnMut(&[f32])) -> Result<()> {
        /// Numbers read at once.
        const MAX_BATCH_TOKENS: usize = 1 << 18;
        let place = self.place(name)?;
        let broken =
            |error: std::io::Error| self.wrong(format!("cannot read the tensor `{name}`: {error}"));
        let mut file = File::open(&self.path).map_err(broken)?;
        file.seek(SeekFrom::Start(self.header.data_offset + place.offset)).map_err(broken)?;
        let row_bytes = place.row_bytes();
        let rows_at_once = (MAX_BATCH_TOKENS / place.columns).max(1);
        let mut data = vec![0; row_bytes * rows_at_once.min(place.rows)];
        let mut numbers = Vec::new();
        let mut left = place.rows;
        while left > 0 {
            let rows = rows_at_once.min(left);
            let data = &mut data[..rows * row_bytes];
            file.read_exact(data).map_err(broken)?;
            numbers.clear();
            place.form.decode(data, &mut numbers);
            take(&numbers);
            left -= rows;
        }
        Ok(())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = vec!["token_embd.weight".to_owned(), "output_norm.weight".to_owned()];
        names
            .extend(["output.weight"].into_iter().filter(|name| self.has(name)).map(str::to_owned));
        for layer in 0..self.shape.layers {
            let parts = PARTS.iter().map(|(part, _)| format!("blk.{layer}.{part}.weight"));
            names.extend(parts);
        }
        names
    }

    fn expected(&self, name: &str) -> (usize, usize) {
        let shape = &self.shape;
        match name {
            "token_embd.weight" | "output.weight" => (shape.vocabulary, shape.width),
            "output_norm.weight" => (1, shape.width),
            "rope_freqs.weight" => (1, shape.turned / 2),
            name => {
                let part = name.splitn(3, '.').nth(2).and_then(|part| part.strip_suffix(".weight"));
                let part = PARTS.iter().find(|(known, _)| Some(*known) == part);
                part.map_or((0, 0), |(_, size)| size(shape))
            }
        }
    }

    pub(crate) fn wrong(&self, what: impl std::fmt::Display) -> Problem {
        Problem::new(format!("{}: {what}", self.path.display()))
    }
}

type Size = fn(&Shape) -> (usize, usize);

const PARTS: &[(&str, Size)] = &[
    ("attn_norm", |shape| (1, shape.width)),
    ("attn_q", |shape| (shape.heads * shape.head, shape.width)),
    ("attn_k", |shape| (shape.shared(), shape.width)),
    ("attn_v", |shape| (shape.shared(), shape.width)),
    ("attn_output", |shape| (shape.width, shape.heads * shape.head)),
    ("ffn_norm", |shape| (1, shape.width)),
    ("ffn_gate", |shape| (shape.inner, shape.width)),
    ("ffn_up", |shape| (shape.inner, shape.width)),
    ("ffn_down", |shape| (shape.width, shape.inner)),
];

impl Place {
    pub(crate) fn numbers(&self) -> u64 {
        (self.rows as u64).saturating_mul(self.columns as u64)
    }

    fn bytes(&self) -> Option<u64> {
        (self.rows as u64).checked_mul(self.row_bytes() as u64)
    }

    fn row_bytes(&self) -> usize {
        self.columns / self.form.block_numbers * self.form.block_bytes
    }
}

impl Shape {
    /// Width of the keys, or values, of one token in one layer.
    pub(crate) fn shared(&self) -> usize {
        self.kv_heads * self.head
    }

    fn of(header: &Header) -> Result<Self, String> {
        let architecture = header.text("general.architecture").unwrap_or("none");
        if architecture != ARCHITECTURE {
            return Err(format!(
                "unsupported architecture `{}`; only `{ARCHITECTURE}` is supported",
                printable(architecture)
            ));
        }
        if header.optional("llama.expert_count")?.is_some_and(|count| count > 0) {
            return Err("mixture-of-experts models are not supported".to_owned());
        }
        let width = header.whole("llama.embedding_length", MAX_WIDTH)?;
        let heads = header.whole("llama.attention.head_count", MAX_HEADS)?;
        let kv_heads = header.optional("llama.attention.head_count_kv")?.unwrap_or(heads);
        let head = header.optional("llama.attention.key_length")?.unwrap_or(width / heads);
        let turned = header.optional("llama.rope.dimension_count")?.unwrap_or(head);
        let shape = Self {
            layers: header.whole("llama.block_count", MAX_LAYERS)?,
            width,
            inner: header.whole("llama.feed_forward_length", MAX_WIDTH)?,
            heads,
            kv_heads,
            head,
            turned,
            turn_base: header.number("llama.rope.freq_base").unwrap_or(10_000.0),
            epsilon: header.number("llama.attention.layer_norm_rms_epsilon").unwrap_or(1e-5),
            context: header.whole("llama.context_length", u32::MAX as usize)?,
            vocabulary: match header.values.get("tokenizer.ggml.tokens") {
                Some(Value::Texts(tokens)) if !tokens.is_empty() => tokens.len(),
                _ => return Err("has no tokens; the file may be only a part of a model".to_owned()),
            },
        };
        let fits = (1..=heads).contains(&kv_heads)
            && heads.is_multiple_of(kv_heads)
            && (1..=MAX_WIDTH).contains(&head)
            && heads * head <= MAX_WIDTH
            && [width, shape.inner, heads * head].iter().all(|size| size.is_multiple_of(BLOCK))
            && turned <= head
            && turned.is_multiple_of(2)
            && shape.turn_base.is_finite()
            && shape.turn_base > 0.0
            && shape.epsilon.is_finite()
            && shape.epsilon >= 0.0;
        if !fits {
            return Err("the values in the header are inconsistent".to_owned());
        }
        let scaling = header.text("llama.rope.scaling.type").unwrap_or("none");
        if scaling != "none" {
            let scaling = printable(scaling);
            return Err(format!("unsupported RoPE scaling `{scaling}`"));
        }
        Ok(shape)
    }
}

impl Header {
    fn text(&self, key: &str) -> Option<&str> {
        if let Some(Value::Text(text)) = self.values.get(key) { Some(text) } else { None }
    }

    fn optional(&self, key: &str) -> Result<Option<usize>, String> {
        let whole = match self.values.get(key) {
            None => return Ok(None),
            Some(Value::Integer(whole)) => usize::try_from(*whole).ok(),
            Some(_) => None,
        };
        whole.map(Some).ok_or_else(|| format!("invalid number for `{key}`"))
    }

    fn whole(&self, key: &str, most: usize) -> Result<usize, String> {
        match self.optional(key)? {
            Some(whole) if (1..=most).contains(&whole) => Ok(whole),
            Some(whole) => {
                Err(format!("invalid value {whole} for `{key}`; must be from 1 to {most}"))
            }
            None => Err(format!("has no `{key}`")),
        }
    }

    fn number(&self, key: &str) -> Option<f32> {
        match self.values.get(key) {
            Some(Value::Float(number)) => Some(*number),
            _ => None,
        }
    }
}

/// A word of the file, shortened and escaped for a message.
pub(crate) fn printable(word: &str) -> String {
    cut(word, 40)
}

/// Text of the file on one line, for a message.
pub(crate) fn printable_line(words: &str) -> String {
    cut(words, 200)
}

fn cut(words: &str, most: usize) -> String {
    words.chars().filter(|letter| !letter.is_control()).take(most).collect()
}
