//! Golden tests of the front end: every script in `testdata/` is a list of statements with what
//! binding them gives. `REWRITE=1 cargo test -p sql` renews the scripts; the difference is to be
//! reviewed.
//!
//! ```text
//! statement, over several lines
//! ----
//! its plan and columns, or its error
//! (an empty line)
//! ```
//! A line `! columns` at the top of a script shows result columns only.

use std::any::Any;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use sql::catalog::{
    Arguments, BoundTableFunction, Catalog, CheckDef, ColumnDef, ForeignKeyDef, Identity,
    IndexColumn, IndexKind, IndexMeta, KeyDef, Relation, SequenceDef, TableFunctionRef, TableMeta,
    TableRef, Uniqueness,
};
use sql::statement::{
    AlterAction, ColumnSequence, ConflictAction, CreateTable, Returning, Statement, Turn,
    WithChanges,
};
use types::{DataType, Result};

/// 2024-05-06 07:08:09.5 UTC.
const NOW: i64 = 1_714_979_289_500_000;

struct Table {
    create: CreateTable,
    indexes: Vec<IndexMeta>,
    identities: Vec<(usize, Identity)>,
}

impl Table {
    /// The table as an engine would make it: an index for each key, sequences as named.
    fn new(create: CreateTable) -> Self {
        let column = |&ordinal: &usize| IndexColumn {
            ordinal,
            direction: sql::algebra::Direction::Ascending,
            nulls: sql::algebra::NullsOrder::Last,
        };
        let index = |key: &KeyDef| IndexMeta {
            terms: Default::default(),
            name: key.name.clone(),
            columns: key.columns.iter().map(column).collect(),
            unique: Uniqueness::Distinct,
            kind: IndexKind::Ordered,
        };
        let identity = |sequence: &ColumnSequence| {
            let kind = sequence.identity?;
            Some((sequence.column, Identity { kind, sequence: sequence.name.clone() }))
        };
        Self {
            indexes: create.keys.iter().map(index).collect(),
            identities: create.sequences.iter().filter_map(identity).collect(),
            create,
        }
    }
}

impl TableMeta for Table {
    fn name(&self) -> &str {
        &self.create.name.name
    }
    fn columns(&self) -> &[ColumnDef] {
        &self.create.columns
    }
    fn keys(&self) -> &[KeyDef] {
        &self.create.keys
    }
    fn checks(&self) -> &[CheckDef] {
        &self.create.checks
    }
    fn foreign_keys(&self) -> &[ForeignKeyDef] {
        &self.create.foreign_keys
    }
    fn identity(&self, ordinal: usize) -> Option<&Identity> {
        self.identities.iter().find(|(at, _)| *at == ordinal).map(|(_, identity)| identity)
    }
    fn indexes(&self) -> &[IndexMeta] {
        &self.indexes
    }
    fn object(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new(())
    }
}

struct File {
    columns: Vec<(String, DataType)>,
}

impl BoundTableFunction for File {
    fn name(&self) -> &str {
        "read_csv('f.csv')"
    }
    fn columns(&self) -> &[(String, DataType)] {
        &self.columns
    }
    fn rows(&self) -> Option<u64> {
        None
    }
    fn object(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new(())
    }
}

/// Tables of a schema script, and a few views.
struct TestCatalog {
    tables: Vec<TableRef>,
    sequences: Vec<(String, SequenceDef)>,
}

impl TestCatalog {
    fn new() -> Self {
        let mut catalog = Self { tables: Vec::new(), sequences: Vec::new() };
        let schema = std::fs::read_to_string(testdata("schema.sql")).expect("schema.sql");
        for statement in sql::parse(&schema).expect("the schema parses") {
            match sql::bind(&statement, &catalog, &[]) {
                Ok(Statement::CreateTable(create)) => {
                    for sequence in &create.sequences {
                        let name = sequence.name.name.clone();
                        catalog.sequences.push((name, sequence.definition.clone()));
                    }
                    catalog.tables.push(TableRef(Arc::new(Table::new(*create))));
                }
                Ok(Statement::CreateSequence(create)) => {
                    catalog.sequences.push((create.name.name, create.definition));
                }
                other => panic!("{}: {other:?}", statement.text),
            }
        }
        catalog
    }
}

