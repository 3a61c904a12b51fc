//! The functions and operators on packed types.

use super::call::Parameter::{self, Bound, Is, Multirange, Multiranges, Range, Ranges};
use super::{
    Call, Given, PackedFunction, bits, geometry, hstore, identity, lsn, mac, money, network,
    range_functions, search, vector_functions as vector, zoned_time,
};
use crate::{DataType, ElementType, PackedType, RangeKind, Result};

type Compute = fn(&Call<'_>, &mut Vec<u8>) -> Result<Given>;

const INET: Parameter = packed(PackedType::Inet);
const CIDR: Parameter = packed(PackedType::Cidr);
const MAC: Parameter = packed(PackedType::MacAddr);
const MAC8: Parameter = packed(PackedType::MacAddr8);
const BIT: Parameter = packed(PackedType::Bit(None));
const VARBIT: Parameter = packed(PackedType::VarBit(None));
const TIMETZ: Parameter = packed(PackedType::TimeTz(None));
const MONEY: Parameter = packed(PackedType::Money);
const XID8: Parameter = packed(PackedType::Xid8);
const SNAPSHOT: Parameter = packed(PackedType::Snapshot);
const TXID_SNAPSHOT: Parameter = packed(PackedType::TxidSnapshot);
const LONGS: Parameter = Is(DataType::Array(ElementType::BigInt));
const HSTORE: Parameter = packed(PackedType::HStore);
const VECTOR: Parameter = packed(PackedType::Vector(None));
const JSON: Parameter = Is(DataType::Json);
const JSONB: Parameter = Is(DataType::Jsonb);
const TEXTS: Parameter = Is(DataType::Array(ElementType::Text));
const TEXT: Parameter = Is(DataType::Text);
const INT: Parameter = Is(DataType::Integer);
const SHORT: Parameter = Is(DataType::SmallInt);
const LONG: Parameter = Is(DataType::BigInt);
const REAL: Parameter = Is(DataType::Real);
const DOUBLE: Parameter = Is(DataType::Double);
const BOOL: Parameter = Is(DataType::Boolean);
const SPAN: Parameter = Is(DataType::INTERVAL);
const DATE: Parameter = Is(DataType::Date);
const LSN: Parameter = packed(PackedType::PgLsn);
const NUMBER: Parameter = Is(DataType::WideNumeric(None));
const INSTANT: Parameter = Is(DataType::TIMESTAMPTZ);

pub(super) const fn packed(ty: PackedType) -> Parameter {
    Is(DataType::Packed(ty))
}

/// A function under its name and that of the operator that it is.
pub(super) const fn row(
    name: &'static str,
    operator: &'static str,
    parameters: &'static [Parameter],
    gives: Parameter,
    compute: Compute,
) -> PackedFunction {
    PackedFunction { name, operator, parameters, rest: None, gives, is_strict: true, compute }
}

pub(super) const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    gives: Parameter,
    compute: Compute,
) -> PackedFunction {
    row(name, "", parameters, gives, compute)
}

/// A function on packed types, by its place in their table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackedCall {
    group: u8,
    at: u16,
}

impl PackedCall {
    /// All functions.
    pub fn all() -> impl Iterator<Item = Self> {
        let groups = GROUPS.iter().enumerate();
        groups.flat_map(|(group, rows)| {
            // There are some hundreds.
            (0..rows.len()).map(move |at| Self { group: group as u8, at: at as u16 })
        })
    }

    /// The function.
    pub fn function(self) -> &'static PackedFunction {
        &GROUPS[usize::from(self.group)][usize::from(self.at)]
    }

    /// The extension that has the function; None for those of every database.
    pub fn extension(self) -> Option<&'static str> {
        match self.group {
            OF_HSTORE => Some("hstore"),
            OF_VECTOR => Some("vector"),
            _ => None,
        }
    }

    /// The functions called `name`.
    pub fn named(name: &str) -> impl Iterator<Item = Self> {
        Self::all().filter(move |call| call.function().name == name)
    }

    /// The functions on shapes, whose names users may give to functions of theirs.
    pub fn is_of_shapes(self) -> bool {
        matches!(self.group, TESTS_OF_SHAPES | VALUES_OF_SHAPES)
    }

    /// The functions that the operator `operator` stands for.
    pub fn of_operator(operator: &str) -> impl Iterator<Item = Self> {
        Self::all().filter(move |call| call.function().operator == operator)
    }
}

