//! `ts_stat(query [, weights])` in FROM: how many documents have a word, and how often.
//!
//! The text of the query becomes a part of the statement, below the words of its documents:
//! `SELECT word, count(*), sum(n) FROM (the words of each document) GROUP BY word`.

use sqlparser::ast;
use types::{DataType, Error, PackedType, Result, SqlState, Value};

use super::from::{named_relation, scope_columns};
use super::scope::Scope;
use super::{Binder, Unknowns, fail, place, unsupported};
use crate::algebra::{Place, Plan};

impl Binder<'_> {
    /// The rows of `ts_stat`.
    ///
    /// # Errors
    /// 22023 for a query of something else than documents and for weights that are none, 0A000 for
    /// a query that is no constant.
    pub(super) fn bind_text_statistics(
        &mut self,
        args: &[ast::FunctionArg],
        alias: Option<&ast::TableAlias>,
        at: Place,
    ) -> Result<(Plan, Scope)> {
        let Ok(arguments) = self.constant_arguments(args) else {
            return unsupported("ts_stat of a query that is no constant", at);
        };
        let text = |value: &Value| match value {
            Value::Str(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        };
        let given: Option<Vec<String>> =
            arguments.positional.iter().map(|(value, _)| text(value)).collect();
        let (query, weights) = match given.as_deref() {
            Some([query]) => (query, None),
            Some([query, weights]) => (query, Some(weights)),
            _ => return unsupported("ts_stat of NULL", at),
        };
        let query = query.trim_end().trim_end_matches(';');
        let counted = match weights {
            Some(weights) => of_weights(weights).map_err(|error| place(error, at))?,
            None => "coalesce(cardinality(u.positions), 1)".to_owned(),
        };
        self.check_documents(query, at)?;
        let sql = format!(
            "SELECT s.word, count(*)::integer AS ndoc, sum(s.n)::integer AS nentry FROM \
             (SELECT u.lexeme AS word, {counted} AS n FROM (\n{query}\n) AS q (v), \
             LATERAL pg_catalog.unnest(q.v) AS u (lexeme, positions, weights)) AS s \
             WHERE s.n > 0 GROUP BY s.word ORDER BY s.word"
        );
        let tree = crate::parse::parse_query(&sql).map_err(|error| place(error, at))?;
        let bound = self
            .in_scope(Scope::default(), |binder| binder.bind_query(&tree, Unknowns::Text))
            .map_err(|error| place(error, at))?
            .0;
        let columns = scope_columns(&bound, "ts_stat");
        let relation = named_relation("ts_stat".to_owned(), columns, alias, None)?;
        Ok((bound.plan, Scope::of(relation)))
    }

    /// # Errors
    /// 22023 unless the query has one column of documents.
    fn check_documents(&mut self, query: &str, at: Place) -> Result<()> {
        let tree = crate::parse::parse_query(query).map_err(|error| place(error, at))?;
        let bound = self
            .in_scope(Scope::default(), |binder| binder.bind_query(&tree, Unknowns::Text))
            .map_err(|error| place(error, at))?
            .0;
        match bound.columns.as_slice() {
            [only] if only.ty == DataType::Packed(PackedType::TsVector) => Ok(()),
            _ => {
                let message = "ts_stat query must return one tsvector column";
                fail(SqlState::INVALID_PARAMETER, message, at)
            }
        }
    }
}

/// The count of a word's places that have one of these weights.
fn of_weights(weights: &str) -> Result<String> {
    let mut parts = Vec::with_capacity(weights.len());
    for letter in weights.chars() {
        let capital = letter.to_ascii_uppercase();
        if !('A'..='D').contains(&capital) {
            let message = format!("unrecognized weight: \"{letter}\"");
            return Err(Error::new(SqlState::INVALID_PARAMETER, message));
        }
        let part = format!("coalesce(cardinality(array_positions(u.weights, '{capital}')), 0)");
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    Ok(if parts.is_empty() {
        "coalesce(cardinality(u.positions), 1)".to_owned()
    } else {
        parts.join(" + ")
    })
}
