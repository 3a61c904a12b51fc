//! Short ways to write plans by hand.

use sql::algebra::{
    AggregateCall, AggregateFunction, ColumnId, CteId, Direction, Duplicates, Expr, ExprKind,
    Function, JoinKind, NullsOrder, OutputColumn, Plan, Query, SortKey,
};
use sql::catalog::TableRef;
use types::{DataType, Value};

use crate::tree;

/// Gives out ids.
#[derive(Default)]
pub(super) struct Ids {
    pub(super) columns: u32,
    pub(super) ctes: u32,
}

pub(super) type Columns = Vec<(ColumnId, DataType)>;

impl Ids {
    pub(super) fn column(&mut self) -> ColumnId {
        self.columns += 1;
        ColumnId(self.columns - 1)
    }

    pub(super) fn cte(&mut self) -> CteId {
        self.ctes += 1;
        CteId(self.ctes - 1)
    }

    /// A scan of all columns.
    pub(super) fn scan(&mut self, table: &TableRef) -> (Plan, Columns) {
        let columns: Vec<_> = (0..table.columns().len()).map(|i| (self.column(), i)).collect();
        let typed = columns.iter().map(|&(id, i)| (id, table.columns()[i].ty)).collect();
        let alias = table.name().into();
        (Plan::Scan { table: table.clone(), columns, alias }, typed)
    }

    /// The query that outputs all of `plan`.
    pub(super) fn query(&self, plan: Plan) -> Query {
        let name = |(i, (id, ty)): (usize, (ColumnId, DataType))| OutputColumn {
            name: format!("c{i}"),
            ty,
            id,
            collation: Default::default(),
            origin: None,
        };
        let columns = tree::output(&plan).into_iter().enumerate().map(name).collect();
        Query {
            plan,
            columns,
            parameters: Vec::new(),
            next_column: self.columns,
            next_cte: self.ctes,
        }
    }
}

pub(super) fn col((id, ty): (ColumnId, DataType)) -> Expr {
    tree::column(id, ty)
}

pub(super) fn int(value: i32) -> Expr {
    tree::literal(Value::I32(value), DataType::Integer)
}

pub(super) fn big(value: i64) -> Expr {
    tree::literal(Value::I64(value), DataType::BigInt)
}

pub(super) fn call(function: Function, arguments: Vec<Expr>, ty: DataType) -> Expr {
    Expr { kind: ExprKind::Call(function, arguments), ty }
}

pub(super) fn cast(expr: Expr, ty: DataType) -> Expr {
    if expr.ty == ty { expr } else { Expr { kind: ExprKind::Cast(Box::new(expr)), ty } }
}

pub(super) fn filter(input: Plan, predicate: Expr) -> Plan {
    Plan::Filter { input: Box::new(input), predicate }
}

pub(super) fn project(input: Plan, columns: Vec<(ColumnId, Expr)>) -> Plan {
    Plan::Project { input: Box::new(input), columns }
}

pub(super) fn join(left: Plan, right: Plan, kind: JoinKind, condition: Expr) -> Plan {
    Plan::Join { left: Box::new(left), right: Box::new(right), kind, condition }
}

pub(super) fn group(
    input: Plan,
    keys: Vec<(ColumnId, Expr)>,
    aggregates: Vec<(ColumnId, AggregateCall)>,
) -> Plan {
    Plan::Aggregate {
        input: Box::new(input),
        keys,
        aggregates,
        grouping_sets: None,
        set_column: None,
    }
}

pub(super) fn aggregate(
    function: AggregateFunction,
    argument: Option<Expr>,
    ty: DataType,
) -> AggregateCall {
    AggregateCall {
        function,
        arguments: argument.into_iter().collect(),
        duplicates: Duplicates::Keep,
        filter: None,
        order_by: Vec::new(),
        ty,
    }
}

pub(super) fn ascending(expr: Expr) -> SortKey {
    SortKey { expr, direction: Direction::Ascending, nulls: NullsOrder::Last }
}

pub(super) fn descending(expr: Expr) -> SortKey {
    SortKey { expr, direction: Direction::Descending, nulls: NullsOrder::First }
}
