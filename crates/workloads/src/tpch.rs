//! TPC-H: eight tables by `tpchgen`, which equals dbgen's output, and the 22 queries with the
//! specification's validation parameters.

use std::sync::Arc;

use engine::{CancelHandle, Database};
use storage::BulkWriter;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use types::{DataType, Result};

use crate::load::{Generate, Generator, LoadProgress, Rows, TableSpec, load_all, part_count};

/// The queries, Q1 first, each one statement without a semicolon.
pub const QUERIES: [&str; 22] = queries!(
    "tpch":
    "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11"
    "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22"
);

/// The tables, in loading order.
pub const TABLES: [&str; 8] =
    ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"];

const KEY: DataType = DataType::BigInt;
const INTEGER: DataType = DataType::Integer;
const MONEY: DataType = DataType::numeric(15, 2);
const DATE: DataType = DataType::Date;

const fn char(n: u32) -> DataType {
    DataType::Char(n)
}

const fn varchar(n: u32) -> DataType {
    DataType::Varchar(Some(n))
}

const REGION: &[(&str, DataType)] =
    &[("r_regionkey", KEY), ("r_name", char(25)), ("r_comment", varchar(152))];

const NATION: &[(&str, DataType)] = &[
    ("n_nationkey", KEY),
    ("n_name", char(25)),
    ("n_regionkey", KEY),
    ("n_comment", varchar(152)),
];

const SUPPLIER: &[(&str, DataType)] = &[
    ("s_suppkey", KEY),
    ("s_name", char(25)),
    ("s_address", varchar(40)),
    ("s_nationkey", KEY),
    ("s_phone", char(15)),
    ("s_acctbal", MONEY),
    ("s_comment", varchar(101)),
];

const CUSTOMER: &[(&str, DataType)] = &[
    ("c_custkey", KEY),
    ("c_name", varchar(25)),
    ("c_address", varchar(40)),
    ("c_nationkey", KEY),
    ("c_phone", char(15)),
    ("c_acctbal", MONEY),
    ("c_mktsegment", char(10)),
    ("c_comment", varchar(117)),
];

const PART: &[(&str, DataType)] = &[
    ("p_partkey", KEY),
    ("p_name", varchar(55)),
    ("p_mfgr", char(25)),
    ("p_brand", char(10)),
    ("p_type", varchar(25)),
    ("p_size", INTEGER),
    ("p_container", char(10)),
    ("p_retailprice", MONEY),
    ("p_comment", varchar(23)),
];

const PARTSUPP: &[(&str, DataType)] = &[
    ("ps_partkey", KEY),
    ("ps_suppkey", KEY),
    ("ps_availqty", INTEGER),
    ("ps_supplycost", MONEY),
    ("ps_comment", varchar(199)),
];

const ORDERS: &[(&str, DataType)] = &[
    ("o_orderkey", KEY),
    ("o_custkey", KEY),
    ("o_orderstatus", char(1)),
    ("o_totalprice", MONEY),
    ("o_orderdate", DATE),
    ("o_orderpriority", char(15)),
    ("o_clerk", char(15)),
    ("o_shippriority", INTEGER),
    ("o_comment", varchar(79)),
];

const LINEITEM: &[(&str, DataType)] = &[
    ("l_orderkey", KEY),
    ("l_partkey", KEY),
    ("l_suppkey", KEY),
    ("l_linenumber", INTEGER),
    ("l_quantity", MONEY),
    ("l_extendedprice", MONEY),
    ("l_discount", MONEY),
    ("l_tax", MONEY),
    ("l_returnflag", char(1)),
    ("l_linestatus", char(1)),
    ("l_shipdate", DATE),
    ("l_commitdate", DATE),
    ("l_receiptdate", DATE),
    ("l_shipinstruct", char(25)),
    ("l_shipmode", char(10)),
    ("l_comment", varchar(44)),
];

/// Generates the tables at scale factor `sf` into `database`.
///
/// # Errors
/// 42P07 when one of the tables exists, 57014 when cancelled, 53200 without memory; nothing stays
/// then.
pub fn load(
    database: &Database,
    sf: f64,
    cancel: &CancelHandle,
    progress: &LoadProgress,
) -> Result<()> {
    load_all(database.bulk_load()?, tables(sf), cancel, progress)
}

fn table(
    name: &'static str,
    columns: &'static [(&'static str, DataType)],
    key: &'static [usize],
    rows: f64,
    generate: impl Fn(i32, i32, &mut Rows<'_>) -> Result<()> + Send + Sync + 'static,
) -> TableSpec {
    let generate: Generate = Arc::new(move |part, parts, writer: &mut BulkWriter| {
        let mut rows = Rows::new(columns, writer);
        // tpchgen counts parts from 1.
        generate(part as i32 + 1, parts as i32, &mut rows)?;
        rows.finish()
    });
    TableSpec { name, columns, nullable: &[], key, parts: part_count(rows), generate }
}

