//! Walking, renaming and taking apart logical plans and expressions.
//!
//! Invariants: column ids are defined once in a query, so the free columns of a plan are those it
//! mentions and does not define; a pass-through `(id, Column(id))` defines nothing.

use hashbrown::HashMap;
use sql::algebra::{
    AggregateCall, ColumnId, CteId, Expr, ExprKind, FrameBound, Function, JoinKind, Plan, SortKey,
    WindowCall,
};
use types::{CompareOp, DataType, Value, stack};

use crate::column_set::ColumnSet;

/// New ids for old ones.
pub(crate) type Renaming = HashMap<ColumnId, ColumnId>;

/// A reference to a column.
pub(crate) fn column(id: ColumnId, ty: DataType) -> Expr {
    Expr { kind: ExprKind::Column(id), ty }
}

/// A constant.
pub(crate) fn literal(value: Value, ty: DataType) -> Expr {
    Expr { kind: ExprKind::Literal(value), ty }
}

/// TRUE or FALSE.
pub(crate) fn truth(value: bool) -> Expr {
    literal(Value::Bool(value), DataType::Boolean)
}

/// A comparison.
pub(crate) fn compare(op: CompareOp, left: Expr, right: Expr) -> Expr {
    boolean(ExprKind::Compare(op, Box::new(left), Box::new(right)))
}

/// An expression of type BOOLEAN.
pub(crate) fn boolean(kind: ExprKind) -> Expr {
    Expr { kind, ty: DataType::Boolean }
}

/// NOT of a BOOLEAN.
pub(crate) fn negate(expr: Expr) -> Expr {
    boolean(ExprKind::Not(Box::new(expr)))
}

/// IS NULL.
pub(crate) fn is_null(expr: Expr) -> Expr {
    boolean(ExprKind::IsNull(Box::new(expr)))
}

/// `coalesce(expr, default)` of the type of `expr`.
pub(crate) fn coalesce(expr: Expr, default: Expr) -> Expr {
    let ty = expr.ty;
    Expr { kind: ExprKind::Call(Function::Coalesce, vec![expr, default]), ty }
}

/// The conjunction of any number of predicates.
pub(crate) fn and_all(mut conjuncts: Vec<Expr>) -> Expr {
    match conjuncts.len() {
        0 => truth(true),
        1 => conjuncts.remove(0),
        _ => boolean(ExprKind::And(conjuncts)),
    }
}

/// The disjunction of any number of predicates.
pub(crate) fn or_all(mut terms: Vec<Expr>) -> Expr {
    match terms.len() {
        0 => truth(false),
        1 => terms.remove(0),
        _ => boolean(ExprKind::Or(terms)),
    }
}

/// Adds the conjuncts of `expr` to `out`; TRUE adds none.
pub(crate) fn split_conjuncts(expr: Expr, out: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::And(parts) => parts.into_iter().for_each(|part| split_conjuncts(part, out)),
        ExprKind::Literal(Value::Bool(true)) => {}
        _ => out.push(expr),
    }
}

/// The conjuncts of `expr`.
pub(crate) fn conjuncts(expr: Expr) -> Vec<Expr> {
    let mut out = Vec::new();
    split_conjuncts(expr, &mut out);
    out
}

/// True for the literal TRUE.
pub(crate) fn is_true(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(Value::Bool(true)))
}

/// True for FALSE and NULL, which no filter lets through.
pub(crate) fn is_never(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(Value::Bool(false) | Value::Null))
}

/// The column that `expr` is, if it is one.
pub(crate) fn as_column(expr: &Expr) -> Option<ColumnId> {
    match expr.kind {
        ExprKind::Column(id) => Some(id),
        _ => None,
    }
}

/// `input`, or `input` filtered when there is a predicate.
pub(crate) fn filtered(input: Plan, predicates: Vec<Expr>) -> Plan {
    if predicates.is_empty() {
        return input;
    }
    Plan::Filter { input: Box::new(input), predicate: and_all(predicates) }
}

/// `input` narrowed to `columns`.
pub(crate) fn narrowed(input: Plan, columns: &[(ColumnId, DataType)]) -> Plan {
    let columns = columns.iter().map(|&(id, ty)| (id, column(id, ty))).collect();
    Plan::Project { input: Box::new(input), columns }
}

/// One row without columns.
pub(crate) fn one_row() -> Plan {
    Plan::Values { columns: Vec::new(), rows: vec![Vec::new()] }
}

