//! Infers the order of a history's transactions.
//!
//! ```text
//! longest read of a key = order of its appends
//! ww: append -> next append      wr: append -> who read it last      rw: read -> next append
//! rt: ended -> started later     (only with real time)
//! ```
//! Departure from Elle: no inference from registers or sets, only from lists.

use std::collections::{BTreeMap, HashMap};

use super::{Anomaly, End, Finding, History, Key, Op, RealTime, Value};

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    Ww,
    Wr,
    Rw,
    Rt,
}

/// An edge between positions in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) why: Why,
}

/// A read of what others appended, the reader's own appends taken off.
struct Foreign<'a> {
    reader: usize,
    key: Key,
    list: &'a [Value],
}

/// A history taken apart.
pub(super) struct Inferred {
    pub(super) edges: Vec<Edge>,
    pub(super) findings: Vec<Finding>,
}

struct Facts<'a> {
    history: &'a History,
    /// Transaction and list of each appended value.
    writers: HashMap<Value, (usize, Key)>,
    orders: BTreeMap<Key, &'a [Value]>,
    findings: Vec<Finding>,
}

/// Finds everything but cycles, and the edges that may form some.
pub(super) fn infer(history: &History, real_time: RealTime) -> Inferred {
    let mut facts =
        Facts { history, writers: HashMap::new(), orders: BTreeMap::new(), findings: Vec::new() };
    facts.note_writers();
    let reads = facts.foreign_reads();
    facts.note_orders(&reads);
    facts.check_reads(&reads);
    facts.check_losses();
    let mut edges = facts.edges(&reads);
    if real_time == RealTime::Kept {
        edges.extend(facts.real_time());
    }
    edges.sort();
    edges.dedup();
    Inferred { edges, findings: facts.findings }
}

impl<'a> Facts<'a> {
    fn found(&mut self, anomaly: Anomaly, evidence: String) {
        self.findings.push(Finding { anomaly, evidence });
    }

    fn note_writers(&mut self) {
        for (at, txn) in self.history.txns.iter().enumerate() {
            for op in &txn.ops {
                if let Op::Append(key, value) = op {
                    let earlier = self.writers.insert(*value, (at, *key));
                    assert!(earlier.is_none(), "{value:?} is appended twice");
                }
            }
        }
    }

