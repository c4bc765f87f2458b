//! Tests of `running`.

use super::*;

#[tokio::test]
async fn call_is_cancelled_by_its_id_while_it_runs() {
    let running = Arc::new(Running::default());
    let call = |request: &str| Call {
        key: "k".to_owned(),
        session: "s".to_owned(),
        request: request.to_owned(),
    };
    let (one, two) = (running.begin(call("1")), running.begin(call("\"1\"")));
    running.cancel(&call("1"));
    one.cancelled().await;
    assert!(!two.0.cancelled.is_cancelled());
    drop((one, two));
    assert!(running.0.lock().unwrap().is_empty());
    running.cancel(&call("1"));
}
