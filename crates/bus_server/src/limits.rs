//! Limits that keep one client from taking all of a server.

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the largest request. A reply may be larger by a message.
    pub message_bytes: usize,
    /// Most messages that one receive returns, and most keys, tokens and receivers of one call.
    pub batch: usize,
    /// Most connections at a time; others wait to be let in.
    pub connections: usize,
    /// Most calls that run at a time; others wait in their streams. Each takes a thread.
    pub calls: usize,
    /// Most receives that wait at a time; more are refused. Each takes a thread.
    pub waits: usize,
    /// Most calls of one connection at a time.
    pub streams: u32,
    /// Most bytes of replies that are kept for calls that may be repeated.
    pub kept_bytes: usize,
    /// Most programs whose calls are remembered.
    pub callers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 16 << 20,
            batch: 100_000,
            connections: 1000,
            calls: 64,
            waits: 1024,
            streams: 256,
            kept_bytes: 256 << 20,
            callers: 10_000,
        }
    }
}
