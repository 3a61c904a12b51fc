//! Types whose values are held as bytes in the order of the type: see [`crate::packed`].

use super::{RangeName, UserRange};
use crate::{DataType, ElementType};

/// The type that a range is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RangeKind {
    /// INTEGER.
    Int4,
    /// BIGINT.
    Int8,
    /// NUMERIC.
    Num,
    /// DATE.
    Date,
    /// TIMESTAMP.
    Ts,
    /// TIMESTAMPTZ.
    TsTz,
    /// The type of bounds that a user chose.
    User(UserRange),
}

impl RangeKind {
    /// Kinds of every database, in an order that never changes.
    pub const ALL: [Self; 6] =
        [Self::Int4, Self::Int8, Self::Num, Self::Date, Self::Ts, Self::TsTz];

    /// The type of the bounds.
    pub fn bound(self) -> DataType {
        self.element().data_type()
    }

    /// The type of the bounds, as one of elements.
    pub fn element(self) -> ElementType {
        match self {
            Self::User(ty) => ty.content().element,
            _ => self.own_element(),
        }
    }

    /// As [`Self::element`], of ranges of every database; others are of INTEGER.
    pub(crate) const fn own_element(self) -> ElementType {
        match self {
            Self::Int4 | Self::User(_) => ElementType::Integer,
            Self::Int8 => ElementType::BigInt,
            Self::Num => ElementType::WideNumeric(None),
            Self::Date => ElementType::Date,
            Self::Ts => ElementType::Timestamp(None),
            Self::TsTz => ElementType::TimestampTz(None),
        }
    }

    /// True for types whose values have a next one.
    pub const fn is_discrete(self) -> bool {
        matches!(self, Self::Int4 | Self::Int8 | Self::Date)
    }
}

/// A type whose values are bytes in the order of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackedType {
    /// INET: an address with the length of its network's prefix.
    Inet,
    /// CIDR: a network.
    Cidr,
    /// MACADDR.
    MacAddr,
    /// MACADDR8.
    MacAddr8,
    /// BIT(n): exactly n bits when given.
    Bit(Option<u32>),
    /// BIT VARYING(n): at most n bits when given.
    VarBit(Option<u32>),
    /// TIMETZ, rounded to so many digits of a second when given.
    TimeTz(Option<u8>),
    /// MONEY: hundredths.
    Money,
    /// A range.
    Range(RangeKind),
    /// Ranges that neither overlap nor touch, in order.
    Multirange(RangeKind),
    /// HSTORE of the extension of that name: pairs of a key and a text.
    HStore,
    /// CITEXT of the extension of that name: text whose case does not count.
    CiText,
    /// TSVECTOR: words of a document.
    TsVector,
    /// TSQUERY: words that are looked for.
    TsQuery,
    /// VECTOR(n) of the extension of that name: floats, exactly n of them when given.
    Vector(Option<u16>),
    /// XID8: the number of a transaction.
    Xid8,
    /// CID: the number of a command in its transaction.
    Cid,
    /// PG_SNAPSHOT: transactions that are seen.
    Snapshot,
    /// TXID_SNAPSHOT, its older name.
    TxidSnapshot,
    /// PG_LSN: a place in the log.
    PgLsn,
    /// POINT.
    Point,
    /// LINE, without ends.
    Line,
    /// LSEG: a part of a line.
    LSeg,
    /// BOX.
    Box,
    /// PATH, open or closed.
    Path,
    /// POLYGON.
    Polygon,
    /// CIRCLE.
    Circle,
}

/// Names and numbers of a packed type in PostgreSQL's catalog.
struct Entry {
    name: &'static str,
    array_name: &'static str,
    /// The name that the catalog has.
    short: &'static str,
    number: u32,
    array_number: u32,
    /// Bytes in PostgreSQL, -1 when they vary.
    bytes: i16,
}

macro_rules! entry {
    ($name:literal, $short:literal, $numbers:expr, $bytes:literal) => {
        Entry {
            name: $name,
            array_name: concat!($name, "[]"),
            short: $short,
            number: $numbers[0],
            array_number: $numbers[1],
            bytes: $bytes,
        }
    };
}

