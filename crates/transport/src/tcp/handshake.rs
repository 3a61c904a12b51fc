//! Words of both ends of a connection before calls: who speaks which protocol, and who has the
//! token.
//!
//! ```text
//! client: hello (a frame without calls)    server without a token: its incarnation
//!                                          with one: challenge -> proof -> welcome, and that
//! ```
//! A server says why it ends a connection, so that whoever started the client can read it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::{Wire, read_frame};
use crate::frame::{Frame, FrameKind, Header, single};
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

/// A client's first words: gives the frame that names the server's incarnation.
///
/// # Errors
/// `PermissionDenied` when one end does not have the other's token; `InvalidData` when the peer
/// speaks another protocol; those of the system.
pub(super) fn introduce(
    stream: &mut TcpStream,
    hello: &[u8],
    token: Option<&Token>,
) -> io::Result<Vec<u8>> {
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
/// `PermissionDenied` for a client without the token; `InvalidData` for one that speaks something
/// else; those of the system.
pub(super) fn let_in(
    stream: &mut TcpStream,
    wire: &Wire,
    token: Option<&Token>,
) -> io::Result<Vec<u8>> {
    let mut hello = Vec::new();
    let Some(token) = token else {
        read_frame(stream, &mut hello, crate::FRAME_BYTES_MAX)?;
        return Ok(hello);
    };
    stream.set_read_timeout(Some(STRANGER_TIMEOUT))?;
    read_frame(stream, &mut hello, STRANGER_BYTES_MAX)?;
    let session = Frame::read(&hello).map_err(|m| strange(&m.expectation))?.client;
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
    stream.set_read_timeout(None)?;
    Ok(hello)
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
