//! Enumeration of connected subgraphs and their complements, each pair once.
//!
//! Source: Moerkotte and Neumann 2008, "Dynamic programming strikes back", algorithm DPhyp.

use hashbrown::HashMap;
use sql::algebra::JoinKind;

use super::cluster::{Cluster, Relations};
use super::combine::{Side, Step, combine};
use crate::{JoinOrder, PlanOptions};

/// Pairs looked at before the search turns greedy: a few milliseconds.
const PAIRS: usize = 30_000;

/// The best way found to join each set.
pub(super) struct Best {
    steps: HashMap<Relations, Step>,
}

impl Best {
    /// How `set` is joined.
    pub(super) fn step(&self, set: Relations) -> Option<&Step> {
        self.steps.get(&set)
    }
}

/// The best tree over all relations; None when none was found that evaluates every edge.
pub(super) fn best(cluster: &Cluster, options: &PlanOptions) -> Option<Best> {
    let mut search = Search { cluster, steps: HashMap::new(), pairs: 0 };
    for (i, relation) in cluster.relations.iter().enumerate() {
        let step = Step {
            rows: relation.properties.rows.max(1.0),
            cost: 0.0,
            left: 0,
            right: 0,
            kind: JoinKind::Inner,
            edges: Vec::new(),
        };
        search.steps.insert(1 << i, step);
    }
    let all = cluster.all();
    if options.join_order != JoinOrder::Cost {
        search.greedy(options.join_order);
        if search.is_complete(all) {
            return Some(Best { steps: search.steps });
        }
        search.forget();
    }
    if cluster.relations.len() <= options.exhaustive_relations {
        search.solve();
    }
    if search.pairs > PAIRS || !search.is_complete(all) {
        search.forget();
        search.greedy(JoinOrder::Cost);
    }
    let found = search.is_complete(all);
    found.then_some(Best { steps: search.steps })
}

struct Search<'c> {
    cluster: &'c Cluster,
    steps: HashMap<Relations, Step>,
    pairs: usize,
}

/// Relations up to and including the one of this number.
fn up_to(i: u32) -> Relations {
    if i >= 63 { !0 } else { (1 << (i + 1)) - 1 }
}

/// Relation numbers of `set`, largest first.
fn descending(set: Relations) -> impl Iterator<Item = u32> {
    (0..64u32).rev().filter(move |i| set >> i & 1 == 1)
}

/// Non-empty subsets of `set`, small numbers first.
fn subsets(set: Relations) -> impl Iterator<Item = Relations> {
    let mut next = set & set.wrapping_neg();
    std::iter::from_fn(move || {
        if next == 0 {
            return None;
        }
        let current = next;
        next = (current.wrapping_sub(set)) & set;
        Some(current)
    })
}

