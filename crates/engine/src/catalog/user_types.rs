//! Types that users made, and what the definitions of the catalog say of them.
//!
//! Invariant: columns, views and expressions of indexes have the type as it is in
//! [`State::types`]: who changes it there changes it in them, too. Rows stay as they are: a label
//! keeps its position.

use std::sync::Arc;

use sql::catalog::{IndexMeta, UserType};
use types::{DataType, ElementType, EnumType};

use crate::catalog::numbers::{FIRST, hash};
use crate::catalog::{State, TableDef};

/// `ty` with `new` in the place of an enumerated type of the same number.
fn with_enum(ty: DataType, new: EnumType) -> DataType {
    match ty {
        DataType::Enum(known) if known.is_same_object(new) => DataType::Enum(new),
        DataType::Array(ElementType::Enum(known)) if known.is_same_object(new) => {
            DataType::Array(ElementType::Enum(new))
        }
        ty => ty,
    }
}

/// The enumerated type whose values, or arrays of them, `ty` holds.
pub(crate) fn enum_in(ty: DataType) -> Option<EnumType> {
    match ty.element().unwrap_or(ty) {
        DataType::Enum(ty) => Some(ty),
        _ => None,
    }
}

/// True when a column or an expression of an index has values of the type.
pub(crate) fn is_used(def: &TableDef, ty: EnumType) -> bool {
    let is_it = |known: DataType| enum_in(known).is_some_and(|known| known.is_same_object(ty));
    let in_index = |index: &IndexMeta| index.terms.expressions.iter().any(|e| is_it(e.ty));
    def.columns.iter().any(|column| is_it(column.ty)) || def.indexes.iter().any(in_index)
}

impl State {
    /// The number of a new type called `key`: an even one, and the next is that of its arrays.
    pub(crate) fn new_type_number(&self, key: &str) -> u32 {
        let mut number = (FIRST + hash("type", key)) & !1;
        let is_taken = |number: u64| {
            let of = |ty: &UserType| match ty {
                UserType::Enum(ty) => u64::from(ty.number()),
            };
            self.types.values().any(|ty| of(ty) == number)
        };
        while is_taken(number) {
            number += 2;
        }
        // Below 2^30 and some.
        number as u32
    }

    /// The enumerated type with this number in the catalog, or arrays of it.
    pub(crate) fn type_numbered(&self, number: u32) -> Option<DataType> {
        self.types.values().find_map(|ty| match ty {
            UserType::Enum(ty) if ty.number() == number => Some(DataType::Enum(*ty)),
            UserType::Enum(ty) if ty.array_number() == number => {
                Some(DataType::Array(ElementType::Enum(*ty)))
            }
            UserType::Enum(_) => None,
        })
    }

    /// Puts `new` in the place of the type `old`, whose number it has, everywhere.
    pub(crate) fn replace_enum(&mut self, old: EnumType, new: EnumType) {
        self.types.remove(old.key());
        self.types.insert(new.key().to_owned(), UserType::Enum(new));
        for entry in self.tables.values_mut().filter(|entry| is_used(&entry.def, old)) {
            let mut def = entry.def.clone();
            for column in &mut def.columns {
                column.ty = with_enum(column.ty, new);
            }
            for index in &mut def.indexes {
                for expression in &mut index.terms.expressions {
                    expression.ty = with_enum(expression.ty, new);
                }
            }
            *entry = Arc::new(entry.redefined(def, entry.built()));
        }
        for view in self.views.values_mut() {
            for (_, ty) in &mut view.output {
                *ty = with_enum(*ty, new);
            }
        }
    }
}
