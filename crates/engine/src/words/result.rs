//! Result of a statement.

use std::borrow::Cow;
use std::sync::Arc;

use exec::ResultSet;
use kernels::{Batch, Column, VectorBuilder};
use sql::algebra::Derived;
use types::calendar::TimeZone;
use types::charset::Charset;
use types::text::TextStyle;
use types::{DataType, Value, text};

use crate::words::notice::Notice;

/// Rows, if any, and the command tag that PostgreSQL would send.
pub struct QueryResult {
    tag: Cow<'static, str>,
    rows: Option<ResultSet>,
    is_binary: bool,
    /// Collations of the columns where a program asks for them; None: the usual ones.
    collations: Option<Arc<[Derived]>>,
    notices: Vec<Notice>,
    zone: TimeZone,
    style: TextStyle,
    charset: Charset,
}

impl QueryResult {
    /// A statement without rows.
    pub fn command(tag: impl Into<Cow<'static, str>>) -> Self {
        Self::empty(tag.into())
    }

    fn empty(tag: Cow<'static, str>) -> Self {
        let (zone, style) = (TimeZone::UTC, TextStyle::default());
        let charset = Charset::UTF8;
        let (is_binary, notices, collations) = (false, Vec::new(), None);
        Self { tag, rows: None, is_binary, collations, notices, zone, style, charset }
    }

    /// Rows of a query.
    pub fn from_rows(rows: ResultSet) -> Self {
        Self::tagged(format!("SELECT {}", rows.rows()), rows)
    }

    /// Rows of a statement that also did something: RETURNING.
    pub(crate) fn tagged(tag: impl Into<Cow<'static, str>>, rows: ResultSet) -> Self {
        Self { rows: Some(rows), ..Self::empty(tag.into()) }
    }

    /// Its rows, if it has any.
    pub(crate) fn into_rows(self) -> Option<ResultSet> {
        self.rows
    }

    /// The same, to be sent in binary where the client does not say otherwise.
    pub(crate) fn into_binary(self) -> Self {
        Self { is_binary: true, ..self }
    }

    /// The same, its columns with these collations.
    pub(crate) fn collated(self, collations: Option<Arc<[Derived]>>) -> Self {
        Self { collations, ..self }
    }

    /// Collations of the columns where a program asks for them; of the fields of a record that is
    /// the only column.
    pub(crate) fn collations(&self) -> &Option<Arc<[Derived]>> {
        &self.collations
    }

    /// True when rows are sent in binary where the client does not say otherwise.
    pub fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// Whose clocks show times with a zone as text.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// How values are written as text.
    pub fn style(&self) -> TextStyle {
        self.style
    }

    pub(crate) fn shown_in(self, zone: TimeZone, style: TextStyle, charset: Charset) -> Self {
        Self { zone, style, charset, ..self }
    }

    /// The encoding of its client's texts.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// Messages for the client besides the result, in order.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    pub(crate) fn with_notices(self, notices: Vec<Notice>) -> Self {
        Self { notices, ..self }
    }

    /// Rows made from values: SHOW, EXPLAIN, procedures.
    pub fn from_values(
        tag: impl Into<Cow<'static, str>>,
        columns: Vec<(String, DataType)>,
        rows: &[Vec<Value>],
    ) -> Self {
        let column = |(i, (_, ty)): (usize, &(String, DataType))| {
            let mut builder = VectorBuilder::new(ty.physical());
            rows.iter().for_each(|row| builder.push_value(&row[i]));
            Column::plain(builder.finish())
        };
        let vectors = columns.iter().enumerate().map(column).collect();
        let batch = Batch::new(vectors, rows.len());
        let rows = ResultSet::from_batches(columns, vec![batch]);
        Self::tagged(tag, rows)
    }

    /// "SELECT 5", "INSERT 0 3", "CREATE TABLE".
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// True when the statement has rows, even if there are none of them.
    pub fn has_rows(&self) -> bool {
        self.rows.is_some()
    }

    /// Names and types of the columns.
    pub fn columns(&self) -> &[(String, DataType)] {
        self.rows.as_ref().map_or(&[], |r| &r.columns)
    }

    /// How many rows.
    pub fn row_count(&self) -> usize {
        self.rows.as_ref().map_or(0, ResultSet::rows)
    }

    /// The rows as batches, in order.
    pub fn batches(&self) -> &[Batch] {
        self.rows.as_ref().map_or(&[], |r| &r.batches)
    }

    fn text_of(&self, value: &Value, ty: DataType) -> String {
        if !self.style.changes(ty) {
            return text::format_in(value, ty, &self.zone);
        }
        let mut out = Vec::new();
        text::append_styled(&mut out, value, ty, self.style, &self.zone);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Calls `row` for each row with the text of its values, None for NULL, until it returns false.
    pub fn for_each_text(&self, mut row: impl FnMut(&[Option<String>]) -> bool) {
        let types: Vec<DataType> = self.columns().iter().map(|(_, ty)| *ty).collect();
        let mut cells = vec![None; types.len()];
        for batch in self.batches() {
            let columns: Vec<_> = batch.columns.iter().map(Column::to_plain).collect();
            for i in 0..batch.rows {
                for ((cell, column), ty) in cells.iter_mut().zip(&columns).zip(&types) {
                    let value = column.value(i);
                    *cell = (!value.is_null()).then(|| self.text_of(&value, *ty));
                }
                if !row(&cells) {
                    return;
                }
            }
        }
    }

    /// All rows as text.
    pub fn text_rows(&self) -> Vec<Vec<Option<String>>> {
        let mut rows = Vec::with_capacity(self.row_count());
        self.for_each_text(|row| {
            rows.push(row.to_vec());
            true
        });
        rows
    }
}
