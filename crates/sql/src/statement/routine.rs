//! CREATE, ALTER and DROP of functions, procedures and aggregates, DO, CALL.

use super::{DropBehaviour, IfExists, RoleName};
use crate::algebra::Query;
use crate::catalog::{Instance, RoutineDef, RoutineKind, RoutineSetting, Volatility};
use crate::definition::{NullInput, Security};
use types::{Collation, SqlState};

/// A statement about routines; those that are there go by their keys in the catalog.
#[derive(Clone, Debug)]
pub enum RoutineStatement {
    /// CREATE [OR REPLACE] FUNCTION, PROCEDURE or AGGREGATE; its number is not known yet.
    Create {
        /// Its content.
        def: RoutineDef,
        /// OR REPLACE.
        if_exists: IfExists,
    },
    /// DROP.
    Drop {
        /// The word of the command; None is ROUTINE.
        kind: Option<RoutineKind>,
        /// Keys of those that are there.
        keys: Vec<String>,
        /// Notices about others, under IF EXISTS.
        notices: Vec<(SqlState, String)>,
        /// CASCADE.
        behaviour: DropBehaviour,
    },
    /// ALTER.
    Alter {
        /// The word of the command; None is ROUTINE.
        kind: Option<RoutineKind>,
        /// Its key.
        key: String,
        /// The change.
        change: RoutineChange,
    },
}

/// Change of a routine.
#[derive(Clone, Debug)]
pub enum RoutineChange {
    /// RENAME TO.
    Rename(String),
    /// OWNER TO.
    Owner(RoleName),
    /// SET SCHEMA.
    Schema(String),
    /// Attributes that are given.
    Attributes {
        /// IMMUTABLE and its kin.
        volatility: Option<Volatility>,
        /// STRICT and its reverse.
        nulls: Option<NullInput>,
        /// SECURITY.
        security: Option<Security>,
        /// SET and RESET.
        settings: Vec<RoutineSetting>,
        /// LEAKPROOF and its kin.
        hints: Vec<(String, String)>,
    },
}

impl RoutineStatement {
    /// The command's tag.
    pub fn command(&self) -> &'static str {
        use RoutineKind::{Aggregate, Function, Procedure};
        match self {
            Self::Create { def, .. } => match def.kind {
                Function => "CREATE FUNCTION",
                Procedure => "CREATE PROCEDURE",
                Aggregate => "CREATE AGGREGATE",
            },
            Self::Drop { kind, .. } => match kind {
                Some(Function) => "DROP FUNCTION",
                Some(Procedure) => "DROP PROCEDURE",
                Some(Aggregate) => "DROP AGGREGATE",
                None => "DROP ROUTINE",
            },
            Self::Alter { kind, .. } => match kind {
                Some(Function) => "ALTER FUNCTION",
                Some(Procedure) => "ALTER PROCEDURE",
                Some(Aggregate) => "ALTER AGGREGATE",
                None => "ALTER ROUTINE",
            },
        }
    }
}

/// CALL of a procedure that users made: its arguments are the columns of a query of one row.
#[derive(Clone, Debug)]
pub struct CallRoutine {
    /// Its number in the catalog.
    pub number: u32,
    /// Types that its polymorphic ones stand for.
    pub instance: Instance,
    /// The collation of its parameters; None is the usual one.
    pub collation: Option<Collation>,
    /// Values of the parameters that go in, in order.
    pub arguments: Query,
}

/// DO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoBlock {
    /// The code, in PL/pgSQL.
    pub body: String,
}