impl Search<'_> {
    fn solve(&mut self) {
        let count = self.cluster.relations.len() as u32;
        for i in (0..count).rev() {
            let set = 1 << i;
            self.emit(set);
            self.grow(set, up_to(i));
        }
    }

    /// Neighbours of `set` outside `excluded`: one relation for each edge.
    fn neighbours(&self, set: Relations, excluded: Relations) -> Relations {
        let outside = set | excluded;
        let (mut simple, mut complex) = (0, Vec::new());
        for edge in &self.cluster.edges {
            for (near, far) in [(edge.left, edge.right), (edge.right, edge.left)] {
                if near & !set == 0 && far & outside == 0 {
                    if far.count_ones() == 1 { simple |= far } else { complex.push(far) }
                }
            }
        }
        for far in complex {
            if far & simple == 0 {
                simple |= far & far.wrapping_neg();
            }
        }
        simple
    }

    fn connected(&self, a: Relations, b: Relations) -> bool {
        let inside = |set: Relations, of: Relations| set & !of == 0;
        self.cluster.edges.iter().any(|edge| {
            (inside(edge.left, a) && inside(edge.right, b))
                || (inside(edge.left, b) && inside(edge.right, a))
        })
    }

    fn grow(&mut self, set: Relations, excluded: Relations) {
        let around = self.neighbours(set, excluded);
        if around == 0 || self.pairs > PAIRS {
            return;
        }
        for more in subsets(around) {
            if self.steps.contains_key(&(set | more)) {
                self.emit(set | more);
            }
        }
        for more in subsets(around) {
            self.grow(set | more, excluded | around);
        }
    }

    fn emit(&mut self, set: Relations) {
        let excluded = set | up_to(set.trailing_zeros());
        let around = self.neighbours(set, excluded);
        for i in descending(around) {
            let other = 1 << i;
            if self.connected(set, other) {
                self.join(set, other);
            }
            self.grow_complement(set, other, excluded | (up_to(i) & around));
        }
    }

    fn grow_complement(&mut self, set: Relations, other: Relations, excluded: Relations) {
        let around = self.neighbours(other, excluded | set);
        if around == 0 || self.pairs > PAIRS {
            return;
        }
        for more in subsets(around) {
            let larger = other | more;
            if self.steps.contains_key(&larger) && self.connected(set, larger) {
                self.join(set, larger);
            }
        }
        for more in subsets(around) {
            self.grow_complement(set, other | more, excluded | around);
        }
    }

    fn join(&mut self, a: Relations, b: Relations) {
        self.pairs += 1;
        let (Some(first), Some(second)) = (self.steps.get(&a), self.steps.get(&b)) else {
            return;
        };
        let (first, second) = (Side { set: a, step: first }, Side { set: b, step: second });
        let Some(step) = combine(self.cluster, first, second) else {
            return;
        };
        let better = self.steps.get(&(a | b)).is_none_or(|known| step.cost < known.cost);
        if better {
            self.steps.insert(a | b, step);
        }
    }

    /// Forgets all joins.
    fn forget(&mut self) {
        self.steps.retain(|set, _| set.count_ones() == 1);
    }

    /// True when `a` is to be joined rather than `b`, which was found first: the pair with the
    /// fewest rows; for the worst order the one with the most. That one and text prefer equalities.
    fn prefers(&self, order: JoinOrder, a: &Step, b: &Step) -> bool {
        let equal = |step: &Step| step.edges.iter().any(|i| self.cluster.edges[*i].equal);
        match order {
            JoinOrder::Cost => (a.rows, a.cost) < (b.rows, b.cost),
            JoinOrder::Worst => (equal(a), a.rows, a.cost) > (equal(b), b.rows, b.cost),
            // A list of FROM connects its neighbours, but not by equality.
            JoinOrder::Text => equal(a) && !equal(b),
        }
    }

    /// Joins the preferred pair until one set is left.
    fn greedy(&mut self, order: JoinOrder) {
        let mut sets: Vec<Relations> =
            (0..self.cluster.relations.len()).map(|i| 1u64 << i).collect();
        while sets.len() > 1 {
            let mut found: Option<(usize, usize, Step)> = None;
            for i in 0..sets.len() {
                for j in i + 1..sets.len() {
                    let (a, b) = (sets[i], sets[j]);
                    let Some(first) = self.steps.get(&a) else {
                        continue;
                    };
                    let Some(second) = self.steps.get(&b) else {
                        continue;
                    };
                    let first = Side { set: a, step: first };
                    let second = Side { set: b, step: second };
                    let Some(step) = combine(self.cluster, first, second) else {
                        continue;
                    };
                    let better =
                        |known: &(usize, usize, Step)| self.prefers(order, &step, &known.2);
                    if found.as_ref().is_none_or(better) {
                        found = Some((i, j, step));
                    }
                }
            }
            let Some((i, j, step)) = found else { return };
            let whole = sets[i] | sets[j];
            // The others keep their order, which is that of the text.
            sets.remove(j);
            sets[i] = whole;
            self.steps.insert(whole, step);
        }
    }

    /// True when `all` is joined and every edge is evaluated on the way, itself or by its class.
    fn is_complete(&self, all: Relations) -> bool {
        if !self.steps.contains_key(&all) {
            return false;
        }
        let mut used = vec![false; self.cluster.edges.len()];
        let mut open = vec![all];
        while let Some(set) = open.pop() {
            let Some(step) = self.steps.get(&set).filter(|_| set.count_ones() > 1) else {
                continue;
            };
            step.edges.iter().for_each(|i| used[*i] = true);
            open.extend([step.left, step.right]);
        }
        let evaluated = |(i, edge): (usize, &super::cluster::Edge)| {
            used[i] || edge.class.is_some() || edge.predicates.is_empty()
        };
        self.cluster.edges.iter().enumerate().all(evaluated)
    }
}
