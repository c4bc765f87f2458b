//! Tests of `parsing`.

use super::*;

#[tokio::test]
async fn bodies_wait_until_the_memory_of_another_is_freed() {
    let parsing = Parsing::new(150 * 1024, 100 * 1024);
    let body = || Bytes::from(vec![7; 100 * 1024]);
    let first = parsing.admit(body(), Duration::ZERO).await.unwrap();
    assert_eq!(first, body());
    let copy = first.clone();
    drop(first);
    let error = parsing.admit(body(), Duration::ZERO).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    // A small one needs no room.
    parsing.admit(Bytes::from(vec![7; SMALL_BYTES]), Duration::ZERO).await.unwrap();
    let waiting = parsing.admit(body(), Duration::from_mins(1));
    let free = async {
        tokio::task::yield_now().await;
        drop(copy);
    };
    let (admitted, ()) = tokio::join!(waiting, free);
    assert_eq!(admitted.unwrap(), body());
}

#[tokio::test]
async fn the_largest_body_is_admitted_with_any_memory_limit() {
    let parsing = Parsing::new(1024, 10 * 1024 * 1024);
    let body = Bytes::from(vec![0; 10 * 1024 * 1024]);
    assert!(parsing.admit(body, Duration::ZERO).await.is_ok());
}
