//! PARTITION BY, PARTITION OF, ATTACH and DETACH PARTITION, and ONLY.

use sqlparser::ast;
use types::{Error, Result, SqlState};

use super::comparable::refuse_index;
use super::constraint::Definition;
use super::name::{expr_at, folded_call, ident_at, is_only, object_at};
use super::{Binder, fail, index_terms, place, unsupported};
use crate::algebra::partition::is_hashed;
use crate::algebra::{Direction, NullsOrder, Place};
use crate::catalog::{
    ColumnDef, INDEX_EXPRESSION, IndexColumn, IndexTerms, KeyDef, PartitionBound, PartitionKey,
    PartitionStrategy, RangeEnd, TableRef,
};
use crate::parse::{BoundTree, PartitionTree, RangeTree, folded};
use crate::statement::{PartitionPlace, PartitionStatement, Statement};

/// The partitions of a table that are to be changed with it, each before those below it; none under
/// ONLY.
pub(super) fn partitions_of(table: &TableRef, name: &ast::ObjectName) -> Vec<TableRef> {
    match table.partitions() {
        Some(tree) if !is_only(name) => tree.below().cloned().collect(),
        _ => Vec::new(),
    }
}

impl Binder<'_> {
    /// PARTITION BY of a table with the columns of `definition`.
    pub(super) fn partition_key(
        &mut self,
        expr: &ast::Expr,
        definition: &Definition,
    ) -> Result<PartitionKey> {
        let at = expr_at(expr);
        let Some((name, arguments)) = folded_call(expr) else {
            return fail(SqlState::SYNTAX_ERROR, "syntax error in PARTITION BY", at);
        };
        let strategy = match name.as_str() {
            "range" => PartitionStrategy::Range,
            "list" => PartitionStrategy::List,
            "hash" => PartitionStrategy::Hash,
            other => {
                let message = format!("unrecognized partitioning strategy \"{other}\"");
                return fail(SqlState::INVALID_PARAMETER, message, at);
            }
        };
        if strategy == PartitionStrategy::List && arguments.len() > 1 {
            let message = "cannot use \"list\" partition strategy with more than one column";
            return fail(SqlState::INVALID_OBJECT_DEFINITION, message, at);
        }
        let mut key = PartitionKey { strategy, columns: Vec::new(), terms: IndexTerms::default() };
        for argument in arguments {
            let ordinal = self.key_column(argument, definition, &mut key)?;
            let (direction, nulls) = (Direction::Ascending, NullsOrder::Last);
            key.columns.push(IndexColumn { ordinal, direction, nulls });
        }
        key.terms.collations = self.collations_of(&key.terms);
        Ok(key)
    }

    fn key_column(
        &mut self,
        argument: &ast::Expr,
        definition: &Definition,
        key: &mut PartitionKey,
    ) -> Result<usize> {
        let at = expr_at(argument);
        let columns = &definition.columns;
        let ordinal = if let ast::Expr::Identifier(ident) = argument {
            let name = folded(ident);
            let found = columns.iter().position(|column| column.name == name);
            let Some(found) = found else {
                let message = format!("column \"{name}\" named in partition key does not exist");
                return fail(SqlState::UNDEFINED_COLUMN, message, ident_at(ident));
            };
            found
        } else {
            let bound = self.index_expression(argument, &definition.name.name, columns)?;
            if self.common_collation(&[&bound.expr], at)?.is_some() {
                return unsupported("a partition key with a collation", at);
            }
            match bound.expr.as_column() {
                Some(id) => id.0 as usize,
                None => {
                    let known = &mut key.terms.expressions;
                    known.push(index_terms::expression_of(argument, bound.ty(), known));
                    INDEX_EXPRESSION + known.len() - 1
                }
            }
        };
        let ty = match columns.get(ordinal) {
            Some(ColumnDef { generated: Some(_), name, .. }) => {
                let message = "cannot use generated column in partition key";
                let error = Error::new(SqlState::INVALID_OBJECT_DEFINITION, message);
                let detail = format!("Column \"{name}\" is a generated column.");
                return Err(place(error.with_detail(detail), at));
            }
            Some(column) => column.ty,
            None => key.terms.expressions.last().map_or(types::DataType::Unknown, |e| e.ty),
        };
        refuse_index(ty, at)?;
        let collation = columns.get(ordinal).and_then(|column| column.collation);
        if collation.is_some_and(|collation| !collation.is_of_bytes()) {
            return unsupported("a partition key with a collation", at);
        }
        if key.strategy == PartitionStrategy::Hash && !is_hashed(ty) {
            return unsupported(format!("PARTITION BY HASH of type {}", ty.name()), at);
        }
        Ok(ordinal)
    }

    /// FOR VALUES in a table partitioned as `parent` is; the texts are of expressions.
    pub(super) fn partition_place(
        &self,
        parent: TableRef,
        bound: &BoundTree,
        at: Place,
    ) -> Result<PartitionPlace> {
        let Some(key) = parent.partition_key() else {
            let message = format!("\"{}\" is not partitioned", parent.bare_name());
            return fail(SqlState::INVALID_OBJECT_DEFINITION, message, at);
        };
        let count = key.columns.len();
        let strategy = key.strategy;
        let invalid = |what: &str| {
            let message = format!("invalid bound specification for a {what} partition");
            fail(SqlState::INVALID_DEFINITION, message, at)
        };
        let text = |expr: &ast::Expr| expr.to_string();
        let bound = match (bound, strategy) {
            (BoundTree::Default, PartitionStrategy::Hash) => {
                let message = "a hash-partitioned table may not have a default partition";
                return fail(SqlState::INVALID_DEFINITION, message, at);
            }
            (BoundTree::Default, _) => PartitionBound::Default,
            (BoundTree::In(values), PartitionStrategy::List) => {
                PartitionBound::List(values.iter().map(|value| Some(text(value))).collect())
            }
            (BoundTree::Range { from, to }, PartitionStrategy::Range) => {
                for (name, ends) in [("FROM", from), ("TO", to)] {
                    if ends.len() != count {
                        let message = format!(
                            "{name} must specify exactly one value per partitioning column"
                        );
                        return fail(SqlState::INVALID_DEFINITION, message, None);
                    }
                }
                let ends = |ends: &[RangeTree]| -> Result<Vec<RangeEnd<String>>> {
                    check_ends(ends)?;
                    let end = |end: &RangeTree| match end {
                        RangeTree::Min => RangeEnd::Min,
                        RangeTree::Max => RangeEnd::Max,
                        RangeTree::Value(expr) => RangeEnd::Value(text(expr)),
                    };
                    Ok(ends.iter().map(end).collect())
                };
                PartitionBound::Range { from: ends(from)?, to: ends(to)? }
            }
            (BoundTree::Hash { modulus, remainder }, PartitionStrategy::Hash) => {
                if *modulus == 0 {
                    let message = "modulus for hash partition must be an integer value greater \
                                   than zero";
                    return fail(SqlState::INVALID_DEFINITION, message, None);
                }
                if remainder >= modulus {
                    let message = "remainder for hash partition must be less than modulus";
                    return fail(SqlState::INVALID_DEFINITION, message, None);
                }
                PartitionBound::Hash { modulus: *modulus, remainder: *remainder }
            }
            (_, PartitionStrategy::Hash) => return invalid("hash"),
            (_, PartitionStrategy::List) => return invalid("list"),
            (_, PartitionStrategy::Range) => return invalid("range"),
        };
        Ok(PartitionPlace { parent, bound })
    }

    /// ALTER TABLE ... ATTACH, DETACH, ALTER INDEX ... ATTACH.
    pub(super) fn bind_partition(&mut self, tree: &PartitionTree) -> Result<Statement> {
        let statement = match tree {
            PartitionTree::Attach { parent, table, bound } => {
                let parent_at = object_at(parent);
                let parent = self.writable_table(parent)?;
                if parent.partition_key().is_none() {
                    let message = format!("table \"{}\" is not partitioned", parent.bare_name());
                    return fail(SqlState::INVALID_OBJECT_DEFINITION, message, None);
                }
                let table = self.writable_table(table)?;
                let place = self.partition_place(parent, bound, parent_at)?;
                PartitionStatement::Attach { table, place }
            }
            PartitionTree::Detach { parent, table } => {
                let parent = self.writable_table(parent)?;
                if parent.partition_key().is_none() {
                    let message = format!("table \"{}\" is not partitioned", parent.bare_name());
                    return fail(SqlState::INVALID_OBJECT_DEFINITION, message, None);
                }
                let table = self.writable_table(table)?;
                PartitionStatement::Detach { parent, table }
            }
            PartitionTree::AttachIndex { index, part } => {
                let (index, part) = (self.relation_name(index)?, self.relation_name(part)?);
                PartitionStatement::AttachIndex { index, part }
            }
        };
        Ok(Statement::Partition(Box::new(statement)))
    }
}

