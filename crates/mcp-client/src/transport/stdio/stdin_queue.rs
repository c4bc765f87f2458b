//! The standard input of a server: sending never blocks and never splits a message.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;
use tokio::sync::Notify;

use crate::error::Error;
use crate::router::CloseReason;
use crate::sync::lock;

const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

pub(super) struct StdinQueue {
    state: Mutex<QueueState>,
    failure: Notify,
}

struct QueueState {
    pipe: Option<ChildStdin>,
    queue: VecDeque<Bytes>,
    queued: usize,
}

impl StdinQueue {
    pub(super) fn new(pipe: ChildStdin) -> Self {
        let state = QueueState { pipe: Some(pipe), queue: VecDeque::new(), queued: 0 };
        Self { state: Mutex::new(state), failure: Notify::new() }
    }

    /// Writes what the pipe accepts and queues the rest.
    pub(super) fn send(self: &Arc<Self>, message: &Bytes) -> Result<(), Error> {
        let mut state = lock(&self.state);
        if state.pipe.is_none() {
            return Err(Error::Unsent);
        }
        if state.queued + message.len() > MAX_QUEUED_BYTES {
            self.failure.notify_one();
            return Err(Error::InputStuck { queued: state.queued });
        }
        let idle = state.queue.is_empty();
        state.queue.push_back(message.clone());
        state.queued += message.len();
        if !idle {
            return Ok(());
        }
        // The queue was empty, so no task writes; the task started below polls with its waker.
        let mut context = Context::from_waker(Waker::noop());
        let written = state.write(&mut context);
        if state.pipe.is_none() {
            self.failure.notify_one();
            return Err(Error::Unsent);
        }
        if written.is_pending() {
            let input = Arc::clone(self);
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    std::future::poll_fn(|context| lock(&input.state).write(context)).await;
                    if lock(&input.state).pipe.is_none() {
                        input.failure.notify_one();
                    }
                });
            }
        }
        Ok(())
    }

    pub(super) fn close(&self) {
        lock(&self.state).close();
    }

    /// Waits until the server cannot be written to. `None` if it closed its input.
    pub(super) async fn failed(&self) -> Option<CloseReason> {
        self.failure.notified().await;
        let state = lock(&self.state);
        state.pipe.as_ref().map(|_| CloseReason::InputStuck { queued: state.queued })
    }
}

impl QueueState {
    fn write(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let (Some(pipe), Some(front)) = (self.pipe.as_mut(), self.queue.front_mut()) {
            match Pin::new(pipe).poll_write(context, front) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    front.advance(written);
                    self.queued -= written;
                    if front.is_empty() {
                        self.queue.pop_front();
                    }
                }
                Poll::Ready(_) => self.close(),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }

    fn close(&mut self) {
        self.pipe = None;
        self.queue.clear();
        self.queued = 0;
    }
}
