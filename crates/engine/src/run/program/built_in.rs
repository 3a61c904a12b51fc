//! Functions of the database that triggers call: those that keep documents of text search.
//!
//! Called by `trigger`, in the place of functions that users made.

use sql::catalog::{TriggerDef, TriggerEvent, TriggerLevel, TriggerTiming};
use types::packed::{document_of, search_entries};
use types::record::{Fields, from_values};
use types::{DataType, Error, PackedType, RecordType, RegKind, Result, SqlState, Value};

use crate::statement::trigger::TriggerCall;

/// The row that a trigger's function of the database gives; None for functions of users.
///
/// # Errors
/// Errors of the function about its arguments and the table.
pub(super) fn fire(call: &TriggerCall<'_>) -> Result<Option<Value>> {
    let Some(name) = sql::catalog::built_in_trigger_function(&call.def.routine) else {
        return Ok(None);
    };
    if name == "suppress_redundant_updates_trigger" {
        SUPPRESSION.check(call.def, call.event == TriggerEvent::Update)?;
        return Ok(Some(if call.old == call.new { Value::Null } else { call.new.clone() }));
    }
    let is_written = matches!(call.event, TriggerEvent::Insert | TriggerEvent::Update);
    UPDATE.check(call.def, is_written)?;
    DocumentUpdate { call, of_column: name == "tsvector_update_trigger_column" }.run().map(Some)
}

/// When a function may be called, in PostgreSQL's words.
struct Moment {
    state: SqlState,
    function: &'static str,
    for_rows: &'static str,
    before: &'static str,
    on_events: &'static str,
}

const SUPPRESSION: Moment = Moment {
    state: SqlState::TRIGGER_PROTOCOL_VIOLATED,
    function: "suppress_redundant_updates_trigger",
    for_rows: "must be called for each row",
    before: "must be called before update",
    on_events: "must be called on update",
};

const UPDATE: Moment = Moment {
    state: SqlState::INTERNAL_ERROR,
    function: "tsvector_update_trigger",
    for_rows: "must be fired for row",
    before: "must be fired BEFORE event",
    on_events: "must be fired for INSERT or UPDATE",
};

impl Moment {
    /// # Errors
    /// XX000 or 39P01 for triggers that fire at another time.
    fn check(&self, def: &TriggerDef, is_event: bool) -> Result<()> {
        let wrong = if def.level != TriggerLevel::Row {
            self.for_rows
        } else if def.timing != TriggerTiming::Before {
            self.before
        } else if !is_event {
            self.on_events
        } else {
            return Ok(());
        };
        Err(Error::new(self.state, format!("{}: {wrong}", self.function)))
    }
}

/// `tsvector_update_trigger(document, configuration, text, ...)`.
struct DocumentUpdate<'a> {
    call: &'a TriggerCall<'a>,
    /// The second argument names a column that has the configuration.
    of_column: bool,
}

impl DocumentUpdate<'_> {
    fn run(&self) -> Result<Value> {
        let Value::Str(new) = self.call.new else { return Ok(Value::Null) };
        let row = self.call.row;
        let [document, configuration, texts @ ..] = self.call.def.arguments.as_slice() else {
            return Err(wrong_arguments());
        };
        if texts.is_empty() {
            return Err(wrong_arguments());
        }
        let at = place(row, document, "tsvector column")?;
        check_type(row, at, "tsvector type", |ty| ty == DataType::Packed(PackedType::TsVector))?;
        let mut values: Vec<Value> = Fields::new(new, row).collect();
        let number = self.configuration(configuration, &values)?;
        let mut read = Vec::with_capacity(texts.len());
        for name in texts {
            let at = place(row, name, "column")?;
            check_type(row, at, "a character type", DataType::is_text)?;
            read.push(at);
        }
        if !self.changes(&read, &values) {
            return Ok(self.call.new.clone());
        }
        let text = |at: &usize| match &values[*at] {
            Value::Str(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        };
        let texts: Vec<String> = read.iter().filter_map(text).collect();
        values[at] = Value::Str(document_of(number, &texts)?.into());
        Ok(Value::Str(from_values(&values, row)?.into()))
    }

    /// True for a new row, and for one of whose texts one has changed.
    fn changes(&self, read: &[usize], values: &[Value]) -> bool {
        let Value::Str(old) = self.call.old else { return true };
        let before: Vec<Value> = Fields::new(old, self.call.row).collect();
        read.iter().any(|at| before.get(*at) != values.get(*at))
    }

    /// The number of the configuration.
    fn configuration(&self, name: &str, values: &[Value]) -> Result<i64> {
        if !self.of_column {
            return configuration_named(name);
        }
        let at = place(self.call.row, name, "configuration column")?;
        let is_one = |ty: DataType| ty == DataType::Reg(RegKind::Config);
        check_type(self.call.row, at, "regconfig type", is_one)?;
        match &values[at] {
            Value::Str(bytes) => Ok(i64::from(types::object_number(bytes))),
            _ => {
                let message = format!("configuration column \"{name}\" must not be null");
                Err(Error::new(SqlState::NULL_NOT_ALLOWED, message))
            }
        }
    }
}

#[cold]
fn wrong_arguments() -> Error {
    let message =
        "tsvector_update_trigger: arguments must be tsvector_field, ts_config, text_field1, ...)";
    Error::new(SqlState::INTERNAL_ERROR, message)
}

/// # Errors
/// 42703.
fn place(row: RecordType, name: &str, what: &str) -> Result<usize> {
    row.fields().iter().position(|field| field.name == name).ok_or_else(|| {
        Error::new(SqlState::UNDEFINED_COLUMN, format!("{what} \"{name}\" does not exist"))
    })
}

/// # Errors
/// 42804.
fn check_type(
    row: RecordType,
    at: usize,
    wanted: &str,
    is_it: impl Fn(DataType) -> bool,
) -> Result<()> {
    let field = &row.fields()[at];
    if is_it(field.ty) {
        return Ok(());
    }
    let message = format!("column \"{}\" is not of {wanted}", field.name);
    Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
}

/// The configuration called so, with its schema.
///
/// # Errors
/// 22023 without a schema, 42704.
fn configuration_named(name: &str) -> Result<i64> {
    let Some((schema, bare)) = name.split_once('.') else {
        let message = format!("text search configuration name \"{name}\" must be schema-qualified");
        return Err(Error::new(SqlState::INVALID_PARAMETER, message));
    };
    let known = search_entries().iter().filter(|_| schema == "pg_catalog");
    let found = known.clone().find(|entry| entry.name == bare);
    found.map(|entry| i64::from(entry.configuration)).ok_or_else(|| {
        let message = format!("text search configuration \"{name}\" does not exist");
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    })
}
