//! A definition in the terms of storage: columns, and the indexes that its keys need.

use sql::algebra::{Direction, NullsOrder};
use sql::catalog::{
    self, ColumnDef, ForeignKeyDef, INDEX_EXPRESSION, IndexColumn, IndexExpression, IndexKind,
    IndexMeta, IndexTerms, KeyDef, KeyNulls, Uniqueness,
};
use storage::{ColumnSpec, IndexId, IndexSpec, Schema, SubBlockKind, SubBlockSpec, WeaveForm};
use types::{Error, Result};

/// Description for the storage of an index of the table.
///
/// # Errors
/// XX000 for one that blocks have.
pub(crate) fn spec_of(id: IndexId, meta: &IndexMeta) -> Result<IndexSpec> {
    use kernels::keys::{SortDirection, SortNulls};
    let column = |c: &catalog::IndexColumn| storage::IndexColumn {
        ordinal: c.expression().map_or(c.ordinal, |number| storage::INDEX_EXPRESSION + number),
        order: match c.direction {
            Direction::Ascending => SortDirection::Ascending,
            Direction::Descending => SortDirection::Descending,
        },
        nulls: match c.nulls {
            NullsOrder::First => SortNulls::First,
            NullsOrder::Last => SortNulls::Last,
        },
    };
    let kind = match meta.kind {
        catalog::IndexKind::Ordered => storage::IndexKind::Ordered,
        catalog::IndexKind::Hash => storage::IndexKind::Hash,
        catalog::IndexKind::Inverted => storage::IndexKind::Inverted,
        catalog::IndexKind::Near { .. } => {
            let form = meta.near_form();
            let form = form.ok_or_else(|| Error::internal("a near index without a metric"))?;
            storage::IndexKind::Near(form)
        }
        kind => return Err(Error::internal(format!("a table-wide {} index", kind.method()))),
    };
    Ok(IndexSpec {
        id,
        name: meta.name.clone(),
        columns: meta.columns.iter().map(column).collect(),
        unique: match meta.unique {
            catalog::Uniqueness::No => storage::Uniqueness::No,
            catalog::Uniqueness::Distinct => storage::Uniqueness::Distinct,
            catalog::Uniqueness::NullsNotDistinct => storage::Uniqueness::NullsNotDistinct,
        },
        kind,
    })
}

/// Description for the storage of an index that blocks have.
///
/// # Errors
/// XX000 for one of the table, or without a column.
pub fn sub_block_spec(id: IndexId, meta: &IndexMeta) -> Result<SubBlockSpec> {
    let kind = match meta.kind {
        catalog::IndexKind::Csb => SubBlockKind::Csb,
        catalog::IndexKind::BitWeaving(form) => SubBlockKind::BitWeaving(match form {
            catalog::WeaveForm::Vertical => WeaveForm::Vertical,
            catalog::WeaveForm::Horizontal => WeaveForm::Horizontal,
        }),
        catalog::IndexKind::Bloom { bits_per_key } => SubBlockKind::Bloom { bits_per_key },
        kind => return Err(Error::internal(format!("a {} index of blocks", kind.method()))),
    };
    match meta.columns[..] {
        [column] => Ok(SubBlockSpec { id, name: meta.name.clone(), column: column.ordinal, kind }),
        _ => Err(Error::internal("an index of blocks has one column")),
    }
}

/// The columns as storage sees them.
pub fn schema_of(columns: &[ColumnDef]) -> Schema {
    let spec = |column: &ColumnDef| {
        let mut spec = ColumnSpec::new(column.name.clone(), column.ty);
        spec.not_null = column.not_null;
        spec
    };
    Schema::new(columns.iter().map(spec).collect())
}

fn ascending(ordinal: &usize) -> IndexColumn {
    let (direction, nulls) = (Direction::Ascending, NullsOrder::Last);
    IndexColumn { ordinal: *ordinal, direction, nulls }
}

/// The index that enforces a key of a table with `columns`. It has keys in the place of values that
/// are not compared as they are held.
pub fn key_index(key: &KeyDef, columns: &[ColumnDef]) -> IndexMeta {
    let mut expressions = Vec::new();
    let mut place = |ordinal: &usize| {
        let keyed = columns.get(*ordinal).filter(|column| column.is_keyed());
        let Some(column) = keyed else { return ascending(ordinal) };
        expressions.push(IndexExpression::keys_of(column));
        ascending(&(INDEX_EXPRESSION + expressions.len() - 1))
    };
    IndexMeta {
        name: key.name.clone(),
        columns: key.columns.iter().map(&mut place).collect(),
        unique: match key.nulls {
            _ if key.deferral.is_deferrable() => Uniqueness::No,
            KeyNulls::Distinct => Uniqueness::Distinct,
            KeyNulls::NotDistinct => Uniqueness::NullsNotDistinct,
        },
        kind: IndexKind::Ordered,
        terms: IndexTerms { expressions, included: key.included.clone(), ..IndexTerms::default() },
    }
}

/// The index by which a referenced row finds who refers to it.
pub fn foreign_index(key: &ForeignKeyDef) -> IndexMeta {
    IndexMeta {
        name: key.name.clone(),
        columns: key.columns.iter().map(ascending).collect(),
        unique: Uniqueness::No,
        kind: IndexKind::Ordered,
        terms: IndexTerms::default(),
    }
}
