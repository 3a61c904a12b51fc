//! Words that every floor above uses: settings, results, notices, names, handles of what runs.

pub(crate) mod cancel;
pub(crate) mod config;
pub(crate) mod names;
pub(crate) mod notice;
pub(crate) mod result;
pub(crate) mod rows;
pub(crate) mod settings;
pub(crate) mod who;
