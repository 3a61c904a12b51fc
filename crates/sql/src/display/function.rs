//! Names of functions and operators.

use types::CompareOp;
use types::packed::PackedCall;

use crate::algebra::{AggregateFunction, Function, WindowFunction};

/// The function as it is called in SQL, or in the way SQL's functions are called.
pub fn function_name(function: Function) -> &'static str {
    operator_name(function)
        .or_else(|| number_name(function))
        .or_else(|| text_name(function))
        .or_else(|| bytes_name(function))
        .or_else(|| array_name(function))
        .or_else(|| other_name(function))
        .unwrap_or("function")
}

fn operator_name(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::Add => "add",
        Function::Subtract => "subtract",
        Function::Multiply => "multiply",
        Function::Divide => "divide",
        Function::Modulo => "mod",
        Function::Negate => "-",
        Function::DateAddDays => "date_add_days",
        Function::DateSubtractDays => "date_subtract_days",
        Function::DateDifference => "date_difference",
        Function::TimestampAdd => "timestamp_add",
        Function::TimestampSubtract => "timestamp_subtract",
        Function::TimestampDifference => "timestamp_difference",
        Function::TimeAdd => "time_add",
        Function::TimeSubtract => "time_subtract",
        Function::TimeDifference => "time_difference",
        Function::IntervalAdd => "interval_add",
        Function::IntervalSubtract => "interval_subtract",
        Function::IntervalMultiply => "interval_multiply",
        Function::IntervalDivide => "interval_divide",
        Function::DateTimeAdd => "date_time_add",
        Function::BitAnd => "bit_and",
        Function::BitOr => "bit_or",
        Function::BitXor => "bit_xor",
        Function::BitNot => "~",
        Function::ShiftLeft => "shift_left",
        Function::ShiftRight => "shift_right",
        _ => return None,
    })
}

fn number_name(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::Abs => "abs",
        Function::Ceil => "ceil",
        Function::Floor => "floor",
        Function::Round => "round",
        Function::Trunc => "trunc",
        Function::Sign => "sign",
        Function::Sqrt => "sqrt",
        Function::Cbrt => "cbrt",
        Function::Exp => "exp",
        Function::Ln => "ln",
        Function::Log10 => "log10",
        Function::Log => "log",
        Function::Power => "power",
        Function::Div => "div",
        Function::Gcd => "gcd",
        Function::Lcm => "lcm",
        Function::Pi => "pi",
        Function::Degrees => "degrees",
        Function::Radians => "radians",
        Function::Sin => "sin",
        Function::Cos => "cos",
        Function::Tan => "tan",
        Function::Cot => "cot",
        Function::Asin => "asin",
        Function::Acos => "acos",
        Function::Atan => "atan",
        Function::Atan2 => "atan2",
        Function::Sinh => "sinh",
        Function::Cosh => "cosh",
        Function::Tanh => "tanh",
        Function::Asinh => "asinh",
        Function::Acosh => "acosh",
        Function::Atanh => "atanh",
        Function::Sind => "sind",
        Function::Cosd => "cosd",
        Function::Tand => "tand",
        Function::Cotd => "cotd",
        Function::Asind => "asind",
        Function::Acosd => "acosd",
        Function::Atand => "atand",
        Function::Atan2d => "atan2d",
        Function::NumericKey => "numeric_key",
        Function::Collate(_) => "collate",
        Function::CollationKey(_) => "collation_key",
        Function::KeyedText => "keyed_text",
        Function::Nearest(CompareOp::Less) => "value_below",
        Function::Nearest(CompareOp::LessEqual) => "value_at_most",
        Function::Nearest(CompareOp::Greater) => "value_above",
        Function::Nearest(CompareOp::GreaterEqual) => "value_at_least",
        Function::Nearest(_) => "value_equal",
        Function::LikePrefix => "like_prefix",
        Function::AfterPrefix => "after_prefix",
        Function::Scale => "scale",
        Function::MinScale => "min_scale",
        Function::TrimScale => "trim_scale",
        Function::Factorial => "factorial",
        Function::WidthBucket => "width_bucket",
        Function::Random => "random",
        Function::Sampled => "sampled",
        _ => return None,
    })
}

