//! Leaves, set operations and CTEs.

use sql::algebra::{ColumnId, CteId, Duplicates, Plan, SetOperator};
use types::{DataType, PhysicalType, Result};

use super::expr::{self, Scope};
use super::{CteSlot, Lowered, Lowering};
use crate::column_set::ColumnSet;
use crate::physical::{AggregateMode, CteSource, Node, Operator, OutputColumn, PreludeKind};
use crate::properties::{ColumnProperty, Properties};
use crate::{cardinality, range, tree};

impl Lowering<'_, '_> {
    /// Lowers a table function, series, VALUES or supplied rows.
    pub(crate) fn leaf(&mut self, plan: &Plan, needed: &ColumnSet) -> Result<Lowered> {
        let properties = cardinality::derive(self.context, self.estimator, plan, Vec::new());
        let (operator, output, columns) = match plan {
            Plan::FunctionScan { function, columns } => {
                let kept: Vec<_> =
                    columns.iter().filter(|(id, _)| needed.contains(*id)).copied().collect();
                let definitions = function.0.columns();
                let output = kept.iter().map(|&(_, i)| {
                    let (name, ty) = &definitions[i];
                    OutputColumn { name: name.as_str().into(), ty: *ty, physical: ty.physical() }
                });
                let output = output.collect();
                let ordinals = kept.iter().map(|(_, i)| *i).collect();
                let operator = Operator::FunctionScan {
                    function: function.clone(),
                    columns: ordinals,
                    restrictions: Vec::new(),
                    offers: Vec::new(),
                };
                (operator, output, kept.into_iter().map(|(id, _)| id).collect())
            }
            Plan::Input { slot, columns, name } => {
                let kept: Vec<_> = columns.iter().filter(|c| needed.contains(c.id)).collect();
                let output = kept.iter().map(|c| self.output_column(c.id, c.ty, c.ty.physical()));
                let output = output.collect();
                let columns = kept.iter().map(|c| c.ordinal).collect();
                let operator = Operator::Input { slot: *slot, columns, name: name.clone() };
                (operator, output, kept.iter().map(|c| c.id).collect())
            }
            Plan::Series { function, arguments, column } => {
                let none = Scope::none();
                let arguments: Result<_> =
                    arguments.iter().map(|e| self.expr_in(e, &none)).collect();
                let output = vec![self.output_column(column.0, column.1, column.1.physical())];
                let (function, arguments) = (*function, arguments?);
                let operator = Operator::Series { input: None, function, arguments };
                (operator, output, vec![column.0])
            }
            Plan::Values { columns, rows } => self.values(columns, rows)?,
            _ => return Err(types::Error::internal("a leaf was expected")),
        };
        let node = self.node(operator, output, properties.rows);
        Ok(Lowered { node, columns, properties })
    }

    fn output_column(
        &mut self,
        id: ColumnId,
        ty: DataType,
        physical: PhysicalType,
    ) -> OutputColumn {
        let name = self.names.get(&id).cloned().unwrap_or_else(|| "column".into());
        OutputColumn { name, ty, physical }
    }

    fn values(
        &mut self,
        columns: &[(ColumnId, DataType)],
        rows: &[Vec<sql::algebra::Expr>],
    ) -> Result<(Operator, Vec<OutputColumn>, Vec<ColumnId>)> {
        let none = Scope::none();
        let mut lowered = Vec::with_capacity(rows.len());
        for row in rows {
            let row: Result<Vec<_>> = row.iter().map(|e| self.expr_in(e, &none)).collect();
            lowered.push(row?);
        }
        let mut output = Vec::with_capacity(columns.len());
        for (i, &(id, ty)) in columns.iter().enumerate() {
            let mut physical = ty.physical();
            if matches!(ty, DataType::Numeric(_)) {
                let held = lowered.iter().map(|row| row[i].physical);
                physical = held.fold(PhysicalType::I64, expr::wider);
            }
            for row in &mut lowered {
                let value = std::mem::replace(&mut row[i], expr::placeholder());
                row[i] = expr::converted(value, ty, physical);
            }
            output.push(self.output_column(id, ty, physical));
        }
        let ids = columns.iter().map(|(id, _)| *id).collect();
        Ok((Operator::Values { rows: lowered }, output, ids))
    }

