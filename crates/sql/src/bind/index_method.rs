//! USING: access methods, and the operator classes of those that other structures serve.
//!
//! ```text
//! USING gist (body)                tsvector  -> elements, as USING gin has them
//! USING gist (name gist_trgm_ops)  text      -> elements
//! USING gist (during)              range     -> keys in order
//! USING brin (at)                            -> keys in order
//! ```
//! Source of the classes: PostgreSQL 15, chapters GiST, SP-GiST, BRIN and Additional Modules.

use sqlparser::ast;
use types::elements::ElementClass;
use types::{DataType, Error, PackedType, Result, SqlState};

use super::name::object_parts;
use super::near_index::LISTS;
use super::{Binder, fail, place, unsupported};
use crate::algebra::Place;
use crate::catalog::{ExclusionMethod, IndexKind, NamedMethod, WeaveForm};
use crate::definition::gist_elements;
use crate::parse::folded;
use crate::statement::RelationName;

/// Access method of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Using {
    /// Structure that serves it, as far as its columns have no say in that.
    pub(super) kind: IndexKind,
    /// Its own name, where that is not the kind's.
    pub(super) named: Option<NamedMethod>,
    /// The name that the statement has for it, where another is taken in its place.
    alias: Option<&'static str>,
}

impl Using {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        let own = || self.named.map_or_else(|| self.kind.method(), NamedMethod::name);
        self.alias.unwrap_or_else(own)
    }

    /// True when its indexes have one column.
    pub(super) fn takes_one_column(self) -> bool {
        let is_near = matches!(self.kind, IndexKind::Near { .. });
        is_near || self.kind.is_of_blocks() || self.named == Some(NamedMethod::SpGist)
    }

    /// Structure that serves an index whose columns have such elements, if any.
    ///
    /// # Errors
    /// 0A000 for columns of which only some have elements.
    pub(super) fn kind_over(
        self,
        elements: &[Option<ElementClass>],
        at: Place,
    ) -> Result<IndexKind> {
        match elements.iter().flatten().count() {
            0 => Ok(self.kind),
            _ if elements.iter().all(Option::is_some) => Ok(IndexKind::Inverted),
            _ => unsupported("an index over documents or trigrams and over other values", at),
        }
    }
}

/// Access method by USING.
///
/// # Errors
/// 42704 for one that is not there.
pub(super) fn index_using(create: &ast::CreateIndex, at: Place) -> Result<Using> {
    use ast::IndexType as T;
    let of_kind = |kind| Ok(Using { kind, named: None, alias: None });
    let named = |named| Ok(Using { kind: IndexKind::Ordered, named: Some(named), alias: None });
    match &create.using {
        None | Some(T::BTree) => of_kind(IndexKind::Ordered),
        Some(T::Hash) => of_kind(IndexKind::Hash),
        Some(T::GIN) => of_kind(IndexKind::Inverted),
        Some(T::GiST) => named(NamedMethod::Gist),
        Some(T::SPGiST) => named(NamedMethod::SpGist),
        Some(T::BRIN) => named(NamedMethod::Brin),
        Some(T::Bloom) => of_kind(IndexKind::Bloom { bits_per_key: IndexKind::BITS_PER_KEY }),
        Some(T::Custom(name)) if folded(name) == "csb" => of_kind(IndexKind::Csb),
        Some(T::Custom(name)) if folded(name) == "bitweaving" => {
            of_kind(IndexKind::BitWeaving(WeaveForm::Vertical))
        }
        Some(T::Custom(name)) if IndexKind::is_near_method(&folded(name)) => {
            let (links, breadth) = (IndexKind::NEAR_LINKS, IndexKind::NEAR_BREADTH);
            let alias = (folded(name) == LISTS).then_some(LISTS);
            Ok(Using { kind: IndexKind::Near { links, breadth }, named: None, alias })
        }
        Some(T::Custom(name)) => {
            let message = format!("access method \"{}\" does not exist", folded(name));
            fail(SqlState::UNDEFINED_OBJECT, message, at)
        }
    }
}

