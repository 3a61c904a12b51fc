//! The bus in an ordered store of keys and values: five kinds of keys, a snapshot for each call
//! that reads, a batch for each that writes.
//!
//! ```text
//! 1 client                               -> when it connected
//! 2 client type                          -> nothing           sendable
//! 3 type client                          -> nothing           receivable
//! 4 message 0, 4 message 1               -> the message, how many queues have it
//! 5 client ~priority deadline message    -> nothing           a copy; keys are in queue order
//! 0                                      -> the next ids
//! ```
//! Invariants: numbers in keys are big-endian, signed ones with the sign turned over, so that the
//! order of bytes is theirs; a message lives while a queue has it; one writer at a time, so the
//! order of ids is that of commits.
//! Limits: receives that wait learn of sends of this value, which has the file alone.
//! Source: Chasseur 2015, section 4.4 (LevelDB). Departure: the store is `redb`, a copy-on-write
//! tree whose batches are transactions, so no lock beside it is needed.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use host::Clock;
use redb::{Database, ReadableDatabase, ReadableTable, Table, TableDefinition};
use types::codec::{Input, put_u64};
use types::{Error, SqlState};

use crate::record::{NextIds, Placed, Record};
use crate::semantics::{
    Address, Bell, Bus, BusError, ClientId, ClientInfo, Copies, Delivery, Message, MessageId,
    MessageType, Priority, QueueKey, Receipt, ReceiveOptions, Result, Ring, SendOptions, Sent,
    Spare, Time, Token,
};
use crate::store::Store;

const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("bus");

const IDS: u8 = 0;
const CLIENT: u8 = 1;
const SENDABLE: u8 = 2;
const RECEIVABLE: u8 = 3;
const MESSAGE: u8 = 4;
const QUEUED: u8 = 5;

type Keys<'t> = Table<'t, &'static [u8], &'static [u8]>;

/// The errors of the store: 53100 on a full disk, 55006 for a file that another has, XX001 for
/// damage, 58030 for the rest.
impl From<redb::Error> for BusError {
    fn from(error: redb::Error) -> Self {
        let state = match &error {
            redb::Error::DatabaseAlreadyOpen => SqlState::OBJECT_IN_USE,
            redb::Error::Corrupted(_) => SqlState::DATA_CORRUPTED,
            redb::Error::Io(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                SqlState::DISK_FULL
            }
            _ => SqlState::IO_ERROR,
        };
        Self::Storage(Error::new(state, format!("the key-value store: {error}")))
    }
}

/// Turns what each step of the store may say into what a call says.
trait Told<T> {
    fn told(self) -> Result<T>;
}

impl<T, E: Into<redb::Error>> Told<T> for std::result::Result<T, E> {
    fn told(self) -> Result<T> {
        self.map_err(|error| BusError::from(error.into()))
    }
}

/// A bus in a file of its own. Threads share it; one call at a time changes it.
#[derive(Debug)]
pub struct KeyValue {
    database: Database,
    bell: Arc<Bell>,
    clock: Arc<dyn Clock>,
}

impl KeyValue {
    /// The bus in the file `path`, which is made when absent.
    ///
    /// # Errors
    /// [`BusError::Storage`].
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let database = Database::create(path).told()?;
        let transaction = database.begin_write().told()?;
        drop(transaction.open_table(TABLE).told()?);
        transaction.commit().told()?;
        Ok(Self { database, bell: Arc::default(), clock })
    }

    fn now(&self) -> Time {
        Time(self.clock.micros())
    }

    /// Runs `call` as one batch, and has those who wait look.
    fn change<T>(&self, call: impl FnOnce(&mut Keys<'_>) -> Result<T>) -> Result<T> {
        let transaction = self.database.begin_write().told()?;
        let outcome = {
            let mut table = transaction.open_table(TABLE).told()?;
            // An error drops the batch.
            call(&mut table)?
        };
        transaction.commit().told()?;
        self.bell.ring();
        Ok(outcome)
    }

    fn leave(&self, client: ClientId, only_if_empty: Option<Time>) -> Result<()> {
        self.change(|table| {
            check_connected(table, client)?;
            if let Some(now) = only_if_empty
                && !find(table, &ReceiveOptions::new(client), now)?.is_empty()
            {
                return Err(BusError::QueueNotEmpty(client));
            }
            remove_client(table, client)
        })
    }
}

