//! A ZooKeeper server of our own, on this machine's own network.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::java;
use crate::scratch::Scratch;

/// The server, and what it needs at run time although its package does not say so.
const PACKAGES: [&str; 3] = [
    "org.apache.zookeeper:zookeeper:3.9.5",
    "io.dropwizard.metrics:metrics-core:4.1.12.1",
    "org.xerial.snappy:snappy-java:1.1.10.5",
];

/// Time to wait for the server to answer.
const START: Duration = Duration::from_secs(60);

/// Time to wait for one answer: a server that is about to start takes connections and says nothing.
const ANSWER: Duration = Duration::from_millis(500);

/// A running server; dropping it stops it and removes its files.
#[derive(Debug)]
pub struct ZooKeeper {
    folder: Scratch,
    jars: PathBuf,
    port: u16,
    process: Child,
}

impl ZooKeeper {
    /// Fetches the server's packages, if they are not here yet.
    ///
    /// # Errors
    /// Why they cannot be had, in one line.
    pub fn fetch() -> Result<(), String> {
        java::jars("zookeeper", &PACKAGES).map(|_| ())
    }

    /// Starts a server with an empty tree, which does not wait for the disk.
    ///
    /// # Errors
    /// When it cannot be had; when it does not start.
    pub fn start() -> Result<Self, String> {
        Self::start_as("zookeeper")
    }

    /// The same in a directory for `name`, which no other server of the process has.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_as(name: &str) -> Result<Self, String> {
        let jars = java::jars("zookeeper", &PACKAGES)?;
        let (folder, port) = (Scratch::new(name), java::free_port()?);
        let settings = format!(
            "tickTime=2000\ndataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\n\
             admin.enableServer=false\nmaxClientCnxns=0\n",
            folder.join("data").display()
        );
        fs::write(folder.join("settings"), settings).map_err(|error| error.to_string())?;
        let process = launch(&folder, &jars)?;
        let server = Self { folder, jars, port, process };
        server.wait_until_ready()?;
        Ok(server)
    }

    /// The server as clients name it.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills the server and starts it again with its tree.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart(&mut self) -> Result<(), String> {
        self.stop();
        self.process = launch(&self.folder, &self.jars)?;
        self.wait_until_ready()
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    fn wait_until_ready(&self) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < START {
            if self.says_its_mode() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        Err(format!("ZooKeeper does not start: {log}"))
    }

    /// True when the server answers the word `srvr`.
    fn says_its_mode(&self) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let Ok(mut stream) = TcpStream::connect_timeout(&address, ANSWER) else { return false };
        let mut said = String::new();
        let _ = stream.set_read_timeout(Some(ANSWER));
        stream.write_all(b"srvr").is_ok()
            && stream.read_to_string(&mut said).is_ok()
            && said.contains("Mode:")
    }
}

fn launch(folder: &Scratch, jars: &std::path::Path) -> Result<Child, String> {
    let log = fs::File::create(folder.join("log")).map_err(|error| error.to_string())?;
    // A power failure is no part of the tests.
    let options = ["-Xmx512m", "-Dzookeeper.forceSync=no"];
    let mut server = java::java(jars, &options, "org.apache.zookeeper.server.ZooKeeperServerMain");
    server.arg(folder.join("settings")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    server.spawn().map_err(|error| error.to_string())
}

impl Drop for ZooKeeper {
    fn drop(&mut self) {
        self.stop();
    }
}
