//! `cargo xtask clients`: clients that nobody changed for Tessera, on a server of its own.
//!
//! ```text
//! tessera serve (SCRAM, a directory) <- psycopg 3, asyncpg, pg8000, SQLAlchemy   clients.py
//! ```
//! Needs `python3` with `venv`, and the package index once.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::{Outcome, peers_home, root, test, text, venv};

const SCENARIOS: &str = include_str!("clients/clients.py");

const PACKAGES: [&str; 4] =
    ["psycopg[binary]==3.3.9", "asyncpg==0.32.0", "pg8000==1.31.6", "SQLAlchemy==2.1.9"];

/// A server that ends with this.
struct Server {
    child: Child,
    directory: PathBuf,
    password: String,
    port: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // As an operator ends it; what it says of that is seen on standard error.
        let ended = Command::new("kill").arg(self.child.id().to_string()).status();
        if !ended.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Runs all scenarios.
///
/// # Errors
/// When something cannot be installed or started, or a scenario fails.
pub fn run() -> Outcome {
    test::cargo(&["build", "--release", "-p", "server"])?;
    let python = venv::environment(&peers_home().join("clients"), &PACKAGES)?;
    let server = start()?;
    let mut clients = Command::new(python);
    clients.args(["-c", SCENARIOS, &server.port, &server.password]);
    if clients.status().map_err(text)?.success() { Ok(()) } else { Err("a client failed".into()) }
}

fn start() -> Result<Server, String> {
    let directory = std::env::temp_dir().join(format!("tessera-clients-{}", std::process::id()));
    let program = root().join("target/release/tessera");
    let mut child = Command::new(program)
        .arg("serve")
        .arg(&directory)
        .args(["--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(text)?;
    let output = child.stdout.take().ok_or("the server has no output")?;
    let (password, port) = (String::new(), String::new());
    let mut server = Server { child, directory, password, port };
    for line in BufReader::new(output).lines() {
        let line = line.map_err(text)?;
        if let Some((_, password)) = line.split_once("with password ") {
            server.password = password.to_owned();
        }
        if let Some((_, port)) = line.split_once("listening on 127.0.0.1:") {
            server.port = port.to_owned();
            return Ok(server);
        }
    }
    Err("the server did not start".into())
}
