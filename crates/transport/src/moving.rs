//! A range of keys goes from one store to another, while others read and write.
//!
//! ```text
//! source  own -> track -> copy, copy, ...  -> freeze -> copy the rest |        own -> clear
//! target      import      replace ...                   replace       | own
//! manager                                                             switched         moved
//! callers read and write at the source     | wait: "moved", ask again | at the target
//! ```
//! Whoever carries a move out may end anywhere: the next one begins anew with a larger attempt. As
//! long as the manager has not switched, the source is told to own the range, whatever happened;
//! behind that the target is. So at each moment one of them has everything that was acknowledged.
//! Callers wait for what was changed while the rest was copied: a few hundred keys.
//! Elsewhere: what stores do (`placement`, `service::moves`), what moves (`ring`).
//! Source: Pilman 2017 leaves it open; Goebel 2016 for the ring and moves while others write.
//! Departure: the source is asked until the keys are handed over, and then the target alone, in the
//! place of writes to both; all versions of a key move.

use store::server::Definition;
use store::{HashRange, Result, StoreError};
use types::codec::Malformed;

use crate::channel::Channel;
use crate::cluster::{Cluster, Once, read};
use crate::message::{Call, Copied, copied, tables};
use crate::placement::{Attempt, Step};
use crate::ring::{Move, MoveOrder, Ring, StoreId};
use crate::service::moves::OWN_ROWS;

/// Changed keys that are copied while callers wait.
const REST: u64 = 256;

/// Keys behind which callers wait, however many are changed: so often may all keys change.
const TIMES: u64 = 4;

/// Prefix of the names of tables that were dropped: they have no keys.
const DROPPED: &str = "dropped ";

/// One who carries a move out.
struct Mover<'a> {
    attempt: Attempt,
    source: &'a Channel,
    target: &'a Channel,
}

impl Cluster {
    /// Copies the keys of a move; when it returns, the target has them all, and the source refuses
    /// calls on them.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] when somebody else carries moves out, or the source has started
    /// again; [`StoreError::Overloaded`] when scans of before are to be waited for;
    /// [`StoreError::Unreachable`]. The order may be carried out again.
    pub async fn copy(&self, order: &MoveOrder) -> Result<()> {
        let Move { range, source, target } = order.what;
        let ring = self.ring_with(range, source).await?;
        let (attempt, from) = (order.attempt, self.channel(source).await?);
        // Callers need not wait for what is to be done now, whatever became of earlier attempts.
        place(&from, attempt, Step::Own(ring.ranges_of(source))).await?;
        let to = self.channel(target).await?;
        let mover = Mover { attempt, source: &from, target: &to };
        mover.make_tables().await?;
        place(&to, attempt, Step::Import { owned: ring.ranges_of(target), range }).await?;
        let track = Call::Track { attempt, range };
        read(from.write(track.bytes()).await, |_| Ok(()))?;
        let mut copied = mover.copy_from(0).await?;
        let most = copied.noted * TIMES + REST;
        while copied.noted - copied.next > REST && copied.next < most {
            copied = mover.copy_from(copied.next).await?;
        }
        place(&from, attempt, Step::Freeze(range)).await?;
        loop {
            copied = mover.copy_from(copied.next).await?;
            if copied.next == copied.noted {
                return Ok(());
            }
        }
    }

    /// Tells the target of a move that the keys are its own, and has the source forget them.
    ///
    /// # Errors
    /// As [`Self::copy`].
    pub async fn hand_over(&self, order: &MoveOrder) -> Result<()> {
        let Move { range, source, target } = order.what;
        let ring = self.ring_with(range, target).await?;
        let (from, to) = (self.channel(source).await?, self.channel(target).await?);
        place(&to, order.attempt, Step::Own(ring.ranges_of(target))).await?;
        place(&from, order.attempt, Step::Own(ring.ranges_of(source))).await?;
        place(&from, order.attempt, Step::Clear).await
    }

