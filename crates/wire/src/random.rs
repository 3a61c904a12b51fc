//! Random bytes that nobody guesses.

use ring::rand::{SecureRandom, SystemRandom};
use types::{Error, Result};

/// `N` random bytes.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::internal("the system has no random numbers"))?;
    Ok(bytes)
}

/// The secret of a session's cancels.
pub(crate) fn secret() -> Result<i32> {
    bytes().map(i32::from_be_bytes)
}

/// A password of 24 letters and digits that are hard to confuse: 120 bits.
pub(crate) fn password() -> Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bytes = bytes::<24>()?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}
