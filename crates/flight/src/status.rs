//! Errors as clients of gRPC see them.
//!
//! ```text
//! message: 42P01: relation "t" does not exist, then lines of DETAIL: and HINT:
//! metadata: sqlstate: 42P01
//! ```

use std::error::Error as _;

use arrow_flight::error::FlightError;
use arrow_schema::ArrowError;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};
use types::{Error, SqlState};

/// Name of the metadata that carries the SQLSTATE.
const SQLSTATE: &str = "sqlstate";

fn code_of(state: SqlState) -> Code {
    match state {
        SqlState::INSUFFICIENT_PRIVILEGE => return Code::PermissionDenied,
        SqlState::QUERY_CANCELED => return Code::Cancelled,
        SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_SCHEMA
        | SqlState::UNDEFINED_DATABASE
        | SqlState::INVALID_SQL_STATEMENT_NAME => return Code::NotFound,
        SqlState::PROTOCOL_VIOLATION => return Code::InvalidArgument,
        SqlState::UNIQUE_VIOLATION | SqlState::DUPLICATE_TABLE => return Code::AlreadyExists,
        _ => {}
    }
    match state.as_str().get(..2).unwrap_or_default() {
        "28" => Code::Unauthenticated,
        "0A" => Code::Unimplemented,
        "22" | "42" => Code::InvalidArgument,
        "40" => Code::Aborted,
        "53" | "54" => Code::ResourceExhausted,
        "08" | "57" => Code::Unavailable,
        "58" | "XX" => Code::Internal,
        _ => Code::FailedPrecondition,
    }
}

/// The status of `error`.
pub(crate) fn status_of(error: &Error) -> Status {
    let state = error.state();
    let mut message = format!("{}: {}", state.as_str(), error.message());
    for (what, text) in [("DETAIL", error.detail()), ("HINT", error.hint())] {
        if let Some(text) = text {
            message.push_str(&format!("\n{what}: {text}"));
        }
    }
    let mut status = Status::new(code_of(state), message);
    if let Ok(value) = MetadataValue::try_from(state.as_str()) {
        status.metadata_mut().insert(SQLSTATE, value);
    }
    status
}

/// The status of an error that Arrow hands on.
pub(crate) fn status_of_arrow(error: ArrowError) -> Status {
    match error {
        ArrowError::ExternalError(cause) => match cause.downcast::<Error>() {
            Ok(error) => status_of(&error),
            Err(cause) => status_of(&Error::internal(cause.to_string())),
        },
        other => status_of(&Error::internal(other.to_string())),
    }
}

/// The status of an error of a stream.
pub(crate) fn status_of_flight(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        FlightError::Arrow(error) => status_of_arrow(error),
        other => status_of(&unreadable(other)),
    }
}

/// The error that a client was told.
pub(crate) fn error_of(error: FlightError) -> Error {
    match error {
        FlightError::Tonic(status) => error_of_status(&status),
        other => unreadable(other),
    }
}

/// The error of a status: the server's own, or 08006 when the connection does not reach it.
fn error_of_status(status: &Status) -> Error {
    let told = status.metadata().get(SQLSTATE).and_then(|value| value.to_str().ok());
    let message = status.message();
    let Some(state) = told.and_then(SqlState::from_code) else {
        let is_away = status.code() == Code::Unavailable || status.source().is_some();
        let state =
            if is_away { SqlState::CONNECTION_FAILURE } else { SqlState::PROTOCOL_VIOLATION };
        return Error::new(state, message);
    };
    // DETAIL and HINT stand on lines of their own.
    let first = message.lines().next().unwrap_or_default();
    let mark = format!("{}: ", state.as_str());
    Error::new(state, first.strip_prefix(&mark).unwrap_or(first))
}

/// 08P01: what a client sent is not what the protocol wants.
pub(crate) fn unreadable(reason: impl std::fmt::Display) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, format!("the message cannot be read: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_what_the_server_found() {
        let error = Error::new(SqlState::UNDEFINED_TABLE, "relation \"t\" does not exist");
        let status = status_of(&error.with_hint("Make it."));
        let told = error_of(FlightError::Tonic(Box::new(status)));
        assert_eq!(told.state(), SqlState::UNDEFINED_TABLE);
        assert_eq!(told.message(), "relation \"t\" does not exist");
    }

    #[test]
    fn servers_that_are_away_are_no_errors_of_statements() {
        let away = Status::unavailable("tcp connect error");
        let broken = Status::from_error(std::io::Error::other("broken pipe").into());
        for status in [away, broken] {
            let told = error_of(FlightError::Tonic(Box::new(status)));
            assert_eq!(told.state(), SqlState::CONNECTION_FAILURE, "{told}");
        }
        let odd = error_of(FlightError::Tonic(Box::new(Status::out_of_range("too long"))));
        assert_eq!(odd.state(), SqlState::PROTOCOL_VIOLATION);
    }
}
