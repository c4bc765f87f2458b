//! Tests of `binary`.

use super::*;

const HEADERS: &str = "Dynamic Section:\n  NEEDED               libgcc_s.so.1\n  \
        NEEDED               libc.so.6\n\nVersion References:\n  required from libc.so.6:\n    \
        0x09691a75 0x00 14 GLIBC_2.9\n    0x069691b4 0x00 02 GLIBC_2.34\n    \
        0x0963cf85 0x00 11 GLIBC_PRIVATE\n";

#[test]
fn glibc_versions_are_compared_as_numbers() {
    assert_eq!(newest_glibc(HEADERS), Some((2, 34)));
    assert_eq!(newest_glibc("no versions"), None);
}

#[test]
fn needed_libraries_are_listed() {
    assert_eq!(needed(HEADERS).collect::<Vec<_>>(), ["libgcc_s.so.1", "libc.so.6"]);
}
