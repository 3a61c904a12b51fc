//! INHERITS, as the catalog keeps it.

/// Parts of a table that it has from the tables it inherits from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// Keys in the catalog of those tables, in the order of INHERITS.
    pub parents: Vec<String>,
    /// Names of the columns that the table has from them alone.
    pub columns: Vec<String>,
    /// Names of the CHECK constraints that the table has from them alone.
    pub checks: Vec<String>,
}

/// Tables that a CHECK constraint holds for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CheckScope {
    /// The table and all that inherit from it.
    #[default]
    Family,
    /// NO INHERIT: the table alone.
    Alone,
}

impl CheckScope {
    /// Part of the constraint's definition.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Family => "",
            Self::Alone => " NO INHERIT",
        }
    }
}
