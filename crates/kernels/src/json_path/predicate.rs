//! Predicates of paths.

use std::cmp::Ordering;

use types::json::Kind;
use types::json_path::{Chain, PathPattern, Predicate};
use types::wide::Wide;
use types::{CompareOp, Result, stack};

use super::item::Item;
use super::moment;
use super::run::{Found, Outcome, Run, Scope, Unwrap};
use crate::regexp;
use crate::rows::utf8;

/// Item, and its surroundings.
struct Place<'s, 't> {
    scope: Scope<'s, 't>,
    item: &'s Item<'t>,
}

/// Knowledge about a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    fn of(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }

    pub(super) fn item<'t>(self) -> Item<'t> {
        match self {
            Self::Unknown => Item::part(b"null"),
            known => Item::boolean(known == Self::True),
        }
    }
}

impl<'t> Run<'t> {
    /// Truth of a predicate about `item`. Errors about the structure of values make it unknown.
    ///
    /// # Errors
    /// Errors that are raised wherever they are met.
    pub(super) fn truth(
        &self,
        predicate: &Predicate,
        scope: Scope<'_, 't>,
        item: &Item<'t>,
    ) -> Result<Truth> {
        stack::deep(|| self.truth_of(predicate, scope, item))
    }

    fn truth_of(
        &self,
        predicate: &Predicate,
        scope: Scope<'_, 't>,
        item: &Item<'t>,
    ) -> Result<Truth> {
        Ok(match predicate {
            Predicate::And(both) => match self.truth(&both.0, scope, item)? {
                Truth::False => Truth::False,
                first => match self.truth(&both.1, scope, item)? {
                    Truth::True => first,
                    second => second,
                },
            },
            Predicate::Or(both) => match self.truth(&both.0, scope, item)? {
                Truth::True => Truth::True,
                first => match self.truth(&both.1, scope, item)? {
                    Truth::False => first,
                    second => second,
                },
            },
            Predicate::Not(inner) => match self.truth(inner, scope, item)? {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Unknown => Truth::Unknown,
            },
            Predicate::IsUnknown(inner) => {
                Truth::of(self.truth(inner, scope, item)? == Truth::Unknown)
            }
            Predicate::Exists(steps) => return self.is_there(steps, scope, item),
            Predicate::Compare(op, left, right) => {
                let Some(right) = self.quietly(right, scope, item, Unwrap::Arrays)? else {
                    // The left side may raise what is raised wherever it is met.
                    self.quietly(left, scope, item, Unwrap::Arrays)?;
                    return Ok(Truth::Unknown);
                };
                return self.of_all(left, &Place { scope, item }, |value| {
                    self.of_any(right.iter().map(|right| self.compared(*op, value, right)))
                });
            }
            Predicate::StartsWith(left, start) => {
                let Some(starts) = self.quietly(start, scope, item, Unwrap::Nothing)? else {
                    return Ok(Truth::Unknown);
                };
                return self.of_all(left, &Place { scope, item }, |value| {
                    self.of_any(starts.iter().map(|start| starts_with(value, start)))
                });
            }
            Predicate::LikeRegex(left, pattern) => {
                return self.of_all(left, &Place { scope, item }, |value| is_like(value, pattern));
            }
        })
    }

    /// The values of a chain, whose errors are not raised.
    fn quietly(
        &self,
        steps: &Chain,
        scope: Scope<'_, 't>,
        item: &Item<'t>,
        unwrap: Unwrap,
    ) -> Result<Option<Vec<Item<'t>>>> {
        self.values(steps, Scope { raises: false, ..scope }, item, unwrap)
    }

    fn is_there(&self, steps: &Chain, scope: Scope<'_, 't>, item: &Item<'t>) -> Result<Truth> {
        if self.is_lax() {
            let scope = Scope { raises: false, ..scope };
            return Ok(match self.chain(steps, scope, item, &mut Found::Any)? {
                Outcome::Failed => Truth::Unknown,
                outcome => Truth::of(outcome == Outcome::Found),
            });
        }
        Ok(match self.quietly(steps, scope, item, Unwrap::Nothing)? {
            None => Truth::Unknown,
            Some(items) => Truth::of(!items.is_empty()),
        })
    }

    /// Truth about the values on the left side together.
    fn of_all(
        &self,
        left: &Chain,
        place: &Place<'_, 't>,
        test: impl Fn(&Item<'t>) -> Result<Truth>,
    ) -> Result<Truth> {
        match self.quietly(left, place.scope, place.item, Unwrap::Arrays)? {
            None => Ok(Truth::Unknown),
            Some(values) => self.of_any(values.iter().map(test)),
        }
    }

    /// True when one of them is; in strict mode unknown as soon as one of them is that.
    fn of_any(&self, tests: impl Iterator<Item = Result<Truth>>) -> Result<Truth> {
        let mut together = Truth::False;
        for test in tests {
            match (test?, self.is_lax()) {
                (Truth::True, true) => return Ok(Truth::True),
                (Truth::Unknown, false) => return Ok(Truth::Unknown),
                (Truth::True, false) => together = Truth::True,
                (Truth::Unknown, true) => together = Truth::Unknown,
                (Truth::False, _) => {}
            }
        }
        Ok(together)
    }

    fn compared(&self, op: CompareOp, left: &Item<'t>, right: &Item<'t>) -> Result<Truth> {
        let ordering = match (left, right) {
            (Item::Moment(left), Item::Moment(right)) => {
                match moment::compare(left, right, self.zone)? {
                    Some(ordering) => ordering,
                    None => return Ok(Truth::Unknown),
                }
            }
            _ => match (left.kind(), right.kind()) {
                (Some(Kind::Null), Some(Kind::Null)) => Ordering::Equal,
                (Some(Kind::Null), _) | (_, Some(Kind::Null)) => {
                    return Ok(Truth::of(op == CompareOp::NotEqual));
                }
                (Some(left_kind), Some(right_kind)) if left_kind == right_kind => {
                    match scalars(left_kind, left, right)? {
                        Some(ordering) => ordering,
                        None => return Ok(Truth::Unknown),
                    }
                }
                _ => return Ok(Truth::Unknown),
            },
        };
        Ok(Truth::of(op.accepts(ordering)))
    }
}

/// The order of two values of one kind; None for arrays and objects.
fn scalars(kind: Kind, left: &Item<'_>, right: &Item<'_>) -> Result<Option<Ordering>> {
    Ok(match kind {
        // `false` is less than `true` as texts, too.
        Kind::Boolean => Some(left.text().cmp(&right.text())),
        Kind::String => Some(left.as_string()?.cmp(&right.as_string()?)),
        Kind::Number => {
            let bytes = |number: Option<Wide>| number.map(|number| number.bytes());
            let (left, right) = (bytes(left.as_number()?), bytes(right.as_number()?));
            match (left, right) {
                (Some(left), Some(right)) => Some(types::wide::order(&left, &right)),
                _ => None,
            }
        }
        Kind::Null | Kind::Array | Kind::Object => None,
    })
}

fn starts_with(value: &Item<'_>, start: &Item<'_>) -> Result<Truth> {
    Ok(match (value.as_string()?, start.as_string()?) {
        (Some(value), Some(start)) => Truth::of(value.starts_with(&start)),
        _ => Truth::Unknown,
    })
}

fn is_like(value: &Item<'_>, pattern: &PathPattern) -> Result<Truth> {
    let Some(value) = value.as_string()? else { return Ok(Truth::Unknown) };
    Ok(Truth::of(regexp::is_like_in_path(utf8(&value)?, pattern)?))
}
