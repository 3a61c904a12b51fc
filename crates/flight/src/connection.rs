//! Connections of clients. What was begun through one ends with it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tonic::Request;
use tonic::transport::server::{Connected, TlsConnectInfo};

/// Life of a connection: there as long as it is.
#[derive(Debug)]
pub(crate) struct Life;

/// A connection, that knows whether it is still there when it is asked for.
pub(crate) type Line = Weak<Life>;

/// The connection that a call came through.
pub(crate) fn line_of<T>(request: &Request<T>) -> Line {
    let extensions = request.extensions();
    let plain = || extensions.get::<Line>().cloned();
    let secure = extensions.get::<TlsConnectInfo<Line>>().map(|info| info.get_ref().clone());
    secure.or_else(plain).unwrap_or_default()
}

/// A connection that was let in.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    life: Arc<Life>,
}

impl Connection {
    /// The connection of `stream`.
    pub(crate) fn new(stream: TcpStream) -> Self {
        // Without it replies come later, and not otherwise.
        let _ = stream.set_nodelay(true);
        Self { stream, life: Arc::new(Life) }
    }
}

impl Connected for Connection {
    type ConnectInfo = Line;

    fn connect_info(&self) -> Self::ConnectInfo {
        Arc::downgrade(&self.life)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
