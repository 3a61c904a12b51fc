//! Both structures against a model, and under many threads. Compiled twice: as unit tests, with
//! tiny nodes, and as `tests/index.rs`, with real ones.

#[path = "tests/keys.rs"]
mod keys;
#[path = "tests/model.rs"]
mod model;
#[path = "tests/stress.rs"]
mod stress;

use std::ops::ControlFlow;
use std::sync::Arc;

use types::DataType;

use crate::{
    BufferPool, ColumnSpec, IndexColumn, IndexId, IndexKind, IndexSpec, Schema, TableIndex, Tid,
    Uniqueness,
};

/// How long the keys of a test index are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Eight,
    Twelve,
    Any,
}

const WIDTHS: [Width; 3] = [Width::Eight, Width::Twelve, Width::Any];

impl Width {
    fn types(self) -> Vec<DataType> {
        match self {
            Self::Eight => vec![DataType::BigInt],
            Self::Twelve => vec![DataType::Integer, DataType::BigInt],
            Self::Any => vec![DataType::Text],
        }
    }

    /// Key number `i`, in the order of `i`; long ones share long starts.
    fn key(self, i: u32) -> Vec<u8> {
        let number = i.to_be_bytes();
        match self {
            Self::Eight => [&[0; 4], &number[..]].concat(),
            Self::Twelve => [&[7; 4], &[0, 0, number[0], number[1]], &number[..]].concat(),
            Self::Any => match i % 4 {
                // The last bits choose a length; the others come first, in order.
                0 => number.to_vec(),
                1 => [&number[..], b"of sixteen b"].concat(),
                2 => [&number[..], b"of sixteen bytes and more"].concat(),
                _ => [&number[..], &[b'z'; 60]].concat(),
            },
        }
    }
}

fn schema(width: Width) -> Schema {
    let column = |ty| ColumnSpec { name: "c".into(), ty, not_null: true };
    Schema::new(width.types().into_iter().map(column).collect())
}

fn index_in(pool: &Arc<BufferPool>, kind: IndexKind, width: Width) -> TableIndex {
    let schema = schema(width);
    let columns = (0..schema.len()).map(IndexColumn::new).collect();
    let (name, unique) = ("i".into(), Uniqueness::No);
    let spec = IndexSpec { id: IndexId(1), name, columns, unique, kind };
    TableIndex::new(spec, &schema, pool).expect("the pool has room")
}

fn index(kind: IndexKind, width: Width) -> TableIndex {
    index_in(&BufferPool::new(1 << 32), kind, width)
}

fn tids(index: &TableIndex, key: &[u8]) -> Vec<Tid> {
    let mut tids = Vec::new();
    let end = index.lookup(key, |tid| {
        tids.push(tid);
        ControlFlow::Continue(())
    });
    assert_eq!(end, ControlFlow::Continue(()));
    tids
}