fn remove_client(table: &mut Keys<'_>, client: ClientId) -> Result<()> {
    let queue = keys_from(table, &key(QUEUED, &[&client.0.to_be_bytes()]))?;
    for copy in queue {
        remove_copy(table, client, &read_copy(&copy))?;
    }
    for name in keys_from(table, &key(SENDABLE, &[&client.0.to_be_bytes()]))? {
        table.remove(&name[..]).told()?;
    }
    for name in keys_from(table, &[RECEIVABLE])? {
        if name[5..] == client.0.to_be_bytes() {
            table.remove(&name[..]).told()?;
        }
    }
    table.remove(&client_key(client)[..]).told()?;
    Ok(())
}

fn key(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = vec![kind];
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

fn client_key(client: ClientId) -> Vec<u8> {
    key(CLIENT, &[&client.0.to_be_bytes()])
}

fn sendable_key(client: ClientId, message_type: MessageType) -> Vec<u8> {
    key(SENDABLE, &[&client.0.to_be_bytes(), &message_type.0.to_be_bytes()])
}

fn receivable_key(client: ClientId, message_type: MessageType) -> Vec<u8> {
    key(RECEIVABLE, &[&message_type.0.to_be_bytes(), &client.0.to_be_bytes()])
}

fn message_key(message: MessageId) -> Vec<u8> {
    key(MESSAGE, &[&message.0.to_be_bytes(), &[0]])
}

fn count_key(message: MessageId) -> Vec<u8> {
    key(MESSAGE, &[&message.0.to_be_bytes(), &[1]])
}

/// A copy in the order of its queue.
fn copy_key(client: ClientId, message: &QueueKey) -> Vec<u8> {
    let priority = !(message.priority.0 as u32 ^ 1 << 31);
    let deadline = message.deadline.0 as u64 ^ 1 << 63;
    let parts = [&client.0.to_be_bytes()[..], &priority.to_be_bytes(), &deadline.to_be_bytes()];
    let mut key = key(QUEUED, &parts);
    key.extend_from_slice(&message.id.0.to_be_bytes());
    key
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The key that [`copy_key`] was made of.
fn read_copy(key: &[u8]) -> QueueKey {
    QueueKey {
        priority: Priority((!(number(&key[9..13]) as u32) ^ 1 << 31) as i32),
        deadline: Time((number(&key[13..21]) ^ 1 << 63) as i64),
        id: MessageId(number(&key[21..29])),
    }
}

type Readable<'r> = &'r dyn Reader;

/// Reads that snapshots and batches have in common.
trait Reader {
    fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;
    /// Calls `each` with the keys that begin with `prefix`, in order, until it says no.
    fn each(&self, prefix: &[u8], each: &mut dyn FnMut(&[u8]) -> Result<Go>) -> Result<()>;
}

/// Whether a walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Go {
    On,
    Home,
}

impl<T: ReadableTable<&'static [u8], &'static [u8]>> Reader for T {
    fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get(key).told()?.map(|value| value.value().to_vec()))
    }

    fn each(&self, prefix: &[u8], each: &mut dyn FnMut(&[u8]) -> Result<Go>) -> Result<()> {
        for entry in self.range(prefix..).told()? {
            let (key, _) = entry.told()?;
            if !key.value().starts_with(prefix) || each(key.value())? == Go::Home {
                break;
            }
        }
        Ok(())
    }
}

fn keys_from(table: Readable<'_>, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    table.each(prefix, &mut |key| {
        keys.push(key.to_vec());
        Ok(Go::On)
    })?;
    Ok(keys)
}

fn damaged(what: &str) -> BusError {
    BusError::Storage(Error::new(SqlState::DATA_CORRUPTED, format!("the store lacks {what}")))
}

fn is_connected(table: Readable<'_>, client: ClientId) -> Result<bool> {
    Ok(table.value(&client_key(client))?.is_some())
}

fn check_connected(table: Readable<'_>, client: ClientId) -> Result<()> {
    if is_connected(table, client)? { Ok(()) } else { Err(BusError::NotConnected(client)) }
}