impl PackedType {
    /// Types of every database and of extensions, without lengths, in an order that never changes.
    pub const ALL: [Self; 37] = [
        Self::Inet,
        Self::Cidr,
        Self::MacAddr,
        Self::MacAddr8,
        Self::Bit(None),
        Self::VarBit(None),
        Self::TimeTz(None),
        Self::Money,
        Self::Range(RangeKind::Int4),
        Self::Range(RangeKind::Int8),
        Self::Range(RangeKind::Num),
        Self::Range(RangeKind::Date),
        Self::Range(RangeKind::Ts),
        Self::Range(RangeKind::TsTz),
        Self::Multirange(RangeKind::Int4),
        Self::Multirange(RangeKind::Int8),
        Self::Multirange(RangeKind::Num),
        Self::Multirange(RangeKind::Date),
        Self::Multirange(RangeKind::Ts),
        Self::Multirange(RangeKind::TsTz),
        Self::HStore,
        Self::CiText,
        Self::TsVector,
        Self::TsQuery,
        Self::Vector(None),
        Self::Xid8,
        Self::Cid,
        Self::Snapshot,
        Self::TxidSnapshot,
        Self::PgLsn,
        Self::Point,
        Self::Line,
        Self::LSeg,
        Self::Box,
        Self::Path,
        Self::Polygon,
        Self::Circle,
    ];

    const fn entry(self) -> Entry {
        use RangeKind as K;
        match self {
            Self::Inet => entry!("inet", "inet", [869, 1041], -1),
            Self::Cidr => entry!("cidr", "cidr", [650, 651], -1),
            Self::MacAddr => entry!("macaddr", "macaddr", [829, 1040], 6),
            Self::MacAddr8 => entry!("macaddr8", "macaddr8", [774, 775], 8),
            Self::Bit(_) => entry!("bit", "bit", [1560, 1561], -1),
            Self::VarBit(_) => entry!("bit varying", "varbit", [1562, 1563], -1),
            Self::TimeTz(_) => entry!("time with time zone", "timetz", [1266, 1270], 12),
            Self::Money => entry!("money", "money", [790, 791], 8),
            Self::Range(K::Int4) => entry!("int4range", "int4range", [3904, 3905], -1),
            Self::Range(K::Num) => entry!("numrange", "numrange", [3906, 3907], -1),
            Self::Range(K::Ts) => entry!("tsrange", "tsrange", [3908, 3909], -1),
            Self::Range(K::TsTz) => entry!("tstzrange", "tstzrange", [3910, 3911], -1),
            Self::Range(K::Date) => entry!("daterange", "daterange", [3912, 3913], -1),
            Self::Range(K::Int8) => entry!("int8range", "int8range", [3926, 3927], -1),
            Self::Range(K::User(_)) => USERS,
            Self::Multirange(kind) => multirange_entry(kind),
            Self::TsVector => entry!("tsvector", "tsvector", [3614, 3643], -1),
            Self::TsQuery => entry!("tsquery", "tsquery", [3615, 3645], -1),
            Self::PgLsn => entry!("pg_lsn", "pg_lsn", [3220, 3221], 8),
            Self::Point => entry!("point", "point", [600, 1017], 16),
            Self::Line => entry!("line", "line", [628, 629], 24),
            Self::LSeg => entry!("lseg", "lseg", [601, 1018], 32),
            Self::Box => entry!("box", "box", [603, 1020], 32),
            Self::Path => entry!("path", "path", [602, 1019], -1),
            Self::Polygon => entry!("polygon", "polygon", [604, 1027], -1),
            Self::Circle => entry!("circle", "circle", [718, 719], 24),
            // Numbers that PostgreSQL gives to nothing of its own.
            Self::HStore => entry!("hstore", "hstore", [15990, 15991], -1),
            Self::CiText => entry!("citext", "citext", [15992, 15993], -1),
            Self::Xid8 => entry!("xid8", "xid8", [5069, 271], 8),
            Self::Cid => entry!("cid", "cid", [29, 1012], 4),
            Self::Snapshot => entry!("pg_snapshot", "pg_snapshot", [5038, 5039], -1),
            Self::TxidSnapshot => entry!("txid_snapshot", "txid_snapshot", [2970, 2949], -1),
            Self::Vector(_) => entry!("vector", "vector", [15994, 15995], -1),
        }
    }

