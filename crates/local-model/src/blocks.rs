//! Numbers in blocks of 8 bits with a common scale, and the products of such blocks.
//!
//! Weights are converted when a file is loaded, activations before every product. A product is
//! then integer arithmetic with one float multiplication per block.

mod products;

use self::products::{Products, Work};
use crate::processor::Processor;
use crate::thread_pool::ThreadPool;

pub(crate) const BLOCK: usize = 32;
/// Inputs per pass of a thread over the weights.
const INPUTS_AT_ONCE: usize = 32;
/// Minimum outputs of one input per thread; below, sharing costs more than it saves.
const LEAST_ROWS: usize = 64;

type Quants = [i8; BLOCK];

/// Rows with the same number of blocks.
#[derive(Debug, Default, Clone)]
pub(crate) struct Rows {
    width: usize,
    quants: Vec<Quants>,
    scales: Vec<f32>,
}

#[derive(Debug, Clone, Copy)]
struct Row<'a> {
    quants: &'a [Quants],
    scales: &'a [f32],
}

impl Rows {
    /// No rows, with this number of columns: a multiple of [`BLOCK`].
    pub(crate) fn new(columns: usize) -> Self {
        Self { width: columns / BLOCK, quants: Vec::new(), scales: Vec::new() }
    }

    /// The same, with capacity for this many rows.
    pub(crate) fn with_capacity(columns: usize, rows: usize) -> Self {
        let blocks = columns / BLOCK * rows;
        Self {
            width: columns / BLOCK,
            quants: Vec::with_capacity(blocks),
            scales: Vec::with_capacity(blocks),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.scales.len() / self.width.max(1)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.quants.len() * (size_of::<Quants>() + size_of::<f32>())
    }

    /// Replaces all rows.
    pub(crate) fn set(&mut self, numbers: &[f32], processor: Processor) {
        self.quants.clear();
        self.scales.clear();
        self.extend(numbers, processor);
    }

    pub(crate) fn extend(&mut self, numbers: &[f32], processor: Processor) {
        processor.run(
            #[inline(always)]
            || {
                for block in numbers.as_chunks::<BLOCK>().0 {
                    let (quants, scale) = quantised(block);
                    self.quants.push(quants);
                    self.scales.push(scale);
                }
            },
        );
    }

    #[inline(always)]
    fn row(&self, index: usize) -> Row<'_> {
        let begin = index * self.width;
        let quants = &self.quants[begin..begin + self.width];
        Row { quants, scales: &self.scales[begin..begin + self.width] }
    }

    pub(crate) fn write(&self, index: usize, out: &mut [f32]) {
        let row = self.row(index);
        let blocks = out.as_chunks_mut::<BLOCK>().0;
        for ((out, quants), scale) in blocks.iter_mut().zip(row.quants).zip(row.scales) {
            for (out, quant) in out.iter_mut().zip(quants) {
                *out = scale * f32::from(*quant);
            }
        }
    }

    /// Multiplies all inputs with all rows: one number per row for each input.
    pub(crate) fn multiply(&self, inputs: &Rows, out: &mut [f32], pool: &ThreadPool) {
        let rows = self.len();
        let threads = pool.threads();
        let processor = pool.processor;
        if inputs.len() == 1 {
            let share = rows.div_ceil(threads * 4).max(LEAST_ROWS).next_multiple_of(4);
            pool.share(out, share, |index, out| {
                let first = index * share;
                let work = Work::One(inputs.row(0));
                Products { weights: self, first_row: first, out, work }.compute(processor);
            });
        } else {
            let inputs_each = inputs.len().div_ceil(threads).next_multiple_of(4);
            let inputs_each = inputs_each.min(INPUTS_AT_ONCE);
            pool.share(out, inputs_each * rows, |index, out| {
                let first = index * inputs_each;
                let work = Work::Many(inputs, first..first + out.len() / rows);
                Products { weights: self, first_row: 0, out, work }.compute(processor);
            });
        }
    }
}

/// The nearest 8-bit numbers, and their scale.
#[inline(always)]
fn quantised(numbers: &[f32; BLOCK]) -> (Quants, f32) {
    let largest = numbers.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let scale = largest / 127.0;
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let mut quants = [0; BLOCK];
    for (quant, number) in quants.iter_mut().zip(numbers) {
        #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127")]
        let whole = (number * inverse).round_ties_even() as i32 as i8;
        *quant = whole;
    }
    (quants, scale)
}

#[cfg(test)]
mod tests;
