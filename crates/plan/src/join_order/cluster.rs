//! The relations and edges of a tree of joins.

use hashbrown::HashMap;
use sql::algebra::{ColumnId, Expr, ExprKind, JoinKind, Plan};
use types::CompareOp;

use super::combine::{self, DenseKey};
use super::enumerate::Best;
use crate::cardinality;
use crate::column_set::ColumnSet;
use crate::properties::Properties;
use crate::push_down::nulls;
use crate::tree;

/// Edges from which on no more are implied.
const EDGES_MAX: usize = 120;

/// A set of relations, by bit.
pub(super) type Relations = u64;

/// The tree as the query has it.
pub(super) enum Tree {
    /// A relation.
    Leaf(usize),
    /// A join.
    Join(Box<TreeJoin>),
}

/// A join of the tree.
pub(super) struct TreeJoin {
    kind: JoinKind,
    conjuncts: Vec<Expr>,
    left: Tree,
    right: Tree,
}

impl Tree {
    /// A join of two trees.
    pub(super) fn join(kind: JoinKind, conjuncts: Vec<Expr>, left: Tree, right: Tree) -> Self {
        Self::Join(Box::new(TreeJoin { kind, conjuncts, left, right }))
    }

    fn relations(&self) -> Relations {
        match self {
            Self::Leaf(i) => 1 << i,
            Self::Join(join) => join.left.relations() | join.right.relations(),
        }
    }
}

/// An input of the cluster.
pub(super) struct Relation {
    plan: Plan,
    /// Properties of its rows.
    pub(super) properties: Properties,
    columns: ColumnSet,
}

/// When the first set is touched, the second must be there whole.
pub(super) type Rule = (Relations, Relations);

/// The relations at both ends of an edge.
#[derive(Clone, Copy)]
struct Ends {
    left: Relations,
    right: Relations,
}

/// A plan and what is known of its rows.
pub(super) struct Built {
    pub(super) plan: Plan,
    pub(super) properties: Properties,
}

/// A predicate that connects relations: one conjunct of an inner join, or another join's whole
/// condition.
pub(super) struct Edge {
    /// Kind of the join it comes from.
    pub(super) kind: JoinKind,
    /// Relations needed on the left (for inner joins: on one side).
    pub(super) left: Relations,
    /// Relations needed on the right.
    pub(super) right: Relations,
    /// The conjuncts; none for a cross product.
    pub(super) predicates: Vec<Expr>,
    /// Share of pairs that satisfy them.
    pub(super) share: f64,
    /// Conflict rules.
    pub(super) rules: Vec<Rule>,
    /// Inner equalities of one class imply each other: one is enough where sets meet.
    pub(super) class: Option<usize>,
    /// True when a hash join can use it.
    pub(super) equal: bool,
    /// Size of a direct array over the left or right key.
    pub(super) dense: [Option<DenseKey>; 2],
    /// Distinct values and domain of the right keys, for semi-joins.
    pub(super) keys: Vec<(f64, f64)>,
}

/// A tree of joins as relations and edges.
#[derive(Default)]
pub(super) struct Cluster {
    /// The inputs.
    pub(super) relations: Vec<Relation>,
    /// The edges.
    pub(super) edges: Vec<Edge>,
}

/// A join above others, while rules are made.
struct Below<'t> {
    join: &'t TreeJoin,
    left: Relations,
    right: Relations,
    mentioned: Relations,
}

impl Cluster {
    /// Adds a relation.
    pub(super) fn add(&mut self, plan: Plan, properties: Properties) -> Tree {
        let columns = tree::output_set(&plan);
        self.relations.push(Relation { plan, properties, columns });
        Tree::Leaf(self.relations.len() - 1)
    }

    /// The set of all relations.
    pub(super) fn all(&self) -> Relations {
        if self.relations.len() >= 64 { !0 } else { (1 << self.relations.len()) - 1 }
    }

    /// Makes the edges of `tree`.
    pub(super) fn connect(&mut self, tree: &Tree) {
        let mut below = Vec::new();
        self.connect_tree(tree, &mut below);
        self.merge_keys();
        self.close_classes();
    }

