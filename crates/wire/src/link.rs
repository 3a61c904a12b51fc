//! Messages from and to one client, buffered.
//!
//! ```text
//! socket -> incoming [read | not yet read | room] -> messages
//! answers -> outgoing -> socket, before waiting for the client and whenever OUTGOING_BYTES wait
//! ```
//! Invariants: memory grows with the bytes that came, never with the length a message claims; a
//! slow client holds up its own thread, and nothing of a result waits beside it.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::Commits;
use rustix::event::PollFlags;
use types::Error;
use types::charset::Charset;
use types::waiting::waiting;

use crate::activity::Activity;
use crate::broken::Broken;
use crate::message::{self, Severity, violation};
use crate::recode;
use crate::socket::Transport;

/// Bytes of answers that wait before they are written. Two of a socket's default send buffers
/// were not faster (SELECT of 1 M rows).
pub(crate) const OUTGOING_BYTES: usize = 64 << 10;

/// Bytes read at once.
const INCOMING_BYTES: usize = 16 << 10;

/// Longest message with a statement, values or data.
const LARGE_BYTES_MAX: usize = 1 << 30;

/// Longest message of another kind, as in PostgreSQL.
const SMALL_BYTES_MAX: usize = 10_000;

/// How long is waited for what a statement needs of the client before cancels are looked at.
const PATIENCE: Duration = Duration::from_millis(100);

/// Message that came from the client, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A message of this kind; its body is in the caller's buffer.
    Message(u8),
    /// No message.
    Nothing,
}

/// News of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum News {
    /// Something came.
    Came,
    /// Something came, and so did the end.
    Ended,
}

/// Both directions of a connection.
pub(crate) struct Link {
    transport: Transport,
    pub(crate) activity: Arc<Activity>,
    incoming: Vec<u8>,
    start: usize,
    end: usize,
    /// The socket may hold more than was read.
    has_more: bool,
    /// The client sends nothing any longer.
    has_ended: bool,
    /// Answers not yet written.
    pub(crate) outgoing: Vec<u8>,
    /// The session's commits: no answer leaves before they are on disk.
    commits: Option<Arc<Commits>>,
    /// The encoding of the client's texts.
    pub(crate) charset: Charset,
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

impl Link {
    pub(crate) fn new(transport: Transport, activity: Arc<Activity>) -> Self {
        let (incoming, outgoing) = Default::default();
        let (has_more, has_ended, commits) = Default::default();
        let (start, end, charset) = (0, 0, Charset::UTF8);
        Self {
            transport,
            activity,
            incoming,
            start,
            end,
            has_more,
            has_ended,
            outgoing,
            commits,
            charset,
        }
    }

    /// The socket tells that something came. It does so once: all of it is read before the wait for
    /// the client.
    pub(crate) fn hear(&mut self, news: News) {
        self.has_more = true;
        self.has_ended |= news == News::Ended;
    }

    /// Answers wait for `commits` from now on.
    pub(crate) fn answer_after(&mut self, commits: Arc<Commits>) {
        self.commits = Some(commits);
    }

    /// The commits that the answers wait for.
    pub(crate) fn waits_for(&self) -> Option<&Arc<Commits>> {
        self.commits.as_ref().filter(|commits| !self.outgoing.is_empty() && !commits.are_durable())
    }

    /// Kind and length, the kind apart, of the message that comes next, if both are there.
    fn header(&self) -> Result<Option<(u8, usize)>, Broken> {
        let Some((kind, rest)) = self.incoming[self.start..self.end].split_first() else {
            return Ok(None);
        };
        let Some(length) = rest.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        let max = match kind {
            b'Q' | b'P' | b'B' | b'd' | b'F' => LARGE_BYTES_MAX,
            b'E' | b'D' | b'C' | b'H' | b'S' | b'X' | b'c' | b'f' | b'p' => SMALL_BYTES_MAX,
            _ => {
                let message = format!("invalid frontend message type {kind}");
                return Err(Broken::Fatal(violation(message)));
            }
        };
        if (4..=max).contains(&length) {
            Ok(Some((*kind, length)))
        } else {
            Err(Broken::Fatal(violation("invalid message length")))
        }
    }