    /// Lowers UNION, INTERSECT and EXCEPT.
    pub(crate) fn set_operation(&mut self, plan: &Plan, needed: &ColumnSet) -> Result<Lowered> {
        let Plan::SetOperation { operator, duplicates, columns, .. } = plan else {
            return Err(types::Error::internal("a set operation was expected"));
        };
        let _ = needed;
        let mut plans = Vec::new();
        if *operator == SetOperator::Union {
            flatten(plan, *duplicates, &mut plans);
        } else if let Plan::SetOperation { left, right, .. } = plan {
            plans.push(&**left);
            plans.push(&**right);
        }
        let mut inputs = Vec::with_capacity(plans.len());
        for input in plans {
            let ids: Vec<ColumnId> = tree::output(input).iter().map(|c| c.0).collect();
            let lowered = self.lower(input, &ids.iter().copied().collect())?;
            inputs.push((lowered, ids));
        }
        let physical = common_physical(columns, &inputs)?;
        let properties = combined(*operator, columns, &inputs);
        let mut nodes = Vec::with_capacity(inputs.len());
        for (lowered, ids) in inputs {
            nodes.push(self.arranged(lowered, &ids, Some(&physical))?);
        }
        let mut output = Vec::with_capacity(columns.len());
        for (i, &(id, ty)) in columns.iter().enumerate() {
            let name = self.names.get(&id).cloned();
            let name = name.unwrap_or_else(|| nodes[0].output[i].name.clone());
            output.push(OutputColumn { name, ty, physical: physical[i] });
        }
        let ids: Vec<ColumnId> = columns.iter().map(|(id, _)| *id).collect();
        let node = match operator {
            SetOperator::Union => self.union(nodes, output, *duplicates, &properties),
            _ => {
                let operator = intersect_or_except(*operator, *duplicates, nodes)?;
                self.node(operator, output, properties.rows)
            }
        };
        Ok(Lowered { node, columns: ids, properties })
    }

    fn union(
        &mut self,
        inputs: Vec<Node>,
        output: Vec<OutputColumn>,
        duplicates: Duplicates,
        properties: &Properties,
    ) -> Node {
        let all = self.node(Operator::UnionAll { inputs }, output.clone(), properties.rows);
        if duplicates == Duplicates::Keep {
            return all;
        }
        let keys = output.iter().enumerate().map(|(i, c)| expr::column(i, c)).collect();
        let operator = Operator::Aggregate {
            input: Box::new(all),
            keys,
            aggregates: Vec::new(),
            grouping_sets: None,
            mode: if output.is_empty() { AggregateMode::Scalar } else { AggregateMode::Hash },
        };
        self.node(operator, output, properties.rows)
    }

    /// Lowers the scan of a CTE.
    pub(crate) fn cte_scan(
        &mut self,
        cte: CteId,
        columns: &[(ColumnId, DataType)],
        name: &std::sync::Arc<str>,
        needed: &ColumnSet,
    ) -> Result<Lowered> {
        self.prepare_cte(cte)?;
        let flags = self.read.get(&cte).cloned().unwrap_or_default();
        let slot = &self.ctes[&cte];
        // Position in the definition to ordinal in the prelude's output: unread positions are gone.
        let kept = |position: usize| match slot.source {
            CteSource::Prelude(_) if slot.columns.len() < columns.len() => {
                flags[..position].iter().filter(|flag| **flag).count()
            }
            _ => position,
        };
        let (mut ids, mut ordinals, mut output) = (Vec::new(), Vec::new(), Vec::new());
        let mut names = Vec::new();
        for (position, &(id, _)) in columns.iter().enumerate() {
            if needed.contains(id) {
                let ordinal = kept(position);
                ids.push(id);
                names.push((slot.columns[ordinal], id));
                ordinals.push(ordinal);
                output.push(slot.output[ordinal].clone());
            }
        }
        let properties = slot.properties.renamed(&names);
        let operator =
            Operator::CteScan { source: slot.source, columns: ordinals, name: name.clone() };
        let node = self.node(operator, output, properties.rows);
        Ok(Lowered { node, columns: ids, properties })
    }

