//! What this processor can do: chosen once, then carried to where the work is.

use crate::blocks::{Products, Row, Tile};

/// Which instructions are used.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Processor {
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    V3(pulp::x86::V3),
    /// Those that every processor of the target has.
    Plain,
}

impl Processor {
    /// The best that this machine has.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            return Self::V3(simd);
        }
        Self::Plain
    }

    /// Runs work that the compiler is to put into wide instructions; it must be inlined.
    #[inline(always)]
    pub(crate) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::V3(simd) => simd.vectorize(work),
            Self::Plain => work(),
        }
    }

    /// Computes products.
    pub(crate) fn with(self, products: Products<'_>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::V3(simd) => simd.vectorize(
                #[inline(always)]
                || products.compute(Wide(simd)),
            ),
            Self::Plain => products.compute(Plain),
        }
    }
}

/// Products in the instructions that every processor has.
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

/// Products in AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Wide(pulp::x86::V3);

#[cfg(target_arch = "x86_64")]
impl Tile for Wide {
    /// The instruction multiplies numbers without a sign by numbers with one: the sign of the weight
    /// moves to the input. A sum of two products stays within 16 bits, since neither is -128.
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