    /// The extension that has the type; None for types of every database.
    pub const fn extension(self) -> Option<&'static str> {
        match self {
            Self::HStore => Some("hstore"),
            Self::CiText => Some("citext"),
            Self::Vector(_) => Some("vector"),
            _ => None,
        }
    }

    /// Names and numbers of a type of ranges that a user made.
    fn users(self) -> Option<&'static RangeName> {
        match self {
            Self::Range(RangeKind::User(ty)) => Some(ty.range()),
            Self::Multirange(RangeKind::User(ty)) => Some(ty.multirange()),
            _ => None,
        }
    }

    /// The name without a length.
    pub fn name(self) -> &'static str {
        self.users().map_or(self.entry().name, |users| &users.name)
    }

    /// The name of the type of arrays.
    pub fn array_name(self) -> &'static str {
        match self {
            Self::Range(RangeKind::User(ty)) => ty.range_array(),
            Self::Multirange(RangeKind::User(ty)) => ty.multirange_array(),
            _ => self.entry().array_name,
        }
    }

    /// The number of the type.
    pub fn number(self) -> u32 {
        self.users().map_or(self.entry().number, |users| users.number)
    }

    /// The number of the type of arrays.
    pub fn array_number(self) -> u32 {
        self.users().map_or(self.entry().array_number, |users| users.number + 1)
    }

    /// The type of ranges that a user made and this one is, or is of multiranges of.
    pub fn user_range(self) -> Option<UserRange> {
        match self.range() {
            Some(RangeKind::User(ty)) => Some(ty),
            _ => None,
        }
    }

    /// Bytes of a value in PostgreSQL, -1 when they vary.
    pub const fn postgres_bytes(self) -> i16 {
        self.entry().bytes
    }

    /// The length or precision as PostgreSQL's catalog has it, -1 without one.
    pub fn modifier(self) -> i32 {
        match self {
            Self::Bit(Some(bits)) | Self::VarBit(Some(bits)) => {
                i32::try_from(bits).unwrap_or(i32::MAX)
            }
            Self::TimeTz(Some(digits)) => i32::from(digits),
            Self::Vector(Some(count)) => i32::from(count),
            _ => -1,
        }
    }

    /// The type that PostgreSQL's catalog has under `name` in every database.
    pub fn called(name: &str) -> Option<Self> {
        let own = |ty: &Self| ty.extension().is_none();
        Self::ALL.into_iter().filter(own).find(|ty| ty.entry().short == name)
    }

    /// The type called `name` of an extension.
    pub fn of_extension(name: &str) -> Option<Self> {
        let theirs = |ty: &Self| ty.extension().is_some();
        Self::ALL.into_iter().filter(theirs).find(|ty| ty.entry().short == name)
    }

    /// The type with this number in PostgreSQL's catalog.
    pub fn numbered(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.number() == number)
    }

    /// The type without a length.
    pub const fn without_length(self) -> Self {
        match self {
            Self::Bit(_) => Self::Bit(None),
            Self::VarBit(_) => Self::VarBit(None),
            Self::TimeTz(_) => Self::TimeTz(None),
            Self::Vector(_) => Self::Vector(None),
            other => other,
        }
    }

    /// True when values of both types are the same bytes.
    pub fn same_form(self, other: Self) -> bool {
        self.without_length() == other.without_length()
    }

    /// The kind of a range or multirange.
    pub const fn range(self) -> Option<RangeKind> {
        match self {
            Self::Range(kind) | Self::Multirange(kind) => Some(kind),
            _ => None,
        }
    }

    /// INET and CIDR.
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Inet | Self::Cidr)
    }

    /// The type of what a shape has under subscripts.
    pub const fn part(self) -> Option<DataType> {
        match self {
            Self::Point | Self::Line => Some(DataType::Double),
            Self::LSeg | Self::Box => Some(DataType::Packed(Self::Point)),
            _ => None,
        }
    }

    /// Shapes of the plane, which have no order.
    pub const fn is_shape(self) -> bool {
        matches!(
            self,
            Self::Point
                | Self::Line
                | Self::LSeg
                | Self::Box
                | Self::Path
                | Self::Polygon
                | Self::Circle
        )
    }

    /// BIT and BIT VARYING.
    pub const fn is_bits(self) -> bool {
        matches!(self, Self::Bit(_) | Self::VarBit(_))
    }
}

/// Entry of the types of ranges that users make, which have names and numbers of their own.
const USERS: Entry = entry!("range", "range", [0, 0], -1);

const fn multirange_entry(kind: RangeKind) -> Entry {
    match kind {
        RangeKind::Int4 => entry!("int4multirange", "int4multirange", [4451, 6150], -1),
        RangeKind::Num => entry!("nummultirange", "nummultirange", [4532, 6151], -1),
        RangeKind::Ts => entry!("tsmultirange", "tsmultirange", [4533, 6152], -1),
        RangeKind::TsTz => entry!("tstzmultirange", "tstzmultirange", [4534, 6153], -1),
        RangeKind::Date => entry!("datemultirange", "datemultirange", [4535, 6155], -1),
        RangeKind::Int8 => entry!("int8multirange", "int8multirange", [4536, 6157], -1),
        RangeKind::User(_) => USERS,
    }
}
