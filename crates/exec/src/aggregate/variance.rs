//! Variances, deviations, correlations from moments.

use sql::algebra::AggregateFunction as F;
use types::{NumericType, Result, decimal};

use super::states::moments::{Exact, Float, Wide};

/// The variance or deviation of exact values of scale `scale`, as `ty`; None when undefined.
///
/// Source: PostgreSQL 15, numeric.c, `numeric_stddev_internal`. Departure: a numerator of more than
/// 127 bits is divided as a floating point number.
///
/// # Errors
/// 22003 when the result does not fit.
pub(crate) fn exact_variance(
    moments: Exact,
    function: F,
    scale: u8,
    ty: NumericType,
) -> Result<Option<i128>> {
    let sample = matches!(function, F::StddevSamp | F::VarSamp);
    let root = matches!(function, F::StddevPop | F::StddevSamp);
    if moments.count == 0 || sample && moments.count == 1 {
        return Ok(None);
    }
    let count = u128::from(moments.count.unsigned_abs());
    let squares = moments.squares.times(count).ok_or_else(decimal::overflow)?;
    let sum = moments.sum.unsigned_abs();
    let numerator = squares.minus(Wide::product(sum, sum));
    let denominator = count * if sample { count - 1 } else { count };
    let (Wide { high: 0, low }, true) = (numerator, 2 * scale <= NumericType::PRECISION_MAX) else {
        return inexact(numerator, denominator as f64, root, scale, ty).map(Some);
    };
    let (Ok(numerator), Ok(denominator)) = (i128::try_from(low), i128::try_from(denominator))
    else {
        return inexact(numerator, denominator as f64, root, scale, ty).map(Some);
    };
    if numerator == 0 {
        return Ok(Some(0));
    }
    let numerator_ty = NumericType::fixed(NumericType::PRECISION_MAX, 2 * scale);
    let denominator_ty = NumericType::fixed(NumericType::PRECISION_MAX, 0);
    let variance = decimal::divide(numerator, numerator_ty, denominator, denominator_ty, ty.scale)?;
    if !root {
        return Ok(Some(variance));
    }
    // The root has as many digits as PostgreSQL gives the variance before it.
    let digits = decimal::quotient_scale(numerator, numerator_ty, denominator, denominator_ty);
    let digits = digits.min(u32::from(ty.scale)) as u8;
    let rooted = decimal::sqrt(variance, ty.scale, digits)
        .and_then(|root| decimal::rescale(root, digits, ty.scale));
    rooted.map(Some).ok_or_else(decimal::overflow)
}

fn inexact(
    numerator: Wide,
    denominator: f64,
    root: bool,
    scale: u8,
    ty: NumericType,
) -> Result<i128> {
    let variance = numerator.to_f64() / denominator / 10f64.powi(2 * i32::from(scale));
    decimal::from_f64(if root { variance.sqrt() } else { variance }, ty)
}

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
