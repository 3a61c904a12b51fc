//! Descriptions of relations for clients.

use std::sync::Arc;

use sql::catalog::{CheckDef, ColumnDef, ForeignKeyDef, Identity, IndexMeta, KeyDef, SequenceDef};
use types::DataType;

use crate::state::{State, TableEntry, View};

/// Description of a table or view for clients: `\d`, completion.
#[derive(Clone, Debug, PartialEq)]
pub struct TableInfo {
    /// Its name.
    pub name: String,
    /// "table", "view", "materialized view" or "sequence".
    pub kind: &'static str,
    /// Its columns.
    pub columns: Vec<ColumnDef>,
    /// Its keys.
    pub keys: Vec<KeyDef>,
    /// Its indexes, those of blocks included.
    pub indexes: Vec<IndexMeta>,
    /// Its CHECK constraints.
    pub checks: Vec<CheckDef>,
    /// Its FOREIGN KEY constraints.
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Its identity columns, by ordinal.
    pub identities: Vec<(usize, Identity)>,
    /// How it counts and the column it goes with, for a sequence.
    pub sequence: Option<(SequenceDef, Option<(String, String)>)>,
    /// Rows, for a table.
    pub rows: u64,
    /// Bytes in memory, for a table.
    pub bytes: u64,
}

impl TableInfo {
    fn new(name: &str, kind: &'static str, columns: Vec<ColumnDef>) -> Self {
        let name = name.to_owned();
        let (keys, indexes, checks, foreign_keys) = Default::default();
        let (identities, sequence) = Default::default();
        Self {
            name,
            kind,
            columns,
            keys,
            indexes,
            checks,
            foreign_keys,
            identities,
            sequence,
            rows: 0,
            bytes: 0,
        }
    }
}

impl State {
    /// Everything, for `\d`.
    pub fn infos(&self) -> Vec<TableInfo> {
        let table = |entry: &Arc<TableEntry>| TableInfo {
            keys: entry.def.keys.clone(),
            indexes: entry.def.visible_indexes().cloned().collect(),
            identities: entry.def.identities.clone(),
            checks: entry.def.checks.clone(),
            foreign_keys: entry.def.foreign_keys.clone(),
            rows: entry.storage().live_rows(),
            bytes: entry.storage().block_infos().iter().map(|b| b.bytes).sum(),
            ..TableInfo::new(&entry.def.name, entry.def.kind(), entry.def.columns.clone())
        };
        let view = |(name, view): (&String, &View)| {
            let column = |(name, ty): &(String, DataType)| ColumnDef::new(name, *ty);
            TableInfo::new(name, "view", view.output.iter().map(column).collect())
        };
        let mut all: Vec<TableInfo> = self.tables.values().map(table).collect();
        all.extend(self.views.iter().map(view));
        all.extend(self.sequences.iter().map(|(name, sequence)| TableInfo {
            sequence: Some((sequence.def.clone(), sequence.owner.clone())),
            ..TableInfo::new(name, "sequence", Vec::new())
        }));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}