/// Moves the plan out, leaving an empty one.
pub(crate) fn take(plan: &mut Plan) -> Plan {
    std::mem::replace(plan, Plan::Values { columns: Vec::new(), rows: Vec::new() })
}

/// Moves the expression out, leaving TRUE.
pub(crate) fn take_expr(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, truth(true))
}

macro_rules! walkers {
    ($children:ident, $parts:ident, $call_parts:ident, $inputs:ident, $exprs:ident,
     $sub_plan:ident, $iter:ident, $($mutability:tt)?) => {
        /// Calls `f` with each direct operand of `expr`; plans of sub-queries are not operands.
        pub(crate) fn $children<'a>(
            expr: &'a $($mutability)? Expr,
            f: &mut dyn FnMut(&'a $($mutability)? Expr),
        ) {
            // Whoever looks at operands is likely to look at theirs.
            stack::deep(|| match & $($mutability)? expr.kind {
                ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_) => {}
                ExprKind::ScalarSubquery(_) | ExprKind::Exists(_) => {}
                ExprKind::Call(_, list) | ExprKind::And(list) | ExprKind::Or(list) => {
                    list.$iter().for_each(f);
                }
                ExprKind::Compare(_, left, right) => {
                    f(left);
                    f(right);
                }
                ExprKind::Not(inner) | ExprKind::IsNull(inner) | ExprKind::Cast(inner) => f(inner),
                ExprKind::Case { branches, otherwise } => {
                    for (condition, result) in branches {
                        f(condition);
                        f(result);
                    }
                    f(otherwise);
                }
                ExprKind::InList(operand, list) => {
                    f(operand);
                    list.$iter().for_each(f);
                }
                ExprKind::Like { operand, pattern, .. } => {
                    f(operand);
                    f(pattern);
                }
                ExprKind::Quantified { left, .. } => left.$iter().for_each(f),
            });
        }

        /// The plan of a sub-query expression.
        pub(crate) fn $sub_plan(expr: & $($mutability)? Expr) -> Option<& $($mutability)? Plan> {
            match & $($mutability)? expr.kind {
                ExprKind::ScalarSubquery(plan)
                | ExprKind::Exists(plan)
                | ExprKind::Quantified { plan, .. } => Some(plan),
                _ => None,
            }
        }

        fn $parts<'a>(
            call: &'a $($mutability)? AggregateCall,
            f: &mut dyn FnMut(&'a $($mutability)? Expr),
        ) {
            call.arguments.$iter().for_each(&mut *f);
            if let Some(filter) = & $($mutability)? call.filter {
                f(filter);
            }
            call.order_by.$iter().for_each(|key| f(& $($mutability)? key.expr));
        }

        fn $call_parts<'a>(
            call: &'a $($mutability)? WindowCall,
            f: &mut dyn FnMut(&'a $($mutability)? Expr),
        ) {
            call.arguments.$iter().for_each(&mut *f);
            call.partition_by.$iter().for_each(&mut *f);
            call.order_by.$iter().for_each(|key| f(& $($mutability)? key.expr));
            if let Some(filter) = & $($mutability)? call.filter {
                f(filter);
            }
            let frame = & $($mutability)? call.frame;
            if let FrameBound::Preceding(e) | FrameBound::Following(e) | FrameBound::Key(e) =
                & $($mutability)? frame.start
            {
                f(e);
            }
            if let FrameBound::Preceding(e) | FrameBound::Following(e) | FrameBound::Key(e) =
                & $($mutability)? frame.end
            {
                f(e);
            }
        }

        /// Calls `f` with each input of `plan`.
        pub(crate) fn $inputs<'a>(
            plan: &'a $($mutability)? Plan,
            f: &mut dyn FnMut(&'a $($mutability)? Plan),
        ) {
            stack::deep(|| match plan {
                Plan::Scan { .. }
                | Plan::FunctionScan { .. }
                | Plan::Input { .. }
                | Plan::Series { .. }
                | Plan::Values { .. }
                | Plan::CteScan { .. } => {}
                Plan::Filter { input, .. }
                | Plan::Project { input, .. }
                | Plan::Aggregate { input, .. }
                | Plan::Distinct { input, .. }
                | Plan::Window { input, .. }
                | Plan::Sort { input, .. }
                | Plan::Limit { input, .. } => f(input),
                Plan::Join { left, right, .. } | Plan::SetOperation { left, right, .. } => {
                    f(left);
                    f(right);
                }
                Plan::With { definition, body, .. } => {
                    f(definition);
                    f(body);
                }
                Plan::RecursiveWith { base, step, body, .. } => {
                    f(base);
                    f(step);
                    f(body);
                }
            });
        }

        /// Calls `f` with each expression of the operator itself.
        pub(crate) fn $exprs<'a>(
            plan: &'a $($mutability)? Plan,
            f: &mut dyn FnMut(&'a $($mutability)? Expr),
        ) {
            match plan {
                Plan::Scan { .. }
                | Plan::FunctionScan { .. }
                | Plan::Input { .. }
                | Plan::SetOperation { .. }
                | Plan::With { .. }
                | Plan::RecursiveWith { .. }
                | Plan::CteScan { .. } => {}
                Plan::Series { arguments, .. } => arguments.$iter().for_each(f),
                Plan::Values { rows, .. } => {
                    rows.$iter().for_each(|row| row.$iter().for_each(&mut *f));
                }
                Plan::Filter { predicate, .. } => f(predicate),
                Plan::Project { columns, .. } => columns.$iter().for_each(|(_, e)| f(e)),
                Plan::Join { condition, .. } => f(condition),
                Plan::Aggregate { keys, aggregates, .. } => {
                    keys.$iter().for_each(|(_, e)| f(e));
                    aggregates.$iter().for_each(|(_, call)| $parts(call, f));
                }
                Plan::Distinct { on, .. } => on.$iter().for_each(f),
                Plan::Window { calls, .. } => {
                    calls.$iter().for_each(|(_, call)| $call_parts(call, f));
                }
                Plan::Sort { keys, .. } => {
                    keys.$iter().for_each(|key| f(& $($mutability)? key.expr));
                }
                Plan::Limit { limit, offset, .. } => {
                    limit.$iter().for_each(&mut *f);
                    offset.$iter().for_each(f);
                }
            }
        }
    };
}

