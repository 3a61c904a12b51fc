//! Calls and replies as messages of the protocol.
//!
//! Invariant: bytes from outside become a call or [`Failure::Malformed`], and never a panic.

use std::sync::Arc;
use std::time::Duration;

use bus::{
    Cancellable, ClientId, ClientInfo, Copies, Deadline, Delivery, Message, MessageId, MessageType,
    Priority, QueueKey, Receipt, Sent, Spare, Time, Token, Wait,
};
use prost::bytes::Bytes;
use types::codec::Input;

use crate::call::{Call, Failure, Receive, Retry, Send};
use crate::proto;

type Parsed<T> = Result<T, Failure>;

fn malformed(what: &str) -> Failure {
    Failure::Malformed(what.to_owned())
}

impl From<&Retry> for proto::Retry {
    fn from(retry: &Retry) -> Self {
        let Retry { caller, number, answered_below, run } = *retry;
        Self { caller, number, answered_below, run }
    }
}

impl From<&proto::Retry> for Retry {
    fn from(retry: &proto::Retry) -> Self {
        let proto::Retry { caller, number, answered_below, run } = *retry;
        Self { caller, number, answered_below, run }
    }
}

fn put_key(key: &QueueKey) -> proto::Key {
    proto::Key {
        priority: key.priority.0,
        deadline_us: (key.deadline != Time::NEVER).then_some(key.deadline.0),
        id: key.id.0,
    }
}

fn read_key(key: &proto::Key) -> QueueKey {
    QueueKey {
        priority: Priority(key.priority),
        deadline: key.deadline_us.map_or(Time::NEVER, Time),
        id: MessageId(key.id),
    }
}

fn put_token(token: &Token) -> Bytes {
    let mut bytes = Vec::new();
    token.write(&mut bytes);
    bytes.into()
}

fn read_token(bytes: &[u8]) -> Parsed<Token> {
    let mut input = Input::new(bytes);
    let token = Token::read(&mut input);
    let token = token.map_err(|error| malformed(&format!("a token: {}", error.expectation)))?;
    if input.is_empty() { Ok(token) } else { Err(malformed("a token with more behind it")) }
}

fn clients(ids: &[ClientId]) -> Vec<u64> {
    ids.iter().map(|id| id.0).collect()
}

/// A time in microseconds; the largest stands for all that are larger.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The request of a send.
pub(crate) fn put_send(send: &Send, retry: Option<&Retry>) -> proto::SendRequest {
    use proto::send_request::Deadline as Put;
    proto::SendRequest {
        sender: send.sender.0,
        message_type: send.message_type.0,
        any: send.named.is_none(),
        receivers: send.named.as_deref().map(clients).unwrap_or_default(),
        each: send.copies == Copies::Each,
        body: Bytes::from_owner(Arc::clone(&send.body)),
        priority: send.priority.0,
        deadline: match send.deadline {
            Deadline::Never => None,
            Deadline::After(time) => Some(Put::ExpiresAfterUs(micros(time))),
            Deadline::At(time) => Some(Put::ExpiresAtUs(time.0)),
        },
        cancellable: send.cancellable == Cancellable::Yes,
        retry: retry.map(Into::into),
    }
}

/// The call of a request to send.
pub(crate) fn read_send(request: &proto::SendRequest) -> Parsed<Call> {
    use proto::send_request::Deadline as Put;
    if request.any && !request.receivers.is_empty() {
        return Err(malformed("a message for any receiver, and for some"));
    }
    let named = || request.receivers.iter().copied().map(ClientId).collect();
    Ok(Call::Send(Send {
        sender: ClientId(request.sender),
        message_type: MessageType(request.message_type),
        named: (!request.any).then(named),
        body: Arc::from(&*request.body),
        copies: if request.each { Copies::Each } else { Copies::One },
        priority: Priority(request.priority),
        deadline: match request.deadline {
            None => Deadline::Never,
            Some(Put::ExpiresAfterUs(time)) => Deadline::After(Duration::from_micros(time)),
            Some(Put::ExpiresAtUs(time)) => Deadline::At(Time(time)),
        },
        cancellable: if request.cancellable { Cancellable::Yes } else { Cancellable::No },
    }))
}

