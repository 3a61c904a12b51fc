//! Threads that want the processors for themselves, so that those of a child stop anywhere, for
//! longer than the system would let them otherwise.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use testkit::Random;

/// The longest that one works without a rest, in microseconds.
const BUSY_US: u64 = 20_000;

/// The longest rest.
const REST_US: u64 = 5_000;

/// By how much others go before a child (`nice`): one of its threads gets a tenth of what a rival
/// does.
const NICENESS: &str = "10";

/// Threads that disturb until they are dropped.
pub(super) struct Rivals {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Rivals {
    pub(super) fn start(count: usize, seed: u64) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = |number: usize| {
            let is_over = Arc::clone(&is_over);
            let random = Random::new(seed.wrapping_add(number as u64));
            std::thread::spawn(move || compete(&is_over, random))
        };
        let threads = (0..count).map(thread).collect();
        Self { is_over, threads }
    }
}

impl Drop for Rivals {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn compete(is_over: &AtomicBool, mut random: Random) {
    while !is_over.load(Ordering::Relaxed) {
        let end = Instant::now() + Duration::from_micros(random.below(BUSY_US));
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        std::thread::sleep(Duration::from_micros(random.below(REST_US)));
    }
}

/// `program` at a priority below that of the rivals.
pub(super) fn yielding(program: &Path) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", NICENESS]).arg(program);
    command
}
