//! now() and its kin: the time at which the transaction began.
//!
//! ```text
//! bound to run once                    -> a constant
//! bound for many transactions          -> a parameter behind the statement's own
//! a condition over rows, kept (CHECK)  -> a column behind those of the row
//! ```

use types::{DataType, Value};

use super::Binder;
use crate::algebra::{Expr, ExprKind};

/// Microseconds.
const DAY: i64 = 86_400_000_000;

impl Binder<'_> {
    /// The time as `ty`: TIMESTAMPTZ, or by the session's clocks TIMESTAMP, DATE or TIME.
    pub(super) fn clock_as(&mut self, ty: DataType) -> Expr {
        let clock = self.clock();
        match &clock.kind {
            _ if ty == clock.ty => clock,
            ExprKind::Literal(Value::I64(now)) if !self.has_zone() => {
                Expr::literal(micros_as(*now, ty), ty)
            }
            _ => self.cast(clock, ty),
        }
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
        DataType::Time => Value::I64(now.rem_euclid(DAY)),
        _ => Value::I64(now),
    }
}
