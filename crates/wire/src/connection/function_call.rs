//! Calls of functions by their numbers, as drivers make them for large objects.
//!
//! ```text
//! FunctionCall: number, formats, values, result format -> FunctionCallResponse, ReadyForQuery
//! ```
//! A function is called by a statement that the connection keeps, which has it by its name: it is
//! looked up by its number again when the catalog has changed.

use std::collections::HashMap;
use std::time::Instant;

use engine::{PreparedStatement, QueryResult};
use types::{DataType, Error, Result, SqlState, Value};

use super::Connection;
use super::extended::{format_of, formats};
use crate::broken::Broken;
use crate::encode::{self, Format, format_at};
use crate::message::{self, Fields, violation};
use crate::{decode, oid, recode};

/// Most functions whose statements a connection keeps.
const KEPT_MAX: usize = 1000;

/// Functions that the client called, by their numbers.
#[derive(Default)]
pub(super) struct Functions(HashMap<u32, Called>);

/// A function that was looked up.
struct Called {
    /// The catalog that it was found in; None for one that the transaction has for itself.
    catalog: Option<u64>,
    types: Vec<DataType>,
    prepared: PreparedStatement,
}

/// A call as it came.
struct Call<'a> {
    number: u32,
    formats: Vec<Format>,
    values: Vec<Option<&'a [u8]>>,
    result: Format,
}

impl<'a> Call<'a> {
    fn read(body: &'a [u8]) -> Result<Self> {
        let mut fields = Fields::new(body);
        let number = fields.u32()?;
        let formats = formats(&mut fields)?;
        let count = usize::from(fields.u16()?);
        if formats.len() > 1 && formats.len() != count {
            let message = format!(
                "function call message contains {} argument formats but {count} arguments",
                formats.len()
            );
            return Err(violation(message));
        }
        let values = (0..count).map(|_| fields.value()).collect::<Result<_>>()?;
        let result = format_of(fields.u16()?)?;
        fields.end()?;
        Ok(Self { number, formats, values, result })
    }
}

impl Connection {
    /// FunctionCall.
    pub(super) fn call_function(&mut self, body: &[u8]) -> Result<(), Broken> {
        let begin = Instant::now();
        self.activity.begin(begin, self.settings.statement_ms);
        let outcome = Call::read(body).and_then(|call| Ok((self.call(&call)?, call.result)));
        self.activity.end();
        let outcome = outcome.and_then(|(result, format)| {
            self.watcher.metrics.done(result.tag(), begin.elapsed());
            self.send_value(&result, format)
        });
        if let Err(error) = outcome {
            self.fail(&self.activity.explain(error), "")?;
        }
        self.refresh_settings();
        self.ready();
        Ok(())
    }

    fn call(&mut self, call: &Call<'_>) -> Result<QueryResult> {
        let mut called = match self.kept_function(call.number) {
            Some(called) => called,
            None => self.function(call.number)?,
        };
        let (count, wanted) = (call.values.len(), called.types.len());
        if count != wanted {
            let message = format!(
                "function call message contains {count} arguments but function requires {wanted}"
            );
            return Err(violation(message));
        }
        let given = call.values.iter().zip(&called.types).enumerate();
        let values: Vec<Value> = given
            .map(|(at, (bytes, ty))| match bytes {
                Some(bytes) => self.argument(bytes, *ty, format_at(&call.formats, at), at),
                None => Ok(Value::Null),
            })
            .collect::<Result<_>>()?;
        let result = self.session.execute_prepared(&mut called.prepared, &values)?;
        if self.functions.0.len() < KEPT_MAX {
            self.functions.0.insert(call.number, called);
        }
        Ok(result)
    }

    /// The function of this number that was called before, if it is still the one.
    fn kept_function(&mut self, number: u32) -> Option<Called> {
        let called = self.functions.0.remove(&number)?;
        let catalog = self.session.catalog_version();
        (catalog.is_some() && called.catalog == catalog).then_some(called)
    }

    /// The value of the argument at this position, from 0.
    fn argument(&self, bytes: &[u8], ty: DataType, format: Format, at: usize) -> Result<Value> {
        let zone = self.session.time_zone();
        match self.settings.charset {
            None => decode::value(bytes, ty, (format, zone), at + 1),
            Some(charset) => {
                let bytes = recode::argument(bytes, ty, format, charset)?;
                decode::value(&bytes, ty, (format, zone), at + 1)
            }
        }
    }

    /// The function of this number, ready to be called.
    ///
    /// # Errors
    /// 42883 when there is none; 42704 for types that no value is sent of.
    fn function(&mut self, number: u32) -> Result<Called> {
        let text = format!(
            "SELECT n.nspname::text, p.proname::text, p.proargtypes::text \
             FROM pg_catalog.pg_proc AS p \
             JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace \
             WHERE p.oid = {number} AND p.prokind = 'f' AND NOT p.proretset"
        );
        // Before the look-up: the catalog may be newer, never older.
        let catalog = self.session.catalog_version();
        let found = self.session.execute(&text)?;
        let texts = first_row(&found);
        let [schema, name, list] = texts.as_slice() else {
            let message = format!("function with OID {number} does not exist");
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        };
        let own = |text: &str| {
            let number = text.parse().unwrap_or(0);
            self.session.type_numbered(number).map_or_else(|| oid::parameter(number), Ok)
        };
        let types: Vec<DataType> = list.split_whitespace().map(own).collect::<Result<_>>()?;
        let parameters: Vec<String> = (1..=types.len()).map(|at| format!("${at}")).collect();
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let call = format!("SELECT {}.{}({})", quoted(schema), quoted(name), parameters.join(", "));
        let prepared = self.session.prepare(&call, &types)?;
        Ok(Called { catalog, types, prepared })
    }

    /// FunctionCallResponse: the only value of a result.
    fn send_value(&mut self, result: &QueryResult, format: Format) -> Result<()> {
        let mut link = self.link.lock();
        link.charset = result.charset();
        let mut notices = result.notices().iter();
        notices
            .try_for_each(|notice| link.say(|out| message::notice(out, notice)))
            .map_err(|broken| broken.to_error())?;
        let ty = result.columns().first().map_or(DataType::Text, |(_, ty)| *ty);
        let batch = result.batches().iter().find(|batch| batch.rows > 0);
        let column = batch.and_then(|batch| batch.columns.first());
        let mut cell = Vec::new();
        match column.map(|column| column.to_plain()) {
            Some(column) => {
                let shown = (format, result.zone(), result.style());
                encode::cell(&mut cell, &column, 0, ty, shown);
            }
            None => cell.extend_from_slice(&(-1_i32).to_be_bytes()),
        }
        if !link.charset.is_plain() {
            cell = recode::answered(&cell, ty, format, link.charset)?;
        }
        message::message(&mut link.outgoing, b'V', |out| out.extend_from_slice(&cell));
        Ok(())
    }
}

/// The texts of the first row of a result.
fn first_row(result: &QueryResult) -> Vec<String> {
    let Some(batch) = result.batches().iter().find(|batch| batch.rows > 0) else {
        return Vec::new();
    };
    let text = |value: Value| match value {
        Value::Str(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    };
    batch.columns.iter().map(|column| text(column.value(0))).collect()
}
