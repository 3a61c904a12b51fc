//! Domains: as types of columns and casts, and statements about them.
//!
//! ```text
//! x::d        cast to the type below -> Function::Domain(tests): the value, or 23502, 23514
//! column d    the writer of rows has the same tests for each row: bind_domain_tests
//! ```
//! Invariant: an expression has the type below, so functions and results know nothing of domains.

use sqlparser::ast;
use types::{DataType, RecordType, Result, SqlState};

use super::constraint::{object_name, unqualified};
use super::name::{expr_at, object_at};
use super::scope::Clause;
use super::{Binder, fail, unsupported};
use crate::algebra::{ColumnId, DomainTest, DomainTests, Expr, Function, Place, Tested};
use crate::catalog::{
    Catalog, CheckDef, CheckScope, ColumnDef, Domain, DomainOf, DomainUse, UserType, Validity,
};
use crate::parse::{DomainAction, DomainClause, DomainTree};
use crate::statement::{
    DomainChange, DomainStatement, NewDomain, Nullability, RelationName, Statement,
};

/// Binds the tests of the domains of a table's columns: the column, and an expression over a row
/// as [`bind_row_exprs`](crate::bind_row_exprs) has it, which fails for a row whose value is none
/// of the domain.
///
/// # Errors
/// None for domains whose conditions were bound when they were made.
pub fn bind_domain_tests(
    columns: &[ColumnDef],
    catalog: &dyn Catalog,
) -> Result<Vec<(usize, Expr)>> {
    let mut exprs = Vec::new();
    for (ordinal, column) in columns.iter().enumerate() {
        let Some(used) = column.tested_domain() else { continue };
        let tests = tests_of(used, column.ty, catalog)?;
        let value = Expr::column(column_id(ordinal), column.ty);
        exprs.push((ordinal, tested_beside(value, tests, columns.len())));
    }
    Ok(exprs)
}

/// Binds the tests of attributes of the records, and of the elements of arrays of records, that
/// columns hold: as [`bind_domain_tests`] does those of the columns' own domains.
///
/// # Errors
/// As [`bind_domain_tests`].
pub fn bind_attribute_tests(
    columns: &[ColumnDef],
    catalog: &dyn Catalog,
) -> Result<Vec<(usize, Expr)>> {
    let mut exprs = Vec::new();
    for (ordinal, column) in columns.iter().enumerate() {
        if let Some(tests) = attribute_tests(column.ty, catalog)? {
            let value = Expr::column(column_id(ordinal), column.ty);
            exprs.push((ordinal, tested_beside(value, tests, columns.len())));
        }
    }
    Ok(exprs)
}

fn column_id(ordinal: usize) -> ColumnId {
    ColumnId(u32::try_from(ordinal).unwrap_or(u32::MAX))
}

/// The tests of `value`, where what clocks tell is in columns from `clocks` on.
fn tested_beside(value: Expr, tests: DomainTests, clocks: usize) -> Expr {
    let ty = value.ty;
    let mut list = vec![value];
    if tests.reads_clock {
        let types = [DataType::TIMESTAMPTZ, DataType::TIMESTAMPTZ, DataType::Text];
        let columns = types.into_iter().enumerate();
        list.extend(columns.map(|(at, ty)| Expr::column(column_id(clocks + at), ty)));
    }
    Expr::call(Function::Domain(tests), list, ty)
}

/// The tests of attributes, those of each attribute's own attributes first.
fn attribute_tests(ty: DataType, catalog: &dyn Catalog) -> Result<Option<DomainTests>> {
    if !ty.has_domains() {
        return Ok(None);
    }
    let of = if ty.is_array() { DomainOf::Elements } else { DomainOf::Value };
    let DataType::Record(record) = ty.element().unwrap_or(ty) else { return Ok(None) };
    let value = Expr::column(column_id(0), DataType::Record(record));
    let (mut attributes, mut reads_clock) = (Vec::new(), false);
    for (ordinal, field) in record.fields().iter().enumerate() {
        let number = record.domain_of(ordinal);
        let used = number.and_then(|number| catalog.domain_numbered(number));
        let used = used.filter(|used| used.domain.has_tests());
        let of_domain = used.map(|used| tests_of(used, field.ty, catalog)).transpose()?;
        for tests in attribute_tests(field.ty, catalog)?.into_iter().chain(of_domain) {
            reads_clock |= tests.reads_clock;
            let part = super::composite::field_of(&value, ordinal, field.ty);
            attributes.push(tested_beside(part, tests, 1));
        }
    }
    if attributes.is_empty() {
        return Ok(None);
    }
    let used = Tested::Composite(record, of);
    let (refuses_null, conditions) = (false, Vec::new());
    DomainTests::new(DomainTest { used, refuses_null, conditions, attributes, reads_clock })
        .map(Some)
}

