//! The server: addresses, TLS, tokens, and its end.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ring::digest::{Digest, SHA256, digest};
use rpc::{Tasks, identity_of, io_error, listening};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::MetadataMap;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::ServerTlsConfig;
use tonic::{Request, Status};
use types::{Error, Result};

use crate::call::Failure;
use crate::connection::Connection;
use crate::grpc::Grpc;
use crate::http;
use crate::proto;
use crate::service::Service;
use crate::status::status_of;

/// How long calls under way may take when the server stops.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// How long a new connection may say nothing.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);

/// Bytes of a stream and of a connection that may be under way before they are read.
const WINDOW_BYTES: u32 = 1 << 20;

/// A certificate and its key, in PEM files.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// Where and for whom a server is there.
#[derive(Clone, Default)]
pub struct ServerOptions {
    /// Addresses; port 0 is any that is free.
    pub listen: Vec<SocketAddr>,
    /// TLS, which then each client must use.
    pub tls: Option<TlsFiles>,
    /// The token that each call must carry.
    pub token: Option<String>,
    /// The address for `/metrics` and `/health`.
    pub metrics: Option<SocketAddr>,
}

/// Without the token.
impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listen, tls, metrics, token: _ } = self;
        f.debug_struct("ServerOptions")
            .field("listen", listen)
            .field("tls", tls)
            .field("metrics", metrics)
            .finish_non_exhaustive()
    }
}

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    tasks: Tasks,
    grpc: Grpc,
    addresses: Vec<SocketAddr>,
    metrics_address: Option<SocketAddr>,
}

/// Lets calls in that carry the token.
#[derive(Clone)]
struct Door {
    token: Option<Digest>,
    service: Arc<Service>,
}

impl Door {
    fn is_open(&self, metadata: &MetadataMap) -> bool {
        let Some(token) = &self.token else { return true };
        let given = metadata.get("authorization").and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer "));
        // Digests: how far they agree says nothing about the token.
        given.is_some_and(|given| digest(&SHA256, given.as_bytes()).as_ref() == token.as_ref())
    }
}

impl tonic::service::Interceptor for Door {
    fn call(&mut self, request: Request<()>) -> std::result::Result<Request<()>, Status> {
        if self.is_open(request.metadata()) {
            return Ok(request);
        }
        self.service.metrics.unauthenticated.fetch_add(1, Ordering::Relaxed);
        Err(status_of(&Failure::Unauthenticated))
    }
}

impl Server {
    /// Starts to serve.
    ///
    /// # Errors
    /// F0000 for files of TLS that cannot be used, 58030 for addresses that cannot.
    pub fn start(service: Arc<Service>, options: &ServerOptions) -> Result<Self> {
        let limits = *service.limits();
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .thread_name("bus")
            .max_blocking_threads(limits.calls + limits.waits + 16)
            .build();
        let runtime = runtime.map_err(|error| io_error("threads", error))?;
        let tls = options.tls.as_ref().map(|files| identity_of(&files.certificate, &files.key));
        let tls = tls.transpose()?;
        let (tasks, grpc) = (Tasks::new(runtime), Grpc::new(Arc::clone(&service)));
        let mut server = Self { tasks, grpc, addresses: Vec::new(), metrics_address: None };
        if let Some(address) = options.metrics {
            let (listener, address) = server.bind(address)?;
            server.metrics_address = Some(address);
            server.serve_metrics(listener, Arc::clone(&service));
        }
        let connections = Arc::new(Semaphore::new(limits.connections));
        let door = Door {
            token: options.token.as_ref().map(|token| digest(&SHA256, token.as_bytes())),
            service: Arc::clone(&service),
        };
        for address in &options.listen {
            let (listener, address) = server.bind(*address)?;
            server.addresses.push(address);
            let accepted = server.accept(listener, Arc::clone(&connections), &service);
            server.serve(accepted, door.clone(), tls.clone())?;
        }
        Ok(server)
    }

