//! Types of PostgreSQL's catalog that name objects: `regclass` and its kin, `name`, `tid`.
//!
//! ```text
//! regclass...  number, 4 bytes big-endian; then the name as the session shows it
//! tid          block << 17 | offset, which is the row of the block from 1
//! ```
//! A number and its name go together, so printing needs no catalog: the binder's look-ups make such
//! values (`sql::bind::object`). Values of one statement with equal numbers have equal bytes, and
//! their order is that of the numbers.

use crate::{DataType, Error, Result, SqlState, Value};

/// The most bytes of a name.
pub const NAME_BYTES_MAX: usize = 63;

/// What a value of `regclass` or its kin names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegKind {
    /// A relation.
    Class,
    /// A type.
    Type,
    /// A function by its name.
    Proc,
    /// A function by its name and the types of its arguments.
    Procedure,
    /// An operator by its name.
    Oper,
    /// An operator by its name and the types of its operands.
    Operator,
    /// A schema.
    Namespace,
    /// A role.
    Role,
    /// A collation.
    Collation,
    /// A configuration of text search.
    Config,
    /// A dictionary of text search.
    Dictionary,
}

impl RegKind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Class,
        Self::Type,
        Self::Proc,
        Self::Procedure,
        Self::Oper,
        Self::Operator,
        Self::Namespace,
        Self::Role,
        Self::Collation,
        Self::Config,
        Self::Dictionary,
    ];

    /// The names of the type and of arrays of it.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Class => ("regclass", "regclass[]"),
            Self::Type => ("regtype", "regtype[]"),
            Self::Proc => ("regproc", "regproc[]"),
            Self::Procedure => ("regprocedure", "regprocedure[]"),
            Self::Oper => ("regoper", "regoper[]"),
            Self::Operator => ("regoperator", "regoperator[]"),
            Self::Namespace => ("regnamespace", "regnamespace[]"),
            Self::Role => ("regrole", "regrole[]"),
            Self::Collation => ("regcollation", "regcollation[]"),
            Self::Config => ("regconfig", "regconfig[]"),
            Self::Dictionary => ("regdictionary", "regdictionary[]"),
        }
    }

    /// The name of the type.
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// The name of the type of arrays.
    pub const fn array_name(self) -> &'static str {
        self.names().1
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The numbers of the type and of arrays of it.
    pub const fn numbers(self) -> (u32, u32) {
        match self {
            Self::Class => (2205, 2210),
            Self::Type => (2206, 2211),
            Self::Proc => (24, 1008),
            Self::Procedure => (2202, 2207),
            Self::Oper => (2203, 2208),
            Self::Operator => (2204, 2209),
            Self::Namespace => (4089, 4090),
            Self::Role => (4096, 4097),
            Self::Collation => (4191, 4192),
            Self::Config => (3734, 3735),
            Self::Dictionary => (3769, 3770),
        }
    }

    /// The text that stands for no object: 0.
    pub const fn nothing(self) -> &'static str {
        match self {
            Self::Oper | Self::Operator => "0",
            _ => "-",
        }
    }
}

/// The object `number` called `name` as a value of `regclass` or its kin.
pub fn object_value(number: u32, name: &str) -> Value {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend_from_slice(name.as_bytes());
    Value::Str(bytes.into())
}

/// The number in such a value.
pub fn object_number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |number| u32::from_be_bytes(*number))
}

/// The name in such a value.
pub fn object_name(bytes: &[u8]) -> &[u8] {
    bytes.get(4..).unwrap_or_default()
}

/// `text` as a name: at most 63 bytes, cut before a character.
pub fn truncated_name(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_BYTES_MAX)]
}

/// `text` as `"char"` prints it: its first byte, `\ooo` of a byte that is no ASCII.
pub(crate) fn one_byte(text: &str) -> Value {
    let bytes = text.as_bytes();
    match bytes {
        [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7'] => {
            let byte = (high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0');
            one_byte_of(byte)
        }
        [] => Value::text(""),
        [first, ..] => one_byte_of(*first),
    }
}

/// A number as `"char"`.
///
/// # Errors
/// 22003 when it has more than eight bits.
pub(crate) fn numbered_byte(number: i32) -> Result<Value> {
    match i8::try_from(number) {
        Ok(byte) => Ok(one_byte_of(byte as u8)),
        Err(_) => Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, "\"char\" out of range")),
    }
}

/// The byte as `"char"`.
pub(crate) fn one_byte_of(byte: u8) -> Value {
    match byte {
        0 => Value::text(""),
        1..=0x7f => Value::Str([byte].as_slice().into()),
        _ => Value::text(&format!("\\{byte:03o}")),
    }
}

/// The number of a `"char"`, from -128 to 127.
pub fn byte_number(text: &[u8]) -> i32 {
    let byte = match text {
        [b'\\', high, middle, low] => {
            let digit = |byte: &u8| byte.wrapping_sub(b'0');
            digit(high) << 6 | digit(middle) << 3 | digit(low)
        }
        [] => 0,
        [first, ..] => *first,
    };
    // The same eight bits.
    i32::from(byte as i8)
}

/// A TID from its text, `(block,offset)`.
pub(crate) fn parse_tid(text: &str) -> Result<Value> {
    let parts = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let parts = parts.and_then(|text| text.split_once(','));
    let numbers = parts.and_then(|(block, offset)| {
        // As in C, where a number may have a sign and still be one of 32 bits.
        let block = block.trim().parse::<i64>().ok().filter(|n| u32::try_from(n.abs()).is_ok())?;
        Some((block as u32, offset.trim().parse::<u16>().ok()?))
    });
    match numbers {
        Some((block, offset)) => Ok(Value::I64(i64::from(block) << 17 | i64::from(offset))),
        None => Err(crate::text::syntax_error("tid", text)),
    }
}

/// The row `tid & 0xffff` of the block `tid >> 16` as a TID.
pub fn tid_of_row(tid: i64) -> i64 {
    tid >> 16 << 17 | ((tid & 0xffff) + 1)
}

/// Appends a TID.
pub(crate) fn format_tid(out: &mut Vec<u8>, tid: i64) {
    let (block, offset) = (tid >> 17, tid & 0x1_ffff);
    out.extend_from_slice(format!("({block},{offset})").as_bytes());
}

/// 0A000 for text that is to become the number of an object where no catalog is at hand.
#[cold]
pub(crate) fn no_catalog(kind: RegKind) -> Error {
    let message = format!("values of type {} are read in expressions only", kind.name());
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

impl DataType {
    /// True for OID, `regclass` and its kin, which compare as numbers.
    pub const fn is_object_number(self) -> bool {
        matches!(self, Self::Oid | Self::Reg(_))
    }
}
