//! Frames over TCP: a server with a thread for each connection, a client with one that reads.
//!
//! A thread reads as long as bytes come and sleeps in the kernel when none do. A client's thread
//! that lost its connection tries to have a new one as long as it is patient; calls wait meanwhile.
//! Elsewhere: what is said before calls (`handshake`).

mod handshake;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use types::codec::Malformed;

use crate::channel::{Channel, Outlet, Patience};
use crate::exchange::{Exchange, Outbox, Service};
use crate::frame::{Entry, FRAME_BYTES_MAX, Frame, HEADER_BYTES, body_bytes};
use crate::identity::{Claimed, OwnDatabase};
use crate::slot::Broken;
use crate::token::Token;

use self::handshake::{Asked, Named};

/// Time that a peer may take to read what we send, before its connection is closed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// Time between two attempts to connect again.
const RETRY: Duration = Duration::from_millis(20);

/// Time that one attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes that are read at first, before a frame has shown that it is longer.
const READ_BYTES: usize = 64 << 10;

/// The writing half of a connection.
struct Wire(Mutex<TcpStream>);

impl Wire {
    fn new(stream: &TcpStream) -> io::Result<Self> {
        Ok(Self(Mutex::new(stream.try_clone()?)))
    }

    /// Sends a frame whole, or closes the connection: its reader hears of it.
    fn write(&self, frame: &[u8]) {
        let mut stream = self.0.lock();
        if stream.write_all(frame).is_err() {
            // It may be closed already.
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

impl Outlet for Wire {
    fn send(&self, frame: Vec<u8>) {
        self.write(&frame);
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))
}

/// Reads one frame into `frame`; memory grows with the bytes that came, not with what a header
/// promises, up to `bytes_max` behind the header.
fn read_frame(stream: &mut impl Read, frame: &mut Vec<u8>, bytes_max: usize) -> io::Result<()> {
    frame.resize(HEADER_BYTES, 0);
    stream.read_exact(frame)?;
    let invalid = |expectation: String| {
        io::Error::new(io::ErrorKind::InvalidData, format!("expected {expectation}"))
    };
    let mut left = body_bytes(frame).map_err(|malformed| invalid(malformed.expectation))?;
    if left > bytes_max {
        return Err(invalid(format!("at most {bytes_max} bytes, found {left}")));
    }
    while left > 0 {
        let (at, more) = (frame.len(), left.min(READ_BYTES.max(frame.len())));
        frame.resize(at + more, 0);
        stream.read_exact(&mut frame[at..])?;
        left -= more;
    }
    Ok(())
}

/// A server's end of one connection, for answers that come later.
struct ConnectionOutbox<S> {
    wire: Wire,
    client: AtomicU64,
    exchange: Arc<Exchange<S>>,
}

impl<S: Service> Outbox for ConnectionOutbox<S> {
    fn put(&self, entry: &Entry<'_>) {
        let client = self.client.load(Ordering::Relaxed);
        self.wire.write(&self.exchange.later(client, entry));
    }
}

#[derive(Default)]
struct Accepting {
    is_closed: AtomicBool,
    /// Connections that live, to be closed with the listener.
    streams: Mutex<HashMap<u64, TcpStream>>,
    next: AtomicU64,
}

/// Choices for a server.
#[derive(Clone, Debug)]
pub struct ListenerOptions {
    /// Connections at a time; others are closed.
    pub connections: usize,
    /// Secret that clients have to have.
    pub token: Option<Token>,
    /// The database that the server is of: clients that name another one are refused.
    pub database: Option<Arc<OwnDatabase>>,
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self { connections: 1000, token: None, database: None }
    }
}

/// A server of a service. It ends when it is dropped, and so do its connections.
pub struct Listener {
    address: SocketAddr,
    accepting: Arc<Accepting>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Serves `exchange` at `listener`.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn start<S: Service + 'static>(
        listener: TcpListener,
        exchange: Arc<Exchange<S>>,
        options: ListenerOptions,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let accepting = Arc::new(Accepting::default());
        let thread = {
            let accepting = Arc::clone(&accepting);
            let accept = move || accept(&listener, &exchange, &accepting, &options);
            thread::Builder::new().name("transport-accept".into()).spawn(accept)?
        };
        Ok(Self { address, accepting, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections; new ones may come.
    pub fn disconnect(&self) {
        for stream in self.accepting.streams.lock().values() {
            // It may be closed already.
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.is_closed.store(true, Ordering::Release);
        // Wakes the thread that accepts; an error says that it is gone.
        drop(TcpStream::connect_timeout(&self.address, CONNECT_TIMEOUT));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
        self.disconnect();
    }
}

fn accept<S: Service + 'static>(
    listener: &TcpListener,
    exchange: &Arc<Exchange<S>>,
    accepting: &Arc<Accepting>,
    options: &ListenerOptions,
) {
    for stream in listener.incoming() {
        if accepting.is_closed.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if accepting.streams.lock().len() >= options.connections {
            continue;
        }
        let number = accepting.next.fetch_add(1, Ordering::Relaxed);
        let Ok(copy) = stream.try_clone() else { continue };
        accepting.streams.lock().insert(number, copy);
        let serve = {
            let (exchange, accepting) = (Arc::clone(exchange), Arc::clone(accepting));
            let (token, database) = (options.token.clone(), options.database.clone());
            move || {
                let asked = Asked { token: token.as_ref(), database: database.as_deref() };
                // Whatever ended it, the client sees it end.
                drop(serve(stream, exchange, asked));
                accepting.streams.lock().remove(&number);
            }
        };
        let spawned = thread::Builder::new().name("transport-serve".into()).spawn(serve);
        if spawned.is_err() {
            accepting.streams.lock().remove(&number);
        }
    }
}

fn serve<S: Service + 'static>(
    mut stream: TcpStream,
    exchange: Arc<Exchange<S>>,
    asked: Asked<'_>,
) -> io::Result<()> {
    prepare(&stream)?;
    let (wire, client) = (Wire::new(&stream)?, AtomicU64::new(0));
    let connection = Arc::new(ConnectionOutbox { wire, client, exchange: Arc::clone(&exchange) });
    let outbox: Arc<dyn Outbox> = Arc::clone(&connection) as Arc<dyn Outbox>;
    let outcome = handshake::let_in(&mut stream, &connection.wire, asked)
        .and_then(|hello| answer_all(&mut stream, &connection, &outbox, hello));
    if let Err(error) = &outcome {
        handshake::refuse(&mut stream, &connection.wire, error);
    }
    exchange.service().left(connection.client.load(Ordering::Relaxed));
    drop(stream.shutdown(Shutdown::Both));
    outcome
}

fn answer_all<S: Service>(
    stream: &mut TcpStream,
    connection: &ConnectionOutbox<S>,
    outbox: &Arc<dyn Outbox>,
    hello: Vec<u8>,
) -> io::Result<()> {
    let mut bytes = hello;
    loop {
        let malformed = |malformed: Malformed| {
            let message = format!("expected {}", malformed.expectation);
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        let client = Frame::read(&bytes).map_err(malformed)?.client;
        connection.client.store(client, Ordering::Relaxed);
        for answers in connection.exchange.receive(&bytes, outbox).map_err(malformed)? {
            connection.wire.write(&answers);
        }
        read_frame(stream, &mut bytes, FRAME_BYTES_MAX)?;
    }
}

/// Choices for a client.
#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// Number of the session: no two clients of a server have the same.
    pub client: u64,
    /// Time that calls wait for a new connection when theirs broke; 0 to fail at once.
    pub patience: Duration,
    /// Secret that the server has to have.
    pub token: Option<Token>,
    /// The database that the server has to be of, if it is of one.
    pub database: Option<Claimed>,
}

struct Dial {
    address: SocketAddr,
    patience: Duration,
    token: Option<Token>,
    database: Option<Claimed>,
    channel: Arc<Channel>,
    is_closed: AtomicBool,
    /// The stream of this moment, to be closed with the connection.
    stream: Mutex<Option<TcpStream>>,
}

/// A client's connection. It ends when it is dropped; calls without an answer fail then.
pub struct Connection {
    dial: Arc<Dial>,
    thread: Option<JoinHandle<()>>,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    /// Errors of the system; `InvalidData` when the peer speaks another protocol;
    /// `PermissionDenied` when one end does not have the other's token, or is of another database.
    pub fn open(address: SocketAddr, options: ConnectionOptions) -> io::Result<Self> {
        let ConnectionOptions { client, patience, token, database } = options;
        let kind = if patience.is_zero() { Patience::None } else { Patience::Resend };
        let channel = Arc::new(Channel::new(client, kind));
        let (is_closed, stream) = (AtomicBool::new(false), Mutex::new(None));
        let dial =
            Arc::new(Dial { address, patience, token, database, channel, is_closed, stream });
        let first = dial.connect()?;
        let thread = {
            let dial = Arc::clone(&dial);
            thread::Builder::new().name("transport-read".into()).spawn(move || dial.run(first))?
        };
        Ok(Self { dial, thread: Some(thread) })
    }

