//! Functions with a syntax of their own: EXTRACT, SUBSTRING, POSITION, TRIM, OVERLAY, AT TIME ZONE.

use sqlparser::ast::{self, Expr as Ast};
use types::{DataType, PackedType, Result, SqlState, calendar};

use super::literal::constant_text;
use super::name::expr_at;
use super::predicate::similar_regex;
use super::types::{Category, Context, category};
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{Expr, ExprKind, Function, Place};
use crate::catalog::Digits;

impl Binder<'_> {
    /// Binds one of them.
    pub(super) fn bind_special(&mut self, expr: &Ast) -> Result<Bound> {
        match expr {
            Ast::Extract { field, expr, .. } => {
                let bound = self.bind_expr(expr)?;
                self.extract(&field.to_string(), bound)
            }
            Ast::Ceil { expr, field } => self.rounding("ceil", expr, field),
            Ast::Floor { expr, field } => self.rounding("floor", expr, field),
            Ast::Position { expr, r#in } => {
                let (needle, text) = (self.bind_expr(expr)?, self.bind_expr(r#in)?);
                let at = needle.at;
                self.call("position", vec![text, needle], at)
            }
            Ast::Substring { expr, substring_from, substring_for, .. } => {
                self.substring(expr, substring_from.as_deref(), substring_for.as_deref())
            }
            Ast::Trim { expr, trim_where, trim_what, trim_characters } => {
                let name = match trim_where {
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                    Some(ast::TrimWhereField::Both) | None => "btrim",
                };
                let mut arguments = vec![self.bind_expr(expr)?];
                let characters = trim_what
                    .as_deref()
                    .or_else(|| trim_characters.as_ref().and_then(|list| list.first()));
                if let Some(characters) = characters {
                    arguments.push(self.bind_expr(characters)?);
                }
                let at = arguments.first().and_then(|bound| bound.at);
                self.call(name, arguments, at)
            }
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                self.overlay(expr, overlay_what, overlay_from, overlay_for.as_deref())
            }
            Ast::AtTimeZone { timestamp, time_zone } => {
                let (value, zone) = (self.bind_expr(timestamp)?, self.bind_expr(time_zone)?);
                let at = value.at;
                self.call("timezone", vec![zone, value], at)
            }
            other => unsupported(format!("expression {other}"), expr_at(other)),
        }
    }

    fn rounding(&mut self, name: &str, expr: &Ast, field: &ast::CeilFloorKind) -> Result<Bound> {
        match field {
            ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => {
                let bound = self.bind_expr(expr)?;
                let at = bound.at;
                self.call(name, vec![bound], at)
            }
            _ => unsupported(format!("{name} with a second argument"), expr_at(expr)),
        }
    }

    /// `extract(field FROM value)`.
    pub(super) fn extract(&mut self, field: &str, value: Bound) -> Result<Bound> {
        let at = value.at;
        let field = field.trim_matches(['\'', '"']).to_lowercase();
        let value = self.retyped(value);
        if let DataType::Packed(PackedType::TimeTz(_)) = value.ty() {
            return self.extract_zoned(&field, value);
        }
        match category(value.ty()) {
            Category::Time | Category::Span => {}
            Category::Unknown => {
                let message = "function pg_catalog.extract(unknown, unknown) is not unique";
                let error = types::Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(
                    "Could not choose a best candidate function. You might need to add explicit \
                     type casts.",
                );
                return Err(place(error, at));
            }
            _ => {
                let message = format!(
                    "function pg_catalog.extract(unknown, {}) does not exist",
                    value.ty().name()
                );
                return Err(super::unmatched::no_function(message, at));
            }
        }
        if calendar::Field::parse(&field).is_err_and(|e| e.state() == SqlState::INVALID_PARAMETER) {
            let message = format!("unit \"{field}\" not recognized for type {}", value.ty().name());
            return fail(SqlState::INVALID_PARAMETER, message, at);
        }
        // Of an infinity only a NUMERIC of its own digits holds the year.
        let ty = match (self.digits, calendar::Field::parse(&field)) {
            (Digits::All, _) => DataType::NUMERIC,
            (_, Ok(field)) => DataType::Numeric(calendar::extract_type(field, value.ty())),
            (_, Err(_)) => DataType::Numeric(calendar::EXTRACT_TYPE),
        };
        let arguments = vec![Expr::text(&field), value.expr];
        Ok(Bound::new(self.call_in_zone(Function::Extract, arguments, ty), at))
    }

    /// `extract(field FROM timetz)`: fields of the time by its own clock, and of its offset.
    fn extract_zoned(&mut self, field: &str, value: Bound) -> Result<Bound> {
        use ast::BinaryOperator as Op;
        let at = value.at;
        let number = |value: i32| Bound::new(Expr::integer(value), None);
        let (part, over) = match field {
            "timezone" => ("#offset", number(1)),
            "timezone_h" | "timezone_hour" => ("#offset", number(3_600)),
            "timezone_m" | "timezone_minute" => ("#offset", number(60)),
            "epoch" => ("#micros", Bound::new(super::literal::numeric(1, 6), None)),
            _ => {
                let time = self.coerce(value, DataType::TIME, Context::Explicit)?;
                return self.extract(field, Bound::new(time, at));
            }
        };
        let part = self.call(part, vec![value], at)?;
        let part = match field {
            "epoch" => return self.bind_binary(&Op::Multiply, part, over),
            "timezone_m" | "timezone_minute" => {
                self.bind_binary(&Op::Modulo, part, number(3_600))?
            }
            _ => part,
        };
        let part = self.bind_binary(&Op::Divide, part, over)?;
        let part = self.coerce(part, DataType::NUMERIC, Context::Explicit)?;
        Ok(Bound::new(part, at))
    }

    /// `date_part('field', value)`: extract as DOUBLE PRECISION.
    pub(super) fn date_part(&mut self, arguments: Vec<Bound>, at: Place) -> Result<Bound> {
        let [field, value] = <[Bound; 2]>::try_from(arguments).map_err(|arguments| {
            let types: Vec<&str> = arguments.iter().map(|bound| bound.ty().name()).collect();
            let message = format!("function date_part({}) does not exist", types.join(", "));
            super::unmatched::no_function(message, at)
        })?;
        let value = self.retyped(value);
        let value = match value.ty() {
            // There is no date_part of its own.
            DataType::Date => {
                let at = value.at;
                Bound::new(self.coerce(value, DataType::TIMESTAMP, Context::Implicit)?, at)
            }
            _ => value,
        };
        let Some(name) = constant_text(&field.expr) else {
            // The kinds of values, and the error for others, are those of any field.
            let part = self.extract("year", value)?;
            let field = self.coerce(field, DataType::Text, Context::Implicit)?;
            let ExprKind::Call(function, mut list) = part.expr.kind else {
                return Err(types::Error::internal("extract is a call"));
            };
            list[0] = field;
            let part = Expr::call(function, list, part.expr.ty);
            return Ok(Bound::new(part.cast(DataType::Double), at));
        };
        let part = self.extract(&name, value)?;
        Ok(Bound::new(part.expr.cast(DataType::Double), at))
    }

    /// `substring(text SIMILAR pattern ESCAPE escape)` with a constant pattern.
    fn similar_part(&mut self, text: Bound, pattern: Bound, escape: &Ast) -> Result<Bound> {
        let at = text.at;
        let escape = self.escape(Some(escape))?;
        let regex = match (pattern.expr.as_literal(), constant_text(&pattern.expr)) {
            (Some(types::Value::Null), _) => Expr::null(DataType::Text),
            (_, Some(written)) => Expr::text(&similar_regex(&written, escape, pattern.at)?),
            (_, None) => {
                let what = "substring with a SIMILAR pattern that is not constant";
                return unsupported(what, pattern.at);
            }
        };
        self.call("substring", vec![text, Bound::new(regex, pattern.at)], at)
    }

    fn substring(&mut self, text: &Ast, from: Option<&Ast>, count: Option<&Ast>) -> Result<Bound> {
        let text = self.bind_expr(text)?;
        let at = text.at;
        let from = match from {
            Some(from) => self.bind_expr(from)?,
            None => Bound::new(Expr::integer(1), None),
        };
        let pattern = category(from.ty()) == Category::Text
            || super::literal::unknown_text(&from.expr).is_some();
        let is_text = |count: &Ast| match count {
            Ast::Value(value) => matches!(value.value, ast::Value::SingleQuotedString(_)),
            _ => false,
        };
        let no_pattern = from.expr.as_literal() == Some(&types::Value::Null);
        let is_similar = pattern || (no_pattern && count.is_some_and(is_text));
        if let (true, Some(escape)) = (is_similar, count) {
            return self.similar_part(text, from, escape);
        }
        let mut arguments = vec![text, from];
        if let Some(count) = count {
            arguments.push(self.bind_expr(count)?);
        }
        self.call("substring", arguments, at)
    }

    /// `overlay(a PLACING b FROM p FOR n)` is `substring(a, 1, p - 1) || b || substring(a, p + n)`.
    fn overlay(
        &mut self,
        text: &Ast,
        what: &Ast,
        from: &Ast,
        count: Option<&Ast>,
    ) -> Result<Bound> {
        let text = self.bind_expr(text)?;
        let at = text.at;
        let what = self.bind_expr(what)?;
        let from = self.bind_expr(from)?;
        if category(self.type_now(&text)) == Category::Packed {
            let mut arguments = vec![text, what, from];
            if let Some(count) = count {
                arguments.push(self.bind_expr(count)?);
            }
            return self.call("overlay", arguments, at);
        }
        let count = match count {
            Some(count) => self.bind_expr(count)?,
            None => {
                let what = self.refreshed(&what);
                self.call("char_length", vec![what], at)?
            }
        };
        let one = || Bound::new(Expr::integer(1), None);
        let (plus, minus) = (ast::BinaryOperator::Plus, ast::BinaryOperator::Minus);
        let before = self.bind_binary(&minus, from.clone(), one())?;
        let again = self.refreshed(&from);
        let after = self.bind_binary(&plus, again, count)?;
        let again = self.refreshed(&text);
        let head = self.call("substring", vec![text, one(), before], at)?;
        let tail = self.call("substring", vec![again, after], at)?;
        let concat = ast::BinaryOperator::StringConcat;
        let head = self.bind_binary(&concat, head, what)?;
        self.bind_binary(&concat, head, tail)
    }
}
