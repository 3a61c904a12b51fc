//! Numbers about the server over HTTP: `/metrics` in Prometheus' text form, and `/health`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::server::Shared;

/// Upper bounds of the times of statements, in microseconds.
const BOUNDS_US: [u64; 12] = [
    50,
    100,
    250,
    1_000,
    2_500,
    10_000,
    50_000,
    250_000,
    1_000_000,
    5_000_000,
    30_000_000,
    300_000_000,
];

/// Kinds of statements that are counted apart, by the first word of their command tags.
const KINDS: [&str; 9] =
    ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "BEGIN", "COMMIT", "ROLLBACK"];

/// Longest request that is read.
const REQUEST_BYTES_MAX: usize = 8192;

/// How long a client may take for its request and for the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Counts since the server started.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) connections: AtomicU64,
    errors: AtomicU64,
    /// By position in [`KINDS`]; the others last.
    statements: [AtomicU64; KINDS.len() + 1],
    /// Statements that took no longer than each bound and longer than the one before; the longest
    /// last.
    times: [AtomicU64; BOUNDS_US.len() + 1],
    time_us: AtomicU64,
}

impl Metrics {
    /// A statement with this command tag took `time`.
    pub(crate) fn done(&self, tag: &str, time: Duration) {
        let is_of = |kind: &&str| {
            let rest = tag.strip_prefix(*kind);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let kind = KINDS.iter().position(is_of).unwrap_or(KINDS.len());
        self.statements[kind].fetch_add(1, Ordering::Relaxed);
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.partition_point(|bound| *bound < us);
        self.times[bucket].fetch_add(1, Ordering::Relaxed);
        self.time_us.fetch_add(us, Ordering::Relaxed);
    }

    /// A statement failed.
    pub(crate) fn failed(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }
}

fn number(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
}

/// Everything in Prometheus' text form, version 0.0.4.
fn text(shared: &Shared) -> String {
    let metrics = &shared.metrics;
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let mut out = String::new();
    let connections = shared.activities.count() as u64;
    number(&mut out, "tessera_connections", "gauge", "Connections now.", connections);
    let help = "Connections that were let in.";
    number(&mut out, "tessera_connections_total", "counter", help, get(&metrics.connections));
    let help = "Statements that failed.";
    number(&mut out, "tessera_errors_total", "counter", help, get(&metrics.errors));
    let name = "tessera_statements_total";
    let _ =
        writeln!(out, "# HELP {name} Statements that succeeded, by kind.\n# TYPE {name} counter");
    for (kind, count) in KINDS.iter().chain(&["OTHER"]).zip(&metrics.statements) {
        let _ = writeln!(out, "{name}{{kind=\"{}\"}} {}", kind.to_lowercase(), get(count));
    }
    let name = "tessera_statement_seconds";
    let _ = writeln!(out, "# HELP {name} Time of statements.\n# TYPE {name} histogram");
    let mut sum = 0;
    for (bound, count) in BOUNDS_US.iter().zip(&metrics.times) {
        sum += get(count);
        let _ = writeln!(out, "{name}_bucket{{le=\"{}\"}} {sum}", *bound as f64 / 1e6);
    }
    sum += get(&metrics.times[BOUNDS_US.len()]);
    let seconds = get(&metrics.time_us) as f64 / 1e6;
    let _ = writeln!(
        out,
        "{name}_bucket{{le=\"+Inf\"}} {sum}\n{name}_sum {seconds}\n{name}_count {sum}"
    );
    let state = shared.database.condition();
    for (name, kind, help, value) in [
        ("transactions_committed_total", "counter", "Transactions with changes.", state.committed),
        ("transactions_aborted_total", "counter", "Transactions taken back.", state.aborted),
        ("memory_bytes", "gauge", "Memory of data and queries.", state.memory_bytes),
        ("memory_limit_bytes", "gauge", "Most memory of both.", state.memory_limit_bytes),
        ("log_bytes", "gauge", "Disk space of the log.", state.log_bytes),
        ("log_written_bytes_total", "counter", "Bytes of log so far.", state.log_written_bytes),
        ("checkpoints_total", "counter", "Checkpoints written.", state.checkpoints),
    ] {
        number(&mut out, &format!("tessera_{name}"), kind, help, value);
    }
    out
}

/// Status line, type and body of the answer to a request for `path`.
fn answer(shared: &Shared, path: &str) -> (&'static str, &'static str, String) {
    let plain = "text/plain; charset=utf-8";
    match path.split('?').next().unwrap_or_default() {
        "/metrics" => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text(shared)),
        "/health" => match shared.health() {
            Ok(()) => ("200 OK", plain, "ok\n".to_owned()),
            Err(error) => ("503 Service Unavailable", plain, format!("{error}\n")),
        },
        _ => ("404 Not Found", plain, "/metrics and /health are here\n".to_owned()),
    }
}

async fn serve(shared: &Shared, stream: &mut TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut piece = [0; 1024];
        let count = stream.read(&mut piece).await?;
        if count == 0 || request.len() + count > REQUEST_BYTES_MAX {
            return Ok(());
        }
        request.extend_from_slice(&piece[..count]);
    }
    let head = String::from_utf8_lossy(&request).into_owned();
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, kind, body) = match method {
        "GET" | "HEAD" => answer(shared, path),
        _ => ("405 Method Not Allowed", "text/plain", "GET is enough\n".to_owned()),
    };
    let length = body.len();
    let mut out = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    if method != "HEAD" {
        out.push_str(&body);
    }
    stream.write_all(out.as_bytes()).await?;
    stream.shutdown().await
}

/// Answers requests one by one, which keeps them from taking much.
pub(crate) async fn listen(shared: Arc<Shared>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((mut stream, _)) => {
                // A client that gives up is none of ours to report.
                let _ = tokio::time::timeout(PATIENCE, serve(&shared, &mut stream)).await;
            }
            Err(error) => {
                eprintln!("tessera: a request for metrics cannot be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
