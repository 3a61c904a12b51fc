//! The scalar functions and their overloads.

use types::{DataType, ElementType};

use crate::algebra::Function as F;

/// Type that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    SmallInt,
    Integer,
    BigInt,
    Numeric,
    Real,
    Double,
    Boolean,
    Text,
    Bytea,
    Date,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    /// Anything, as its text.
    Shown,
    /// Anything, cast to text.
    Cast,
}

/// Type that a function gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Gives {
    /// Always this type.
    Is(DataType),
    /// The type of the first argument.
    First,
    /// A number without fraction: the first argument's type, NUMERIC with scale 0.
    Whole,
    /// DOUBLE of DOUBLE; of NUMERIC, a wide decimal of wide decimals.
    Math,
}

/// One overload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overload {
    pub(super) name: &'static str,
    pub(super) parameters: &'static [Kind],
    /// Type of any further arguments.
    pub(super) rest: Option<Kind>,
    pub(super) function: F,
    pub(super) gives: Gives,
}

const fn row(
    name: &'static str,
    parameters: &'static [Kind],
    function: F,
    gives: Gives,
) -> Overload {
    Overload { name, parameters, rest: None, function, gives }
}

const fn variadic(
    name: &'static str,
    parameters: &'static [Kind],
    function: F,
    gives: Gives,
) -> Overload {
    Overload { name, parameters, rest: Some(Kind::Shown), function, gives }
}

use Gives::{First, Is, Math, Whole};
use Kind::{
    BigInt, Boolean, Bytea, Cast, Date, Double, Integer, Interval, Numeric, Real, SmallInt, Text,
    Timestamp, TimestampTz,
};

const INT: Gives = Is(DataType::Integer);
const TEXT: Gives = Is(DataType::Text);
const TEXTS_OF: Gives = Is(DataType::Array(ElementType::Text));
const DOUBLE: Gives = Is(DataType::Double);
const BOOL: Gives = Is(DataType::Boolean);
const SPAN: Gives = Is(DataType::INTERVAL);

/// The overloads called `name`.
pub(super) fn overloads(name: &str) -> impl Iterator<Item = &'static Overload> {
    let groups = [NUMBERS, TEXTS, EXPRESSIONS, BYTES, TIMES, OTHERS];
    groups.into_iter().flatten().filter(move |overload| overload.name == name)
}

