//! Bytes that nobody can guess.

use types::{Error, Result, SqlState};

/// Fills `bytes` from the operating system's generator.
///
/// # Errors
/// 58000 when there is none.
pub(super) fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| {
        let message = format!("could not generate a random number: {error}");
        Error::new(SqlState::SYSTEM_ERROR, message)
    })
}
