//! Ctrl-C while a statement runs.
//!
//! Python's signal handlers run on its main thread, when that asks. So a statement of the main
//! thread runs on a thread of its own, while the main thread asks now and then.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use engine::CancelHandle;
use pyo3::intern;
use pyo3::prelude::*;

/// How long a statement takes, as far as known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// Less than it takes to start a thread.
    Short,
    Unknown,
}

/// How often the main thread looks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often a cancel is repeated: one that comes before the statement begins does not count.
const CANCEL_EVERY: Duration = Duration::from_millis(5);

/// Runs `work` detached from the interpreter. When a signal handler raises meanwhile, what
/// `cancel` cancels is cancelled, and the handler's exception is the result.
///
/// # Errors
/// Exception that a signal handler raised.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    cancel: &CancelHandle,
    length: Length,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if length == Length::Short || !is_main_thread(py)? {
        return Ok(py.detach(work));
    }
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(1);
            let worker = scope.spawn(move || {
                let result = work();
                // The receiver waits for it.
                let _ = sender.send(());
                result
            });
            let mut raised = None;
            loop {
                let wait = if raised.is_some() { CANCEL_EVERY } else { LOOK_EVERY };
                match receiver.recv_timeout(wait) {
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals()).err();
                }
                if raised.is_some() {
                    cancel.cancel();
                }
            }
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            raised.map_or(Ok(result), Err)
        })
    })
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import(intern!(py, "threading"))?;
    let main = threading.call_method0(intern!(py, "main_thread"))?;
    let current = threading.call_method0(intern!(py, "get_ident"))?;
    main.getattr(intern!(py, "ident"))?.eq(current)
}
