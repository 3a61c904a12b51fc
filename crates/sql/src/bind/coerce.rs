//! Conversions: literals take their type, operands are cast, types of several expressions are
//! united.

use std::cmp::Ordering;

use types::{DataType, ElementType, Error, NumericType, RecordType, Result, SqlState, Value};

use super::literal::{decimal, numeric, unknown_text};
use super::types::{
    Candidate, Category, Context, can_cast, category, common_type, comparison_type,
    interchangeable, summed_type,
};
use super::{Binder, Bound, BoundColumn, BoundQuery, fail, place};
use crate::algebra::{ColumnId, Expr, ExprKind, Function, Place, Plan};
use crate::catalog::Digits;

/// How a construct that unites types is named in errors: `CASE types integer and text cannot be
/// matched`.
pub(super) type Construct = &'static str;

impl Binder<'_> {
    /// `bound` as `to`. Literals are converted at once; VARCHAR and TEXT need no cast (see
    /// [`interchangeable`]).
    pub(super) fn coerce(&mut self, bound: Bound, to: DataType, context: Context) -> Result<Expr> {
        if !to.has_domains() {
            return self.converted_to(bound, to, context);
        }
        let is_parameter = matches!(bound.expr.kind, ExprKind::Parameter(_));
        let is_made = bound.ty() != to || is_parameter;
        let expr = self.converted_to(bound, to, context)?;
        let is_tested = matches!(expr.kind, ExprKind::Call(Function::Domain(_), _));
        if !is_made || is_tested || expr.as_literal() == Some(&Value::Null) {
            return Ok(expr);
        }
        self.with_tested_attributes(Expr { ty: to, ..expr })
    }

    /// [`Self::coerce`], without a test of attributes.
    fn converted_to(&mut self, bound: Bound, to: DataType, context: Context) -> Result<Expr> {
        let Bound { mut expr, at } = bound;
        let from = expr.ty;
        if from == to || to == DataType::Unknown {
            return Ok(expr);
        }
        // Only what is written to a column or cast has its digits.
        let to = if context == Context::Implicit { to.of_all_digits() } else { to };
        if let ExprKind::Parameter(number) = expr.kind
            && from == DataType::Unknown
        {
            return self.type_parameter(number, to, context, at);
        }
        if is_object(to)
            && let Some(object) = self.as_object(&Bound::new(expr.clone(), at), to, context)?
        {
            return Ok(object);
        }
        if let ExprKind::Literal(value) = &expr.kind {
            let literal = Literal { value, ty: from, at };
            let value = self.literal_as(&literal, to, context);
            if let Some(value) = value.map_err(|e| place(e, at))? {
                return Ok(Expr::literal(value, to));
            }
        }
        if let (Some(list), DataType::Record(row)) = (written_row(&expr, to), to) {
            let list = list.to_vec();
            return self.row_as(list, row, context, at);
        }
        if !can_cast(from, to, context) {
            return Err(place(cannot_cast(from, to, context), at));
        }
        if to.rounds_time() && !from.is_text() && from.of_all_digits() != to.of_all_digits() {
            let plain = self.coerce(Bound::new(expr, at), to.of_all_digits(), context)?;
            return Ok(self.cast(plain, to));
        }
        if from == DataType::Unknown {
            // Text of a sub-query whose column was an untyped literal.
            expr.ty = DataType::Text;
            return Ok(self.cast(expr, to));
        }
        if context == Context::Assignment && needs_length_check(from, to) {
            return Ok(self.assigned_text(expr, to));
        }
        let texts = category(from) == Category::Text;
        let kept = context == Context::Implicit || (context == Context::Assignment && texts);
        let cut = matches!(to, DataType::Name | DataType::InternalChar) && from != to;
        if kept && !cut && interchangeable(from, to) {
            return Ok(expr);
        }
        if (context, to) == (Context::Explicit, DataType::NUMERIC)
            && let Some(n) = super::types::as_numeric(from)
        {
            // NUMERIC without precision takes any exact number as it is.
            let ty = DataType::Numeric(NumericType::computed(n.precision, n.scale));
            return Ok(expr.cast(ty));
        }
        let is_hidden = context == Context::Implicit
            && has_mixed_operators(from, to)
            && self.levels.last().is_some_and(|level| level.has_sets);
        if is_hidden {
            // PostgreSQL compares and adds such types without a conversion: what stands here is not
            // the key of a grouping set that is written as one. Planning drops the inner cast.
            let inner = Expr { ty: from, kind: ExprKind::Cast(Box::new(expr)) };
            return Ok(self.cast(inner, to));
        }
        Ok(self.cast(expr, to))
    }

    /// A row that is written as such as one of a type that has a name, field by field: texts in
    /// quotes take the types of theirs.
    fn row_as(
        &mut self,
        list: Vec<Expr>,
        row: RecordType,
        context: Context,
        at: Place,
    ) -> Result<Expr> {
        if let Some(error) = misfit(&list, row, context) {
            return Err(place(error, at));
        }
        let mut fields = Vec::with_capacity(list.len());
        for (mut value, field) in list.into_iter().zip(row.fields()) {
            if unknown_field(&value) {
                value.ty = DataType::Unknown;
            }
            let value = self.coerce(Bound::new(value, at), field.ty, context)?;
            fields.push(if value.ty == field.ty { value } else { self.cast(value, field.ty) });
        }
        Ok(Expr::call(Function::RecordMake, fields, DataType::Record(row)))
    }

    /// As [`Self::coerce`] by implicit casts, with PostgreSQL's error about the argument of a
    /// clause.
    pub(super) fn coerce_clause(
        &mut self,
        bound: Bound,
        to: DataType,
        clause: &str,
    ) -> Result<Expr> {
        if !can_cast(bound.ty(), to, Context::Implicit) {
            let message = format!(
                "argument of {clause} must be type {}, not type {}",
                to.name(),
                bound.ty().name()
            );
            return fail(SqlState::DATATYPE_MISMATCH, message, bound.at);
        }
        if self.returns_set(&bound.expr) {
            let message = format!("argument of {clause} must not return a set");
            return fail(SqlState::DATATYPE_MISMATCH, message, bound.at);
        }
        self.coerce(bound, to, Context::Implicit)
    }

    /// Text, or what becomes text, which may be too long for the column that it goes to.
    fn assigned_text(&mut self, expr: Expr, to: DataType) -> Expr {
        let from = expr.ty;
        let is_bits = matches!((from, to), (DataType::Packed(_), DataType::Packed(_)));
        let is_text =
            category(from) == Category::Text || matches!(to, DataType::Array(_)) || is_bits;
        let text = match (is_text, from) {
            // What goes by the time zone has become text before lengths count.
            (true, DataType::Array(_)) if types::cast::depends_on_zone(from, to) => {
                self.cast(expr, DataType::Array(ElementType::Text))
            }
            // Without the blanks at its end.
            (true, DataType::Char(0)) => self.cast(expr, DataType::Text),
            (true, _) => expr,
            (false, _) => self.cast(expr, DataType::Text),
        };
        Expr::call(Function::AssignText, vec![text], to)
    }

    /// A value of `regclass` or its kin, or an array of such, made of another one; None where there
    /// is no such cast.
    fn as_object(&mut self, bound: &Bound, to: DataType, context: Context) -> Result<Option<Expr>> {
        // Text of a sub-query whose column was an untyped literal, too.
        let is_asked = bound.is_unknown() || can_cast(bound.ty(), to, context);
        match to {
            DataType::Reg(kind) if is_asked => self.object_cast(bound, kind),
            DataType::Array(ElementType::Reg(kind)) if is_asked => self.objects_cast(bound, kind),
            _ => Ok(None),
        }
    }

    fn type_parameter(
        &mut self,
        number: u32,
        to: DataType,
        context: Context,
        at: Place,
    ) -> Result<Expr> {
        let kind = ExprKind::Parameter(number);
        let Some(known) = self.parameters.get_mut(number as usize) else {
            return Err(Error::internal("parameter out of range"));
        };
        if *known != DataType::Unknown {
            let bound = Bound::new(Expr { kind, ty: *known }, at);
            return self.coerce(bound, to, context);
        }
        // A length or a precision belongs to the place, not to the parameter. Bound again with this
        // type, the statement has the same columns.
        *known = match to {
            // Clients write names of objects.
            DataType::Reg(_) => DataType::Text,
            DataType::Array(ElementType::Reg(_)) => DataType::Array(ElementType::Text),
            DataType::Varchar(_) => DataType::Varchar(None),
            DataType::Char(_) => DataType::Char(0),
            DataType::Array(ElementType::Varchar(_)) => DataType::Array(ElementType::Varchar(None)),
            DataType::Array(ElementType::Char(_)) => DataType::Array(ElementType::Char(0)),
            DataType::Numeric(_) | DataType::WideNumeric(_) => DataType::NUMERIC,
            other => other.of_all_digits(),
        };
        let bound = Bound::new(Expr { kind, ty: *known }, at);
        self.coerce(bound, to, context)
    }

    /// Brings both operands of a comparison to one type; None when there is no such comparison.
    pub(super) fn unite_operands(
        &mut self,
        left: Bound,
        right: Bound,
    ) -> Result<Option<(Expr, Expr)>> {
        let (left, right) = (self.retyped(left), self.retyped(right));
        let ty = match (left.is_unknown(), right.is_unknown()) {
            (true, true) => DataType::Text,
            (true, false) => literal_target(&left, right.ty()),
            (false, true) => literal_target(&right, left.ty()),
            (false, false) => match comparison_type(self.digits, left.ty(), right.ty()) {
                Some(ty) => ty,
                None => return Ok(None),
            },
        };
        let left = self.coerce_operand(left, ty)?;
        Ok(Some((left, self.coerce_operand(right, ty)?)))
    }

    fn coerce_operand(&mut self, bound: Bound, ty: DataType) -> Result<Expr> {
        if !bound.is_unknown() && interchangeable(bound.ty(), ty) {
            return Ok(bound.expr);
        }
        self.coerce(bound, ty, Context::Implicit)
    }

    /// A parameter with the type that was found for it since it was bound.
    pub(super) fn retyped(&self, mut bound: Bound) -> Bound {
        if let ExprKind::Parameter(number) = bound.expr.kind
            && let Some(ty) = self.parameters.get(number as usize)
        {
            bound.expr.ty = *ty;
        }
        bound
    }

    /// The type of [`Self::retyped`].
    pub(super) fn type_now(&self, bound: &Bound) -> DataType {
        match bound.expr.kind {
            ExprKind::Parameter(number) => {
                self.parameters.get(number as usize).copied().unwrap_or(bound.expr.ty)
            }
            _ => bound.ty(),
        }
    }

    /// Brings all of `list` to their common type.
    pub(super) fn unite(
        &mut self,
        list: Vec<Bound>,
        construct: Construct,
    ) -> Result<(Vec<Expr>, DataType)> {
        let list: Vec<Bound> = list.into_iter().map(|bound| self.retyped(bound)).collect();
        let ty = self.united_type(&list, construct)?;
        let coerced: Result<Vec<Expr>> =
            list.into_iter().map(|bound| self.coerce(bound, ty, Context::Implicit)).collect();
        Ok((coerced?, ty))
    }

    /// All of `list` as `ty`.
    pub(super) fn coerce_all(
        &mut self,
        list: impl Iterator<Item = Bound>,
        ty: DataType,
    ) -> Result<Vec<Expr>> {
        list.map(|bound| self.coerce(bound, ty, Context::Implicit)).collect()
    }

    /// The type in which `list` becomes one column, whose values clients see.
    pub(super) fn united_type(&self, list: &[Bound], construct: Construct) -> Result<DataType> {
        if self.summed {
            return self.compared_type(list, construct);
        }
        Ok(literals_type(self.type_of_all(list, construct)?, list.iter()))
    }

    /// The type in which `list` is compared or summed: literals must fit whole.
    pub(super) fn compared_type(&self, list: &[Bound], construct: Construct) -> Result<DataType> {
        let literals = list.iter().filter(|bound| unknown_text(&bound.expr).is_some());
        let ty = match longest_char(list) {
            Some(ty) => ty,
            None => self.type_of_all(list, construct)?,
        };
        Ok(literals.fold(ty, |ty, literal| match (literal_target(literal, ty), ty) {
            (DataType::Text, DataType::Varchar(_)) => DataType::Varchar(None),
            (_, DataType::Reg(kind)) => DataType::Reg(kind),
            (wider, _) => wider,
        }))
    }

    /// The common type of `list`, of which untyped literals say nothing.
    fn type_of_all(&self, list: &[Bound], construct: Construct) -> Result<DataType> {
        let candidates: Vec<Candidate> =
            list.iter().map(|bound| Candidate { ty: bound.ty() }).collect();
        if self.summed
            && let Some(ty) = summed_type(self.digits, &candidates)
        {
            return Ok(ty);
        }
        common_type(&candidates).map_err(|(a, b)| {
            let at = list.iter().find(|bound| bound.ty() == b).and_then(|bound| bound.at);
            place(mismatch(construct, a, b), at)
        })
    }

    /// The query with columns of `types`: an untyped literal takes its type, others are cast.
    pub(super) fn coerce_columns(
        &mut self,
        query: BoundQuery,
        types: &[DataType],
        context: Context,
    ) -> Result<BoundQuery> {
        let BoundQuery { mut plan, mut columns } = query;
        if !computes_unknowns(&plan) {
            let is_unknown = |(column, _): &(&BoundColumn, _)| column.ty == DataType::Unknown;
            let wanted = columns.iter().zip(types).filter(is_unknown);
            let wanted =
                wanted.map(|(column, ty)| Wanted { id: column.id, ty: *ty, at: column.at });
            let wanted: Vec<Wanted> = wanted.collect();
            self.type_unknowns(&mut plan, &wanted, context)?;
            for column in &mut columns {
                let taken = wanted.iter().find(|want| want.id == column.id);
                column.ty = taken.map_or(column.ty, |want| want.ty);
            }
        }
        if columns.iter().zip(types).all(|(column, ty)| column.ty == *ty) {
            return Ok(BoundQuery { plan, columns });
        }
        let (input, computed) = match plan {
            Plan::Project { input, columns } => (input, columns),
            plan => (Box::new(plan), Vec::new()),
        };
        let mut output = Vec::with_capacity(columns.len());
        let mut project = Vec::with_capacity(columns.len());
        for (column, &ty) in columns.into_iter().zip(types) {
            let known = computed.iter().find(|(id, _)| *id == column.id);
            let expr = match known {
                Some((_, expr)) => expr.clone(),
                None => Expr::column(column.id, column.ty),
            };
            let before = expr.clone();
            let expr = self.coerce(Bound::new(expr, column.at), ty, context)?;
            let taken = project.iter().any(|(id, _)| *id == column.id);
            let id = if expr == before && !taken { column.id } else { self.fresh() };
            self.note_collation(id, &expr)?;
            project.push((id, expr));
            output.push(BoundColumn { ty, id, ..column });
        }
        Ok(BoundQuery { plan: Plan::Project { input, columns: project }, columns: output })
    }

    /// Untyped literals and parameters take their types where `plan` computes them: below what
    /// sorts its rows and counts them, and the definitions before it.
    fn type_unknowns(
        &mut self,
        plan: &mut Plan,
        wanted: &[Wanted],
        context: Context,
    ) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        match plan {
            Plan::Sort { input, .. } | Plan::Limit { input, .. } | Plan::Distinct { input, .. } => {
                self.type_unknowns(input, wanted, context)
            }
            // Functions that give rows stand at the right.
            Plan::Join { left, .. } => self.type_unknowns(left, wanted, context),
            Plan::With { body, .. } | Plan::RecursiveWith { body, .. } => {
                self.type_unknowns(body, wanted, context)
            }
            Plan::Project { input, columns } => {
                let mut below = Vec::new();
                for (id, expr) in columns {
                    let Some(want) = wanted.iter().find(|want| want.id == *id) else { continue };
                    match expr.as_column() {
                        Some(id) => {
                            below.push(Wanted { id, ..*want });
                            expr.ty = want.ty;
                        }
                        None => {
                            let bound = Bound::new(expr.clone(), want.at);
                            *expr = self.coerce(bound, want.ty, context)?;
                        }
                    }
                }
                self.type_unknowns(input, &below, context)
            }
            Plan::Values { columns, rows } => {
                for (at_idx, (id, ty)) in columns.iter_mut().enumerate() {
                    let Some(want) = wanted.iter().find(|want| want.id == *id) else { continue };
                    *ty = want.ty;
                    for expr in rows.iter_mut().filter_map(|row| row.get_mut(at_idx)) {
                        *expr = self.coerce(Bound::new(expr.clone(), want.at), want.ty, context)?;
                    }
                }
                Ok(())
            }
            _ => Err(Error::internal("untyped columns are computed by a select list")),
        }
    }

    /// The plan whose output is exactly the query's columns, by position, without repeats.
    pub(super) fn exact(&mut self, query: BoundQuery) -> (Plan, Vec<BoundColumn>) {
        let BoundQuery { plan, mut columns } = query;
        let output = plan.output();
        let matches = output.len() == columns.len()
            && output.iter().zip(&columns).all(|(id, column)| *id == column.id);
        if matches {
            return (plan, columns);
        }
        let repeats = columns
            .iter()
            .enumerate()
            .any(|(at, column)| columns.iter().take(at).any(|before| before.id == column.id));
        let (input, computed) = match plan {
            Plan::Project { input, columns } if !repeats => (input, columns),
            plan => (Box::new(plan), Vec::new()),
        };
        let mut project: Vec<(ColumnId, Expr)> = Vec::with_capacity(columns.len());
        for column in &mut columns {
            let known = computed.iter().find(|(id, _)| *id == column.id);
            let expr =
                known.map_or_else(|| Expr::column(column.id, column.ty), |(_, expr)| expr.clone());
            if project.iter().any(|(id, _)| *id == column.id) {
                let id = self.fresh();
                self.copy_origin(column.id, id);
                column.id = id;
            }
            project.push((column.id, expr));
        }
        (Plan::Project { input, columns: project }, columns)
    }
}

