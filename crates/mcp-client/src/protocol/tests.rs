//! Tests of `protocol`.

use super::*;

#[test]
fn paths_become_uris() {
    for (path, uri) in [
        ("/work/a-b_c.d~", "file:///work/a-b_c.d~"),
        ("/my files/100%/#?ä", "file:///my%20files/100%25/%23%3F%C3%A4"),
    ] {
        assert_eq!(file_uri(Path::new(path)), uri);
    }
}
