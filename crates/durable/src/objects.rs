//! The catalog as entries of redo: what a transaction changed, or all of it in a manifest.
//!
//! ```text
//! Catalog { kind, name, bytes }    kind: table, view, sequence, value, role, rights, comment,
//!                                  default privileges, type, extension, routine,
//!                                  triggers
//!                                  gone: 16 +, routine 61, triggers 141
//! value of a sequence: | last i64 | called u8 |
//! end of a wide table: | number of its storage u64 |
//! ```
//! Invariant: an object's entry comes after those that end others of its name, and before rows; the
//! values of sequences come behind them.
//! Elsewhere: the bytes of definitions (`catalog::codec`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use catalog::codec::{
    decode_collation, decode_comment, decode_defaults, decode_extension, decode_rights,
    decode_role, decode_routine, decode_row_security, decode_sequence, decode_table,
    decode_triggers, decode_user_type, decode_view, encode_collation, encode_comment,
    encode_defaults, encode_extension, encode_rights, encode_role, encode_routine,
    encode_row_security, encode_sequence, encode_table, encode_triggers, encode_user_type,
    encode_view,
};
use catalog::collations::UserCollation;
use catalog::locks::TableLock;
use catalog::rights::{Grant, Object, Rights, SCHEMA_NAME};
use catalog::stored::schema_of;
use catalog::{Extension, Indexes, Role, Schema, Sequence, SequenceValue, State, TableEntry, View};
use sql::catalog::{RoutineDef, RowSecurity, TriggerDef, UserType};
use sql::statement::{Persistence, RelationName};
use storage::{BufferPool, Table, TableId, Timestamp};
use txn::redo::RedoWriter;
use types::Result;

use crate::damage::damaged;
use crate::marks::Named;

mod kind {
    pub(super) const TABLE: u8 = 1;
    /// A table whose indexes wait for its first writer.
    pub(super) const DEFERRED_TABLE: u8 = 2;
    pub(super) const VIEW: u8 = 3;
    pub(super) const SEQUENCE: u8 = 4;
    pub(super) const SEQUENCE_VALUE: u8 = 5;
    pub(super) const ROLE: u8 = 6;
    /// Rights on a relation.
    pub(super) const RIGHTS: u8 = 7;
    /// Rights on a schema or the database, which the name tells.
    pub(super) const PLACE_RIGHTS: u8 = 8;
    pub(super) const COMMENT: u8 = 9;
    /// A table behind a wide table changed.
    pub(super) const WIDE_ENDED: u8 = 10;
    pub(super) const SCHEMA: u8 = 11;
    pub(super) const DEFAULTS: u8 = 12;
    pub(super) const USER_TYPE: u8 = 13;
    pub(super) const EXTENSION: u8 = 80;
    pub(super) const EXTENSION_GONE: u8 = 81;
    /// A collation that users made.
    pub(super) const COLLATION: u8 = 230;
    pub(super) const COLLATION_GONE: u8 = 231;
    pub(super) const TABLE_GONE: u8 = 17;
    pub(super) const VIEW_GONE: u8 = 18;
    pub(super) const SEQUENCE_GONE: u8 = 19;
    pub(super) const ROLE_GONE: u8 = 20;
    pub(super) const RIGHTS_GONE: u8 = 21;
    pub(super) const COMMENT_GONE: u8 = 22;
    pub(super) const SCHEMA_GONE: u8 = 23;
    pub(super) const SCHEMA_RIGHTS_GONE: u8 = 24;
    pub(super) const DEFAULTS_GONE: u8 = 25;
    pub(super) const USER_TYPE_GONE: u8 = 26;
    pub(super) const TYPE_RIGHTS_GONE: u8 = 27;
    /// A function or procedure.
    pub(super) const ROUTINE: u8 = 60;
    pub(super) const ROUTINE_GONE: u8 = 61;
    pub(super) const ROUTINE_RIGHTS_GONE: u8 = 62;
    /// The triggers of a table or view.
    pub(super) const TRIGGERS: u8 = 140;
    pub(super) const TRIGGERS_GONE: u8 = 141;
    pub(super) const ROW_SECURITY: u8 = 120;
    pub(super) const ROW_SECURITY_GONE: u8 = 121;
}

