//! Inputs that `cargo xtask fuzz-wire` kept, in `tests/wire`: a letter (`s`: after the start of a
//! session), then bytes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{ErrorKind, Read as _, Write as _};

use support::{query, start};

#[test]
fn kept_inputs_are_answered() {
    let server = start();
    let mut control = server.seated();
    control.send(&query("create role fuzz login; grant create on schema public to fuzz"));
    assert_eq!(control.kinds(), "CCZI");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/wire");
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = std::fs::read(&path).unwrap();
        let (mode, bytes) = file.split_first().unwrap();
        let mut raw = server.raw();
        if *mode == b's' {
            raw.send_startup(&[("user", "fuzz")]);
            raw.until(b'Z');
        }
        // The server may end the connection before it has read everything.
        let _ = raw.stream.write_all(bytes);
        let _ = raw.stream.shutdown(std::net::Shutdown::Write);
        let mut answers = Vec::new();
        let end = raw.stream.read_to_end(&mut answers);
        let waited = end.err().is_some_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(!waited, "{} is not answered", path.display());
        let is_internal = answers.windows(6).any(|part| part == b"CXX000");
        assert!(!is_internal, "{} is an internal error", path.display());
        inputs += 1;
    }
    assert!(inputs > 0);
    control.send(&query("select 1"));
    assert_eq!(control.kinds(), "TDCZI");
}
