//! Partitions: their bounds, ATTACH and DETACH, and what they take over from their table.
//!
//! ```text
//! FOR VALUES (texts) -> values -> beside the other partitions: 42P17 -> catalog
//!   -> rows of the default partition, and of the table that is attached: 23514
//! ```
//! Elsewhere: trees of partitions (`catalog::partitions`), rows on their way
//! (`write::partitioned`).

use std::cmp::Ordering;
use std::sync::Arc;

use catalog::keys;
use catalog::locks::LockMode;
use catalog::names::quoted_relation;
use catalog::partitions::{key_exprs, places, values_of};
use catalog::stored::{foreign_index, key_index};
use catalog::{State, TableDef, TableEntry, undefined_table};
use sql::algebra::partition::{BoundValues, PartitionNode, Scalar, ends_order};
use sql::catalog::{
    ForeignKeyDef, IndexColumn, IndexMeta, KeyDef, PartitionBound, PartitionOf, RangeEnd,
    TableMeta, Uniqueness,
};
use sql::statement::{PartitionPlace, PartitionStatement, RelationName};
use types::{DataType, Error, Result, SqlState, Value, text};

use super::redefined::{self, Redefined};
use super::{names, validate};
use crate::QueryResult;
use crate::statement::defaults::query_of;
use crate::statement::running::Running;
use crate::transaction::work::stale;
use crate::write::deferred;
use crate::write::partitioned::Routes;

/// ATTACH and DETACH.
pub(super) fn run(running: &mut Running<'_>, statement: PartitionStatement) -> Result<QueryResult> {
    match statement {
        PartitionStatement::Attach { table, place } => {
            let parent =
                redefined::locked_in(running.session, &place.parent, LockMode::ShareRowExclusive)?;
            let entry = redefined::locked(running.session, &table)?;
            attach(running, &parent, entry, &place)?;
            Ok(QueryResult::command("ALTER TABLE"))
        }
        PartitionStatement::Detach { parent, table } => {
            let parent = redefined::locked(running.session, &parent)?;
            let entry = redefined::locked(running.session, &table)?;
            detach(running, &parent, &entry)?;
            Ok(QueryResult::command("ALTER TABLE"))
        }
        PartitionStatement::AttachIndex { index, part } => {
            attach_index(running, &index, &part)?;
            Ok(QueryResult::command("ALTER INDEX"))
        }
    }
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
}

/// The place of a new partition called `name`, with values for the expressions of its bound.
///
/// # Errors
/// 42P17 beside the other partitions; what an expression raises.
pub(super) fn place(
    running: &mut Running<'_>,
    parent: &TableEntry,
    name: &str,
    bound: &PartitionBound,
) -> Result<PartitionOf> {
    let Some(key) = &parent.def.partition_by else { return Err(stale()) };
    let types: Vec<DataType> = key_exprs(&parent.def, key)?.iter().map(|key| key.ty).collect();
    let bound = evaluated(running, bound, &types)?;
    let values = values_of(&bound, &types)?;
    let bare = RelationName::name_of_key(name);
    let tree = parent.partitions().ok_or_else(stale)?;
    check_bound(&tree.root, bare, &values, &types)?;
    Ok(PartitionOf { parent: parent.def.name.clone(), bound, indexes: Vec::new() })
}

