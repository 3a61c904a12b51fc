//! EXCLUDE: the elements of the constraint, and the index that serves it.
//!
//! ```text
//! EXCLUDE USING gist (during WITH &&, room WITH =)
//!         -> index (room, during), elements [1 WITH &&, 0 WITH =]
//! ```
//! Source of the rules: PostgreSQL 15, CREATE TABLE, and the extension btree_gist.

use sqlparser::ast;
use types::{Collation, DataType, Error, PackedType, Result, SqlState};

use super::comparable::refuse_index;
use super::constraint::{Definition, deferral_of};
use super::index::operator_class;
use super::index_method::class_name;
use super::name::expr_at;
use super::{Binder, fail, index_terms, place, unsupported};
use crate::algebra::{Direction, NullsOrder, Place};
use crate::catalog::{
    Deferral, Exclusion, ExclusionElement, ExclusionMethod, ExclusionOperator, INDEX_EXPRESSION,
    IndexColumn, IndexKind, IndexMeta, IndexTerms, Uniqueness,
};
use crate::parse::folded;
use crate::statement::RelationName;

/// Operators of ranges, networks and orders whose sides cannot change places.
const ONE_WAY: [&str; 11] = ["<", "<=", ">", ">=", "@>", "<@", "<<", ">>", "&<", "&>", "<<|"];

/// Operator class of an element.
#[derive(Clone, Copy)]
struct Class {
    name: &'static str,
    /// True for the one that columns have where none is named.
    is_usual: bool,
    /// Extension that has it.
    extension: Option<&'static str>,
    operators: &'static [ExclusionOperator],
}

/// An element with its value found.
struct Element {
    column: IndexColumn,
    operator: ExclusionOperator,
    class: Option<String>,
}

/// 0A000 for keys of EXCLUDE that are not compared by their bytes.
fn refuse_collation(collation: Option<Collation>, at: Place) -> Result<()> {
    match collation {
        Some(collation) if !collation.is_of_bytes() => {
            unsupported("EXCLUDE of texts with a collation", at)
        }
        _ => Ok(()),
    }
}

