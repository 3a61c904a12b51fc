//! Digests.

use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};
use types::Result;
use types::text::push_hex;

use crate::Vector;
use crate::rows::{Texts, try_format, try_write};

/// md5 of TEXT or BYTEA -> TEXT.
///
/// # Errors
/// None.
pub fn md5(text: &Vector) -> Result<Vector> {
    let texts = Texts::new(text);
    try_format(&[text], |i, out| {
        push_hex(out, &Md5::digest(texts.bytes(i)));
        Ok(())
    })
}

macro_rules! sha {
    ($($name:ident = $digest:ident),*) => {
        $(#[doc = concat!(stringify!($name), "(BYTEA) -> BYTEA.")]
        ///
        /// # Errors
        /// None.
        pub fn $name(bytes: &Vector) -> Result<Vector> {
            let values = Texts::new(bytes);
            try_write(&[bytes], |i, out| {
                out.extend_from_slice(&<$digest as sha2::Digest>::digest(values.bytes(i)));
                Ok(())
            })
        })*
    };
}

sha!(sha224 = Sha224, sha256 = Sha256, sha384 = Sha384, sha512 = Sha512);
