//! Arguments of a call of code: one struct of words, whose address is all that code is given.

use std::ffi::c_void;
use std::mem::offset_of;

/// Words of the state of an item of a fold.
pub(crate) const STATE: usize = 3;

/// Asks whether rows of a group satisfy a predicate: `(context, predicate, group, rows)`, with a
/// bit for each row; returns the bits of those that do.
pub(crate) type Question = unsafe extern "C" fn(*const c_void, u64, u64, u64) -> u64;

/// Arguments of a call; each shape reads those that it needs.
#[repr(C)]
pub(crate) struct Call {
    /// Addresses of the fields.
    pub slots: *const u64,
    /// Literals of a conjunct.
    pub literals: *const u64,
    /// Groups of a conjunct, words of a fold, rows of a gather.
    pub count: u64,
    /// Bits of the rows that are looked at; for a gather their positions.
    pub wanted: *const c_void,
    /// Bits of the rows that were found, states of a fold, words of a gather.
    pub out: *mut c_void,
    /// Called for bytes.
    pub question: Question,
    /// Given to `question`.
    pub context: *const c_void,
}

/// Names of the words of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Slots,
    Literals,
    Count,
    Wanted,
    Out,
    Question,
    Context,
}

impl Argument {
    /// Bytes before it.
    pub(crate) fn offset(self) -> i32 {
        let offset = match self {
            Self::Slots => offset_of!(Call, slots),
            Self::Literals => offset_of!(Call, literals),
            Self::Count => offset_of!(Call, count),
            Self::Wanted => offset_of!(Call, wanted),
            Self::Out => offset_of!(Call, out),
            Self::Question => offset_of!(Call, question),
            Self::Context => offset_of!(Call, context),
        };
        offset as i32
    }
}
