//! Elements of JSONB values, and what tests of them ask for.
//!
//! ```text
//! {"a": ["x", 1, {"b": null}]}   JsonKeys: k a, k x, n 1, k b, z
//!                                JsonPaths: hash(a, x), hash(a, 1), hash(a, b, null)
//! ```
//! Arrays leave no trace: so a path of a jsonpath expression, which looks into arrays by itself,
//! and a value within `@>` have the elements of what they are found in.

use std::hash::{DefaultHasher, Hasher};

use super::{Constant, ElementClass, ElementTest, bytes_of, cut};
use crate::element_query::ElementQuery;
use crate::json::{Json, Kind, key, unescaped};
use crate::json_path::{Chain, JsonPath, Predicate, Step};
use crate::stack::deep;
use crate::{CompareOp, Result};

/// Takes elements one by one.
type Visit<'v> = &'v mut dyn FnMut(Vec<u8>);

/// The elements of class `JsonKeys`.
pub(super) fn keys(bytes: &[u8], visit: Visit<'_>) -> Result<()> {
    keys_of(Json::new(bytes), b'k', visit)
}

/// `tag` is that of a string.
fn keys_of(json: Json<'_>, tag: u8, visit: Visit<'_>) -> Result<()> {
    match json.kind() {
        Kind::Object => {
            for (raw, value) in json.fields() {
                visit(tagged(b'k', &unescaped(raw)?));
                deep(|| keys_of(value, b'v', visit))?;
            }
        }
        Kind::Array => {
            for element in json.elements() {
                deep(|| keys_of(element, b'k', visit))?;
            }
        }
        Kind::String => visit(tagged(tag, &unescaped(json.bytes())?)),
        _ => visit(single(json)?),
    }
    Ok(())
}

fn tagged(tag: u8, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + text.len());
    key.push(tag);
    key.extend_from_slice(text);
    key
}

/// The element of a number, a boolean or null.
fn single(json: Json<'_>) -> Result<Vec<u8>> {
    Ok(match json.kind() {
        Kind::Number => {
            let mut bytes = vec![b'n'];
            key(&mut bytes, json.bytes())?;
            bytes
        }
        Kind::Boolean => tagged(b'b', json.bytes()),
        _ => vec![b'z'],
    })
}

/// The elements of class `JsonPaths`.
pub(super) fn paths(bytes: &[u8], visit: Visit<'_>) -> Result<()> {
    paths_of(Json::new(bytes), 0, visit)
}

fn paths_of(json: Json<'_>, path: u64, visit: Visit<'_>) -> Result<()> {
    match json.kind() {
        Kind::Object => {
            for (raw, value) in json.fields() {
                let path = below(path, &unescaped(raw)?);
                deep(|| paths_of(value, path, visit))?;
            }
        }
        Kind::Array => {
            for element in json.elements() {
                deep(|| paths_of(element, path, visit))?;
            }
        }
        Kind::String => visit(at_path(path, &tagged(b'v', &unescaped(json.bytes())?))),
        _ => visit(at_path(path, &single(json)?)),
    }
    Ok(())
}

/// The path that `key` leads to from `path`.
fn below(path: u64, key: &[u8]) -> u64 {
    hash(path, key)
}

fn at_path(path: u64, value: &[u8]) -> Vec<u8> {
    hash(!path, value).to_be_bytes().to_vec()
}

fn hash(start: u64, bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(start);
    hasher.write(bytes);
    hasher.finish()
}

/// The query that a test is.
///
/// # Errors
/// 54001, and 42601 for a path that is none.
pub(super) fn asked(
    class: ElementClass,
    test: ElementTest,
    constant: Constant<'_>,
) -> Result<ElementQuery> {
    let bytes = bytes_of(constant.value);
    let has_keys = class == ElementClass::JsonKeys;
    let named = || {
        let texts = constant.texts();
        texts.iter().map(|text| ElementQuery::Key(cut(tagged(b'k', text)))).collect()
    };
    Ok(match test {
        ElementTest::Contains => {
            let mut all = Vec::new();
            let visit: Visit<'_> = &mut |key| all.push(ElementQuery::Key(cut(key)));
            if has_keys {
                keys(bytes, visit)?
            } else {
                paths(bytes, visit)?
            }
            ElementQuery::all_of(all)
        }
        ElementTest::HasKey | ElementTest::HasAllKeys if has_keys => ElementQuery::all_of(named()),
        ElementTest::HasAnyKey if has_keys => ElementQuery::any_of(named()),
        ElementTest::PathExists | ElementTest::PathMatches => {
            let path = JsonPath::parse(&String::from_utf8_lossy(bytes))?;
            let reader = PathReader { has_keys };
            match (test, path.steps.as_slice()) {
                (ElementTest::PathMatches, [Step::Predicate(predicate)]) => {
                    reader.predicate(predicate, &Place::root())?
                }
                (ElementTest::PathMatches, _) => ElementQuery::All,
                _ => ElementQuery::all_of(reader.chain(&path.steps, &Place::root())?.asked),
            }
        }
        _ => ElementQuery::All,
    })
}

