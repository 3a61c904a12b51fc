//! Values that a path meets.

use std::borrow::Cow;

use types::json::{self, Json, Kind};
use types::wide::Wide;
use types::{Error, Result};

use super::moment::Moment;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Item<'t> {
    /// JSON in its canonical text: a part of a value, or one that was made.
    Json(Cow<'t, [u8]>),
    /// A date or time.
    Moment(Moment),
}

impl<'t> Item<'t> {
    /// A part of a value.
    pub(super) fn part(text: &'t [u8]) -> Self {
        Self::Json(Cow::Borrowed(Json::new(text).bytes()))
    }

    pub(super) fn made(text: impl Into<Vec<u8>>) -> Self {
        Self::Json(Cow::Owned(text.into()))
    }

    pub(super) fn string(text: &str) -> Self {
        let mut out = Vec::new();
        json::push_quoted(&mut out, text.as_bytes());
        Self::made(out)
    }

    pub(super) fn boolean(value: bool) -> Self {
        Self::Json(Cow::Borrowed(if value { b"true" } else { b"false" }))
    }

    pub(super) fn number(value: &Wide) -> Self {
        let mut out = Vec::new();
        value.format(&mut out);
        Self::made(out)
    }

    /// Kind of JSON; None for moments.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Json(text) => Some(Json::new(text).kind()),
            Self::Moment(_) => None,
        }
    }

    pub(super) fn is_array(&self) -> bool {
        self.kind() == Some(Kind::Array)
    }

    pub(super) fn is_object(&self) -> bool {
        self.kind() == Some(Kind::Object)
    }

    /// The item as JSON.
    pub(super) fn text(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Json(text) => Cow::Borrowed(text),
            Self::Moment(moment) => Cow::Owned(moment.quoted()),
        }
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Json(text) => Json::new(text).kind().name(),
            Self::Moment(moment) => moment.type_name(),
        }
    }

    /// A text without its quotes; None for other values.
    ///
    /// # Errors
    /// None for values of JSONB.
    pub(super) fn as_string(&self) -> Result<Option<Cow<'_, [u8]>>> {
        match self {
            Self::Json(text) if self.kind() == Some(Kind::String) => {
                json::unescaped(text).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A number; None for other values.
    ///
    /// # Errors
    /// None for values of JSONB.
    pub(super) fn as_number(&self) -> Result<Option<Wide>> {
        match self {
            Self::Json(text) if self.kind() == Some(Kind::Number) => {
                let text = std::str::from_utf8(text)
                    .map_err(|_| Error::internal("a number that is no text"))?;
                Wide::parse(text).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `json`, a part of this item's text.
    fn inner(&self, json: Json<'_>) -> Self {
        match self {
            Self::Json(Cow::Borrowed(whole)) => {
                let start = json.bytes().as_ptr() as usize - whole.as_ptr() as usize;
                Self::Json(Cow::Borrowed(&whole[start..start + json.bytes().len()]))
            }
            _ => Self::made(json.bytes()),
        }
    }

    fn json(&self) -> Json<'_> {
        match self {
            Self::Json(text) => Json::new(text),
            Self::Moment(_) => Json::new(b"null"),
        }
    }

    /// The field called `name`.
    ///
    /// # Errors
    /// None for values of JSONB.
    pub(super) fn field(&self, name: &str) -> Result<Option<Self>> {
        Ok(self.json().field(name.as_bytes())?.map(|json| self.inner(json)))
    }

    /// The elements of an array, the values of an object.
    pub(super) fn children(&self) -> Vec<Self> {
        let json = self.json();
        match json.kind() {
            Kind::Object => json.fields().map(|(_, value)| self.inner(value)).collect(),
            Kind::Array => json.elements().map(|value| self.inner(value)).collect(),
            _ => Vec::new(),
        }
    }

    /// The fields of an object: keys with their quotes.
    pub(super) fn fields(&self) -> Vec<(Vec<u8>, Self)> {
        let fields = self.json().fields();
        fields.map(|(key, value)| (key.to_vec(), self.inner(value))).collect()
    }

    /// Where the container stands in PostgreSQL's binary form of `root`; None when it is no part.
    pub(super) fn binary_place(&self, root: &Self) -> Option<i64> {
        match (self, root) {
            (Self::Json(Cow::Borrowed(part)), Self::Json(Cow::Borrowed(root))) => {
                let (start, target) = (root.as_ptr() as usize, part.as_ptr() as usize);
                if !(start..start + root.len()).contains(&target) {
                    return None;
                }
                let mut places = Places { target, found: None };
                places.container(Json::new(root), 0);
                places.found
            }
            _ => None,
        }
    }
}

/// A walk over a value that adds up the bytes of PostgreSQL's binary form.
struct Places {
    /// Address of the text that is looked for.
    target: usize,
    found: Option<i64>,
}

const WORD: i64 = 4;

fn aligned(at: i64) -> i64 {
    (at + WORD - 1) / WORD * WORD
}

impl Places {
    /// Behind the container that begins at `start`.
    fn container(&mut self, json: Json<'_>, start: i64) -> i64 {
        if json.bytes().as_ptr() as usize == self.target {
            self.found = Some(start);
        }
        if self.found.is_some() {
            return start;
        }
        // A word for the count and one for each part come first.
        if json.kind() == Kind::Array {
            let count = json.elements().count() as i64;
            let mut at = start + WORD + WORD * count;
            for element in json.elements() {
                at = self.value(element, at);
            }
            return at;
        }
        let count = json.fields().count() as i64;
        let mut at = start + WORD + 2 * WORD * count;
        for (key, _) in json.fields() {
            at += json::unescaped(key).map_or(0, |key| key.len()) as i64;
        }
        for (_, value) in json.fields() {
            at = self.value(value, at);
        }
        at
    }

    fn value(&mut self, json: Json<'_>, at: i64) -> i64 {
        match json.kind() {
            Kind::Null | Kind::Boolean => at,
            Kind::String => at + json::unescaped(json.bytes()).map_or(0, |text| text.len()) as i64,
            Kind::Number => aligned(at) + number_bytes(json.bytes()),
            Kind::Array | Kind::Object => types::stack::deep(|| self.container(json, aligned(at))),
        }
    }
}

/// Bytes of a NUMERIC: two for four digits, behind two words of which the second may be half of
/// one.
fn number_bytes(text: &[u8]) -> i64 {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let point = digits.iter().position(|&byte| byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = digits.split_at(point);
    let fraction = fraction.strip_prefix(b".").unwrap_or(fraction);
    let scale = fraction.len();
    let mut groups: Vec<bool> = whole.rchunks(4).rev().map(is_set).collect();
    let before = groups.len();
    groups.extend(fraction.chunks(4).map(is_set));
    let Some(first) = groups.iter().position(|group| *group) else { return 6 };
    let last = groups.iter().rposition(|group| *group).unwrap_or(first);
    let weight = before as i64 - 1 - first as i64;
    let is_short = scale < 64 && (-64..64).contains(&weight);
    let header = if is_short { 6 } else { 8 };
    header + 2 * (last - first + 1) as i64
}

fn is_set(group: &[u8]) -> bool {
    group.iter().any(|&digit| digit != b'0')
}