walkers!(operands, aggregate_parts, window_parts, inputs, exprs, sub_plan, iter,);
walkers!(
    operands_mut,
    aggregate_parts_mut,
    window_parts_mut,
    inputs_mut,
    exprs_mut,
    sub_plan_mut,
    iter_mut,
    mut
);

/// Calls `f` with every expression of one aggregate.
pub(crate) fn aggregate_exprs<'a>(call: &'a AggregateCall, f: &mut dyn FnMut(&'a Expr)) {
    aggregate_parts(call, f);
}

/// Calls `f` with every expression of one aggregate.
pub(crate) fn aggregate_exprs_mut<'a>(
    call: &'a mut AggregateCall,
    f: &mut dyn FnMut(&'a mut Expr),
) {
    aggregate_parts_mut(call, f);
}

/// Calls `f` with every expression of one window function.
pub(crate) fn window_exprs<'a>(call: &'a WindowCall, f: &mut dyn FnMut(&'a Expr)) {
    window_parts(call, f);
}

/// Calls `f` with every expression of one window function.
pub(crate) fn window_exprs_mut<'a>(call: &'a mut WindowCall, f: &mut dyn FnMut(&'a mut Expr)) {
    window_parts_mut(call, f);
}

/// Adds the columns that `expr` mentions, those of its sub-queries included.
pub(crate) fn mention(expr: &Expr, set: &mut ColumnSet) {
    if let ExprKind::Column(id) = expr.kind {
        set.insert(id);
    }
    operands(expr, &mut |operand| mention(operand, set));
    if let Some(plan) = sub_plan(expr) {
        set.union(&free(plan));
    }
}

/// The columns that `expr` mentions.
pub(crate) fn mentioned(expr: &Expr) -> ColumnSet {
    let mut set = ColumnSet::default();
    mention(expr, &mut set);
    set
}

/// True when any part of `expr` satisfies `test`; plans of sub-queries are not looked into.
pub(crate) fn any(expr: &Expr, test: &dyn Fn(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    operands(expr, &mut |operand| found = found || any(operand, test));
    found
}

/// True when two evaluations may differ, those of its sub-queries included.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    any(expr, &|e| match &e.kind {
        ExprKind::Call(function, _) => function.is_volatile(),
        _ => sub_plan(e).is_some_and(Plan::is_volatile),
    })
}

