//! A stack whose bus lies in one file, opened anew after each crash.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bus::conformance::{Effort, Stack};
use bus::{Bus, BusError};
use host::SimClock;
use testkit::Scratch;
use types::SqlState;

use crate::cached::{Cached, Place};

/// Opens a bus in the file.
type Open<B> = fn(&Path, SimClock) -> bus::Result<B>;

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
        self.try_open().expect("opens")
    }

    pub(crate) fn try_open(&self) -> bus::Result<B> {
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

/// While a cache has the file nobody opens it; afterwards all that was sent is there.
pub(crate) fn alone<B: Bus>(cached: &Cached<InFile<B>>)
where
    InFile<B>: Place,
{
    let bus = cached.open();
    let [a, b] = crate::cached::pair(&bus);
    bus.send(&crate::cached::message(a)).expect("sends");
    match cached.0.open_bare().map(drop) {
        Err(BusError::Storage(error)) => assert_eq!(error.state(), SqlState::OBJECT_IN_USE),
        other => panic!("{other:?}"),
    }
    drop(bus);
    assert_eq!(cached.bare().peek(b).expect("peeks").len(), 1);
}
