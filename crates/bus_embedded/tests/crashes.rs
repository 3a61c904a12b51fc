//! Crashes of a disk that forgets what was not synced, at any change of a file, while a bus in
//! tables of the database there is called: alone, and behind the native bus.

#[path = "../../bus/tests/cached/mod.rs"]
mod cached;
#[path = "../../bus/tests/history/mod.rs"]
mod history;
mod directory;

use bus::conformance::Stack as _;
use bus::{Bus, Copies};
use cached::{Cached, Place as _};
use directory::Directory;
use history::{Certainty, Step, Twin, steps};
use host::Fault;
use proptest::prelude::*;
use testkit::Random;

/// Which bus of a directory is called.
#[derive(Clone, Copy, Debug)]
enum Way {
    Bare,
    Cached,
}

fn open(cached: &Cached<Directory>, way: Way) -> bus::Result<Box<dyn Bus>> {
    Ok(match way {
        Way::Bare => Box::new(cached.0.try_open()?),
        Way::Cached => Box::new(cached.try_open()?),
    })
}

/// Opens after a crash, which may meet faults of its own.
fn reopen(cached: &Cached<Directory>, way: Way, random: &mut Random) -> Box<dyn Bus> {
    if random.chance(30) {
        cached.0.io().inject(Fault::PowerLoss(1 + random.below(12)));
        drop(open(cached, way));
        cached.0.restart();
    }
    cached.0.io().clear_faults();
    open(cached, way).expect("opens")
}

/// All that was acknowledged is there, and of the call that failed all or nothing.
fn lives(seed: u64, parts: &[Vec<Step>], way: Way) {
    let mut random = Random::new(seed);
    let cached = Cached(Directory::simulated(random.bits()));
    let mut twin = Twin::new(cached.0.clock().clone());
    let mut bus = open(&cached, way).expect("opens");
    for part in parts {
        cached.0.io().inject(match random.below(5) {
            0 => Fault::Sync(1 + random.below(40)),
            1 => Fault::Write(1 + random.below(60)),
            _ => Fault::PowerLoss(1 + random.below(120)),
        });
        for step in part {
            if let Certainty::Unknown = twin.step(&*bus, step) {
                break;
            }
        }
        if random.chance(50) {
            cached.0.io().crash();
        }
        drop(bus);
        cached.0.restart();
        bus = reopen(&cached, way, &mut random);
        twin.settle(&*bus);
    }
    drop(bus);
    cached.0.assert_queues_are_whole();
}

fn parts() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let part = proptest::collection::vec(steps(Just(Copies::Each)), 1..40);
    proptest::collection::vec(part, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn acknowledged_calls_survive(seed in any::<u64>(), parts in parts()) {
        lives(seed, &parts, Way::Bare);
    }

    #[test]
    fn acknowledged_calls_survive_behind_the_native_bus(
        seed in any::<u64>(),
        parts in parts(),
    ) {
        lives(seed, &parts, Way::Cached);
    }
}