impl Binder<'_> {
    /// Adds EXCLUDE to a table whose columns are known.
    pub(super) fn add_exclusion(
        &mut self,
        definition: &mut Definition,
        constraint: &ast::ExcludeConstraint,
    ) -> Result<()> {
        let method = method_of(constraint)?;
        let first = constraint.elements.first().map(|element| &element.column.column.expr);
        let at = first.and_then(expr_at);
        if method == ExclusionMethod::Hash && constraint.elements.len() > 1 {
            let message = "access method \"hash\" does not support multicolumn indexes";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        let mut terms = IndexTerms::default();
        let mut elements = Vec::with_capacity(constraint.elements.len());
        for element in &constraint.elements {
            elements.push(self.exclusion_element(definition, element, method, &mut terms)?);
        }
        for ident in &constraint.include {
            let missing = |name: &str| format!("column \"{name}\" named in key does not exist");
            terms.included.extend(definition.ordinals(&[ident], missing)?);
        }
        if !terms.included.is_empty() && method == ExclusionMethod::Hash {
            let message = "access method \"hash\" does not support included columns";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        if let Some(predicate) = &constraint.where_clause {
            self.index_predicate(predicate, &definition.name.name, &definition.columns)?;
            terms.predicate = Some(index_terms::stored(predicate));
        }
        let named = |element: &Element| match element.column.expression() {
            Some(number) => terms.expressions[number].name.as_str(),
            None => definition.columns[element.column.ordinal].name.as_str(),
        };
        let mut names: Vec<&str> = elements.iter().map(named).collect();
        names.extend(definition.names(&terms.included));
        let given = constraint.name.as_ref().map(folded);
        let name = definition.constraint_name(given, &names, "excl", at)?;
        let deferral = deferral_of(constraint.characteristics.as_ref())?;
        let form = Form { method, deferral };
        let terms = IndexTerms { collations: self.collations_of(&terms), ..terms };
        definition.exclusions.push(index_of(name, elements, terms, form));
        Ok(())
    }

    fn exclusion_element(
        &mut self,
        definition: &Definition,
        element: &ast::ExcludeConstraintElement,
        method: ExclusionMethod,
        terms: &mut IndexTerms,
    ) -> Result<Element> {
        let expr = &element.column.column.expr;
        let at = expr_at(expr);
        let options = &element.column.column.options;
        if options.sort.is_some() || options.nulls_first.is_some() {
            return unsupported("an order in EXCLUDE", at);
        }
        index_terms::check_form(expr)?;
        let (ordinal, ty) = match expr {
            ast::Expr::Identifier(ident) => {
                let missing = |name: &str| format!("column \"{name}\" named in key does not exist");
                let ordinal = definition.ordinals(&[ident], missing)?[0];
                (ordinal, definition.columns[ordinal].ty)
            }
            _ => {
                let table = &definition.name.name;
                let bound = self.index_expression(expr, table, &definition.columns)?;
                refuse_collation(self.common_collation(&[&bound.expr], at)?, at)?;
                match bound.expr.as_column() {
                    Some(id) => (id.0 as usize, bound.ty()),
                    None => {
                        let known = &mut terms.expressions;
                        known.push(index_terms::expression_of(expr, bound.ty(), known));
                        (INDEX_EXPRESSION + known.len() - 1, bound.ty())
                    }
                }
            }
        };
        refuse_index(ty, at)?;
        if let Some(def) = definition.columns.get(ordinal) {
            refuse_collation(def.collation, at)?;
        }
        let named = element.column.operator_class.as_ref();
        let (class, stored) = match (method, named) {
            (ExclusionMethod::BTree | ExclusionMethod::Hash, Some(named)) => {
                (self.exclusion_class(None, ty, method, at)?, operator_class(named, ty, at)?)
            }
            _ => {
                let named = named.map(class_name).transpose()?;
                let class = self.exclusion_class(named.as_ref(), ty, method, at)?;
                (class, (!class.is_usual).then(|| class.name.to_owned()))
            }
        };
        let operator = operator_of(&element.operator, ty, class, at)?;
        let (direction, nulls) = (Direction::Ascending, NullsOrder::Last);
        Ok(Element { column: IndexColumn { ordinal, direction, nulls }, operator, class: stored })
    }

    /// The class that is named, or the usual one of a type; those of keys in order are all alike.
    fn exclusion_class(
        &self,
        named: Option<&RelationName>,
        ty: DataType,
        method: ExclusionMethod,
        at: Place,
    ) -> Result<Class> {
        let is_there = |class: &Class, schema: Option<&str>| {
            let finds = |name: &str| self.catalog.finds_extension(name, self.called(schema));
            class.extension.is_none_or(finds)
        };
        let known = classes(ty, method);
        let is_ordered = matches!(method, ExclusionMethod::BTree | ExclusionMethod::Hash);
        let Some(named) = named.filter(|_| !is_ordered) else {
            let usual = known.iter().find(|class| class.is_usual && is_there(class, None));
            return usual.copied().ok_or_else(|| without_class(ty, method, at));
        };
        let RelationName { schema, name } = named;
        let is_it = |class: &&Class| class.name == name && is_there(class, schema.as_deref());
        known.iter().find(is_it).copied().ok_or_else(|| {
            let method = method.name();
            let message = format!(
                "operator class \"{name}\" does not exist for access method \"{method}\", or does \
                 not accept data type {}",
                ty.name()
            );
            place(Error::new(SqlState::UNDEFINED_OBJECT, message), at)
        })
    }

    /// The class of a key in a tree, where it is not the usual one.
    ///
    /// # Errors
    /// 42704 for a class that is not there.
    pub(super) fn class_of_tree(
        &self,
        named: Option<&RelationName>,
        ty: DataType,
        method: ExclusionMethod,
        at: Place,
    ) -> Result<Option<String>> {
        let class = self.exclusion_class(named, ty, method, at)?;
        // Shapes have classes of trees, and no order.
        if !matches!(ty, DataType::Packed(packed) if packed.is_shape()) {
            refuse_index(ty, at)?;
        }
        Ok((!class.is_usual).then(|| class.name.to_owned()))
    }

    /// Tests that the exclusion constraints over a column can have values of its new type.
    ///
    /// # Errors
    /// 42704 for a type without a class, 42883 for one without the operator.
    pub(super) fn refit_exclusions(
        &self,
        definition: &Definition,
        column: usize,
        ty: DataType,
        at: Place,
    ) -> Result<()> {
        for index in &definition.exclusions {
            let Some(exclusion) = &index.terms.exclusion else { continue };
            let over = |element: &&ExclusionElement| {
                index.columns.get(element.column).is_some_and(|known| known.ordinal == column)
            };
            for element in exclusion.elements.iter().filter(over) {
                let named = index.terms.classes.iter().find(|(at, _)| *at == element.column);
                let named =
                    named.map(|(_, name)| RelationName { schema: None, name: name.clone() });
                let class = self.exclusion_class(named.as_ref(), ty, exclusion.method, at)?;
                if !class.operators.contains(&element.operator) {
                    return Err(no_member(element.operator.sign(), ty, class, at));
                }
            }
        }
        Ok(())
    }
}

/// Parts of a constraint beside its elements.
struct Form {
    method: ExclusionMethod,
    deferral: Deferral,
}

/// The index of the constraint, where what is compared with `=` comes first.
fn index_of(name: String, elements: Vec<Element>, terms: IndexTerms, form: Form) -> IndexMeta {
    let mut order: Vec<usize> = (0..elements.len()).collect();
    order.sort_by_key(|at| elements[*at].operator != ExclusionOperator::Equal);
    let columns = order.iter().map(|at| elements[*at].column).collect();
    let position = |at: usize| order.iter().position(|known| *known == at).unwrap_or_default();
    let element = |(at, element): (usize, &Element)| ExclusionElement {
        column: position(at),
        operator: element.operator,
    };
    let exclusion = Exclusion {
        method: form.method,
        elements: elements.iter().enumerate().map(element).collect(),
        deferral: form.deferral,
    };
    let class = |at: usize| elements[at].class.clone().map(|class| (position(at), class));
    let classes = (0..elements.len()).filter_map(class).collect();
    let terms = IndexTerms { classes, exclusion: Some(exclusion), ..terms };
    IndexMeta { name, columns, unique: Uniqueness::No, kind: IndexKind::Ordered, terms }
}

fn method_of(constraint: &ast::ExcludeConstraint) -> Result<ExclusionMethod> {
    let Some(ident) = &constraint.index_method else { return Ok(ExclusionMethod::BTree) };
    let name = folded(ident);
    let at = super::name::ident_at(ident);
    if let Some(method) = ExclusionMethod::named(&name) {
        return Ok(method);
    }
    if matches!(name.as_str(), "gin" | "brin") {
        let message = format!("access method \"{name}\" does not support exclusion constraints");
        return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
    }
    fail(SqlState::UNDEFINED_OBJECT, format!("access method \"{name}\" does not exist"), at)
}

/// # Errors
/// 42809 for an operator whose sides cannot change places, or that the class does not have; 42883
/// for one that is not there.
fn operator_of(
    operator: &ast::ExcludeConstraintOperator,
    ty: DataType,
    class: Class,
    at: Place,
) -> Result<ExclusionOperator> {
    let sign = match operator {
        ast::ExcludeConstraintOperator::Token(sign) => sign.as_str(),
        ast::ExcludeConstraintOperator::PGOperator(parts) => {
            parts.last().map_or("", String::as_str)
        }
    };
    let name = ty.name();
    if ONE_WAY.contains(&sign) {
        let message = format!("operator {sign}({name},{name}) is not commutative");
        let detail = "Only commutative operators can be used in exclusion constraints.";
        let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail);
        return Err(place(error, at));
    }
    match ExclusionOperator::of_sign(sign) {
        Some(operator) if class.operators.contains(&operator) => Ok(operator),
        Some(operator) if exists(operator, ty) => Err(no_member(operator.sign(), ty, class, at)),
        _ => {
            let message = format!("operator does not exist: {name} {sign} {name}");
            fail(SqlState::UNDEFINED_FUNCTION, message, at)
        }
    }
}

