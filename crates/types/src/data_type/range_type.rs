//! Types of ranges that users make: CREATE TYPE ... AS RANGE.
//!
//! A type is known by a number as long as the process lives, and types of one content have one.
//! Its content is found without a lock, as ranges are read row by row.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use crate::{ElementType, Error, Result, SqlState};

/// The most contents in a part of the list.
const PART: usize = 256;

/// The most parts of the list.
const PARTS: usize = 64;

/// A type by its names and numbers: of the ranges, or of their multiranges.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RangeName {
    /// Its key in the catalog.
    pub key: String,
    /// Its name as messages have it, with its schema unless that is `public`.
    pub name: String,
    /// Its number in the catalog; the next one is that of its arrays.
    pub number: u32,
}

/// Content of a type of ranges, by which it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RangeContent {
    /// The type of the ranges.
    pub range: RangeName,
    /// The type of their multiranges.
    pub multirange: RangeName,
    /// The type of the bounds.
    pub element: ElementType,
    /// Options of the definition, for the catalog alone.
    pub options: RangeOptions,
}

/// Options of a type of ranges that change none of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RangeOptions {
    /// Name of the operator class of the bounds; nothing for the usual one.
    pub class: String,
    /// Name of the collation of the bounds; nothing for the usual one.
    pub collation: String,
    /// Name of the function that subtracts bounds; nothing without one.
    pub difference: String,
}

#[derive(Debug)]
struct Shape {
    content: RangeContent,
    /// Names of arrays of ranges and of multiranges.
    arrays: [String; 2],
}

/// A type of ranges that users made, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserRange(u16);

type Part = [OnceLock<Shape>; PART];

static SHAPES: [OnceLock<Box<Part>>; PARTS] = [const { OnceLock::new() }; PARTS];

static KNOWN: LazyLock<Mutex<HashMap<RangeContent, UserRange>>> = LazyLock::new(Mutex::default);

impl UserRange {
    /// The type with this content.
    ///
    /// # Errors
    /// 54000 when there are too many types.
    pub fn new(content: RangeContent) -> Result<Self> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&content) {
            return Ok(*found);
        }
        let at = known.len();
        let Some(part) = SHAPES.get(at / PART) else {
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, "too many types of ranges"));
        };
        let part = part.get_or_init(|| Box::new([const { OnceLock::new() }; PART]));
        let arrays = [&content.range, &content.multirange].map(|of| format!("{}[]", of.name));
        part[at % PART].get_or_init(|| Shape { content: content.clone(), arrays });
        // There are fewer than 2^16.
        let ty = Self(at as u16);
        known.insert(content, ty);
        Ok(ty)
    }

    fn shape(self) -> &'static Shape {
        let at = usize::from(self.0);
        let part = SHAPES.get(at / PART).and_then(OnceLock::get);
        part.and_then(|part| part[at % PART].get()).expect("a number was given with its content")
    }

    /// Its content.
    pub fn content(self) -> &'static RangeContent {
        &self.shape().content
    }

    /// The type of the ranges.
    pub fn range(self) -> &'static RangeName {
        &self.content().range
    }

    /// The type of the multiranges.
    pub fn multirange(self) -> &'static RangeName {
        &self.content().multirange
    }

    /// The name of arrays of ranges.
    pub fn range_array(self) -> &'static str {
        &self.shape().arrays[0]
    }

    /// The name of arrays of multiranges.
    pub fn multirange_array(self) -> &'static str {
        &self.shape().arrays[1]
    }

    /// True when both are the same type of the catalog, perhaps at different times.
    pub fn is_same_object(self, other: Self) -> bool {
        self.range().number == other.range().number
    }
}
