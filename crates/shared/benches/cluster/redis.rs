//! Redis on the same machine, where it is installed: GET and SET of values of 100 bytes, pipelined.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testkit::Random;

use crate::rate;

/// Bytes of a value.
const VALUE_BYTES: usize = 100;

/// Time in which it starts.
const START: Duration = Duration::from_secs(10);

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may be over.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A connection.
struct Client {
    out: TcpStream,
    answers: BufReader<TcpStream>,
}

/// A server without files; `None` where there is no Redis.
fn start() -> Option<(Server, Client)> {
    let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port().to_string();
    let child = Command::new("redis-server")
        .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .stdout(Stdio::null())
        .spawn();
    let server = Server(child.ok()?);
    let deadline = Instant::now() + START;
    while Instant::now() < deadline {
        if let Ok(out) = TcpStream::connect(format!("127.0.0.1:{port}")) {
            out.set_nodelay(true).ok()?;
            let answers = BufReader::new(out.try_clone().ok()?);
            return Some((server, Client { out, answers }));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

fn put(out: &mut Vec<u8>, words: &[&[u8]]) {
    out.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        out.extend(format!("${}\r\n", word.len()).bytes());
        out.extend_from_slice(word);
        out.extend(b"\r\n");
    }
}

impl Client {
    /// Sends commands together, and reads as many answers.
    fn run(&mut self, commands: &[u8], count: u64) {
        self.out.write_all(commands).expect("redis reads");
        for _ in 0..count {
            let mut line = String::new();
            self.answers.read_line(&mut line).expect("redis answers");
            assert!(line.starts_with(['+', '$']), "{line}");
            if let Some(bytes @ 0..) = line.strip_prefix('$').and_then(|n| n.trim().parse().ok()) {
                let mut value = vec![0; bytes as usize + 2];
                self.answers.read_exact(&mut value).expect("a value");
            }
        }
    }

    fn calls(&mut self, calls: u64, batch: u64, command: impl Fn(u64, &mut Vec<u8>)) -> f64 {
        let (begin, mut done, mut commands) = (Instant::now(), 0, Vec::new());
        while done < calls {
            let count = batch.min(calls - done);
            commands.clear();
            (done..done + count).for_each(|n| command(n, &mut commands));
            self.run(&commands, count);
            done += count;
        }
        rate(calls, begin)
    }
}

/// Prints its rates, or that it is not there.
pub(crate) fn compare(rows: u64, calls: u64) {
    let Some((_server, mut client)) = start() else {
        println!("redis: not on this machine");
        return;
    };
    let value = [b'x'; VALUE_BYTES];
    let set = |key: u64, out: &mut Vec<u8>| put(out, &[b"SET", key.to_string().as_bytes(), &value]);
    let get = |key: u64, out: &mut Vec<u8>| put(out, &[b"GET", key.to_string().as_bytes()]);
    client.calls(rows, 64, set);
    let key = |n| Random::new(n).below(rows);
    for batch in [1, 16, 64] {
        let gets = client.calls(calls, batch, |n, out| get(key(n), out));
        println!("redis: {gets:.0} gets/s, {batch} at a time");
        let mixed = client.calls(calls, batch, |n, out| match n % 2 {
            0 => get(key(n), out),
            _ => set(key(n), out),
        });
        println!("redis: {mixed:.0} gets and puts/s, {batch} at a time");
    }
}
