//! Queries on lines of their own, as PostgreSQL lays them out.

use super::{Unasked, Writer, is_call};
use crate::deparse::Form;
use crate::deparse::node::query::{
    Aggregate, Body, From, Query, Select, Sorted, Sublink, SublinkKind,
};
use crate::deparse::node::{By, Kind, Node};

/// Blanks of a level.
const STEP: i32 = 8;

/// Names that the columns of a query get.
#[derive(Clone, Copy)]
pub(super) struct Names<'n> {
    /// Names of a view's columns; their own without.
    view: Option<&'n [String]>,
    seen: Seen,
}

/// Whether something outside may call the columns of a query by their names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Yes,
    No,
}

impl<'n> Names<'n> {
    /// Names that something outside may use.
    const OWN: Self = Self { view: None, seen: Seen::Yes };

    /// Names that nobody asks for.
    const HIDDEN: Self = Self { view: None, seen: Seen::No };

    /// The names of a view's columns.
    pub(super) fn of_view(names: &'n [String]) -> Self {
        Self { view: Some(names), seen: Seen::Yes }
    }
}

/// Words of a clause, and what the level becomes before and behind them.
struct Line<'t> {
    words: &'t str,
    before: i32,
    behind: i32,
    more: i32,
}

impl<'t> Line<'t> {
    /// A clause of a query, `more` blanks behind its level.
    fn clause(words: &'t str, more: i32) -> Self {
        Self { words, before: -STEP, behind: STEP, more }
    }
}

