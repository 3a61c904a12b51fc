//! Bound of pgbench on this machine when nobody computes anything: fixed answers, and commits
//! that wait for the disk.
//!
//! ```text
//! pgbench -> Unix socket -> thread: one message, one fixed answer
//!                           the answers to END -> disk thread: 4 KiB, fdatasync, then all of them
//! ```
//! Costs of the client, the sockets and the disk are left. Its one thread is what bounds it where
//! many clients ask for little, so that a server of several threads can be ahead of it there. Only
//! what pgbench sends is understood.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use crate::{Outcome, text};

/// Looked at again for this long before the thread sleeps, as Tessera's server does.
const SPIN: Duration = Duration::from_micros(50);

/// Bytes of the file that commits are written to, all of it written before.
const FILE_BYTES: u64 = 16 << 20;

/// Bytes of the write of a group of commits.
const WRITE_BYTES: usize = 4096;

/// Number of the listening socket.
const LISTENER: u64 = u64::MAX;

/// Answer to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing: the query is empty.
    Empty,
    Tag(&'static str),
    /// A row of one number.
    Number(&'static str),
    /// The three columns of pgbench's query for partitions.
    Partitions,
}

impl Answer {
    fn of(sql: &[u8]) -> Self {
        let begins = |word: &str| sql.starts_with(word.as_bytes());
        match sql {
            _ if begins("BEGIN") => Self::Tag("BEGIN"),
            _ if begins("END") => Self::Tag("COMMIT"),
            _ if begins("UPDATE") => Self::Tag("UPDATE 1"),
            _ if begins("INSERT") => Self::Tag("INSERT 0 1"),
            _ if begins("SELECT abalance") => Self::Number("1234"),
            _ if begins("select count") => Self::Number("20"),
            _ if begins("select o.n") => Self::Partitions,
            _ => Self::Empty,
        }
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Empty | Self::Tag(_) => &[],
            Self::Number(_) => &["number"],
            Self::Partitions => &["n", "partstrat", "count"],
        }
    }

    /// RowDescription, or NoData.
    fn describe(self, out: &mut Vec<u8>) {
        let columns = self.columns();
        if columns.is_empty() {
            return put(out, b'n', &[]);
        }
        let mut body = (columns.len() as u16).to_be_bytes().to_vec();
        for name in columns {
            body.extend_from_slice(name.as_bytes());
            body.push(0);
            // Of no table; int4 of 4 bytes, without a modifier, as text.
            body.extend_from_slice(&[
                0, 0, 0, 0, 0, 0, 0, 0, 0, 23, 0, 4, 255, 255, 255, 255, 0, 0,
            ]);
        }
        put(out, b'T', &body);
    }

    /// DataRow and CommandComplete, or EmptyQueryResponse.
    fn execute(self, out: &mut Vec<u8>) {
        let values: &[Option<&str>] = match self {
            Self::Empty => return put(out, b'I', &[]),
            Self::Tag(tag) => return put(out, b'C', &[tag.as_bytes(), &[0]].concat()),
            Self::Number(number) => &[Some(number)],
            Self::Partitions => &[Some("1"), None, Some("0")],
        };
        let mut body = (values.len() as u16).to_be_bytes().to_vec();
        for value in values {
            let bytes = value.map_or(-1, |value| value.len() as i32);
            body.extend_from_slice(&bytes.to_be_bytes());
            body.extend_from_slice(value.unwrap_or_default().as_bytes());
        }
        put(out, b'D', &body);
        put(out, b'C', b"SELECT 1\0");
    }
}

