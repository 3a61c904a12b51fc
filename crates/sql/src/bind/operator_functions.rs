//! Functions behind operators, by their names in PostgreSQL: `int4pl(a, b)` is `a + b`. Aggregates
//! and operator classes name them. Those that compare, add, convert to a larger one and their kin
//! stand in a table, which follows `pg_operator` and `pg_proc` of PostgreSQL 15.

use std::collections::HashMap;
use std::sync::OnceLock;

use sqlparser::ast::{self, BinaryOperator as Op, UnaryOperator};
use types::{DataType, Error, PackedType, Result};

use super::operators::Connective;
use super::series::is_volatile;
use super::types::{Context, array_name, can_cast, type_called};
use super::{Binder, Bound, unsupported};
use crate::algebra::{Expr, ExprKind, Place};
use crate::parse::parse_expr;

/// The functions: name, operator or function that it stands for, types of its arguments.
const TABLE: &str = include_str!("operator_functions.tsv");

/// A function behind an operator.
struct Entry {
    /// The operator, another function, or one of the words that [`Work::of`] knows.
    stands_for: &'static str,
    parameters: Vec<Parameter>,
}

/// Type of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Of(DataType),
    AnyArray,
    AnyRange,
    AnyMultirange,
}

impl Parameter {
    fn called(name: &str) -> Option<Self> {
        Some(match name {
            "anyarray" => Self::AnyArray,
            "anyrange" => Self::AnyRange,
            "anymultirange" => Self::AnyMultirange,
            name => Self::Of(catalog_type(name)?),
        })
    }

    /// True for an argument of type `ty`; one without type takes that of the others.
    fn takes(self, ty: DataType) -> bool {
        match self {
            _ if ty == DataType::Unknown => true,
            Self::Of(own) => can_cast(ty, own, Context::Implicit),
            Self::AnyArray => ty.is_array(),
            Self::AnyRange => matches!(ty, DataType::Packed(PackedType::Range(_))),
            Self::AnyMultirange => matches!(ty, DataType::Packed(PackedType::Multirange(_))),
        }
    }
}

/// All functions, by name.
fn entries() -> &'static HashMap<&'static str, Vec<Entry>> {
    static ENTRIES: OnceLock<HashMap<&'static str, Vec<Entry>>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let mut all: HashMap<&'static str, Vec<Entry>> = HashMap::new();
        for line in TABLE.lines() {
            let mut fields = line.split('\t');
            let (Some(name), Some(stands_for), Some(types)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let parameters = types.split(' ').map(Parameter::called).collect::<Option<_>>();
            if let Some(parameters) = parameters {
                all.entry(name).or_default().push(Entry { stands_for, parameters });
            }
        }
        all
    })
}

/// Work of a function on its arguments.
enum Work {
    Binary(Op),
    Unary(UnaryOperator),
    /// `greatest` or `least`, and NULL where one is.
    Extreme(&'static str),
    /// AND, OR: NULL where one is.
    Logic(Connective),
    /// One more.
    Next,
    /// -1, 0 or 1.
    Order,
    Function(&'static str),
}

impl Work {
    fn of(entry: &Entry) -> Result<Self> {
        Ok(match entry.stands_for {
            name @ ("greatest" | "least") => Self::Extreme(name),
            "and" => Self::Logic(Connective::And),
            "or" => Self::Logic(Connective::Or),
            "next" => Self::Next,
            "order" => Self::Order,
            name if name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
                Self::Function(name)
            }
            operator => {
                let is_unary = entry.parameters.len() == 1;
                let text =
                    if is_unary { format!("{operator} a") } else { format!("a {operator} b") };
                match parse_expr(&text)? {
                    ast::Expr::BinaryOp { op, .. } => Self::Binary(op),
                    ast::Expr::UnaryOp { op, .. } => Self::Unary(op),
                    _ => return Err(Error::internal("an operator that stands alone")),
                }
            }
        })
    }
}

impl Binder<'_> {
    /// `timestamp(date, time)` and its like: both added up.
    pub(super) fn joined_instant(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        let to = match name {
            "timestamp" => DataType::TIMESTAMP,
            "timestamptz" => DataType::TIMESTAMPTZ,
            _ => return Ok(None),
        };
        let [date, time] = arguments else { return Ok(None) };
        let is_time = match time.ty() {
            DataType::Time(_) => true,
            DataType::Packed(PackedType::TimeTz(_)) => to == DataType::TIMESTAMPTZ,
            _ => false,
        };
        if date.ty() != DataType::Date || !is_time {
            return Ok(None);
        }
        let sum = self.bind_binary(&Op::Plus, date.clone(), time.clone())?;
        Ok(Some(Bound::new(self.coerce(sum, to, Context::Explicit)?, at)))
    }