    /// Its channel.
    pub fn channel(&self) -> &Arc<Channel> {
        &self.dial.channel
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.dial.is_closed.store(true, Ordering::Release);
        if let Some(stream) = self.dial.stream.lock().take() {
            // It may be closed already.
            drop(stream.shutdown(Shutdown::Both));
        }
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Dial {
    /// A stream on which the server has named its incarnation.
    fn connect(&self) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect_timeout(&self.address, CONNECT_TIMEOUT)?;
        prepare(&stream)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        let hello = self.channel.hello();
        let named = Named { token: self.token.as_ref(), database: self.database };
        let frame = handshake::introduce(&mut stream, &hello, named)?;
        stream.set_read_timeout(None)?;
        let invalid = |_| io::Error::from(io::ErrorKind::InvalidData);
        self.channel.receive(&frame).map_err(invalid)?;
        *self.stream.lock() = Some(stream.try_clone()?);
        self.channel.attach(Arc::new(Wire::new(&stream)?));
        Ok(stream)
    }

    fn run(&self, first: TcpStream) {
        let mut stream = first;
        loop {
            let reason = self.read(&mut stream);
            drop(stream.shutdown(Shutdown::Both));
            self.channel.lost(&format!("the connection to {} broke: {reason}", self.address));
            match self.connect_again() {
                Ok(next) => stream = next,
                Err(error) => {
                    let reason = format!("there is no connection to {}: {error}", self.address);
                    return self.channel.fail(&Broken(reason));
                }
            }
        }
    }

    /// Reads until the connection ends; gives the reason.
    fn read(&self, stream: &mut TcpStream) -> String {
        let mut frame = Vec::new();
        loop {
            if let Err(error) = read_frame(stream, &mut frame, FRAME_BYTES_MAX) {
                return error.to_string();
            }
            if let Err(malformed) = self.channel.receive(&frame) {
                return malformed.in_bytes_of("a frame").to_string();
            }
        }
    }

    fn connect_again(&self) -> io::Result<TcpStream> {
        let deadline = Instant::now() + self.patience;
        let mut last = io::Error::other("it was closed");
        while Instant::now() < deadline && !self.is_closed.load(Ordering::Acquire) {
            match self.connect() {
                // It lets nobody in that it knew before.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
                Err(error) => last = error,
                connected => return connected,
            }
            thread::sleep(RETRY);
        }
        Err(last)
    }
}
