//! EXPLAIN: the physical plan as an indented tree.
//!
//! Elsewhere: expressions as text (`text`), the tree as JSON (`json`), that as XML and YAML
//! (`forms`).

mod forms;
mod json;
mod text;

use std::fmt::Write;

pub use forms::{explain_xml, explain_yaml};
pub use json::explain_json;
pub(crate) use text::{aggregate_text, short_text};

use sql::algebra::{Expr as Logical, SeriesFunction};
use sql::catalog::{FunctionIndex, IndexColumn, TableFunctionRef, TableRef};

use crate::physical::{
    AggregateMode, BoundKind, BuildKeys, CteSource, ElementCondition, FunctionOffer, IndexOrder,
    IndexWay, JoinMethod, Node, NullKeys, Operator, OperatorId, OperatorProfile, OutputColumn,
    PhysicalPlan, PreludeKind, ScanRestriction, ScanRows,
};
use text::{expr_text, list_text, restriction_text, sort_text, values_text, window_text};

/// As [`explain`], below a line for what happens to the rows: `Update t`, say.
pub fn explain_below(
    line: &str,
    plan: &PhysicalPlan,
    profiles: Option<&[OperatorProfile]>,
) -> String {
    let mut out = format!("{line}\n");
    for line in explain(plan, profiles).lines() {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// The operators of a plan, those of its preludes first: id and the line that EXPLAIN begins with.
pub fn operators(plan: &PhysicalPlan) -> Vec<(OperatorId, String)> {
    fn add(node: &Node, all: &mut Vec<(OperatorId, String)>) {
        types::stack::deep(|| {
            all.push((node.id, describe(node).0));
            node.inputs().into_iter().for_each(|input| add(input, all));
        });
    }
    let mut all = Vec::new();
    plan.preludes.iter().map(|prelude| &prelude.node).chain([&plan.root]).for_each(|node| {
        add(node, &mut all);
    });
    all
}

/// The plan as text, one operator a line, inputs below and indented, the build side of a join last.
/// With `profiles` (by [`crate::physical::OperatorId`]) each line shows what happened too.
pub fn explain(plan: &PhysicalPlan, profiles: Option<&[OperatorProfile]>) -> String {
    let mut out = String::new();
    let shown = Shown { profiles, considered: &plan.considered };
    for (i, prelude) in plan.preludes.iter().enumerate() {
        let kind = match prelude.kind {
            PreludeKind::Materialized | PreludeKind::Recursive => "Materialized",
            PreludeKind::Scalar => "Scalar",
        };
        let _ = writeln!(out, "{kind} ${i}:");
        show(&prelude.node, 1, &shown, &mut out);
    }
    show(&plan.root, 0, &shown, &mut out);
    out
}

/// Facts shown of operators besides what they do.
struct Shown<'p> {
    profiles: Option<&'p [OperatorProfile]>,
    considered: &'p [(OperatorId, String)],
}

/// The ways to rows that were weighed for an operator.
fn considered(all: &[(OperatorId, String)], id: OperatorId) -> impl Iterator<Item = &String> {
    all.iter().filter(move |(of, _)| *of == id).map(|(_, line)| line)
}

fn show(node: &Node, depth: usize, shown: &Shown<'_>, out: &mut String) {
    types::stack::deep(|| show_here(node, depth, shown, out))
}

fn show_here(node: &Node, depth: usize, shown: &Shown<'_>, out: &mut String) {
    let (head, mut details) = describe(node);
    details.extend(considered(shown.considered, node.id).cloned());
    let _ = write!(out, "{:indent$}{head}  (rows={}", "", count(node.rows), indent = depth * 2);
    if let Some(profile) = shown.profiles.and_then(|p| p.get(node.id.0)) {
        let millis = profile.nanos as f64 / 1e6;
        let _ = write!(out, ", actual={}, time={millis:.3} ms", profile.rows);
        if profile.blocks_scanned + profile.blocks_skipped > 0 {
            let (scanned, skipped) = (profile.blocks_scanned, profile.blocks_skipped);
            let _ = write!(out, ", blocks={scanned} scanned {skipped} skipped");
            if profile.bytes_read > 0 {
                let _ = write!(out, ", read={}", bytes(profile.bytes_read));
            }
            if !profile.paths.is_empty() {
                let text = |(path, blocks): &(&str, u64)| format!("{blocks} {path}");
                let paths: Vec<String> = profile.paths.iter().map(text).collect();
                let _ = write!(out, ", paths={}", paths.join(" "));
            }
        }
        for look_ups in &profile.look_ups {
            let name = index_name(node, look_ups.index);
            let (count, rows) = (look_ups.count, look_ups.rows);
            let _ = write!(out, ", {name}={count} look-ups {rows} found");
        }
        if profile.hashed_rows > 0 {
            let _ = write!(out, ", went over to a hash join for {} rows", profile.hashed_rows);
        }
        if profile.memory_bytes > 0 {
            let _ = write!(out, ", memory={}", bytes(profile.memory_bytes));
        }
        if profile.spilled_bytes > 0 {
            let _ = write!(out, ", spilled={}", bytes(profile.spilled_bytes));
        }
    }
    out.push_str(")\n");
    for detail in details {
        let _ = writeln!(out, "{:indent$}{detail}", "", indent = depth * 2 + 4);
    }
    for input in node.inputs() {
        show(input, depth + 1, shown, out);
    }
}

fn count(rows: f64) -> String {
    format!("{:.0}", rows.max(0.0))
}

fn bytes(count: u64) -> String {
    match count {
        0..=9_999 => format!("{count} B"),
        10_000..=9_999_999 => format!("{} KiB", count / 1024),
        _ => format!("{} MiB", count >> 20),
    }
}

fn names(node: &Node) -> &[OutputColumn] {
    &node.output
}

fn both(probe: &Node, build: &Node) -> Vec<OutputColumn> {
    probe.output.iter().chain(&build.output).cloned().collect()
}

/// Head line and detail lines of an operator.
fn describe(node: &Node) -> (String, Vec<String>) {
    match &node.operator {
        Operator::Scan { .. } => describe_scan(node),
        Operator::IndexScan { .. } => describe_index_scan(node),
        Operator::IndexJoin { .. } => describe_index_join(node),
        Operator::FunctionScan { function, restrictions, offers, .. } => {
            let mut details: Vec<String> =
                where_text(restrictions, &node.output).into_iter().collect();
            details.extend(offers.iter().map(|offer| offer_text(function, offer)));
            (format!("FunctionScan {}", function.0.name()), details)
        }
        Operator::Input { name, .. } => (format!("Input {name}"), Vec::new()),
        Operator::Series { input, function, arguments } => {
            let columns = input.as_ref().map_or(&[][..], |input| names(input));
            let name = match function {
                SeriesFunction::Generate => "Series",
                SeriesFunction::Unnest => "Unnest",
            };
            (format!("{name} {}", list_text(arguments, columns)), Vec::new())
        }
        Operator::Values { rows } => (format!("Values {} rows", rows.len()), Vec::new()),
        Operator::CteScan { source, name, .. } => match source {
            CteSource::Prelude(i) => (format!("CteScan {name} of ${i}"), Vec::new()),
            CteSource::Recursive(i) => (format!("CteScan {name} of round {i}"), Vec::new()),
        },
        Operator::Choice { .. } => describe_choice(node),
        Operator::Filter { input, predicate } => {
            ("Filter".into(), vec![expr_text(predicate, names(input))])
        }
        Operator::Project { input, exprs } => {
            ("Project".into(), vec![list_text(exprs, names(input))])
        }
        Operator::HashJoin { .. } | Operator::NestedLoopJoin { .. } => describe_join(node),
        Operator::Aggregate { .. } => describe_aggregate(node),
        Operator::DistinctOn { input, on } => {
            ("DistinctOn".into(), vec![list_text(on, names(input))])
        }
        Operator::Window { input, calls } => {
            let details = calls.iter().map(|call| window_text(call, names(input))).collect();
            ("Window".into(), details)
        }
        Operator::Sort { input, keys, limit, offset } => {
            let top = limit.is_some() || offset.is_some();
            let mut details = vec![sort_text(keys, names(input))];
            details.extend(bounds(limit.as_ref(), offset.as_ref()));
            (if top { "TopK".into() } else { "Sort".into() }, details)
        }
        Operator::Walk { entries_max, .. } => {
            let which =
                format!("the first {entries_max} entries by the first plan, else the second");
            ("Walk".into(), vec![which])
        }
        Operator::Limit { limit, offset, .. } => {
            ("Limit".into(), bounds(limit.as_ref(), offset.as_ref()).into_iter().collect())
        }
        Operator::UnionAll { .. } => ("UnionAll".into(), Vec::new()),
        Operator::SetOperation { operator, duplicates, .. } => {
            (format!("{operator:?} {duplicates:?}"), Vec::new())
        }
        Operator::Recursive { number, .. } => (format!("Recursive {number}"), Vec::new()),
    }
}

fn bounds(
    limit: Option<&crate::physical::Expr>,
    offset: Option<&crate::physical::Expr>,
) -> Option<String> {
    let limit = limit.map(|e| format!("limit {}", expr_text(e, &[])));
    let offset = offset.map(|e| format!("offset {}", expr_text(e, &[])));
    let parts: Vec<String> = limit.into_iter().chain(offset).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn describe_join(node: &Node) -> (String, Vec<String>) {
    match &node.operator {
        Operator::HashJoin { probe, build, kind, keys, residual, method, build_keys, .. } => {
            let method = match method {
                JoinMethod::Hash => "Hash".to_string(),
                JoinMethod::Dense { min, max } => format!("Dense {min}..{max}"),
            };
            let unique = match build_keys {
                BuildKeys::Unique => " unique",
                BuildKeys::Any => "",
            };
            let pairs: Vec<String> = keys
                .iter()
                .map(|key| {
                    let op = match key.nulls {
                        NullKeys::Differ => "=",
                        NullKeys::Match => "is not distinct from",
                    };
                    let probe = expr_text(&key.probe, names(probe));
                    format!("{probe} {op} {}", expr_text(&key.build, names(build)))
                })
                .collect();
            let mut details = vec![format!("on {}", pairs.join(" and "))];
            details.extend(
                residual.iter().map(|e| format!("residual {}", expr_text(e, &both(probe, build)))),
            );
            (format!("{kind:?} join [{method}{unique}]"), details)
        }
        Operator::NestedLoopJoin { probe, build, kind, condition, .. } => {
            let text =
                condition.iter().map(|e| format!("on {}", expr_text(e, &both(probe, build))));
            (format!("{kind:?} nested loops"), text.collect())
        }
        _ => (String::new(), Vec::new()),
    }
}

/// `name using index`, and the columns of the index.
fn index_head(table: &TableRef, index: usize, alias: &str) -> (String, Vec<String>) {
    let mut head = table_text(table, alias);
    if let Some(index) = table.indexes().get(index) {
        let _ = write!(head, " using {}", index.name);
    }
    (head, index_names(table, index))
}

fn table_text(table: &TableRef, alias: &str) -> String {
    if alias == table.name() { alias.to_owned() } else { format!("{} as {alias}", table.name()) }
}

/// The name of the index at position `index` of the table that an operator reads by indexes.
fn index_name(node: &Node, index: usize) -> &str {
    let (Operator::IndexScan { table, .. } | Operator::IndexJoin { table, .. }) = &node.operator
    else {
        return "?";
    };
    table.indexes().get(index).map_or("?", |index| &index.name)
}

/// The columns of the index at position `index`.
fn index_names(table: &TableRef, index: usize) -> Vec<String> {
    let Some(index) = table.indexes().get(index) else {
        return Vec::new();
    };
    let name = |column: &IndexColumn| match column.expression() {
        Some(number) => index.terms.expressions.get(number).map(|e| e.definition()),
        None => table.columns().get(column.ordinal).map(|c| c.name.clone()),
    };
    let name = |column| name(column).unwrap_or_else(|| "?".to_owned());
    index.columns.iter().map(name).collect()
}

fn index_keys(
    names: &[String],
    keys: &[crate::physical::Expr],
    columns: &[OutputColumn],
) -> Option<String> {
    let key = |(name, key)| format!("{name} = {}", expr_text(key, columns));
    let keys: Vec<String> = names.iter().zip(keys).map(key).collect();
    (!keys.is_empty()).then(|| format!("key {}", keys.join(" and ")))
}

/// An index that a table function may read, with restrictions of its expressions.
fn offer_text(function: &TableFunctionRef, offer: &FunctionOffer) -> String {
    let FunctionIndex { name, terms, .. } = &function.0.indexes()[offer.index];
    let column = |expr: &Logical| OutputColumn {
        name: "expression".into(),
        ty: expr.ty,
        physical: expr.ty.physical(),
    };
    let columns: Vec<OutputColumn> = terms.expressions.iter().map(column).collect();
    match where_text(&offer.restrictions, &columns) {
        Some(text) => format!("index {name} {text}"),
        None => format!("index {name}"),
    }
}

fn where_text(restrictions: &[ScanRestriction], columns: &[OutputColumn]) -> Option<String> {
    let text = |r: &ScanRestriction| restriction_text(r, columns);
    let parts: Vec<String> = restrictions.iter().map(text).collect();
    (!parts.is_empty()).then(|| format!("where {}", parts.join(" and ")))
}

fn describe_index_scan(node: &Node) -> (String, Vec<String>) {
    let Operator::IndexScan { table, ways, restrictions, residual, order, alias, .. } =
        &node.operator
    else {
        return (String::new(), Vec::new());
    };
    let mut indexes: Vec<usize> = ways.iter().map(|way| way.index).collect();
    indexes.sort_unstable();
    indexes.dedup();
    let name = |index: &usize| table.indexes().get(*index).map_or("?", |index| &index.name);
    let using: Vec<&str> = indexes.iter().map(name).collect();
    let head = format!("{} using {}", table_text(table, alias), using.join(", "));
    let mut details = ways_text(table, ways);
    match order {
        IndexOrder::Any => {}
        IndexOrder::Forward => details.push("in index order".to_owned()),
        IndexOrder::Backward => details.push("in reverse index order".to_owned()),
    }
    details.extend(where_text(restrictions, &node.output));
    details.extend(residual.iter().map(|e| format!("residual {}", expr_text(e, &node.output))));
    (format!("IndexScan {head}"), details)
}

fn describe_scan(node: &Node) -> (String, Vec<String>) {
    let Operator::Scan { table, restrictions, residual, rows, alias, .. } = &node.operator else {
        return (String::new(), Vec::new());
    };
    let mut details: Vec<String> = where_text(restrictions, &node.output).into_iter().collect();
    details.extend(residual.iter().map(|e| format!("residual {}", expr_text(e, &node.output))));
    if *rows == ScanRows::Ends {
        details.push("smallest and largest values".to_owned());
    }
    (format!("Scan {}", table_text(table, alias)), details)
}

/// Ways that are written out; of others the number is told.
const WAYS_SHOWN: usize = 8;

/// Text of the look-ups: a line for each part of the only way, or for each of several.
fn ways_text(table: &TableRef, ways: &[IndexWay]) -> Vec<String> {
    if let [way] = ways {
        return way_parts(table, way);
    }
    let line = |way: &IndexWay| {
        let index = table.indexes().get(way.index).map_or("?", |index| &index.name);
        format!("or by {index}: {}", way_parts(table, way).join(", "))
    };
    let mut lines: Vec<String> = ways.iter().take(WAYS_SHOWN).map(line).collect();
    if ways.len() > WAYS_SHOWN {
        lines.push(format!("and {} others", ways.len() - WAYS_SHOWN));
    }
    lines
}

fn way_parts(table: &TableRef, way: &IndexWay) -> Vec<String> {
    let mut names = index_names(table, way.index);
    if let Some(near) = &way.near {
        let name = names.first().map_or("?", String::as_str);
        return vec![format!("nearest {name} to {}", expr_text(&near.from, &[]))];
    }
    if !way.elements.is_empty() {
        let part = |condition: &ElementCondition| {
            let name = names.get(condition.column).map_or("?", String::as_str);
            let operand = expr_text(&condition.operand, &[]);
            format!("{name} {} {operand}", condition.test.sign())
        };
        let parts: Vec<String> = way.elements.iter().map(part).collect();
        return vec![format!("elements {}", parts.join(" and "))];
    }
    let listed = way.list.as_ref().filter(|list| list.at < names.len()).map(|list| {
        let name = names.remove(list.at);
        format!("each {}", values_text(&list.values, &name, None))
    });
    let mut parts: Vec<String> = index_keys(&names, &way.keys, &[]).into_iter().collect();
    parts.extend(listed);
    if let (Some(range), Some(name)) = (&way.range, names.get(way.keys.len())) {
        let bound = |signs: [&str; 2], bound: &Option<(crate::physical::Expr, BoundKind)>| {
            let (expr, kind) = bound.as_ref()?;
            let sign = if *kind == BoundKind::Inclusive { signs[1] } else { signs[0] };
            Some(format!("{name} {sign} {}", expr_text(expr, &[])))
        };
        let bounds = [bound([">", ">="], &range.low), bound(["<", "<="], &range.high)];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        parts.push(if bounds.is_empty() {
            format!("range {name} is not null")
        } else {
            format!("range {}", bounds.join(" and "))
        });
    }
    parts
}

fn describe_choice(node: &Node) -> (String, Vec<String>) {
    let Operator::Choice { prelude, rows_max, .. } = &node.operator else {
        return (String::new(), Vec::new());
    };
    let which = format!("up to {rows_max} by the first plan, more by the second");
    (format!("Choice by the rows of ${prelude}"), vec![which])
}

fn describe_index_join(node: &Node) -> (String, Vec<String>) {
    let Operator::IndexJoin {
        outer,
        table,
        index,
        keys,
        columns,
        restrictions,
        kind,
        residual,
        alias,
        ..
    } = &node.operator
    else {
        return (String::new(), Vec::new());
    };
    let (head, names) = index_head(table, *index, alias);
    let inner = |ordinal: &usize| {
        let def = table.columns().get(*ordinal);
        let ty = def.map_or(types::DataType::BigInt, |def| def.ty);
        let name = def.map_or("tid", |def| def.name.as_str()).into();
        OutputColumn { name, ty, physical: ty.physical() }
    };
    let inner: Vec<OutputColumn> = columns.iter().map(inner).collect();
    let both: Vec<OutputColumn> = outer.output.iter().chain(&inner).cloned().collect();
    let mut details: Vec<String> = index_keys(&names, keys, &outer.output).into_iter().collect();
    details.extend(where_text(restrictions, &inner));
    details.extend(residual.iter().map(|e| format!("residual {}", expr_text(e, &both))));
    (format!("{kind:?} index join {head}"), details)
}

fn describe_aggregate(node: &Node) -> (String, Vec<String>) {
    let Operator::Aggregate { input, keys, aggregates, grouping_sets, mode } = &node.operator
    else {
        return (String::new(), Vec::new());
    };
    let mode = match mode {
        AggregateMode::Scalar => "Scalar".to_string(),
        AggregateMode::Dense { min, max } => format!("Dense {min}..{max}"),
        AggregateMode::Hash => "Hash".to_string(),
        AggregateMode::GroupJoin(_) => "Group join".to_string(),
    };
    let mut details = Vec::new();
    if !keys.is_empty() {
        details.push(format!("by {}", list_text(keys, names(input))));
    }
    if let Some(sets) = grouping_sets {
        details.push(format!("sets {sets:?}"));
    }
    if !aggregates.is_empty() {
        let calls: Vec<String> =
            aggregates.iter().map(|call| aggregate_text(call, names(input))).collect();
        details.push(calls.join(", "));
    }
    (format!("Aggregate [{mode}]"), details)
}
