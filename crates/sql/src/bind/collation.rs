//! Collations: which order the texts of an operand have, and keys where it is not that of bytes.
//!
//! ```text
//! column COLLATE "sv-x-icu"        noted by the column's id, handed on to columns made of it
//! x COLLATE "sv-x-icu"             Collate(x), which is x
//! ORDER BY, <, <=, >, >=           CollationKey(x), whose order as bytes is the language's
//! min, max, greatest, least        KeyedText(min(CollationKey(x)))
//! =, <>, IN, GROUP BY, joins       by the text itself where what differs is never equal;
//!                                  CollationKey(x) under a collation that is not deterministic
//! ```
//! Invariant: whoever compares texts asks here, and hears of two orders that contradict each other.
//! Called by all clauses that compare. Elsewhere: names (`types::Collation`), keys
//! (`kernels::collate`), definitions (`collation_def`).
//! Source of the rules: PostgreSQL 15, 24.2.1.

use sqlparser::ast;
use types::{Collation, CompareOp, DataType, ElementType, Error, Result, SqlState};

use super::comparable::{ComparedFor, comparable, has_key};
use super::name::{ident_at, object_at, object_parts};
use super::{Binder, Bound, fail, place, unsupported};
use crate::algebra::{ColumnId, Derived, Expr, ExprKind, Function, Place, is_collatable};
use crate::catalog::{ColumnDef, Variables};
use crate::words::RelationName;

/// 42804 unless values of the type, or elements of such arrays, have collations.
pub(super) fn check_collatable(ty: DataType, at: Place) -> Result<()> {
    let value = ty.element().unwrap_or(ty);
    if value.is_text() && value != DataType::InternalChar {
        return Ok(());
    }
    let message = format!("collations are not supported by type {}", ty.name());
    Err(place(Error::new(SqlState::DATATYPE_MISMATCH, message), at))
}

/// 0A000 for values of NAME that are to be compared otherwise than by their bytes.
fn check_keyed(ty: DataType, collation: Collation, at: Place) -> Result<()> {
    match ty.element().unwrap_or(ty) {
        DataType::Name if !collation.is_of_bytes() => {
            unsupported("a collation of values of type name", at)
        }
        _ => Ok(()),
    }
}

