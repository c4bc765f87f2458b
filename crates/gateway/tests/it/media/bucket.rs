//! Artifacts in a bucket of a real S3 server.

use agent_test_support::s3::S3;
use agent_test_support::upstream::Upstream;
use agent_test_support::upstream::media::png;
use agent_test_support::wait::eventually;
use http::Request;

use super::{MEDIA_PRICE, paint, path_of, run, service_with, text};
use crate::fixture::paid;
use crate::support::Running;

fn section(s3: &S3, key: &str, secret: &str) -> String {
    format!(
        "artifacts: {{url: \"s3://{}/some/prefix\", endpoint: \"{}\", access_key_id: \"{key}\", \
         secret_access_key: \"{secret}\"}}\n",
        S3::BUCKET,
        s3.endpoint(),
    )
}

#[test]
fn artifacts_are_stored_read_in_ranges_and_deleted_in_s3() {
    let (upstream, s3) = (Upstream::start(), S3::start());
    let rest = section(&s3, s3.key(), s3.secret());
    let (service, ada) = service_with(&upstream, &rest);
    let made = run(&service, &ada, &paint("x")).good();
    run(&service, &ada, &paint("x")).good();
    assert_eq!(s3.objects(), [png("x")], "equal bytes are stored once");
    let path = path_of(&made["artifacts"][0]);
    assert_eq!(service.get(&path, ada.key.as_str()).body, png("x"));
    let part = Request::get(&path)
        .header("authorization", format!("Bearer {}", ada.key.as_str()))
        .header("range", "bytes=5-20");
    let part = service.send_raw(part.body(Vec::new()).unwrap());
    assert_eq!((part.status, &part.body[..]), (206, &png("x")[5..21]));
    assert_eq!(paid(&service, &ada), 2 * MEDIA_PRICE);
    let folder = service.folder.clone();
    service.stop();
    let books = rusqlite::Connection::open(folder.path().join("gateway.sqlite3")).unwrap();
    let sql = "UPDATE media_runs SET expires_at = 1; UPDATE media_objects SET touched_at = 1";
    books.execute_batch(sql).unwrap();
    drop(books);
    let _service = Running::start_in(folder, &text(&upstream, &rest));
    eventually("the bucket is empty", || s3.objects().is_empty());
}

#[test]
fn a_rejected_bucket_key_is_free() {
    let (upstream, s3) = (Upstream::start(), S3::start());
    for (key, secret) in [("AKIAUNKNOWNUNKNOWN12", s3.secret()), (s3.key(), "wrong-secret")] {
        let (service, ada) = service_with(&upstream, &section(&s3, key, secret));
        let answer = run(&service, &ada, &paint("x"));
        assert_eq!(answer.failure(), (503, "unavailable".to_owned()));
        assert!(!answer.text().contains(key), "{}", answer.text());
        assert_eq!(paid(&service, &ada), 0);
    }
    assert!(s3.objects().is_empty());
}
