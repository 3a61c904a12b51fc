//! Random FROM clauses.

use super::expressions::KINDS;
use super::generate::Generator;
use super::scope::Scope;
use super::tree::{Kind, Node};

/// Pairs of rows that a join without an equality may look at, about.
const PAIRS_MAX: usize = 20_000;

/// A FROM item: its text, its columns, about how many rows.
struct Item {
    node: Node,
    scope: Scope,
    rows: usize,
    has_id: bool,
}

impl Generator {
    /// A FROM clause with one to three items; `scope` has the queries around it.
    pub(super) fn from(&mut self, scope: &Scope) -> (Node, Scope) {
        let mut item = self.item(scope);
        let more = *self.pick(&[0, 0, 1, 1, 1, 2, 2]);
        for _ in 0..if self.depth > 0 { more.min(1) } else { more } {
            let lateral = self.depth < self.depth_max && self.random.chance(8);
            item = if lateral { self.lateral(item, scope) } else { self.join(item, scope) };
        }
        let mut whole = item.scope;
        whole.outer = scope.outer.clone();
        (item.node, whole)
    }

    fn name(&mut self) -> String {
        self.aliases += 1;
        format!("a{}", self.aliases)
    }

    fn item(&mut self, scope: &Scope) -> Item {
        let derived = self.depth < self.depth_max && self.random.chance(15);
        if derived {
            return self.derived(scope, "");
        }
        let alias = self.name();
        if !self.ctes.is_empty() && self.random.chance(30) {
            let (name, kinds) = self.pick(&self.ctes.clone()).clone();
            let node = Node::text(Kind::Other, format!("{name} AS {alias}"));
            return Item { node, scope: columns_of(&alias, &kinds), rows: 1000, has_id: false };
        }
        let table = self.pick(&self.schema.tables.clone()).clone();
        let leaf =
            |(name, kind): (&String, &Kind)| Node::text(kind.clone(), format!("{alias}.{name}"));
        let leaves = table.columns.iter().map(|c| leaf((&c.name, &c.kind))).collect();
        let unique = Some(vec![format!("{alias}.id")]);
        Item {
            node: Node::text(Kind::Other, format!("{} AS {alias}", table.name)),
            scope: Scope { leaves, outer: Vec::new(), unique },
            rows: table.rows,
            has_id: true,
        }
    }

    /// A query as an item; `word` may be LATERAL, when it sees `scope`'s outer names.
    fn derived(&mut self, scope: &Scope, word: &str) -> Item {
        let kinds: Vec<Kind> =
            (0..self.random.within(1..4)).map(|_| self.pick(&KINDS).clone()).collect();
        let outer = if word.is_empty() { Scope::default() } else { scope.clone() };
        // Beside other items only LATERAL sees them, but all see the queries around.
        let around = Scope { outer: scope.outer.clone(), ..Scope::default() };
        let query = if word.is_empty() {
            self.query(kinds.clone(), &around)
        } else {
            self.query(kinds.clone(), &outer)
        };
        let alias = self.name();
        let node = Node::fill(Kind::Other, &format!("{word}($) AS {alias}"), vec![query]);
        Item { node, scope: columns_of(&alias, &kinds), rows: 300, has_id: false }
    }

    fn lateral(&mut self, left: Item, scope: &Scope) -> Item {
        let mut around = left.scope.clone();
        around.outer = scope.outer.clone();
        let right = self.derived(&around.inside(), "LATERAL ");
        let join = *self.pick(&["CROSS JOIN $", "LEFT JOIN $ ON TRUE"]);
        let node = Node::fill(Kind::Other, &format!("$ {join}"), vec![left.node, right.node]);
        let mut whole = left.scope;
        whole.join(right.scope);
        Item { node, scope: whole, rows: left.rows, has_id: false }
    }

    fn join(&mut self, left: Item, scope: &Scope) -> Item {
        let right = self.item(scope);
        let few = left.rows.saturating_mul(right.rows) < PAIRS_MAX;
        let mut whole = left.scope.clone();
        whole.join(right.scope.clone());
        whole.outer = scope.outer.clone();
        let kind =
            *self.pick(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let rows = left.rows.max(right.rows);
        let has_id = left.has_id && right.has_id;
        let item = |node| Item { node, scope: whole.clone(), rows, has_id: false };
        if few && self.random.chance(8) {
            let sides = vec![left.node, right.node];
            let node = Node::empty(Kind::Other).list(" CROSS JOIN ", sides);
            return Item { rows: left.rows * right.rows, ..item(node) };
        }
        if has_id && self.random.chance(8) {
            let text = format!("$ {kind} $ USING (id)");
            return item(Node::fill(Kind::Other, &text, vec![left.node, right.node]));
        }
        let on = self.on(&left, &right, &whole, few && kind != "FULL JOIN");
        item(Node::fill(Kind::Other, &format!("$ {kind} $ ON $"), vec![left.node, right.node, on]))
    }

    /// A join condition: an equality of both sides, and perhaps more.
    fn on(&mut self, left: &Item, right: &Item, whole: &Scope, few: bool) -> Node {
        let mut equal = self.equality(&left.scope, &right.scope);
        if equal.is_none() || few && self.random.chance(15) {
            let depth = 2;
            return self.flat(&Kind::Bool, whole, depth);
        }
        if self.random.chance(20) {
            let second = self.equality(&left.scope, &right.scope);
            let both = equal.into_iter().chain(second).collect();
            equal = Some(Node::empty(Kind::Bool).list(" AND ", both));
        }
        let equal = equal.unwrap_or_else(|| Node::text(Kind::Bool, "TRUE"));
        match self.random.below(10) {
            0..=1 => {
                let more = self.flat(&Kind::Bool, whole, 2);
                Node::empty(Kind::Bool).list(" AND ", vec![equal, more])
            }
            2 => {
                let side = if self.random.chance(50) { &left.scope } else { &right.scope };
                let more = self.condition(side, 1);
                Node::empty(Kind::Bool).list(" AND ", vec![equal, more])
            }
            _ => equal,
        }
    }

    /// An equality of columns of both sides, if they have a kind in common.
    fn equality(&mut self, left: &Scope, right: &Scope) -> Option<Node> {
        let pairs: Vec<(&Node, &Node)> = left
            .leaves
            .iter()
            .flat_map(|a| right.leaves.iter().map(move |b| (a, b)))
            .filter(|(a, b)| a.kind == b.kind && a.kind != Kind::Bool || numbers(&a.kind, &b.kind))
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let (a, b) = *self.pick(&pairs);
        let text = if self.random.chance(8) { "$ IS NOT DISTINCT FROM $" } else { "$ = $" };
        Some(Node::fill(Kind::Bool, text, vec![a.clone(), b.clone()]))
    }
}

/// Kinds that compare by their number.
fn numbers(a: &Kind, b: &Kind) -> bool {
    matches!((a, b), (Kind::Int, Kind::Decimal) | (Kind::Decimal, Kind::Int))
}

/// The columns `c0`, `c1`... of a query called `alias`.
fn columns_of(alias: &str, kinds: &[Kind]) -> Scope {
    let leaf =
        |(number, kind): (usize, &Kind)| Node::text(kind.clone(), format!("{alias}.c{number}"));
    let leaves = kinds.iter().enumerate().map(leaf).collect();
    Scope { leaves, outer: Vec::new(), unique: None }
}
