//! A job queue on the disk in one program: `cargo run -p bus --example queue -- DIRECTORY`. What a
//! run does not finish, the next one finds.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bus::native::{Hybrid, LogSettings, Native, Tree};
use bus::{Address, Bus, MessageType, ReceiveOptions, SendOptions, Wait};
use host::{Io, RealClock, RealIo};

const RESIZE: MessageType = MessageType(1);

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("which directory?")?;
    let (io, clock): (Arc<dyn Io>, _) = (Arc::new(RealIo), Arc::new(RealClock));
    let path = Path::new(&directory);
    let bus = Native::<Hybrid, Tree>::open(Hybrid, clock, &io, path, LogSettings::default())?;
    // A client's id is for good. A program would keep it; here the first two are shop and worker.
    let (shop, worker) = match &bus.clients()?[..] {
        [shop, worker, ..] => (shop.client, worker.client),
        _ => (bus.connect()?, bus.connect()?),
    };
    bus.register_sender(shop, RESIZE)?;
    bus.register_receiver(worker, RESIZE)?;
    for picture in 1..=3 {
        let body = format!("picture {picture}").into_bytes();
        bus.send(&SendOptions::new(shop, RESIZE, Address::Any, body))?;
    }
    // Two of the three: the third stays.
    for _ in 0..2 {
        let wait = Wait::AtMost(Duration::from_secs(1));
        let job = bus.receive(&ReceiveOptions { wait, ..ReceiveOptions::next(worker) })?;
        println!("message {}: {}", job[0].key.id.0, String::from_utf8_lossy(&job[0].body));
        bus.delete(worker, &[job[0].key])?;
    }
    println!("{} left", bus.peek(worker)?.len());
    Ok(())
}