impl Binder<'_> {
    /// The collation that a name means.
    ///
    /// # Errors
    /// 42704 when there is none of it, 3F000 for its schema.
    pub(super) fn collation_named(&mut self, name: &ast::ObjectName) -> Result<Collation> {
        let at = object_at(name);
        let mut parts = object_parts(name)?;
        let bare = parts.pop().unwrap_or_default();
        let schema = parts.pop();
        let known = match schema.as_deref() {
            None => Collation::named(&bare),
            Some("pg_catalog") => return self.known_collation(&bare, Collation::named(&bare), at),
            Some(schema) if !self.catalog.has_schema(schema) => {
                let message = format!("schema \"{schema}\" does not exist");
                return fail(SqlState::UNDEFINED_SCHEMA, message, at);
            }
            Some(_) => None,
        };
        if known.is_some() {
            return self.known_collation(&bare, known, at);
        }
        // Text of definitions says the schemas of its collations.
        let is_kept = self.definition_depth > 0;
        let meant = schema.as_deref().or(is_kept.then_some("public"));
        let found = self.catalog.collation(meant, &bare);
        if let (None, Some((key, _)), Some(at)) = (meant, &found, at) {
            let schema = RelationName::schema_of_key(key);
            if schema != "public" {
                self.placed.push((at, schema.to_owned()));
            }
        }
        // `c` without quotes, as older versions took it.
        let is_c = schema.is_none() && (bare == "c" || bare == "posix");
        let found = found.map(|(_, collation)| collation);
        self.known_collation(&bare, found.or(is_c.then(Collation::c)), at)
    }

    fn known_collation(
        &self,
        name: &str,
        found: Option<Collation>,
        at: Place,
    ) -> Result<Collation> {
        match found {
            Some(collation) => Ok(collation),
            None => {
                let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
                fail(SqlState::UNDEFINED_OBJECT, message, at)
            }
        }
    }

    /// Its name as messages show it.
    pub(super) fn collation_shown(&self, collation: Collation) -> String {
        match collation.name() {
            Some(name) => name.to_owned(),
            None => self.catalog.collation_name(collation).unwrap_or_default(),
        }
    }

    /// `x COLLATE name`.
    pub(super) fn bind_collate(
        &mut self,
        expr: &ast::Expr,
        name: &ast::ObjectName,
    ) -> Result<Bound> {
        let collation = self.collation_named(name)?;
        let bound = self.bind_expr(expr)?;
        let bound = self.retyped(bound);
        if !bound.is_unknown() {
            check_collatable(bound.ty(), object_at(name))?;
            check_keyed(bound.ty(), collation, object_at(name))?;
        }
        self.has_collations = true;
        let at = bound.at;
        let expr = match bound.ty() {
            DataType::Unknown => {
                self.coerce(bound, DataType::Text, super::types::Context::Implicit)?
            }
            _ => bound.expr,
        };
        let ty = expr.ty;
        Ok(Bound::new(Expr::call(Function::Collate(collation), vec![expr], ty), at))
    }

    /// `bound` as it is compared byte by byte, whatever its collation.
    pub(super) fn by_bytes(&mut self, bound: Bound) -> Result<Bound> {
        let at = bound.at;
        let expr = self.as_text(bound, DataType::Text)?;
        if !self.has_collations {
            return Ok(Bound::new(expr, at));
        }
        let by_bytes = Function::Collate(Collation::c());
        Ok(Bound::new(Expr::call(by_bytes, vec![expr], DataType::Text), at))
    }

    /// COLLATE of a column that is defined or altered; None is the usual one.
    pub(super) fn column_collation(
        &mut self,
        def: &ColumnDef,
        name: &ast::ObjectName,
    ) -> Result<Option<Collation>> {
        check_collatable(def.ty, name.0.first().and_then(|part| ident_at(part.as_ident()?)))?;
        let collation = self.collation_named(name)?;
        if !collation.is_of_bytes() && def.ty.is_array() {
            return unsupported("a collation of an array", object_at(name));
        }
        check_keyed(def.ty, collation, object_at(name))?;
        Ok(Some(collation).filter(|collation| !collation.is_usual()))
    }

    /// Notes the collation of a column of a table.
    pub(super) fn note_column(&mut self, id: ColumnId, def: &ColumnDef) {
        match def.collation {
            Some(collation) => self.note(id, Derived::Implicit(collation)),
            None => self.note(id, Derived::Usual),
        }
    }

    /// Notes that column `id` has the values of `expr`.
    pub(super) fn note_collation(&mut self, id: ColumnId, expr: &Expr) -> Result<()> {
        self.note_made_of(id, std::slice::from_ref(expr))
    }

    /// Notes that values of column `id` are made of those of `exprs`.
    pub(super) fn note_made_of(&mut self, id: ColumnId, exprs: &[Expr]) -> Result<()> {
        if self.has_collations {
            let derived = self.united_collation(exprs)?;
            self.note(id, derived);
        }
        Ok(())
    }

    /// A new column whose values are made of those of `exprs`.
    pub(super) fn fresh_of(&mut self, exprs: &[Expr]) -> Result<ColumnId> {
        let id = self.fresh();
        self.note_made_of(id, exprs)?;
        Ok(id)
    }

    pub(super) fn note(&mut self, id: ColumnId, derived: Derived) {
        match derived.of_column() {
            Derived::Usual if !self.has_collations => {}
            Derived::Usual => drop(self.collations.remove(&id)),
            derived => {
                self.has_collations = true;
                self.collations.insert(id, derived);
            }
        }
    }

    /// The collation that a column made of `expr` has in a table or view; None is the usual one.
    ///
    /// # Errors
    /// 42P22 where two contradict each other.
    pub(super) fn collation_to_keep(&self, name: &str, expr: &Expr) -> Result<Option<Collation>> {
        if !is_collatable(expr.ty) {
            return Ok(None);
        }
        match self.derived(expr)? {
            Derived::Conflict(..) => {
                let ty = expr.ty.name();
                let message = format!(
                    "no collation was derived for column \"{name}\" with collatable type {ty}"
                );
                Err(indeterminate(message))
            }
            derived => Ok(derived.only()),
        }
    }

    /// The collation of values of `expr`, and why they have it.
    ///
    /// # Errors
    /// 42P21 for two that are written.
    pub(super) fn derived(&self, expr: &Expr) -> Result<Derived> {
        if !self.has_collations {
            return Ok(Derived::Usual);
        }
        types::stack::deep(|| match (&expr.kind, expr.ty) {
            (_, DataType::Record(_)) => Ok(self.of_record(expr)),
            (ExprKind::Call(Function::CollationKey(_), list), _) => self.united_collation(list),
            (_, ty) if !is_collatable(ty) => Ok(Derived::Usual),
            (ExprKind::Column(id), _) => Ok(self.noted(*id)),
            (ExprKind::Call(Function::KeyedText, list), _) => match &list[..] {
                [Expr { kind: ExprKind::Column(id), .. }] => Ok(self.noted(*id)),
                [Expr { kind: ExprKind::Call(_, keys), .. }] => self.united_collation(keys),
                _ => Ok(Derived::Usual),
            },
            (ExprKind::Call(Function::Collate(collation), _), _) => {
                Ok(Derived::Explicit(*collation))
            }
            (ExprKind::Parameter(number), _) => Ok(self.of_variable(*number)),
            (ExprKind::Call(Function::Routine(_), list), _) => self.of_arguments(list),
            (ExprKind::Call(Function::RecordField(field), list), _) => {
                if let [Expr { kind: ExprKind::Parameter(number), .. }] = &list[..] {
                    let variables = self.catalog.variables();
                    let field = |of: &dyn Variables| of.field_collation(*number, *field as usize);
                    return Ok(variables.map_or(Derived::Usual, field));
                }
                // The field of a record whose fields are not known one by one.
                Ok(match list.first().map_or(Derived::Usual, |of| self.of_record(of)) {
                    Derived::Implicit(collation) => {
                        Derived::Conflict(collation, Collation::usual())
                    }
                    other => other,
                })
            }
            (ExprKind::Call(_, list), _) => self.united_collation(list),
            (ExprKind::Cast(inner), _) => self.derived(inner),
            (ExprKind::Case { branches, otherwise }, _) => {
                let mut united = self.derived(otherwise)?;
                for (_, result) in branches {
                    united = self.united(self.derived(result)?, united)?;
                }
                Ok(united)
            }
            (ExprKind::ScalarSubquery(plan), _) => {
                let output = plan.output();
                Ok(output.first().map_or(Derived::Usual, |id| self.noted(*id)))
            }
            _ => Ok(Derived::Usual),
        })
    }

    fn noted(&self, id: ColumnId) -> Derived {
        self.collations.get(&id).copied().unwrap_or(Derived::Usual)
    }

    /// The collation of a record: that of its fields which most depends on, one that is not
    /// deterministic before one of a language.
    fn of_record(&self, expr: &Expr) -> Derived {
        if let ExprKind::Column(id) = expr.kind {
            return self.noted(id);
        }
        if let ExprKind::Parameter(number) = expr.kind {
            return self.of_variable(number);
        }
        let mut found = Derived::Usual;
        expr.each_child(&mut |child| {
            let own = self.derived(child).unwrap_or(Derived::Usual);
            if own.weight() > found.weight() {
                found = own;
            }
        });
        found.of_column()
    }

    /// The collation of a variable of the program around the statement.
    fn of_variable(&self, number: u32) -> Derived {
        self.catalog.variables().map_or(Derived::Usual, |all| all.collation(number))
    }

    /// The collation of the result of a call with such arguments, of which records have none.
    pub(super) fn of_arguments(&self, arguments: &[Expr]) -> Result<Derived> {
        let mut united = Derived::Usual;
        if self.has_collations {
            for argument in arguments.iter().filter(|argument| is_collatable(argument.ty)) {
                united = self.united(united, self.derived(argument)?)?;
            }
        }
        Ok(united)
    }

    /// The collation that the parameters of a routine have in a call with such arguments; None is
    /// the usual one, also where columns contradict each other.
    ///
    /// # Errors
    /// 42P21 for two that are written.
    pub(super) fn call_collation(
        &self,
        arguments: &[Expr],
        at: Place,
    ) -> Result<Option<Collation>> {
        let derived = self.of_arguments(arguments).map_err(|error| place(error, at))?;
        Ok(derived.only())
    }

    fn united_collation(&self, exprs: &[Expr]) -> Result<Derived> {
        let mut united = Derived::Usual;
        if self.has_collations {
            for expr in exprs {
                united = self.united(united, self.derived(expr)?)?;
            }
        }
        Ok(united)
    }

    /// The collation of what is made of two values.
    fn united(&self, left: Derived, right: Derived) -> Result<Derived> {
        use Derived as D;
        Ok(match (left, right) {
            (D::Explicit(a), D::Explicit(b)) if a != b => {
                return Err(self.mismatch("explicit", a, b));
            }
            (D::Explicit(own), _) | (_, D::Explicit(own)) => D::Explicit(own),
            (D::Conflict(a, b), _) | (_, D::Conflict(a, b)) => D::Conflict(a, b),
            (D::Usual, other) | (other, D::Usual) => other,
            (D::Implicit(a), D::Implicit(b)) if a == b => D::Implicit(a),
            (D::Implicit(a), D::Implicit(b)) => D::Conflict(a, b),
        })
    }

    /// 42P21.
    #[cold]
    pub(super) fn mismatch(&self, kind: &str, a: Collation, b: Collation) -> Error {
        let (a, b) = (self.collation_shown(a), self.collation_shown(b));
        let message = format!("collation mismatch between {kind} collations \"{a}\" and \"{b}\"");
        let error = Error::new(SqlState::COLLATION_MISMATCH, message);
        match kind {
            "implicit" => error.with_hint(
                "You can choose the collation by applying the COLLATE clause to one or both \
                 expressions.",
            ),
            _ => error,
        }
    }

    /// The collation by which `exprs` are compared with each other; None is the order of bytes.
    ///
    /// # Errors
    /// 42P21 for two that are written, 42P22 where columns have two.
    pub(super) fn common_collation(&self, exprs: &[&Expr], at: Place) -> Result<Option<Collation>> {
        if !self.has_collations {
            return Ok(None);
        }
        let mut united = Derived::Usual;
        for expr in exprs.iter().filter(|expr| is_collatable(expr.ty)) {
            let own = self.derived(expr).map_err(|error| place(error, at))?;
            united = self.united(united, own).map_err(|error| place(error, at))?;
        }
        if let Derived::Conflict(..) = united {
            let message = "could not determine which collation to use for string comparison";
            return Err(place(indeterminate(message.to_owned()), at));
        }
        Ok(united.only().filter(|collation| !collation.is_of_bytes()))
    }

    /// `expr` without COLLATE that says the order of bytes, where it has that anyway.
    pub(super) fn without_mark(&self, expr: Expr) -> Expr {
        match expr.kind {
            ExprKind::Call(Function::Collate(of), mut list)
                if of.is_of_bytes()
                    && list.first().is_some_and(|own| {
                        matches!(self.common_collation(&[own], None), Ok(None))
                    }) =>
            {
                list.pop().unwrap_or(Expr::null(expr.ty))
            }
            kind => Expr { kind, ty: expr.ty },
        }
    }

    /// The expression that stands for `expr` where values are ordered.
    pub(super) fn ordered(&self, expr: Expr, at: Place) -> Result<Expr> {
        self.check_record(&expr, ComparedFor::Order, at)?;
        Ok(match self.common_collation(&[&expr], at)? {
            Some(collation) => key_of(expr, collation),
            None => unmarked(expr),
        })
    }

    /// The expression that stands for `expr` where only equality counts: see [`comparable`].
    pub(super) fn equated(&self, expr: Expr, at: Place) -> Result<Expr> {
        self.check_record(&expr, ComparedFor::Equality, at)?;
        comparable(self.with_equality(expr, at)?, ComparedFor::Equality, at)
    }

    fn with_equality(&self, expr: Expr, at: Place) -> Result<Expr> {
        Ok(match self.common_collation(&[&expr], at)? {
            Some(collation) if collation.has_own_equality() => key_of(expr, collation),
            _ => unmarked(expr),
        })
    }

    /// True when values of `expr` are not compared as they are held: see [`has_key`].
    pub(super) fn has_key(&self, expr: &Expr) -> bool {
        has_key(expr.ty) || self.has_own_equality(expr)
    }

    /// True when texts of `expr` that differ may be equal.
    pub(super) fn has_own_equality(&self, expr: &Expr) -> bool {
        self.has_collations
            && match self.derived(expr) {
                Ok(derived) => derived.only().is_some_and(Collation::has_own_equality),
                Err(_) => false,
            }
    }

    /// Operands of a comparison, or their keys where it does not go by their bytes.
    ///
    /// # Errors
    /// As [`Self::common_collation`].
    pub(super) fn compared(&self, op: CompareOp, exprs: Vec<Expr>, at: Place) -> Result<Vec<Expr>> {
        use CompareOp as C;
        if !self.has_collations {
            return Ok(exprs);
        }
        let by_order = matches!(op, C::Less | C::LessEqual | C::Greater | C::GreaterEqual);
        let what = if by_order { ComparedFor::Order } else { ComparedFor::Equality };
        exprs.iter().try_for_each(|expr| self.check_record(expr, what, at))?;
        let collation = self.common_collation(&exprs.iter().collect::<Vec<_>>(), at)?;
        Ok(match collation {
            Some(collation) if by_order || collation.has_own_equality() => {
                exprs.into_iter().map(|expr| key_of(expr, collation)).collect()
            }
            _ => exprs.into_iter().map(unmarked).collect(),
        })
    }

    /// [`Self::compared`] of two operands, in the form in which they are compared.
    pub(super) fn compared_pair(
        &self,
        op: CompareOp,
        left: Expr,
        right: Expr,
        at: Place,
    ) -> Result<(Expr, Expr)> {
        let (left, right) = if self.has_collations {
            let pair = self.compared(op, vec![left, right], at)?;
            let pair = <[Expr; 2]>::try_from(pair);
            pair.map(<(Expr, Expr)>::from)
                .map_err(|_| Error::internal("as many operands as before"))?
        } else {
            (left, right)
        };
        Ok((
            comparable(left, ComparedFor::Equality, at)?,
            comparable(right, ComparedFor::Equality, at)?,
        ))
    }

    /// True when two texts that differ may be equal.
    pub(super) fn is_keyed_pair(&self, left: &Expr, right: &Expr, at: Place) -> Result<bool> {
        let collation = self.common_collation(&[left, right], at)?;
        Ok(collation.is_some_and(Collation::has_own_equality))
    }

    /// 0A000 for records that are compared as a whole, where a field does not go by its bytes.
    fn check_record(&self, expr: &Expr, what: ComparedFor, at: Place) -> Result<()> {
        let is_record =
            matches!(expr.ty, DataType::Record(_) | DataType::Array(ElementType::Record(_)));
        if !self.has_collations || !is_record {
            return Ok(());
        }
        let is_special = match self.of_record(expr) {
            Derived::Usual => false,
            Derived::Conflict(a, b) => {
                what == ComparedFor::Order || a.has_own_equality() || b.has_own_equality()
            }
            Derived::Implicit(c) | Derived::Explicit(c) => match what {
                ComparedFor::Order => !c.is_of_bytes(),
                ComparedFor::Equality => c.has_own_equality(),
            },
        };
        if is_special {
            return unsupported("comparing rows as a whole where a field has a collation", at);
        }
        Ok(())
    }

    /// Texts of which the largest or smallest is to be found, as keys; they are told from them by
    /// [`text_of_key`]. None where the order is that of bytes.
    pub(super) fn ranked(&self, exprs: &[Expr], at: Place) -> Result<Option<Vec<Expr>>> {
        let Some(collation) = self.common_collation(&exprs.iter().collect::<Vec<_>>(), at)? else {
            return Ok(None);
        };
        if exprs.iter().any(|expr| expr.ty.is_array()) {
            return unsupported("the largest or smallest of arrays with a collation", at);
        }
        let collation = collation.deterministic();
        Ok(Some(exprs.iter().map(|expr| key_of(expr.clone(), collation)).collect()))
    }

    /// The collation of the first of two terms of a recursive query, and that of both.
    ///
    /// # Errors
    /// 42P21 where the two contradict each other.
    pub(super) fn recursive_collations(&self, pair: &[Expr; 2]) -> Result<[Option<Collation>; 2]> {
        if !self.has_collations || !is_collatable(pair[0].ty) {
            return Ok([None, None]);
        }
        let (first, step) = (self.derived(&pair[0])?, self.derived(&pair[1])?);
        let overall = self.united(first.of_column(), step.of_column())?;
        let known = |derived: Derived| match derived {
            Derived::Conflict(a, b) => Err(self.mismatch("implicit", a, b)),
            other => Ok(Some(other.only().unwrap_or_else(Collation::usual))),
        };
        Ok([known(first)?, known(overall)?])
    }

    /// 42P21 where columns have two collations.
    pub(super) fn refuse_conflict(&self, expr: &Expr, at: Place) -> Result<()> {
        match self.derived(expr)? {
            Derived::Conflict(a, b) => Err(place(self.mismatch("implicit", a, b), at)),
            _ => Ok(()),
        }
    }

    /// 0A000 where texts that differ may be equal: `what` is about their characters.
    ///
    /// # Errors
    /// 42P22 where columns have two collations.
    pub(super) fn refuse_own_equality(&self, what: &str, exprs: &[&Expr], at: Place) -> Result<()> {
        match self.common_collation(exprs, at)? {
            Some(collation) if collation.has_own_equality() => {
                let message = format!("nondeterministic collations are not supported for {what}");
                fail(SqlState::FEATURE_NOT_SUPPORTED, message, at)
            }
            _ => Ok(()),
        }
    }
}

