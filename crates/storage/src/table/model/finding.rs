//! Rows by key in their newest state.

use super::*;
use crate::table::find::{KeySearch, Seeker};

/// A seeker of all rows, to whom rows of running transactions matter, or none does.
struct Sought {
    matters: bool,
    tids: Vec<Tid>,
}

impl Seeker for Sought {
    fn concerns(&mut self, _: Tid, _: Snapshot) -> Result<bool> {
        Ok(self.matters)
    }

    fn found(&mut self, tid: Tid) -> Result<ControlFlow<()>> {
        self.tids.push(tid);
        Ok(ControlFlow::Continue(()))
    }
}

impl Model {
    /// Looks now and then for the rows with some text, as the checks of foreign keys do.
    pub(super) fn find(&mut self, t: usize) {
        let has_order = self.table.indexes()[1].spec().kind == IndexKind::Ordered;
        if !has_order || self.finder.chance(80) {
            return;
        }
        let seen = self.running[t].sees();
        let i = self.finder.below((seen.len() as u64).max(1)) as usize;
        let Some((_, row)) = seen.into_values().nth(i) else { return };
        let key = row[OTHER].clone();
        if key.is_null() {
            return;
        }
        let has_key = |row: &Row| row[OTHER] == key;
        let txn = self.running[t].txn.undo.txn();
        let mut found = Vec::new();
        let outcome = outcome(self.table.find(1, &[Datum::from(&key)], txn, |tid| {
            found.push(tid);
            ControlFlow::Continue(())
        }));
        let prefix = [Datum::from(&key)];
        let search = KeySearch { index: 1, prefix: &prefix, from: None, txn };
        let mut sought = Sought { matters: true, tids: Vec::new() };
        let (waits, _) = self::outcome(self.table.seek(search, &mut sought));
        assert_eq!(waits == Outcome::Done, outcome.0 == Outcome::Done, "as all rows matter");
        let mut free = Sought { matters: false, tids: Vec::new() };
        let (freely, _) = self::outcome(self.table.seek(search, &mut free));
        assert!(freely == Outcome::Done || outcome.0 != Outcome::Done, "no row matters");
        let others = self.running.iter().enumerate().filter(|(u, _)| *u != t);
        let writes = others.flat_map(|(_, other)| other.wrote.iter());
        let mut meets = writes.filter(|(id, versions)| {
            versions.iter().flatten().any(|(_, row)| has_key(row))
                || self.committed.get(id).is_some_and(|(_, row)| has_key(row))
        });
        if let (Outcome::Wait(_), _) = outcome {
            assert!(meets.next().is_some(), "nobody to wait for");
            return;
        }
        let mut newest: BTreeMap<u64, &Row> =
            self.committed.iter().map(|(id, (_, row))| (*id, row)).collect();
        for (id, versions) in &self.running[t].wrote {
            match versions.last().expect("never empty") {
                Some((_, row)) => drop(newest.insert(*id, row)),
                None => drop(newest.remove(id)),
            }
        }
        let expected: Vec<i64> =
            newest.iter().filter(|(_, row)| has_key(row)).map(|(id, _)| *id as i64).collect();
        let now = Snapshot::new(Snapshot::ALL.base(), txn);
        let id_of = |tid: &Tid| {
            let mut row = RowBuffer::new();
            assert!(self.table.read(now, *tid, &[0], &mut row).expect("fits"), "it is there");
            let Datum::I64(id) = row.get(0) else { panic!("an id") };
            id
        };
        for tids in [found, sought.tids] {
            let mut ids: Vec<i64> = tids.iter().map(id_of).collect();
            ids.sort_unstable();
            assert_eq!(ids, expected, "rows with {key:?}, each once");
        }
        let free: BTreeSet<i64> = free.tids.iter().map(id_of).collect();
        assert!(free.iter().all(|id| expected.contains(id)), "rows with {key:?}");
    }
}
