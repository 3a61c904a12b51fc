//! The server of the bus with a log, in this process.

use std::sync::Arc;

use bus::native::{Hybrid, LogSettings, Native};
use bus::{Address, Bus, ClientId, MessageType, ReceiveOptions, SendOptions};
use bus_server::{Limits, Remote, RemoteOptions, Server, ServerOptions, Service};
use host::{Clock, Io, RealClock, RealIo};
use testkit::Scratch;

use super::{Courier, Post};

const TYPE: MessageType = MessageType(1);

struct Running {
    server: Option<Server>,
    _scratch: Scratch,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

pub(super) fn start() -> Result<Box<dyn Post>, String> {
    let scratch = Scratch::new("bus-peers-tessera");
    let (io, clock): (Arc<dyn Io>, Arc<dyn Clock>) = (Arc::new(RealIo), Arc::new(RealClock));
    let settings = LogSettings::default();
    let native = Native::<Hybrid>::open(Hybrid, Arc::clone(&clock), &io, scratch.path(), settings);
    let bus: Arc<dyn Bus> = Arc::new(native.map_err(|error| error.to_string())?);
    let service = Service::new(bus, clock, RealIo.entropy(), Limits::default());
    let listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let options = ServerOptions { listen, ..ServerOptions::default() };
    let server = Server::start(Arc::new(service), &options).map_err(|error| error.to_string())?;
    Ok(Box::new(Running { server: Some(server), _scratch: scratch }))
}

impl Post for Running {
    fn courier(&self, _number: usize) -> Result<Box<dyn Courier>, String> {
        let address = self.server.as_ref().ok_or("it is over")?.addresses()[0];
        let options = RemoteOptions::new(format!("http://{address}"));
        let bus = Remote::new(options).map_err(|error| error.to_string())?;
        let client = bus.connect().map_err(|error| error.to_string())?;
        bus.register_sender(client, TYPE).map_err(|error| error.to_string())?;
        bus.register_receiver(client, TYPE).map_err(|error| error.to_string())?;
        Ok(Box::new(Member { bus, client }))
    }
}

struct Member {
    bus: Remote,
    client: ClientId,
}

impl Courier for Member {
    fn send(&mut self, body: &[u8]) -> Result<(), String> {
        let to = [self.client];
        let message = SendOptions::new(self.client, TYPE, Address::Clients(&to), body);
        self.bus.send(&message).map(|_| ()).map_err(|error| error.to_string())
    }

    fn take(&mut self) -> Result<Vec<u8>, String> {
        let options = ReceiveOptions::next(self.client);
        let found = self.bus.receive(&options).map_err(|error| error.to_string())?;
        self.bus.delete(self.client, &[found[0].key]).map_err(|error| error.to_string())?;
        Ok(found[0].body.to_vec())
    }
}
