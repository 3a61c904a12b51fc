//! Random expressions of a wanted kind.

use super::generate::{Dialect, Generator};
use super::scope::Scope;
use super::tables::literal;
use super::templates::{CHOICES, CONDITIONS, KEYED, TEMPLATES, Template};
use super::tree::{Kind, Node};

/// Kinds of columns, as often as they are wanted.
pub(super) const KINDS: [Kind; 10] = [
    Kind::Int,
    Kind::Int,
    Kind::Int,
    Kind::Decimal,
    Kind::Text,
    Kind::Text,
    Kind::Date,
    Kind::Bool,
    Kind::Float,
    Kind::Timestamp,
];

/// The SQL type for a NULL of `kind`.
fn type_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::Bool => "boolean",
        Kind::Int => "integer",
        Kind::Decimal => "numeric(12,2)",
        Kind::Float => "double precision",
        Kind::Date => "date",
        Kind::Timestamp => "timestamp",
        _ => "text",
    }
}

impl Generator {
    /// An expression of `kind` with at most `depth` levels of operators.
    pub(super) fn expr(&mut self, kind: &Kind, scope: &Scope, depth: u32) -> Node {
        if depth == 0 || self.random.chance(35) {
            return self.leaf(kind, scope);
        }
        match self.random.below(20) {
            0..=3 if *kind == Kind::Bool => self.condition(scope, depth),
            4..=5 if *kind == Kind::Bool => self.keyed_condition(scope, depth),
            6..=8 if *kind == Kind::Bool => self.sub_query_condition(scope, depth),
            9..=11 => self.choice(kind, scope, depth),
            12 => self.scalar_sub_query(kind, scope),
            _ => self.typed(kind, scope, depth),
        }
    }

    /// A column of `kind`, or a literal.
    pub(super) fn leaf(&mut self, kind: &Kind, scope: &Scope) -> Node {
        let outer = scope.outer_of_kind(kind);
        if !outer.is_empty() && self.random.chance(30) {
            return (*self.pick(&outer)).clone();
        }
        let own = scope.of_kind(kind);
        if !own.is_empty() && self.random.chance(85) {
            return (*self.pick(&own)).clone();
        }
        if self.random.chance(6) {
            return Node::text(kind.clone(), format!("CAST(NULL AS {})", type_name(kind)));
        }
        let number = self.random.below(30) as i64;
        Node::text(kind.clone(), literal(kind, number))
    }

    /// True for a template that this dialect has.
    pub(super) fn has(&self, template: &Template) -> bool {
        template.dialect == Dialect::Shared || self.dialect == Dialect::Postgres
    }

    fn typed(&mut self, kind: &Kind, scope: &Scope, depth: u32) -> Node {
        let fitting: Vec<&Template> =
            TEMPLATES.iter().filter(|t| t.kind == *kind && self.has(t)).collect();
        let template = *self.pick(&fitting);
        let arguments = template.arguments.iter().map(|k| self.expr(k, scope, depth - 1));
        let arguments = arguments.collect();
        Node::fill(kind.clone(), template.text, arguments)
    }

    fn choice(&mut self, kind: &Kind, scope: &Scope, depth: u32) -> Node {
        let template = *self.pick(CHOICES);
        let gaps: Vec<char> = template.chars().filter(|c| matches!(c, '$' | '#')).collect();
        let gap = |c: &char| if *c == '#' { Kind::Bool } else { kind.clone() };
        let arguments = gaps.iter().map(|c| self.expr(&gap(c), scope, depth - 1)).collect();
        Node::fill(kind.clone(), &template.replace('#', "$"), arguments)
    }

    /// A condition on any kind.
    pub(super) fn condition(&mut self, scope: &Scope, depth: u32) -> Node {
        let kind = self.kind_in(scope);
        let template = *self.pick(CONDITIONS);
        let count = template.matches('$').count();
        let mut arguments = vec![self.expr(&kind, scope, depth - 1)];
        while arguments.len() < count {
            let literals = template.contains("IN (") || template.contains("BETWEEN");
            arguments.push(if literals && self.random.chance(70) {
                self.leaf(&kind, &Scope::default())
            } else {
                // A sub-query as the first of a list reads as if it were the whole list.
                self.flat(&kind, scope, depth - 1)
            });
        }
        Node::fill(Kind::Bool, template, arguments)
    }

    /// A condition on two columns, as on the key of an index.
    fn keyed_condition(&mut self, scope: &Scope, depth: u32) -> Node {
        if scope.leaves.is_empty() {
            return self.condition(scope, depth);
        }
        let (template, gaps) = *self.pick(KEYED);
        let columns = [self.pick(&scope.leaves).clone(), self.pick(&scope.leaves).clone()];
        let filled = gaps.chars().map(|gap| match gap {
            'a' => columns[0].clone(),
            'b' => columns[1].clone(),
            '1' => self.leaf(&columns[0].kind, &Scope::default()),
            _ => self.leaf(&columns[1].kind, &Scope::default()),
        });
        let filled = filled.collect();
        Node::fill(Kind::Bool, template, filled)
    }

    /// The kind of some leaf, so that conditions seldom compare literals only.
    pub(super) fn kind_in(&mut self, scope: &Scope) -> Kind {
        if scope.leaves.is_empty() {
            self.pick(&KINDS).clone()
        } else {
            self.pick(&scope.leaves).kind.clone()
        }
    }

    fn sub_query_condition(&mut self, scope: &Scope, depth: u32) -> Node {
        if self.depth >= self.depth_max {
            return self.condition(scope, depth);
        }
        let inside = scope.inside();
        if self.random.chance(40) {
            let not = *self.pick(&["", "NOT "]);
            let query = self.query(vec![Kind::Int], &inside);
            return Node::fill(Kind::Bool, &format!("({not}EXISTS ($))"), vec![query]);
        }
        let kind = self.kind_in(scope);
        let operand = self.expr(&kind, scope, 1);
        let query = self.query(vec![kind], &inside);
        let shapes = [
            "($ IN ($))",
            "($ IN ($))",
            "($ NOT IN ($))",
            "($ = ANY ($))",
            "($ <> ALL ($))",
            "($ < ANY ($))",
            "($ >= ALL ($))",
        ];
        let shape = *self.pick(&shapes);
        Node::fill(Kind::Bool, shape, vec![operand, query])
    }

    /// A query of one row as a value.
    fn scalar_sub_query(&mut self, kind: &Kind, scope: &Scope) -> Node {
        if self.depth >= self.depth_max {
            return self.leaf(kind, scope);
        }
        let query = self.one_row(kind, &scope.inside());
        Node::fill(kind.clone(), "($)", vec![query])
    }
}
