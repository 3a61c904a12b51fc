//! Index paths, point plans and reads, as text: chosen where they cost less, and only there.

use sql::algebra::{ColumnId, Expr};
use sql::catalog::{Arguments, Catalog, Relation, TableFunctionRef, TableRef};
use sql::statement::Statement;
use types::{DataType, Result, Value};

use super::{data, logical};
use crate::point::{PointAction, PointPlan, PointRows, point};
use crate::{
    ColumnStatistics, Exactness, IndexPaths, PlanOptions, SampleMatch, Statistics, TableStatistics,
    explain, plan,
};

/// `stock (w, i, quantity, name)`, key (w, i), of a million rows; `line (w, o, n, i)`, key
/// (w, o, n), of ten million; `few (id, i)` of ten.
struct Shop {
    tables: Vec<(TableRef, f64)>,
}

impl Shop {
    fn new() -> Self {
        let int = |name| data::column(name, DataType::Integer, true);
        let text = |name| data::column(name, DataType::Varchar(Some(10)), false);
        let table = |name, columns, key: &[usize], rows| {
            (data::keyed_table(name, columns, key, Vec::new()), rows)
        };
        let stock = vec![int("w"), int("i"), int("quantity"), text("name")];
        let line = vec![int("w"), int("o"), int("n"), int("i")];
        Self {
            tables: vec![
                table("stock", stock, &[0, 1], 1e6),
                table("line", line, &[0, 1, 2], 1e7),
                table("few", vec![int("id"), int("i")], &[0], 10.0),
            ],
        }
    }

