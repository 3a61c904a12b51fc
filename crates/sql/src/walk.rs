//! Building, walking and rewriting the algebra: constructors, outputs, children.

use types::{CompareOp, DataType, Value, stack};

use crate::algebra::{
    AggregateCall, ColumnId, Expr, ExprKind, FrameBound, Function, JoinKind, Plan, Query,
    WindowCall,
};
use crate::definition::TID_COLUMN;

impl Expr {
    /// A reference to a column.
    pub fn column(id: ColumnId, ty: DataType) -> Self {
        Self { kind: ExprKind::Column(id), ty }
    }

    /// A constant.
    pub fn literal(value: Value, ty: DataType) -> Self {
        Self { kind: ExprKind::Literal(value), ty }
    }

    /// A BOOLEAN constant.
    pub fn boolean(value: bool) -> Self {
        Self::literal(Value::Bool(value), DataType::Boolean)
    }

    /// An INTEGER constant.
    pub fn integer(value: i32) -> Self {
        Self::literal(Value::I32(value), DataType::Integer)
    }

    /// A TEXT constant.
    pub fn text(value: &str) -> Self {
        Self::literal(Value::text(value), DataType::Text)
    }

    /// NULL of a type.
    pub fn null(ty: DataType) -> Self {
        Self::literal(Value::Null, ty)
    }

    /// A function call.
    pub fn call(function: Function, arguments: Vec<Expr>, ty: DataType) -> Self {
        Self { kind: ExprKind::Call(function, arguments), ty }
    }

    /// `left op right`.
    pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Self {
        let kind = ExprKind::Compare(op, Box::new(left), Box::new(right));
        Self { kind, ty: DataType::Boolean }
    }

    /// `self` converted to `ty`.
    #[must_use]
    pub fn cast(self, ty: DataType) -> Self {
        Self { kind: ExprKind::Cast(Box::new(self)), ty }
    }