/// Where a chain of steps leads.
#[derive(Clone)]
struct Place {
    /// The keys up to there; None when they are not known.
    path: Option<u64>,
    /// Elements that must be there for the chain to lead anywhere.
    asked: Vec<ElementQuery>,
    /// False for values that steps compute: those are not in the document.
    is_stored: bool,
    /// The value that the chain is, whatever the document: its elements of both classes.
    literal: Option<Literal>,
}

#[derive(Clone)]
struct Literal {
    /// Elements of class `JsonKeys`, any of which may be there.
    keys: Vec<Vec<u8>>,
    /// The element's end behind a path, of class `JsonPaths`.
    value: Vec<u8>,
}

impl Place {
    fn root() -> Self {
        Self { path: Some(0), asked: Vec::new(), is_stored: true, literal: None }
    }

    fn computed(literal: Option<Literal>) -> Self {
        Self { path: None, asked: Vec::new(), is_stored: false, literal }
    }
}

/// Reads what a jsonpath expression asks for.
struct PathReader {
    has_keys: bool,
}

impl PathReader {
    fn chain(&self, chain: &Chain, current: &Place) -> Result<Place> {
        let mut place = Place::computed(None);
        for (number, step) in chain.iter().enumerate() {
            match step {
                Step::Root => place = Place::root(),
                Step::Current => {
                    // What the filter stands on was asked for already.
                    place = Place { asked: Vec::new(), ..current.clone() };
                }
                _ if number == 0 => return Ok(Place::computed(literal(step)?)),
                _ if !place.is_stored => break,
                Step::Field(name) => {
                    place.path = place.path.map(|path| below(path, name.as_bytes()));
                    if self.has_keys {
                        let key = cut(tagged(b'k', name.as_bytes()));
                        place.asked.push(ElementQuery::Key(key));
                    }
                }
                Step::AnyElement | Step::Elements(_) => {}
                Step::AnyField | Step::AnyLevel(_) => place.path = None,
                Step::Filter(predicate) => {
                    let asked = deep(|| self.predicate(predicate, &place))?;
                    place.asked.push(asked);
                }
                _ => place.is_stored = false,
            }
        }
        Ok(place)
    }

    fn predicate(&self, predicate: &Predicate, current: &Place) -> Result<ElementQuery> {
        let deeper = |inner: &Predicate| deep(|| self.predicate(inner, current));
        Ok(match predicate {
            Predicate::And(both) => ElementQuery::all_of(vec![deeper(&both.0)?, deeper(&both.1)?]),
            Predicate::Or(both) => ElementQuery::any_of(vec![deeper(&both.0)?, deeper(&both.1)?]),
            Predicate::Not(_) | Predicate::IsUnknown(_) => ElementQuery::All,
            Predicate::Compare(op, left, right) => {
                let sides = [self.chain(left, current)?, self.chain(right, current)?];
                let mut asked = Vec::new();
                if *op == CompareOp::Equal {
                    asked.push(self.equal(&sides[0], &sides[1]));
                    asked.push(self.equal(&sides[1], &sides[0]));
                }
                asked.extend(sides.into_iter().flat_map(|side| side.asked));
                ElementQuery::all_of(asked)
            }
            Predicate::Exists(chain) | Predicate::LikeRegex(chain, _) => {
                ElementQuery::all_of(self.chain(chain, current)?.asked)
            }
            Predicate::StartsWith(whole, start) => {
                let mut asked = self.chain(whole, current)?.asked;
                asked.extend(self.chain(start, current)?.asked);
                ElementQuery::all_of(asked)
            }
        })
    }

    /// `place == literal`.
    fn equal(&self, place: &Place, literal: &Place) -> ElementQuery {
        let Some(literal) = literal.literal.as_ref().filter(|_| place.is_stored) else {
            return ElementQuery::All;
        };
        if self.has_keys {
            let keys = literal.keys.iter().map(|key| ElementQuery::Key(cut(key.clone())));
            return ElementQuery::any_of(keys.collect());
        }
        place
            .path
            .map_or(ElementQuery::All, |path| ElementQuery::Key(at_path(path, &literal.value)))
    }
}

/// The value that a step is.
fn literal(step: &Step) -> Result<Option<Literal>> {
    let value = match step {
        Step::Null => vec![b'z'],
        Step::Boolean(true) => tagged(b'b', b"true"),
        Step::Boolean(false) => tagged(b'b', b"false"),
        Step::Number(text) => single(Json::new(text.as_bytes()))?,
        Step::String(text) => tagged(b'v', text.as_bytes()),
        _ => return Ok(None),
    };
    let mut keys = vec![value.clone()];
    if let Step::String(text) = step {
        keys.push(tagged(b'k', text.as_bytes()));
    }
    Ok(Some(Literal { keys, value }))
}
