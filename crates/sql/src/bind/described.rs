//! DESCRIBE and SUMMARIZE: queries about the columns of a query.

use sqlparser::ast;
use types::{DataType, Result};

use super::scope::Scope;
use super::{Binder, BoundColumn, Unknowns};
use crate::catalog::Relation;
use crate::definition::{ColumnDef, KeyDef};
use crate::parse::{DescribedQuery, DescribedTree, parse_query};
use crate::statement::Statement;

/// The columns of SUMMARIZE.
const FIGURES: &str = "column_name, column_type, min, max, approx_unique, avg, std, q25, q50, \
                       q75, count, null_percentage";

/// The name of the summarized query.
const SOURCE: &str = "summarized";

/// A column as DESCRIBE shows it.
struct Described {
    name: String,
    ty: DataType,
    /// None for the column of a query, which may be NULL.
    of_table: Option<TableColumn>,
}

/// Properties of a table's column besides its type.
struct TableColumn {
    not_null: bool,
    key: Option<&'static str>,
    default: Option<String>,
}

impl TableColumn {
    fn of(ordinal: usize, column: &ColumnDef, keys: &[KeyDef]) -> Self {
        let is_in = |key: &&KeyDef| key.columns.contains(&ordinal);
        let key = keys.iter().filter(is_in).map(|key| if key.primary { "PRI" } else { "UNI" });
        let generated = column.generated.as_ref().map(|expr| format!("({expr})"));
        Self {
            not_null: column.not_null,
            key: key.min(),
            default: column.default.clone().or(generated),
        }
    }
}

impl Binder<'_> {
    pub(super) fn bind_described(&mut self, tree: &DescribedTree) -> Result<Statement> {
        let query = match tree {
            DescribedTree::List(query) => parse_query(query)?,
            DescribedTree::Describe(of) => {
                let columns = self.described_columns(of)?;
                parse_query(&listing(&columns))?
            }
            DescribedTree::Summarize(of) => {
                let query = whole(of)?;
                let columns = self.columns_of_query(&query)?;
                summary(of, query, &columns)?
            }
        };
        Ok(Statement::Query(self.top_query(&query)?))
    }

    fn described_columns(&mut self, of: &DescribedQuery) -> Result<Vec<Described>> {
        let columns = self.columns_of_query(&whole(of)?)?;
        let table = match of {
            DescribedQuery::Relation(name) if super::file::file_path(name).is_none() => {
                let full = self.relation_name(name)?;
                match self.catalog.relation(full.schema.as_deref(), &full.name) {
                    Some(Relation::Table(table)) => Some(table),
                    _ => None,
                }
            }
            _ => None,
        };
        let described = |(ordinal, column): (usize, BoundColumn)| {
            let of_table = table.as_ref().and_then(|table| {
                let own = table.columns().get(ordinal)?;
                Some(TableColumn::of(ordinal, own, table.keys()))
            });
            Described { name: column.name, ty: column.ty, of_table }
        };
        Ok(columns.into_iter().enumerate().map(described).collect())
    }

    /// The columns that `query` gives; what it reads is noted, and needs the rights for it.
    fn columns_of_query(&mut self, query: &ast::Query) -> Result<Vec<BoundColumn>> {
        let bound = self.in_level(super::scope::Clause::From, |binder| {
            binder.in_scope(Scope::default(), |binder| binder.bind_query(query, Unknowns::Text))
        })?;
        Ok(bound.0.columns)
    }
}

/// The query that gives all rows of what is asked about.
fn whole(of: &DescribedQuery) -> Result<ast::Query> {
    match of {
        DescribedQuery::Query(query) => Ok((**query).clone()),
        DescribedQuery::Relation(name) => {
            let mut query = parse_query("SELECT * FROM t")?;
            if let ast::SetExpr::Select(select) = &mut *query.body
                && let Some(item) = select.from.first_mut()
                && let ast::TableFactor::Table { name: place, .. } = &mut item.relation
            {
                *place = name.clone();
            }
            Ok(query)
        }
    }
}

