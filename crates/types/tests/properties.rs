//! Decimals against big integers, the calendar and texts against themselves.

use num_bigint::{BigInt, Sign};
use proptest::prelude::*;
use types::calendar::{self, Field};
use types::{DataType, Interval, NumericType, Value, decimal, text};

/// Values of every size, the ends of all widths and powers of ten among them.
fn integers() -> impl Strategy<Value = i128> {
    let bound = decimal::pow10(38) - 1;
    let powers = (0u32..=37, -1i128..=1, any::<bool>()).prop_map(|(n, off, negative)| {
        let value = decimal::pow10(n) + off;
        if negative { -value } else { value }
    });
    prop_oneof![
        -100i128..=100,
        powers,
        any::<i64>().prop_map(i128::from),
        (0u32..=126, any::<i128>()).prop_map(|(shift, v)| v >> shift),
        Just(bound),
        Just(-bound),
    ]
    .prop_map(move |v| v.clamp(-bound, bound))
}

fn big(value: i128) -> BigInt {
    BigInt::from(value)
}

fn ten(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// `a / b`, rounded half away from zero.
fn divide_round(a: &BigInt, b: &BigInt) -> BigInt {
    let negative = (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus);
    let (a, b) = (a.magnitude(), b.magnitude());
    let quotient = BigInt::from((a * 2u32 + b) / (b * 2u32));
    if negative { -quotient } else { quotient }
}

/// Converts values that fit 128 bits with their sign apart.
fn narrow(value: &BigInt) -> Option<i128> {
    i128::try_from(value).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn products_are_exact_then_rounded(a in integers(), b in integers(), drop in 0u32..=76) {
        let expected = divide_round(&(big(a) * big(b)), &ten(drop));
        prop_assert_eq!(decimal::multiply(a, b, drop), narrow(&expected));
    }

    #[test]
    fn remainders(
        a in integers(),
        b in integers(),
        a_scale in 0u8..=38,
        b_scale in 0u8..=38,
    ) {
        prop_assume!(b != 0);
        let scale = a_scale.max(b_scale);
        let p = big(a) * ten(u32::from(scale - a_scale));
        let q = big(b) * ten(u32::from(scale - b_scale));
        prop_assert_eq!(decimal::modulo(a, a_scale, b, b_scale), narrow(&(&p % &q)));
    }

    #[test]
    fn rescaling_and_rounding(
        a in integers(),
        from in 0u8..=38,
        to in 0u8..=38,
        digits in -40i32..=40,
    ) {
        let expected = if to >= from {
            big(a) * ten(u32::from(to - from))
        } else {
            divide_round(&big(a), &ten(u32::from(from - to)))
        };
        prop_assert_eq!(decimal::rescale(a, from, to), narrow(&expected));
        let exponent = i32::from(from) - digits;
        let unit = ten(exponent.max(0).unsigned_abs());
        let rounded = divide_round(&big(a), &unit) * &unit;
        let truncated = big(a) / &unit * &unit;
        prop_assert_eq!(decimal::round(a, from, digits), narrow(&rounded));
        prop_assert_eq!(decimal::trunc(a, from, digits), narrow(&truncated));
    }

    #[test]
    fn printed_numbers_read_back(a in integers(), scale in 0u8..=38) {
        let ty = DataType::numeric(38, scale);
        let shown = text::format(&Value::I128(a), ty);
        prop_assert_eq!(text::parse(&shown, ty), Ok(Value::I128(a)));
        let display = types::NumericDisplay::Trimmed;
        let trimmed = NumericType { display, ..NumericType::fixed(38, scale) };
        let shown = text::format(&Value::I128(a), DataType::Numeric(trimmed));
        prop_assert_eq!(text::parse(&shown, ty), Ok(Value::I128(a)));
    }

    #[test]
    fn doubles_read_back(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        let shown = text::format(&Value::F64(value), DataType::Double);
        let Ok(Value::F64(back)) = text::parse(&shown, DataType::Double) else {
            return Err(TestCaseError::fail(shown));
        };
        prop_assert!(back == value || back.is_nan() && value.is_nan());
        let single = f64::from(f32::from_bits(bits as u32));
        let shown = text::format(&Value::F64(single), DataType::Real);
        let Ok(Value::F64(back)) = text::parse(&shown, DataType::Real) else {
            return Err(TestCaseError::fail(shown));
        };
        prop_assert!(back == single || back.is_nan() && single.is_nan());
    }

    #[test]
    fn dates_are_civil_and_back(days in calendar::DATE_MIN..=calendar::DATE_MAX) {
        let (year, month, day) = calendar::civil_from_days(days);
        prop_assert_eq!(calendar::date_from_civil(year, month, day), Some(days));
        let next = calendar::civil_from_days(days + 1);
        let following = (year, month, day + 1);
        let last = day == calendar::days_in_month(year, month);
        prop_assert!(next == following || next.2 == 1 && last);
        let (iso_year, week) = calendar::iso_week(days);
        let monday = calendar::iso_week_start(iso_year, week);
        prop_assert!((monday..monday + 7).contains(&days));
        for ty in [DataType::Date, DataType::TIMESTAMP] {
            let value = match ty {
                DataType::Date => Value::I32(days),
                _ => match calendar::date_to_timestamp(days) {
                    Ok(micros) => Value::I64(micros),
                    Err(_) => continue,
                },
            };
            prop_assert_eq!(text::parse(&text::format(&value, ty), ty), Ok(value));
        }
    }

    #[test]
    fn timestamps_read_back(micros in calendar::TIMESTAMP_MIN..i64::MAX) {
        for ty in [DataType::TIMESTAMP, DataType::TIMESTAMPTZ] {
            let value = Value::I64(micros);
            prop_assert_eq!(text::parse(&text::format(&value, ty), ty), Ok(value));
        }
        let time = Value::I64(micros.rem_euclid(calendar::DAY));
        let shown = text::format(&time, DataType::TIME);
        prop_assert_eq!(text::parse(&shown, DataType::TIME), Ok(time));
        use Field as F;
        for field in [F::Hour, F::Day, F::Week, F::Month, F::Year, F::Century] {
            if let Ok(start) = calendar::truncate_timestamp(field, micros, "timestamp") {
                prop_assert!(start <= micros);
                prop_assert_eq!(calendar::truncate_timestamp(field, start, "timestamp"), Ok(start));
            }
        }
    }

    #[test]
    fn intervals_read_back(
        months in -2_000_000_000i32..,
        days: i32,
        micros in -(1i64 << 62)..1 << 62,
    ) {
        let interval = Interval { months, days, micros };
        let shown = text::format(&Value::Interval(interval), DataType::INTERVAL);
        let Ok(Value::Interval(back)) = text::parse(&shown, DataType::INTERVAL) else {
            return Err(TestCaseError::fail(shown));
        };
        prop_assert_eq!((back.months, back.days, back.micros), (months, days, micros));
    }

    #[test]
    fn no_text_makes_the_parsers_panic(input in "[-+:./, 0-9a-zA-ZTPé]{0,24}") {
        for ty in [
            DataType::Date, DataType::TIME, DataType::TIMESTAMP, DataType::TIMESTAMPTZ,
            DataType::INTERVAL, DataType::Double, DataType::BigInt, DataType::numeric(38, 10),
            DataType::Uuid, DataType::Bytea, DataType::Boolean,
        ] {
            let _ = text::parse(&input, ty);
        }
    }
}

#[test]
fn adding_a_month_and_taking_it_away_never_gains_days() {
    for days in (0..40_000).step_by(7) {
        for months in [-25, -12, -1, 1, 2, 11, 12, 13] {
            let there = calendar::add_months(days, months).expect("in range");
            let back = calendar::add_months(there, -months).expect("in range");
            assert!(back <= days && days - back <= 3, "{days} {months}");
        }
    }
}