    /// The addresses that it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The address of `/metrics` and `/health`.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Waits for SIGTERM or Ctrl-C.
    ///
    /// # Errors
    /// 58030 when signals cannot be waited for.
    pub fn wait_for_signal(&self) -> Result<()> {
        let wait = async {
            let mut term =
                tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
            tokio::select! {
                _ = term.recv() => Ok(()),
                interrupt = tokio::signal::ctrl_c() => interrupt,
            }
        };
        self.tasks.runtime().block_on(wait).map_err(|error| io_error("signals", error))
    }

    /// Ends: waits for messages end, no more calls begin, those under way have 10 seconds.
    pub fn stop(self) {
        let Self { tasks, grpc, .. } = self;
        grpc.stop();
        tasks.stop(STOP_LIMIT).shutdown_timeout(Duration::from_secs(1));
    }

    fn bind(&self, address: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
        let bound = self.tasks.runtime().block_on(async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            std::io::Result::Ok((listener, address))
        });
        bound.map_err(|error| io_error(&format!("cannot listen on {address}"), error))
    }

    fn serve_metrics(&mut self, listener: TcpListener, service: Arc<Service>) {
        let serve = axum::serve(listener, http::router(service));
        let serve = serve.with_graceful_shutdown(self.tasks.stopped());
        self.tasks.spawn(async move {
            if let Err(error) = serve.await {
                eprintln!("tessera: /metrics and /health ended: {error}");
            }
        });
    }

    /// Lets connections in, as many as may be there at a time, once they say something.
    fn accept(
        &mut self,
        listener: TcpListener,
        connections: Arc<Semaphore>,
        service: &Arc<Service>,
    ) -> mpsc::Receiver<std::io::Result<Connection>> {
        let (accepted, next) = mpsc::channel(1);
        let (stopped, service) = (self.tasks.stopped(), Arc::clone(service));
        let accept = async move {
            while let Ok(permit) = Arc::clone(&connections).acquire_owned().await {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        service.metrics.connections.fetch_add(1, Ordering::Relaxed);
                        let connection = Connection::new(stream, permit.into());
                        tokio::spawn(let_in(connection, accepted.clone()));
                    }
                    Err(error) => {
                        eprintln!("tessera: a connection cannot be accepted: {error}");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        };
        self.tasks.spawn(async move {
            tokio::select! { () = accept => {}, () = stopped => {} }
        });
        next
    }

    fn serve(
        &mut self,
        accepted: mpsc::Receiver<std::io::Result<Connection>>,
        door: Door,
        tls: Option<ServerTlsConfig>,
    ) -> Result<()> {
        let limits = *self.grpc.limits();
        let bus = proto::bus_server::BusServer::new(self.grpc.clone())
            .max_decoding_message_size(limits.message_bytes);
        let (reporter, health) = tonic_health::server::health_reporter();
        // Tools ask for one or the other.
        let reflection = reflection_builder().build_v1().map_err(internal)?;
        let reflection_before = reflection_builder().build_v1alpha().map_err(internal)?;
        let mut builder = listening(tls, WINDOW_BYTES)?.max_concurrent_streams(limits.streams);
        let router = builder
            .add_service(InterceptedService::new(bus, door))
            .add_service(health)
            .add_service(reflection)
            .add_service(reflection_before);
        let stopped = self.tasks.stopped();
        self.tasks.spawn(async move {
            reporter.set_serving::<proto::bus_server::BusServer<Grpc>>().await;
            let incoming = ReceiverStream::new(accepted);
            if let Err(error) = router.serve_with_incoming_shutdown(incoming, stopped).await {
                eprintln!("tessera: the bus is not served any more: {error}");
            }
        });
        Ok(())
    }
}

/// Hands a connection over when its client begins to speak, as all protocols here want it to; one
/// that says nothing for long is closed.
async fn let_in(connection: Connection, accepted: mpsc::Sender<std::io::Result<Connection>>) {
    let spoken = tokio::time::timeout(SILENCE_LIMIT, connection.readable()).await;
    if matches!(spoken, Ok(Ok(()))) {
        // Nobody takes it any more when the server stops.
        let _ = accepted.send(Ok(connection)).await;
    }
}

fn reflection_builder() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTOR)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

fn internal(error: impl fmt::Display) -> Error {
    Error::internal(error.to_string())
}