/// The clients that a message may go to, sorted, each once.
fn candidates(table: Readable<'_>, options: &SendOptions<'_>) -> Result<Vec<ClientId>> {
    let (sender, message_type) = (options.sender, options.message_type);
    if !is_connected(table, sender)? {
        return Err(BusError::SenderNotConnected(sender));
    }
    if table.value(&sendable_key(sender, message_type))?.is_none() {
        return Err(BusError::SenderNotRegistered(sender, message_type));
    }
    let mut candidates = BTreeSet::new();
    match options.address {
        Address::Any => {
            let prefix = key(RECEIVABLE, &[&message_type.0.to_be_bytes()]);
            let found = keys_from(table, &prefix)?;
            candidates.extend(found.iter().map(|key| ClientId(number(&key[5..]))));
        }
        Address::Clients(named) => {
            for receiver in named {
                if !is_connected(table, *receiver)? {
                    return Err(BusError::ReceiverNotConnected(*receiver));
                }
                if table.value(&receivable_key(*receiver, message_type))?.is_none() {
                    return Err(BusError::ReceiverNotRegistered(*receiver, message_type));
                }
                candidates.insert(*receiver);
            }
        }
    }
    if candidates.is_empty() {
        return Err(BusError::NoReceivers(message_type));
    }
    Ok(candidates.into_iter().collect())
}

/// The ids to be given next; `given` says what the next ones are afterwards.
fn draw(table: &mut Keys<'_>, given: impl FnOnce(&mut NextIds)) -> Result<NextIds> {
    let before = next_ids(table)?;
    let mut after = before;
    given(&mut after);
    let mut ids = Vec::new();
    put_u64(&mut ids, after.client);
    put_u64(&mut ids, after.message);
    table.insert(&[IDS][..], &ids[..]).told()?;
    Ok(before)
}

fn next_ids(table: Readable<'_>) -> Result<NextIds> {
    let Some(ids) = table.value(&[IDS])? else { return Ok(NextIds { client: 1, message: 1 }) };
    let mut ids = Input::new(&ids);
    let mut next = || ids.u64().map_err(|_| damaged("the next ids"));
    Ok(NextIds { client: next()?, message: next()? })
}

fn read_message(table: Readable<'_>, id: MessageId) -> Result<Delivery> {
    let bytes = table.value(&message_key(id))?.ok_or_else(|| damaged("a message of a queue"))?;
    match Record::read(&mut Input::new(&bytes)) {
        Ok(Record::Message(placed)) => Ok(placed.message),
        _ => Err(damaged("a message that can be read")),
    }
}

/// Removes a copy, and the message with the last one; false if there is none.
fn remove_copy(table: &mut Keys<'_>, client: ClientId, message: &QueueKey) -> Result<bool> {
    let was = table.remove(&copy_key(client, message)[..]).told()?.is_some();
    if was {
        let count = count_key(message.id);
        let left = number(&table.value(&count)?.ok_or_else(|| damaged("a count of copies"))?) - 1;
        if left == 0 {
            table.remove(&count[..]).told()?;
            table.remove(&message_key(message.id)[..]).told()?;
        } else {
            table.insert(&count[..], &left.to_be_bytes()[..]).told()?;
        }
    }
    Ok(was)
}

fn insert_message(table: &mut Keys<'_>, message: Delivery, holders: &[ClientId]) -> Result<()> {
    let id = message.key.id;
    for holder in holders {
        table.insert(&copy_key(*holder, &message.key)[..], &[][..]).told()?;
    }
    let (none, copies) = (Vec::new(), holders.len());
    let mut bytes = Vec::new();
    Record::Message(Placed { message, holders: none, copies }).write(&mut bytes);
    table.insert(&message_key(id)[..], &bytes[..]).told()?;
    table.insert(&count_key(id)[..], &(copies as u64).to_be_bytes()[..]).told()?;
    Ok(())
}

fn find(table: Readable<'_>, options: &ReceiveOptions<'_>, now: Time) -> Result<Vec<Delivery>> {
    let mut found = Vec::new();
    let queue = key(QUEUED, &[&options.client.0.to_be_bytes()]);
    table.each(&queue, &mut |key| {
        let copy = read_copy(key);
        if found.len() == options.limit.max(1) || copy.priority < options.priority_min {
            return Ok(Go::Home);
        }
        if !copy.is_expired(now) {
            found.push(copy.id);
        }
        Ok(Go::On)
    })?;
    found.into_iter().map(|id| read_message(table, id)).collect()
}

