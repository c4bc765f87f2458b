//! Dot products of quantised rows, in tiles of a few rows and inputs, with and without AVX2.

use std::ops::Range;

use super::{Row, Rows};
use crate::processor::Processor;

pub(super) struct Products<'a> {
    pub(super) weights: &'a Rows,
    pub(super) first_row: usize,
    pub(super) out: &'a mut [f32],
    pub(super) work: Work<'a>,
}

pub(super) enum Work<'a> {
    /// One input with the rows from `first_row` on.
    One(Row<'a>),
    /// A range of inputs with all rows.
    Many(&'a Rows, Range<usize>),
}

/// Computes the products of a few rows with a few inputs.
trait Tile: Copy {
    /// `rows` × `inputs`, each summed separately.
    fn products<const R: usize, const T: usize>(
        self,
        rows: [Row<'_>; R],
        inputs: [Row<'_>; T],
    ) -> [[f32; R]; T];
}

/// Weights stay in the L1 cache for all inputs of a thread.
const ROWS_AT_ONCE: usize = 16;

impl Products<'_> {
    pub(super) fn compute(self, processor: Processor) {
        match processor {
            #[cfg(target_arch = "x86_64")]
            Processor::V3(simd) => simd.vectorize(
                #[inline(always)]
                || self.compute_tiles(Wide(simd)),
            ),
            Processor::Plain => self.compute_tiles(Plain),
        }
    }

    #[inline(always)]
    fn compute_tiles(self, tile: impl Tile) {
        let Self { weights, first_row, out, work } = self;
        match work {
            Work::One(input) => {
                let (fours, rest) = out.as_chunks_mut::<4>();
                let mut row = first_row;
                for four in fours {
                    let rows = four_rows(weights, row);
                    [*four] = tile.products(rows, [input]);
                    row += 4;
                }
                for one in rest {
                    [[*one]] = tile.products([weights.row(row)], [input]);
                    row += 1;
                }
            }
            Work::Many(inputs, range) => {
                let rows = weights.len();
                for first in (0..rows).step_by(ROWS_AT_ONCE) {
                    let last = rows.min(first + ROWS_AT_ONCE);
                    let patch = Patch { weights, rows: first..last, inputs, range: range.clone() };
                    patch.products(tile, out);
                }
            }
        }
    }
}

#[inline(always)]
fn four_rows(rows: &Rows, first: usize) -> [Row<'_>; 4] {
    [rows.row(first), rows.row(first + 1), rows.row(first + 2), rows.row(first + 3)]
}

struct Patch<'a> {
    weights: &'a Rows,
    rows: Range<usize>,
    inputs: &'a Rows,
    range: Range<usize>,
}

impl Patch<'_> {
    /// The products, two rows and four inputs at a time.
    #[inline(always)]
    fn products(self, tile: impl Tile, out: &mut [f32]) {
        let Self { weights, rows, inputs, range } = self;
        let stride = weights.len();
        let mut input = range.start;
        while input + 4 <= range.end {
            let four = four_rows(inputs, input);
            let place = (input - range.start) * stride;
            let mut row = rows.start;
            while row + 2 <= rows.end {
                let sums = tile.products([weights.row(row), weights.row(row + 1)], four);
                for (index, sums) in sums.iter().enumerate() {
                    let place = place + index * stride + row;
                    out[place..place + 2].copy_from_slice(sums);
                }
                row += 2;
            }
            for row in row..rows.end {
                let sums = tile.products([weights.row(row)], four);
                for (index, [sum]) in sums.into_iter().enumerate() {
                    out[place + index * stride + row] = sum;
                }
            }
            input += 4;
        }
        for input in input..range.end {
            let place = (input - range.start) * stride;
            for row in rows.clone() {
                [[out[place + row]]] = tile.products([weights.row(row)], [inputs.row(input)]);
            }
        }
    }
}

/// Products without special instructions.
#[derive(Clone, Copy)]
struct Plain;

impl Tile for Plain {
    #[inline(always)]
    fn products<const R: usize, const T: usize>(
        self,
        rows: [Row<'_>; R],
        inputs: [Row<'_>; T],
    ) -> [[f32; R]; T] {
        inputs.map(|input| {
            rows.map(|row| {
                let blocks = row.quants.iter().zip(row.scales);
                let others = input.quants.iter().zip(input.scales);
                let products = blocks.zip(others).map(|((left, scale), (right, other))| {
                    let products = left.iter().zip(right);
                    let sum: i32 =
                        products.map(|(left, right)| i32::from(*left) * i32::from(*right)).sum();
                    #[expect(clippy::cast_precision_loss, reason = "below 2^19")]
                    let sum = sum as f32;
                    sum * scale * other
                });
                products.sum()
            })
        })
    }
}

/// Products with AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Wide(pulp::x86::V3);

#[cfg(target_arch = "x86_64")]
impl Tile for Wide {
    /// The instruction multiplies unsigned by signed numbers: the sign of the weight moves to the
    /// input. A sum of two products stays within 16 bits, since neither is -128.
    #[inline(always)]
    fn products<const R: usize, const T: usize>(
        self,
        rows: [Row<'_>; R],
        inputs: [Row<'_>; T],
    ) -> [[f32; R]; T] {
        use std::arch::x86_64::{__m256, __m256i};
        let simd = self.0;
        let width = rows[0].quants.len();
        let ones = simd.avx._mm256_set1_epi16(1);
        let mut sums: [[__m256; R]; T] = [[simd.avx._mm256_setzero_ps(); R]; T];
        for block in 0..width {
            for row in 0..R {
                let left: __m256i = pulp::cast(rows[row].quants[block]);
                let size = simd.avx2._mm256_abs_epi8(left);
                for input in 0..T {
                    let right: __m256i = pulp::cast(inputs[input].quants[block]);
                    let signed = simd.avx2._mm256_sign_epi8(right, left);
                    let pairs = simd.avx2._mm256_maddubs_epi16(size, signed);
                    let fours = simd.avx2._mm256_madd_epi16(pairs, ones);
                    let fours = simd.avx._mm256_cvtepi32_ps(fours);
                    let scale = rows[row].scales[block] * inputs[input].scales[block];
                    let scale = simd.avx._mm256_set1_ps(scale);
                    sums[input][row] = simd.fma._mm256_fmadd_ps(scale, fours, sums[input][row]);
                }
            }
        }
        let mut out = [[0.0; R]; T];
        for input in 0..T {
            for row in 0..R {
                let lanes: [f32; 8] = pulp::cast(sums[input][row]);
                out[input][row] = lanes.iter().sum();
            }
        }
        out
    }
}
