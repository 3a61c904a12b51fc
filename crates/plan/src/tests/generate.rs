//! Random queries with sub-queries in every position.

use sql::algebra::{
    AggregateFunction, ColumnId, CteId, Duplicates, Expr, ExprKind, FrameBound, FrameUnits,
    Function, JoinKind, Plan, Quantifier, Query, SeriesFunction, SetOperator, WindowCall,
    WindowFrame, WindowFunction,
};
use sql::catalog::TableRef;
use testkit::Random;
use types::{CompareOp, DataType, Value};

use super::build::{
    Columns, Ids, aggregate, ascending, big, call, cast, col, descending, filter, group, int, join,
    project,
};
use super::data::MONEY;
use crate::tree;

pub(super) struct Generator<'t> {
    random: Random,
    ids: Ids,
    tables: &'t [TableRef],
    /// CTEs in scope and the types of their columns.
    ctes: Vec<(CteId, Vec<DataType>)>,
}

/// A query over `tables`.
pub(super) fn query(seed: u64, tables: &[TableRef]) -> Query {
    let mut generator =
        Generator { random: Random::new(seed), ids: Ids::default(), tables, ctes: Vec::new() };
    let depth = 2 + generator.random.below(2) as u32;
    let (plan, columns) = generator.plan(depth, &Vec::new());
    let plan = if columns.is_empty() { plan } else { generator.narrowed(plan, &columns) };
    generator.ids.query(plan)
}

