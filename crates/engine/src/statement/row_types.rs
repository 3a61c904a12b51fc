//! Types of the parameters and results of routines, rows of relations among them.

use catalog::numbers;
use sql::catalog::{RoutineType, TableMeta};
use sql::statement::RelationName;
use types::{DataType, Error, RecordField, RecordType, Result, SqlState};

use crate::Session;

/// The type of values of a parameter or result.
///
/// # Errors
/// 42704 when a relation is gone.
pub(crate) fn type_of(session: &Session, ty: &RoutineType) -> Result<DataType> {
    match ty {
        RoutineType::Value(ty, _) => Ok(*ty),
        RoutineType::Row(key) => row_type(session, key).map(DataType::Record),
        RoutineType::Void => Ok(DataType::Text),
        RoutineType::Record | RoutineType::Trigger | RoutineType::Polymorphic(_) => {
            Ok(DataType::Unknown)
        }
    }
}

/// The type of rows of the relation that the catalog calls `key`.
///
/// # Errors
/// 42704 when there is none.
pub(crate) fn row_type(session: &Session, key: &str) -> Result<RecordType> {
    let state = session.state();
    let field = |name: &String, ty: DataType| RecordField { name: name.clone(), ty };
    let fields = if let Some(table) = state.tables.get(key) {
        table.columns().iter().map(|column| field(&column.name, column.ty)).collect()
    } else if let Some(view) = state.views.get(key) {
        view.output.iter().map(|(name, ty)| field(name, *ty)).collect()
    } else {
        let message = format!("type \"{}\" does not exist", RelationName::of_key(key));
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    };
    let name = RelationName::name_of_key(key);
    RecordType::of_relation(name, numbers::row_type(key), fields)
}
