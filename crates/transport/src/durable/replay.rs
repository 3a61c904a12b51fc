//! Calls of earlier lives are done again, on top of a snapshot that may have some of them already.
//!
//! ```text
//! log    ... | P   ...   E | ...          a snapshot was made while the log grew from P to E
//!              |-- Again --|-- New -->
//! ```
//! A call before E may be in the snapshot or not, key by key: there, writes below a key's newest
//! version are passed over, and others happen whatever stands there. At the last of them the key is
//! as it was then: a key's state is its newest version that was not taken back, and the versions
//! below, which are in the snapshot when they are passed over. From E on calls have to fit.
//! Keys that came from another store, or went to one, are as they were at the record, whatever
//! stands there: what was written since follows.

use store::server::{TableId, dropped_name};
use store::{Key, Snapshot, StoreError, Table, TableKind, Version, redo_snapshot};
use types::codec::{Input, Malformed, put_u64};
use types::{Error, Result, SqlState};

use crate::exchange::Sessions;
use crate::message::{Call, WriteKind, answer};
use crate::service::StoreService;
use crate::service::moves::Missing;

/// May a snapshot have the call already?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Perhaps.
    Again,
    /// No.
    New,
}

/// A call that was done in an earlier life.
pub(super) struct Replayed {
    pub(super) client: u64,
    pub(super) number: u64,
    pub(super) answer: Vec<u8>,
}

/// Does the calls of records again.
pub(super) struct Replay<'a> {
    pub(super) service: &'a StoreService,
    pub(super) sessions: &'a Sessions,
}

/// A write of one key.
struct KeyWrite<'a> {
    kind: WriteKind,
    table: TableId,
    key: Key,
    version: Version,
    row: &'a [u8],
}

impl Replay<'_> {
    /// Does again what a record says; its answer is the one that it had.
    pub(super) fn record(&self, payload: &[u8], pass: Pass) -> Result<Replayed> {
        let damaged = |malformed: Malformed| malformed.in_bytes_of("a record of the store's log");
        let mut input = Input::new(payload);
        let client = input.u64().map_err(damaged)?;
        let number = input.u64().map_err(damaged)?;
        let call = Call::read(input.bytes().map_err(damaged)?).map_err(damaged)?;
        let answer = self.call(call, pass)?;
        Ok(Replayed { client, number, answer })
    }

    fn call(&self, call: Call<'_>, pass: Pass) -> Result<Vec<u8>> {
        let store = self.service.store();
        let nothing = |_: &mut Vec<u8>, (): &()| ();
        match call {
            Call::Write { kind, table, key, snapshot, row } => {
                let version = snapshot.writes()?;
                self.write(&KeyWrite { kind, table, key, version, row }, pass)?;
                Ok(answer(Ok(()), nothing))
            }
            Call::Revert { table, key, version } => {
                match store.table(table)?.revert(version, key) {
                    // The snapshot has what was written after it.
                    Err(StoreError::NotInSnapshot) if pass == Pass::Again => (),
                    outcome => outcome?,
                }
                Ok(answer(Ok(()), nothing))
            }
            Call::Create { name, schema, layout } => {
                // The snapshot may be of a time when it was dropped again.
                let found = store.find(name).or_else(|_| store.find(&dropped_name(name)));
                let id = match found {
                    Ok((id, _)) if pass == Pass::Again => id,
                    _ => store.create(name, schema, layout)?,
                };
                Ok(answer(Ok(id), |out, id| put_u64(out, id.0)))
            }
            Call::Drop { name } => {
                store.drop_table(name)?;
                Ok(answer(Ok(()), nothing))
            }
            Call::Fence { client } => {
                self.sessions.fence(client, 0);
                Ok(answer(Ok(()), nothing))
            }
            Call::Place { .. } | Call::Track { .. } | Call::Replace { .. } => {
                let missing = match pass {
                    Pass::Again => Missing::Dropped,
                    Pass::New => Missing::Refused,
                };
                self.service.move_again(&call, missing)?;
                Ok(answer(Ok(()), nothing))
            }
            _ => {
                Err(Error::new(SqlState::DATA_CORRUPTED, "a record of the store's log only reads"))
            }
        }
    }

    fn write(&self, write: &KeyWrite<'_>, pass: Pass) -> Result<()> {
        let KeyWrite { table, key, version, row, .. } = *write;
        let of = self.service.store().table(table)?;
        let kind = match pass {
            Pass::New => Some(write.kind),
            Pass::Again => kind_again(&*of, write)?,
        };
        let Some(kind) = kind else { return Ok(()) };
        let newest = of.newest_version(key);
        let is_new_life = match pass {
            Pass::New => newest >= version,
            // Live keys were passed over, unless their newest version is written again.
            Pass::Again => newest > version || newest == version && !is_live(&*of, key)?,
        };
        if is_new_life && of.schema().kind() == TableKind::NonTransactional {
            // The key was removed and collected before this write, and begins again.
            take_back(&*of, key)?;
        }
        let snapshot = redo_snapshot(version)?;
        Ok(self.service.redo(&Call::Write { kind, table, key, snapshot, row })?)
    }
}

/// The kind that a write has on top of what stands there; `None` when it is passed over.
fn kind_again(table: &dyn Table, write: &KeyWrite<'_>) -> Result<Option<WriteKind>> {
    let newest = table.newest_version(write.key);
    let is_live = is_live(table, write.key)?;
    let is_passed = match table.schema().kind() {
        TableKind::Transactional => newest > write.version,
        TableKind::NonTransactional => newest > write.version && is_live,
    };
    Ok(match write.kind {
        _ if is_passed => None,
        WriteKind::Remove if !is_live => None,
        WriteKind::Remove => Some(WriteKind::Remove),
        WriteKind::Insert | WriteKind::Update if is_live => Some(WriteKind::Update),
        WriteKind::Insert | WriteKind::Update => Some(WriteKind::Insert),
    })
}

/// True when the newest version of a key is a row.
fn is_live(table: &dyn Table, key: Key) -> Result<bool> {
    let newest = match table.schema().kind() {
        TableKind::Transactional => Snapshot::analytical(Version(0), Version::MAX)?,
        TableKind::NonTransactional => Snapshot::newest(),
    };
    match table.get(&newest, key) {
        Ok(_) => Ok(true),
        Err(StoreError::NotFound) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes all versions of a key away.
fn take_back(table: &dyn Table, key: Key) -> Result<()> {
    loop {
        match table.newest_version(key) {
            Version(0) => return Ok(()),
            newest => table.revert(newest, key)?,
        }
    }
}
