//! Tests that no statement ends a server: one with 256 MB gets statements that would take much
//! more of memory, stack or time. Each ends in rows or an error of its own, the process stays, and
//! never takes more than a fifth and 64 MB beyond its limit.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};

const LIMIT_BYTES: u64 = 256_000_000;

struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .args(["serve", "--auth", "trust", "--memory", "256MB", "--threads", "2"])
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was built");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let port = |line: String| line.split_once("127.0.0.1:").map(|(_, port)| port.to_owned());
        let port = lines.map_while(Result::ok).find_map(port).expect("it listens");
        Self { child, port }
    }

    fn client(&self) -> Client {
        let place = format!("host=127.0.0.1 port={} user=tessera dbname=t", self.port);
        Client::connect(&place, NoTls).expect("it listens")
    }

    /// The most memory that the process had at any time.
    fn peak_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("the process lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.expect("a number") << 10
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The SQLSTATE of a statement, `fine` without an error.
fn state(client: &mut Client, text: &str) -> String {
    match client.simple_query(text) {
        Ok(_) => "fine".to_owned(),
        Err(error) => {
            let code = error.code().map(|code| code.code().to_owned());
            code.unwrap_or_else(|| panic!("{:.80}: the connection ended: {error}", text))
        }
    }
}

/// Runs the statements on a server of their own, which has to stay within its limit.
fn run_within_the_limit(statements: &[String]) {
    let server = Server::start();
    let mut client = server.client();
    for text in statements {
        let state = state(&mut client, text);
        assert!(["fine", "53200", "54000"].contains(&state.as_str()), "{state}: {text}");
        let (peak, most) = (server.peak_bytes(), LIMIT_BYTES / 5 * 6 + (64 << 20));
        assert!(peak <= most, "{peak} bytes, {most} allowed: {text}");
    }
    assert_eq!(state(&mut client, "SELECT 1"), "fine");
}

#[test]
fn values_and_what_holds_them_stay_within_the_limit() {
    let statements = [
        "SELECT sum(length(repeat('x', 100000000 + i))) FROM generate_series(1, 20) AS g(i)"
            .to_owned(),
        "SELECT length(repeat('x', 1000000000))".to_owned(),
        "SELECT length(replace(repeat('x', 100000), 'x', repeat('y', 100000)))".to_owned(),
        "SELECT length(string_agg(repeat('x', 1000000), ',')) FROM generate_series(1, 2000)"
            .to_owned(),
        "SELECT length(string_agg(repeat('x', 999) || i, ',')) FROM generate_series(1, 900000) g(i)"
            .to_owned(),
        "SELECT cardinality(array_agg(repeat('x', 1000000))) FROM generate_series(1, 2000)"
            .to_owned(),
        "SELECT array_fill('some text'::text, ARRAY[100000000])".to_owned(),
        "SELECT length(lpad('x', 260000000))".to_owned(),
        "SELECT length(format('%1000000000s', 'x'))".to_owned(),
        "SELECT length(upper(repeat('x', 300000000)))".to_owned(),
    ];
    run_within_the_limit(&statements);
}

#[test]
fn rows_of_results_and_of_functions_stay_within_the_limit() {
    let statements = [
        "SELECT repeat('x', 10000) || i FROM generate_series(1, 100000) AS g(i)".to_owned(),
        "SELECT count(*) FROM unnest(array_fill('abcdefghijklmnopqrs'::text, ARRAY[2000000]))"
            .to_owned(),
        "SELECT length(array_to_string(array_fill(repeat('x', 1000), ARRAY[50000]), ','))"
            .to_owned(),
        "SELECT string_to_array(repeat('x,', 50000000), ',')".to_owned(),
        "SELECT encode(repeat('x,', 60000000)::bytea, 'hex')".to_owned(),
        "SELECT to_json(repeat('x\"', 60000000))".to_owned(),
    ];
    for statement in statements {
        run_within_the_limit(&[statement]);
    }
}

#[test]
fn depth_is_an_answer_or_an_error() {
    let server = Server::start();
    let mut client = server.client();
    let nest = |open: &str, inner: &str, close: &str, count: usize| {
        format!("SELECT {}{inner}{}", open.repeat(count), close.repeat(count))
    };
    let forms = [("(", "1", ")"), ("abs(", "1", ")"), ("", "1", " + 1"), ("(SELECT ", "1", ")")];
    for (open, inner, close) in forms {
        assert_eq!(state(&mut client, &nest(open, inner, close, 1_000)), "fine", "{open}{close}");
        let much = nest(open, inner, close, 200_000);
        assert_eq!(state(&mut client, &much), "54001", "{open}{close}");
    }
}

#[test]
fn a_cancel_comes_through() {
    let server = Server::start();
    let mut client = server.client();
    client.batch_execute("SET statement_timeout = '1s'").expect("a setting");
    let unions = vec!["SELECT 1"; 200].join(" UNION ");
    for text in [
        "SELECT count(*) FROM generate_series(1, 3000000000) AS g(i)".to_owned(),
        "SELECT sum(length(md5(repeat('x', 10000) || i))) FROM generate_series(1, 9000000) g(i)"
            .to_owned(),
        "SELECT count(*) FROM generate_series(1, 100000) a(i), generate_series(1, 100000) b(j) \
         WHERE a.i + b.j = 0"
            .to_owned(),
        format!("SELECT count(*) FROM ({unions}) q, generate_series(1, 3000000000) AS g(i)"),
    ] {
        let begin = Instant::now();
        assert_eq!(state(&mut client, &text), "57014", "{:.80}", text);
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}: {:.80}", begin.elapsed(), text);
    }
}

#[test]
fn a_cancel_comes_through_sorts_and_builds() {
    let server = Server::start();
    let mut client = server.client();
    let table =
        "CREATE TABLE b AS SELECT i, md5(i::text) AS s FROM generate_series(1, 200000) g(i)";
    client.batch_execute(table).expect("a table");
    for text in [
        "SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY s) AS r FROM b) q",
        "SELECT cardinality(array_agg(s ORDER BY s)) FROM b",
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY s) FROM b",
        "CREATE INDEX ON b (s)",
        "CREATE INDEX ON b (md5(s))",
        "ALTER TABLE b ADD PRIMARY KEY (i)",
        "SELECT * FROM tessera_check()",
        "COPY b TO '/dev/null' (FORMAT csv)",
        "UPDATE b SET i = i + 1",
    ] {
        client.batch_execute("SET statement_timeout = '50ms'").expect("a setting");
        let begin = Instant::now();
        let state = state(&mut client, text);
        // A fast machine is done before.
        assert!(["57014", "fine"].contains(&state.as_str()), "{state}: {text}");
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}: {text}", begin.elapsed());
    }
    client.batch_execute("SET statement_timeout = 0").expect("a setting");
    assert_eq!(state(&mut client, "SELECT count(*) FROM b"), "fine");
}

#[test]
fn many_statements_in_one_message_take_linear_time() {
    let server = Server::start();
    let mut client = server.client();
    let mut time = |count: usize| {
        let text = vec!["SELECT 1"; count].join(";");
        let begin = Instant::now();
        assert_eq!(state(&mut client, &text), "fine");
        begin.elapsed()
    };
    let few = time(2_000).max(Duration::from_millis(50));
    let many = time(20_000);
    assert!(many < few * 40, "{few:?} for 2,000 statements, {many:?} for 20,000");
}