    fn bind(&self, text: &str) -> Statement {
        let parsed = sql::parse(text).expect("it parses");
        sql::bind(&parsed[0], self, &[]).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn explain(&self, text: &str) -> String {
        let Statement::Query(query) = self.bind(text) else {
            panic!("{text} is no query");
        };
        let options = PlanOptions { index_paths: IndexPaths::Consider, ..PlanOptions::default() };
        let planned =
            plan(&query, self, &options).unwrap_or_else(|error| panic!("{text}: {error}"));
        explain(&planned, None)
    }

    fn point(&self, text: &str) -> Option<PointPlan> {
        point(&self.bind(text))
    }
}

impl Catalog for Shop {
    fn relation(&self, _: Option<&str>, name: &str) -> Option<Relation> {
        let found = self.tables.iter().find(|(table, _)| table.name() == name)?;
        Some(Relation::Table(found.0.clone()))
    }
    fn table_function(&self, _: &str, _: &Arguments) -> Option<Result<TableFunctionRef>> {
        None
    }
    fn now_micros(&self) -> Option<i64> {
        Some(0)
    }
}

impl Statistics for Shop {
    fn table(&self, table: &TableRef) -> TableStatistics {
        let found = self.tables.iter().find(|(known, _)| known == table).expect("a table");
        let rows = found.1;
        let column = |ordinal: usize| ColumnStatistics {
            distinct: if ordinal == 0 { 10.0 } else { rows / 10.0 },
            min: Some(Value::I32(0)),
            max: Some(Value::I32(rows as i32)),
            bounds: Exactness::Estimate,
            null_fraction: 0.0,
            bytes_average: 8.0,
            frequent: Vec::new().into(),
        };
        let columns = (0..table.columns().len()).map(column).collect();
        TableStatistics { rows, columns, sample: None }
    }
    fn sample(&self, _: &TableRef, _: &[(ColumnId, usize)], _: &Expr) -> Option<SampleMatch> {
        None
    }
    fn fold(&self, expr: &Expr) -> Result<Value> {
        logical::Interpreter::default().expr(expr, &Default::default())
    }
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn a_key_is_looked_up_and_a_large_part_is_scanned() {
    let shop = Shop::new();
    let one = shop.explain("SELECT quantity FROM stock WHERE w = 3 AND i = 7 AND quantity > 1");
    has(&one, &["IndexScan stock using stock_pkey", "key w = 3 and i = 7", "where quantity > 1"]);
    let range = shop.explain("SELECT i FROM line WHERE w = 1 AND o >= 10 AND o < 12");
    has(&range, &["IndexScan line", "key w = 1", "range o >= 10 and o < 12"]);
    let most = shop.explain("SELECT quantity FROM stock WHERE w > 3");
    assert!(most.contains("Scan stock") && !most.contains("IndexScan"), "{most}");
    let last =
        shop.explain("SELECT o FROM line WHERE w = 1 AND o = 4 ORDER BY o DESC, n DESC LIMIT 1");
    has(&last, &["in reverse index order", "Limit"]);
    assert!(!last.contains("TopK"), "{last}");
}

#[test]
fn lists_of_keys_are_looked_up_one_by_one() {
    let shop = Shop::new();
    let list = shop.explain("SELECT quantity FROM stock WHERE w = 3 AND i IN (7, 8, 9)");
    has(&list, &["IndexScan stock using stock_pkey", "key w = 3", "each i in (7, 8, 9)"]);
    let array = shop.explain("SELECT quantity FROM stock WHERE w = 3 AND i = ANY ('{7,8}')");
    has(&array, &["IndexScan stock using stock_pkey", "each i in (7, 8)"]);
    let first = shop.explain("SELECT quantity FROM stock WHERE w = ANY ($1) AND i = 4");
    has(&first, &["IndexScan", "key i = 4", "each w = any (parameter 1)"]);
    for ty in ["int[]", "bigint[]", "smallint[]"] {
        let text = format!("SELECT quantity FROM stock WHERE w = 3 AND i = ANY ($1::{ty})");
        has(&shop.explain(&text), &["IndexScan", "key w = 3", "each i = any (parameter 1)"]);
    }
    // How many there are is counted when the values are known.
    has(&shop.explain("SELECT quantity FROM stock WHERE w = ANY ($1)"), &["IndexScan", "each w"]);
    for scanned in ["w IN (1, 2, 3)", "i = ANY ($1)", "w = 3 AND i <> ALL ($1)"] {
        let text = shop.explain(&format!("SELECT quantity FROM stock WHERE {scanned}"));
        assert!(!text.contains("IndexScan"), "{text}");
    }
}

#[test]
fn each_term_of_a_disjunction_has_its_way() {
    let shop = Shop::new();
    let of = |condition: &str| shop.explain(&format!("SELECT i FROM stock WHERE {condition}"));
    for rows in ["(w, i) IN ((1, 2), (3, 4))", "w = 1 AND i = 2 OR w = 3 AND i = 4"] {
        let text = of(rows);
        has(&text, &["or by stock_pkey: key w = 1 and i = 2", "key w = 3 and i = 4"]);
        assert!(!text.contains("residual"), "{text}");
    }
    has(&of("(w, i) IN (($1, $2), ($3, $4))"), &["key w = parameter 1 and i = parameter 2"]);
    let text = of("w = 1 AND i = 2 AND quantity > 3 OR w = 3 AND i = 4");
    has(&text, &["key w = 1 and i = 2", "key w = 3 and i = 4", "residual"]);
    let text = of("(i = 2 OR i > 4 AND i < 6) AND w = 3");
    has(&text, &["key w = 3 and i = 2", "key w = 3, range i > 4 and i < 6"]);
    assert!(!text.contains("residual") && !text.contains("where"), "{text}");
    for scanned in ["w = 1 AND i = 2 OR quantity = 3", "w = 1 OR i = 2", "i = 1 OR i = 2"] {
        let text = of(scanned);
        assert!(!text.contains("IndexScan"), "{text}");
    }
}

#[test]
fn the_next_rows_by_key_come_in_its_order() {
    let shop = Shop::new();
    let of = |condition: &str, order: &str| {
        shop.explain(&format!("SELECT i FROM stock WHERE {condition} ORDER BY {order} LIMIT 10"))
    };
    let ordered = ["range w > 5", "key w = 5, range i > 7", "in index order"];
    for rows in ["(w, i) > (5, 7)", "w >= 5 AND (w > 5 OR i > 7)", "w > 5 OR w = 5 AND i > 7"] {
        let text = of(rows, "w, i");
        has(&text, &ordered);
        assert!(!text.contains("TopK") && !text.contains("residual"), "{text}");
    }
    has(&of("(w, i) <= (5, 7)", "w DESC, i DESC"), &["range i <= 7", "in reverse index order"]);
    has(&of("(w, i) > ($1, $2)", "w, i"), &["range i > parameter 2", "in index order"]);
    has(&of("w IN (3, 4)", "w, i"), &["each w in (3, 4)", "in index order"]);
    let text = of("(w, i) > (5, 7)", "w, i DESC");
    has(&text, &["TopK"]);
    assert!(!text.contains("IndexScan"), "{text}");
}

#[test]
fn first_rows_with_open_conditions_are_walked_to() {
    let shop = Shop::new();
    let of = |rest: &str| shop.explain(&format!("SELECT i FROM stock WHERE {rest}"));
    let walk = ["Walk", "the first 5000 entries", "in index order", "TopK", "Scan stock"];
    for rest in [
        "quantity > 3 ORDER BY w, i LIMIT 10",
        "quantity > 3 AND w > 5 ORDER BY w, i LIMIT 10 OFFSET 5",
        "(w, i) > (5, 7) AND quantity > 3 ORDER BY w, i LIMIT $1",
        "quantity + i > 3 ORDER BY w LIMIT 10",
    ] {
        has(&of(rest), &walk);
    }
    // All of them, too many, few of which are near, and an order that no index has.
    for rest in [
        "quantity > 3 ORDER BY w, i",
        "quantity > 3 ORDER BY w, i LIMIT 100000",
        "quantity = 3 AND name = 'x' AND i = 7 ORDER BY w, i LIMIT 1000",
        "quantity > 3 ORDER BY w, i DESC LIMIT 10",
        "quantity > 3 ORDER BY i LIMIT 10",
    ] {
        let text = of(rest);
        assert!(!text.contains("Walk") && !text.contains("IndexScan"), "{text}");
    }
}

#[test]
fn a_few_keys_lead_into_a_large_table() {
    let shop = Shop::new();
    let semi = ["Choice by the rows of $0", "Inner index join stock", "key w = ", "ProbeSemi join"];
    for keys in ["SELECT id, i FROM few", "VALUES (1, 2), (3, 4)"] {
        let text = shop.explain(&format!("SELECT quantity FROM stock WHERE (w, i) IN ({keys})"));
        has(&text, &semi);
    }
    let lateral = shop.explain(
        "SELECT f.id, l.i FROM few f LEFT JOIN LATERAL \
         (SELECT i FROM line l WHERE l.w = 1 AND l.o = f.i ORDER BY n DESC LIMIT 1) l ON true",
    );
    assert!(!lateral.contains("Choice"), "no index begins with o: {lateral}");
    let grouped =
        shop.explain("SELECT id, (SELECT max(quantity) FROM stock s WHERE s.w = few.id) FROM few");
    has(&grouped, &["Materialized $0", "Scan few"]);
}

#[test]
fn ends_of_indexes_are_the_smallest_and_the_largest() {
    let shop = Shop::new();
    let text = shop.explain("SELECT min(w), max(w) FROM stock");
    has(&text, &["range w is not null", "in index order", "in reverse index order", "$0, $1"]);
    let text = shop.explain("SELECT max(o) FROM line WHERE w = 1");
    has(&text, &["key w = 1", "range o is not null", "in reverse index order"]);
    for scanned in ["min(i)", "min(w), count(*)", "max(w + 1)", "max(w) FILTER (WHERE i > 1)"] {
        let text = shop.explain(&format!("SELECT {scanned} FROM stock"));
        assert!(!text.contains("IndexScan"), "{text}");
    }
}

#[test]
fn constants_of_other_types_are_looked_up() {
    let shop = Shop::new();
    for (ty, key) in [
        ("bigint", "nearest_equal(parameter 1)"),
        ("smallint", "parameter 1::integer"),
        ("numeric", "nearest_equal(parameter 1)"),
        ("double precision", "nearest_equal(parameter 1)"),
    ] {
        let text = format!("SELECT quantity FROM stock WHERE w = $1::{ty} AND i = 7");
        has(&shop.explain(&text), &["IndexScan", &format!("key w = {key} and i = 7")]);
        let found = shop.point(&text).expect("a point");
        assert_eq!((found.rows, found.keys.len()), (PointRows::One, 2), "{ty}");
    }
    let text = shop.explain("SELECT o FROM line WHERE w = 1 AND o > $1::bigint");
    has(&text, &["key w = 1", "range o >= nearest_greater(parameter 1)"]);
    let text = shop.explain(
        "SELECT f.id FROM (SELECT id, i::bigint + 1 AS i FROM few) f \
         JOIN stock s ON s.w = 1 AND s.i = f.i",
    );
    has(&text, &["index join stock as s", "key w = 1 and i = nearest_equal("]);
}

#[test]
fn a_small_side_looks_its_partners_up() {
    let shop = Shop::new();
    let join = shop.explain(
        "SELECT f.id, s.quantity FROM few f JOIN stock s ON s.w = 1 AND s.i = f.i \
         AND s.quantity > f.id",
    );
    has(&join, &["Inner index join stock as s", "key w = 1 and i = i", "residual"]);
    let left =
        shop.explain("SELECT f.id, s.w FROM few f LEFT JOIN stock s ON s.w = 1 AND s.i = f.i");
    has(&left, &["ProbeOuter index join stock as s"]);
    let semi = shop.explain(
        "SELECT id FROM few f WHERE EXISTS (SELECT 1 FROM stock s WHERE s.w = f.id AND s.i = f.i)",
    );
    has(&semi, &["ProbeSemi index join stock as s"]);
    let large = shop.explain("SELECT count(*) FROM line l JOIN stock s ON s.w = l.w AND s.i = l.i");
    assert!(!large.contains("index join"), "{large}");
}

#[test]
fn statements_by_key_are_points() {
    let shop = Shop::new();
    let found = shop.point("SELECT name, quantity + $3 FROM stock WHERE i = $1 AND w = $2");
    let found = found.expect("a point");
    assert_eq!((found.rows, found.keys.len(), found.output.len()), (PointRows::One, 2, 2));
    assert_eq!((found.columns.as_slice(), found.residual.is_none()), (&[3, 2][..], true));
    let found = shop.point(
        "UPDATE stock SET quantity = quantity - $1 WHERE w = $2 AND i = $3 AND quantity >= $1 \
         RETURNING quantity, name",
    );
    let found = found.expect("a point");
    assert!(
        matches!(&found.action, PointAction::Update(list) if list.len() == 1 && list[0].0 == 2)
    );
    assert!(found.residual.is_some() && found.output.len() == 2);
    let found = shop.point("DELETE FROM line WHERE w = 1 AND o = $1 AND n = 3").expect("a point");
    assert_eq!((found.action, found.rows), (PointAction::Delete, PointRows::One));
    let found = shop.point("SELECT i FROM line WHERE w = 1 AND o = $1").expect("a point");
    assert_eq!((found.rows, found.keys.len()), (PointRows::Many, 2));
    let found = shop.point("SELECT quantity FROM stock WHERE w = 1 AND i = 2 FOR UPDATE");
    assert!(matches!(found.expect("a point").action, PointAction::Lock(_)));
    for other in [
        "SELECT i FROM line WHERE w = 1",
        "SELECT i FROM stock WHERE w = 1",
        "SELECT i FROM stock WHERE w = 1 AND i > 2",
        "SELECT i FROM stock WHERE w = 1 AND i = 2 ORDER BY i LIMIT 1",
        "SELECT count(*) FROM stock WHERE w = 1 AND i = 2",
        "SELECT random() FROM stock WHERE w = 1 AND i = 2",
        "SELECT (SELECT 1) FROM stock WHERE w = 1 AND i = 2",
        "SELECT s.i FROM stock s, few f WHERE w = 1 AND s.i = 2",
        "UPDATE stock SET quantity = f.i FROM few f WHERE w = 1 AND stock.i = 2",
    ] {
        assert!(shop.point(other).is_none(), "{other}");
    }
}

#[test]
fn reads_name_tables_and_conditions_however_they_are_found() {
    let shop = Shop::new();
    let text = "SELECT f.id FROM few f JOIN stock s ON s.i = f.i WHERE s.w = 3 AND s.quantity < 9";
    let Statement::Query(query) = shop.bind(text) else {
        panic!("a query");
    };
    for index_paths in [IndexPaths::Avoid, IndexPaths::Prefer] {
        let options = PlanOptions { index_paths, ..PlanOptions::default() };
        let reads = plan(&query, &shop, &options).expect("it plans").reads();
        let mut found: Vec<(String, Vec<usize>)> = reads
            .iter()
            .map(|read| {
                let mut columns: Vec<usize> =
                    read.restrictions.iter().map(|restriction| restriction.column).collect();
                columns.sort_unstable();
                (read.table.name().to_owned(), columns)
            })
            .collect();
        found.sort();
        let expected = vec![("few".to_owned(), vec![]), ("stock".to_owned(), vec![0, 2])];
        assert_eq!(found, expected, "{index_paths:?}");
    }
}

/// The line below the only one with `part` in it.
fn below<'t>(text: &'t str, part: &str) -> &'t str {
    text.lines().skip_while(|line| !line.contains(part)).nth(1).map_or("", str::trim)
}

