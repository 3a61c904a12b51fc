//! `tessera bus`: its arguments, and that a kill takes nothing that it acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Barrier;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use bus::{Address, Bus, ClientId, Copies, Delivery, MessageType, ReceiveOptions, SendOptions};
use bus_server::{Remote, RemoteOptions};
use testkit::Scratch;

const TYPE: MessageType = MessageType(1);
const SENDERS: usize = 6;
const RECEIVERS: usize = 2;

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(data: &Path, listen: &str) -> Self {
        let mut child = command()
            .arg("bus")
            .arg(data)
            .args(["--listen", listen, "--max-batch", "10000000"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was built");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let address = |line: String| line.split_once("bus on ").map(|(_, at)| at.to_owned());
        let address = lines.map_while(Result::ok).find_map(address).expect("it listens");
        Self { child, address }
    }

    fn client(&self, patience: Duration) -> Remote {
        let address = format!("http://{}", self.address);
        let options = RemoteOptions { patience, ..RemoteOptions::new(address) };
        Remote::new(options).expect("an address")
    }

    /// SIGKILL; one that ended already is no error.
    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Broadcasts numbers until `end`; those that were acknowledged, and those that may be there.
fn send(bus: &Remote, sender: ClientId, done: &Sender<()>, end: u64) -> (Vec<u64>, Vec<u64>) {
    let (mut acknowledged, mut unknown) = (Vec::new(), Vec::new());
    for number in 0..end {
        let any = SendOptions::new(sender, TYPE, Address::Any, number.to_le_bytes());
        match bus.send(&SendOptions { copies: Copies::Each, ..any }) {
            Ok(_) => acknowledged.push(number),
            Err(bus::BusError::Network(_)) => unknown.push(number),
            Err(error) => panic!("{error}"),
        }
        // Nobody counts any more at the end.
        let _ = done.send(());
    }
    (acknowledged, unknown)
}

/// How many kills a test makes: what `KILLS` says.
fn kills() -> u64 {
    std::env::var("KILLS").map_or(3, |kills| kills.parse().expect("a number"))
}

/// One life after the other while clients, which know nothing of it, send on.
#[test]
fn what_was_acknowledged_outlives_kills_and_comes_once() {
    let kills = kills();
    let folder = Scratch::new("bus-killed");
    let mut server = Server::start(folder.path(), "127.0.0.1:0");
    let bus = server.client(Duration::from_secs(30));
    let senders: Vec<ClientId> = (0..SENDERS).map(|_| bus.connect().expect("connects")).collect();
    let group: Vec<ClientId> = (0..RECEIVERS).map(|_| bus.connect().expect("connects")).collect();
    senders.iter().for_each(|client| bus.register_sender(*client, TYPE).expect("registers"));
    group.iter().for_each(|client| bus.register_receiver(*client, TYPE).expect("registers"));
    let (done, count) = channel();
    let begin = Barrier::new(SENDERS);
    let sent: BTreeMap<ClientId, (Vec<u64>, Vec<u64>)> = thread::scope(|scope| {
        let start = |sender: ClientId| {
            let (done, begin, bus) = (done.clone(), &begin, &bus);
            let work = move || {
                begin.wait();
                (sender, send(bus, sender, &done, 40 * kills))
            };
            scope.spawn(work)
        };
        let threads: Vec<_> = senders.iter().map(|sender| start(*sender)).collect();
        for _ in 0..kills {
            for _ in 0..100 {
                count.recv().expect("senders send");
            }
            let address = server.address.clone();
            server.kill();
            server = Server::start(folder.path(), &address);
        }
        threads.into_iter().map(|thread| thread.join().expect("ends")).collect()
    });
    let queues: Vec<Vec<Delivery>> = group
        .iter()
        .map(|client| bus.receive(&ReceiveOptions::new(*client)).expect("receives"))
        .collect();
    assert_eq!(queues[0], queues[1], "a broadcast is partial, or in two orders");
    for (sender, (acknowledged, unknown)) in &sent {
        let of = queues[0].iter().filter(|message| message.sender == *sender);
        let found: Vec<u64> = of.map(number_in).collect();
        assert!(found.is_sorted_by(|a, b| a < b), "{sender}: doubled, or out of order: {found:?}");
        assert!(acknowledged.iter().all(|number| found.binary_search(number).is_ok()), "lost");
        let strange = found.iter().find(|number| {
            acknowledged.binary_search(number).is_err() && unknown.binary_search(number).is_err()
        });
        assert_eq!(strange, None, "{sender}");
        let most = kills as usize;
        assert!(unknown.len() <= most, "{sender}: more than one call was under way at a kill");
    }
    let total = |part: fn(&(Vec<u64>, Vec<u64>)) -> usize| sent.values().map(part).sum::<usize>();
    let (acknowledged, unknown) = (total(|sent| sent.0.len()), total(|sent| sent.1.len()));
    println!(
        "{kills} kills of the server: {acknowledged} sends acknowledged and there, once and in \
         order; {unknown} not known"
    );
}

/// A client in a process of its own, which is this program again.
struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts one that does what `orders` say: see [`a_client_in_a_process_of_its_own`].
    fn start(orders: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args(["--exact", "a_client_in_a_process_of_its_own", "--nocapture"])
            .env("BUS_CLIENT", orders)
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program again");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        Self { child, lines }
    }

    /// Its next word about a message, and the number in that; None once it has ended.
    fn next(&mut self) -> Option<(String, u64)> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (what, number) = line.strip_prefix("client ")?.split_once(' ')?;
            Some((what.to_owned(), number.parse().ok()?))
        })
    }

    /// SIGKILL; returns what it said before.
    fn kill(mut self) -> Vec<(String, u64)> {
        let _ = self.child.kill();
        let _ = self.child.wait();
        std::iter::from_fn(|| self.next()).collect()
    }
}

