//! A bus that is behind a server, as a bus.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bus::{
    Attached, Bus, BusError, ClientId, ClientInfo, Delivery, Interrupt, MessageType, QueueKey,
    ReceiveOptions, Ring, SendOptions, Sent, Spare, Token, Wait,
};
use host::{Io, RealIo};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use types::{Error, SqlState};

use crate::call::{Call, Failure, Receive, Reply, Retry, Send};
use crate::codec;
use crate::exchange::{Exchange, Next, Numbers};
use crate::proto;
use crate::proto::bus_client::BusClient;
use crate::status::failure_of;

const PAUSE_FIRST: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// How long a run is taken for known without a word of the server. A server that starts again in
/// less is noticed by the calls that it breaks off.
const RUN_LIFE: Duration = Duration::from_secs(1);

/// How a server is reached.
#[derive(Clone)]
pub struct RemoteOptions {
    /// Its address: `http://HOST:PORT`, or `https://HOST:PORT` for TLS.
    pub address: String,
    /// The token that it wants.
    pub token: Option<String>,
    /// A PEM file with the certificate that its own is signed by, or its own.
    pub authority: Option<PathBuf>,
    /// How long a call is tried again while the server is not reached. At most 5 minutes: the
    /// server forgets calls after 10.
    pub patience: Duration,
    /// How long an answer may take, beside waits for messages.
    pub answer_limit: Duration,
}

impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, authority, patience, answer_limit, token: _ } = self;
        f.debug_struct("RemoteOptions")
            .field("address", address)
            .field("authority", authority)
            .field("patience", patience)
            .field("answer_limit", answer_limit)
            .finish_non_exhaustive()
    }
}

impl RemoteOptions {
    /// A server without token, for which calls have 5 s of patience and 30 s for an answer.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            token: None,
            authority: None,
            patience: Duration::from_secs(5),
            answer_limit: Duration::from_secs(30),
        }
    }
}

/// A bus behind a server. Connects when it is needed, and again when the server was away: calls
/// are repeated then, each done once, until patience ends in [`BusError::Network`]. So is a call
/// that was sent before the server was started again, and not answered.
///
/// Refusals of the server that a bus has not are [`BusError::Storage`]: 54000 above a limit, 28000
/// without the right token, 08P01 for a call that it does not understand.
///
/// # Panics
/// Calls panic on threads of an async runtime.
pub struct Remote {
    runtime: Runtime,
    client: BusClient<Channel>,
    token: Option<MetadataValue<Ascii>>,
    numbers: Arc<Numbers>,
    /// The run of the server, if it is known, and when it was last heard of.
    run: Mutex<Option<(u64, Instant)>>,
    options: RemoteOptions,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Wakes a call whose interrupt is triggered.
#[derive(Default)]
struct Notice(Notify);

impl Ring for Notice {
    fn ring(&self) {
        self.0.notify_one();
    }
}

fn config_error(what: &str, error: impl fmt::Display) -> Error {
    Error::new(SqlState::CONFIG_FILE_ERROR, format!("{what}: {error}"))
}

impl Remote {
    /// A bus at an address, where no server needs to be yet.
    ///
    /// # Errors
    /// F0000 for an address, token or certificate that cannot be one; 58030 without threads.
    pub fn new(options: RemoteOptions) -> types::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("bus-client")
            .enable_all()
            .build()
            .map_err(|error| Error::new(SqlState::IO_ERROR, format!("threads: {error}")))?;
        let endpoint = endpoint_of(&options)?;
        let channel = {
            let _entered = runtime.enter();
            endpoint.connect_lazy()
        };
        let token = options.token.as_ref().map(|token| format!("Bearer {token}").parse());
        let token = token.transpose().map_err(|error| config_error("token", error))?;
        Ok(Self {
            runtime,
            client: BusClient::new(channel).max_decoding_message_size(usize::MAX),
            token,
            numbers: Numbers::new(RealIo.entropy()),
            run: Mutex::new(None),
            options,
        })
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }

