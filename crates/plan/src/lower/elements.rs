//! Conditions that inverted indexes answer.
//!
//! ```text
//! index gin (body, lower(title) gin_trgm_ops);  scan where body @@ $1 and lower(title) like '%x%'
//!   column 0  Matches $1;  column 1  Like '%x%'        -> a way with two conditions
//! ```
//! Nothing is known of elements when a query is planned, so such a way is taken wherever there is
//! one, unless another index is thought to find fewer rows; when the query begins, the entries are
//! counted, and the scan runs where they are many. The conditions stay with the scan.

use sql::algebra::{
    Expr as Logical, ExprKind as LogicalKind, ExtensionFunction, Function, JsonFunction, Plan,
};
use sql::catalog::{IndexMeta, TableRef};
use types::elements::{ElementClass, ElementTest};
use types::json_path::PathResult;
use types::{CompareOp, DataType, Result, Value};

use super::considered::Weighed;
use super::expr::Scope;
use super::index::{Access, ScanParts};
use super::terms::row_column;
use super::{Lowered, Lowering};
use crate::cost;
use crate::physical::ElementCondition;
use crate::tree::{self, Renaming};

/// Conditions of a scan.
pub(super) struct ElementConditions<'a> {
    /// The scan without conditions.
    pub(super) narrow: &'a Plan,
    pub(super) conjuncts: &'a [Logical],
    /// Rows of the table.
    pub(super) rows: f64,
}

/// A column of an inverted index over the columns of a scan.
struct Subject {
    expr: Logical,
    class: ElementClass,
    /// Its position in the index.
    column: usize,
}

/// A test that a conjunct is of one of its operands.
struct Tested<'e> {
    operand: &'e Logical,
    test: ElementTest,
    constant: &'e Logical,
}

impl Lowering<'_, '_> {
    /// The way by the inverted index at position `at`, and its cost.
    pub(super) fn by_elements(
        &mut self,
        lowered: &Lowered,
        at: usize,
        asked: &ElementConditions<'_>,
    ) -> Result<Option<(f64, Access)>> {
        let Some(scan) = ScanParts::of(&lowered.node) else { return Ok(None) };
        let index = &scan.table.indexes()[at];
        if self.offer(scan.table, at, asked.narrow, asked.conjuncts)?.is_none() {
            self.consider_partial(lowered.node.id, index);
            return Ok(None);
        }
        let subjects = self.subjects(scan.table, at, asked.narrow);
        let mut access = Access::any(at);
        for part in asked.conjuncts {
            let normal = sql::normalised(part);
            for subject in &subjects {
                if let Some(condition) = self.element_condition(&normal, subject)? {
                    access.way.elements.push(condition);
                }
            }
        }
        if access.way.elements.is_empty() {
            self.consider_idle(lowered.node.id, scan.table, index);
            return Ok(None);
        }
        // Each further condition is taken to leave half of the rows.
        let further = i32::try_from(access.way.elements.len() - 1).unwrap_or(i32::MAX);
        let (lookups, rows) = (1.0, asked.rows * cost::ELEMENT_SHARE * 0.5_f64.powi(further));
        let cost = cost::index(lookups, rows);
        self.consider_index(lowered.node.id, index, &Weighed { lookups, rows, cost });
        Ok(Some((cost, access)))
    }

    /// The columns of an index that the scan reads.
    fn subjects(&self, table: &TableRef, at: usize, narrow: &Plan) -> Vec<Subject> {
        let Plan::Scan { columns, .. } = narrow else { return Vec::new() };
        let ids: Renaming =
            columns.iter().map(|&(id, ordinal)| (row_column(ordinal), id)).collect();
        let index: &IndexMeta = &table.indexes()[at];
        let subject = |(column, of): (usize, &sql::catalog::IndexColumn)| {
            let expr = match of.expression() {
                Some(number) => {
                    let terms = table.index_terms(at)?;
                    sql::normalised(&self.over_scan(terms.expressions.get(number)?, &ids)?)
                }
                None => {
                    let id = ids.get(&row_column(of.ordinal))?;
                    tree::column(*id, table.columns().get(of.ordinal)?.ty)
                }
            };
            let class = index.element_class(column, expr.ty)?;
            Some(Subject { expr, class, column })
        };
        index.columns.iter().enumerate().filter_map(subject).collect()
    }

    /// The condition on a column that the conjunct `part` is.
    fn element_condition(
        &mut self,
        part: &Logical,
        subject: &Subject,
    ) -> Result<Option<ElementCondition>> {
        let found = tests(part, subject.class).into_iter().find(|tested| {
            let operand = match subject.class {
                ElementClass::Trigrams => uncast(tested.operand),
                _ => unkeyed(tested.operand),
            };
            (*operand == subject.expr || *tested.operand == subject.expr)
                && tree::is_constant(tested.constant)
        });
        let Some(Tested { test, constant, .. }) = found else { return Ok(None) };
        let operand = self.expr_in(constant, &Scope::none())?;
        let of = subject.expr.ty;
        let is_scalar = subject.class == ElementClass::Scalar;
        if is_scalar && operand.physical != of.physical() {
            return Ok(None);
        }
        let (column, class) = (subject.column, subject.class);
        Ok(Some(ElementCondition { column, class, of, test, operand }))
    }
}

