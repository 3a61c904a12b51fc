//! Types of named values in an order of their own: CREATE TYPE ... AS ENUM.
//!
//! ```text
//! declared     'sad' | 'ok' | 'happy'        ADD VALUE 'low' BEFORE 'ok'
//! position       0     4096   8192           2048
//! ```
//! A value is held as the position of its label, so that labels are compared, hashed, indexed and
//! grouped as integers are.
//!
//! Invariants: a label keeps its position as long as its type lives, whatever it is called;
//! positions ascend; types of one content are one, and stay as long as the process lives.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, PoisonError, RwLock};

use crate::{Error, Result, SqlState};

/// The most contents of such types that one process knows.
const TYPES_MAX: usize = 1 << 20;

/// The most bytes of a label, as in PostgreSQL.
pub const LABEL_BYTES_MAX: usize = 63;

/// Distance between labels that are declared one after the other: 12 may be added in any order
/// between two of them, halving it each time, and five times as many one behind the other; an array
/// over the positions of some dozens fits the caches.
const STEP: i32 = 1 << 12;

/// The part of the room between two labels that one takes which is added behind the last one.
const PARTS: i64 = 12;

/// A named value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnumLabel {
    /// Place in the order of the type, and the value as it is held.
    pub position: i32,
    /// Its name.
    pub text: String,
}

/// Place of a new label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelPlace<'a> {
    /// Behind all others.
    End,
    /// Before the one of this name.
    Before(&'a str),
    /// Behind the one of this name.
    After(&'a str),
}

/// Content of an enumerated type, by which it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Content {
    number: u32,
    key: String,
    labels: Vec<EnumLabel>,
}

#[derive(Debug)]
struct Shape {
    content: Content,
    /// As messages show it, and arrays of it.
    names: [String; 2],
    positions: HashMap<String, i32>,
}

/// An enumerated type: its name and its labels. Copies are one pointer.
#[derive(Clone, Copy)]
pub struct EnumType(&'static Shape);

impl PartialEq for EnumType {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for EnumType {}

impl Hash for EnumType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Debug for EnumType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnumType({})", self.name())
    }
}

static KNOWN: LazyLock<RwLock<HashMap<Content, EnumType>>> = LazyLock::new(RwLock::default);

