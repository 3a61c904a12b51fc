//! The physical plan as a JSON object, with PostgreSQL's names for what both have.
//!
//! ```text
//! {"Node Type": "Sort", "Plan Rows": 1, "Details": [...], "Plans": [inputs]}
//! ```

use std::fmt::Write;

use crate::physical::{LookUps, Node, OperatorId, OperatorProfile, PhysicalPlan, PreludeKind};

/// The operators of a plan as a JSON object, its inputs under "Plans", those that run before it
/// among them. With `profiles` (by [`crate::physical::OperatorId`]) each shows what happened, too.
/// `depth` is how far its lines are indented; `head` an operator above.
pub fn explain_json(
    head: Option<&str>,
    plan: &PhysicalPlan,
    profiles: Option<&[OperatorProfile]>,
    depth: usize,
) -> String {
    let mut out = String::new();
    let considered = &plan.considered;
    let mut writer = Writer { profiles, considered, out: &mut out };
    let root = |writer: &mut Writer<'_>, place: Place<'_>, depth: usize| {
        let mut before = Vec::new();
        for (number, prelude) in plan.preludes.iter().enumerate() {
            let kind = match prelude.kind {
                PreludeKind::Materialized | PreludeKind::Recursive => "Materialized",
                PreludeKind::Scalar => "Scalar",
            };
            before.push((&prelude.node, format!("{kind} ${number}")));
        }
        writer.node(&plan.root, place, &before, depth);
    };
    match head {
        None => root(&mut writer, Place::default(), depth),
        Some(head) => {
            let pad = " ".repeat(depth * 2);
            let _ = write!(writer.out, "{{\n{pad}  \"Node Type\": {},\n", quoted(head));
            let _ = write!(writer.out, "{pad}  \"Plans\": [\n{pad}    ");
            let place = Place { relationship: Some("Outer"), name: None };
            root(&mut writer, place, depth + 2);
            let _ = write!(writer.out, "\n{pad}  ]\n{pad}}}");
        }
    }
    out
}

/// Role of an operator for the one above it.
#[derive(Clone, Copy, Default)]
struct Place<'a> {
    relationship: Option<&'a str>,
    name: Option<&'a str>,
}

struct Writer<'a> {
    profiles: Option<&'a [OperatorProfile]>,
    considered: &'a [(OperatorId, String)],
    out: &'a mut String,
}

impl Writer<'_> {
    fn node(&mut self, node: &Node, place: Place<'_>, before: &[(&Node, String)], depth: usize) {
        types::stack::deep(|| self.node_here(node, place, before, depth))
    }

    fn node_here(
        &mut self,
        node: &Node,
        place: Place<'_>,
        before: &[(&Node, String)],
        depth: usize,
    ) {
        let pad = " ".repeat(depth * 2);
        let (head, details) = super::describe(node);
        let mut fields = vec![("Node Type", quoted(&head))];
        let relationship = place.relationship.map(|text| ("Parent Relationship", quoted(text)));
        fields.extend(relationship);
        fields.extend(place.name.map(|text| ("Subplan Name", quoted(text))));
        fields.push(("Plan Rows", super::count(node.rows)));
        if let Some(profile) = self.profiles.and_then(|all| all.get(node.id.0)) {
            let millis = profile.nanos as f64 / 1e6;
            fields.push(("Actual Total Time", format!("{millis:.3}")));
            fields.push(("Actual Rows", profile.rows.to_string()));
            fields.push(("Actual Loops", "1".to_owned()));
            if profile.blocks_scanned + profile.blocks_skipped > 0 {
                fields.push(("Blocks Scanned", profile.blocks_scanned.to_string()));
                fields.push(("Blocks Skipped", profile.blocks_skipped.to_string()));
                fields.push(("Bytes Read", profile.bytes_read.to_string()));
            }
            fields.extend(by_index(profile));
            fields.push(("Memory Bytes", profile.memory_bytes.to_string()));
            fields.push(("Spilled Bytes", profile.spilled_bytes.to_string()));
        }
        if !details.is_empty() {
            let details: Vec<String> = details.iter().map(|detail| quoted(detail)).collect();
            fields.push(("Details", format!("[{}]", details.join(", "))));
        }
        let paths: Vec<String> =
            super::considered(self.considered, node.id).map(|line| quoted(line)).collect();
        if !paths.is_empty() {
            fields.push(("Paths", format!("[{}]", paths.join(", "))));
        }
        self.out.push('{');
        for (number, (name, value)) in fields.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(self.out, "{comma}\n{pad}  \"{name}\": {value}");
        }
        let inputs = node.inputs();
        let names = ["Outer", "Inner"];
        let inputs = inputs.into_iter().enumerate();
        let inputs = inputs.map(|(n, input)| {
            let relationship = Some(names.get(n).copied().unwrap_or("Member"));
            (input, Place { relationship, name: None })
        });
        let before = before.iter().map(|(node, name)| {
            (*node, Place { relationship: Some("InitPlan"), name: Some(name) })
        });
        let mut is_first = true;
        for (input, place) in before.chain(inputs) {
            let begin = if is_first { format!(",\n{pad}  \"Plans\": [") } else { ",".to_owned() };
            let _ = write!(self.out, "{begin}\n{pad}    ");
            self.node(input, place, &[], depth + 2);
            is_first = false;
        }
        if !is_first {
            let _ = write!(self.out, "\n{pad}  ]");
        }
        let _ = write!(self.out, "\n{pad}}}");
    }
}

/// Look-ups of an operator, and outer rows that a hash join took over, where there are any.
fn by_index(profile: &OperatorProfile) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    if !profile.look_ups.is_empty() {
        let sum = |of: fn(&LookUps) -> u64| profile.look_ups.iter().map(of).sum::<u64>();
        fields.push(("Index Look-ups", sum(|one| one.count).to_string()));
        fields.push(("Rows Found by Index", sum(|one| one.rows).to_string()));
    }
    if profile.hashed_rows > 0 {
        fields.push(("Rows Joined by Hash Instead", profile.hashed_rows.to_string()));
    }
    fields
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    types::json::push_quoted(&mut out, text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
