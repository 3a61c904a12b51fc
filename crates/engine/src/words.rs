//! Words that every floor above uses: settings, results, notices, handles of what runs.

pub(crate) mod cancel;
pub(crate) mod config;
pub(crate) mod notice;
pub(crate) mod result;
pub(crate) mod settings;
