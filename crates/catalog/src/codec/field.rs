//! Fields of a record: length and value, nested.

use types::{Collation, CollationProvider, Error, Result, SqlState, TextEquality};

/// XX001 with what was found.
pub(super) fn damaged(what: &str) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("damaged catalog record: {what}"))
}

/// A value with a form in bytes.
pub(super) trait Codec {
    /// Appends it.
    fn put(&self, out: &mut Writer<'_>);
}

/// A value that bytes give back.
pub(super) trait Decode: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// XX001.
    fn get(from: &mut Reader<'_>) -> Result<Self>;
}

/// Bytes being appended to.
pub(super) struct Writer<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> Writer<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Appends a value behind its length.
    pub(super) fn field<T: Codec + ?Sized>(&mut self, value: &T) {
        let at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        value.put(self);
        let bytes = u32::try_from(self.out.len() - at - 4).expect("a definition is below 4 GiB");
        self.out[at..at + 4].copy_from_slice(&bytes.to_le_bytes());
    }

    /// Appends bytes as they are.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }
}

/// Bytes being read.
pub(super) struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next value, which takes up its whole field.
    pub(super) fn field<T: Decode>(&mut self) -> Result<T> {
        let bytes = u32::from_le_bytes(self.array()?) as usize;
        let mut inner = Reader { rest: self.raw(bytes)? };
        let value = T::get(&mut inner)?;
        inner.end()?;
        Ok(value)
    }

    /// The next `count` bytes.
    pub(super) fn raw(&mut self, count: usize) -> Result<&'b [u8]> {
        let (bytes, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| damaged("it ends too soon"))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// All that is left.
    pub(super) fn all(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.rest)
    }

    /// The next bytes, as many as the result has.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.raw(N)?.try_into().map_err(|_| damaged("it ends too soon"))
    }

    /// Fails when bytes are left.
    ///
    /// # Errors
    /// XX001 when something is.
    pub(super) fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(damaged("it is too long")) }
    }
}

/// A variant without fields is one byte.
macro_rules! variants {
    ($ty:ident { $($variant:ident = $number:literal),* }) => {
        impl Codec for $ty {
            fn put(&self, out: &mut Writer<'_>) {
                out.raw(&[match self { $(Self::$variant => $number),* }]);
            }
        }

        impl Decode for $ty {
            fn get(from: &mut Reader<'_>) -> Result<Self> {
                match u8::get(from)? {
                    $($number => Ok(Self::$variant),)*
                    _ => Err(damaged(concat!("an unknown ", stringify!($ty)))),
                }
            }
        }
    };
}
pub(super) use variants;

macro_rules! number {
    ($($ty:ty),*) => {$(
        impl Codec for $ty {
            fn put(&self, out: &mut Writer<'_>) {
                out.raw(&self.to_le_bytes());
            }
        }

        impl Decode for $ty {
            fn get(from: &mut Reader<'_>) -> Result<Self> {
                Ok(Self::from_le_bytes(from.array()?))
            }
        }
    )*};
}

number!(u8, u32, i32, u64, i64);

/// As a `u64`.
impl Codec for usize {
    fn put(&self, out: &mut Writer<'_>) {
        (*self as u64).put(out);
    }
}

impl Decode for usize {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Self::try_from(u64::get(from)?).map_err(|_| damaged("a number is too large"))
    }
}

impl Codec for bool {
    fn put(&self, out: &mut Writer<'_>) {
        out.raw(&[u8::from(*self)]);
    }
}

impl Decode for bool {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match u8::get(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged("neither true nor false")),
        }
    }
}

impl Codec for str {
    fn put(&self, out: &mut Writer<'_>) {
        out.raw(self.as_bytes());
    }
}

impl Codec for String {
    fn put(&self, out: &mut Writer<'_>) {
        self.as_str().put(out);
    }
}

impl Decode for String {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let text = std::str::from_utf8(from.all()).map_err(|_| damaged("text is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

/// A list of none or one.
impl<T: Codec> Codec for Option<T> {
    fn put(&self, out: &mut Writer<'_>) {
        self.is_some().put(out);
        if let Some(value) = self {
            out.field(value);
        }
    }
}

impl<T: Decode> Decode for Option<T> {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        if bool::get(from)? { Ok(Some(from.field()?)) } else { Ok(None) }
    }
}

impl<T: Codec> Codec for Vec<T> {
    fn put(&self, out: &mut Writer<'_>) {
        u32::try_from(self.len()).expect("a definition is below 4 GiB").put(out);
        self.iter().for_each(|value| out.field(value));
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let count = u32::get(from)?;
        // Not reserved: the count may be damaged, and each field takes four bytes at least.
        let mut list = Self::new();
        for _ in 0..count {
            list.push(from.field()?);
        }
        Ok(list)
    }
}

impl<A: Codec, B: Codec> Codec for (A, B) {
    fn put(&self, out: &mut Writer<'_>) {
        out.field(&self.0);
        out.field(&self.1);
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok((from.field()?, from.field()?))
    }
}

/// Its number; of one that users made its rules behind it.
impl Codec for Collation {
    fn put(&self, out: &mut Writer<'_>) {
        self.number().put(out);
        if self.is_of_users() {
            out.field(&(self.provider() == CollationProvider::Icu));
            out.field(&self.has_own_equality());
            out.field(self.locale());
        }
    }
}

impl Decode for Collation {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let number = u32::get(from)?;
        if let Some(known) = Self::numbered(number) {
            return Ok(known);
        }
        let is_of_icu = from.field()?;
        let provider = if is_of_icu { CollationProvider::Icu } else { CollationProvider::Libc };
        let is_of_language = from.field()?;
        let equality =
            if is_of_language { TextEquality::OfLanguage } else { TextEquality::OfBytes };
        let locale: String = from.field()?;
        let found = Self::of_users(number, provider, &locale, equality);
        if found.is_of_users() { Ok(found) } else { Err(damaged("an unknown collation")) }
    }
}

/// A struct is its fields in this order; what stands behind `;` is written only where it, or what
/// follows it, is not the default, and so may be missing.
macro_rules! record {
    ($ty:ident { $($field:ident),*; $($more:ident),+ }) => {
        impl Codec for $ty {
            fn put(&self, out: &mut Writer<'_>) {
                $(out.field(&self.$field);)*
                let is_said = [$(!is_default(&self.$more)),+];
                let mut left = is_said.iter().rposition(|said| *said).map_or(0, |last| last + 1);
                $(if left > 0 {
                    out.field(&self.$more);
                    left -= 1;
                })+
                debug_assert_eq!(left, 0);
            }
        }

        impl Decode for $ty {
            fn get(from: &mut Reader<'_>) -> Result<Self> {
                let ($($more,)+) = Default::default();
                let mut record = Self { $($field: from.field()?,)* $($more),+ };
                $(if from.end().is_err() {
                    record.$more = from.field()?;
                })+
                Ok(record)
            }
        }
    };
    ($ty:ident { $($field:ident),* }) => {
        impl Codec for $ty {
            fn put(&self, out: &mut Writer<'_>) {
                $(out.field(&self.$field);)*
            }
        }

        impl Decode for $ty {
            fn get(from: &mut Reader<'_>) -> Result<Self> {
                Ok(Self { $($field: from.field()?),* })
            }
        }
    };
}
pub(super) use record;

/// True for a value that a record need not name.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