/// A column of no type yet and the one that it takes.
struct Wanted {
    id: ColumnId,
    ty: DataType,
    at: Place,
}

/// True when `plan` itself computes its untyped columns.
fn computes_unknowns(plan: &Plan) -> bool {
    let is_computed =
        |(_, expr): &(_, Expr)| expr.ty != DataType::Unknown || expr.as_column().is_none();
    matches!(plan, Plan::Project { columns, .. } if columns.iter().all(is_computed))
}

/// The values of a row that is written as such, where `to` is a type of rows that has a name.
pub(super) fn written_row(expr: &Expr, to: DataType) -> Option<&[Expr]> {
    match (&expr.kind, expr.ty, to) {
        (
            ExprKind::Call(Function::RecordMake, list),
            DataType::Record(own),
            DataType::Record(row),
        ) => (own.number().is_none() && row.number().is_some()).then_some(list.as_slice()),
        _ => None,
    }
}

/// True for a text in quotes, which a row holds as TEXT; one that was said to be TEXT stands in a
/// cast there ([`Binder::record_of`]).
fn unknown_field(value: &Expr) -> bool {
    value.ty == DataType::Text && matches!(value.kind, ExprKind::Literal(_))
}

/// 42846 unless each value of a row may become the field of `row` at its place.
fn misfit(list: &[Expr], row: RecordType, context: Context) -> Option<Error> {
    let error = |detail: String| {
        let message = format!("cannot cast type record to {}", row.name());
        Error::new(SqlState::CANNOT_COERCE, message).with_detail(detail)
    };
    for (at, (value, field)) in list.iter().zip(row.fields()).enumerate() {
        if let (Some(list), DataType::Record(row)) = (written_row(value, field.ty), field.ty) {
            if let Some(error) = misfit(list, row, context) {
                return Some(error);
            }
        } else if !unknown_field(value) && !can_cast(value.ty, field.ty, context) {
            let (from, to) = (value.ty.name(), field.ty.name());
            return Some(error(format!("Cannot cast type {from} to {to} in column {}.", at + 1)));
        }
    }
    match list.len().cmp(&row.fields().len()) {
        Ordering::Less => Some(error("Input has too few columns.".to_owned())),
        Ordering::Greater => Some(error("Input has too many columns.".to_owned())),
        Ordering::Equal => None,
    }
}

