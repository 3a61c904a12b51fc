//! Random queries over random tables.

use crate::Random;

use super::compare::RowOrder;
use super::expressions::KINDS;
use super::scope::Scope;
use super::tables::Schema;
use super::tree::{Kind, Node};

/// Whose SQL a query may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Queries that mean the same in PostgreSQL and DuckDB.
    Shared,
    /// All that PostgreSQL has, or rather all that is generated.
    Postgres,
}

/// A query and what is known about its result.
#[derive(Clone, Debug)]
pub struct Query {
    /// Its text, as a tree.
    pub tree: Node,
    /// Kinds of its columns.
    pub kinds: Vec<Kind>,
    /// Importance of the order of its rows.
    pub order: RowOrder,
}

/// Draws queries over the tables of a schema.
pub struct Generator {
    pub(super) random: Random,
    pub(super) schema: Schema,
    pub(super) dialect: Dialect,
    /// Names given so far.
    pub(super) aliases: u32,
    /// Queries around the current one.
    pub(super) depth: u32,
    pub(super) depth_max: u32,
    /// Queries with names, and the kinds of their columns.
    pub(super) ctes: Vec<(String, Vec<Kind>)>,
}

impl Generator {
    /// A generator that starts at `seed`.
    pub fn new(schema: &Schema, seed: u64, dialect: Dialect) -> Self {
        Self {
            random: Random::new(seed),
            schema: schema.clone(),
            dialect,
            aliases: 0,
            depth: 0,
            depth_max: 2,
            ctes: Vec::new(),
        }
    }

