//! Results on standard output or in a file: tables, expanded rows, CSV, JSON, Markdown, Arrow.

use std::io::{BufWriter, Write};

use comfy_table::{CellAlignment, Table, TableStyle, presets};
use engine::QueryResult;
use types::{DataType, Error, Result, SqlState};

use crate::arguments::Format;
use crate::display::{Around, Display, Expanded};

/// Rows of a table that are printed at most; the count below tells how many there are.
const TABLE_ROWS_MAX: usize = 10_000;

/// Prints `result`.
///
/// # Errors
/// 58030 when standard output, or the file in its place, cannot be written.
pub(crate) fn print(result: &QueryResult, display: &Display) -> Result<()> {
    for notice in result.notices() {
        eprintln!("{}:  {}", notice.severity.name(), notice.error.message());
    }
    if !result.has_rows() {
        let is_shown = matches!(display.format, Format::Table | Format::Markdown);
        if is_shown && !result.tag().is_empty() {
            println!("{}", result.tag());
        }
        return Ok(());
    }
    match &display.file {
        Some(file) => write(result, display, &mut BufWriter::new(file)),
        None => write(result, display, &mut BufWriter::new(std::io::stdout().lock())),
    }
}

fn write(result: &QueryResult, display: &Display, out: &mut impl Write) -> Result<()> {
    let written = match display.format {
        Format::Table => rows(result, display, out),
        Format::Markdown => {
            let table = table(result, display, presets::ASCII_MARKDOWN).0;
            writeln!(out, "{table}")
        }
        Format::Csv => csv(result, out),
        Format::Json => json(result, out),
        Format::Arrow => return formats::write_stream(result, out),
    };
    match written.and_then(|()| out.flush()) {
        // Whoever read our output has enough: `tessera ... | head`.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.map_err(|e| {
            let place = if display.file.is_some() { "the output file" } else { "standard output" };
            Error::new(SqlState::IO_ERROR, format!("could not write to {place}: {e}"))
        }),
    }
}

/// The rows as a table, and how many of them it has.
fn table(result: &QueryResult, display: &Display, style: TableStyle) -> (Table, usize) {
    let mut table = Table::new();
    table.load_style(style);
    if display.around == Around::Shown {
        table.set_header(result.columns().iter().map(|(name, _)| name));
    }
    for (i, (_, ty)) in result.columns().iter().enumerate() {
        if let (true, Some(column)) = (ty.is_number(), table.column_mut(i)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut shown = 0;
    result.for_each_text(|row| {
        table.add_row(row.iter().map(|cell| cell.as_deref().unwrap_or(&display.null).to_owned()));
        shown += 1;
        shown < TABLE_ROWS_MAX
    });
    (table, shown)
}

fn rows(result: &QueryResult, display: &Display, out: &mut impl Write) -> std::io::Result<()> {
    let shown = match display.expanded {
        Expanded::On => expanded(result, display, out)?,
        Expanded::Off | Expanded::Auto => {
            let (table, shown) = table(result, display, presets::UTF8_FULL_CONDENSED);
            let text = if result.columns().is_empty() { String::new() } else { table.to_string() };
            let width = text.lines().next().map_or(0, |line| line.chars().count());
            if display.expanded == Expanded::Auto && width > terminal_width() {
                expanded(result, display, out)?
            } else {
                if !text.is_empty() {
                    writeln!(out, "{text}")?;
                }
                shown
            }
        }
    };
    if display.around == Around::Left {
        return Ok(());
    }
    let rows = result.row_count();
    let noun = if rows == 1 { "row" } else { "rows" };
    if rows > shown {
        return writeln!(out, "({rows} {noun}, the first {shown} shown)");
    }
    writeln!(out, "({rows} {noun})")
}

/// Columns of the terminal, or what is usual.
fn terminal_width() -> usize {
    let table = Table::new();
    table.width().map_or(80, usize::from)
}

/// A block of lines for each row; how many there are.
fn expanded(
    result: &QueryResult,
    display: &Display,
    out: &mut impl Write,
) -> std::io::Result<usize> {
    let names: Vec<&str> = result.columns().iter().map(|(name, _)| name.as_str()).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let (mut shown, mut outcome) = (0, Ok(()));
    result.for_each_text(|row| {
        shown += 1;
        outcome = (|| {
            let title = format!("-[ RECORD {shown} ]");
            writeln!(out, "{title:-<width$}", width = width + 20)?;
            for (name, cell) in names.iter().zip(row) {
                let value = cell.as_deref().unwrap_or(&display.null);
                writeln!(out, "{name:width$} | {value}")?;
            }
            Ok(())
        })();
        outcome.is_ok() && shown < TABLE_ROWS_MAX
    });
    outcome.map(|()| shown)
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