/// True when its evaluation leaves something behind, so that it happens also when nobody reads the
/// value.
pub(crate) fn has_effects(expr: &Expr) -> bool {
    any(expr, &|e| matches!(e.kind, ExprKind::Call(function, _) if function.has_effects()))
}

/// True when `plan` calls a routine that users made, or what runs statements as those do,
/// sub-queries included.
pub(crate) fn calls_routines(plan: &Plan) -> bool {
    let calls = |e: &Expr| match e.kind {
        ExprKind::Call(Function::Routine(_), _) => true,
        ExprKind::Call(Function::Session(function), _) => function.runs_statements(),
        _ => false,
    };
    let mut found = false;
    every_plan(plan, &mut |plan| exprs(plan, &mut |expr| found = found || any(expr, &calls)));
    found
}

/// True when `expr` holds a sub-query.
pub(crate) fn has_sub_query(expr: &Expr) -> bool {
    any(expr, &|e| sub_plan(e).is_some())
}

/// True when `expr` has no column, sub-query or volatile function; parameters are allowed.
pub(crate) fn is_constant(expr: &Expr) -> bool {
    !any(expr, &|e| {
        matches!(e.kind, ExprKind::Column(_))
            || sub_plan(e).is_some()
            || matches!(e.kind, ExprKind::Call(function, _) if function.is_volatile())
    })
}

fn collect(plan: &Plan, mentioned: &mut ColumnSet, defined: &mut ColumnSet) {
    exprs(plan, &mut |expr| mention(expr, mentioned));
    define(plan, &mut |id| defined.insert(id));
    inputs(plan, &mut |input| collect(input, mentioned, defined));
}

fn define(plan: &Plan, f: &mut dyn FnMut(ColumnId)) {
    match plan {
        Plan::Scan { columns, .. } | Plan::FunctionScan { columns, .. } => {
            columns.iter().for_each(|(id, _)| f(*id));
        }
        Plan::Input { columns, .. } => columns.iter().for_each(|column| f(column.id)),
        Plan::Series { column, .. } => f(column.0),
        Plan::Values { columns, .. }
        | Plan::SetOperation { columns, .. }
        | Plan::CteScan { columns, .. } => columns.iter().for_each(|(id, _)| f(*id)),
        Plan::Project { columns, .. } | Plan::Aggregate { keys: columns, .. } => {
            let computed = columns.iter().filter(|(id, e)| as_column(e) != Some(*id));
            computed.for_each(|(id, _)| f(*id));
            if let Plan::Aggregate { aggregates, set_column, .. } = plan {
                aggregates.iter().for_each(|(id, _)| f(*id));
                set_column.iter().for_each(|id| f(*id));
            }
        }
        Plan::Join { kind: JoinKind::Mark(id), .. } => f(*id),
        Plan::Window { calls, .. } => calls.iter().for_each(|(id, _)| f(*id)),
        _ => {}
    }
}

/// The columns that `plan` mentions and does not define.
pub(crate) fn free(plan: &Plan) -> ColumnSet {
    let (mut mentioned, mut defined) = (ColumnSet::default(), ColumnSet::default());
    collect(plan, &mut mentioned, &mut defined);
    mentioned.subtract(&defined);
    mentioned
}

/// Output columns of `plan`, in order.
pub(crate) fn output(plan: &Plan) -> Vec<(ColumnId, DataType)> {
    plan.output_types()
}

/// The ids of [`output`] as a set.
pub(crate) fn output_set(plan: &Plan) -> ColumnSet {
    let mut set = ColumnSet::default();
    plan.each_output(&mut |id, _| set.insert(id));
    set
}

/// True when `right` mentions columns of `left`.
pub(crate) fn is_lateral(left: &Plan, right: &Plan) -> bool {
    let free = free(right);
    !free.is_empty() && free.intersects(&output_set(left))
}

/// Replaces columns by expressions, in sub-queries too.
pub(crate) fn substitute(expr: &mut Expr, map: &HashMap<ColumnId, Expr>) {
    if let ExprKind::Column(id) = expr.kind {
        if let Some(replacement) = map.get(&id) {
            *expr = replacement.clone();
        }
        return;
    }
    operands_mut(expr, &mut |operand| substitute(operand, map));
    if let Some(plan) = sub_plan_mut(expr) {
        substitute_in_plan(plan, map);
    }
}

/// Replaces free columns of `plan` by expressions.
pub(crate) fn substitute_in_plan(plan: &mut Plan, map: &HashMap<ColumnId, Expr>) {
    exprs_mut(plan, &mut |expr| substitute(expr, map));
    inputs_mut(plan, &mut |input| substitute_in_plan(input, map));
}

