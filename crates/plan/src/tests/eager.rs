//! Eager aggregation and group joins, as text: where they fire, and where they must not.

use sql::algebra::{ColumnId, Expr};
use sql::catalog::{Arguments, Catalog, Relation, TableFunctionRef, TableRef};
use sql::statement::Statement;
use types::{DataType, Result, Value};

use super::{data, logical};
use crate::{
    AggregatePlace, ColumnStatistics, Exactness, PlanOptions, SampleMatch, Statistics, Switches,
    TableStatistics, Technique, explain, plan,
};

/// `customer (id, nation, name)` of 100,000 rows, `orders (id, customer, price, weight, status)` of
/// ten for each of them and `nation (id, name)` of 25.
struct Shop {
    tables: Vec<(TableRef, f64)>,
}

impl Shop {
    fn new() -> Self {
        let int = |name| data::column(name, DataType::Integer, true);
        let text = |name| data::column(name, DataType::Text, true);
        let money = data::column("price", data::MONEY, false);
        let weight = data::column("weight", DataType::Double, true);
        let orders = vec![int("id"), int("customer"), money, weight, int("status")];
        let customer = vec![int("id"), int("nation"), text("name")];
        let nation = vec![int("id"), text("name")];
        let table =
            |name, columns, rows| (data::keyed_table(name, columns, &[0], Vec::new()), rows);
        let tables = vec![
            table("customer", customer, 1e5),
            table("orders", orders, 1e6),
            table("nation", nation, 25.0),
        ];
        Self { tables }
    }

    fn explain(&self, text: &str, options: &PlanOptions) -> String {
        let parsed = sql::parse(text).expect("it parses");
        let bound = sql::bind(&parsed[0], self, &[]);
        let Ok(Statement::Query(query)) = bound else {
            panic!("{text} is no query");
        };
        let planned = plan(&query, self, options).unwrap_or_else(|e| panic!("{text}: {e}"));
        explain(&planned, None)
    }
}

impl Catalog for Shop {
    fn relation(&self, _: Option<&str>, name: &str) -> Option<Relation> {
        let found = self.tables.iter().find(|(table, _)| table.name() == name);
        found.map(|(table, _)| Relation::Table(table.clone()))
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
        let rows = self.tables.iter().find(|(t, _)| t.name() == table.name()).map_or(1.0, |t| t.1);
        let column = |definition: &sql::catalog::ColumnDef| {
            let (distinct, max) = match definition.name.as_str() {
                "id" => (rows, rows as i64),
                "customer" => (1e5, 100_000),
                "nation" => (25.0, 25),
                "status" => (3.0, 2),
                _ => (rows / 10.0, 1000),
            };
            let value = |v: i64| match definition.ty {
                DataType::Integer => Some(Value::I32(v as i32)),
                DataType::Numeric(_) => Some(Value::I64(v)),
                _ => None,
            };
            ColumnStatistics {
                distinct,
                min: value(0),
                max: value(max),
                bounds: Exactness::Exact,
                null_fraction: 0.0,
                bytes_average: 10.0,
                frequent: Vec::new().into(),
            }
        };
        let columns = table.columns().iter().map(column).collect();
        TableStatistics { rows, columns, sample: None }
    }

    fn sample(&self, _: &TableRef, _: &[(ColumnId, usize)], _: &Expr) -> Option<SampleMatch> {
        None
    }

    fn fold(&self, expr: &Expr) -> Result<Value> {
        logical::Interpreter::default().expr(expr, &Default::default())
    }
}

/// Lines of the plan that aggregate or join, without their estimates.
fn shape(text: &str, options: &PlanOptions) -> Vec<String> {
    let explained = Shop::new().explain(text, options);
    let lines = explained.lines().filter(|line| {
        line.contains("Aggregate [") || line.contains(" join [") || line.contains("Scan ")
    });
    lines.map(|line| line.split("  (").next().unwrap_or("").trim().to_owned()).collect()
}

fn aggregates(text: &str, options: &PlanOptions) -> usize {
    shape(text, options).iter().filter(|line| line.contains("Aggregate")).count()
}

const JOINED: &str = "FROM customer AS c JOIN orders AS o ON o.customer = c.id";

