//! CREATE INDEX.

use sqlparser::ast;
use types::elements::ElementClass;
use types::{DataType, Error, Result, SqlState};

use super::comparable::{refuse_index, refuse_unordered};
use super::constraint::object_name;
use super::effectless::plain;
use super::index_method::{Using, index_using};
use super::index_options::index_options;
use super::name::{expr_at, ident_at, object_at, object_parts};
use super::partition::{UniqueOver, check_unique, partitions_of};
use super::{Binder, fail, index_terms, place, unsupported};
use crate::algebra::{Direction, NullsOrder, Place};
use crate::catalog::{
    INDEX_EXPRESSION, IndexColumn, IndexExpression, IndexKind, IndexTerms, NamedMethod, TableRef,
    Uniqueness,
};
use crate::parse::folded;
use crate::statement::{CreateIndex, Effectless, IfExists, Naming, Statement};

/// How errors name CREATE INDEX that waits for nobody.
const CONCURRENTLY: &str = "CREATE INDEX CONCURRENTLY";

impl Binder<'_> {
    pub(super) fn bind_create_index(&mut self, create: &ast::CreateIndex) -> Result<Statement> {
        let at = object_at(&create.table_name);
        let table = self.table_named(&create.table_name)?;
        if !create.index_options.is_empty() || !create.alter_options.is_empty() {
            return unsupported("an option of CREATE INDEX", at);
        }
        let mut using = index_using(create, at)?;
        let notice = match using.kind {
            IndexKind::Near { .. } => self.check_near(using.name(), at)?,
            _ => None,
        };
        let options = index_options(&create.with, &mut using)?;
        check_form(create, using, at)?;
        let unique = match (create.unique, create.nulls_distinct) {
            (false, _) => Uniqueness::No,
            (true, Some(false)) => Uniqueness::NullsNotDistinct,
            (true, _) => Uniqueness::Distinct,
        };
        let included = included(create, &table, using)?;
        let mut terms =
            IndexTerms { included, options, method: using.named, ..IndexTerms::default() };
        let mut columns = Vec::with_capacity(create.columns.len());
        let mut elements = Vec::with_capacity(create.columns.len());
        for (position, column) in create.columns.iter().enumerate() {
            let found = self.index_column(&table, column, using, &mut terms)?;
            terms.classes.extend(found.class.map(|class| (position, class)));
            columns.push(found.column);
            elements.push(found.elements);
        }
        let kind = using.kind_over(&elements, at)?;
        if let Some(predicate) = &create.predicate {
            self.index_predicate(predicate, table.bare_name(), table.columns())?;
            terms.predicate = Some(index_terms::stored(&self.defined(predicate)));
        }
        terms.collations = self.collations_of(&terms);
        if kind.is_of_blocks() && !terms.is_empty() {
            return unsupported(format!("an expression or WHERE in a {} index", kind.method()), at);
        }
        let (name, naming) = index_name(create, &table, &columns, &terms)?;
        if let (true, Some(key)) = (create.unique, table.partition_key()) {
            let over: Vec<usize> = columns.iter().map(|column| column.ordinal).collect();
            let (table, columns) = (table.bare_name(), table.columns());
            check_unique(UniqueOver { table, columns, kind: "UNIQUE", over: &over }, key)?;
        }
        let at_once = create.concurrently;
        refuse_at_once(create, &table)?;
        let partitions = partitions_of(&table, &create.table_name);
        let if_exists = if create.if_not_exists { IfExists::Skip } else { IfExists::Fail };
        let create = Statement::CreateIndex(Box::new(CreateIndex {
            name,
            naming,
            table,
            columns,
            unique,
            kind,
            terms,
            if_exists,
            partitions,
        }));
        let notices: Vec<_> = notice.into_iter().collect();
        if notices.is_empty() && !at_once {
            return Ok(create);
        }
        let (apart, rest) = (at_once.then_some(CONCURRENTLY), Some(Box::new(create)));
        Ok(Statement::Effectless(Effectless { apart, notices, rest, ..plain("CREATE INDEX") }))
    }

    fn index_column(
        &mut self,
        table: &TableRef,
        column: &ast::IndexColumn,
        using: Using,
        terms: &mut IndexTerms,
    ) -> Result<KeyColumn> {
        let expr = &column.column.expr;
        let at = expr_at(expr);
        index_terms::check_form(expr)?;
        let has_keys = using.named.is_none() && using.kind.has_keys();
        let class = column.operator_class.as_ref();
        let (ordinal, ty) = match expr {
            ast::Expr::Identifier(ident) => {
                let ordinal = column_named(table, ident)?;
                let def = &table.columns()[ordinal];
                if def.has_own_equality() {
                    refuse_pattern_class(class, at)?;
                }
                if def.is_keyed() && has_keys {
                    terms.expressions.push(IndexExpression::keys_of(def));
                    (INDEX_EXPRESSION + terms.expressions.len() - 1, def.ty)
                } else {
                    (ordinal, def.ty)
                }
            }
            _ => {
                let bound = self.index_expression(expr, table.bare_name(), table.columns())?;
                if self.has_own_equality(&bound.expr) {
                    refuse_pattern_class(class, at)?;
                }
                let key = if has_keys { self.index_key(&bound.expr)? } else { None };
                let ty = bound.ty();
                let plain = self.without_mark(bound.expr);
                match (plain.as_column(), key) {
                    (Some(id), None) => (id.0 as usize, ty),
                    (_, key) => {
                        let held = key.map_or(ty, |key| key.ty);
                        let known = &mut terms.expressions;
                        let expr = self.defined(expr);
                        known.push(index_terms::expression_of(&expr, held, known));
                        (INDEX_EXPRESSION + known.len() - 1, ty)
                    }
                }
            }
        };
        let (class, elements) = self.class_of_key(class, ty, using, at)?;
        let (direction, nulls) = index_order(&column.column.options, using, at)?;
        Ok(KeyColumn { column: IndexColumn { ordinal, direction, nulls }, class, elements })
    }

    /// The operator class that keys of type `ty` have where it is not the usual one, and the
    /// elements that it stands for.
    fn class_of_key(
        &self,
        class: Option<&ast::ObjectName>,
        ty: DataType,
        using: Using,
        at: Place,
    ) -> Result<(Option<String>, Option<ElementClass>)> {
        match (using.named, using.kind, class) {
            (Some(named), ..) => self.class_of_method(named, class, ty, at),
            (None, IndexKind::Inverted, class) => Ok((self.element_class(class, ty, at)?, None)),
            (None, IndexKind::Near { .. }, class) => {
                Ok((Some(self.near_class(class, using.name(), ty, at)?), None))
            }
            (None, _, class) => {
                if using.kind.has_keys() {
                    refuse_unordered(ty, at)?;
                } else {
                    refuse_index(ty, at)?;
                }
                let class = class.map(|class| operator_class(class, ty, at)).transpose()?;
                Ok((class.flatten(), None))
            }
        }
    }
}