    /// NOT `self`.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { kind: ExprKind::Not(Box::new(self)), ty: DataType::Boolean }
    }

    /// `self` IS NULL.
    #[must_use]
    pub fn is_null(self) -> Self {
        Self { kind: ExprKind::IsNull(Box::new(self)), ty: DataType::Boolean }
    }

    /// The conjunction of `terms`, nested ones flattened; TRUE when there is none.
    pub fn and(terms: Vec<Expr>) -> Self {
        Self::connect(terms, true)
    }

    /// The disjunction of `terms`, nested ones flattened; FALSE when there is none.
    pub fn or(terms: Vec<Expr>) -> Self {
        Self::connect(terms, false)
    }

    fn connect(terms: Vec<Expr>, conjunction: bool) -> Self {
        let mut flat = Vec::with_capacity(terms.len());
        for term in terms {
            match (term.kind, conjunction) {
                (ExprKind::And(inner), true) | (ExprKind::Or(inner), false) => flat.extend(inner),
                (ExprKind::Literal(Value::Bool(value)), _) if value == conjunction => {}
                (kind, _) => flat.push(Expr { kind, ty: term.ty }),
            }
        }
        match flat.len() {
            0 => Self::boolean(conjunction),
            1 => flat.swap_remove(0),
            _ if conjunction => Self { kind: ExprKind::And(flat), ty: DataType::Boolean },
            _ => Self { kind: ExprKind::Or(flat), ty: DataType::Boolean },
        }
    }

    /// True for the literal TRUE.
    pub fn is_true(&self) -> bool {
        matches!(self.kind, ExprKind::Literal(Value::Bool(true)))
    }

    /// The id, when the expression is a column and nothing else.
    pub fn as_column(&self) -> Option<ColumnId> {
        match self.kind {
            ExprKind::Column(id) => Some(id),
            _ => None,
        }
    }

    /// The value, when the expression is a constant.
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Calls `visit` with each operand, not with sub-query plans.
    pub fn each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        // Whoever looks at operands is likely to look at theirs.
        stack::deep(|| match &self.kind {
            ExprKind::Column(_)
            | ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::ScalarSubquery(_)
            | ExprKind::Exists(_) => {}
            ExprKind::Call(_, list) | ExprKind::And(list) | ExprKind::Or(list) => {
                list.iter().for_each(visit);
            }
            ExprKind::Quantified { left, .. } => left.iter().for_each(visit),
            ExprKind::Compare(_, left, right) => {
                visit(left);
                visit(right);
            }
            ExprKind::Not(inner) | ExprKind::IsNull(inner) | ExprKind::Cast(inner) => visit(inner),
            ExprKind::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                visit(otherwise);
            }
            ExprKind::InList(operand, list) => {
                visit(operand);
                list.iter().for_each(visit);
            }
            ExprKind::Like { operand, pattern, .. } => {
                visit(operand);
                visit(pattern);
            }
        });
    }

    /// Calls `visit` with each operand, not with sub-query plans.
    pub fn each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        stack::deep(|| match &mut self.kind {
            ExprKind::Column(_)
            | ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::ScalarSubquery(_)
            | ExprKind::Exists(_) => {}
            ExprKind::Call(_, list) | ExprKind::And(list) | ExprKind::Or(list) => {
                list.iter_mut().for_each(visit);
            }
            ExprKind::Quantified { left, .. } => left.iter_mut().for_each(visit),
            ExprKind::Compare(_, left, right) => {
                visit(left);
                visit(right);
            }
            ExprKind::Not(inner) | ExprKind::IsNull(inner) | ExprKind::Cast(inner) => visit(inner),
            ExprKind::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                visit(otherwise);
            }
            ExprKind::InList(operand, list) => {
                visit(operand);
                list.iter_mut().for_each(visit);
            }
            ExprKind::Like { operand, pattern, .. } => {
                visit(operand);
                visit(pattern);
            }
        });
    }

    /// The plan of the sub-query that this very expression is.
    pub fn subquery(&self) -> Option<&Plan> {
        match &self.kind {
            ExprKind::ScalarSubquery(plan)
            | ExprKind::Exists(plan)
            | ExprKind::Quantified { plan, .. } => Some(plan),
            _ => None,
        }
    }

    /// The plan of the sub-query that this very expression is.
    pub fn subquery_mut(&mut self) -> Option<&mut Plan> {
        match &mut self.kind {
            ExprKind::ScalarSubquery(plan)
            | ExprKind::Exists(plan)
            | ExprKind::Quantified { plan, .. } => Some(plan),
            _ => None,
        }
    }

    /// Gives the columns that it refers to other ids, outside of sub-queries.
    pub fn renumber(&mut self, id_of: &dyn Fn(ColumnId) -> ColumnId) {
        if let ExprKind::Column(id) = &mut self.kind {
            *id = id_of(*id);
        }
        self.each_child_mut(&mut |child| child.renumber(id_of));
    }

    /// Calls `visit` with the id of every column referenced, inside sub-queries too.
    pub fn each_column(&self, visit: &mut dyn FnMut(ColumnId)) {
        if let ExprKind::Column(id) = self.kind {
            visit(id);
        }
        self.each_child(&mut |child| child.each_column(visit));
        if let Some(plan) = self.subquery() {
            plan.each_column(visit);
        }
    }
}

impl Plan {
    /// The columns that the plan gives, in order.
    pub fn output(&self) -> Vec<ColumnId> {
        let mut output = Vec::new();
        self.each_output(&mut |id, _| output.push(id));
        output
    }

    /// The columns that the plan gives, in order, with their types.
    pub fn output_types(&self) -> Vec<(ColumnId, DataType)> {
        let mut output = Vec::new();
        self.each_output(&mut |id, ty| output.push((id, ty)));
        output
    }