const NUMBERS: &[Overload] = &[
    row("abs", &[SmallInt], F::Abs, First),
    row("abs", &[Integer], F::Abs, First),
    row("abs", &[BigInt], F::Abs, First),
    row("abs", &[Numeric], F::Abs, First),
    row("abs", &[Real], F::Abs, First),
    row("abs", &[Double], F::Abs, First),
    row("ceil", &[Numeric], F::Ceil, Whole),
    row("ceil", &[Double], F::Ceil, Whole),
    row("ceiling", &[Numeric], F::Ceil, Whole),
    row("ceiling", &[Double], F::Ceil, Whole),
    row("floor", &[Numeric], F::Floor, Whole),
    row("floor", &[Double], F::Floor, Whole),
    row("round", &[Numeric], F::Round, Whole),
    row("round", &[Double], F::Round, Whole),
    row("round", &[Numeric, Integer], F::Round, First),
    row("trunc", &[Numeric], F::Trunc, Whole),
    row("trunc", &[Double], F::Trunc, Whole),
    row("trunc", &[Numeric, Integer], F::Trunc, First),
    row("sign", &[Numeric], F::Sign, Whole),
    row("sign", &[Double], F::Sign, Whole),
    row("sqrt", &[Numeric], F::Sqrt, Math),
    row("sqrt", &[Double], F::Sqrt, Math),
    row("cbrt", &[Double], F::Cbrt, DOUBLE),
    row("exp", &[Numeric], F::Exp, Math),
    row("exp", &[Double], F::Exp, Math),
    row("ln", &[Numeric], F::Ln, Math),
    row("ln", &[Double], F::Ln, Math),
    row("log", &[Numeric], F::Log10, Math),
    row("log", &[Double], F::Log10, Math),
    row("log10", &[Numeric], F::Log10, Math),
    row("log10", &[Double], F::Log10, Math),
    row("log", &[Numeric, Numeric], F::Log, Math),
    row("power", &[Numeric, Numeric], F::Power, Math),
    row("power", &[Double, Double], F::Power, Math),
    row("pow", &[Numeric, Numeric], F::Power, Math),
    row("pow", &[Double, Double], F::Power, Math),
    row("div", &[Numeric, Numeric], F::Div, Math),
    row("gcd", &[Integer, Integer], F::Gcd, First),
    row("gcd", &[BigInt, BigInt], F::Gcd, First),
    row("lcm", &[Integer, Integer], F::Lcm, First),
    row("lcm", &[BigInt, BigInt], F::Lcm, First),
    row("gcd", &[Numeric, Numeric], F::Gcd, Math),
    row("lcm", &[Numeric, Numeric], F::Lcm, Math),
    row("pi", &[], F::Pi, DOUBLE),
    row("degrees", &[Double], F::Degrees, DOUBLE),
    row("radians", &[Double], F::Radians, DOUBLE),
    row("sin", &[Double], F::Sin, DOUBLE),
    row("cos", &[Double], F::Cos, DOUBLE),
    row("tan", &[Double], F::Tan, DOUBLE),
    row("cot", &[Double], F::Cot, DOUBLE),
    row("asin", &[Double], F::Asin, DOUBLE),
    row("acos", &[Double], F::Acos, DOUBLE),
    row("atan", &[Double], F::Atan, DOUBLE),
    row("atan2", &[Double, Double], F::Atan2, DOUBLE),
    row("sinh", &[Double], F::Sinh, DOUBLE),
    row("cosh", &[Double], F::Cosh, DOUBLE),
    row("tanh", &[Double], F::Tanh, DOUBLE),
    row("asinh", &[Double], F::Asinh, DOUBLE),
    row("acosh", &[Double], F::Acosh, DOUBLE),
    row("atanh", &[Double], F::Atanh, DOUBLE),
    row("sind", &[Double], F::Sind, DOUBLE),
    row("cosd", &[Double], F::Cosd, DOUBLE),
    row("tand", &[Double], F::Tand, DOUBLE),
    row("cotd", &[Double], F::Cotd, DOUBLE),
    row("asind", &[Double], F::Asind, DOUBLE),
    row("acosd", &[Double], F::Acosd, DOUBLE),
    row("atand", &[Double], F::Atand, DOUBLE),
    row("atan2d", &[Double, Double], F::Atan2d, DOUBLE),
    row("factorial", &[BigInt], F::Factorial, Is(DataType::NUMERIC)),
    row("width_bucket", &[Double, Double, Double, Integer], F::WidthBucket, INT),
    row("random", &[], F::Random, DOUBLE),
];

