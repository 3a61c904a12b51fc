//! TABLESAMPLE: a condition on the places of a table's rows.
//!
//! ```text
//! t TABLESAMPLE bernoulli (p) REPEATABLE (s)   Filter(sampled(tid, p, s), Scan t)
//! t TABLESAMPLE part (i, n)                    FunctionScan t, of part i of n; shared tables alone
//! ```
//! `system` decides for a group of neighbours at once. Departure from PostgreSQL: which rows a seed
//! gives, since rows have other places.

use sqlparser::ast::{self, Expr as Ast};
use types::{DataType, Result, SqlState, Value};

use super::name::{expr_at, object_parts};
use super::scope::Scope;
use super::select::filter;
use super::types::Context;
use super::{Binder, fail, unsupported};
use crate::algebra::{Expr, Function, Place, Plan, SourcePart};
use crate::parse::{REPEATABLE, parse_expr};

/// Bits of a TID that differ among the rows that `system` takes together.
const GROUP_BITS: i32 = 7;

/// The clause: which rows are taken.
struct Sample<'q> {
    method: String,
    arguments: Vec<&'q Ast>,
    seed: Option<&'q Ast>,
    at: Place,
}

impl Binder<'_> {
    /// The sampled rows of `plan`, which reads the one relation of `scope` named at `at`.
    pub(super) fn sampled(
        &mut self,
        plan: Plan,
        scope: &Scope,
        kind: &ast::TableSampleKind,
        at: Place,
    ) -> Result<Plan> {
        let sample = clause(kind)?;
        let relation = scope.relations.first();
        let Some(relation) = relation.filter(|relation| relation.table.is_some()) else {
            let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        };
        if sample.method == PART {
            return part_of(plan, &sample);
        }
        let [percentage] = sample.arguments[..] else { return miscounted(&sample, 1) };
        let Some(tid) = self.tid_of_scan(relation) else {
            return unsupported("TABLESAMPLE of a table without columns", at);
        };
        let place = match sample.method.as_str() {
            "bernoulli" => tid,
            "system" => {
                let bits = Expr::integer(GROUP_BITS);
                Expr::call(Function::ShiftRight, vec![tid, bits], DataType::BigInt)
            }
            other => {
                let message = format!("tablesample method {other} does not exist");
                return fail(SqlState::UNDEFINED_OBJECT, message, sample.at);
            }
        };
        let percentage = self.sample_argument(percentage)?;
        // No percentage, and refused like one that is too small.
        let none = Expr::literal(Value::F64(-1.0), DataType::Double);
        let percentage = Expr::call(Function::Coalesce, vec![percentage, none], DataType::Double);
        let seed = match sample.seed {
            Some(seed) if is_null(seed) => {
                let message = "TABLESAMPLE REPEATABLE parameter cannot be null";
                return fail(SqlState::INVALID_SAMPLE_SEED, message, expr_at(seed));
            }
            Some(seed) => self.sample_argument(seed)?,
            None => self.sample_argument(&parse_expr(UNREPEATED)?)?,
        };
        let arguments = vec![place, percentage, seed];
        Ok(filter(plan, Expr::call(Function::Sampled, arguments, DataType::Boolean)))
    }

    fn sample_argument(&mut self, argument: &Ast) -> Result<Expr> {
        let bound = self.bind_expr(argument)?;
        self.coerce(bound, DataType::Double, Context::Implicit)
    }
}

/// The seed of a statement that names none.
const UNREPEATED: &str = "extract(epoch from statement_timestamp())::float8";

/// The method that gives one of parts that have each row once.
const PART: &str = "part";

/// 2202H for a method that takes `wanted` arguments.
fn miscounted<T>(sample: &Sample<'_>, wanted: usize) -> Result<T> {
    let (method, given) = (&sample.method, sample.arguments.len());
    let plural = if wanted == 1 { "" } else { "s" };
    let message =
        format!("tablesample method {method} requires {wanted} argument{plural}, not {given}");
    fail(SqlState::INVALID_SAMPLE, message, sample.at)
}

/// The plan with one part of the rows that it reads.
fn part_of(plan: Plan, sample: &Sample<'_>) -> Result<Plan> {
    let [number, count] = sample.arguments[..] else { return miscounted(sample, 2) };
    let part = match (natural(number), natural(count)) {
        (Some(number), Some(count)) if number < count => SourcePart { number, count },
        _ => {
            let message = "tablesample method part takes a number from 0, and a larger count";
            return fail(SqlState::INVALID_SAMPLE, message, sample.at);
        }
    };
    let part = match &plan {
        Plan::FunctionScan { function, columns } => {
            function.0.part(part).map(|function| (function, columns.clone()))
        }
        _ => None,
    };
    match part {
        Some((function, columns)) => Ok(Plan::FunctionScan { function, columns }),
        None => {
            let message = "tablesample method part is there for shared tables alone";
            let error = fail(SqlState::FEATURE_NOT_SUPPORTED, message, sample.at);
            error.map_err(|error| error.with_hint("Ranges of ctid are parts of other tables."))
        }
    }
}

/// A number that is written as it is.
fn natural(expr: &Ast) -> Option<u64> {
    match expr {
        Ast::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn is_null(expr: &Ast) -> bool {
    matches!(expr, Ast::Value(value) if value.value == ast::Value::Null)
}

/// Takes the clause apart, which the parser has as a call of its method (see `parse::forms`).
fn clause(kind: &ast::TableSampleKind) -> Result<Sample<'_>> {
    let (ast::TableSampleKind::BeforeTableAlias(sample)
    | ast::TableSampleKind::AfterTableAlias(sample)) = kind;
    let malformed = || {
        let message = "syntax error at or near \"TABLESAMPLE\"";
        fail(SqlState::SYNTAX_ERROR, message, None)
    };
    let Some(Ast::Function(call)) = sample.quantity.as_ref().map(|quantity| &quantity.value) else {
        return malformed();
    };
    let method = object_parts(&call.name)?.pop().unwrap_or_default();
    let at = super::name::object_at(&call.name);
    let ast::FunctionArguments::List(list) = &call.args else { return malformed() };
    let (mut values, mut seed) = (Vec::new(), None);
    for argument in &list.args {
        match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)) => values.push(value),
            ast::FunctionArg::ExprNamed {
                name: Ast::Identifier(name),
                arg: ast::FunctionArgExpr::Expr(value),
                ..
            } if name.value == REPEATABLE => seed = Some(value),
            _ => return malformed(),
        }
    }
    Ok(Sample { method, arguments: values, seed, at })
}
