//! Lowers the ordered logical plan to the physical one.
//!
//! ```text
//! logical operator + needed columns -> lowered inputs -> node + column ids + properties
//! ```
//! Each lowered operator says which column id stands at which ordinal of its output; expressions
//! are lowered against that. What is needed flows down, so no operator outputs what nobody reads.
//!
//! Elsewhere: expressions and physical types (`expr`), scans (`scan`), joins (`join`), GROUP BY
//! (`aggregate`, `reduce`), shared sub-expressions (`common`), ORDER BY and windows (`order`), set
//! operations and CTEs (`rows`).

mod aggregate;
mod common;
mod considered;
mod ends;
mod expr;
mod few_keys;
mod in_order;
mod elements;
mod index;
pub(crate) mod join;
mod near;
mod order;
mod reduce;
mod rows;
mod scan;
mod sideways;
mod standalone;
mod terms;
mod ways;

use std::sync::Arc;

use hashbrown::HashMap;
use sql::algebra::{ColumnId, CteId, Expr, Plan, Query, TakesRestrictions};
use types::{PhysicalType, Result};

pub(crate) use expr::held_as;
pub(crate) use scan::fitted;
pub(crate) use standalone::lower_with;
pub use standalone::{lower, lower_held};

use crate::cardinality::{self, Estimator};
use crate::column_set::ColumnSet;
use crate::context::{Context, CteBody};
use crate::physical::{
    CteSource, Node, Operator, OperatorId, OutputColumn, PhysicalPlan, Prelude, PreludeKind,
};
use crate::properties::Properties;
use crate::{Technique, explain, memory, tree};

/// An operator with the ids of its output columns.
pub(crate) struct Lowered {
    /// The operator.
    pub(crate) node: Node,
    /// Ids by ordinal.
    pub(crate) columns: Vec<ColumnId>,
    /// Properties of its rows.
    pub(crate) properties: Properties,
}

/// Where a CTE is read once lowered.
struct CteSlot {
    source: CteSource,
    /// Output of the prelude, and what is known of it.
    output: Vec<OutputColumn>,
    columns: Vec<ColumnId>,
    properties: Properties,
}

/// State of lowering.
pub(crate) struct Lowering<'a, 'b> {
    context: &'a mut Context<'b>,
    estimator: &'a mut Estimator,
    preludes: Vec<Prelude>,
    operators: usize,
    recursions: usize,
    /// Prelude index and physical type of each scalar sub-query already lowered.
    scalars: HashMap<usize, (usize, PhysicalType)>,
    ctes: HashMap<CteId, CteSlot>,
    /// Positions of each CTE that some scan reads.
    read: HashMap<CteId, Vec<bool>>,
    names: HashMap<ColumnId, Arc<str>>,
    /// Ways by index to scans that cost more than these, unless a few rows are wanted in order.
    untaken: HashMap<OperatorId, Vec<index::Found>>,
    /// Ways to rows that were weighed, if they are to be told.
    considered: Vec<(OperatorId, String)>,
}

/// Lowers the whole query.
pub(crate) fn lower_query(
    context: &mut Context<'_>,
    estimator: &mut Estimator,
    root: Plan,
    query: &Query,
) -> Result<PhysicalPlan> {
    let mut names = HashMap::new();
    for column in &query.columns {
        names.entry(column.id).or_insert_with(|| Arc::from(column.name.as_str()));
    }
    let read = positions_read(context, &root, query);
    let mut lowering = Lowering {
        context,
        estimator,
        preludes: Vec::new(),
        operators: 0,
        recursions: 0,
        scalars: HashMap::new(),
        ctes: HashMap::new(),
        read,
        names,
        untaken: HashMap::new(),
        considered: Vec::new(),
    };
    let needed = query.columns.iter().map(|column| column.id).collect();
    let lowered = lowering.lower(&root, &needed)?;
    let ids: Vec<ColumnId> = query.columns.iter().map(|column| column.id).collect();
    let mut node = lowering.arranged(lowered, &ids, None)?;
    for (output, column) in node.output.iter_mut().zip(&query.columns) {
        output.name = Arc::from(column.name.as_str());
        output.ty = column.ty;
    }
    let operator_count = lowering.operators;
    let Lowering { preludes, considered, .. } = lowering;
    let memory_bytes = memory::held_bytes(&preludes, &node);
    let array_bytes = memory::array_bytes(&preludes, &node);
    let calls_routines = tree::calls_routines(&query.plan);
    Ok(PhysicalPlan {
        preludes,
        root: node,
        operator_count,
        memory_bytes,
        array_bytes,
        calls_routines,
        considered,
    })
}

