//! Hypothetical-set aggregates, and percentiles at several fractions: written as others.
//!
//! ```text
//! rank(a) WITHIN GROUP (ORDER BY x)          1 + count(*) FILTER (WHERE x < a)
//! dense_rank(a)                              1 + count(DISTINCT ROW(x)) FILTER (WHERE x < a)
//! percent_rank(a)                            (rank - 1) / count(*), 0 without rows
//! cume_dist(a)                               (1 + count(*) FILTER (WHERE x <= a)) / (1 + count(*))
//! percentile_cont(ARRAY[f, g])               ARRAY[percentile_cont(f), percentile_cont(g)]
//! ```

use sqlparser::ast::{self, BinaryOperator as Op, Expr as Ast};
use types::{Result, SqlState};

use super::aggregate::call_arguments;
use super::name::object_at;
use super::unmatched::no_function;
use super::{Binder, Bound, fail, unsupported};
use crate::parse::visit::rewrite_expressions;

/// True for the name of a hypothetical-set aggregate.
pub(super) fn is_hypothetical(name: &str) -> bool {
    matches!(name, "rank" | "dense_rank" | "percent_rank" | "cume_dist")
}

/// Which side of the hypothetical row is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Before,
    NotAfter,
}

impl Binder<'_> {
    /// The aggregate of a row that is not there.
    pub(super) fn bind_hypothetical(
        &mut self,
        function: &ast::Function,
        name: &str,
    ) -> Result<Bound> {
        let at = object_at(&function.name);
        let written = call_arguments(function)?;
        let keys = &function.within_group;
        let direct = direct_arguments(&written.list).filter(|list| list.len() == keys.len());
        let Some(direct) = direct else {
            let message = format!("function {name} does not exist with these arguments");
            return Err(no_function(message, at));
        };
        // What a column is in a group that leaves it out, no row can tell.
        if self.level()?.has_sets && direct.iter().any(reads_columns) {
            return unsupported(
                format!("an argument of {name} that grouping sets may leave out"),
                at,
            );
        }
        if !written.order_by.is_empty() {
            let message = "cannot use multiple ORDER BY clauses with WITHIN GROUP";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        for argument in &direct {
            let bound = self.bind_expr(argument)?;
            self.level()?.direct.push(bound.expr);
        }
        let make = Maker { function, keys, direct: &direct };
        let expr = match name {
            "rank" => add(number("1"), make.count(Some(Counted::Before))),
            "dense_rank" => add(number("1"), make.distinct()),
            "percent_rank" => {
                let share = divide(make.count(Some(Counted::Before)), make.count(None));
                let is_empty = binary(make.count(None), Op::Eq, number("0"));
                choice(is_empty, double(number("0")), share)
            }
            _ => {
                let before = add(number("1"), make.count(Some(Counted::NotAfter)));
                divide(before, add(number("1"), make.count(None)))
            }
        };
        self.bind_expr(&expr)
    }

    /// The percentiles at the fractions of an array; None when the fraction is no array.
    pub(super) fn percentiles(
        &mut self,
        function: &ast::Function,
        name: &str,
    ) -> Result<Option<Bound>> {
        if !matches!(name, "percentile_cont" | "percentile_disc") {
            return Ok(None);
        }
        let ast::FunctionArguments::List(list) = &function.args else { return Ok(None) };
        let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument))] = &*list.args else {
            return Ok(None);
        };
        let [key] = function.within_group.as_slice() else { return Ok(None) };
        let Some(fractions) = fractions(argument) else { return Ok(None) };
        let mut elements = Vec::with_capacity(fractions.len());
        for fraction in fractions {
            let mut call = function.clone();
            if let ast::FunctionArguments::List(list) = &mut call.args {
                list.args = vec![argument_of(fraction)];
            }
            elements.push(Ast::Function(call));
        }
        let array = ast::Array { elem: elements, named: true };
        let counted = Maker { function, keys: &[], direct: &[] };
        let values = counted.call(argument_of(key.expr.clone()), None, function.filter.clone());
        let is_empty = binary(values, Op::Eq, number("0"));
        let null = Ast::value(ast::Value::Null);
        self.bind_expr(&choice(is_empty, null, Ast::Array(array))).map(Some)
    }
}

/// The fractions that an array of them, or a constant of one, is written with.
fn fractions(argument: &Ast) -> Option<Vec<Ast>> {
    match argument {
        Ast::Array(array) if array.named => Some(array.elem.clone()),
        Ast::Nested(inner) => fractions(inner),
        Ast::Cast { expr, data_type: ast::DataType::Array(_), .. } => match &**expr {
            Ast::Value(value) => match &value.value {
                ast::Value::SingleQuotedString(text) => {
                    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
                    let quoted = |text: &str| match text.trim() {
                        null if null.eq_ignore_ascii_case("null") => Ast::value(ast::Value::Null),
                        digits => Ast::value(ast::Value::SingleQuotedString(digits.to_owned())),
                    };
                    Some(inner.split(',').map(quoted).collect())
                }
                _ => None,
            },
            inner => fractions(inner),
        },
        _ => None,
    }
}

/// True when the expression names a column.
fn reads_columns(expr: &Ast) -> bool {
    let mut reads = false;
    rewrite_expressions(&mut expr.clone(), &mut |inner| {
        reads |= matches!(inner, Ast::Identifier(_) | Ast::CompoundIdentifier(_));
    });
    reads
}

