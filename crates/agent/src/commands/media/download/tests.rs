//! Tests of `kind`.

use crate::file_name::extension;

#[test]
fn file_extension_comes_from_the_media_type_table() {
    assert_eq!(extension("image/png"), "png");
    assert_eq!(extension("Audio/WAV; codecs=1"), "wav");
    assert_eq!(extension("../../etc/passwd"), "bin");
    assert_eq!(extension(""), "bin");
}
