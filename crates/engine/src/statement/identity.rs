//! txid_current() and its kin, for the queries that call them.
//!
//! Elsewhere: the numbers (`instance::xids`), values of snapshots (`types::packed`).

use std::sync::{Arc, OnceLock};

use sql::algebra::{Identity, NumberForm};
use storage::Timestamp;
use types::packed::{snapshot_value, xid8_number, xid8_value};
use types::{Error, Result, SqlState, Value};

use crate::instance::database::WeakDatabase;
use crate::instance::xids::{FIRST, Fate, NumberCell, NumberedSnapshot};

/// The transaction of a query, as its functions tell of it.
pub(crate) struct TransactionIdentity {
    pub(crate) number: NumberCell,
    /// The query sees what was committed up to here.
    pub(crate) base: Timestamp,
    /// True when the transaction has changed something: it has a number then.
    pub(crate) has_written: bool,
    /// The value of pg_current_snapshot(), once asked for.
    pub(crate) snapshot: OnceLock<Arc<[u8]>>,
}

impl TransactionIdentity {
    /// Carries out a function.
    ///
    /// # Errors
    /// 22023 for the status of a transaction to come; 53100, 58030 for a new number.
    pub(crate) fn call(
        &self,
        database: &WeakDatabase,
        identity: Identity,
        arguments: &[Value],
    ) -> Result<Value> {
        if arguments.contains(&Value::Null) {
            return Ok(Value::Null);
        }
        match (identity, arguments) {
            (Identity::Current(form), []) => Ok(value(form, self.own(database)?)),
            (Identity::IfAssigned(form), []) => {
                let number =
                    if self.has_written { Some(self.own(database)?) } else { self.number.get() };
                Ok(number.map_or(Value::Null, |number| value(form, number)))
            }
            (Identity::Snapshot(_), []) => self.snapshot(database),
            (Identity::Status(_), [Value::I64(number)]) => status(database, *number as u64),
            (Identity::Status(_), [Value::Str(bytes)]) => status(database, xid8_number(bytes)),
            (Identity::Age, [Value::I64(number)]) => self.age(database, *number as u32),
            // The first group of transactions would be number 1.
            (Identity::MultiAge, [Value::I64(0)]) => Ok(Value::I32(i32::MAX)),
            (Identity::MultiAge, [Value::I64(number)]) => {
                Ok(Value::I32(1_u32.wrapping_sub(*number as u32).cast_signed()))
            }
            _ => Err(Error::internal("a function of transactions with other arguments")),
        }
    }

    fn own(&self, database: &WeakDatabase) -> Result<u64> {
        let database = database.upgrade()?;
        let inner = database.inner();
        self.number.get_or_assign(&inner.xids, || inner.next_number())
    }

    /// The snapshot of the query, the same for all its rows.
    fn snapshot(&self, database: &WeakDatabase) -> Result<Value> {
        if let Some(known) = self.snapshot.get() {
            return Ok(Value::Str(known.clone()));
        }
        let database = database.upgrade()?;
        let NumberedSnapshot { xmin, xmax, running } =
            database.inner().xids.snapshot(self.base, self.number.get());
        let value = snapshot_value(xmin, xmax, &running);
        Ok(Value::Str(self.snapshot.get_or_init(|| value.into()).clone()))
    }

    /// Numbers given out since `number`, of which 32 bits are known.
    fn age(&self, database: &WeakDatabase, number: u32) -> Result<Value> {
        if u64::from(number) < FIRST {
            return Ok(Value::I32(i32::MAX));
        }
        let database = database.upgrade()?;
        let now = self.number.get().unwrap_or_else(|| database.inner().xids.upcoming());
        Ok(Value::I32((now as u32).wrapping_sub(number).cast_signed()))
    }
}

/// # Errors
/// 22023 for a transaction to come.
fn status(database: &WeakDatabase, number: u64) -> Result<Value> {
    Ok(match database.upgrade()?.inner().xids.fate(number) {
        Fate::InProgress => Value::text("in progress"),
        Fate::Committed => Value::text("committed"),
        Fate::Aborted => Value::text("aborted"),
        Fate::Forgotten => Value::Null,
        Fate::Future => {
            let message = format!("transaction ID {number} is in the future");
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
    })
}

fn value(form: NumberForm, number: u64) -> Value {
    match form {
        // As in PostgreSQL, where no transaction comes so far.
        NumberForm::BigInt => Value::I64(number as i64),
        NumberForm::Xid8 => Value::Str(xid8_value(number).into()),
    }
}
