//! Lists of what there is in a database, in the tables that Flight SQL prescribes: asked of
//! PostgreSQL's catalogs in SQL, with the user's rights.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_flight::sql::metadata::{SqlInfoData, SqlInfoDataBuilder};
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetPrimaryKeys, CommandGetSqlInfo,
    CommandGetTableTypes, CommandGetTables, SqlInfo, SqlSupportedCaseSensitivity,
    SqlSupportedTransaction,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use engine::Session;
use types::{Error, Result};

/// Kinds of tables, in the order of their names.
const TABLE_TYPES: [&str; 6] =
    ["FOREIGN TABLE", "MATERIALIZED VIEW", "SYSTEM TABLE", "SYSTEM VIEW", "TABLE", "VIEW"];

fn unmade(error: ArrowError) -> Error {
    Error::internal(format!("a list of Flight SQL: {error}"))
}

/// A string of SQL.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name of SQL.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Rows of `query`, all of whose columns are texts that are not NULL.
pub(crate) fn texts(session: &mut Session, query: &str) -> Result<Vec<Vec<String>>> {
    let rows = session.execute(query)?.text_rows().into_iter();
    Ok(rows.map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect())
}

/// A test of `column` with a pattern of LIKE, if there is one.
fn like(column: &str, pattern: Option<&String>) -> String {
    pattern.map(|pattern| format!(" AND {column} LIKE {}", literal(pattern))).unwrap_or_default()
}

/// The one database that a session sees.
pub(crate) fn catalogs(session: &mut Session, asked: CommandGetCatalogs) -> Result<RecordBatch> {
    let mut builder = asked.into_builder();
    builder.append(session.database().name());
    builder.build().map_err(|error| unmade(into_arrow(error)))
}

/// Errors of Arrow's builders as those of arrays.
fn into_arrow(error: arrow_flight::error::FlightError) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

/// Schemas of the database.
pub(crate) fn schemas(session: &mut Session, asked: CommandGetDbSchemas) -> Result<RecordBatch> {
    let query = "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg_toast%' \
                 ORDER BY nspname";
    let catalog = session.database().name();
    let rows = texts(session, query)?;
    let mut builder = asked.into_builder();
    rows.iter().flatten().for_each(|schema| builder.append(&catalog, schema));
    builder.build().map_err(|error| unmade(into_arrow(error)))
}

/// The columns of a table as Arrow has them; none where the user may not read it.
pub(crate) fn schema_of(session: &mut Session, schema: &str, table: &str) -> SchemaRef {
    let query = format!("SELECT * FROM {}.{}", identifier(schema), identifier(table));
    let prepared = session.prepare(&query, &[]);
    let columns = prepared.as_ref().ok().and_then(|prepared| prepared.columns());
    formats::arrow_schema(columns.unwrap_or_default())
}

/// Tables and views, with their columns where that is asked for.
pub(crate) fn tables(session: &mut Session, asked: CommandGetTables) -> Result<RecordBatch> {
    let query = format!(
        "SELECT n.nspname, c.relname, \
         CASE WHEN n.nspname IN ('pg_catalog', 'information_schema') THEN 'SYSTEM ' ELSE '' END || \
         CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' \
         WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg_toast%'{}{} \
         ORDER BY n.nspname, c.relname",
        like("n.nspname", asked.db_schema_filter_pattern.as_ref()),
        like("c.relname", asked.table_name_filter_pattern.as_ref()),
    );
    let catalog = session.database().name();
    let rows = texts(session, &query)?;
    let with_columns = asked.include_schema;
    let mut builder = asked.into_builder();
    for row in &rows {
        let [schema, table, kind] = row.as_slice() else { continue };
        let columns = if with_columns {
            schema_of(session, schema, table)
        } else {
            Arc::new(Schema::empty())
        };
        let added = builder.append(&catalog, schema, table, kind, &columns);
        added.map_err(|error| unmade(into_arrow(error)))?;
    }
    builder.build().map_err(|error| unmade(into_arrow(error)))
}

/// A table that can be scanned in parts.
pub(crate) struct Table {
    /// Its schema and its name.
    pub(crate) path: Vec<String>,
    pub(crate) columns: SchemaRef,
}

/// Tables and views but those of the system.
pub(crate) fn flights(session: &mut Session) -> Result<Vec<Table>> {
    let query = "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c \
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%' \
                 AND n.nspname <> 'information_schema' ORDER BY 1, 2";
    let rows = texts(session, query)?;
    let mut tables = Vec::with_capacity(rows.len());
    for path in rows {
        let [schema, table] = path.as_slice() else { continue };
        let columns = schema_of(session, schema, table);
        tables.push(Table { path, columns });
    }
    Ok(tables)
}

