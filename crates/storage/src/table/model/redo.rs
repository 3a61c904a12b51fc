//! Log of the model's transactions.

use super::*;

/// Change of one row, or block, that a commit made.
#[derive(Clone, Debug)]
pub(super) enum Redo {
    Insert(Tid, Row),
    Update(Tid, Vec<(usize, Value)>),
    Delete(Tid),
    Block(u64, Vec<u8>),
}

impl Redo {
    pub(super) fn block(&self) -> u64 {
        match self {
            Self::Insert(tid, _) | Self::Update(tid, _) | Self::Delete(tid) => tid.block(),
            Self::Block(id, _) => *id,
        }
    }

    /// Appends a change of a row.
    pub(super) fn add_to<'v>(&'v self, to: &mut RowChanges<'v>) {
        let (columns, values) = (to.columns.len() as u32, to.values.len() as u32);
        let (kind, tid) = match self {
            Self::Insert(tid, row) => {
                to.values.extend(row.iter().map(Datum::from));
                (RowChangeKind::Insert, *tid)
            }
            Self::Update(tid, changes) => {
                to.columns.extend(changes.iter().map(|(column, _)| *column));
                to.values.extend(changes.iter().map(|(_, value)| Datum::from(value)));
                (RowChangeKind::Update, *tid)
            }
            Self::Delete(tid) => (RowChangeKind::Delete, *tid),
            Self::Block(..) => unreachable!("not a change of a row"),
        };
        let (columns, values) = (columns..to.columns.len() as u32, values..to.values.len() as u32);
        to.changes.push(RowChange { table: 0, tid, kind, columns, values });
    }
}
