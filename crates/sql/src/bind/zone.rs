//! The session's time zone in expressions.
//!
//! ```text
//! UTC                                  -> nothing: below the binder, clocks show UTC
//! bound for a session in another zone  -> its name behind the arguments of what goes by it
//! a condition over rows, kept (CHECK)  -> likewise, but the name is a column behind the row's
//! literals of definitions              -> UTC; they are rewritten when the definition is made
//! ```
//! Elsewhere: what the functions do with it (`kernels::time_fn`).

use sqlparser::ast;
use types::calendar::{DateOrder, TimeZone};
use types::text::TextStyle;
use types::{DataType, Position, Result, Value, text};

use super::name::{is_only, object_at};
use super::{Binder, at_span};
use crate::algebra::{Expr, ExprKind, Function, Place};
use crate::catalog::Catalog;
use crate::parse::visit::{rewrite_expressions, rewrite_query};

/// Parts of binding that depend on the session's time zone.
pub(super) struct SessionZone {
    /// The zone's name, a TEXT; None is UTC.
    name: Option<Expr>,
    /// In which zone untyped literals are read.
    literals: TimeZone,
    /// Types of values that become text and that settings may have written otherwise.
    shown: std::cell::RefCell<Vec<DataType>>,
    /// Literals that another zone would read differently, by their places: the same in UTC.
    pub(super) moved: Vec<(Position, String)>,
}

impl SessionZone {
    pub(super) fn of(catalog: &dyn Catalog) -> Self {
        let zone = catalog.time_zone();
        let name = (!zone.is_usual()).then(|| Expr::text(&zone.specification()));
        let shown = std::cell::RefCell::default();
        Self { name, literals: catalog.literal_zone(), shown, moved: Vec::new() }
    }

    /// Literals are those of a definition from now on.
    pub(super) fn read_definition(&mut self) {
        self.literals = TimeZone::UTC;
    }

    /// The zone's name is `column` of a row from now on.
    pub(super) fn set_column(&mut self, column: Expr) {
        self.name = Some(column);
    }
}

impl Binder<'_> {
    /// `expr` as `to`, by the session's clocks.
    pub(super) fn cast(&self, expr: Expr, to: DataType) -> Expr {
        self.note_shown(expr.ty, to);
        match &self.zone.name {
            Some(zone) if types::cast::depends_on_zone(expr.ty, to) => {
                Expr::call(Function::CastInZone, vec![expr, zone.clone()], to)
            }
            _ => expr.cast(to),
        }
    }

    /// Notes that a value of type `from` becomes one of type `to`.
    pub(super) fn note_shown(&self, from: DataType, to: DataType) {
        let element = match to {
            DataType::Array(element) => element.data_type(),
            to => to,
        };
        if TextStyle::may_change(from)
            && matches!(element, DataType::Text | DataType::Varchar(_) | DataType::Char(_))
        {
            self.zone.shown.borrow_mut().push(from);
        }
    }

    /// # Errors
    /// 0A000 when a value becomes text, and the session wants another style than texts have.
    pub(super) fn check_shown(&self) -> Result<()> {
        let shown = self.zone.shown.borrow();
        if shown.is_empty() {
            return Ok(());
        }
        let style = self.catalog.text_style();
        match shown.iter().find(|ty| style.changes(**ty)) {
            Some(ty) => {
                let ty = ty.name();
                let what = format!("text of a value of type {ty} in another form than usual");
                super::unsupported(what, None)
            }
            None => Ok(()),
        }
    }

    /// A call of `function`, by the session's clocks.
    pub(super) fn call_in_zone(
        &self,
        function: Function,
        mut arguments: Vec<Expr>,
        ty: DataType,
    ) -> Expr {
        if let Some(zone) = &self.zone.name
            && goes_by_zone(function, &arguments)
        {
            arguments.push(zone.clone());
        }
        Expr::call(function, arguments, ty)
    }

    /// The name of the session's time zone; None for UTC.
    pub(super) fn zone_name(&self) -> Option<Expr> {
        self.zone.name.clone()
    }

    /// True when the session's clocks show another time than UTC, or may.
    pub(super) fn has_zone(&self) -> bool {
        self.zone.name.is_some()
    }

    /// Binds by UTC's clocks, whatever the session's are.
    pub(super) fn in_utc<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let name = self.zone.name.take();
        let result = work(self);
        self.zone.name = name;
        result
    }

    /// Binds a part of a definition, whose literals are of UTC, and whose names of relations say
    /// their schemas.
    pub(super) fn in_definition<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let literals = std::mem::replace(&mut self.zone.literals, TimeZone::UTC);
        self.definition_depth += 1;
        let result = work(self);
        self.definition_depth -= 1;
        self.zone.literals = literals;
        result
    }

    /// Value of type `ty` of the untyped literal `text` at `at`.
    pub(super) fn read_literal(&mut self, text: &str, ty: DataType, at: Place) -> Result<Value> {
        let zone = &self.zone.literals;
        let value = text::parse_in(text, ty, zone)?;
        self.note_labels(&value, ty, at);
        let element = match ty {
            DataType::Array(element) => element.data_type(),
            ty => ty,
        };
        let is_moved = match element {
            DataType::TimestampTz(_) => !zone.is_usual(),
            DataType::Timestamp(_) | DataType::Date => zone.order() != DateOrder::Mdy,
            _ => false,
        };
        if let (true, Some(at)) = (is_moved, at) {
            // What cannot be read in UTC is out of range there only.
            if text::parse(text, ty).ok().as_ref() != Some(&value) {
                self.zone.moved.push((at, text::format(&value, ty)));
            }
        }
        Ok(value)
    }

    /// The expression of a definition, which was bound, with literals that any session reads as
    /// this one does.
    pub(super) fn defined(&mut self, expr: &ast::Expr) -> ast::Expr {
        let mut expr = expr.clone();
        let moved = std::mem::take(&mut self.zone.moved);
        let placed = self.placed.clone();
        rewrite_expressions(&mut expr, &mut |inner| {
            move_literal(inner, &moved);
            place_name(inner, &placed);
        });
        expr
    }

    /// As [`Self::defined`], of a query, whose relations have their schemas, and no database before
    /// them; None when it is as it was.
    pub(super) fn defined_query(&mut self, query: &ast::Query) -> Option<String> {
        let moved = std::mem::take(&mut self.zone.moved);
        let placed = std::mem::take(&mut self.placed);
        let mut query = query.clone();
        let has_stars = self.put_stars(&mut query);
        let mut has_database = false;
        let mut unplaced = |name: &mut ast::ObjectName| has_database |= without_database(name);
        rewrite_query(&mut query, &mut |_| (), &mut unplaced);
        let mut unplaced = |inner: &mut ast::Expr| match inner {
            ast::Expr::Function(call) => has_database |= without_database(&mut call.name),
            ast::Expr::CompoundIdentifier(parts) if parts.len() == 4 => {
                parts.remove(0);
                has_database = true;
            }
            _ => {}
        };
        rewrite_query(&mut query, &mut unplaced, &mut |_| ());
        if moved.is_empty() && placed.is_empty() && !has_stars && !has_database {
            return None;
        }
        let mut relation = |name: &mut ast::ObjectName| place_object(name, &placed);
        let mut each = |inner: &mut ast::Expr| {
            move_literal(inner, &moved);
            place_name(inner, &placed);
        };
        rewrite_query(&mut query, &mut each, &mut relation);
        let text = query.to_string();
        let is_read = crate::parse::parse(&text).is_ok();
        (is_read || !moved.is_empty() || !placed.is_empty()).then_some(text)
    }
}