const TEXTS: &[Overload] = &[
    row("length", &[Text], F::CharLength, INT),
    row("length", &[Bytea], F::OctetLength, INT),
    row("char_length", &[Text], F::CharLength, INT),
    row("character_length", &[Text], F::CharLength, INT),
    row("octet_length", &[Text], F::OctetLength, INT),
    row("octet_length", &[Bytea], F::OctetLength, INT),
    row("bit_length", &[Text], F::BitLength, INT),
    row("bit_length", &[Bytea], F::BitLength, INT),
    row("upper", &[Text], F::Upper, TEXT),
    row("lower", &[Text], F::Lower, TEXT),
    row("initcap", &[Text], F::Initcap, TEXT),
    row("zone_of_time", &[Text], F::ZoneOfTime, TEXT),
    row("btrim", &[Text], F::TrimBoth, TEXT),
    row("btrim", &[Text, Text], F::TrimBoth, TEXT),
    row("ltrim", &[Text], F::TrimLeft, TEXT),
    row("ltrim", &[Text, Text], F::TrimLeft, TEXT),
    row("rtrim", &[Text], F::TrimRight, TEXT),
    row("rtrim", &[Text, Text], F::TrimRight, TEXT),
    row("lpad", &[Text, Integer], F::PadLeft, TEXT),
    row("lpad", &[Text, Integer, Text], F::PadLeft, TEXT),
    row("rpad", &[Text, Integer], F::PadRight, TEXT),
    row("rpad", &[Text, Integer, Text], F::PadRight, TEXT),
    row("substring", &[Text, Integer], F::Substring, TEXT),
    row("substring", &[Text, Integer, Integer], F::Substring, TEXT),
    row("substring", &[Text, Text], F::RegexpSubstring, TEXT),
    row("substring", &[Bytea, Integer], F::Substring, First),
    row("substring", &[Bytea, Integer, Integer], F::Substring, First),
    row("substr", &[Text, Integer], F::Substring, TEXT),
    row("substr", &[Text, Integer, Integer], F::Substring, TEXT),
    row("substr", &[Bytea, Integer], F::Substring, First),
    row("substr", &[Bytea, Integer, Integer], F::Substring, First),
    row("left", &[Text, Integer], F::Left, TEXT),
    row("right", &[Text, Integer], F::Right, TEXT),
    row("replace", &[Text, Text, Text], F::Replace, TEXT),
    row("repeat", &[Text, Integer], F::Repeat, TEXT),
    row("reverse", &[Text], F::Reverse, TEXT),
    row("strpos", &[Text, Text], F::Position, INT),
    row("position", &[Text, Text], F::Position, INT),
    row("position", &[Bytea, Bytea], F::Position, INT),
    row("split_part", &[Text, Text, Integer], F::SplitPart, TEXT),
    variadic("concat", &[], F::Concat, TEXT),
    row("textcat", &[Text, Text], F::ConcatOperator, TEXT),
    variadic("concat_ws", &[Text], F::ConcatWs, TEXT),
    row("ascii", &[Text], F::Ascii, INT),
    row("chr", &[Integer], F::Chr, TEXT),
    row("starts_with", &[Text, Text], F::StartsWith, BOOL),
    row("translate", &[Text, Text, Text], F::Translate, TEXT),
    row("md5", &[Text], F::Md5, TEXT),
    row("md5", &[Bytea], F::Md5, TEXT),
    row("encode", &[Bytea, Text], F::Encode, TEXT),
    row("decode", &[Text, Text], F::Decode, Is(DataType::Bytea)),
    row("to_hex", &[Integer], F::ToHex, TEXT),
    row("to_hex", &[BigInt], F::ToHex, TEXT),
    row("quote_ident", &[Text], F::QuoteIdent, TEXT),
    row("quote_literal", &[Cast], F::QuoteLiteral, TEXT),
    row("quote_nullable", &[Cast], F::QuoteNullable, TEXT),
    variadic("format", &[Text], F::Format, TEXT),
    row("pg_size_bytes", &[Text], F::SizeBytes, Is(DataType::BigInt)),
    row("unistr", &[Text], F::Unistr, TEXT),
    row("parse_ident", &[Text], F::ParseIdent, TEXTS_OF),
    row("parse_ident", &[Text, Boolean], F::ParseIdent, TEXTS_OF),
];