fn text_name(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::CharLength => "char_length",
        Function::OctetLength => "octet_length",
        Function::BitLength => "bit_length",
        Function::Upper => "upper",
        Function::Lower => "lower",
        Function::Initcap => "initcap",
        Function::ZoneOfTime => "zone_of_time",
        Function::TrimBoth => "btrim",
        Function::TrimLeft => "ltrim",
        Function::TrimRight => "rtrim",
        Function::PadLeft => "lpad",
        Function::PadRight => "rpad",
        Function::Substring => "substring",
        Function::HeldText => "held_text",
        Function::Left => "left",
        Function::Right => "right",
        Function::Replace => "replace",
        Function::Repeat => "repeat",
        Function::Reverse => "reverse",
        Function::Position => "strpos",
        Function::SplitPart => "split_part",
        Function::ConcatOperator => "concat_operator",
        Function::Concat => "concat",
        Function::ConcatWs => "concat_ws",
        Function::Ascii => "ascii",
        Function::Chr => "chr",
        Function::StartsWith => "starts_with",
        Function::Translate => "translate",
        Function::ToHex => "to_hex",
        Function::SizeBytes => "pg_size_bytes",
        Function::Unistr => "unistr",
        Function::Format | Function::FormatArray => "format",
        Function::QuoteLiteral => "quote_literal",
        Function::QuoteNullable => "quote_nullable",
        Function::QuoteIdent => "quote_ident",
        Function::ParseIdent => "parse_ident",
        Function::RegexpReplace => "regexp_replace",
        Function::RegexpLike => "regexp_like",
        Function::RegexpCount => "regexp_count",
        Function::RegexpInstr => "regexp_instr",
        Function::RegexpSubstr => "regexp_substr",
        Function::RegexpGroups => "regexp_groups",
        Function::RegexpAllGroups => "regexp_matches",
        Function::RegexpSplitToArray => "regexp_split_to_array",
        Function::RegexpSplitToTable => "regexp_split_to_table",
        Function::RegexpSubstring => "regexp_substring",
        Function::RegexpMatch => "regexp_match",
        Function::RegexpMatchInsensitive => "regexp_imatch",
        _ => return None,
    })
}

fn bytes_name(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::Md5 => "md5",
        Function::Sha224 => "sha224",
        Function::Sha256 => "sha256",
        Function::Sha384 => "sha384",
        Function::Sha512 => "sha512",
        Function::FloatSend => "float8send",
        Function::Encode => "encode",
        Function::Decode => "decode",
        Function::GetByte => "get_byte",
        Function::SetByte => "set_byte",
        Function::GetBit => "get_bit",
        Function::SetBit => "set_bit",
        Function::BitCount => "bit_count",
        Function::Convert => "convert",
        Function::BytesAsText => "bytes_as_text",
        Function::ConvertFrom => "convert_from",
        Function::ConvertTo => "convert_to",
        Function::EncodingName => "pg_encoding_to_char",
        Function::EncodingNumber => "pg_char_to_encoding",
        Function::EncodingBytes => "pg_encoding_max_length",
        _ => return None,
    })
}

fn array_name(function: Function) -> Option<&'static str> {
    use CompareOp as C;
    Some(match function {
        Function::ArrayMake => "array",
        Function::ArrayNest => "array_of_arrays",
        Function::RecordMake => "row",
        Function::RecordField(_) => "field",
        Function::AnyElement(C::Equal) => "= any",
        Function::AnyElement(C::NotEqual) => "<> any",
        Function::AnyElement(C::Less) => "< any",
        Function::AnyElement(C::LessEqual) => "<= any",
        Function::AnyElement(C::Greater) => "> any",
        Function::AnyElement(C::GreaterEqual) => ">= any",
        Function::AnyElement(_) => "any",
        Function::AllElements(C::Equal) => "= all",
        Function::AllElements(C::NotEqual) => "<> all",
        Function::AllElements(C::Less) => "< all",
        Function::AllElements(C::LessEqual) => "<= all",
        Function::AllElements(C::Greater) => "> all",
        Function::AllElements(C::GreaterEqual) => ">= all",
        Function::AllElements(_) => "all",
        Function::ArrayElement => "array_element",
        Function::ArrayNth => "array_nth",
        Function::ArraySlice => "array_slice",
        Function::ArraySetElement => "array_set_element",
        Function::ArraySetSlice => "array_set_slice",
        Function::ArrayConcat => "array_cat",
        Function::ArrayAppend => "array_append",
        Function::ArrayPrepend => "array_prepend",
        Function::ArrayFlat => "array_flat",
        Function::Cardinality => "cardinality",
        Function::ArrayLength => "array_length",
        Function::ArrayLower => "array_lower",
        Function::ArrayUpper => "array_upper",
        Function::ArrayDimensionCount => "array_ndims",
        Function::ArrayDimensions => "array_dims",
        Function::ArrayPosition => "array_position",
        Function::ArrayPositions => "array_positions",
        Function::ArrayRemove => "array_remove",
        Function::ArrayReplace => "array_replace",
        Function::ArrayBucket => "width_bucket",
        Function::ArrayFill => "array_fill",
        Function::ArrayTrim => "trim_array",
        Function::ArrayToString => "array_to_string",
        Function::StringToArray => "string_to_array",
        Function::ArrayContains => "array_contains",
        Function::ArrayOverlaps => "array_overlaps",
        _ => return None,
    })
}