/// Throws the expired copies at the front of a queue away: looks pass over them until then.
fn purge(table: &mut Keys<'_>, client: ClientId, now: Time) -> Result<()> {
    let mut expired = Vec::new();
    table.each(&key(QUEUED, &[&client.0.to_be_bytes()]), &mut |key| {
        let copy = read_copy(key);
        if !copy.is_expired(now) {
            return Ok(Go::Home);
        }
        expired.push(copy);
        Ok(Go::On)
    })?;
    for copy in expired {
        remove_copy(table, client, &copy)?;
    }
    Ok(())
}

impl Bus for KeyValue {
    fn connect(&self) -> Result<ClientId> {
        self.change(|table| {
            let client = ClientId(draw(table, |next| next.client += 1)?.client);
            table.insert(&client_key(client)[..], &self.now().0.to_be_bytes()[..]).told()?;
            Ok(client)
        })
    }

    fn disconnect(&self, client: ClientId) -> Result<()> {
        self.leave(client, None)
    }

    fn disconnect_if_empty(&self, client: ClientId) -> Result<()> {
        self.leave(client, Some(self.now()))
    }

    fn register_sender(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|table| {
            check_connected(table, client)?;
            table.insert(&sendable_key(client, message_type)[..], &[][..]).told()?;
            Ok(())
        })
    }

    fn register_receiver(&self, client: ClientId, message_type: MessageType) -> Result<()> {
        self.change(|table| {
            check_connected(table, client)?;
            table.insert(&receivable_key(client, message_type)[..], &[][..]).told()?;
            Ok(())
        })
    }

    fn send(&self, options: &SendOptions<'_>) -> Result<Sent> {
        self.change(|table| {
            let candidates = candidates(table, options)?;
            let id = MessageId(draw(table, |next| next.message += 1)?.message);
            let receivers = match options.copies {
                Copies::Each => &candidates[..],
                Copies::One => {
                    let turn = id.0 as usize % candidates.len();
                    &candidates[turn..=turn]
                }
            };
            let sent = self.now();
            let (priority, deadline) = (options.priority, options.deadline.moment(sent));
            let message = Arc::new(Message {
                key: QueueKey { priority, deadline, id },
                sender: options.sender,
                sent,
                message_type: options.message_type,
                body: options.body.clone(),
                receivers: options.is_cancellable().then(|| Arc::from(receivers)),
            });
            let (token, copies) = (message.token(), receivers.len());
            insert_message(table, message, receivers)?;
            Ok(Sent { id, sent, copies, token })
        })
    }

    fn receive(&self, options: &ReceiveOptions<'_>) -> Result<Vec<Delivery>> {
        self.bell.receive(options, || {
            let snapshot = self.database.begin_read().told()?;
            let table = snapshot.open_table(TABLE).told()?;
            check_connected(&table, options.client)?;
            let found = find(&table, options, self.now())?;
            if options.receipt == Receipt::Keep || found.is_empty() {
                return Ok(found);
            }
            // Another call may have taken some since.
            self.change(|table| {
                check_connected(table, options.client)?;
                let found = find(table, options, self.now())?;
                for message in &found {
                    remove_copy(table, options.client, &message.key)?;
                }
                Ok(found)
            })
        })
    }

    fn delete(&self, client: ClientId, messages: &[QueueKey]) -> Result<usize> {
        self.change(|table| {
            check_connected(table, client)?;
            let mut count = 0;
            for message in messages {
                count += usize::from(remove_copy(table, client, message)?);
            }
            purge(table, client, self.now())?;
            Ok(count)
        })
    }

    fn cancel(&self, client: ClientId, tokens: &[Token], spare: Spare) -> Result<usize> {
        self.change(|table| {
            check_connected(table, client)?;
            if tokens.iter().any(|token| !token.belongs_to(client)) {
                return Err(BusError::TokenOfOthers(client));
            }
            let mut count = 0;
            for token in tokens {
                let is_meant = |id: &&ClientId| spare == Spare::Nobody || **id != client;
                for receiver in token.receivers.iter().filter(is_meant) {
                    count += usize::from(remove_copy(table, *receiver, &token.key)?);
                }
            }
            Ok(count)
        })
    }

    fn clients(&self) -> Result<Vec<ClientInfo>> {
        let snapshot = self.database.begin_read().told()?;
        let table = snapshot.open_table(TABLE).told()?;
        let receivable = keys_from(&table, &[RECEIVABLE])?;
        let now = self.now();
        let info = |key: Vec<u8>| {
            let client = ClientId(number(&key[1..]));
            let connected = table.value(&key)?.ok_or_else(|| damaged("a client"))?;
            let prefix = self::key(SENDABLE, &[&client.0.to_be_bytes()]);
            let sends = keys_from(&table, &prefix)?;
            let mine = receivable.iter().filter(|key| number(&key[5..]) == client.0);
            let messages = find(&table, &ReceiveOptions::new(client), now)?;
            Ok(ClientInfo {
                client,
                connected: Time(number(&connected) as i64),
                sends: sends.iter().map(|key| MessageType(number(&key[9..]) as u32)).collect(),
                receives: mine.map(|key| MessageType(number(&key[1..5]) as u32)).collect(),
                messages: messages.len(),
                body_bytes: messages.iter().map(|message| message.body.len() as u64).sum(),
            })
        };
        keys_from(&table, &[CLIENT])?.into_iter().map(info).collect()
    }
}

