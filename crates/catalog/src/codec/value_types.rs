//! The forms of types: those of columns, and those that users make.

use sql::catalog::{Domain, DomainDef, UserType};
use types::{
    Attribute, DataType, ElementType, EnumLabel, EnumType, IntervalForm, NumericType, PackedType,
    RangeContent, RangeKind, RangeName, RangeOptions, RecordField, RecordType, RegKind, Result,
    UserRange, WideDigits,
};

use super::field::{Codec, Decode, Reader, Writer, damaged, record};

record!(EnumLabel { position, text });

/// Number, key, name and labels.
impl Codec for EnumType {
    fn put(&self, out: &mut Writer<'_>) {
        out.field(&self.number());
        out.field(self.key());
        out.field(self.name());
        out.field(&self.labels().to_vec());
    }
}

impl Decode for EnumType {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let number = from.field()?;
        let (key, name): (String, String) = (from.field()?, from.field()?);
        let labels = from.field()?;
        Self::new(&key, &name, number, labels)
    }
}

/// Numbers of a composite type, as a kind of types and as a type of values: without domains and
/// with them.
const COMPOSITE: u8 = 150;
const COMPOSITE_OF_DOMAINS: u8 = 240;

/// The number of a composite type.
fn composite_number(ty: RecordType) -> u8 {
    let has_domains = ty.attributes().iter().any(|attribute| attribute.domain.is_some());
    if has_domains { COMPOSITE_OF_DOMAINS } else { COMPOSITE }
}

/// A composite type behind `number`.
fn get_composite(number: u8, from: &mut Reader<'_>) -> Result<RecordType> {
    let plain = RecordType::get(from)?;
    if number == COMPOSITE {
        return Ok(plain);
    }
    let domains: Vec<Option<u32>> = from.field()?;
    let mut attributes = plain.attributes();
    for (attribute, domain) in attributes.iter_mut().zip(domains) {
        attribute.domain = domain;
    }
    let (key, name) = (plain.key().unwrap_or_default(), plain.name());
    RecordType::composite(key, name, plain.number().unwrap_or_default(), attributes)
}

/// A composite type: number, key, name and attributes; domains of attributes where there are any.
impl Codec for RecordType {
    fn put(&self, out: &mut Writer<'_>) {
        out.field(&self.number().unwrap_or_default());
        out.field(self.key().unwrap_or_default());
        out.field(self.name());
        let field = |field: &RecordField| (field.name.clone(), field.ty);
        out.field(&self.fields().iter().map(field).collect::<Vec<_>>());
        if composite_number(*self) == COMPOSITE_OF_DOMAINS {
            let domains = self.attributes().into_iter().map(|attribute| attribute.domain);
            out.field(&domains.collect::<Vec<Option<u32>>>());
        }
    }
}

impl Decode for RecordType {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        types::stack::deep(|| {
            let number = from.field()?;
            let (key, name): (String, String) = (from.field()?, from.field()?);
            let fields: Vec<(String, DataType)> = from.field()?;
            let field = |(name, ty)| {
                let field = RecordField { name, ty };
                Attribute { field, domain: None }
            };
            Self::composite(&key, &name, number, fields.into_iter().map(field).collect())
        })
    }
}

record!(RangeName { key, name, number });
record!(RangeOptions { class, collation, difference });

/// A type of ranges: names of both types, the type of the bounds, options.
impl Codec for UserRange {
    fn put(&self, out: &mut Writer<'_>) {
        let content = self.content();
        out.field(&content.range);
        out.field(&content.multirange);
        out.field(&content.element.data_type());
        out.field(&content.options);
    }
}

impl Decode for UserRange {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let (range, multirange) = (from.field()?, from.field()?);
        let element = ElementType::new(from.field()?);
        let element = element.ok_or_else(|| damaged("a range of what has no order"))?;
        Self::new(RangeContent { range, multirange, element, options: from.field()? })
    }
}

/// Its content.
impl Codec for Domain {
    fn put(&self, out: &mut Writer<'_>) {
        DomainDef::put(self, out);
    }
}

impl Decode for Domain {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        types::stack::deep(|| Self::new(DomainDef::get(from)?))
    }
}

