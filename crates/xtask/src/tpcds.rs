//! TPC-DS: tables and queries, made by DuckDB's extension in a folder under the target directory.
//!
//! ```text
//! PyPI: duckdb, duckdb-extension-tpcds --dsdgen, tpcds_queries()--> T.parquet, N.sql --> suite
//! ```
//! Neither data nor texts of queries are in the repository: the extension has them of the TPC.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::venv::{environment, must};
use crate::{peers_home, text};

/// The release whose extensions are packages of the index.
const PACKAGES: [&str; 3] =
    ["duckdb==1.5.5", "duckdb-extensions==1.5.5", "duckdb-extension-tpcds==1.5.5"];

/// Queries of the benchmark.
const QUERIES: usize = 99;

/// Makes the files.
const SCRIPT: &str = include_str!("tpcds.py");

/// The tables.
pub(crate) const TABLES: [&str; 24] = [
    "call_center",
    "catalog_page",
    "catalog_returns",
    "catalog_sales",
    "customer",
    "customer_address",
    "customer_demographics",
    "date_dim",
    "household_demographics",
    "income_band",
    "inventory",
    "item",
    "promotion",
    "reason",
    "ship_mode",
    "store",
    "store_returns",
    "store_sales",
    "time_dim",
    "warehouse",
    "web_page",
    "web_returns",
    "web_sales",
    "web_site",
];

/// The folder with the tables at scale factor `scale` and the queries, made when it is not there.
///
/// # Errors
/// When there is no Python, or the packages cannot be installed.
pub(crate) fn made(scale: f64) -> Result<PathBuf, String> {
    let home = peers_home();
    fs::create_dir_all(&home).map_err(text)?;
    let folder = home.join(format!("tpcds-data-{scale}"));
    // The last file that the script writes.
    if folder.join("ready").is_file() {
        return Ok(folder);
    }
    let python = environment(&home.join("tpcds-extension"), &PACKAGES)?;
    fs::create_dir_all(&folder).map_err(text)?;
    must(Command::new(python).args(["-c", SCRIPT]).arg(&folder).arg(scale.to_string()))?;
    fs::write(folder.join("ready"), "").map_err(text)?;
    Ok(folder)
}

/// Names and texts of the queries of `folder`.
///
/// # Errors
/// When one is not there.
pub(crate) fn queries(folder: &Path) -> Result<Vec<(String, Cow<'static, str>)>, String> {
    let query = |number: usize| {
        let file = folder.join(format!("{number}.sql"));
        let sql = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok((number.to_string(), Cow::Owned(sql)))
    };
    (1..=QUERIES).map(query).collect()
}