impl Writer<'_> {
    fn on_line(&mut self, line: Line<'_>) {
        let level = self.blanks as i32 + line.before;
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
        self.out.push('\n');
        let blanks = (level.max(0) + line.more) as usize;
        self.out.extend(std::iter::repeat_n(' ', blanks));
        self.push(line.words);
        self.blanks = (level + line.behind).max(0) as usize;
    }

    /// A query that begins at the level where the text is.
    pub(super) fn query(&mut self, query: &Query, names: Names<'_>) {
        let outside = self.blanks;
        self.parts(query);
        let is_set = matches!(query.body, Body::Set { .. });
        self.body(&query.body, names);
        if !query.order_by.is_empty() {
            self.on_line(Line::clause(" ORDER BY ", 1));
            self.sorted(&query.order_by);
        }
        debug_assert!(is_set || query.order_by.iter().all(|key| key.key.is_ok()));
        for (words, count) in [(" OFFSET ", &query.offset), (" LIMIT ", &query.limit)] {
            if let Some(count) = count {
                self.on_line(Line::clause(words, 0));
                if matches!(count.kind, Kind::Constant(None)) {
                    self.push("ALL");
                } else {
                    self.node(count, Unasked::Hidden);
                }
            }
        }
        self.blanks = outside;
    }

    fn parts(&mut self, query: &Query) {
        if query.parts.is_empty() {
            return;
        }
        self.blanks += STEP as usize;
        self.push(" ");
        let here = |words| Line { words, before: 0, behind: 0, more: 0 };
        for (at, part) in query.parts.iter().enumerate() {
            self.push(if at == 0 { "WITH " } else { ", " });
            let quoted = |name: &String| self.types.objects.quoted(name).into_owned();
            let mut head = quoted(&part.name);
            if !part.columns.is_empty() {
                let columns: Vec<String> = part.columns.iter().map(quoted).collect();
                head.push_str(&format!("({})", columns.join(", ")));
            }
            self.push(&format!("{head} AS {}(", part.kept));
            self.on_line(here(""));
            self.query(&part.query, Names::OWN);
            self.on_line(here(""));
            self.push(")");
        }
        self.blanks -= STEP as usize;
        self.on_line(here(""));
    }

    fn body(&mut self, body: &Body, names: Names<'_>) {
        match body {
            Body::Select(select) => self.select(select, names),
            Body::Nested(query) => self.query(query, names),
            Body::Set { words, left, right } => {
                // A chain of one operation needs no parentheses.
                let is_apart = match &**left {
                    Body::Set { words: inner, .. } => inner != words,
                    _ => false,
                };
                let step = if is_apart { STEP } else { 0 };
                if is_apart {
                    self.push("(");
                    self.on_line(Line { words: "", before: step, behind: 0, more: 0 });
                }
                self.leaf(left, names);
                let end = if is_apart { ") " } else { "" };
                self.on_line(Line { words: end, before: -step, behind: 0, more: 0 });
                self.push(words);
                let is_apart = matches!(**right, Body::Set { .. });
                let step = if is_apart { STEP } else { 0 };
                if is_apart {
                    self.push("(");
                }
                self.on_line(Line { words: "", before: step, behind: 0, more: 0 });
                self.leaf(right, Names { seen: Seen::No, ..names });
                self.blanks = (self.blanks as i32 - step).max(0) as usize;
                if is_apart {
                    self.on_line(Line { words: ")", before: 0, behind: 0, more: 0 });
                }
            }
        }
    }

    /// An operand of a set operation.
    fn leaf(&mut self, body: &Body, names: Names<'_>) {
        let outside = self.blanks;
        match body {
            Body::Nested(query) if has_clauses(query) => {
                self.push("(");
                self.query(query, names);
                self.push(")");
            }
            Body::Nested(query) => self.leaf(&query.body, names),
            Body::Select(_) => self.body(body, names),
            Body::Set { .. } => return self.body(body, names),
        }
        self.blanks = outside;
    }

    fn select(&mut self, select: &Select, names: Names<'_>) {
        self.blanks += STEP as usize;
        self.push(" SELECT");
        match select.distinct.as_deref() {
            None => {}
            Some([]) => self.push(" DISTINCT"),
            Some(list) => {
                self.push(" DISTINCT ON (");
                self.keys(list);
                self.push(")");
            }
        }
        self.items(select, names);
        self.sources(&select.from);
        if let Some(filter) = &select.filter {
            self.on_line(Line::clause(" WHERE ", 1));
            self.node(filter, Unasked::Hidden);
        }
        if !select.group_by.is_empty() {
            self.on_line(Line::clause(" GROUP BY ", 1));
            self.keys(&select.group_by);
        }
        if let Some(having) = &select.having {
            self.on_line(Line::clause(" HAVING ", 0));
            self.node(having, Unasked::Hidden);
        }
    }

    /// Text that `write` appends, at the level where it will stand.
    fn apart(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.out);
        write(self);
        std::mem::replace(&mut self.out, before)
    }

    fn items(&mut self, select: &Select, names: Names<'_>) {
        let mut was_long = false;
        for (at, (node, own)) in select.items.iter().enumerate() {
            self.push(if at == 0 { " " } else { ", " });
            let item = self.apart(|writer| writer.item(node, own, at, names));
            if item.starts_with('\n') {
                let kept = self.out.trim_end_matches(' ').len();
                self.out.truncate(kept);
            } else if at > 0 || was_long {
                self.on_line(Line::clause("", 4));
            }
            was_long = item.trim_start_matches('\n').contains('\n');
            self.push(&item);
        }
    }

    fn item(&mut self, node: &Node, own: &str, at: usize, names: Names<'_>) {
        self.node(node, Unasked::Shown);
        let column = match &node.kind {
            Kind::Column(text) => Some(text.rsplit_once('.').map_or(text.as_str(), |(_, n)| n)),
            _ => None,
        };
        let name = names.view.and_then(|list| list.get(at)).map_or(own, String::as_str);
        let quoted = self.types.objects.quoted(name).into_owned();
        let is_known = match column {
            Some(column) => column == quoted,
            None => names.seen == Seen::No && name == "?column?",
        };
        if !is_known {
            self.push(" AS ");
            self.push(&quoted);
        }
    }

    fn sources(&mut self, from: &[From]) {
        for (at, source) in from.iter().enumerate() {
            if at == 0 {
                self.on_line(Line::clause(" FROM ", 2));
                self.source(source);
                continue;
            }
            self.push(", ");
            let text = self.apart(|writer| writer.source(source));
            self.on_line(Line::clause("", 4));
            self.push(&text);
        }
    }

    fn source(&mut self, source: &From) {
        match source {
            From::Relation(text) => self.push(text),
            From::Derived(query, name) => {
                self.push("(");
                self.query(query, Names::OWN);
                self.push(") ");
                self.push(name);
            }
            From::Join { words, left, right, on } => {
                self.parenthesis("(");
                self.source(left);
                self.on_line(Line::clause(words, 4));
                let is_apart = self.form == Form::Pretty && matches!(**right, From::Join { .. });
                if is_apart {
                    self.push("(");
                }
                self.source(right);
                if is_apart {
                    self.push(")");
                }
                if let Some(on) = on {
                    self.push(" ON ");
                    self.parenthesis("(");
                    self.node(on, Unasked::Hidden);
                    self.parenthesis(")");
                }
                self.parenthesis(")");
            }
        }
    }

    /// An expression of ORDER BY and its kin, which must not look like something else.
    fn key(&mut self, node: &Node) {
        let is_call = match &node.kind {
            Kind::Cast { by: By::Function, .. } | Kind::Aggregate(_) => true,
            Kind::Listed(..) | Kind::Keyword(_) => false,
            _ => is_call(node),
        };
        if matches!(node.kind, Kind::Column(_)) || !(is_call || self.form == Form::Pretty) {
            return self.node(node, Unasked::Shown);
        }
        self.push("(");
        self.node(node, Unasked::Shown);
        self.push(")");
    }

    fn keys(&mut self, list: &[Node]) {
        for (at, node) in list.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            self.key(node);
        }
    }

    fn sorted(&mut self, keys: &[Sorted]) {
        for (at, Sorted { key, words }) in keys.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            match key {
                Ok(node) => self.key(node),
                Err(place) => self.push(&place.to_string()),
            }
            self.push(words);
        }
    }

    pub(super) fn aggregate(&mut self, call: &Aggregate) {
        self.push(&call.name);
        self.push(if call.is_distinct { "(DISTINCT " } else { "(" });
        match &call.arguments {
            None => self.push("*"),
            Some(list) => self.list(list, Unasked::Shown),
        }
        if !call.order_by.is_empty() {
            self.push(" ORDER BY ");
            self.sorted(&call.order_by);
        }
        if let Some(filter) = &call.filter {
            self.push(") FILTER (WHERE ");
            self.node(filter, Unasked::Hidden);
        }
        self.push(")");
        let Some(window) = &call.over else { return };
        self.push(" OVER (");
        if !window.partition_by.is_empty() {
            self.push("PARTITION BY ");
            self.keys(&window.partition_by);
        }
        if !window.order_by.is_empty() {
            self.push(if window.partition_by.is_empty() { "ORDER BY " } else { " ORDER BY " });
            self.sorted(&window.order_by);
        }
        self.push(")");
    }

    pub(super) fn sublink(&mut self, sublink: &Sublink) {
        self.push(if sublink.kind == SublinkKind::Array { "ARRAY(" } else { "(" });
        if let Some((operand, words)) = &sublink.test {
            self.node(operand, Unasked::Shown);
            self.push(words);
        }
        let end = match sublink.kind {
            SublinkKind::Exists => {
                self.push("EXISTS (");
                "))"
            }
            SublinkKind::Tested => {
                self.push("(");
                "))"
            }
            SublinkKind::Value | SublinkKind::Array => ")",
        };
        self.query(&sublink.query, Names::HIDDEN);
        self.push(end);
    }
}

fn has_clauses(query: &Query) -> bool {
    !query.parts.is_empty()
        || !query.order_by.is_empty()
        || query.limit.is_some()
        || query.offset.is_some()
}
