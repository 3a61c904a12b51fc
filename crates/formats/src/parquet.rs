//! Parquet: one work order per row group.

use std::fs::File;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use engine::registry::{FileFormat, FileOptions, FileWriter, OpenedFile};
use exec::BatchSource;
use kernels::{BATCH_ROWS, Batch, Column};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use types::{DataType, Error, Result, SqlState};

use crate::arrow::{arrow_schema, record_batch, sql_type, vector_of};
use crate::output::{Output, io_error, open_to_read};

/// The format.
pub(crate) struct Parquet;

fn damaged(path: &str, error: &ParquetError) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("could not read Parquet file \"{path}\": {error}"))
}

fn unknown_option(name: &str) -> Error {
    let message = format!("COPY option \"{name}\" not recognized for Parquet");
    Error::new(SqlState::INVALID_PARAMETER, message)
}

impl FileFormat for Parquet {
    fn open(
        &self,
        path: &str,
        options: FileOptions<'_>,
        target: Option<&[(String, DataType)]>,
    ) -> Result<OpenedFile> {
        if let Some((name, _)) = options.given.first() {
            return Err(unknown_option(name));
        }
        let file = open_to_read(path)?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|e| damaged(path, &e))?;
        let fields = metadata.schema().fields();
        let column = |field: &Arc<arrow_schema::Field>| {
            Ok((field.name().clone(), sql_type(field.name(), field.data_type())?))
        };
        let stored = fields.iter().map(column).collect::<Result<Vec<_>>>()?;
        let columns = match target {
            Some(target) if target.len() == stored.len() => target.to_vec(),
            // The caller reports the difference in number.
            _ => stored.clone(),
        };
        let rows = u64::try_from(metadata.metadata().file_metadata().num_rows()).ok();
        let types = columns.iter().map(|(_, ty)| *ty).collect();
        let source = ParquetSource { path: path.to_owned(), metadata, stored, types };
        Ok(OpenedFile { columns, rows, source: Arc::new(source) })
    }

    fn create(
        &self,
        path: &str,
        options: FileOptions<'_>,
        columns: &[(String, DataType)],
    ) -> Result<Box<dyn FileWriter>> {
        let mut compression = Compression::SNAPPY;
        for (name, value) in options.given {
            compression = match (name.as_str(), value.to_ascii_lowercase().as_str()) {
                ("compression", "snappy") => Compression::SNAPPY,
                ("compression", "zstd") => Compression::ZSTD(ZstdLevel::default()),
                ("compression", "lz4") => Compression::LZ4_RAW,
                ("compression", "none" | "uncompressed") => Compression::UNCOMPRESSED,
                ("compression", other) => {
                    let message = format!("unknown Parquet compression \"{other}\"");
                    return Err(Error::new(SqlState::INVALID_PARAMETER, message));
                }
                _ => return Err(unknown_option(name)),
            };
        }
        let stored: Vec<(String, DataType)> =
            columns.iter().map(|(name, ty)| (name.clone(), stored_type(*ty))).collect();
        let schema = arrow_schema(&stored);
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .build();
        let output = Output::create(path)?;
        let writer = ArrowWriter::try_new(output, Arc::clone(&schema), Some(properties))
            .map_err(|e| write_error(path, &e))?;
        Ok(Box::new(ParquetWriter {
            path: path.to_owned(),
            columns: columns.to_vec(),
            stored,
            schema,
            writer,
        }))
    }
}

/// The type a column is stored as: text for INTERVAL, which Parquet has no common form for.
fn stored_type(ty: DataType) -> DataType {
    if matches!(ty, DataType::Interval(_)) { DataType::Text } else { ty }
}

/// Rows of a row group: two blocks, so that small files still load in parallel.
const ROW_GROUP_ROWS: usize = 1 << 17;

fn write_error(path: &str, error: &ParquetError) -> Error {
    if let ParquetError::External(source) = error
        && let Some(io) = source.downcast_ref::<std::io::Error>()
    {
        return io_error(path, "write", io);
    }
    Error::new(SqlState::IO_ERROR, format!("could not write file \"{path}\": {error}"))
}

struct ParquetSource {
    path: String,
    metadata: ArrowReaderMetadata,
    stored: Vec<(String, DataType)>,
    types: Vec<DataType>,
}

impl BatchSource for ParquetSource {
    fn orders(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    fn run(
        &self,
        order: usize,
        columns: &[usize],
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<()> {
        let file = File::open(&self.path).map_err(|e| io_error(&self.path, "open", &e))?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let mut wanted = columns.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied());
        let reader = builder
            .with_projection(mask)
            .with_row_groups(vec![order])
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(|e| damaged(&self.path, &e))?;
        for batch in reader {
            let batch = batch.map_err(|e| {
                let message = format!("could not read Parquet file \"{}\": {e}", self.path);
                Error::new(SqlState::DATA_CORRUPTED, message)
            })?;
            let column = |&column: &usize| {
                let at =
                    wanted.binary_search(&column).map_err(|_| Error::internal("projection"))?;
                let (name, stored) = &self.stored[column];
                let vector = vector_of(name, &**batch.column(at))?;
                let to = self.types[column];
                let vector =
                    if *stored == to { vector } else { kernels::cast::cast(&vector, *stored, to)? };
                Ok(Column::plain(vector))
            };
            let read = columns.iter().map(column).collect::<Result<Vec<_>>>()?;
            if !push(Batch::new(read, batch.num_rows()))? {
                break;
            }
        }
        Ok(())
    }
}

struct ParquetWriter {
    path: String,
    columns: Vec<(String, DataType)>,
    stored: Vec<(String, DataType)>,
    schema: SchemaRef,
    writer: ArrowWriter<Output>,
}

impl FileWriter for ParquetWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let column = |(i, column): (usize, &Column)| {
            let (from, to) = (self.columns[i].1, self.stored[i].1);
            if from == to {
                return Ok(column.clone());
            }
            Ok(Column::plain(kernels::cast::cast(&column.to_vector(), from, to)?))
        };
        let columns = batch.columns.iter().enumerate().map(column).collect::<Result<_>>()?;
        let batch = Batch::new(columns, batch.rows);
        let batch = record_batch(&batch, &self.stored, &self.schema)?;
        self.writer.write(&batch).map_err(|e| write_error(&self.path, &e))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { path, writer, .. } = *self;
        writer.into_inner().map_err(|e| write_error(&path, &e))?.finish()
    }
}