    /// Calls `visit` with the columns that the plan gives, in order, and their types.
    pub fn each_output(&self, visit: &mut dyn FnMut(ColumnId, DataType)) {
        match self {
            Self::Scan { table, columns, .. } => {
                let defs = table.columns();
                let ty = |ordinal: usize| match ordinal {
                    TID_COLUMN => DataType::BigInt,
                    _ => defs.get(ordinal).map_or(DataType::Unknown, |column| column.ty),
                };
                columns.iter().for_each(|(id, ordinal)| visit(*id, ty(*ordinal)));
            }
            Self::FunctionScan { function, columns } => {
                let defs = function.0.columns();
                let ty = |ordinal: usize| defs.get(ordinal).map_or(DataType::Unknown, |c| c.1);
                columns.iter().for_each(|(id, ordinal)| visit(*id, ty(*ordinal)));
            }
            Self::Input { columns, .. } => columns.iter().for_each(|c| visit(c.id, c.ty)),
            Self::Series { column, .. } => visit(column.0, column.1),
            Self::Values { columns, .. }
            | Self::SetOperation { columns, .. }
            | Self::CteScan { columns, .. } => columns.iter().for_each(|(id, ty)| visit(*id, *ty)),
            Self::Filter { input, .. }
            | Self::Distinct { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => input.each_output(visit),
            Self::Project { columns, .. } => columns.iter().for_each(|(id, e)| visit(*id, e.ty)),
            Self::Join { left, right, kind, .. } => {
                left.each_output(visit);
                match kind {
                    JoinKind::Semi | JoinKind::Anti => {}
                    JoinKind::Mark(id) => visit(*id, DataType::Boolean),
                    JoinKind::Inner
                    | JoinKind::Left
                    | JoinKind::Right
                    | JoinKind::Full
                    | JoinKind::Single
                    | JoinKind::Each => right.each_output(visit),
                }
            }
            Self::Aggregate { keys, aggregates, set_column, .. } => {
                keys.iter().for_each(|(id, e)| visit(*id, e.ty));
                aggregates.iter().for_each(|(id, call)| visit(*id, call.ty));
                set_column.iter().for_each(|id| visit(*id, DataType::BigInt));
            }
            Self::Window { input, calls } => {
                input.each_output(visit);
                calls.iter().for_each(|(id, call)| visit(*id, call.ty));
            }
            Self::With { body, .. } | Self::RecursiveWith { body, .. } => body.each_output(visit),
        }
    }

    /// Input plans, left to right; sub-queries of expressions are not among them.
    pub fn inputs(&self) -> Vec<&Plan> {
        match self {
            Self::Scan { .. }
            | Self::FunctionScan { .. }
            | Self::Input { .. }
            | Self::Series { .. }
            | Self::Values { .. }
            | Self::CteScan { .. } => Vec::new(),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Distinct { input, .. }
            | Self::Window { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => vec![input],
            Self::Join { left, right, .. } | Self::SetOperation { left, right, .. } => {
                vec![left, right]
            }
            Self::With { definition, body, .. } => vec![definition, body],
            Self::RecursiveWith { base, step, body, .. } => vec![base, step, body],
        }
    }

    /// As [`Plan::inputs`], to be changed.
    pub fn inputs_mut(&mut self) -> Vec<&mut Plan> {
        match self {
            Self::Scan { .. }
            | Self::FunctionScan { .. }
            | Self::Input { .. }
            | Self::Series { .. }
            | Self::Values { .. }
            | Self::CteScan { .. } => Vec::new(),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Distinct { input, .. }
            | Self::Window { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. } => vec![input],
            Self::Join { left, right, .. } | Self::SetOperation { left, right, .. } => {
                vec![left, right]
            }
            Self::With { definition, body, .. } => vec![definition, body],
            Self::RecursiveWith { base, step, body, .. } => vec![base, step, body],
        }
    }

    /// Calls `visit` with the expressions of this operator, not of its inputs.
    pub fn each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::Series { arguments, .. } => arguments.iter().for_each(visit),
            Self::Values { rows, .. } => rows.iter().flatten().for_each(visit),
            Self::Filter { predicate, .. } => visit(predicate),
            Self::Project { columns, .. } => columns.iter().for_each(|(_, e)| visit(e)),
            Self::Join { condition, .. } => visit(condition),
            Self::Aggregate { keys, aggregates, .. } => {
                keys.iter().for_each(|(_, e)| visit(e));
                aggregates.iter().for_each(|(_, call)| call.each_expr(visit));
            }
            Self::Distinct { on, .. } => on.iter().for_each(visit),
            Self::Window { calls, .. } => {
                calls.iter().for_each(|(_, call)| call.each_expr(visit));
            }
            Self::Sort { keys, .. } => keys.iter().for_each(|key| visit(&key.expr)),
            Self::Limit { limit, offset, .. } => limit.iter().chain(offset).for_each(visit),
            Self::Scan { .. }
            | Self::FunctionScan { .. }
            | Self::Input { .. }
            | Self::SetOperation { .. }
            | Self::With { .. }
            | Self::RecursiveWith { .. }
            | Self::CteScan { .. } => {}
        }
    }