/// Functions that search texts for others.
const OF_SUBSTRINGS: [&str; 7] = [
    "position",
    "replace",
    "split_part",
    "starts_with",
    "string_to_array",
    "string_to_table",
    "strpos",
];

/// Functions that compare elements of arrays.
const OF_ELEMENTS: [&str; 4] =
    ["array_position", "array_positions", "array_remove", "array_replace"];

impl Binder<'_> {
    /// 0A000 for functions that search, where texts that differ may be equal.
    pub(super) fn refuse_searches(&self, name: &str, list: &[Bound], at: Place) -> Result<()> {
        if !self.has_collations {
            return Ok(());
        }
        let exprs: Vec<&Expr> = list.iter().map(|bound| &bound.expr).collect();
        let of_pattern = name == "substring"
            && list.get(1).is_some_and(|second| second.ty().is_text())
            || name.starts_with("regexp_");
        if of_pattern {
            return self.refuse_own_equality("regular expressions", &exprs, at);
        }
        if OF_SUBSTRINGS.contains(&name) {
            return self.refuse_own_equality("substring searches", &exprs, at);
        }
        if OF_ELEMENTS.contains(&name) {
            return self.refuse_own_equality(name, &exprs, at);
        }
        Ok(())
    }

    /// COLLATION FOR (x).
    pub(super) fn collation_for(&self, bound: &Bound, at: Place) -> Result<Bound> {
        if bound.is_unknown() && bound.expr.as_literal().is_some() {
            return Ok(Bound::new(Expr::null(DataType::Text), at));
        }
        if !bound.is_unknown() {
            check_collatable(bound.ty(), bound.at)?;
        }
        let collation = match self.derived(&bound.expr)? {
            Derived::Conflict(..) => return Ok(Bound::new(Expr::null(DataType::Text), at)),
            derived => derived.only().unwrap_or_else(Collation::usual),
        };
        let name = self.collation_shown(collation);
        let name = RelationName { schema: None, name };
        // A word of the grammar.
        let is_usual = collation.is_usual();
        let shown = if is_usual { "\"default\"".to_owned() } else { name.quoted() };
        Ok(Bound::new(Expr::text(&shown), at))
    }
}