/// Appends a message.
fn put(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

/// The bytes up to the next zero, and what is behind it.
fn name(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    (&bytes[..end], bytes.get(end + 1..).unwrap_or_default())
}

struct Client {
    stream: Arc<UnixStream>,
    input: Vec<u8>,
    output: Vec<u8>,
    is_started: bool,
    statements: HashMap<Vec<u8>, Answer>,
    bound: Answer,
    in_transaction: bool,
    /// True when the answers in `output` wait for the disk.
    commits: bool,
}

impl Client {
    fn new(stream: UnixStream) -> Self {
        Self {
            stream: Arc::new(stream),
            input: Vec::new(),
            output: Vec::new(),
            is_started: false,
            statements: HashMap::new(),
            bound: Answer::Empty,
            in_transaction: false,
            commits: false,
        }
    }

    /// Reads what came and answers it into `output`; false at the end.
    fn hear(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 8192];
        let count = match (&*self.stream).read(&mut bytes) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        };
        self.input.extend_from_slice(&bytes[..count]);
        let input = std::mem::take(&mut self.input);
        let mut rest = &input[..];
        loop {
            let head = usize::from(self.is_started);
            let Some(length) = rest.get(head..head + 4) else { break };
            let length = length.iter().fold(0, |all, &byte| all << 8 | usize::from(byte));
            let Some(body) = rest.get(head + 4..head + length) else { break };
            if !self.is_started {
                self.start()
            } else if rest[0] == b'X' {
                return Ok(false);
            } else {
                self.answer(rest[0], body)
            }
            rest = &rest[head + length..];
        }
        self.input = rest.to_vec();
        Ok(true)
    }

    fn start(&mut self) {
        self.is_started = true;
        put(&mut self.output, b'R', &[0; 4]);
        put(&mut self.output, b'S', b"server_version\x0015.0\0");
        put(&mut self.output, b'S', b"client_encoding\0UTF8\0");
        put(&mut self.output, b'S', b"standard_conforming_strings\0on\0");
        put(&mut self.output, b'K', &[0; 8]);
        put(&mut self.output, b'Z', b"I");
    }

    fn answer(&mut self, kind: u8, body: &[u8]) {
        let out = &mut self.output;
        match kind {
            b'P' => {
                let (statement, rest) = name(body);
                self.statements.insert(statement.to_vec(), Answer::of(name(rest).0));
                put(out, b'1', &[]);
            }
            b'B' => {
                let (statement, _) = name(name(body).1);
                self.bound = self.statements.get(statement).copied().unwrap_or(Answer::Empty);
                put(out, b'2', &[]);
            }
            b'D' => self.bound.describe(out),
            b'E' => {
                self.bound.execute(out);
                match self.bound {
                    Answer::Tag("BEGIN") => self.in_transaction = true,
                    Answer::Tag("COMMIT") => {
                        self.in_transaction = false;
                        self.commits = true;
                    }
                    _ => {}
                }
            }
            b'Q' => {
                let answer = Answer::of(name(body).0);
                if !answer.columns().is_empty() {
                    answer.describe(out);
                }
                answer.execute(out);
                put(out, b'Z', b"I");
            }
            _ => put(out, b'Z', if self.in_transaction { b"T" } else { b"I" }),
        }
    }
}

/// Answers that wait for the disk.
#[derive(Default)]
struct Commits {
    waiting: Mutex<Vec<(Arc<UnixStream>, Vec<u8>)>>,
    came: Condvar,
    is_over: AtomicBool,
}

/// The file that commits are written to.
struct Disk {
    file: File,
    at: u64,
}

impl Disk {
    fn new(folder: &Path, name: &str) -> io::Result<Self> {
        let mut file = File::create(folder.join(format!("bound.{name}.log")))?;
        let zeros = vec![0; 1 << 20];
        for _ in 0..FILE_BYTES >> 20 {
            file.write_all(&zeros)?;
        }
        file.sync_all()?;
        Ok(Self { file, at: 0 })
    }

    /// A group of commits.
    fn write(&mut self) -> io::Result<()> {
        self.file.write_all_at(&[1; WRITE_BYTES], self.at)?;
        self.at = (self.at + WRITE_BYTES as u64) % FILE_BYTES;
        self.file.sync_data()
    }

