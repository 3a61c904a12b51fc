//! Idle connections. Alone in its process, because it counts the threads of sessions there.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::{query, start};

#[test]
fn many_idle_connections_hold_no_threads() {
    let server = start();
    let mut all: Vec<_> = (0..300).map(|_| server.seated()).collect();
    let threads = || {
        let names = std::fs::read_dir("/proc/self/task").unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(entry.ok()?.path().join("comm")).ok()
        };
        names.filter_map(name).filter(|name| name.trim() == "session").count()
    };
    assert!(threads() < 10, "{} threads", threads());
    for raw in all.iter_mut().rev() {
        raw.send(&query("select 1"));
        assert_eq!(raw.kinds(), "TDCZI");
    }
}
