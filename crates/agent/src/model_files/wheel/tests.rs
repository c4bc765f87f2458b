//! Tests of `wheel`.

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::super::known_models::FIRST;
use super::*;

#[tokio::test]
async fn a_package_with_too_many_files_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.whl");
    let mut archive = ZipWriter::new(File::create(&path).unwrap());
    for number in 0..=MAX_NAMES {
        archive.start_file(number.to_string(), SimpleFileOptions::default()).unwrap();
    }
    archive.finish().unwrap();
    let refused = take_out(&path, &FIRST, folder.path(), &|_| {}).await.unwrap_err();
    assert_eq!(refused.to_string(), "cannot unpack the package: it has 10001 files");
}
