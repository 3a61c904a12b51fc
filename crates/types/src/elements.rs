//! Elements of values: what inverted indexes (GIN) have entries of, and what conditions ask for.
//!
//! ```text
//! row   --elements-->  ElementSet: {column, element}, ...          the entries of the row
//! test and constant --asked-->  ElementQuery over elements         the entries that lead to rows
//!
//! class         elements
//! Vector        lexemes
//! JsonKeys      'k' key, or string in an array | 'v' string | 'n' number | 'b' boolean | 'z'
//! JsonPaths     hash of the keys that lead to a single value and of the value, 8 bytes
//! Array         01 element | 00 of an array without elements
//! Trigrams      three bytes
//! Hstore        'k' key | 'p' bytes of the key 4, key, value
//! Scalar        the value as an element of an array
//! ```
//! Invariants: a value for which a test is true has the elements that the test asks for; the
//! converse does not hold, so that rows which were found are tested. Of a longer element only the
//! first [`ELEMENT_BYTES_MAX`] bytes count, in values as in tests.
//! Elsewhere: lexemes (`packed::search`), trigrams (`trigram`), the entries (`storage::index`).

mod json;
mod pattern;

use std::borrow::Cow;

pub use crate::element_query::{ELEMENT_BYTES_MAX, ElementQuery};

use crate::array::{self, ArrayBuilder};
use crate::packed::{hstore_pairs, query_lexemes, vector_lexemes};
use crate::{CompareOp, DataType, ElementType, PackedType, Result, Value, trigram};

/// Operator class of a column of an inverted index: which elements its values have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementClass {
    /// `tsvector_ops`.
    Vector,
    /// `jsonb_ops`.
    JsonKeys,
    /// `jsonb_path_ops`.
    JsonPaths,
    /// `array_ops`.
    Array,
    /// `gin_trgm_ops`, of the extension pg_trgm.
    Trigrams,
    /// `gin_hstore_ops`, of the extension hstore.
    Hstore,
    /// `int4_ops` and its kin, of the extension btree_gin.
    Scalar,
}

/// Test of a column of an inverted index against a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementTest {
    /// `@@` of a document and a query.
    Matches,
    /// `@>`
    Contains,
    /// `<@`
    Contained,
    /// `&&`
    Overlaps,
    /// `?`
    HasKey,
    /// `?|`
    HasAnyKey,
    /// `?&`
    HasAllKeys,
    /// `@?`
    PathExists,
    /// `@@` of a JSONB and a path.
    PathMatches,
    /// LIKE and ILIKE, with the escape character.
    Like(Option<char>),
    /// `~` and `~*`.
    Regexp,
    /// `%` of texts: so many thousandths of the constant's trigrams are those of the text.
    Similar(u16),
    /// `=`, `<` and their kin.
    Compare(CompareOp),
}

impl ElementTest {
    /// The operator as SQL writes it.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Matches | Self::PathMatches => "@@",
            Self::Contains => "@>",
            Self::Contained => "<@",
            Self::Overlaps => "&&",
            Self::HasKey => "?",
            Self::HasAnyKey => "?|",
            Self::HasAllKeys => "?&",
            Self::PathExists => "@?",
            Self::Like(_) => "like",
            Self::Regexp => "~",
            Self::Similar(_) => "%",
            Self::Compare(CompareOp::Less) => "<",
            Self::Compare(CompareOp::LessEqual) => "<=",
            Self::Compare(CompareOp::Greater) => ">",
            Self::Compare(CompareOp::GreaterEqual) => ">=",
            Self::Compare(_) => "=",
        }
    }
}

/// Name of a class, the class, and the extension that has it, if one has.
const NAMED: [(&str, ElementClass, Option<&str>); 6] = [
    ("tsvector_ops", ElementClass::Vector, None),
    ("jsonb_ops", ElementClass::JsonKeys, None),
    ("jsonb_path_ops", ElementClass::JsonPaths, None),
    ("array_ops", ElementClass::Array, None),
    ("gin_trgm_ops", ElementClass::Trigrams, Some("pg_trgm")),
    ("gin_hstore_ops", ElementClass::Hstore, Some("hstore")),
];