/// 0A000 for a class of patterns, where texts that differ may be equal.
fn refuse_pattern_class(class: Option<&ast::ObjectName>, at: Place) -> Result<()> {
    let Some(class) = class else { return Ok(()) };
    let name = object_parts(class)?.pop().unwrap_or_default();
    if !name.ends_with("_pattern_ops") {
        return Ok(());
    }
    let message =
        format!("nondeterministic collations are not supported for operator class \"{name}\"");
    fail(SqlState::FEATURE_NOT_SUPPORTED, message, at)
}

/// Column of an index.
struct KeyColumn {
    column: IndexColumn,
    /// Its operator class, where that is not the usual one.
    class: Option<String>,
    /// The elements that its values have in an index of GiST.
    elements: Option<ElementClass>,
}

impl Binder<'_> {
    /// The operator class of a column of an inverted index; None for the usual one.
    ///
    /// # Errors
    /// 42704 for a class that is not there, 42804 for one of other types.
    fn element_class(
        &self,
        class: Option<&ast::ObjectName>,
        ty: DataType,
        at: Place,
    ) -> Result<Option<String>> {
        let is_there = |class: &ElementClass, schema: Option<&str>| {
            let extension = class.extension();
            extension.is_none_or(|name| self.catalog.finds_extension(name, self.called(schema)))
        };
        let Some(named) = class else {
            match ElementClass::usual(ty).filter(|class| is_there(class, None)) {
                Some(_) => return Ok(None),
                None => return Err(no_usual_class(ty, "gin", at)),
            }
        };
        let mut parts = object_parts(named)?;
        let name = parts.pop().unwrap_or_default();
        let schema = parts.pop().filter(|schema| schema != "pg_catalog");
        match ElementClass::named(&name, ty).filter(|class| is_there(class, schema.as_deref())) {
            Some(found) if ElementClass::usual(ty) == Some(found) => Ok(None),
            Some(_) => Ok(Some(name)),
            None if ElementClass::is_name(&name) => {
                let ty = ty.name();
                let message = format!("operator class \"{name}\" does not accept data type {ty}");
                fail(SqlState::DATATYPE_MISMATCH, message, at)
            }
            None => {
                let message =
                    format!("operator class \"{named}\" does not exist for access method \"gin\"");
                fail(SqlState::UNDEFINED_OBJECT, message, at)
            }
        }
    }
}

