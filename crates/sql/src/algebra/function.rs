//! The scalar functions of the algebra.

use types::packed::PackedCall;
use types::{Collation, CompareOp};

use crate::definition::Volatility;

/// Built-in scalar functions and operators. Unless said otherwise a NULL argument gives NULL.
///
/// Arithmetic operands have one common type (integers, NUMERIC with possibly different precision
/// and scale, REAL or DOUBLE); the result's type is on the expression. Integer overflow is 22003.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    // Arithmetic: both arguments of the same family.
    /// `a + b` on numbers.
    Add,
    /// `a - b` on numbers.
    Subtract,
    /// `a * b` on numbers.
    Multiply,
    /// `a / b`; integers truncate; 22012 on zero.
    Divide,
    /// `a % b`; sign of `a`; 22012 on zero.
    Modulo,
    /// `- a` on numbers and intervals.
    Negate,
    /// DATE + INTEGER days -> DATE.
    DateAddDays,
    /// DATE - INTEGER days -> DATE.
    DateSubtractDays,
    /// DATE - DATE -> INTEGER days.
    DateDifference,
    /// TIMESTAMP or TIMESTAMPTZ + INTERVAL -> same type.
    TimestampAdd,
    /// TIMESTAMP or TIMESTAMPTZ - INTERVAL -> same type.
    TimestampSubtract,
    /// TIMESTAMP - TIMESTAMP (or both TZ) -> INTERVAL of days and microseconds.
    TimestampDifference,
    /// TIME + INTERVAL -> TIME.
    TimeAdd,
    /// TIME - INTERVAL -> TIME.
    TimeSubtract,
    /// TIME - TIME -> INTERVAL.
    TimeDifference,
    /// INTERVAL + INTERVAL.
    IntervalAdd,
    /// INTERVAL - INTERVAL.
    IntervalSubtract,
    /// INTERVAL * DOUBLE.
    IntervalMultiply,
    /// INTERVAL / DOUBLE.
    IntervalDivide,
    /// DATE + TIME -> TIMESTAMP.
    DateTimeAdd,
    // Bits, on integers of one type.
    /// `a & b`
    BitAnd,
    /// `a | b`
    BitOr,
    /// `a # b`
    BitXor,
    /// `~ a`
    BitNot,
    /// `a << INTEGER`
    ShiftLeft,
    /// `a >> INTEGER`
    ShiftRight,
    // Numbers.
    /// abs, result of the argument's type.
    Abs,
    /// ceil of NUMERIC or DOUBLE.
    Ceil,
    /// floor of NUMERIC or DOUBLE.
    Floor,
    /// round(NUMERIC [, INTEGER literal]) half away from zero; round(DOUBLE) half to even.
    Round,
    /// trunc(NUMERIC [, INTEGER literal]); trunc(DOUBLE).
    Trunc,
    /// sign.
    Sign,
    /// sqrt(DOUBLE or NUMERIC); 2201F when negative.
    Sqrt,
    /// cbrt(DOUBLE).
    Cbrt,
    /// exp(DOUBLE or NUMERIC).
    Exp,
    /// ln(DOUBLE or NUMERIC); 2201E when not positive.
    Ln,
    /// log10(DOUBLE or NUMERIC), also one-argument log; 2201E when not positive.
    Log10,
    /// log(base, x) on NUMERIC.
    Log,
    /// power(DOUBLE, DOUBLE) or (NUMERIC, NUMERIC).
    Power,
    /// div(NUMERIC, NUMERIC): integer quotient.
    Div,
    /// gcd of integers.
    Gcd,
    /// lcm of integers.
    Lcm,
    /// pi().
    Pi,
    /// degrees(DOUBLE).
    Degrees,
    /// radians(DOUBLE).
    Radians,
    /// sin(DOUBLE).
    Sin,
    /// cos(DOUBLE).
    Cos,
    /// tan(DOUBLE).
    Tan,
    /// cot(DOUBLE).
    Cot,
    /// asin(DOUBLE).
    Asin,
    /// acos(DOUBLE).
    Acos,
    /// atan(DOUBLE).
    Atan,
    /// atan2(DOUBLE, DOUBLE).
    Atan2,
    /// sinh(DOUBLE).
    Sinh,
    /// cosh(DOUBLE).
    Cosh,
    /// tanh(DOUBLE).
    Tanh,
    /// asinh(DOUBLE).
    Asinh,
    /// acosh(DOUBLE); 22003 below 1.
    Acosh,
    /// atanh(DOUBLE); 22003 outside -1 to 1.
    Atanh,
    /// sind(DOUBLE); in degrees.
    Sind,
    /// cosd(DOUBLE); in degrees.
    Cosd,
    /// tand(DOUBLE); in degrees.
    Tand,
    /// cotd(DOUBLE); in degrees.
    Cotd,
    /// asind(DOUBLE); in degrees.
    Asind,
    /// acosd(DOUBLE); in degrees.
    Acosd,
    /// atand(DOUBLE); in degrees.
    Atand,
    /// atan2d(DOUBLE, DOUBLE); in degrees.
    Atan2d,
    /// The part that equal values of a type with wide decimals share -> BYTEA.
    NumericKey,
    /// A TEXT, or an array of them, with a collation of its own: itself.
    Collate(Collation),
    /// The key of a TEXT in the order of a collation -> BYTEA; of an array of them, the array of
    /// the keys.
    CollationKey(Collation),
    /// The text of a key in the order of a deterministic collation -> TEXT.
    KeyedText,
    /// The value of the result's type that stands for a value of another one in a comparison by
    /// this operator: see [`types::nearest()`].
    Nearest(CompareOp),
    /// The text with which all start that match a pattern of LIKE (TEXT, TEXT escape character).
    LikePrefix,
    /// Bytes that follow all texts that start with TEXT, before all others that are greater.
    AfterPrefix,
    /// scale(NUMERIC) -> INTEGER.
    Scale,
    /// min_scale(NUMERIC) -> INTEGER.
    MinScale,
    /// trim_scale(NUMERIC).
    TrimScale,
    /// factorial(BIGINT) -> NUMERIC.
    Factorial,
    /// width_bucket(DOUBLE, DOUBLE, DOUBLE, INTEGER).
    WidthBucket,
    /// random() -> DOUBLE; volatile.
    Random,
    /// Choice of TABLESAMPLE (BIGINT place, DOUBLE percentage, DOUBLE seed) -> BOOLEAN, the same
    /// for equal arguments; 2202H for a percentage that is none.
    Sampled,
    // Text; arguments TEXT unless said otherwise.
    /// char_length(TEXT) -> INTEGER characters.
    CharLength,
    /// octet_length(TEXT or BYTEA) -> INTEGER; length(BYTEA).
    OctetLength,
    /// bit_length -> INTEGER.
    BitLength,
    /// upper.
    Upper,
    /// lower.
    Lower,
    /// initcap.
    Initcap,
    /// The zone of make_timestamptz, by a name that AT TIME ZONE takes: offsets have their sign as
    /// in texts of times.
    ZoneOfTime,
    /// btrim(TEXT, TEXT characters).
    TrimBoth,
    /// ltrim(TEXT, TEXT characters).
    TrimLeft,
    /// rtrim(TEXT, TEXT characters).
    TrimRight,
    /// lpad(TEXT, INTEGER, TEXT fill).
    PadLeft,
    /// rpad(TEXT, INTEGER, TEXT fill).
    PadRight,
    /// substring(TEXT or BYTEA, INTEGER from [, INTEGER count]), from 1; 22011 on a negative count.
    Substring,
    /// left(TEXT, INTEGER).
    Left,
    /// right(TEXT, INTEGER).
    Right,
    /// replace(TEXT, TEXT, TEXT).
    Replace,
    /// repeat(TEXT, INTEGER).
    Repeat,
    /// reverse.
    Reverse,
    /// strpos(TEXT, TEXT needle) -> INTEGER; position of TEXT and BYTEA.
    Position,
    /// split_part(TEXT, TEXT, INTEGER).
    SplitPart,
    /// `a || b` on TEXT or BYTEA: NULL when one is NULL.
    ConcatOperator,
    /// concat(TEXT ...): NULL counts as empty.
    Concat,
    /// concat_ws(TEXT separator, TEXT ...): NULL values skipped, NULL separator gives NULL.
    ConcatWs,
    /// ascii -> INTEGER.
    Ascii,
    /// chr(INTEGER).
    Chr,
    /// starts_with -> BOOLEAN.
    StartsWith,
    /// translate(TEXT, TEXT, TEXT).
    Translate,
    /// md5(TEXT or BYTEA) -> TEXT.
    Md5,
    /// encode(BYTEA, TEXT format).
    Encode,
    /// decode(TEXT, TEXT format) -> BYTEA.
    Decode,
    /// to_hex(INTEGER or BIGINT): negative numbers as 32 or 64 bits.
    ToHex,
    /// sha224(BYTEA).
    Sha224,
    /// sha256(BYTEA).
    Sha256,
    /// sha384(BYTEA).
    Sha384,
    /// sha512(BYTEA).
    Sha512,
    /// float4send(REAL), float8send(DOUBLE): the bytes of a number, the most significant first.
    FloatSend,
    /// get_byte(BYTEA, INTEGER) -> INTEGER; 2202E outside.
    GetByte,
    /// set_byte(BYTEA, INTEGER, INTEGER).
    SetByte,
    /// get_bit(BYTEA, BIGINT) -> INTEGER; 2202E outside.
    GetBit,
    /// set_bit(BYTEA, BIGINT, INTEGER).
    SetBit,
    /// bit_count(BYTEA) -> BIGINT.
    BitCount,
    /// convert(BYTEA, TEXT source, TEXT target encoding).
    Convert,
    /// Each byte of a BYTEA as the character of that number -> TEXT; made for LIKE.
    BytesAsText,
    /// convert_from(BYTEA, TEXT source encoding) -> TEXT.
    ConvertFrom,
    /// convert_to(TEXT, TEXT target encoding) -> BYTEA.
    ConvertTo,
    /// pg_encoding_to_char(INTEGER) -> NAME.
    EncodingName,
    /// pg_char_to_encoding(TEXT) -> INTEGER.
    EncodingNumber,
    /// pg_encoding_max_length(INTEGER) -> INTEGER; NULL for a number of none.
    EncodingBytes,
    /// pg_size_bytes(TEXT) -> BIGINT.
    SizeBytes,
    /// unistr(TEXT).
    Unistr,
    /// parse_ident(TEXT, BOOLEAN strict) -> TEXT[].
    ParseIdent,
    /// format(TEXT template, TEXT ...): NULL with a NULL template.
    Format,
    /// format(TEXT template, VARIADIC TEXT[]).
    FormatArray,
    /// quote_literal(TEXT).
    QuoteLiteral,
    /// quote_nullable(TEXT): never NULL.
    QuoteNullable,
    /// quote_ident(TEXT).
    QuoteIdent,
    /// regexp_replace(TEXT, TEXT, TEXT [, TEXT flags]), or with INTEGER start, INTEGER n before
    /// the flags, which may be left out then, n only with them.
    RegexpReplace,
    /// regexp_like(TEXT, TEXT pattern, TEXT flags) -> BOOLEAN.
    RegexpLike,
    /// regexp_count(TEXT, TEXT pattern, INTEGER start, TEXT flags) -> INTEGER.
    RegexpCount,
    /// regexp_instr(TEXT, TEXT pattern, INTEGER start, INTEGER n, INTEGER end option, TEXT flags,
    /// INTEGER group) -> INTEGER.
    RegexpInstr,
    /// regexp_substr(TEXT, TEXT pattern, INTEGER start, INTEGER n, TEXT flags, INTEGER group).
    RegexpSubstr,
    /// regexp_match(TEXT, TEXT pattern, TEXT flags) -> TEXT[].
    RegexpGroups,
    /// The rows of regexp_matches(TEXT, TEXT pattern, TEXT flags), each the text of an array
    /// -> TEXT[].
    RegexpAllGroups,
    /// regexp_split_to_array(TEXT, TEXT pattern, TEXT flags) -> TEXT[].
    RegexpSplitToArray,
    /// The rows of regexp_split_to_table(TEXT, TEXT pattern, TEXT flags) -> TEXT[].
    RegexpSplitToTable,
    /// substring(TEXT FROM TEXT pattern): the match or its first group, NULL without.
    RegexpSubstring,
    /// `text ~ pattern` -> BOOLEAN.
    RegexpMatch,
    /// `text ~* pattern` -> BOOLEAN.
    RegexpMatchInsensitive,
    // Date and time; the field of extract and date_trunc is the first argument, a TEXT literal.
    // extract, date_trunc, to_char and sums of a TIMESTAMPTZ, and to_timestamp of a TEXT, may have
    // the name of the session's time zone as a last argument; without, it is UTC.
    /// `CAST(value AS type)` in the time zone that the second argument names, a TEXT: the clocks of
    /// a session.
    CastInZone,
    /// extract(TEXT field, DATE/TIME/TIMESTAMP/TIMESTAMPTZ/INTERVAL) -> NUMERIC, trimmed display,
    /// as PostgreSQL 14 and later; date_part casts it to DOUBLE.
    Extract,
    /// date_trunc(TEXT field, TIMESTAMP/TIMESTAMPTZ/INTERVAL).
    DateTrunc,
    /// date_bin(INTERVAL stride, TIMESTAMP or TIMESTAMPTZ, the same origin).
    DateBin,
    /// A TIME, TIMESTAMP or TIMESTAMPTZ rounded to as many fractional digits of seconds as the
    /// INTEGER literal says: casts to types with a precision.
    RoundSeconds,
    /// isfinite(DATE, TIMESTAMP, TIMESTAMPTZ or INTERVAL) -> BOOLEAN.
    IsFinite,
    /// make_time(INTEGER, INTEGER, DOUBLE).
    MakeTime,
    /// age(TIMESTAMP, TIMESTAMP) -> INTERVAL.
    Age,
    /// make_date(INTEGER, INTEGER, INTEGER).
    MakeDate,
    /// make_timestamp(INTEGER x 5, DOUBLE).
    MakeTimestamp,
    /// make_interval(INTEGER years, months, weeks, days, hours, mins, DOUBLE secs).
    MakeInterval,
    /// to_char(TIMESTAMP/INTERVAL/NUMERIC/DOUBLE/BIGINT, TEXT format).
    ToChar,
    /// to_date(TEXT, TEXT format).
    ToDate,
    /// to_timestamp(TEXT, TEXT format) -> TIMESTAMPTZ, or to_timestamp(DOUBLE epoch).
    ToTimestamp,
    /// to_number(TEXT, TEXT format).
    ToNumber,
    /// TIMESTAMP AT TIME ZONE TEXT -> TIMESTAMPTZ, or the reverse; arguments (zone, value).
    AtTimeZone,
    /// justify_days, justify_hours, justify_interval.
    JustifyDays,
    /// See [`Function::JustifyDays`].
    JustifyHours,
    /// See [`Function::JustifyDays`].
    JustifyInterval,
    /// A CHAR of any length as TEXT, with its blanks.
    HeldText,
    // Arrays. Unless said otherwise a NULL array gives NULL.
    /// ARRAY[...] of arguments that are all of the element type; NULL ones are its NULLs.
    ArrayMake,
    /// ARRAY[...] of arrays of one shape, as an array of one more dimension; NULL ones are empty.
    ArrayNest,
    /// ROW(any, ...), whose fields are of the record's types; never NULL.
    RecordMake,
    /// A field of a record, by its ordinal from 0.
    RecordField(u32),
    /// `value op ANY (array)` -> BOOLEAN: with `=` and a known array the planner makes it IN.
    AnyElement(CompareOp),
    /// `value op ALL (array)` -> BOOLEAN.
    AllElements(CompareOp),
    /// array[INTEGER]..., a subscript for each dimension; NULL outside the array.
    ArrayElement,
    /// Element INTEGER from 1 of an array in the order of unnest; NULL behind the last.
    ArrayNth,
    /// array[INTEGER:INTEGER]..., two bounds for each dimension; the least and greatest INTEGER
    /// stand for bounds left out.
    ArraySlice,
    /// The array after array[INTEGER]... = element: a NULL array counts as empty; 22004 for a NULL
    /// subscript.
    ArraySetElement,
    /// The array after array[INTEGER:INTEGER]... = array, bounds as for `ArraySlice`: a NULL array
    /// counts as empty, a NULL one assigned changes nothing; 22004 for a NULL subscript.
    ArraySetSlice,
    /// array_cat(array, array): a NULL one counts as empty.
    ArrayConcat,
    /// array_append(array, element): a NULL array counts as empty.
    ArrayAppend,
    /// array_prepend(element, array): a NULL array counts as empty.
    ArrayPrepend,
    /// array: the elements of an array of any number of dimensions in one.
    ArrayFlat,
    /// cardinality(array) -> INTEGER.
    Cardinality,
    /// array_length(array, INTEGER dimension) -> INTEGER.
    ArrayLength,
    /// array_lower(array, INTEGER dimension) -> INTEGER.
    ArrayLower,
    /// array_upper(array, INTEGER dimension) -> INTEGER.
    ArrayUpper,
    /// array_ndims(array) -> INTEGER.
    ArrayDimensionCount,
    /// array_dims(array) -> TEXT.
    ArrayDimensions,
    /// array_position(array, element [, INTEGER start]) -> INTEGER; finds NULL, too.
    ArrayPosition,
    /// array_positions(array, element) -> INTEGER[]; finds NULL, too.
    ArrayPositions,
    /// array_remove(array, element); removes NULL, too.
    ArrayRemove,
    /// array_replace(array, element, element); replaces NULL, too.
    ArrayReplace,
    /// width_bucket(element, array) -> INTEGER: how many elements of an ascending array are not
    /// above; 22004 for a NULL one.
    ArrayBucket,
    /// array_fill(element, INTEGER[] lengths [, INTEGER[] first subscripts]); NULL elements count.
    ArrayFill,
    /// trim_array(array, INTEGER); 2202E when there are not so many.
    ArrayTrim,
    /// array_to_string(array, TEXT separator [, TEXT for NULL]) -> TEXT.
    ArrayToString,
    /// string_to_array(TEXT, TEXT separator [, TEXT for NULL]) -> TEXT[]; a NULL separator divides
    /// into characters.
    StringToArray,
    /// `array @> array` -> BOOLEAN.
    ArrayContains,
    /// `array && array` -> BOOLEAN.
    ArrayOverlaps,
    /// A function on JSON.
    Json(super::JsonFunction),
    // NULL handling: arguments of one type.
    /// First argument that is not NULL.
    Coalesce,
    /// NULL when both are equal, else the first.
    NullIf,
    /// Largest argument, NULLs ignored.
    Greatest,
    /// Smallest argument, NULLs ignored.
    Least,
    /// nextval(TEXT sequence) -> BIGINT; volatile, as are the other functions of sequences. What
    /// they do is up to the session: see [`crate::catalog::Sequences`].
    NextVal,
    /// currval(TEXT sequence) -> BIGINT.
    CurrVal,
    /// setval(TEXT sequence, BIGINT value [, BOOLEAN called]) -> BIGINT.
    SetVal,
    /// lastval() -> BIGINT.
    LastVal,
    /// A function that the session carries out; volatile.
    Session(super::SessionFunction),
    /// A routine that users made.
    Routine(super::RoutineCall),
    /// gen_random_uuid(); volatile.
    GenRandomUuid,
    /// A function of an extension.
    Extension(super::ExtensionFunction),
    /// hash of the argument, for tests of skew: hashtext(TEXT) -> INTEGER.
    HashText,
    /// pg_typeof(any) -> TEXT; folded by the binder.
    TypeOf,
    /// Text as CHAR(n) or VARCHAR(n), the expression's type, by the rules of assignment: 22001
    /// where a cast would cut. Made for INSERT.
    AssignText,
    /// The value, if it is one of a domain; 23502, 23514 if it is none. Behind it, where a
    /// condition asks: now() and clock_timestamp(), TIMESTAMPTZ, and the session's time zone, TEXT.
    Domain(super::DomainTests),
    /// A function on packed types; most are strict.
    Packed(PackedCall),
}

