//! Results on standard output: aligned, CSV, JSON, Arrow.

use std::io::{BufWriter, Write};

use comfy_table::{CellAlignment, Table, presets};
use engine::QueryResult;
use types::{DataType, Error, Result, SqlState};

use crate::arguments::Format;

/// Rows of a table that are printed at most; the count below tells how many there are.
const TABLE_ROWS_MAX: usize = 10_000;

/// Prints `result`.
///
/// # Errors
/// 58030 when standard output cannot be written.
pub(crate) fn print(result: &QueryResult, format: Format) -> Result<()> {
    for notice in result.notices() {
        eprintln!("{}:  {}", notice.severity.name(), notice.error.message());
    }
    if !result.has_rows() {
        if format == Format::Table && !result.tag().is_empty() {
            println!("{}", result.tag());
        }
        return Ok(());
    }
    let stdout = std::io::stdout().lock();
    let mut out = BufWriter::new(stdout);
    let written = match format {
        Format::Table => table(result, &mut out),
        Format::Csv => csv(result, &mut out),
        Format::Json => json(result, &mut out),
        Format::Arrow => return formats::write_stream(result, &mut out),
    };
    match written.and_then(|()| out.flush()) {
        // Whoever read our output has enough: `tessera ... | head`.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.map_err(|e| {
            Error::new(SqlState::IO_ERROR, format!("could not write to standard output: {e}"))
        }),
    }
}

fn table(result: &QueryResult, out: &mut impl Write) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(result.columns().iter().map(|(name, _)| name));
    for (i, (_, ty)) in result.columns().iter().enumerate() {
        if let (true, Some(column)) = (ty.is_number(), table.column_mut(i)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut shown = 0;
    result.for_each_text(|row| {
        table.add_row(row.iter().map(|cell| cell.as_deref().unwrap_or("NULL").to_owned()));
        shown += 1;
        shown < TABLE_ROWS_MAX
    });
    if !result.columns().is_empty() {
        writeln!(out, "{table}")?;
    }
    let rows = result.row_count();
    let noun = if rows == 1 { "row" } else { "rows" };
    if rows > shown {
        return writeln!(out, "({rows} {noun}, the first {shown} shown)");
    }
    writeln!(out, "({rows} {noun})")
}

/// A CSV field as PostgreSQL writes it: NULL is empty, an empty text is quoted.
fn csv_field(text: Option<&str>, out: &mut impl Write) -> std::io::Result<()> {
    let Some(text) = text else {
        return Ok(());
    };
    let special = text.is_empty() || text.contains([',', '"', '\n', '\r']);
    if special { write!(out, "\"{}\"", text.replace('"', "\"\"")) } else { write!(out, "{text}") }
}

fn csv(result: &QueryResult, out: &mut impl Write) -> std::io::Result<()> {
    for (i, (name, _)) in result.columns().iter().enumerate() {
        write!(out, "{}", if i > 0 { "," } else { "" })?;
        csv_field(Some(name), out)?;
    }
    writeln!(out)?;
    let mut outcome = Ok(());
    result.for_each_text(|row| {
        outcome = (|| {
            for (i, cell) in row.iter().enumerate() {
                write!(out, "{}", if i > 0 { "," } else { "" })?;
                csv_field(cell.as_deref(), out)?;
            }
            writeln!(out)
        })();
        outcome.is_ok()
    });
    outcome
}

/// A JSON value: numbers as they are printed (exact), NaN and infinities as text.
fn json_value(text: Option<&str>, ty: DataType) -> String {
    match text {
        None => "null".to_owned(),
        Some("t") if ty == DataType::Boolean => "true".to_owned(),
        Some("f") if ty == DataType::Boolean => "false".to_owned(),
        Some(text) if ty.is_number() && text.ends_with(|c: char| c.is_ascii_digit()) => {
            text.to_owned()
        }
        Some(text) => serde_json::Value::from(text).to_string(),
    }
}

fn json(result: &QueryResult, out: &mut impl Write) -> std::io::Result<()> {
    let mut outcome = Ok(());
    result.for_each_text(|row| {
        let field = |(cell, (name, ty)): (&Option<String>, &(String, DataType))| {
            let name = serde_json::Value::from(name.as_str());
            format!("{name}:{}", json_value(cell.as_deref(), *ty))
        };
        let fields: Vec<String> = row.iter().zip(result.columns()).map(field).collect();
        outcome = writeln!(out, "{{{}}}", fields.join(","));
        outcome.is_ok()
    });
    outcome
}
