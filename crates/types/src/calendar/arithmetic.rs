//! Intervals: sums, multiples, differences of timestamps.

use super::{
    DAY, TimeZone, add_months, check_timestamp, civil_from_days, days_in_month,
    interval_out_of_range, is_finite_timestamp, split_timestamp, timestamp_out_of_range,
};
use crate::decimal::division_by_zero;
use crate::{Error, Interval, Result, SqlState};

impl Interval {
    /// An interval of its parts.
    pub const fn new(months: i32, days: i32, micros: i64) -> Self {
        Self { months, days, micros }
    }

    /// The sum, part by part; None on overflow.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            months: self.months.checked_add(other.months)?,
            days: self.days.checked_add(other.days)?,
            micros: self.micros.checked_add(other.micros)?,
        })
    }

    /// The difference, part by part; None on overflow.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        Some(Self {
            months: self.months.checked_sub(other.months)?,
            days: self.days.checked_sub(other.days)?,
            micros: self.micros.checked_sub(other.micros)?,
        })
    }

    /// The opposite; None on overflow.
    pub fn checked_neg(self) -> Option<Self> {
        Self::default().checked_sub(self)
    }

    /// `self * factor`: fractions of months become days, fractions of days microseconds.
    ///
    /// # Errors
    /// 22008 on overflow.
    ///
    /// Source: PostgreSQL 15, timestamp.c, `interval_mul`.
    pub fn multiply(self, factor: f64) -> Result<Self> {
        self.scaled(|part| part * factor)
    }

    /// `self / divisor`, as [`Self::multiply`].
    ///
    /// # Errors
    /// 22012 when the divisor is 0, 22008 on overflow.
    pub fn divide(self, divisor: f64) -> Result<Self> {
        if divisor == 0.0 {
            return Err(division_by_zero());
        }
        self.scaled(|part| part / divisor)
    }

    fn scaled(self, scale: impl Fn(f64) -> f64) -> Result<Self> {
        let whole = |v: f64| -> Result<i32> {
            if v.is_nan() || v > f64::from(i32::MAX) || v < f64::from(i32::MIN) {
                return Err(interval_out_of_range());
            }
            Ok(v as i32)
        };
        // Six decimals hide the noise of binary fractions.
        let rounded = |v: f64| (v * 1e6).round_ties_even() / 1e6;
        let months = scale(f64::from(self.months));
        let days = scale(f64::from(self.days));
        let (result_months, result_days) = (whole(months)?, whole(days)?);
        let mut month_days = rounded((months - f64::from(result_months)) * 30.0);
        let mut seconds =
            rounded((days - f64::from(result_days) + month_days - month_days.trunc()) * 86_400.0);
        let mut result_days = result_days;
        if seconds.abs() >= 86_400.0 {
            let carried = (seconds / 86_400.0).trunc();
            result_days =
                result_days.checked_add(whole(carried)?).ok_or_else(interval_out_of_range)?;
            seconds -= carried * 86_400.0;
        }
        month_days = month_days.trunc();
        let days = result_days.checked_add(whole(month_days)?).ok_or_else(interval_out_of_range)?;
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        // 2^63 is exact in a double, and the first value that is too large.
        if micros.is_nan()
            || !(-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(&micros)
        {
            return Err(interval_out_of_range());
        }
        Ok(Self { months: result_months, days, micros: micros as i64 })
    }

    /// `timestamp + self`: months first (clamped to the month's end), then days, then microseconds.
    /// Infinities stay.
    ///
    /// # Errors
    /// 22008 when out of range.
    #[inline]
    pub fn add_to(self, timestamp: i64) -> Result<i64> {
        if !is_finite_timestamp(timestamp) {
            return Ok(timestamp);
        }
        let mut result = timestamp;
        if self.months != 0 {
            let (days, time) = split_timestamp(result);
            let days = add_months(days, self.months).ok_or_else(timestamp_out_of_range)?;
            let midnight = i64::from(days).checked_mul(DAY).ok_or_else(timestamp_out_of_range)?;
            result = check_timestamp(midnight.checked_add(time))?;
        }
        let days = i64::from(self.days).checked_mul(DAY).ok_or_else(timestamp_out_of_range)?;
        let result = check_timestamp(result.checked_add(days))?;
        check_timestamp(result.checked_add(self.micros))
    }

    /// The TIMESTAMPTZ `time + self`: months and days are those of clocks in `zone`. Infinities
    /// stay.
    ///
    /// # Errors
    /// 22008 when out of range.
    pub fn add_in(self, time: i64, zone: &TimeZone) -> Result<i64> {
        let mut time = time;
        let Self { months, days, micros } = self;
        for part in [Self { months, days: 0, micros: 0 }, Self { months: 0, days, micros: 0 }] {
            if part.months != 0 || part.days != 0 {
                time = zone.to_utc(part.add_to(zone.to_local(time)?)?)?;
            }
        }
        Self { months: 0, days: 0, micros }.add_to(time)
    }

    /// `timestamp - self`.
    ///
    /// # Errors
    /// 22008 when out of range.
    #[inline]
    pub fn subtract_from(self, timestamp: i64) -> Result<i64> {
        self.checked_neg().ok_or_else(interval_out_of_range)?.add_to(timestamp)
    }

    /// `later - earlier` as days and microseconds of one sign.
    ///
    /// # Errors
    /// 22008 for infinities and overflow.
    pub fn between(later: i64, earlier: i64) -> Result<Self> {
        if !is_finite_timestamp(later) || !is_finite_timestamp(earlier) {
            let message = "cannot subtract infinite timestamps";
            return Err(Error::new(SqlState::DATETIME_OVERFLOW, message));
        }
        let micros = later.checked_sub(earlier).ok_or_else(interval_out_of_range)?;
        Ok(Self { months: 0, days: (micros / DAY) as i32, micros: micros % DAY })
    }

    /// 24 hours become a day, the signs of both made equal.
    ///
    /// # Errors
    /// 22008 on overflow.
    pub fn justify_hours(self) -> Result<Self> {
        let mut result = self;
        let carried = i32::try_from(self.micros / DAY).map_err(|_| interval_out_of_range())?;
        result.micros = self.micros % DAY;
        result.days = self.days.checked_add(carried).ok_or_else(interval_out_of_range)?;
        if result.days > 0 && result.micros < 0 {
            result.micros += DAY;
            result.days -= 1;
        } else if result.days < 0 && result.micros > 0 {
            result.micros -= DAY;
            result.days += 1;
        }
        Ok(result)
    }

    /// 30 days become a month, the signs of both made equal.
    ///
    /// # Errors
    /// 22008 on overflow.
    pub fn justify_days(self) -> Result<Self> {
        let mut result = self;
        result.days = self.days % 30;
        result.months =
            self.months.checked_add(self.days / 30).ok_or_else(interval_out_of_range)?;
        if result.months > 0 && result.days < 0 {
            result.days += 30;
            result.months -= 1;
        } else if result.months < 0 && result.days > 0 {
            result.days -= 30;
            result.months += 1;
        }
        Ok(result)
    }
}