/// `CASE types integer and text cannot be matched`; two enumerated types are of one category, so
/// that the cast between them is missed.
pub(super) fn mismatch(construct: Construct, a: DataType, b: DataType) -> Error {
    if let (DataType::Enum(_), DataType::Enum(_)) = (a, b) {
        let (from, to) = (b.name(), a.name());
        let message = format!("{construct} could not convert type {from} to {to}");
        return Error::new(SqlState::CANNOT_COERCE, message);
    }
    let message = format!("{construct} types {} and {} cannot be matched", a.name(), b.name());
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

fn cannot_cast(from: DataType, to: DataType, context: Context) -> Error {
    let (from, to) = (from.name(), to.name());
    match context {
        Context::Explicit => {
            Error::new(SqlState::CANNOT_COERCE, format!("cannot cast type {from} to {to}"))
        }
        _ => Error::new(
            SqlState::DATATYPE_MISMATCH,
            format!("expression is of type {from}, but type {to} is needed"),
        )
        .with_hint("You will need to rewrite or cast the expression."),
    }
}

/// The type `ty`, or a wider one that holds all untyped literals of `list` whole: CASE ... ELSE
/// '0.125'.
pub(super) fn literals_type<'a>(
    mut ty: DataType,
    list: impl Iterator<Item = &'a Bound>,
) -> DataType {
    use DataType as T;
    if !matches!(ty, T::Varchar(Some(_)) | T::Char(1..) | T::Numeric(_) | T::WideNumeric(Some(_))) {
        return ty;
    }
    for literal in list {
        let Some(text) = unknown_text(&literal.expr) else { continue };
        let digits = || decimal(&text.trim().to_ascii_lowercase());
        ty = match (literal_target(literal, ty), ty) {
            (T::Text, T::Varchar(_)) => T::Varchar(None),
            // Values keep their scales.
            (_, T::Numeric(n)) if digits().is_none_or(|(_, scale)| scale != n.scale) => T::NUMERIC,
            (wider, _) => wider,
        };
    }
    ty
}

