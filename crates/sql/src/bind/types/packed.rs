//! Casts and comparisons of packed types.

use types::{DataType, ElementType, PackedType};

use super::{Category, Context, category};

/// [`super::can_cast`] to and from packed types; None for other types.
pub(in crate::bind) fn can_cast_packed(
    from: DataType,
    to: DataType,
    context: Context,
) -> Option<bool> {
    use DataType as T;
    use PackedType as P;
    let explicit = context == Context::Explicit;
    let assigned = context >= Context::Assignment;
    Some(match (from, to) {
        (T::Unknown, T::Packed(_)) => true,
        (T::Packed(from), T::Packed(to)) if from.same_form(to) => true,
        (T::Packed(from), T::Packed(to)) => match (from, to) {
            (P::Cidr, P::Inet)
            | (P::Bit(_), P::VarBit(_))
            | (P::VarBit(_), P::Bit(_))
            | (P::MacAddr, P::MacAddr8)
            | (P::MacAddr8, P::MacAddr) => true,
            (P::Inet, P::Cidr) => assigned,
            (P::Point, P::Box)
            | (P::Path, P::Polygon)
            | (P::Box, P::Polygon)
            | (P::Polygon, P::Path) => assigned,
            (P::LSeg, P::Point)
            | (P::Box, P::Point | P::LSeg | P::Circle)
            | (P::Polygon, P::Point | P::Box | P::Circle)
            | (P::Circle, P::Point | P::Box | P::Polygon) => explicit,
            (P::Range(x), P::Multirange(y)) => x == y && explicit,
            _ => false,
        },
        (T::Packed(P::CiText), T::Text | T::Varchar(_)) => true,
        (T::Packed(P::CiText), to) if is_text(to) => assigned,
        (from, T::Packed(P::CiText)) if is_text(from) => assigned,
        (T::Packed(P::Vector(_)), T::Array(ElementType::Real)) => true,
        (T::Array(element), T::Packed(P::Vector(_))) => {
            let element = element.data_type();
            let is_small = element == T::SmallInt || element == T::BigInt;
            assigned && element.is_number() && !is_small
        }
        (T::Packed(P::HStore), T::Json | T::Jsonb) => explicit,
        (T::Array(ElementType::Text | ElementType::Varchar(_)), T::Packed(P::HStore)) => explicit,
        (T::Integer | T::BigInt, T::Packed(P::Bit(_)))
        | (T::Packed(P::Bit(_)), T::Integer | T::BigInt) => explicit,
        (T::Integer | T::BigInt, T::Packed(P::Money)) => assigned,
        (from, T::Packed(P::Money)) if from.is_numeric() => assigned,
        (T::Packed(P::Money), to) if to.is_numeric() => assigned,
        (T::Time(_), T::Packed(P::TimeTz(_))) => true,
        (T::TimestampTz(_), T::Packed(P::TimeTz(_))) | (T::Packed(P::TimeTz(_)), T::Time(_)) => {
            assigned
        }
        (T::Packed(P::Xid8), T::Xid) => explicit,
        (T::Packed(_), to) => is_text(to) && assigned,
        (from, T::Packed(_)) => is_text(from) && explicit,
        _ => return None,
    })
}

fn is_text(ty: DataType) -> bool {
    category(ty) == Category::Text
}

/// The type to which both operands of a comparison become, of packed types that are compared.
pub(in crate::bind) fn compared_packed(a: DataType, b: DataType) -> Option<DataType> {
    use PackedType as P;
    let time = |ty| matches!(ty, DataType::Time(_) | DataType::Packed(P::TimeTz(_)));
    if a != b && time(a) && time(b) {
        return Some(DataType::Packed(P::TimeTz(None)));
    }
    let case_counts_not = |ty| ty == DataType::Packed(P::CiText);
    if case_counts_not(a) && is_text(b) || is_text(a) && case_counts_not(b) {
        return Some(DataType::Text);
    }
    let (DataType::Packed(a), DataType::Packed(b)) = (a, b) else { return None };
    let common = if a.is_network() && b.is_network() {
        P::Inet
    } else if a.is_bits() && b.is_bits() {
        P::VarBit(None)
    } else if matches!((a, b), (P::MacAddr, P::MacAddr8) | (P::MacAddr8, P::MacAddr)) {
        P::MacAddr8
    } else {
        return None;
    };
    Some(DataType::Packed(common))
}
