//! The vector whose nearest a scan by a near index is for.

use plan::physical::NearVector;
use types::{Result, Value};

use crate::opener::Opener;

/// The vector, and how many are looked for at a time.
pub(super) struct Wished {
    pub(super) from: Vec<u8>,
    pub(super) breadth: usize,
}

/// The vector with its value; None for NULL, from which nothing has a distance.
///
/// # Errors
/// Errors of the constant.
pub(super) fn wished(opener: &Opener, near: &NearVector) -> Result<Option<Wished>> {
    let breadth = usize::try_from(near.breadth).unwrap_or(usize::MAX);
    Ok(match opener.constant(&near.from)? {
        Value::Str(bytes) => Some(Wished { from: bytes.to_vec(), breadth }),
        _ => None,
    })
}
