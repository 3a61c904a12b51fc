//! Changes of the attributes of composite types.

use types::Attribute;

use crate::words::IfMissing;

/// Action of ALTER TYPE ... ATTRIBUTE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeChange {
    /// ADD.
    Add(Attribute),
    /// DROP.
    Drop {
        /// The attribute.
        name: String,
        /// IF EXISTS.
        if_missing: IfMissing,
    },
    /// ALTER ... TYPE.
    SetType(Attribute),
    /// RENAME ... TO.
    Rename {
        /// The attribute.
        from: String,
        /// Its new name.
        to: String,
    },
}