/// All functions, those of one type together.
static GROUPS: [&[PackedFunction]; 17] = [
    NETWORKS,
    MACS,
    BITS,
    TIMES,
    AMOUNTS,
    RANGES,
    RANGE_OPERATORS,
    MULTIRANGE_OPERATORS,
    CONSTRUCTORS,
    HSTORES,
    CONSTRUCTORS_OF_USERS,
    search::SEARCH,
    VECTORS,
    IDENTITIES,
    geometry::SHAPE_TESTS,
    geometry::SHAPE_VALUES,
    PLACES,
];

/// The places of the functions on shapes.
const TESTS_OF_SHAPES: u8 = 14;
const VALUES_OF_SHAPES: u8 = 15;

/// A shape as one of another type: what the function of that name gives; None for NULL, or when
/// there is none.
pub(super) fn cast_of(bytes: &[u8], from: PackedType, to: PackedType) -> Option<Result<Vec<u8>>> {
    let (given, taken) = (packed(to), [packed(from)]);
    let named = PackedCall::named(to.name()).map(PackedCall::function);
    let function = named.into_iter().find(|f| f.gives == given && f.parameters == taken)?;
    let (types, ty) = ([DataType::Packed(from)], DataType::Packed(to));
    let call = Call { arguments: &[super::Arg::Bytes(bytes)], types: &types, ty };
    let mut out = Vec::new();
    match (function.compute)(&call, &mut out) {
        Ok(Given::Bytes) => Some(Ok(out)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    }
}

/// The place of the functions of the extension hstore.
const OF_HSTORE: u8 = 9;
/// The place of those of the extension vector.
const OF_VECTOR: u8 = 12;

const NETWORKS: &[PackedFunction] = &[
    function("host", &[INET], TEXT, network::host),
    function("text", &[INET], TEXT, network::text),
    function("abbrev", &[INET], TEXT, network::abbrev_inet),
    function("abbrev", &[CIDR], TEXT, network::abbrev_cidr),
    function("masklen", &[INET], INT, network::masklen),
    function("family", &[INET], INT, network::family),
    function("network", &[INET], CIDR, network::network),
    function("broadcast", &[INET], INET, network::broadcast),
    function("netmask", &[INET], INET, network::netmask),
    function("hostmask", &[INET], INET, network::hostmask),
    function("set_masklen", &[INET, INT], INET, network::set_masklen),
    function("set_masklen", &[CIDR, INT], CIDR, network::set_masklen_cidr),
    function("inet_same_family", &[INET, INET], BOOL, network::same_family),
    function("inet_merge", &[INET, INET], CIDR, network::merge),
    row("network_sub", "<<", &[INET, INET], BOOL, network::within),
    row("network_subeq", "<<=", &[INET, INET], BOOL, network::within_or_same),
    row("network_sup", ">>", &[INET, INET], BOOL, network::contains),
    row("network_supeq", ">>=", &[INET, INET], BOOL, network::contains_or_same),
    row("network_overlap", "&&", &[INET, INET], BOOL, network::overlaps),
    row("inetnot", "~", &[INET], INET, network::not),
    row("inetand", "&", &[INET, INET], INET, network::and),
    row("inetor", "|", &[INET, INET], INET, network::or),
    row("inetpl", "+", &[INET, LONG], INET, network::add),
    row("int8pl_inet", "+", &[LONG, INET], INET, network::add_to),
    row("inetmi_int8", "-", &[INET, LONG], INET, network::subtract),
    row("inetmi", "-", &[INET, INET], LONG, network::difference),
];

const IDENTITIES: &[PackedFunction] = &[
    function("pg_snapshot_xmin", &[SNAPSHOT], XID8, identity::xmin),
    function("pg_snapshot_xmax", &[SNAPSHOT], XID8, identity::xmax),
    function("txid_snapshot_xmin", &[TXID_SNAPSHOT], LONG, identity::xmin),
    function("txid_snapshot_xmax", &[TXID_SNAPSHOT], LONG, identity::xmax),
    function("pg_visible_in_snapshot", &[XID8, SNAPSHOT], BOOL, identity::is_visible),
    function("txid_visible_in_snapshot", &[LONG, TXID_SNAPSHOT], BOOL, identity::is_visible),
    function("xid8cmp", &[XID8, XID8], INT, identity::compare),
    function("#pg_snapshot_xip", &[SNAPSHOT], array_of(PackedType::Xid8), identity::running),
    function("#txid_snapshot_xip", &[TXID_SNAPSHOT], LONGS, identity::running),
];

const MACS: &[PackedFunction] = &[
    function("trunc", &[MAC], MAC, mac::trunc),
    function("trunc", &[MAC8], MAC8, mac::trunc),
    function("macaddr8_set7bit", &[MAC8], MAC8, mac::set7bit),
    row("macaddr_not", "~", &[MAC], MAC, mac::not),
    row("macaddr_and", "&", &[MAC, MAC], MAC, mac::and),
    row("macaddr_or", "|", &[MAC, MAC], MAC, mac::or),
    row("macaddr8_not", "~", &[MAC8], MAC8, mac::not),
    row("macaddr8_and", "&", &[MAC8, MAC8], MAC8, mac::and),
    row("macaddr8_or", "|", &[MAC8, MAC8], MAC8, mac::or),
];

const BITS: &[PackedFunction] = &[
    row("bitand", "&", &[BIT, BIT], BIT, bits::and),
    row("bitor", "|", &[BIT, BIT], BIT, bits::or),
    row("bitxor", "#", &[BIT, BIT], BIT, bits::xor),
    row("bitnot", "~", &[BIT], BIT, bits::not),
    row("bitshiftleft", "<<", &[BIT, INT], BIT, bits::shift_left),
    row("bitshiftright", ">>", &[BIT, INT], BIT, bits::shift_right),
    row("bitcat", "||", &[VARBIT, VARBIT], VARBIT, bits::concatenate),
    function("length", &[BIT], INT, bits::length),
    function("bit_length", &[BIT], INT, bits::length),
    function("octet_length", &[BIT], INT, bits::octet_length),
    function("bit_count", &[BIT], LONG, bits::bit_count),
    function("substring", &[BIT, INT], BIT, bits::substring),
    function("substring", &[BIT, INT, INT], BIT, bits::substring),
    function("overlay", &[BIT, BIT, INT], BIT, bits::overlay),
    function("overlay", &[BIT, BIT, INT, INT], BIT, bits::overlay),
    function("position", &[BIT, BIT], INT, bits::position),
    function("get_bit", &[BIT, INT], INT, bits::get_bit),
    function("set_bit", &[BIT, INT, INT], BIT, bits::set_bit),
];

const TIMES: &[PackedFunction] = &[
    row("timetz_pl_interval", "+", &[TIMETZ, SPAN], TIMETZ, zoned_time::add),
    row("interval_pl_timetz", "+", &[SPAN, TIMETZ], TIMETZ, zoned_time::add_to),
    row("timetz_mi_interval", "-", &[TIMETZ, SPAN], TIMETZ, zoned_time::subtract),
    row("datetimetz_pl", "+", &[DATE, TIMETZ], INSTANT, zoned_time::on_date),
    row("timetzdate_pl", "+", &[TIMETZ, DATE], INSTANT, zoned_time::to_date),
    function("timezone", &[SPAN, TIMETZ], TIMETZ, zoned_time::at_offset),
    function("timezone", &[TEXT, TIMETZ], TIMETZ, zoned_time::at_zone),
    function("#offset", &[TIMETZ], INT, zoned_time::offset),
    function("#micros", &[TIMETZ], LONG, zoned_time::micros),
];

const AMOUNTS: &[PackedFunction] = &[
    row("cash_pl", "+", &[MONEY, MONEY], MONEY, money::add),
    row("cash_mi", "-", &[MONEY, MONEY], MONEY, money::subtract),
    row("cash_mul_int2", "*", &[MONEY, SHORT], MONEY, money::times_integer),
    row("cash_mul_int4", "*", &[MONEY, INT], MONEY, money::times_integer),
    row("cash_mul_int8", "*", &[MONEY, LONG], MONEY, money::times_integer),
    row("cash_mul_flt4", "*", &[MONEY, REAL], MONEY, money::times_double),
    row("cash_mul_flt8", "*", &[MONEY, DOUBLE], MONEY, money::times_double),
    row("int2_mul_cash", "*", &[SHORT, MONEY], MONEY, money::integer_times),
    row("int4_mul_cash", "*", &[INT, MONEY], MONEY, money::integer_times),
    row("int8_mul_cash", "*", &[LONG, MONEY], MONEY, money::integer_times),
    row("flt4_mul_cash", "*", &[REAL, MONEY], MONEY, money::double_times),
    row("flt8_mul_cash", "*", &[DOUBLE, MONEY], MONEY, money::double_times),
    row("cash_div_int2", "/", &[MONEY, SHORT], MONEY, money::by_integer),
    row("cash_div_int4", "/", &[MONEY, INT], MONEY, money::by_integer),
    row("cash_div_int8", "/", &[MONEY, LONG], MONEY, money::by_integer),
    row("cash_div_flt4", "/", &[MONEY, REAL], MONEY, money::by_double),
    row("cash_div_flt8", "/", &[MONEY, DOUBLE], MONEY, money::by_double),
    row("cash_div_cash", "/", &[MONEY, MONEY], DOUBLE, money::quotient),
    function("cash_words", &[MONEY], TEXT, money::in_words),
    function("#sum", &[array_of(PackedType::Money)], MONEY, money::sum),
    function("#bit_and", &[array_of(PackedType::Bit(None))], BIT, bits::all_and),
    function("#bit_or", &[array_of(PackedType::Bit(None))], BIT, bits::all_or),
    function("#bit_xor", &[array_of(PackedType::Bit(None))], BIT, bits::all_xor),
];

const fn array_of(ty: PackedType) -> Parameter {
    Is(DataType::Array(ElementType::Packed(ty)))
}

const RANGES: &[PackedFunction] = &[
    function("lower", &[Range], Bound, range_functions::lower),
    function("upper", &[Range], Bound, range_functions::upper),
    function("isempty", &[Range], BOOL, range_functions::is_empty),
    function("lower_inc", &[Range], BOOL, range_functions::lower_inc),
    function("upper_inc", &[Range], BOOL, range_functions::upper_inc),
    function("lower_inf", &[Range], BOOL, range_functions::lower_inf),
    function("upper_inf", &[Range], BOOL, range_functions::upper_inf),
    function("range_merge", &[Range, Range], Range, range_functions::merge),
    function("lower", &[Multirange], Bound, range_functions::lower),
    function("upper", &[Multirange], Bound, range_functions::upper),
    function("isempty", &[Multirange], BOOL, range_functions::is_empty),
    function("lower_inc", &[Multirange], BOOL, range_functions::lower_inc),
    function("upper_inc", &[Multirange], BOOL, range_functions::upper_inc),
    function("lower_inf", &[Multirange], BOOL, range_functions::lower_inf),
    function("upper_inf", &[Multirange], BOOL, range_functions::upper_inf),
    function("range_merge", &[Multirange], Range, range_functions::merge),
    function("multirange", &[Range], Multirange, range_functions::multirange),
    function("#unnest", &[Multirange], Ranges, range_functions::ranges),
    function("#range_agg", &[Ranges], Multirange, range_functions::union_of_all),
    function("#range_agg", &[Multiranges], Multirange, range_functions::union_of_all),
    function("#range_intersect_agg", &[Ranges], Range, range_functions::shared_by_all),
    function("#range_intersect_agg", &[Multiranges], Multirange, range_functions::shared_by_all),
];

const RANGE_OPERATORS: &[PackedFunction] = &[
    row("range_contains_elem", "@>", &[Range, Bound], BOOL, range_functions::contains_value),
    row("range_contains", "@>", &[Range, Range], BOOL, range_functions::contains),
    row("elem_contained_by_range", "<@", &[Bound, Range], BOOL, range_functions::value_contained),
    row("range_contained_by", "<@", &[Range, Range], BOOL, range_functions::contained),
    row("range_overlaps", "&&", &[Range, Range], BOOL, range_functions::overlaps),
    row("range_before", "<<", &[Range, Range], BOOL, range_functions::before),
    row("range_after", ">>", &[Range, Range], BOOL, range_functions::after),
    row("range_overleft", "&<", &[Range, Range], BOOL, range_functions::ends_by),
    row("range_overright", "&>", &[Range, Range], BOOL, range_functions::begins_at),
    row("range_adjacent", "-|-", &[Range, Range], BOOL, range_functions::adjacent),
    row("range_union", "+", &[Range, Range], Range, range_functions::union),
    row("range_intersect", "*", &[Range, Range], Range, range_functions::intersection),
    row("range_minus", "-", &[Range, Range], Range, range_functions::difference),
];

const MULTIRANGE_OPERATORS: &[PackedFunction] = &[
    row(
        "multirange_contains_elem",
        "@>",
        &[Multirange, Bound],
        BOOL,
        range_functions::contains_value,
    ),
    row("multirange_contains_range", "@>", &[Multirange, Range], BOOL, range_functions::contains),
    row("range_contains_multirange", "@>", &[Range, Multirange], BOOL, range_functions::contains),
    row(
        "multirange_contains_multirange",
        "@>",
        &[Multirange, Multirange],
        BOOL,
        range_functions::contains,
    ),
    row(
        "elem_contained_by_multirange",
        "<@",
        &[Bound, Multirange],
        BOOL,
        range_functions::value_contained,
    ),
    row(
        "range_contained_by_multirange",
        "<@",
        &[Range, Multirange],
        BOOL,
        range_functions::contained,
    ),
    row(
        "multirange_contained_by_range",
        "<@",
        &[Multirange, Range],
        BOOL,
        range_functions::contained,
    ),
    row(
        "multirange_contained_by_multirange",
        "<@",
        &[Multirange, Multirange],
        BOOL,
        range_functions::contained,
    ),
    row("range_overlaps_multirange", "&&", &[Range, Multirange], BOOL, range_functions::overlaps),
    row("multirange_overlaps_range", "&&", &[Multirange, Range], BOOL, range_functions::overlaps),
    row(
        "multirange_overlaps_multirange",
        "&&",
        &[Multirange, Multirange],
        BOOL,
        range_functions::overlaps,
    ),
    row("range_before_multirange", "<<", &[Range, Multirange], BOOL, range_functions::before),
    row("multirange_before_range", "<<", &[Multirange, Range], BOOL, range_functions::before),
    row(
        "multirange_before_multirange",
        "<<",
        &[Multirange, Multirange],
        BOOL,
        range_functions::before,
    ),
    row("range_after_multirange", ">>", &[Range, Multirange], BOOL, range_functions::after),
    row("multirange_after_range", ">>", &[Multirange, Range], BOOL, range_functions::after),
    row(
        "multirange_after_multirange",
        ">>",
        &[Multirange, Multirange],
        BOOL,
        range_functions::after,
    ),
    row("range_overleft_multirange", "&<", &[Range, Multirange], BOOL, range_functions::ends_by),
    row("multirange_overleft_range", "&<", &[Multirange, Range], BOOL, range_functions::ends_by),
    row(
        "multirange_overleft_multirange",
        "&<",
        &[Multirange, Multirange],
        BOOL,
        range_functions::ends_by,
    ),
    row("range_overright_multirange", "&>", &[Range, Multirange], BOOL, range_functions::begins_at),
    row("multirange_overright_range", "&>", &[Multirange, Range], BOOL, range_functions::begins_at),
    row(
        "multirange_overright_multirange",
        "&>",
        &[Multirange, Multirange],
        BOOL,
        range_functions::begins_at,
    ),
    row("range_adjacent_multirange", "-|-", &[Range, Multirange], BOOL, range_functions::adjacent),
    row("multirange_adjacent_range", "-|-", &[Multirange, Range], BOOL, range_functions::adjacent),
    row(
        "multirange_adjacent_multirange",
        "-|-",
        &[Multirange, Multirange],
        BOOL,
        range_functions::adjacent,
    ),
    row("multirange_union", "+", &[Multirange, Multirange], Multirange, range_functions::union),
    row(
        "multirange_intersect",
        "*",
        &[Multirange, Multirange],
        Multirange,
        range_functions::intersection,
    ),
    row(
        "multirange_minus",
        "-",
        &[Multirange, Multirange],
        Multirange,
        range_functions::difference,
    ),
];

/// A function that NULL is an argument of.
const fn lenient(
    name: &'static str,
    parameters: &'static [Parameter],
    gives: Parameter,
    compute: Compute,
) -> PackedFunction {
    PackedFunction { is_strict: false, ..function(name, parameters, gives, compute) }
}

const HSTORES: &[PackedFunction] = &[
    function("hstore", &[TEXTS], HSTORE, hstore::from_array),
    lenient("hstore", &[TEXT, TEXT], HSTORE, hstore::from_pair),
    lenient("hstore", &[TEXTS, TEXTS], HSTORE, hstore::from_arrays),
    row("fetchval", "->", &[HSTORE, TEXT], TEXT, hstore::fetch),
    row("slice_array", "->", &[HSTORE, TEXTS], TEXTS, hstore::fetch_all),
    row("exist", "?", &[HSTORE, TEXT], BOOL, hstore::exists),
    row("exists_any", "?|", &[HSTORE, TEXTS], BOOL, hstore::exists_any),
    row("exists_all", "?&", &[HSTORE, TEXTS], BOOL, hstore::exists_all),
    row("hs_concat", "||", &[HSTORE, HSTORE], HSTORE, hstore::concatenate),
    row("hs_contains", "@>", &[HSTORE, HSTORE], BOOL, hstore::contains),
    row("hs_contained", "<@", &[HSTORE, HSTORE], BOOL, hstore::contained),
    row("delete", "-", &[HSTORE, TEXT], HSTORE, hstore::without_key),
    row("delete", "-", &[HSTORE, TEXTS], HSTORE, hstore::without_keys),
    row("delete", "-", &[HSTORE, HSTORE], HSTORE, hstore::without_pairs),
    function("slice", &[HSTORE, TEXTS], HSTORE, hstore::slice),
    function("defined", &[HSTORE, TEXT], BOOL, hstore::defined),
    function("akeys", &[HSTORE], TEXTS, hstore::keys),
    function("avals", &[HSTORE], TEXTS, hstore::values),
    function("hstore_to_array", &[HSTORE], TEXTS, hstore::to_array),
    function("hstore_to_matrix", &[HSTORE], TEXTS, hstore::to_matrix),
    function("hstore_to_json", &[HSTORE], JSON, hstore::to_json),
    function("hstore_to_jsonb", &[HSTORE], JSONB, hstore::to_json),
    function("hstore_to_json_loose", &[HSTORE], JSON, hstore::to_json_loose),
    function("hstore_to_jsonb_loose", &[HSTORE], JSONB, hstore::to_json_loose),
];

/// The constructors of a kind of ranges.
macro_rules! constructors {
    ($(($range:literal, $multirange:literal, $kind:expr)),*) => {
        &[$(
            constructor($range, &[bound_of($kind), bound_of($kind)], $kind),
            constructor($range, &[bound_of($kind), bound_of($kind), TEXT], $kind),
            several($multirange, &[], $kind, range_functions::multirange),
            several($multirange, &[packed(PackedType::Range($kind))], $kind,
                range_functions::multirange),
            several($multirange, &[array_of(PackedType::Range($kind))], $kind,
                range_functions::multirange_of_array),
        )*]
    };
}

const CONSTRUCTORS: &[PackedFunction] = constructors!(
    ("int4range", "int4multirange", RangeKind::Int4),
    ("int8range", "int8multirange", RangeKind::Int8),
    ("numrange", "nummultirange", RangeKind::Num),
    ("daterange", "datemultirange", RangeKind::Date),
    ("tsrange", "tsmultirange", RangeKind::Ts),
    ("tstzrange", "tstzmultirange", RangeKind::TsTz)
);

/// The type of the bounds of ranges of every database.
const fn bound_of(kind: RangeKind) -> Parameter {
    Is(kind.own_element().data_type())
}

/// Constructors of ranges and multiranges that users made.
const CONSTRUCTORS_OF_USERS: &[PackedFunction] = &[
    lenient("#range", &[Bound, Bound], Range, range_functions::construct),
    lenient("#range", &[Bound, Bound, TEXT], Range, range_functions::construct),
    function("#multirange", &[], Multirange, range_functions::multirange),
    PackedFunction {
        rest: Some(Range),
        ..function("#multirange", &[Range], Multirange, range_functions::multirange)
    },
    function("#multirange", &[Ranges], Multirange, range_functions::multirange_of_array),
];

const VECTORS: &[PackedFunction] = &[
    row("l2_distance", "<->", &[VECTOR, VECTOR], DOUBLE, vector::l2_distance),
    row(
        "vector_negative_inner_product",
        "<#>",
        &[VECTOR, VECTOR],
        DOUBLE,
        vector::negative_inner_product,
    ),
    row("cosine_distance", "<=>", &[VECTOR, VECTOR], DOUBLE, vector::cosine_distance),
    row("l1_distance", "<+>", &[VECTOR, VECTOR], DOUBLE, vector::l1_distance),
    row("vector_add", "+", &[VECTOR, VECTOR], VECTOR, vector::add),
    row("vector_sub", "-", &[VECTOR, VECTOR], VECTOR, vector::subtract),
    row("vector_mul", "*", &[VECTOR, VECTOR], VECTOR, vector::multiply),
    row("vector_concat", "||", &[VECTOR, VECTOR], VECTOR, vector::concatenate),
    function("inner_product", &[VECTOR, VECTOR], DOUBLE, vector::inner_product),
    function("vector_dims", &[VECTOR], INT, vector::dimensions),
    function("vector_norm", &[VECTOR], DOUBLE, vector::norm),
    function("l2_normalize", &[VECTOR], VECTOR, vector::l2_normalize),
    function("binary_quantize", &[VECTOR], BIT, vector::binary_quantize),
    function("subvector", &[VECTOR, INT, INT], VECTOR, vector::subvector),
    function("vector_cmp", &[VECTOR, VECTOR], INT, vector::compare),
    function("vector_l2_squared_distance", &[VECTOR, VECTOR], DOUBLE, vector::squared_l2_distance),
    function("vector_spherical_distance", &[VECTOR, VECTOR], DOUBLE, vector::spherical_distance),
    function("#sum", &[array_of(PackedType::Vector(None))], VECTOR, vector::sum),
    function("#avg", &[array_of(PackedType::Vector(None))], VECTOR, vector::average),
];

const PLACES: &[PackedFunction] = &[
    row("pg_lsn_mi", "-", &[LSN, LSN], NUMBER, lsn::difference),
    row("pg_lsn_pli", "+", &[LSN, NUMBER], LSN, lsn::plus),
    row("numeric_pl_pg_lsn", "+", &[NUMBER, LSN], LSN, lsn::plus),
    row("pg_lsn_mii", "-", &[LSN, NUMBER], LSN, lsn::minus),
    function("pg_wal_lsn_diff", &[LSN, LSN], NUMBER, lsn::difference),
    function("pg_lsn", &[NUMBER], LSN, lsn::of_number),
];

const fn constructor(
    name: &'static str,
    parameters: &'static [Parameter],
    kind: RangeKind,
) -> PackedFunction {
    PackedFunction {
        is_strict: false,
        ..function(name, parameters, packed(PackedType::Range(kind)), range_functions::construct)
    }
}

/// A constructor of a multirange; one that takes a range takes more of them.
const fn several(
    name: &'static str,
    parameters: &'static [Parameter],
    kind: RangeKind,
    compute: Compute,
) -> PackedFunction {
    let rest = match parameters {
        [Is(DataType::Packed(_))] => Some(packed(PackedType::Range(kind))),
        _ => None,
    };
    let gives = packed(PackedType::Multirange(kind));
    PackedFunction { rest, ..function(name, parameters, gives, compute) }
}
