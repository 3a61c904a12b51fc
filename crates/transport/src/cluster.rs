//! The stores of a database as one client knows them: the ring, and a channel to each.
//!
//! ```text
//! key -> ring -> channel of its store -> answer
//!                     '- moved -> Guide: the ring of now -> again
//! ```
//! A ring may be an old one: a store that does not have a key says so, and the client learns.
//! Elsewhere: tables (`remote`), who keeps the ring (`shared`).

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use store::{Key, Result, StoreError, part_of};
use types::codec::{Input, Malformed};

use crate::channel::Channel;
use crate::message::{Call, read_answer};
use crate::ring::{Ring, RingStore, StoreId};
use crate::slot::{Broken, Pending};

/// Number of the store that has `key`, among `count` of a new database.
/// The store has one part of the keys, so that scans of a part ask the stores alone that have some
/// of it.
pub fn store_of(key: Key, count: usize) -> usize {
    part_of(key, count as u64) as usize
}

/// Way to the ring of now, and to stores that are new in it.
pub trait Guide: Send + Sync {
    /// Asks for the ring.
    fn ask(&self) -> Pending;

    /// Reads the answer.
    ///
    /// # Errors
    /// Where there is no ring in it.
    fn ring(&self, answer: &[u8]) -> Result<Ring>;

    /// A channel to a store.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], [`StoreError::Refused`].
    fn connect(&self, store: &RingStore) -> Result<Arc<Channel>>;

    /// Sends what was asked.
    fn flush(&self);
}

/// A ring, and channels to its stores: those that could be reached.
pub(crate) struct Known {
    pub(crate) ring: Ring,
    pub(crate) channels: BTreeMap<StoreId, Arc<Channel>>,
}

impl Known {
    /// The channel of a store.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`] with its address.
    pub(crate) fn channel(&self, id: StoreId) -> Result<&Arc<Channel>> {
        self.channels.get(&id).ok_or_else(|| {
            let address = self.ring.store(id).map_or("a store that left", |store| &store.address);
            StoreError::Unreachable(address.to_owned())
        })
    }
}

struct Inner {
    known: RwLock<Arc<Known>>,
    guide: Option<Arc<dyn Guide>>,
    /// All channels that were made, by address: a store knows a client by one of them, also when
    /// it goes and comes again.
    made: Mutex<BTreeMap<String, Arc<Channel>>>,
}

/// Stores, and which keys each of them has.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

impl Cluster {
    /// The stores behind these channels, in the order that all their users know them in; keys stay
    /// where they are.
    ///
    /// # Panics
    /// Without any.
    pub fn new(channels: Vec<Arc<Channel>>) -> Self {
        let ring = Ring::equal((1..=channels.len()).map(|n| format!("store {n}")).collect());
        let numbered = (1..).map(StoreId).zip(channels).collect();
        Self::of(Known { ring, channels: numbered }, None)
    }

    /// The stores of a ring, and of those that follow it.
    ///
    /// # Errors
    /// Errors of [`Guide::connect`], for a store that has keys.
    pub fn guided(guide: Arc<dyn Guide>, ring: Ring) -> Result<Self> {
        let (mut channels, mut made) = (BTreeMap::new(), BTreeMap::new());
        for store in ring.stores() {
            match guide.connect(store) {
                Ok(channel) => {
                    made.insert(store.address.clone(), Arc::clone(&channel));
                    channels.insert(store.id, channel);
                }
                Err(error) if ring.has_keys(store.id) => return Err(error),
                Err(_) => (),
            }
        }
        let cluster = Self::of(Known { ring, channels }, Some(guide));
        *cluster.inner.made.lock() = made;
        Ok(cluster)
    }

    fn of(known: Known, guide: Option<Arc<dyn Guide>>) -> Self {
        let (known, made) = (RwLock::new(Arc::new(known)), Mutex::default());
        Self { inner: Arc::new(Inner { known, guide, made }) }
    }