/// The reply to a send.
pub(crate) fn put_sent(sent: &Sent) -> proto::SendReply {
    proto::SendReply {
        id: sent.id.0,
        sent_us: sent.sent.0,
        copies: sent.copies as u64,
        token: sent.token.as_ref().map(put_token),
    }
}

/// The message of a reply to a send.
pub(crate) fn read_sent(reply: &proto::SendReply) -> Parsed<Sent> {
    Ok(Sent {
        id: MessageId(reply.id),
        sent: Time(reply.sent_us),
        copies: reply.copies as usize,
        token: reply.token.as_deref().map(read_token).transpose()?,
    })
}

/// The request of a receive.
pub(crate) fn put_receive(receive: &Receive, retry: Option<&Retry>) -> proto::ReceiveRequest {
    proto::ReceiveRequest {
        client: receive.client.0,
        limit: (receive.limit != usize::MAX).then_some(receive.limit as u64),
        priority_min: (receive.priority_min.0 != i32::MIN).then_some(receive.priority_min.0),
        wait_us: if let Wait::AtMost(time) = receive.wait { micros(time) } else { 0 },
        wait_forever: receive.wait == Wait::Forever,
        delete: receive.receipt == Receipt::Delete,
        retry: retry.map(Into::into),
    }
}

/// The call of a request to receive.
pub(crate) fn read_receive(request: &proto::ReceiveRequest) -> Parsed<Call> {
    let wait = match (request.wait_forever, request.wait_us) {
        (_, 1..) if request.wait_forever => {
            return Err(malformed("a wait with an end, and without"));
        }
        (_, 0) if !request.wait_forever => Wait::No,
        (_, 0) => Wait::Forever,
        (_, time) => Wait::AtMost(Duration::from_micros(time)),
    };
    let limit =
        request.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(Call::Receive(Receive {
        client: ClientId(request.client),
        limit,
        priority_min: Priority(request.priority_min.unwrap_or(i32::MIN)),
        wait,
        receipt: if request.delete { Receipt::Delete } else { Receipt::Keep },
    }))
}

fn put_delivery(message: &Message) -> proto::Delivery {
    proto::Delivery {
        key: Some(put_key(&message.key)),
        sender: message.sender.0,
        sent_us: message.sent.0,
        message_type: message.message_type.0,
        body: Bytes::from_owner(Arc::clone(&message.body)),
        token: message.token().as_ref().map(put_token),
    }
}

/// A message of a reply to a receive.
pub(crate) fn read_delivery(message: &proto::Delivery) -> Parsed<Delivery> {
    let key = message.key.as_ref().ok_or_else(|| malformed("a message without a key"))?;
    let token = message.token.as_deref().map(read_token).transpose()?;
    Ok(Arc::new(Message {
        key: read_key(key),
        sender: ClientId(message.sender),
        sent: Time(message.sent_us),
        message_type: MessageType(message.message_type),
        body: Arc::from(&*message.body),
        receivers: token.map(|token| Arc::clone(token.receivers())),
    }))
}

/// The request of a delete.
pub(crate) fn put_delete(
    client: ClientId,
    keys: &[QueueKey],
    retry: Option<&Retry>,
) -> proto::DeleteRequest {
    proto::DeleteRequest {
        client: client.0,
        messages: keys.iter().map(put_key).collect(),
        retry: retry.map(Into::into),
    }
}

/// The call of a request to delete.
pub(crate) fn read_delete(request: &proto::DeleteRequest) -> Call {
    let keys = request.messages.iter().map(read_key).collect();
    Call::Delete(ClientId(request.client), keys)
}

