//! Results of functions for NULL arguments: the planner concludes from them about outer joins.
//!
//! Invariant: a function that does not stand here gives whatever it likes for NULL, so that one
//! that was forgotten costs a plan and no rows. PostgreSQL's `pg_proc.proisstrict` is the pattern;
//! functions it does not call strict, but which give NULL for some argument, have their own rule.

use super::{Function, JsonFunction};

/// NULL arguments for which a function gives NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullRule {
    /// Any of them: the function is strict.
    Any,
    /// All of them together.
    All,
    /// The first.
    First,
    /// The first or the second.
    FirstTwo,
    /// The second; a first one that is NULL gives NULL or false.
    SecondOrFalse,
    /// The second.
    Second,
    /// None: NULL is a value like others, or there are no arguments.
    Never,
}

impl Function {
    /// NULL arguments for which the function gives NULL.
    pub fn null_rule(self) -> NullRule {
        use Function as F;
        match self {
            F::Coalesce | F::Greatest | F::Least | F::ArrayConcat => NullRule::All,
            F::NullIf
            | F::ConcatWs
            | F::Format
            | F::FormatArray
            | F::ArrayPosition
            | F::ArrayPositions
            | F::ArrayRemove
            | F::ArrayReplace
            | F::StringToArray => NullRule::First,
            F::ArrayToString => NullRule::FirstTwo,
            // An empty array has no element that could be equal, NULL or not.
            F::AnyElement(_) => NullRule::SecondOrFalse,
            F::AllElements(_) => NullRule::Second,
            F::RecordField(_)
            | F::Nearest(_)
            | F::Collate(_)
            | F::CollationKey(_)
            | F::KeyedText => NullRule::Any,
            F::Json(function) => function.null_rule(),
            F::Extension(function) if !function.is_volatile() => NullRule::Any,
            F::Packed(call) if call.function().is_strict => NullRule::Any,
            strict if STRICT.contains(&strict) => NullRule::Any,
            _ => NullRule::Never,
        }
    }
}

impl JsonFunction {
    fn null_rule(self) -> NullRule {
        use JsonFunction as J;
        match self {
            J::Key
            | J::Get
            | J::Path
            | J::Contains
            | J::HasKey
            | J::HasAnyKey
            | J::HasAllKeys
            | J::Concat
            | J::Without
            | J::WithoutPath
            | J::Set
            | J::Insert
            | J::ObjectOfTexts
            | J::ObjectOfArguments
            | J::Assign
            | J::TypeOf
            | J::ArrayLength
            | J::StripNulls
            | J::LineFeeds
            | J::Pretty
            | J::PathResult(_) => NullRule::Any,
            _ => NullRule::Never,
        }
    }
}

/// Functions that give NULL for any NULL argument.
const STRICT: &[Function] = &[
    Function::Add,
    Function::Subtract,
    Function::Multiply,
    Function::Divide,
    Function::Modulo,
    Function::Negate,
    Function::DateAddDays,
    Function::DateSubtractDays,
    Function::DateDifference,
    Function::TimestampAdd,
    Function::TimestampSubtract,
    Function::TimestampDifference,
    Function::TimeAdd,
    Function::TimeSubtract,
    Function::TimeDifference,
    Function::IntervalAdd,
    Function::IntervalSubtract,
    Function::IntervalMultiply,
    Function::IntervalDivide,
    Function::DateTimeAdd,
    Function::BitAnd,
    Function::BitOr,
    Function::BitXor,
    Function::BitNot,
    Function::ShiftLeft,
    Function::ShiftRight,
    Function::Abs,
    Function::Ceil,
    Function::Floor,
    Function::Round,
    Function::Trunc,
    Function::Sign,
    Function::Sqrt,
    Function::Cbrt,
    Function::Exp,
    Function::Ln,
    Function::Log10,
    Function::Log,
    Function::Power,
    Function::Div,
    Function::Gcd,
    Function::Lcm,
    Function::Degrees,
    Function::Radians,
    Function::Sin,
    Function::Cos,
    Function::Tan,
    Function::Cot,
    Function::Asin,
    Function::Acos,
    Function::Atan,
    Function::Atan2,
    Function::Sinh,
    Function::Cosh,
    Function::Tanh,
    Function::Asinh,
    Function::Acosh,
    Function::Atanh,
    Function::Sind,
    Function::Cosd,
    Function::Tand,
    Function::Cotd,
    Function::Asind,
    Function::Acosd,
    Function::Atand,
    Function::Atan2d,
    Function::NumericKey,
    Function::LikePrefix,
    Function::AfterPrefix,
    Function::Scale,
    Function::MinScale,
    Function::TrimScale,
    Function::Factorial,
    Function::WidthBucket,
    Function::Sampled,
    Function::CharLength,
    Function::OctetLength,
    Function::BitLength,
    Function::Upper,
    Function::Lower,
    Function::Initcap,
    Function::TrimBoth,
    Function::TrimLeft,
    Function::TrimRight,
    Function::PadLeft,
    Function::PadRight,
    Function::Substring,
    Function::Left,
    Function::Right,
    Function::Replace,
    Function::Repeat,
    Function::Reverse,
    Function::Position,
    Function::SplitPart,
    Function::ConcatOperator,
    Function::Ascii,
    Function::Chr,
    Function::StartsWith,
    Function::Translate,
    Function::Md5,
    Function::Encode,
    Function::Decode,
    Function::ToHex,
    Function::Sha224,
    Function::Sha256,
    Function::Sha384,
    Function::Sha512,
    Function::FloatSend,
    Function::GetByte,
    Function::SetByte,
    Function::GetBit,
    Function::SetBit,
    Function::BitCount,
    Function::Convert,
    Function::BytesAsText,
    Function::ConvertFrom,
    Function::ConvertTo,
    Function::EncodingName,
    Function::EncodingNumber,
    Function::EncodingBytes,
    Function::SizeBytes,
    Function::Unistr,
    Function::ParseIdent,
    Function::QuoteLiteral,
    Function::QuoteIdent,
    Function::RegexpReplace,
    Function::RegexpLike,
    Function::RegexpCount,
    Function::RegexpInstr,
    Function::RegexpSubstr,
    Function::RegexpGroups,
    Function::RegexpAllGroups,
    Function::RegexpSplitToArray,
    Function::RegexpSplitToTable,
    Function::RegexpSubstring,
    Function::RegexpMatch,
    Function::RegexpMatchInsensitive,
    Function::CastInZone,
    Function::Extract,
    Function::DateTrunc,
    Function::DateBin,
    Function::RoundSeconds,
    Function::IsFinite,
    Function::MakeTime,
    Function::Age,
    Function::MakeDate,
    Function::MakeTimestamp,
    Function::MakeInterval,
    Function::ToChar,
    Function::ToDate,
    Function::ToTimestamp,
    Function::ToNumber,
    Function::AtTimeZone,
    Function::JustifyDays,
    Function::JustifyHours,
    Function::JustifyInterval,
    Function::HeldText,
    Function::ArrayElement,
    Function::ArrayNth,
    Function::ArraySlice,
    Function::ArrayFlat,
    Function::Cardinality,
    Function::ArrayLength,
    Function::ArrayLower,
    Function::ArrayUpper,
    Function::ArrayDimensionCount,
    Function::ArrayDimensions,
    Function::ArrayBucket,
    Function::ArrayTrim,
    Function::ArrayContains,
    Function::ArrayOverlaps,
    Function::NextVal,
    Function::CurrVal,
    Function::SetVal,
    Function::HashText,
    Function::AssignText,
];