    pub(crate) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.inner.known.read())
    }

    /// The ring as far as it is known.
    pub fn ring(&self) -> Ring {
        self.known().ring.clone()
    }

    /// The channels.
    pub fn channels(&self) -> Vec<Arc<Channel>> {
        self.known().channels.values().cloned().collect()
    }

    /// Sends what waits.
    pub fn flush(&self) {
        self.known().channels.values().for_each(|channel| channel.flush());
        self.inner.guide.iter().for_each(|guide| guide.flush());
    }

    /// Asks for the ring of now, unless a later one than `seen` is known already; its version.
    ///
    /// # Errors
    /// [`StoreError::Moved`] where the stores never change; errors of the guide.
    pub async fn learn(&self, seen: u64) -> Result<u64> {
        let now = self.known().ring.version();
        if now > seen {
            return Ok(now);
        }
        let guide = self.inner.guide.as_ref().ok_or(StoreError::Moved)?;
        let answer = guide.ask().await.map_err(|broken| StoreError::Unreachable(broken.0))?;
        let ring = guide.ring(&answer)?;
        Ok(self.adopt(guide, ring))
    }

    /// Goes over to a ring, unless a later one is known; the version of the one that is.
    fn adopt(&self, guide: &Arc<dyn Guide>, ring: Ring) -> u64 {
        let mut made = self.inner.made.lock();
        let known = self.known();
        let is_whole = known.channels.len() == known.ring.stores().len();
        let is_old = ring.version() < known.ring.version();
        if is_old || is_whole && ring.version() == known.ring.version() {
            return known.ring.version();
        }
        // A store that is away is asked for by those who need it, and then tried again.
        let mut channels = BTreeMap::new();
        for store in ring.stores() {
            let before = known.channels.get(&store.id).or_else(|| made.get(&store.address));
            let channel = match before.cloned() {
                Some(channel) => channel,
                None => match guide.connect(store) {
                    Ok(channel) => channel,
                    Err(_) => continue,
                },
            };
            made.insert(store.address.clone(), Arc::clone(&channel));
            channels.insert(store.id, channel);
        }
        let version = ring.version();
        *self.inner.known.write() = Arc::new(Known { ring, channels });
        version
    }

    /// The channel of a store; one that was away is tried again.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`].
    pub(crate) async fn channel(&self, id: StoreId) -> Result<Arc<Channel>> {
        let known = self.known();
        if known.channel(id).is_err() && self.inner.guide.is_some() {
            self.learn(known.ring.version()).await?;
        }
        self.known().channel(id).cloned()
    }

    /// Channels to all stores that have keys.
    pub(crate) async fn all(&self) -> Result<Vec<(StoreId, Arc<Channel>)>> {
        let (known, mut all) = (self.known(), Vec::new());
        for store in known.ring.stores().iter().filter(|store| known.ring.has_keys(store.id)) {
            all.push((store.id, self.channel(store.id).await?));
        }
        Ok(all)
    }

    /// Asks all stores that have keys the same, at once.
    pub(crate) async fn ask_all(&self, call: &Call<'_>, once: Once) -> Result<Vec<Asked>> {
        let (payload, mut asked) = (call.bytes(), Vec::new());
        for (store, channel) in self.all().await? {
            let pending = once.call(&channel, payload.clone());
            asked.push(Asked { store, channel, pending });
        }
        Ok(asked)
    }

    /// Takes a table away from all stores that have it. Nobody may use it any more.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`], [`StoreError::OutOfMemory`].
    pub async fn drop_table(&self, name: &str) -> Result<()> {
        if self.inner.guide.is_some() {
            self.learn(self.known().ring.version()).await?;
        }
        for asked in self.ask_all(&Call::Drop { name }, Once::Yes).await? {
            read(asked.pending.await, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Has all stores refuse `client` from now on, also those that come while it is told.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`].
    pub async fn fence(&self, client: u64) -> Result<()> {
        let mut told: Vec<StoreId> = Vec::new();
        loop {
            // The client learns of no store any more once all are told that there were.
            if self.inner.guide.is_some() {
                self.learn(self.known().ring.version()).await?;
            }
            let mut all = self.all().await?;
            all.retain(|(store, _)| !told.contains(store));
            if all.is_empty() {
                return Ok(());
            }
            let payload = Call::Fence { client }.bytes();
            let calls = all.iter().map(|(_, channel)| channel.write(payload.clone()));
            for pending in calls.collect::<Vec<_>>() {
                read(pending.await, |_| Ok(()))?;
            }
            told.extend(all.iter().map(|(store, _)| *store));
        }
    }
}

/// A call that was made.
pub(crate) struct Asked {
    pub(crate) store: StoreId,
    pub(crate) channel: Arc<Channel>,
    pub(crate) pending: Pending,
}

/// May a call happen twice?
#[derive(Clone, Copy)]
pub(crate) enum Once {
    Yes,
    No,
}

impl Once {
    /// Makes a call.
    pub(crate) fn call(self, channel: &Channel, payload: Vec<u8>) -> Pending {
        match self {
            Self::Yes => channel.write(payload),
            Self::No => channel.read(payload),
        }
    }
}

/// Reads the answer of a store.
pub(crate) fn read<T>(
    answer: Result<Vec<u8>, Broken>,
    read: impl FnOnce(&mut Input<'_>) -> Result<T, Malformed>,
) -> Result<T> {
    let payload = answer.map_err(|broken| StoreError::Unreachable(broken.0))?;
    read_answer(&payload, read)
}