/// Which positions of each CTE are read anywhere.
fn positions_read(
    context: &mut Context<'_>,
    root: &Plan,
    query: &Query,
) -> HashMap<CteId, Vec<bool>> {
    let mut mentioned: ColumnSet = query.columns.iter().map(|column| column.id).collect();
    let mut scans: Vec<(CteId, Vec<ColumnId>)> = Vec::new();
    let mut note = |plan: &Plan| {
        tree::every_plan(plan, &mut |p| {
            tree::exprs(p, &mut |e| tree::mention(e, &mut mentioned));
            match p {
                Plan::CteScan { cte, columns, .. } => {
                    scans.push((*cte, columns.iter().map(|c| c.0).collect()));
                }
                Plan::Distinct { input, .. } => mentioned.union(&tree::output_set(input)),
                _ => {}
            }
        });
    };
    note(root);
    context.scalars.iter().for_each(&mut note);
    for cte in &mut context.ctes {
        cte.body.plans_mut(&mut |plan| note(plan));
    }
    for scalar in &context.scalars {
        mentioned.union(&tree::output_set(scalar));
    }
    let mut read: HashMap<CteId, Vec<bool>> = HashMap::new();
    for (cte, columns) in scans {
        let flags = read.entry(cte).or_insert_with(|| vec![false; columns.len()]);
        for (flag, id) in flags.iter_mut().zip(columns) {
            *flag |= mentioned.contains(id);
        }
    }
    read
}

impl Lowering<'_, '_> {
    /// True when `technique` is used.
    fn has(&self, technique: Technique) -> bool {
        self.context.options.switches.has(technique)
    }

    /// Lowers `plan`, of which at least `needed` is output.
    pub(crate) fn lower(&mut self, plan: &Plan, needed: &ColumnSet) -> Result<Lowered> {
        types::stack::deep(|| self.lower_here(plan, needed))
    }

    fn lower_here(&mut self, plan: &Plan, needed: &ColumnSet) -> Result<Lowered> {
        types::budget::check()?;
        match plan {
            Plan::Scan { .. } => self.scan(plan, None, needed),
            Plan::FunctionScan { .. }
            | Plan::Input { .. }
            | Plan::Series { .. }
            | Plan::Values { .. } => self.leaf(plan, needed),
            Plan::Filter { input, predicate } => self.filter(input, predicate, needed),
            Plan::Project { input, columns } => {
                let kept = kept(columns, needed);
                let mut below = ColumnSet::default();
                kept.iter().for_each(|(_, e)| tree::mention(e, &mut below));
                let lowered = self.lower(input, &below)?;
                self.project(lowered, kept)
            }
            Plan::Join { .. } => self.join(plan, needed),
            Plan::Aggregate { .. } => self.aggregate(plan, needed),
            Plan::Distinct { input, on } => self.distinct(input, on, needed),
            Plan::Window { input, calls } => self.window(input, calls, needed),
            Plan::Sort { input, keys } => self.sort(input, keys, None, needed),
            Plan::Limit { input, limit, offset } => {
                self.limit(input, limit.as_ref(), offset.as_ref(), needed)
            }
            Plan::SetOperation { .. } => self.set_operation(plan, needed),
            Plan::CteScan { cte, columns, name } => self.cte_scan(*cte, columns, name, needed),
            Plan::With { .. } | Plan::RecursiveWith { .. } => {
                Err(types::Error::internal("a CTE that was not resolved"))
            }
        }
    }

    /// A node with a new id.
    fn node(&mut self, operator: Operator, output: Vec<OutputColumn>, rows: f64) -> Node {
        let id = OperatorId(self.operators);
        self.operators += 1;
        Node { id, operator, output, rows }
    }

