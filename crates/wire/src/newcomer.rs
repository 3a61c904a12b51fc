//! A client that is not let in yet: its socket, read and written as a future.
//!
//! Made by `server`, led through `startup`, turned into a socket of threads by `shared`.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::rustls::StreamOwned;
use tokio_rustls::server::TlsStream;
use types::{Error, Result, SqlState};

use crate::message::{self, Severity, violation};
use crate::socket::{SharedSocket, Socket, Transport};

/// Longest message of an authentication.
const PROOF_BYTES_MAX: usize = 4_096;

/// A socket of a client that is not let in yet.
pub(crate) enum Newcomer {
    /// TCP.
    Tcp(TcpStream),
    /// TCP with TLS.
    Tls(Box<TlsStream<TcpStream>>),
    /// A socket in the file system.
    Unix(UnixStream),
}

trait Both: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Both for T {}

impl Newcomer {
    fn stream(&mut self) -> &mut dyn Both {
        match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => &mut **stream,
            Self::Unix(stream) => stream,
        }
    }

    /// True when it comes from this machine.
    pub(crate) fn is_local(&self) -> bool {
        let is_loopback = |stream: &TcpStream| {
            stream.peer_addr().is_ok_and(|address| match address.ip() {
                IpAddr::V6(ip) => ip.to_canonical().is_loopback(),
                ip => ip.is_loopback(),
            })
        };
        match self {
            Self::Tcp(stream) => is_loopback(stream),
            Self::Tls(stream) => is_loopback(stream.get_ref().0),
            Self::Unix(_) => true,
        }
    }

    /// Fills `buffer`.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.stream().read_exact(buffer).await.map(|_| ())
    }

    /// Sends `bytes` at once.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream().write_all(bytes).await?;
        self.stream().flush().await
    }

    /// Tells why it is not let in.
    pub(crate) async fn refuse(&mut self, error: &Error) {
        let mut out = Vec::new();
        message::error(&mut out, Severity::Fatal, error, "");
        // It may be gone.
        let _ = self.write(&out).await;
        let _ = self.stream().shutdown().await;
    }

    /// A message of an authentication: the body of one of kind `p`.
    pub(crate) async fn proof(&mut self) -> Result<Vec<u8>> {
        let mut head = [0; 5];
        self.read(&mut head).await.map_err(|error| gone(&error))?;
        let [kind, length @ ..] = head;
        let length = u32::from_be_bytes(length) as usize;
        if kind != b'p' || !(4..=PROOF_BYTES_MAX).contains(&length) {
            return Err(violation("expected a password response"));
        }
        let mut body = vec![0; length - 4];
        self.read(&mut body).await.map_err(|error| gone(&error))?;
        Ok(body)
    }

    /// The socket as threads use it.
    pub(crate) fn settle(self) -> io::Result<(Transport, SharedSocket)> {
        let tcp = |stream: TcpStream| -> io::Result<SharedSocket> {
            let stream = stream.into_std()?;
            stream.set_nonblocking(true)?;
            Ok(SharedSocket(Arc::new(Socket::Tcp(stream))))
        };
        let (transport, socket) = match self {
            Self::Tcp(stream) => {
                let socket = tcp(stream)?;
                (Transport::Plain(socket.clone()), socket)
            }
            Self::Tls(stream) => {
                let (stream, tls) = stream.into_inner();
                let socket = tcp(stream)?;
                (Transport::Tls(Box::new(StreamOwned::new(tls, socket.clone()))), socket)
            }
            Self::Unix(stream) => {
                let stream = stream.into_std()?;
                stream.set_nonblocking(true)?;
                let socket = SharedSocket(Arc::new(Socket::Unix(stream)));
                (Transport::Plain(socket.clone()), socket)
            }
        };
        Ok((transport, socket))
    }
}

/// 08006: the client is gone.
pub(crate) fn gone(error: &io::Error) -> Error {
    Error::new(SqlState::CONNECTION_FAILURE, format!("connection to client lost: {error}"))
}
