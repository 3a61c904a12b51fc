//! A server of its own for each test, and a client that sends what it likes.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use engine::{Config, Database};
use postgres::{Client, NoTls};
use wire::{Authentication, Ending, Server, ServerOptions};

/// A server on a port of its own.
pub(crate) struct Running {
    pub(crate) server: Option<Server>,
    pub(crate) database: Database,
    pub(crate) address: SocketAddr,
}

pub(crate) fn options() -> ServerOptions {
    ServerOptions {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        authentication: Authentication::Trust,
        grace: Duration::from_secs(2),
        ..ServerOptions::default()
    }
}

pub(crate) fn config() -> Config {
    Config { threads: 2, memory_bytes: 512 << 20, ..Config::default() }
}

pub(crate) fn start_with(options: ServerOptions) -> Running {
    serve(Database::open_in_memory(config()).expect("in memory"), options)
}

pub(crate) fn serve(database: Database, options: ServerOptions) -> Running {
    formats::register(&database);
    wire::register(&database);
    let server = Server::start(database.clone(), options).expect("a free port");
    let address = server.addresses()[0];
    Running { server: Some(server), database, address }
}

pub(crate) fn start() -> Running {
    start_with(options())
}

impl Running {
    pub(crate) fn config(&self) -> postgres::Config {
        let mut config = postgres::Config::new();
        config.host("127.0.0.1").port(self.address.port()).user("tessera").dbname("tessera");
        config
    }

    pub(crate) fn client(&self) -> Client {
        self.config().connect(NoTls).expect("a connection")
    }

    pub(crate) fn raw(&self) -> Raw {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        Raw { stream }
    }

    /// A client that was let in.
    pub(crate) fn seated(&self) -> Raw {
        let mut raw = self.raw();
        raw.send_startup(&[("user", "tessera")]);
        let messages = raw.until(b'Z');
        assert_eq!(messages[0].kind, b'R');
        raw
    }

    pub(crate) fn stop(&mut self) {
        self.server.take().into_iter().for_each(|server| server.stop(Ending::Graceful));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.take().into_iter().for_each(|server| server.stop(Ending::Fast));
    }
}

/// The SQLSTATE of an error.
pub(crate) fn state(error: &postgres::Error) -> String {
    error.code().map(|code| code.code().to_owned()).unwrap_or_else(|| error.to_string())
}

/// A message of the server.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The field `code` of an error.
    pub(crate) fn field(&self, code: u8) -> String {
        assert!(self.kind == b'E' || self.kind == b'N', "{self:?}");
        let mut fields = self.body.split(|byte| *byte == 0);
        let found = fields.find(|field| field.first() == Some(&code)).unwrap_or_default();
        String::from_utf8_lossy(found.get(1..).unwrap_or_default()).into_owned()
    }
}

/// A connection without a driver.
pub(crate) struct Raw<S = TcpStream> {
    pub(crate) stream: S,
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], &length[..], body].concat()
}

pub(crate) fn query(sql: &str) -> Vec<u8> {
    message(b'Q', &text(sql))
}

pub(crate) fn parse(name: &str, sql: &str) -> Vec<u8> {
    message(b'P', &[text(name), text(sql), vec![0, 0]].concat())
}

/// Bind of text values.
pub(crate) fn bind(portal: &str, statement: &str, values: &[&str]) -> Vec<u8> {
    let mut body = [text(portal), text(statement), vec![0, 0]].concat();
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    body.extend_from_slice(&[0, 0]);
    message(b'B', &body)
}

pub(crate) fn execute(portal: &str, rows: u32) -> Vec<u8> {
    message(b'E', &[text(portal), rows.to_be_bytes().to_vec()].concat())
}

pub(crate) fn describe(kind: u8, name: &str) -> Vec<u8> {
    message(b'D', &[vec![kind], text(name)].concat())
}

pub(crate) fn sync() -> Vec<u8> {
    message(b'S', &[])
}

impl<S: Read + Write> Raw<S> {
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("sent");
    }

    pub(crate) fn send_startup(&mut self, parameters: &[(&str, &str)]) {
        let mut body = (3_u32 << 16).to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend(text(name));
            body.extend(text(value));
        }
        body.push(0);
        let length = (body.len() as u32 + 4).to_be_bytes();
        self.send(&[&length[..], &body].concat());
    }

    /// The next message; None when the server has closed, which it has to do in time.
    pub(crate) fn try_next(&mut self) -> Option<Answer> {
        let mut head = [0; 5];
        if let Err(error) = self.stream.read_exact(&mut head) {
            let is_late = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            assert!(!is_late, "neither a message nor the end");
            return None;
        }
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some(Answer { kind: head[0], body })
    }

    pub(crate) fn next(&mut self) -> Answer {
        self.try_next().expect("a message")
    }

    /// All messages up to the next of `kind`.
    pub(crate) fn until(&mut self, kind: u8) -> Vec<Answer> {
        let mut all = Vec::new();
        loop {
            let answer = self.next();
            let is_last = answer.kind == kind;
            all.push(answer);
            if is_last {
                return all;
            }
        }
    }

    /// The kinds of all messages up to ReadyForQuery, and its status.
    pub(crate) fn kinds(&mut self) -> String {
        let all = self.until(b'Z');
        let status = char::from(all.last().map_or(b'?', |last| last.body[0]));
        let kinds: String = all.iter().map(|answer| char::from(answer.kind)).collect();
        format!("{kinds}{status}")
    }
}
