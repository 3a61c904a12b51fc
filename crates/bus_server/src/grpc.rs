//! The service of the protocol: requests become calls, which run on threads of their own.
//!
//! Invariant: a call whose client went away stops waiting; calls that wait never keep others from
//! running.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bus::{BusError, ClientId, Interrupt, MessageType};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::{Stream, iter};
use tonic::{Request, Response, Status};

use crate::call::{Call, Failure, Reply, Retry};
use crate::codec;
use crate::limits::Limits;
use crate::proto;
use crate::service::Service;
use crate::status::status_of;

type Pieces<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Calls that run, and whether more may begin.
#[derive(Debug, Default)]
struct Running {
    last: u64,
    interrupts: HashMap<u64, Interrupt>,
    is_stopping: bool,
}

/// A service as gRPC calls it. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Grpc {
    service: Arc<Service>,
    calls: Arc<Semaphore>,
    waits: Arc<Semaphore>,
    running: Arc<Mutex<Running>>,
}

/// A call that runs. Dropped when it ends or when its client goes away; then its wait ends.
struct Guard {
    grpc: Grpc,
    number: u64,
    interrupt: Interrupt,
    waits: bool,
}

impl Guard {
    fn new(grpc: &Grpc, waits: bool) -> Result<Self, Failure> {
        let interrupt = Interrupt::default();
        let mut running = grpc.running.lock();
        if running.is_stopping {
            return Err(stopping());
        }
        running.last += 1;
        let number = running.last;
        running.interrupts.insert(number, interrupt.clone());
        drop(running);
        if waits {
            grpc.service.metrics.waiting.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Self { grpc: grpc.clone(), number, interrupt, waits })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.grpc.running.lock().interrupts.remove(&self.number);
        self.interrupt.trigger();
        if self.waits {
            self.grpc.service.metrics.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn stopping() -> Failure {
    Failure::Unreached("the server stops".to_owned())
}

fn unexpected(reply: &Reply) -> Status {
    Status::internal(format!("a reply of another call: {reply:?}"))
}

impl Grpc {
    pub(crate) fn new(service: Arc<Service>) -> Self {
        let limits = service.limits();
        let calls = Arc::new(Semaphore::new(limits.calls));
        let waits = Arc::new(Semaphore::new(limits.waits));
        Self { service, calls, waits, running: Arc::default() }
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.service.limits()
    }

    /// Ends waits, and begins no more calls.
    pub(crate) fn stop(&self) {
        let mut running = self.running.lock();
        running.is_stopping = true;
        let interrupts: Vec<Interrupt> = running.interrupts.values().cloned().collect();
        drop(running);
        interrupts.iter().for_each(Interrupt::trigger);
    }

    async fn permit(&self, waits: bool) -> Result<OwnedSemaphorePermit, Failure> {
        if waits {
            let permit = Arc::clone(&self.waits).try_acquire_owned();
            return permit.map_err(|_| Failure::Busy("too many receives wait"));
        }
        Arc::clone(&self.calls).acquire_owned().await.map_err(|_| stopping())
    }

    async fn run(&self, call: Call, retry: Option<&proto::Retry>) -> Result<Reply, Status> {
        self.perform(call, retry.map(Retry::from)).await.map_err(|failure| status_of(&failure))
    }

    async fn perform(&self, call: Call, retry: Option<Retry>) -> Result<Reply, Failure> {
        let waits = call.waits();
        let permit = self.permit(waits).await?;
        let guard = Guard::new(self, waits)?;
        let (service, interrupt) = (Arc::clone(&self.service), guard.interrupt.clone());
        let work = move || {
            let _permit = permit;
            service.call(call, retry.as_ref(), Some(&interrupt))
        };
        let outcome = tokio::task::spawn_blocking(work).await;
        let outcome = outcome.unwrap_or_else(|error| {
            let error = types::Error::internal(format!("a call of the bus failed: {error}"));
            Err(BusError::Storage(error).into())
        });
        if outcome == Err(BusError::Interrupted.into()) && self.running.lock().is_stopping {
            return Err(stopping());
        }
        outcome
    }
}

#[tonic::async_trait]
impl proto::bus_server::Bus for Grpc {
    async fn describe(
        &self,
        _: Request<proto::DescribeRequest>,
    ) -> Result<Response<proto::DescribeReply>, Status> {
        let limits = self.service.limits();
        Ok(Response::new(proto::DescribeReply {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run: self.service.run(),
            message_bytes_max: limits.message_bytes as u64,
            batch_max: limits.batch as u64,
        }))
    }

    async fn connect(
        &self,
        request: Request<proto::ConnectRequest>,
    ) -> Result<Response<proto::ConnectReply>, Status> {
        match self.run(Call::Connect, request.into_inner().retry.as_ref()).await? {
            Reply::Client(client) => Ok(Response::new(proto::ConnectReply { client: client.0 })),
            other => Err(unexpected(&other)),
        }
    }

    async fn disconnect(
        &self,
        request: Request<proto::DisconnectRequest>,
    ) -> Result<Response<proto::DisconnectReply>, Status> {
        let request = request.into_inner();
        let client = ClientId(request.client);
        let call = if request.if_empty {
            Call::DisconnectIfEmpty(client)
        } else {
            Call::Disconnect(client)
        };
        self.run(call, request.retry.as_ref()).await?;
        Ok(Response::new(proto::DisconnectReply {}))
    }

    async fn register_sender(
        &self,
        request: Request<proto::RegisterRequest>,
    ) -> Result<Response<proto::RegisterReply>, Status> {
        let proto::RegisterRequest { client, message_type } = request.into_inner();
        let call = Call::RegisterSender(ClientId(client), MessageType(message_type));
        self.run(call, None).await?;
        Ok(Response::new(proto::RegisterReply {}))
    }

    async fn register_receiver(
        &self,
        request: Request<proto::RegisterRequest>,
    ) -> Result<Response<proto::RegisterReply>, Status> {
        let proto::RegisterRequest { client, message_type } = request.into_inner();
        let call = Call::RegisterReceiver(ClientId(client), MessageType(message_type));
        self.run(call, None).await?;
        Ok(Response::new(proto::RegisterReply {}))
    }

    async fn send(
        &self,
        request: Request<proto::SendRequest>,
    ) -> Result<Response<proto::SendReply>, Status> {
        let request = request.into_inner();
        let call = codec::read_send(&request).map_err(|failure| status_of(&failure))?;
        match self.run(call, request.retry.as_ref()).await? {
            Reply::Sent(sent) => Ok(Response::new(codec::put_sent(&sent))),
            other => Err(unexpected(&other)),
        }
    }

    type ReceiveStream = Pieces<proto::ReceiveReply>;

    async fn receive(
        &self,
        request: Request<proto::ReceiveRequest>,
    ) -> Result<Response<Self::ReceiveStream>, Status> {
        let request = request.into_inner();
        let call = codec::read_receive(&request).map_err(|failure| status_of(&failure))?;
        match self.run(call, request.retry.as_ref()).await? {
            Reply::Messages(messages) => {
                Ok(Response::new(Box::pin(iter(codec::pieces(messages).map(Ok)))))
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn delete(
        &self,
        request: Request<proto::DeleteRequest>,
    ) -> Result<Response<proto::DeleteReply>, Status> {
        let request = request.into_inner();
        match self.run(codec::read_delete(&request), request.retry.as_ref()).await? {
            Reply::Count(count) => Ok(Response::new(proto::DeleteReply { count: count as u64 })),
            other => Err(unexpected(&other)),
        }
    }

    async fn cancel(
        &self,
        request: Request<proto::CancelRequest>,
    ) -> Result<Response<proto::CancelReply>, Status> {
        let request = request.into_inner();
        let call = codec::read_cancel(&request).map_err(|failure| status_of(&failure))?;
        match self.run(call, request.retry.as_ref()).await? {
            Reply::Count(count) => Ok(Response::new(proto::CancelReply { count: count as u64 })),
            other => Err(unexpected(&other)),
        }
    }

    type ClientsStream = Pieces<proto::ClientsReply>;

    async fn clients(
        &self,
        _: Request<proto::ClientsRequest>,
    ) -> Result<Response<Self::ClientsStream>, Status> {
        match self.run(Call::Clients, None).await? {
            Reply::Clients(clients) => {
                Ok(Response::new(Box::pin(iter(codec::client_pieces(clients).map(Ok)))))
            }
            other => Err(unexpected(&other)),
        }
    }
}
