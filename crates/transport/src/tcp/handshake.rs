//! Words of both ends of a connection before calls: who speaks which protocol, who has the token,
//! and who is of which database.
//!
//! ```text
//! client: database, if it has one          server without a token: its incarnation
//! client: hello (a frame without calls)    with one: challenge -> proof -> welcome, and that
//! ```
//! The database is looked at when the client has shown the token.
//! A server says why it ends a connection, so that whoever started the client can read it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::{Wire, read_frame};
use crate::frame::{Frame, FrameKind, Header, single};
use crate::identity::{Claimed, OwnDatabase};
use crate::token::{Draw, End, NONCE_BYTES, Token, nonce};

/// Bytes that frames of strangers may have.
const STRANGER_BYTES_MAX: usize = 1 << 10;

/// Time that a stranger may take for its first words.
const STRANGER_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes that a refused client may still have on its way: read, so that it reads the reason.
const REST_BYTES_MAX: usize = 1 << 20;

/// Time for that.
const REST_TIMEOUT: Duration = Duration::from_secs(1);

fn denied(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason.into())
}

fn strange(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("expected {what}"))
}

fn header(kind: FrameKind, client: u64) -> Header {
    Header { kind, client, incarnation: 0, finished: 0 }
}

/// Names that a client has.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) token: Option<&'a Token>,
    pub(super) database: Option<Claimed>,
}

/// Names that a server asks for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) token: Option<&'a Token>,
    pub(super) database: Option<&'a OwnDatabase>,
}

/// A client's first words: gives the frame that names the server's incarnation.
///
/// # Errors
/// `PermissionDenied` when one end does not have the other's token; `InvalidData` when the peer
/// speaks another protocol; those of the system.
pub(super) fn introduce(
    stream: &mut TcpStream,
    hello: &[u8],
    named: Named<'_>,
) -> io::Result<Vec<u8>> {
    let Named { token, database } = named;
    if let Some(claimed) = database {
        stream.write_all(&single(header(FrameKind::Database, 0), &claimed.bytes()))?;
    }
    stream.write_all(hello)?;
    let mut bytes = next(stream)?;
    let frame = Frame::read(&bytes).map_err(|m| strange(&m.expectation))?;
    match (frame.kind, token) {
        (FrameKind::Challenge, None) => return Err(denied("the server wants a token")),
        (FrameKind::Challenge, Some(token)) => {
            let server = frame.payload().try_into().map_err(|_| strange("a challenge"))?;
            let draw = Draw { server, client: nonce()?, session: frame.client };
            let proof = [&draw.client[..], &token.code(End::Client, &draw)].concat();
            stream.write_all(&single(header(FrameKind::Proof, draw.session), &proof))?;
            let welcome = next(stream)?;
            let welcome = Frame::read(&welcome).map_err(|m| strange(&m.expectation))?;
            let is_welcome = welcome.kind == FrameKind::Welcome;
            if !is_welcome || !token.accepts(End::Server, &draw, welcome.payload()) {
                return Err(denied("the server does not have the token"));
            }
            bytes = next(stream)?;
        }
        (_, Some(_)) => return Err(denied("the server asks for no token: it may be another one")),
        (_, None) => (),
    }
    Ok(bytes)
}

/// A server's next frame, unless it refuses.
fn next(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_frame(stream, &mut bytes, STRANGER_BYTES_MAX)?;
    let frame = Frame::read(&bytes).map_err(|m| strange(&m.expectation))?;
    if frame.kind == FrameKind::Refused {
        return Err(denied(String::from_utf8_lossy(frame.payload())));
    }
    Ok(bytes)
}

/// A server's end, for a connection that begins: reads the hello, and looks for the token.
///
/// # Errors
/// `PermissionDenied` for a client without the token, or of another database; `InvalidData` for one
/// that speaks something else; those of the system.
pub(super) fn let_in(stream: &mut TcpStream, wire: &Wire, asked: Asked<'_>) -> io::Result<Vec<u8>> {
    if asked.token.is_some() {
        stream.set_read_timeout(Some(STRANGER_TIMEOUT))?;
    }
    let bytes_max = asked.token.map_or(crate::FRAME_BYTES_MAX, |_| STRANGER_BYTES_MAX);
    let mut hello = Vec::new();
    read_frame(stream, &mut hello, bytes_max)?;
    let first = Frame::read(&hello).map_err(|m| strange(&m.expectation))?;
    let mut claimed = None;
    if first.kind == FrameKind::Database {
        claimed = Some(Claimed::read(first.payload()).ok_or_else(|| strange("a database"))?);
        read_frame(stream, &mut hello, bytes_max)?;
    }
    if let Some(token) = asked.token {
        prove(stream, wire, &hello, token)?;
    }
    if let (Some(own), Some(claimed)) = (asked.database, claimed) {
        own.admit(claimed)?;
    }
    Ok(hello)
}

/// Has a client show that it has the token.
fn prove(stream: &mut TcpStream, wire: &Wire, hello: &[u8], token: &Token) -> io::Result<()> {
    let session = Frame::read(hello).map_err(|m| strange(&m.expectation))?.client;
    let server = nonce()?;
    wire.write(&single(header(FrameKind::Challenge, session), &server));
    let mut bytes = Vec::new();
    read_frame(stream, &mut bytes, STRANGER_BYTES_MAX)?;
    let proof = Frame::read(&bytes).map_err(|m| strange(&m.expectation))?;
    let parts = proof.payload().split_first_chunk::<NONCE_BYTES>();
    let (Some((client, code)), FrameKind::Proof) = (parts, proof.kind) else {
        return Err(denied("the server wants a token"));
    };
    let draw = Draw { server, client: *client, session };
    if !token.accepts(End::Client, &draw, code) {
        return Err(denied("the token is wrong"));
    }
    wire.write(&single(header(FrameKind::Welcome, session), &token.code(End::Server, &draw)));
    stream.set_read_timeout(None)
}

/// Says why a connection ends, where the client may want to know.
pub(super) fn refuse(stream: &mut TcpStream, wire: &Wire, error: &io::Error) {
    let is_said = matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidData | io::ErrorKind::QuotaExceeded
    );
    if !is_said {
        return;
    }
    wire.write(&single(header(FrameKind::Refused, 0), error.to_string().as_bytes()));
    // Errors say that the client is gone.
    drop(stream.shutdown(Shutdown::Write));
    drop(stream.set_read_timeout(Some(REST_TIMEOUT)));
    let (mut rest, mut bytes) = (0, [0; 4096]);
    while rest < REST_BYTES_MAX
        && let Ok(read @ 1..) = stream.read(&mut bytes)
    {
        rest += read;
    }
}