/// The request of a cancel.
pub(crate) fn put_cancel(
    client: ClientId,
    tokens: &[Token],
    spare: Spare,
    retry: Option<&Retry>,
) -> proto::CancelRequest {
    proto::CancelRequest {
        client: client.0,
        tokens: tokens.iter().map(put_token).collect(),
        spare_caller: spare == Spare::Caller,
        retry: retry.map(Into::into),
    }
}

/// The call of a request to cancel.
pub(crate) fn read_cancel(request: &proto::CancelRequest) -> Parsed<Call> {
    let tokens = request.tokens.iter().map(|token| read_token(token)).collect::<Parsed<_>>()?;
    let spare = if request.spare_caller { Spare::Caller } else { Spare::Nobody };
    Ok(Call::Cancel(ClientId(request.client), tokens, spare))
}

fn put_info(info: &ClientInfo) -> proto::ClientInfo {
    let types = |types: &[MessageType]| types.iter().map(|message_type| message_type.0).collect();
    proto::ClientInfo {
        client: info.client.0,
        connected_us: info.connected.0,
        sends: types(&info.sends),
        receives: types(&info.receives),
        messages: info.messages as u64,
        body_bytes: info.body_bytes,
    }
}

/// A client of a reply that lists them.
pub(crate) fn read_info(info: &proto::ClientInfo) -> ClientInfo {
    let types = |types: &[u32]| types.iter().copied().map(MessageType).collect();
    ClientInfo {
        client: ClientId(info.client),
        connected: Time(info.connected_us),
        sends: types(&info.sends),
        receives: types(&info.receives),
        messages: info.messages as usize,
        body_bytes: info.body_bytes,
    }
}

/// Bytes that a piece of a reply has at least, but for the last.
const PIECE_BYTES: usize = 256 << 10;

/// Items of `from` for the next piece, of about [`PIECE_BYTES`].
fn take_piece<T>(from: &mut impl Iterator<Item = T>, bytes: impl Fn(&T) -> usize) -> Vec<T> {
    let (mut piece, mut sum) = (Vec::new(), 0);
    while sum < PIECE_BYTES
        && let Some(item) = from.next()
    {
        sum += bytes(&item);
        piece.push(item);
    }
    piece
}

/// Replies that hold `messages`, each made when it is asked for.
pub(crate) fn pieces(messages: Vec<Delivery>) -> impl Iterator<Item = proto::ReceiveReply> {
    let mut left = messages.into_iter();
    std::iter::from_fn(move || {
        let piece = take_piece(&mut left, |message| 64 + message.body.len());
        let messages = piece.iter().map(|message| put_delivery(message)).collect();
        (!piece.is_empty()).then_some(proto::ReceiveReply { messages })
    })
}