    fn filter(&mut self, input: &Plan, predicate: &Expr, needed: &ColumnSet) -> Result<Lowered> {
        if matches!(input, Plan::Scan { .. }) {
            return self.scan(input, Some(predicate), needed);
        }
        let mut below = needed.clone();
        tree::mention(predicate, &mut below);
        let mut lowered = self.lower(input, &below)?;
        if let Plan::FunctionScan { function, columns } = input
            && function.0.takes() == TakesRestrictions::Yes
        {
            self.restrict_function(&mut lowered, columns, predicate)?;
        }
        let lowered_predicate = self.expr(predicate, &lowered)?;
        let properties = cardinality::filtered(
            self.context,
            self.estimator,
            input,
            predicate,
            lowered.properties,
        );
        let output = lowered.node.output.clone();
        let input = Box::new(lowered.node);
        let operator = Operator::Filter { input, predicate: lowered_predicate };
        let node = self.node(operator, output, properties.rows);
        Ok(Lowered { node, columns: lowered.columns, properties })
    }

    /// `columns` computed over `lowered`; parts that occur twice are computed once, below.
    pub(crate) fn project(
        &mut self,
        lowered: Lowered,
        mut columns: Vec<(ColumnId, Expr)>,
    ) -> Result<Lowered> {
        let shared = if self.has(Technique::CommonSubexpressions) {
            common::extract(self.context, &mut columns)
        } else {
            Vec::new()
        };
        if !shared.is_empty() {
            let mut below = shared;
            let mut read = ColumnSet::default();
            columns.iter().for_each(|(_, e)| tree::mention(e, &mut read));
            for (id, output) in lowered.columns.iter().zip(&lowered.node.output) {
                if read.contains(*id) {
                    below.push((*id, tree::column(*id, output.ty)));
                }
            }
            let lowered = self.project(lowered, below)?;
            return self.project(lowered, columns);
        }
        let properties = cardinality::projected(&columns, &lowered.properties);
        if let Some(renamed) = pass_through(&lowered.columns, &columns) {
            return Ok(Lowered { node: lowered.node, columns: renamed, properties });
        }
        let mut exprs = Vec::with_capacity(columns.len());
        let mut output = Vec::with_capacity(columns.len());
        for (id, expr) in &columns {
            let physical = self.expr(expr, &lowered)?;
            let name = self.name_of(*id, &physical, &lowered.node.output);
            output.push(OutputColumn { name, ty: expr.ty, physical: physical.physical });
            exprs.push(physical);
        }
        let rows = lowered.node.rows;
        let operator = Operator::Project { input: Box::new(lowered.node), exprs };
        let node = self.node(operator, output, rows);
        let columns = columns.into_iter().map(|(id, _)| id).collect();
        Ok(Lowered { node, columns, properties })
    }

    /// The name shown for a computed column.
    fn name_of(
        &mut self,
        id: ColumnId,
        expr: &crate::physical::Expr,
        input: &[OutputColumn],
    ) -> Arc<str> {
        if let Some(name) = self.names.get(&id) {
            return Arc::clone(name);
        }
        let name: Arc<str> = match expr.kind {
            crate::physical::ExprKind::Column(i) => Arc::clone(&input[i].name),
            _ => explain::short_text(expr, input).into(),
        };
        self.names.insert(id, Arc::clone(&name));
        name
    }

    /// The node with exactly the columns `ids` in order, held as `physical` says when given.
    fn arranged(
        &mut self,
        lowered: Lowered,
        ids: &[ColumnId],
        physical: Option<&[PhysicalType]>,
    ) -> Result<Node> {
        let held = |i: usize| physical.map(|p| p[i]);
        let fits = lowered.columns == ids
            && (0..ids.len()).all(|i| held(i).is_none_or(|p| p == lowered.node.output[i].physical));
        if fits {
            return Ok(lowered.node);
        }
        let (mut exprs, mut output) = (Vec::new(), Vec::new());
        for (i, id) in ids.iter().enumerate() {
            let (ordinal, column) = lowered.find(*id)?;
            let mut expr = expr::column(ordinal, column);
            if let Some(physical) = held(i) {
                expr = expr::held_as(expr, physical);
            }
            output.push(OutputColumn { physical: expr.physical, ..column.clone() });
            exprs.push(expr);
        }
        let rows = lowered.node.rows;
        let operator = Operator::Project { input: Box::new(lowered.node), exprs };
        Ok(self.node(operator, output, rows))
    }

