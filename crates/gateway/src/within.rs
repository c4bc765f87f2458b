//! Limits of time that cost nothing where what is waited for is there.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// Waits no longer than this. Looks first: only who has to wait gets a timer.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    let at_once = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
    match at_once {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => timeout(limit, future).await,
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_is_there_or_comes_in_time_is_given() {
        assert_eq!(within(Duration::ZERO, ready(1)).await.ok(), Some(1));
        let (sender, receiver) = oneshot::channel();
        let wait = tokio::spawn(within(Duration::from_mins(1), receiver));
        tokio::task::yield_now().await;
        sender.send(2).unwrap();
        assert_eq!(wait.await.unwrap().unwrap(), Ok(2));
    }

    #[tokio::test]
    async fn what_does_not_come_in_time_is_given_up() {
        assert!(within(Duration::from_millis(20), pending::<()>()).await.is_err());
    }
}