/// Replies that hold `clients`, each made when it is asked for.
pub(crate) fn client_pieces(clients: Vec<ClientInfo>) -> impl Iterator<Item = proto::ClientsReply> {
    let mut left = clients.into_iter();
    std::iter::from_fn(move || {
        let piece = take_piece(&mut left, |info| 64 + 5 * (info.sends.len() + info.receives.len()));
        let clients = piece.iter().map(put_info).collect();
        (!piece.is_empty()).then_some(proto::ClientsReply { clients })
    })
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use testkit::Random;

    use super::*;

    fn key(deadline: Time) -> QueueKey {
        QueueKey { priority: Priority(-3), deadline, id: MessageId(u64::MAX) }
    }

    fn token() -> Token {
        let message = Message {
            key: key(Time(5)),
            sender: ClientId(1),
            sent: Time(-2),
            message_type: MessageType(3),
            body: Arc::from(&b"body"[..]),
            receivers: Some(Arc::from([ClientId(4), ClientId(u64::MAX)])),
        };
        message.token().expect("has receivers")
    }

    fn sends() -> Vec<Send> {
        let plain = Send {
            sender: ClientId(1),
            message_type: MessageType(u32::MAX),
            named: None,
            body: Arc::from(&b""[..]),
            copies: Copies::One,
            priority: Priority(i32::MIN),
            deadline: Deadline::Never,
            cancellable: Cancellable::No,
        };
        let rich = Send {
            named: Some(vec![ClientId(2), ClientId(2)]),
            body: Arc::from(&b"\0\xff"[..]),
            copies: Copies::Each,
            deadline: Deadline::At(Time(i64::MIN)),
            cancellable: Cancellable::Yes,
            ..plain.clone()
        };
        let nobody = Send { named: Some(Vec::new()), ..plain.clone() };
        let after = Deadline::After(Duration::from_micros(7));
        vec![plain, Send { deadline: after, ..rich.clone() }, rich, nobody]
    }

    #[test]
    fn calls_survive_the_network() {
        let retry = Retry { caller: 1, number: 2, answered_below: 3, run: u64::MAX };
        for send in sends() {
            let put = put_send(&send, Some(&retry));
            let put = proto::SendRequest::decode(&*put.encode_to_vec()).expect("decodes");
            assert_eq!(read_send(&put), Ok(Call::Send(send)));
            assert_eq!(put.retry.as_ref().map(Retry::from), Some(retry));
        }
        for wait in [Wait::No, Wait::AtMost(Duration::from_micros(3)), Wait::Forever] {
            for (limit, receipt) in [(usize::MAX, Receipt::Keep), (0, Receipt::Delete)] {
                let (client, priority_min) = (ClientId(9), Priority(limit as i32));
                let receive = Receive { client, limit, priority_min, wait, receipt };
                let put = put_receive(&receive, None);
                assert_eq!(read_receive(&put), Ok(Call::Receive(receive)));
            }
        }
        let keys = vec![key(Time(0)), key(Time::NEVER)];
        let put = put_delete(ClientId(5), &keys, None);
        assert_eq!(read_delete(&put), Call::Delete(ClientId(5), keys));
        let put = put_cancel(ClientId(5), &[token()], Spare::Caller, None);
        let cancel = Call::Cancel(ClientId(5), vec![token()], Spare::Caller);
        assert_eq!(read_cancel(&put), Ok(cancel));
    }

    #[test]
    fn what_makes_no_sense_is_malformed() {
        let both = proto::SendRequest { any: true, receivers: vec![1], ..Default::default() };
        assert!(matches!(read_send(&both), Err(Failure::Malformed(_))));
        let both = proto::ReceiveRequest { wait_us: 1, wait_forever: true, ..Default::default() };
        assert!(matches!(read_receive(&both), Err(Failure::Malformed(_))));
        let mut random = Random::new(1);
        let good = put_token(&token());
        for _ in 0..2000 {
            let mut bytes = good.to_vec();
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
            // Anything but a panic.
            let _ = read_token(&bytes);
        }
        let more = [&good[..], b"x"].concat();
        assert!(matches!(read_token(&more), Err(Failure::Malformed(_))));
    }

    #[test]
    fn pieces_hold_all_messages_in_order() {
        let message = |id| {
            Arc::new(Message {
                key: QueueKey { id: MessageId(id), ..key(Time::NEVER) },
                sender: ClientId(1),
                sent: Time(2),
                message_type: MessageType(3),
                body: vec![id as u8; 100_000].into(),
                receivers: id.is_multiple_of(2).then(|| Arc::from([ClientId(id)])),
            })
        };
        let messages: Vec<Delivery> = (0..10).map(message).collect();
        let pieces: Vec<_> = pieces(messages.clone()).collect();
        assert_eq!(
            pieces.iter().map(|piece| piece.messages.len()).collect::<Vec<_>>(),
            [3, 3, 3, 1]
        );
        let all = pieces.iter().flat_map(|piece| &piece.messages);
        let read: Vec<Delivery> =
            all.map(|message| read_delivery(message).expect("reads")).collect();
        assert_eq!(read, messages);
    }
}