    /// The run of the server, asked for if it was not heard of lately: it may be another by now.
    async fn run(&self) -> Result<u64, Failure> {
        let known = *self.run.lock();
        if let Some((run, heard)) = known
            && heard.elapsed() < RUN_LIFE
        {
            return Ok(run);
        }
        let describe = self.request(proto::DescribeRequest {});
        let mut client = self.client.clone();
        let asked = client.describe(describe);
        let reply = tokio::time::timeout(self.options.answer_limit, asked).await;
        let reply = reply.map_err(|_| Failure::Unreached("no answer".to_owned()))?;
        let run = reply.map_err(|status| failure_of(&status))?.into_inner().run;
        *self.run.lock() = Some((run, Instant::now()));
        Ok(run)
    }

    /// Notes that the server of the known run answered, or that it may be gone.
    fn note(&self, heard: &Result<Reply, Failure>) {
        let mut run = self.run.lock();
        match heard {
            Err(Failure::Lost(_) | Failure::Unreached(_) | Failure::OtherRun) => *run = None,
            _ => *run = run.map(|(run, _)| (run, Instant::now())),
        }
    }

    fn call(&self, call: Call, interrupt: Option<&Interrupt>) -> bus::Result<Reply> {
        let mut exchange = Exchange::new(&call, &self.numbers);
        let Some(interrupt) = interrupt.filter(|_| call.waits()) else {
            return self.runtime.block_on(self.pursue(&mut exchange, &call));
        };
        let notice = Arc::new(Notice::default());
        let listener: Weak<dyn Ring> = Arc::<Notice>::downgrade(&notice);
        let _attached = Attached::new(interrupt, listener);
        if interrupt.is_triggered() {
            notice.ring();
        }
        self.runtime.block_on(async {
            tokio::select! {
                outcome = self.pursue(&mut exchange, &call) => return outcome,
                () = notice.0.notified() => {}
            }
            // The same call again: if it took messages before it was interrupted, here they are.
            match self.pursue(&mut exchange, &call.without_wait()).await {
                Ok(Reply::Messages(messages)) if messages.is_empty() => Err(BusError::Interrupted),
                outcome => outcome,
            }
        })
    }

    /// Sends a call until there is an outcome, or patience ends.
    async fn pursue(&self, exchange: &mut Exchange, call: &Call) -> bus::Result<Reply> {
        let begin = Instant::now();
        let (mut failing_since, mut pause) = (None, PAUSE_FIRST);
        loop {
            let attempt = Instant::now();
            let heard = self.attempt(exchange, call, begin).await;
            self.note(&heard);
            let reason = heard.as_ref().err().map(Failure::to_string).unwrap_or_default();
            match exchange.heard(heard) {
                Next::Done(outcome) => return outcome,
                Next::Again => {
                    // A wait that went well for long is no failure to be counted.
                    if call.waits() && attempt.elapsed() > self.options.patience {
                        (failing_since, pause) = (None, PAUSE_FIRST);
                    }
                    let since = *failing_since.get_or_insert(attempt);
                    if since.elapsed() + pause > self.options.patience {
                        return Err(BusError::Network(reason));
                    }
                    tokio::time::sleep(pause).await;
                    pause = (2 * pause).min(PAUSE_MAX);
                }
            }
        }
    }

    async fn attempt(
        &self,
        exchange: &mut Exchange,
        call: &Call,
        begin: Instant,
    ) -> Result<Reply, Failure> {
        let run = if exchange.needs_run() {
            // Without it the call is not sent.
            self.run().await.map_err(|failure| match failure {
                Failure::Lost(why) => Failure::Unreached(why),
                other => other,
            })?
        } else {
            0
        };
        let retry = exchange.retry(run);
        let sent = self.transmit(call, retry.as_ref(), begin);
        let limit = match call.wait() {
            Wait::Forever => return sent.await,
            Wait::AtMost(time) => self.options.answer_limit.saturating_add(time),
            Wait::No => self.options.answer_limit,
        };
        let late = || Failure::Lost(format!("no answer within {limit:?}"));
        tokio::time::timeout(limit, sent).await.unwrap_or_else(|_| Err(late()))
    }

