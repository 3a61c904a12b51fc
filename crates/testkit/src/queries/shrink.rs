//! Makes a failing query smaller.

use super::tree::{Kind, Node, Part};

/// Attempts before the smallest so far is good enough.
const ATTEMPTS_MAX: usize = 1500;

/// The smallest query found that still `fails`, by dropping and simplifying one part at a time.
pub fn shrunk(query: &Node, mut fails: impl FnMut(&Node) -> bool) -> Node {
    let mut best = query.clone();
    let (mut attempts, mut from) = (0, 0);
    loop {
        let smaller = candidates(&best);
        let count = smaller.len();
        // Where the last success was, the next one is likely.
        let order = (from..count).chain(0..from.min(count));
        let mut found = None;
        for number in order {
            attempts += 1;
            if attempts > ATTEMPTS_MAX {
                return best;
            }
            if fails(&smaller[number]) {
                found = Some(number);
                break;
            }
        }
        match found {
            Some(number) => {
                best = smaller[number].clone();
                from = number;
            }
            None => return best,
        }
    }
}

/// All trees that are `node` with one thing simplified, the largest changes first.
fn candidates(node: &Node) -> Vec<Node> {
    let mut found = Vec::new();
    let mut descendants = Vec::new();
    collect(node, &node.kind, &mut descendants);
    found.extend(descendants.into_iter().cloned());
    if let Some(atom) = atom(node) {
        found.push(atom);
    }
    for at in 0..node.parts.len() {
        match &node.parts[at] {
            Part::Maybe(..) => {
                let mut smaller = node.clone();
                smaller.parts.remove(at);
                found.push(smaller);
            }
            Part::List(_, nodes) if nodes.len() > 1 => {
                for number in 0..nodes.len() {
                    let mut smaller = node.clone();
                    if let Part::List(_, nodes) = &mut smaller.parts[at] {
                        nodes.remove(number);
                    }
                    found.push(smaller);
                }
            }
            _ => {}
        }
    }
    for (number, child) in node.children().enumerate() {
        for smaller_child in candidates(child) {
            let mut smaller = node.clone();
            if let Some(place) = smaller.children_mut().nth(number) {
                *place = smaller_child;
            }
            found.push(smaller);
        }
    }
    found
}

/// The nearest descendants of `kind`.
fn collect<'a>(node: &'a Node, kind: &Kind, found: &mut Vec<&'a Node>) {
    if *kind == Kind::Other {
        return;
    }
    for child in node.children() {
        if child.kind == *kind {
            found.push(child);
        } else {
            collect(child, kind, found);
        }
    }
}

/// The simplest expression of the node's kind, if it is not that already.
fn atom(node: &Node) -> Option<Node> {
    let text = match node.kind {
        Kind::Bool => "TRUE",
        Kind::Int => "1",
        Kind::Decimal => "1.5",
        Kind::Float => "CAST(1 AS double precision)",
        Kind::Text => "'a'",
        Kind::Date => "DATE '2000-01-01'",
        Kind::Timestamp => "TIMESTAMP '2000-01-01 00:00:00'",
        Kind::Query(_) | Kind::Other => return None,
    };
    let simple = node.parts.len() == 1 && matches!(node.parts[0], Part::Text(_));
    (!simple).then(|| Node::text(node.kind.clone(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_goes() {
        let leaf = |text: &str| Node::text(Kind::Bool, text);
        let both = Node::fill(Kind::Bool, "($ AND $)", vec![leaf("a"), leaf("bad")]);
        let query = Node::empty(Kind::Query(vec![Kind::Int]))
            .then("SELECT ")
            .list(", ", vec![Node::text(Kind::Int, "x"), Node::text(Kind::Int, "y")])
            .maybe(" WHERE ", Some(both))
            .maybe(" LIMIT ", Some(leaf("5")));
        let small = shrunk(&query, |node| node.to_string().contains("bad"));
        assert_eq!(small.to_string(), "SELECT y WHERE bad");
    }
}