/// The domain that `text` writes, as a cast names types; None for another type.
pub fn domain_written(text: &str, catalog: &dyn Catalog) -> Option<DomainUse> {
    let cast = crate::parse::parse_expr(&format!("NULL::{text}")).ok()?;
    let ast::Expr::Cast { data_type, .. } = &cast else { return None };
    Binder::new(catalog, &[]).declared_type(data_type, None).ok()?.domain
}

/// The tests of a domain whose values, or arrays of them, are held as `ty`.
fn tests_of(used: DomainUse, ty: DataType, catalog: &dyn Catalog) -> Result<DomainTests> {
    let ty = match used.of {
        DomainOf::Value => ty,
        DomainOf::Elements => ty.element().unwrap_or(ty),
    };
    let value = [ColumnDef::new("value", ty)];
    let mut levels: Vec<Domain> = used.domain.levels().collect();
    levels.reverse();
    let mut conditions = Vec::new();
    for level in &levels {
        let exprs = super::bind_row_exprs(&level.checks, "", &value, catalog)?;
        let names = level.checks.iter().map(|check| check.name.clone());
        let mut own: Vec<(String, Expr)> = names.zip(exprs).collect();
        own.sort_by(|a, b| a.0.cmp(&b.0));
        conditions.extend(own);
    }
    let mut reads_clock = false;
    conditions.iter().for_each(|(_, expr)| {
        expr.each_column(&mut |id| reads_clock |= id.0 > 0);
    });
    let refuses_null = levels.iter().any(|level| level.not_null);
    let (used, attributes) = (Tested::Domain(used), Vec::new());
    DomainTests::new(DomainTest { used, refuses_null, conditions, attributes, reads_clock })
}

/// A type of a column or a cast.
#[derive(Clone, Copy)]
pub(super) struct Declared {
    /// The type that values are held as.
    pub(super) ty: DataType,
    pub(super) domain: Option<DomainUse>,
}

impl Declared {
    /// True when values of a column may be none of this type, or are held in another way.
    pub(super) fn differs_from(self, column: &ColumnDef) -> bool {
        let is_tested = self.domain.is_some_and(|used| used.domain.has_tests());
        self.ty != column.ty || self.domain != column.domain && is_tested
    }
}

/// The conditions of a domain over `ty`.
struct Conditions<'a> {
    name: &'a str,
    ty: DataType,
    known: &'a [CheckDef],
}

