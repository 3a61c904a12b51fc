//! Groups whose keys and results are made when somebody asks for them.
//!
//! ```text
//! table of keys, states -> flow without columns -> ORDER BY c LIMIT 10: c of all groups,
//!                                                  keys and other results of those that stay
//! ```

use std::sync::Arc;

use kernels::{Column, Vector, VectorData};
use storage::{Positions, Reservation};
use types::{Error, PhysicalType, Result};

use super::grouper::table_view;
use super::intern::Dictionary;
use super::keys::{KeyForm, KeyTable, KeyView};
use super::local::{Groups, SetLocal};
use super::sink::{AggregateSink, null_column};
use super::states::States;
use crate::flow::{Flow, RowSource};

/// How the columns of one set's groups are made.
pub(crate) struct SetShape {
    /// The aggregation.
    pub(crate) sink: Arc<AggregateSink>,
    /// The set's number.
    pub(crate) set: usize,
    /// How all keys are held.
    pub(crate) keys: Arc<[PhysicalType]>,
    /// For each key the state that has its values, if not the key itself: intervals.
    pub(crate) replaced: Arc<[Option<usize>]>,
    /// The set's keys among all keys.
    pub(crate) ordinals: Vec<usize>,
    /// True when the last column is the set's number.
    pub(crate) numbered: bool,
    /// The strings of the set's keys.
    pub(crate) dictionaries: Vec<Option<Dictionary>>,
}

impl SetShape {
    /// Columns of the output.
    pub(crate) fn width(&self) -> usize {
        self.keys.len() + self.sink.plan.results.len() + usize::from(self.numbered)
    }

    /// Column `column` of `groups`; `key` makes the set's key of this number.
    ///
    /// # Errors
    /// Errors of states.
    pub(crate) fn column(
        &self,
        column: usize,
        states: &[Box<dyn States>],
        groups: &[u32],
        key: impl FnOnce(usize) -> Column,
    ) -> Result<Column> {
        if let Some(&physical) = self.keys.get(column) {
            let own = self.ordinals.iter().position(|&ordinal| ordinal == column);
            return Ok(match (own, self.replaced[column]) {
                (None, _) => null_column(physical, groups.len()),
                (Some(_), Some(state)) => Column::plain(states[state].finish(groups)?),
                (Some(number), None) => key(number),
            });
        }
        match self.sink.plan.results.get(column - self.keys.len()) {
            Some(result) => Ok(Column::plain(result.finish(states, groups)?)),
            None => {
                let number = Arc::new(Vector::new(VectorData::I64(vec![self.set as i64])));
                Ok(Column::Constant(number, groups.len()))
            }
        }
    }
}

/// A table and its states.
pub(crate) enum Table {
    /// Groups of one worker, or the merged parts of all workers.
    Part(Box<SetLocal>),
    /// A partition, merged.
    Merged(KeyTable, Vec<Box<dyn States>>),
}

/// The groups of a table.
pub(crate) struct GroupRows {
    shape: Arc<SetShape>,
    form: KeyForm,
    table: Table,
    /// Memory of a partition; other tables have theirs in the source of groups.
    _memory: Option<Reservation>,
}

impl GroupRows {
    /// The groups of `table`, whose keys are of `form`.
    pub(crate) fn new(
        shape: &Arc<SetShape>,
        form: KeyForm,
        table: Table,
        memory: Option<Reservation>,
    ) -> Self {
        Self { shape: Arc::clone(shape), form, table, _memory: memory }
    }

    /// Groups.
    pub(crate) fn len(&self) -> usize {
        self.view().map_or(0, |view| view.len())
    }

    fn view(&self) -> Option<KeyView<'_>> {
        match &self.table {
            Table::Part(part) => match &part.groups {
                Groups::Hash(grouper) => Some(grouper.view()),
                _ => None,
            },
            Table::Merged(table, _) => Some(table_view(table)),
        }
    }

    /// A flow of `len` groups from `start` on.
    pub(crate) fn flow(self: &Arc<Self>, start: u32, len: u32) -> Flow {
        let source = Arc::clone(self) as Arc<dyn RowSource>;
        Flow::from_source(source, self.shape.width(), Positions::Range { start, len })
    }
}

impl RowSource for GroupRows {
    fn fetch(&self, column: usize, positions: &Positions) -> Result<Column> {
        let groups = positions.to_list();
        let view = self.view().ok_or_else(|| Error::internal("groups of a table"))?;
        let states = match &self.table {
            Table::Part(part) => &part.states,
            Table::Merged(_, states) => states,
        };
        let shape = &self.shape;
        let layout = shape.sink.sets[shape.set].shared.layout(self.form);
        let key = |number| view.column(&layout, &shape.dictionaries, number, &groups);
        shape.column(column, states, &groups, key)
    }
}
