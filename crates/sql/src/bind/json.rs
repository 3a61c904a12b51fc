//! JSON objects as text: `json_build_object`, which drivers ask the catalog with.
//!
//! There is no type JSON here: the result is TEXT. Arrays inside are not there yet.

use types::{DataType, Result, SqlState};

use super::types::{Category, category};
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{Expr, Function, Place};

impl Binder<'_> {
    /// `json_build_object(key, value, ...)`.
    ///
    /// # Errors
    /// 22023 for a key without value; 0A000 for arrays.
    pub(super) fn json_object(&mut self, arguments: Vec<Bound>, at: Place) -> Result<Bound> {
        if !arguments.len().is_multiple_of(2) {
            let message = "argument list must have even number of elements";
            return fail(SqlState::INVALID_PARAMETER, message, at);
        }
        let mut parts = vec![Expr::text("{")];
        for (i, argument) in arguments.into_iter().enumerate() {
            if i > 0 {
                parts.push(Expr::text(if i % 2 == 0 { ", " } else { " : " }));
            }
            let part = match i % 2 {
                0 => {
                    let text = self.as_shown(argument)?;
                    Expr::call(Function::JsonQuote, vec![text], DataType::Text)
                }
                _ => self.json_value(argument)?,
            };
            parts.push(part);
        }
        parts.push(Expr::text("}"));
        // Without a key the whole is NULL, where PostgreSQL says 22023.
        let joined =
            |left, right| Expr::call(Function::ConcatOperator, vec![left, right], DataType::Text);
        let whole = parts.into_iter().reduce(joined);
        Ok(Bound::new(whole.unwrap_or_else(|| Expr::text("{}")), at))
    }

    /// The value as JSON; NULL is `null`.
    fn json_value(&mut self, bound: Bound) -> Result<Expr> {
        let text = match category(bound.ty()) {
            Category::Array => return unsupported("an array inside of JSON", bound.at),
            Category::Number => self.as_shown(bound)?,
            Category::Boolean => self.as_text(bound, DataType::Text)?,
            _ => {
                let text = self.as_shown(bound)?;
                Expr::call(Function::JsonQuote, vec![text], DataType::Text)
            }
        };
        Ok(Expr::call(Function::Coalesce, vec![text, Expr::text("null")], DataType::Text))
    }
}
