//! Element-wise operations, written for auto-vectorization.

use crate::processor::Processor;
use crate::thread_pool::ThreadPool;

/// Numbers summed in parallel.
const LANES: usize = 8;

/// RMS normalisation of each row, times the weights.
pub(crate) fn normalise(
    rows: &[f32],
    weights: &[f32],
    epsilon: f32,
    out: &mut [f32],
    processor: Processor,
) {
    let width = weights.len();
    processor.run(
        #[inline(always)]
        || {
            for (row, out) in rows.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
                #[expect(clippy::cast_precision_loss, reason = "at most 2^20")]
                let mean = dot(row, row) / width as f32;
                let factor = 1.0 / (mean + epsilon).sqrt();
                for ((out, number), weight) in out.iter_mut().zip(row).zip(weights) {
                    *out = number * factor * weight;
                }
            }
        },
    );
}

pub(crate) fn add(to: &mut [f32], numbers: &[f32], processor: Processor) {
    processor.run(
        #[inline(always)]
        || {
            for (to, number) in to.iter_mut().zip(numbers) {
                *to += number;
            }
        },
    );
}

/// Applies gates: each row holds the gates, then the gated numbers.
pub(crate) fn gate(rows: &[f32], inner: usize, out: &mut [f32], pool: &ThreadPool) {
    pool.share(out, inner, |index, out| {
        let row = &rows[2 * inner * index..][..2 * inner];
        pool.processor.run(
            #[inline(always)]
            || {
                let (gates, values) = row.split_at(inner);
                for ((out, gate), value) in out.iter_mut().zip(gates).zip(values) {
                    *out = gate / (1.0 + exp(-gate)) * value;
                }
            },
        );
    });
}

#[inline(always)]
pub(crate) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (lefts, left_rest) = left.as_chunks::<LANES>();
    let (rights, right_rest) = right.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (left, right) in lefts.iter().zip(rights) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}

/// Exponential function, accurate to about the last two digits; vectorizes.
#[inline(always)]
pub(crate) fn exp(number: f32) -> f32 {
    use std::f32::consts::LOG2_E;
    /// The natural logarithm of 2 in two parts, the first with few digits.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    let number = number.clamp(-87.0, 88.0);
    let whole = (number * LOG2_E).round_ties_even();
    let rest = number - whole * HIGH - whole * LOW;
    // First terms of the series.
    let mut sum = 1.0 / 5040.0;
    for term in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * rest + term;
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -126 and 127")]
    let whole = whole as i32;
    sum * f32::from_bits(((whole + 127) << 23).cast_unsigned())
}

#[cfg(test)]
mod tests;