/// 42704 for a type without a usual class for an access method.
pub(super) fn no_usual_class(ty: DataType, method: &str, at: Place) -> Error {
    let name = ty.name();
    let message =
        format!("data type {name} has no default operator class for access method \"{method}\"");
    let error = Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(
        "You must specify an operator class for the index or define a default operator class for \
         the data type.",
    );
    place(error, at)
}

/// The ordinals of INCLUDE.
fn included(create: &ast::CreateIndex, table: &TableRef, using: Using) -> Result<Vec<usize>> {
    let named = create.include.iter().map(|column| column_named(table, column));
    let named: Vec<usize> = named.collect::<Result<_>>()?;
    let takes = using.kind == IndexKind::Ordered && using.named != Some(NamedMethod::Brin);
    if named.is_empty() || takes {
        return Ok(named);
    }
    let message = format!("access method \"{}\" does not support included columns", using.name());
    fail(SqlState::FEATURE_NOT_SUPPORTED, message, object_at(&create.table_name))
}

/// # Errors
/// 0A000 for CONCURRENTLY on a partitioned table.
fn refuse_at_once(create: &ast::CreateIndex, table: &TableRef) -> Result<()> {
    if !create.concurrently || table.partition_key().is_none() {
        return Ok(());
    }
    let of = table.bare_name();
    let message = format!("cannot create index on partitioned table \"{of}\" concurrently");
    fail(SqlState::FEATURE_NOT_SUPPORTED, message, object_at(&create.table_name))
}

/// The name that is given, or else chosen.
fn index_name(
    create: &ast::CreateIndex,
    table: &TableRef,
    columns: &[IndexColumn],
    terms: &IndexTerms,
) -> Result<(String, Naming)> {
    Ok(match &create.name {
        Some(name) => (object_parts(name)?.pop().unwrap_or_default(), Naming::Given),
        None => {
            let name = |column: &IndexColumn| match column.expression() {
                Some(number) => terms.expressions[number].name.as_str(),
                None => table.columns().get(column.ordinal).map_or("", |def| def.name.as_str()),
            };
            let included = terms.included.iter().filter_map(|at| table.columns().get(*at));
            let included = included.map(|def| def.name.as_str());
            let names = told_apart(columns.iter().map(name).chain(included));
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            (object_name(table.bare_name(), &names, "idx"), Naming::Chosen)
        }
    })
}

/// Names of columns, with a number behind each that is there already.
fn told_apart<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        let is_free = |candidate: &String| !known.contains(candidate);
        let numbered = (1..).map(|number| format!("{name}{number}"));
        let found = std::iter::once(name.to_owned()).chain(numbered).find(is_free);
        known.extend(found);
    }
    known
}

/// Indexes that blocks have are for one column; only keys in order and hashes refuse rows.
fn check_form(create: &ast::CreateIndex, using: Using, at: Place) -> Result<()> {
    let can_refuse = using.named.is_none() && using.kind.has_keys();
    let what = if create.unique && !can_refuse {
        "unique"
    } else if create.columns.len() > 1 && using.takes_one_column() {
        "multicolumn"
    } else {
        return Ok(());
    };
    let message = format!("access method \"{}\" does not support {what} indexes", using.name());
    fail(SqlState::FEATURE_NOT_SUPPORTED, message, at)
}

