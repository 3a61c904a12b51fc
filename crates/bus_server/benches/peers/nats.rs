//! NATS JetStream: a stream in a file that is synced at each message, one consumer for each client.
//! The server is built from its Go module, once.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use testkit::Scratch;
use testkit::java::{free_port, peers_home};

use super::server::{Lines, Program};
use super::{Courier, Post};

const MODULE: &str = "github.com/nats-io/nats-server/v2";
const RELEASE: &str = "v2.15.2";

/// The server's program, which is built if it is not there.
fn program() -> Result<PathBuf, String> {
    let folder = peers_home().join("nats");
    let program = folder.join(format!("nats-server-{RELEASE}"));
    if program.is_file() {
        return Ok(program);
    }
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    fs::write(folder.join("go.mod"), "module peer\n").map_err(|error| error.to_string())?;
    let build = ["build", "-o", program.to_str().ok_or("a path that is no text")?, MODULE];
    for words in [&["get", &format!("{MODULE}@{RELEASE}")][..], &build[..]] {
        let go = Command::new("go").args(words).current_dir(&folder).output();
        let output = go.map_err(|_| "there is no go".to_owned())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(said.lines().last().unwrap_or("go failed").to_owned());
        }
    }
    Ok(program)
}

struct Running {
    program: Program,
    _scratch: Scratch,
}

pub(super) fn start() -> Result<Box<dyn Post>, String> {
    let (program, scratch, port) = (program()?, Scratch::new("bus-peers-nats"), free_port()?);
    let settings = format!(
        "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n",
        scratch.path().display()
    );
    let file = scratch.join("settings");
    fs::write(&file, settings).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("-c").arg(file);
    let program = Program::start(command, port)?;
    let mut client = Client::connect(port, 0)?;
    let stream = r#"{"name":"Q","subjects":["q.*"],"storage":"file","retention":"workqueue"}"#;
    client.ask("$JS.API.STREAM.CREATE.Q", stream.as_bytes())?;
    Ok(Box::new(Running { program, _scratch: scratch }))
}

impl Post for Running {
    fn courier(&self, number: usize) -> Result<Box<dyn Courier>, String> {
        let mut client = Client::connect(self.program.port, number)?;
        let queue = format!(r#""durable_name":"c{number}","filter_subject":"q.{number}""#);
        let config = format!(r#"{{{queue},"ack_policy":"explicit"}}"#);
        let consumer = format!(r#"{{"stream_name":"Q","config":{config}}}"#);
        client.ask(&format!("$JS.API.CONSUMER.DURABLE.CREATE.Q.c{number}"), consumer.as_bytes())?;
        Ok(Box::new(client))
    }
}

/// A connection that asks one thing at a time and waits for the answer.
struct Client {
    lines: Lines,
    number: usize,
    /// Where answers go.
    inbox: String,
}

/// An answer: whom to reply to, and its body.
struct Answer {
    reply: String,
    body: Vec<u8>,
}

impl Client {
    fn connect(port: u16, number: usize) -> Result<Self, String> {
        let mut lines = Lines::connect(port)?;
        let inbox = format!("inbox.{}", lines.own_port()?);
        // The server's word about itself comes first.
        lines.line()?;
        let words = format!("CONNECT {{\"verbose\":false,\"headers\":true}}\r\nSUB {inbox} 1\r\n");
        lines.say(words.as_bytes())?;
        Ok(Self { lines, number, inbox })
    }

    /// Sends `body` to `subject` and returns the answer, which is no error.
    fn ask(&mut self, subject: &str, body: &[u8]) -> Result<Answer, String> {
        let mut words = format!("PUB {subject} {} {}\r\n", self.inbox, body.len()).into_bytes();
        words.extend_from_slice(body);
        words.extend_from_slice(b"\r\n");
        self.lines.say(&words)?;
        loop {
            let line = self.lines.line()?;
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["PING"] => self.lines.say(b"PONG\r\n")?,
                ["MSG", .., count] => {
                    let count = count.parse().map_err(|_| line.clone())?;
                    let body = self.lines.bytes(count, 2)?;
                    let text = String::from_utf8_lossy(&body);
                    if text.contains("\"error\"") {
                        return Err(text.into_owned());
                    }
                    // Between the subscription and the count, if anything.
                    let reply = if words.len() == 5 { words[3] } else { "" };
                    return Ok(Answer { reply: reply.to_owned(), body });
                }
                ["HMSG", ..] | ["-ERR", ..] => return Err(line),
                _ => {}
            }
        }
    }
}

impl Courier for Client {
    fn send(&mut self, body: &[u8]) -> Result<(), String> {
        let subject = format!("q.{}", self.number);
        self.ask(&subject, body).map(|_| ())
    }

    fn take(&mut self) -> Result<Vec<u8>, String> {
        let next = format!("$JS.API.CONSUMER.MSG.NEXT.Q.c{}", self.number);
        let message = self.ask(&next, b"1")?;
        self.ask(&message.reply, b"+ACK")?;
        Ok(message.body)
    }
}
