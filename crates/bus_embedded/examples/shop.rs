//! Queues in a database that is a part of the program: `cargo run -p bus_embedded --example shop --
//! DIRECTORY`. What a run does not finish, the next one finds.

use std::error::Error;
use std::sync::Arc;

use bus::native::{Hybrid, Native};
use bus::{Address, Bus, MessageType, ReceiveOptions, SendOptions};
use engine::{Config, Database};
use host::RealClock;

const RESIZE: MessageType = MessageType(1);

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("which directory?")?;
    let database = Database::open(directory, Config::default())?;
    let queues = bus_embedded::open(&database, "queues", Arc::new(RealClock))?;
    // Reads from memory, and many calls in one transaction: the queues are this program's alone.
    let bus = Native::<Hybrid>::cached(Hybrid, Arc::new(RealClock), Box::new(queues))?;
    let (shop, worker) = match &bus.clients()?[..] {
        [shop, worker, ..] => (shop.client, worker.client),
        _ => (bus.connect()?, bus.connect()?),
    };
    bus.register_sender(shop, RESIZE)?;
    bus.register_receiver(worker, RESIZE)?;
    bus.send(&SendOptions::new(shop, RESIZE, Address::Any, *b"picture 17"))?;
    bus.send(&SendOptions::new(shop, RESIZE, Address::Any, *b"picture 18"))?;
    let job = bus.receive(&ReceiveOptions::next(worker))?;
    println!("message {}: {}", job[0].key.id.0, String::from_utf8_lossy(&job[0].body));
    bus.delete(worker, &[job[0].key])?;
    // Any statement sees what waits.
    let mut session = database.session();
    let left = session.execute("SELECT count(*) FROM queues.queued_message")?;
    println!("{} left", left.text_rows()[0][0].as_deref().unwrap_or("0"));
    Ok(())
}