#[test]
fn readers_filters_go_into_a_cte_below_its_grouping() {
    let shop = Shop::new();
    let body = "WITH c AS (SELECT w, i, sum(n) AS n FROM line GROUP BY w, i)";
    let text = shop.explain(&format!(
        "{body} SELECT * FROM c AS a JOIN c AS b USING (i) WHERE a.w = 1 AND b.w = 2 AND b.n > 9"
    ));
    assert_eq!(below(&text, "Scan line"), "where w in (1, 2)", "{text}");
    // One that wants all rows, and filters that cannot go below.
    for query in [
        "SELECT * FROM c AS a JOIN c AS b USING (i) WHERE a.w = 1",
        "SELECT * FROM c AS a JOIN c AS b USING (i) WHERE a.n = 1 AND b.n = 2",
        "SELECT * FROM c AS a JOIN c AS b USING (i) WHERE a.w = 1 AND b.n = 2",
    ] {
        let text = shop.explain(&format!("{body} {query}"));
        assert!(!below(&text, "Scan line").starts_with("where"), "{text}");
    }
    // Through a CTE that reads the other one.
    let text = shop.explain(&format!(
        "{body}, d AS (SELECT w, i, n FROM c UNION ALL SELECT w, i, n + 1 FROM c)
         SELECT * FROM d AS a JOIN d AS b USING (i) WHERE a.w = 3 AND b.w = 4"
    ));
    assert_eq!(below(&text, "Scan line"), "where w in (3, 4)", "{text}");
}

#[test]
fn disjunctions_go_below_windows_as_far_as_partitions_allow() {
    let shop = Shop::new();
    let text = shop.explain(
        "SELECT * FROM (SELECT w, n, rank() OVER (PARTITION BY w ORDER BY n) AS r FROM line) AS q
         WHERE w = 1 AND r < 3 OR w = 2 AND r > 7",
    );
    assert_eq!(below(&text, "Scan line"), "where w in (1, 2)", "{text}");
}
