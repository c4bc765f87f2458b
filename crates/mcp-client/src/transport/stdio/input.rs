//! The standard input of a server: sending never waits and never tears a message.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;
use tokio::sync::Notify;

use crate::error::Error;

/// How much may wait for a server that does not read.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// Why a server can no longer be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It does not read, and too much is waiting.
    Stuck { queued: usize },
    /// It closed its end.
    Closed,
}

/// The writing end of the pipe, and what it has not taken yet.
pub(super) struct Input {
    state: Mutex<State>,
    trouble: Notify,
}

struct State {
    pipe: Option<ChildStdin>,
    queue: VecDeque<Bytes>,
    queued: usize,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Input")
    }
}

impl Input {
    pub(super) fn new(pipe: ChildStdin) -> Self {
        let state = State { pipe: Some(pipe), queue: VecDeque::new(), queued: 0 };
        Self { state: Mutex::new(state), trouble: Notify::new() }
    }

    /// Writes the message, or as much as the pipe takes; the rest is queued.
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
        // Nobody writes at the moment, so this thread may; whoever takes over brings its own waker.
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

    /// Closes the pipe; what was queued is dropped.
    pub(super) fn shut(&self) {
        let mut state = self.lock();
        state.pipe = None;
        state.queue.clear();
        state.queued = 0;
    }

    /// Waits until the server can no longer be written to.
    pub(super) async fn trouble(&self) -> Trouble {
        self.trouble.notified().await;
        let state = self.lock();
        match state.pipe {
            Some(_) => Trouble::Stuck { queued: state.queued },
            None => Trouble::Closed,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Writes until the queue is empty, or the pipe is gone.
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
