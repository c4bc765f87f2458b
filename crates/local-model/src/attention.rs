//! Attention, with rotary position embedding.

use crate::Problem;
use crate::file::{GgufFile, Shape};
use crate::floats::{dot, exp};
use crate::kv_cache::KvCacheLayer;
use crate::thread_pool::ThreadPool;

/// The angle by which each pair of numbers is rotated from one position to the next (`RoPE`).
#[derive(Debug)]
pub(crate) struct RopeFrequencies(Vec<f32>);

/// Tensor of factors that slow the rotation in some models.
const SLOWER: &str = "rope_freqs.weight";

impl RopeFrequencies {
    pub(crate) fn new(file: &GgufFile) -> Result<Self, Problem> {
        let shape = &file.shape;
        #[expect(clippy::cast_precision_loss, reason = "at most 2^20")]
        let turn = |pair: usize| shape.turn_base.powf(-2.0 * pair as f32 / shape.turned as f32);
        let mut turns: Vec<f32> = (0..shape.turned / 2).map(turn).collect();
        if file.has(SLOWER) {
            file.read(SLOWER, |factors| {
                for (turn, factor) in turns.iter_mut().zip(factors) {
                    *turn /= factor;
                }
            })?;
        }
        Ok(Self(turns))
    }
}

pub(crate) struct Attention<'a> {
    shape: &'a Shape,
    /// Number of preceding tokens.
    before: usize,
    /// Cosine and sine of each pair, by token.
    turns: Vec<(f32, f32)>,
}

impl<'a> Attention<'a> {
    /// The turns of `count` tokens after `before`.
    pub(crate) fn new(
        shape: &'a Shape,
        turns: &RopeFrequencies,
        before: usize,
        count: usize,
    ) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "places are below 2^24")]
        let turned = |place: usize| turns.0.iter().map(move |turn| place as f32 * turn);
        let angles = (before..before + count).flat_map(turned);
        let turns = angles.map(|angle| (angle.cos(), angle.sin())).collect();
        Self { shape, before, turns }
    }

    /// Caches keys and values; returns the attention output of the queries.
    pub(crate) fn compute(
        &self,
        asked: &mut [f32],
        kept: &mut KvCacheLayer,
        out: &mut [f32],
        pool: &ThreadPool,
    ) {
        let shape = self.shape;
        let (all, shared, head) = (shape.heads * shape.head, shape.shared(), shape.head);
        let row = all + 2 * shared;
        for (index, asked) in asked.chunks_exact_mut(row).enumerate() {
            let (turned, values) = asked.split_at_mut(all + shared);
            for head in turned.chunks_exact_mut(head) {
                self.turn(index, head);
            }
            let keys = turned[all..].chunks_exact(head).zip(&mut kept.keys);
            keys.for_each(|(key, keys)| keys.extend_from_slice(key));
            let values = values.chunks_exact(head).zip(&mut kept.values);
            values.for_each(|(value, values)| values.extend_from_slice(value));
        }
        // Heads that share keys and values are adjacent.
        let group = shape.heads / shape.kv_heads * head;
        let (asked, kept) = (&*asked, &*kept);
        pool.share(out, group, |part, out| {
            let (token, shared) = (part / shape.kv_heads, part % shape.kv_heads);
            let queries = &asked[token * row + shared * group..][..group];
            let seen = (self.before + token + 1) * head;
            let (keys, values) = (&kept.keys[shared][..seen], &kept.values[shared][..seen]);
            let mut weights = vec![0.0; self.before + token + 1];
            pool.processor.run(
                #[inline(always)]
                || {
                    let pairs = queries.chunks_exact(head).zip(out.chunks_exact_mut(head));
                    pairs.for_each(|(query, out)| look(query, keys, values, &mut weights, out));
                },
            );
        });
    }

    /// Rotates the pairs of one head of one token by its position.
    fn turn(&self, index: usize, head: &mut [f32]) {
        let pairs = self.shape.turned / 2;
        let turns = &self.turns[index * pairs..][..pairs];
        for (pair, (cosine, sine)) in head.as_chunks_mut::<2>().0.iter_mut().zip(turns) {
            let [left, right] = *pair;
            *pair = [left * cosine - right * sine, left * sine + right * cosine];
        }
    }
}

/// Attention of one query: values weighted by matching keys.
#[inline(always)]
fn look(query: &[f32], keys: &[f32], values: &[f32], weights: &mut [f32], out: &mut [f32]) {
    let head = query.len();
    #[expect(clippy::cast_precision_loss, reason = "at most 2^20")]
    let scale = 1.0 / (head as f32).sqrt();
    let mut largest = f32::NEG_INFINITY;
    for (weight, key) in weights.iter_mut().zip(keys.chunks_exact(head)) {
        *weight = dot(query, key) * scale;
        largest = largest.max(*weight);
    }
    for weight in &mut *weights {
        *weight = exp(*weight - largest);
    }
    let sum: f32 = weights.iter().sum();
    out.fill(0.0);
    for (weight, value) in weights.iter().zip(values.chunks_exact(head)) {
        for (out, value) in out.iter_mut().zip(value) {
            *out += weight * value;
        }
    }
    for out in out {
        *out /= sum;
    }
}
