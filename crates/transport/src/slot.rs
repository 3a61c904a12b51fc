//! Places that answers come to: futures for tasks, waits for threads.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};

/// Why a call has no answer: its connection broke. Whether it happened is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for Broken {}

/// Rounds that a thread polls before it sleeps: about as long as a frame takes to its peer and back
/// on one machine.
const POLLS: u32 = 200;

#[derive(Debug, Default)]
struct State {
    answer: Option<Result<Vec<u8>, Broken>>,
    waker: Option<Waker>,
}

/// Place of one answer.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    is_full: AtomicBool,
    state: Mutex<State>,
    filled: Condvar,
}

impl Slot {
    /// Gives the answer, once.
    pub(crate) fn fill(&self, answer: Result<Vec<u8>, Broken>) {
        let waker = {
            let mut state = self.state.lock();
            state.answer = Some(answer);
            self.is_full.store(true, Ordering::Release);
            state.waker.take()
        };
        self.filled.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn wait(&self) -> Result<Vec<u8>, Broken> {
        for _ in 0..POLLS {
            if self.is_full.load(Ordering::Acquire) {
                break;
            }
            std::thread::yield_now();
        }
        let mut state = self.state.lock();
        loop {
            if let Some(answer) = state.answer.take() {
                return answer;
            }
            self.filled.wait(&mut state);
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Result<Vec<u8>, Broken>> {
        let mut state = self.state.lock();
        if let Some(answer) = state.answer.take() {
            return Poll::Ready(answer);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// A call on its way. Its frame goes out with the next flush of its channel. As a future it gives
/// the payload of the answer.
#[derive(Debug)]
pub struct Pending(pub(crate) Arc<Slot>);

impl Pending {
    /// One with its answer.
    pub fn ready(answer: Vec<u8>) -> Self {
        let slot = Arc::new(Slot::default());
        slot.fill(Ok(answer));
        Self(slot)
    }

    /// Waits for the answer: polls some rounds, then sleeps. The channel was flushed before.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn wait(self) -> Result<Vec<u8>, Broken> {
        self.0.wait()
    }
}

impl Future for Pending {
    type Output = Result<Vec<u8>, Broken>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context)
    }
}
