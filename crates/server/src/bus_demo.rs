//! `tessera bus-demo`: a search over parts of a text, each of which two servers have, by messages.
//!
//! ```text
//! client -- request: part, words --> one of two servers, or both, tied --> counts of words
//! server: receive, cancel the other's copy, read, count, respond, delete its own copy
//! ```
//! Servers are threads with a client of the bus each, over gRPC; a read of a part is a pause, for
//! four disks are not to be had on one machine. Parts are the same in all runs, and so must be what
//! is found.
//! Source: Chasseur 2015, section 4.5, "Distributed search", and its straggler.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ::bus::native::{Hybrid, Native, Tree};
use ::bus::{
    Address, Bus, BusError, Cancellable, ClientId, Copies, Delivery, Interrupt, MessageType,
    ReceiveOptions, Result, SendOptions, Spare, Wait,
};
use bus_server::{Limits, Remote, RemoteOptions, Server, ServerOptions, Service};
use host::{Clock, Io as _, RealClock, RealIo};
use types::Error;

const REQUEST: MessageType = MessageType(0);
const RESPONSE: MessageType = MessageType(1);
const SERVERS: usize = 4;
const PARTS: usize = 44;
const DOCUMENTS: usize = 50;
const WORDS: usize = 30;
/// Times that the slow server reads its parts.
const SLOWNESS: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(60);
const SEARCH: [&str; 3] = ["queue", "order", "crash"];
const TEXT: [&str; 24] = [
    "a", "client", "message", "the", "waits", "queue", "server", "of", "and", "log", "disk", "the",
    "order", "in", "sends", "a", "reads", "to", "bus", "the", "crash", "by", "keeps", "rows",
];

/// How requests are sent, and whether a server is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    Well,
    Slow,
    SlowTied,
}

/// Outcome of a run.
struct Found {
    time: Duration,
    /// Parts that were read, some by two servers.
    reads: u32,
    /// Best documents, part and number, with their scores in thousandths.
    best: Vec<(usize, usize, u64)>,
}

/// Counts of the words looked for, by document.
type Counts = Vec<[u32; SEARCH.len()]>;

/// Runs the search three times and compares.
pub(crate) fn run(read_ms: u32) -> types::Result<ExitCode> {
    let read = Duration::from_millis(read_ms.into());
    let words = SEARCH.join(" ");
    println!(
        "{PARTS} parts on {SERVERS} servers, searched for \"{words}\"; a read takes {read:?}."
    );
    println!("{:32} {:>8} {:>14} {:>12}", "", "seconds", "to the first", "parts read");
    let mut first: Option<Found> = None;
    for (setting, name) in [
        (Setting::Well, "all servers are well"),
        (Setting::Slow, "one reads four times as slowly"),
        (Setting::SlowTied, "the same, with tied messages"),
    ] {
        let found = search(setting, read).map_err(error_of)?;
        let seconds = found.time.as_secs_f64();
        let factor = first.as_ref().map_or(1.0, |first| seconds / first.time.as_secs_f64());
        println!("{name:32} {seconds:>8.3} {factor:>13.2}x {:>12}", found.reads);
        if first.as_ref().is_some_and(|first| first.best != found.best) {
            return Err(Error::internal("two runs found different documents"));
        }
        first.get_or_insert(found);
    }
    let best = first.map(|found| found.best).unwrap_or_default();
    let names = best.iter().map(|(part, number, _)| format!("{part}/{number}"));
    let names = names.collect::<Vec<_>>().join(", ");
    println!("The best documents are the same in all runs: {names}.");
    Ok(ExitCode::SUCCESS)
}

fn error_of(error: BusError) -> Error {
    if let BusError::Storage(error) = error { error } else { Error::internal(error.to_string()) }
}

/// The two servers that have a part.
fn holders(part: usize) -> [usize; 2] {
    let first = part % SERVERS;
    [first, (first + 1 + part / SERVERS % (SERVERS - 1)) % SERVERS]
}

/// The documents of a part, as words.
fn documents(part: usize) -> impl Iterator<Item = impl Iterator<Item = &'static str>> {
    (0..DOCUMENTS).map(move |document| {
        let mut state = (part * DOCUMENTS + document) as u64;
        (0..WORDS).map(move |_| {
            // SplitMix64: the same text on each machine.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            TEXT[(mixed >> 32) as usize % TEXT.len()]
        })
    })
}

fn count(part: usize) -> Counts {
    let of = |words: &mut dyn Iterator<Item = &'static str>| {
        let mut counts = [0; SEARCH.len()];
        for word in words {
            if let Some(at) = SEARCH.iter().position(|searched| *searched == word) {
                counts[at] += 1;
            }
        }
        counts
    };
    documents(part).map(|mut words| of(&mut words)).collect()
}

/// A server of the bus, and one of the search's programs at it.
fn remote(address: &str) -> Result<Remote> {
    Ok(Remote::new(RemoteOptions::new(address))?)
}

