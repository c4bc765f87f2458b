//! The standard input of a server: sending never blocks and never splits a message.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;
use tokio::sync::Notify;

use crate::error::Error;

const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteFailure {
    Stuck { queued: usize },
    Closed,
}

pub(super) struct StdinQueue {
    state: Mutex<QueueState>,
    trouble: Notify,
}

struct QueueState {
    pipe: Option<ChildStdin>,
    queue: VecDeque<Bytes>,
    queued: usize,
}

impl StdinQueue {
    pub(super) fn new(pipe: ChildStdin) -> Self {
        let state = QueueState { pipe: Some(pipe), queue: VecDeque::new(), queued: 0 };
        Self { state: Mutex::new(state), trouble: Notify::new() }
    }

    /// Writes what the pipe accepts and queues the rest.
    pub(super) fn send(self: &Arc<Self>, message: &Bytes) -> Result<(), Error> {
        let mut state = self.lock();
        if state.pipe.is_none() {
            return Err(Error::Unsent);
        }
        if state.queued + message.len() > MAX_QUEUED_BYTES {
            self.trouble.notify_one();
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
            self.trouble.notify_one();
            return Err(Error::Unsent);
        }
        if written.is_pending() {
            let input = Arc::clone(self);
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    std::future::poll_fn(|context| input.lock().write(context)).await;
                    if input.lock().pipe.is_none() {
                        input.trouble.notify_one();
                    }
                });
            }
        }
        Ok(())
    }

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.pipe = None;
        state.queue.clear();
        state.queued = 0;
    }

    /// Waits until the server cannot be written to.
    pub(super) async fn trouble(&self) -> WriteFailure {
        self.trouble.notified().await;
        let state = self.lock();
        match state.pipe {
            Some(_) => WriteFailure::Stuck { queued: state.queued },
            None => WriteFailure::Closed,
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
                Poll::Ready(_) => {
                    self.pipe = None;
                    self.queue.clear();
                    self.queued = 0;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }
}