/// Types that btree_gin has classes for, with those.
fn scalar_class(ty: DataType) -> Option<&'static str> {
    use DataType as T;
    Some(match ty {
        T::SmallInt => "int2_ops",
        T::Integer => "int4_ops",
        T::BigInt => "int8_ops",
        T::Real => "float4_ops",
        T::Double => "float8_ops",
        T::Numeric(_) | T::WideNumeric(_) => "numeric_ops",
        T::Boolean => "bool_ops",
        T::Text => "text_ops",
        T::Varchar(_) => "varchar_ops",
        T::Bytea => "bytea_ops",
        T::Date => "date_ops",
        T::Time(_) => "time_ops",
        T::Timestamp(_) => "timestamp_ops",
        T::TimestampTz(_) => "timestamptz_ops",
        T::Uuid => "uuid_ops",
        T::Oid => "oid_ops",
        T::Enum(_) => "enum_ops",
        _ => return None,
    })
}

impl ElementClass {
    /// The class that columns of this type have where none is named.
    pub fn usual(ty: DataType) -> Option<Self> {
        Some(match ty {
            DataType::Packed(PackedType::TsVector) => Self::Vector,
            DataType::Packed(PackedType::HStore) => Self::Hstore,
            DataType::Jsonb => Self::JsonKeys,
            DataType::Array(_) => Self::Array,
            _ => Self::Scalar,
        })
        .filter(|class| class.takes(ty))
    }

    /// The class called `name` for columns of this type.
    pub fn named(name: &str, ty: DataType) -> Option<Self> {
        if scalar_class(ty) == Some(name) || (name == "text_ops" && ty.is_text()) {
            return Self::Scalar.takes(ty).then_some(Self::Scalar);
        }
        let found = NAMED.iter().find(|(known, ..)| *known == name);
        found.map(|(_, class, _)| *class).filter(|class| class.takes(ty))
    }

    /// True for the name of a class, whatever it takes.
    pub fn is_name(name: &str) -> bool {
        NAMED.iter().any(|(known, ..)| *known == name)
    }

    /// The name of the class, for columns of this type.
    pub fn name(self, ty: DataType) -> &'static str {
        let found = NAMED.iter().find(|(_, class, _)| *class == self);
        found.map_or_else(|| scalar_class(ty).unwrap_or("?"), |(name, ..)| name)
    }

    /// The extension that has the class.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            Self::Scalar => Some("btree_gin"),
            _ => NAMED.iter().find(|(_, class, _)| *class == self)?.2,
        }
    }

    /// True for the class of values that are one element each.
    pub fn is_scalar(self) -> bool {
        self == Self::Scalar
    }

    /// True when columns of this type can have the class.
    pub fn takes(self, ty: DataType) -> bool {
        match self {
            Self::Vector => ty == DataType::Packed(PackedType::TsVector),
            Self::Hstore => ty == DataType::Packed(PackedType::HStore),
            Self::JsonKeys | Self::JsonPaths => ty == DataType::Jsonb,
            Self::Array => ty.is_array(),
            Self::Trigrams => matches!(ty, DataType::Text | DataType::Varchar(_)),
            Self::Scalar => scalar_class(ty).is_some(),
        }
    }

    /// Adds the elements of a value of type `ty`; a NULL has none.
    ///
    /// # Errors
    /// 54001 for a JSONB that is nested too deeply.
    pub fn elements(self, ty: DataType, value: &Value, set: &mut ElementSet) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        let bytes = bytes_of(value);
        match self {
            Self::Vector => vector_lexemes(bytes).for_each(|word| set.push(&[word])),
            Self::JsonKeys => json::keys(bytes, &mut |key| set.push(&[&key]))?,
            Self::JsonPaths => json::paths(bytes, &mut |key| set.push(&[&key]))?,
            Self::Array => {
                let Some(element) = element_type(ty) else { return Ok(()) };
                let mut all = array::Elements::new(bytes, element).peekable();
                if all.peek().is_none() {
                    set.push(&[EMPTY]);
                }
                for raw in all.flatten() {
                    set.push(&[PRESENT, &array::element_key(raw, element)]);
                }
            }
            Self::Trigrams => {
                let text = String::from_utf8_lossy(bytes);
                trigram::set(&text).iter().for_each(|three| set.push(&[&three.map(|b| b as u8)]));
            }
            Self::Hstore => {
                for (key, value) in hstore_pairs(bytes) {
                    set.push(&[b"k", key]);
                    if let Some(value) = value {
                        set.push(&[&pair_key(key, value)]);
                    }
                }
            }
            Self::Scalar => set.push(&[&scalar_key(ty, value)]),
        }
        Ok(())
    }

    /// The query that `test` against a constant is, of the elements of a column of type `of`.
    ///
    /// # Errors
    /// Errors of the constant, as the test itself would have them.
    pub fn asked(
        self,
        test: ElementTest,
        of: DataType,
        constant: Constant<'_>,
    ) -> Result<ElementQuery> {
        let Constant { ty, value } = constant;
        if value.is_null() {
            return Ok(ElementQuery::Nothing);
        }
        let bytes = bytes_of(value);
        Ok(match (self, test) {
            (Self::Vector, ElementTest::Matches) => query_lexemes(bytes),
            (Self::JsonKeys | Self::JsonPaths, _) => json::asked(self, test, constant)?,
            (Self::Array, _) => array_asked(test, ty, bytes, of),
            (Self::Trigrams, ElementTest::Like(escape)) => pattern::like(bytes, escape),
            (Self::Trigrams, ElementTest::Regexp) => pattern::regexp(bytes),
            (Self::Trigrams, ElementTest::Compare(CompareOp::Equal)) => {
                pattern::trigrams(bytes, 1000)
            }
            (Self::Trigrams, ElementTest::Similar(share)) => pattern::trigrams(bytes, share),
            (Self::Hstore, _) => hstore_asked(test, constant),
            (Self::Scalar, ElementTest::Compare(op)) if of.has_wide() => {
                let key = if ty.has_wide() { crate::wide::key(bytes) } else { bytes };
                compared_wide(op, key)
            }
            (Self::Scalar, ElementTest::Compare(op)) => compared(op, scalar_key(of, value)),
            _ => ElementQuery::All,
        })
    }
}

