//! The Llama architecture: from tokens to how likely each token is to come next.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::Problem;
use crate::attention::{Attention, Turns};
use crate::blocks::Rows;
use crate::crew::Crew;
use crate::file::{GgufFile, Shape};
use crate::floats::{add, gate, normalise};
use crate::kept::Kept;
use crate::processor::Processor;

/// How many tokens of a prompt are computed together at most.
pub(crate) const AT_ONCE: usize = 64;

/// A model whose weights are in memory.
#[derive(Debug)]
pub(crate) struct Llama {
    pub(crate) shape: Shape,
    /// One row a token; also what the last layer's numbers are compared with, unless `last` is.
    tokens: Rows,
    layers: Vec<Layer>,
    last_norm: Vec<f32>,
    last: Option<Rows>,
    turns: Turns,
}

#[derive(Debug)]
struct Layer {
    first_norm: Vec<f32>,
    /// Queries, keys and values, one after the other.
    asked: Rows,
    attended: Rows,
    second_norm: Vec<f32>,
    /// Gates and what they let through, one after the other.
    opened: Rows,
    closed: Rows,
}

/// Memory for what one computation needs.
#[derive(Debug)]
pub(crate) struct Between {
    /// What goes from layer to layer: one row a token.
    stream: Vec<f32>,
    /// What is added to it.
    change: Vec<f32>,
    asked: Vec<f32>,
    attended: Vec<f32>,
    opened: Vec<f32>,
    inner: Vec<f32>,
    stream_input: Rows,
    attended_input: Rows,
    inner_input: Rows,
    /// How likely each token is to come next, before it is made a probability.
    pub(crate) likely: Vec<f32>,
}

impl Llama {
    /// Loads the weights of a file, with all threads there are.
    pub(crate) fn load(file: &GgufFile) -> Result<Self, Problem> {
        let shape = file.shape.clone();
        let layers: Result<Vec<Layer>, Problem> =
            (0..shape.layers).into_par_iter().map(|layer| Layer::load(file, layer)).collect();
        let last = "output.weight";
        let last = file.has(last).then(|| rows(file, &[last.to_owned()])).transpose()?;
        Ok(Self {
            tokens: rows(file, &["token_embd.weight".to_owned()])?,
            layers: layers?,
            last_norm: numbers(file, "output_norm.weight")?,
            last,
            turns: Turns::new(file)?,
            shape,
        })
    }

    /// How much memory the weights take.
    pub(crate) fn bytes(&self) -> usize {
        let layers = self.layers.iter().flat_map(|layer| {
            [&layer.asked, &layer.attended, &layer.opened, &layer.closed].map(Rows::bytes)
        });
        let ends = self.tokens.bytes() + self.last.as_ref().map_or(0, Rows::bytes);
        layers.sum::<usize>() + ends
    }

    /// A conversation of which nothing is computed.
    pub(crate) fn nothing(&self) -> Kept {
        Kept::new(self.shape.layers, self.shape.shared_heads, self.shape.head)
    }

    /// Computes tokens that follow those kept: at least one and at most [`AT_ONCE`]. Afterwards
    /// `between.likely` says how likely each token is to follow the last of them.
    pub(crate) fn follow(
        &self,
        tokens: &[u32],
        kept: &mut Kept,
        between: &mut Between,
        crew: &Crew,
    ) {
        let (shape, processor) = (&self.shape, crew.processor);
        between.fit(shape, tokens.len());
        for (token, row) in tokens.iter().zip(between.stream.chunks_exact_mut(shape.width)) {
            self.tokens.write(*token as usize, row);
        }
        let attention = Attention::new(shape, &self.turns, kept.len(), tokens.len());
        for (layer, kept) in self.layers.iter().zip(kept.layers()) {
            let Between { stream, change, asked, attended, opened, inner, .. } = between;
            normalise(stream, &layer.first_norm, shape.epsilon, change, processor);
            between.stream_input.set(change, processor);
            layer.asked.multiply(&between.stream_input, asked, crew);
            attention.compute(asked, kept, attended, crew);
            between.attended_input.set(attended, processor);
            layer.attended.multiply(&between.attended_input, change, crew);
            add(stream, change, processor);

            normalise(stream, &layer.second_norm, shape.epsilon, change, processor);
            between.stream_input.set(change, processor);
            layer.opened.multiply(&between.stream_input, opened, crew);
            gate(opened, shape.inner, inner, crew);
            between.inner_input.set(inner, processor);
            layer.closed.multiply(&between.inner_input, change, crew);
            add(stream, change, processor);
        }
        kept.extend(tokens);
        self.compare(between, crew);
    }

    /// Compares what came out for the last token with every token.
    fn compare(&self, between: &mut Between, crew: &Crew) {
        let Between { stream, change, stream_input, likely, .. } = between;
        let last = &stream[stream.len() - self.shape.width..];
        let change = &mut change[..self.shape.width];
        normalise(last, &self.last_norm, self.shape.epsilon, change, crew.processor);
        stream_input.set(change, crew.processor);
        self.last.as_ref().unwrap_or(&self.tokens).multiply(stream_input, likely, crew);
    }
}

impl Layer {
    fn load(file: &GgufFile, layer: usize) -> Result<Self, Problem> {
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

impl Between {
    /// For a model of this shape.
    pub(crate) fn new(shape: &Shape) -> Self {
        Self {
            stream: Vec::new(),
            change: Vec::new(),
            asked: Vec::new(),
            attended: Vec::new(),
            opened: Vec::new(),
            inner: Vec::new(),
            stream_input: Rows::new(shape.width),
            attended_input: Rows::new(shape.heads * shape.head),
            inner_input: Rows::new(shape.inner),
            likely: vec![0.0; shape.vocabulary],
        }
    }

    /// Makes room for so many tokens.
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

/// The rows of several tensors, one after the other.
fn rows(file: &GgufFile, names: &[String]) -> Result<Rows, Problem> {
    let processor = Processor::detect();
    let places = names.iter().map(|name| file.place(name)).collect::<Result<Vec<_>, _>>()?;
    let columns = places.first().map_or(0, |place| place.columns);
    let mut rows = Rows::with_capacity(columns, places.iter().map(|place| place.rows).sum());
    for name in names {
        file.read(name, |numbers| rows.extend(numbers, processor))?;
    }
    Ok(rows)
}

/// The numbers of a tensor as they are.
fn numbers(file: &GgufFile, name: &str) -> Result<Vec<f32>, Problem> {
    let mut all = Vec::new();
    file.read(name, |numbers| all.extend_from_slice(numbers))?;
    Ok(all)
}
