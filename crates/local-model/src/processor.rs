//! Instruction sets of this processor: detected once, then passed to the kernels.

#[derive(Debug, Clone, Copy)]
pub(crate) enum Processor {
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    V3(pulp::x86::V3),
    /// The baseline of the target.
    Plain,
}

impl Processor {
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            return Self::V3(simd);
        }
        Self::Plain
    }

    /// Runs work that the compiler should vectorize; it must be inlined.
    #[inline(always)]
    pub(crate) fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::V3(simd) => simd.vectorize(work),
            Self::Plain => work(),
        }
    }
}