fn search(setting: Setting, read: Duration) -> Result<Found> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock);
    let bus = Arc::new(Native::<Hybrid, Tree>::in_memory(Hybrid, Arc::clone(&clock)));
    let service = Service::new(bus, clock, RealIo.entropy(), Limits::default());
    let listen = vec![std::net::SocketAddr::from(([127, 0, 0, 1], 0))];
    let options = ServerOptions { listen, ..ServerOptions::default() };
    let server = Server::start(Arc::new(service), &options)?;
    let address = format!("http://{}", server.addresses()[0]);
    let client = remote(&address)?;
    let me = client.connect()?;
    client.register_sender(me, REQUEST)?;
    client.register_receiver(me, RESPONSE)?;
    let (end, reads) = (Interrupt::default(), AtomicU32::new(0));
    let mut programs = Vec::new();
    for at in 0..SERVERS {
        let bus = remote(&address)?;
        let id = bus.connect()?;
        bus.register_receiver(id, REQUEST)?;
        bus.register_sender(id, RESPONSE)?;
        let pauses = if at == 0 && setting != Setting::Well { SLOWNESS } else { 1 };
        programs.push(Program { bus, id, read: read * pauses, end: &end, reads: &reads });
    }
    let ids: Vec<ClientId> = programs.iter().map(|program| program.id).collect();
    let (time, counts) = thread::scope(|scope| {
        let threads: Vec<_> =
            programs.iter().map(|program| scope.spawn(|| program.serve())).collect();
        let begin = Instant::now();
        let counts = ask(&client, me, &ids, setting);
        let time = begin.elapsed();
        end.trigger();
        let ended = threads.into_iter().map(|thread| thread.join().expect("no thread panics"));
        let ended: Result<Vec<()>> = ended.collect();
        ended.and(counts).map(|counts| (time, counts))
    })?;
    drop((client, programs));
    server.stop();
    Ok(Found { time, reads: reads.into_inner(), best: rank(&counts) })
}

/// Sends a request for each part and collects a response for each.
fn ask(
    bus: &Remote,
    me: ClientId,
    servers: &[ClientId],
    setting: Setting,
) -> Result<BTreeMap<usize, Counts>> {
    for part in 0..PARTS {
        let both = holders(part).map(|server| servers[server]);
        let body = (part as u32).to_le_bytes();
        let request = if setting == Setting::SlowTied {
            let (copies, cancellable) = (Copies::Each, Cancellable::Yes);
            let to = SendOptions::new(me, REQUEST, Address::Clients(&both), body);
            bus.send(&SendOptions { copies, cancellable, ..to })
        } else {
            bus.send(&SendOptions::new(me, REQUEST, Address::Clients(&both[..1]), body))
        };
        request?;
    }
    let mut found = BTreeMap::new();
    while found.len() < PARTS {
        let wait = Wait::AtMost(PATIENCE);
        let responses = bus.receive(&ReceiveOptions { wait, ..ReceiveOptions::new(me) })?;
        // Two servers may have begun at once: the second response is passed over.
        for response in &responses {
            let (part, counts) = read_response(&response.body);
            found.entry(part).or_insert(counts);
        }
        let keys: Vec<_> = responses.iter().map(|response| response.key).collect();
        bus.delete(me, &keys)?;
    }
    Ok(found)
}

/// A server of the search.
struct Program<'a> {
    bus: Remote,
    id: ClientId,
    read: Duration,
    end: &'a Interrupt,
    reads: &'a AtomicU32,
}

impl Program<'_> {
    /// Answers requests until the end.
    fn serve(&self) -> Result<()> {
        let next = ReceiveOptions { interrupt: Some(self.end), ..ReceiveOptions::next(self.id) };
        loop {
            let request = match self.bus.receive(&next) {
                Ok(mut requests) => requests.remove(0),
                Err(BusError::Interrupted) => return Ok(()),
                Err(error) => return Err(error),
            };
            self.answer(&request)?;
        }
    }

    fn answer(&self, request: &Delivery) -> Result<()> {
        if let Some(token) = request.token() {
            // The own copy stays until the answer is sent: who dies at work gets it again.
            self.bus.cancel(self.id, &[token], Spare::Caller)?;
        }
        let part: Vec<u8> = request.body.to_vec();
        let part = part.try_into().map_or(0, u32::from_le_bytes) as usize;
        self.reads.fetch_add(1, Ordering::Relaxed);
        thread::sleep(self.read);
        let body = write_response(part, &count(part));
        let back = [request.sender];
        self.bus.send(&SendOptions::new(self.id, RESPONSE, Address::Clients(&back), body))?;
        self.bus.delete(self.id, &[request.key]).map(drop)
    }
}

fn write_response(part: usize, counts: &Counts) -> Vec<u8> {
    let numbers = [part as u32].into_iter().chain(counts.iter().flatten().copied());
    numbers.flat_map(u32::to_le_bytes).collect()
}

fn read_response(body: &[u8]) -> (usize, Counts) {
    let numbers = body.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let numbers: Vec<u32> = numbers.collect();
    let (part, counts) = numbers.split_first().unwrap_or((&0, &[]));
    (*part as usize, counts.as_chunks().0.to_vec())
}

/// The three best documents: counts of words, each by how rare it is.
fn rank(counts: &BTreeMap<usize, Counts>) -> Vec<(usize, usize, u64)> {
    let all = counts.values().map(Vec::len).sum::<usize>() as f64;
    let rarity: Vec<f64> = (0..SEARCH.len())
        .map(|at| {
            let with = counts.values().flatten().filter(|counts| counts[at] > 0).count();
            (all / with.max(1) as f64).ln()
        })
        .collect();
    let mut scores: Vec<(usize, usize, u64)> = Vec::new();
    for (part, documents) in counts {
        for (number, counts) in documents.iter().enumerate() {
            let score = counts.iter().zip(&rarity).map(|(count, rare)| f64::from(*count) * rare);
            scores.push((*part, number, (score.sum::<f64>() * 1000.0) as u64));
        }
    }
    scores.sort_by_key(|(part, number, score)| (u64::MAX - score, *part, *number));
    scores.truncate(3);
    scores
}
