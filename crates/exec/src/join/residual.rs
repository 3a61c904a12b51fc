//! The part of a join condition that keys do not decide, on candidate pairs.

use kernels::join_table::Pairs;
use kernels::{Batch, Column};
use plan::physical::{Expr, ExprKind};
use types::Result;

use crate::expr::{Evaluator, children_mut};
use crate::flow::Flow;

use super::build::BuildRows;
use super::layout::Layout;

/// A condition over the layout's residual columns: probe columns, then build columns.
pub(super) struct Residual {
    evaluator: Evaluator,
    build: Vec<usize>,
}

fn renumber(expr: &mut Expr, number: &impl Fn(usize) -> usize) {
    if let ExprKind::Column(column) = &mut expr.kind {
        *column = number(*column);
    }
    for child in children_mut(&mut expr.kind) {
        renumber(child, number);
    }
}

impl Residual {
    /// `condition` over probe columns, then build columns.
    pub(super) fn new(condition: &Expr, layout: &Layout) -> Result<Self> {
        let mut condition = condition.clone();
        let place = |list: &[usize], value: usize| {
            list.iter().position(|&v| v == value).expect("the layout has the condition's columns")
        };
        renumber(&mut condition, &|column| {
            if column < layout.probe_width {
                return place(&layout.residual_probe, column);
            }
            let stored = place(&layout.build, column - layout.probe_width);
            layout.residual_probe.len() + place(&layout.residual_build, stored)
        });
        Ok(Self { evaluator: Evaluator::new(&condition)?, build: layout.residual_build.clone() })
    }

    fn batch(&self, probe: &Flow, build: &BuildRows, pairs: &Pairs) -> Batch {
        let probe = probe.batch().gather(&pairs.probe);
        let mut columns = probe.columns;
        columns.extend(self.build.iter().map(|&column| build.gather(column, &pairs.build)));
        Batch::new(columns, pairs.len())
    }

    /// Keeps the pairs for which the condition is true; `probe` has the residual's probe columns,
    /// loaded.
    pub(super) fn keep(&self, probe: &Flow, build: &BuildRows, pairs: &mut Pairs) -> Result<()> {
        let batch = self.batch(probe, build, pairs);
        let mut kept = (0..pairs.len() as u32).collect();
        self.evaluator.select(&batch, &mut kept)?;
        pairs.keep(&kept);
        Ok(())
    }

    /// As [`Self::keep`], and appends the probe rows of pairs for which the condition is NULL.
    pub(super) fn keep_and_note_unknown(
        &self,
        probe: &Flow,
        build: &BuildRows,
        pairs: &mut Pairs,
        unknown: &mut Vec<u32>,
    ) -> Result<()> {
        let batch = self.batch(probe, build, pairs);
        let truth: Column = self.evaluator.evaluate(&batch)?;
        let truth = truth.to_vector();
        let bits = truth.as_bool();
        let mut kept = Vec::with_capacity(pairs.len());
        for i in 0..pairs.len() {
            if truth.is_null(i) {
                unknown.push(pairs.probe[i]);
            } else if bits[i] != 0 {
                kept.push(i as u32);
            }
        }
        pairs.keep(&kept);
        Ok(())
    }
}
