//! The model: what a table means, as a map behind a lock.
//!
//! Every version of every key is a list, newest first. Each back end is compared with this one, so
//! it stays as simple as it can be; scans judge decoded values by [`crate::Test::accepts`].

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::{Result, StoreError};
use crate::image::{ImageWriter, Imaged, Older};
use crate::query::{Output, Query};
use crate::scan::{Flow, Plan, Rows, ScanEnd, ScanRequest, Total};
use crate::schema::{Key, Schema};
use crate::snapshot::{Snapshot, Version};
use crate::table::{Fetched, Head, Horizon, Step, Table, TableStats, Write, answer};
use crate::tuple::{Tuple, TupleRef};

/// Version and row, or a deletion.
type Kept = (Version, Option<Tuple>);

/// A table behind one lock.
#[derive(Debug)]
pub struct Model {
    schema: Arc<Schema>,
    horizon: Horizon,
    keys: Mutex<BTreeMap<Key, Vec<Kept>>>,
}

impl Model {
    /// An empty table.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema, horizon: Horizon::default(), keys: Mutex::default() }
    }

    fn write(&self, snapshot: &Snapshot, key: Key, write: Write<'_>) -> Result<()> {
        self.horizon.admit(snapshot)?;
        self.put(snapshot, key, write)
    }

    fn put(&self, snapshot: &Snapshot, key: Key, write: Write<'_>) -> Result<()> {
        let mut keys = self.keys.lock();
        let versions = keys.entry(key).or_default();
        let step = write.step(snapshot, head(versions.first()), head(versions.get(1)));
        let step = step.and_then(|step| Ok((step, snapshot.writes()?)));
        if let Ok((step, version)) = step {
            if step != Step::Above {
                versions.remove(0);
            }
            if step != Step::Undo {
                versions.insert(0, (version, write.tuple().cloned()));
            }
        }
        if versions.is_empty() {
            keys.remove(&key);
        }
        step.map(drop)
    }
}

fn head(kept: Option<&Kept>) -> Head {
    match kept {
        None => Head::Absent,
        Some((version, None)) => Head::Deleted(*version),
        Some((version, Some(_))) => Head::Live(*version),
    }
}

impl Table for Model {
    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn get(&self, snapshot: &Snapshot, key: Key) -> Result<Fetched> {
        self.horizon.admit(snapshot)?;
        let keys = self.keys.lock();
        let versions = keys.get(&key).map_or(&[][..], Vec::as_slice);
        let visible = versions.iter().find(|kept| snapshot.sees(kept.0)).cloned();
        answer(versions.first().map(|kept| kept.0), visible)
    }

