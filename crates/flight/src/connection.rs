//! Connections of clients. What was begun through one ends with it.

use std::sync::{Arc, Weak};

use rpc::Kept;
use tonic::Request;
use tonic::transport::server::TlsConnectInfo;

/// Life of a connection: there as long as it is.
#[derive(Debug, Default)]
pub(crate) struct Life(Arc<()>);

/// A connection, that knows whether it is still there when it is asked for.
pub(crate) type Line = Weak<()>;

/// The connection that a call came through.
pub(crate) fn line_of<T>(request: &Request<T>) -> Line {
    let extensions = request.extensions();
    let plain = || extensions.get::<Line>().cloned();
    let secure = extensions.get::<TlsConnectInfo<Line>>().map(|info| info.get_ref().clone());
    secure.or_else(plain).unwrap_or_default()
}

impl Kept for Life {
    type Info = Line;

    fn info(&self) -> Self::Info {
        Arc::downgrade(&self.0)
    }
}
