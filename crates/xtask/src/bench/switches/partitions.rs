//! Orders and their lines in partitions by the key of the order: by ranges (`r_`), by hash (`h_`).

use std::borrow::Cow;

/// Partitions of each table.
const PARTS: u64 = 8;

/// Columns of the copies, with their types.
const ORDERS: &str =
    "o_orderkey integer, o_custkey integer, o_orderdate date, o_totalprice numeric(15,2)";
const LINES: &str = "l_orderkey integer, l_linenumber integer, l_quantity numeric(15,2), \
                     l_extendedprice numeric(15,2), l_returnflag char(1)";

/// The tables whose copies are partitioned, their keys and columns.
const TABLES: [(&str, &str, &str); 2] =
    [("orders", "o_orderkey", ORDERS), ("lineitem", "l_orderkey", LINES)];

/// Statements behind `CALL tpch(sf => ...)`.
pub(super) fn statements(sf: f64) -> Vec<String> {
    let last = (6_000_000.0 * sf) as u64;
    let step = last.div_ceil(PARTS).max(1);
    let mut all = Vec::new();
    for (table, key, columns) in TABLES {
        for (prefix, strategy) in [("r", "RANGE"), ("h", "HASH")] {
            let name = format!("{prefix}_{table}");
            all.push(format!("CREATE TABLE {name} ({columns}) PARTITION BY {strategy} ({key})"));
            for part in 0..PARTS {
                let bound = match strategy {
                    "RANGE" => format!("FROM ({}) TO ({})", part * step, (part + 1) * step),
                    _ => format!("WITH (MODULUS {PARTS}, REMAINDER {part})"),
                };
                let bound = bound.replace(&format!("({})", PARTS * step), "(MAXVALUE)");
                all.push(format!(
                    "CREATE TABLE {name}_{part} PARTITION OF {name} FOR VALUES {bound}"
                ));
            }
            let names = columns.split(", ").filter_map(|column| column.split(' ').next());
            let names: Vec<&str> = names.collect();
            all.push(format!("INSERT INTO {name} SELECT {} FROM {table}", names.join(", ")));
        }
    }
    all.push("ANALYZE".to_owned());
    all
}

/// Queries by name, over tables of both prefixes.
const QUERIES: [(&str, &str); 4] = [
    (
        "groups",
        "SELECT count(*), max(q) FROM (SELECT l_orderkey, sum(l_quantity) AS q FROM {}_lineitem \
         GROUP BY l_orderkey) AS g",
    ),
    (
        "groups of two keys",
        "SELECT count(*), max(q) FROM (SELECT l_orderkey, l_returnflag, sum(l_quantity) AS q \
         FROM {}_lineitem GROUP BY l_orderkey, l_returnflag) AS g",
    ),
    (
        "join",
        "SELECT count(*), sum(o_totalprice - l_extendedprice) FROM {}_orders \
         JOIN {}_lineitem ON l_orderkey = o_orderkey",
    ),
    (
        "join and groups",
        "SELECT count(*), max(q) FROM (SELECT o_orderkey, o_orderdate, sum(l_quantity) AS q \
         FROM {}_orders JOIN {}_lineitem ON l_orderkey = o_orderkey \
         GROUP BY o_orderkey, o_orderdate) AS g",
    ),
];

/// Names and texts of the queries.
pub(super) fn queries() -> Vec<(String, Cow<'static, str>)> {
    let of = |prefix: &'static str| {
        QUERIES.map(|(name, text)| (format!("{prefix}: {name}"), text.replace("{}", prefix).into()))
    };
    [of("r"), of("h")].concat()
}