/// The ordinal of a column of the table.
pub(super) fn column_named(table: &TableRef, ident: &ast::Ident) -> Result<usize> {
    let (name, at) = (folded(ident), ident_at(ident));
    match table.columns().iter().position(|known| known.name == name) {
        Some(ordinal) => Ok(ordinal),
        None => fail(SqlState::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"), at),
    }
}

/// ASC, DESC and NULLS of a column.
fn index_order(
    options: &ast::OrderByOptions,
    using: Using,
    at: Place,
) -> Result<(Direction, NullsOrder)> {
    let has_order = using.kind == IndexKind::Ordered && using.named.is_none();
    if !has_order && (options.sort.is_some() || options.nulls_first.is_some()) {
        let what = match options.sort {
            Some(_) => "ASC/DESC",
            None => "NULLS FIRST/LAST",
        };
        let method = using.name();
        let message = format!("access method \"{method}\" does not support {what} options");
        return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
    }
    let direction = match &options.sort {
        None | Some(ast::OrderBySort::Asc) => Direction::Ascending,
        Some(ast::OrderBySort::Desc) => Direction::Descending,
        Some(_) => return unsupported("USING in an index", at),
    };
    let nulls = match (options.nulls_first, direction) {
        (Some(true), _) | (None, Direction::Descending) => NullsOrder::First,
        (Some(false), _) | (None, Direction::Ascending) => NullsOrder::Last,
    };
    Ok((direction, nulls))
}

/// Operator classes whose order is that of their type. Text has the order of its bytes, so the
/// pattern classes are like the usual ones.
const CLASSES: [&str; 35] = [
    "jsonb_ops",
    "text_ops",
    "varchar_ops",
    "bpchar_ops",
    "text_pattern_ops",
    "varchar_pattern_ops",
    "bpchar_pattern_ops",
    "name_ops",
    "int2_ops",
    "int4_ops",
    "int8_ops",
    "oid_ops",
    "float4_ops",
    "float8_ops",
    "numeric_ops",
    "bool_ops",
    "bytea_ops",
    "date_ops",
    "time_ops",
    "timestamp_ops",
    "timestamptz_ops",
    "interval_ops",
    "uuid_ops",
    "char_ops",
    "enum_ops",
    "inet_ops",
    "macaddr_ops",
    "macaddr8_ops",
    "bit_ops",
    "varbit_ops",
    "timetz_ops",
    "money_ops",
    "range_ops",
    "multirange_ops",
    "vector_ops",
];

/// An operator class for keys of type `ty`; None for the usual one.
pub(super) fn operator_class(
    class: &ast::ObjectName,
    ty: DataType,
    at: Place,
) -> Result<Option<String>> {
    use DataType as T;
    let name = object_parts(class)?.pop().unwrap_or_default();
    if !CLASSES.contains(&name.as_str()) {
        return unsupported(format!("the operator class {class}"), at);
    }
    let usual = match ty {
        T::Text | T::Varchar(_) => "text_ops",
        T::Char(_) => "bpchar_ops",
        T::SmallInt => "int2_ops",
        T::Integer => "int4_ops",
        T::BigInt => "int8_ops",
        T::Real => "float4_ops",
        T::Double => "float8_ops",
        T::Numeric(_) => "numeric_ops",
        T::Boolean => "bool_ops",
        T::Bytea => "bytea_ops",
        T::Date => "date_ops",
        T::Time(_) => "time_ops",
        T::Timestamp(_) => "timestamp_ops",
        T::TimestampTz(_) => "timestamptz_ops",
        T::Interval(_) => "interval_ops",
        T::Uuid => "uuid_ops",
        T::Oid => "oid_ops",
        T::Jsonb => "jsonb_ops",
        _ => return Ok(None),
    };
    let accepts = match ty {
        T::Text | T::Varchar(_) => {
            !name.starts_with("bpchar")
                && ["text", "varchar", "name", "char"].iter().any(|of| name.starts_with(of))
        }
        T::Char(_) => name.starts_with("bpchar"),
        _ => name == usual,
    };
    if !accepts {
        let message = format!("operator class \"{name}\" does not accept data type {}", ty.name());
        return fail(SqlState::DATATYPE_MISMATCH, message, at);
    }
    Ok((name != usual).then_some(name))
}
