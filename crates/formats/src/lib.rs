//! Files: CSV, Parquet, Arrow streams; CSV and text between COPY and a client.
//!
//! Each format is an [`engine::registry::FileFormat`]: COPY reads and writes through it, and
//! `read_csv('f')` and `read_parquet('f')` stand in FROM. A format writes to a temporary name
//! beside the file and renames it when all is written. Arrow's record batches in memory stand in
//! FROM as [`arrow_table`], and results become such batches by [`ResultReader`].
#![forbid(unsafe_code)]

// Floors: lowest first.
mod arrow;
mod function;
mod pipe;
mod output;
mod parquet;
mod rows;
mod csv;
mod text;
mod stream;

use std::sync::Arc;

use engine::Database;

pub use arrow::{Intervals, ResultReader, table as arrow_table, write_stream};

/// Adds the formats and their table functions to `database`.
pub fn register(database: &Database) {
    let registry = database.registry();
    let csv: Arc<dyn engine::registry::FileFormat> = Arc::new(csv::Csv);
    let parquet: Arc<dyn engine::registry::FileFormat> = Arc::new(parquet::Parquet);
    registry.add_function("read_csv", Arc::new(function::Read::new("read_csv", &csv)));
    registry.add_function("read_csv_auto", Arc::new(function::Read::new("read_csv_auto", &csv)));
    registry.add_function("read_parquet", Arc::new(function::Read::new("read_parquet", &parquet)));
    registry.add_stream_format("csv", Arc::new(stream::Stream::Csv));
    registry.add_stream_format("text", Arc::new(stream::Stream::Text));
    registry.add_format("csv", csv);
    registry.add_format("parquet", parquet);
}