/// The constant of a test.
#[derive(Clone, Copy, Debug)]
pub struct Constant<'v> {
    /// Its type.
    pub ty: DataType,
    /// Its value.
    pub value: &'v Value,
}

impl Constant<'_> {
    /// The elements of an array of texts that are not NULL, or the text that it is.
    fn texts(&self) -> Vec<Cow<'_, [u8]>> {
        let bytes = bytes_of(self.value);
        match element_type(self.ty) {
            Some(element) => {
                array::Elements::new(bytes, element).flatten().map(array::text_bytes).collect()
            }
            None => vec![Cow::Borrowed(bytes)],
        }
    }
}

fn bytes_of(value: &Value) -> &[u8] {
    match value {
        Value::Str(bytes) => bytes,
        _ => &[],
    }
}

fn element_type(ty: DataType) -> Option<ElementType> {
    match ty {
        DataType::Array(element) => Some(element),
        _ => None,
    }
}

const EMPTY: &[u8] = &[0];
const PRESENT: &[u8] = &[1];

/// The elements of a row, each behind the number of its column.
#[derive(Clone, Debug, Default)]
pub struct ElementSet {
    column: u8,
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

impl ElementSet {
    /// Forgets all elements.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// The elements that follow are those of this column.
    pub fn begin(&mut self, column: u8) {
        self.column = column;
    }

    /// Adds the element that `parts` are.
    fn push(&mut self, parts: &[&[u8]]) {
        let start = self.bytes.len();
        self.bytes.push(self.column);
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.bytes.truncate(start + 1 + ELEMENT_BYTES_MAX);
        self.ends.push((start, self.bytes.len()));
    }

    /// Orders the elements and leaves each once.
    pub fn arrange(&mut self) {
        let bytes = &self.bytes;
        self.ends.sort_unstable_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
        self.ends.dedup_by(|a, b| bytes[a.0..a.1] == bytes[b.0..b.1]);
    }

    /// The elements behind the numbers of their columns.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.iter().map(|&(start, end)| &self.bytes[start..end])
    }
}

/// The bytes of an element that count.
fn cut(mut key: Vec<u8>) -> Vec<u8> {
    key.truncate(ELEMENT_BYTES_MAX);
    key
}

fn key_of(parts: &[&[u8]]) -> ElementQuery {
    ElementQuery::Key(cut(parts.concat()))
}

