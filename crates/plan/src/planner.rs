//! The order of the passes.

use sql::algebra::{Plan, Query};
use types::Result;

use crate::cardinality::Estimator;
use crate::column_set::ColumnSet;
use crate::context::{Context, CteBody};
use crate::physical::PhysicalPlan;
use crate::prune::Order;
use crate::{
    PlanOptions, Statistics, Technique, WideTables, cte, eager, estimate, fold, guard, join_order,
    lower, partition_wise, partitions, prune, push_down, tree, unnest, wide,
};

/// Plans `query`. The root's output columns are `query.columns` in order.
///
/// # Errors
/// 0A000 for the few forms that cannot be planned.
pub fn plan(
    query: &Query,
    statistics: &dyn Statistics,
    options: &PlanOptions,
) -> Result<PhysicalPlan> {
    let mut context = Context::new(query, statistics, *options);
    let mut root = query.plan.clone();
    fold::fold_plan(statistics, &mut root);
    guard::guard(&mut context, &mut root);
    tree::every_plan_mut(&mut root, &mut fix_positions);
    cte::resolve(&mut context, &mut root);
    unnest_all(&mut context, &mut root)?;
    cte::inline_single(&mut context, &mut root);
    rewrite_all(&mut context, &mut root, query);
    expand_partitions(&mut context, &mut root);
    let wide = match options.wide_tables {
        WideTables::Avoid => None,
        _ => with_wide_tables(&context, &root, query),
    };
    let Some((wide_context, wide_root)) = wide else {
        return finish(context, root, query);
    };
    let wide = finish(wide_context, wide_root, query)?;
    if options.wide_tables == WideTables::Prefer {
        return Ok(wide);
    }
    let joined = finish(context, root, query)?;
    let costs = |plan: &PhysicalPlan| estimate::plan_cost(plan, statistics);
    Ok(if costs(&wide) <= costs(&joined) { wide } else { joined })
}

/// Reads partitions in the place of partitioned tables.
fn expand_partitions(context: &mut Context<'_>, root: &mut Plan) {
    let mut scalars = std::mem::take(&mut context.scalars);
    scalars.iter_mut().for_each(|plan| partitions::expand(context, plan));
    context.scalars = scalars;
    let mut ctes = std::mem::take(&mut context.ctes);
    for cte in &mut ctes {
        cte.body.plans_mut(&mut |plan| partitions::expand(context, plan));
    }
    context.ctes = ctes;
    partitions::expand(context, root);
    let bodies = context.ctes.iter_mut();
    bodies.for_each(|cte| cte.body.plans_mut(&mut partitions::limit_parts));
    context.scalars.iter_mut().for_each(partitions::limit_parts);
    partitions::limit_parts(root);
}

/// The query with wide tables in the place of joins, if they can stand for some.
fn with_wide_tables<'a>(
    context: &Context<'a>,
    root: &Plan,
    query: &Query,
) -> Option<(Context<'a>, Plan)> {
    let bodies = context.ctes.iter().flat_map(|cte| cte.body.plans());
    let plans: Vec<&Plan> = bodies.chain(&context.scalars).chain([root]).collect();
    let has_candidates = plans.iter().any(|plan| wide::has_candidates(context, plan));
    if !has_candidates || plans.into_iter().any(wide::is_of_write) {
        return None;
    }
    let (mut context, mut root) = (context.clone(), root.clone());
    let mut any = wide::absorb(&context, &mut root);
    let mut scalars = std::mem::take(&mut context.scalars);
    scalars.iter_mut().for_each(|plan| any |= wide::absorb(&context, plan));
    context.scalars = scalars;
    let mut ctes = std::mem::take(&mut context.ctes);
    for cte in &mut ctes {
        cte.body.plans_mut(&mut |plan| any |= wide::absorb(&context, plan));
    }
    context.ctes = ctes;
    // Conditions that stood between tables are now about one.
    any.then(|| {
        rewrite_all(&mut context, &mut root, query);
        (context, root)
    })
}

fn rewrite_all(context: &mut Context<'_>, root: &mut Plan, query: &Query) {
    let needed: ColumnSet = query.columns.iter().map(|column| column.id).collect();
    rewrite(context, root, &needed, Order::Matters);
    rewrite_preludes(context);
    if context.options.switches.has(Technique::PartialPushDown) {
        narrow_ctes(context, root);
    }
}

