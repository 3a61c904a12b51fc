//! Types that users made, and what the definitions of the catalog say of them.
//!
//! Invariant: columns, views and expressions of indexes have the type as it is in
//! [`State::types`]: who changes it there changes it in them, too. Rows stay as they are: a label
//! keeps its position.

use std::sync::Arc;

use sql::catalog::{ColumnDef, Domain, DomainDef, DomainOf, DomainUse, RoutineType, UserType};
use types::{DataType, EnumType, RecordType, Result, UserRange};

use crate::state::numbers::{FIRST, hash};
use crate::state::{State, TableDef};

/// A type with another content.
#[derive(Clone, Copy)]
enum Changed {
    Enum(EnumType),
    Composite(RecordType),
}

impl Changed {
    /// `ty` with this content in the place of another one of the type, also in attributes.
    ///
    /// # Errors
    /// 54000 when there are too many types.
    fn put_into(self, ty: DataType) -> Result<DataType> {
        if let DataType::Array(element) = ty {
            let changed = self.put_into(element.data_type())?;
            let is_same = changed == element.data_type();
            return Ok(if is_same { ty } else { DataType::array_of(changed).unwrap_or(ty) });
        }
        Ok(match (ty, self) {
            (DataType::Enum(known), Self::Enum(new)) if known.is_same_object(new) => {
                DataType::Enum(new)
            }
            (DataType::Record(known), Self::Composite(new)) if known.is_same_object(new) => {
                DataType::Record(new)
            }
            (DataType::Record(known), _) => {
                DataType::Record(known.retyped(&|field| self.put_into(field))?)
            }
            _ => ty,
        })
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

/// True when values of the type hold records that have values of one of the domains.
pub fn has_attribute_of(ty: DataType, domains: &[Domain]) -> bool {
    let DataType::Record(record) = ty.element().unwrap_or(ty) else { return false };
    let is_one = |number: u32| {
        domains.iter().any(|domain| number == domain.number || number == domain.array_number())
    };
    let own = (0..record.fields().len()).filter_map(|at| record.domain_of(at)).any(is_one);
    own || record.fields().iter().any(|field| has_attribute_of(field.ty, domains))
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

    /// The domain that has this number, or whose arrays have it.
    pub fn domain_numbered(&self, number: u32) -> Option<DomainUse> {
        let (found, is_array) = self.user_type_numbered(number)?;
        let of = if is_array { DomainOf::Elements } else { DomainOf::Value };
        found.domain().map(|domain| DomainUse { domain, of })
    }

    /// The type of users that has this number, or whose arrays have it: true for those.
    pub fn user_type_numbered(&self, number: u32) -> Option<(UserType, bool)> {
        let is_it = |ty: &&UserType| ty.number() == number || ty.array_number() == number;
        let found = *self.types.values().find(is_it)?;
        Some((found, found.array_number() == number))
    }

    /// The domain, and those over it.
    pub fn domains_over(&self, domain: Domain) -> Vec<Domain> {
        let is_over = |of: &Domain| of.levels().any(|level| level.is_same_object(domain));
        self.types.values().filter_map(UserType::domain).filter(is_over).collect()
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
        self.retype_routines(|used| {
            Ok(match used {
                RoutineType::Value(ty, Some(used)) if used.domain == old => {
                    RoutineType::Value(*ty, Some(DomainUse { domain: new, ..*used }))
                }
                other => other.clone(),
            })
        })
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
        self.put_everywhere(Changed::Enum(new))
    }

    /// Puts `new` in the place of the composite type `old`, whose number it has, everywhere.
    ///
    /// # Errors
    /// As [`Self::replace_enum`].
    pub fn replace_composite(&mut self, old: RecordType, new: RecordType) -> Result<()> {
        self.types.remove(old.key().unwrap_or_default());
        self.types.insert(new.key().unwrap_or_default().to_owned(), UserType::Composite(new));
        self.put_everywhere(Changed::Composite(new))
    }

    /// Columns, expressions of indexes, queries, routines and other types have the new content.
    fn put_everywhere(&mut self, new: Changed) -> Result<()> {
        for ty in self.types.values_mut() {
            if let UserType::Composite(record) = *ty
                && let DataType::Record(changed) = new.put_into(DataType::Record(record))?
            {
                *ty = UserType::Composite(changed);
            }
        }
        self.put_into_domains(new)?;
        for entry in self.tables.values_mut() {
            let mut def = None;
            for (at, column) in entry.def.columns.iter().enumerate() {
                let ty = new.put_into(column.ty)?;
                if ty != column.ty {
                    def.get_or_insert_with(|| entry.def.clone()).columns[at].ty = ty;
                }
            }
            for (at, index) in entry.def.indexes.iter().enumerate() {
                for (term, expression) in index.terms.expressions.iter().enumerate() {
                    let ty = new.put_into(expression.ty)?;
                    if ty != expression.ty {
                        let def = def.get_or_insert_with(|| entry.def.clone());
                        def.indexes[at].terms.expressions[term].ty = ty;
                    }
                }
            }
            if let Some(def) = def {
                *entry = Arc::new(entry.redefined(def, entry.built()));
            }
        }
        self.put_into_routines(new)?;
        self.retype_queries(|ty| new.put_into(ty))
    }

    /// Parameters and results of routines have the new content.
    fn put_into_routines(&mut self, new: Changed) -> Result<()> {
        self.retype_routines(|used| {
            Ok(match used {
                RoutineType::Value(ty, domain) => RoutineType::Value(new.put_into(*ty)?, *domain),
                other => other.clone(),
            })
        })
    }

    /// Domains over the type have its new content.
    fn put_into_domains(&mut self, new: Changed) -> Result<()> {
        let mut domains: Vec<Domain> = self.types.values().filter_map(UserType::domain).collect();
        // Those at the bottom first: the others follow them.
        domains.sort_by_key(|domain| domain.levels().count());
        for domain in domains {
            let known = self.types.get(&domain.key).and_then(UserType::domain);
            let Some(old) = known else { continue };
            let ty = new.put_into(old.ty)?;
            if ty != old.ty {
                let made = Domain::new(DomainDef { ty, ..DomainDef::clone(&old) })?;
                self.replace_domain(old, made)?;
            }
        }
        Ok(())
    }
}
