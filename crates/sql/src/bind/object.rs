//! Values of `regclass` and its kin: literals are looked up when they are bound, other values when
//! the query runs.

use types::{DataType, ElementType, RegKind, Result, Value};

use super::literal::unknown_text;
use super::types::{Category, Context, category};
use super::{Binder, Bound, place};
use crate::algebra::{Expr, ExprKind, Function, ObjectKey, SessionFunction};

impl Binder<'_> {
    /// `bound` as a value of `kind`, by the catalog; None when it is one already, or NULL.
    pub(super) fn object_cast(&mut self, bound: &Bound, kind: RegKind) -> Result<Option<Expr>> {
        let from = bound.ty();
        if from == DataType::Reg(kind) || bound.expr.as_literal().is_some_and(Value::is_null) {
            return Ok(None);
        }
        if let Some(text) = unknown_text(&bound.expr) {
            let value = self.catalog.object(kind, &text).map_err(|e| place(e, bound.at))?;
            return Ok(Some(Expr::literal(value, DataType::Reg(kind))));
        }
        let (key, of) = match category(from) {
            Category::Text => (ObjectKey::Name, DataType::Text),
            Category::Unknown => return Ok(None),
            _ => (ObjectKey::Number, DataType::Oid),
        };
        let value = self.coerce(bound.clone(), of, Context::Explicit)?;
        Ok(Some(looked_up(kind, key, value)))
    }

    /// The same of an array.
    pub(super) fn objects_cast(&mut self, bound: &Bound, kind: RegKind) -> Result<Option<Expr>> {
        let at = bound.at;
        let (key, element) = match bound.ty() {
            DataType::Array(ElementType::Reg(from)) if from == kind => return Ok(None),
            DataType::Array(from) if category(from.data_type()) == Category::Text => {
                (ObjectKey::Names, ElementType::Text)
            }
            DataType::Array(_) => (ObjectKey::Numbers, ElementType::Oid),
            DataType::Unknown if unknown_text(&bound.expr).is_some() => {
                (ObjectKey::Names, ElementType::Text)
            }
            ty if category(ty) == Category::Text => (ObjectKey::Names, ElementType::Text),
            _ => return Ok(None),
        };
        let array = Bound::new(bound.expr.clone(), at);
        let array = self.coerce(array, DataType::Array(element), Context::Explicit)?;
        Ok(Some(looked_up(kind, key, array)))
    }
}

fn looked_up(kind: RegKind, key: ObjectKey, value: Expr) -> Expr {
    let function = SessionFunction::Object(kind, key);
    let kind = ExprKind::Call(Function::Session(function), vec![value]);
    Expr { kind, ty: function.result() }
}
