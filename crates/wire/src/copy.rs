//! COPY FROM STDIN and TO STDOUT: the client's side, and the binary format.
//!
//! ```text
//! CopyInResponse -> CopyData ... CopyDone | CopyFail      CopyOutResponse, CopyData ..., CopyDone
//! ```
//! Data of the client is read as it is needed: while rows are loaded the client waits.

mod binary;

use std::sync::Arc;

use engine::Database;
use engine::registry::{Came, CopyClient, StreamForm};
use parking_lot::Mutex;
use types::charset::Charset;
use types::{Error, Result, SqlState};

use crate::broken::Broken;
use crate::link::{Link, Received};
use crate::message::{self, Fields, violation};
use crate::recode;

/// Adds the binary format to `database`.
pub(crate) fn register(database: &Database) {
    database.registry().add_stream_format("binary", Arc::new(binary::Binary));
}

/// The client of a connection, as COPY sees it.
pub(crate) struct CopyLink {
    link: Arc<Mutex<Link>>,
    body: Vec<u8>,
    /// Call that ends the news of the socket: nobody else need know what the client sends.
    mute: Mute,
}

/// Ends the news of a socket until its statement is over.
pub(crate) type Mute = Box<dyn Fn() + Send>;

impl CopyLink {
    pub(crate) fn new(link: Arc<Mutex<Link>>, mute: Mute) -> Self {
        Self { link, body: Vec::new(), mute }
    }

    fn begin(&self, kind: u8, columns: usize, form: StreamForm) {
        let code = u8::from(form == StreamForm::Binary);
        message::message(&mut self.link.lock().outgoing, kind, |out| {
            out.push(code);
            out.extend_from_slice(&(columns as u16).to_be_bytes());
            (0..columns).for_each(|_| out.extend_from_slice(&[0, code]));
        });
    }
}

/// The text of a CopyFail; nothing when it is none.
fn reason(body: &[u8], charset: Charset) -> String {
    let recoded = recode::request(b'f', body, charset, &|_| None).unwrap_or_default();
    Fields::new(&recoded).text().unwrap_or_default().to_owned()
}

fn lost(broken: Broken) -> Error {
    broken.to_error()
}

impl CopyClient for CopyLink {
    fn begin_in(&mut self, columns: usize, form: StreamForm) -> Result<()> {
        (self.mute)();
        self.begin(b'G', columns, form);
        Ok(())
    }

    fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Came> {
        let mut link = self.link.lock();
        loop {
            let kind = match link.wait(&mut self.body).map_err(lost)? {
                Received::Message(kind) => kind,
                // Whoever asks may see a cancel.
                Received::Nothing => return Ok(Came::Part),
            };
            match kind {
                b'd' => {
                    bytes.extend_from_slice(&self.body);
                    return Ok(Came::Part);
                }
                b'c' => {
                    // Kept, when large, no longer than needed.
                    self.body = Vec::new();
                    return Ok(Came::All);
                }
                b'f' => {
                    let reason = reason(&self.body, link.charset);
                    let message = format!("COPY from stdin failed: {reason}");
                    return Err(Error::new(SqlState::QUERY_CANCELED, message));
                }
                b'H' | b'S' => {}
                kind => {
                    let kind = char::from(kind);
                    let message =
                        format!("unexpected message type {kind:?} during COPY from stdin");
                    return Err(violation(message));
                }
            }
        }
    }

    fn begin_out(&mut self, columns: usize, form: StreamForm) -> Result<()> {
        self.begin(b'H', columns, form);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], ends: &[usize]) -> Result<()> {
        let mut link = self.link.lock();
        let mut start = 0;
        for &end in ends {
            let row = &bytes[start..end];
            message::message(&mut link.outgoing, b'd', |out| out.extend_from_slice(row));
            link.flush_full().map_err(lost)?;
            start = end;
        }
        Ok(())
    }

    fn end_out(&mut self) -> Result<()> {
        message::empty(&mut self.link.lock().outgoing, b'c');
        Ok(())
    }
}
