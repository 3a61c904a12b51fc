//! Tables, views, sequences, roles and rights to and from bytes, for the log and checkpoints.
//!
//! ```text
//! record: [version u8 = 1][field]...          field: [bytes u32 LE][value]
//! value:  number (1 or 8 bytes LE) | text (UTF-8) | list: [count u32 LE][field]... | nested fields
//! ```
//! Invariants: [`decode_table`] and its kin never panic, whatever the bytes, and take memory in
//! proportion to them; what they return can be used without care.
//! Elsewhere: checksums and the frame around a record (`wal`, `txn::checkpoint`).

mod field;
mod parts;
mod routine;
mod trigger;
mod value_types;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use sql::catalog::{
    ForeignKeyDef, IndexColumn, IndexMeta, RoutineDef, RowSecurity, TriggerDef, UserType, WideDef,
    WideNode,
};
use storage::TableId;
use types::Result;

use self::field::{Reader, Writer, damaged};
use crate::databases::DatabaseDef;
use crate::state::collations::UserCollation;
use crate::state::comments::Commented;
use crate::state::rights::{DefaultsOf, Grant, Rights};
use crate::state::{Extension, Role, Sequence, TableDef, TableEntry, View};

/// Version of the records.
const VERSION: u8 = 1;

/// Appends a table: its definition, indexes included, and the number of its storage.
pub fn encode_table(entry: &TableEntry, out: &mut Vec<u8>) {
    encode_table_def(&entry.def, entry.storage().id(), out);
}

/// Appends a table whose storage has the number `storage`.
pub fn encode_table_def(def: &TableDef, storage: TableId, out: &mut Vec<u8>) {
    out.push(VERSION);
    let mut writer = Writer::new(out);
    writer.field(&storage.0);
    writer.field(def);
}

/// The definition of a table and the number of its storage. The bytes hold nothing else.
///
/// # Errors
/// XX001 when they are no table.
pub fn decode_table(bytes: &[u8]) -> Result<(TableDef, TableId)> {
    let mut reader = versioned(bytes)?;
    let storage = TableId(reader.field()?);
    let def: TableDef = reader.field()?;
    reader.end()?;
    check_ordinals(&def)?;
    Ok((def, storage))
}

/// Appends a view and its name.
pub fn encode_view(name: &str, view: &View, out: &mut Vec<u8>) {
    out.push(VERSION);
    let mut writer = Writer::new(out);
    writer.field(name);
    writer.field(view);
}

/// A view and its name. The bytes hold nothing else.
///
/// # Errors
/// XX001 when they are no view.
pub fn decode_view(bytes: &[u8]) -> Result<(String, View)> {
    let mut reader = versioned(bytes)?;
    let name = reader.field()?;
    let view = reader.field()?;
    reader.end()?;
    Ok((name, view))
}

/// Appends a sequence with its value of this moment.
pub fn encode_sequence(sequence: &Sequence, out: &mut Vec<u8>) {
    out.push(VERSION);
    Writer::new(out).field(sequence);
}

/// A sequence with its value, which it shares with no other. The bytes hold nothing else.
///
/// # Errors
/// XX001 when they are no sequence.
pub fn decode_sequence(bytes: &[u8]) -> Result<Sequence> {
    let mut reader = versioned(bytes)?;
    let sequence: Sequence = reader.field()?;
    reader.end()?;
    if sequence.def.increment == 0 || sequence.def.min > sequence.def.max {
        return Err(damaged("a sequence that cannot count"));
    }
    Ok(sequence)
}

/// Appends a type that users made.
pub fn encode_user_type(ty: &UserType, out: &mut Vec<u8>) {
    out.push(VERSION);
    Writer::new(out).field(ty);
}

/// Reads a type that users made; the bytes hold nothing else.
///
/// # Errors
/// XX001 when they are none.
pub fn decode_user_type(bytes: &[u8]) -> Result<UserType> {
    let mut reader = versioned(bytes)?;
    let ty = reader.field()?;
    reader.end()?;
    Ok(ty)
}

/// Appends a collation that users made.
pub fn encode_collation(collation: &UserCollation, out: &mut Vec<u8>) {
    out.push(VERSION);
    Writer::new(out).field(collation);
}