fn array_asked(test: ElementTest, ty: DataType, bytes: &[u8], of: DataType) -> ElementQuery {
    let Some(element) = element_type(ty) else { return ElementQuery::All };
    // An array of the keys of numbers, which is what arrays of such numbers are compared by.
    let is_of_keys = ty != of && of.has_wide() && element == ElementType::Bytea;
    let (mut keys, mut has_null, mut is_empty) = (Vec::new(), false, true);
    for raw in array::Elements::new(bytes, element) {
        is_empty = false;
        match raw {
            Some(raw) if is_of_keys => keys.push(key_of(&[PRESENT, &array::text_bytes(raw)])),
            Some(raw) => keys.push(key_of(&[PRESENT, &array::element_key(raw, element)])),
            None => has_null = true,
        }
    }
    match test {
        ElementTest::Contains if has_null => ElementQuery::Nothing,
        ElementTest::Compare(CompareOp::Equal) if is_empty => key_of(&[EMPTY]),
        ElementTest::Contains | ElementTest::Compare(CompareOp::Equal) => {
            ElementQuery::all_of(keys)
        }
        ElementTest::Overlaps => ElementQuery::any_of(keys),
        ElementTest::Contained => {
            keys.push(key_of(&[EMPTY]));
            ElementQuery::any_of(keys)
        }
        _ => ElementQuery::All,
    }
}

fn pair_key(key: &[u8], value: &[u8]) -> Vec<u8> {
    // A value has less than 1 GiB.
    [b"p", &(key.len() as u32).to_be_bytes()[..], key, value].concat()
}

fn hstore_asked(test: ElementTest, constant: Constant<'_>) -> ElementQuery {
    let key = |key: &Cow<'_, [u8]>| key_of(&[b"k", key]);
    match test {
        ElementTest::Contains => {
            let pairs = hstore_pairs(bytes_of(constant.value));
            let part = |(key, value): (&[u8], Option<&[u8]>)| match value {
                Some(value) => ElementQuery::Key(cut(pair_key(key, value))),
                None => key_of(&[b"k", key]),
            };
            ElementQuery::all_of(pairs.into_iter().map(part).collect())
        }
        ElementTest::HasKey | ElementTest::HasAllKeys => {
            ElementQuery::all_of(constant.texts().iter().map(key).collect())
        }
        ElementTest::HasAnyKey => ElementQuery::any_of(constant.texts().iter().map(key).collect()),
        _ => ElementQuery::All,
    }
}

/// The value as an element of an array of its type; of a number of any scale its own bytes.
fn scalar_key(ty: DataType, value: &Value) -> Vec<u8> {
    if ty.has_wide() {
        return cut(bytes_of(value).to_vec());
    }
    let Some(element) = DataType::array_of(ty).and_then(element_type) else { return Vec::new() };
    let mut builder = ArrayBuilder::new();
    builder.push_value(value, element);
    let key = builder.single().map(|raw| array::element_key(raw, element).into_owned());
    cut(key.unwrap_or_default())
}

/// Numbers of any scale that compare so with those whose bytes begin with `key`, or with such
/// bytes: up to three bytes behind it say how a number looks.
fn compared_wide(op: CompareOp, key: &[u8]) -> ElementQuery {
    let low = cut(key.to_vec());
    let high = Some([&low[..], &[0xff, 0xff, 0xff, 0]].concat());
    match op {
        CompareOp::Equal => ElementQuery::Range(low, high),
        CompareOp::Less | CompareOp::LessEqual => ElementQuery::Range(Vec::new(), high),
        CompareOp::Greater | CompareOp::GreaterEqual => ElementQuery::Range(low, None),
        _ => ElementQuery::All,
    }
}

/// Keys that compare so with `key`; equal ones are always among them, since keys may be cut.
fn compared(op: CompareOp, key: Vec<u8>) -> ElementQuery {
    let behind = |mut key: Vec<u8>| {
        key.push(0);
        Some(key)
    };
    match op {
        CompareOp::Equal => ElementQuery::Key(key),
        CompareOp::Less | CompareOp::LessEqual => ElementQuery::Range(Vec::new(), behind(key)),
        CompareOp::Greater | CompareOp::GreaterEqual => ElementQuery::Range(key, None),
        _ => ElementQuery::All,
    }
}