impl Generator<'_> {
    fn one_in(&mut self, count: u64) -> bool {
        self.random.below(count) == 0
    }

    fn narrowed(&mut self, plan: Plan, columns: &Columns) -> Plan {
        let columns = columns.iter().map(|c| (c.0, col(*c))).collect();
        project(plan, columns)
    }

    /// A plan whose free columns are among `outer`.
    fn plan(&mut self, depth: u32, outer: &Columns) -> (Plan, Columns) {
        if depth == 0 {
            return self.leaf(outer);
        }
        match self.random.below(22) {
            0..=3 => self.leaf(outer),
            4..=8 => {
                let (input, columns) = self.plan(depth - 1, outer);
                let predicate = self.conjunction(depth, &columns, outer);
                (filter(input, predicate), columns)
            }
            9..=11 => self.join(depth, outer),
            12 | 13 => {
                let (input, columns) = self.plan(depth - 1, outer);
                self.projection(depth, input, &columns, outer)
            }
            14 | 15 => self.aggregation(depth, outer),
            16 => {
                let (input, columns) = self.plan(depth - 1, outer);
                let narrow: Columns = columns.into_iter().take(2).collect();
                let input = self.narrowed(input, &narrow);
                (Plan::Distinct { input: Box::new(input), on: Vec::new() }, narrow)
            }
            17 => self.limited(depth, outer),
            18 => self.window(depth, outer),
            19 => self.set_operation(depth, outer),
            20 => self.with(depth, outer),
            _ => self.recursive(depth, outer),
        }
    }

    fn leaf(&mut self, outer: &Columns) -> (Plan, Columns) {
        if !self.ctes.is_empty() && self.one_in(2) {
            let at = self.random.below(self.ctes.len() as u64) as usize;
            let (cte, types) = self.ctes[at].clone();
            let columns: Columns = types.iter().map(|ty| (self.ids.column(), *ty)).collect();
            return (Plan::CteScan { cte, columns: columns.clone(), name: "cte".into() }, columns);
        }
        match self.random.below(12) {
            0 => {
                let rows = self.random.below(3) + 1;
                let columns: Columns =
                    (0..2).map(|_| (self.ids.column(), DataType::Integer)).collect();
                let rows = (0..rows)
                    .map(|_| (0..2).map(|_| self.value(0, &Vec::new(), outer)).collect())
                    .collect();
                (Plan::Values { columns: columns.clone(), rows }, columns)
            }
            1 => {
                let stop = self.value(0, &Vec::new(), outer);
                let stop = call(Function::Add, vec![stop, int(0)], DataType::Integer);
                let column = (self.ids.column(), DataType::Integer);
                {
                    let (function, arguments) =
                        (SeriesFunction::Generate, vec![int(0), stop, int(1)]);
                    (Plan::Series { function, arguments, column }, vec![column])
                }
            }
            _ => {
                let at = self.random.below(self.tables.len() as u64) as usize;
                let table = self.tables[at].clone();
                self.ids.scan(&table)
            }
        }
    }

    fn join(&mut self, depth: u32, outer: &Columns) -> (Plan, Columns) {
        let (left, mut columns) = self.plan(depth - 1, outer);
        let lateral = self.one_in(3);
        let mut around = outer.clone();
        if lateral {
            around.extend(&columns);
        }
        let (right, more) = self.plan(depth - 1, &around);
        let kind = match self.random.below(if lateral { 6 } else { 9 }) {
            0..=3 => JoinKind::Inner,
            4 | 5 => JoinKind::Left,
            6 => JoinKind::Right,
            7 => JoinKind::Full,
            _ => JoinKind::Inner,
        };
        let mut both = columns.clone();
        both.extend(&more);
        let condition = if self.one_in(5) {
            tree::truth(true)
        } else if kind == JoinKind::Full {
            self.equality(&columns, &more)
        } else if self.one_in(3) {
            let nested = if self.one_in(3) { 1 } else { 0 };
            self.predicate(nested, &both, outer)
        } else {
            self.equality(&columns, &more)
        };
        columns.extend(more);
        (join(left, right, kind, condition), columns)
    }

    fn equality(&mut self, left: &Columns, right: &Columns) -> Expr {
        let none = Vec::new();
        let a = self.value(0, left, &none);
        let b = self.value(0, right, &none);
        tree::compare(CompareOp::Equal, a, b)
    }

    fn projection(
        &mut self,
        depth: u32,
        input: Plan,
        columns: &Columns,
        outer: &Columns,
    ) -> (Plan, Columns) {
        let mut list: Vec<(ColumnId, Expr)> = Vec::new();
        for _ in 0..self.random.below(3) + 1 {
            let expr = match self.random.below(6) {
                0 => self.predicate(depth, columns, outer),
                1 => self.money(columns),
                _ => self.value(depth, columns, outer),
            };
            list.push((self.ids.column(), expr));
        }
        if let Some(kept) = columns.first() {
            list.push((kept.0, col(*kept)));
        }
        let columns = list.iter().map(|(id, e)| (*id, e.ty)).collect();
        (project(input, list), columns)
    }

    fn aggregation(&mut self, depth: u32, outer: &Columns) -> (Plan, Columns) {
        let (input, columns) = self.plan(depth - 1, outer);
        let mut keys = Vec::new();
        for _ in 0..self.random.below(3) {
            let nested = if self.one_in(4) { depth } else { 0 };
            let expr = if columns.is_empty() || self.one_in(3) {
                self.value(nested, &columns, outer)
            } else {
                let at = self.random.below(columns.len() as u64) as usize;
                col(columns[at])
            };
            keys.push((self.ids.column(), expr));
        }
        let mut aggregates = Vec::new();
        for _ in 0..self.random.below(3) + u64::from(keys.is_empty()) {
            let nested = if self.one_in(4) { depth } else { 0 };
            let argument = self.value(nested, &columns, outer);
            let mut made = match self.random.below(6) {
                0 => aggregate(AggregateFunction::CountRows, None, DataType::BigInt),
                1 => aggregate(AggregateFunction::Count, Some(argument), DataType::BigInt),
                2 => aggregate(AggregateFunction::Sum, Some(argument), DataType::BigInt),
                3 => aggregate(AggregateFunction::Min, Some(argument), DataType::Integer),
                4 => aggregate(AggregateFunction::Max, Some(argument), DataType::Integer),
                _ => {
                    let argument = self.money(&columns);
                    aggregate(AggregateFunction::Sum, Some(argument), DataType::numeric(38, 4))
                }
            };
            if self.one_in(5) && !made.arguments.is_empty() {
                made.duplicates = Duplicates::Remove;
            }
            if self.one_in(6) {
                made.filter = Some(self.predicate(nested, &columns, outer));
            }
            aggregates.push((self.ids.column(), made));
        }
        let mut out: Columns = keys.iter().map(|(id, e)| (*id, e.ty)).collect();
        out.extend(aggregates.iter().map(|(id, call)| (*id, call.ty)));
        let mut plan = group(input, keys, aggregates);
        if self.one_in(6)
            && let Plan::Aggregate { keys, grouping_sets, set_column, .. } = &mut plan
        {
            let mut sets: Vec<Vec<usize>> = vec![(0..keys.len()).collect()];
            sets.extend((0..keys.len()).map(|i| vec![i]));
            if self.one_in(2) {
                sets.push(Vec::new());
            }
            *grouping_sets = Some(sets);
            let id = self.ids.column();
            *set_column = Some(id);
            out.push((id, DataType::BigInt));
        }
        if self.one_in(3) {
            plan = filter(plan, self.predicate(depth - 1, &out, outer));
        }
        (plan, out)
    }

    fn limited(&mut self, depth: u32, outer: &Columns) -> (Plan, Columns) {
        let (input, columns) = self.plan(depth - 1, outer);
        if columns.is_empty() {
            return (input, columns);
        }
        let mut keys = Vec::new();
        if self.one_in(4) {
            keys.push(ascending(self.value(depth, &columns, outer)));
        }
        for column in &columns {
            let expr = col(*column);
            keys.push(if self.one_in(2) { ascending(expr) } else { descending(expr) });
        }
        let sorted = Plan::Sort { input: Box::new(input), keys };
        let limit = Some(big(self.random.below(3) as i64));
        let offset = self.one_in(4).then(|| big(1));
        if self.one_in(4) {
            // DISTINCT ON keeps the first row of each value.
            let on = vec![col(columns[0])];
            let mut by = vec![ascending(col(columns[0]))];
            by.extend(columns.iter().map(|c| descending(col(*c))));
            let Plan::Sort { input, .. } = sorted else {
                return self.leaf(outer);
            };
            let sorted = Plan::Sort { input, keys: by };
            return (Plan::Distinct { input: Box::new(sorted), on }, columns);
        }
        (Plan::Limit { input: Box::new(sorted), limit, offset }, columns)
    }

    fn window(&mut self, depth: u32, outer: &Columns) -> (Plan, Columns) {
        let (input, mut columns) = self.plan(depth - 1, outer);
        if columns.is_empty() {
            return (input, columns);
        }
        let mut partition_by = Vec::new();
        if self.one_in(2) {
            partition_by.push(self.value(0, &columns, outer));
        }
        let numbers = self.one_in(2);
        let whole = |start, end| WindowFrame {
            units: FrameUnits::Range,
            start,
            end,
            exclusion: sql::algebra::FrameExclusion::NoOthers,
        };
        let call = if numbers {
            WindowCall {
                function: WindowFunction::RowNumber,
                arguments: Vec::new(),
                partition_by,
                order_by: columns.iter().map(|c| ascending(col(*c))).collect(),
                frame: whole(FrameBound::UnboundedPreceding, FrameBound::CurrentRow),
                filter: None,
                ty: DataType::BigInt,
            }
        } else {
            WindowCall {
                function: WindowFunction::Aggregate(AggregateFunction::Sum),
                arguments: vec![self.value(0, &columns, outer)],
                partition_by,
                order_by: Vec::new(),
                frame: whole(FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing),
                filter: None,
                ty: DataType::BigInt,
            }
        };
        let id = self.ids.column();
        columns.push((id, DataType::BigInt));
        (Plan::Window { input: Box::new(input), calls: vec![(id, call)] }, columns)
    }

    fn set_operation(&mut self, depth: u32, outer: &Columns) -> (Plan, Columns) {
        let mut side = || {
            let (input, columns) = self.plan(depth - 1, outer);
            let list =
                (0..2).map(|_| (self.ids.column(), self.value(0, &columns, outer))).collect();
            Box::new(project(input, list))
        };
        let (left, right) = (side(), side());
        let columns: Columns = (0..2).map(|_| (self.ids.column(), DataType::Integer)).collect();
        let operator = match self.random.below(4) {
            0 => SetOperator::Intersect,
            1 => SetOperator::Except,
            _ => SetOperator::Union,
        };
        let duplicates = if self.one_in(2) { Duplicates::Keep } else { Duplicates::Remove };
        let plan =
            Plan::SetOperation { operator, duplicates, left, right, columns: columns.clone() };
        (plan, columns)
    }

    fn with(&mut self, depth: u32, outer: &Columns) -> (Plan, Columns) {
        let (definition, columns) = self.plan(depth - 1, outer);
        let definition = self.narrowed(definition, &columns);
        let cte = self.ids.cte();
        self.ctes.push((cte, columns.iter().map(|c| c.1).collect()));
        let (body, out) = self.plan(depth, outer);
        self.ctes.pop();
        let (definition, body) = (Box::new(definition), Box::new(body));
        (Plan::With { cte, name: "cte".into(), definition, body }, out)
    }

    /// Counts from a value to 3, with whatever else the step does.
    fn recursive(&mut self, depth: u32, outer: &Columns) -> (Plan, Columns) {
        let none = Vec::new();
        let first = (self.ids.column(), DataType::Integer);
        let start = self.value(0, &none, outer);
        let base = project(tree::one_row(), vec![(first.0, start)]);
        let cte = self.ids.cte();
        let own = (self.ids.column(), DataType::Integer);
        let scan = Plan::CteScan { cte, columns: vec![own], name: "recursion".into() };
        let small = tree::compare(CompareOp::Less, col(own), int(3));
        let mut step = filter(scan, small);
        if self.one_in(2) {
            step = filter(step, self.predicate(1, &vec![own], outer));
        }
        let next = call(Function::Add, vec![col(own), int(1)], DataType::Integer);
        let step = project(step, vec![(self.ids.column(), next)]);
        self.ctes.push((cte, vec![DataType::Integer]));
        let (body, out) = self.plan(depth - 1, outer);
        self.ctes.pop();
        let duplicates = if self.one_in(2) { Duplicates::Keep } else { Duplicates::Remove };
        let (base, step, body) = (Box::new(base), Box::new(step), Box::new(body));
        let name = "recursion".into();
        (Plan::RecursiveWith { cte, name, duplicates, base, step, body }, out)
    }

    /// A column, mostly of `columns`.
    fn any_column(&mut self, columns: &Columns, outer: &Columns) -> Option<Expr> {
        let numbers = |list: &Columns| -> Columns {
            list.iter().filter(|c| c.1.is_integer()).copied().collect()
        };
        let (own, around) = (numbers(columns), numbers(outer));
        let from = match (own.is_empty(), around.is_empty()) {
            (true, true) => return None,
            (false, true) => own,
            (true, false) => around,
            _ => {
                if self.one_in(3) {
                    around
                } else {
                    own
                }
            }
        };
        let at = self.random.below(from.len() as u64) as usize;
        Some(col(from[at]))
    }

    /// An INTEGER.
    fn value(&mut self, depth: u32, columns: &Columns, outer: &Columns) -> Expr {
        let ty = DataType::Integer;
        let nested = depth > 0;
        match self.random.below(if nested { 16 } else { 10 }) {
            0 => int(self.random.below(4) as i32),
            1 if self.one_in(2) => tree::literal(Value::Null, ty),
            2 => {
                let a = self.value(depth.saturating_sub(1), columns, outer);
                let b = int(self.random.below(2) as i32);
                call(Function::Add, vec![a, b], ty)
            }
            3 => {
                let a = self.value(depth.saturating_sub(1), columns, outer);
                call(Function::Coalesce, vec![a, int(1)], ty)
            }
            4 => {
                let when = self.predicate(depth.saturating_sub(1), columns, outer);
                let then = self.value(depth.saturating_sub(1), columns, outer);
                let otherwise = Box::new(self.value(0, columns, outer));
                Expr { kind: ExprKind::Case { branches: vec![(when, then)], otherwise }, ty }
            }
            10..=15 => {
                let plan = self.scalar(depth - 1, columns, outer);
                let ty = tree::output(&plan)[0].1;
                cast(Expr { kind: ExprKind::ScalarSubquery(Box::new(plan)), ty }, DataType::Integer)
            }
            _ => match self.any_column(columns, outer) {
                Some(column) => cast(column, ty),
                None => int(self.random.below(4) as i32),
            },
        }
    }

    /// NUMERIC(38, 4).
    fn money(&mut self, columns: &Columns) -> Expr {
        let found: Columns = columns.iter().filter(|c| c.1 == MONEY).copied().collect();
        let ty = DataType::numeric(38, 4);
        let Some(column) = found.first() else {
            return tree::literal(Value::I128(12_345), ty);
        };
        let one = tree::literal(Value::I64(150), MONEY);
        let sum = call(Function::Add, vec![col(*column), one], DataType::numeric(11, 2));
        call(Function::Multiply, vec![col(*column), sum], ty)
    }

    /// A sub-query of one column and, mostly, one row.
    fn scalar(&mut self, depth: u32, columns: &Columns, outer: &Columns) -> Plan {
        let mut around = outer.clone();
        around.extend(columns);
        let (input, inner) = self.plan(depth, &around);
        let input = if self.one_in(3) {
            input
        } else {
            filter(input, self.correlation(depth, &inner, &around))
        };
        let value = self.value(depth, &inner, &around);
        match self.random.below(6) {
            0..=3 => {
                let made = match self.random.below(4) {
                    0 => aggregate(AggregateFunction::CountRows, None, DataType::BigInt),
                    1 => aggregate(AggregateFunction::Count, Some(value), DataType::BigInt),
                    2 => aggregate(AggregateFunction::Max, Some(value), DataType::Integer),
                    _ => aggregate(AggregateFunction::Sum, Some(value), DataType::BigInt),
                };
                let result = (self.ids.column(), made.ty);
                let mut plan = group(input, Vec::new(), vec![(result.0, made)]);
                if self.one_in(4) {
                    plan = filter(plan, self.predicate(0, &vec![result], &around));
                }
                let sum = call(
                    Function::Add,
                    vec![cast(col(result), DataType::BigInt), big(1)],
                    DataType::BigInt,
                );
                project(plan, vec![(self.ids.column(), sum)])
            }
            4 => {
                let result = (self.ids.column(), DataType::Integer);
                let plan = project(input, vec![(result.0, value)]);
                let sorted =
                    Plan::Sort { input: Box::new(plan), keys: vec![ascending(col(result))] };
                Plan::Limit { input: Box::new(sorted), limit: Some(big(1)), offset: None }
            }
            _ => project(input, vec![(self.ids.column(), value)]),
        }
    }

    /// A predicate between inner and outer columns.
    fn correlation(&mut self, depth: u32, columns: &Columns, outer: &Columns) -> Expr {
        let none = Vec::new();
        if outer.is_empty() || self.one_in(4) {
            return self.predicate(depth, columns, outer);
        }
        let inner = self.value(0, columns, &none);
        let around = self.value(0, &none, outer);
        let op = match self.random.below(6) {
            0 => CompareOp::Less,
            1 => CompareOp::NotDistinct,
            2 => CompareOp::NotEqual,
            _ => CompareOp::Equal,
        };
        tree::compare(op, inner, around)
    }

    fn conjunction(&mut self, depth: u32, columns: &Columns, outer: &Columns) -> Expr {
        let count = self.random.below(2) + 1;
        let parts = (0..count).map(|_| self.predicate(depth, columns, outer)).collect();
        tree::and_all(parts)
    }

    /// A BOOLEAN.
    fn predicate(&mut self, depth: u32, columns: &Columns, outer: &Columns) -> Expr {
        let nested = depth > 0;
        let less = depth.saturating_sub(1);
        match self.random.below(if nested { 20 } else { 10 }) {
            0 => tree::is_null(self.value(less, columns, outer)),
            1 if nested => tree::negate(self.predicate(less, columns, outer)),
            2 if nested => {
                let a = self.predicate(less, columns, outer);
                tree::or_all(vec![a, self.predicate(less, columns, outer)])
            }
            3 => {
                let operand = Box::new(self.value(less, columns, outer));
                let list = vec![int(0), int(2), tree::literal(Value::Null, DataType::Integer)];
                let count = self.random.below(3) as usize + 1;
                let list = list.into_iter().take(count).collect();
                tree::boolean(ExprKind::InList(operand, list))
            }
            10..=14 => {
                let mut around = outer.clone();
                around.extend(columns);
                let (plan, inner) = self.plan(less, &around);
                let plan = filter(plan, self.correlation(less, &inner, &around));
                let exists = tree::boolean(ExprKind::Exists(Box::new(plan)));
                if self.one_in(3) { tree::negate(exists) } else { exists }
            }
            15..=19 => self.quantified(less, columns, outer),
            _ => {
                let op = match self.random.below(8) {
                    0 => CompareOp::Less,
                    1 => CompareOp::GreaterEqual,
                    2 => CompareOp::NotEqual,
                    3 => CompareOp::Distinct,
                    4 => CompareOp::NotDistinct,
                    _ => CompareOp::Equal,
                };
                let a = self.value(less, columns, outer);
                tree::compare(op, a, self.value(less, columns, outer))
            }
        }
    }

    fn quantified(&mut self, depth: u32, columns: &Columns, outer: &Columns) -> Expr {
        let mut around = outer.clone();
        around.extend(columns);
        let (plan, inner) = self.plan(depth, &around);
        let plan = if self.one_in(2) {
            plan
        } else {
            filter(plan, self.correlation(depth, &inner, &around))
        };
        let (op, width) = match self.random.below(6) {
            0 => (CompareOp::Less, 1),
            1 => (CompareOp::GreaterEqual, 1),
            2 => (CompareOp::NotEqual, 1 + self.random.below(2)),
            _ => (CompareOp::Equal, 1 + self.random.below(2)),
        };
        let quantifier = match self.random.below(3) {
            0 => Quantifier::All,
            _ => Quantifier::Any,
        };
        // Rows compare by = ANY and <> ALL in SQL.
        let quantifier = match (width, op) {
            (2, CompareOp::Equal) => Quantifier::Any,
            (2, _) => Quantifier::All,
            _ => quantifier,
        };
        let left: Vec<Expr> = (0..width).map(|_| self.value(0, columns, outer)).collect();
        let list =
            left.iter().map(|_| (self.ids.column(), self.value(0, &inner, &around))).collect();
        let plan = Box::new(project(plan, list));
        tree::boolean(ExprKind::Quantified { left, op, quantifier, plan })
    }
}