/// The type that an untyped literal takes beside an operand of type `other`.
pub(super) fn literal_target(literal: &Bound, other: DataType) -> DataType {
    match other {
        DataType::Varchar(_) => DataType::Text,
        // Operators take numbers of objects as OIDs.
        DataType::Reg(_) => DataType::Oid,
        // The literal may be longer than the column: it is then equal to none of its values.
        DataType::Char(n @ 1..) => {
            let length = unknown_text(&literal.expr).map_or(0, |text| text.chars().count());
            DataType::Char(n.max(u32::try_from(length).unwrap_or(u32::MAX)))
        }
        // The literal keeps its own digits, so that none is rounded away.
        DataType::Numeric(_) => {
            let own = unknown_text(&literal.expr).and_then(|text| {
                decimal(&text.trim().to_ascii_lowercase())
                    .map(|(value, scale)| numeric(value, scale).ty)
            });
            own.and_then(|own| super::types::number_union(Digits::All, own, other))
                .unwrap_or(DataType::NUMERIC)
        }
        DataType::WideNumeric(_) => DataType::NUMERIC,
        other => other,
    }
}

/// The longest CHAR of `list`, which has nothing else whose type is known: as they are held they
/// compare without blanks.
fn longest_char(list: &[Bound]) -> Option<DataType> {
    let mut lengths =
        list.iter().filter(|bound| !bound.is_unknown()).map(|bound| match bound.ty() {
            DataType::Char(n @ 1..) => Some(n),
            _ => None,
        });
    let longest = lengths.try_fold(0, |longest: u32, length| Some(longest.max(length?)))?;
    (longest > 0).then_some(DataType::Char(longest))
}

