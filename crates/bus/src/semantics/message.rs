//! A message as queues hold it and receivers get it, and tokens that cancel it.

use std::sync::Arc;

use types::codec::{Input, Malformed, put_i64, put_u64};

use super::ids::{ClientId, MessageId, MessageType, Priority, QueueKey, Time};

/// Bytes that mean something to clients only. Any number of them.
pub type Body = Arc<[u8]>;

/// A message that was received. Copies share it; a clone is cheap.
pub type Delivery = Arc<Message>;

/// A message with all that is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its name and place in queues; to be handed back to [`super::Bus::delete`].
    pub key: QueueKey,
    /// Its sender.
    pub sender: ClientId,
    /// When the bus took it, by the bus's clock.
    pub sent: Time,
    /// Its subject.
    pub message_type: MessageType,
    /// Its body.
    pub body: Body,
    /// The clients that got a copy, if it can be cancelled.
    pub receivers: Option<Arc<[ClientId]>>,
}

impl Message {
    /// Token that cancels it, if it can be cancelled.
    pub fn token(&self) -> Option<Token> {
        let receivers = Arc::clone(self.receivers.as_ref()?);
        Some(Token { key: self.key, sender: self.sender, receivers })
    }
}

/// The right to cancel a message, and all that is needed to find its copies. The sender has it
/// from [`super::Sent`], receivers from [`Message::token`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub(crate) key: QueueKey,
    pub(crate) sender: ClientId,
    pub(crate) receivers: Arc<[ClientId]>,
}

impl Token {
    /// The message.
    pub fn message(&self) -> MessageId {
        self.key.id
    }

    /// The clients that got a copy.
    pub fn receivers(&self) -> &Arc<[ClientId]> {
        &self.receivers
    }

    /// True when `client` may use it: the sender, and whoever got a copy.
    pub fn belongs_to(&self, client: ClientId) -> bool {
        client == self.sender || self.receivers.contains(&client)
    }

    /// Appends bytes that [`Self::read`] reads.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_key(out, &self.key);
        put_u64(out, self.sender.0);
        put_clients(out, &self.receivers);
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub fn read(from: &mut Input<'_>) -> Result<Self, Malformed> {
        let key = read_key(from)?;
        let sender = ClientId(from.u64()?);
        Ok(Self { key, sender, receivers: read_clients(from)?.into() })
    }
}

pub(crate) fn put_key(out: &mut Vec<u8>, key: &QueueKey) {
    put_i64(out, i64::from(key.priority.0));
    put_i64(out, key.deadline.0);
    put_u64(out, key.id.0);
}

pub(crate) fn read_key(from: &mut Input<'_>) -> Result<QueueKey, Malformed> {
    let priority = Priority(from.i32()?);
    Ok(QueueKey { priority, deadline: Time(from.i64()?), id: MessageId(from.u64()?) })
}

pub(crate) fn put_clients(out: &mut Vec<u8>, clients: &[ClientId]) {
    put_u64(out, clients.len() as u64);
    clients.iter().for_each(|client| put_u64(out, client.0));
}

pub(crate) fn read_clients(from: &mut Input<'_>) -> Result<Vec<ClientId>, Malformed> {
    let count = from.count(1)?;
    (0..count).map(|_| Ok(ClientId(from.u64()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_as_bytes_and_damage_is_no_panic() {
        let key =
            QueueKey { priority: Priority(-3), deadline: Time::NEVER, id: MessageId(1 << 40) };
        let receivers = Arc::from([ClientId(7), ClientId(300)]);
        let token = Token { key, sender: ClientId(9), receivers };
        let mut bytes = Vec::new();
        token.write(&mut bytes);
        assert_eq!(Token::read(&mut Input::new(&bytes)), Ok(token));
        for end in 0..bytes.len() {
            assert!(Token::read(&mut Input::new(&bytes[..end])).is_err());
        }
    }
}
