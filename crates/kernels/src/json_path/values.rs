//! Numbers and methods of paths.

use types::json_path::{ArithmeticOp, PathMethod, Step};
use types::wide::Wide;
use types::{DataType, Result, SqlState, Value, json, text};

use super::item::Item;
use super::moment::Moment;
use super::run::{At, Found, Outcome, Run, Scope, Unwrap};
use crate::rows::utf8;

/// Distance between object numbers in the identities that `.keyvalue()` gives.
const OBJECT: i64 = 10_000_000_000;

impl<'t> Run<'t> {
    /// Operators, which are the first step.
    pub(super) fn arithmetic(
        &self,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        match at.steps.first() {
            Some(Step::Arithmetic(op, operands)) => {
                let left = self.values(&operands.0, at.scope, item, Unwrap::Arrays)?;
                let Some(left) = left else { return Ok(Outcome::Failed) };
                let right = self.values(&operands.1, at.scope, item, Unwrap::Arrays)?;
                let Some(right) = right else { return Ok(Outcome::Failed) };
                let Some(left) = single(&left)? else { return self.no_operand("left", *op, at) };
                let Some(right) = single(&right)? else {
                    return self.no_operand("right", *op, at);
                };
                match computed(*op, &left, &right) {
                    Ok(_) if at.steps.len() == 1 && found.is_any() => Ok(Outcome::Found),
                    Ok(number) => self.next(at, &Item::number(&number), found),
                    Err(error) if at.scope.raises => Err(error),
                    Err(_) => Ok(Outcome::Failed),
                }
            }
            Some(Step::Minus(inner)) => {
                let values = self.values(inner, at.scope, item, Unwrap::Arrays)?;
                self.signed("-", values, at, found)
            }
            Some(Step::Plus(inner)) => {
                let values = self.values(inner, at.scope, item, Unwrap::Arrays)?;
                self.signed("+", values, at, found)
            }
            _ => Ok(Outcome::Nothing),
        }
    }

    fn no_operand(&self, side: &str, op: ArithmeticOp, at: At<'_, 't>) -> Result<Outcome> {
        self.fail(at.scope, SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, || {
            let sign = op.sign();
            format!("{side} operand of jsonpath operator {sign} is not a single numeric value")
        })
    }

    fn signed(
        &self,
        sign: &str,
        values: Option<Vec<Item<'t>>>,
        at: At<'_, 't>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        let Some(values) = values else { return Ok(Outcome::Failed) };
        let is_enough = found.is_any() && at.steps.len() == 1;
        let mut outcome = Outcome::Nothing;
        for value in values {
            match value.as_number()? {
                Some(_) if is_enough => return Ok(Outcome::Found),
                None if is_enough => {}
                Some(number) => {
                    let number = if sign == "-" { number.negated() } else { number };
                    match self.next(at, &Item::number(&number), found)? {
                        Outcome::Failed => return Ok(Outcome::Failed),
                        Outcome::Found if found.is_any() => return Ok(Outcome::Found),
                        Outcome::Found => outcome = Outcome::Found,
                        Outcome::Nothing => {}
                    }
                }
                None => {
                    return self.fail(at.scope, SqlState::SQL_JSON_NUMBER_NOT_FOUND, || {
                        let what = "is not a numeric value";
                        format!("operand of unary jsonpath operator {sign} {what}")
                    });
                }
            }
        }
        Ok(outcome)
    }

    pub(super) fn method(
        &self,
        method: PathMethod,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        match method {
            PathMethod::Type => self.next(at, &Item::string(item.type_name()), found),
            PathMethod::Size => {
                let size = if item.is_array() { item.children().len() } else { 1 };
                if !item.is_array() && !self.is_lax() {
                    if at.scope.ignores {
                        return Ok(Outcome::Nothing);
                    }
                    return self.fail(at.scope, SqlState::SQL_JSON_ARRAY_NOT_FOUND, || {
                        "jsonpath item method .size() can only be applied to an array".to_owned()
                    });
                }
                self.next(at, &Item::made(size.to_string()), found)
            }
            PathMethod::Abs | PathMethod::Floor | PathMethod::Ceiling => {
                let Some(number) = item.as_number()? else {
                    return self.fail(at.scope, SqlState::NON_NUMERIC_SQL_JSON_ITEM, || {
                        let name = method.name();
                        let what = "can only be applied to a numeric value";
                        format!("jsonpath item method .{name}() {what}")
                    });
                };
                let number = match method {
                    PathMethod::Abs => number.abs(),
                    PathMethod::Floor => number.floor()?,
                    _ => number.ceil()?,
                };
                self.next(at, &Item::number(&number), found)
            }
            PathMethod::Double => self.double(at, item, found),
            PathMethod::KeyValue => self.key_value(at, item, found),
        }
    }

