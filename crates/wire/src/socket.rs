//! A client's socket, with or without TLS, as the thread that serves it uses it: blocking.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::RecvFlags;
use tokio_rustls::rustls::{ServerConnection, StreamOwned};

/// A connected socket. The thread that serves it reads and writes; others may look whether the
/// client is gone, or end it.
#[derive(Debug)]
pub(crate) enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// A socket in the file system.
    Unix(UnixStream),
}

impl Socket {
    /// Makes reads end after `limit` with `WouldBlock`.
    pub(crate) fn set_read_limit(&self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(Some(limit)),
            Self::Unix(stream) => stream.set_read_timeout(Some(limit)),
        }
    }

    /// Makes writes end after `limit` with `WouldBlock`.
    pub(crate) fn set_write_limit(&self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_write_timeout(Some(limit)),
            Self::Unix(stream) => stream.set_write_timeout(Some(limit)),
        }
    }

    fn set_nonblocking(&self, on: Blocking) -> io::Result<()> {
        let is_on = on == Blocking::No;
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(is_on),
            Self::Unix(stream) => stream.set_nonblocking(is_on),
        }
    }

    /// Waits, without a thread, until there is something to read. Nobody else uses it meanwhile.
    ///
    /// # Errors
    /// When the system cannot wait for it.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        let _idle = Idle::new(self)?;
        match self {
            Self::Tcp(stream) => {
                let stream = tokio::net::TcpStream::from_std(stream.try_clone()?)?;
                stream.readable().await
            }
            Self::Unix(stream) => {
                let stream = tokio::net::UnixStream::from_std(stream.try_clone()?)?;
                stream.readable().await
            }
        }
    }

    /// Ends it: whoever waits for it goes on with an error.
    pub(crate) fn shut(&self) {
        // It may be shut already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Whether the client has closed its end and everything it sent was read.
    pub(crate) fn is_gone(&self) -> bool {
        let mut byte = [0_u8; 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(self, &mut byte, flags) {
            Ok((0, _)) => true,
            Ok(_) => false,
            Err(error) => {
                let error = io::Error::from(error).kind();
                !matches!(error, io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
            }
        }
    }
}

/// Whether reads and writes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocking {
    Yes,
    No,
}

/// A socket while it is waited for; afterwards reads and writes wait again.
struct Idle<'a>(&'a Socket);

impl<'a> Idle<'a> {
    fn new(socket: &'a Socket) -> io::Result<Self> {
        socket.set_nonblocking(Blocking::No)?;
        Ok(Self(socket))
    }
}

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        // It worked before; if not now, the next read fails and the connection ends.
        let _ = self.0.set_nonblocking(Blocking::Yes);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// A socket that several hold.
#[derive(Clone, Debug)]
pub(crate) struct SharedSocket(pub(crate) Arc<Socket>);

impl Read for SharedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &*self.0 {
            Socket::Tcp(stream) => (&mut &*stream).read(buffer),
            Socket::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }
}

impl Write for SharedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &*self.0 {
            Socket::Tcp(stream) => (&mut &*stream).write(bytes),
            Socket::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What messages go through.
pub(crate) enum Transport {
    /// As they are.
    Plain(SharedSocket),
    /// Encrypted.
    Tls(Box<StreamOwned<ServerConnection, SharedSocket>>),
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
