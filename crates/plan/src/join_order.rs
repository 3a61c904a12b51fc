//! The order of joins, by cost.
//!
//! ```text
//! tree of inner, left, semi and anti joins -> relations + edges -> best tree
//! ```
//! Dynamic programming over connected subgraphs, greedy when there are too many. What must not be
//! reordered is kept by conflict rules on the edges; mark, single, full and lateral joins are
//! barriers, as are filters that could not be pushed into a join.
//! Sources: Moerkotte and Neumann 2008, "Dynamic programming strikes back" (enumeration);
//! Moerkotte, Fender, Eich 2013, "On the correct and complete enumeration of the core search space"
//! (rules, CD-C).
//! Departure: rules are checked when two sets are joined, not turned into hyperedges.
//!
//! Elsewhere: relations and edges (`cluster`), enumeration (`enumerate`), cost (`combine`).

mod cluster;
mod combine;
mod enumerate;

use sql::algebra::{CteId, JoinKind, Plan};

use crate::cardinality::{self, Estimator};
use crate::context::{Context, CteBody};
use crate::properties::{ColumnProperty, Properties};
use crate::tree;

use cluster::Cluster;

/// State of ordering.
struct Ordering<'a, 'b> {
    context: &'a mut Context<'b>,
    estimator: &'a mut Estimator,
}

/// Orders the joins of the query and of what it computes first.
pub(crate) fn order_all(context: &mut Context<'_>, estimator: &mut Estimator, root: &mut Plan) {
    let mut ordering = Ordering { context, estimator };
    ordering.order(root);
    for i in 0..ordering.context.scalars.len() {
        let mut plan = tree::take(&mut ordering.context.scalars[i]);
        ordering.order(&mut plan);
        ordering.context.scalars[i] = plan;
    }
    let ids: Vec<CteId> = ordering.context.ctes.iter().map(|cte| cte.id).collect();
    ids.into_iter().for_each(|id| ordering.order_cte(id));
}

/// True for joins whose place among others may change.
fn is_movable(plan: &Plan) -> bool {
    let Plan::Join { left, right, kind, .. } = plan else {
        return false;
    };
    matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
        && !tree::is_lateral(left, right)
}

impl Ordering<'_, '_> {
    /// Orders the joins of `plan`, and tells what is known of its rows.
    fn order(&mut self, plan: &mut Plan) -> Properties {
        types::stack::deep(|| self.order_here(plan))
    }

    fn order_here(&mut self, plan: &mut Plan) -> Properties {
        if is_movable(plan) {
            return self.order_cluster(plan);
        }
        if let Plan::CteScan { cte, .. } = plan {
            self.order_cte(*cte);
        }
        let mut inputs = Vec::new();
        tree::inputs_mut(plan, &mut |input| inputs.push(self.order(input)));
        cardinality::derive(self.context, self.estimator, plan, inputs)
    }

    /// Orders the joins of a CTE, unless that is done.
    fn order_cte(&mut self, id: CteId) {
        if self.estimator.ctes.contains_key(&id) {
            return;
        }
        let Some(at) = self.context.ctes.iter().position(|cte| cte.id == id) else {
            return;
        };
        let empty = CteBody::Plain(tree::one_row());
        let mut body = std::mem::replace(&mut self.context.ctes[at].body, empty);
        match &mut body {
            CteBody::Plain(plan) => {
                let properties = self.order(plan);
                let ids = tree::output(plan).into_iter().map(|c| c.0).collect();
                self.estimator.ctes.insert(id, (ids, properties));
            }
            CteBody::Recursive { base, step, .. } => {
                let first = self.order(base);
                let mut properties =
                    Properties { rows: first.rows * 10.0, ..Properties::default() };
                let outputs = tree::output(base);
                for &(id, ty) in &outputs {
                    let column = ColumnProperty::unknown(properties.rows, ty);
                    properties.columns.insert(id, column);
                }
                let ids = outputs.into_iter().map(|c| c.0).collect();
                self.estimator.ctes.insert(id, (ids, properties));
                self.order(step);
            }
        }
        if let Some(at) = self.context.ctes.iter().position(|cte| cte.id == id) {
            self.context.ctes[at].body = body;
        }
    }

    fn order_cluster(&mut self, plan: &mut Plan) -> Properties {
        let mut cluster = Cluster::default();
        let tree = self.flatten(tree::take(plan), &mut cluster, CLUSTER_RELATIONS);
        let best = if cluster.relations.len() < 3 {
            None
        } else {
            cluster.connect(&tree);
            enumerate::best(&cluster, &self.context.options)
        };
        let built = match best {
            Some(best) => cluster.build(&best, cluster.all()),
            None => cluster.rebuild(tree),
        };
        *plan = built.plan;
        built.properties
    }

    /// Takes a tree of movable joins apart into at most `room` relations; a part with more is
    /// ordered by itself, and is one relation.
    fn flatten(&mut self, mut plan: Plan, cluster: &mut Cluster, room: usize) -> cluster::Tree {
        if !is_movable(&plan) || room < 2 {
            let properties = self.order(&mut plan);
            return cluster.add(plan, properties);
        }
        let Plan::Join { left, right, kind, condition } = plan else {
            let properties = self.order(&mut plan);
            return cluster.add(plan, properties);
        };
        let (left_count, right_count) = (relation_count(&left), relation_count(&right));
        let (left_room, right_room) = if left_count + right_count <= room {
            (left_count, right_count)
        } else if left_count >= right_count {
            (1, right_count.min(room - 1))
        } else {
            (left_count.min(room - 1), 1)
        };
        let left = self.flatten(*left, cluster, left_room);
        let right = self.flatten(*right, cluster, right_room);
        cluster::Tree::join(kind, tree::conjuncts(condition), left, right)
    }
}

/// Relations of a cluster at most: a set of them is a word.
const CLUSTER_RELATIONS: usize = 60;

/// Relations of a tree of movable joins.
fn relation_count(plan: &Plan) -> usize {
    match plan {
        Plan::Join { left, right, .. } if is_movable(plan) => {
            relation_count(left) + relation_count(right)
        }
        _ => 1,
    }
}
