//! Tests: IS ..., IN, BETWEEN, LIKE, SIMILAR TO, ANY and ALL.

use sqlparser::ast::{self, BinaryOperator as Op, Expr as Ast};
use types::{CompareOp, DataType, Result, SqlState};

use super::array::Test;
use super::comparable::{ComparedFor, comparable};
use super::literal::constant_text;
use super::name::expr_at;
use super::operators::{compare_op, is_caseless};
use super::row::row_fields;
use super::types::{Category, Context, category, comparison_type, interchangeable};
use super::unmatched::{no_operator, no_row_operator};
use super::{Binder, Bound, unsupported};
use crate::algebra::{Expr, ExprKind, Function, LikeCase, Place, Quantifier};

impl Binder<'_> {
    /// The forms whose result is a truth value.
    pub(super) fn bind_predicate(&mut self, expr: &Ast) -> Result<Bound> {
        match expr {
            Ast::IsNull(inner) => self.null_test(inner, false),
            Ast::IsNotNull(inner) => self.null_test(inner, true),
            Ast::IsTrue(inner) => self.truth_test(inner, CompareOp::NotDistinct, true, "IS TRUE"),
            Ast::IsNotTrue(inner) => {
                self.truth_test(inner, CompareOp::Distinct, true, "IS NOT TRUE")
            }
            Ast::IsFalse(inner) => {
                self.truth_test(inner, CompareOp::NotDistinct, false, "IS FALSE")
            }
            Ast::IsNotFalse(inner) => {
                self.truth_test(inner, CompareOp::Distinct, false, "IS NOT FALSE")
            }
            Ast::IsUnknown(inner) => self.unknown_test(inner, false),
            Ast::IsNotUnknown(inner) => self.unknown_test(inner, true),
            Ast::IsDistinctFrom(a, b) => self.distinct_test(a, b, CompareOp::Distinct),
            Ast::IsNotDistinctFrom(a, b) => self.distinct_test(a, b, CompareOp::NotDistinct),
            Ast::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            Ast::InSubquery { expr, subquery, negated } => {
                self.bind_in_query(expr, subquery, *negated)
            }
            Ast::Between { expr, negated, low, high } => self.between(expr, low, high, *negated),
            _ => self.bind_pattern_or_list(expr),
        }
    }

    fn bind_pattern_or_list(&mut self, expr: &Ast) -> Result<Bound> {
        match expr {
            Ast::Like { negated, any, expr, pattern, escape_char } => {
                let escape = self.escape(escape_char.as_deref())?;
                let form = LikeForm { escape, case: LikeCase::Sensitive, negated: *negated };
                self.like_test(expr, pattern, *any, form)
            }
            Ast::ILike { negated, any, expr, pattern, escape_char } => {
                let escape = self.escape(escape_char.as_deref())?;
                let form = LikeForm { escape, case: LikeCase::Insensitive, negated: *negated };
                self.like_test(expr, pattern, *any, form)
            }
            Ast::SimilarTo { negated, expr, pattern, escape_char } => {
                self.similar(expr, pattern, escape_char.as_deref(), *negated)
            }
            Ast::AnyOp { left, compare_op, right, .. } => {
                self.quantified_test(left, compare_op, right, Quantifier::Any)
            }
            Ast::AllOp { left, compare_op, right } => {
                self.quantified_test(left, compare_op, right, Quantifier::All)
            }
            other => unsupported(format!("expression {other}"), expr_at(other)),
        }
    }

    fn null_test(&mut self, inner: &Ast, negated: bool) -> Result<Bound> {
        let at = expr_at(inner);
        // A row is NULL when all fields are, and NOT NULL when none is.
        let bound = match row_fields(inner) {
            Some(fields) => self.bind_fields(&fields)?,
            None => vec![self.bind_expr(inner)?],
        };
        if let [only] = bound.as_slice()
            && row_fields(inner).is_none()
            && let DataType::Record(ty) = only.ty()
        {
            return Ok(Bound::new(self.record_is_null(only, ty, negated), at));
        }
        let mut terms = Vec::with_capacity(bound.len());
        for mut bound in bound {
            self.settle(&mut bound)?;
            let test = bound.expr.is_null();
            terms.push(if negated { test.negated() } else { test });
        }
        Ok(Bound::new(Expr::and(terms), at))
    }

    fn truth_test(&mut self, inner: &Ast, op: CompareOp, value: bool, name: &str) -> Result<Bound> {
        let bound = self.bind_expr(inner)?;
        let at = bound.at;
        let expr = self.coerce_clause(bound, DataType::Boolean, name)?;
        Ok(Bound::new(Expr::compare(op, expr, Expr::boolean(value)), at))
    }

    fn unknown_test(&mut self, inner: &Ast, negated: bool) -> Result<Bound> {
        let bound = self.bind_expr(inner)?;
        let at = bound.at;
        let test = self.coerce_clause(bound, DataType::Boolean, "IS UNKNOWN")?.is_null();
        Ok(Bound::new(if negated { test.negated() } else { test }, at))
    }

    fn distinct_test(&mut self, a: &Ast, b: &Ast, op: CompareOp) -> Result<Bound> {
        let at = expr_at(a);
        let expr = match (row_fields(a), row_fields(b)) {
            (Some(a), Some(b)) => {
                let (a, b) = (self.bind_fields(&a)?, self.bind_fields(&b)?);
                self.compare_rows(op, a, b)?
            }
            _ => {
                let (a, b) = (self.bind_expr(a)?, self.bind_expr(b)?);
                self.compare(op, a, b)?
            }
        };
        Ok(Bound::new(expr, at))
    }

    fn in_list(&mut self, operand: &Ast, list: &[Ast], negated: bool) -> Result<Bound> {
        let at = expr_at(operand);
        let expr = match row_fields(operand) {
            Some(fields) => {
                let mut terms = Vec::with_capacity(list.len());
                for row in list {
                    let Some(row) = row_fields(row) else {
                        let other = self.bind_expr(row)?;
                        if !matches!(other.ty(), DataType::Record(_)) {
                            return Err(no_row_operator(CompareOp::Equal, other.ty(), at));
                        }
                        let operand = self.bind_row(operand)?;
                        terms.push(self.compare(CompareOp::Equal, operand, other)?);
                        continue;
                    };
                    let (left, right) = (self.bind_fields(&fields)?, self.bind_fields(&row)?);
                    terms.push(self.compare_rows(CompareOp::Equal, left, right)?);
                }
                Expr::or(terms)
            }
            None => {
                let operand = self.bind_expr(operand)?;
                let list: Result<Vec<Bound>> =
                    list.iter().map(|element| self.bind_expr(element)).collect();
                let list = list?;
                if self.has_shape(&operand, &list) {
                    let (op, quantifier) = if negated {
                        (&Op::NotEq, Quantifier::All)
                    } else {
                        (&Op::Eq, Quantifier::Any)
                    };
                    return self.list_test(operand, list, Test { op, quantifier, at });
                }
                self.membership(operand, list)?
            }
        };
        Ok(Bound::new(if negated { expr.negated() } else { expr }, at))
    }

    /// `operand = ANY (list)`, list bound.
    pub(super) fn membership(&mut self, operand: Bound, list: Vec<Bound>) -> Result<Expr> {
        let mut all = Vec::with_capacity(list.len() + 1);
        all.push(operand);
        all.extend(list);
        // Several have one type; a single one is compared, with operators of OIDs.
        let named = all.iter().map(Bound::ty).find(|ty| matches!(ty, DataType::Reg(_)));
        let named = named.filter(|_| all.len() > 2);
        for bound in &mut all {
            *bound = self.retyped(bound.clone());
            if let (Some(named), true) = (named, bound.is_unknown()) {
                // A literal beside an object is the name of one.
                bound.expr = self.coerce(bound.clone(), named, Context::Implicit)?;
            }
            if let DataType::Reg(_) = bound.ty() {
                // Operators take numbers of objects as OIDs.
                bound.expr = self.coerce(bound.clone(), DataType::Oid, Context::Implicit)?;
            }
        }
        let Some(operand) = all.first() else {
            return Err(types::Error::internal("IN without operand"));
        };
        let foreign = all.iter().find(|bound| {
            let (a, b) = (category(operand.ty()), category(bound.ty()));
            a != b && a != Category::Unknown && b != Category::Unknown
        });
        if let Some(foreign) = foreign {
            return Err(no_operator("=", operand.ty(), foreign.ty(), operand.at));
        }
        let ty = match all.as_slice() {
            // One value is compared, as `=` does it.
            [a, b] if a.ty().is_number() && b.ty().is_number() => {
                comparison_type(self.digits, a.ty(), b.ty())
                    .map_or_else(|| self.compared_type(&all, "IN"), Ok)?
            }
            _ => {
                // Which of them is equal does not depend on their scales.
                let outer = std::mem::replace(&mut self.summed, true);
                let ty = self.compared_type(&all, "IN");
                self.summed = outer;
                ty?
            }
        };
        let mut exprs = Vec::with_capacity(all.len());
        for bound in all {
            let keep = !bound.is_unknown() && interchangeable(bound.ty(), ty);
            exprs.push(if keep { bound.expr } else { self.coerce(bound, ty, Context::Implicit)? });
        }
        let at = None;
        if ty == DataType::Json {
            return Err(no_operator("=", ty, ty, at));
        }
        let exprs = self.compared(CompareOp::Equal, exprs, at)?;
        let exprs: Result<Vec<Expr>> =
            exprs.into_iter().map(|e| comparable(e, ComparedFor::Equality, at)).collect();
        let mut exprs = exprs?.into_iter();
        let operand = exprs.next().ok_or_else(|| types::Error::internal("IN without operand"))?;
        let list: Vec<Expr> = exprs.collect();
        Ok(match <[Expr; 1]>::try_from(list) {
            Ok([only]) => Expr::compare(CompareOp::Equal, operand, only),
            Err(list) => {
                Expr { kind: ExprKind::InList(Box::new(operand), list), ty: DataType::Boolean }
            }
        })
    }

    fn between(&mut self, operand: &Ast, low: &Ast, high: &Ast, negated: bool) -> Result<Bound> {
        let at = expr_at(operand);
        let asymmetric = without_mark(low);
        if row_fields(operand).is_some() && asymmetric.is_none() {
            let from = self.bind_row_comparison(operand, &Op::GtEq, low)?.expr;
            let to = self.bind_row_comparison(operand, &Op::LtEq, high)?.expr;
            let expr = Expr::and(vec![from, to]);
            return Ok(Bound::new(if negated { expr.negated() } else { expr }, at));
        }
        let value = self.bind_expr(operand)?;
        let low_bound = self.bind_expr(asymmetric.as_ref().unwrap_or(low))?;
        let high_bound = self.bind_expr(high)?;
        let mut expr = self.within(&value, &low_bound, &high_bound)?;
        if asymmetric.is_some() {
            let (value, low) = (self.refreshed(&value), self.refreshed(&low_bound));
            let high = self.refreshed(&high_bound);
            let reversed = self.within(&value, &high, &low)?;
            expr = Expr::or(vec![expr, reversed]);
        }
        Ok(Bound::new(if negated { expr.negated() } else { expr }, at))
    }

    fn within(&mut self, value: &Bound, low: &Bound, high: &Bound) -> Result<Expr> {
        let from = self.compare(CompareOp::GreaterEqual, value.clone(), low.clone())?;
        let again = self.refreshed(value);
        let to = self.compare(CompareOp::LessEqual, again, high.clone())?;
        Ok(Expr::and(vec![from, to]))
    }

    /// The escape character: backslash unless given; none for `ESCAPE ''`.
    pub(super) fn escape(&mut self, given: Option<&Ast>) -> Result<Option<char>> {
        let Some(given) = given else {
            return Ok(Some('\\'));
        };
        let bound = self.bind_expr(given)?;
        let Some(text) = constant_text(&bound.expr) else {
            return unsupported("ESCAPE with something other than a constant", bound.at);
        };
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (escape, None) => Ok(escape),
            _ => {
                let error = types::Error::new(SqlState::INVALID_ESCAPE, "invalid escape string")
                    .with_hint("Escape string must be empty or one character.");
                Err(super::place(error, bound.at))
            }
        }
    }

    fn like_test(
        &mut self,
        operand: &Ast,
        pattern: &Ast,
        any: bool,
        form: LikeForm,
    ) -> Result<Bound> {
        let at = expr_at(operand);
        let value = self.bind_expr(operand)?;
        let all = all_patterns(pattern);
        let patterns = match (any, list_elements(all.unwrap_or(pattern))) {
            (_, Some(list)) if any || all.is_some() => list,
            (true, None) => return unsupported("LIKE ANY over something other than a list", at),
            _ => vec![pattern],
        };
        let mut terms = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let pattern = self.bind_expr(pattern)?;
            let value = self.refreshed(&value);
            let test = self.like(value, pattern, form.escape, form.case)?;
            terms.push(if form.negated { test.negated() } else { test });
        }
        let expr = if all.is_some() { Expr::and(terms) } else { Expr::or(terms) };
        Ok(Bound::new(expr, at))
    }

    /// Two BYTEAs, or one and a text in quotes, as texts; others as they are.
    fn bytes_as_texts(&mut self, operand: Bound, pattern: Bound) -> Result<(Bound, Bound)> {
        let is_meant = |bound: &Bound| bound.ty() == DataType::Bytea || bound.is_unknown();
        let has_bytes = [&operand, &pattern].iter().any(|bound| bound.ty() == DataType::Bytea);
        if !has_bytes || !is_meant(&operand) || !is_meant(&pattern) {
            return Ok((operand, pattern));
        }
        let mut as_text = |bound: Bound| -> Result<Bound> {
            let at = bound.at;
            let bytes = self.coerce(bound, DataType::Bytea, Context::Implicit)?;
            let text = Expr::call(Function::BytesAsText, vec![bytes], DataType::Text);
            Ok(Bound::new(text, at))
        };
        Ok((as_text(operand)?, as_text(pattern)?))
    }

    /// LIKE on bound operands. CHAR is matched with its padding.
    pub(super) fn like(
        &mut self,
        operand: Bound,
        pattern: Bound,
        escape: Option<char>,
        case: LikeCase,
    ) -> Result<Expr> {
        let (operand, pattern) = (self.retyped(operand), self.retyped(pattern));
        let at = super::first(operand.at, || pattern.at);
        let case = if is_caseless(&operand) { LikeCase::Insensitive } else { case };
        let (operand, pattern) = match case {
            LikeCase::Sensitive => self.bytes_as_texts(operand, pattern)?,
            LikeCase::Insensitive => (operand, pattern),
        };
        let (operand, pattern) = (self.cased(operand)?, self.cased(pattern)?);
        if !operand.ty().is_text() || !pattern.ty().is_text() {
            let op = if case == LikeCase::Sensitive { "~~" } else { "~~*" };
            return Err(no_operator(op, operand.ty(), pattern.ty(), at));
        }
        let word = if case == LikeCase::Sensitive { "LIKE" } else { "ILIKE" };
        self.refuse_own_equality(word, &[&operand.expr, &pattern.expr], at)?;
        let pattern = self.coerce(pattern, DataType::Text, Context::Implicit)?;
        let unpadded = constant_text(&pattern).is_some_and(|text| takes_blanks(&text, escape));
        let operand = match operand.ty() {
            DataType::Char(_) if unpadded => operand.expr,
            _ => self.padded_text(operand)?,
        };
        let (operand, pattern) = (Box::new(operand), Box::new(pattern));
        let kind = ExprKind::Like { operand, pattern, escape, case };
        Ok(Expr { kind, ty: DataType::Boolean })
    }

    /// SIMILAR TO a constant pattern, as a regular expression.
    fn similar(
        &mut self,
        operand: &Ast,
        pattern: &Ast,
        escape: Option<&Ast>,
        negated: bool,
    ) -> Result<Bound> {
        let at = expr_at(operand);
        let escape = self.escape(escape)?;
        let value = self.bind_expr(operand)?;
        if !value.ty().is_text() {
            return Err(no_operator("~", value.ty(), DataType::Unknown, at));
        }
        let value = self.padded_text(value)?;
        self.refuse_own_equality("regular expressions", &[&value], at)?;
        let pattern = self.bind_expr(pattern)?;
        let pattern = match (pattern.expr.as_literal(), constant_text(&pattern.expr)) {
            (Some(types::Value::Null), _) => Expr::null(DataType::Text),
            (_, Some(text)) => Expr::text(&similar_regex(&text, escape, pattern.at)?),
            (_, None) => {
                return unsupported("SIMILAR TO with something other than a constant", pattern.at);
            }
        };
        let test = Expr::call(Function::RegexpMatch, vec![value, pattern], DataType::Boolean);
        Ok(Bound::new(if negated { test.negated() } else { test }, at))
    }

    /// `left op ANY/ALL (sub-query or list)`.
    fn quantified_test(
        &mut self,
        left: &Ast,
        op: &Op,
        right: &Ast,
        quantifier: Quantifier,
    ) -> Result<Bound> {
        let mut inner = right;
        while let Ast::Nested(nested) = inner {
            inner = nested;
        }
        if let Ast::Subquery(query) = inner {
            return match compare_op(op) {
                Some(op) => self.bind_quantified(left, op, quantifier, query),
                None => {
                    let what = format!("operator {op} with ANY or ALL of a query");
                    unsupported(what, expr_at(left))
                }
            };
        }
        self.array_test(left, op, inner, quantifier)
    }
}

