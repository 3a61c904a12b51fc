//! Random aggregates and groups.

use super::expressions::KINDS;
use super::generate::{Dialect, Generator};
use super::scope::Scope;
use super::templates::{AGGREGATES, Template};
use super::tree::{Kind, Node};

/// A grouping: the text after GROUP BY, if any, and what can be named above it.
pub(super) struct Groups {
    pub(super) clause: Option<Node>,
    pub(super) scope: Scope,
}

impl Generator {
    /// An aggregate over the rows of `scope`, of `kind` if that is given and there is one.
    pub(super) fn aggregate(&mut self, kind: Option<&Kind>, scope: &Scope) -> Node {
        let texts = scope.of_kind(&Kind::Text);
        let text = kind.is_none_or(|kind| *kind == Kind::Text);
        if text && !texts.is_empty() && self.random.chance(8) {
            let column = *self.pick(&texts);
            return self.string_agg(column);
        }
        let fits = |t: &&Template| kind.is_none_or(|kind| t.kind == *kind) && self.has(t);
        let fitting: Vec<&Template> = AGGREGATES.iter().filter(fits).collect();
        let template = *self.pick(&fitting);
        // Columns of queries around it could move the aggregate there.
        let own = Scope { outer: Vec::new(), ..scope.clone() };
        let mut arguments: Vec<Node> =
            template.arguments.iter().map(|kind| self.flat(kind, &own, 2)).collect();
        let casts = template.text.starts_with("CAST(") || template.text.starts_with("round(");
        if casts || self.random.chance(85) {
            return Node::fill(template.kind.clone(), template.text, arguments);
        }
        arguments.push(self.flat(&Kind::Bool, &own, 2));
        let text = format!("{} FILTER (WHERE $)", template.text);
        Node::fill(template.kind.clone(), &text, arguments)
    }

    fn string_agg(&mut self, column: &Node) -> Node {
        let distinct = *self.pick(&["", "DISTINCT "]);
        Node::text(Kind::Text, format!("string_agg({distinct}{column}, ';' ORDER BY {column})"))
    }

    /// An expression without sub-queries.
    pub(super) fn flat(&mut self, kind: &Kind, scope: &Scope, depth: u32) -> Node {
        let before = std::mem::replace(&mut self.depth, self.depth_max);
        let node = self.expr(kind, scope, depth);
        self.depth = before;
        node
    }

    /// Groups of the rows of `scope`; aggregates over `wanted` kinds are among what they have.
    pub(super) fn groups(&mut self, wanted: &[Kind], scope: &Scope) -> Groups {
        let count = self.random.below(4) as usize;
        let mut keys: Vec<Node> = Vec::new();
        for _ in 0..count {
            let key = self.key(scope);
            if !keys.contains(&key) && !scope.leaves.is_empty() {
                keys.push(key);
            }
        }
        let mut leaves = keys.clone();
        for kind in wanted {
            let aggregate = self.aggregate(Some(kind), scope);
            leaves.push(aggregate);
        }
        for _ in 0..self.random.below(3) {
            let aggregate = self.aggregate(None, scope);
            leaves.push(aggregate);
        }
        let clause = (!keys.is_empty()).then(|| self.clause(keys, &mut leaves));
        let scope = Scope { leaves, outer: scope.outer.clone(), unique: None };
        Groups { clause, scope }
    }

    fn key(&mut self, scope: &Scope) -> Node {
        let own = Scope { outer: Vec::new(), ..scope.clone() };
        let expr = self.random.chance(25).then(|| {
            let kind = self.pick(&KINDS).clone();
            self.flat(&kind, &own, 2)
        });
        match expr {
            // A constant would be the number of a column, or an error.
            Some(expr) if own.leaves.iter().any(|leaf| expr.contains(leaf)) => expr,
            _ if own.leaves.is_empty() => Node::text(Kind::Int, "1"),
            _ => self.pick(&own.leaves).clone(),
        }
    }

    /// Draws the rest of GROUP BY.
    fn clause(&mut self, keys: Vec<Node>, leaves: &mut Vec<Node>) -> Node {
        let plain = Node::empty(Kind::Other);
        let several = self.random.chance(20);
        if !several {
            return plain.list(", ", keys);
        }
        if self.dialect == Dialect::Postgres && self.random.chance(50) {
            leaves.push(Node::fill(Kind::Int, "grouping($)", vec![keys[0].clone()]));
        }
        match self.random.below(3) {
            0 => plain.then("ROLLUP (").list(", ", keys).then(")"),
            1 => plain.then("CUBE (").list(", ", keys).then(")"),
            _ => {
                let set = |key: Node| Node::fill(Kind::Other, "($)", vec![key]);
                let mut sets: Vec<Node> = keys.into_iter().map(set).collect();
                sets.push(Node::text(Kind::Other, "()"));
                plain.then("GROUPING SETS (").list(", ", sets).then(")")
            }
        }
    }
}
