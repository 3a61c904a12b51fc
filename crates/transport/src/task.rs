//! Tasks of one thread: futures that are polled when what they wait for has come. A round of polls
//! fills the channels, then one flush sends the calls of all tasks.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Wakes a task of a thread.
#[derive(Debug)]
struct Ready {
    is_ready: AtomicBool,
    thread: Thread,
}

impl Ready {
    fn new() -> Arc<Self> {
        Arc::new(Self { is_ready: AtomicBool::new(true), thread: thread::current() })
    }
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.is_ready.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Rounds of looking before a thread sleeps.
const POLLS: u32 = 200;

/// Runs one future to its end; `flush` sends what it has called.
pub fn block_on<F: Future>(future: F, flush: impl Fn()) -> F::Output {
    let mut future = pin!(future);
    let ready = Ready::new();
    let waker = Waker::from(Arc::clone(&ready));
    let mut idle = 0;
    loop {
        if ready.is_ready.swap(false, Ordering::AcqRel) {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
            flush();
            idle = 0;
        } else if idle < POLLS {
            idle += 1;
            thread::yield_now();
        } else {
            thread::park();
        }
    }
}

/// Runs futures side by side as one; what they returned, in their order.
pub async fn all<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut ended: Vec<Option<T>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut is_over = true;
        for (future, end) in running.iter_mut().zip(&mut ended) {
            if end.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *end = Some(output),
                    Poll::Pending => is_over = false,
                }
            }
        }
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    ended.into_iter().flatten().collect()
}

struct Task<'a, T> {
    ready: Arc<Ready>,
    waker: Waker,
    future: Pin<Box<dyn Future<Output = T> + 'a>>,
}

/// Futures that one thread runs side by side.
pub struct Tasks<'a, T> {
    tasks: Vec<Task<'a, T>>,
}

impl<T> Default for Tasks<'_, T> {
    fn default() -> Self {
        Self { tasks: Vec::new() }
    }
}

impl<'a, T> Tasks<'a, T> {
    /// Adds a task, which begins with the next round.
    pub fn spawn(&mut self, future: impl Future<Output = T> + 'a) {
        let ready = Ready::new();
        let waker = Waker::from(Arc::clone(&ready));
        self.tasks.push(Task { ready, waker, future: Box::pin(future) });
    }

    /// How many run.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True when none runs.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Polls each task that may go on; gives what ended ones returned.
    pub fn round(&mut self) -> Vec<T> {
        let mut ended = Vec::new();
        self.tasks.retain_mut(|task| {
            if !task.ready.is_ready.swap(false, Ordering::AcqRel) {
                return true;
            }
            match task.future.as_mut().poll(&mut Context::from_waker(&task.waker)) {
                Poll::Pending => true,
                Poll::Ready(output) => {
                    ended.push(output);
                    false
                }
            }
        });
        ended
    }

    /// True when a task may go on.
    pub fn is_ready(&self) -> bool {
        self.tasks.iter().any(|task| task.ready.is_ready.load(Ordering::Acquire))
    }

    /// Waits until a task may go on: polls some rounds, then sleeps.
    pub fn wait(&self) {
        for _ in 0..POLLS {
            if self.is_ready() || self.is_empty() {
                return;
            }
            thread::yield_now();
        }
        while !self.is_ready() {
            thread::park();
        }
    }
}