    /// The kind of the next message, if its header was read already.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.header().ok().flatten().map(|(kind, _)| kind)
    }

    /// As [`Self::receive`], but waits [`PATIENCE`] for it.
    pub(crate) fn wait(&mut self, body: &mut Vec<u8>) -> Result<Received, Broken> {
        match self.receive(body)? {
            Received::Nothing => {}
            message => return Ok(message),
        }
        let socket = self.transport.socket();
        waiting(|| socket.wait(PollFlags::IN, PATIENCE)).map_err(|_| Broken::Gone)?;
        self.receive(body)
    }

    /// The kind of the next message, whose body replaces `body`, if all of it was read already.
    ///
    /// # Errors
    /// When what came is no message.
    pub(crate) fn take(&mut self, body: &mut Vec<u8>) -> Result<Option<u8>, Broken> {
        let Some((kind, length)) = self.header()? else { return Ok(None) };
        if self.end - self.start <= length {
            return Ok(None);
        }
        let from = self.start + 5;
        self.start = from + length - 4;
        body.clear();
        body.extend_from_slice(&self.incoming[from..self.start]);
        Ok(Some(kind))
    }

    /// The next message, whose body replaces `body`, if it is there. What waits to be written is
    /// written before looking for more.
    ///
    /// # Errors
    /// When the client is gone, what came is no message, or the server ends the connection.
    pub(crate) fn receive(&mut self, body: &mut Vec<u8>) -> Result<Received, Broken> {
        loop {
            if let Some(kind) = self.take(body)? {
                return Ok(Received::Message(kind));
            }
            let has_answered = !self.outgoing.is_empty();
            self.flush()?;
            self.activity.check()?;
            // The client has not read the answer yet. (Under TLS some may wait in between.)
            if has_answered && !self.has_more && !self.is_encrypted() {
                return Ok(Received::Nothing);
            }
            if !self.fill()? {
                return Ok(Received::Nothing);
            }
        }
    }

