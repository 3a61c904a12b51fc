//! The calls of Arrow Flight, and which command each of them means.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::metadata::GetCatalogsBuilder;
use arrow_flight::sql::{Any, Command, DoPutUpdateResult, ProstMessageExt, TicketStatementQuery};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use engine::Session;
use prost::Message;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status, Streaming};
use types::{Error, Result};

use crate::asked::Asked;
use crate::connection::line_of;
use crate::door::Caller;
use crate::flights::{Flights, refused};
use crate::lists;
use crate::parameters::Sent;
use crate::parts::PartTicket;
use crate::statements::{info_of, schema_result};
use crate::status::{status_of, unreadable};
use crate::stream::{self, Messages, messages, one};

/// Actions that there are, with what they do.
const ACTIONS: [(&str, &str); 8] = [
    ("CancelFlightInfo", "Lets go of the snapshot of a scan."),
    ("RenewFlightEndpoint", "Holds the snapshot of a scan for longer."),
    ("CreatePreparedStatement", "Prepares a statement."),
    ("ClosePreparedStatement", "Forgets a prepared statement."),
    ("BeginTransaction", "Begins a transaction."),
    ("EndTransaction", "Commits a transaction or rolls it back."),
    ("BeginSavepoint", "Sets a savepoint in a transaction."),
    ("EndSavepoint", "Releases a savepoint or goes back to it."),
];

/// The calls of one server.
pub(crate) struct Service(pub(crate) Arc<Flights>);

fn command_of(bytes: &[u8]) -> Result<Command> {
    let any = Any::decode(bytes).map_err(unreadable)?;
    Command::try_from(any).map_err(unreadable)
}

fn unpacked<M: ProstMessageExt>(body: &[u8]) -> Result<M> {
    let any = Any::decode(body).map_err(unreadable)?;
    let message = any.unpack().map_err(unreadable)?;
    message.ok_or_else(|| unreadable(format!("{} instead of {}", any.type_url, M::type_url())))
}

fn refused_command(command: &Command) -> Error {
    let name = command.type_url().rsplit(['.', '/']).next().unwrap_or_default();
    refused(name)
}

/// Columns of the list that `command` asks for; None for what is no list.
fn list_schema(command: &Command) -> Option<SchemaRef> {
    Some(match command {
        Command::CommandGetCatalogs(_) => GetCatalogsBuilder::new().schema(),
        Command::CommandGetDbSchemas(asked) => asked.clone().into_builder().schema(),
        Command::CommandGetTables(asked) => asked.clone().into_builder().schema(),
        Command::CommandGetTableTypes(_) => lists::table_types_schema(),
        Command::CommandGetSqlInfo(_) => lists::sql_info_schema(),
        Command::CommandGetPrimaryKeys(_) => lists::primary_keys_schema(),
        _ => return None,
    })
}

/// The list that `command` asks for.
fn list(session: &mut Session, command: Command) -> Result<RecordBatch> {
    match command {
        Command::CommandGetCatalogs(asked) => lists::catalogs(session, asked),
        Command::CommandGetDbSchemas(asked) => lists::schemas(session, asked),
        Command::CommandGetTables(asked) => lists::tables(session, asked),
        Command::CommandGetTableTypes(asked) => lists::table_types(asked),
        Command::CommandGetSqlInfo(asked) => lists::sql_info(asked),
        Command::CommandGetPrimaryKeys(asked) => lists::primary_keys(session, &asked),
        other => Err(refused_command(&other)),
    }
}

impl Service {
    async fn info(&self, caller: &Caller, descriptor: FlightDescriptor) -> Result<FlightInfo> {
        if let Some(asked) = Asked::read(&descriptor)? {
            return self.0.scan(caller, descriptor, asked).await;
        }
        let command = command_of(&descriptor.cmd)?;
        if let Some(schema) = list_schema(&command) {
            let ticket = descriptor.cmd.clone();
            return info_of(descriptor, &schema, vec![ticket]);
        }
        match command {
            Command::CommandStatementQuery(asked) => self.0.query(caller, descriptor, asked).await,
            Command::CommandPreparedStatementQuery(asked) => {
                self.0.prepared_query(caller, descriptor, asked).await
            }
            other => Err(refused_command(&other)),
        }
    }

