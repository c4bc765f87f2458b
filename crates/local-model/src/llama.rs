//! The Llama architecture: from tokens to the logits of the next token.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::Result;
use crate::attention::{Attention, RopeFrequencies};
use crate::blocks::Rows;
use crate::file::{GgufFile, Shape};
use crate::floats::{add, gate, normalise};
use crate::kv_cache::KvCache;
use crate::processor::Processor;
use crate::thread_pool::ThreadPool;

/// Maximum tokens of a prompt computed together.
pub(crate) const MAX_BATCH_TOKENS: usize = 64;

#[derive(Debug)]
pub(crate) struct Llama {
    pub(crate) shape: Shape,
    /// One row per token; also the output matrix, unless `last` is set.
    tokens: Rows,
    layers: Vec<Layer>,
    last_norm: Vec<f32>,
    last: Option<Rows>,
    turns: RopeFrequencies,
}

#[derive(Debug)]
struct Layer {
    first_norm: Vec<f32>,
    /// Queries, keys and values, in this order.
    asked: Rows,
    attended: Rows,
    second_norm: Vec<f32>,
    /// Gates, then the gated numbers.
    opened: Rows,
    closed: Rows,
}

#[derive(Debug, Default)]
pub(crate) struct Activations {
    /// Residual stream: one row per token.
    stream: Vec<f32>,
    /// The update of it.
    change: Vec<f32>,
    asked: Vec<f32>,
    attended: Vec<f32>,
    opened: Vec<f32>,
    inner: Vec<f32>,
    stream_input: Rows,
    attended_input: Rows,
    inner_input: Rows,
    /// The logit of each token: its likelihood before softmax.
    pub(crate) logits: Vec<f32>,
}

impl Llama {
    /// Loads the weights of a file with all threads.
    pub(crate) fn load(file: &GgufFile) -> Result<Self> {
        let shape = file.shape.clone();
        let layers: Result<Vec<Layer>> =
            (0..shape.layers).into_par_iter().map(|layer| Layer::load(file, layer)).collect();
        let last = "output.weight";
        let last = file.has(last).then(|| rows(file, &[last.to_owned()])).transpose()?;
        Ok(Self {
            tokens: rows(file, &["token_embd.weight".to_owned()])?,
            layers: layers?,
            last_norm: numbers(file, "output_norm.weight")?,
            last,
            turns: RopeFrequencies::new(file)?,
            shape,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        let layers = self.layers.iter().flat_map(|layer| {
            [&layer.asked, &layer.attended, &layer.opened, &layer.closed].map(Rows::bytes)
        });
        let ends = self.tokens.bytes() + self.last.as_ref().map_or(0, Rows::bytes);
        layers.sum::<usize>() + ends
    }

    /// The cache of an empty conversation.
    pub(crate) fn nothing(&self) -> KvCache {
        KvCache::new(self.shape.layers, self.shape.kv_heads, self.shape.head)
    }

    /// Computes tokens that follow the cached ones: at least one and at most [`MAX_BATCH_TOKENS`].
    /// Afterwards `activations.logits` belongs to the last of them.
    pub(crate) fn follow(
        &self,
        tokens: &[u32],
        kept: &mut KvCache,
        activations: &mut Activations,
        pool: &ThreadPool,
    ) {
        let (shape, processor) = (&self.shape, pool.processor);
        activations.fit(shape, tokens.len());
        for (token, row) in tokens.iter().zip(activations.stream.chunks_exact_mut(shape.width)) {
            self.tokens.write(*token as usize, row);
        }
        let attention = Attention::new(shape, &self.turns, kept.len(), tokens.len());
        for (layer, kept) in self.layers.iter().zip(kept.layers()) {
            let Activations { stream, change, asked, attended, opened, inner, .. } = activations;
            normalise(stream, &layer.first_norm, shape.epsilon, change, processor);
            activations.stream_input.set(change, processor);
            layer.asked.multiply(&activations.stream_input, asked, pool);
            attention.compute(asked, kept, attended, pool);
            activations.attended_input.set(attended, processor);
            layer.attended.multiply(&activations.attended_input, change, pool);
            add(stream, change, processor);

            normalise(stream, &layer.second_norm, shape.epsilon, change, processor);
            activations.stream_input.set(change, processor);
            layer.opened.multiply(&activations.stream_input, opened, pool);
            gate(opened, shape.inner, inner, pool);
            activations.inner_input.set(inner, processor);
            layer.closed.multiply(&activations.inner_input, change, pool);
            add(stream, change, processor);
        }
        kept.extend(tokens);
        self.compare(activations, pool);
    }

    /// Computes the logits of the last token's output.
    fn compare(&self, activations: &mut Activations, pool: &ThreadPool) {
        let Activations { stream, change, stream_input, logits, .. } = activations;
        let last = &stream[stream.len() - self.shape.width..];
        let change = &mut change[..self.shape.width];
        normalise(last, &self.last_norm, self.shape.epsilon, change, pool.processor);
        stream_input.set(change, pool.processor);
        self.last.as_ref().unwrap_or(&self.tokens).multiply(stream_input, logits, pool);
    }
}

impl Layer {
    fn load(file: &GgufFile, layer: usize) -> Result<Self> {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        Ok(Self {
            first_norm: numbers(file, &name("attn_norm"))?,
            asked: rows(file, &["attn_q", "attn_k", "attn_v"].map(name))?,
            attended: rows(file, &["attn_output"].map(name))?,
            second_norm: numbers(file, &name("ffn_norm"))?,
            opened: rows(file, &["ffn_gate", "ffn_up"].map(name))?,
            closed: rows(file, &["ffn_down"].map(name))?,
        })
    }
}

impl Activations {
    pub(crate) fn new(shape: &Shape) -> Self {
        Self {
            stream_input: Rows::new(shape.width),
            attended_input: Rows::new(shape.heads * shape.head),
            inner_input: Rows::new(shape.inner),
            logits: vec![0.0; shape.vocabulary],
            ..Self::default()
        }
    }

    fn fit(&mut self, shape: &Shape, count: usize) {
        let all = shape.heads * shape.head;
        self.stream.resize(count * shape.width, 0.0);
        self.change.resize(count * shape.width, 0.0);
        self.asked.resize(count * (all + 2 * shape.shared()), 0.0);
        self.attended.resize(count * all, 0.0);
        self.opened.resize(count * 2 * shape.inner, 0.0);
        self.inner.resize(count * shape.inner, 0.0);
    }
}

/// The concatenated rows of several tensors.
fn rows(file: &GgufFile, names: &[String]) -> Result<Rows> {
    let processor = Processor::detect();
    let places = names.iter().map(|name| file.place(name)).collect::<Result<Vec<_>, _>>()?;
    let columns = places.first().map_or(0, |place| place.columns);
    let mut rows = Rows::with_capacity(columns, places.iter().map(|place| place.rows).sum());
    for name in names {
        file.read(name, |numbers| rows.extend(numbers, processor))?;
    }
    Ok(rows)
}

fn numbers(file: &GgufFile, name: &str) -> Result<Vec<f32>> {
    let mut all = Vec::new();
    file.read(name, |numbers| all.extend_from_slice(numbers))?;
    Ok(all)
}
