//! The tables and views of the system as relations of the catalog.

use types::Value;

use super::{Missing, Row, SYSTEM_SCHEMAS, catalogs, numbers, schema};

/// The number of the collation `C`, which texts of the catalog have.
const C_COLLATION: i64 = 950;

/// Functions that stand in FROM, which are tables here.
const FUNCTIONS: [&str; 2] = ["pg_get_keywords", "pg_partition_ancestors"];

/// Schema and name of each.
fn all() -> Vec<(&'static str, &'static str)> {
    let own = catalogs::CATALOGS.iter().map(|(name, ..)| ("pg_catalog", *name));
    let mut all: Vec<_> = own.chain(schema::names()).collect();
    all.retain(|(_, name)| !name.starts_with("tessera_") && !FUNCTIONS.contains(name));
    all.sort_unstable();
    all.dedup();
    all
}

/// The columns that `*` shows.
fn columns(schema: &str, name: &str) -> Vec<(&'static str, types::DataType)> {
    let mut columns = schema::find(schema, name).unwrap_or_default();
    columns.retain(|(column, _)| !column.starts_with('.'));
    columns
}

/// Rows of pg_class for the system's relations.
pub(super) fn classes() -> Vec<Vec<Value>> {
    let own = schema::find("pg_catalog", "pg_class").unwrap_or_default();
    let row = |(schema, name): (&str, &str)| {
        let is_table = schema == "pg_catalog" && catalogs::number(name) != 0;
        let space = SYSTEM_SCHEMAS.into_iter().find(|(_, known)| *known == schema);
        let full = format!("{schema}.{name}");
        Row::default()
            .number("oid", catalogs::number_in(schema, name))
            .text("relname", name)
            .number("relnamespace", space.map_or(0, |(number, _)| number))
            .number("relam", if is_table { 2 } else { 0 })
            .text("relpersistence", "p")
            .text("relkind", if is_table { "r" } else { "v" })
            .number("relnatts", columns(schema, name).len() as i64)
            .flag("relhasrules", !is_table)
            .text("relreplident", "n")
            .flag("relispopulated", true)
            .text("shown", if schema == "pg_catalog" { name } else { &full })
            .text("fullname", &full)
            .flag("visible", schema == "pg_catalog")
            .finish(&own, Missing::Nothing)
    };
    all().into_iter().map(row).collect()
}

/// Rows of pg_attribute for the system's relations.
pub(super) fn attributes() -> Vec<Vec<Value>> {
    let own = schema::find("pg_catalog", "pg_attribute").unwrap_or_default();
    let mut rows = Vec::new();
    for (schema, name) in all() {
        let relation = catalogs::number_in(schema, name);
        for (ordinal, (column, ty)) in columns(schema, name).into_iter().enumerate() {
            let (number, modifier) = numbers::of_type(ty);
            let entry = numbers::own_entry(ty);
            let row = Row::default()
                .number("attrelid", relation)
                .text("attname", column)
                .number("atttypid", number)
                .number("attstattarget", -1)
                .number("attlen", entry.bytes)
                .number("attnum", ordinal as i64 + 1)
                .number("attcacheoff", -1)
                .number("atttypmod", modifier)
                .flag("attbyval", entry.is_by_value)
                .text("attalign", entry.align)
                .text("attstorage", entry.storage)
                .text("attcompression", "")
                .flag("attnotnull", column == "oid")
                .text("attidentity", "")
                .text("attgenerated", "")
                .flag("attislocal", true)
                .number("attcollation", if entry.collation == 0 { 0 } else { C_COLLATION });
            rows.push(row.finish(&own, Missing::Nothing));
        }
    }
    rows
}