/// `text` as SQL has it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A query that lists columns.
fn listing(columns: &[Described]) -> String {
    let option = |text: Option<&str>| text.map_or_else(|| "NULL".to_owned(), literal);
    let mut rows: Vec<String> = Vec::with_capacity(columns.len());
    for (number, column) in columns.iter().enumerate() {
        let of = column.of_table.as_ref();
        let is_null = if of.is_some_and(|of| of.not_null) { "NO" } else { "YES" };
        rows.push(format!(
            "({number}, {}, {}, '{is_null}', {}::text, {}::text, NULL::text)",
            literal(&column.name),
            literal(&column.ty.to_string()),
            option(of.and_then(|of| of.key)),
            option(of.and_then(|of| of.default.as_deref())),
        ));
    }
    let (rows, end) = if rows.is_empty() {
        ("(0, '', '', '', '', '', '')".to_owned(), " WHERE false")
    } else {
        (rows.join(", "), "")
    };
    format!(
        "SELECT column_name, column_type, \"null\", key, \"default\", extra FROM (VALUES {rows}) \
         AS d (n, column_name, column_type, \"null\", key, \"default\", extra){end} ORDER BY n"
    )
}

/// The query that SUMMARIZE stands for: a row for each of `columns`. A relation is read for each of
/// them, the rows of a query are made once.
fn summary(of: &DescribedQuery, query: ast::Query, columns: &[BoundColumn]) -> Result<ast::Query> {
    let (with, from) = match of {
        DescribedQuery::Relation(name) if super::file::file_path(name).is_none() => {
            (String::new(), name.to_string())
        }
        _ => (format!("WITH {SOURCE} AS (SELECT 1) "), SOURCE.to_owned()),
    };
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let is_once = |name: &str| names.iter().filter(|other| **other == name).count() == 1;
    let mut rows = Vec::with_capacity(columns.len());
    for (number, column) in columns.iter().enumerate().filter(|(_, c)| is_once(&c.name)) {
        rows.push(row(number, column, &from));
    }
    let (rows, figures) = if rows.is_empty() {
        // Of a table without columns.
        ("SELECT 0 AS n, ''::text AS column_name WHERE false".to_owned(), "column_name")
    } else {
        (rows.join(" UNION ALL "), FIGURES)
    };
    let text = format!("{with}SELECT {figures} FROM ({rows}) AS s ORDER BY n");
    let mut summary = parse_query(&text)?;
    if let Some(cte) = summary.with.as_mut().and_then(|with| with.cte_tables.first_mut()) {
        *cte.query = query;
    }
    Ok(summary)
}

/// The SELECT that gives the figures of one column.
fn row(number: usize, column: &BoundColumn, from: &str) -> String {
    let c = format!("\"{}\"", column.name.replace('"', "\"\""));
    let ty = column.ty;
    let is_number = ty.is_number();
    let is_time = [DataType::Date, DataType::TIMESTAMP, DataType::TIMESTAMPTZ, DataType::TIME]
        .contains(&ty.of_all_digits())
        || matches!(ty, DataType::Interval(_));
    // Types that have no order, or no least value, are ordered as text.
    let ends = |function: &str, of_truth: &str| match ty {
        DataType::Boolean => format!("{of_truth}({c})::text"),
        _ if is_number || is_time => format!("{function}({c})::text"),
        _ => format!("{function}({c}::text)"),
    };
    let distinct = if is_number || is_time { c.clone() } else { format!("{c}::text") };
    let mean = |function: &str| {
        if is_number {
            format!("{function}({c}::double precision)")
        } else {
            "NULL::double precision".to_owned()
        }
    };
    let quantile = |share: &str| {
        if is_number || is_time {
            format!("(percentile_disc({share}) WITHIN GROUP (ORDER BY {c}))::text")
        } else {
            "NULL::text".to_owned()
        }
    };
    format!(
        "SELECT {number} AS n, {} AS column_name, {} AS column_type, {} AS min, {} AS max, \
         count(DISTINCT {distinct}) AS approx_unique, {} AS avg, {} AS std, {} AS q25, {} AS q50, \
         {} AS q75, count(*) AS count, \
         coalesce(round(100.0 * (count(*) - count({c})) / nullif(count(*), 0), 2), 0.00) \
         AS null_percentage FROM {from}",
        literal(&column.name),
        literal(&ty.to_string()),
        ends("min", "bool_and"),
        ends("max", "bool_or"),
        mean("avg"),
        mean("stddev"),
        quantile("0.25"),
        quantile("0.5"),
        quantile("0.75"),
    )
}