    /// The prelude that computes scalar sub-query `index`, and how its value is held.
    fn scalar(&mut self, index: usize) -> Result<(usize, PhysicalType)> {
        if let Some(known) = self.scalars.get(&index) {
            return Ok(*known);
        }
        let plan = self.context.scalars.get_mut(index).map(tree::take);
        let plan = plan.ok_or_else(|| types::Error::internal("an unknown scalar sub-query"))?;
        let first: Vec<ColumnId> = tree::output(&plan).iter().take(1).map(|c| c.0).collect();
        let lowered = self.lower(&plan, &first.iter().copied().collect())?;
        let node = self.arranged(lowered, &first, None)?;
        let physical = node.output.first().map_or(PhysicalType::Bool, |column| column.physical);
        self.preludes.push(Prelude { node, kind: PreludeKind::Scalar });
        let slot = (self.preludes.len() - 1, physical);
        self.scalars.insert(index, slot);
        Ok(slot)
    }

    /// Lowers the CTE unless that is done.
    fn prepare_cte(&mut self, id: CteId) -> Result<()> {
        if self.ctes.contains_key(&id) {
            return Ok(());
        }
        let at = self.context.ctes.iter().position(|cte| cte.id == id);
        let at = at.ok_or_else(|| types::Error::internal("an unknown CTE"))?;
        let definition = self.context.ctes.swap_remove(at);
        match definition.body {
            CteBody::Plain(plan) => {
                let all: Vec<ColumnId> = tree::output(&plan).iter().map(|c| c.0).collect();
                let read = self.read.get(&id).cloned().unwrap_or_default();
                let kept: Vec<ColumnId> = all
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| read.get(*i).copied().unwrap_or(true))
                    .map(|(_, id)| *id)
                    .collect();
                let lowered = self.lower(&plan, &kept.iter().copied().collect())?;
                let properties = lowered.properties.clone();
                let node = self.arranged(lowered, &kept, None)?;
                let kept = Lowered { node, columns: kept, properties };
                self.keep(id, kept, all, PreludeKind::Materialized);
                Ok(())
            }
            CteBody::Recursive { duplicates, base, step } => {
                self.recursive(id, duplicates, &base, &step)
            }
        }
    }

    /// Makes an operator a materialised prelude that scans of `id`, whose columns are `all`, read.
    fn keep(&mut self, id: CteId, kept: Lowered, all: Vec<ColumnId>, kind: PreludeKind) {
        let Lowered { node, columns, properties } = kept;
        let output = node.output.clone();
        self.preludes.push(Prelude { node, kind });
        let source = CteSource::Prelude(self.preludes.len() - 1);
        self.estimator.ctes.insert(id, (all, properties.clone()));
        self.ctes.insert(id, CteSlot { source, output, columns, properties });
    }
}

impl Lowered {
    /// The same operator once more, in another plan for the same rows.
    fn copied(&self) -> Self {
        let (node, columns) = (self.node.clone(), self.columns.clone());
        Self { node, columns, properties: self.properties.clone() }
    }

    /// Ordinal and column of `id`.
    pub(crate) fn find(&self, id: ColumnId) -> Result<(usize, &OutputColumn)> {
        let found = self.columns.iter().position(|column| *column == id);
        found.map(|i| (i, &self.node.output[i])).ok_or_else(|| {
            types::Error::internal(format!("column {} is not in the input of its reader", id.0))
        })
    }
}

/// The columns that are read, and those whose computation leaves something behind.
fn kept(columns: &[(ColumnId, Expr)], needed: &ColumnSet) -> Vec<(ColumnId, Expr)> {
    let stays = |(id, e): &&(ColumnId, Expr)| needed.contains(*id) || tree::has_effects(e);
    columns.iter().filter(stays).cloned().collect()
}

/// New ids for the columns of the input, when `columns` only picks and renames them.
fn pass_through(input: &[ColumnId], columns: &[(ColumnId, Expr)]) -> Option<Vec<ColumnId>> {
    let mut renamed: Vec<Option<ColumnId>> = vec![None; input.len()];
    for (id, expr) in columns {
        let old = tree::as_column(expr)?;
        let slot = &mut renamed[input.iter().position(|c| *c == old)?];
        if slot.is_some() {
            return None;
        }
        *slot = Some(*id);
    }
    // A column that nobody needs keeps an id that nobody reads.
    Some(renamed.into_iter().zip(input).map(|(new, old)| new.unwrap_or(*old)).collect())
}