    /// The call of a function behind an operator; None for others.
    pub(super) fn operator_function(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        let known = entries().get(name).map_or(&[][..], Vec::as_slice);
        let with_type = arguments.iter().map(Bound::ty).find(|ty| *ty != DataType::Unknown);
        let fits = |entry: &&Entry| {
            let mut pairs = arguments.iter().zip(&entry.parameters);
            let is_plain = entry.parameters.iter().all(|of| matches!(of, Parameter::Of(_)));
            entry.parameters.len() == arguments.len()
                && (is_plain || with_type.is_some())
                && pairs.all(|(bound, parameter)| parameter.takes(bound.ty()))
        };
        let is_exact = |entry: &&Entry| {
            let mut pairs = arguments.iter().zip(&entry.parameters);
            pairs.all(|(bound, parameter)| *parameter == Parameter::Of(bound.ty()))
        };
        let found = known.iter().filter(fits).find(is_exact);
        let Some(entry) = found.or_else(|| known.iter().find(fits)) else { return Ok(None) };
        let mut list = Vec::with_capacity(arguments.len());
        for (bound, parameter) in arguments.iter().zip(&entry.parameters) {
            list.push(match (parameter, with_type) {
                (Parameter::Of(ty), _) => {
                    let expr = self.coerce(bound.clone(), *ty, Context::Implicit)?;
                    Bound::new(self.cast(expr, *ty), at)
                }
                (_, Some(ty)) if bound.is_unknown() => {
                    Bound::new(self.coerce(bound.clone(), ty, Context::Implicit)?, at)
                }
                _ => bound.clone(),
            });
        }
        self.carried_out(Work::of(entry)?, list, at).map(Some)
    }

    fn carried_out(&mut self, work: Work, mut list: Vec<Bound>, at: Place) -> Result<Bound> {
        let last = list.pop();
        match (work, list.pop(), last) {
            (Work::Next, None, Some(number)) => {
                let one = Bound::new(Expr::integer(1), at);
                self.bind_binary(&Op::Plus, number, one)
            }
            (Work::Unary(op), None, Some(operand)) => self.unary(op, operand),
            (Work::Binary(op), Some(left), Some(right)) => self.bind_binary(&op, left, right),
            (Work::Function(name), left, Some(right)) => {
                self.call(name, left.into_iter().chain([right]).collect(), at)
            }
            (work, Some(left), Some(right)) => {
                // The operands stand in the expression several times.
                if is_volatile(&left.expr) || is_volatile(&right.expr) {
                    return unsupported("a volatile argument of this function", at);
                }
                let operands = [self.refreshed(&left).expr, self.refreshed(&right).expr];
                Ok(match work {
                    Work::Logic(connective) => {
                        strict(connective.of(vec![left.expr, right.expr]), operands)
                    }
                    Work::Extreme(choice) => {
                        strict(self.call(choice, vec![left, right], at)?.expr, operands)
                    }
                    _ => {
                        let (a, b) = (self.refreshed(&left), self.refreshed(&right));
                        let equal = self.bind_binary(&Op::Eq, a, b)?.expr;
                        let above = self.bind_binary(&Op::Gt, left, right)?.expr;
                        let branches = vec![(equal, Expr::integer(0)), (above, Expr::integer(1))];
                        let otherwise = Box::new(Expr::integer(-1));
                        let kind = ExprKind::Case { branches, otherwise };
                        strict(Expr { kind, ty: DataType::Integer }, operands)
                    }
                })
            }
            _ => Err(Error::internal("a function with other arguments")),
        }
    }
}

/// The type that PostgreSQL's catalog has under `name`; arrays begin with a line.
fn catalog_type(name: &str) -> Option<DataType> {
    type_called(name).or_else(|| array_name(name))
}

/// `value`, or NULL where one of the operands is.
fn strict(value: Expr, operands: [Expr; 2]) -> Bound {
    let ty = value.ty;
    let branches = operands.map(|operand| (operand.is_null(), Expr::null(ty)));
    let kind = ExprKind::Case { branches: branches.to_vec(), otherwise: Box::new(value) };
    Bound::new(Expr { kind, ty }, None)
}
