//! Short forms of numbers are read by a way of their own: it gives what the general one does, which
//! a blank before the number asks for.

use proptest::prelude::*;
use types::{DataType, NumericDisplay, NumericType, text};

proptest! {
    #[test]
    fn plain_decimals(
        number in "-?[0-9]{0,20}(\\.[0-9]{0,8})?(e1| )?",
        precision in 1_u8..=38,
        scale in 0_u8..=12,
    ) {
        let scale = scale.min(precision);
        let display = NumericDisplay::Fixed;
        let ty = DataType::Numeric(NumericType { precision, scale, display });
        let short = text::parse(&number, ty).map_err(|error| error.state());
        let general = text::parse(&format!(" {number}"), ty).map_err(|error| error.state());
        prop_assert_eq!(short, general);
    }

    #[test]
    fn integers_and_decimals_are_printed_as_the_standard_library_does(value: i64) {
        let printed = text::format(&types::Value::I64(value), DataType::BigInt);
        prop_assert_eq!(printed, value.to_string());
        let ty = NumericType { precision: 19, scale: 3, display: NumericDisplay::Fixed };
        let printed = text::format(&types::Value::I128(value.into()), DataType::Numeric(ty));
        let (whole, part) = (value.unsigned_abs() / 1000, value.unsigned_abs() % 1000);
        let sign = if value < 0 { "-" } else { "" };
        prop_assert_eq!(printed, format!("{sign}{whole}.{part:03}"));
    }
}
