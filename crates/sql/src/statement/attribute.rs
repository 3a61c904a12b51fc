//! Changes of the attributes of composite types.

use types::RecordField;

use crate::words::IfMissing;

/// Action of ALTER TYPE ... ATTRIBUTE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeChange {
    /// ADD.
    Add(RecordField),
    /// DROP.
    Drop {
        /// The attribute.
        name: String,
        /// IF EXISTS.
        if_missing: IfMissing,
    },
    /// ALTER ... TYPE.
    SetType(RecordField),
    /// RENAME ... TO.
    Rename {
        /// The attribute.
        from: String,
        /// Its new name.
        to: String,
    },
}
