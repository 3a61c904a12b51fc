//! Nodes as text, in the forms of PostgreSQL.

mod query;
mod simple;

use super::Form;
use super::Typed;
use super::coerce::Types;
use super::known::number;
use super::node::query::Query;
use super::node::{Asked, Kind, Node, Subscript, Syntax};
use simple::is_simple;

/// Blanks before the branches of CASE.
const BRANCH_BLANKS: usize = 4;

/// Whether casts that were not asked for are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unasked {
    Shown,
    Hidden,
}

/// The expression as text.
pub(super) fn text(node: &Node, form: Form, types: Types<'_>) -> String {
    let mut writer = Writer { out: String::new(), form, types, blanks: 0 };
    writer.node(node, Unasked::Hidden);
    writer.out
}

/// The query of a view whose columns have these names, as text.
pub(super) fn query_text(query: &Query, names: &[String], form: Form, types: Types<'_>) -> String {
    let mut writer = Writer { out: String::new(), form, types, blanks: 0 };
    writer.query(query, query::Names::of_view(names));
    writer.push(";");
    writer.out
}

/// True for what looks like a call.
pub(super) fn is_call(node: &Node) -> bool {
    matches!(node.kind, Kind::Call { .. } | Kind::Special(..) | Kind::Listed(..) | Kind::Keyword(_))
}

struct Writer<'a> {
    out: String,
    form: Form,
    types: Types<'a>,
    blanks: usize,
}

