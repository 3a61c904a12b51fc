//! Connections: what is sent, and what comes back until it ends.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::seeds::Input;
use crate::text;

/// After this a connection is cancelled.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Further time after which it hangs.
const CANCELLED: Duration = Duration::from_secs(20);

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Closed,
    Hangs,
    /// The server did not take it.
    Refused(String),
}

/// Answers that came back.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) end: End,
    /// Kinds of messages, with the SQLSTATE of errors.
    kinds: BTreeSet<String>,
    /// Texts of errors with SQLSTATE XX000.
    pub(super) internal_errors: Vec<String>,
}

impl Answers {
    /// The kinds of answers, as text.
    pub(super) fn signature(&self) -> String {
        self.kinds.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// A message with a kind.
pub(super) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], &length[..], body].concat()
}

/// The first message of a session of `user`.
pub(super) fn startup(user: &str) -> Vec<u8> {
    let body = [&196_608_u32.to_be_bytes()[..], b"user\0", user.as_bytes(), b"\0\0"].concat();
    [&(body.len() as u32 + 4).to_be_bytes()[..], &body].concat()
}

/// The messages of a stream; what is left is none yet.
struct Messages(Vec<u8>);

impl Messages {
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let length = u32::from_be_bytes(self.0.get(1..5)?.try_into().ok()?) as usize;
        self.0.get(..1 + length)?;
        let rest = self.0.split_off(1 + length);
        let whole = std::mem::replace(&mut self.0, rest);
        Some((whole[0], whole[5..].to_vec()))
    }
}

/// The field `code` of an error.
fn field(body: &[u8], code: u8) -> String {
    let mut fields = body.split(|byte| *byte == 0);
    let found = fields.find(|field| field.first() == Some(&code)).unwrap_or_default();
    String::from_utf8_lossy(found.get(1..).unwrap_or_default()).into_owned()
}

/// Sends `input` on a connection of its own and reads what comes.
pub(super) fn converse(port: &str, input: &Input) -> Answers {
    let mut answers =
        Answers { end: End::Closed, kinds: BTreeSet::new(), internal_errors: Vec::new() };
    if let Err(why) = exchange(port, input, &mut answers) {
        answers.end = End::Refused(why);
    }
    answers
}

fn exchange(port: &str, input: &Input, answers: &mut Answers) -> Result<(), String> {
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).map_err(text)?;
    stream.set_read_timeout(Some(Duration::from_millis(200))).map_err(text)?;
    stream.set_write_timeout(Some(PATIENCE + CANCELLED)).map_err(text)?;
    let mut writer = stream.try_clone().map_err(text)?;
    let bytes =
        if input.is_seated { [startup("fuzz"), input.bytes()].concat() } else { input.bytes() };
    std::thread::scope(|scope| {
        // The server may end the connection in the middle; that is an answer, too.
        scope.spawn(move || {
            let _ = writer.write_all(&bytes);
            let _ = writer.shutdown(Shutdown::Write);
        });
        read_all(port, stream, input.is_seated, answers);
    });
    Ok(())
}

/// Reads until the connection ends, or hangs.
fn read_all(port: &str, mut stream: TcpStream, is_seated: bool, answers: &mut Answers) {
    let start = Instant::now();
    let (mut messages, mut key, mut cancelled) = (Messages(Vec::new()), None, false);
    let mut buffer = [0; 65_536];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) if is_seated => {
                messages.0.extend_from_slice(&buffer[..n]);
                while let Some((kind, body)) = messages.next() {
                    note(kind, &body, &mut key, answers);
                }
            }
            Ok(n) => drop(answers.kinds.insert(format!("{}", buffer[..n.min(1)][0]))),
            Err(error) if is_patient(&error) => {}
            // Reset: it did not read all that was sent.
            Err(_) => return,
        }
        if !cancelled && start.elapsed() > PATIENCE {
            cancelled = true;
            if let Some(key) = &key {
                cancel(port, key);
            }
        }
        if start.elapsed() > PATIENCE + CANCELLED {
            answers.end = End::Hangs;
            // Ends the writer, too.
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

fn is_patient(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

fn note(kind: u8, body: &[u8], key: &mut Option<Vec<u8>>, answers: &mut Answers) {
    match kind {
        b'K' => *key = Some(body.to_vec()),
        b'E' => {
            let state = field(body, b'C');
            if state == "XX000" {
                answers.internal_errors.push(field(body, b'M'));
            }
            answers.kinds.insert(format!("E{state}"));
        }
        _ => drop(answers.kinds.insert(char::from(kind).to_string())),
    }
}

/// Asks the server to end what the session with `key` runs.
fn cancel(port: &str, key: &[u8]) {
    let Ok(mut stream) = TcpStream::connect(format!("127.0.0.1:{port}")) else { return };
    let body = [&80_877_102_u32.to_be_bytes()[..], key].concat();
    let length = (body.len() as u32 + 4).to_be_bytes();
    // Best effort: what does not end is seen anyway.
    let _ = stream.write_all(&[&length[..], &body].concat());
}
