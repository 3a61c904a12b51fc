//! Packets of the simulated network, and who takes part.

use bus_server::{Call, Failure, Reply, Retry};
use testkit::sim::{Party, PartyId, World};

use super::program::Program;
use super::server::Server;

/// The server's place among the parties.
pub(crate) const SERVER: PartyId = PartyId(0);

/// A request or an answer; an answer has the tag of its request.
#[derive(Clone, Debug)]
pub(crate) enum Packet {
    Describe { tag: u64 },
    Run { tag: u64, run: u64 },
    Call { tag: u64, call: Call, retry: Option<Retry> },
    Answer { tag: u64, outcome: Result<Reply, Failure> },
}

/// Somebody in the simulation.
pub(crate) enum Actor {
    Server(Box<Server>),
    Program(Box<Program>),
}

impl Party for Actor {
    type Message = Packet;

    fn start(&mut self, world: &mut World<'_, Packet>) {
        match self {
            Self::Server(server) => server.start(world),
            Self::Program(program) => program.start(world),
        }
    }

    fn receive(&mut self, from: PartyId, packet: Packet, world: &mut World<'_, Packet>) {
        match self {
            Self::Server(server) => server.take(from, packet, world),
            Self::Program(program) => program.take(packet, world),
        }
    }

    fn wake(&mut self, timer: u64, world: &mut World<'_, Packet>) {
        match self {
            Self::Server(server) => server.wake(timer, world),
            Self::Program(program) => program.wake(timer, world),
        }
    }

    fn crash(&mut self) {
        match self {
            Self::Server(server) => server.crash(),
            Self::Program(program) => program.crash(),
        }
    }
}