    fn insert(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()> {
        self.write(snapshot, key, Write::Insert(tuple))
    }

    fn update(&self, snapshot: &Snapshot, key: Key, tuple: &Tuple) -> Result<()> {
        self.write(snapshot, key, Write::Update(tuple))
    }

    fn remove(&self, snapshot: &Snapshot, key: Key) -> Result<()> {
        self.write(snapshot, key, Write::Remove)
    }

    fn newest_version(&self, key: Key) -> Version {
        let keys = self.keys.lock();
        keys.get(&key).and_then(|versions| versions.first()).map_or(Version(0), |kept| kept.0)
    }

    fn revert(&self, version: Version, key: Key) -> Result<()> {
        let mut keys = self.keys.lock();
        let Some(versions) = keys.get_mut(&key) else { return Ok(()) };
        match versions.iter().position(|kept| kept.0 == version) {
            None => return Ok(()),
            Some(0) => versions.remove(0),
            Some(_) => return Err(StoreError::NotInSnapshot),
        };
        if versions.is_empty() {
            keys.remove(&key);
        }
        Ok(())
    }

    fn scan(&self, requests: &[ScanRequest<'_>], _threads: usize) -> Result<Vec<ScanEnd>> {
        let plan = Plan::new(&self.schema, requests)?;
        requests.iter().try_for_each(|request| self.horizon.admit(request.snapshot))?;
        drop(plan);
        let keys = self.keys.lock();
        Ok(requests.iter().map(|request| self.one(request, &keys)).collect())
    }

    fn collect(&self, lowest_active: Version) -> Result<()> {
        let needed = self.horizon.raise(self.schema.kind(), lowest_active);
        self.keys.lock().retain(|_, versions| {
            retain(versions, needed);
            !versions.is_empty()
        });
        Ok(())
    }

    fn stats(&self) -> TableStats {
        let keys = self.keys.lock();
        let versions = keys.values().map(Vec::len).sum::<usize>() as u64;
        TableStats { versions, ..TableStats::default() }
    }
}

impl Imaged for Model {
    fn image(&self, writer: &mut ImageWriter<'_>) -> types::Result<Version> {
        for (key, versions) in &*self.keys.lock() {
            self.image_key(*key, versions, writer)?;
        }
        writer.finish()?;
        Ok(self.horizon.needed(self.schema.kind()))
    }

    fn image_of(&self, key: Key, writer: &mut ImageWriter<'_>) -> types::Result<()> {
        let keys = self.keys.lock();
        self.image_key(key, keys.get(&key).map_or(&[][..], Vec::as_slice), writer)
    }

    fn redo(&self, snapshot: &Snapshot, key: Key, write: Write<'_>) -> Result<()> {
        self.put(snapshot, key, write)
    }

    fn horizon(&self) -> &Horizon {
        &self.horizon
    }
}

/// Keeps the versions above `needed` and the newest one at or below it, unless that is a deletion.
fn retain(versions: &mut Vec<Kept>, needed: Version) {
    if let Some(last) = versions.iter().position(|kept| kept.0 <= needed) {
        let is_deletion = versions[last].1.is_none();
        versions.truncate(last + usize::from(!is_deletion));
    }
}

impl Model {
    fn image_key(
        &self,
        key: Key,
        versions: &[Kept],
        writer: &mut ImageWriter<'_>,
    ) -> types::Result<()> {
        let needed = self.horizon.needed(self.schema.kind());
        writer.begin(key);
        for (version, tuple) in versions {
            let words = tuple.as_ref().map(|tuple| tuple.words().iter().copied());
            if writer.version(*version, words, needed) == Older::Garbage {
                break;
            }
        }
        writer.end()
    }

    fn one(&self, request: &ScanRequest<'_>, keys: &BTreeMap<Key, Vec<Kept>>) -> ScanEnd {
        let query = request.query;
        let mut totals: Vec<Total> = match &query.output {
            Output::Aggregates(list) => list.iter().map(|a| Total::new(*a, &self.schema)).collect(),
            Output::Fields(_) => Vec::new(),
        };
        let (mut chunk, mut count, mut flow) = (Rows::default(), 0, Flow::Continue);
        for (key, versions) in keys {
            let visible = versions.iter().find(|kept| request.snapshot.sees(kept.0));
            let Some((_, Some(tuple))) = visible else { continue };
            if !selects(&self.schema, query, *key, tuple) {
                continue;
            }
            count += 1;
            let row = TupleRef { schema: &self.schema, words: tuple.words() };
            totals.iter_mut().for_each(|total| total.add_row(&row));
            if let Output::Fields(fields) = &query.output {
                let values: Vec<_> = fields.iter().map(|f| tuple.value(&self.schema, *f)).collect();
                let schema = self.schema.project(fields).expect("the plan found all fields");
                let projected = Tuple::encode(&schema, &values).expect("values of the same types");
                chunk.push(*key, projected.words());
            }
            if chunk.is_full() {
                flow = request.sink.rows(&chunk);
                chunk.clear();
            }
            if flow == Flow::Stop || request.sink.flow() == Flow::Stop {
                flow = Flow::Stop;
                break;
            }
        }
        if !chunk.is_empty() && flow == Flow::Continue {
            flow = request.sink.rows(&chunk);
        }
        ScanEnd { values: totals.iter().map(Total::value).collect(), rows: count, flow }
    }
}

fn selects(schema: &Schema, query: &Query, key: Key, tuple: &Tuple) -> bool {
    query.counts(key)
        && query
            .selection
            .conjuncts
            .iter()
            .all(|conjunct| conjunct.iter().any(|p| p.test.accepts(&tuple.value(schema, p.field))))
}
