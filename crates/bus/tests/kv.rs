//! The bus in an ordered store passes the suite, and lives through random histories
//! beside the model.

mod history;

use std::path::PathBuf;
use std::sync::Arc;

use bus::conformance::{Effort, Stack};
use bus::kv::KeyValue;
use bus::{Bus, Copies};
use history::{Step, Twin, steps};
use host::SimClock;
use proptest::prelude::*;
use testkit::Scratch;

struct InFile {
    scratch: Scratch,
    clock: SimClock,
}

impl InFile {
    fn new() -> Self {
        let name = std::thread::current().name().unwrap_or("row").replace(':', "-");
        Self { scratch: Scratch::new(&format!("kv-{name}")), clock: SimClock::at(1000) }
    }

    fn path(&self) -> PathBuf {
        self.scratch.join("bus.redb")
    }

    fn open(&self) -> KeyValue {
        KeyValue::open(&self.path(), Arc::new(self.clock.clone())).expect("opens")
    }
}

impl Stack for InFile {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(self.open())
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        drop(bus);
        Ok(self.start())
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}

bus::conformance!(InFile::new());

fn copies() -> impl Strategy<Value = Copies> + Clone {
    prop_oneof![Just(Copies::One), Just(Copies::Each)]
}

fn run(steps: &[Step]) {
    let file = InFile::new();
    let mut twin = Twin::new(file.clock.clone());
    for part in steps.chunks(20) {
        let bus = file.open();
        part.iter().for_each(|step| _ = twin.step(&bus, step));
        twin.settle(&bus);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn histories(steps in proptest::collection::vec(steps(copies()), 1..80)) {
        run(&steps);
    }
}
