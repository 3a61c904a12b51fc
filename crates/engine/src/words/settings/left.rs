//! Settings after a routine that has some of its own.
//!
//! Invariant: nothing is left of what the routine's definition says; what its body said with SET
//! stays, as it does behind a routine without settings.

use super::{IDENTITY, Settings};

impl Settings {
    /// Takes back what `own`, the settings of a routine, and the rights of its owner made of these
    /// since they were `before`. SET LOCAL of the body stays for settings that are not its own.
    pub(crate) fn leave_routine(&mut self, before: Self, own: &[(String, String)]) {
        let is_identity = |name: &str| IDENTITY.contains(&name);
        let is_own = |name: &str| own.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        // A plain SET has taken the routine's own value away.
        let is_overridden =
            |name: &str| is_own(name) && !self.local.iter().any(|(known, _)| **known == *name);
        let was = |name: &str| is_identity(name) || is_own(name);
        let mut local = self.local.clone();
        local.retain(|(name, _)| !was(name));
        let kept = before.local.iter().filter(|(name, _)| was(name) && !is_overridden(name));
        local.extend(kept.cloned());
        let mut changed = self.changed.clone();
        changed.retain(|(name, _)| !is_identity(name));
        changed.extend(before.changed.iter().filter(|(name, _)| is_identity(name)).cloned());
        let version = self.version;
        *self = Self { changed, local, version, ..before };
        self.moved();
    }
}
