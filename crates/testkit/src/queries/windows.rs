//! Random window functions.

use super::generate::{Dialect, Generator};
use super::scope::Scope;
use super::templates::{PLACES, RANKS, Template};
use super::tree::{Kind, Node};

const ROW_FRAMES: [&str; 5] = [
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
];

const PEER_FRAMES: [&str; 3] = [
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
];

const DISTANCE_FRAMES: [&str; 2] = [
    "RANGE BETWEEN 2 PRECEDING AND 3 FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
];

impl Generator {
    /// A window function of `kind` over the rows of `scope`, or nothing when there is none.
    pub(super) fn window(&mut self, kind: &Kind, scope: &Scope) -> Option<Node> {
        let own = Scope { outer: Vec::new(), ..scope.clone() };
        let total = scope.unique.as_ref().filter(|unique| !unique.is_empty()).cloned();
        let choice = self.random.below(3);
        let (call, frames): (Node, &[&str]) = match (choice, &total) {
            (0, _) => (self.call(RANKS, kind, &own)?, &[]),
            (1, Some(_)) => {
                let call = self.call(PLACES, kind, &own)?;
                let framed = call.to_string().contains("_value(");
                (call, if framed { &ROW_FRAMES } else { &[] })
            }
            _ => {
                let call = self.aggregate(Some(kind), &own);
                let text = call.to_string();
                // Casts stand around the call, and windows have no DISTINCT or ORDER BY inside.
                if ["CAST(", "round("].iter().any(|start| text.starts_with(start))
                    || ["DISTINCT", "ORDER BY", "FILTER"].iter().any(|word| text.contains(word))
                {
                    return None;
                }
                (call, if total.is_some() { &ROW_FRAMES } else { &PEER_FRAMES })
            }
        };
        Some(self.over(call, frames, &own, total))
    }

    fn call(&mut self, from: &[Template], kind: &Kind, scope: &Scope) -> Option<Node> {
        let fitting: Vec<&Template> =
            from.iter().filter(|t| t.kind == *kind && self.has(t)).collect();
        let template = if fitting.is_empty() { return None } else { *self.pick(&fitting) };
        let arguments = template.arguments.iter().map(|k| self.flat(k, scope, 1)).collect();
        Some(Node::fill(kind.clone(), template.text, arguments))
    }

    fn over(
        &mut self,
        call: Node,
        frames: &[&str],
        scope: &Scope,
        total: Option<Vec<String>>,
    ) -> Node {
        let kind = call.kind.clone();
        let mut keys = Vec::new();
        for _ in 0..self.random.within(1..3) {
            let key_kind = self.kind_in(scope);
            let key = self.leaf(&key_kind, scope);
            let direction = *self.pick(&[" NULLS LAST", " DESC NULLS LAST", " NULLS FIRST"]);
            keys.push(Node::fill(Kind::Other, &format!("${direction}"), vec![key]));
        }
        let distance = keys.len() == 1 && total.is_none() && self.dialect == Dialect::Postgres;
        let by_number = scope.of_kind(&Kind::Int);
        let mut frame = None;
        if distance && !frames.is_empty() && !by_number.is_empty() && self.random.chance(40) {
            keys = vec![(*self.pick(&by_number)).clone()];
            frame = Some(*self.pick(&DISTANCE_FRAMES));
        } else if !frames.is_empty() && self.random.chance(60) {
            frame = Some(*self.pick(frames));
        }
        let partition = self.random.chance(60).then(|| {
            let kind = self.kind_in(scope);
            self.leaf(&kind, scope)
        });
        // The end of a total order must not be dropped.
        let last: String = total.iter().flatten().map(|column| format!(", {column}")).collect();
        let order = Node::empty(Kind::Other).list(", ", keys).then(last);
        let node = Node::empty(kind).with(call).then(" OVER (");
        let node = node.maybe_between("PARTITION BY ", partition, " ");
        node.then("ORDER BY ")
            .with(order)
            .maybe(" ", frame.map(|frame| Node::text(Kind::Other, frame)))
            .then(")")
    }
}
