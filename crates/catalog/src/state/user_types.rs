//! Types that users made, and what the definitions of the catalog say of them.
//!
//! Invariant: columns, views and expressions of indexes have the type as it is in
//! [`State::types`]: who changes it there changes it in them, too. Rows stay as they are: a label
//! keeps its position.

use std::sync::Arc;

use sql::catalog::{ColumnDef, Domain, DomainDef, IndexMeta, RoutineDef, RoutineType, UserType};
use types::{DataType, ElementType, EnumType, RecordType, Result, UserRange};

use crate::state::numbers::{FIRST, hash};
use crate::state::{State, TableDef};

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

/// `ty` with `new` in the place of the composite type `old`.
fn with_composite(ty: DataType, old: RecordType, new: RecordType) -> DataType {
    match ty {
        DataType::Record(known) if known == old => DataType::Record(new),
        DataType::Array(ElementType::Record(known)) if known == old => {
            DataType::Array(ElementType::Record(new))
        }
        ty => ty,
    }
}

/// The enumerated type whose values, or arrays of them, `ty` holds.
pub fn enum_in(ty: DataType) -> Option<EnumType> {
    match ty.element().unwrap_or(ty) {
        DataType::Enum(ty) => Some(ty),
        _ => None,
    }
}

/// The composite type whose values, or arrays of them, `ty` holds.
pub fn composite_in(ty: DataType) -> Option<RecordType> {
    match ty.element().unwrap_or(ty) {
        DataType::Record(ty) if ty.key().is_some() => Some(ty),
        _ => None,
    }
}

/// The type of ranges that users made and whose values, or arrays of them, `ty` holds; of
/// multiranges that of their ranges.
pub fn range_in(ty: DataType) -> Option<UserRange> {
    match ty.element().unwrap_or(ty) {
        DataType::Packed(ty) => ty.user_range(),
        _ => None,
    }
}

/// True for values, or arrays of values, of a type that users made, domains apart.
pub fn is_of_users(ty: DataType) -> bool {
    enum_in(ty).is_some() || composite_in(ty).is_some() || range_in(ty).is_some()
}

/// True when a column or an expression of an index has values of the type.
pub(crate) fn is_used(def: &TableDef, ty: EnumType) -> bool {
    let is_it = |known: DataType| enum_in(known).is_some_and(|known| known.is_same_object(ty));
    let in_index = |index: &IndexMeta| index.terms.expressions.iter().any(|e| is_it(e.ty));
    def.columns.iter().any(|column| is_it(column.ty)) || def.indexes.iter().any(in_index)
}

/// True when a column has the domain, or arrays of it.
pub(crate) fn has_domain(def: &TableDef, domain: Domain) -> bool {
    let is_it = |column: &ColumnDef| column.domain.is_some_and(|used| used.domain == domain);
    def.columns.iter().any(is_it)
}

impl State {
    /// The number of a new type called `key`: an even one, and the next is that of its arrays.
    pub fn new_type_number(&self, key: &str) -> u32 {
        let mut number = (FIRST + hash("type", key)) & !1;
        let is_taken = |number: u64| self.types.values().any(|ty| u64::from(ty.number()) == number);
        while is_taken(number) {
            number += 2;
        }
        // Below 2^30 and some.
        number as u32
    }

    /// The type of users with this number in the catalog, or arrays of it: what their values are
    /// held as.
    pub fn type_numbered(&self, number: u32) -> Option<DataType> {
        let (ty, is_array) = self.user_type_numbered(number)?;
        if is_array { DataType::array_of(ty.data_type()) } else { Some(ty.data_type()) }
    }

    /// The type of users that has this number, or whose arrays have it: true for those.
    pub fn user_type_numbered(&self, number: u32) -> Option<(UserType, bool)> {
        let is_it = |ty: &&UserType| ty.number() == number || ty.array_number() == number;
        let found = *self.types.values().find(is_it)?;
        Some((found, found.array_number() == number))
    }

    /// Puts `new` in the place of the domain `old`, whose number it has, everywhere.
    ///
    /// # Errors
    /// 54000 when there are too many domains.
    pub fn replace_domain(&mut self, old: Domain, new: Domain) -> Result<()> {
        self.types.remove(&old.key);
        self.types.insert(new.key.clone(), UserType::Domain(new));
        let domains: Vec<Domain> = self.types.values().filter_map(UserType::domain).collect();
        for domain in domains.into_iter().filter(|domain| domain.over == Some(old)) {
            let over = Some(new);
            let made = Domain::new(DomainDef { over, ..DomainDef::clone(&domain) })?;
            self.replace_domain(domain, made)?;
        }
        for entry in self.tables.values_mut().filter(|entry| has_domain(&entry.def, old)) {
            let mut def = entry.def.clone();
            let used = def.columns.iter_mut().filter_map(|column| column.domain.as_mut());
            used.filter(|used| used.domain == old).for_each(|used| used.domain = new);
            *entry = Arc::new(entry.redefined(def, entry.built()));
        }
        Ok(())
    }

    /// The tables' conditions and generated columns are bound anew: what they name has changed.
    pub fn renew_tables(&mut self, is_meant: impl Fn(&str) -> bool) {
        for (_, entry) in self.tables.iter_mut().filter(|(key, _)| is_meant(key)) {
            *entry = Arc::new(entry.redefined(entry.def.clone(), entry.built()));
        }
    }

    /// Puts `new` in the place of the type `old`, whose number it has, everywhere.
    ///
    /// # Errors
    /// 54000 when there are too many domains.
    pub fn replace_enum(&mut self, old: EnumType, new: EnumType) -> Result<()> {
        self.types.remove(old.key());
        self.types.insert(new.key().to_owned(), UserType::Enum(new));
        self.replace_enum_of_domains(new)?;
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
        self.retype_queries(|ty| with_enum(ty, new));
        Ok(())
    }

    /// Puts `new` in the place of the composite type `old`, whose name it has, where it is one of
    /// [`State::types`] and in routines.
    pub fn replace_composite(&mut self, old: RecordType, new: RecordType) {
        if let Some(key) = new.key() {
            self.types.insert(key.to_owned(), UserType::Composite(new));
        }
        let retype = |ty: &mut RoutineType| {
            if let RoutineType::Value(known, _) = ty {
                *known = with_composite(*known, old, new);
            }
        };
        for routine in self.routines.values_mut() {
            let mut made = RoutineDef::clone(routine);
            made.parameters.iter_mut().for_each(|of| retype(&mut of.ty));
            retype(&mut made.result);
            if made != **routine {
                *routine = Arc::new(made);
            }
        }
    }

    /// Domains over the enumerated type have its new content.
    fn replace_enum_of_domains(&mut self, new: EnumType) -> Result<()> {
        loop {
            let mut domains = self.types.values().filter_map(UserType::domain);
            // Those at the bottom first: the others follow them.
            let Some(old) = domains.find(|domain| {
                let is_settled = domain.over.is_none_or(|over| with_enum(over.ty, new) == over.ty);
                is_settled && with_enum(domain.ty, new) != domain.ty
            }) else {
                return Ok(());
            };
            let ty = with_enum(old.ty, new);
            let made = Domain::new(DomainDef { ty, ..DomainDef::clone(&old) })?;
            self.replace_domain(old, made)?;
        }
    }
}
