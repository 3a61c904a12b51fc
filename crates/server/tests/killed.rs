//! A server is killed while clients write: what was acknowledged is there when it starts again, and
//! nothing is there by halves. Commits of all connections wait for the disk together, and answers
//! for them (`wire::turns`).

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use postgres::{Client, NoTls};
use testkit::Scratch;

const WRITERS: i32 = 12;

struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(data: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .arg("serve")
            .arg(data)
            .args(["--auth", "trust", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was built");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let port = |line: String| line.split_once("127.0.0.1:").map(|(_, port)| port.to_owned());
        let port = lines.map_while(Result::ok).find_map(port).expect("it listens");
        Self { child, port }
    }

    fn client(&self) -> Client {
        let place = format!("host=127.0.0.1 port={} user=tessera dbname=tessera", self.port);
        Client::connect(&place, NoTls).expect("it listens")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes until the server is gone; numbers that were acknowledged. Every third comes with its
/// negative in one transaction.
fn write(mut client: Client, writer: i32, first: i64) -> Vec<i64> {
    let mut acknowledged = Vec::new();
    for n in first.. {
        let done = match n % 3 {
            0 => client.batch_execute(&format!(
                "BEGIN; INSERT INTO a VALUES ({writer}, {n}); \
                 INSERT INTO a VALUES ({writer}, -{n}); COMMIT"
            )),
            _ => client.execute("INSERT INTO a VALUES ($1, $2)", &[&writer, &n]).map(|_| ()),
        };
        match done {
            Ok(()) => acknowledged.push(n),
            Err(_) => break,
        }
    }
    acknowledged
}

#[test]
fn what_was_acknowledged_outlives_a_kill() {
    let folder = Scratch::new("killed");
    let mut server = Server::start(folder.path());
    let create = "CREATE TABLE a (writer int, n bigint, PRIMARY KEY (writer, n))";
    server.client().batch_execute(create).expect("it is new");
    let mut wanted: HashSet<(i32, i64)> = HashSet::new();
    for round in 0..3_u32 {
        let first = 1 + i64::from(round) * 1_000_000;
        let start = |writer| {
            let client = server.client();
            (writer, std::thread::spawn(move || write(client, writer, first)))
        };
        let writers: Vec<_> = (0..WRITERS).map(start).collect();
        std::thread::sleep(Duration::from_millis(300 + 70 * u64::from(round)));
        drop(server);
        for (writer, thread) in writers {
            for n in thread.join().expect("writers do not panic") {
                wanted.insert((writer, n));
                if n % 3 == 0 {
                    wanted.insert((writer, -n));
                }
            }
        }
        server = Server::start(folder.path());
        let rows = server.client().query("SELECT writer, n FROM a", &[]).expect("it is there");
        let found: HashSet<(i32, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        let lost = wanted.difference(&found).count();
        assert_eq!(lost, 0, "of {} acknowledged", wanted.len());
        let is_half = |&(writer, n): &(i32, i64)| n % 3 == 0 && !found.contains(&(writer, -n));
        assert!(!found.iter().any(is_half), "a transaction is there by half");
        // Unacknowledged: at most the last transaction of each writer and round.
        let most = 2 * WRITERS as usize * (round as usize + 1);
        assert!(found.len() <= wanted.len() + most);
    }
    assert!(!wanted.is_empty());
}
