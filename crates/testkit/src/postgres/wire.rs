//! As much of PostgreSQL's protocol as simple queries need.
//!
//! ```text
//! message: type (1 byte) | length, itself included (4 bytes, big-endian) | body
//! query:   Q -> T columns, D row ..., C tag | E error -> Z ready
//! ```
//! COPY from the client: G -> d rows, c end      COPY to the client: H -> d row ..., c end
//! Elsewhere: a full client; this one knows no passwords and no prepared statements.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::slt::{Answer, Connection, SqlError};

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

/// Version 3.0 of the protocol.
const PROTOCOL: i32 = 3 << 16;

/// One connection.
pub struct Wire {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Wire {
    /// Connects `user` to `database` through `socket`.
    ///
    /// # Errors
    /// Errors of the system or the server.
    pub fn connect(socket: &Path, user: &str, database: &str) -> Result<Self, SqlError> {
        Self::connect_within(socket, user, database, None)
    }

    /// As [`Self::connect`]; the server may be silent for `patience` at most, always when None.
    ///
    /// # Errors
    /// Errors of the system or the server.
    pub fn connect_within(
        socket: &Path,
        user: &str,
        database: &str,
        patience: Option<Duration>,
    ) -> Result<Self, SqlError> {
        let stream = UnixStream::connect(socket).map_err(SqlError::internal)?;
        stream.set_read_timeout(patience).map_err(SqlError::internal)?;
        let copy = stream.try_clone().map_err(SqlError::internal)?;
        let reader = BufReader::with_capacity(READ_BYTES, copy);
        let mut wire = Self { reader, writer: stream };
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for text in ["user", user, "database", database] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        wire.send(None, &body).map_err(SqlError::internal)?;
        wire.answer()?;
        Ok(wire)
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let mut message: Vec<u8> = kind.into_iter().collect();
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        self.writer.write_all(&message)
    }

    /// The kind of the next message, whose body replaces `body`.
    fn receive(&mut self, body: &mut Vec<u8>) -> io::Result<u8> {
        let mut head = [0; 5];
        self.reader.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        body.resize(length.saturating_sub(4), 0);
        self.reader.read_exact(body)?;
        Ok(head[0])
    }

    /// Runs `sql` and looks at nothing but the number of its rows: what a server can send at most.
    ///
    /// # Errors
    /// Errors of the system or the server.
    pub fn count_rows(&mut self, sql: &str) -> Result<u64, SqlError> {
        self.query(sql)?;
        let (mut rows, mut error, mut bytes) = (0, None, Vec::new());
        loop {
            match self.receive(&mut bytes).map_err(SqlError::internal)? {
                b'D' => rows += 1,
                b'E' => error = Some(Body(&bytes).error()),
                b'Z' => return error.map_or(Ok(rows), Err),
                _ => {}
            }
        }
    }

    /// Sends `sql`.
    fn query(&mut self, sql: &str) -> Result<(), SqlError> {
        let body = [sql.as_bytes(), b"\0"].concat();
        self.send(Some(b'Q'), &body).map_err(SqlError::internal)
    }

    /// Runs `sql`, and sends `input` when the server asks for rows of COPY. Rows that COPY sends
    /// come back as rows of one column.
    ///
    /// # Errors
    /// Errors of the system or the server.
    pub fn copy_in(&mut self, sql: &str, input: &str) -> Result<Answer, SqlError> {
        self.query(sql)?;
        self.answer_with(input)
    }

    /// Reads until the server is ready again.
    fn answer(&mut self) -> Result<Answer, SqlError> {
        self.answer_with("")
    }

    fn answer_with(&mut self, input: &str) -> Result<Answer, SqlError> {
        let mut columns = None;
        let mut rows = Vec::new();
        let mut changed = 0;
        let mut error = None;
        let mut bytes = Vec::new();
        loop {
            let kind = self.receive(&mut bytes).map_err(SqlError::internal)?;
            let mut body = Body(&bytes);
            match kind {
                b'T' => columns = Some(usize::from(body.short())),
                b'D' => rows.push(body.row()),
                b'C' => changed = changed_rows(&body.text()),
                b'E' => error = Some(body.error()),
                b'G' => {
                    self.send(Some(b'd'), input.as_bytes()).map_err(SqlError::internal)?;
                    self.send(Some(b'c'), &[]).map_err(SqlError::internal)?;
                }
                b'H' => columns = Some(1),
                b'd' => rows.push(vec![Some(String::from_utf8_lossy(&bytes).into_owned())]),
                b'Z' => break,
                _ => {}
            }
        }
        match (error, columns) {
            (Some(error), _) => Err(error),
            (None, Some(columns)) => Ok(Answer::Rows { columns, rows }),
            (None, None) => Ok(Answer::Done(changed)),
        }
    }
}

impl Connection for Wire {
    fn run(&mut self, sql: &str) -> Result<Answer, SqlError> {
        self.query(sql)?;
        self.answer()
    }
}

/// The rest of a message's body. A short body reads as zeros: the server is trusted.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn take(&mut self, bytes: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    fn long(&mut self) -> i32 {
        i32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(self.take(end)).into_owned();
        self.byte();
        text
    }

    fn row(&mut self) -> Vec<Option<String>> {
        let count = self.short();
        (0..count)
            .map(|_| match self.long() {
                -1 => None,
                bytes => Some(String::from_utf8_lossy(self.take(bytes as usize)).into_owned()),
            })
            .collect()
    }

    fn error(&mut self) -> SqlError {
        let mut error = SqlError::internal("");
        loop {
            match self.byte() {
                0 => return error,
                b'C' => error.sqlstate = self.text(),
                b'M' => error.message = self.text(),
                _ => drop(self.text()),
            }
        }
    }
}

/// The count at the end of a command tag such as `INSERT 0 5`.
fn changed_rows(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}
