//! Tests of `workspace`.

use super::*;

#[test]
fn package_variables_are_recognised() {
    for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION_PRE", "CARGO_MANIFEST_DIR"] {
        assert!(is_package_variable(name.as_ref()), "{name}");
    }
    for name in ["CARGO", "CARGO_HOME", "CARGO_TARGET_DIR", "PATH"] {
        assert!(!is_package_variable(name.as_ref()), "{name}");
    }
}