/// True when values of the type are compared with the operator anywhere.
fn exists(operator: ExclusionOperator, ty: DataType) -> bool {
    use PackedType as P;
    let is_of_ranges = matches!(ty, DataType::Packed(P::Range(_) | P::Multirange(_)));
    match operator {
        ExclusionOperator::Equal | ExclusionOperator::Differs => true,
        ExclusionOperator::Adjacent => is_of_ranges,
        ExclusionOperator::Overlaps => {
            is_of_ranges || ty.is_array() || matches!(ty, DataType::Packed(P::Inet | P::Cidr))
        }
    }
}

#[cold]
fn no_member(sign: &str, ty: DataType, class: Class, at: Place) -> Error {
    let (name, class) = (ty.name(), class.name);
    let message =
        format!("operator {sign}({name},{name}) is not a member of operator family \"{class}\"");
    let detail =
        "The exclusion operator must be related to the index operator class for the constraint.";
    place(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail), at)
}

#[cold]
fn without_class(ty: DataType, method: ExclusionMethod, at: Place) -> Error {
    let message = format!(
        "data type {} has no default operator class for access method \"{}\"",
        ty.name(),
        method.name()
    );
    let hint = "You must specify an operator class for the index or define a default operator \
                class for the data type.";
    place(Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(hint), at)
}

const EQUAL: &[ExclusionOperator] = &[ExclusionOperator::Equal];
const SCALAR: &[ExclusionOperator] = &[ExclusionOperator::Equal, ExclusionOperator::Differs];
const RANGE: &[ExclusionOperator] =
    &[ExclusionOperator::Equal, ExclusionOperator::Overlaps, ExclusionOperator::Adjacent];
const NETWORK: &[ExclusionOperator] =
    &[ExclusionOperator::Equal, ExclusionOperator::Differs, ExclusionOperator::Overlaps];