fn tables(sf: f64) -> Vec<TableSpec> {
    vec![
        table("region", REGION, &[0], 5.0, move |part, parts, rows| {
            for r in RegionGenerator::new(sf, part, parts).iter() {
                rows.integer(r.r_regionkey).text(r.r_name).text(r.r_comment).end()?;
            }
            Ok(())
        }),
        table("nation", NATION, &[0], 25.0, move |part, parts, rows| {
            for n in NationGenerator::new(sf, part, parts).iter() {
                rows.integer(n.n_nationkey).text(n.n_name);
                rows.integer(n.n_regionkey).text(n.n_comment).end()?;
            }
            Ok(())
        }),
        table("supplier", SUPPLIER, &[0], 1e4 * sf, move |part, parts, rows| {
            for s in SupplierGenerator::new(sf, part, parts).iter() {
                rows.integer(s.s_suppkey).print(s.s_name).print(s.s_address);
                rows.integer(s.s_nationkey).print(s.s_phone).integer(s.s_acctbal.0);
                rows.text(&s.s_comment).end()?;
            }
            Ok(())
        }),
        table("customer", CUSTOMER, &[0], 1.5e5 * sf, move |part, parts, rows| {
            for c in CustomerGenerator::new(sf, part, parts).iter() {
                rows.integer(c.c_custkey).print(c.c_name).print(c.c_address);
                rows.integer(c.c_nationkey).print(c.c_phone).integer(c.c_acctbal.0);
                rows.text(c.c_mktsegment).text(c.c_comment).end()?;
            }
            Ok(())
        }),
        table("part", PART, &[0], 2e5 * sf, move |part, parts, rows| {
            for p in PartGenerator::new(sf, part, parts).iter() {
                rows.integer(p.p_partkey).print(&p.p_name).print(p.p_mfgr).print(p.p_brand);
                rows.text(p.p_type).integer(p.p_size.into()).text(p.p_container);
                rows.integer(p.p_retailprice.0).text(p.p_comment).end()?;
            }
            Ok(())
        }),
        table("partsupp", PARTSUPP, &[0, 1], 8e5 * sf, move |part, parts, rows| {
            for ps in PartSuppGenerator::new(sf, part, parts).iter() {
                rows.integer(ps.ps_partkey).integer(ps.ps_suppkey);
                rows.integer(ps.ps_availqty.into()).integer(ps.ps_supplycost.0);
                rows.text(ps.ps_comment).end()?;
            }
            Ok(())
        }),
        table("orders", ORDERS, &[0], 1.5e6 * sf, move |part, parts, rows| {
            for o in OrderGenerator::new(sf, part, parts).iter() {
                rows.integer(o.o_orderkey).integer(o.o_custkey).text(o.o_orderstatus.as_str());
                rows.integer(o.o_totalprice.0).integer(o.o_orderdate.to_unix_epoch().into());
                rows.text(o.o_orderpriority).print(o.o_clerk).integer(o.o_shippriority.into());
                rows.text(o.o_comment).end()?;
            }
            Ok(())
        }),
        table("lineitem", LINEITEM, &[0, 3], 6e6 * sf, lineitem(sf)),
    ]
}

fn lineitem(sf: f64) -> impl Fn(i32, i32, &mut Rows<'_>) -> Result<()> + Send + Sync + 'static {
    move |part, parts, rows| {
        for l in LineItemGenerator::new(sf, part, parts).iter() {
            rows.integer(l.l_orderkey).integer(l.l_partkey).integer(l.l_suppkey);
            rows.integer(l.l_linenumber.into()).integer(l.l_quantity * 100);
            rows.integer(l.l_extendedprice.0).integer(l.l_discount.0).integer(l.l_tax.0);
            rows.text(l.l_returnflag).text(l.l_linestatus);
            rows.integer(l.l_shipdate.to_unix_epoch().into());
            rows.integer(l.l_commitdate.to_unix_epoch().into());
            rows.integer(l.l_receiptdate.to_unix_epoch().into());
            rows.text(l.l_shipinstruct).text(l.l_shipmode).text(l.l_comment).end()?;
        }
        Ok(())
    }
}

/// Adds `CALL tpch(sf => ...)`.
pub(crate) fn register(database: &Database) {
    Generator::scaled("tpch", "sf", load).register(database);
}
