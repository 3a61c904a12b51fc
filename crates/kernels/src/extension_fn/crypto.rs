//! pgcrypto: digests and what is made of them.

use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use types::{Error, Result, SqlState};

use super::secret;
use crate::Vector;
use crate::rows::{Texts, Values, try_write};

/// A digest by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    /// The digest called `name`, in letters of either case.
    ///
    /// # Errors
    /// 22023.
    fn named(name: &str) -> Result<Self> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "md5" => Self::Md5,
            "sha1" => Self::Sha1,
            "sha224" => Self::Sha224,
            "sha256" => Self::Sha256,
            "sha384" => Self::Sha384,
            "sha512" => Self::Sha512,
            name => {
                let message = format!("Cannot use \"{name}\": No such hash algorithm");
                return Err(Error::new(SqlState::INVALID_PARAMETER, message));
            }
        })
    }

    /// The digest of `parts`, one after the other.
    pub(super) fn of(self, parts: &[&[u8]]) -> Vec<u8> {
        fn run<D: sha2::Digest>(parts: &[&[u8]]) -> Vec<u8> {
            let mut digest = D::new();
            parts.iter().for_each(|part| digest.update(part));
            digest.finalize().to_vec()
        }
        match self {
            Self::Md5 => {
                use md5::Digest as _;
                let mut digest = md5::Md5::new();
                parts.iter().for_each(|part| digest.update(part));
                digest.finalize().to_vec()
            }
            Self::Sha1 => run::<Sha1>(parts),
            Self::Sha224 => run::<Sha224>(parts),
            Self::Sha256 => run::<Sha256>(parts),
            Self::Sha384 => run::<Sha384>(parts),
            Self::Sha512 => run::<Sha512>(parts),
        }
    }

    fn block_bytes(self) -> usize {
        match self {
            Self::Sha384 | Self::Sha512 => 128,
            _ => 64,
        }
    }

    /// Source: RFC 2104.
    fn keyed(self, key: &[u8], data: &[u8]) -> Vec<u8> {
        let mut block = if key.len() > self.block_bytes() { self.of(&[key]) } else { key.to_vec() };
        block.resize(self.block_bytes(), 0);
        let with = |pad: u8| block.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
        let inner = self.of(&[&with(0x36), data]);
        self.of(&[&with(0x5c), &inner])
    }
}

/// digest(TEXT or BYTEA, TEXT algorithm) -> BYTEA.
///
/// # Errors
/// 22023 for an unknown algorithm.
pub fn digest(data: &Vector, algorithm: &Vector) -> Result<Vector> {
    let (texts, names) = (Texts::new(data), Texts::new(algorithm));
    try_write(&[data, algorithm], |i, out| {
        out.extend_from_slice(&Hash::named(names.str(i)?)?.of(&[texts.bytes(i)]));
        Ok(())
    })
}

/// hmac(data, key, TEXT algorithm) -> BYTEA; data and key are both TEXT or both BYTEA.
///
/// # Errors
/// 22023 for an unknown algorithm.
pub fn hmac(data: &Vector, key: &Vector, algorithm: &Vector) -> Result<Vector> {
    let (texts, keys, names) = (Texts::new(data), Texts::new(key), Texts::new(algorithm));
    try_write(&[data, key, algorithm], |i, out| {
        let hash = Hash::named(names.str(i)?)?;
        out.extend_from_slice(&hash.keyed(keys.bytes(i), texts.bytes(i)));
        Ok(())
    })
}

/// gen_random_bytes(INTEGER) -> BYTEA; volatile: `rows` values, of one length for all perhaps.
///
/// # Errors
/// 39000 for lengths other than 1 to 1024.
pub fn random_bytes(length: &Vector, rows: usize) -> Result<Vector> {
    let lengths = Values::<i32>::new(length);
    let every = Vector::new(crate::VectorData::I32(vec![0; rows]));
    try_write(&[length, &every], |i, out| {
        let length = usize::try_from(lengths.get(i)).unwrap_or(0);
        if !(1..=1024).contains(&length) {
            return Err(Error::new(SqlState::EXTERNAL_ROUTINE, "Length not in range"));
        }
        out.resize(length, 0);
        secret::fill(out)
    })
}