/// The bound with texts of values in the place of expressions.
fn evaluated(
    running: &mut Running<'_>,
    bound: &PartitionBound,
    types: &[DataType],
) -> Result<PartitionBound> {
    let mut value = |expr: &str, ty: DataType| -> Result<Option<String>> {
        let text = format!("SELECT CAST(({expr}) AS {ty})");
        let result = query_of(running, &text)?;
        let value = result.batches.first().map_or(Value::Null, |batch| batch.columns[0].value(0));
        Ok((!value.is_null()).then(|| text::format(&value, ty)))
    };
    let mut ends = |ends: &[RangeEnd<String>]| -> Result<Vec<RangeEnd<String>>> {
        let end = |(end, ty): (&RangeEnd<String>, &DataType)| {
            Ok(match end {
                RangeEnd::Min => RangeEnd::Min,
                RangeEnd::Max => RangeEnd::Max,
                RangeEnd::Value(expr) => match value(expr, *ty)? {
                    Some(text) => RangeEnd::Value(text),
                    None => return Err(invalid("cannot specify NULL in range bound".to_owned())),
                },
            })
        };
        ends.iter().zip(types).map(end).collect()
    };
    Ok(match bound {
        PartitionBound::Default | PartitionBound::Hash { .. } => bound.clone(),
        PartitionBound::Range { from, to } => {
            PartitionBound::Range { from: ends(from)?, to: ends(to)? }
        }
        PartitionBound::List(exprs) => {
            let ty = types.first().copied().unwrap_or(DataType::Text);
            let mut texts: Vec<Option<String>> = Vec::with_capacity(exprs.len());
            for expr in exprs.iter().flatten() {
                let text = value(expr, ty)?;
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            PartitionBound::List(texts)
        }
    })
}

/// Refuses a bound that has rows of another partition, or none at all.
fn check_bound(
    node: &PartitionNode,
    name: &str,
    bound: &BoundValues,
    types: &[DataType],
) -> Result<()> {
    let other = |number: usize| RelationName::name_of_key(&node.parts[number].table);
    let overlaps = |number: usize| {
        invalid(format!("partition \"{name}\" would overlap partition \"{}\"", other(number)))
    };
    match bound {
        BoundValues::Default => match node.default {
            Some(number) => Err(invalid(format!(
                "partition \"{name}\" conflicts with existing default partition \"{}\"",
                other(number)
            ))),
            None => Ok(()),
        },
        BoundValues::List(values) => {
            let taken = values.iter().find_map(|value| {
                let found = node.part_of(&[Scalar::from(value)]);
                found.filter(|number| Some(*number) != node.default)
            });
            taken.map_or(Ok(()), |number| Err(overlaps(number)))
        }
        BoundValues::Range { from, to } => {
            if ends_order(from, to, types) != Ordering::Less {
                let shown = |ends: &[RangeEnd<Value>]| -> String {
                    let ends = ends.iter().zip(types).map(|(end, ty)| match end {
                        RangeEnd::Min => "MINVALUE".to_owned(),
                        RangeEnd::Max => "MAXVALUE".to_owned(),
                        RangeEnd::Value(value) => literal(&text::format(value, *ty), *ty),
                    });
                    ends.collect::<Vec<_>>().join(", ")
                };
                let detail = format!(
                    "Specified lower bound ({}) is greater than or equal to upper bound ({}).",
                    shown(from),
                    shown(to)
                );
                let message = format!("empty range bound specified for partition \"{name}\"");
                return Err(invalid(message).with_detail(detail));
            }
            let meets = |part: &sql::algebra::partition::Part| match &part.bound {
                BoundValues::Range { from: low, to: high } => {
                    ends_order(from, high, types) == Ordering::Less
                        && ends_order(low, to, types) == Ordering::Less
                }
                _ => false,
            };
            node.parts.iter().position(meets).map_or(Ok(()), |number| Err(overlaps(number)))
        }
        BoundValues::Hash { modulus, remainder } => {
            check_hash(node, *modulus, *remainder, &overlaps)
        }
    }
}

fn check_hash(
    node: &PartitionNode,
    modulus: u64,
    remainder: u64,
    overlaps: &dyn Fn(usize) -> Error,
) -> Result<()> {
    for part in &node.parts {
        let BoundValues::Hash { modulus: known, .. } = part.bound else { continue };
        let (small, large) = (known.min(modulus), known.max(modulus));
        if large % small == 0 {
            continue;
        }
        let of = RelationName::name_of_key(&part.table);
        let detail = if modulus > known {
            format!(
                "The new modulus {modulus} is not divisible by {known}, the modulus of existing \
                 partition \"{of}\"."
            )
        } else {
            format!(
                "The new modulus {modulus} is not a factor of {known}, the modulus of existing \
                 partition \"{of}\"."
            )
        };
        let message =
            "every hash partition modulus must be a factor of the next larger modulus".to_owned();
        return Err(invalid(message).with_detail(detail));
    }
    let meets = |part: &sql::algebra::partition::Part| match part.bound {
        BoundValues::Hash { modulus: known, remainder: own } => {
            let small = known.min(modulus);
            own % small == remainder % small
        }
        _ => false,
    };
    node.parts.iter().position(meets).map_or(Ok(()), |number| Err(overlaps(number)))
}

/// A value of a bound as SQL text.
pub(crate) fn literal(text: &str, ty: DataType) -> String {
    let is_bare = ty.is_integer() || ty.is_numeric() || ty == DataType::Boolean;
    if is_bare { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}

/// Tests the rows of a table, and of those below it, against the bounds above it.
///
/// # Errors
/// 23514 with `message` when a row is not one of it.
fn verify(running: &mut Running<'_>, key: &str, message: String) -> Result<()> {
    let entry = running.session.state().tables.get(key).cloned().ok_or_else(stale)?;
    let Some(routes) = Routes::of(running.session, &entry)? else { return Ok(()) };
    let query =
        validate::bind(running.session, &format!("SELECT * FROM {}", quoted_relation(key)))?;
    let run = validate::run_newest(running.session);
    let result = running.run_query(&query, run)?;
    for batch in &result.batches {
        routes.leaves(batch).map_err(|error| match error.state() {
            SqlState::CHECK_VIOLATION => Error::new(SqlState::CHECK_VIOLATION, message.clone())
                .about_part(entry.def.about_table()),
            _ => error,
        })?;
    }
    Ok(())
}

/// Tests the rows of the default partition of `parent`, which the catalog has with a new one.
///
/// # Errors
/// 23514.
pub(super) fn verify_default(running: &mut Running<'_>, parent: &str, new: &str) -> Result<()> {
    let entry = running.session.state().tables.get(parent).cloned().ok_or_else(stale)?;
    let tree = entry.partitions().ok_or_else(stale)?;
    let Some(part) = tree.root.default.map(|number| &tree.root.parts[number]) else {
        return Ok(());
    };
    if part.table == new {
        return Ok(());
    }
    redefined::locked_named(running.session, &part.table)?;
    let bare = RelationName::name_of_key(&part.table);
    let message = format!(
        "updated partition constraint for default partition \"{bare}\" would be violated by some \
         row"
    );
    verify(running, &part.table, message)
}

fn attach(
    running: &mut Running<'_>,
    parent: &Arc<TableEntry>,
    entry: Arc<TableEntry>,
    wanted: &PartitionPlace,
) -> Result<()> {
    deferred::refuse_waiting(running.session, &entry, "ALTER TABLE")?;
    let (name, bare) = (entry.def.name.clone(), entry.def.bare_name().to_owned());
    if entry.def.partition_of.is_some() {
        let message = format!("\"{bare}\" is already a partition");
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    }
    let mut above = Some(Arc::clone(parent));
    while let Some(table) = above {
        if table.def.name == name {
            let message = "circular inheritance not allowed".to_owned();
            let detail =
                format!("\"{}\" is already a child of \"{bare}\".", parent.def.bare_name());
            return Err(Error::new(SqlState::DUPLICATE_TABLE, message).with_detail(detail));
        }
        let place = table.def.partition_of.as_ref();
        above = place.and_then(|place| running.session.state().tables.get(&place.parent).cloned());
    }
    check_persistence(&parent.def, &entry.def)?;
    check_columns(&parent.def, &entry.def)?;
    let mut own = place(running, parent, &name, &wanted.bound)?;
    let mut table = Redefined::new(entry);
    let added = take_over(running, parent, &mut table, &mut own)?;
    table.def.partition_of = Some(own);
    replace_and_test(running, table, &added)?;
    follow_parts(running, &name)?;
    let message = format!("partition constraint of relation \"{bare}\" is violated by some row");
    verify(running, &name, message)?;
    verify_default(running, &parent.def.name, &name)
}

/// 42809 for a partition that lives longer or shorter than its table.
pub(super) fn check_persistence(parent: &TableDef, def: &TableDef) -> Result<()> {
    if parent.persistence == def.persistence {
        return Ok(());
    }
    let (is, of) = match def.persistence {
        sql::statement::Persistence::Permanent => ("a permanent", "temporary"),
        sql::statement::Persistence::Temporary => ("a temporary", "permanent"),
    };
    let name = parent.bare_name();
    let message = format!("cannot create {is} relation as partition of {of} relation \"{name}\"");
    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
}

/// Refuses a table whose columns or constraints are not those of its new parent.
fn check_columns(parent: &TableDef, def: &TableDef) -> Result<()> {
    let (of, bare) = (parent.bare_name(), def.bare_name());
    let mismatch = |message: String| Error::new(SqlState::DATATYPE_MISMATCH, message);
    for column in &def.columns {
        if !parent.columns.iter().any(|known| known.name == column.name) {
            let name = &column.name;
            let message =
                format!("table \"{bare}\" contains column \"{name}\" not found in parent \"{of}\"");
            let detail = "The new partition may contain only the columns present in parent.";
            return Err(mismatch(message).with_detail(detail));
        }
    }
    for column in &parent.columns {
        let name = &column.name;
        let Some(own) = def.columns.iter().find(|known| known.name == *name) else {
            return Err(mismatch(format!("child table is missing column \"{name}\"")));
        };
        if own.ty != column.ty {
            let message =
                format!("child table \"{bare}\" has different type for column \"{name}\"");
            return Err(mismatch(message));
        }
        if column.not_null && !own.not_null {
            let message = format!("column \"{name}\" in child table must be marked NOT NULL");
            return Err(mismatch(message));
        }
    }
    for check in &parent.checks {
        let Some(own) = def.checks.iter().find(|known| known.name == check.name) else {
            let name = &check.name;
            return Err(mismatch(format!("child table is missing constraint \"{name}\"")));
        };
        if own.sql != check.sql {
            let name = &check.name;
            let message = format!(
                "child table \"{bare}\" has different definition for check constraint \"{name}\""
            );
            return Err(mismatch(message));
        }
    }
    Ok(())
}

fn detach(running: &mut Running<'_>, parent: &TableEntry, entry: &Arc<TableEntry>) -> Result<()> {
    let (of, bare) = (parent.def.bare_name(), entry.def.bare_name());
    let place = entry.def.partition_of.as_ref();
    if place.is_none_or(|place| place.parent != parent.def.name) {
        let message = format!("relation \"{bare}\" is not a partition of relation \"{of}\"");
        return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
    }
    let state = running.session.state();
    for (child, fk) in keys::referring(&state, entry, None) {
        if fk.table.name != entry.def.name {
            redefined::locked_named(running.session, &child.def.name)?;
            validate::no_reference(running, &child.def, &fk, &entry.def)?;
        }
    }
    let mut table = Redefined::new(Arc::clone(entry));
    table.def.partition_of = None;
    super::index::replace(running.session, table)
}

/// Indexes and keys of a partitioned table that a partition is to have: its own ones that serve, by
/// the name there and here, and those to be made, with their keys.
struct Wanted {
    found: Vec<(String, String)>,
    new: Vec<(String, IndexMeta, Option<KeyDef>)>,
    foreign: Vec<ForeignKeyDef>,
}

/// Gives the columns of indexes and keys the ordinals that `places` has for them.
fn renumber_index(index: &mut IndexMeta, places: &[usize]) {
    let columns = index.columns.iter_mut().filter(|column| column.expression().is_none());
    columns.for_each(|column| column.ordinal = places[column.ordinal]);
    index.terms.included.iter_mut().for_each(|ordinal| *ordinal = places[*ordinal]);
}

fn renumber_key(key: &mut KeyDef, places: &[usize]) {
    key.columns.iter_mut().chain(&mut key.included).for_each(|ordinal| *ordinal = places[*ordinal]);
}

impl Wanted {
    /// # Errors
    /// 42P16 when the partition has another primary key than the table above.
    fn of(parent: &TableDef, def: &TableDef, known: &[(String, String)]) -> Result<Self> {
        let mut wanted = Self { found: Vec::new(), new: Vec::new(), foreign: Vec::new() };
        let parent = &Self::in_part(parent, def);
        let is_key = |def: &TableDef, name: &str| def.keys.iter().find(|k| k.name == name).cloned();
        for index in &parent.indexes {
            let has = |pairs: &[(String, String)]| pairs.iter().any(|(of, _)| *of == index.name);
            if parent.serves_foreign_key(&index.name) || has(known) {
                continue;
            }
            let key = is_key(parent, &index.name);
            let serves = |own: &&IndexMeta| {
                let own_key = is_key(def, &own.name);
                let is_taken =
                    |pairs: &[(String, String)]| pairs.iter().any(|(_, name)| *name == own.name);
                own.columns == index.columns
                    && own.unique == index.unique
                    && own.kind == index.kind
                    && own.terms == index.terms
                    && key.as_ref().map(|key| key.primary) == own_key.map(|key| key.primary)
                    && !is_taken(known)
                    && !is_taken(&wanted.found)
            };
            match def.indexes.iter().find(serves) {
                Some(own) => wanted.found.push((index.name.clone(), own.name.clone())),
                None => wanted.new.push((index.name.clone(), index.clone(), key)),
            }
        }
        let is_primary = |key: &KeyDef| key.primary;
        let mut new = wanted.new.iter();
        if new.any(|(.., key)| key.as_ref().is_some_and(is_primary))
            && def.keys.iter().any(is_primary)
        {
            let table = def.bare_name();
            let message = format!("multiple primary keys for table \"{table}\" are not allowed");
            return Err(Error::new(SqlState::INVALID_DEFINITION, message));
        }
        for key in &parent.foreign_keys {
            let is_it = |own: &ForeignKeyDef| {
                own.columns == key.columns
                    && own.table == key.table
                    && own.references == key.references
            };
            if !def.foreign_keys.iter().any(is_it) {
                wanted.foreign.push(key.clone());
            }
        }
        Ok(wanted)
    }

    /// The definition of a table with the ordinals that its columns have in a partition.
    fn in_part(parent: &TableDef, def: &TableDef) -> TableDef {
        let (places, mut parent) = (places(parent, def), parent.clone());
        parent.indexes.iter_mut().for_each(|index| renumber_index(index, &places));
        parent.keys.iter_mut().for_each(|key| renumber_key(key, &places));
        let columns = parent.foreign_keys.iter_mut().flat_map(|key| &mut key.columns);
        columns.for_each(|ordinal| *ordinal = places[*ordinal]);
        parent
    }

    /// Name for an index of `def`, as PostgreSQL chooses it.
    fn name(state: &State, def: &TableDef, index: &IndexMeta, key: Option<&KeyDef>) -> String {
        let column = |column: &IndexColumn| match column.expression() {
            Some(number) => index.terms.expressions[number].name.as_str(),
            None => def.columns[column.ordinal].name.as_str(),
        };
        let included = index.terms.included.iter();
        let included = included.map(|ordinal| def.columns[*ordinal].name.as_str());
        let columns: Vec<&str> = index.columns.iter().map(column).chain(included).collect();
        let name = match key {
            Some(key) if key.primary => sql::object_name(def.bare_name(), &[], "pkey"),
            Some(_) => sql::object_name(def.bare_name(), &columns, "key"),
            None => sql::object_name(def.bare_name(), &columns, "idx"),
        };
        let is_taken = |name: &str| {
            state.contains(&RelationName::key_beside(&def.name, name))
                || def.all_indexes().any(|index| index.name == name)
                || name == def.bare_name()
        };
        names::free(&name, is_taken)
    }
}

/// Gives a new table that is to be a partition the indexes, keys and foreign keys of its parent.
///
/// # Errors
/// 42P16 when it has another primary key.
pub(super) fn take_over_new(
    state: &State,
    parent: &TableDef,
    def: &mut TableDef,
    place: &mut PartitionOf,
) -> Result<()> {
    let Wanted { found, new, foreign } = Wanted::of(parent, def, &place.indexes)?;
    place.indexes.extend(found);
    for (of, index, key) in new {
        let name = Wanted::name(state, def, &index, key.as_ref());
        place.indexes.push((of, name.clone()));
        if let Some(key) = key {
            let key = KeyDef { name: name.clone(), ..key };
            def.indexes.push(key_index(&key, &def.columns));
            def.keys.push(key);
        } else {
            def.indexes.push(IndexMeta { name, ..index });
        }
    }
    for key in foreign {
        def.indexes.push(foreign_index(&key));
        def.foreign_keys.push(key);
    }
    Ok(())
}

/// Refuses a unique key on a partition that is partitioned itself, by columns that are not in it.
fn check_unique(def: &TableDef, index: &IndexMeta, key: Option<&KeyDef>) -> Result<()> {
    let Some(by) = &def.partition_by else { return Ok(()) };
    if index.unique == Uniqueness::No && key.is_none() {
        return Ok(());
    }
    let kind = if key.is_some_and(|key| key.primary) { "PRIMARY KEY" } else { "UNIQUE" };
    let over: Vec<usize> = index.columns.iter().map(|column| column.ordinal).collect();
    let (table, columns) = (def.bare_name(), def.columns.as_slice());
    sql::check_unique(sql::UniqueOver { table, columns, kind, over: &over }, by)
}

/// As [`take_over_new`], of a table that has rows: returns its new foreign keys, which nobody has
/// tested.
fn take_over(
    running: &mut Running<'_>,
    parent: &TableEntry,
    table: &mut Redefined,
    place: &mut PartitionOf,
) -> Result<Vec<ForeignKeyDef>> {
    let state = running.session.state();
    let Wanted { found, new, foreign } = Wanted::of(&parent.def, &table.def, &place.indexes)?;
    place.indexes.extend(found);
    for (of, index, key) in new {
        check_unique(&table.def, &index, key.as_ref())?;
        let name = Wanted::name(&state, &table.def, &index, key.as_ref());
        place.indexes.push((of, name.clone()));
        table.def.keys.extend(key.map(|key| KeyDef { name: name.clone(), ..key }));
        table.add_index(IndexMeta { name, ..index });
    }
    for key in &foreign {
        table.add_index(foreign_index(key));
        table.def.foreign_keys.push(key.clone());
    }
    Ok(foreign)
}

/// Puts `table` into the catalog and tests its rows against `added`: rows may refer to others that
/// are in the partitioned table from then on.
///
/// # Errors
/// 23503, and errors of the indexes.
fn replace_and_test(
    running: &mut Running<'_>,
    table: Redefined,
    added: &[ForeignKeyDef],
) -> Result<()> {
    let def = table.def.clone();
    super::index::replace(running.session, table)?;
    added.iter().try_for_each(|key| validate::foreign_key(running.session, &def, key))
}

/// Gives all partitions below `name` the indexes and keys that it has.
///
/// # Errors
/// 23505 when rows of a partition have equal keys; 40P01, 57014.
pub(super) fn follow_parts(running: &mut Running<'_>, name: &str) -> Result<()> {
    let parent = running.session.state().tables.get(name).cloned().ok_or_else(stale)?;
    let Some(tree) = parent.partitions().cloned() else { return Ok(()) };
    for part in &tree.root.parts {
        let entry = redefined::locked_named(running.session, &part.table)?;
        let mut table = Redefined::new(entry);
        let Some(mut place) = table.def.partition_of.take() else { continue };
        let is_there = |of: &str| parent.def.indexes.iter().any(|index| index.name == of);
        for (_, own) in place.indexes.extract_if(.., |(of, _)| !is_there(of)) {
            table.remove_constraint_index(&own);
            table.def.keys.retain(|key| key.name != own);
        }
        let added = take_over(running, &parent, &mut table, &mut place)?;
        table.def.partition_of = Some(place);
        replace_and_test(running, table, &added)?;
        follow_parts(running, &part.table)?;
    }
    Ok(())
}

/// ALTER INDEX ... ATTACH PARTITION.
fn attach_index(
    running: &mut Running<'_>,
    index: &RelationName,
    part: &RelationName,
) -> Result<()> {
    let state = running.session.state();
    let (of, own) = (state.key_of(index)?, state.key_of(part)?);
    let parent = state.table_of_index(&of).ok_or_else(|| undefined_table(&index.name))?;
    let entry = state.table_of_index(&own).ok_or_else(|| undefined_table(&part.name))?;
    let cannot = |detail: String| {
        let message = format!(
            "cannot attach index \"{}\" as a partition of index \"{}\"",
            part.name, index.name
        );
        Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).with_detail(detail)
    };
    let is_part = |place: &PartitionOf| place.parent == parent.def.name;
    let Some(place) = entry.def.partition_of.as_ref().filter(|place| is_part(place)) else {
        return Err(cannot(format!(
            "Index \"{}\" is not an index on any partition of table \"{}\".",
            part.name,
            parent.def.bare_name()
        )));
    };
    if let Some((_, known)) = place.indexes.iter().find(|(of, _)| *of == index.name) {
        if *known == part.name {
            return Ok(());
        }
        return Err(cannot(format!(
            "Another index is already attached for partition \"{}\".",
            entry.def.bare_name()
        )));
    }
    let meta = |def: &TableDef, name: &str| def.indexes.iter().find(|i| i.name == name).cloned();
    let (Some(mut wanted), Some(found)) =
        (meta(&parent.def, &index.name), meta(&entry.def, &part.name))
    else {
        return Err(stale());
    };
    renumber_index(&mut wanted, &places(&parent.def, &entry.def));
    let is_alike = wanted.columns == found.columns
        && wanted.unique == found.unique
        && wanted.terms == found.terms;
    if !is_alike {
        return Err(cannot("The index definitions do not match.".to_owned()));
    }
    let mut table = Redefined::new(redefined::locked_named(running.session, &entry.def.name)?);
    if let Some(place) = &mut table.def.partition_of {
        place.indexes.push((index.name.clone(), part.name.clone()));
    }
    super::index::replace(running.session, table)
}

/// 2BP01 for an index that is a part of one of the partitioned table.
pub(super) fn check_dropped(entry: &TableEntry, name: &str) -> Result<()> {
    let place = entry.def.partition_of.as_ref();
    let part = place.and_then(|place| place.indexes.iter().find(|(_, own)| own == name));
    let Some((of, _)) = part else { return Ok(()) };
    let message = format!("cannot drop index {name} because index {of} requires it");
    Err(Error::new(SqlState::DEPENDENT_OBJECTS, message)
        .with_hint(format!("You can drop index {of} instead.")))
}

/// Partitions of `parent` follow the new name of an index of it.
pub(super) fn rename_index(state: &mut State, parent: &str, from: &str, to: &str) {
    for entry in state.tables.clone().into_values() {
        let mut def = entry.def.clone();
        let Some(place) = def.partition_of.as_mut() else { continue };
        let is_own = entry.def.name == parent;
        let mut changes = false;
        for (of, own) in &mut place.indexes {
            if place.parent == parent && of == from {
                to.clone_into(of);
                changes = true;
            }
            if is_own && own == from {
                to.clone_into(own);
                changes = true;
            }
        }
        if changes {
            let changed = Arc::new(entry.redefined(def, entry.built()));
            state.tables.insert(entry.def.name.clone(), changed);
        }
    }
}

/// All tables below those of these names in the catalog, and those themselves.
pub(super) fn with_parts(
    state: &State,
    names: &std::collections::BTreeSet<String>,
) -> std::collections::BTreeSet<String> {
    let mut all = names.clone();
    for name in names {
        let Some(tree) = state.tables.get(name).and_then(|entry| entry.partitions()) else {
            continue;
        };
        all.extend(tree.below().map(|table| table.name().to_owned()));
    }
    all
}