/// A text before it was made one of another type that has the same characters.
fn uncast(operand: &Logical) -> &Logical {
    let plain = |ty: DataType| matches!(ty, DataType::Text | DataType::Varchar(_));
    match &operand.kind {
        LogicalKind::Cast(inner) if plain(inner.ty) && plain(operand.ty) => uncast(inner),
        _ => operand,
    }
}

/// A number of any scale before its key was taken.
fn unkeyed(operand: &Logical) -> &Logical {
    match &operand.kind {
        LogicalKind::Call(Function::NumericKey, list) => list.first().unwrap_or(operand),
        _ => operand,
    }
}

/// The tests of a class that `part` is, one for each operand that a column may be.
fn tests(part: &Logical, class: ElementClass) -> Vec<Tested<'_>> {
    let found = match (&part.kind, class) {
        (LogicalKind::Call(function, list), _) => match list.as_slice() {
            [a, b] => return of_call(*function, a, b, class),
            _ => None,
        },
        (LogicalKind::Like { operand, pattern, escape, .. }, ElementClass::Trigrams) => {
            Some(Tested { operand, test: ElementTest::Like(*escape), constant: pattern })
        }
        (LogicalKind::Compare(op, a, b), _) => return of_comparison(*op, a, b, class),
        _ => None,
    };
    found.into_iter().collect()
}

fn of_call<'e>(
    function: Function,
    a: &'e Logical,
    b: &'e Logical,
    class: ElementClass,
) -> Vec<Tested<'e>> {
    use ElementClass as C;
    use ElementTest as T;
    let first = |test| vec![Tested { operand: a, test, constant: b }];
    let second = |test| vec![Tested { operand: b, test, constant: a }];
    match (class, function) {
        (C::Array, Function::ArrayContains) => {
            let mut both = first(T::Contains);
            both.extend(second(T::Contained));
            both
        }
        (C::Array, Function::ArrayOverlaps) => {
            let mut both = first(T::Overlaps);
            both.extend(second(T::Overlaps));
            both
        }
        (C::JsonKeys | C::JsonPaths, Function::Json(function)) => match function {
            JsonFunction::Contains => first(T::Contains),
            JsonFunction::HasKey if class == C::JsonKeys => first(T::HasKey),
            JsonFunction::HasAnyKey if class == C::JsonKeys => first(T::HasAnyKey),
            JsonFunction::HasAllKeys if class == C::JsonKeys => first(T::HasAllKeys),
            JsonFunction::PathResult(PathResult::Exists) => first(T::PathExists),
            JsonFunction::PathResult(PathResult::Match) => first(T::PathMatches),
            _ => Vec::new(),
        },
        (C::Trigrams, Function::RegexpMatch | Function::RegexpMatchInsensitive) => first(T::Regexp),
        (C::Vector | C::Hstore, Function::Packed(call)) => match call.function().name {
            "ts_match_vq" if class == C::Vector => first(T::Matches),
            "ts_match_qv" if class == C::Vector => second(T::Matches),
            "hs_contains" if class == C::Hstore => first(T::Contains),
            "hs_contained" if class == C::Hstore => second(T::Contains),
            "exist" if class == C::Hstore => first(T::HasKey),
            "exists_any" if class == C::Hstore => first(T::HasAnyKey),
            "exists_all" if class == C::Hstore => first(T::HasAllKeys),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn of_comparison<'e>(
    op: CompareOp,
    a: &'e Logical,
    b: &'e Logical,
    class: ElementClass,
) -> Vec<Tested<'e>> {
    let is_ordered =
        !matches!(op, CompareOp::Distinct | CompareOp::NotDistinct | CompareOp::NotEqual);
    match class {
        ElementClass::Scalar if is_ordered => {}
        ElementClass::Array | ElementClass::Trigrams if op == CompareOp::Equal => {}
        ElementClass::Trigrams => return similar(op, a, b),
        _ => return Vec::new(),
    }
    vec![
        Tested { operand: a, test: ElementTest::Compare(op), constant: b },
        Tested { operand: b, test: ElementTest::Compare(op.exchanged()), constant: a },
    ]
}

/// `similarity(a, b) >= threshold`, which the operators of pg_trgm are.
fn similar<'e>(op: CompareOp, share: &'e Logical, least: &'e Logical) -> Vec<Tested<'e>> {
    let (op, share, least) =
        if tree::is_constant(share) { (op.exchanged(), least, share) } else { (op, share, least) };
    let share = match &share.kind {
        LogicalKind::Cast(inner) => inner,
        _ => share,
    };
    let (LogicalKind::Literal(Value::F64(least)), CompareOp::GreaterEqual) = (&least.kind, op)
    else {
        return Vec::new();
    };
    let LogicalKind::Call(Function::Extension(function), list) = &share.kind else {
        return Vec::new();
    };
    let [a, b] = list.as_slice() else { return Vec::new() };
    // Less than it is, if anything.
    let test = ElementTest::Similar((least.clamp(0.0, 1.0) * 1000.0).floor() as u16);
    let of = |operand, constant| Tested { operand, test, constant };
    match function {
        ExtensionFunction::Similarity => vec![of(a, b), of(b, a)],
        ExtensionFunction::WordSimilarity | ExtensionFunction::WordsSimilarity => vec![of(b, a)],
        _ => Vec::new(),
    }
}