    /// Reads of transactions that did not abort; the order of a transaction's own appends is
    /// checked on the way.
    fn foreign_reads(&mut self) -> Vec<Foreign<'a>> {
        let mut reads = Vec::new();
        for (reader, txn) in self.history.txns.iter().enumerate() {
            if txn.end != End::Committed {
                continue;
            }
            let mut own: HashMap<Key, Vec<Value>> = HashMap::new();
            for op in &txn.ops {
                match op {
                    Op::Append(key, value) => own.entry(*key).or_default().push(*value),
                    Op::Read(key, list) => {
                        let mine = own.get(key).map_or(&[][..], Vec::as_slice);
                        let foreign = list.strip_suffix(mine);
                        let early = |value| self.writers.get(value).is_some_and(|w| w.0 == reader);
                        match foreign {
                            Some(list) if !list.iter().any(early) => {
                                reads.push(Foreign { reader, key: *key, list });
                            }
                            _ => self.found(
                                Anomaly::Internal,
                                format!("T{reader} appended {mine:?} and read {list:?}"),
                            ),
                        }
                    }
                }
            }
        }
        reads
    }

    fn note_orders(&mut self, reads: &[Foreign<'a>]) {
        let finals = self.history.final_lists.iter().map(|(key, list)| (*key, &list[..]));
        for (key, list) in finals.chain(reads.iter().map(|read| (read.key, read.list))) {
            let order = self.orders.entry(key).or_insert(list);
            if list.len() > order.len() {
                *order = list;
            }
        }
        // A committed read of one's own append says where it stands, too.
        for (at, txn) in self.history.txns.iter().enumerate() {
            for op in txn.ops.iter().filter(|_| txn.end == End::Committed) {
                let Op::Read(key, list) = op else { continue };
                let order = self.orders.entry(*key).or_insert(list);
                if list.len() > order.len() {
                    *order = list;
                } else if !order.starts_with(list) {
                    let evidence = format!("{key:?}: T{at} read {list:?}, and there is {order:?}");
                    self.findings.push(Finding { anomaly: Anomaly::Fork, evidence });
                }
            }
        }
    }

    fn check_reads(&mut self, reads: &[Foreign<'a>]) {
        for read in reads {
            let order = self.orders.get(&read.key).copied().unwrap_or_default();
            let (reader, list) = (read.reader, read.list);
            if !order.starts_with(list) {
                self.found(Anomaly::Fork, format!("T{reader} read {list:?} and not {order:?}"));
            }
            for value in list {
                match self.writers.get(value) {
                    Some(&(writer, key)) if key == read.key => {
                        if self.history.txns[writer].end == End::Aborted {
                            let evidence = format!("T{reader} read {value:?} of T{writer}");
                            self.found(Anomaly::G1a, evidence);
                        }
                    }
                    _ => self.found(Anomaly::Garbage, format!("T{reader} read {value:?}")),
                }
            }
            if let Some(writer) = self.unfinished(read) {
                let evidence = format!("T{reader} read {list:?} while T{writer} appended");
                self.found(Anomaly::G1b, evidence);
            }
        }
        let orders = std::mem::take(&mut self.orders);
        for (key, order) in &orders {
            let mut sorted = order.to_vec();
            sorted.sort();
            if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                self.found(Anomaly::Garbage, format!("{key:?} has a value twice: {order:?}"));
            }
        }
        self.orders = orders;
    }

    /// The transaction of the last value of a read, when it is not that one's last append.
    fn unfinished(&self, read: &Foreign<'_>) -> Option<usize> {
        let last = read.list.last()?;
        let &(writer, _) = self.writers.get(last)?;
        let mut appends = self.history.txns[writer].ops.iter().rev();
        let newest = appends.find_map(|op| match op {
            Op::Append(key, value) if *key == read.key => Some(value),
            _ => None,
        });
        (newest != Some(last)).then_some(writer)
    }

    fn check_losses(&mut self) {
        let history = self.history;
        for (at, txn) in history.txns.iter().enumerate() {
            for op in txn.ops.iter().filter(|_| txn.end != End::Unknown) {
                let Op::Append(key, value) = op else { continue };
                let Some(list) = history.final_lists.get(key) else { continue };
                match (txn.end, list.contains(value)) {
                    (End::Committed, false) => {
                        self.found(Anomaly::Lost, format!("{value:?} of T{at} to {key:?}"));
                    }
                    (End::Aborted, true) => {
                        self.found(Anomaly::G1a, format!("{value:?} of T{at} stays in {key:?}"));
                    }
                    _ => {}
                }
            }
        }
    }

    fn writer(&self, value: Value) -> Option<usize> {
        self.writers.get(&value).map(|&(writer, _)| writer)
    }

    fn edges(&self, reads: &[Foreign<'a>]) -> Vec<Edge> {
        let mut edges = Vec::new();
        let mut add = |from: Option<usize>, to: Option<usize>, why| {
            if let (Some(from), Some(to)) = (from, to)
                && from != to
            {
                edges.push(Edge { from, to, why });
            }
        };
        for order in self.orders.values() {
            for pair in order.windows(2) {
                add(self.writer(pair[0]), self.writer(pair[1]), Why::Ww);
            }
        }
        for read in reads {
            let order = self.orders.get(&read.key).copied().unwrap_or_default();
            let next = order.get(read.list.len()).and_then(|&value| self.writer(value));
            let last = read.list.last().and_then(|&value| self.writer(value));
            add(last, Some(read.reader), Why::Wr);
            add(Some(read.reader), next, Why::Rw);
        }
        edges
    }

    /// Edges from each transaction to those that began after its end, without what follows from
    /// others.
    fn real_time(&self) -> Vec<Edge> {
        let txns = &self.history.txns;
        let known = |at: &usize| txns[*at].end == End::Committed;
        let committed: Vec<usize> = (0..txns.len()).filter(known).collect();
        let mut edges = Vec::new();
        for &from in &committed {
            let later = committed.iter().filter(|&&to| txns[to].started > txns[from].ended);
            // Who begins after one of these has ended follows through it.
            let horizon = later.clone().map(|&to| txns[to].ended).min().unwrap_or(u64::MAX);
            let direct = later.filter(|&&to| txns[to].started <= horizon);
            edges.extend(direct.map(|&to| Edge { from, to, why: Why::Rt }));
        }
        edges
    }
}
