//! A stack whose bus lies in one file, opened anew after each crash.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bus::Bus;
use bus::conformance::{Effort, Stack};
use host::SimClock;
use testkit::Scratch;

/// Opens a bus in the file.
type Open<B> = fn(&Path, SimClock) -> B;

/// A bus of type `B` in a file of its own.
pub(crate) struct InFile<B> {
    scratch: Scratch,
    pub(crate) clock: SimClock,
    name: &'static str,
    open: Open<B>,
}

impl<B> InFile<B> {
    /// A file called `name`, in a directory that no other test has.
    pub(crate) fn new(name: &'static str, open: Open<B>) -> Self {
        let test = std::thread::current().name().unwrap_or("row").replace(':', "-");
        let scratch = Scratch::new(&format!("{name}-{test}"));
        Self { scratch, clock: SimClock::at(1000), name, open }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.scratch.join(self.name)
    }

    pub(crate) fn open(&self) -> B {
        (self.open)(&self.path(), self.clock.clone())
    }
}

impl<B: Bus + 'static> Stack for InFile<B> {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.open())
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}