/// One byte, then what belongs to it.
impl Codec for UserType {
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Enum(ty) => {
                out.raw(&[0]);
                ty.put(out);
            }
            Self::Domain(domain) => {
                out.raw(&[1]);
                domain.put(out);
            }
            Self::Composite(ty) => {
                out.raw(&[composite_number(*ty)]);
                ty.put(out);
            }
            Self::Range(ty) => {
                out.raw(&[235]);
                ty.put(out);
            }
            Self::Multirange(ty) => {
                out.raw(&[236]);
                ty.put(out);
            }
        }
    }
}

impl Decode for UserType {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match u8::get(from)? {
            0 => Ok(Self::Enum(EnumType::get(from)?)),
            1 => Ok(Self::Domain(Domain::get(from)?)),
            number @ (COMPOSITE | COMPOSITE_OF_DOMAINS) => {
                Ok(Self::Composite(get_composite(number, from)?))
            }
            235 => Ok(Self::Range(UserRange::get(from)?)),
            236 => Ok(Self::Multirange(UserRange::get(from)?)),
            _ => Err(damaged("an unknown kind of type")),
        }
    }
}

/// One byte, then what belongs to it.
impl Codec for DataType {
    fn put(&self, out: &mut Writer<'_>) {
        let number: u8 = match self {
            Self::Unknown => 0,
            Self::Boolean => 1,
            Self::SmallInt => 2,
            Self::Integer => 3,
            Self::BigInt => 4,
            Self::Real => 5,
            Self::Double => 6,
            Self::Numeric(_) => 7,
            Self::Char(_) => 8,
            Self::Varchar(_) => 9,
            Self::Record(ty) if ty.key().is_some() => composite_number(*ty),
            // No column is another record.
            Self::Text | Self::Record(_) => 10,
            Self::Bytea => 11,
            Self::Date => 12,
            Self::Time(None) => 13,
            Self::Timestamp(None) => 14,
            Self::TimestampTz(None) => 15,
            Self::Interval(None) => 16,
            Self::Interval(Some(_)) => 160,
            Self::Uuid => 17,
            Self::Array(ElementType::VectorSmallInt) => 190,
            Self::Array(ElementType::VectorOid) => 191,
            Self::Array(element) => {
                out.raw(&[18]);
                return element.data_type().put(out);
            }
            Self::Oid => 19,
            Self::Json => 20,
            Self::Jsonb => 21,
            Self::Name => 25,
            Self::InternalChar => 26,
            Self::AclItem => 27,
            Self::RefCursor => 40,
            Self::Xid => 28,
            Self::Tid => 29,
            Self::Reg(_) => 30,
            Self::Time(Some(_)) => 24,
            Self::WideNumeric(None) => 31,
            Self::WideNumeric(Some(_)) => 32,
            Self::Enum(_) => 33,
            Self::JsonPath => 130,
            Self::Timestamp(Some(_)) => 22,
            Self::TimestampTz(Some(_)) => 23,
            Self::Packed(_) => 90,
        };
        out.raw(&[number]);
        match self {
            Self::Numeric(numeric) => numeric.put(out),
            // Their order never changes.
            Self::Reg(kind) => out.raw(&[*kind as u8]),
            Self::WideNumeric(Some(digits)) => {
                out.raw(&digits.precision.to_le_bytes());
                out.raw(&digits.scale.to_le_bytes());
            }
            Self::Enum(ty) => ty.put(out),
            Self::Record(ty) if ty.key().is_some() => ty.put(out),
            Self::Packed(ty) => put_packed(*ty, out),
            Self::Char(length) => length.put(out),
            Self::Varchar(length) => length.put(out),
            Self::Time(Some(digits))
            | Self::Timestamp(Some(digits))
            | Self::TimestampTz(Some(digits)) => digits.put(out),
            Self::Interval(Some(form)) => form.modifier().put(out),
            _ => {}
        }
    }
}

impl Decode for DataType {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match u8::get(from)? {
            18 => {
                let element = scalar_type(u8::get(from)?, from)?;
                Self::array_of(element).ok_or_else(|| damaged("an array of what is no element"))
            }
            190 => Ok(Self::Array(ElementType::VectorSmallInt)),
            191 => Ok(Self::Array(ElementType::VectorOid)),
            number => scalar_type(number, from),
        }
    }
}

/// Numbers of the packed types of extensions.
const HSTORE: u8 = 200;
const CITEXT: u8 = 201;
/// Numbers of the types of ranges and of multiranges that users made.
const RANGE: u8 = 235;
const MULTIRANGE: u8 = 236;

/// Numbers of the types of text search.
const TS_VECTOR: u8 = 225;
const TS_QUERY: u8 = 226;
/// Number of the vectors of the extension of that name.
const VECTOR: u8 = 228;

