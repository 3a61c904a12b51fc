//! txid_current() and its kin, for the queries that call them.
//!
//! Elsewhere: the numbers (`instance::xids`), values of snapshots (`types::packed`).

use sql::algebra::{Identity, NumberForm};
use storage::Timestamp;
use types::packed::{snapshot_value, xid8_number, xid8_value};
use types::{Error, Result, SqlState, Value};

use crate::instance::database::WeakDatabase;
use crate::instance::xids::{FIRST, Fate, NumberCell, NumberedSnapshot};

/// The transaction of a query, as its functions tell of it.
pub(crate) struct TransactionIdentity {
    pub(crate) database: WeakDatabase,
    pub(crate) number: NumberCell,
    /// The query sees what was committed up to here.
    pub(crate) base: Timestamp,
    /// True when the transaction has changed something: it has a number then.
    pub(crate) has_written: bool,
}

impl TransactionIdentity {
    /// Carries out a function.
    ///
    /// # Errors
    /// 22023 for the status of a transaction to come; 53100, 58030 for a new number.
    pub(crate) fn call(&self, identity: Identity, arguments: &[Value]) -> Result<Value> {
        if arguments.contains(&Value::Null) {
            return Ok(Value::Null);
        }
        match (identity, arguments) {
            (Identity::Current(form), []) => Ok(value(form, self.own()?)),
            (Identity::IfAssigned(form), []) => {
                let number = if self.has_written { Some(self.own()?) } else { self.number.get() };
                Ok(number.map_or(Value::Null, |number| value(form, number)))
            }
            (Identity::Snapshot(_), []) => self.snapshot(),
            (Identity::Status(_), [Value::I64(number)]) => self.status(*number as u64),
            (Identity::Status(_), [Value::Str(bytes)]) => self.status(xid8_number(bytes)),
            (Identity::Age, [Value::I64(number)]) => self.age(*number as u32),
            // The first group of transactions would be number 1.
            (Identity::MultiAge, [Value::I64(0)]) => Ok(Value::I32(i32::MAX)),
            (Identity::MultiAge, [Value::I64(number)]) => {
                Ok(Value::I32(1_u32.wrapping_sub(*number as u32).cast_signed()))
            }
            _ => Err(Error::internal("a function of transactions with other arguments")),
        }
    }

    fn own(&self) -> Result<u64> {
        let database = self.database.upgrade()?;
        self.number.get_or_assign(|| database.inner().next_number())
    }

    fn snapshot(&self) -> Result<Value> {
        let database = self.database.upgrade()?;
        let NumberedSnapshot { xmin, xmax, running } =
            database.inner().xids.snapshot(self.base, self.number.get());
        Ok(Value::Str(snapshot_value(xmin, xmax, &running).into()))
    }

    fn status(&self, number: u64) -> Result<Value> {
        let database = self.database.upgrade()?;
        Ok(match database.inner().xids.fate(number) {
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

    /// Numbers given out since `number`, of which 32 bits are known.
    fn age(&self, number: u32) -> Result<Value> {
        if u64::from(number) < FIRST {
            return Ok(Value::I32(i32::MAX));
        }
        let database = self.database.upgrade()?;
        let now = self.number.get().unwrap_or_else(|| database.inner().xids.upcoming());
        Ok(Value::I32((now as u32).wrapping_sub(number).cast_signed()))
    }
}

fn value(form: NumberForm, number: u64) -> Value {
    match form {
        // As in PostgreSQL, where no transaction comes so far.
        NumberForm::BigInt => Value::I64(number as i64),
        NumberForm::Xid8 => Value::Str(xid8_value(number).into()),
    }
}
