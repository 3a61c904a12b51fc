//! Refusals as gRPC statuses with trailers, and back.

use bus::{BusError, ClientId, MessageType, Status as Kind};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};
use types::{Error, SqlState};

use crate::call::Failure;

const STATUS: &str = "bus-status";
const CLIENT: &str = "bus-client";
const TYPE: &str = "bus-type";
const SQLSTATE: &str = "bus-sqlstate";

const OTHER_RUN: u32 = 100;
const FORGOTTEN: u32 = 101;
const BUSY: u32 = 102;
const TOO_LARGE: u32 = 103;
const MALFORMED: u32 = 104;
const UNAUTHENTICATED: u32 = 105;
const STOPPING: u32 = 106;

/// SQLSTATEs that storage fails with.
const STATES: [SqlState; 8] = [
    SqlState::CONNECTION_FAILURE,
    SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    SqlState::DISK_FULL,
    SqlState::OUT_OF_MEMORY,
    SqlState::LIMIT_EXCEEDED,
    SqlState::OBJECT_IN_USE,
    SqlState::IO_ERROR,
    SqlState::DATA_CORRUPTED,
];

/// Number, code and subject of a refusal.
struct Parts {
    number: u32,
    code: Code,
    client: Option<ClientId>,
    message_type: Option<MessageType>,
}

fn parts_of(error: &BusError) -> Parts {
    let (code, client, message_type) = match error {
        BusError::NotConnected(client)
        | BusError::SenderNotConnected(client)
        | BusError::ReceiverNotConnected(client) => (Code::NotFound, Some(*client), None),
        BusError::SenderNotRegistered(client, message_type)
        | BusError::ReceiverNotRegistered(client, message_type) => {
            (Code::FailedPrecondition, Some(*client), Some(*message_type))
        }
        BusError::NoReceivers(message_type) => {
            (Code::FailedPrecondition, None, Some(*message_type))
        }
        BusError::QueueNotEmpty(client) => (Code::FailedPrecondition, Some(*client), None),
        BusError::TokenOfOthers(client) => (Code::PermissionDenied, Some(*client), None),
        BusError::Timeout => (Code::DeadlineExceeded, None, None),
        BusError::Interrupted => (Code::Cancelled, None, None),
        BusError::Network(_) => (Code::Unavailable, None, None),
        BusError::Storage(_) => (Code::Internal, None, None),
    };
    Parts { number: error.status() as u32, code, client, message_type }
}

/// The status of a refusal.
pub(crate) fn status_of(failure: &Failure) -> Status {
    let of = |number, code| Parts { number, code, client: None, message_type: None };
    let parts = match failure {
        Failure::Bus(error) => parts_of(error),
        Failure::OtherRun => of(OTHER_RUN, Code::Aborted),
        Failure::Forgotten => of(FORGOTTEN, Code::Aborted),
        Failure::Busy(_) => of(BUSY, Code::ResourceExhausted),
        Failure::TooLarge(_) => of(TOO_LARGE, Code::InvalidArgument),
        Failure::Malformed(_) => of(MALFORMED, Code::InvalidArgument),
        Failure::Unauthenticated => of(UNAUTHENTICATED, Code::Unauthenticated),
        Failure::Unreached(_) => of(STOPPING, Code::Unavailable),
        Failure::Lost(_) => of(Kind::Network as u32, Code::Unavailable),
    };
    let mut trailers = MetadataMap::new();
    trailers.insert(STATUS, MetadataValue::from(parts.number));
    if let Some(client) = parts.client {
        trailers.insert(CLIENT, MetadataValue::from(client.0));
    }
    if let Some(message_type) = parts.message_type {
        trailers.insert(TYPE, MetadataValue::from(message_type.0));
    }
    if let Failure::Bus(BusError::Storage(error)) = failure
        && let Ok(state) = error.state().as_str().parse()
    {
        trailers.insert(SQLSTATE, state);
    }
    // Text that may hold anything, a path say; of a failure of storage, without its SQLSTATE.
    let message = match failure {
        Failure::Bus(BusError::Storage(error)) => error.message().to_owned(),
        Failure::Bus(BusError::Network(why)) | Failure::Unreached(why) | Failure::Lost(why) => {
            why.clone()
        }
        Failure::TooLarge(what) | Failure::Malformed(what) => what.clone(),
        other => other.to_string(),
    };
    Status::with_metadata(parts.code, message, trailers)
}