impl Binder<'_> {
    /// The type that a type name denotes, where it may be a domain: what values are held as, and
    /// the domain.
    ///
    /// # Errors
    /// Errors of [`Self::data_type`].
    pub(super) fn declared_type(&mut self, ty: &ast::DataType, at: Place) -> Result<Declared> {
        use ast::ArrayElemTypeDef as E;
        let (element, of) = match ty {
            ast::DataType::Array(E::SquareBracket(element, _) | E::Qualified(element, _)) => {
                (super::types::innermost(element), DomainOf::Elements)
            }
            ty => (ty, DomainOf::Value),
        };
        let domain = match element {
            ast::DataType::Custom(name, _) if super::types::data_type(element, at).is_err() => {
                self.user_type(name)?.and_then(|found| found.domain())
            }
            _ => None,
        };
        let Some(domain) = domain else {
            return Ok(Declared { ty: self.data_type(ty, at)?, domain: None });
        };
        // Storage makes keys without the catalog.
        let clause = self.levels.last().map(|level| level.clause);
        if let Some(Clause::IndexExpression | Clause::IndexPredicate) = clause {
            return unsupported("a domain in the definition of an index", at);
        }
        let held = match of {
            DomainOf::Value => Some(domain.ty),
            DomainOf::Elements => DataType::array_of(domain.ty),
        };
        match held {
            Some(ty) => Ok(Declared { ty, domain: Some(DomainUse { domain, of }) }),
            None => unsupported("an array of arrays of a domain", at),
        }
    }

    /// The value, tested to be one of the domain.
    pub(super) fn in_domain(&mut self, expr: Expr, used: Option<DomainUse>) -> Result<Expr> {
        let Some(used) = used.filter(|used| used.domain.has_tests()) else { return Ok(expr) };
        let tests = tests_of(used, expr.ty, self.catalog)?;
        self.with_tests(expr, tests)
    }

    /// The record, or array of records, tested to have values of its attributes' domains.
    pub(super) fn with_tested_attributes(&mut self, expr: Expr) -> Result<Expr> {
        match attribute_tests(expr.ty, self.catalog)? {
            Some(tests) => self.with_tests(expr, tests),
            None => Ok(expr),
        }
    }

    /// The value of the field at `ordinal` of a record, tested to be one of its domain.
    pub(super) fn in_domain_of_field(
        &mut self,
        value: Expr,
        record: RecordType,
        ordinal: usize,
    ) -> Result<Expr> {
        let number = record.domain_of(ordinal);
        let used = number.and_then(|number| self.catalog.domain_numbered(number));
        self.in_domain(value, used)
    }

    fn with_tests(&mut self, expr: Expr, tests: DomainTests) -> Result<Expr> {
        let ty = expr.ty;
        let mut list = vec![expr];
        if tests.reads_clock {
            list.push(self.clock_as(DataType::TIMESTAMPTZ));
            list.push(self.call("clock_timestamp", Vec::new(), None)?.expr);
            list.push(self.zone_name().unwrap_or_else(|| Expr::text("UTC")));
        }
        Ok(Expr::call(Function::Domain(tests), list, ty))
    }

    /// CREATE and ALTER DOMAIN.
    pub(super) fn bind_domain(&mut self, tree: &DomainTree) -> Result<Statement> {
        let statement = match tree {
            DomainTree::Create { name, ty, clauses } => {
                let name = self.new_type_name(name.clone())?;
                let content = self.new_domain(&name.name, ty, clauses)?;
                DomainStatement::Create { name, content }
            }
            DomainTree::Alter { name, action } => {
                let found = self.catalog.user_type(name.schema.as_deref(), &name.name);
                let change = self.domain_change(name, found, action)?;
                let name = found.map_or_else(|| name.clone(), |ty| RelationName::of_key(ty.key()));
                DomainStatement::Alter { name, change }
            }
        };
        Ok(Statement::Domain(Box::new(statement)))
    }

    fn new_domain(
        &mut self,
        name: &str,
        ty: &ast::DataType,
        clauses: &[DomainClause],
    ) -> Result<NewDomain> {
        let Declared { ty, domain: over } = self.declared_type(ty, None)?;
        let over = match over {
            Some(DomainUse { of: DomainOf::Elements, .. }) => {
                return unsupported("a domain over arrays of a domain", None);
            }
            over => over.map(|used| used.domain),
        };
        let default = over.and_then(|over| over.default.clone());
        let nulls = Nullability::Nullable;
        let mut content = NewDomain { ty, over, default, nulls, checks: Vec::new() };
        let (mut has_default, mut said) = (false, None);
        for clause in clauses {
            match clause {
                DomainClause::Default(_) if has_default => {
                    return fail(SqlState::SYNTAX_ERROR, "multiple default expressions", None);
                }
                DomainClause::Default(expr) => {
                    has_default = true;
                    content.default = self.domain_default(expr, ty, name)?;
                }
                DomainClause::NotNull | DomainClause::Null => {
                    let nulls = match clause {
                        DomainClause::Null => Nullability::Nullable,
                        _ => Nullability::NotNull,
                    };
                    if said.replace(nulls).is_some_and(|before| before != nulls) {
                        let message = "conflicting NULL/NOT NULL constraints";
                        return fail(SqlState::SYNTAX_ERROR, message, None);
                    }
                    content.nulls = nulls;
                }
                DomainClause::Check { name: constraint, expr } => {
                    let of = Conditions { name, ty, known: &content.checks };
                    let check = self.domain_check(&of, constraint.as_deref(), expr)?;
                    content.checks.push(check);
                }
                DomainClause::Collation(collation) => self.refuse_domain_collation(collation)?,
                DomainClause::OfTables(what) => return of_tables(what),
            }
        }
        Ok(content)
    }

    /// The text of a default; None for NULL.
    fn domain_default(
        &mut self,
        expr: &ast::Expr,
        ty: DataType,
        name: &str,
    ) -> Result<Option<String>> {
        self.check_default(expr, ty, name)?;
        let is_null = matches!(expr, ast::Expr::Value(value) if value.value == ast::Value::Null);
        Ok((!is_null).then(|| self.defined(expr).to_string()))
    }

    /// A condition of a domain beside those that it has, called `constraint` if it has a name.
    fn domain_check(
        &mut self,
        of: &Conditions<'_>,
        constraint: Option<&str>,
        expr: &ast::Expr,
    ) -> Result<CheckDef> {
        let Conditions { name, ty, known } = *of;
        let value = [ColumnDef::new("value", ty)];
        self.check_condition(expr, "", &value)?;
        let is_taken = |name: &str| known.iter().any(|check| check.name == name);
        let constraint = match constraint {
            Some(constraint) if is_taken(constraint) => {
                let message =
                    format!("constraint \"{constraint}\" for domain \"{name}\" already exists");
                return fail(SqlState::DUPLICATE_OBJECT, message, expr_at(expr));
            }
            Some(constraint) => constraint.to_owned(),
            None => {
                let labels = (1u32..).map(|number| format!("check{number}"));
                let mut labels = std::iter::once("check".to_owned()).chain(labels);
                let free = labels.find_map(|label| {
                    Some(object_name(name, &[], &label)).filter(|name| !is_taken(name))
                });
                free.unwrap_or_default()
            }
        };
        let sql = unqualified(&self.defined(expr)).to_string();
        Ok(CheckDef { name: constraint, sql, validity: Validity::Valid, scope: CheckScope::Family })
    }

    fn domain_change(
        &mut self,
        name: &RelationName,
        found: Option<UserType>,
        action: &DomainAction,
    ) -> Result<DomainChange> {
        let Some(domain) = found.and_then(|found| found.domain()) else {
            let is_type = found.is_some() || super::type_named(&name.name).is_some();
            return if is_type {
                let message = format!("{} is not a domain", name.quoted());
                fail(SqlState::WRONG_OBJECT_TYPE, message, None)
            } else {
                fail(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"), None)
            };
        };
        Ok(match action {
            DomainAction::Default(None) => DomainChange::Default(None),
            DomainAction::Default(Some(expr)) => {
                DomainChange::Default(self.domain_default(expr, domain.ty, &name.name)?)
            }
            DomainAction::SetNotNull => DomainChange::Nulls(Nullability::NotNull),
            DomainAction::DropNotNull => DomainChange::Nulls(Nullability::Nullable),
            DomainAction::Add { clause, validity } => match clause {
                DomainClause::Check { name: constraint, expr } => {
                    let of = Conditions { name: &name.name, ty: domain.ty, known: &domain.checks };
                    let check = self.domain_check(&of, constraint.as_deref(), expr)?;
                    DomainChange::AddCheck(CheckDef { validity: *validity, ..check })
                }
                DomainClause::OfTables(what) => return of_tables(what),
                _ => return fail(SqlState::SYNTAX_ERROR, "CHECK expected", None),
            },
            DomainAction::Drop { name, if_missing } => {
                DomainChange::DropConstraint { name: name.clone(), if_missing: *if_missing }
            }
            DomainAction::Validate(constraint) => DomainChange::Validate(constraint.clone()),
            DomainAction::Rename { from, to } => {
                DomainChange::RenameConstraint { from: from.clone(), to: to.clone() }
            }
        })
    }
}

/// 42601 for a constraint that only tables have.
fn of_tables<T>(what: &str) -> Result<T> {
    let message = format!("{what} constraints not possible for domains");
    fail(SqlState::SYNTAX_ERROR, message, None)
}

impl Binder<'_> {
    fn refuse_domain_collation(&mut self, name: &ast::ObjectName) -> Result<()> {
        if self.collation_named(name)?.is_of_bytes() {
            return Ok(());
        }
        unsupported(format!("COLLATE {name} of a domain"), object_at(name))
    }
}