/// Bytes of the value of a sequence.
pub(super) const VALUE_BYTES: usize = 9;

fn is_permanent(persistence: Persistence) -> bool {
    persistence == Persistence::Permanent
}

/// Test for definitions that a transaction left as they were.
trait Same {
    fn is_same(&self, old: &Self) -> bool;
    fn is_permanent(&self) -> bool;
}

impl Same for Arc<TableEntry> {
    fn is_same(&self, old: &Self) -> bool {
        Arc::ptr_eq(self, old)
    }

    fn is_permanent(&self) -> bool {
        is_permanent(self.def.persistence)
    }
}

impl Same for RowSecurity {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

impl Same for View {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        is_permanent(self.persistence)
    }
}

impl Same for Arc<Sequence> {
    fn is_same(&self, old: &Self) -> bool {
        Arc::ptr_eq(self, old)
    }

    fn is_permanent(&self) -> bool {
        is_permanent(self.persistence)
    }
}

impl Same for Arc<RoutineDef> {
    fn is_same(&self, old: &Self) -> bool {
        Arc::ptr_eq(self, old)
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

impl Same for Role {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

impl Same for Schema {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

impl Same for UserType {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

impl Same for Extension {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

impl Same for UserCollation {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

impl Same for Rights {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

/// Triggers; those of `pg_temp` are nobody else's.
impl Same for Vec<Arc<TriggerDef>> {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

/// Default privileges.
impl Same for Vec<Grant> {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

impl Same for String {
    fn is_same(&self, old: &Self) -> bool {
        self == old
    }

    fn is_permanent(&self) -> bool {
        true
    }
}

/// Names in `old` that `new` does not have.
fn gone<'m, K: Ord, T: Same>(
    old: &'m BTreeMap<K, T>,
    new: &'m BTreeMap<K, T>,
) -> impl Iterator<Item = &'m K> {
    let is_kept = |name: &K| new.get(name).is_some_and(Same::is_permanent);
    old.iter().filter(move |(name, o)| o.is_permanent() && !is_kept(name)).map(|(name, _)| name)
}

/// Objects of `new` that are not in `old`.
fn changed<'m, K: Ord, T: Same>(
    old: &'m BTreeMap<K, T>,
    new: &'m BTreeMap<K, T>,
) -> impl Iterator<Item = (&'m K, &'m T)> {
    let is_new = |name: &K, n: &T| old.get(name).is_none_or(|o| !n.is_same(o));
    new.iter().filter(move |(name, n)| n.is_permanent() && is_new(name, n))
}

/// Object of a [`kind::PLACE_RIGHTS`] entry.
fn place_of(name: &str) -> Result<Object> {
    if let Some(key) = name.strip_prefix("type ") {
        return Ok(Object::Type(key.to_owned()));
    }
    if let Some(key) = name.strip_prefix("routine ") {
        return Ok(Object::Routine(key.to_owned()));
    }
    match (name, name.strip_prefix("schema ")) {
        ("schema", _) => Ok(Object::Schema(SCHEMA_NAME.to_owned())),
        ("database", _) => Ok(Object::Database),
        (_, Some(schema)) => Ok(Object::Schema(schema.to_owned())),
        (name, None) => Err(damaged(format!("rights on {name}"))),
    }
}

/// Writes what has to be done to make `new` of `old`.
pub(super) fn write_difference(old: &State, new: &State, writer: &mut RedoWriter<'_>) {
    gone(&old.tables, &new.tables).for_each(|n| writer.catalog(kind::TABLE_GONE, n, &[]));
    gone(&old.views, &new.views).for_each(|n| writer.catalog(kind::VIEW_GONE, n, &[]));
    gone(&old.sequences, &new.sequences).for_each(|n| writer.catalog(kind::SEQUENCE_GONE, n, &[]));
    gone(&old.schemas, &new.schemas).for_each(|n| writer.catalog(kind::SCHEMA_GONE, n, &[]));
    changed(&old.schemas, &new.schemas).for_each(|(n, _)| writer.catalog(kind::SCHEMA, n, &[]));
    write_collations(old, new, writer);
    write_types(old, new, writer);
    write_extensions(old, new, writer);
    write_routines(old, new, writer);
    gone(&old.roles, &new.roles).for_each(|n| writer.catalog(kind::ROLE_GONE, n, &[]));
    for object in gone(&old.rights, &new.rights) {
        match object {
            Object::Relation(name) => writer.catalog(kind::RIGHTS_GONE, name, &[]),
            Object::Schema(name) => writer.catalog(kind::SCHEMA_RIGHTS_GONE, name, &[]),
            Object::Type(key) => writer.catalog(kind::TYPE_RIGHTS_GONE, key, &[]),
            Object::Routine(key) => writer.catalog(kind::ROUTINE_RIGHTS_GONE, key, &[]),
            Object::Database => {}
        }
    }
    let mut bytes = Vec::new();
    for on in gone(&old.comments, &new.comments) {
        bytes.clear();
        encode_comment(on, "", &mut bytes);
        writer.catalog(kind::COMMENT_GONE, "", &bytes);
    }
    for of in gone(&old.default_privileges, &new.default_privileges) {
        bytes.clear();
        encode_defaults(of, &Vec::new(), &mut bytes);
        writer.catalog(kind::DEFAULTS_GONE, "", &bytes);
    }
    for (name, entry) in changed(&old.tables, &new.tables) {
        bytes.clear();
        encode_table(entry, &mut bytes);
        let kind = if entry.is_indexed() { kind::TABLE } else { kind::DEFERRED_TABLE };
        writer.catalog(kind, name, &bytes);
        if entry.freshness.has_ended() {
            write_end(entry, writer);
        }
    }
    for (name, view) in changed(&old.views, &new.views) {
        bytes.clear();
        encode_view(name, view, &mut bytes);
        writer.catalog(kind::VIEW, name, &bytes);
    }
    for (name, sequence) in changed(&old.sequences, &new.sequences) {
        bytes.clear();
        encode_sequence(sequence, &mut bytes);
        writer.catalog(kind::SEQUENCE, name, &bytes);
    }
    for (name, role) in changed(&old.roles, &new.roles) {
        bytes.clear();
        encode_role(role, &mut bytes);
        writer.catalog(kind::ROLE, name, &bytes);
    }
    write_rights(old, new, writer);
    write_row_security(old, new, writer);
    write_triggers(old, new, writer);
    for (of, grants) in changed(&old.default_privileges, &new.default_privileges) {
        bytes.clear();
        encode_defaults(of, grants, &mut bytes);
        writer.catalog(kind::DEFAULTS, "", &bytes);
    }
    for (on, text) in changed(&old.comments, &new.comments) {
        bytes.clear();
        encode_comment(on, text, &mut bytes);
        writer.catalog(kind::COMMENT, "", &bytes);
    }
}

/// Collations that users made.
fn write_collations(old: &State, new: &State, writer: &mut RedoWriter<'_>) {
    for key in gone(&old.collations, &new.collations) {
        writer.catalog(kind::COLLATION_GONE, key, &[]);
    }
    for (key, collation) in changed(&old.collations, &new.collations) {
        let mut bytes = Vec::new();
        encode_collation(collation, &mut bytes);
        writer.catalog(kind::COLLATION, key, &bytes);
    }
}

/// Extensions that came, moved and went.
fn write_extensions(old: &State, new: &State, writer: &mut RedoWriter<'_>) {
    for name in gone(&old.extensions, &new.extensions) {
        writer.catalog(kind::EXTENSION_GONE, name, &[]);
    }
    for (name, extension) in changed(&old.extensions, &new.extensions) {
        let mut bytes = Vec::new();
        encode_extension(extension, &mut bytes);
        writer.catalog(kind::EXTENSION, name, &bytes);
    }
}

/// Types that users made.
fn write_types(old: &State, new: &State, writer: &mut RedoWriter<'_>) {
    gone(&old.types, &new.types).for_each(|n| writer.catalog(kind::USER_TYPE_GONE, n, &[]));
    let mut bytes = Vec::new();
    for (key, ty) in changed(&old.types, &new.types) {
        bytes.clear();
        encode_user_type(ty, &mut bytes);
        writer.catalog(kind::USER_TYPE, key, &bytes);
    }
}

/// Functions and procedures.
fn write_routines(old: &State, new: &State, writer: &mut RedoWriter<'_>) {
    gone(&old.routines, &new.routines).for_each(|n| writer.catalog(kind::ROUTINE_GONE, n, &[]));
    let mut bytes = Vec::new();
    for (key, routine) in changed(&old.routines, &new.routines) {
        bytes.clear();
        encode_routine(routine, &mut bytes);
        writer.catalog(kind::ROUTINE, key, &bytes);
    }
}

/// Row-level security of tables.
fn write_row_security(old: &State, new: &State, writer: &mut RedoWriter<'_>) {
    for name in gone(&old.row_security, &new.row_security) {
        writer.catalog(kind::ROW_SECURITY_GONE, name, &[]);
    }
    for (name, security) in changed(&old.row_security, &new.row_security) {
        let mut bytes = Vec::new();
        encode_row_security(security, &mut bytes);
        writer.catalog(kind::ROW_SECURITY, name, &bytes);
    }
}

/// Triggers of tables and views.
fn write_triggers(old: &State, new: &State, writer: &mut RedoWriter<'_>) {
    for name in gone(&old.triggers, &new.triggers) {
        writer.catalog(kind::TRIGGERS_GONE, name, &[]);
    }
    for (name, own) in changed(&old.triggers, &new.triggers) {
        let mut bytes = Vec::new();
        encode_triggers(own, &mut bytes);
        writer.catalog(kind::TRIGGERS, name, &bytes);
    }
}

/// Rights on what is there.
fn write_rights(old: &State, new: &State, writer: &mut RedoWriter<'_>) {
    let mut bytes = Vec::new();
    for (object, rights) in changed(&old.rights, &new.rights) {
        bytes.clear();
        encode_rights(rights, &mut bytes);
        match object {
            Object::Relation(name) => writer.catalog(kind::RIGHTS, name, &bytes),
            Object::Schema(name) if name == SCHEMA_NAME => {
                writer.catalog(kind::PLACE_RIGHTS, "schema", &bytes);
            }
            Object::Schema(name) => {
                writer.catalog(kind::PLACE_RIGHTS, &format!("schema {name}"), &bytes);
            }
            Object::Database => writer.catalog(kind::PLACE_RIGHTS, "database", &bytes),
            Object::Type(key) => {
                writer.catalog(kind::PLACE_RIGHTS, &format!("type {key}"), &bytes);
            }
            Object::Routine(key) => {
                writer.catalog(kind::PLACE_RIGHTS, &format!("routine {key}"), &bytes);
            }
        }
    }
}

/// All permanent objects, for a manifest.
pub(super) fn write_all(state: &State) -> Vec<u8> {
    let mut out = Vec::new();
    write_difference(&State::default(), state, &mut RedoWriter::new(&mut out));
    out
}

/// Writes that what the wide table is made of changed.
pub(super) fn write_end(wide: &TableEntry, writer: &mut RedoWriter<'_>) {
    writer.catalog(kind::WIDE_ENDED, &wide.def.name, &wide.storage().id().0.to_le_bytes());
}

/// Writes a place for the value of a sequence.
pub(super) fn write_value(name: &str, writer: &mut RedoWriter<'_>) {
    writer.catalog(kind::SEQUENCE_VALUE, name, &[0; VALUE_BYTES]);
}

/// The value of a sequence as bytes.
pub(super) fn value_bytes(value: SequenceValue) -> [u8; VALUE_BYTES] {
    let mut bytes = [0; VALUE_BYTES];
    bytes[..8].copy_from_slice(&value.last.to_le_bytes());
    bytes[8] = value.called.into();
    bytes
}

/// True when an entry of this kind is the value of a sequence, which follows the rows of a
/// transaction; those of all others come first.
pub(super) fn is_value(kind: u8) -> bool {
    kind == kind::SEQUENCE_VALUE
}

fn value_of(bytes: &[u8]) -> Option<SequenceValue> {
    let (last, called) = bytes.split_first_chunk::<8>()?;
    let called = match called {
        [0] => false,
        [1] => true,
        _ => return None,
    };
    Some(SequenceValue { last: i64::from_le_bytes(*last), called })
}

/// The catalog as entries say it, and storage for its tables.
pub(super) struct Objects {
    pub(super) state: State,
    /// Transactions that files name.
    pub(super) named: Named,
    /// Tables by number.
    pub(super) tables: HashMap<TableId, Arc<Table>>,
    /// Tables whose indexes wait for a writer, by number.
    pub(super) deferred: HashSet<TableId>,
    /// The largest number of a table or sequence so far.
    pub(super) last_object: u64,
    pool: Arc<BufferPool>,
}

impl Objects {
    pub(super) fn new(pool: Arc<BufferPool>) -> Self {
        let (state, named, tables, deferred) = Default::default();
        Self { state, named, tables, deferred, last_object: 0, pool }
    }

    /// Carries out an entry.
    ///
    /// # Errors
    /// XX001 for an entry that no [`write_difference`] wrote.
    pub(super) fn apply(&mut self, kind: u8, name: &str, bytes: &[u8]) -> Result<()> {
        let Self { state, .. } = self;
        let name = name.to_owned();
        match kind {
            kind::TABLE => self.put_table(name, bytes, Indexes::Built)?,
            kind::DEFERRED_TABLE => self.put_table(name, bytes, Indexes::Deferred)?,
            kind::WIDE_ENDED => self.end_wide(&name, bytes)?,
            kind::VIEW => {
                let (_, view) = decode_view(bytes)?;
                state.views.insert(name, view);
            }
            kind::SEQUENCE => {
                let sequence = decode_sequence(bytes)?;
                self.last_object = self.last_object.max(sequence.id);
                state.sequences.insert(name, Arc::new(sequence));
            }
            kind::SEQUENCE_VALUE => self.set_value(&name, bytes)?,
            kind::ROLE => {
                state.roles.insert(name, decode_role(bytes)?);
            }
            kind::RIGHTS
            | kind::PLACE_RIGHTS
            | kind::RIGHTS_GONE
            | kind::SCHEMA_RIGHTS_GONE
            | kind::TYPE_RIGHTS_GONE
            | kind::ROUTINE_RIGHTS_GONE => {
                self.apply_rights(kind, name, bytes)?;
            }
            kind::EXTENSION | kind::EXTENSION_GONE => self.apply_extension(kind, name, bytes)?,
            kind::COLLATION | kind::COLLATION_GONE => self.apply_collation(kind, name, bytes)?,
            kind::USER_TYPE | kind::USER_TYPE_GONE => self.apply_type(kind, name, bytes)?,
            kind::ROUTINE | kind::ROUTINE_GONE => self.apply_routine(kind, name, bytes)?,
            kind::SCHEMA | kind::SCHEMA_GONE => self.apply_schema(kind, name)?,
            kind::ROW_SECURITY | kind::ROW_SECURITY_GONE => {
                self.apply_row_security(kind, name, bytes)?;
            }
            kind::TRIGGERS | kind::TRIGGERS_GONE => self.apply_triggers(kind, name, bytes)?,
            kind::COMMENT => {
                let (on, text) = decode_comment(bytes)?;
                state.comments.insert(on, text);
            }
            kind::DEFAULTS => {
                let (of, grants) = decode_defaults(bytes)?;
                state.default_privileges.insert(of, grants);
            }
            kind::DEFAULTS_GONE => {
                let (of, _) = decode_defaults(bytes)?;
                let removed = state.default_privileges.remove(&of);
                removed.ok_or_else(|| missing("default privileges of", &of.role))?;
            }
            kind::COMMENT_GONE => {
                let (on, _) = decode_comment(bytes)?;
                state.comments.remove(&on).ok_or_else(|| missing("comment", &name))?;
            }
            kind::ROLE_GONE => {
                state.roles.remove(&name).ok_or_else(|| missing("role", &name))?;
            }
            kind::TABLE_GONE => {
                state.tables.remove(&name).ok_or_else(|| missing("table", &name))?;
            }
            kind::VIEW_GONE => {
                state.views.remove(&name).ok_or_else(|| missing("view", &name))?;
            }
            kind::SEQUENCE_GONE => {
                state.sequences.remove(&name).ok_or_else(|| missing("sequence", &name))?;
            }
            other => return Err(damaged(format!("a change of the catalog is of kind {other}"))),
        }
        Ok(())
    }

    /// [`Self::apply`] of schemas.
    fn apply_schema(&mut self, kind: u8, name: String) -> Result<()> {
        let schemas = &mut self.state.schemas;
        if kind == kind::SCHEMA {
            schemas.insert(name, Schema);
        } else {
            schemas.remove(&name).ok_or_else(|| missing("schema", &name))?;
        }
        Ok(())
    }

    /// [`Self::apply`] of types.
    fn apply_type(&mut self, kind: u8, name: String, bytes: &[u8]) -> Result<()> {
        let types = &mut self.state.types;
        if kind == kind::USER_TYPE {
            types.insert(name, decode_user_type(bytes)?);
        } else {
            types.remove(&name).ok_or_else(|| missing("type", &name))?;
        }
        Ok(())
    }

    /// [`Self::apply`] of extensions.
    fn apply_extension(&mut self, kind: u8, name: String, bytes: &[u8]) -> Result<()> {
        let extensions = &mut self.state.extensions;
        if kind == kind::EXTENSION {
            extensions.insert(name, decode_extension(bytes)?);
        } else {
            extensions.remove(&name).ok_or_else(|| missing("extension", &name))?;
        }
        Ok(())
    }

    /// [`Self::apply`] of collations.
    fn apply_collation(&mut self, kind: u8, key: String, bytes: &[u8]) -> Result<()> {
        let collations = &mut self.state.collations;
        if kind == kind::COLLATION {
            collations.insert(key, decode_collation(bytes)?);
        } else {
            collations.remove(&key).ok_or_else(|| missing("collation", &key))?;
        }
        Ok(())
    }

    /// [`Self::apply`] of routines.
    fn apply_routine(&mut self, kind: u8, name: String, bytes: &[u8]) -> Result<()> {
        let routines = &mut self.state.routines;
        if kind == kind::ROUTINE {
            routines.insert(name, Arc::new(decode_routine(bytes)?));
        } else {
            routines.remove(&name).ok_or_else(|| missing("routine", &name))?;
        }
        Ok(())
    }

    /// [`Self::apply`] of row-level security.
    fn apply_row_security(&mut self, kind: u8, name: String, bytes: &[u8]) -> Result<()> {
        let all = &mut self.state.row_security;
        if kind == kind::ROW_SECURITY {
            all.insert(name, decode_row_security(bytes)?);
        } else {
            all.remove(&name).ok_or_else(|| missing("row-level security of", &name))?;
        }
        Ok(())
    }

    /// [`Self::apply`] of triggers.
    fn apply_triggers(&mut self, kind: u8, name: String, bytes: &[u8]) -> Result<()> {
        let all = &mut self.state.triggers;
        if kind == kind::TRIGGERS {
            all.insert(name, decode_triggers(bytes)?);
        } else {
            all.remove(&name).ok_or_else(|| missing("triggers of", &name))?;
        }
        Ok(())
    }

    /// [`Self::apply`] of rights.
    fn apply_rights(&mut self, kind: u8, name: String, bytes: &[u8]) -> Result<()> {
        let object = match kind {
            kind::PLACE_RIGHTS => place_of(&name)?,
            kind::SCHEMA_RIGHTS_GONE => Object::Schema(name.clone()),
            kind::TYPE_RIGHTS_GONE => Object::Type(name.clone()),
            kind::ROUTINE_RIGHTS_GONE => Object::Routine(name.clone()),
            _ => Object::Relation(name.clone()),
        };
        match kind {
            kind::RIGHTS | kind::PLACE_RIGHTS => {
                self.state.rights.insert(object, decode_rights(bytes)?);
            }
            _ => {
                let rights = self.state.rights.remove(&object);
                rights.ok_or_else(|| missing("rights on", &name))?;
            }
        }
        Ok(())
    }

    /// A wide table that was dropped or filled anew by others stays as it is.
    fn end_wide(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let id = bytes.try_into().map(u64::from_le_bytes).map(TableId);
        let id = id.map_err(|_| damaged("the end of a wide table has no number"))?;
        let wide = self.state.tables.get(name).filter(|entry| entry.storage().id() == id);
        if let Some(entry) = wide {
            entry.freshness.end(Timestamp(0));
        }
        Ok(())
    }

    /// Gives a sequence the value of an entry for which [`is_value`] holds.
    ///
    /// # Errors
    /// XX001 when there is no such sequence, or the bytes are no value.
    pub(super) fn set_value(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let value = value_of(bytes).ok_or_else(|| damaged("a sequence has no value"))?;
        let sequence = self.state.sequences.get(name);
        let sequence = sequence.ok_or_else(|| missing("sequence", name))?;
        *sequence.value.lock() = value;
        Ok(())
    }

    fn put_table(&mut self, name: String, bytes: &[u8], indexes: Indexes) -> Result<()> {
        let (def, id) = decode_table(bytes)?;
        if def.name != name || id.is_temporary() {
            return Err(damaged(format!("table {name} has number {id} and name {}", def.name)));
        }
        self.last_object = self.last_object.max(id.0);
        let storage = self.tables.entry(id).or_insert_with(|| {
            let schema = schema_of(&def.columns);
            Table::new(id, name.clone(), schema, def.layout, Arc::clone(&self.pool))
        });
        if storage.schema().len() != def.columns.len() {
            return Err(damaged(format!("table {name} has other columns than its rows")));
        }
        match indexes {
            Indexes::Built => self.deferred.remove(&id),
            Indexes::Deferred => self.deferred.insert(id),
        };
        // What it has is built when all rows are there.
        let lock = Arc::<TableLock>::default();
        let entry = TableEntry::new(def, Arc::clone(storage), lock, Indexes::Deferred);
        entry.freshness.begin(Timestamp(0));
        // The same rows under another definition.
        let known = self.state.tables.get(&name).filter(|known| known.storage().id() == id);
        if known.is_some_and(|known| known.freshness.has_ended()) {
            entry.freshness.end(Timestamp(0));
        }
        self.state.tables.insert(name, Arc::new(entry));
        Ok(())
    }

    /// Databases may be older than schemas and have names with points: what stands before the point
    /// is a schema then.
    pub(super) fn add_schemas(&mut self) {
        let State { tables, views, sequences, schemas, .. } = &mut self.state;
        for key in tables.keys().chain(views.keys()).chain(sequences.keys()) {
            let schema = RelationName::schema_of_key(key);
            if schema != SCHEMA_NAME && !schemas.contains_key(schema) {
                schemas.insert(schema.to_owned(), Schema);
            }
        }
    }

    /// Gives up storage that no entry leads to: between transactions.
    pub(super) fn forget_dropped(&mut self) {
        let used = |id: &TableId| self.state.tables.values().any(|e| e.storage().id() == *id);
        self.tables.retain(|id, _| used(id));
    }
}

fn missing(what: &str, name: &str) -> types::Error {
    damaged(format!("{what} {name} changes, but does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_points_from_before_schemas_stay_in_reach() {
        let mut objects = Objects::new(BufferPool::new(1 << 20));
        let view = View {
            sql: "SELECT 1".into(),
            columns: Vec::new(),
            output: Vec::new(),
            depends_on: Vec::new(),
            persistence: Persistence::Permanent,
            keys: Vec::new(),
            options: Vec::new(),
            defaults: Vec::new(),
        };
        for name in ["plain", "old.name", ".new.name"] {
            objects.state.views.insert(name.to_owned(), view.clone());
        }
        objects.add_schemas();
        assert_eq!(objects.state.schemas.keys().collect::<Vec<_>>(), ["old"]);
    }
}
