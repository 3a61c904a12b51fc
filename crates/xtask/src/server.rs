//! A server of Tessera's own, for clients and benches.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Outcome, root, text};

/// A server of a new database, which ends with this.
pub(crate) struct Server {
    program: PathBuf,
    /// Options beside the address.
    options: Vec<OsString>,
    child: Child,
    directory: PathBuf,
    /// Password of the user `tessera`; empty when the server asks for none.
    pub(crate) password: String,
    pub(crate) port: String,
    /// Port of Arrow Flight; empty when it is not served.
    pub(crate) flight_port: String,
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

impl Server {
    /// Starts `program`, or what cargo built last, with `options`.
    pub(crate) fn start(program: Option<&Path>, options: Vec<OsString>) -> Result<Self, String> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let directory = format!("tessera-served-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        let built = || root().join("target/release/tessera");
        let program = program.map_or_else(built, Path::to_owned);
        let child = spawn(&program, &options, &directory, "0")?;
        let (password, port, flight_port) = (String::new(), String::new(), String::new());
        let mut server = Self { program, options, child, directory, password, port, flight_port };
        server.listen()?;
        Ok(server)
    }

    /// Another server of the same program, with a database of its own.
    pub(crate) fn another(&self) -> Result<Self, String> {
        Self::start(Some(&self.program), self.options.clone())
    }

    /// Path of its program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, and starts it again where it was.
    pub(crate) fn kill_and_start(&mut self) -> Outcome {
        self.child.kill().map_err(text)?;
        self.child.wait().map_err(text)?;
        self.child = spawn(&self.program, &self.options, &self.directory, &self.port)?;
        self.listen()
    }

    /// A directory for files of scenarios, which goes with the server.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.directory.with_extension(name)
    }

    /// Waits until it listens; reads its password, if it says one.
    fn listen(&mut self) -> Outcome {
        let output = self.child.stdout.take().ok_or("the server has no output")?;
        for line in BufReader::new(output).lines() {
            let line = line.map_err(text)?;
            if let Some((_, password)) = line.split_once("with password ") {
                self.password = password.to_owned();
            }
            if let Some((_, port)) = line.split_once("Arrow Flight on 127.0.0.1:") {
                self.flight_port = port.to_owned();
            }
            if let Some((_, port)) = line.split_once("listening on 127.0.0.1:") {
                self.port = port.to_owned();
                return Ok(());
            }
        }
        Err("the server did not start".into())
    }
}

fn spawn(
    program: &Path,
    options: &[OsString],
    directory: &Path,
    port: &str,
) -> Result<Child, String> {
    Command::new(program)
        .arg("serve")
        .arg(directory)
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .args(options)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))
}