fn other_name(function: Function) -> Option<&'static str> {
    Some(match function {
        Function::CastInZone => "cast_in_zone",
        Function::Extract => "extract",
        Function::DateTrunc => "date_trunc",
        Function::DateBin => "date_bin",
        Function::RoundSeconds => "round_seconds",
        Function::IsFinite => "isfinite",
        Function::MakeTime => "make_time",
        Function::Age => "age",
        Function::MakeDate => "make_date",
        Function::MakeTimestamp => "make_timestamp",
        Function::MakeInterval => "make_interval",
        Function::ToChar => "to_char",
        Function::ToDate => "to_date",
        Function::ToTimestamp => "to_timestamp",
        Function::ToNumber => "to_number",
        Function::AtTimeZone => "timezone",
        Function::JustifyDays => "justify_days",
        Function::JustifyHours => "justify_hours",
        Function::JustifyInterval => "justify_interval",
        Function::Json(function) => function.name(),
        Function::Coalesce => "coalesce",
        Function::NullIf => "nullif",
        Function::Greatest => "greatest",
        Function::Least => "least",
        Function::GenRandomUuid => "gen_random_uuid",
        Function::Extension(function) => function.name(),
        Function::Session(_) => "session_function",
        Function::Routine(called) => called.name,
        Function::NextVal => "nextval",
        Function::CurrVal => "currval",
        Function::SetVal => "setval",
        Function::LastVal => "lastval",
        Function::HashText => "hashtext",
        Function::TypeOf => "pg_typeof",
        Function::AssignText => "assign_text",
        Function::Domain(tests) => tests.used.name(),
        Function::Packed(call) => packed_name(call),
        _ => return None,
    })
}

/// The operator, for functions that are written between their operands.
pub(super) fn infix(function: Function) -> Option<&'static str> {
    use Function as F;
    Some(match function {
        F::Add
        | F::DateAddDays
        | F::TimestampAdd
        | F::TimeAdd
        | F::IntervalAdd
        | F::DateTimeAdd => "+",
        F::Subtract
        | F::DateSubtractDays
        | F::DateDifference
        | F::TimestampSubtract
        | F::TimestampDifference
        | F::TimeSubtract
        | F::TimeDifference
        | F::IntervalSubtract => "-",
        F::Multiply | F::IntervalMultiply => "*",
        F::Divide | F::IntervalDivide => "/",
        F::Modulo => "%",
        F::BitAnd => "&",
        F::BitOr => "|",
        F::BitXor => "#",
        F::ShiftLeft => "<<",
        F::ShiftRight => ">>",
        F::ConcatOperator => "||",
        F::RegexpMatch => "~",
        F::RegexpMatchInsensitive => "~*",
        F::Packed(call) if call.function().parameters.len() == 2 => {
            return Some(call.function().operator).filter(|operator| !operator.is_empty());
        }
        _ => return None,
    })
}

/// The function's name, or the operator that it is.
fn packed_name(call: PackedCall) -> &'static str {
    let function = call.function();
    match function.name {
        "" => function.operator,
        name => name.trim_start_matches('#'),
    }
}

/// The aggregate function as SQL calls it.
pub fn aggregate_name(function: AggregateFunction) -> &'static str {
    use AggregateFunction as A;
    match function {
        A::CountRows => "count",
        A::Count => "count",
        A::Sum => "sum",
        A::Avg => "avg",
        A::Min => "min",
        A::Max => "max",
        A::BoolAnd => "bool_and",
        A::BoolOr => "bool_or",
        A::BitAnd => "bit_and",
        A::BitOr => "bit_or",
        A::BitXor => "bit_xor",
        A::StringAgg => "string_agg",
        A::ArrayAgg => "array_agg",
        A::StddevPop => "stddev_pop",
        A::StddevSamp => "stddev_samp",
        A::VarPop => "var_pop",
        A::VarSamp => "var_samp",
        A::CovarPop => "covar_pop",
        A::CovarSamp => "covar_samp",
        A::Corr => "corr",
        A::RegrSlope => "regr_slope",
        A::RegrIntercept => "regr_intercept",
        A::RegrR2 => "regr_r2",
        A::RegrAvgX => "regr_avgx",
        A::RegrAvgY => "regr_avgy",
        A::RegrSxx => "regr_sxx",
        A::RegrSyy => "regr_syy",
        A::RegrSxy => "regr_sxy",
        A::AnyValue => "any_value",
        A::Single => "single",
        A::PercentileCont => "percentile_cont",
        A::PercentileDisc => "percentile_disc",
        A::Mode => "mode",
    }
}

/// The window function as SQL calls it.
pub fn window_name(function: WindowFunction) -> &'static str {
    use WindowFunction as W;
    match function {
        W::RowNumber => "row_number",
        W::Rank => "rank",
        W::DenseRank => "dense_rank",
        W::PercentRank => "percent_rank",
        W::CumeDist => "cume_dist",
        W::Ntile => "ntile",
        W::Lag => "lag",
        W::Lead => "lead",
        W::FirstValue => "first_value",
        W::LastValue => "last_value",
        W::NthValue => "nth_value",
        W::Aggregate(function) => aggregate_name(function),
    }
}