impl EnumType {
    /// The type that the catalog calls `key` and numbers `number`, shown as `name`, with these
    /// labels in the order of their positions.
    ///
    /// # Errors
    /// XX001 when they are in no order, or two have one name; 54000 when there are too many types.
    pub fn new(key: &str, name: &str, number: u32, labels: Vec<EnumLabel>) -> Result<Self> {
        let content = Content { number, key: key.to_owned(), labels };
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&content) {
            return Ok(*found);
        }
        let labels = content.labels.iter();
        let positions: HashMap<_, _> = labels.map(|l| (l.text.clone(), l.position)).collect();
        let ascends = content.labels.windows(2).all(|pair| pair[0].position < pair[1].position);
        if !ascends || positions.len() != content.labels.len() {
            let message = format!("the labels of type {name} are in no order");
            return Err(Error::new(SqlState::DATA_CORRUPTED, message));
        }
        if known.len() >= TYPES_MAX {
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, "too many enumerated types"));
        }
        let names = [name.to_owned(), format!("{name}[]")];
        let ty = Self(Box::leak(Box::new(Shape { content: content.clone(), names, positions })));
        known.insert(content, ty);
        Ok(ty)
    }

    /// A new type with labels of these names, in this order.
    ///
    /// # Errors
    /// 42622 for a name that is too long, 23505 for one that is there twice, 54000.
    pub fn declared(key: &str, name: &str, number: u32, texts: &[String]) -> Result<Self> {
        let mut labels: Vec<EnumLabel> = Vec::with_capacity(texts.len());
        for (at, text) in texts.iter().enumerate() {
            check_label(text)?;
            if labels.iter().any(|label| label.text == *text) {
                let constraint = "pg_enum_typid_label_index";
                let message =
                    format!("duplicate key value violates unique constraint \"{constraint}\"");
                let detail =
                    format!("Key (enumtypid, enumlabel)=({number}, {text}) already exists.");
                return Err(Error::new(SqlState::UNIQUE_VIOLATION, message).with_detail(detail));
            }
            let position = i32::try_from(at).ok().and_then(|at| at.checked_mul(STEP));
            let position = position.ok_or_else(no_room)?;
            labels.push(EnumLabel { position, text: text.clone() });
        }
        Self::new(key, name, number, labels)
    }

    /// The same labels under another name.
    ///
    /// # Errors
    /// 54000 when there are too many types.
    pub fn renamed(self, key: &str, name: &str) -> Result<Self> {
        Self::new(key, name, self.number(), self.labels().to_vec())
    }

    /// The type with one label more.
    ///
    /// # Errors
    /// 42622, 42710 for a name that is taken, 22023 for a neighbour that is not there, 54000 when
    /// there is no room between two labels.
    pub fn with_label(self, text: &str, place: LabelPlace<'_>) -> Result<Self> {
        check_label(text)?;
        if self.position(text).is_some() {
            let message = format!("enum label \"{text}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        let known = self.labels();
        let at = match place {
            LabelPlace::End => known.len(),
            LabelPlace::Before(neighbour) => self.place_of(neighbour)?,
            LabelPlace::After(neighbour) => self.place_of(neighbour)? + 1,
        };
        let before = at.checked_sub(1).map(|at| known[at].position);
        let position = match (before, known.get(at).map(|label| label.position)) {
            (None, None) => Some(0),
            (Some(before), None) => before.checked_add(STEP),
            (None, Some(after)) => after.checked_sub(STEP),
            (Some(_), Some(_)) => between(known, at),
        };
        let position = position.ok_or_else(no_room)?;
        let mut labels = known.to_vec();
        labels.insert(at, EnumLabel { position, text: text.to_owned() });
        Self::new(self.key(), self.name(), self.number(), labels)
    }

    /// The type with another name of one label.
    ///
    /// # Errors
    /// 42622, 42710 for a name that is taken, 22023 for a label that is not there.
    pub fn with_renamed_label(self, from: &str, to: &str) -> Result<Self> {
        check_label(to)?;
        let at = self.place_of(from)?;
        if self.position(to).is_some() {
            let message = format!("enum label \"{to}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        let mut labels = self.labels().to_vec();
        to.clone_into(&mut labels[at].text);
        Self::new(self.key(), self.name(), self.number(), labels)
    }

    /// Its key in the catalog.
    pub fn key(self) -> &'static str {
        &self.0.content.key
    }

    /// Its name as messages have it, with its schema unless that is `public`.
    pub fn name(self) -> &'static str {
        &self.0.names[0]
    }

    /// The name of the type of its arrays.
    pub fn array_name(self) -> &'static str {
        &self.0.names[1]
    }

    /// Its number in the catalog, which it keeps.
    pub fn number(self) -> u32 {
        self.0.content.number
    }

    /// The number of the type of its arrays.
    pub fn array_number(self) -> u32 {
        self.number() + 1
    }

    /// Its labels in their order.
    pub fn labels(self) -> &'static [EnumLabel] {
        &self.0.content.labels
    }

    /// The value of the label called `text`.
    pub fn position(self, text: &str) -> Option<i32> {
        self.0.positions.get(text).copied()
    }

    /// The label at `position`.
    pub fn label(self, position: i32) -> Option<&'static str> {
        let labels = self.labels();
        let at = labels.binary_search_by_key(&position, |label| label.position).ok()?;
        Some(&labels[at].text)
    }

    /// The value that `text` denotes.
    ///
    /// # Errors
    /// 22P02 when no label is called so.
    pub fn parse(self, text: &str) -> Result<i32> {
        self.position(text).ok_or_else(|| {
            let message = format!("invalid input value for enum {}: \"{text}\"", self.name());
            Error::new(SqlState::INVALID_TEXT, message)
        })
    }

    /// True when both are the same type of the catalog, perhaps at different times: their values
    /// are held alike.
    pub fn is_same_object(self, other: Self) -> bool {
        self.number() == other.number()
    }

    fn place_of(self, text: &str) -> Result<usize> {
        self.labels().iter().position(|label| label.text == text).ok_or_else(|| {
            let message = format!("\"{text}\" is not an existing enum label");
            Error::new(SqlState::INVALID_PARAMETER, message)
        })
    }
}

