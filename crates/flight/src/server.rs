//! Listening, TLS, the end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use engine::Database;
use rpc::{Connection, Tasks, identity_of, io_error, listening};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::ServerTlsConfig;
use types::{Error, Result, SqlState};
use wire::Authentication;

use crate::connection::Life;
use crate::door::Door;
use crate::flights::Flights;
use crate::options::FlightOptions;
use crate::service::Service;

/// How often is looked for what nobody came back to.
const SWEEP: Duration = Duration::from_millis(500);

/// How long calls under way may take when the server stops.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Bytes of the largest message of a client: a batch of parameters.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Bytes of a stream and of a connection that may be under way before they are read.
const WINDOW_BYTES: u32 = 4 << 20;

/// Threads beside those of sessions, for batches on their way.
const SPARE_THREADS: usize = 64;

/// A server that runs.
pub struct Server {
    tasks: Tasks,
    flights: Arc<Flights>,
    address: SocketAddr,
}

/// Refuses addresses at which passwords would be there for everybody to read, or none be asked for.
fn check(options: &FlightOptions) -> Result<()> {
    if options.listen.ip().is_loopback() {
        return Ok(());
    }
    if options.authentication == Authentication::Trust {
        let message = "trust is for loopback addresses only";
        return Err(Error::new(SqlState::INVALID_PARAMETER, message));
    }
    if options.tls.is_none() {
        let message = "without TLS, Arrow Flight is for loopback addresses only";
        let error = Error::new(SqlState::INVALID_PARAMETER, message);
        return Err(error.with_hint("Its clients send passwords as they are."));
    }
    Ok(())
}

impl Server {
    /// Listens and serves, in threads of its own.
    ///
    /// # Errors
    /// 58030 for an address that cannot be used, F0000 for TLS files that cannot, 22023 for an
    /// address of other machines without TLS.
    pub fn start(database: Database, options: FlightOptions) -> Result<Self> {
        check(&options)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(options.sessions_max.saturating_add(SPARE_THREADS))
            .thread_name("flight")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| io_error("the server cannot start", error))?;
        let what = format!("{} cannot be listened on", options.listen);
        let listener = runtime.block_on(TcpListener::bind(options.listen));
        let listener = listener.map_err(|error| io_error(&what, error))?;
        let address = listener.local_addr().map_err(|error| io_error(&what, error))?;
        let tls = options.tls.as_ref().map(|files| identity_of(&files.certificate, &files.key));
        let tls = tls.transpose()?;
        let flights = Arc::new(Flights::new(Door::new(database, options)));
        let mut server = Self { tasks: Tasks::new(runtime), flights, address };
        server.serve(listener, tls)?;
        server.sweep();
        Ok(server)
    }

    /// The address listened on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets nobody in any longer, and ends all calls, transactions and tickets.
    pub fn stop(self) {
        let Self { tasks, flights, .. } = self;
        let runtime = tasks.stop(STOP_LIMIT);
        flights.clear();
        runtime.shutdown_timeout(STOP_LIMIT);
    }

    fn serve(&mut self, listener: TcpListener, tls: Option<ServerTlsConfig>) -> Result<()> {
        let mut builder = listening(tls, WINDOW_BYTES)?;
        let service = FlightServiceServer::new(Service(Arc::clone(&self.flights)));
        let router = builder.add_service(service.max_decoding_message_size(MESSAGE_BYTES_MAX));
        let stopped = self.tasks.stopped();
        self.tasks.spawn(async move {
            let incoming = TcpListenerStream::new(listener);
            let incoming = incoming
                .map(|stream| stream.map(|stream| Connection::new(stream, Life::default())));
            if let Err(error) = router.serve_with_incoming_shutdown(incoming, stopped).await {
                eprintln!("tessera: Arrow Flight is not served any more: {error}");
            }
        });
        Ok(())
    }

    /// Looks again and again for what nobody came back to.
    fn sweep(&mut self) {
        let (flights, stopped) = (Arc::clone(&self.flights), self.tasks.stopped());
        let sweep = async move {
            let mut interval = tokio::time::interval(SWEEP);
            loop {
                interval.tick().await;
                let flights = Arc::clone(&flights);
                // Transactions that are taken back may take a while.
                let _ = tokio::task::spawn_blocking(move || flights.sweep()).await;
            }
        };
        self.tasks.spawn(async move {
            tokio::select! { () = sweep => {}, () = stopped => {} }
        });
    }
}