/// Kinds of tables.
pub(crate) fn table_types(asked: CommandGetTableTypes) -> Result<RecordBatch> {
    let mut builder = asked.into_builder();
    TABLE_TYPES.iter().for_each(|kind| builder.append(kind));
    builder.build().map_err(|error| unmade(into_arrow(error)))
}

/// Columns of [`table_types`].
pub(crate) fn table_types_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("table_type", DataType::Utf8, false)]))
}

/// Columns of [`primary_keys`].
pub(crate) fn primary_keys_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("catalog_name", DataType::Utf8, true),
        Field::new("db_schema_name", DataType::Utf8, true),
        Field::new("table_name", DataType::Utf8, false),
        Field::new("column_name", DataType::Utf8, false),
        Field::new("key_name", DataType::Utf8, true),
        Field::new("key_sequence", DataType::Int32, false),
    ]))
}

/// Columns of the primary key of a table.
pub(crate) fn primary_keys(
    session: &mut Session,
    asked: &CommandGetPrimaryKeys,
) -> Result<RecordBatch> {
    let schema = asked.db_schema.as_ref();
    let of_schema = schema.map(|schema| format!(" AND u.table_schema = {}", literal(schema)));
    let query = format!(
        "SELECT u.table_schema, u.table_name, u.column_name, u.constraint_name, \
         u.ordinal_position FROM information_schema.key_column_usage u \
         JOIN information_schema.table_constraints c USING (constraint_schema, constraint_name, \
         table_name) WHERE c.constraint_type = 'PRIMARY KEY' AND u.table_name = {}{} \
         ORDER BY u.table_schema, u.ordinal_position",
        literal(&asked.table),
        of_schema.unwrap_or_default(),
    );
    let catalog = session.database().name();
    let rows = texts(session, &query)?;
    let column = |at: usize| -> ArrayRef {
        let texts = rows.iter().map(|row| row.get(at).map(String::as_str).unwrap_or_default());
        Arc::new(StringArray::from_iter_values(texts))
    };
    let positions = rows.iter().map(|row| row.last().and_then(|text| text.parse().ok()));
    let positions = Int32Array::from_iter_values(positions.map(Option::unwrap_or_default));
    let catalogs = StringArray::from_iter_values(rows.iter().map(|_| catalog.as_str()));
    let columns: Vec<ArrayRef> =
        vec![Arc::new(catalogs), column(0), column(1), column(2), column(3), Arc::new(positions)];
    RecordBatch::try_new(primary_keys_schema(), columns).map_err(unmade)
}

/// Facts that a client may want to know of the server before it asks for anything.
fn infos() -> Result<SqlInfoData> {
    let mut builder = SqlInfoDataBuilder::new();
    builder.append(SqlInfo::FlightSqlServerName, "Tessera");
    builder.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    builder.append(SqlInfo::FlightSqlServerArrowVersion, "1.5");
    builder.append(SqlInfo::FlightSqlServerReadOnly, false);
    builder.append(SqlInfo::FlightSqlServerSql, true);
    builder.append(SqlInfo::FlightSqlServerSubstrait, false);
    let transactions = SqlSupportedTransaction::Savepoint as i32;
    builder.append(SqlInfo::FlightSqlServerTransaction, transactions);
    builder.append(SqlInfo::FlightSqlServerCancel, false);
    builder.append(SqlInfo::FlightSqlServerBulkIngestion, true);
    builder.append(SqlInfo::FlightSqlServerIngestTransactionsSupported, true);
    builder.append(SqlInfo::SqlDdlCatalog, false);
    builder.append(SqlInfo::SqlDdlSchema, true);
    builder.append(SqlInfo::SqlDdlTable, true);
    let lower = SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase as i32;
    builder.append(SqlInfo::SqlIdentifierCase, lower);
    builder.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    builder.build().map_err(|error| unmade(into_arrow(error)))
}

/// The facts that were asked for, all of them when none is named.
pub(crate) fn sql_info(asked: CommandGetSqlInfo) -> Result<RecordBatch> {
    let infos = infos()?;
    asked.into_builder(&infos).build().map_err(|error| unmade(into_arrow(error)))
}

/// Columns of [`sql_info`].
pub(crate) fn sql_info_schema() -> SchemaRef {
    Arc::new(SqlInfoDataBuilder::schema().clone())
}
