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
        let place = format!("host=127.0.0.1 port={} user=tessera dbname=tessera", self.port);
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
        "UPDATE b SET s = s || i",
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

#[test]
fn a_cancelled_write_leaves_the_table_as_it_was() {
    let server = Server::start();
    let mut client = server.client();
    let table = "CREATE TABLE b (i BIGINT PRIMARY KEY, n BIGINT);
                 INSERT INTO b SELECT g, g FROM generate_series(1, 100000) g";
    client.batch_execute(table).expect("a table");
    let write = |client: &mut Client, text: &str| {
        client.batch_execute("SET statement_timeout = '300ms'").expect("a setting");
        assert_eq!(state(client, text), "57014", "{text}");
        client.batch_execute("ROLLBACK; SET statement_timeout = 0").expect("a setting");
        let row = client.query_one("SELECT count(*), sum(n)::BIGINT, sum(i)::BIGINT FROM b", &[]);
        let row = row.expect("one row");
        let found: [i64; 3] = [row.get(0), row.get(1), row.get(2)];
        assert_eq!(found, [100_000, 5_000_050_000, 5_000_050_000], "{text}");
    };
    // Rows that wait a little: the time is up on every machine. What was done by then is taken
    // back behind the session's back, and nobody sees anything of it.
    let late = "AND (i < 99000 OR pg_sleep(0.01) IS NOT NULL)";
    for text in [
        format!("UPDATE b SET n = n + 1 WHERE i > 0 {late}"),
        format!("BEGIN; UPDATE b SET n = n + 1; SELECT * FROM b WHERE i > 0 {late}"),
        format!("BEGIN; UPDATE b SET i = i + 1000000; SELECT * FROM b WHERE i > 0 {late}"),
        format!("BEGIN; SELECT * FROM b FOR UPDATE; SELECT * FROM b WHERE i > 0 {late}"),
        "BEGIN; DELETE FROM b; SELECT pg_sleep(9)".to_owned(),
        "BEGIN; INSERT INTO b SELECT i + 100000, 0 FROM b; SELECT pg_sleep(9)".to_owned(),
        "BEGIN; SAVEPOINT s; DELETE FROM b; SELECT pg_sleep(9)".to_owned(),
    ] {
        write(&mut client, &text);
        let lock = "SELECT count(*) FROM (SELECT * FROM b FOR UPDATE NOWAIT) q";
        assert_eq!(state(&mut client, lock), "fine", "{text}");
    }
    client.batch_execute("SET lock_timeout = '1ms'").expect("a setting");
    write(&mut client, "BEGIN; DELETE FROM b; SELECT pg_sleep(9)");
    assert_eq!(state(&mut client, "UPDATE b SET n = 7"), "fine");
    assert_eq!(state(&mut client, "VACUUM"), "fine");
}

#[test]
fn a_cancel_comes_through_long_numbers_and_pipes() {
    let server = Server::start();
    let mut client = server.client();
    let pipe = std::env::temp_dir().join(format!("tessera-pipe-{}", std::process::id()));
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
    assert!(made.success());
    let pipe_name = pipe.to_str().expect("a name");
    let long = "('1' || repeat('7', 130000))::numeric";
    client.batch_execute(&format!("CREATE TABLE w AS SELECT {long} AS x")).expect("a table");
    client.batch_execute("SET statement_timeout = '300ms'").expect("a setting");
    for text in [
        "SELECT max(power(9.99999 + g, 25000)) FROM generate_series(1, 900000) g".to_owned(),
        "SELECT max(x / (g + 0.7)) FROM w, generate_series(1, 900000) g".to_owned(),
        "SELECT sum(x % (g + 0.7)) FROM w, generate_series(1, 900000) g".to_owned(),
        "SELECT max(length((x + g)::text)) FROM w, generate_series(1, 900000) g".to_owned(),
        "SELECT max(factorial(30000 + g % 7)) FROM generate_series(1, 900000) g".to_owned(),
        "SELECT max(ln(x + g)) FROM w, generate_series(1, 900000) g".to_owned(),
        "SELECT max(exp(5000.5 + g * 0.000001)) FROM generate_series(1, 900000) g".to_owned(),
        "SELECT max(gcd(x, trunc(x / 3) + g)) FROM w, generate_series(1, 9000) g".to_owned(),
        format!("COPY w TO '{pipe_name}' (FORMAT csv)"),
        format!("COPY (SELECT * FROM generate_series(1, 9)) TO '{pipe_name}' (FORMAT csv)"),
    ] {
        assert_eq!(state(&mut client, &text), "57014", "{text}");
    }
    client.batch_execute("SET statement_timeout = 0").expect("a setting");
    let from = format!("COPY w FROM '{pipe_name}' (FORMAT csv)");
    assert_eq!(state(&mut client, &from), "0A000");
    std::fs::remove_file(&pipe).expect("it was there");
}
