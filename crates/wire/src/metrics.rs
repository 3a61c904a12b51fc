//! Counts of what a server did, and their text form for Prometheus.
//!
//! Counted by `connection` and `shared`; shown by `http`.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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

/// Counts since the server started.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) connections: AtomicU64,
    errors: AtomicU64,
    /// Counts by position in [`KINDS`]; the others last.
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

    /// Adds all counts in Prometheus' text form.
    pub(crate) fn print(&self, out: &mut String) {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let help = "Connections that were let in.";
        number(out, "tessera_connections_total", "counter", help, get(&self.connections));
        let help = "Statements that failed.";
        number(out, "tessera_errors_total", "counter", help, get(&self.errors));
        let name = "tessera_statements_total";
        let _ = writeln!(
            out,
            "# HELP {name} Statements that succeeded, by kind.\n# TYPE {name} counter"
        );
        for (kind, count) in KINDS.iter().chain(&["OTHER"]).zip(&self.statements) {
            let _ = writeln!(out, "{name}{{kind=\"{}\"}} {}", kind.to_lowercase(), get(count));
        }
        let name = "tessera_statement_seconds";
        let _ = writeln!(out, "# HELP {name} Time of statements.\n# TYPE {name} histogram");
        let mut sum = 0;
        for (bound, count) in BOUNDS_US.iter().zip(&self.times) {
            sum += get(count);
            let _ = writeln!(out, "{name}_bucket{{le=\"{}\"}} {sum}", *bound as f64 / 1e6);
        }
        sum += get(&self.times[BOUNDS_US.len()]);
        let seconds = get(&self.time_us) as f64 / 1e6;
        let _ = writeln!(
            out,
            "{name}_bucket{{le=\"+Inf\"}} {sum}\n{name}_sum {seconds}\n{name}_count {sum}"
        );
    }
}

/// Adds one number in Prometheus' text form.
pub(crate) fn number(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
}
