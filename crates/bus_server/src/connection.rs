//! Connections that count against the limit of them while they are there.

use rpc::Kept;
use tokio::sync::OwnedSemaphorePermit;

/// A connection that was let in.
pub(crate) type Connection = rpc::Connection<Permit>;

/// Place among the connections that may be there at a time.
#[derive(Debug)]
pub(crate) struct Permit {
    _permit: OwnedSemaphorePermit,
}

impl From<OwnedSemaphorePermit> for Permit {
    fn from(permit: OwnedSemaphorePermit) -> Self {
        Self { _permit: permit }
    }
}

impl Kept for Permit {
    type Info = ();

    fn info(&self) -> Self::Info {}
}