    fn double(
        &self,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        const STATE: SqlState = SqlState::NON_NUMERIC_SQL_JSON_ITEM;
        let read = |bytes: &[u8]| -> Result<Option<f64>> {
            let value = text::parse(utf8(bytes)?, DataType::Double).ok();
            Ok(match value {
                Some(Value::F64(value)) if value.is_finite() => Some(value),
                _ => None,
            })
        };
        if item.as_number()?.is_some() {
            return match read(&item.text())? {
                Some(_) => self.next(at, item, found),
                None => self.fail(at.scope, STATE, || {
                    "numeric argument of jsonpath item method .double() is out of range for type \
                     double precision"
                        .to_owned()
                }),
            };
        }
        let Some(string) = item.as_string()? else {
            return self.fail(at.scope, STATE, || {
                let what = "can only be applied to a string or numeric value";
                format!("jsonpath item method .double() {what}")
            });
        };
        match read(&string)? {
            Some(value) => {
                let number = Wide::from_f64(value, 15);
                self.next(at, &Item::number(&number), found)
            }
            None => self.fail(at.scope, STATE, || {
                "string argument of jsonpath item method .double() is not a valid representation \
                 of a double precision number"
                    .to_owned()
            }),
        }
    }

    fn key_value(
        &self,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        if !item.is_object() {
            return self.fail(at.scope, SqlState::SQL_JSON_OBJECT_NOT_FOUND, || {
                "jsonpath item method .keyvalue() can only be applied to an object".to_owned()
            });
        }
        // Objects that were made here count from the root of their own.
        let place = match item.binary_place(&self.root) {
            Some(place) => place,
            None => at.scope.made * OBJECT,
        };

        let mut outcome = Outcome::Nothing;
        for (key, value) in item.fields() {
            outcome = Outcome::Found;
            if found.is_any() && at.steps.len() == 1 {
                break;
            }
            // In the order of JSONB: keys by their lengths.
            let mut object = format!("{{\"id\": {place}, \"key\": ").into_bytes();
            object.extend_from_slice(&key);
            object.extend_from_slice(b", \"value\": ");
            object.extend_from_slice(&value.text());
            object.push(b'}');
            self.made.set(self.made.get() + 1);
            let scope = Scope { made: self.made.get() - 1, ..at.scope };
            outcome = self.next(At { scope, ..at }, &Item::made(object), found)?;
            if outcome == Outcome::Failed || (outcome == Outcome::Found && found.is_any()) {
                break;
            }
        }
        Ok(outcome)
    }

    pub(super) fn date_time(
        &self,
        template: Option<&str>,
        at: At<'_, 't>,
        item: &Item<'t>,
        found: &mut Found<'_, 't>,
    ) -> Result<Outcome> {
        const STATE: SqlState = SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME;
        let Some(string) = item.as_string()? else {
            return self.fail(at.scope, STATE, || {
                "jsonpath item method .datetime() can only be applied to a string".to_owned()
            });
        };
        let string = utf8(&string)?;
        let moment = match template {
            None => Moment::parse(string),
            Some(template) => match Moment::parse_by(string, template) {
                Ok(moment) => Some(moment),
                Err(error) if at.scope.raises => return Err(error),
                Err(_) => return Ok(Outcome::Failed),
            },
        };
        match moment {
            Some(moment) => self.next(at, &Item::Moment(moment), found),
            None => self
                .fail(at.scope, STATE, || {
                    let mut quoted = Vec::new();
                    json::push_quoted(&mut quoted, string.as_bytes());
                    format!(
                        "datetime format is not recognized: {}",
                        String::from_utf8_lossy(&quoted)
                    )
                })
                .map_err(|error| {
                    let hint = "Use a datetime template argument to specify the input data format.";
                    error.with_hint(hint)
                }),
        }
    }
}

/// The number that is the only value.
fn single(values: &[Item<'_>]) -> Result<Option<Wide>> {
    match values {
        [value] => value.as_number(),
        _ => Ok(None),
    }
}

fn computed(op: ArithmeticOp, left: &Wide, right: &Wide) -> Result<Wide> {
    match op {
        ArithmeticOp::Add => left.add(right),
        ArithmeticOp::Subtract => left.subtract(right),
        ArithmeticOp::Multiply => left.multiply(right),
        ArithmeticOp::Divide => left.divide(right),
        ArithmeticOp::Modulo => left.modulo(right),
    }
}