/// A constant, its type, and where it stands.
struct Literal<'e> {
    value: &'e Value,
    ty: DataType,
    at: Place,
}

/// True for `regclass` and its kin, and arrays of such.
fn is_object(ty: DataType) -> bool {
    let is_one = |ty| matches!(ty, DataType::Reg(_));
    is_one(ty) || ty.element().is_some_and(is_one)
}

impl Binder<'_> {
    /// A literal as one of type `to`: None when it has to wait for a cast that does not exist
    /// here, or goes by the session's time zone.
    fn literal_as(
        &mut self,
        literal: &Literal<'_>,
        to: DataType,
        context: Context,
    ) -> Result<Option<Value>> {
        let Literal { value, ty: from, at } = *literal;
        if from != DataType::Unknown || value.is_null() {
            self.note_shown(from, to);
            let waits = self.has_zone() && types::cast::depends_on_zone(from, to);
            return if waits { Ok(None) } else { typed_literal_as(value, from, to, context) };
        }
        let Value::Str(bytes) = value else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(bytes);
        let kind = if to.has_packed_length() { Category::Text } else { category(to) };
        match (kind, context) {
            (Category::Array, _) if types::cast::depends_on_zone(from, to) => {
                self.read_literal(&text, to, at).map(Some)
            }
            (Category::Text | Category::Array, Context::Assignment) => {
                types::cast::assign_value(value, DataType::Text, to).map(Some)
            }
            (Category::Text | Category::Array, _) => {
                types::cast::cast_value(value, DataType::Text, to).map(Some)
            }
            _ => self.read_literal(&text, to, at).map(Some),
        }
    }
}