/// Filters CTEs by what their readers ask, readers first.
fn narrow_ctes(context: &mut Context<'_>, root: &Plan) {
    for at in (0..context.ctes.len()).rev() {
        if !cte::filter_by_readers(context, root, at) {
            continue;
        }
        let empty = CteBody::Plain(tree::one_row());
        let mut body = std::mem::replace(&mut context.ctes[at].body, empty);
        body.plans_mut(&mut |plan| {
            let needed = tree::output_set(plan);
            rewrite(context, plan, &needed, Order::Free);
        });
        context.ctes[at].body = body;
    }
}

/// Makes the physical plan of logical plans.
fn finish(mut context: Context<'_>, mut root: Plan, query: &Query) -> Result<PhysicalPlan> {
    let mut estimator = Estimator::default();
    join_order::order_all(&mut context, &mut estimator, &mut root);
    partition_wise::split_all(&mut context, &mut estimator, &mut root);
    if context.options.switches.has(Technique::EagerAggregation) {
        push_aggregates(&mut context, &mut estimator, &mut root);
    }
    lower::lower_query(&mut context, &mut estimator, root, query)
}

/// Groups early in the query and in what it computes first.
fn push_aggregates(context: &mut Context<'_>, estimator: &mut Estimator, root: &mut Plan) {
    types::stack::deep(|| push_aggregates_here(context, estimator, root))
}

fn push_aggregates_here(context: &mut Context<'_>, estimator: &mut Estimator, root: &mut Plan) {
    let mut scalars = std::mem::take(&mut context.scalars);
    scalars.iter_mut().for_each(|plan| eager::push_aggregates(context, estimator, plan));
    context.scalars = scalars;
    let mut ctes = std::mem::take(&mut context.ctes);
    for cte in &mut ctes {
        cte.body.plans_mut(&mut |plan| eager::push_aggregates(context, estimator, plan));
    }
    context.ctes = ctes;
    eager::push_aggregates(context, estimator, root);
}

/// Unnests the query and what it computes first, which unnesting adds to.
fn unnest_all(context: &mut Context<'_>, root: &mut Plan) -> Result<()> {
    unnest::unnest(context, root)?;
    cte::hoist_recursive(context, root);
    let (mut scalar, mut cte) = (0, 0);
    while scalar < context.scalars.len() || cte < context.ctes.len() {
        if scalar < context.scalars.len() {
            let mut plan = tree::take(&mut context.scalars[scalar]);
            unnest::unnest(context, &mut plan)?;
            cte::hoist_recursive(context, &mut plan);
            context.scalars[scalar] = plan;
            scalar += 1;
            continue;
        }
        let empty = CteBody::Plain(tree::one_row());
        let mut body = std::mem::replace(&mut context.ctes[cte].body, empty);
        let mut result = Ok(());
        body.plans_mut(&mut |plan| {
            if result.is_ok() {
                result = unnest::unnest(context, plan);
                cte::hoist_recursive(context, plan);
            }
        });
        result?;
        context.ctes[cte].body = body;
        cte += 1;
    }
    Ok(())
}

fn rewrite_preludes(context: &mut Context<'_>) {
    let mut scalars = std::mem::take(&mut context.scalars);
    for scalar in &mut scalars {
        let first = tree::output(scalar).first().map(|(id, _)| *id);
        rewrite(context, scalar, &first.into_iter().collect(), Order::Matters);
    }
    context.scalars = scalars;
    let mut ctes = std::mem::take(&mut context.ctes);
    for cte in &mut ctes {
        cte.body.plans_mut(&mut |plan| {
            let needed = tree::output_set(plan);
            rewrite(context, plan, &needed, Order::Free);
        });
    }
    context.ctes = ctes;
}

/// The rewriting passes over one plan without sub-queries.
fn rewrite(context: &Context<'_>, plan: &mut Plan, needed: &ColumnSet, order: Order) {
    fold::fold_plan(context.statistics, plan);
    push_down::push_down(plan, context.options.switches);
    fold::fold_plan(context.statistics, plan);
    prune::prune(plan, needed, order);
}

/// Inputs that are read by position become projections, so that rewriting below keeps their order.
fn fix_positions(plan: &mut Plan) {
    let fix = |input: &mut Plan| {
        if !matches!(input, Plan::Project { .. }) {
            let columns = tree::output(input);
            *input = tree::narrowed(tree::take(input), &columns);
        }
    };
    match plan {
        Plan::SetOperation { left, right, .. } => {
            fix(left);
            fix(right);
        }
        Plan::With { definition, .. } => fix(definition),
        Plan::RecursiveWith { base, step, .. } => {
            fix(base);
            fix(step);
        }
        _ => {}
    }
}