impl Binder<'_> {
    /// The operator class of a key of type `ty`, where it is not the usual one of the access method
    /// `method`, and the elements that it stands for.
    ///
    /// # Errors
    /// 42704 for a class that is not there, 42804 for one of other types.
    pub(super) fn class_of_method(
        &self,
        method: NamedMethod,
        class: Option<&ast::ObjectName>,
        ty: DataType,
        at: Place,
    ) -> Result<(Option<String>, Option<ElementClass>)> {
        let named = class.map(class_name).transpose()?;
        let tree = match method {
            NamedMethod::Brin => return Ok((brin_class(named, ty, at)?, None)),
            NamedMethod::Gist => ExclusionMethod::Gist,
            NamedMethod::SpGist => ExclusionMethod::SpGist,
        };
        let (schema, name) = match &named {
            Some(RelationName { schema, name }) => (schema.as_deref(), Some(name.as_str())),
            None => (None, None),
        };
        let is_there = |class: &ElementClass| {
            let extension = class.extension();
            extension.is_none_or(|name| self.catalog.finds_extension(name, self.called(schema)))
        };
        let elements = gist_elements(name, ty).filter(is_there);
        if let (NamedMethod::Gist, Some(found)) = (method, elements) {
            let is_usual = found == ElementClass::Vector;
            return Ok((named.filter(|_| !is_usual).map(|class| class.name), Some(found)));
        }
        Ok((self.class_of_tree(named.as_ref(), ty, tree, at)?, None))
    }
}

/// The name of an operator class, with its schema if that is not PostgreSQL's.
pub(super) fn class_name(named: &ast::ObjectName) -> Result<RelationName> {
    let mut parts = object_parts(named)?;
    let name = parts.pop().unwrap_or_default();
    Ok(RelationName { schema: parts.pop().filter(|schema| schema != "pg_catalog"), name })
}

/// The class of BRIN for a type, where it is not the usual one.
fn brin_class(named: Option<RelationName>, ty: DataType, at: Place) -> Result<Option<String>> {
    let Some((stem, kinds)) = brin_stem(ty) else {
        let message = format!(
            "data type {} has no default operator class for access method \"brin\"",
            ty.name()
        );
        let hint = "You must specify an operator class for the index or define a default operator \
                    class for the data type.";
        let error = Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(hint);
        return Err(place(error, at));
    };
    let Some(RelationName { name, .. }) = named else { return Ok(None) };
    let kind = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('_'));
    match kind.and_then(|kind| kinds.iter().position(|known| *known == kind)) {
        Some(0) => Ok(None),
        Some(_) => Ok(Some(name)),
        None if BRIN_KINDS.iter().any(|kind| name.ends_with(&format!("_{kind}"))) => {
            let ty = ty.name();
            let message = format!("operator class \"{name}\" does not accept data type {ty}");
            fail(SqlState::DATATYPE_MISMATCH, message, at)
        }
        None => {
            let message =
                format!("operator class \"{name}\" does not exist for access method \"brin\"");
            fail(SqlState::UNDEFINED_OBJECT, message, at)
        }
    }
}

/// Ends of the names of BRIN's classes.
const BRIN_KINDS: [&str; 4] = ["minmax_ops", "minmax_multi_ops", "bloom_ops", "inclusion_ops"];

/// How the names of the classes for a type begin, and how they end, the usual one first.
fn brin_stem(ty: DataType) -> Option<(&'static str, &'static [&'static str])> {
    use DataType as T;
    use PackedType as P;
    let ends: &[&str] = &["minmax_ops", "bloom_ops"];
    let number: &[&str] = &["minmax_ops", "minmax_multi_ops", "bloom_ops"];
    let bits: &[&str] = &["minmax_ops"];
    let network: &[&str] = &["inclusion_ops", "minmax_ops", "minmax_multi_ops", "bloom_ops"];
    Some(match ty {
        T::Bytea => ("bytea", ends),
        T::InternalChar => ("char", ends),
        T::Name => ("name", ends),
        T::Text | T::Varchar(_) => ("text", ends),
        T::Char(_) => ("bpchar", ends),
        T::SmallInt => ("int2", number),
        T::Integer => ("int4", number),
        T::BigInt => ("int8", number),
        T::Oid => ("oid", number),
        T::Tid => ("tid", number),
        T::Real => ("float4", number),
        T::Double => ("float8", number),
        T::Numeric(_) | T::WideNumeric(_) => ("numeric", number),
        T::Date => ("date", number),
        T::Time(_) => ("time", number),
        T::Timestamp(_) => ("timestamp", number),
        T::TimestampTz(_) => ("timestamptz", number),
        T::Interval(_) => ("interval", number),
        T::Uuid => ("uuid", number),
        T::Packed(P::TimeTz(_)) => ("timetz", number),
        T::Packed(P::MacAddr) => ("macaddr", number),
        T::Packed(P::MacAddr8) => ("macaddr8", number),
        T::Packed(P::Inet | P::Cidr) => ("inet", network),
        T::Packed(P::Bit(_)) => ("bit", bits),
        T::Packed(P::VarBit(_)) => ("varbit", bits),
        T::Packed(P::Range(_)) => ("range", &["inclusion_ops"]),
        T::Packed(P::Box) => ("box", &["inclusion_ops"]),
        T::Packed(P::PgLsn) => ("pg_lsn", number),
        _ => return None,
    })
}