/// A literal of a type that is known, or NULL, as `to`: None when it has to wait for a cast that
/// does not exist here.
fn typed_literal_as(
    value: &Value,
    from: DataType,
    to: DataType,
    context: Context,
) -> Result<Option<Value>> {
    if value.is_null() {
        return Ok(can_cast(from, to, context).then_some(Value::Null));
    }
    if !can_cast(from, to, context) {
        return Ok(None);
    }
    match context {
        Context::Assignment => types::cast::assign_value(value, from, to).map(Some),
        // `1.5::numeric` keeps its digits; the caller knows how.
        Context::Explicit if to == DataType::NUMERIC => match super::types::as_numeric(from) {
            Some(_) => Ok(None),
            None => types::cast::cast_value(value, from, to).map(Some),
        },
        _ => types::cast::cast_value(value, from, to).map(Some),
    }
}

/// True when PostgreSQL has operators between these types, which convert neither side.
fn has_mixed_operators(from: DataType, to: DataType) -> bool {
    let is_float = |ty| matches!(ty, DataType::Real | DataType::Double);
    let is_time =
        |ty| matches!(ty, DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_));
    from.is_integer() && to.is_integer()
        || is_float(from) && is_float(to)
        || is_time(from) && is_time(to)
}

/// True when a value of type `from` may be too long as text for `to`.
fn needs_length_check(from: DataType, to: DataType) -> bool {
    if let (DataType::Array(from), DataType::Array(to)) = (from, to) {
        let (from, to) = (from.data_type(), to.data_type());
        let is_checked = category(from) == Category::Text || to.has_packed_length();
        return is_checked && needs_length_check(from, to);
    }
    if let (DataType::Packed(from), DataType::Packed(to)) = (from, to) {
        return DataType::Packed(to).has_packed_length() && from != to;
    }
    let limit = match to {
        DataType::Char(n @ 1..) | DataType::Varchar(Some(n)) => n,
        _ => return false,
    };
    match from {
        DataType::Char(n @ 1..) | DataType::Varchar(Some(n)) => n > limit,
        _ => true,
    }
}
