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
    Arguments, BoundTableFunction, Catalog, ColumnDef, KeyDef, Relation, TableFunctionRef,
    TableMeta, TableRef,
};
use sql::statement::Statement;
use types::{DataType, Result};

/// 2024-05-06 07:08:09.5 UTC.
const NOW: i64 = 1_714_979_289_500_000;

struct Table {
    name: String,
    columns: Vec<ColumnDef>,
    keys: Vec<KeyDef>,
}

impl TableMeta for Table {
    fn name(&self) -> &str {
        &self.name
    }
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }
    fn keys(&self) -> &[KeyDef] {
        &self.keys
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
}

impl TestCatalog {
    fn new() -> Self {
        let mut catalog = Self { tables: Vec::new() };
        let schema = std::fs::read_to_string(testdata("schema.sql")).expect("schema.sql");
        for statement in sql::parse(&schema).expect("the schema parses") {
            match sql::bind(&statement, &catalog, &[]) {
                Ok(Statement::CreateTable(create)) => {
                    let table = Table {
                        name: create.name.name,
                        columns: create.columns,
                        keys: create.keys,
                    };
                    catalog.tables.push(TableRef(Arc::new(table)));
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
            Some(Relation::View { sql: sql.to_owned(), columns })
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

    fn now_micros(&self) -> i64 {
        NOW
    }
}

fn testdata(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// What a statement gives, as the scripts show it.
fn outcome(text: &str, catalog: &TestCatalog, columns_only: bool) -> String {
    let bound = sql::parse(text).and_then(|statements| {
        statements.iter().map(|s| sql::bind(s, catalog, &[])).collect::<Result<Vec<_>>>()
    });
    let mut out = String::new();
    match bound {
        Err(error) => {
            let _ = writeln!(out, "ERROR {error}");
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
    let (label, query) = match statement {
        Statement::Query(query) => ("", query),
        Statement::Insert(insert) => {
            assert!(insert.source.is_exact(), "INSERT rows are exact");
            ("insert ", &insert.source)
        }
        Statement::Explain { statement, mode } => {
            let _ = writeln!(out, "explain {mode:?}");
            return show(out, statement, columns_only);
        }
        other => {
            let _ = writeln!(out, "{other:?}");
            return;
        }
    };
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
            match columns_only {
                true => format!("{}: {ty}{trimmed}", column.name),
                false => format!("{}: {ty}{trimmed} #{}", column.name, column.id.0),
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

scripts! { tpch correlated queries grouping types functions errors statements }