    /// Sends a call once. A wait began at `begin`, and ends as long after that as it says.
    async fn transmit(
        &self,
        call: &Call,
        retry: Option<&Retry>,
        begin: Instant,
    ) -> Result<Reply, Failure> {
        let outcome = match call {
            Call::Send(send) => return self.send_once(send, retry).await,
            Call::Receive(receive) => return self.receive_once(receive, retry, begin).await,
            Call::Connect => self.connect_once(retry).await,
            Call::Disconnect(client) => self.disconnect_once(*client, false, retry).await,
            Call::DisconnectIfEmpty(client) => self.disconnect_once(*client, true, retry).await,
            Call::RegisterSender(client, message_type) => {
                let register = self.register(*client, *message_type);
                self.client.clone().register_sender(register).await.map(|_| Reply::Done)
            }
            Call::RegisterReceiver(client, message_type) => {
                let register = self.register(*client, *message_type);
                self.client.clone().register_receiver(register).await.map(|_| Reply::Done)
            }
            Call::Delete(client, keys) => {
                let request = self.request(codec::put_delete(*client, keys, retry));
                let reply = self.client.clone().delete(request).await;
                reply.map(|reply| Reply::Count(reply.into_inner().count as usize))
            }
            Call::Cancel(client, tokens, spare) => {
                let request = self.request(codec::put_cancel(*client, tokens, *spare, retry));
                let reply = self.client.clone().cancel(request).await;
                reply.map(|reply| Reply::Count(reply.into_inner().count as usize))
            }
            Call::Clients => self.clients_once().await,
        };
        outcome.map_err(|status| failure_of(&status))
    }

    fn register(
        &self,
        client: ClientId,
        message_type: MessageType,
    ) -> Request<proto::RegisterRequest> {
        let (client, message_type) = (client.0, message_type.0);
        self.request(proto::RegisterRequest { client, message_type })
    }

    async fn connect_once(&self, retry: Option<&Retry>) -> Result<Reply, Status> {
        let request = self.request(proto::ConnectRequest { retry: retry.map(Into::into) });
        let reply = self.client.clone().connect(request).await?;
        Ok(Reply::Client(ClientId(reply.into_inner().client)))
    }

    async fn disconnect_once(
        &self,
        client: ClientId,
        if_empty: bool,
        retry: Option<&Retry>,
    ) -> Result<Reply, Status> {
        let (client, retry) = (client.0, retry.map(Into::into));
        let request = self.request(proto::DisconnectRequest { client, if_empty, retry });
        self.client.clone().disconnect(request).await.map(|_| Reply::Done)
    }

    async fn send_once(&self, send: &Send, retry: Option<&Retry>) -> Result<Reply, Failure> {
        let request = self.request(codec::put_send(send, retry));
        let reply = self.client.clone().send(request).await;
        let reply = reply.map_err(|status| failure_of(&status))?;
        Ok(Reply::Sent(codec::read_sent(reply.get_ref())?))
    }

    async fn receive_once(
        &self,
        receive: &Receive,
        retry: Option<&Retry>,
        begin: Instant,
    ) -> Result<Reply, Failure> {
        let mut receive = receive.clone();
        if let Wait::AtMost(time) = &mut receive.wait {
            // Not 0, which would be no wait: no message in time is an error then, too.
            *time = time.saturating_sub(begin.elapsed()).max(Duration::from_micros(1));
        }
        let request = self.request(codec::put_receive(&receive, retry));
        let reply = self.client.clone().receive(request).await;
        let mut pieces = reply.map_err(|status| failure_of(&status))?.into_inner();
        let mut messages = Vec::new();
        while let Some(piece) = pieces.message().await.map_err(|status| failure_of(&status))? {
            for message in &piece.messages {
                messages.push(codec::read_delivery(message)?);
            }
        }
        Ok(Reply::Messages(messages))
    }