/// Form of a LIKE apart from its operands.
#[derive(Clone, Copy)]
struct LikeForm {
    escape: Option<char>,
    case: LikeCase,
    negated: bool,
}

/// The lower bound without the mark of BETWEEN SYMMETRIC, a prefix `@-@` on its first operand (see
/// `parse::prepare`); None when there is no mark.
pub(crate) fn without_mark(low: &Ast) -> Option<Ast> {
    match low {
        Ast::UnaryOp { op: ast::UnaryOperator::AtDashAt, expr } => Some((**expr).clone()),
        Ast::BinaryOp { left, op, right } => {
            let left = Box::new(without_mark(left)?);
            Some(Ast::BinaryOp { left, op: op.clone(), right: right.clone() })
        }
        Ast::Cast { kind, expr, data_type, format } => Some(Ast::Cast {
            kind: kind.clone(),
            expr: Box::new(without_mark(expr)?),
            data_type: data_type.clone(),
            format: format.clone(),
        }),
        _ => None,
    }
}

/// The list of `LIKE ALL (list)`, which the parser takes for a call of a function.
fn all_patterns(pattern: &Ast) -> Option<&Ast> {
    let Ast::Function(call) = pattern else {
        return None;
    };
    let ast::FunctionArguments::List(list) = &call.args else {
        return None;
    };
    match list.args.as_slice() {
        [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(list))]
            if call.name.to_string().eq_ignore_ascii_case("all") =>
        {
            Some(list)
        }
        _ => None,
    }
}