/// Refuses values behind MINVALUE and MAXVALUE.
fn check_ends(ends: &[RangeTree]) -> Result<()> {
    let kinds = |end: &RangeTree| match end {
        RangeTree::Min => Some("MINVALUE"),
        RangeTree::Max => Some("MAXVALUE"),
        RangeTree::Value(_) => None,
    };
    for pair in ends.windows(2) {
        let [before, after] = pair else { continue };
        if let Some(word) = kinds(before)
            && kinds(after) != Some(word)
        {
            let message = format!("every bound following {word} must also be {word}");
            return fail(SqlState::DATATYPE_MISMATCH, message, None);
        }
    }
    Ok(())
}

/// 42P16 for NO INHERIT of a partitioned table.
pub(super) fn refuse_alone<T>(table: &str) -> Result<T> {
    let message = format!("cannot add NO INHERIT constraint to partitioned table \"{table}\"");
    fail(SqlState::INVALID_DEFINITION, message, None)
}

/// Refuses unique keys of a partitioned table that do not tell the partition.
pub(super) fn check_keys(
    table: &str,
    columns: &[ColumnDef],
    keys: &[KeyDef],
    key: &PartitionKey,
) -> Result<()> {
    for unique in keys {
        let kind = if unique.primary { "PRIMARY KEY" } else { "UNIQUE" };
        check_unique(UniqueOver { table, columns, kind, over: &unique.columns }, key)?;
    }
    Ok(())
}

