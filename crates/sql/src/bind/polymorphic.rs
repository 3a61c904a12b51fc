//! Types that the polymorphic parameters of a routine stand for in a call.
//!
//! Source: PostgreSQL 15, section 38.2.5.

use types::{DataType, Error, Result, SqlState};

use super::routine::without_modifier;
use super::types::{Candidate, common_type};
use crate::catalog::{Family, Instance, ParameterDef, ParameterMode, Polymorphic, RoutineType};

/// An argument of a polymorphic parameter.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    pub(super) by: Polymorphic,
    /// Type of the argument; unknown of literals without type.
    pub(super) ty: DataType,
}

impl Taken {
    /// The type that the family stands for, as far as this argument tells; an error where the
    /// argument does not fit.
    fn own(self) -> Result<Option<DataType>, Unfit> {
        let ty = match (self.by.is_array(), self.ty) {
            (_, DataType::Unknown) => return Ok(None),
            (true, DataType::Array(element)) => element.data_type(),
            (true, _) => return Err(Unfit),
            (false, ty) if self.by.is_range() => self.by.kind_of(ty).ok_or(Unfit)?.bound(),
            (false, ty) => ty,
        };
        let is_fit = match self.by {
            Polymorphic::NonArray | Polymorphic::CompatibleNonArray => !ty.is_array(),
            Polymorphic::Enum => matches!(ty, DataType::Enum(_)),
            _ => true,
        };
        if is_fit { Ok(Some(without_modifier(ty))) } else { Err(Unfit) }
    }
}

/// An argument that no parameter takes.
struct Unfit;

/// The types of a call; None when the arguments do not fit each other.
pub(super) fn instance_of(taken: &[Taken]) -> Option<Instance> {
    let mut instance = Instance::default();
    let mut compatible: Vec<Candidate> = Vec::new();
    for argument in taken {
        let Some(own) = argument.own().ok()? else { continue };
        let kind = argument.by.kind_of(argument.ty).filter(|_| argument.by.is_range());
        let known = instance.ranges_of(argument.by.family());
        if kind.is_some() && known.is_some() && *known != kind {
            return None;
        }
        *known = known.or(kind);
        match argument.by.family() {
            Family::Same => {
                if instance.element.is_some_and(|known| known != own) {
                    return None;
                }
                instance.element = Some(own);
            }
            Family::Compatible => compatible.push(Candidate { ty: own }),
        }
    }
    let has_compatible = taken.iter().any(|taken| taken.by.family() == Family::Compatible);
    if has_compatible {
        let common = common_type(&compatible).ok()?;
        if taken.iter().any(|t| t.by == Polymorphic::CompatibleNonArray) && common.is_array() {
            return None;
        }
        let common = without_modifier(common);
        if instance.compatible_range.is_some_and(|kind| kind.bound() != common) {
            return None;
        }
        instance.compatible = Some(common);
    }
    Some(instance)
}

/// # Errors
/// 42804 when literals without type leave it open.
pub(super) fn refuse_open(taken: &[Taken], instance: Instance) -> Result<()> {
    if taken.iter().all(|taken| instance.ty(taken.by).is_some()) {
        return Ok(());
    }
    let message = "could not determine polymorphic type because input has type unknown";
    Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
}

/// # Errors
/// 42P13 for a result or a parameter that comes out whose type no argument tells.
pub(super) fn refuse_untold(parameters: &[ParameterDef], result: &RoutineType) -> Result<()> {
    let inputs = parameters.iter().filter(|parameter| parameter.mode.goes_in());
    let taken: Vec<Polymorphic> = inputs.filter_map(|input| polymorphic(&input.ty)).collect();
    let outputs =
        parameters.iter().filter(|p| p.mode.comes_out() && !matches!(p.mode, ParameterMode::InOut));
    let given = outputs.map(|output| &output.ty).chain([result]).filter_map(polymorphic);
    for ty in given {
        let tells = |known: &Polymorphic| {
            known.family() == ty.family() && (known.is_range() || !ty.is_range())
        };
        if taken.iter().any(tells) {
            continue;
        }
        let kin = match ty.family() {
            Family::Same if ty.is_range() => "anyrange or anymultirange",
            Family::Compatible if ty.is_range() => "anycompatiblerange or anycompatiblemultirange",
            Family::Same => {
                "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange"
            }
            Family::Compatible => {
                "anycompatible, anycompatiblearray, anycompatiblenonarray, \
                 anycompatiblerange, or anycompatiblemultirange"
            }
        };
        let detail =
            format!("A result of type {} requires at least one input of type {kin}.", ty.name());
        let message = "cannot determine result data type";
        return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).with_detail(detail));
    }
    Ok(())
}

/// The polymorphic type that a type of a routine is.
pub(super) fn polymorphic(ty: &RoutineType) -> Option<Polymorphic> {
    match ty {
        RoutineType::Polymorphic(ty) => Some(*ty),
        _ => None,
    }
}

/// The type of the elements of a VARIADIC parameter.
pub(super) fn element_of(ty: Polymorphic) -> Polymorphic {
    match ty {
        Polymorphic::Array => Polymorphic::Element,
        Polymorphic::CompatibleArray => Polymorphic::Compatible,
        ty => ty,
    }
}