impl Catalog for TestCatalog {
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation> {
        if schema.is_some_and(|schema| schema != "public") {
            return None;
        }
        let view = |sql: &str, columns: &[&str]| {
            let columns = columns.iter().map(|name| (*name).to_owned()).collect();
            let rights = sql::catalog::ViewRights::System;
            Some(Relation::View { sql: sql.to_owned(), columns, rights })
        };
        match name {
            "v" => view("SELECT a, b + 1 AS b1 FROM t1 WHERE c IS NOT NULL", &[]),
            "v_named" => view("SELECT a, count(*) FROM t2 GROUP BY a", &["key", "n"]),
            "v_broken" => view("SELECT gone FROM t1", &[]),
            "v_self" => view("SELECT * FROM v_self", &[]),
            _ => {
                let table = self.tables.iter().find(|table| table.name() == name)?;
                Some(Relation::Table(table.clone()))
            }
        }
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &Arguments,
    ) -> Option<Result<TableFunctionRef>> {
        if name != "read_csv" {
            return None;
        }
        if arguments.positional.is_empty() {
            let state = types::SqlState::UNDEFINED_FILE;
            return Some(Err(types::Error::new(state, "no file given")));
        }
        let columns = vec![("x".to_owned(), DataType::Integer), ("y".to_owned(), DataType::Text)];
        Some(Ok(TableFunctionRef(Arc::new(File { columns }))))
    }

    fn sequence(&self, schema: Option<&str>, name: &str) -> Option<SequenceDef> {
        let found = self.sequences.iter().find(|(known, _)| known == name);
        found.filter(|_| schema.is_none_or(|s| s == "public")).map(|(_, known)| known.clone())
    }

    fn prepared(&self, name: &str) -> Option<Vec<DataType>> {
        (name == "p").then(|| vec![DataType::Integer, DataType::Text])
    }

    fn now_micros(&self) -> Option<i64> {
        Some(NOW)
    }
}

