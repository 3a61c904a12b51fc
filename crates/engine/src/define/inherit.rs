//! Tables that inherit from others: what CREATE, ALTER and DROP TABLE do for them.
//!
//! Elsewhere: families of tables (`catalog::families`), columns and constraints that are one with
//! those of a parent (`sql`'s binder).

use std::collections::BTreeSet;

use catalog::TableDef;
use catalog::locks::LockMode;
use sql::catalog::{TableMeta, TableRef};
use sql::statement::{DropBehaviour, MergeNotice, RelationName, SetInheritance};
use types::{Error, Result, SqlState};

use super::{needed, redefined};
use crate::statement::running::Running;
use crate::words::notice::Severity;

/// Locks the parents of a new table, and tells what it has in common with them.
///
/// # Errors
/// 42501 for parents of others; 0A000 for those that a wide table has rows of.
pub(super) fn begin(
    running: &mut Running<'_>,
    parents: &[TableRef],
    merged: Vec<MergeNotice>,
) -> Result<()> {
    for parent in parents {
        lock(running, parent)?;
    }
    tell(running, merged);
    Ok(())
}

/// ALTER TABLE ... INHERIT, and what else changes the parts that a table inherits.
pub(super) fn set(
    running: &mut Running<'_>,
    def: &mut TableDef,
    set: &SetInheritance,
) -> Result<()> {
    if let Some(parent) = &set.joins {
        lock(running, parent)?;
    }
    tell(running, set.merged.clone());
    def.inheritance = set.inheritance.clone();
    Ok(())
}

fn lock(running: &mut Running<'_>, parent: &TableRef) -> Result<()> {
    let (state, who) = (running.session.state(), running.session.who());
    if !state.is_superuser(&who) {
        state.check_owner(&who, "table", parent.name())?;
    }
    let is_part = |entry: &std::sync::Arc<catalog::TableEntry>| {
        let wide = entry.def.wide.as_ref();
        wide.is_some_and(|wide| wide.nodes.iter().any(|node| node.table == parent.name()))
    };
    if state.tables.values().any(is_part) {
        return Err(Error::unsupported("a table that inherits from one behind a wide table"));
    }
    redefined::locked_in(running.session, parent, LockMode::ShareRowExclusive)?;
    Ok(())
}

fn tell(running: &mut Running<'_>, merged: Vec<MergeNotice>) {
    for MergeNotice { message, detail } in merged {
        let error = Error::new(SqlState::SUCCESSFUL_COMPLETION, message);
        let error = match detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        };
        running.session.tell_all(Severity::Notice, error);
    }
}

/// The tables to drop and, with CASCADE, those that inherit from them.
///
/// # Errors
/// 2BP01 for others without CASCADE.
pub(super) fn with_heirs(
    running: &mut Running<'_>,
    mut names: BTreeSet<String>,
    behaviour: DropBehaviour,
) -> Result<BTreeSet<String>> {
    let state = running.session.state();
    let mut others = BTreeSet::new();
    for name in &names {
        let Some(entry) = state.tables.get(name) else { continue };
        let heirs = entry.family().into_iter().flat_map(|family| &family.heirs);
        for heir in heirs.filter(|heir| !names.contains(heir.table.name())) {
            let (of, own) = (entry.def.bare_name(), heir.table.bare_name());
            if behaviour == DropBehaviour::Restrict {
                return Err(needed(&format!("table {of}"), &format!("table {own}")));
            }
            others.insert(heir.table.name().to_owned());
        }
    }
    let shown =
        |name: &String| format!("drop cascades to table {}", RelationName::name_of_key(name));
    let told = match others.iter().collect::<Vec<_>>()[..] {
        [] => None,
        [one] => Some((shown(one), None)),
        ref all => {
            let details: Vec<String> = all.iter().map(|name| shown(name)).collect();
            let message = format!("drop cascades to {} other objects", all.len());
            Some((message, Some(details.join("\n"))))
        }
    };
    if let Some((message, detail)) = told {
        let error = Error::new(SqlState::SUCCESSFUL_COMPLETION, message);
        let error = detail.map_or(error.clone(), |detail| error.with_detail(detail));
        running.session.tell_all(Severity::Notice, error);
    }
    names.extend(others);
    Ok(names)
}