    /// One of `items`.
    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.random.below(items.len() as u64) as usize]
    }

    /// The next query.
    pub fn draw(&mut self) -> Query {
        self.aliases = 0;
        self.depth = 0;
        self.depth_max = self.random.within(1..3) as u32;
        let with = self.with();
        let kinds: Vec<Kind> =
            (0..self.random.within(1..6)).map(|_| self.pick(&KINDS).clone()).collect();
        let body = if self.random.chance(12) {
            self.set_operation(&kinds, &Scope::default())
        } else {
            self.select(&kinds, &Scope::default())
        };
        let exact = !kinds.contains(&Kind::Float);
        let order = self.random.chance(40).then(|| self.order_by(&kinds, exact));
        self.ctes.clear();
        let total = exact && order.is_some();
        let tree = Node::empty(Kind::Query(kinds.clone()));
        let tree = tree.maybe_between("WITH ", with, " ").with(body).maybe(" ORDER BY ", order);
        Query { tree, kinds, order: if total { RowOrder::Total } else { RowOrder::Any } }
    }

    /// Some queries with names.
    pub(super) fn with(&mut self) -> Option<Node> {
        let mut list = Vec::new();
        while self.random.chance(12) {
            let name = format!("w{}", list.len());
            let kinds: Vec<Kind> =
                (0..self.random.within(1..4)).map(|_| self.pick(&KINDS).clone()).collect();
            self.depth = 1;
            let body = self.select(&kinds, &Scope::default());
            self.depth = 0;
            let hint = *self.pick(&["", "MATERIALIZED ", "NOT MATERIALIZED "]);
            let text = format!("{name} AS {hint}($)");
            list.push(Node::fill(Kind::Other, &text, vec![body]));
            self.ctes.push((name, kinds));
        }
        (!list.is_empty()).then(|| Node::empty(Kind::Other).list(", ", list))
    }

    /// A query inside another one, with columns of `kinds`.
    pub(super) fn query(&mut self, kinds: Vec<Kind>, around: &Scope) -> Node {
        self.depth += 1;
        let set = self.depth < self.depth_max && self.random.chance(8);
        let body =
            if set { self.set_operation(&kinds, around) } else { self.select(&kinds, around) };
        let limited = self.random.chance(6) && !kinds.contains(&Kind::Float);
        let order = limited.then(|| self.order_by(&kinds, true));
        self.depth -= 1;
        Node::empty(Kind::Query(kinds)).with(body).maybe(" ORDER BY ", order)
    }

    /// A query with one row and one column.
    pub(super) fn one_row(&mut self, kind: &Kind, around: &Scope) -> Node {
        self.depth += 1;
        let (from, scope) = self.from(around);
        let condition = self.random.chance(70).then(|| self.expr(&Kind::Bool, &scope, 2));
        let aggregate = self.aggregate(Some(kind), &scope);
        self.depth -= 1;
        let query = Node::empty(Kind::Query(vec![kind.clone()])).then("SELECT ").with(aggregate);
        query.then(" AS c0 FROM ").with(from).maybe(" WHERE ", condition)
    }

    fn set_operation(&mut self, kinds: &[Kind], around: &Scope) -> Node {
        let words = ["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"];
        let word = *self.pick(&words);
        let sides = vec![self.select(kinds, around), self.select(kinds, around)];
        Node::fill(Kind::Query(kinds.to_vec()), &format!("$ {word} $"), sides)
    }

    fn select(&mut self, kinds: &[Kind], around: &Scope) -> Node {
        let (from, scope) = self.from(around);
        let condition = self.random.chance(50).then(|| self.expr(&Kind::Bool, &scope, 3));
        let grouped = self.random.chance(35);
        let (above, group, having) = if grouped {
            let groups = self.groups(kinds, &scope);
            let having = self.random.chance(25).then(|| self.expr(&Kind::Bool, &groups.scope, 2));
            (groups.scope, groups.clause, having)
        } else {
            (scope, None, None)
        };
        let items = self.items(kinds, &above);
        let distinct = *self.pick(&["", "", "", "", "DISTINCT "]);
        Node::empty(Kind::Query(kinds.to_vec()))
            .then(format!("SELECT {distinct}"))
            .list(", ", items)
            .then(" FROM ")
            .with(from)
            .maybe(" WHERE ", condition)
            .maybe(" GROUP BY ", group)
            .maybe(" HAVING ", having)
    }

    fn items(&mut self, kinds: &[Kind], scope: &Scope) -> Vec<Node> {
        let mut items = Vec::new();
        for (number, kind) in kinds.iter().enumerate() {
            let window = self.random.chance(10).then(|| self.window(kind, scope)).flatten();
            let expr = match window {
                Some(window) => window,
                None => self.expr(kind, scope, 2),
            };
            items.push(Node::fill(Kind::Other, &format!("$ AS c{number}"), vec![expr]));
        }
        items
    }

    /// All columns in some order, and perhaps a limit.
    fn order_by(&mut self, kinds: &[Kind], limit: bool) -> Node {
        let mut columns: Vec<usize> = (1..=kinds.len()).collect();
        let mut keys = Vec::new();
        while !columns.is_empty() {
            let at = self.random.below(columns.len() as u64) as usize;
            let directions =
                [" NULLS LAST", " NULLS FIRST", " DESC NULLS LAST", " DESC NULLS FIRST"];
            keys.push(format!("{}{}", columns.swap_remove(at), self.pick(&directions)));
        }
        let mut text = keys.join(", ");
        if limit && self.random.chance(60) {
            text += &format!(" LIMIT {}", *self.pick(&[0, 1, 3, 10, 100, 2500]));
            if self.random.chance(30) {
                text += &format!(" OFFSET {}", *self.pick(&[1, 5, 1000]));
            }
        }
        Node::text(Kind::Other, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_queries() {
        let schema = Schema::new(3);
        let texts = |seed| -> Vec<String> {
            let mut generator = Generator::new(&schema, seed, Dialect::Postgres);
            (0..50).map(|_| generator.draw().tree.to_string()).collect()
        };
        assert_eq!(texts(1), texts(1));
        assert_ne!(texts(1), texts(2));
    }
}
