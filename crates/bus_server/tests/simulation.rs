//! Server, clients, disk and network on one thread, from a seed: the server's and the client's own
//! code (`Service`, `Exchange`), a disk that forgets and tears, a network that loses, doubles and
//! reorders, and parties that crash.
//!
//! `SEEDS=100000 FIRST_SEED=0 cargo test --release -p bus_server --test simulation` runs more
//! seeds; `cargo xtask bus simulate` says so shorter. A failure names its seed.

mod simulation {
    pub(crate) mod check;
    pub(crate) mod packet;
    pub(crate) mod program;
    pub(crate) mod server;
}

use bus::ClientId;
use simulation::check::{Tally, check};
use simulation::packet::{Actor, SERVER};
use simulation::program::{Program, Role};
use simulation::server::Server;
use testkit::sim::{Faults, PartyId, Sim};

/// Simulated time of troubles and of the calm after them, in microseconds.
const TROUBLED: i64 = 400_000;
const CALM: i64 = 400_000;

/// Roles of the clients 1, 2, ... of the bus; each is a program.
const ROLES: [Role; 6] =
    [Role::Sender, Role::Sender, Role::Sender, Role::Keeper, Role::Keeper, Role::Taker];

fn faults() -> Faults {
    Faults {
        delay: 100..4_000,
        lost: 8,
        doubled: 10,
        calm: 2_000..40_000,
        trouble: 500..20_000,
        crashing: (0..=ROLES.len()).map(PartyId).collect(),
    }
}

fn run(seed: u64) -> Sim<Actor> {
    let mut parties = vec![Actor::Server(Box::new(Server::new(seed, &ROLES)))];
    for (at, role) in ROLES.into_iter().enumerate() {
        let client = ClientId(at as u64 + 1);
        parties.push(Actor::Program(Box::new(Program::new(client, role))));
    }
    let mut sim = Sim::new(seed, faults(), parties);
    sim.run_for(TROUBLED);
    sim.calm();
    sim.run_for(CALM);
    sim
}

fn number(name: &str, otherwise: u64) -> u64 {
    let given = std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    given.unwrap_or(otherwise)
}

#[test]
fn nothing_acknowledged_is_lost_doubled_reordered_or_partial() {
    let (first, count) = (number("FIRST_SEED", 0), number("SEEDS", 300));
    let mut all = Tally::default();
    for seed in first..first + count {
        let sim = run(seed);
        let parties: Vec<&Actor> = sim.parties().collect();
        let tally = check(seed, parties[SERVER.0], &parties[1..]);
        all.add(&tally);
    }
    println!("seeds {first} to {}: {all:?}", first + count - 1);
    // The histories are ones in which things go wrong.
    assert!(all.acknowledged > 30 * count, "{all:?}");
    assert!(all.unknown > 0 && all.repeated > count && all.lives > 2 * count, "{all:?}");
    assert!(all.cancelled > 0 && all.connected > 0, "{all:?}");
}

#[test]
fn a_seed_is_a_history() {
    let histories = |seed| {
        let sim = run(seed);
        let parties: Vec<&Actor> = sim.parties().collect();
        (sim.trace(), check(seed, parties[SERVER.0], &parties[1..]))
    };
    for seed in 0..3 {
        assert_eq!(histories(seed), histories(seed), "seed {seed}");
    }
}
