//! ActiveMQ: a broker whose journal is synced at each message, over STOMP. The broker is a few
//! lines of Java around its packages.

use std::fs;

use testkit::Scratch;
use testkit::java::{free_port, jars};

use super::server::{Lines, Program};
use super::{Courier, Post};

const PACKAGES: [&str; 3] = [
    "org.apache.activemq:activemq-broker:6.3.1",
    "org.apache.activemq:activemq-kahadb-store:6.3.1",
    "org.apache.activemq:activemq-stomp:6.3.1",
];

struct Running {
    program: Program,
    _scratch: Scratch,
}

pub(super) fn start() -> Result<Box<dyn Post>, String> {
    let jars = jars("activemq", &PACKAGES)?;
    let (scratch, port) = (Scratch::new("bus-peers-activemq"), free_port()?);
    let source = scratch.join("Broker.java");
    fs::write(&source, include_str!("Broker.java")).map_err(|error| error.to_string())?;
    let mut command = std::process::Command::new("java");
    command.args(["-Xmx1g", "-cp"]).arg(jars.join("*")).arg(source);
    command.arg(scratch.join("journal")).arg(port.to_string());
    let program = Program::start(command, port)?;
    Ok(Box::new(Running { program, _scratch: scratch }))
}

impl Post for Running {
    fn courier(&self, number: usize) -> Result<Box<dyn Courier>, String> {
        let mut client = Client { lines: Lines::connect(self.program.port)?, number, early: None };
        client.frame("CONNECT\naccept-version:1.2\nhost:localhost\n\n", b"")?;
        client.wait_for("CONNECTED")?;
        let subscribe = format!(
            "SUBSCRIBE\nid:0\ndestination:/queue/q{number}\nack:client-individual\n\
             activemq.prefetchSize:1\nreceipt:r\n\n"
        );
        client.frame(&subscribe, b"")?;
        client.wait_for("RECEIPT")?;
        Ok(Box::new(client))
    }
}

struct Client {
    lines: Lines,
    number: usize,
    /// A message that came before the receipt of its send.
    early: Option<Frame>,
}

/// A frame: its command, headers and body.
struct Frame {
    command: String,
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Frame {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    }
}

impl Client {
    fn frame(&mut self, head: &str, body: &[u8]) -> Result<(), String> {
        self.lines.say(&[head.as_bytes(), body, b"\0\n"].concat())
    }

    fn next(&mut self) -> Result<Frame, String> {
        let mut command = String::new();
        // Ends of lines between frames say that the other one is alive.
        while command.is_empty() {
            self.lines.line()?.trim_matches('\0').clone_into(&mut command);
        }
        let mut frame = Frame { command, headers: Vec::new(), body: Vec::new() };
        loop {
            let header = self.lines.line()?;
            if header.is_empty() {
                break;
            }
            frame.headers.push(header);
        }
        if let Some(count) = frame.header("content-length") {
            let count = count.parse().map_err(|_| "a length that is no number")?;
            frame.body = self.lines.bytes(count, 1)?;
        }
        Ok(frame)
    }

    /// The next frame, which is a `command`; a message before it is kept.
    fn wait_for(&mut self, command: &str) -> Result<Frame, String> {
        loop {
            let frame = self.next()?;
            match frame.command.as_str() {
                found if found == command => return Ok(frame),
                "MESSAGE" => self.early = Some(frame),
                other => return Err(format!("{other} for {command}: {:?}", frame.headers)),
            }
        }
    }
}

impl Courier for Client {
    fn send(&mut self, body: &[u8]) -> Result<(), String> {
        let head = format!(
            "SEND\ndestination:/queue/q{}\npersistent:true\nreceipt:r\ncontent-length:{}\n\n",
            self.number,
            body.len()
        );
        self.frame(&head, body)?;
        self.wait_for("RECEIPT").map(|_| ())
    }

    fn take(&mut self) -> Result<Vec<u8>, String> {
        let message = match self.early.take() {
            Some(message) => message,
            None => self.wait_for("MESSAGE")?,
        };
        let name = message.header("ack").ok_or("a message without a name")?;
        self.frame(&format!("ACK\nid:{name}\nreceipt:r\n\n"), b"")?;
        self.wait_for("RECEIPT")?;
        Ok(message.body)
    }
}
