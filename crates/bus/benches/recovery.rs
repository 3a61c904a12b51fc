//! Opening a native bus: from its log alone, and from a snapshot:
//! `cargo bench -p bus --bench recovery`. Run by `cargo test` it checks itself on tiny input.
//!
//! Messages of 64 bytes are sent to 16 clients without waiting for the disk, and none is deleted.
//! Bytes are those of the files that the opening reads.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bus::native::{Durability, Hybrid, LogSettings, Native};
use bus::{Address, Body, Bus, ClientId, MessageType, SendOptions};
use host::{Io, RealClock, RealIo};
use testkit::Scratch;

/// The allocator of the binary `tessera`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TYPE: MessageType = MessageType(1);
const BODY_BYTES: usize = 64;
const RECEIVERS: usize = 16;

fn open(directory: &Path) -> Native {
    let io: Arc<dyn Io> = Arc::new(RealIo);
    // A snapshot is made where the bench asks for it only.
    let settings = LogSettings {
        durability: Durability::Asynchronous,
        snapshot_bytes: 1 << 50,
        ..LogSettings::default()
    };
    Native::open(Hybrid, Arc::new(RealClock), &io, directory, settings).expect("opens")
}

/// Sends `messages`, in turns to each receiver.
fn fill(bus: &Native, messages: usize) {
    let sender = bus.connect().expect("connects");
    bus.register_sender(sender, TYPE).expect("registers");
    let receivers: Vec<ClientId> = (0..RECEIVERS)
        .map(|_| {
            let client = bus.connect().expect("connects");
            bus.register_receiver(client, TYPE).expect("registers");
            client
        })
        .collect();
    let body: Body = Arc::from([7; BODY_BYTES]);
    for receiver in receivers.iter().cycle().take(messages) {
        let to = [*receiver];
        let message = SendOptions::new(sender, TYPE, Address::Clients(&to), body.clone());
        bus.send(&message).expect("sends");
    }
}

/// Bytes of the files in `directory` and the directories in it.
fn bytes_of(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).expect("is there").flatten();
    entries
        .map(|entry| {
            let metadata = entry.metadata().expect("is there");
            if metadata.is_dir() { bytes_of(&entry.path()) } else { metadata.len() }
        })
        .sum()
}

/// Opens the bus of `directory`, says how long it took, and returns it.
fn report(name: &str, directory: &Path, messages: usize) -> Native {
    let bytes = bytes_of(directory) as f64 / 1e6;
    let begin = Instant::now();
    let bus = open(directory);
    let seconds = begin.elapsed().as_secs_f64();
    let found: usize = bus.clients().expect("lists").iter().map(|client| client.messages).sum();
    assert_eq!(found, messages, "all messages are there");
    println!("{name:>8} {messages:>9} {bytes:>9.1} {seconds:>7.2} {:>6.0}", bytes / seconds);
    bus
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let sizes: &[usize] = if is_bench { &[1_000_000, 10_000_000] } else { &[1_000] };
    println!("opening: from, messages, MB, s, MB/s");
    for messages in sizes.iter().copied() {
        let scratch = Scratch::new("bus-recovery");
        fill(&open(scratch.path()), messages);
        let bus = report("log", scratch.path(), messages);
        bus.snapshot().expect("a snapshot");
        drop(bus);
        drop(report("snapshot", scratch.path(), messages));
    }
}
