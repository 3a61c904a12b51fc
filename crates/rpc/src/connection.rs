//! Connections that keep something while they are there.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tonic::transport::server::Connected;

/// Value that ends with a connection: a place among those that may be there, a sign of life.
pub trait Kept: Send + Unpin + 'static {
    /// Sign of it that calls get.
    type Info: Clone + Send + Sync + 'static;

    /// Gives the sign to calls that come through the connection.
    fn info(&self) -> Self::Info;
}

/// A connection that was let in.
#[derive(Debug)]
pub struct Connection<K> {
    stream: TcpStream,
    kept: K,
}

impl<K> Connection<K> {
    /// The connection of `stream`, which keeps a value.
    pub fn new(stream: TcpStream, kept: K) -> Self {
        // Without it replies come later, and not otherwise.
        let _ = stream.set_nodelay(true);
        Self { stream, kept }
    }

    /// Waits until the client said something, or is gone.
    ///
    /// # Errors
    /// Errors of the system.
    pub async fn readable(&self) -> io::Result<()> {
        self.stream.readable().await
    }
}

impl<K: Kept> Connected for Connection<K> {
    type ConnectInfo = K::Info;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.kept.info()
    }
}

impl<K: Unpin> AsyncRead for Connection<K> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<K: Unpin> AsyncWrite for Connection<K> {
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