/// Takes the database off a name of three parts; true when it had one.
fn without_database(name: &mut ast::ObjectName) -> bool {
    let at = usize::from(is_only(name));
    let has_one = name.0.len() == at + 3;
    if has_one {
        name.0.remove(at);
    }
    has_one
}

/// Gives the type that `expr` casts to, the function that it calls, or the collation that it names
/// the schema that `placed` has for it.
fn place_name(expr: &mut ast::Expr, placed: &[(Position, String)]) {
    use ast::ArrayElemTypeDef as E;
    let mut ty = match expr {
        ast::Expr::Cast { data_type, .. } => data_type,
        ast::Expr::TypedString(typed) => &mut typed.data_type,
        ast::Expr::Function(function) => return place_object(&mut function.name, placed),
        ast::Expr::Collate { collation, .. } => return place_object(collation, placed),
        _ => return,
    };
    while let ast::DataType::Array(E::SquareBracket(element, _) | E::Qualified(element, _)) = ty {
        ty = element;
    }
    if let ast::DataType::Custom(name, _) = ty {
        place_object(name, placed);
    }
}

/// Gives an object the schema that `placed` has for it.
fn place_object(name: &mut ast::ObjectName, placed: &[(Position, String)]) {
    let found = placed.iter().find(|(place, _)| object_at(name) == Some(*place));
    if let (Some((_, schema)), 1) = (found, name.0.len()) {
        let schema = ast::Ident::with_quote('"', schema);
        name.0.insert(0, ast::ObjectNamePart::Identifier(schema));
    }
}

/// Puts what is in `moved` for the literal of `expr` in its place.
fn move_literal(expr: &mut ast::Expr, moved: &[(Position, String)]) {
    let value = match expr {
        ast::Expr::Value(value) => value,
        ast::Expr::TypedString(typed) => &mut typed.value,
        _ => return,
    };
    let found = moved.iter().find(|(place, _)| at_span(value.span) == Some(*place));
    if let Some((_, text)) = found {
        value.value = ast::Value::SingleQuotedString(text.clone());
    }
}

/// True when `function` goes by the clocks of a time zone for these arguments.
fn goes_by_zone(function: Function, arguments: &[Expr]) -> bool {
    use Function as F;
    let is_zoned = |at: usize| arguments.get(at).is_some_and(|a| a.ty.is_timestamptz());
    match function {
        F::Extract | F::DateTrunc => is_zoned(1),
        F::TimestampAdd | F::TimestampSubtract | F::ToChar => is_zoned(0),
        F::ToTimestamp => arguments.len() == 2,
        _ => false,
    }
}

/// True when an interval that is added is known to have neither months nor days.
pub(super) fn is_of_hours(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(Value::Interval(i)) if i.months == 0 && i.days == 0)
}
