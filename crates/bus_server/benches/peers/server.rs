//! A program of others that listens on a port, and lines from and to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time to wait for the program to take connections, and for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that ends with this value.
pub(crate) struct Program {
    process: Child,
    pub(crate) port: u16,
}

impl Program {
    pub(crate) fn start(mut command: Command, port: u16) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(|error| error.to_string())?;
        let program = Self { process, port };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(program);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("it does not start".to_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A connection that speaks in lines and bodies.
pub(crate) struct Lines {
    out: TcpStream,
    answers: BufReader<TcpStream>,
}

impl Lines {
    pub(crate) fn connect(port: u16) -> Result<Self, String> {
        let out = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
        out.set_nodelay(true).map_err(|error| error.to_string())?;
        out.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
        let answers = BufReader::new(out.try_clone().map_err(|error| error.to_string())?);
        Ok(Self { out, answers })
    }

    /// The port of this end, which no other connection has.
    pub(crate) fn own_port(&self) -> Result<u16, String> {
        self.out.local_addr().map(|address| address.port()).map_err(|error| error.to_string())
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.out.write_all(bytes).map_err(|error| error.to_string())
    }

    /// The next line, without its end.
    pub(crate) fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line).map_err(|error| error.to_string())? {
            0 => Err("it ended the connection".to_owned()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    /// The next `count` bytes, and those of `end` behind them.
    pub(crate) fn bytes(&mut self, count: usize, end: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; count + end];
        self.answers.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        bytes.truncate(count);
        Ok(bytes)
    }
}