/// Nothing, but in a process that [`Process::start`] starts: it sends numbers, or receives and
/// deletes them, and says so, until it is killed.
#[test]
fn a_client_in_a_process_of_its_own() {
    let Ok(orders) = std::env::var("BUS_CLIENT") else { return };
    let words: Vec<&str> = orders.split(' ').collect();
    let number = |word: usize| words[word].parse::<u64>().expect("a number");
    let (bus, me) = (Remote::new(RemoteOptions::new(words[0])), ClientId(number(2)));
    let bus = bus.expect("an address");
    // Behind what the runner of tests says.
    println!();
    if words[1] == "send" {
        for number in number(3).. {
            let message = SendOptions::new(me, TYPE, Address::Any, number.to_le_bytes());
            bus.send(&message).expect("sends");
            println!("client sent {number}");
        }
    }
    loop {
        let found = bus.receive(&ReceiveOptions::next(me)).expect("receives");
        println!("client received {}", number_in(&found[0]));
        bus.delete(me, &[found[0].key]).expect("deletes");
        println!("client deleted {}", number_in(&found[0]));
    }
}

fn number_in(message: &Delivery) -> u64 {
    u64::from_le_bytes(message.body[..].try_into().expect("8 bytes"))
}

/// A sender and a receiver are killed at work, again and again; those that come after them go on
/// as the same clients.
#[test]
fn what_was_acknowledged_outlives_killed_clients() {
    let folder = Scratch::new("bus-clients-killed");
    let server = Server::start(folder.path(), "127.0.0.1:0");
    let bus = server.client(Duration::from_secs(30));
    let (sender, receiver) = (bus.connect().expect("connects"), bus.connect().expect("connects"));
    bus.register_sender(sender, TYPE).expect("registers");
    bus.register_receiver(receiver, TYPE).expect("registers");
    let (mut sent, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    let (mut received, mut deleted) = (Vec::new(), BTreeSet::new());
    let lives = kills().div_ceil(2);
    let mut first = 0;
    for life in 0..lives {
        let address = format!("http://{}", server.address);
        let mut sends = Process::start(&format!("{address} send {} {first}", sender.0));
        let mut receives = Process::start(&format!("{address} receive {}", receiver.0));
        // Each dies somewhere else; there is at least a message for each two words about one.
        let words = 2 + life % 19;
        let mut said: Vec<_> = (0..words).map(|_| sends.next().expect("it sends")).collect();
        let mut heard: Vec<_> = (0..words).map(|_| receives.next().expect("it receives")).collect();
        said.extend(sends.kill());
        heard.extend(receives.kill());
        let numbers = said.into_iter().map(|(_, number)| number);
        sent.extend(numbers);
        // The call under way happened or not.
        let next = sent.last().map_or(0, |last| last + 1);
        unknown.insert(next);
        first = next + 1;
        for (what, number) in heard {
            if what == "deleted" {
                deleted.insert(number);
                continue;
            }
            assert!(!deleted.contains(&number), "{number} came after its delete");
            received.push(number);
        }
    }
    let left = bus.receive(&ReceiveOptions::new(receiver)).expect("receives");
    let left: Vec<u64> = left.iter().map(number_in).collect();
    assert!(left.iter().all(|number| !deleted.contains(number)), "deleted, and there");
    received.extend(&left);
    let strange = received.iter().find(|it| !sent.contains(it) && !unknown.contains(it));
    assert_eq!(strange, None);
    // A call of a sender that died may happen after those of the next one.
    received.retain(|number| sent.contains(number));
    // Whoever died between a receive and its delete has it again.
    received.dedup();
    assert!(received.is_sorted_by(|a, b| a < b), "doubled, or out of order: {received:?}");
    assert!(sent.iter().eq(&received), "lost: {sent:?}, {received:?}");
    println!(
        "{} kills of clients: {} sends acknowledged and received or there, once and in order",
        2 * lives,
        sent.len()
    );
}

/// Complaint of `tessera bus` about these arguments, which are wrong.
fn complaint(arguments: &[&str]) -> String {
    let output = command().arg("bus").args(arguments).output().expect("the program was built");
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn wrong_arguments_are_told() {
    let folder = Scratch::new("bus-arguments");
    let data = folder.path().to_str().expect("a name");
    let says = |arguments: &[&str], what: &str| {
        let said = complaint(&[&[data, "--listen", "127.0.0.1:0"], arguments].concat());
        assert!(said.contains(what), "{arguments:?}: {said}");
    };
    says(&["--listen", "0.0.0.0:0"], "without a token, the bus is for this machine only");
    says(&["--tls-cert", "x"], "--tls-key");
    says(&["--tls-cert", "/none", "--tls-key", "/none"], "/none: No such file");
    says(&["--token-file", "/none"], "/none: No such file");
    says(&["--max-message", "2GiB"], "at most 1GiB");
    says(&["--max-calls", "0"], "--max-calls");
    says(&["--memory", "1GB"], "--memory and --threads are for databases");
    let short = folder.join("token");
    std::fs::write(&short, "short\n").expect("a file");
    says(&["--token-file", short.to_str().expect("a name")], "16 letters, digits and signs");
    std::fs::write(&short, "no certificate").expect("a file");
    let short = short.to_str().expect("a name");
    says(&["--tls-cert", short, "--tls-key", short], "F0000");
    assert!(complaint(&[]).contains("<PATH>"));
    let server = Server::start(folder.path(), "127.0.0.1:0");
    assert!(complaint(&[data]).contains("55006"), "another has the directory");
    let said = complaint(&[&*folder.join("other").to_string_lossy(), "--listen", &server.address]);
    assert!(said.contains("cannot listen on"), "{said}");
}

#[test]
fn a_signal_ends_it_in_order() {
    let folder = Scratch::new("bus-signal");
    let mut server = Server::start(folder.path(), "127.0.0.1:0");
    let bus = server.client(Duration::from_millis(500));
    let client = bus.connect().expect("connects");
    let id = server.child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status().expect("there is a kill");
    assert!(sent.success() && server.child.wait().expect("ends").success());
    let error = bus.connect().expect_err("nobody is there");
    assert!(matches!(error, bus::BusError::Network(_)), "{error}");
    let server = Server::start(folder.path(), &server.address);
    let infos = bus.clients().expect("the client needs no restart");
    assert_eq!((infos.len(), infos[0].client), (1, client));
    drop(server);
}

#[test]
fn the_demo_finds_the_same_with_tied_messages() {
    let output = command().args(["bus-demo", "--read-ms", "2"]).output().expect("was built");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("The best documents are the same in all runs"), "{said}");
}