/// A unique key of a partitioned table.
#[derive(Clone, Copy, Debug)]
pub struct UniqueOver<'a> {
    /// Name of the table.
    pub table: &'a str,
    /// Columns of the table.
    pub columns: &'a [ColumnDef],
    /// PRIMARY KEY or UNIQUE.
    pub kind: &'a str,
    /// Ordinals of its columns.
    pub over: &'a [usize],
}

/// Tests that a unique key has all columns of the partition key of its table.
///
/// # Errors
/// 0A000.
pub fn check_unique(unique: UniqueOver<'_>, key: &PartitionKey) -> Result<()> {
    let UniqueOver { table, columns, kind, over } = unique;
    if !key.terms.expressions.is_empty() {
        let message = format!("unsupported {kind} constraint with partition key definition");
        let detail =
            format!("{kind} constraints cannot be used when partition keys include expressions.");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
    }
    let missing = key.columns.iter().find(|column| !over.contains(&column.ordinal));
    let Some(missing) = missing else { return Ok(()) };
    let message = "unique constraint on partitioned table must include all partitioning columns";
    let column = columns.get(missing.ordinal).map_or("", |column| column.name.as_str());
    let detail = format!(
        "{kind} constraint on table \"{table}\" lacks column \"{column}\" which is part of the \
         partition key."
    );
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail))
}
