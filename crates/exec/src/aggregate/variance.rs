//! Variances, deviations, correlations from floating point moments.

use sql::algebra::AggregateFunction as F;

use super::states::moments::Float;

/// The result of a function of floating point moments; None when undefined.
///
/// Source: PostgreSQL 15, float.c.
pub(crate) fn float_moment(m: Float, function: F) -> Option<f64> {
    let sample = matches!(function, F::StddevSamp | F::VarSamp | F::CovarSamp);
    if m.count < if sample { 2.0 } else { 1.0 } {
        return None;
    }
    let divisor = if sample { m.count - 1.0 } else { m.count };
    match function {
        F::VarPop | F::VarSamp => Some(m.xx / divisor),
        F::StddevPop | F::StddevSamp => Some((m.xx / divisor).sqrt()),
        F::CovarPop | F::CovarSamp => Some(m.xy / divisor),
        F::Corr if m.xx == 0.0 || m.yy == 0.0 => None,
        F::Corr => Some(m.xy / (m.xx * m.yy).sqrt()),
        // The first argument of these is called y in SQL, the second x.
        F::RegrSxx => Some(m.yy),
        F::RegrSyy => Some(m.xx),
        F::RegrSxy => Some(m.xy),
        F::RegrAvgX => Some(m.y / m.count),
        F::RegrAvgY => Some(m.x / m.count),
        F::RegrSlope | F::RegrIntercept | F::RegrR2 if m.yy == 0.0 => None,
        F::RegrSlope => Some(m.xy / m.yy),
        F::RegrIntercept => Some((m.x - m.y * m.xy / m.yy) / m.count),
        F::RegrR2 if m.xx == 0.0 => Some(1.0),
        F::RegrR2 => Some(m.xy * m.xy / (m.yy * m.xx)),
        _ => None,
    }
}