    /// Tells the source of a move that the keys stay its own, and has the target forget them, if it
    /// can be reached.
    ///
    /// # Errors
    /// As [`Self::copy`].
    pub async fn keep(&self, order: &MoveOrder) -> Result<()> {
        let Move { range, source, target } = order.what;
        let ring = self.ring_with(range, source).await?;
        let from = self.channel(source).await?;
        place(&from, order.attempt, Step::Own(ring.ranges_of(source))).await?;
        let forget = async {
            let to = self.channel(target).await?;
            place(&to, order.attempt, Step::Own(ring.ranges_of(target))).await?;
            place(&to, order.attempt, Step::Clear).await
        };
        match forget.await {
            // It forgets them when it is to have others.
            Err(StoreError::Unreachable(_)) => Ok(()),
            outcome => outcome,
        }
    }

    /// Looks whether all stores are new, or took part in a database whose stores change: others
    /// have rows of their own.
    ///
    /// # Errors
    /// [`StoreError::InvalidTable`], [`StoreError::Unreachable`].
    pub async fn can_take_part(&self) -> Result<()> {
        for asked in self.ask_all(&Call::Tables, Once::No).await? {
            if read(asked.pending.await, tables)?.has_own_rows {
                return Err(StoreError::InvalidTable(OWN_ROWS.into()));
            }
        }
        Ok(())
    }

    /// The ring of now, in which `owner` has `range`.
    async fn ring_with(&self, range: HashRange, owner: StoreId) -> Result<Ring> {
        match self.learn(self.known().ring.version()).await {
            // These stores never change, or whoever changes them says so.
            Ok(_) | Err(StoreError::Moved) => (),
            Err(error) => return Err(error),
        }
        let ring = self.ring();
        let own = ring.ranges_of(owner).within(&range);
        if own.hashes() == range.hashes() { Ok(ring) } else { Err(StoreError::Overtaken) }
    }
}

async fn place(store: &Channel, attempt: Attempt, step: Step) -> Result<()> {
    read(store.write(Call::Place { attempt, step }.bytes()).await, |_| Ok(()))
}

impl Mover<'_> {
    /// Copies noted keys from one on; how many there are, and where to go on.
    async fn copy_from(&self, from: u64) -> Result<Copied> {
        let call = Call::Copy { attempt: self.attempt, from };
        let found = read(self.source.read(call.bytes()).await, copied)?;
        if found.pieces.is_empty() {
            return Ok(found);
        }
        let pieces = &found.pieces;
        let replace = Call::Replace { attempt: self.attempt, pieces }.bytes();
        let nothing = |_: &mut types::codec::Input<'_>| Ok::<_, Malformed>(());
        match read(self.target.write(replace.clone()).await, nothing) {
            Err(StoreError::InvalidTable(_)) => {
                // It was made meanwhile, by those who do not know of the target.
                self.make_tables().await?;
                read(self.target.write(replace).await, nothing)?;
            }
            outcome => outcome?,
        }
        Ok(found)
    }

    /// Makes the tables of the source that the target lacks.
    async fn make_tables(&self) -> Result<()> {
        let list = |store: &Channel| store.read(Call::Tables.bytes());
        let (there, here) = (list(self.source), list(self.target));
        let there = read(there.await, tables)?.tables;
        let here = read(here.await, tables)?.tables;
        let is_missing = |table: &&Definition| {
            let is_here = here.iter().any(|other| other.name == table.name);
            !is_here && !table.name.starts_with(DROPPED)
        };
        for table in there.iter().filter(is_missing) {
            let (name, layout) = (table.name.as_str(), table.layout);
            let schema = store::Schema::clone(&table.schema);
            let create = Call::Create { name, schema, layout };
            match read(self.target.write(create.bytes()).await, |_| Ok(())) {
                // Somebody else made it meanwhile.
                Ok(()) | Err(StoreError::InvalidTable(_)) => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