const EXPRESSIONS: &[Overload] = &[
    row("regexp_replace", &[Text, Text, Text], F::RegexpReplace, TEXT),
    row("regexp_replace", &[Text, Text, Text, Text], F::RegexpReplace, TEXT),
    row("regexp_replace", &[Text, Text, Text, Integer], F::RegexpReplace, TEXT),
    row("regexp_replace", &[Text, Text, Text, Integer, Integer], F::RegexpReplace, TEXT),
    row("regexp_replace", &[Text, Text, Text, Integer, Integer, Text], F::RegexpReplace, TEXT),
    row("regexp_like", &[Text, Text], F::RegexpMatch, BOOL),
    row("regexp_like", &[Text, Text, Text], F::RegexpLike, BOOL),
    row("regexp_count", &[Text, Text], F::RegexpCount, INT),
    row("regexp_count", &[Text, Text, Integer], F::RegexpCount, INT),
    row("regexp_count", &[Text, Text, Integer, Text], F::RegexpCount, INT),
    row("regexp_instr", &[Text, Text], F::RegexpInstr, INT),
    row("regexp_instr", &[Text, Text, Integer], F::RegexpInstr, INT),
    row("regexp_instr", &[Text, Text, Integer, Integer], F::RegexpInstr, INT),
    row("regexp_instr", &[Text, Text, Integer, Integer, Integer], F::RegexpInstr, INT),
    row("regexp_instr", &[Text, Text, Integer, Integer, Integer, Text], F::RegexpInstr, INT),
    row(
        "regexp_instr",
        &[Text, Text, Integer, Integer, Integer, Text, Integer],
        F::RegexpInstr,
        INT,
    ),
    row("regexp_substr", &[Text, Text], F::RegexpSubstr, TEXT),
    row("regexp_substr", &[Text, Text, Integer], F::RegexpSubstr, TEXT),
    row("regexp_substr", &[Text, Text, Integer, Integer], F::RegexpSubstr, TEXT),
    row("regexp_substr", &[Text, Text, Integer, Integer, Text], F::RegexpSubstr, TEXT),
    row("regexp_substr", &[Text, Text, Integer, Integer, Text, Integer], F::RegexpSubstr, TEXT),
    row("regexp_match", &[Text, Text], F::RegexpGroups, TEXTS_OF),
    row("regexp_match", &[Text, Text, Text], F::RegexpGroups, TEXTS_OF),
    row("regexp_matches", &[Text, Text], F::RegexpAllGroups, TEXTS_OF),
    row("regexp_matches", &[Text, Text, Text], F::RegexpAllGroups, TEXTS_OF),
    row("regexp_split_to_array", &[Text, Text], F::RegexpSplitToArray, TEXTS_OF),
    row("regexp_split_to_array", &[Text, Text, Text], F::RegexpSplitToArray, TEXTS_OF),
    row("regexp_split_to_table", &[Text, Text], F::RegexpSplitToTable, TEXTS_OF),
    row("regexp_split_to_table", &[Text, Text, Text], F::RegexpSplitToTable, TEXTS_OF),
];

const BYTES: &[Overload] = &[
    row("btrim", &[Bytea, Bytea], F::TrimBoth, First),
    row("ltrim", &[Bytea, Bytea], F::TrimLeft, First),
    row("rtrim", &[Bytea, Bytea], F::TrimRight, First),
    row("sha224", &[Bytea], F::Sha224, First),
    row("sha256", &[Bytea], F::Sha256, First),
    row("sha384", &[Bytea], F::Sha384, First),
    row("sha512", &[Bytea], F::Sha512, First),
    row("float4send", &[Real], F::FloatSend, Is(DataType::Bytea)),
    row("float8send", &[Double], F::FloatSend, Is(DataType::Bytea)),
    row("get_byte", &[Bytea, Integer], F::GetByte, INT),
    row("set_byte", &[Bytea, Integer, Integer], F::SetByte, First),
    row("get_bit", &[Bytea, BigInt], F::GetBit, INT),
    row("set_bit", &[Bytea, BigInt, Integer], F::SetBit, First),
    row("bit_count", &[Bytea], F::BitCount, Is(DataType::BigInt)),
    row("convert", &[Bytea, Text, Text], F::Convert, First),
    row("convert_from", &[Bytea, Text], F::ConvertFrom, TEXT),
    row("convert_to", &[Text, Text], F::ConvertTo, Is(DataType::Bytea)),
    row("pg_encoding_to_char", &[Integer], F::EncodingName, Is(DataType::Name)),
    row("pg_char_to_encoding", &[Text], F::EncodingNumber, INT),
    row("pg_encoding_max_length", &[Integer], F::EncodingBytes, INT),
];