    async fn schema(&self, caller: &Caller, descriptor: FlightDescriptor) -> Result<SchemaResult> {
        if let Some(asked) = Asked::read(&descriptor)? {
            return self.0.scan_schema(caller, &asked).await;
        }
        let command = command_of(&descriptor.cmd)?;
        if let Some(schema) = list_schema(&command) {
            return schema_result(&schema);
        }
        match command {
            Command::CommandStatementQuery(asked) => self.0.query_schema(caller, asked).await,
            Command::CommandPreparedStatementQuery(asked) => self.0.prepared_schema(caller, &asked),
            other => Err(refused_command(&other)),
        }
    }

    async fn get(&self, caller: &Caller, ticket: Ticket) -> Result<Messages<FlightData>> {
        if let Some(part) = PartTicket::read(&ticket.ticket) {
            return self.0.part(caller, part).await;
        }
        let command = command_of(&ticket.ticket)?;
        if let Command::TicketStatementQuery(TicketStatementQuery { statement_handle }) = &command {
            return Ok(stream::rows(self.0.result(caller, statement_handle)?));
        }
        let list = self.0.alone(caller, move |session| list(session, command)).await?;
        Ok(one(list))
    }

    /// Takes what is put with the descriptor of `first`; the answer.
    async fn put(
        &self,
        caller: &Caller,
        first: FlightData,
        rest: Streaming<FlightData>,
    ) -> Result<Bytes> {
        let descriptor = first.flight_descriptor.as_ref();
        let descriptor = descriptor.ok_or_else(|| unreadable("no descriptor"))?;
        let command = command_of(&descriptor.cmd)?;
        let sent = Sent::new(first, rest);
        let record_count = match command {
            Command::CommandStatementUpdate(asked) => self.0.update(caller, asked).await?,
            Command::CommandPreparedStatementUpdate(asked) => {
                self.0.prepared_update(caller, asked, sent).await?
            }
            Command::CommandStatementIngest(asked) => self.0.ingest(caller, asked, sent).await?,
            Command::CommandPreparedStatementQuery(asked) => {
                return Ok(self.0.bind(caller, asked, sent).await?.encode_to_vec().into());
            }
            other => return Err(refused_command(&other)),
        };
        Ok(DoPutUpdateResult { record_count }.encode_to_vec().into())
    }

    /// Does what the action says; the answer, if it has one.
    async fn act(&self, caller: &Caller, request: Request<Action>) -> Result<Option<Bytes>> {
        let (line, action) = (line_of(&request), request.into_inner());
        let body = &action.body;
        let answer = match action.r#type.as_str() {
            "CreatePreparedStatement" => self.0.prepare(caller, unpacked(body)?).await?.as_any(),
            "ClosePreparedStatement" => {
                let asked: arrow_flight::sql::ActionClosePreparedStatementRequest = unpacked(body)?;
                self.0.close(caller, &asked.prepared_statement_handle);
                return Ok(None);
            }
            "BeginTransaction" => self.0.begin(caller, line).await?.as_any(),
            "EndTransaction" => {
                self.0.end(caller, &unpacked(body)?).await?;
                return Ok(None);
            }
            "BeginSavepoint" => self.0.save(caller, &unpacked(body)?).await?.as_any(),
            "EndSavepoint" => {
                self.0.end_savepoint(caller, &unpacked(body)?).await?;
                return Ok(None);
            }
            "RenewFlightEndpoint" => {
                let asked = Message::decode(body.clone()).map_err(unreadable)?;
                return Ok(Some(self.0.renew(caller, asked).await?.encode_to_vec().into()));
            }
            "CancelFlightInfo" => {
                let asked = Message::decode(body.clone()).map_err(unreadable)?;
                return Ok(Some(self.0.cancel(caller, asked).encode_to_vec().into()));
            }
            other => return Err(refused(&format!("the action \"{other}\""))),
        };
        Ok(Some(answer.encode_to_vec().into()))
    }

    async fn admit<T>(&self, request: &Request<T>) -> Result<Caller, Status> {
        self.0.door.admit(request.metadata()).await.map_err(|error| status_of(&error))
    }
}