    /// Writes groups until it is over.
    fn run(mut self, commits: &Commits) -> io::Result<()> {
        loop {
            let waiting = commits.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let none = |waiting: &mut Vec<_>| {
                waiting.is_empty() && !commits.is_over.load(Ordering::Acquire)
            };
            let waiting = commits.came.wait_while(waiting, none);
            let group = std::mem::take(&mut *waiting.unwrap_or_else(PoisonError::into_inner));
            if group.is_empty() {
                return Ok(());
            }
            self.write()?;
            for (stream, answer) in group {
                (&*stream).write_all(&answer)?;
            }
        }
    }
}

/// Serves until it is dropped.
pub(super) struct Bound {
    commits: Arc<Commits>,
    threads: Vec<JoinHandle<Outcome>>,
}

impl Bound {
    /// Listens at the socket `.s.PGSQL.<port>` of `folder`.
    pub(super) fn start(folder: &Path, port: &str) -> Result<Self, String> {
        let listener = UnixListener::bind(folder.join(format!(".s.PGSQL.{port}"))).map_err(text)?;
        listener.set_nonblocking(true).map_err(text)?;
        let (disk, own_disk) = (Disk::new(folder, "1"), Disk::new(folder, "2"));
        let (disk, own_disk) = (disk.map_err(text)?, own_disk.map_err(text)?);
        let commits = Arc::new(Commits::default());
        let (of_disk, of_sockets) = (Arc::clone(&commits), Arc::clone(&commits));
        let threads = vec![
            std::thread::spawn(move || disk.run(&of_disk).map_err(text)),
            std::thread::spawn(move || serve(&listener, &of_sockets, own_disk).map_err(text)),
        ];
        Ok(Self { commits, threads })
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.commits.is_over.store(true, Ordering::Release);
        self.commits.came.notify_all();
        for thread in self.threads.drain(..) {
            if let Ok(Err(error)) = thread.join() {
                eprintln!("the server of fixed answers: {error}");
            }
        }
    }
}

/// The thread of the sockets; an only client's commits are written by it, to a file of its own,
/// because to wake another thread takes longer.
fn serve(listener: &UnixListener, commits: &Commits, mut disk: Disk) -> io::Result<()> {
    let sockets = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let flags = epoll::EventFlags::IN;
    epoll::add(&sockets, listener, epoll::EventData::new_u64(LISTENER), flags)?;
    let mut clients: HashMap<u64, Client> = HashMap::new();
    let mut next = 0;
    let mut events = Vec::with_capacity(64);
    while !commits.is_over.load(Ordering::Acquire) {
        watch(&sockets, &mut events)?;
        let mut group = Vec::new();
        for event in &events {
            let id = event.data.u64();
            if id == LISTENER {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                epoll::add(&sockets, &stream, epoll::EventData::new_u64(next), flags)?;
                clients.insert(next, Client::new(stream));
                next += 1;
                continue;
            }
            let Some(client) = clients.get_mut(&id) else { continue };
            if !client.hear()? {
                clients.remove(&id);
            } else if std::mem::take(&mut client.commits) {
                group.push((Arc::clone(&client.stream), std::mem::take(&mut client.output)));
            } else if !client.output.is_empty() {
                (&*client.stream).write_all(&client.output)?;
                client.output.clear();
            }
        }
        if clients.len() == 1 && !group.is_empty() {
            disk.write()?;
            for (stream, answer) in group {
                (&*stream).write_all(&answer)?;
            }
        } else if !group.is_empty() {
            commits.waiting.lock().unwrap_or_else(PoisonError::into_inner).append(&mut group);
            commits.came.notify_one();
        }
    }
    Ok(())
}

/// Waits for sockets, or for a tenth of a second.
fn watch(sockets: &OwnedFd, events: &mut Vec<epoll::Event>) -> io::Result<()> {
    let begin = Instant::now();
    events.clear();
    loop {
        let is_awake = begin.elapsed() < SPIN;
        let limit = Timespec { tv_sec: 0, tv_nsec: if is_awake { 0 } else { 100_000_000 } };
        match epoll::wait(sockets, rustix::buffer::spare_capacity(events), Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !events.is_empty() || !is_awake {
            return Ok(());
        }
        std::thread::yield_now();
    }
}
