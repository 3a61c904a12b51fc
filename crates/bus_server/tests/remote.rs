//! The bus passes the suite over the network, with calls repeated as the client does.

use std::sync::Arc;
use std::time::Duration;

use bus::Bus;
use bus::conformance::{Effort, Stack};
use bus::native::{Hybrid, LogSettings, Native, Tree};
use bus_server::{Limits, Remote, RemoteOptions, Server, ServerOptions, Service};
use host::{Clock, Io, RealIo, SimClock};
use testkit::Scratch;

/// A server of this process, and its clients.
struct Networked {
    scratch: Scratch,
    clock: SimClock,
    server: Option<Server>,
}

impl Networked {
    fn new() -> Self {
        let test = std::thread::current().name().unwrap_or("row").replace(':', "-");
        let scratch = Scratch::new(&format!("bus-remote-{test}"));
        Self { scratch, clock: SimClock::at(1_700_000_000_000_000), server: None }
    }
}

impl Stack for Networked {
    fn start(&mut self) -> Arc<dyn Bus> {
        let io: Arc<dyn Io> = Arc::new(RealIo);
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let settings = LogSettings::default();
        let path = self.scratch.path();
        let bus = Native::<Hybrid, Tree>::open(Hybrid, Arc::clone(&clock), &io, path, settings);
        let limits = Limits { message_bytes: 128 << 20, ..Limits::default() };
        let service = Service::new(Arc::new(bus.expect("opens")), clock, io.entropy(), limits);
        let listen = vec!["127.0.0.1:0".parse().expect("an address")];
        let options = ServerOptions { listen, ..ServerOptions::default() };
        let server = Server::start(Arc::new(service), &options).expect("starts");
        let address = format!("http://{}", server.addresses()[0]);
        self.server = Some(server);
        // Of 100 MB, on a machine with other work, an answer may take minutes.
        let answer_limit = Duration::from_secs(900);
        let options = RemoteOptions { answer_limit, ..RemoteOptions::new(address) };
        Arc::new(Remote::new(options).expect("an address"))
    }

    fn clock(&self) -> &SimClock {
        &self.clock
    }

    fn crash(&mut self, bus: Arc<dyn Bus>) -> Result<Arc<dyn Bus>, Arc<dyn Bus>> {
        drop(bus);
        // Its threads go on with what they do, so it ends in order; kills are tested elsewhere.
        self.server.take().expect("runs").stop();
        Ok(self.start())
    }

    fn effort(&self) -> Effort {
        Effort::Reduced
    }
}

bus::conformance!(Networked::new());
