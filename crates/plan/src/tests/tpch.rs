//! The plans of TPC-H at scale factor 1, as golden text: `PLAN_REWRITE=1` renews them.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use sql::algebra::{ColumnId, Expr, Query};
use sql::catalog::{Arguments, Catalog, ColumnDef, Relation, TableFunctionRef, TableRef};
use sql::statement::Statement;
use types::{DataType, Result, Value};

use super::{data, eval, logical};
use crate::{
    ColumnStatistics, Exactness, PlanOptions, SampleMatch, Statistics, TableStatistics, explain,
    plan,
};

/// Name, type, distinct values, smallest and largest (as stored), by table.
type Columns = &'static [(&'static str, Kind, f64, i64, i64)];

#[derive(Clone, Copy)]
enum Kind {
    Integer,
    Date,
    Money,
    Text,
}

const fn day(year: i64, ordinal: i64) -> i64 {
    (year - 1970) * 365 + (year - 1969) / 4 + ordinal
}

const NATION: Columns = &[
    ("n_nationkey", Kind::Integer, 25.0, 0, 24),
    ("n_name", Kind::Text, 25.0, 0, 0),
    ("n_regionkey", Kind::Integer, 5.0, 0, 4),
    ("n_comment", Kind::Text, 25.0, 0, 0),
];
const REGION: Columns = &[
    ("r_regionkey", Kind::Integer, 5.0, 0, 4),
    ("r_name", Kind::Text, 5.0, 0, 0),
    ("r_comment", Kind::Text, 5.0, 0, 0),
];
const PART: Columns = &[
    ("p_partkey", Kind::Integer, 200_000.0, 1, 200_000),
    ("p_name", Kind::Text, 200_000.0, 0, 0),
    ("p_mfgr", Kind::Text, 5.0, 0, 0),
    ("p_brand", Kind::Text, 25.0, 0, 0),
    ("p_type", Kind::Text, 150.0, 0, 0),
    ("p_size", Kind::Integer, 50.0, 1, 50),
    ("p_container", Kind::Text, 40.0, 0, 0),
    ("p_retailprice", Kind::Money, 20_900.0, 90_100, 209_899),
    ("p_comment", Kind::Text, 130_000.0, 0, 0),
];
const SUPPLIER: Columns = &[
    ("s_suppkey", Kind::Integer, 10_000.0, 1, 10_000),
    ("s_name", Kind::Text, 10_000.0, 0, 0),
    ("s_address", Kind::Text, 10_000.0, 0, 0),
    ("s_nationkey", Kind::Integer, 25.0, 0, 24),
    ("s_phone", Kind::Text, 10_000.0, 0, 0),
    ("s_acctbal", Kind::Money, 9_955.0, -99_822, 999_972),
    ("s_comment", Kind::Text, 10_000.0, 0, 0),
];
const PARTSUPP: Columns = &[
    ("ps_partkey", Kind::Integer, 200_000.0, 1, 200_000),
    ("ps_suppkey", Kind::Integer, 10_000.0, 1, 10_000),
    ("ps_availqty", Kind::Integer, 9_999.0, 1, 9_999),
    ("ps_supplycost", Kind::Money, 99_865.0, 100, 100_000),
    ("ps_comment", Kind::Text, 800_000.0, 0, 0),
];
const CUSTOMER: Columns = &[
    ("c_custkey", Kind::Integer, 150_000.0, 1, 150_000),
    ("c_name", Kind::Text, 150_000.0, 0, 0),
    ("c_address", Kind::Text, 150_000.0, 0, 0),
    ("c_nationkey", Kind::Integer, 25.0, 0, 24),
    ("c_phone", Kind::Text, 150_000.0, 0, 0),
    ("c_acctbal", Kind::Money, 140_187.0, -99_999, 999_999),
    ("c_mktsegment", Kind::Text, 5.0, 0, 0),
    ("c_comment", Kind::Text, 150_000.0, 0, 0),
];
const ORDERS: Columns = &[
    ("o_orderkey", Kind::Integer, 1_500_000.0, 1, 6_000_000),
    ("o_custkey", Kind::Integer, 99_996.0, 1, 149_999),
    ("o_orderstatus", Kind::Text, 3.0, 0, 0),
    ("o_totalprice", Kind::Money, 1_464_556.0, 85_771, 55_528_516),
    ("o_orderdate", Kind::Date, 2_406.0, day(1992, 0), day(1998, 213)),
    ("o_orderpriority", Kind::Text, 5.0, 0, 0),
    ("o_clerk", Kind::Text, 1_000.0, 0, 0),
    ("o_shippriority", Kind::Integer, 1.0, 0, 0),
    ("o_comment", Kind::Text, 1_482_071.0, 0, 0),
];
const LINEITEM: Columns = &[
    ("l_orderkey", Kind::Integer, 1_500_000.0, 1, 6_000_000),
    ("l_partkey", Kind::Integer, 200_000.0, 1, 200_000),
    ("l_suppkey", Kind::Integer, 10_000.0, 1, 10_000),
    ("l_linenumber", Kind::Integer, 7.0, 1, 7),
    ("l_quantity", Kind::Money, 50.0, 100, 5_000),
    ("l_extendedprice", Kind::Money, 933_900.0, 90_100, 10_494_950),
    ("l_discount", Kind::Money, 11.0, 0, 10),
    ("l_tax", Kind::Money, 9.0, 0, 8),
    ("l_returnflag", Kind::Text, 3.0, 0, 0),
    ("l_linestatus", Kind::Text, 2.0, 0, 0),
    ("l_shipdate", Kind::Date, 2_526.0, day(1992, 1), day(1998, 334)),
    ("l_commitdate", Kind::Date, 2_466.0, day(1992, 30), day(1998, 303)),
    ("l_receiptdate", Kind::Date, 2_554.0, day(1992, 3), day(1998, 364)),
    ("l_shipinstruct", Kind::Text, 4.0, 0, 0),
    ("l_shipmode", Kind::Text, 7.0, 0, 0),
    ("l_comment", Kind::Text, 4_580_667.0, 0, 0),
];