/// Both [`Interval::justify_hours`] and [`Interval::justify_days`], with one sign for all parts.
///
/// # Errors
/// 22008 on overflow.
///
/// Source: PostgreSQL 15, timestamp.c, `interval_justify_interval`.
pub fn justify_interval(interval: Interval) -> Result<Interval> {
    let mut r = interval;
    let out_of_range = interval_out_of_range;
    // Days of one sign with the time are moved up first, so that the sum cannot overflow.
    if (r.days > 0 && r.micros > 0) || (r.days < 0 && r.micros < 0) {
        r.months = r.months.checked_add(r.days / 30).ok_or_else(out_of_range)?;
        r.days %= 30;
    }
    let carried = i32::try_from(r.micros / DAY).map_err(|_| out_of_range())?;
    r.micros %= DAY;
    r.days = r.days.checked_add(carried).ok_or_else(out_of_range)?;
    r.months = r.months.checked_add(r.days / 30).ok_or_else(out_of_range)?;
    r.days %= 30;
    if r.months > 0 && (r.days < 0 || r.days == 0 && r.micros < 0) {
        r.days += 30;
        r.months -= 1;
    } else if r.months < 0 && (r.days > 0 || r.days == 0 && r.micros > 0) {
        r.days -= 30;
        r.months += 1;
    }
    if r.days > 0 && r.micros < 0 {
        r.micros += DAY;
        r.days -= 1;
    } else if r.days < 0 && r.micros > 0 {
        r.micros -= DAY;
        r.days += 1;
    }
    Ok(r)
}

/// As [`split_timestamp`]; infinity is the last microsecond of 64 bits from 2000 on.
fn split_or_end(micros: i64) -> (i32, i64) {
    if micros < i64::MAX {
        return split_timestamp(micros);
    }
    let (days, rest) = (i64::MAX / DAY, i64::MAX % DAY);
    // Some hundred millions, and the days from 1970 to 2000.
    (days as i32 + 10_957, rest)
}

/// age(a, b): the difference in years, months, days and time, as a person would count.
///
/// # Errors
/// 22008 for the infinity before all times. The other one is in the year 294277, as PostgreSQL
/// holds it.
///
/// Source: PostgreSQL 15, timestamp.c, `timestamp_age`.
pub fn age(a: i64, b: i64) -> Result<Interval> {
    if a == i64::MIN || b == i64::MIN {
        return Err(timestamp_out_of_range());
    }
    // Counted from the earlier to the later, then given its sign.
    let (later, earlier) = (a.max(b), a.min(b));
    let ((later_days, later_time), (earlier_days, earlier_time)) =
        (split_or_end(later), split_or_end(earlier));
    let (later_year, later_month, later_day) = civil_from_days(later_days);
    let (earlier_year, earlier_month, earlier_day) = civil_from_days(earlier_days);
    let mut micros = later_time - earlier_time;
    let mut days = later_day as i32 - earlier_day as i32;
    let mut months = (later_year - earlier_year) * 12 + later_month as i32 - earlier_month as i32;
    if micros < 0 {
        micros += DAY;
        days -= 1;
    }
    while days < 0 {
        days += days_in_month(earlier_year, earlier_month) as i32;
        months -= 1;
    }
    let result = Interval { months, days, micros };
    if a < b { result.checked_neg().ok_or_else(interval_out_of_range) } else { Ok(result) }
}