/// The classes of a type for an access method.
fn classes(ty: DataType, method: ExclusionMethod) -> Vec<Class> {
    use DataType as T;
    use PackedType as P;
    let own = |name, operators| Class { name, is_usual: true, extension: None, operators };
    let named = |name, operators| Class { name, is_usual: false, extension: None, operators };
    match (method, ty) {
        (ExclusionMethod::BTree | ExclusionMethod::Hash, _) => {
            vec![own(ordered_class(ty), EQUAL)]
        }
        (_, T::Packed(P::Range(_))) => vec![own("range_ops", RANGE)],
        (ExclusionMethod::Gist, T::Packed(P::Multirange(_))) => {
            vec![own("multirange_ops", RANGE)]
        }
        (ExclusionMethod::SpGist, T::Text | T::Varchar(_)) => vec![own("text_ops", EQUAL)],
        (ExclusionMethod::SpGist, T::Packed(P::Inet | P::Cidr)) => {
            vec![own("inet_ops", NETWORK)]
        }
        (ExclusionMethod::Gist, T::Packed(P::Point)) => vec![own("point_ops", &[])],
        (ExclusionMethod::Gist, T::Packed(P::Circle)) => vec![own("circle_ops", &[])],
        (ExclusionMethod::SpGist, T::Packed(P::Point)) => {
            vec![own("quad_point_ops", &[]), named("kd_point_ops", &[])]
        }
        (_, T::Packed(P::Box)) => vec![own("box_ops", &[])],
        (_, T::Packed(P::Polygon)) => vec![own("poly_ops", &[])],
        (ExclusionMethod::Gist, _) => {
            let mut known = Vec::new();
            if let Some(name) = scalar_class(ty) {
                let extension = Some("btree_gist");
                known.push(Class { name, is_usual: true, extension, operators: SCALAR });
            }
            if matches!(ty, T::Packed(P::Inet | P::Cidr)) {
                known.push(named("inet_ops", NETWORK));
            }
            known
        }
        _ => Vec::new(),
    }
}

/// The family of the usual class for keys in order.
fn ordered_class(ty: DataType) -> &'static str {
    use DataType as T;
    match ty {
        T::SmallInt | T::Integer | T::BigInt => "integer_ops",
        T::Real | T::Double => "float_ops",
        T::Numeric(_) | T::WideNumeric(_) => "numeric_ops",
        T::Date | T::Timestamp(_) | T::TimestampTz(_) => "datetime_ops",
        T::Text | T::Varchar(_) => "text_ops",
        T::Char(_) => "bpchar_ops",
        T::Boolean => "bool_ops",
        T::Bytea => "bytea_ops",
        T::Uuid => "uuid_ops",
        T::Packed(PackedType::Range(_)) => "range_ops",
        T::Packed(PackedType::Multirange(_)) => "multirange_ops",
        T::Packed(PackedType::Inet | PackedType::Cidr) => "network_ops",
        _ => "ops",
    }
}

/// The class that btree_gist has for a type.
fn scalar_class(ty: DataType) -> Option<&'static str> {
    use DataType as T;
    use PackedType as P;
    Some(match ty {
        T::SmallInt => "gist_int2_ops",
        T::Integer => "gist_int4_ops",
        T::BigInt => "gist_int8_ops",
        T::Real => "gist_float4_ops",
        T::Double => "gist_float8_ops",
        T::Numeric(_) | T::WideNumeric(_) => "gist_numeric_ops",
        T::Boolean => "gist_bool_ops",
        T::Text | T::Varchar(_) => "gist_text_ops",
        T::Char(_) => "gist_bpchar_ops",
        T::Bytea => "gist_bytea_ops",
        T::Date => "gist_date_ops",
        T::Time(_) => "gist_time_ops",
        T::Timestamp(_) => "gist_timestamp_ops",
        T::TimestampTz(_) => "gist_timestamptz_ops",
        T::Interval(_) => "gist_interval_ops",
        T::Uuid => "gist_uuid_ops",
        T::Oid => "gist_oid_ops",
        T::Enum(_) => "gist_enum_ops",
        T::Packed(P::Inet) => "gist_inet_ops",
        T::Packed(P::Cidr) => "gist_cidr_ops",
        T::Packed(P::MacAddr) => "gist_macad_ops",
        T::Packed(P::MacAddr8) => "gist_macad8_ops",
        T::Packed(P::Bit(_)) => "gist_bit_ops",
        T::Packed(P::VarBit(_)) => "gist_vbit_ops",
        T::Packed(P::TimeTz(_)) => "gist_timetz_ops",
        T::Packed(P::Money) => "gist_cash_ops",
        _ => return None,
    })
}
