//! The model as a bus passes the suite that it is the oracle of.

use std::sync::Arc;

use bus::conformance::Stack;
use bus::{Bus, ModelBus};
use host::SimClock;

struct InMemory(SimClock);

impl Stack for InMemory {
    fn start(&mut self) -> Arc<dyn Bus> {
        Arc::new(ModelBus::new(Arc::new(self.0.clone())))
    }

    fn clock(&self) -> &SimClock {
        &self.0
    }

    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        Err(bus)
    }
}

bus::conformance!(InMemory(SimClock::at(1_700_000_000_000_000)));
