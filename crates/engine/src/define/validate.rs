//! Checks the rows of a table against a new constraint: queries over the catalog as the
//! statement changed it, run by all workers.

use catalog::TableDef;
use catalog::names::{quoted, quoted_relation};
use catalog::rows::Rows;
use kernels::Batch;
use sql::catalog::{
    CheckDef, ExclusionElement, ForeignKeyDef, IndexColumn, IndexMeta, KeyDef, KeyMatch, Validity,
};
use sql::statement::{RelationName, Statement};
use types::{Error, Result, SqlState};

use crate::Session;
use crate::statement::running::{Run, Running};
use crate::transaction::work::{newest, stale};
use crate::write::foreign::mixed;
use crate::write::rows::key_of;

/// A query written by this module of parts of definitions, bound to the catalog as it is now.
pub(super) fn bind(session: &Session, text: &str) -> Result<sql::algebra::Query> {
    let statement = sql::parse(text)?.pop();
    let statement = statement.ok_or_else(|| Error::internal("a query of our own"))?;
    match sql::bind(&statement, &session.definition_catalog(), &[])? {
        Statement::Query(query) => Ok(query),
        _ => Err(Error::internal("a query of our own")),
    }
}

/// How queries look at tables that this transaction has locked: they see everything committed,
/// and what the transaction wrote.
pub(super) fn run_newest(session: &Session) -> Run {
    Run { at: Some(newest(session.work())), ..Run::default() }
}

/// A table in FROM, without the rows of those that inherit from it.
fn own_rows(def: &TableDef) -> String {
    let name = quoted_relation(&def.name);
    if def.partition_by.is_some() { name } else { format!("ONLY {name}") }
}

/// The first row that the query finds.
fn first_row(session: &mut Session, text: &str) -> Result<Option<Batch>> {
    let query = bind(session, text)?;
    let run = run_newest(session);
    let result = Running::own(session).run_query(&query, run)?;
    Ok(result.batches.into_iter().find(|batch| batch.rows > 0))
}

/// Tests all rows of the table against a CHECK constraint.
///
/// # Errors
/// 23514; what the condition raises.
pub(super) fn check(session: &mut Session, def: &TableDef, check: &CheckDef) -> Result<()> {
    let (relation, table) = (own_rows(def), def.bare_name());
    let text = format!("SELECT 1 FROM {relation} WHERE NOT ({}) LIMIT 1", check.sql);
    if first_row(session, &text)?.is_none() {
        return Ok(());
    }
    let message = format!(
        "check constraint \"{}\" of relation \"{table}\" is violated by some row",
        check.name
    );
    Err(Error::new(SqlState::CHECK_VIOLATION, message)
        .about_part(def.about_constraint(&check.name)))
}

/// Tests all values of a column of the table: none is NULL.
///
/// # Errors
/// 23502.
pub(super) fn not_null(running: &mut Running<'_>, def: &TableDef, column: &str) -> Result<()> {
    let (relation, shown) = (own_rows(def), quoted(column));
    let text = format!("SELECT 1 FROM {relation} WHERE {shown} IS NULL LIMIT 1");
    match first_row(running.session, &text)? {
        None => Ok(()),
        Some(_) => Err(contains_nulls(def, column)),
    }
}

/// 23502 for rows that have NULL where a column became NOT NULL.
pub(super) fn contains_nulls(def: &TableDef, column: &str) -> Error {
    let table = def.bare_name();
    let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
    Error::new(SqlState::NOT_NULL_VIOLATION, message).about_part(def.about_column(column))
}

/// Tests all values of a column against a new test of its domain: a condition, or to be no NULL.
///
/// # Errors
/// 23514, 23502; what the condition raises.
pub(super) fn domain(
    session: &mut Session,
    def: &TableDef,
    column: &str,
    check: Option<&CheckDef>,
) -> Result<()> {
    let (relation, shown) = (own_rows(def), quoted(column));
    let values = format!("SELECT 1 FROM (SELECT {shown} AS value FROM {relation}) AS d");
    let (text, state, what) = match check {
        Some(check) => (
            format!("{values} WHERE NOT ({}) LIMIT 1", check.sql),
            SqlState::CHECK_VIOLATION,
            "values that violate the new constraint",
        ),
        None => (
            format!("{values} WHERE value IS NULL LIMIT 1"),
            SqlState::NOT_NULL_VIOLATION,
            "null values",
        ),
    };
    if first_row(session, &text)?.is_none() {
        return Ok(());
    }
    let message = format!("column \"{column}\" of table \"{}\" contains {what}", def.bare_name());
    Err(Error::new(state, message).about_part(def.about_column(column)))
}

