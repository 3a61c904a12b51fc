//! Queries without the last digits of floating-point sums.

use super::tree::{Kind, Node, Part};

/// Aggregates whose last digits depend on the order of rows.
const SUMS: [&str; 3] = ["sum(", "avg(", "stddev_samp("];

/// `query` with each floating-point sum cut to four digits after the point: the form to ask when
/// only the last digits may tell two rows apart, as under DISTINCT or in a comparison. None when
/// it has no such sum.
pub fn rounded(query: &Node) -> Option<Node> {
    let mut form = query.clone();
    round(&mut form).then_some(form)
}

/// True when something was rounded.
fn round(node: &mut Node) -> bool {
    let is_sum = |node: &Node| {
        let text = node.to_string();
        node.kind == Kind::Float && SUMS.iter().any(|sum| text.starts_with(sum))
    };
    if !is_sum(node) {
        let mut changed = false;
        node.children_mut().for_each(|child| changed |= round(child));
        return changed;
    }
    // The 0.3 keeps values with few digits, for which sums are exact, away from the cut.
    let sum = std::mem::replace(node, Node::empty(Kind::Float));
    node.parts = vec![
        Part::Text("(floor(".into()),
        Part::One(sum),
        Part::Text(" * 10000 + 0.3) / 10000)".into()),
    ];
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_their_windows_are_rounded_once() {
        let sum = || Node::fill(Kind::Float, "sum($)", vec![Node::text(Kind::Float, "a")]);
        let text = |node| rounded(&node).map(|node| node.to_string());
        let window = Node::empty(Kind::Float).with(sum()).then(" OVER (ORDER BY b)");
        let item = Node::fill(Kind::Other, "$ AS c0", vec![window]);
        let expected = "(floor(sum(a) OVER (ORDER BY b) * 10000 + 0.3) / 10000) AS c0";
        assert_eq!(text(item).as_deref(), Some(expected));
        let whole = Node::fill(Kind::Int, "sum($)", vec![Node::text(Kind::Int, "b")]);
        assert_eq!(text(whole), None);
        let both = Node::fill(Kind::Bool, "($ < $)", vec![sum(), Node::text(Kind::Float, "a")]);
        assert_eq!(text(both).as_deref(), Some("((floor(sum(a) * 10000 + 0.3) / 10000) < a)"));
    }
}