fn direct_arguments(list: &[&ast::FunctionArg]) -> Option<Vec<Ast>> {
    let plain = |arg: &&ast::FunctionArg| match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.iter().map(plain).collect()
}

/// Parts of a hypothetical-set call, from which the calls in its place are made.
struct Maker<'q> {
    function: &'q ast::Function,
    keys: &'q [ast::OrderByExpr],
    direct: &'q [Ast],
}

impl Maker<'_> {
    /// `count(*)` of the rows on a side of the hypothetical row, or of all.
    fn count(&self, side: Option<Counted>) -> Ast {
        let given = self.function.filter.as_deref().cloned();
        let filter = match (given, side.map(|side| self.side(side))) {
            (Some(given), Some(side)) => Some(binary(nested(given), Op::And, nested(side))),
            (given, side) => given.or(side),
        };
        let star = ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard);
        self.call(star, None, filter.map(Box::new))
    }

    /// How many different rows are before the hypothetical one.
    fn distinct(&self) -> Ast {
        let counted = self.count(Some(Counted::Before));
        let keys = self.keys.iter().map(|key| argument_of(key.expr.clone()));
        let row = self.named("row", keys.collect(), None);
        let filter = match counted {
            Ast::Function(call) => call.filter,
            _ => None,
        };
        self.call(argument_of(row), Some(ast::DuplicateTreatment::Distinct), filter)
    }

    fn call(
        &self,
        argument: ast::FunctionArg,
        duplicates: Option<ast::DuplicateTreatment>,
        filter: Option<Box<Ast>>,
    ) -> Ast {
        match self.named("count", vec![argument], duplicates) {
            Ast::Function(call) => Ast::Function(ast::Function { filter, ..call }),
            other => other,
        }
    }

    fn named(
        &self,
        name: &str,
        args: Vec<ast::FunctionArg>,
        duplicate_treatment: Option<ast::DuplicateTreatment>,
    ) -> Ast {
        let first = self.function.name.0.first().and_then(|part| part.as_ident());
        let mut ident = first.cloned().unwrap_or_else(|| ast::Ident::new(name));
        name.clone_into(&mut ident.value);
        ident.quote_style = None;
        let list = ast::FunctionArgumentList { duplicate_treatment, args, clauses: Vec::new() };
        Ast::Function(ast::Function {
            name: ast::ObjectName::from(vec![ident]),
            uses_odbc_syntax: false,
            parameters: ast::FunctionArguments::None,
            args: ast::FunctionArguments::List(list),
            filter: None,
            null_treatment: None,
            over: None,
            within_group: Vec::new(),
        })
    }

    /// True of a row that the order puts on that side of the hypothetical one.
    fn side(&self, side: Counted) -> Ast {
        let mut found = match side {
            Counted::Before => Ast::value(ast::Value::Boolean(false)),
            Counted::NotAfter => Ast::value(ast::Value::Boolean(true)),
        };
        for (key, direct) in self.keys.iter().zip(self.direct).rev() {
            let (expr, direct) = (nested(key.expr.clone()), nested(direct.clone()));
            let ascends = match &key.options.sort {
                Some(ast::OrderBySort::Using(operator)) => operator.to_string() != ">",
                sort => *sort != Some(ast::OrderBySort::Desc),
            };
            let nulls_first = key.options.nulls_first.unwrap_or(!ascends);
            let op = if ascends { Op::Lt } else { Op::Gt };
            let is_null = |expr: &Ast| Ast::IsNull(Box::new(expr.clone()));
            let is_there = |expr: &Ast| Ast::IsNotNull(Box::new(expr.clone()));
            let by_null = if nulls_first {
                binary(is_null(&expr), Op::And, is_there(&direct))
            } else {
                binary(is_there(&expr), Op::And, is_null(&direct))
            };
            let is_same = Ast::IsNotDistinctFrom(Box::new(expr.clone()), Box::new(direct.clone()));
            let later = binary(is_same, Op::And, nested(found));
            let before = binary(binary(expr, op, direct), Op::Or, nested(by_null));
            found = binary(before, Op::Or, nested(later));
        }
        found
    }
}

fn argument_of(expr: Ast) -> ast::FunctionArg {
    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr))
}

fn number(digits: &str) -> Ast {
    Ast::value(ast::Value::Number(digits.to_owned(), false))
}

fn nested(expr: Ast) -> Ast {
    Ast::Nested(Box::new(expr))
}

fn binary(left: Ast, op: Op, right: Ast) -> Ast {
    Ast::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn add(left: Ast, right: Ast) -> Ast {
    binary(left, Op::Plus, right)
}

fn double(expr: Ast) -> Ast {
    Ast::Cast {
        kind: ast::CastKind::DoubleColon,
        expr: Box::new(nested(expr)),
        data_type: ast::DataType::DoublePrecision,
        format: None,
    }
}

fn divide(left: Ast, right: Ast) -> Ast {
    binary(double(left), Op::Divide, nested(right))
}

fn choice(condition: Ast, result: Ast, otherwise: Ast) -> Ast {
    let none = sqlparser::ast::helpers::attached_token::AttachedToken::empty;
    Ast::Case {
        case_token: none(),
        end_token: none(),
        operand: None,
        conditions: vec![ast::CaseWhen { condition, result }],
        else_result: Some(Box::new(otherwise)),
    }
}
