//! State that the passes share: fresh ids, statistics, and parts of a query computed once.

use std::sync::Arc;

use hashbrown::HashMap;
use sql::algebra::{ColumnId, CteId, Duplicates, Expr, ExprKind, Plan, Query};
use sql::catalog::TableRef;
use types::DataType;

use crate::tree::{self, Renaming};
use crate::{PlanOptions, Statistics, TableStatistics};

/// A CTE that is computed once and read by [`Plan::CteScan`].
#[derive(Clone, Debug)]
pub(crate) struct Cte {
    /// Its id.
    pub(crate) id: CteId,
    /// Plan that computes it.
    pub(crate) body: CteBody,
    /// True when its readers' filters were looked at.
    pub(crate) is_narrowed: bool,
}

/// Plan that computes a CTE. Outputs are positional, so each plan is a Project.
#[derive(Clone, Debug)]
pub(crate) enum CteBody {
    /// A plan.
    Plain(Plan),
    /// WITH RECURSIVE.
    Recursive {
        /// UNION or UNION ALL.
        duplicates: Duplicates,
        /// First rows.
        base: Plan,
        /// Further rows.
        step: Plan,
    },
}

impl CteBody {
    /// Each plan of the body.
    pub(crate) fn plans(&self) -> Vec<&Plan> {
        match self {
            Self::Plain(plan) => vec![plan],
            Self::Recursive { base, step, .. } => vec![base, step],
        }
    }

    /// Calls `f` with each plan of the body.
    pub(crate) fn plans_mut(&mut self, f: &mut dyn FnMut(&mut Plan)) {
        match self {
            Self::Plain(plan) => f(plan),
            Self::Recursive { base, step, .. } => {
                f(base);
                f(step);
            }
        }
    }
}

/// A scan of a partitioned table in whose place is the union of the scans of its partitions.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    /// The table.
    pub(crate) table: TableRef,
    /// Columns of the scan, which are those of the union, and their ordinals in the table.
    pub(crate) columns: Vec<(ColumnId, usize)>,
    /// Numbers of the leaves that are read, in the order of the union.
    pub(crate) leaves: Vec<usize>,
}

/// State of one planning.
#[derive(Clone)]
pub(crate) struct Context<'a> {
    /// The data.
    pub(crate) statistics: &'a dyn Statistics,
    next_column: u32,
    next_cte: u32,
    /// Choices of the caller.
    pub(crate) options: PlanOptions,
    /// Parameters of the query itself; later numbers are `scalars`.
    parameter_count: u32,
    /// Uncorrelated scalar sub-queries: `Parameter(parameter_count + i)`.
    pub(crate) scalars: Vec<Plan>,
    /// CTEs computed once.
    pub(crate) ctes: Vec<Cte>,
    /// Scans of partitioned tables that are unions now.
    pub(crate) expansions: Vec<Expansion>,
    tables: HashMap<*const u8, Arc<TableStatistics>>,
    /// Recursive CTEs, whose scans cannot leave the place where they stand.
    recursive: Vec<CteId>,
}

impl<'a> Context<'a> {
    /// State for `query`.
    pub(crate) fn new(query: &Query, statistics: &'a dyn Statistics, options: PlanOptions) -> Self {
        let mut recursive = Vec::new();
        tree::every_plan(&query.plan, &mut |plan| {
            if let Plan::RecursiveWith { cte, .. } = plan {
                recursive.push(*cte);
            }
        });
        Self {
            statistics,
            next_column: query.next_column,
            next_cte: query.next_cte,
            options,
            parameter_count: query.parameters.len() as u32,
            scalars: Vec::new(),
            ctes: Vec::new(),
            expansions: Vec::new(),
            tables: HashMap::new(),
            recursive,
        }
    }

    /// A new column id.
    pub(crate) fn fresh(&mut self) -> ColumnId {
        self.next_column += 1;
        ColumnId(self.next_column - 1)
    }

    /// A new CTE id.
    pub(crate) fn fresh_cte(&mut self) -> CteId {
        self.next_cte += 1;
        CteId(self.next_cte - 1)
    }

    /// True when `plan` can be computed before the query: it depends on no outer column and no
    /// recursion.
    pub(crate) fn is_closed(&self, plan: &Plan) -> bool {
        let scans = |cte: &CteId| tree::cte_scans(plan, *cte) > 0;
        tree::free(plan).is_empty() && !self.recursive.iter().any(scans)
    }

    /// Makes an uncorrelated scalar sub-query a constant of the query.
    pub(crate) fn add_scalar(&mut self, plan: Plan, ty: DataType) -> Expr {
        self.scalars.push(plan);
        let index = self.parameter_count + self.scalars.len() as u32 - 1;
        Expr { kind: ExprKind::Parameter(index), ty }
    }

    /// The index of the scalar sub-query that parameter `number` stands for.
    pub(crate) fn scalar_index(&self, number: u32) -> Option<usize> {
        number.checked_sub(self.parameter_count).map(|index| index as usize)
    }

    /// Statistics of `table`, asked for once.
    pub(crate) fn table(&mut self, table: &TableRef) -> Arc<TableStatistics> {
        let key = Arc::as_ptr(&table.0).cast::<u8>();
        let statistics = self.statistics;
        let ask = || Arc::new(statistics.table(table));
        Arc::clone(self.tables.entry(key).or_insert_with(ask))
    }

    /// A copy of `plan` in which every column it defines has a new id, and the renaming.
    pub(crate) fn copy(&mut self, plan: &Plan) -> (Plan, Renaming) {
        let mut map = Renaming::new();
        tree::definitions(plan, &mut |id| {
            map.entry(id).or_insert_with(|| self.fresh());
        });
        let mut copy = plan.clone();
        tree::rename(&mut copy, &map);
        self.renew_recursive(&mut copy);
        (copy, map)
    }

    fn renew_recursive(&mut self, plan: &mut Plan) {
        let mut renewed = HashMap::new();
        tree::every_plan(plan, &mut |p| {
            if let Plan::RecursiveWith { cte, .. } = p {
                renewed.insert(*cte, *cte);
            }
        });
        for id in renewed.values_mut() {
            *id = self.fresh_cte();
            self.recursive.push(*id);
        }
        if renewed.is_empty() {
            return;
        }
        tree::every_plan_mut(plan, &mut |p| {
            if let Plan::RecursiveWith { cte, .. } | Plan::CteScan { cte, .. } = p {
                *cte = *renewed.get(cte).unwrap_or(cte);
            }
        });
    }
}
