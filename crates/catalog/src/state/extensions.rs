//! Extensions that were created.

use super::State;

/// An extension that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Schema in which its functions are found.
    pub schema: String,
    /// Role that created it; empty for who owns the database.
    pub owner: String,
    /// Version that was created.
    pub version: String,
}

impl State {
    /// The names of the extensions of a schema.
    pub fn extensions_in(&self, schema: &str) -> Vec<String> {
        let of = self.extensions.iter().filter(|(_, extension)| extension.schema == schema);
        of.map(|(name, _)| name.clone()).collect()
    }
}