    /// True when TLS is between the messages and the socket: it may hold some back.
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.transport, Transport::Tls(_))
    }

    /// True when a part of a message was read.
    pub(crate) fn has_part(&self) -> bool {
        self.start < self.end
    }

    /// Reads what there is; false when there is nothing.
    fn fill(&mut self) -> Result<bool, Broken> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 && self.incoming.len() - self.end < INCOMING_BYTES {
            self.incoming.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.incoming.len() - self.end < INCOMING_BYTES {
            // As much again as there is, so that a long message is copied few times.
            self.incoming.resize(self.end + self.end.max(INCOMING_BYTES), 0);
        }
        loop {
            match self.transport.read(&mut self.incoming[self.end..]) {
                Ok(0) => return Err(Broken::Gone),
                Ok(count) => {
                    self.end += count;
                    self.has_more = self.has_ended || self.end == self.incoming.len();
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_pause(&error) => {
                    self.has_more = false;
                    return Ok(false);
                }
                Err(_) => return Err(Broken::Gone),
            }
        }
    }

    /// Gives empty buffers back. Answers may wait however long the disk takes.
    pub(crate) fn shrink(&mut self) {
        if !self.has_part() {
            (self.incoming, self.start, self.end) = (Vec::new(), 0, 0);
        }
        self.outgoing.shrink_to_fit();
    }

    /// Writes everything that waits.
    pub(crate) fn flush(&mut self) -> Result<(), Broken> {
        if let Some(commits) = self.commits.as_ref().filter(|_| !self.outgoing.is_empty())
            && let Err(error) = commits.wait()
        {
            // What was promised does not leave; why the connection ends does.
            self.outgoing.clear();
            self.commits = None;
            return Err(Broken::Fatal(error));
        }
        let mut written = 0;
        while written < self.outgoing.len() {
            match self.transport.write(&self.outgoing[written..]) {
                Ok(0) => return Err(Broken::Gone),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_pause(&error) => self.wait_writable()?,
                Err(_) => return Err(Broken::Gone),
            }
        }
        if written > 0 {
            self.outgoing.clear();
            if self.outgoing.capacity() > 4 * OUTGOING_BYTES {
                self.outgoing = Vec::new();
            }
            while let Err(error) = self.transport.flush() {
                if is_pause(&error) { self.wait_writable()? } else { return Err(Broken::Gone) }
            }
        }
        Ok(())
    }

    /// The client does not read: waits for it unless the server ends.
    fn wait_writable(&self) -> Result<(), Broken> {
        let socket = self.transport.socket();
        waiting(|| socket.wait(PollFlags::OUT, PATIENCE)).map_err(|_| Broken::Gone)?;
        if self.activity.is_ending.load(Ordering::Relaxed) { Err(Broken::Gone) } else { Ok(()) }
    }

    /// Writes when enough waits.
    pub(crate) fn flush_full(&mut self) -> Result<(), Broken> {
        if self.outgoing.len() < OUTGOING_BYTES { Ok(()) } else { self.flush() }
    }

    /// Appends the messages that `write` makes, none of which are rows, in the client's encoding;
    /// none of them when it lacks a character.
    ///
    /// # Errors
    /// [`Broken::Statement`], 22P05.
    pub(crate) fn say(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Broken> {
        let start = self.outgoing.len();
        write(&mut self.outgoing);
        if self.charset.is_plain() {
            return Ok(());
        }
        recode::answers(&mut self.outgoing, start, self.charset).map_err(Broken::Statement)
    }

    /// Appends ErrorResponse; where the client cannot read it, it is told so.
    pub(crate) fn complain(&mut self, severity: Severity, error: &Error, text: &str) {
        if let Err(broken) = self.say(|out| message::error(out, severity, error, text)) {
            // Its text is ASCII.
            message::error(&mut self.outgoing, severity, &broken.to_error(), "");
        }
    }

    /// Tells the client why the connection ends, if it listens.
    pub(crate) fn farewell(&mut self, error: &Error) {
        self.complain(Severity::Fatal, error, "");
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use engine::{Config, Database};

    use super::*;
    use crate::activity::Activities;
    use crate::socket::{SharedSocket, Socket};

    #[test]
    fn what_waits_stays_when_buffers_are_given_back() {
        let (ours, mut theirs) = UnixStream::pair().expect("sockets");
        ours.set_nonblocking(true).expect("a socket");
        let socket = SharedSocket(Arc::new(Socket::Unix(ours)));
        let session = Database::open_in_memory(Config::default()).expect("a database").session();
        let activities = Activities::default();
        let activity = activities.add(1, 1, session.cancel_handle(), Arc::clone(&socket.0));
        let mut link = Link::new(Transport::Plain(socket), activity);
        // An answer that waits for the disk, and the first half of what is asked next.
        theirs.write_all(b"S\0\0\0").expect("sent");
        assert_eq!(link.receive(&mut Vec::new()).expect("read"), Received::Nothing);
        link.outgoing.extend_from_slice(b"an answer");
        link.shrink();
        theirs.write_all(b"\x04").expect("sent");
        assert_eq!(link.receive(&mut Vec::new()).expect("written"), Received::Nothing);
        let mut said = [0; 9];
        theirs.read_exact(&mut said).expect("an answer");
        assert_eq!(&said, b"an answer");
        assert_eq!(link.receive(&mut Vec::new()).expect("read"), Received::Message(b'S'));
        link.shrink();
        assert!(link.incoming.is_empty() && link.outgoing.capacity() == 0);
    }
}