/// Reads a collation that users made; the bytes hold nothing else.
///
/// # Errors
/// XX001 when they are none.
pub fn decode_collation(bytes: &[u8]) -> Result<UserCollation> {
    let mut reader = versioned(bytes)?;
    let collation = reader.field()?;
    reader.end()?;
    Ok(collation)
}

/// Appends an extension that was created.
pub fn encode_extension(extension: &Extension, out: &mut Vec<u8>) {
    out.push(VERSION);
    Writer::new(out).field(extension);
}

/// Reads an extension; the bytes hold nothing else.
///
/// # Errors
/// XX001 when they are none.
pub fn decode_extension(bytes: &[u8]) -> Result<Extension> {
    let mut reader = versioned(bytes)?;
    let extension = reader.field()?;
    reader.end()?;
    Ok(extension)
}

/// Appends the list of a server's databases.
pub fn encode_databases(defs: &Vec<DatabaseDef>, out: &mut Vec<u8>) {
    out.push(VERSION);
    Writer::new(out).field(defs);
}

/// Reads the list of a server's databases; the bytes hold nothing else.
///
/// # Errors
/// XX001 when they are none.
pub fn decode_databases(bytes: &[u8]) -> Result<Vec<DatabaseDef>> {
    let mut reader = versioned(bytes)?;
    let defs = reader.field()?;
    reader.end()?;
    Ok(defs)
}

/// Appends a routine.
pub fn encode_routine(routine: &RoutineDef, out: &mut Vec<u8>) {
    out.push(VERSION);
    Writer::new(out).field(routine);
}

/// Reads a routine; the bytes hold nothing else.
///
/// # Errors
/// XX001 when they are none.
pub fn decode_routine(bytes: &[u8]) -> Result<RoutineDef> {
    let mut reader = versioned(bytes)?;
    let routine = reader.field()?;
    reader.end()?;
    Ok(routine)
}

/// Appends the triggers of a table or view.
pub fn encode_triggers(triggers: &[Arc<TriggerDef>], out: &mut Vec<u8>) {
    out.push(VERSION);
    let all: Vec<TriggerDef> = triggers.iter().map(|def| TriggerDef::clone(def)).collect();
    Writer::new(out).field(&all);
}

/// Reads the triggers of a table or view; the bytes hold nothing else.
///
/// # Errors
/// XX001 when they are none.
pub fn decode_triggers(bytes: &[u8]) -> Result<Vec<Arc<TriggerDef>>> {
    let mut reader = versioned(bytes)?;
    let all: Vec<TriggerDef> = reader.field()?;
    reader.end()?;
    Ok(all.into_iter().map(Arc::new).collect())
}

/// Appends a role.
pub fn encode_role(role: &Role, out: &mut Vec<u8>) {
    out.push(VERSION);
    Writer::new(out).field(role);
}

/// A role. The bytes hold nothing else.
///
/// # Errors
/// XX001 when they are no role.
pub fn decode_role(bytes: &[u8]) -> Result<Role> {
    let mut reader = versioned(bytes)?;
    let role = reader.field()?;
    reader.end()?;
    Ok(role)
}

/// Appends the rights on an object.
pub fn encode_rights(rights: &Rights, out: &mut Vec<u8>) {
    out.push(VERSION);
    Writer::new(out).field(rights);
}

/// The rights on an object. The bytes hold nothing else.
///
/// # Errors
/// XX001 when they are none.
pub fn decode_rights(bytes: &[u8]) -> Result<Rights> {
    let mut reader = versioned(bytes)?;
    let rights = reader.field()?;
    reader.end()?;
    Ok(rights)
}

/// Appends row-level security of a table.
pub fn encode_row_security(security: &RowSecurity, out: &mut Vec<u8>) {
    out.push(VERSION);
    Writer::new(out).field(security);
}

/// Row-level security of a table. The bytes hold nothing else.
///
/// # Errors
/// XX001 when they are none.
pub fn decode_row_security(bytes: &[u8]) -> Result<RowSecurity> {
    let mut reader = versioned(bytes)?;
    let security = reader.field()?;
    reader.end()?;
    Ok(security)
}

/// Appends a comment and what it is about.
pub fn encode_comment(on: &Commented, text: &str, out: &mut Vec<u8>) {
    out.push(VERSION);
    let mut writer = Writer::new(out);
    writer.field(on);
    writer.field(text);
}