    /// Lowers WITH RECURSIVE to a materialised prelude.
    pub(super) fn recursive(
        &mut self,
        id: CteId,
        duplicates: Duplicates,
        base: &Plan,
        step: &Plan,
    ) -> Result<()> {
        let number = self.recursions;
        self.recursions += 1;
        let kind = if base.is_volatile() || step.is_volatile() {
            PreludeKind::Materialized
        } else {
            PreludeKind::Recursive
        };
        let types = tree::output(base);
        let physical: Vec<PhysicalType> = types.iter().map(|(_, ty)| ty.physical()).collect();
        let base_ids: Vec<ColumnId> = types.iter().map(|c| c.0).collect();
        let lowered = self.lower(base, &base_ids.iter().copied().collect())?;
        let rows = lowered.properties.rows;
        let base = self.arranged(lowered, &base_ids, Some(&physical))?;
        let mut properties = Properties { rows: rows * 10.0, ..Properties::default() };
        for &(id, ty) in &types {
            let mut column = ColumnProperty::unknown(properties.rows, ty);
            column.range = range::of_type(ty);
            properties.columns.insert(id, column);
        }
        let output = base.output.clone();
        let slot = CteSlot {
            source: CteSource::Recursive(number),
            output: output.clone(),
            columns: base_ids.clone(),
            properties: properties.clone(),
        };
        self.estimator.ctes.insert(id, (base_ids.clone(), properties.clone()));
        self.ctes.insert(id, slot);
        let step_ids: Vec<ColumnId> = tree::output(step).iter().map(|c| c.0).collect();
        let lowered = self.lower(step, &step_ids.iter().copied().collect())?;
        let step = self.arranged(lowered, &step_ids, Some(&physical))?;
        let (base, step) = (Box::new(base), Box::new(step));
        let operator = Operator::Recursive { number, duplicates, base, step };
        let node = self.node(operator, output, properties.rows);
        let kept = Lowered { node, columns: base_ids.clone(), properties };
        self.keep(id, kept, base_ids, kind);
        Ok(())
    }
}

fn intersect_or_except(
    operator: SetOperator,
    duplicates: Duplicates,
    mut nodes: Vec<Node>,
) -> Result<Operator> {
    let (Some(right), Some(left)) = (nodes.pop(), nodes.pop()) else {
        return Err(types::Error::internal("a set operation has two inputs"));
    };
    let (left, right) = (Box::new(left), Box::new(right));
    Ok(Operator::SetOperation { operator, duplicates, left, right })
}

/// The inputs of nested unions that may be one.
fn flatten<'a>(plan: &'a Plan, duplicates: Duplicates, out: &mut Vec<&'a Plan>) {
    let Plan::SetOperation { left, right, .. } = plan else {
        return;
    };
    for side in [&**left, &**right] {
        let inner = match side {
            Plan::Project { input, columns } if picks_in_order(input, columns) => &**input,
            _ => side,
        };
        match inner {
            Plan::SetOperation { operator: SetOperator::Union, duplicates: below, .. }
                if *below == Duplicates::Keep || duplicates == Duplicates::Remove =>
            {
                flatten(inner, duplicates, out);
            }
            _ => out.push(side),
        }
    }
}

fn picks_in_order(input: &Plan, columns: &[(ColumnId, sql::algebra::Expr)]) -> bool {
    let below = tree::output(input);
    below.len() == columns.len()
        && below.iter().zip(columns).all(|((id, _), (_, e))| tree::as_column(e) == Some(*id))
}

fn common_physical(
    columns: &[(ColumnId, DataType)],
    inputs: &[(Lowered, Vec<ColumnId>)],
) -> Result<Vec<PhysicalType>> {
    let mut physical = Vec::with_capacity(columns.len());
    for (i, (_, ty)) in columns.iter().enumerate() {
        let mut held = None;
        for (lowered, ids) in inputs {
            let own = lowered.find(ids[i])?.1.physical;
            held = Some(held.map_or(own, |h| expr::wider(h, own)));
        }
        physical.push(held.unwrap_or(ty.physical()));
    }
    Ok(physical)
}

fn combined(
    operator: SetOperator,
    columns: &[(ColumnId, DataType)],
    inputs: &[(Lowered, Vec<ColumnId>)],
) -> Properties {
    let rows = inputs.iter().map(|(lowered, _)| lowered.properties.rows);
    let rows = match operator {
        SetOperator::Union => rows.sum(),
        _ => rows.fold(f64::MAX, f64::min),
    };
    let most = inputs.iter().map(|(lowered, _)| lowered.properties.rows_max);
    let rows_max = most.reduce(|a, b| a.zip(b).map(|(a, b)| a + b)).flatten();
    let mut out = Properties { rows, rows_max, ..Properties::default() };
    for (i, &(id, ty)) in columns.iter().enumerate() {
        let mut property = ColumnProperty::unknown(rows, ty);
        let sides = inputs.iter().map(|(lowered, ids)| lowered.properties.column(ids[i]));
        let ranges = sides.clone().map(|c| c.and_then(|c| c.range));
        let union = ranges.reduce(|a, b| a.zip(b).map(|(a, b)| a.union(b))).flatten();
        property.range = union.or(property.range);
        property.nullable = sides.clone().any(|c| c.is_none_or(|c| c.nullable));
        let distinct: f64 = sides.map(|c| c.map_or(rows, |c| c.distinct)).sum();
        property.distinct = distinct.min(rows).max(1.0);
        property.domain = property.distinct;
        out.columns.insert(id, property);
    }
    out
}