/// Renames the columns that `expr` mentions.
pub(crate) fn rename_expr(expr: &mut Expr, map: &Renaming) {
    if let ExprKind::Column(id) = &mut expr.kind {
        *id = *map.get(id).unwrap_or(id);
    }
    operands_mut(expr, &mut |operand| rename_expr(operand, map));
    if let Some(plan) = sub_plan_mut(expr) {
        rename(plan, map);
    }
}

/// Renames columns in `plan`, where they are defined and where they are read.
pub(crate) fn rename(plan: &mut Plan, map: &Renaming) {
    let new = |id: &mut ColumnId| *id = *map.get(id).unwrap_or(id);
    match plan {
        Plan::Scan { columns, .. } | Plan::FunctionScan { columns, .. } => {
            columns.iter_mut().for_each(|(id, _)| new(id));
        }
        Plan::Input { columns, .. } => columns.iter_mut().for_each(|c| new(&mut c.id)),
        Plan::Series { column, .. } => new(&mut column.0),
        Plan::Values { columns, .. }
        | Plan::SetOperation { columns, .. }
        | Plan::CteScan { columns, .. } => columns.iter_mut().for_each(|(id, _)| new(id)),
        Plan::Project { columns, .. } => columns.iter_mut().for_each(|(id, _)| new(id)),
        Plan::Aggregate { keys, aggregates, set_column, .. } => {
            keys.iter_mut().for_each(|(id, _)| new(id));
            aggregates.iter_mut().for_each(|(id, _)| new(id));
            set_column.iter_mut().for_each(new);
        }
        Plan::Join { kind: JoinKind::Mark(id), .. } => new(id),
        Plan::Window { calls, .. } => calls.iter_mut().for_each(|(id, _)| new(id)),
        _ => {}
    }
    exprs_mut(plan, &mut |expr| rename_expr(expr, map));
    inputs_mut(plan, &mut |input| rename(input, map));
}

/// Every column defined in `plan`, in its sub-queries too.
pub(crate) fn definitions(plan: &Plan, f: &mut dyn FnMut(ColumnId)) {
    define(plan, f);
    exprs(plan, &mut |expr| definitions_in(expr, f));
    inputs(plan, &mut |input| definitions(input, f));
}

fn definitions_in(expr: &Expr, f: &mut dyn FnMut(ColumnId)) {
    operands(expr, &mut |operand| definitions_in(operand, f));
    if let Some(plan) = sub_plan(expr) {
        definitions(plan, f);
    }
}

/// Calls `f` with every plan inside `plan`, itself first, those of sub-queries included.
pub(crate) fn every_plan(plan: &Plan, f: &mut dyn FnMut(&Plan)) {
    f(plan);
    exprs(plan, &mut |expr| every_plan_in(expr, f));
    inputs(plan, &mut |input| every_plan(input, f));
}

fn every_plan_in(expr: &Expr, f: &mut dyn FnMut(&Plan)) {
    operands(expr, &mut |operand| every_plan_in(operand, f));
    if let Some(plan) = sub_plan(expr) {
        every_plan(plan, f);
    }
}

/// Calls `f` with every plan inside `plan`, inner ones first, those of sub-queries included.
pub(crate) fn every_plan_mut(plan: &mut Plan, f: &mut dyn FnMut(&mut Plan)) {
    inputs_mut(plan, &mut |input| every_plan_mut(input, f));
    exprs_mut(plan, &mut |expr| every_plan_in_mut(expr, f));
    f(plan);
}

fn every_plan_in_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Plan)) {
    operands_mut(expr, &mut |operand| every_plan_in_mut(operand, f));
    if let Some(plan) = sub_plan_mut(expr) {
        every_plan_mut(plan, f);
    }
}

/// How many scans of `cte` there are in `plan`.
pub(crate) fn cte_scans(plan: &Plan, cte: CteId) -> usize {
    let mut count = 0;
    every_plan(plan, &mut |p| {
        count += usize::from(matches!(p, Plan::CteScan { cte: c, .. } if *c == cte));
    });
    count
}

/// The keys with their expressions renamed.
pub(crate) fn rename_keys(keys: &mut [SortKey], map: &Renaming) {
    keys.iter_mut().for_each(|key| rename_expr(&mut key.expr, map));
}
