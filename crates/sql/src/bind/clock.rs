//! now() and its kin: the time at which the transaction began.
//!
//! ```text
//! bound to run once                    -> a constant
//! bound for many transactions          -> a parameter behind the statement's own
//! a condition over rows, kept (CHECK)  -> a column behind those of the row
//! ```

use sqlparser::ast;
use types::{DataType, PackedType, Result, SqlState, Value};

use super::unmatched::no_function;
use super::{Binder, Bound, fail};
use crate::algebra::{Expr, ExprKind, Function, Place, Query};

/// Microseconds.
const DAY: i64 = 86_400_000_000;

/// TIMETZ of all digits.
pub(super) const TIMETZ: DataType = DataType::Packed(PackedType::TimeTz(None));

impl Binder<'_> {
    /// The time as `ty`: TIMESTAMPTZ, or by the session's clocks TIMESTAMP, DATE or TIME.
    pub(super) fn clock_as(&mut self, ty: DataType) -> Expr {
        let clock = self.clock();
        match &clock.kind {
            _ if ty == clock.ty => clock,
            ExprKind::Literal(Value::I64(now)) if !self.has_zone() && ty != TIMETZ => {
                Expr::literal(micros_as(*now, ty), ty)
            }
            _ => self.cast(clock, ty),
        }
    }

    /// `current_timestamp(digits)` and its kin: the time with so many digits of its seconds.
    ///
    /// # Errors
    /// 42601 for what is no constant from 0 on.
    pub(super) fn rounded_clock(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Bound> {
        let ty = match name {
            "current_timestamp" => DataType::TIMESTAMPTZ,
            "localtimestamp" => DataType::TIMESTAMP,
            "current_time" => TIMETZ,
            _ => DataType::TIME,
        };
        let digits = arguments.first().and_then(|bound| bound.expr.as_literal());
        let Some(digits @ 0..) = digits.and_then(Value::as_integer) else {
            let message = format!("{name} takes a number of digits");
            return fail(SqlState::SYNTAX_ERROR, message, at);
        };
        let clock = self.clock_as(ty);
        if digits >= 6 {
            return Ok(Bound::new(clock, at));
        }
        let own = u8::try_from(digits).ok();
        if ty == TIMETZ {
            let rounded = self.cast(clock, DataType::Packed(PackedType::TimeTz(own)));
            return Ok(Bound::new(rounded, at));
        }
        let ty = match ty {
            DataType::TimestampTz(_) => DataType::TimestampTz(own),
            DataType::Timestamp(_) => DataType::Timestamp(own),
            _ => DataType::Time(own),
        };
        let list = vec![clock, Expr::integer(i32::try_from(digits).unwrap_or(6))];
        Ok(Bound::new(Expr::call(Function::RoundSeconds, list, ty), at))
    }

    /// `value AT TIME ZONE interval`: by clocks that are ahead of UTC by the interval.
    ///
    /// # Errors
    /// 42883.
    pub(super) fn at_offset(&mut self, arguments: Vec<Bound>, at: Place) -> Result<Bound> {
        let Ok([offset, value]) = <[Bound; 2]>::try_from(arguments) else {
            return Err(no_function("function timezone(interval) does not exist".to_owned(), at));
        };
        let offset = self.offset_of_hours(offset, at)?;
        let utc = Bound::new(Expr::text("UTC"), at);
        match value.ty() {
            DataType::Timestamp(_) => {
                let moved = self.bind_binary(&ast::BinaryOperator::Minus, value, offset)?;
                self.call("timezone", vec![utc, moved], at)
            }
            _ => {
                let clock = self.call("timezone", vec![utc, value], at)?;
                self.bind_binary(&ast::BinaryOperator::Plus, clock, offset)
            }
        }
    }

    /// The offset of a time zone, which has neither months nor days: `timezone` of a TIMETZ looks
    /// at that.
    fn offset_of_hours(&mut self, offset: Bound, at: Place) -> Result<Bound> {
        let ty = DataType::Packed(PackedType::TimeTz(None));
        let midnight = self.read_literal("00:00:00+00", ty, None)?;
        let midnight = Bound::new(Expr::literal(midnight, ty), at);
        // A value of its own each time is not the one that was looked at.
        if super::series::is_volatile(&offset.expr) {
            return Ok(offset);
        }
        let again = self.refreshed(&offset);
        let looked_at = self.call("timezone", vec![again, midnight], at)?.expr;
        let (ty, is_there) = (offset.ty(), looked_at.is_null().negated());
        let otherwise = Box::new(Expr::null(ty));
        let kind = ExprKind::Case { branches: vec![(is_there, offset.expr)], otherwise };
        Ok(Bound::new(Expr { kind, ty }, offset.at))
    }

    /// The start of today, a TIMESTAMP.
    pub(super) fn midnight(&mut self) -> Expr {
        let today = self.clock_as(DataType::Date);
        match today.kind {
            ExprKind::Literal(Value::I32(days)) => {
                Expr::literal(Value::I64(i64::from(days) * DAY), DataType::TIMESTAMP)
            }
            _ => today.cast(DataType::TIMESTAMP),
        }
    }

    /// True when `query` has parameters of its user's: where plans are kept the clock is one, too.
    pub(super) fn has_parameters(&self, query: &Query) -> bool {
        let clock = self.clock.as_ref().map(|clock| &clock.kind);
        let given = query.parameters.len();
        given > usize::from(matches!(clock, Some(ExprKind::Parameter(_))))
    }

    fn clock(&mut self) -> Expr {
        if let Some(clock) = &self.clock {
            return clock.clone();
        }
        let ty = DataType::TIMESTAMPTZ;
        let clock = match self.catalog.now_micros() {
            Some(now) => Expr::literal(Value::I64(now), ty),
            None => {
                let number = self.parameters.len() as u32;
                self.parameters.push(ty);
                Expr { kind: ExprKind::Parameter(number), ty }
            }
        };
        self.clock.insert(clock).clone()
    }
}

/// `now`, microseconds since 1970, as a value of `ty`.
fn micros_as(now: i64, ty: DataType) -> Value {
    match ty {
        // 64 bits of microseconds are fewer days than 32 bits hold.
        DataType::Date => Value::I32(i32::try_from(now.div_euclid(DAY)).unwrap_or(i32::MAX)),
        DataType::Time(_) => Value::I64(now.rem_euclid(DAY)),
        _ => Value::I64(now),
    }
}
