//! Random histories of calls against the model.

mod history;

use std::path::Path;
use std::sync::Arc;

use bus::native::{Concurrency, Heap, Hybrid, LogSettings, Native, Numa, Queue, RwLocks, Tree};
use bus::{Bus, Copies, ModelBus};
use history::{Step, Twin, steps};
use host::{Io, SimClock, SimIo, Tear};
use proptest::prelude::*;
use wal::{Background, LogOptions};

fn copies() -> impl Strategy<Value = Copies> + Clone {
    prop_oneof![Just(Copies::One), Just(Copies::Each)]
}

fn run(bus: &dyn Bus, clock: SimClock, steps: &[Step]) {
    let mut twin = Twin::new(clock);
    for step in steps {
        twin.step(bus, step);
        twin.settle(bus);
    }
}

fn in_memory<C: Concurrency, Q: Queue>(concurrency: C, steps: &[Step]) {
    let clock = SimClock::at(1000);
    let bus = Native::<C, Q>::in_memory(concurrency, Arc::new(clock.clone()));
    run(&bus, clock, steps);
}

/// With a log, closed and opened after each part, each second time from a snapshot.
fn logged(steps: &[Step]) {
    let clock = SimClock::at(1000);
    let io: Arc<dyn Io> = Arc::new(SimIo::new(1, Tear::Bytes));
    let log =
        LogOptions { segment_bytes: 4096, background: Background::None, ..LogOptions::default() };
    let settings = LogSettings { log, ..LogSettings::default() };
    let mut twin = Twin::new(clock.clone());
    for (i, part) in steps.chunks(20).enumerate() {
        let (place, clock) = (Path::new("/bus"), Arc::new(clock.clone()));
        let bus = Native::<Hybrid, Tree>::open(Hybrid, clock, &io, place, settings);
        let bus = bus.expect("opens");
        twin.settle(&bus);
        part.iter().for_each(|step| _ = twin.step(&bus, step));
        twin.settle(&bus);
        if i % 2 == 1 {
            bus.snapshot().expect("is written");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_model_as_a_bus(steps in proptest::collection::vec(steps(copies()), 1..120)) {
        let clock = SimClock::at(1000);
        run(&ModelBus::new(Arc::new(clock.clone())), clock, &steps);
    }

    #[test]
    fn hybrid_and_tree(steps in proptest::collection::vec(steps(copies()), 1..120)) {
        in_memory::<Hybrid, Tree>(Hybrid, &steps);
    }

    #[test]
    fn numa_and_heap(steps in proptest::collection::vec(steps(copies()), 1..120)) {
        in_memory::<Numa, Heap>(Numa::new(3), &steps);
    }

    #[test]
    fn read_write_locks(steps in proptest::collection::vec(steps(copies()), 1..120)) {
        in_memory::<RwLocks, Tree>(RwLocks, &steps);
    }

    #[test]
    fn with_a_log(steps in proptest::collection::vec(steps(copies()), 1..200)) {
        logged(&steps);
    }
}
