//! Parts of a shared table, as their tickets say them to any node.
//!
//! ```text
//! part i of n, in m pieces: TABLESAMPLE part (m*i, m*n), ..., part (m*i + m-1, m*n)
//! ```
//! Parts are ranges of hashes of keys, so that each lies in one store when there are as many, or
//! as many times as many. A node that has not handed them out holds their snapshot, too, while
//! they are read from it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use engine::attached::AttachedSize;
use serde_json::{Value as Json, json};
use types::{Error, Result};

use crate::asked::{Asked, PARTS_MAX};
use crate::places::PIECE_ROWS;
use crate::status::unreadable;

/// Rows of a part, at least: fewer are not worth a scan of a store.
const PART_ROWS: u64 = 1 << 14;

/// Pieces of a part, at most: each of them is a pass over the keys of a store.
const PIECES_MAX: u64 = 16;

/// Parts of a scan of a shared table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    asked: Asked,
    parts: u64,
    /// Pieces of each part.
    pieces: u64,
    /// The snapshot.
    state: Vec<u8>,
}

impl Told {
    /// At most `wanted` parts of a table of this size.
    pub(crate) fn new(asked: Asked, wanted: u64, size: AttachedSize, state: Vec<u8>) -> Self {
        let stores = size.stores.max(1) as u64;
        let mut parts = match asked.limit {
            Some(_) => 1,
            None => wanted.min(size.versions.div_ceil(PART_ROWS)).max(1),
        };
        if parts > stores {
            parts -= parts % stores;
        }
        let pieces = match asked.limit {
            Some(_) => 1,
            None => (size.versions / parts).div_ceil(PIECE_ROWS).clamp(1, PIECES_MAX),
        };
        Self { asked, parts, pieces, state }
    }

    /// The snapshot that the parts are of.
    pub(crate) fn state(&self) -> &[u8] {
        &self.state
    }

    /// The scan.
    pub(crate) fn asked(&self) -> &Asked {
        &self.asked
    }

    /// The queries of each part.
    ///
    /// # Errors
    /// As [`Asked::query`].
    pub(crate) fn queries(&self) -> Result<Vec<Vec<String>>> {
        if let Some(limit) = self.asked.limit {
            return Ok(vec![vec![format!("{} LIMIT {limit}", self.asked.query("", "")?)]]);
        }
        let Self { parts, pieces, .. } = *self;
        let count = parts * pieces;
        let query = |number: u64| match count {
            1 => self.asked.query("", ""),
            _ => self.asked.query(&format!(" TABLESAMPLE part ({number}, {count})"), ""),
        };
        let of_part = |part: u64| (part * pieces..(part + 1) * pieces).map(query).collect();
        (0..parts).map(of_part).collect()
    }

    /// Bytes of a ticket.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let told = json!({
            "scan": self.asked.to_json(),
            "parts": self.parts,
            "pieces": self.pieces,
            "state": BASE64.encode(&self.state),
        });
        told.to_string().into_bytes()
    }

    /// Reads [`Self::bytes`]; None without any.
    ///
    /// # Errors
    /// 08P01 or 22023 for others.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<Self>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let told: Json = serde_json::from_slice(bytes).map_err(unreadable)?;
        let wrong = || -> Error { unreadable("a ticket that no node gave") };
        let field = |name: &str| told.get(name).ok_or_else(wrong);
        let number = |name: &str| field(name)?.as_u64().ok_or_else(wrong);
        let asked = Asked::of(field("scan")?.as_object().ok_or_else(wrong)?)?;
        let (parts, pieces) = (number("parts")?, number("pieces")?);
        let is_sound = parts >= 1 && asked.parts.is_none_or(|wanted| parts <= wanted);
        if !is_sound || !(1..=PIECES_MAX).contains(&pieces) || parts > PARTS_MAX {
            return Err(wrong());
        }
        let state = field("state")?.as_str().ok_or_else(wrong)?;
        let state = BASE64.decode(state).map_err(unreadable)?;
        Ok(Some(Self { asked, parts, pieces, state }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(wanted: u64, versions: u64, stores: usize) -> Told {
        let asked = json!({"table": "t", "columns": ["a"]});
        let asked = Asked::of(asked.as_object().expect("an object")).expect("a scan");
        Told::new(asked, wanted, AttachedSize { versions, stores }, vec![1, 2])
    }

    #[test]
    fn parts_have_one_store_each_where_they_can() {
        let count = |wanted, versions, stores| told(wanted, versions, stores).parts;
        assert_eq!(count(8, 1 << 30, 3), 6);
        assert_eq!(count(2, 1 << 30, 3), 2);
        assert_eq!(count(8, 0, 3), 1);
        assert_eq!(count(8, 40_000, 1), 3);
    }

    #[test]
    fn pieces_of_parts_are_parts_of_more() {
        let told = told(2, 1 << 20, 1);
        let query = "SELECT \"a\" FROM \"t\" TABLESAMPLE part (";
        let queries = told.queries().expect("queries");
        let expected =
            [["0, 4) WHERE true", "1, 4) WHERE true"], ["2, 4) WHERE true", "3, 4) WHERE true"]];
        assert_eq!(queries, expected.map(|part| part.map(|end| format!("{query}{end}"))));
    }

    #[test]
    fn tickets_say_it_again() {
        let told = told(2, 1 << 20, 1);
        assert_eq!(Told::read(&told.bytes()).expect("a ticket"), Some(told));
        assert_eq!(Told::read(b"").expect("none"), None);
        for wrong in
            ["{", "{}", r#"{"scan": {"table": "t"}, "parts": 0, "pieces": 1, "state": ""}"#]
        {
            assert!(Told::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
