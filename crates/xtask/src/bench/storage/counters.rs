//! Cache misses of a process, where the processor counts them and says so.
//!
//! ```text
//! L2 misses = references to the last level; L3 misses = misses of the last level
//! ```
//! Counters are inherited: those of threads started while one counts are added when they end.
//! Source: perf_event_open(2). Departure from Patel 2013, section 3.2: the kernel's generic events,
//! since those of a model are not known; on processors with three levels they mean these.

/// Misses of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Misses {
    pub(super) l2: f64,
    pub(super) l3: f64,
}

#[cfg(target_os = "linux")]
mod system {
    use perf_event::events::{Event, Hardware};
    use perf_event::{Builder, Counter};

    use super::Misses;

    /// Two counters, running from when they were made.
    pub(crate) struct Counters {
        references: Counter,
        misses: Counter,
    }

    /// A running counter of this thread and those it starts.
    pub(super) fn counter(event: Event) -> std::io::Result<Counter> {
        let mut builder = Builder::new().kind(event);
        builder.inherit(true);
        let mut counter = builder.build()?;
        counter.enable()?;
        Ok(counter)
    }

    impl Counters {
        /// Starts counting.
        ///
        /// # Errors
        /// Errors of the system, when it has no such counters or forbids them.
        pub(crate) fn start() -> std::io::Result<Self> {
            let references = counter(Hardware::CACHE_REFERENCES.into())?;
            Ok(Self { references, misses: counter(Hardware::CACHE_MISSES.into())? })
        }

        /// Counts so far.
        pub(crate) fn read(&mut self) -> Option<Misses> {
            let (l2, l3) = (self.references.read().ok()?, self.misses.read().ok()?);
            Some(Misses { l2: l2 as f64, l3: l3 as f64 })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Misses;

    /// There are none.
    pub(crate) struct Counters;

    impl Counters {
        /// Fails.
        ///
        /// # Errors
        /// Always.
        pub(crate) fn start() -> std::io::Result<Self> {
            Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "only Linux has them"))
        }

        /// Counts nothing.
        pub(crate) fn read(&mut self) -> Option<Misses> {
            None
        }
    }
}

pub(super) use system::Counters;

/// Says whether misses are counted here.
pub(super) fn describe() -> String {
    match Counters::start() {
        Ok(_) => "L2 and L3 misses by perf_event, generic events".to_owned(),
        Err(error) => format!("no counters here ({error})"),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use perf_event::events::Software;

    #[test]
    fn counters_count_what_started_threads_do() {
        // Page faults stand for misses, which a virtual machine may not count.
        let Ok(mut counter) = super::system::counter(Software::PAGE_FAULTS.into()) else {
            return;
        };
        let before = counter.read().expect("it runs");
        std::thread::scope(|scope| {
            scope.spawn(|| std::hint::black_box(vec![1u8; 64 << 20]).len());
        });
        assert!(counter.read().expect("it runs") > before);
    }
}