impl Function {
    /// True when two calls with equal arguments may differ, so that calls are neither folded nor
    /// merged nor moved.
    pub fn is_volatile(self) -> bool {
        // The catalog is the same for a whole statement.
        let looks_up = matches!(self, Self::Session(super::SessionFunction::Object(..)));
        match self {
            Self::Random | Self::GenRandomUuid => true,
            Self::Extension(function) => function.is_volatile(),
            _ => self.reads_sequences() && !looks_up,
        }
    }

    /// True when a call changes something outside of the query.
    pub fn has_effects(self) -> bool {
        use super::SessionFunction as S;
        match self {
            Self::NextVal | Self::SetVal => true,
            Self::Session(S::CurrentSetting | S::ClockTimestamp | S::StatementTimestamp) => false,
            Self::Session(S::TriggerDepth) => false,
            Self::Session(S::Object(..) | S::Identity(_)) => false,
            Self::Session(_) => true,
            Self::Routine(called) => called.volatility == Volatility::Volatile,
            _ => false,
        }
    }

    /// True for what the session does when it is called: nextval and its kin, set_config.
    pub fn reads_sequences(self) -> bool {
        matches!(
            self,
            Self::NextVal
                | Self::CurrVal
                | Self::SetVal
                | Self::LastVal
                | Self::Session(_)
                | Self::Routine(_)
        )
    }
}