/// The text of a key that [`Binder::ranked`] made.
pub(super) fn text_of_key(key: Expr, ty: DataType) -> Expr {
    Expr::call(Function::KeyedText, vec![key], ty)
}

/// The value of a call whose first argument is `argument`: the text of the key that it found where
/// that is a key.
pub(super) fn told_from_key(argument: Option<&Expr>, result: Expr) -> Expr {
    let Some(ExprKind::Call(Function::CollationKey(_), list)) = argument.map(|key| &key.kind)
    else {
        return result;
    };
    if result.ty != DataType::Bytea {
        return result;
    }
    let ty = match list.first().map(|text| &text.kind) {
        Some(ExprKind::Cast(inner)) if matches!(inner.ty, DataType::Char(_)) => inner.ty,
        _ => DataType::Text,
    };
    text_of_key(result, ty)
}

/// `expr` without COLLATE, where its collation is known.
fn unmarked(expr: Expr) -> Expr {
    match expr.kind {
        ExprKind::Call(Function::Collate(_), mut list) if list.len() == 1 => {
            list.pop().map_or(Expr::null(expr.ty), unmarked)
        }
        kind => Expr { kind, ty: expr.ty },
    }
}

/// `expr` without COLLATE around it.
pub(super) fn without_collation(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Call(Function::Collate(_), list) => list.first().map_or(expr, without_collation),
        _ => expr,
    }
}

/// The key of texts, or of those of an array.
pub(crate) fn key_of(expr: Expr, collation: Collation) -> Expr {
    let expr = unmarked(expr);
    let expr = match expr.ty {
        // Blanks at their ends do not count.
        DataType::Char(_) => expr.cast(DataType::Text),
        DataType::Array(ElementType::Char(_)) => expr.cast(DataType::Array(ElementType::Text)),
        _ => expr,
    };
    let ty = match expr.ty {
        DataType::Array(_) => DataType::Array(ElementType::Bytea),
        _ => DataType::Bytea,
    };
    Expr::call(Function::CollationKey(collation), vec![expr], ty)
}

/// 42P22.
#[cold]
fn indeterminate(message: String) -> Error {
    Error::new(SqlState::INDETERMINATE_COLLATION, message)
        .with_hint("Use the COLLATE clause to set the collation explicitly.")
}