fn testdata(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// Outcome of a statement, as the scripts show it.
fn outcome(text: &str, catalog: &TestCatalog, columns_only: bool) -> String {
    let bound = sql::parse(text).and_then(|statements| {
        statements.iter().map(|s| sql::bind(s, catalog, &[])).collect::<Result<Vec<_>>>()
    });
    let mut out = String::new();
    match bound {
        Err(error) => {
            let _ = writeln!(out, "ERROR {error}");
            if let Some(detail) = error.detail() {
                let _ = writeln!(out, "DETAIL {detail}");
            }
            if let Some(hint) = error.hint() {
                let _ = writeln!(out, "HINT {hint}");
            }
        }
        Ok(statements) => {
            for statement in &statements {
                show(&mut out, statement, columns_only);
            }
        }
    }
    out
}

fn show(out: &mut String, statement: &Statement, columns_only: bool) {
    match statement {
        Statement::Query(query) => show_query(out, "", query, columns_only),
        Statement::Insert(insert) => {
            assert!(insert.source.is_exact(), "INSERT rows are exact");
            show_query(out, "insert ", &insert.source, columns_only);
            if let Some(conflict) = &insert.on_conflict {
                let _ = writeln!(out, "on conflict {:?}", conflict.target);
                if let ConflictAction::Update { columns, assignments } = &conflict.action {
                    let _ = writeln!(out, "update {columns:?}");
                    show_query(out, "assign ", assignments, columns_only);
                }
            }
            show_returning(out, insert.returning.as_ref(), columns_only);
        }
        Statement::Update(update) => {
            assert!(update.source.is_exact(), "UPDATE rows are exact");
            let _ = writeln!(out, "update {:?} {:?}", update.columns, update.matches);
            show_query(out, "", &update.source, columns_only);
            show_returning(out, update.returning.as_ref(), columns_only);
        }
        Statement::Delete(delete) => {
            assert!(delete.source.is_exact(), "DELETE rows are exact");
            let _ = writeln!(out, "delete {:?}", delete.matches);
            show_query(out, "", &delete.source, columns_only);
            show_returning(out, delete.returning.as_ref(), columns_only);
        }
        Statement::Merge(merge) => {
            assert!(merge.source.is_exact(), "MERGE rows are exact");
            let _ = writeln!(out, "merge {:?} extras {}", merge.actions, merge.extras_from);
            show_query(out, "", &merge.source, columns_only);
            show_returning(out, merge.returning.as_ref(), columns_only);
        }
        Statement::SelectForUpdate(select) => {
            let _ = writeln!(out, "lock {:?} width {}", select.locks, select.width);
            show_query(out, "", &select.query, columns_only);
            for (label, count) in [("limit ", &select.limit), ("offset ", &select.offset)] {
                if let Some(count) = count {
                    show_query(out, label, count, columns_only);
                }
            }
        }
        Statement::AlterTable(Some(alter)) => {
            for action in &alter.actions {
                show_action(out, action);
            }
            if let Some(rewrite) = &alter.rewrite {
                assert!(rewrite.is_exact(), "rewritten rows are exact");
                show_query(out, "rewrite ", rewrite, columns_only);
            }
        }
        Statement::Execute(execute) => {
            let _ = writeln!(out, "execute {}", execute.name);
            if let Some(arguments) = &execute.arguments {
                show_query(out, "", arguments, columns_only);
            }
        }
        Statement::Prepare(prepare) => {
            let _ = writeln!(
                out,
                "prepare {} {:?} {:?}",
                prepare.name, prepare.parameters, prepare.statement.text
            );
        }
        Statement::CreateTable(create) => show_table(out, create),
        Statement::WithChanges(with) => show_parts(out, with, columns_only),
        Statement::Explain { statement, options } => {
            let _ = writeln!(out, "explain {:?}", options.mode);
            show(out, statement, columns_only);
        }
        other => {
            let _ = writeln!(out, "{other:?}");
        }
    }
}

fn show_parts(out: &mut String, with: &WithChanges, columns_only: bool) {
    for (i, part) in with.parts.iter().enumerate() {
        let turn = match part.turn {
            Turn::First => "",
            Turn::Behind => ", behind",
            Turn::Last => ", last",
            Turn::Never => ", never",
        };
        let _ = writeln!(out, "part {i}{turn}");
        show(out, &part.statement, columns_only);
    }
    let _ = writeln!(out, "behind them");
    show(out, &with.main, columns_only);
}

fn show_returning(out: &mut String, returning: Option<&Returning>, columns_only: bool) {
    if let Some(returning) = returning {
        show_query(out, "returning ", &returning.query, columns_only);
    }
}

fn show_action(out: &mut String, action: &AlterAction) {
    let _ = writeln!(out, "{action:?}");
}

fn show_table(out: &mut String, create: &CreateTable) {
    let CreateTable { name, columns, keys, checks, foreign_keys, sequences, .. } = create;
    let _ = writeln!(
        out,
        "table {name} {:?} {:?} {:?}",
        create.if_exists, create.persistence, create.options
    );
    for column in columns {
        let not_null = if column.not_null { " not null" } else { "" };
        let default = column.default.as_ref().map_or(String::new(), |text| format!(" = {text}"));
        let generated = column.generated.as_ref();
        let generated = generated.map_or(String::new(), |text| format!(" := {text}"));
        let ty = sql::display::type_text(column.ty);
        let _ = writeln!(out, "  {}: {ty}{not_null}{default}{generated}", column.name);
    }
    for key in keys {
        let _ = writeln!(out, "  {key:?}");
    }
    for check in checks {
        let _ = writeln!(out, "  {check:?}");
    }
    for key in foreign_keys {
        let _ = writeln!(out, "  {key:?}");
    }
    for sequence in sequences {
        let _ = writeln!(out, "  {sequence:?}");
    }
}

fn show_query(out: &mut String, label: &str, query: &sql::algebra::Query, columns_only: bool) {
    check_ids(query);
    if !columns_only {
        out.push_str(&query.plan.to_string());
    }
    let columns: Vec<String> = query
        .columns
        .iter()
        .map(|column| {
            let ty = sql::display::type_text(column.ty);
            let trimmed = match column.ty {
                DataType::Numeric(n) if n.display == types::NumericDisplay::Trimmed => " trimmed",
                _ => "",
            };
            if columns_only {
                format!("{}: {ty}{trimmed}", column.name)
            } else {
                format!("{}: {ty}{trimmed} #{}", column.name, column.id.0)
            }
        })
        .collect();
    let _ = writeln!(out, "{label}[{}]", columns.join(", "));
    if !query.parameters.is_empty() {
        let _ = writeln!(out, "parameters {:?}", query.parameters);
    }
}

/// Every column is made once, every reference has a maker, and results come out of the plan.
fn check_ids(query: &sql::algebra::Query) {
    let output = query.plan.output();
    for column in &query.columns {
        assert!(output.contains(&column.id), "{:?} is not in the plan's output", column.id);
        assert_ne!(column.ty, DataType::Unknown, "{}", column.name);
    }
    let mut made = std::collections::HashSet::new();
    collect(&query.plan, &mut made);
    query.plan.each_column(&mut |id| assert!(made.contains(&id), "{id:?} has no maker"));
}

fn collect(
    plan: &sql::algebra::Plan,
    made: &mut std::collections::HashSet<sql::algebra::ColumnId>,
) {
    let below: std::collections::HashSet<_> =
        plan.inputs().iter().flat_map(|input| input.output()).collect();
    for id in plan.output() {
        if !below.contains(&id) {
            assert!(made.insert(id), "{id:?} is made twice");
        }
    }
    let mut plans = Vec::new();
    fn subqueries<'a>(expr: &'a sql::algebra::Expr, plans: &mut Vec<&'a sql::algebra::Plan>) {
        plans.extend(expr.subquery());
        expr.each_child(&mut |child| subqueries(child, plans));
    }
    plan.each_expr(&mut |expr| subqueries(expr, &mut plans));
    for plan in plans.into_iter().chain(plan.inputs()) {
        collect(plan, made);
    }
}