/// The place in the list of packed types, whose order never changes, and the length.
fn put_packed(ty: PackedType, out: &mut Writer<'_>) {
    let place = || PackedType::ALL.iter().position(|known| *known == ty.without_length());
    out.raw(&[match ty {
        PackedType::HStore => HSTORE,
        PackedType::CiText => CITEXT,
        PackedType::Range(RangeKind::User(_)) => RANGE,
        PackedType::Multirange(RangeKind::User(_)) => MULTIRANGE,
        PackedType::TsVector => TS_VECTOR,
        PackedType::TsQuery => TS_QUERY,
        PackedType::Vector(_) => VECTOR,
        // There are some dozens.
        _ => place().unwrap_or(0) as u8,
    }]);
    match ty {
        PackedType::Bit(length) | PackedType::VarBit(length) => length.put(out),
        PackedType::TimeTz(digits) => digits.put(out),
        PackedType::Vector(count) => count.map(u32::from).put(out),
        ty => {
            if let Some(users) = ty.user_range() {
                users.put(out);
            }
        }
    }
}

fn get_packed(from: &mut Reader<'_>) -> Result<PackedType> {
    let place = match u8::get(from)? {
        HSTORE => return Ok(PackedType::HStore),
        CITEXT => return Ok(PackedType::CiText),
        RANGE => return Ok(PackedType::Range(RangeKind::User(UserRange::get(from)?))),
        MULTIRANGE => return Ok(PackedType::Multirange(RangeKind::User(UserRange::get(from)?))),
        TS_VECTOR => return Ok(PackedType::TsVector),
        TS_QUERY => return Ok(PackedType::TsQuery),
        VECTOR => {
            let count = Option::<u32>::get(from)?.map(u16::try_from).transpose();
            let count = count.map_err(|_| damaged("a vector of too many dimensions"))?;
            return Ok(PackedType::Vector(count));
        }
        place => usize::from(place),
    };
    let ty = PackedType::ALL.get(place).ok_or_else(|| damaged("an unknown packed type"))?;
    Ok(match ty {
        PackedType::Bit(_) => PackedType::Bit(Option::get(from)?),
        PackedType::VarBit(_) => PackedType::VarBit(Option::get(from)?),
        PackedType::TimeTz(_) => PackedType::TimeTz(Option::get(from)?),
        other => *other,
    })
}

fn scalar_type(number: u8, from: &mut Reader<'_>) -> Result<DataType> {
    use DataType as T;
    Ok(match number {
        0 => T::Unknown,
        1 => T::Boolean,
        2 => T::SmallInt,
        3 => T::Integer,
        4 => T::BigInt,
        5 => T::Real,
        6 => T::Double,
        7 => T::Numeric(NumericType::get(from)?),
        8 => T::Char(u32::get(from)?),
        9 => T::Varchar(Option::get(from)?),
        10 => T::Text,
        11 => T::Bytea,
        12 => T::Date,
        13 => T::TIME,
        14 => T::TIMESTAMP,
        15 => T::TIMESTAMPTZ,
        16 => T::INTERVAL,
        160 => T::Interval(IntervalForm::of_modifier(i32::get(from)?)),
        17 => T::Uuid,
        19 => T::Oid,
        25 => T::Name,
        26 => T::InternalChar,
        27 => T::AclItem,
        40 => T::RefCursor,
        28 => T::Xid,
        29 => T::Tid,
        30 => {
            let kind = usize::from(u8::get(from)?);
            let kind = RegKind::ALL.get(kind).ok_or_else(|| damaged("an unknown type"))?;
            T::Reg(*kind)
        }
        20 => T::Json,
        21 => T::Jsonb,
        24 => T::Time(Some(u8::get(from)?)),
        31 => T::NUMERIC,
        32 => {
            let precision = u16::from_le_bytes(from.array()?);
            let scale = i16::from_le_bytes(from.array()?);
            T::WideNumeric(Some(WideDigits { precision, scale }))
        }
        number @ (COMPOSITE | COMPOSITE_OF_DOMAINS) => T::Record(get_composite(number, from)?),
        33 => T::Enum(EnumType::get(from)?),
        130 => T::JsonPath,
        90 => T::Packed(get_packed(from)?),
        22 => T::Timestamp(Some(u8::get(from)?)),
        23 => T::TimestampTz(Some(u8::get(from)?)),
        _ => return Err(damaged("an unknown type")),
    })
}
