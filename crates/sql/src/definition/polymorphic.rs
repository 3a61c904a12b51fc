//! Polymorphic types: what a routine takes and gives of any type, and the types of one call.
//!
//! ```text
//! anyelement, anyarray, anynonarray, anyenum     one type for all of a call: Instance::element
//! anycompatible, anycompatiblearray, ...         a type that all arguments become: compatible
//! anyrange, anymultirange, ...                   ranges of that type, of one kind: range
//! ```
//! Elsewhere: which types a call has (`bind::polymorphic`).

use types::{DataType, PackedType, RangeKind};

use super::{RoutineDef, RoutineType};

/// A polymorphic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polymorphic {
    /// `anyelement`.
    Element,
    /// `anyarray`.
    Array,
    /// `anynonarray`.
    NonArray,
    /// `anyenum`.
    Enum,
    /// `anycompatible`.
    Compatible,
    /// `anycompatiblearray`.
    CompatibleArray,
    /// `anycompatiblenonarray`.
    CompatibleNonArray,
    /// `anyrange`.
    Range,
    /// `anymultirange`.
    Multirange,
    /// `anycompatiblerange`.
    CompatibleRange,
    /// `anycompatiblemultirange`.
    CompatibleMultirange,
}

/// Names and numbers in the catalog.
const ALL: [(Polymorphic, &str, i64); 11] = [
    (Polymorphic::Element, "anyelement", 2283),
    (Polymorphic::Array, "anyarray", 2277),
    (Polymorphic::NonArray, "anynonarray", 2776),
    (Polymorphic::Enum, "anyenum", 3500),
    (Polymorphic::Compatible, "anycompatible", 5077),
    (Polymorphic::CompatibleArray, "anycompatiblearray", 5078),
    (Polymorphic::CompatibleNonArray, "anycompatiblenonarray", 5079),
    (Polymorphic::Range, "anyrange", 3831),
    (Polymorphic::Multirange, "anymultirange", 4537),
    (Polymorphic::CompatibleRange, "anycompatiblerange", 5080),
    (Polymorphic::CompatibleMultirange, "anycompatiblemultirange", 4538),
];

/// Types that stand for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// All of one type.
    Same,
    /// All become one type.
    Compatible,
}

impl Polymorphic {
    /// The type called so.
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|(_, known, _)| *known == name).map(|(ty, ..)| *ty)
    }

    fn entry(self) -> (&'static str, i64) {
        let found = ALL.iter().find(|(known, ..)| *known == self);
        found.map_or(("anyelement", 2283), |(_, name, number)| (name, *number))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    /// Its number in the catalog.
    pub fn number(self) -> i64 {
        self.entry().1
    }

    /// Types that stand for each other with it.
    pub fn family(self) -> Family {
        match self {
            Self::Element
            | Self::Array
            | Self::NonArray
            | Self::Enum
            | Self::Range
            | Self::Multirange => Family::Same,
            Self::Compatible
            | Self::CompatibleArray
            | Self::CompatibleNonArray
            | Self::CompatibleRange
            | Self::CompatibleMultirange => Family::Compatible,
        }
    }

    /// True for ranges and multiranges of the family's type.
    pub fn is_range(self) -> bool {
        matches!(self, Self::Range | Self::CompatibleRange) || self.is_multirange()
    }

    fn is_multirange(self) -> bool {
        matches!(self, Self::Multirange | Self::CompatibleMultirange)
    }

    /// Kind of the ranges that such a parameter takes; None for other types.
    pub fn kind_of(self, ty: DataType) -> Option<RangeKind> {
        match ty {
            DataType::Packed(PackedType::Range(kind)) => (!self.is_multirange()).then_some(kind),
            DataType::Packed(PackedType::Multirange(kind)) => self.is_multirange().then_some(kind),
            _ => None,
        }
    }

    /// True for arrays of the family's type.
    pub fn is_array(self) -> bool {
        matches!(self, Self::Array | Self::CompatibleArray)
    }
}

/// The types that polymorphic ones stand for in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instance {
    /// Type for `anyelement` and its kin.
    pub element: Option<DataType>,
    /// Type for `anycompatible` and its kin.
    pub compatible: Option<DataType>,
    /// Ranges for `anyrange` and `anymultirange`.
    pub range: Option<RangeKind>,
    /// Ranges for `anycompatiblerange` and its kin.
    pub compatible_range: Option<RangeKind>,
}

impl Instance {
    /// True for a call without polymorphic types.
    pub fn is_plain(self) -> bool {
        self == Self::default()
    }

    /// The type of a family.
    pub fn of(self, family: Family) -> Option<DataType> {
        match family {
            Family::Same => self.element,
            Family::Compatible => self.compatible,
        }
    }

    /// The ranges of a family.
    pub fn ranges_of(&mut self, family: Family) -> &mut Option<RangeKind> {
        match family {
            Family::Same => &mut self.range,
            Family::Compatible => &mut self.compatible_range,
        }
    }

    /// The type that `ty` stands for.
    pub fn ty(mut self, ty: Polymorphic) -> Option<DataType> {
        if ty.is_range() {
            let kind = (*self.ranges_of(ty.family()))?;
            let packed =
                if ty.is_multirange() { PackedType::Multirange } else { PackedType::Range };
            return Some(DataType::Packed(packed(kind)));
        }
        let own = self.of(ty.family())?;
        if ty.is_array() { DataType::array_of(own) } else { Some(own) }
    }

    /// A type of a routine as the call has it.
    pub fn routine_type(self, ty: &RoutineType) -> RoutineType {
        match ty {
            RoutineType::Polymorphic(own) => match self.ty(*own) {
                Some(ty) => RoutineType::plain(ty),
                None => ty.clone(),
            },
            ty => ty.clone(),
        }
    }

    /// The routine as the call has it.
    pub fn routine(self, def: &RoutineDef) -> RoutineDef {
        let mut own = RoutineDef::clone(def);
        for parameter in &mut own.parameters {
            parameter.ty = self.routine_type(&parameter.ty);
        }
        own.result = self.routine_type(&own.result);
        if let Some(aggregate) = &mut own.aggregate {
            aggregate.state = self.routine_type(&aggregate.state);
        }
        own
    }

    /// The instance in which a routine takes values of `types`, its parameters that go in; they
    /// are known to fit.
    pub fn of_types(def: &RoutineDef, types: &[DataType]) -> Self {
        let mut instance = Self::default();
        for (parameter, ty) in def.inputs().zip(types) {
            let RoutineType::Polymorphic(own) = parameter.ty else { continue };
            let kind = own.kind_of(*ty).filter(|_| own.is_range());
            let ty = match (own.is_array(), *ty) {
                (true, DataType::Array(element)) => element.data_type(),
                (_, ty) => kind.map_or(ty, RangeKind::bound),
            };
            if kind.is_some() {
                *instance.ranges_of(own.family()) = kind;
            }
            match own.family() {
                Family::Same => instance.element = Some(ty),
                Family::Compatible => instance.compatible = Some(ty),
            }
        }
        instance
    }
}
