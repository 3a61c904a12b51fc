//! Files: CSV, text of COPY, JSON, Parquet, Arrow streams; CSV and text between COPY and a client.
//!
//! Each format is an [`engine::registry::FileFormat`]: COPY reads and writes through it, and
//! `read_csv('f')`, `read_json('f')` and `read_parquet('f')` stand in FROM, for one file or many. A
//! format writes to a temporary name beside the file and renames it when all is written. Arrow's
//! record batches in memory stand in FROM as [`arrow_table`], and results become such batches by
//! [`ResultReader`].
#![forbid(unsafe_code)]

// Floors: lowest first.
mod arrow;
mod pipe;
mod output;
mod compressed;
mod many;
mod function;
mod parquet;
mod rows;
mod csv;
mod json;
mod text;
mod text_files;
mod stream;

use std::sync::Arc;

use engine::Database;

pub use arrow::{
    Intervals, ResultReader, arrow_columns, arrow_schema, table as arrow_table, write_stream,
};

/// Adds the formats and their table functions to `database`.
pub fn register(database: &Database) {
    let registry = database.registry();
    let csv: Arc<dyn engine::registry::FileFormat> = Arc::new(csv::Csv);
    let parquet: Arc<dyn engine::registry::FileFormat> = Arc::new(parquet::Parquet);
    registry.add_function("read_csv", Arc::new(function::Read::new("read_csv", &csv)));
    registry.add_function("read_csv_auto", Arc::new(function::Read::new("read_csv_auto", &csv)));
    for name in ["read_parquet", "parquet_scan"] {
        registry.add_function(name, Arc::new(function::Read::new(name, &parquet)));
    }
    let json: Arc<dyn engine::registry::FileFormat> = Arc::new(json::JsonFiles);
    for name in ["read_json", "read_json_auto", "read_ndjson", "read_ndjson_auto"] {
        registry.add_function(name, Arc::new(function::Read::new(name, &json)));
    }
    registry.add_stream_format("csv", Arc::new(stream::Stream::Csv));
    registry.add_stream_format("text", Arc::new(stream::Stream::Text));
    registry.add_format("csv", csv);
    registry.add_format("json", json);
    registry.add_format("parquet", parquet);
    registry.add_format("text", Arc::new(text_files::TextFiles));
}
