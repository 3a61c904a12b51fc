//! No input makes the front end panic or exhaust a 2 MiB stack: damaged statements and deep ones.

use std::path::Path;
use std::sync::Arc;

use sql::catalog::{
    Arguments, Catalog, ColumnDef, KeyDef, Relation, TableFunctionRef, TableMeta, TableRef,
};
use types::{DataType, Result};

struct Table(Vec<ColumnDef>);

impl TableMeta for Table {
    fn name(&self) -> &str {
        "t"
    }
    fn columns(&self) -> &[ColumnDef] {
        &self.0
    }
    fn keys(&self) -> &[KeyDef] {
        &[]
    }
    fn object(&self) -> Arc<dyn std::any::Any + Send + Sync> {
        Arc::new(())
    }
}

/// Every name is a table with the columns of all test tables that matter.
struct Anything;

impl Catalog for Anything {
    fn relation(&self, _: Option<&str>, _: &str) -> Option<Relation> {
        let column = |(name, ty): &(&str, DataType)| ColumnDef::new(*name, *ty);
        let columns = [
            ("a", DataType::Integer),
            ("b", DataType::Integer),
            ("c", DataType::BigInt),
            ("s", DataType::Text),
            ("d", DataType::Date),
            ("n15", DataType::numeric(15, 2)),
        ];
        let table = Table(columns.iter().map(column).collect());
        Some(Relation::Table(TableRef(Arc::new(table))))
    }
    fn table_function(&self, _: &str, _: &Arguments) -> Option<Result<TableFunctionRef>> {
        None
    }
    fn now_micros(&self) -> Option<i64> {
        Some(0)
    }
}

fn bind(text: &str) -> Result<()> {
    for statement in sql::parse(text)? {
        if let sql::statement::Statement::Query(query) = sql::bind(&statement, &Anything, &[])? {
            let _ = query.plan.to_string();
        }
    }
    Ok(())
}

fn scripts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut statements = Vec::new();
    for name in ["correlated", "queries", "grouping", "types", "functions", "errors", "statements"]
    {
        let script = std::fs::read_to_string(folder.join(format!("{name}.txt"))).expect("script");
        for block in script.split("\n\n") {
            let statement = block.split("\n----").next().unwrap_or_default();
            let lines = statement.lines().filter(|line| !line.starts_with(['#', '!']));
            statements.push(lines.collect::<Vec<_>>().join("\n"));
        }
    }
    statements
}

/// Words, numbers and single characters.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in text.chars() {
        let word = c.is_alphanumeric() || c == '_' || c == '.';
        match pieces.last_mut() {
            Some(last) if word && in_word => last.push(c),
            _ => pieces.push(c.to_string()),
        }
        in_word = word;
    }
    pieces
}

#[test]
fn damaged_statements_are_errors() {
    for statement in scripts() {
        let pieces = pieces(&statement);
        let _ = bind(&statement);
        for at in 0..pieces.len() {
            let mut removed = pieces.clone();
            removed.remove(at);
            let _ = bind(&removed.concat());
            let mut doubled = pieces.clone();
            doubled.insert(at, format!(" {} ", pieces[at]));
            let _ = bind(&doubled.concat());
            let mut swapped = pieces.clone();
            swapped[at] = ["NULL", "'x'", "1.5", "(SELECT a FROM t)", "sum(a)", "*", "$1", "a"]
                [at % 8]
                .to_owned();
            let _ = bind(&swapped.concat());
            let _ = bind(&pieces[..at].concat());
        }
    }
}

fn state(text: &str) -> String {
    match types::stack::statement(types::stack::levels_in(text), || bind(text)) {
        Ok(()) => "fine".to_owned(),
        Err(error) => error.state().to_string(),
    }
}

#[test]
fn depth_is_an_error_and_length_is_not() {
    let nest = |open: &str, inner: &str, close: &str, count: usize| {
        format!("SELECT {}{inner}{}", open.repeat(count), close.repeat(count))
    };
    for count in [10, 40, 90, 200, 1_500] {
        let deep = [
            nest("(", "1", ")", count),
            nest("(SELECT ", "1", ")", count),
            nest("abs(", "1", ")", count),
            nest("NOT ", "true", "", count),
            nest("- ", "1", "", count),
            nest("CASE WHEN true THEN ", "1", " END", count),
            nest("1 IN (SELECT ", "1", ")", count),
            nest("coalesce(1, ", "1", ")", count),
            nest("", "1", "::bigint", count),
            nest("", "1", " IS NULL", count),
            nest("", "1", " + 1", count),
            nest("", "true", " AND true", count),
            nest("", "1", " UNION ALL SELECT 1", count),
            nest("", "'a'", " || 'a'", count),
            nest("* FROM (SELECT ", "1", ") x", count),
            nest("* FROM ", "t", " JOIN t USING (a)", count),
            nest("a FROM t WHERE a IN (SELECT ", "1", ")", count),
        ];
        for text in deep {
            let state = state(&text);
            let known = ["fine", "54001", "42601", "42883", "42804", "42712", "42702", "42703"];
            assert!(known.contains(&state.as_str()), "{state} for {:.60} x {count}", text);
        }
    }
    assert_eq!(state(&nest("", "true", " AND true", 3_000)), "fine");
    assert_eq!(state(&nest("", "a FROM t WHERE a = 1", " OR a = 1", 2_000)), "fine");
    assert_eq!(state(&nest("", "1", " + 1", 10_000)), "fine");
    assert_eq!(state(&nest("(", "1", ")", 5_000)), "fine");
    let rows = vec!["(1, 'x', 2.5)"; 20_000].join(", ");
    assert_eq!(state(&format!("VALUES {rows}")), "fine");
    let list = vec!["7"; 50_000].join(", ");
    assert_eq!(state(&format!("SELECT a FROM t WHERE a IN ({list})")), "fine");
}

#[test]
fn ranges_are_those_of_the_text() {
    let text = "SELECT 'é;' AS x ;\n-- note; here\n  SELECT 2 -- end\n;;";
    let statements = sql::parse(text).expect("two statements");
    let texts: Vec<&str> = statements.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(texts, ["SELECT 'é;' AS x", "SELECT 2"]);
    assert_eq!(&text[statements[1].range.clone()], "SELECT 2");
    assert_eq!((statements[1].start.line, statements[1].start.column), (3, 3));
}

#[test]
fn known_parameter_types_are_used() {
    let statements = sql::parse("SELECT a FROM t WHERE c = $1 AND $2").expect("parses");
    let types = [DataType::Integer, DataType::Unknown];
    match sql::bind(&statements[0], &Anything, &types).expect("binds") {
        sql::statement::Statement::Query(query) => {
            assert_eq!(query.parameters, [DataType::Integer, DataType::Boolean]);
        }
        other => panic!("{other:?}"),
    }
}
