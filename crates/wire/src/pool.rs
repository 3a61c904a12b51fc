//! Threads that serve connections: one for each that is active, none for those that are idle.
//!
//! ```text
//! idle (tokio waits for its socket) --readable--> queue -> thread: messages, statements, answers
//!    ^--------------- nothing for PATIENCE -----------------'
//! ```
//! A statement that waits for a lock holds its thread, so there are as many threads as active
//! connections need, at most as many as connections. They end when unused for [`UNUSED`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::connection::Connection;

/// How long a thread without work stays.
const UNUSED: Duration = Duration::from_secs(2);

/// Stack of a thread: twice what the parser's nesting limit was measured for.
const STACK_BYTES: usize = 4 << 20;

/// Work for a thread.
type Work = Box<Connection>;

#[derive(Default)]
struct State {
    queue: VecDeque<Work>,
    waiting: usize,
}

/// The threads.
pub(crate) struct Pool {
    state: Mutex<State>,
    available: Condvar,
    /// What a thread does with a connection.
    serve: Box<dyn Fn(Work) + Send + Sync>,
}

impl Pool {
    /// Threads that call `serve`.
    pub(crate) fn new(serve: impl Fn(Work) + Send + Sync + 'static) -> Arc<Self> {
        let (state, available) = Default::default();
        Arc::new(Self { state, available, serve: Box::new(serve) })
    }

    /// Serves a connection at once, by a new thread when all others are busy. When there can be no
    /// new thread it waits for one of them.
    pub(crate) fn submit(self: &Arc<Self>, work: Work) {
        let mut state = self.state.lock();
        state.queue.push_back(work);
        if state.queue.len() <= state.waiting {
            self.available.notify_one();
            return;
        }
        drop(state);
        let pool = Arc::clone(self);
        let thread = std::thread::Builder::new().name("session".into()).stack_size(STACK_BYTES);
        if let Err(error) = thread.spawn(move || pool.run()) {
            eprintln!("tessera: no thread for a session: {error}");
        }
    }

    fn run(&self) {
        loop {
            let mut state = self.state.lock();
            while state.queue.is_empty() {
                state.waiting += 1;
                let waited = self.available.wait_for(&mut state, UNUSED);
                state.waiting -= 1;
                if waited.timed_out() && state.queue.is_empty() {
                    return;
                }
            }
            let work = state.queue.pop_front();
            drop(state);
            work.into_iter().for_each(&self.serve);
        }
    }
}
