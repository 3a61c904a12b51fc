//! Lines that nodes write of their transactions, one for each step, and the history of all.
//!
//! ```text
//! begin N START | ops N OP OP ... | end N committed|aborted|unknown END | done
//! OP   r LIST:ELEMENT,ELEMENT,...   or   a LIST:ELEMENT
//! ```
//! `ops` comes before the commit: a transaction without it wrote nothing. `done` is a transaction
//! that is no part of the history.

use std::collections::BTreeMap;
use std::sync::Mutex;

use testkit::histories::{End, History, Key, Op, Txn, Value};

/// A step of a transaction.
pub(crate) enum Step<'a> {
    Begin(u64),
    Ops(&'a [Op]),
    End(End, u64),
}

/// The line of a step.
pub(crate) fn line(number: u64, step: &Step<'_>) -> String {
    match step {
        Step::Begin(started) => format!("begin {number} {started}"),
        Step::Ops(ops) => {
            let ops: Vec<String> = ops.iter().map(op_text).collect();
            format!("ops {number} {}", ops.join(" "))
        }
        Step::End(end, ended) => {
            let end = match end {
                End::Committed => "committed",
                End::Aborted => "aborted",
                End::Unknown => "unknown",
            };
            format!("end {number} {end} {ended}")
        }
    }
}

fn op_text(op: &Op) -> String {
    match op {
        Op::Append(list, element) => format!("a{}:{}", list.0, element.0),
        Op::Read(list, elements) => {
            let elements: Vec<String> = elements.iter().map(|e| e.0.to_string()).collect();
            format!("r{}:{}", list.0, elements.join(","))
        }
    }
}

fn op(text: &str) -> Option<Op> {
    let (list, elements) = text.get(1..)?.split_once(':')?;
    let list = Key(list.parse().ok()?);
    if text.starts_with('a') {
        return Some(Op::Append(list, Value(elements.parse().ok()?)));
    }
    let elements = elements.split(',').filter(|e| !e.is_empty());
    Some(Op::Read(list, elements.map(|e| Some(Value(e.parse().ok()?))).collect::<Option<_>>()?))
}

#[derive(Default)]
struct Said {
    /// By node and number.
    txns: BTreeMap<(u32, u64), Txn>,
    committed: usize,
    latest: u64,
}

/// The lines of all nodes.
#[derive(Default)]
pub(crate) struct Journal(Mutex<Said>);

impl Journal {
    /// Takes a line of a node; others than ours say nothing.
    pub(crate) fn line(&self, node: u32, line: &str) {
        let mut said = self.0.lock().expect("no reader panics");
        let mut words = line.split(' ');
        let Some(kind @ ("begin" | "ops" | "end" | "done")) = words.next() else { return };
        if kind == "done" {
            said.committed += 1;
            return;
        }
        let number = words.next().and_then(|word| word.parse().ok()).expect("a number");
        let time = |word: Option<&str>| word.and_then(|w| w.parse().ok()).expect("a time");
        let fresh = || Txn { ops: Vec::new(), end: End::Unknown, started: 0, ended: 0 };
        let Said { txns, committed, latest } = &mut *said;
        let txn = txns.entry((node, number)).or_insert_with(fresh);
        match kind {
            "begin" => txn.started = time(words.next()),
            "ops" => {
                let words = words.filter(|word| !word.is_empty());
                txn.ops = words.map(|word| op(word).expect("an operation")).collect();
            }
            _ => {
                txn.end = match words.next() {
                    Some("committed") => End::Committed,
                    Some("aborted") => End::Aborted,
                    _ => End::Unknown,
                };
                txn.ended = time(words.next());
                *latest = txn.ended.max(*latest);
                *committed += usize::from(txn.end == End::Committed);
            }
        }
    }

    /// Transactions that committed.
    pub(crate) fn committed(&self) -> usize {
        self.0.lock().expect("no reader panics").committed
    }

    /// All transactions that may have done something.
    pub(crate) fn history(&self) -> History {
        let said = self.0.lock().expect("no reader panics");
        let mut history = History::default();
        for txn in said.txns.values().filter(|txn| !txn.ops.is_empty()) {
            let mut txn = txn.clone();
            if txn.end == End::Unknown {
                txn.ended = said.latest + 1;
            }
            history.txns.push(txn);
        }
        history
    }

    /// The largest list that anybody used.
    pub(crate) fn last_list(&self) -> u32 {
        let said = self.0.lock().expect("no reader panics");
        let ops = said.txns.values().flat_map(|txn| &txn.ops);
        let lists = ops.map(|op| match op {
            Op::Append(list, _) | Op::Read(list, _) => list.0,
        });
        lists.max().unwrap_or(0)
    }
}