/// 42622 for a label that is too long.
fn check_label(text: &str) -> Result<()> {
    if text.len() <= LABEL_BYTES_MAX {
        return Ok(());
    }
    let message = format!("invalid enum label \"{text}\"");
    let detail = format!("Labels must be {LABEL_BYTES_MAX} bytes or less.");
    Err(Error::new(SqlState::INVALID_NAME, message).with_detail(detail))
}

/// A position between the labels `at - 1` and `at`: the middle, or near the one of them that was
/// itself put between others, for labels are often added one behind the other.
fn between(known: &[EnumLabel], at: usize) -> Option<i32> {
    let gap = |at: usize| -> Option<i64> {
        let after = known.get(at)?.position;
        Some(i64::from(after) - i64::from(known[at.checked_sub(1)?].position))
    };
    let is_narrow = |at: Option<usize>| at.and_then(gap).is_some_and(|gap| gap < i64::from(STEP));
    let (before, room) = (i64::from(known[at - 1].position), gap(at)?);
    let part = (room / PARTS).max(1);
    let position = match (is_narrow(at.checked_sub(1)), is_narrow(Some(at + 1))) {
        (true, false) => before + part,
        (false, true) => before + room - part,
        _ => before + room / 2,
    };
    i32::try_from(position).ok().filter(|_| (1..room).contains(&(position - before)))
}

/// 54000.
fn no_room() -> Error {
    let message = "there is no room for another label in this place of the enumerated type";
    Error::new(SqlState::LIMIT_EXCEEDED, message)
        .with_hint("Create another type, and change the columns to it by ALTER TABLE ... TYPE.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ty: EnumType) -> Vec<&'static str> {
        ty.labels().iter().map(|label| label.text.as_str()).collect()
    }

    #[test]
    fn labels_are_added_where_they_are_asked_for() -> Result<()> {
        let ty = EnumType::declared("t", "t", 1, &["a".into(), "c".into()])?;
        let a = ty.position("a");
        let ty = ty.with_label("b", LabelPlace::Before("c"))?;
        let ty = ty.with_label("z", LabelPlace::End)?;
        let ty = ty.with_label("0", LabelPlace::Before("a"))?;
        let ty = ty.with_label("d", LabelPlace::After("c"))?;
        assert_eq!(texts(ty), ["0", "a", "b", "c", "d", "z"]);
        assert_eq!(ty.position("a"), a);
        assert_eq!(ty.label(ty.parse("d")?), Some("d"));
        assert!(ty.with_label("d", LabelPlace::End).is_err());
        assert!(ty.with_label("e", LabelPlace::After("x")).is_err());
        let other = ty.with_renamed_label("b", "bb")?;
        assert_eq!((other.position("bb"), other.position("b")), (ty.position("b"), None));
        Ok(())
    }

    #[test]
    fn sixty_labels_fit_between_two() -> Result<()> {
        for place in [LabelPlace::After("a"), LabelPlace::Before("z")] {
            let mut ty = EnumType::declared("t", "t", 1, &["a".into(), "z".into()])?;
            let mut count = 0;
            let state = loop {
                match ty.with_label(&count.to_string(), place) {
                    Ok(longer) => ty = longer,
                    Err(error) => break error.state(),
                }
                count += 1;
            };
            assert!(count >= 60, "{count}");
            assert_eq!(state, SqlState::LIMIT_EXCEEDED);
            assert!(ty.labels().is_sorted_by(|a, b| a.position < b.position));
        }
        Ok(())
    }

    #[test]
    fn types_of_one_content_are_one() -> Result<()> {
        let labels = ["x".to_owned()];
        let ty = EnumType::declared("s.t", "s.t", 7, &labels)?;
        assert_eq!(ty, EnumType::declared("s.t", "s.t", 7, &labels)?);
        assert_ne!(ty, EnumType::declared("s.t", "s.t", 9, &labels)?);
        assert!(ty.is_same_object(ty.with_label("y", LabelPlace::End)?));
        Ok(())
    }
}