    fn connect_tree<'t>(&mut self, tree: &'t Tree, out: &mut Vec<Below<'t>>) {
        let Tree::Join(join) = tree else { return };
        let (mut in_left, mut in_right) = (Vec::new(), Vec::new());
        self.connect_tree(&join.left, &mut in_left);
        self.connect_tree(&join.right, &mut in_right);
        let rules = self.rules(join, &in_left, &in_right);
        let (left, right) = (join.left.relations(), join.right.relations());
        let ends = Ends { left, right };
        if join.kind == JoinKind::Inner && !join.conjuncts.is_empty() {
            for part in &join.conjuncts {
                let parts = std::slice::from_ref(part);
                self.add_edge(join.kind, parts, ends, rules.clone());
            }
        } else {
            self.add_edge(join.kind, &join.conjuncts, ends, rules);
        }
        let mentioned = self.mentioned(&join.conjuncts);
        out.append(&mut in_left);
        out.append(&mut in_right);
        out.push(Below { join, left, right, mentioned });
    }

    fn mentioned(&self, parts: &[Expr]) -> Relations {
        let mut columns = ColumnSet::default();
        parts.iter().for_each(|e| tree::mention(e, &mut columns));
        let touched = |(i, r): (usize, &Relation)| {
            if r.columns.intersects(&columns) { 1u64 << i } else { 0 }
        };
        self.relations.iter().enumerate().map(touched).fold(0, |a, b| a | b)
    }

    /// Conflict rules of `join` against the joins below it.
    fn rules(&self, join: &TreeJoin, in_left: &[Below<'_>], in_right: &[Below<'_>]) -> Vec<Rule> {
        let mut rules = Vec::new();
        let needed = |side: Relations, below: &Below<'_>| match side & below.mentioned {
            0 => side,
            some => some,
        };
        for below in in_left {
            if !self.associative(below.join, below.right, join) {
                rules.push((below.right, needed(below.left, below)));
            }
            // Left asscom holds for inner, left, semi and anti joins among themselves.
        }
        for below in in_right {
            if !self.associative(join, join.right.relations() & below.left, below.join) {
                rules.push((below.left, needed(below.right, below)));
            }
            let both_inner = join.kind == JoinKind::Inner && below.join.kind == JoinKind::Inner;
            if !both_inner {
                rules.push((below.right, needed(below.left, below)));
            }
        }
        rules
    }

    /// `(e1 a e2) b e3 = e1 a (e2 b e3)`, where `middle` is e2.
    fn associative(&self, a: &TreeJoin, middle: Relations, b: &TreeJoin) -> bool {
        match (a.kind, b.kind) {
            (JoinKind::Inner, _) => true,
            (JoinKind::Left, JoinKind::Left) => {
                let columns = self.columns(middle);
                b.conjuncts.iter().any(|e| nulls::rejects(e, &columns))
            }
            _ => false,
        }
    }

    fn columns(&self, set: Relations) -> ColumnSet {
        let mut columns = ColumnSet::default();
        for (i, relation) in self.relations.iter().enumerate() {
            if set >> i & 1 == 1 {
                columns.union(&relation.columns);
            }
        }
        columns
    }

    fn add_edge(&mut self, kind: JoinKind, parts: &[Expr], whole: Ends, rules: Vec<Rule>) {
        let mentioned = self.mentioned(parts);
        let some = |side: Relations| {
            if side & mentioned == 0 { side } else { side & mentioned }
        };
        let ends = Ends { left: some(whole.left), right: some(whole.right) };
        let edge = self.edge(kind, parts.to_vec(), ends, rules);
        self.edges.push(edge);
    }

    fn edge(
        &self,
        kind: JoinKind,
        predicates: Vec<Expr>,
        Ends { left, right }: Ends,
        rules: Vec<Rule>,
    ) -> Edge {
        let condition = tree::and_all(predicates);
        let mentioned = tree::mentioned(&condition);
        let (a, b) = (self.merged(left, &mentioned), self.merged(right, &mentioned));
        let (in_left, in_right) = (self.columns(left), self.columns(right));
        let (pairs, rest) = cardinality::split_condition(&condition, &in_left, &in_right);
        let rest_share = self.share_of(&rest, left | right, &mentioned);
        let share = cardinality::pair_share(&pairs, &a, &b) * rest_share;
        let dense = match &pairs[..] {
            [pair] if rest.is_empty() => {
                [combine::dense_key(pair.left, &a), combine::dense_key(pair.right, &b)]
            }
            _ => [None, None],
        };
        let mut keys: Vec<(f64, f64)> = Vec::new();
        for pair in &pairs {
            let whole = 1.0 / cardinality::even_share(pair, &a, &b);
            keys.push((cardinality::expr_distinct(pair.right, &b), whole));
        }
        if rest_share < 1.0 {
            keys.push((rest_share.sqrt(), 1.0));
        }
        let equal = !pairs.is_empty();
        let predicates = tree::conjuncts(condition);
        Edge { kind, left, right, predicates, share, rules, class: None, equal, dense, keys }
    }

    /// Share of the pairs of rows of `set` that satisfy the conjuncts.
    fn share_of(&self, conjuncts: &[&Expr], set: Relations, mentioned: &ColumnSet) -> f64 {
        if conjuncts.is_empty() {
            return 1.0;
        }
        let both = self.merged(set, mentioned);
        conjuncts.iter().map(|e| cardinality::selectivity(e, &both)).product()
    }

    /// Properties of all relations of `set` as one, for estimates about `columns`.
    fn merged(&self, set: Relations, columns: &ColumnSet) -> Properties {
        let mut out = Properties { rows: 1.0, ..Properties::default() };
        for (i, relation) in self.relations.iter().enumerate() {
            if set >> i & 1 == 1 {
                let from = &relation.properties;
                out.rows = out.rows.max(from.rows);
                let wanted = columns.iter().filter_map(|id| Some((id, from.column(id)?.clone())));
                out.columns.extend(wanted);
                if set.count_ones() == 1 {
                    out.keys.clone_from(&from.keys);
                }
            }
        }
        out
    }

    /// Several equalities between two relations count as one composite key.
    fn merge_keys(&mut self) {
        let mut groups: HashMap<(Relations, Relations), Vec<usize>> = HashMap::new();
        for (i, edge) in self.edges.iter().enumerate() {
            let single = edge.left.count_ones() == 1 && edge.right.count_ones() == 1;
            if edge.kind == JoinKind::Inner && edge.equal && single {
                let pair = (edge.left.min(edge.right), edge.left.max(edge.right));
                groups.entry(pair).or_default().push(i);
            }
        }
        for ((a, b), members) in groups.into_iter().filter(|(_, members)| members.len() > 1) {
            let parts: Vec<Expr> =
                members.iter().flat_map(|i| self.edges[*i].predicates.iter().cloned()).collect();
            let whole = self.edge(JoinKind::Inner, parts, Ends { left: a, right: b }, Vec::new());
            let product: f64 = members.iter().map(|i| self.edges[*i].share).product();
            if product > 0.0 {
                let each = (whole.share / product).powf(1.0 / members.len() as f64);
                members.iter().for_each(|i| self.edges[*i].share *= each);
            }
        }
    }

    /// Adds the equalities that follow from others.
    ///
    /// A class has one column of each relation at most: that two of one relation are equal follows
    /// from no edge between relations, so such an equality stays outside and is always evaluated.
    fn close_classes(&mut self) {
        let mut classes: Vec<Vec<(ColumnId, Expr)>> = Vec::new();
        let mut of_edges: Vec<Option<usize>> = vec![None; self.edges.len()];
        for i in 0..self.edges.len() {
            let Some((a, b)) = plain_equality(&self.edges[i]) else {
                continue;
            };
            let (x, y) = (Self::class_of(&mut classes, a), Self::class_of(&mut classes, b));
            if x != y {
                let relation = |class: usize| -> Relations {
                    let exprs = classes[class].iter().map(|(_, expr)| expr);
                    exprs.map(|e| self.mentioned(std::slice::from_ref(e))).fold(0, |a, b| a | b)
                };
                if relation(x) & relation(y) != 0 {
                    continue;
                }
                let moved = std::mem::take(&mut classes[y]);
                classes[x].extend(moved);
                of_edges.iter_mut().filter(|c| **c == Some(y)).for_each(|c| *c = Some(x));
            }
            of_edges[i] = Some(x);
        }
        for (edge, class) in self.edges.iter_mut().zip(of_edges) {
            edge.class = class;
        }
        let complete = classes.iter().enumerate().all(|(class, members)| {
            let mut pairs = (0..members.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
            pairs.all(|(j, i)| self.imply(&members[j].1, &members[i].1, class))
        });
        if !complete {
            // Where an equality is missing one of a class is not enough.
            self.edges.iter_mut().for_each(|edge| edge.class = None);
        }
    }

    /// The class of the plain column `expr`, made when it has none.
    fn class_of(classes: &mut Vec<Vec<(ColumnId, Expr)>>, expr: Expr) -> usize {
        let id = tree::as_column(&expr);
        let known = classes.iter().position(|c| c.iter().any(|(member, _)| Some(*member) == id));
        known.unwrap_or_else(|| {
            classes.push(id.into_iter().map(|id| (id, expr.clone())).collect());
            classes.len() - 1
        })
    }

    /// Adds `a = b` to the edges of `class` if it is not there; false when there are too many.
    fn imply(&mut self, a: &Expr, b: &Expr, class: usize) -> bool {
        let part = tree::compare(CompareOp::Equal, a.clone(), b.clone());
        let of = |e: &Expr| self.mentioned(std::slice::from_ref(e));
        let (left, right) = (of(a), of(b));
        let known = self.edges.iter().any(|edge| {
            edge.class == Some(class)
                && ((edge.left == left && edge.right == right)
                    || (edge.left == right && edge.right == left))
        });
        if known || self.edges.len() >= EDGES_MAX {
            return known;
        }
        let mut edge = self.edge(JoinKind::Inner, vec![part], Ends { left, right }, Vec::new());
        edge.class = Some(class);
        self.edges.push(edge);
        true
    }

    /// The joins of the best plan for `set`.
    pub(super) fn build(&mut self, best: &Best, set: Relations) -> Built {
        let Some(step) = best.step(set).filter(|_| set.count_ones() > 1) else {
            return self.leaf(set.trailing_zeros() as usize);
        };
        let (kind, parts) = (step.kind, step.edges.clone());
        let (left_set, right_set) = (step.left, step.right);
        let left = self.build(best, left_set);
        let right = self.build(best, right_set);
        let mut predicates = Vec::new();
        for i in parts {
            predicates.extend(self.edges[i].predicates.iter().cloned());
        }
        finish(kind, predicates, left, right)
    }

    fn leaf(&mut self, i: usize) -> Built {
        let relation = &mut self.relations[i];
        let plan = tree::take(&mut relation.plan);
        Built { plan, properties: std::mem::take(&mut relation.properties) }
    }

    /// The joins as the query has them.
    pub(super) fn rebuild(&mut self, tree: Tree) -> Built {
        match tree {
            Tree::Leaf(i) => self.leaf(i),
            Tree::Join(join) => {
                let left = self.rebuild(join.left);
                let right = self.rebuild(join.right);
                finish(join.kind, join.conjuncts, left, right)
            }
        }
    }
}

fn finish(kind: JoinKind, predicates: Vec<Expr>, left: Built, right: Built) -> Built {
    let condition = tree::and_all(predicates);
    let properties = cardinality::joined(kind, &condition, left.properties, right.properties);
    let (left, right) = (Box::new(left.plan), Box::new(right.plan));
    Built { plan: Plan::Join { left, right, kind, condition }, properties }
}

/// The columns of an inner equality of two columns of one type that no rule restricts.
fn plain_equality(edge: &Edge) -> Option<(Expr, Expr)> {
    if edge.kind != JoinKind::Inner || !edge.rules.is_empty() {
        return None;
    }
    let [part] = &edge.predicates[..] else {
        return None;
    };
    let ExprKind::Compare(CompareOp::Equal, a, b) = &part.kind else {
        return None;
    };
    let plain = tree::as_column(a).is_some() && tree::as_column(b).is_some() && a.ty == b.ty;
    plain.then(|| ((**a).clone(), (**b).clone()))
}
