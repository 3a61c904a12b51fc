//! A progress bar for statements that take more than a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::{ProgressHandle, Session};
use indicatif::{ProgressBar, ProgressStyle};

/// Before this a statement shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(50);

const WATCH: u8 = 0;
const PAUSE: u8 = 1;
const STOP: u8 = 2;

/// Watches a session's statements and draws on standard error when that is a terminal.
pub(crate) struct Watch {
    state: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts to watch `session`.
    pub(crate) fn start(session: &Session) -> Self {
        use std::io::IsTerminal as _;
        let state = Arc::new(AtomicU8::new(WATCH));
        if !std::io::stderr().is_terminal() {
            return Self { state, thread: None };
        }
        let (seen, handle) = (Arc::clone(&state), session.progress_handle());
        let thread = std::thread::spawn(move || draw(&seen, &handle));
        Self { state, thread: Some(thread) }
    }

    /// Takes the bar away while rows are printed; it comes back after another second.
    pub(crate) fn pause(&self) {
        self.state.store(PAUSE, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Ends the watch.
    pub(crate) fn stop(mut self) {
        self.state.store(STOP, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread only draws; if it panicked there is nothing to save.
            let _ = thread.join();
        }
    }
}

fn draw(state: &AtomicU8, handle: &ProgressHandle) {
    let mut since = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    loop {
        std::thread::park_timeout(TICK);
        match state.compare_exchange(PAUSE, WATCH, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                since = Instant::now();
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
            }
            Err(STOP) => break,
            Err(_) => {}
        }
        if let (true, Some((done, total))) = (since.elapsed() > PATIENCE, handle.get()) {
            let bar = bar.get_or_insert_with(new_bar);
            bar.set_length(total);
            bar.set_position(done);
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

/// A bar in the program's style.
pub(crate) fn new_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:16} [{bar:40}] {percent:>3} % {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style.progress_chars("=> "))
}