fn list_elements(expr: &Ast) -> Option<Vec<&Ast>> {
    match expr {
        Ast::Nested(inner) => list_elements(inner),
        Ast::Array(array) => Some(array.elem.iter().collect()),
        Ast::Tuple(list) => Some(list.iter().collect()),
        _ => None,
    }
}

/// True for a LIKE pattern that any blanks at the end of the text make no difference to.
fn takes_blanks(pattern: &str, escape: Option<char>) -> bool {
    let escapes = escape.is_some_and(|escape| pattern.contains(escape));
    pattern.ends_with('%') && !pattern.contains([' ', '_']) && !escapes
}

/// A SIMILAR TO pattern as an anchored regular expression.
///
/// # Errors
/// 2200C for more than two separators, which are an escape character and a double quote: what is
/// between them is what `substring` gives.
pub(super) fn similar_regex(pattern: &str, escape: Option<char>, at: Place) -> Result<String> {
    let mut out = String::from("^(?:");
    let mut separators = ["){1,1}?(", "){1,1}(?:"].into_iter();
    let mut characters = pattern.chars();
    let mut in_class = false;
    // Where quantifiers end that are before the first separator: what is before it is as short as
    // can be.
    let mut quantifiers = Vec::new();
    while let Some(c) = characters.next() {
        if Some(c) == escape {
            match (characters.next(), in_class) {
                (Some('"'), false) => match separators.next() {
                    Some(separator) => {
                        let is_first = separators.len() == 1;
                        for end in quantifiers.drain(..).rev().filter(|_| is_first) {
                            out.insert(end, '?');
                        }
                        out.push_str(separator);
                    }
                    None => {
                        let message = "SQL regular expression may not contain more than two \
                                       escape-double-quote separators";
                        return super::fail(SqlState::INVALID_USE_OF_ESCAPE_CHARACTER, message, at);
                    }
                },
                // Any character may be escaped: there are classes and borders of words, too.
                (escaped, _) => out.extend(['\\'].into_iter().chain(escaped)),
            }
            continue;
        }
        match c {
            ']' if in_class => {
                in_class = false;
                out.push(c);
            }
            '\\' if in_class => out.push_str("\\\\"),
            _ if in_class => out.push(c),
            '[' => {
                in_class = true;
                out.push(c);
            }
            '%' => {
                out.push_str("(?s:.)*");
                quantifiers.push(out.len());
            }
            '_' => out.push_str("(?s:.)"),
            '*' | '+' | '?' | '}' => {
                out.push(c);
                quantifiers.push(out.len());
            }
            '|' | '{' | ')' | ']' => out.push(c),
            '(' => out.push_str("(?:"),
            other => push_literal(&mut out, other),
        }
    }
    out.push_str(")$");
    Ok(out)
}

fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}