    async fn clients_once(&self) -> Result<Reply, Status> {
        let request = self.request(proto::ClientsRequest {});
        let mut pieces = self.client.clone().clients(request).await?.into_inner();
        let mut clients = Vec::new();
        while let Some(piece) = pieces.message().await? {
            clients.extend(piece.clients.iter().map(codec::read_info));
        }
        Ok(Reply::Clients(clients))
    }
}

fn endpoint_of(options: &RemoteOptions) -> types::Result<Endpoint> {
    let address = &options.address;
    let endpoint = Endpoint::from_shared(address.clone());
    let endpoint = endpoint.map_err(|error| config_error(address, error))?;
    let mut endpoint = endpoint
        .connect_timeout(Duration::from_secs(2))
        .tcp_nodelay(true)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(8 << 20)
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true);
    if let Some(path) = &options.authority {
        let place = || path.display().to_string();
        let pem = std::fs::read(path).map_err(|error| config_error(&place(), error))?;
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
        endpoint = endpoint.tls_config(tls).map_err(|error| config_error(&place(), error))?;
    }
    Ok(endpoint)
}

fn unexpected<T>(reply: &Reply) -> bus::Result<T> {
    Err(Error::internal(format!("a reply of another call: {reply:?}")).into())
}

impl Bus for Remote {
    fn connect(&self) -> bus::Result<ClientId> {
        match self.call(Call::Connect, None)? {
            Reply::Client(client) => Ok(client),
            other => unexpected(&other),
        }
    }

    fn disconnect(&self, client: ClientId) -> bus::Result<()> {
        self.call(Call::Disconnect(client), None).map(drop)
    }

    fn disconnect_if_empty(&self, client: ClientId) -> bus::Result<()> {
        self.call(Call::DisconnectIfEmpty(client), None).map(drop)
    }

    fn register_sender(&self, client: ClientId, message_type: MessageType) -> bus::Result<()> {
        self.call(Call::RegisterSender(client, message_type), None).map(drop)
    }

    fn register_receiver(&self, client: ClientId, message_type: MessageType) -> bus::Result<()> {
        self.call(Call::RegisterReceiver(client, message_type), None).map(drop)
    }

    fn send(&self, options: &SendOptions<'_>) -> bus::Result<Sent> {
        match self.call(Call::Send(Send::of(options)), None)? {
            Reply::Sent(sent) => Ok(sent),
            other => unexpected(&other),
        }
    }

    fn receive(&self, options: &ReceiveOptions<'_>) -> bus::Result<Vec<Delivery>> {
        match self.call(Call::Receive(Receive::of(options)), options.interrupt)? {
            Reply::Messages(messages) => Ok(messages),
            other => unexpected(&other),
        }
    }

    fn delete(&self, client: ClientId, messages: &[QueueKey]) -> bus::Result<usize> {
        match self.call(Call::Delete(client, messages.to_vec()), None)? {
            Reply::Count(count) => Ok(count),
            other => unexpected(&other),
        }
    }

    fn cancel(&self, client: ClientId, tokens: &[Token], spare: Spare) -> bus::Result<usize> {
        match self.call(Call::Cancel(client, tokens.to_vec(), spare), None)? {
            Reply::Count(count) => Ok(count),
            other => unexpected(&other),
        }
    }

    fn clients(&self) -> bus::Result<Vec<ClientInfo>> {
        match self.call(Call::Clients, None)? {
            Reply::Clients(clients) => Ok(clients),
            other => unexpected(&other),
        }
    }
}