/// The refusal that a status is. One without the trailers comes from the network between.
pub(crate) fn failure_of(status: &Status) -> Failure {
    let trailers = status.metadata();
    let number = |name| -> Option<u64> { trailers.get(name)?.to_str().ok()?.parse().ok() };
    let message = || status.message().to_owned();
    let client = || ClientId(number(CLIENT).unwrap_or(0));
    let message_type =
        || MessageType(number(TYPE).and_then(|number| u32::try_from(number).ok()).unwrap_or(0));
    let Some(kind) = number(STATUS) else { return without_trailers(status) };
    let is = |known: Kind| kind == known as u64;
    let error = match kind as u32 {
        OTHER_RUN => return Failure::OtherRun,
        FORGOTTEN => return Failure::Forgotten,
        BUSY => return Failure::Busy("a limit of the server is reached"),
        TOO_LARGE => return Failure::TooLarge(message()),
        MALFORMED => return Failure::Malformed(message()),
        UNAUTHENTICATED => return Failure::Unauthenticated,
        STOPPING => return Failure::Unreached(message()),
        _ if is(Kind::NotConnected) => BusError::NotConnected(client()),
        _ if is(Kind::SenderNotConnected) => BusError::SenderNotConnected(client()),
        _ if is(Kind::SenderNotRegistered) => {
            BusError::SenderNotRegistered(client(), message_type())
        }
        _ if is(Kind::ReceiverNotConnected) => BusError::ReceiverNotConnected(client()),
        _ if is(Kind::ReceiverNotRegistered) => {
            BusError::ReceiverNotRegistered(client(), message_type())
        }
        _ if is(Kind::NoReceivers) => BusError::NoReceivers(message_type()),
        _ if is(Kind::QueueNotEmpty) => BusError::QueueNotEmpty(client()),
        _ if is(Kind::TokenOfOthers) => BusError::TokenOfOthers(client()),
        _ if is(Kind::Timeout) => BusError::Timeout,
        _ if is(Kind::Interrupted) => BusError::Interrupted,
        _ if is(Kind::Storage) => {
            let state = trailers.get(SQLSTATE).and_then(|state| state.to_str().ok());
            let state = STATES.iter().find(|known| Some(known.as_str()) == state);
            let state = state.copied().unwrap_or(SqlState::INTERNAL_ERROR);
            BusError::Storage(Error::new(state, message()))
        }
        _ => return Failure::Lost(message()),
    };
    Failure::Bus(error)
}

fn without_trailers(status: &Status) -> Failure {
    let message = status.message().to_owned();
    if is_unconnected(status) {
        return Failure::Unreached(message);
    }
    match status.code() {
        Code::Unauthenticated => Failure::Unauthenticated,
        Code::OutOfRange | Code::InvalidArgument => Failure::TooLarge(message),
        Code::Unimplemented => Failure::Malformed(format!("no server of a bus: {message}")),
        code => Failure::Lost(format!("{code:?}: {message}")),
    }
}

/// True when no connection was there for the call.
fn is_unconnected(status: &Status) -> bool {
    let first = std::error::Error::source(status);
    let mut causes = std::iter::successors(first, |error| error.source());
    causes.any(|cause| cause.is::<tonic::ConnectError>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_comes_back_as_it_went() {
        let (client, message_type) = (ClientId(u64::MAX), MessageType(u32::MAX));
        let full = Error::new(SqlState::DISK_FULL, "\"/b\u{fc}s\" is full");
        let errors = [
            BusError::NotConnected(client),
            BusError::SenderNotConnected(client),
            BusError::SenderNotRegistered(client, message_type),
            BusError::ReceiverNotConnected(client),
            BusError::ReceiverNotRegistered(client, message_type),
            BusError::NoReceivers(message_type),
            BusError::QueueNotEmpty(client),
            BusError::TokenOfOthers(client),
            BusError::Timeout,
            BusError::Interrupted,
            BusError::Storage(full),
        ];
        let others = [
            Failure::OtherRun,
            Failure::Forgotten,
            Failure::Busy("a limit of the server is reached"),
            Failure::TooLarge("5 keys".to_owned()),
            Failure::Malformed("a token".to_owned()),
            Failure::Unauthenticated,
            Failure::Unreached("the server stops".to_owned()),
            Failure::Lost("no answer".to_owned()),
        ];
        for failure in errors.into_iter().map(Failure::Bus).chain(others) {
            assert_eq!(failure_of(&status_of(&failure)), failure);
        }
        let network = Failure::Bus(BusError::Network("gone".to_owned()));
        assert_eq!(failure_of(&status_of(&network)), Failure::Lost("gone".to_owned()));
    }

    #[test]
    fn statuses_of_others_are_known_by_their_code() {
        let lost = failure_of(&Status::unavailable("refused"));
        assert_eq!(lost, Failure::Lost("Unavailable: refused".to_owned()));
        let large = failure_of(&Status::out_of_range("5 bytes"));
        assert_eq!(large, Failure::TooLarge("5 bytes".to_owned()));
        assert_eq!(failure_of(&Status::unauthenticated("")), Failure::Unauthenticated);
    }
}
