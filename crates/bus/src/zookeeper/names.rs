//! Names of nodes, and what is in them.

use std::collections::BTreeSet;

use types::codec::{Input, Malformed, put_i64, put_u64};
use types::{Error, SqlState};

use crate::record::NextIds;
use crate::semantics::{ClientId, MessageId, MessageType, Priority, QueueKey, Result, Time};

pub(super) const IDS: &str = "/ids";
pub(super) const TURN: &str = "/turn";
pub(super) const OWNER: &str = "/owner";
pub(super) const CLIENTS: &str = "/clients";
pub(super) const RECEIVERS: &str = "/receivers";
pub(super) const QUEUES: &str = "/queues";
pub(super) const MESSAGES: &str = "/messages";
pub(super) const COUNTS: &str = "/counts";

/// Refuses names of the root that would be several nodes or none.
pub(super) fn check_root(root: &str) -> Result<()> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '-';
    match root.strip_prefix('/') {
        Some(name) if !name.is_empty() && name.chars().all(is_plain) => Ok(()),
        _ => {
            let message = format!("the node of a bus cannot be called \"{root}\"");
            Err(Error::new(SqlState::INVALID_NAME, message).into())
        }
    }
}

pub(super) fn client(client: ClientId) -> String {
    format!("{CLIENTS}/{}", client.0)
}

pub(super) fn queue(client: ClientId) -> String {
    format!("{QUEUES}/{}", client.0)
}

pub(super) fn copy(client: ClientId, key: &QueueKey) -> String {
    format!("{QUEUES}/{}/{}", client.0, copy_name(key))
}

pub(super) fn message(message: MessageId) -> String {
    format!("{MESSAGES}/{}", message.0)
}

pub(super) fn count(message: MessageId) -> String {
    format!("{COUNTS}/{}", message.0)
}

pub(super) fn message_type(message_type: MessageType) -> String {
    format!("{RECEIVERS}/{}", message_type.0)
}

pub(super) fn receiver(what: MessageType, client: ClientId) -> String {
    format!("{RECEIVERS}/{}/{}", what.0, client.0)
}

/// Number at the end of the name of a client's node.
pub(super) fn client_named(name: &str) -> Option<ClientId> {
    name.parse().ok().map(ClientId)
}

/// Name of a copy: digits whose order is the queue's.
fn copy_name(key: &QueueKey) -> String {
    let priority = !(key.priority.0.cast_unsigned() ^ 1 << 31);
    let deadline = key.deadline.0.cast_unsigned() ^ 1 << 63;
    format!("{priority:08x}{deadline:016x}{:016x}", key.id.0)
}

/// The copy of this name.
pub(super) fn copy_named(name: &str) -> Option<QueueKey> {
    let digits = |from: usize, to: usize| u64::from_str_radix(name.get(from..to)?, 16).ok();
    if name.len() != 40 {
        return None;
    }
    let priority = u32::try_from(digits(0, 8)?).ok()?;
    Some(QueueKey {
        priority: Priority((!priority ^ 1 << 31).cast_signed()),
        deadline: Time((digits(8, 24)? ^ 1 << 63).cast_signed()),
        id: MessageId(digits(24, 40)?),
    })
}

/// Contents of the node of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientNode {
    pub(super) connected: Time,
    pub(super) sends: BTreeSet<MessageType>,
    pub(super) receives: BTreeSet<MessageType>,
}

impl ClientNode {
    pub(super) fn new(connected: Time) -> Self {
        Self { connected, sends: BTreeSet::new(), receives: BTreeSet::new() }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_i64(&mut bytes, self.connected.0);
        for types in [&self.sends, &self.receives] {
            put_u64(&mut bytes, types.len() as u64);
            types.iter().for_each(|one| put_u64(&mut bytes, u64::from(one.0)));
        }
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// Where the bytes end or are something else.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut from = Input::new(bytes);
        let connected = Time(from.i64()?);
        let (sends, receives) = (read_types(&mut from)?, read_types(&mut from)?);
        Ok(Self { connected, sends, receives })
    }
}

fn read_types(from: &mut Input<'_>) -> Result<BTreeSet<MessageType>, Malformed> {
    let count = from.count(1)?;
    let mut next = || {
        let number = from.u64()?;
        let number = u32::try_from(number).map_err(|_| from.malformed("a message type"))?;
        Ok(MessageType(number))
    };
    (0..count).map(|_| next()).collect()
}

pub(super) fn ids_to_bytes(ids: NextIds) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_u64(&mut bytes, ids.client);
    put_u64(&mut bytes, ids.message);
    bytes
}

/// Reads what [`ids_to_bytes`] wrote.
///
/// # Errors
/// Where the bytes end or are something else.
pub(super) fn read_ids(bytes: &[u8]) -> Result<NextIds, Malformed> {
    let mut from = Input::new(bytes);
    Ok(NextIds { client: from.u64()?, message: from.u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_are_in_queue_order() {
        let mut keys = QueueKey::around_the_ends();
        assert!(keys.iter().all(|key| copy_named(&copy_name(key)) == Some(*key)));
        let mut by_name = keys.clone();
        by_name.sort_by_key(copy_name);
        keys.sort();
        assert_eq!(by_name, keys);
        for name in ["", "7", &"x".repeat(40), &"\u{e4}".repeat(20)] {
            assert_eq!(copy_named(name), None);
        }
    }

    #[test]
    fn clients_survive_as_bytes_and_damage_is_no_panic() {
        let mut node = ClientNode::new(Time(-5));
        node.sends.extend([MessageType(0), MessageType(u32::MAX)]);
        node.receives.insert(MessageType(300));
        let bytes = node.to_bytes();
        assert_eq!(ClientNode::read(&bytes), Ok(node));
        (0..bytes.len()).for_each(|end| assert!(ClientNode::read(&bytes[..end]).is_err()));
    }

    #[test]
    fn roots_are_single_nodes() {
        assert_eq!(check_root("/bus-7"), Ok(()));
        for name in ["", "/", "bus", "/a/b", "/a b", "/.."] {
            assert!(check_root(name).is_err(), "{name}");
        }
    }
}