/// Name, rows, columns of the primary key, columns.
const TABLES: &[(&str, f64, &[usize], Columns)] = &[
    ("nation", 25.0, &[0], NATION),
    ("region", 5.0, &[0], REGION),
    ("part", 200_000.0, &[0], PART),
    ("supplier", 10_000.0, &[0], SUPPLIER),
    ("partsupp", 800_000.0, &[0, 1], PARTSUPP),
    ("customer", 150_000.0, &[0], CUSTOMER),
    ("orders", 1_500_000.0, &[0], ORDERS),
    ("lineitem", 6_001_215.0, &[0, 3], LINEITEM),
];

struct Schema {
    tables: HashMap<&'static str, TableRef>,
}

impl Schema {
    fn new() -> Self {
        let make = |&(name, _, key, columns): &(&'static str, f64, &[usize], Columns)| {
            let definitions: Vec<ColumnDef> = columns
                .iter()
                .map(|(name, kind, ..)| {
                    let ty = match kind {
                        Kind::Integer => DataType::Integer,
                        Kind::Date => DataType::Date,
                        Kind::Money => DataType::numeric(15, 2),
                        Kind::Text => DataType::Varchar(Some(55)),
                    };
                    data::column(name, ty, true)
                })
                .collect();
            (name, data::keyed_table(name, definitions, key, Vec::new()))
        };
        Self { tables: TABLES.iter().map(make).collect() }
    }
}

impl Catalog for Schema {
    fn relation(&self, _schema: Option<&str>, name: &str) -> Option<Relation> {
        self.tables.get(name).cloned().map(Relation::Table)
    }
    fn table_function(&self, _: &str, _: &Arguments) -> Option<Result<TableFunctionRef>> {
        None
    }
    fn now_micros(&self) -> Option<i64> {
        Some(0)
    }
}

struct ScaleOne;

impl Statistics for ScaleOne {
    fn table(&self, table: &TableRef) -> TableStatistics {
        let found = TABLES.iter().find(|(name, ..)| *name == table.name());
        let (_, rows, _, columns) = found.expect("a table of TPC-H");
        let columns = columns
            .iter()
            .map(|&(_, kind, distinct, min, max)| {
                let value = |v: i64| match kind {
                    Kind::Integer | Kind::Date => Some(Value::I32(v as i32)),
                    Kind::Money => Some(Value::I64(v)),
                    Kind::Text => None,
                };
                ColumnStatistics {
                    distinct,
                    min: value(min),
                    max: value(max),
                    bounds: Exactness::Exact,
                    null_fraction: 0.0,
                    bytes_average: 20.0,
                    frequent: Vec::new().into(),
                }
            })
            .collect();
        TableStatistics { rows: *rows, columns, sample: None }
    }
    fn sample(&self, _: &TableRef, _: &[(ColumnId, usize)], _: &Expr) -> Option<SampleMatch> {
        None
    }
    fn fold(&self, expr: &Expr) -> Result<Value> {
        logical::Interpreter::default().expr(expr, &Default::default())
    }
}

fn directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn query(schema: &Schema, number: usize) -> Query {
    let path = directory().join(format!("../workloads/src/tpch/queries/q{number:02}.sql"));
    let text = std::fs::read_to_string(&path).expect("the text of a TPC-H query");
    let parsed = sql::parse(&text).expect("a TPC-H query parses");
    let bound = sql::bind(&parsed[0], schema, &[]).expect("a TPC-H query binds");
    match bound {
        Statement::Query(query) => query,
        other => panic!("query {number} is {other:?}"),
    }
}

#[test]
fn plans_of_tpch_are_as_reviewed() {
    let schema = Schema::new();
    let mut text = String::new();
    for number in 1..=22 {
        let query = query(&schema, number);
        let planned = plan(&query, &ScaleOne, &PlanOptions::default());
        let planned = planned.unwrap_or_else(|error| panic!("query {number}: {error}"));
        let _ = writeln!(text, "-- Q{number}\n{}", explain(&planned, None));
    }
    let path = directory().join("testdata/tpch.txt");
    if std::env::var_os("PLAN_REWRITE").is_some() {
        std::fs::write(&path, &text).expect("golden file is written");
    }
    let golden = std::fs::read_to_string(&path).expect("golden file is there");
    assert!(golden == text, "plans of TPC-H differ from {}", path.display());
}

#[test]
fn planning_tpch_is_fast() {
    let schema = Schema::new();
    for number in 1..=22 {
        let query = query(&schema, number);
        let start = std::time::Instant::now();
        const TIMES: u32 = 20;
        for _ in 0..TIMES {
            plan(&query, &ScaleOne, &PlanOptions::default()).expect("a TPC-H query plans");
        }
        eprintln!("Q{number}: {:?}", start.elapsed() / TIMES);
    }
    assert_eq!(eval::day_number(1970, 1, 1), 0);
}