/// Tests all rows of the table against a key that is DEFERRABLE.
///
/// # Errors
/// 23505.
pub(super) fn key(running: &mut Running<'_>, def: &TableDef, key: &KeyDef) -> Result<()> {
    let columns: Vec<String> =
        key.columns.iter().map(|&column| quoted(&def.columns[column].name)).collect();
    let present: Vec<String> = columns.iter().map(|c| format!("{c} IS NOT NULL")).collect();
    let (list, present) = (columns.join(", "), present.join(" AND "));
    let relation = own_rows(def);
    let text = format!(
        "SELECT {list} FROM {relation} WHERE {present} GROUP BY {list} HAVING count(*) > 1 LIMIT 1"
    );
    let Some(batch) = first_row(running.session, &text)? else { return Ok(()) };
    let rows = Rows::new(&batch);
    let mut values = (0..key.columns.len()).map(|column| rows.get(column, 0));
    let shown = key_of(&def.columns, &key.columns, &mut values);
    let message = format!("could not create unique index \"{}\"", key.name);
    let error = Error::new(SqlState::UNIQUE_VIOLATION, message);
    let error = error.about_part(def.about_constraint(&key.name));
    Err(error.with_detail(format!("Key {shown} is duplicated.")))
}

/// Tests all rows of the table against EXCLUDE, which `index` serves.
///
/// # Errors
/// 23P01.
pub(super) fn exclusion(
    running: &mut Running<'_>,
    def: &TableDef,
    index: &IndexMeta,
) -> Result<()> {
    let Some(exclusion) = &index.terms.exclusion else { return Ok(()) };
    let entry = running.session.state().tables.get(&def.name).cloned().ok_or_else(stale)?;
    let position = def.indexes.iter().position(|known| known.name == index.name);
    let test = entry.pair_test(position.ok_or_else(stale)?)?;
    let value = |(at, column): (usize, &IndexColumn)| match column.expression() {
        Some(number) => format!("({}) AS e{at}", index.terms.expressions[number].sql),
        None => format!("{} AS e{at}", quoted(&def.columns[column.ordinal].name)),
    };
    let values: Vec<String> = index.columns.iter().enumerate().map(value).collect();
    let predicate = index.terms.predicate.as_deref().unwrap_or("true");
    let rows = format!(
        "(SELECT {}, ctid AS place FROM {} WHERE {predicate})",
        values.join(", "),
        own_rows(def)
    );
    let text = if test.is_of_neighbours() {
        neighbours(&rows, index.columns.len())
    } else {
        let met = |e: &ExclusionElement| format!("a.e{} {} b.e{0}", e.column, e.operator.sign());
        let met: Vec<String> = exclusion.elements.iter().map(met).collect();
        let met = met.join(" AND ");
        format!("SELECT * FROM {rows} AS a JOIN {rows} AS b ON {met} AND a.place < b.place LIMIT 1")
    };
    let Some(batch) = first_row(running.session, &text)? else { return Ok(()) };
    let rows = Rows::new(&batch);
    let width = index.columns.len();
    let key = |from: usize| -> Vec<_> { (from..from + width).map(|c| rows.get(c, 0)).collect() };
    let message = format!("could not create exclusion constraint \"{}\"", index.name);
    let detail = format!(
        "Key {} conflicts with key {}.",
        test.shown(def, index, &key(0)),
        test.shown(def, index, &key(width + 1))
    );
    let error = Error::new(SqlState::EXCLUSION_VIOLATION, message).with_detail(detail);
    Err(error.about_part(def.about_constraint(&index.name)))
}

/// A query for two `rows` that overlap in the last of `width` values and have the same others: of
/// such there are two next to each other.
fn neighbours(rows: &str, width: usize) -> String {
    let last = width - 1;
    let equal: Vec<String> = (0..last).map(|at| format!("e{at}")).collect();
    let parts =
        if equal.is_empty() { String::new() } else { format!("PARTITION BY {}", equal.join(", ")) };
    let present: Vec<String> = equal.iter().map(|e| format!("{e} IS NOT NULL AND ")).collect();
    let both: Vec<String> = equal.iter().map(|e| format!("{e}, ")).collect();
    let both = both.concat();
    format!(
        "SELECT {both}before, place, {both}e{last}, place AS other FROM (\
         SELECT *, lag(e{last}) OVER ({parts} ORDER BY e{last}) AS before FROM {rows} AS r \
         WHERE {}NOT isempty(e{last})) AS n WHERE before && e{last} LIMIT 1",
        present.concat()
    )
}

/// Tests foreign keys of the table, and of others that refer to it, against the new types of its
/// columns `names`; and the rows of the others.
///
/// # Errors
/// 42804, 23503.
pub(super) fn retyped(session: &mut Session, def: &TableDef, names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let is_named = |column: &usize| names.contains(&def.columns[*column].name);
    let tables = session.state();
    let mut referring = Vec::new();
    for entry in tables.tables.values() {
        for fk in &entry.def.foreign_keys {
            let (is_own, is_key) = (entry.def.name == def.name, fk.table.name == def.name);
            let refers = is_key && fk.references.iter().any(is_named);
            let is_about = refers || is_own && fk.columns.iter().any(is_named);
            if !is_about {
                continue;
            }
            let parent = tables.tables.get(&fk.table.name).ok_or_else(stale)?;
            for (own, other) in fk.columns.iter().zip(&fk.references) {
                let (own, other) = (&entry.def.columns[*own], &parent.def.columns[*other]);
                sql::refuse_unfit_key(&fk.name, own, other)?;
            }
            if refers && !is_own && fk.validity == Validity::Valid {
                referring.push((entry.def.clone(), fk.clone()));
            }
        }
    }
    for (other, fk) in &referring {
        foreign_key(session, other, fk)?;
    }
    Ok(())
}

