//! Counters of sequences: a record in the stores says where each stands; a node takes some values
//! at a time.
//!
//! ```text
//! record   last value i64 | 1 when it was given
//! ```

use std::collections::{HashMap, VecDeque};

use engine::attached::{Counted, CounterId, CounterUse};
use parking_lot::Mutex;
use shared::{Record, Records as _, StoredRecords, Swap};
use types::codec::{Input, Malformed, put_u64};
use types::{Error, Result};

use super::joined::Joined;

/// Table of the records.
const COUNTERS: &str = "sql.counters";

/// Values that a node takes at a time.
const TAKEN: usize = 32;

/// Values that this node took.
#[derive(Default)]
pub(crate) struct Counters {
    left: Mutex<HashMap<CounterId, Left>>,
}

/// Values of one counter.
#[derive(Default)]
struct Left {
    /// Rules by which they were taken.
    rules: u64,
    values: VecDeque<i64>,
}

/// Where a counter stands.
///
/// # Errors
/// Errors of the stores.
pub(crate) fn counted(joined: &Joined, counter: CounterId) -> Result<Option<Counted>> {
    joined.run(async {
        let record = joined.records(COUNTERS).await?.read(counter.0).await?;
        counted_of(record.as_ref())
    })
}

fn counted_of(record: Option<&Record>) -> Result<Option<Counted>> {
    let Some(record) = record else { return Ok(None) };
    let read = || -> Result<Counted, Malformed> {
        let mut input = Input::new(&record.bytes);
        Ok(Counted { last: input.u64()? as i64, called: input.u8()? == 1 })
    };
    read().map(Some).map_err(|malformed| malformed.in_bytes_of("a counter"))
}

async fn write(
    records: &StoredRecords,
    counter: CounterId,
    before: Option<&Record>,
    counted: Counted,
) -> Result<Swap> {
    let mut bytes = Vec::new();
    put_u64(&mut bytes, counted.last as u64);
    bytes.push(u8::from(counted.called));
    let seen = before.map(|record| record.version);
    records.write(counter.0, seen, &bytes).await.map_err(Error::from)
}

impl Counters {
    /// Gives values; see [`engine::attached::Attachment::count`].
    ///
    /// # Errors
    /// Errors of `next` for the first value, errors of the stores.
    pub(crate) fn count(
        &self,
        joined: &Joined,
        of: CounterUse,
        next: &dyn Fn(Option<Counted>) -> Result<i64>,
        values: &mut [i64],
    ) -> Result<()> {
        let CounterUse { counter, rules } = of;
        // Others wait for the values that one takes.
        let mut all = self.left.lock();
        let left = all.entry(counter).or_default();
        if left.rules != rules {
            *left = Left { rules, values: VecDeque::new() };
        }
        let left = &mut left.values;
        let missing = values.len().saturating_sub(left.len());
        if missing > 0 {
            left.extend(joined.run(take(joined, counter, next, missing))?);
        }
        for value in values {
            *value = left.pop_front().ok_or_else(|| Error::internal("a value that was taken"))?;
        }
        Ok(())
    }

    /// Sets a counter.
    ///
    /// # Errors
    /// Errors of the stores.
    pub(crate) fn set(&self, joined: &Joined, counter: CounterId, counted: Counted) -> Result<()> {
        let mut all = self.left.lock();
        all.remove(&counter);
        joined.run(async {
            let records = joined.records(COUNTERS).await?;
            loop {
                let before = records.read(counter.0).await?;
                if write(&records, counter, before.as_ref(), counted).await? == Swap::Done {
                    return Ok(());
                }
            }
        })
    }
}

/// Takes values, `missing` at least and [`TAKEN`] where there are so many.
async fn take(
    joined: &Joined,
    counter: CounterId,
    next: &dyn Fn(Option<Counted>) -> Result<i64>,
    missing: usize,
) -> Result<Vec<i64>> {
    let records = joined.records(COUNTERS).await?;
    loop {
        let before = records.read(counter.0).await?;
        let (mut values, mut now) = (Vec::new(), counted_of(before.as_ref())?);
        while values.len() < missing.max(TAKEN) {
            match next(now) {
                Ok(last) => {
                    values.push(last);
                    now = Some(Counted { last, called: true });
                }
                Err(error) if values.len() < missing => return Err(error),
                Err(_) => break,
            }
        }
        let Some(now) = now else { return Ok(values) };
        if write(&records, counter, before.as_ref(), now).await? == Swap::Done {
            return Ok(values);
        }
    }
}
