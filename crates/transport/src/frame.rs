//! Frames: what goes over a connection, many entries at a time.
//!
//! ```text
//! | "TS" | version 1 | kind | bytes of rest u32 | client u64 | incarnation u64 | finished u64 |
//! then entries: | number varint | kind | payload bytes varint | payload |
//! ```
//! `client` names the caller's session, `incarnation` the life of the server that it speaks to,
//! `finished` the number below which the caller has all answers to calls that change something.

use types::codec::{Input, Malformed, put_bytes, put_u64, read_u64};

/// Bytes before the entries.
pub const HEADER_BYTES: usize = 32;

/// Bytes that the entries of one frame may have: what a peer may make us allocate.
pub const FRAME_BYTES_MAX: usize = 64 << 20;

/// Bytes of entries after which another frame is begun.
pub(crate) const FRAME_BYTES: usize = 16 << 20;

/// Bytes that one call or answer may have.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 32 << 20;

const MAGIC: [u8; 3] = [b'T', b'S', 1];

/// Direction and meaning of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Entries of a caller.
    Calls,
    /// Entries of a server.
    Replies,
    /// The server lives in another incarnation, which the header names: nothing was done.
    Stale,
    /// The server wants to know that the caller has its secret.
    Challenge,
    /// The caller shows that it has the secret.
    Proof,
    /// The server shows that it has the secret, too.
    Welcome,
    /// The server ends the connection; its entry says why.
    Refused,
    /// The caller names its database, before anything else.
    Database,
}

impl FrameKind {
    /// By number.
    const ALL: [Self; 8] = [
        Self::Calls,
        Self::Replies,
        Self::Stale,
        Self::Challenge,
        Self::Proof,
        Self::Welcome,
        Self::Refused,
        Self::Database,
    ];
}

/// Meaning of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A call; to be answered.
    Call,
    /// The answer of the call of this number.
    Reply,
    /// A part of the answer; more follow.
    Part,
    /// Room for more parts, in bytes: the payload is a varint.
    Grant,
    /// Nobody wants more parts.
    Cancel,
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Number of the call, unique in its session.
    pub number: u64,
    /// Meaning.
    pub kind: EntryKind,
    /// Content.
    pub payload: &'a [u8],
}

/// A frame that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Direction and meaning.
    pub kind: FrameKind,
    /// The caller's session.
    pub client: u64,
    /// Life of the server.
    pub incarnation: u64,
    /// Number below which the caller has its answers.
    pub finished: u64,
    /// Content, in order.
    pub entries: Vec<Entry<'a>>,
}

/// Appends an entry.
pub(crate) fn put_entry(out: &mut Vec<u8>, entry: &Entry<'_>) {
    put_u64(out, entry.number);
    out.push(match entry.kind {
        EntryKind::Call => 0,
        EntryKind::Reply => 1,
        EntryKind::Part => 2,
        EntryKind::Grant => 3,
        EntryKind::Cancel => 4,
    });
    put_bytes(out, entry.payload);
}

/// Header of a frame without its length, which [`sealed`] adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub kind: FrameKind,
    pub client: u64,
    pub incarnation: u64,
    pub finished: u64,
}

/// The frame of these entries.
pub(crate) fn sealed(header: Header, entries: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + entries.len());
    out.extend(MAGIC);
    let number = FrameKind::ALL.iter().position(|kind| *kind == header.kind);
    out.push(number.expect("all kinds are in the list") as u8);
    out.extend((entries.len() as u32).to_le_bytes());
    for part in [header.client, header.incarnation, header.finished] {
        out.extend(part.to_le_bytes());
    }
    out.extend(entries);
    out
}

/// Bytes behind a header of [`HEADER_BYTES`].
///
/// # Errors
/// When the header is none, or promises more than [`FRAME_BYTES_MAX`].
pub fn body_bytes(header: &[u8]) -> Result<usize, Malformed> {
    let mut input = Input::new(header);
    if input.take(MAGIC.len())? != MAGIC {
        return Err(Malformed { offset: 0, expectation: "a frame of version 1".into() });
    }
    input.u8()?;
    let mut length = [0; 4];
    length.copy_from_slice(input.take(4)?);
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(input.malformed(format!("at most {FRAME_BYTES_MAX} bytes, found {length}")));
    }
    Ok(length)
}

/// A frame of one entry, for what is said before calls.
pub(crate) fn single(header: Header, payload: &[u8]) -> Vec<u8> {
    let mut entries = Vec::new();
    put_entry(&mut entries, &Entry { number: 0, kind: EntryKind::Reply, payload });
    sealed(header, &entries)
}

impl<'a> Frame<'a> {
    /// The payload of its first entry; empty without one.
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.entries.first().map_or(&[], |entry| entry.payload)
    }

    /// The frame that `bytes` are, header and entries.
    ///
    /// # Errors
    /// Where they are none.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let length = body_bytes(bytes)?;
        let mut input = Input::new(bytes);
        let header = input.take(HEADER_BYTES)?;
        if input.remaining() != length {
            return Err(input.malformed(format!("{length} bytes of entries")));
        }
        let kind = FrameKind::ALL.get(usize::from(header[3])).copied();
        let unknown = || Malformed { offset: 3, expectation: "a kind of frame".into() };
        let kind = kind.ok_or_else(unknown)?;
        let mut entries = Vec::new();
        while !input.is_empty() {
            let number = input.u64()?;
            let kind = match input.u8()? {
                0 => EntryKind::Call,
                1 => EntryKind::Reply,
                2 => EntryKind::Part,
                3 => EntryKind::Grant,
                4 => EntryKind::Cancel,
                _ => return Err(input.malformed("a kind of entry")),
            };
            entries.push(Entry { number, kind, payload: input.bytes()? });
        }
        let part = |i: usize| read_u64(header, 8 + 8 * i);
        Ok(Self { kind, client: part(0), incarnation: part(1), finished: part(2), entries })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame() -> Vec<u8> {
        let mut entries = Vec::new();
        put_entry(&mut entries, &Entry { number: 7, kind: EntryKind::Call, payload: b"abc" });
        put_entry(&mut entries, &Entry { number: 300, kind: EntryKind::Cancel, payload: b"" });
        let header = Header { kind: FrameKind::Calls, client: 1, incarnation: 2, finished: 3 };
        sealed(header, &entries)
    }

    #[test]
    fn frames_come_back() {
        let bytes = frame();
        let frame = Frame::read(&bytes).expect("whole");
        assert_eq!((frame.client, frame.incarnation, frame.finished), (1, 2, 3));
        let entries: Vec<_> = frame.entries.iter().map(|e| (e.number, e.kind, e.payload)).collect();
        let expected: [(u64, EntryKind, &[u8]); 2] =
            [(7, EntryKind::Call, b"abc"), (300, EntryKind::Cancel, b"")];
        assert_eq!(entries, expected);
        assert!((0..bytes.len()).all(|length| Frame::read(&bytes[..length]).is_err()));
    }

    #[test]
    fn lengths_have_a_limit() {
        let mut bytes = frame();
        bytes[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(body_bytes(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn damaged_frames_never_panic(
            at in 0..46usize,
            with in any::<u8>(),
            noise in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let mut bytes = frame();
            let at = at % bytes.len();
            bytes[at] = with;
            drop(Frame::read(&bytes));
            drop(Frame::read(&noise));
        }
    }
}
