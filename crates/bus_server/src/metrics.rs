//! Counts of what a server of a bus did, and their text form for Prometheus.
//!
//! Counted by `service` and `grpc`; shown by `http`.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bus::ClientInfo;

use crate::call::{Call, Failure, NAMES, Reply};

/// Upper bounds of the times of calls, in microseconds.
const BOUNDS_US: [u64; 10] =
    [50, 100, 250, 1_000, 2_500, 10_000, 50_000, 250_000, 1_000_000, 10_000_000];

#[derive(Debug, Default)]
struct OfCall {
    done: AtomicU64,
    refused: AtomicU64,
    time_us: AtomicU64,
    /// Calls that took no longer than each bound and longer than the one before; the longest last.
    times: [AtomicU64; BOUNDS_US.len() + 1],
}

/// Counts since the server started.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    calls: [OfCall; NAMES.len()],
    /// Calls that were answered from memory, as they came a second time.
    pub(crate) repeated: AtomicU64,
    sent_bytes: AtomicU64,
    received: AtomicU64,
    received_bytes: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) waiting: AtomicU64,
    pub(crate) unauthenticated: AtomicU64,
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

impl Metrics {
    /// Counts a call that took `time`, waits for messages included.
    pub(crate) fn count(&self, call: &Call, outcome: &Result<Reply, Failure>, time: Duration) {
        let of = &self.calls[call.number()];
        add(if outcome.is_ok() { &of.done } else { &of.refused }, 1);
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        add(&of.time_us, us);
        add(&of.times[BOUNDS_US.partition_point(|bound| *bound < us)], 1);
        match (call, outcome) {
            (Call::Send(send), Ok(_)) => add(&self.sent_bytes, send.body.len() as u64),
            (_, Ok(Reply::Messages(messages))) => {
                add(&self.received, messages.len() as u64);
                let bytes = messages.iter().map(|message| message.body.len() as u64).sum();
                add(&self.received_bytes, bytes);
            }
            _ => {}
        }
    }

    /// All counts in Prometheus' text form, with the queues of `clients`.
    pub(crate) fn text(&self, clients: Option<&[ClientInfo]>) -> String {
        let mut out = String::new();
        self.print_calls(&mut out);
        let counts = [
            ("repeated_calls_total", "Calls that came again.", &self.repeated),
            ("sent_bytes_total", "Bytes of bodies sent.", &self.sent_bytes),
            ("received_messages_total", "Messages that receives returned.", &self.received),
            ("received_bytes_total", "Bytes of their bodies.", &self.received_bytes),
            ("connections_total", "Connections let in.", &self.connections),
            ("unauthenticated_total", "Calls without the token.", &self.unauthenticated),
        ];
        for (name, help, count) in counts {
            number(&mut out, name, "counter", help, get(count));
        }
        number(&mut out, "waiting", "gauge", "Receives that may wait, now.", get(&self.waiting));
        let Some(clients) = clients else { return out };
        let messages = clients.iter().map(|client| client.messages as u64);
        let longest = messages.clone().max().unwrap_or(0);
        let bytes = clients.iter().map(|client| client.body_bytes).sum();
        let gauges = [
            ("clients", "Clients of the bus.", clients.len() as u64),
            ("messages", "Messages in all queues.", messages.sum()),
            ("queue_messages_max", "Messages in the longest queue.", longest),
            ("queued_bytes", "Bytes of bodies in all queues.", bytes),
        ];
        for (name, help, value) in gauges {
            number(&mut out, name, "gauge", help, value);
        }
        out
    }

    fn print_calls(&self, out: &mut String) {
        let name = "tessera_bus_calls_total";
        let _ = writeln!(out, "# HELP {name} Calls by kind and outcome.\n# TYPE {name} counter");
        for (call, of) in NAMES.iter().zip(&self.calls) {
            for (outcome, count) in [("ok", &of.done), ("refused", &of.refused)] {
                let count = get(count);
                let _ = writeln!(out, "{name}{{call=\"{call}\",outcome=\"{outcome}\"}} {count}");
            }
        }
        let name = "tessera_bus_call_seconds";
        let _ = writeln!(out, "# HELP {name} Time of calls.\n# TYPE {name} histogram");
        for (call, of) in NAMES.iter().zip(&self.calls) {
            let mut sum = 0;
            for (bound, count) in BOUNDS_US.iter().zip(&of.times) {
                sum += get(count);
                let bound = *bound as f64 / 1e6;
                let _ = writeln!(out, "{name}_bucket{{call=\"{call}\",le=\"{bound}\"}} {sum}");
            }
            sum += get(&of.times[BOUNDS_US.len()]);
            let seconds = get(&of.time_us) as f64 / 1e6;
            let _ = writeln!(
                out,
                "{name}_bucket{{call=\"{call}\",le=\"+Inf\"}} {sum}\n\
                 {name}_sum{{call=\"{call}\"}} {seconds}\n{name}_count{{call=\"{call}\"}} {sum}"
            );
        }
    }
}

fn number(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    let name = format!("tessera_bus_{name}");
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
}