const TIMES: &[Overload] = &[
    row("date_trunc", &[Text, Timestamp], F::DateTrunc, Is(DataType::TIMESTAMP)),
    row("date_trunc", &[Text, TimestampTz], F::DateTrunc, Is(DataType::TIMESTAMPTZ)),
    row("date_trunc", &[Text, Interval], F::DateTrunc, SPAN),
    row("date_bin", &[Interval, Timestamp, Timestamp], F::DateBin, Is(DataType::TIMESTAMP)),
    row("date_bin", &[Interval, TimestampTz, TimestampTz], F::DateBin, Is(DataType::TIMESTAMPTZ)),
    row("isfinite", &[Date], F::IsFinite, BOOL),
    row("isfinite", &[Timestamp], F::IsFinite, BOOL),
    row("isfinite", &[TimestampTz], F::IsFinite, BOOL),
    row("isfinite", &[Interval], F::IsFinite, BOOL),
    row("make_time", &[Integer, Integer, Double], F::MakeTime, Is(DataType::TIME)),
    row("age", &[TimestampTz], F::Age, SPAN),
    row("age", &[TimestampTz, TimestampTz], F::Age, SPAN),
    row("age", &[Timestamp], F::Age, SPAN),
    row("age", &[Timestamp, Timestamp], F::Age, SPAN),
    row("make_date", &[Integer, Integer, Integer], F::MakeDate, Is(DataType::Date)),
    row(
        "make_timestamp",
        &[Integer, Integer, Integer, Integer, Integer, Double],
        F::MakeTimestamp,
        Is(DataType::TIMESTAMP),
    ),
    row(
        "make_timestamptz",
        &[Integer, Integer, Integer, Integer, Integer, Double],
        F::MakeTimestamp,
        Is(DataType::TIMESTAMPTZ),
    ),
    row(
        "make_interval",
        &[Integer, Integer, Integer, Integer, Integer, Integer, Double],
        F::MakeInterval,
        SPAN,
    ),
    row("to_char", &[Timestamp, Text], F::ToChar, TEXT),
    row("to_char", &[TimestampTz, Text], F::ToChar, TEXT),
    row("to_char", &[Interval, Text], F::ToChar, TEXT),
    row("to_char", &[Numeric, Text], F::ToChar, TEXT),
    row("to_char", &[Real, Text], F::ToChar, TEXT),
    row("to_char", &[Double, Text], F::ToChar, TEXT),
    row("to_char", &[Integer, Text], F::ToChar, TEXT),
    row("to_char", &[BigInt, Text], F::ToChar, TEXT),
    row("to_date", &[Text, Text], F::ToDate, Is(DataType::Date)),
    row("to_timestamp", &[Text, Text], F::ToTimestamp, Is(DataType::TIMESTAMPTZ)),
    row("to_timestamp", &[Double], F::ToTimestamp, Is(DataType::TIMESTAMPTZ)),
    row("to_number", &[Text, Text], F::ToNumber, Is(DataType::NUMERIC)),
    row("timezone", &[Text, Timestamp], F::AtTimeZone, Is(DataType::TIMESTAMPTZ)),
    row("timezone", &[Text, TimestampTz], F::AtTimeZone, Is(DataType::TIMESTAMP)),
    row("justify_days", &[Interval], F::JustifyDays, SPAN),
    row("justify_hours", &[Interval], F::JustifyHours, SPAN),
    row("justify_interval", &[Interval], F::JustifyInterval, SPAN),
];

const OTHERS: &[Overload] = &[
    row("gen_random_uuid", &[], F::GenRandomUuid, Is(DataType::Uuid)),
    row("hashtext", &[Text], F::HashText, INT),
];

impl Kind {
    /// The type that arguments of other types are converted to.
    pub(super) fn target(self) -> DataType {
        match self {
            SmallInt => DataType::SmallInt,
            Integer => DataType::Integer,
            BigInt => DataType::BigInt,
            Numeric => DataType::NUMERIC,
            Real => DataType::Real,
            Double => DataType::Double,
            Boolean => DataType::Boolean,
            Text | Cast | Kind::Shown => DataType::Text,
            Bytea => DataType::Bytea,
            Date => DataType::Date,
            Timestamp => DataType::TIMESTAMP,
            TimestampTz => DataType::TIMESTAMPTZ,
            Interval => DataType::INTERVAL,
            Kind::Uuid => DataType::Uuid,
        }
    }

    /// True when an argument of type `ty` needs no conversion.
    pub(super) fn is_exactly(self, ty: DataType) -> bool {
        match (self, ty) {
            (Kind::Shown | Cast, _) => true,
            (Text, DataType::Varchar(_) | DataType::Name | DataType::InternalChar)
            | (Numeric, DataType::Numeric(_) | DataType::WideNumeric(_)) => true,
            _ => self.target() == ty.of_all_digits(),
        }
    }

    /// True for the type that its category prefers.
    pub(super) fn is_preferred(self) -> bool {
        matches!(self, Double | Text | TimestampTz | Interval)
    }
}
