//! Packed types: bytes in the order of the values, by a plain comparison of what they say.

use std::cmp::Ordering;

use proptest::prelude::*;
use types::packed::{Bits, ZonedTime};
use types::{DataType, PackedType, RangeKind, Value, text};

fn packed(text: &str, ty: PackedType) -> Vec<u8> {
    match text::parse(text, DataType::Packed(ty)) {
        Ok(Value::Str(bytes)) => bytes.to_vec(),
        other => panic!("{text}: {other:?}"),
    }
}

fn shown(bytes: &[u8], ty: PackedType) -> String {
    text::format(&Value::Str(bytes.into()), DataType::Packed(ty))
}

/// An address of version 4 and its bits: narrow ones, which agree in their networks, and any.
#[derive(Clone, Copy, Debug)]
struct Address {
    number: u32,
    bits: u32,
}

fn address() -> impl Strategy<Value = Address> {
    let near = (0_u32..4).prop_map(|low| 0x0a00_0000 | low << 22 | low);
    (prop_oneof![near, any::<u32>()], 0_u32..=32)
        .prop_map(|(number, bits)| Address { number, bits })
}

fn mask(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits).unwrap_or(0)
}

/// Order of two addresses: the bits that both networks have, then the shorter one, then all bits.
fn compare_addresses(a: Address, b: Address) -> Ordering {
    let common = mask(a.bits.min(b.bits));
    let networks = (a.number & common).cmp(&(b.number & common));
    networks.then(a.bits.cmp(&b.bits)).then(a.number.cmp(&b.number))
}

fn written(address: Address) -> String {
    format!("{}/{}", std::net::Ipv4Addr::from(address.number), address.bits)
}

/// Bits as text: few of them, or more than a group holds.
fn digits() -> impl Strategy<Value = String> {
    prop_oneof!["[01]{0,9}", "1{60}[01]{0,12}", "0{120}[01]{0,20}"]
}

/// Ends of a range of integers: None where there is none, and which are in it.
#[derive(Clone, Copy, Debug)]
struct Ends {
    low: Option<i8>,
    high: Option<i8>,
    low_in: bool,
    high_in: bool,
}

fn ends() -> impl Strategy<Value = Ends> {
    let end = || prop_oneof![Just(None), (-4_i8..4).prop_map(Some)];
    let all = (end(), end(), any::<bool>(), any::<bool>());
    let all = all.prop_map(|(low, high, low_in, high_in)| Ends { low, high, low_in, high_in });
    all.prop_filter("in order", |ends| ends.low.zip(ends.high).is_none_or(|(a, b)| a <= b))
}

fn range(ends: Ends) -> String {
    let Ends { low, high, low_in, high_in } = ends;
    let end = |end: Option<i8>| end.map(|end| end.to_string()).unwrap_or_default();
    let open = if low_in { '[' } else { '(' };
    let close = if high_in { ']' } else { ')' };
    format!("{open}{},{}{close}", end(low), end(high))
}

/// A range of integers as the first number in it and the first one behind it; None when empty.
fn span(ends: Ends) -> Option<(i32, i32)> {
    let Ends { low, high, low_in, high_in } = ends;
    let low = low.map_or(-1_000, |low| i32::from(low) + i32::from(!low_in));
    let high = high.map_or(1_000, |high| i32::from(high) + i32::from(high_in));
    (low < high).then_some((low, high))
}

const INT4: PackedType = PackedType::Range(RangeKind::Int4);

proptest! {
    #[test]
    fn addresses_are_ordered_as_their_bytes(a in address(), b in address()) {
        let (x, y) = (packed(&written(a), PackedType::Inet), packed(&written(b), PackedType::Inet));
        prop_assert_eq!(x.cmp(&y), compare_addresses(a, b));
        prop_assert_eq!(packed(&shown(&x, PackedType::Inet), PackedType::Inet), x);
    }

    #[test]
    fn bits_are_ordered_as_their_bytes(a in digits(), b in digits()) {
        let ty = PackedType::VarBit(None);
        let (x, y) = (packed(&a, ty), packed(&b, ty));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(&shown(&x, ty), &a);
        prop_assert_eq!(Bits::read(&x).count, a.len());
    }

    #[test]
    fn times_are_ordered_by_instant_then_zone(
        a in (0_i64..4, -2_i32..2), b in (0_i64..4, -2_i32..2)
    ) {
        let time = |(hour, west): (i64, i32)| ZonedTime {
            micros: hour * 3_600_000_000,
            west: west * 3_600,
        };
        let order = |(hour, west): (i64, i32)| (hour + i64::from(west), west);
        prop_assert_eq!(time(a).value().cmp(&time(b).value()), order(a).cmp(&order(b)));
        prop_assert_eq!(ZonedTime::read(&time(a).value()), time(a));
    }

    #[test]
    fn amounts_are_ordered_as_their_bytes(a in -300_i64..300, b in any::<i64>()) {
        let amount = |cents: i64| {
            let sign = if cents < 0 { "-" } else { "" };
            let cents = cents.unsigned_abs();
            packed(&format!("{sign}{}.{:02}", cents / 100, cents % 100), PackedType::Money)
        };
        prop_assert_eq!(amount(a).cmp(&amount(b)), a.cmp(&b));
    }

    #[test]
    fn ranges_are_ordered_as_their_bytes(a in ends(), b in ends()) {
        let (x, y) = (packed(&range(a), INT4), packed(&range(b), INT4));
        prop_assert_eq!(x.cmp(&y), span(a).cmp(&span(b)));
        prop_assert_eq!(packed(&shown(&x, INT4), INT4), x);
    }

    #[test]
    fn multiranges_hold_what_their_ranges_hold(list in prop::collection::vec(ends(), 0..5)) {
        let ty = PackedType::Multirange(RangeKind::Int4);
        let texts: Vec<String> = list.iter().map(|ends| range(*ends)).collect();
        let value = packed(&format!("{{{}}}", texts.join(",")), ty);
        let spans = types::packed::spans(&value, RangeKind::Int4);
        for number in -6_i32..6 {
            let expected = list.iter().filter_map(|ends| span(*ends));
            let expected = expected.into_iter().any(|(low, high)| (low..high).contains(&number));
            let bound = |bound: &types::packed::Bound<'_>, none: i32| {
                match bound.decoded(RangeKind::Int4) {
                    Value::I32(value) => value,
                    _ => none,
                }
            };
            let held = spans.iter().any(|span| {
                (bound(&span.lower, -1_000)..bound(&span.upper, 1_000)).contains(&number)
            });
            prop_assert_eq!(held, expected);
        }
        prop_assert_eq!(packed(&shown(&value, ty), ty), value);
    }
}