#[test]
fn orders_are_grouped_before_they_are_joined() {
    let options = PlanOptions::default();
    let left = "SELECT c.id, count(o.id) FROM customer AS c LEFT JOIN orders AS o \
                ON o.customer = c.id GROUP BY c.id";
    let lines = shape(left, &options);
    let at = |what: &str| lines.iter().position(|line| line.contains(what));
    assert_eq!(aggregates(left, &options), 1, "{lines:?}");
    assert!(at("join") < at("Aggregate") && at("Aggregate") < at("Scan orders"), "{lines:?}");
    let without = Switches::default().without(Technique::EagerAggregation);
    let lines = shape(left, &PlanOptions { switches: without, ..options });
    assert!(lines[0].contains("Group join"), "{lines:?}");
    let without = without.without(Technique::GroupJoin);
    let lines = shape(left, &PlanOptions { switches: without, ..options });
    assert!(lines[0].contains("Aggregate [Dense"), "{lines:?}");
}

#[test]
fn what_is_left_is_grouped_again() {
    let text = format!("SELECT c.nation, sum(o.price), avg(o.price) {JOINED} GROUP BY c.nation");
    let options = PlanOptions { aggregate_place: AggregatePlace::Early, ..Default::default() };
    assert_eq!(aggregates(&text, &options), 2, "{:?}", shape(&text, &options));
}

#[test]
fn what_would_change_answers_stays_above() {
    let options = PlanOptions { aggregate_place: AggregatePlace::Early, ..Default::default() };
    for call in [
        "sum(o.weight)",
        "count(DISTINCT o.status)",
        "string_agg(c.name, ',')",
        "sum(o.status + c.nation)",
        "sum(100 / o.status)",
        "stddev(o.price)",
        "count(*), min(o.status * random())",
    ] {
        let text = format!("SELECT c.nation, {call} {JOINED} GROUP BY c.nation");
        assert_eq!(aggregates(&text, &options), 1, "{call}: {:?}", shape(&text, &options));
    }
    let padded = "SELECT c.nation, sum(coalesce(o.status, 1)) FROM customer AS c \
                  LEFT JOIN orders AS o ON o.customer = c.id GROUP BY c.nation";
    assert_eq!(aggregates(padded, &options), 1, "{:?}", shape(padded, &options));
}

#[test]
fn what_does_not_pay_stays_above() {
    let options = PlanOptions::default();
    for text in [
        // Few orders are left when their customers are known.
        format!("SELECT c.nation, sum(o.price) {JOINED} WHERE c.nation = 3 GROUP BY c.nation"),
        // Grouping by order leaves as many rows.
        format!("SELECT o.id, sum(c.nation) {JOINED} GROUP BY o.id"),
        // One customer.
        format!("SELECT c.name, sum(o.price) {JOINED} WHERE c.id = 7 GROUP BY c.name"),
    ] {
        let lines = shape(&text, &options);
        assert!(lines[0].contains("Aggregate"), "{text}: {lines:?}");
        assert_eq!(aggregates(&text, &options), 1, "{text}: {lines:?}");
    }
}

#[test]
fn group_joins_need_the_key_of_the_build_side() {
    let switches = Switches::default().without(Technique::EagerAggregation);
    let options = PlanOptions { switches, ..PlanOptions::default() };
    for (text, expected) in [
        (format!("SELECT c.id, c.name, sum(o.price) {JOINED} GROUP BY c.id, c.name"), true),
        (format!("SELECT o.customer, c.name, sum(o.price) {JOINED} GROUP BY 1, 2"), true),
        (format!("SELECT c.id, c.name, sum(o.price * c.nation) {JOINED} GROUP BY 1, 2"), true),
        (format!("SELECT c.name, sum(o.price) {JOINED} GROUP BY c.name"), false),
        (format!("SELECT c.id, o.status, sum(c.nation) {JOINED} GROUP BY 1, 2"), false),
        (format!("SELECT c.id, c.name, count(DISTINCT o.status) {JOINED} GROUP BY 1, 2"), false),
    ] {
        let lines = shape(&text, &options);
        assert_eq!(lines[0].contains("Group join"), expected, "{text}: {lines:?}");
    }
}
