//! Kinds of objects that `regclass` and its kin name.

/// Kind of object that a value of `regclass` or its kin names.
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