impl Store for KeyValue {
    fn load(&self, each: &mut dyn FnMut(Record)) -> Result<()> {
        let snapshot = self.database.begin_read().told()?;
        let table = snapshot.open_table(TABLE).told()?;
        // In the order of keys clients come first, and messages before their copies.
        for key in keys_from(&table, &[])? {
            let client = ClientId(number(&key[1..key.len().min(9)]));
            each(match (key[0], &key[1..]) {
                (IDS, _) => Record::Ids(next_ids(&table)?),
                (CLIENT, _) => {
                    let connected = table.value(&key)?.ok_or_else(|| damaged("a client"))?;
                    Record::Connect(client, Time(number(&connected) as i64))
                }
                (SENDABLE, _) => Record::Sender(client, MessageType(number(&key[9..]) as u32)),
                (RECEIVABLE, _) => {
                    let message_type = MessageType(number(&key[1..5]) as u32);
                    Record::Receiver(ClientId(number(&key[5..])), message_type)
                }
                (MESSAGE, [id @ .., 0]) => {
                    let message = read_message(&table, MessageId(number(id)))?;
                    Record::without_holders(message)
                }
                (QUEUED, _) => Record::Again(read_copy(&key).id, client),
                _ => continue,
            });
        }
        Ok(())
    }

    fn apply(&self, calls: Vec<Vec<Record>>) -> Result<()> {
        let now = self.now();
        self.change(|table| {
            calls.into_iter().flatten().try_for_each(|record| apply(table, record, now))
        })
    }
}

fn apply(table: &mut Keys<'_>, record: Record, now: Time) -> Result<()> {
    let nothing = &[][..];
    match record {
        Record::Connect(client, connected) => {
            draw(table, |next| next.client = next.client.max(client.0 + 1))?;
            table.insert(&client_key(client)[..], &connected.0.to_be_bytes()[..]).told()?;
        }
        Record::Disconnect(client) => remove_client(table, client)?,
        Record::Sender(client, what) => {
            table.insert(&sendable_key(client, what)[..], nothing).told()?;
        }
        Record::Receiver(client, what) => {
            table.insert(&receivable_key(client, what)[..], nothing).told()?;
        }
        Record::Message(Placed { message, holders, .. }) => {
            draw(table, |next| next.message = next.message.max(message.key.id.0 + 1))?;
            insert_message(table, message, &holders)?;
        }
        Record::Delete(client, keys) => {
            for key in keys {
                remove_copy(table, client, &key)?;
            }
            purge(table, client, now)?;
        }
        Record::Cancel(key, receivers) => {
            for receiver in receivers {
                remove_copy(table, receiver, &key)?;
            }
        }
        // Of snapshots and asynchronous logs.
        Record::Again(..) | Record::Ids(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_copies_are_in_queue_order() {
        let mut keys = QueueKey::around_the_ends();
        let bytes = |key: &QueueKey| copy_key(ClientId(7), key);
        assert!(keys.iter().all(|key| read_copy(&bytes(key)) == *key));
        let mut by_bytes = keys.clone();
        by_bytes.sort_by_key(bytes);
        keys.sort();
        assert_eq!(by_bytes, keys);
    }
}
