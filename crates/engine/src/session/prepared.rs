//! Prepared statements of a session: those with a name, whether PREPARE or the protocol gave it,
//! and those of the library.
//!
//! Elsewhere: how they are prepared and run (`run::prepared`).

pub(crate) mod kept;

use std::sync::Arc;

use sql::ParsedStatement;
use types::calendar::TimeZone;
use types::{DataType, Error, SqlState};

use super::boundary::Boundary;
use super::code::Names;
use super::compiled::{Compiled, Timing};
use super::point::Point;
use crate::Session;

pub use kept::KeptStatement;

/// A statement that is parsed once and run with values of its parameters, again and again. Its
/// plan is kept as long as the tables do not change much.
pub struct PreparedStatement {
    pub(crate) types: Vec<DataType>,
    pub(crate) statement: Arc<ParsedStatement>,
    pub(crate) compiled: Option<Arc<Compiled>>,
    /// Known once it ran.
    pub(crate) boundary: Option<Boundary>,
    pub(crate) timing: Timing,
    /// The session's time zone when it was prepared: its literals are read in it.
    pub(crate) zone: TimeZone,
    /// Columns of its rows, if it has any; unknown for statements of PREPARE.
    pub(crate) columns: Option<Vec<(String, DataType)>>,
    pub(crate) origins: Vec<ColumnOrigin>,
    /// Names of the program that it is a part of.
    pub(crate) names: Option<Arc<Names>>,
}

/// Where a result column comes from, as the system's catalog has it: the number of a table or view
/// and that of its column, from 1; 0 and 0 for what is no column of one.
pub type ColumnOrigin = (u32, u16);

impl PreparedStatement {
    pub(crate) fn new(session: &Session, types: Vec<DataType>, statement: ParsedStatement) -> Self {
        let (statement, timing) = (Arc::new(statement), Timing::AnyTime);
        let zone = session.settings.time_zone().clone();
        let (compiled, boundary, columns, origins) = Default::default();
        let names = None;
        Self { types, statement, compiled, boundary, timing, zone, columns, origins, names }
    }

    /// The columns of its rows when it was prepared; None for a statement without rows, or CALL.
    pub fn columns(&self) -> Option<&[(String, DataType)]> {
        self.columns.as_deref()
    }

    /// The origin of each of the columns when it was prepared.
    pub fn origins(&self) -> &[ColumnOrigin] {
        &self.origins
    }

    /// True when it read at most one row by its key when it ran last: such a statement takes
    /// microseconds and waits for nobody.
    pub fn reads_one_row(&self) -> bool {
        let point = self.compiled.as_ref().and_then(|compiled| compiled.point.as_ref());
        point.is_some_and(Point::is_select)
    }

    /// The types of `$1`...
    pub fn parameters(&self) -> &[DataType] {
        &self.types
    }
}

pub(crate) fn unknown(name: &str) -> Error {
    let message = format!("prepared statement \"{name}\" does not exist");
    Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
}
