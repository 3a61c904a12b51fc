//! Semi-joins from a few keys: each key once, then the rows of the large table that have it.
//!
//! ```text
//! t semi-join u on t.c = u.id      $0: the distinct keys u.id
//! -> Choice by the rows of $0      few: $0 index join t      many: t semi-join $0
//! ```
//! The keys are counted before either plan begins, so that no estimate of them can mislead.

use sql::algebra::{ColumnId, Expr as Logical, JoinKind as Logic};
use types::Result;

use super::index::{ScanParts, as_scan};
use super::join::Join;
use super::{Lowered, Lowering};
use crate::column_set::ColumnSet;
use crate::physical::{CteSource, NullKeys, Operator, Prelude, PreludeKind};
use crate::properties::Properties;
use crate::{IndexPaths, cost, tree};

impl Lowering<'_, '_> {
    /// The semi-join from its right side, where that has few keys and an index of the left side
    /// finds them.
    pub(super) fn few_keys(
        &mut self,
        join: &Join<'_>,
        left: &Lowered,
        right: &Lowered,
    ) -> Result<Option<Lowered>> {
        let is_plain = join.kind == Logic::Semi
            && join.rest.is_empty()
            && !join.pairs.is_empty()
            && join.pairs.iter().all(|(_, _, nulls)| *nulls == NullKeys::Differ);
        let paths = self.context.options.index_paths;
        let Some(scan) = ScanParts::of(as_scan(&left.node)).filter(|_| is_plain) else {
            return Ok(None);
        };
        let whole = cost::scan(self.context.table(scan.table).rows);
        let rows = right.properties.rows;
        // Of a few rows each looks for its partners, or they are read whole.
        let is_less = rows < left.properties.rows && cost::index(rows, rows) < whole;
        let is_few = paths == IndexPaths::Prefer || is_less;
        if paths == IndexPaths::Avoid || !is_few {
            return Ok(None);
        }
        let keys: Vec<(ColumnId, Logical)> =
            join.pairs.iter().map(|(_, key, _)| (self.context.fresh(), key.clone())).collect();
        let ids: ColumnSet = keys.iter().map(|(id, _)| *id).collect();
        let pairs =
            join.pairs.iter().zip(&keys).map(|((left, key, nulls), (id, _))| {
                (left.clone(), tree::column(*id, key.ty), *nulls)
            });
        let pairs: Vec<_> = pairs.collect();
        let distinct = self.group(right.copied(), keys, Vec::new(), &ids)?;
        let by_index = Join { kind: Logic::Inner, pairs: pairs.clone(), ..join.like() };
        let Some(choice) = self.inner_by_index(&by_index, &distinct, left, true)? else {
            return Ok(None);
        };
        let of_key = choice.cost / distinct.properties.rows.max(1.0);
        let rows_max =
            if paths == IndexPaths::Prefer { u64::MAX } else { (whole / of_key).max(1.0) as u64 };
        let prelude = self.preludes.len();
        let few = self.reading(prelude, &distinct);
        let many = self.reading(prelude, &distinct);
        self.preludes.push(Prelude { node: distinct.node, kind: PreludeKind::Materialized });
        let few = self.index_join(by_index, choice, left.copied(), few)?;
        let by_hash = Join { pairs, ..join.like() };
        let many = self.oriented(by_hash, left.copied(), many)?;
        let many = Box::new(self.arranged(many, &few.columns, None)?);
        let output = few.node.output.clone();
        let few_node = Box::new(few.node);
        let operator = Operator::Choice { prelude, rows_max, few: few_node, many };
        let node = self.node(operator, output, join.properties.rows);
        Ok(Some(Lowered { node, columns: few.columns, properties: join.properties.clone() }))
    }

    /// A scan of what prelude number `prelude`, which `made` is, leaves.
    fn reading(&mut self, prelude: usize, made: &Lowered) -> Lowered {
        let output = made.node.output.clone();
        let columns = (0..output.len()).collect();
        let source = CteSource::Prelude(prelude);
        let operator = Operator::CteScan { source, columns, name: "keys".into() };
        let properties: Properties = made.properties.clone();
        let node = self.node(operator, output, properties.rows);
        Lowered { node, columns: made.columns.clone(), properties }
    }
}