/// A foreign key as SQL text: the referring table is `f`, the referenced one `k`.
struct KeyText {
    /// The referring columns.
    columns: Vec<String>,
    /// The condition that they are a key.
    equal: String,
}

impl KeyText {
    fn of(child: &TableDef, fk: &ForeignKeyDef, parent: &TableDef) -> Self {
        let own = |c: &usize| format!("f.{}", quoted(&child.columns[*c].name));
        let other = |c: &usize| format!("k.{}", quoted(&parent.columns[*c].name));
        let columns: Vec<String> = fk.columns.iter().map(own).collect();
        let pairs = fk.references.iter().map(other).zip(&columns);
        let equal: Vec<String> = pairs.map(|(key, column)| format!("{key} = {column}")).collect();
        Self { equal: equal.join(" AND "), columns }
    }
}

/// "(a, b)=(1, x)" of the first row that a query of the referring columns found.
fn found_key(child: &TableDef, fk: &ForeignKeyDef, batch: &Batch) -> String {
    let rows = Rows::new(batch);
    let mut values = (0..fk.columns.len()).map(|column| rows.get(column, 0));
    key_of(&child.columns, &fk.columns, &mut values)
}

/// Tests that no row of `child` refers by `fk`, whose ordinals are those of `part`, to a row of
/// that partition, which leaves the table that it refers to.
///
/// # Errors
/// 23503.
pub(super) fn no_reference(
    running: &mut Running<'_>,
    child: &TableDef,
    fk: &ForeignKeyDef,
    part: &TableDef,
) -> Result<()> {
    let KeyText { columns, equal } = KeyText::of(child, fk, part);
    let text = format!(
        "SELECT {} FROM {} AS f WHERE EXISTS (SELECT 1 FROM {} AS k WHERE {}) LIMIT 1",
        columns.join(", "),
        own_rows(child),
        own_rows(part),
        equal,
    );
    let Some(batch) = first_row(running.session, &text)? else { return Ok(()) };
    let message = format!(
        "removing partition \"{}\" violates foreign key constraint \"{}\"",
        part.bare_name(),
        fk.name
    );
    let key = found_key(child, fk, &batch);
    let detail = format!("Key {key} is still referenced from table \"{}\".", child.bare_name());
    let about = child.about_constraint(&fk.name);
    Err(Error::new(SqlState::FOREIGN_KEY_VIOLATION, message).with_detail(detail).about_part(about))
}

/// Tests all rows of the table against a foreign key.
///
/// # Errors
/// 23503.
pub(super) fn foreign_key(session: &mut Session, def: &TableDef, fk: &ForeignKeyDef) -> Result<()> {
    let state = session.state();
    let parent = state.tables.get(&fk.table.name).ok_or_else(stale)?;
    foreign_key_to(session, def, fk, &parent.def)
}

/// [`foreign_key`], which refers to `parent`.
pub(super) fn foreign_key_to(
    session: &mut Session,
    def: &TableDef,
    fk: &ForeignKeyDef,
    parent: &TableDef,
) -> Result<()> {
    let KeyText { columns, equal } = KeyText::of(def, fk, parent);
    let present: Vec<String> = columns.iter().map(|c| format!("{c} IS NOT NULL")).collect();
    let text = format!(
        "SELECT {} FROM {} AS f WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS k WHERE {}) LIMIT 1",
        columns.join(", "),
        own_rows(def),
        present.join(" AND "),
        own_rows(parent),
        equal,
    );
    if fk.matching == KeyMatch::Full {
        let relation = own_rows(def);
        let nulls: Vec<String> = columns.iter().map(|c| format!("{c} IS NULL")).collect();
        let (any, all) = (nulls.join(" OR "), nulls.join(" AND "));
        let text = format!("SELECT 1 FROM {relation} AS f WHERE ({any}) AND NOT ({all}) LIMIT 1");
        if first_row(session, &text)?.is_some() {
            return Err(mixed(def, fk));
        }
    }
    let Some(batch) = first_row(session, &text)? else { return Ok(()) };
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        def.bare_name(),
        fk.name
    );
    let key = found_key(def, fk, &batch);
    let name = RelationName::name_of_key(&fk.table.name);
    let detail = format!("Key {key} is not present in table \"{}\".", name);
    let about = def.about_constraint(&fk.name);
    Err(Error::new(SqlState::FOREIGN_KEY_VIOLATION, message).with_detail(detail).about_part(about))
}
