//! Foreign keys of attached tables in definitions: which there may be, who refers to a table that
//! changes, and what becomes of them.
//!
//! Tables that refer to one that changes get other definitions with it: names, ordinals, or a
//! foreign key less.

use std::collections::BTreeSet;

use catalog::TableDef;
use sql::catalog::{ForeignKeyDef, IndexMeta, Uniqueness};
use sql::statement::{DropBehaviour, RelationName};
use types::{DataType, Error, Result};

use super::redefine;
use crate::define::needed;
use crate::instance::attached::{AttachedTableId, AttachedTransaction};
use crate::session::Session;
use crate::statement::attached::definition_in;

/// A table that refers to another one.
#[derive(Clone)]
pub(super) struct Child {
    pub(super) id: AttachedTableId,
    pub(super) def: TableDef,
    is_changed: bool,
}

/// The tables that refer to the table `name`, but for itself.
///
/// # Errors
/// As [`AttachedTransaction::all`].
pub(super) fn children(session: &Session, name: &str) -> Result<Vec<Child>> {
    let transaction = session.work().attached(session.database().registry())?;
    let mut found = Vec::new();
    for known in transaction.all()? {
        let def = definition_in(RelationName::schema_of_key(name), &known)?;
        let refers = def.foreign_keys.iter().any(|key| key.table.name == name);
        if refers && def.name != name {
            found.push(Child { id: known.id, def, is_changed: false });
        }
    }
    Ok(found)
}

/// Numbers of tables.
pub(super) fn numbers(children: &[Child]) -> impl Iterator<Item = AttachedTableId> {
    children.iter().map(|child| child.id)
}

/// The other table that a foreign key of `def` refers to, with its number.
///
/// # Errors
/// 0A000 for one that is not shared, and for a key that shared tables do not have.
pub(super) fn parent(
    transaction: &dyn AttachedTransaction,
    def: &TableDef,
    key: &ForeignKeyDef,
) -> Result<(Option<AttachedTableId>, TableDef)> {
    let schema = RelationName::schema_of_key(&def.name);
    let unsupported = |what: &str| Err(Error::unsupported(format!("{what} of a shared table")));
    if RelationName::schema_of_key(&key.table.name) != schema {
        return unsupported("a foreign key to a table of the node");
    }
    if key.deferral.is_deferrable() {
        return unsupported("a DEFERRABLE foreign key");
    }
    let own = def.name == key.table.name;
    let (id, parent) = if own {
        (None, def.clone())
    } else {
        let found = transaction.find(RelationName::name_of_key(&key.table.name))?;
        let found = found.ok_or_else(|| Error::internal("a table that is referred to"))?;
        (Some(found.id), definition_in(schema, &found)?)
    };
    let types = key.columns.iter().zip(&key.references);
    let mut types = types.map(|(own, other)| (def.columns[*own].ty, parent.columns[*other].ty));
    if !types.all(|(own, other)| are_alike(own, other)) {
        return unsupported("a foreign key between columns of other types");
    }
    Ok((id, parent))
}

/// True for types whose equal values are held alike, but for the width of whole numbers.
fn are_alike(a: DataType, b: DataType) -> bool {
    let is_text = |ty: DataType| matches!(ty, DataType::Text | DataType::Varchar(_));
    a == b || a.is_integer() && b.is_integer() || is_text(a) && is_text(b)
}

/// True for the unique index that `key` refers to, unless another one has the same columns.
fn relies_on(parent: &TableDef, key: &ForeignKeyDef, index: &str) -> bool {
    let columns = |index: &IndexMeta| -> BTreeSet<usize> {
        index.columns.iter().map(|column| column.ordinal).collect()
    };
    let is_unique = |index: &&IndexMeta| index.unique != Uniqueness::No && index.terms.is_empty();
    let references: BTreeSet<usize> = key.references.iter().copied().collect();
    let unique = parent.indexes.iter().filter(is_unique);
    let mut fitting = unique.filter(|index| columns(index) == references);
    let first = fitting.next();
    first.is_some_and(|first| first.name == index) && fitting.next().is_none()
}

/// Name in messages of an object that goes, and whether foreign keys may go with it.
#[derive(Clone, Copy)]
pub(super) struct Going<'a> {
    pub(super) what: &'a str,
    pub(super) behaviour: DropBehaviour,
}

/// Takes away the foreign keys that rely on the index called `index` of `parent`, which itself may
/// have some.
///
/// # Errors
/// 2BP01 under RESTRICT.
pub(super) fn lose_index(
    parent: &mut TableDef,
    children: &mut [Child],
    index: &str,
    going: Going<'_>,
) -> Result<()> {
    let before = parent.clone();
    let is_lost =
        |key: &ForeignKeyDef| key.table.name == before.name && relies_on(&before, key, index);
    for child in children.iter_mut() {
        let Child { def, is_changed, .. } = child;
        *is_changed |= lose(def, going, is_lost)?;
    }
    lose(parent, going, is_lost).map(drop)
}

/// Takes away foreign keys of `def`; true when there were any.
///
/// # Errors
/// 2BP01 under RESTRICT.
fn lose(
    def: &mut TableDef,
    Going { what, behaviour }: Going<'_>,
    is_lost: impl Fn(&ForeignKeyDef) -> bool,
) -> Result<bool> {
    let Some(key) = def.foreign_keys.iter().find(|key| is_lost(key)) else { return Ok(false) };
    if behaviour == DropBehaviour::Restrict {
        let dependent = format!("constraint {} on table {}", key.name, def.bare_name());
        return Err(needed(what, &dependent));
    }
    def.foreign_keys.retain(|key| !is_lost(key));
    Ok(true)
}

/// Takes away all foreign keys to the table `name`, which is about to go.
///
/// # Errors
/// As [`lose_index`].
pub(super) fn lose_table(
    children: &mut [Child],
    name: &str,
    behaviour: DropBehaviour,
) -> Result<()> {
    let what = format!("table {}", RelationName::name_of_key(name));
    let going = Going { what: &what, behaviour };
    for child in children {
        let Child { def, is_changed, .. } = child;
        *is_changed |= lose(def, going, |key| key.table.name == name)?;
    }
    Ok(())
}

/// Follows a table that has a new name.
pub(super) fn rename(children: &mut [Child], from: &str, to: &str) {
    for child in children {
        for key in child.def.foreign_keys.iter_mut().filter(|key| key.table.name == from) {
            to.clone_into(&mut key.table.name);
            child.is_changed = true;
        }
    }
}

/// Follows the table `name`, which lost a column that no foreign key refers to.
pub(super) fn lose_column(children: &mut [Child], name: &str, column: usize) {
    for child in children {
        for key in child.def.foreign_keys.iter_mut().filter(|key| key.table.name == name) {
            shift(&mut key.references, column);
            child.is_changed = true;
        }
    }
}

/// Moves ordinals behind a column that is gone.
pub(super) fn shift(ordinals: &mut [usize], gone: usize) {
    ordinals.iter_mut().for_each(|column| *column -= usize::from(*column > gone));
}

/// Gives the tables that refer to one the definitions that they have now.
///
/// # Errors
/// As [`redefine`].
pub(super) fn follow(session: &Session, children: &[Child]) -> Result<()> {
    let mut changed = children.iter().filter(|child| child.is_changed);
    changed.try_for_each(|child| redefine(session, child.id, &child.def))
}