/// Runs a script; with `REWRITE` set, writes it anew.
fn run(name: &str) {
    let path = testdata(name);
    let script = std::fs::read_to_string(&path).expect("script");
    let catalog = TestCatalog::new();
    let columns_only = script.lines().any(|line| line == "! columns");
    let mut renewed = String::new();
    let mut failures = Vec::new();
    for block in script.split("\n\n").map(|block| block.trim_matches('\n')) {
        if block.is_empty() {
            continue;
        }
        if block.lines().all(|line| line.starts_with(['#', '!'])) {
            renewed.push_str(block);
            renewed.push_str("\n\n");
            continue;
        }
        let (statement, expected) = match block.split_once("\n----") {
            Some((statement, expected)) => (statement, expected.trim_start_matches('\n')),
            None => (block, ""),
        };
        let text: Vec<&str> = statement.lines().filter(|line| !line.starts_with('#')).collect();
        let text = text.join("\n");
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            outcome(&text, &catalog, columns_only)
        }));
        let got = caught.unwrap_or_else(|_| "PANIC\n".to_owned());
        if got.trim_end() != expected.trim_end() || got.starts_with("PANIC") {
            failures.push(format!("{statement}\n---- expected\n{expected}\n---- got\n{got}"));
        }
        let _ = write!(renewed, "{statement}\n----\n{}\n\n", got.trim_end());
    }
    if std::env::var_os("REWRITE").is_some() {
        std::fs::write(&path, renewed.trim_end().to_owned() + "\n").expect("script is written");
        return;
    }
    assert!(failures.is_empty(), "{} in {name}:\n{}", failures.len(), failures.join("\n\n"));
}

macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(concat!(stringify!($name), ".txt"));
        })*
    };
}

scripts! {
    tpch correlated queries grouping types functions errors statements writes definitions
    transactions write_errors
}
