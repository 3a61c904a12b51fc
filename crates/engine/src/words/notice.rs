//! Messages for a client besides results.

use types::Error;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// DEBUG: nothing has it.
    Debug,
    /// LOG.
    Log,
    /// INFO: sent whatever the client wants to hear.
    Info,
    /// NOTICE.
    Notice,
    /// WARNING.
    Warning,
    /// ERROR: for `client_min_messages` only.
    Error,
}

impl Severity {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Log => "LOG",
            Self::Info => "INFO",
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }

    /// The value of `client_min_messages` that `name` is.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "debug5" | "debug4" | "debug3" | "debug2" | "debug1" | "debug" => Self::Debug,
            "log" => Self::Log,
            "notice" | "info" => Self::Notice,
            "warning" => Self::Warning,
            "error" => Self::Error,
            _ => return None,
        })
    }
}

/// A message for the client.
#[derive(Clone, Debug)]
pub struct Notice {
    /// How much it matters.
    pub severity: Severity,
    /// SQLSTATE and text, as an error has them.
    pub error: Error,
}