/// Reads the object of a comment and its text; the bytes hold nothing else.
///
/// # Errors
/// XX001 when they are no comment.
pub fn decode_comment(bytes: &[u8]) -> Result<(Commented, String)> {
    let mut reader = versioned(bytes)?;
    let on = reader.field()?;
    let text = reader.field()?;
    reader.end()?;
    Ok((on, text))
}

/// Appends default privileges and what they are about.
pub fn encode_defaults(of: &DefaultsOf, grants: &Vec<Grant>, out: &mut Vec<u8>) {
    out.push(VERSION);
    let mut writer = Writer::new(out);
    writer.field(of);
    writer.field(grants);
}

/// Reads where default privileges apply, and their grants; the bytes hold nothing else.
///
/// # Errors
/// XX001 when they are none.
pub fn decode_defaults(bytes: &[u8]) -> Result<(DefaultsOf, Vec<Grant>)> {
    let mut reader = versioned(bytes)?;
    let of = reader.field()?;
    let grants = reader.field()?;
    reader.end()?;
    Ok((of, grants))
}

fn versioned(bytes: &[u8]) -> Result<Reader<'_>> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => Ok(Reader::new(rest)),
        Some((other, _)) => Err(damaged(&format!("version {other} is unknown"))),
        None => Err(damaged("nothing")),
    }
}

/// Refuses ordinals beyond the columns, on which later code would panic.
fn check_ordinals(def: &TableDef) -> Result<()> {
    let keys = def.keys.iter().flat_map(|k| k.columns.iter().chain(&k.included)).copied();
    let foreign = def.foreign_keys.iter().flat_map(|k| &k.columns).copied();
    let identities = def.identities.iter().map(|(column, _)| *column);
    let plain = |column: &&IndexColumn| column.expression().is_none();
    let indexes = def.all_indexes().flat_map(|i| &i.columns).filter(plain).map(|c| c.ordinal);
    let included = def.all_indexes().flat_map(|i| &i.terms.included).copied();
    let ordinals = keys.chain(foreign).chain(identities).chain(indexes).chain(included);
    let mut ordinals = ordinals.chain(def.order_by);
    if ordinals.any(|ordinal| ordinal >= def.columns.len()) {
        return Err(damaged("a column number beyond the columns"));
    }
    let is_known = |index: &IndexMeta| {
        let mut expressions = index.columns.iter().filter_map(IndexColumn::expression);
        expressions.all(|number| number < index.terms.expressions.len())
    };
    if !def.all_indexes().all(is_known) {
        return Err(damaged("an expression that an index does not have"));
    }
    let is_placed = def.indexes.iter().all(|index| !index.kind.is_of_blocks())
        && def
            .block_indexes
            .iter()
            .all(|index| index.kind.is_of_blocks() && index.terms.is_empty());
    if !is_placed || def.block_indexes.iter().any(|index| index.columns.len() != 1) {
        return Err(damaged("an index of blocks among those of the table, or the reverse"));
    }
    let paired = |key: &ForeignKeyDef| key.columns.len() == key.references.len();
    if !def.foreign_keys.iter().all(paired) {
        return Err(damaged("a foreign key with unequal sides"));
    }
    if let Some(key) = &def.partition_by {
        let is_known = |column: &IndexColumn| match column.expression() {
            Some(number) => number < key.terms.expressions.len(),
            None => column.ordinal < def.columns.len(),
        };
        if key.columns.is_empty() || !key.columns.iter().all(is_known) {
            return Err(damaged("a partition key of no column"));
        }
    }
    match &def.wide {
        Some(wide) => check_wide(wide, def.columns.len()),
        None => Ok(()),
    }
}

/// Refuses a wide table whose parts do not lead to each other.
fn check_wide(wide: &WideDef, column_count: usize) -> Result<()> {
    let leads = |(number, node): (usize, &WideNode)| match &node.link {
        Some(link) => link.from < number && link.columns.len() == link.references.len(),
        None => number == 0,
    };
    let linked = wide.nodes.iter().enumerate().all(leads);
    let known = wide.columns.iter().all(|&(node, _)| node < wide.nodes.len());
    if linked && known && wide.columns.len() == column_count {
        return Ok(());
    }
    Err(damaged("a wide table that is made of nothing"))
}
