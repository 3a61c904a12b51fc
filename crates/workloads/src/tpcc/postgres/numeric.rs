//! NUMERIC in PostgreSQL's binary form, from and to scaled 64-bit integers.
//!
//! ```text
//! digits (i16) | weight of the first (i16) | sign (u16) | scale (u16) | digits of base 10,000
//! (i16)
//! ```

use bytes::{BufMut, BytesMut};

const NEGATIVE: u16 = 0x4000;

/// Appends `scaled` divided by 10 to the `scale`.
pub(super) fn encode(scaled: i64, scale: u8, out: &mut BytesMut) {
    let fraction_digits = u32::from(scale).div_ceil(4);
    let mut rest =
        u128::from(scaled.unsigned_abs()) * 10u128.pow(4 * fraction_digits - u32::from(scale));
    let mut digits = [0i16; 10];
    let mut count = 0;
    while rest > 0 {
        digits[count] = (rest % 10_000) as i16;
        rest /= 10_000;
        count += 1;
    }
    out.put_i16(count as i16);
    out.put_i16(count as i16 - 1 - fraction_digits as i16);
    out.put_u16(if scaled < 0 { NEGATIVE } else { 0 });
    out.put_u16(u16::from(scale));
    digits[..count].iter().rev().for_each(|digit| out.put_i16(*digit));
}

/// The digits without the point, as many after it as the value shows; `None` for what is no number
/// or too large.
pub(super) fn decode(raw: &[u8]) -> Option<i64> {
    let field = |i: usize| {
        let bytes = raw.get(2 * i..2 * i + 2)?;
        Some(i16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let (count, weight, sign, scale) = (field(0)?, field(1)?, field(2)? as u16, field(3)?);
    if sign != 0 && sign != NEGATIVE {
        return None;
    }
    let mut value = 0i128;
    for i in 0..count {
        value = value.checked_mul(10_000)? + i128::from(field(4 + i as usize)?);
    }
    // What the last digit counts, in units of the scale.
    let power = 4 * (i32::from(weight) + 1 - i32::from(count)) + i32::from(scale);
    let factor = 10i128.checked_pow(power.unsigned_abs())?;
    value = if power >= 0 { value.checked_mul(factor)? } else { value / factor };
    i64::try_from(if sign == NEGATIVE { -value } else { value }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for scale in [0, 1, 2, 3, 4, 5, 8] {
            for base in [0, 1, 9, 10, 99, 100, 9_999, 10_000, 123_456_789, i64::MAX / 7, i64::MAX] {
                for scaled in [base, -base] {
                    let mut out = BytesMut::new();
                    encode(scaled, scale, &mut out);
                    assert_eq!(decode(&out), Some(scaled), "{scaled} with scale {scale}");
                }
            }
        }
    }

    #[test]
    fn bytes_are_those_of_the_server() {
        // select numeric_send(v::numeric): 12345.67, -0.05, 1000000.
        let cases: [(&[i16], i64); 3] = [
            (&[3, 1, 0, 2, 1, 2345, 6700], 1_234_567),
            (&[1, -1, 0x4000, 2, 500], -5),
            (&[1, 1, 0, 0, 100], 1_000_000),
        ];
        for (fields, value) in cases {
            let raw: Vec<u8> = fields.iter().flat_map(|field| field.to_be_bytes()).collect();
            assert_eq!(decode(&raw), Some(value));
        }
        assert_eq!(decode(&[0, 0, 0, 0, 0xc0, 0, 0, 0]), None, "NaN");
        assert_eq!(decode(&[0, 1]), None, "cut off");
    }
}