fn answer<T>(outcome: Result<T>) -> Result<Response<T>, Status> {
    outcome.map(Response::new).map_err(|error| status_of(&error))
}

#[tonic::async_trait]
impl FlightService for Service {
    type HandshakeStream = Messages<HandshakeResponse>;
    type ListFlightsStream = Messages<FlightInfo>;
    type DoGetStream = Messages<FlightData>;
    type DoPutStream = Messages<PutResult>;
    type DoActionStream = Messages<arrow_flight::Result>;
    type ListActionsStream = Messages<ActionType>;
    type DoExchangeStream = Messages<FlightData>;

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        let caller = self.admit(&request).await?;
        let token = self.0.door.token_for(&caller).map_err(|error| status_of(&error))?;
        let payload = Bytes::from(token.clone());
        let first = HandshakeResponse { protocol_version: 0, payload };
        let mut response = Response::new(messages(vec![first]));
        if let Ok(value) = MetadataValue::try_from(format!("Bearer {token}")) {
            response.metadata_mut().insert("authorization", value);
        }
        Ok(response)
    }

    async fn list_flights(
        &self,
        request: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        let caller = self.admit(&request).await?;
        let flights = self.0.alone(&caller, lists::flights).await;
        let infos = flights.and_then(|flights| {
            let info = |lists::Table { path, columns }: lists::Table| {
                info_of(FlightDescriptor::new_path(path), &columns, Vec::new())
            };
            flights.into_iter().map(info).collect::<Result<Vec<_>>>()
        });
        answer(infos.map(messages))
    }

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let caller = self.admit(&request).await?;
        answer(self.info(&caller, request.into_inner()).await)
    }

    async fn poll_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        self.admit(&request).await?;
        Err(status_of(&refused("PollFlightInfo")))
    }

    async fn get_schema(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<SchemaResult>, Status> {
        let caller = self.admit(&request).await?;
        answer(self.schema(&caller, request.into_inner()).await)
    }

    async fn do_get(
        &self,
        request: Request<Ticket>,
    ) -> Result<Response<Self::DoGetStream>, Status> {
        let caller = self.admit(&request).await?;
        answer(self.get(&caller, request.into_inner()).await)
    }

    async fn do_put(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        let caller = self.admit(&request).await?;
        let mut sent = request.into_inner();
        let first = sent.message().await?;
        let first = first.ok_or_else(|| status_of(&unreadable("no message")))?;
        let app_metadata = self.put(&caller, first, sent).await;
        answer(app_metadata.map(|app_metadata| messages(vec![PutResult { app_metadata }])))
    }

    async fn do_exchange(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        self.admit(&request).await?;
        Err(status_of(&refused("DoExchange")))
    }

    async fn do_action(
        &self,
        request: Request<Action>,
    ) -> Result<Response<Self::DoActionStream>, Status> {
        let caller = self.admit(&request).await?;
        let body = self.act(&caller, request).await;
        answer(body.map(|body| {
            messages(body.into_iter().map(|body| arrow_flight::Result { body }).collect())
        }))
    }

    async fn list_actions(
        &self,
        request: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        self.admit(&request).await?;
        let action = |(name, what): (&str, &str)| ActionType {
            r#type: name.to_owned(),
            description: what.to_owned(),
        };
        Ok(Response::new(messages(ACTIONS.map(action).into())))
    }
}