/// A string in quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Writer<'_> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// A parenthesis that only few forms leave out.
    fn parenthesis(&mut self, text: &str) {
        if self.form != Form::Pretty {
            self.push(text);
        }
    }

    fn node(&mut self, node: &Node, unasked: Unasked) {
        types::stack::deep(|| self.node_here(node, unasked));
    }

    /// An operand of `parent`, in parentheses where the form has few and it needs them.
    fn operand(&mut self, node: &Node, unasked: Unasked, parent: &Node) {
        let is_bare = self.form != Form::Pretty || is_simple(node, parent);
        if !is_bare {
            self.push("(");
        }
        self.node(node, unasked);
        if !is_bare {
            self.push(")");
        }
    }

    fn list(&mut self, list: &[Node], unasked: Unasked) {
        for (at, node) in list.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            self.node(node, unasked);
        }
    }

    fn node_here(&mut self, node: &Node, unasked: Unasked) {
        use Unasked::Shown;
        match &node.kind {
            Kind::Column(text) | Kind::Keyword(text) => self.push(text),
            Kind::Constant(text) => self.constant(text.as_deref(), node.ty),
            Kind::CaseOperand => {}
            Kind::Operator { name, operands } => self.operator(node, name, operands),
            Kind::Call { name, arguments, spread } => {
                let (last, others) = match arguments.split_last() {
                    Some((last, others)) if *spread => (Some(last), others),
                    _ => (None, arguments.as_slice()),
                };
                self.call(name, others, last);
            }
            Kind::Special(syntax, arguments) => self.special(node, *syntax, arguments),
            Kind::Array(list) => {
                self.push("ARRAY[");
                self.list(list, Shown);
                self.push("]");
                if list.is_empty() {
                    self.of_type(Typed::plain(node.ty.number));
                }
            }
            Kind::Row(list) => {
                self.push("ROW(");
                self.list(list, Shown);
                self.push(")");
            }
            Kind::Subscripts { base, list } => self.subscripts(base, list),
            Kind::Listed(name, list) => {
                self.push(name);
                self.push("(");
                self.list(list, Shown);
                self.push(")");
            }
            Kind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise);
            }
            Kind::Aggregate(call) => self.aggregate(call),
            Kind::Query(sublink) => self.sublink(sublink),
            _ => self.spelled(node, unasked),
        }
    }

    /// Casts and tests, whose parentheses depend on the form.
    fn spelled(&mut self, node: &Node, unasked: Unasked) {
        use Unasked::{Hidden, Shown};
        match &node.kind {
            Kind::Cast { inner, asked: Asked::No, .. } if unasked == Hidden => {
                self.operand(inner, Hidden, node);
            }
            Kind::Cast { inner, .. } => self.cast(node, inner),
            Kind::And(list) => self.joined(node, list, " AND "),
            Kind::Or(list) => self.joined(node, list, " OR "),
            Kind::Not(inner) => {
                self.parenthesis("(");
                self.push("NOT ");
                self.operand(inner, Hidden, node);
                self.parenthesis(")");
            }
            Kind::Test { inner, text, is_null_test } => {
                self.parenthesis("(");
                self.operand(inner, if *is_null_test { Shown } else { Hidden }, node);
                self.push(text);
                self.parenthesis(")");
            }
            Kind::Distinct(left, right) => {
                self.parenthesis("(");
                self.operand(left, Shown, node);
                self.push(" IS DISTINCT FROM ");
                self.operand(right, Shown, node);
                self.parenthesis(")");
            }
            Kind::OfArray { name, quantifier, left, right } => {
                self.parenthesis("(");
                self.operand(left, Shown, node);
                self.push(&format!(" {name} {quantifier} ("));
                self.operand(right, Shown, node);
                self.push(")");
                self.parenthesis(")");
            }
            Kind::RowCompare { name, left, right } => {
                self.push("(ROW(");
                self.list(left, Shown);
                self.push(&format!(") {name} ROW("));
                self.list(right, Shown);
                self.push("))");
            }
            Kind::Collate { inner, name } => {
                self.parenthesis("(");
                self.operand(inner, unasked, node);
                self.push(" COLLATE ");
                self.push(name);
                self.parenthesis(")");
            }
            _ => {}
        }
    }

    /// A call, the last argument perhaps all of VARIADIC.
    fn call(&mut self, name: &str, arguments: &[Node], last: Option<&Node>) {
        self.push(name);
        self.push("(");
        self.list(arguments, Unasked::Shown);
        if let Some(last) = last {
            self.push(if arguments.is_empty() { "VARIADIC " } else { ", VARIADIC " });
            self.node(last, Unasked::Shown);
        }
        self.push(")");
    }

    fn operator(&mut self, node: &Node, name: &str, operands: &[Node]) {
        self.parenthesis("(");
        match operands {
            [left, right] => {
                self.operand(left, Unasked::Shown, node);
                self.push(&format!(" {name} "));
                self.operand(right, Unasked::Shown, node);
            }
            operands => {
                self.push(&format!("{name} "));
                for operand in operands {
                    self.operand(operand, Unasked::Shown, node);
                }
            }
        }
        self.parenthesis(")");
    }

    fn joined(&mut self, node: &Node, list: &[Node], word: &str) {
        self.parenthesis("(");
        for (at, part) in list.iter().enumerate() {
            if at > 0 {
                self.push(word);
            }
            self.operand(part, Unasked::Hidden, node);
        }
        self.parenthesis(")");
    }

    fn of_type(&mut self, ty: Typed) {
        if let Some(shown) = self.types.shown(ty) {
            self.push("::");
            self.push(&shown);
        }
    }

    fn cast(&mut self, node: &Node, inner: &Node) {
        match &inner.kind {
            Kind::Constant(Some(text))
                if inner.ty == Typed::plain(node.ty.number) && !inner.is_unknown() =>
            {
                self.literal(text, inner.ty.number);
            }
            Kind::Constant(None) if inner.ty == Typed::plain(node.ty.number) => self.push("NULL"),
            _ => {
                self.parenthesis("(");
                self.operand(inner, Unasked::Hidden, node);
                self.parenthesis(")");
            }
        }
        self.of_type(node.ty);
    }

    /// A constant without its type; true where it means the same without.
    fn literal(&mut self, text: &str, ty: u32) -> bool {
        match ty {
            number::BOOLEAN => {
                self.push(if text == "t" { "true" } else { "false" });
                true
            }
            number::INTEGER if !text.starts_with('-') => {
                self.push(text);
                true
            }
            number::NUMERIC
                if text.starts_with(|c: char| c.is_ascii_digit())
                    && text.contains(['e', 'E', '.']) =>
            {
                self.push(text);
                true
            }
            _ => {
                self.push(&quoted(text));
                ty == number::UNKNOWN
            }
        }
    }

    fn constant(&mut self, text: Option<&str>, ty: Typed) {
        let is_clear = match text {
            Some(text) => self.literal(text, ty.number),
            None => {
                self.push("NULL");
                false
            }
        };
        if !is_clear {
            match ty.number {
                number::UNKNOWN => self.push("::unknown"),
                _ => self.of_type(ty),
            }
        }
    }

    /// A word on a line of its own, where the form has lines.
    fn line(&mut self, word: &str) {
        if self.form == Form::Flat {
            self.push(word);
            return;
        }
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', self.blanks));
        self.push(word);
    }

    fn blank(&mut self) {
        if self.form == Form::Flat {
            self.push(" ");
        }
    }

    fn case(&mut self, operand: Option<&Node>, branches: &[(Node, Node)], otherwise: &Node) {
        self.line("CASE");
        self.blanks += BRANCH_BLANKS;
        if let Some(operand) = operand {
            self.push(" ");
            self.node(operand, Unasked::Shown);
        }
        for (condition, result) in branches {
            self.blank();
            self.line("WHEN ");
            match (&condition.kind, operand) {
                (Kind::Operator { operands, .. }, Some(_)) if operands.len() == 2 => {
                    self.node(&operands[1], Unasked::Hidden);
                }
                _ => self.node(condition, Unasked::Hidden),
            }
            self.push(" THEN ");
            self.node(result, Unasked::Shown);
        }
        self.blank();
        self.line("ELSE ");
        self.node(otherwise, Unasked::Shown);
        self.blank();
        self.blanks = self.blanks.saturating_sub(BRANCH_BLANKS);
        self.line("END");
    }

    fn subscripts(&mut self, base: &Node, list: &[Subscript]) {
        let is_bare = matches!(base.kind, Kind::Column(_));
        if !is_bare {
            self.push("(");
        }
        self.node(base, Unasked::Shown);
        if !is_bare {
            self.push(")");
        }
        for subscript in list {
            self.push("[");
            match subscript {
                Subscript::Element(at) => self.node(at, Unasked::Hidden),
                Subscript::Slice(from, to) => {
                    if let Some(from) = from {
                        self.node(from, Unasked::Hidden);
                    }
                    self.push(":");
                    if let Some(to) = to {
                        self.node(to, Unasked::Hidden);
                    }
                }
            }
            self.push("]");
        }
    }

    /// Arguments behind words.
    fn worded(&mut self, parts: &[(&str, Option<&Node>)]) {
        for (word, node) in parts {
            if let Some(node) = node {
                self.push(word);
                self.node(node, Unasked::Hidden);
            }
        }
        self.push(")");
    }

    fn special(&mut self, node: &Node, syntax: Syntax, arguments: &[Node]) {
        let at = |place: usize| arguments.get(place);
        match syntax {
            Syntax::AtTimeZone => {
                self.push("(");
                for (word, place) in [("", 1), (" AT TIME ZONE ", 0)] {
                    self.push(word);
                    if let Some(argument) = at(place) {
                        self.operand(argument, Unasked::Hidden, node);
                    }
                }
                self.push(")");
            }
            Syntax::Extract => {
                self.push("EXTRACT(");
                if let Some(Node { kind: Kind::Constant(Some(field)), .. }) = at(0) {
                    self.push(field);
                }
                self.worded(&[(" FROM ", at(1))]);
            }
            Syntax::Overlay => {
                let words = ["OVERLAY(", " PLACING ", " FROM ", " FOR "];
                let parts: Vec<_> = words.into_iter().zip((0..4).map(at)).collect();
                self.worded(&parts);
            }
            Syntax::Position => {
                self.push("POSITION((");
                for (word, place) in [("", 1), (") IN (", 0)] {
                    self.push(word);
                    if let Some(argument) = at(place) {
                        self.node(argument, Unasked::Hidden);
                    }
                }
                self.push("))");
            }
            Syntax::Substring => {
                self.worded(&[("SUBSTRING(", at(0)), (" FROM ", at(1)), (" FOR ", at(2))]);
            }
            Syntax::SubstringSimilar => {
                self.worded(&[("SUBSTRING(", at(0)), (" SIMILAR ", at(1)), (" ESCAPE ", at(2))]);
            }
            Syntax::TrimBoth | Syntax::TrimLeading | Syntax::TrimTrailing => {
                self.push(match syntax {
                    Syntax::TrimBoth => "TRIM(BOTH",
                    Syntax::TrimLeading => "TRIM(LEADING",
                    _ => "TRIM(TRAILING",
                });
                self.worded(&[(" ", at(1)), (" FROM ", at(0))]);
            }
            Syntax::Overlaps => {
                self.push("(");
                self.worded(&[("(", at(0)), (", ", at(1))]);
                self.push(" OVERLAPS ");
                self.worded(&[("(", at(2)), (", ", at(3))]);
                self.push(")");
            }
        }
    }
}
