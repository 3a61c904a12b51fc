//! Precision locking: a serializable transaction commits only if nobody who committed since its
//! snapshot changed what it read.
//!
//! Reads are kept as predicates, table by table: the restrictions of the scans. A change
//! counts when the row before or after it satisfies one of them.
//! Source: Neumann, Mühlbauer, Kemper 2015, section 2.3. Departure: predicates are tested one by
//! one, not by a predicate tree.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use storage::{
    Change, ChangeKind, Restriction, RestrictionKind, RowBuffer, Table, TableId, UndoBuffer,
};
use types::{CompareOp, Error, Result, SqlState, Value};

/// Predicates after which a table counts as read whole, so that they take little memory.
const PREDICATES_MAX: usize = 1000;

/// Rows of one table that satisfy all of these.
struct Predicate(Vec<(usize, Condition)>);

enum Condition {
    Compare(CompareOp, Value),
    Between(Bound<Value>, Bound<Value>),
    InList(Vec<Value>),
    IsNull,
    IsNotNull,
}

struct TableReads {
    table: Arc<Table>,
    /// None: all rows.
    predicates: Option<Vec<Predicate>>,
}

/// Reads of a transaction.
#[derive(Default)]
pub(crate) struct Reads {
    tables: Vec<TableReads>,
}

impl Reads {
    /// Adds rows of `table` that satisfy `restrictions`; those that cannot be tested on a single
    /// row later count as always satisfied.
    pub(crate) fn add(&mut self, table: &Arc<Table>, restrictions: &[Restriction]) {
        let at = match self.tables.iter().position(|t| Arc::ptr_eq(&t.table, table)) {
            Some(at) => at,
            None => {
                let table = Arc::clone(table);
                self.tables.push(TableReads { table, predicates: Some(Vec::new()) });
                self.tables.len() - 1
            }
        };
        let reads = &mut self.tables[at];
        let conditions: Vec<_> = restrictions
            .iter()
            .filter_map(|r| Condition::of(&r.kind).map(|condition| (r.column, condition)))
            .collect();
        match &mut reads.predicates {
            Some(predicates) if !conditions.is_empty() && predicates.len() < PREDICATES_MAX => {
                predicates.push(Predicate(conditions));
            }
            all => *all = None,
        }
    }

    /// Adds the rows of `table` with these values in these columns: a point read.
    pub(crate) fn add_key(&mut self, table: &Arc<Table>, key: Vec<(usize, Value)>) {
        let equal = |(column, value)| {
            let kind = RestrictionKind::Compare(CompareOp::Equal, value);
            Restriction { column, kind }
        };
        let restrictions: Vec<Restriction> = key.into_iter().map(equal).collect();
        self.add(table, &restrictions);
    }

    /// Numbers of the tables of which something was read.
    pub(crate) fn tables(&self) -> Vec<TableId> {
        self.tables.iter().map(|reads| reads.table.id()).collect()
    }

    /// Looks for a change of what was read.
    ///
    /// # Errors
    /// 40001.
    pub(crate) fn validate(&self, newer: &mut dyn Iterator<Item = &UndoBuffer>) -> Result<()> {
        for undo in newer {
            if undo.changes().any(|change| self.read(&change)) {
                let message = "could not serialize access due to read/write dependencies among \
                               transactions";
                return Err(Error::new(SqlState::SERIALIZATION_FAILURE, message)
                    .with_hint("The transaction might succeed if retried."));
            }
        }
        Ok(())
    }

    fn read(&self, change: &Change<'_>) -> bool {
        use ChangeKind::{Lock, Source, Target, Void};
        if matches!(change.kind, Lock | Void | Source | Target) {
            return false;
        }
        let read = self.tables.iter().find(|t| Arc::ptr_eq(&t.table, change.table));
        read.is_some_and(|reads| match &reads.predicates {
            None => true,
            Some(_) if change.kind == ChangeKind::Block => true,
            Some(predicates) => predicates.iter().any(|p| p.meets(change)),
        })
    }
}

impl Predicate {
    /// True when the row satisfied it before the change, or does after it.
    fn meets(&self, change: &Change<'_>) -> bool {
        let mut buffer = RowBuffer::default();
        let existed = change.kind != ChangeKind::Insert;
        let exists = change.kind != ChangeKind::Delete;
        let before =
            |column: usize, buffer: &mut RowBuffer| change.before(column, buffer).to_value();
        let after = |column: usize, buffer: &mut RowBuffer| change.after(column, buffer).to_value();
        (existed && self.0.iter().all(|(c, p)| p.holds(&before(*c, &mut buffer))))
            || (exists && self.0.iter().all(|(c, p)| p.holds(&after(*c, &mut buffer))))
    }
}

impl Condition {
    fn of(kind: &RestrictionKind) -> Option<Self> {
        Some(match kind {
            RestrictionKind::Compare(op, value) => Self::Compare(*op, value.clone()),
            RestrictionKind::Between { low, high } => Self::Between(low.clone(), high.clone()),
            RestrictionKind::InList(values) => Self::InList(values.clone()),
            RestrictionKind::IsNull => Self::IsNull,
            RestrictionKind::IsNotNull => Self::IsNotNull,
            _ => return None,
        })
    }

    fn holds(&self, value: &Value) -> bool {
        if value.is_null() {
            return matches!(self, Self::IsNull);
        }
        match self {
            Self::IsNull => false,
            Self::IsNotNull => true,
            Self::Compare(op, bound) => compare(value, bound).is_none_or(|order| op.accepts(order)),
            Self::Between(low, high) => {
                let above = match low {
                    Bound::Included(low) => compare(value, low).is_none_or(Ordering::is_ge),
                    Bound::Excluded(low) => compare(value, low).is_none_or(Ordering::is_gt),
                    Bound::Unbounded => true,
                };
                let below = match high {
                    Bound::Included(high) => compare(value, high).is_none_or(Ordering::is_le),
                    Bound::Excluded(high) => compare(value, high).is_none_or(Ordering::is_lt),
                    Bound::Unbounded => true,
                };
                above && below
            }
            Self::InList(values) => {
                values.iter().any(|v| compare(value, v).is_none_or(Ordering::is_eq))
            }
        }
    }
}

/// The order of two values of one column; None when this code does not know it, so that the
/// condition counts as satisfied.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    let integer = |value: &Value| match value {
        Value::Bool(v) => Some(i128::from(*v)),
        Value::I32(v) => Some(i128::from(*v)),
        Value::I64(v) => Some(i128::from(*v)),
        Value::I128(v) => Some(*v),
        _ => None,
    };
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => a.partial_cmp(b),
        _ => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => text_order(a, b),
        },
    }
}

fn text_order(a: &Value, b: &Value) -> Option<Ordering> {
    let (Value::Str(a), Value::Str(b)) = (a, b) else { return None };
    // Blanks at the end count for TEXT and not for CHAR.
    let differ = a.trim_ascii_end() != b.trim_ascii_end();
    differ.then(|| a.cmp(b))
}
