//! The narrow store: records by number, changed by conditional writes alone. The tree, undo records
//! and counters need no more of a store.

use store::{
    Field, FieldId, FieldType, Schema, Snapshot, StoreError, Table as _, TableKind, Tuple, Version,
};
use transport::{Change, RemoteTable};
use types::Value;

use crate::error::{Result, SharedError};

/// A record with the version that a conditional write names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number of writes of its key so far.
    pub version: Version,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Outcome of a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// The write happened.
    Done,
    /// Somebody else wrote since: nothing happened.
    Lost,
}

/// Records by number. An error leaves open whether a write happened.
#[expect(async_fn_in_trait, reason = "each thread runs its own tasks")]
pub trait Records {
    /// The record, if there is one.
    async fn read(&self, key: u64) -> Result<Option<Record>>;

    /// Writes a record if nobody wrote it since it had version `seen`; `None` where none was ever.
    async fn write(&self, key: u64, seen: Option<Version>, bytes: &[u8]) -> Result<Swap>;

    /// Removes a record if nobody wrote it since it had version `seen`. Its number is not used
    /// again.
    async fn remove(&self, key: u64, seen: Version) -> Result<Swap>;
}

/// Records in a table of the stores.
#[derive(Clone)]
pub struct StoredRecords(RemoteTable);

impl StoredRecords {
    /// The schema of a table that holds records.
    ///
    /// # Panics
    /// Never: the schema is a constant.
    pub fn schema() -> Schema {
        let fields = vec![Field::new("record", FieldType::Bytes)];
        Schema::new(TableKind::NonTransactional, fields).expect("one field fits")
    }

    /// Records in `table`, whose schema is [`Self::schema`].
    pub fn new(table: RemoteTable) -> Self {
        Self(table)
    }

    /// Its table.
    pub fn table(&self) -> &RemoteTable {
        &self.0
    }
}

fn swapped(outcome: Result<(), StoreError>) -> Result<Swap> {
    match outcome {
        Ok(()) => Ok(Swap::Done),
        Err(StoreError::NotInSnapshot | StoreError::InvalidWrite) => Ok(Swap::Lost),
        Err(error) => Err(error.into()),
    }
}

impl Records for StoredRecords {
    async fn read(&self, key: u64) -> Result<Option<Record>> {
        match self.0.get_later(&Snapshot::newest(), key).await {
            Ok(found) => match found.tuple.value(self.0.schema(), FieldId(0)) {
                Value::Str(bytes) => {
                    Ok(Some(Record { version: found.version, bytes: bytes.to_vec() }))
                }
                _ => Err(SharedError::Corrupt(format!("record {key}"))),
            },
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn write(&self, key: u64, seen: Option<Version>, bytes: &[u8]) -> Result<Swap> {
        let tuple = Tuple::encode(self.0.schema(), &[Value::Str(bytes.into())])?;
        let snapshot = Snapshot::conditional(seen.unwrap_or_default())?;
        let change = match seen {
            None => Change::Insert(&tuple),
            Some(_) => Change::Update(&tuple),
        };
        swapped(self.0.write_later(&snapshot, key, change).await)
    }

    async fn remove(&self, key: u64, seen: Version) -> Result<Swap> {
        let snapshot = Snapshot::conditional(seen)?;
        swapped(self.0.write_later(&snapshot, key, Change::Remove).await)
    }
}