    /// Calls `visit` with the expressions of this operator, not of its inputs.
    pub fn each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Self::Series { arguments, .. } => arguments.iter_mut().for_each(visit),
            Self::Values { rows, .. } => rows.iter_mut().flatten().for_each(visit),
            Self::Filter { predicate, .. } => visit(predicate),
            Self::Project { columns, .. } => columns.iter_mut().for_each(|(_, e)| visit(e)),
            Self::Join { condition, .. } => visit(condition),
            Self::Aggregate { keys, aggregates, .. } => {
                keys.iter_mut().for_each(|(_, e)| visit(e));
                aggregates.iter_mut().for_each(|(_, call)| call.each_expr_mut(visit));
            }
            Self::Distinct { on, .. } => on.iter_mut().for_each(visit),
            Self::Window { calls, .. } => {
                calls.iter_mut().for_each(|(_, call)| call.each_expr_mut(visit));
            }
            Self::Sort { keys, .. } => keys.iter_mut().for_each(|key| visit(&mut key.expr)),
            Self::Limit { limit, offset, .. } => {
                limit.iter_mut().chain(offset).for_each(visit);
            }
            Self::Scan { .. }
            | Self::FunctionScan { .. }
            | Self::Input { .. }
            | Self::SetOperation { .. }
            | Self::With { .. }
            | Self::RecursiveWith { .. }
            | Self::CteScan { .. } => {}
        }
    }

    /// Calls `visit` with the id of every column referenced anywhere in the plan.
    pub fn each_column(&self, visit: &mut dyn FnMut(ColumnId)) {
        stack::deep(|| {
            self.each_expr(&mut |expr| expr.each_column(visit));
            for input in self.inputs() {
                input.each_column(visit);
            }
        });
    }

    /// True when the plan reads a CTE, in a sub-query perhaps.
    pub fn reads_cte(&self) -> bool {
        let mut found = false;
        self.each_operator(&mut |plan| found |= matches!(plan, Self::CteScan { .. }));
        found
    }

    /// True when evaluating it again may give other rows, though no table changed.
    pub fn is_volatile(&self) -> bool {
        fn in_expr(expr: &Expr) -> bool {
            let mut found =
                matches!(&expr.kind, ExprKind::Call(function, _) if function.is_volatile());
            expr.each_child(&mut |child| found |= in_expr(child));
            found
        }
        let mut found = false;
        self.each_operator(&mut |plan| plan.each_expr(&mut |expr| found |= in_expr(expr)));
        found
    }

    /// Calls `visit` with every operator of the plan, those of sub-queries included.
    pub fn each_operator<'a>(&'a self, visit: &mut dyn FnMut(&'a Plan)) {
        fn in_expr<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Plan)) {
            if let Some(plan) = expr.subquery() {
                plan.each_operator(visit);
            }
            expr.each_child(&mut |child| in_expr(child, visit));
        }
        visit(self);
        self.each_expr(&mut |expr| in_expr(expr, visit));
        stack::deep(|| {
            for input in self.inputs() {
                input.each_operator(visit);
            }
        });
    }

    /// A plan that gives one row without columns.
    pub fn one_row() -> Self {
        Self::Values { columns: Vec::new(), rows: vec![Vec::new()] }
    }
}

impl AggregateCall {
    /// Calls `visit` with arguments, filter and sort keys.
    pub fn each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        self.arguments.iter().for_each(&mut *visit);
        self.filter.iter().for_each(&mut *visit);
        self.order_by.iter().for_each(|key| visit(&key.expr));
    }

    /// Calls `visit` with arguments, filter and sort keys.
    pub fn each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.arguments.iter_mut().for_each(&mut *visit);
        self.filter.iter_mut().for_each(&mut *visit);
        self.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
    }
}

impl WindowCall {
    /// Calls `visit` with all expressions of the call, frame bounds included.
    pub fn each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        self.arguments.iter().for_each(&mut *visit);
        self.partition_by.iter().for_each(&mut *visit);
        self.order_by.iter().for_each(|key| visit(&key.expr));
        for bound in [&self.frame.start, &self.frame.end] {
            if let FrameBound::Preceding(expr)
            | FrameBound::Following(expr)
            | FrameBound::Key(expr) = bound
            {
                visit(expr);
            }
        }
        self.filter.iter().for_each(&mut *visit);
    }

    /// Calls `visit` with all expressions of the call, frame bounds included.
    pub fn each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.arguments.iter_mut().for_each(&mut *visit);
        self.partition_by.iter_mut().for_each(&mut *visit);
        self.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
        for bound in [&mut self.frame.start, &mut self.frame.end] {
            if let FrameBound::Preceding(expr)
            | FrameBound::Following(expr)
            | FrameBound::Key(expr) = bound
            {
                visit(expr);
            }
        }
        self.filter.iter_mut().for_each(&mut *visit);
    }
}

impl Query {
    /// True when `plan` gives exactly `columns`, by position.
    pub fn is_exact(&self) -> bool {
        let output = self.plan.output();
        output.len() == self.columns.len()
            && output.iter().zip(&self.columns).all(|(id, column)| *id == column.id)
    }
}
