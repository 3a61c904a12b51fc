//! From the tree of the grammar to nodes with types: which form goes where; names, constants,
//! casts.

mod build;
mod call;
mod query;
mod test;

use sqlparser::ast::{self, Expr as Ast};

use super::coerce::Types;
use super::known::{self, Context, number};
use super::node::query::Query;
use super::node::{Asked, Kind, Node};
use super::{Named, Row, Typed};
use crate::bind::written_type;
use crate::parse::folded;

/// The expression over `rows`.
pub(super) fn analysed(expr: &Ast, rows: &[Row<'_>], types: Types<'_>) -> Option<Node> {
    Analyser { rows, types, parts: &[] }.node(expr)
}

/// The query of a view.
pub(super) fn analysed_query(query: &ast::Query, types: Types<'_>) -> Option<Query> {
    Analyser { rows: &[], types, parts: &[] }.view(query)
}

/// Meaning of names and types.
#[derive(Clone, Copy)]
struct Analyser<'a> {
    rows: &'a [Row<'a>],
    types: Types<'a>,
    /// Names and columns of the queries of WITH.
    parts: &'a [(String, Vec<(String, Typed)>)],
}

/// The expression inside of parentheses.
fn bare(expr: &Ast) -> &Ast {
    let mut expr = expr;
    while let Ast::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

fn boolean(kind: Kind) -> Node {
    Node::new(kind, Typed::plain(number::BOOLEAN))
}

impl Analyser<'_> {
    fn node(&self, expr: &Ast) -> Option<Node> {
        types::stack::deep(|| self.node_here(bare(expr)))
    }

    fn nodes<'e>(&self, list: impl IntoIterator<Item = &'e Ast>) -> Option<Vec<Node>> {
        list.into_iter().map(|expr| self.node(expr)).collect()
    }

    fn node_here(&self, expr: &Ast) -> Option<Node> {
        match expr {
            Ast::Identifier(ident) => self.column(None, &folded(ident), ident),
            Ast::CompoundIdentifier(parts) => {
                let [.., row, column] = parts.as_slice() else { return None };
                self.column(Some(&folded(row)), &folded(column), column)
            }
            Ast::Value(value) => self.constant(&value.value, value.span),
            Ast::TypedString(typed) => {
                let literal = self.constant(&typed.value.value, typed.value.span)?;
                self.cast_to(literal, &typed.data_type)
            }
            Ast::Interval(interval) => self.interval(interval),
            Ast::Cast {
                kind: ast::CastKind::Cast | ast::CastKind::DoubleColon,
                expr,
                data_type,
                format: None,
            } => self.cast(expr, data_type),
            Ast::BinaryOp { left, op, right } => self.binary(left, op, right),
            Ast::UnaryOp { op, expr } => self.unary(*op, expr),
            Ast::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Ast::QualifiedWildcard(name, _) => self.whole(name),
            Ast::Array(array) => self.array(&array.elem, None),
            Ast::Tuple(list) => self.row(list),
            Ast::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain),
            Ast::Collate { expr, collation } => self.collate(expr, collation),
            Ast::Function(function) => self.call(function),
            Ast::Exists { .. } | Ast::Subquery(_) | Ast::InSubquery { .. } => self.sublink(expr),
            _ => self.special(expr).or_else(|| self.test(expr)),
        }
    }

    fn column(&self, row: Option<&str>, name: &str, ident: &ast::Ident) -> Option<Node> {
        let meant = |known: &&Row<'_>| match row {
            Some(row) => known.name == row,
            None => known.named != Named::Behind,
        };
        for known in self.rows.iter().filter(meant) {
            let Some((_, ty)) = known.columns.iter().find(|(known, _)| *known == name) else {
                continue;
            };
            let quoted = self.types.objects.quoted(name);
            let text = match known.named {
                Named::Alone => quoted.into_owned(),
                Named::Behind | Named::Joined => {
                    let row = self.types.objects.quoted(known.name);
                    format!("{row}.{quoted}")
                }
                Named::Value => "VALUE".to_owned(),
            };
            return Some(Node::new(Kind::Column(text), *ty));
        }
        let is_word = row.is_none() && ident.quote_style.is_none();
        if is_word { call::keyword(name, None) } else { None }
    }

    /// `row.*`
    fn whole(&self, name: &ast::ObjectName) -> Option<Node> {
        let name = folded(name.0.last()?.as_ident()?);
        let row = self.rows.iter().find(|row| row.name == name && row.named != Named::Value)?;
        let text = format!("{}.*", self.types.objects.quoted(row.name));
        Some(Node::new(Kind::Column(text), Typed::plain(number::RECORD)))
    }

    fn constant(&self, value: &ast::Value, span: sqlparser::tokenizer::Span) -> Option<Node> {
        use ast::Value as V;
        let known = |text: &str, ty| Node::new(Kind::Constant(Some(text.into())), Typed::plain(ty));
        Some(match value {
            V::Number(digits, _) => self.number(digits)?,
            V::Boolean(true) => known("t", number::BOOLEAN),
            V::Boolean(false) => known("f", number::BOOLEAN),
            V::Null => Node::new(Kind::Constant(None), Typed::plain(number::UNKNOWN)),
            V::SingleQuotedString(text)
            | V::EscapedStringLiteral(text)
            | V::UnicodeStringLiteral(text) => known(text, number::UNKNOWN),
            V::DollarQuotedString(text) => known(&text.value, number::UNKNOWN),
            V::SingleQuotedByteStringLiteral(digits) => known(digits, number::BIT),
            V::HexStringLiteral(digits)
                if span.end.column.saturating_sub(span.start.column)
                    == digits.chars().count() as u64 + 3 =>
            {
                let text = self.types.objects.constant(&format!("x{digits}"), number::BIT)?;
                known(&text, number::BIT)
            }
            _ => return None,
        })
    }

    /// A number with or without a sign: INTEGER, BIGINT or NUMERIC, whichever holds it first.
    fn number(&self, digits: &str) -> Option<Node> {
        let plain = digits.strip_prefix('-').unwrap_or(digits);
        let is_whole = plain.bytes().all(|byte| byte.is_ascii_digit());
        let ty = if !is_whole {
            number::NUMERIC
        } else if digits.parse::<i32>().is_ok() {
            number::INTEGER
        } else if digits.parse::<i64>().is_ok() {
            number::BIGINT
        } else {
            number::NUMERIC
        };
        let is_read = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        if !digits.chars().all(is_read) {
            return None;
        }
        let text = if is_whole && ty != number::NUMERIC {
            digits.parse::<i64>().ok()?.to_string()
        } else {
            self.types.objects.constant(digits, number::NUMERIC)?
        };
        Some(Node::new(Kind::Constant(Some(text)), Typed::plain(ty)))
    }

    fn interval(&self, interval: &ast::Interval) -> Option<Node> {
        let has_fields = interval.leading_field.is_some()
            || interval.leading_precision.is_some()
            || interval.fractional_seconds_precision.is_some();
        let literal = self.node(&interval.value)?;
        if has_fields || !literal.is_unknown() {
            return None;
        }
        self.types.coerced(literal, number::INTERVAL, Context::Explicit, Asked::Yes)
    }

    /// The type that a definition names.
    fn written(&self, ty: &ast::DataType) -> Option<Typed> {
        let objects = self.types.objects;
        let own = || objects.type_called(&ty.to_string()).map(Typed::plain);
        match written_type(ty) {
            Some(known) => Some(objects.number_of(known)),
            None => own(),
        }
    }

    fn cast_to(&self, node: Node, ty: &ast::DataType) -> Option<Node> {
        let to = self.written(ty)?;
        self.types.cast(node, to, Context::Explicit, Asked::Yes)
    }

    fn cast(&self, expr: &Ast, ty: &ast::DataType) -> Option<Node> {
        let to = self.written(ty)?;
        let node = match bare(expr) {
            Ast::Array(array) if self.types.element(self.types.base(to.number)).is_some() => {
                self.array(&array.elem, Some(Typed { number: self.types.base(to.number), ..to }))?
            }
            other => self.node(other)?,
        };
        self.types.cast(node, to, Context::Explicit, Asked::Yes)
    }

    /// The operator `name` of one or two operands.
    fn operator(&self, name: &str, operands: Vec<Node>) -> Option<Node> {
        let types: Vec<u32> = operands.iter().map(|node| node.ty.number).collect();
        let chosen = self.types.operator(name, &types)?;
        let operands = self.declared(operands, &chosen.declared)?;
        let kind = Kind::Operator { name: name.to_owned(), operands };
        Some(Node::new(kind, Typed::plain(chosen.result)))
    }

    /// The nodes as values of the types that a signature declares.
    fn declared(&self, nodes: Vec<Node>, declared: &[u32]) -> Option<Vec<Node>> {
        let pairs = nodes.into_iter().zip(declared);
        pairs.map(|(node, ty)| self.types.coerced_unasked(node, *ty)).collect()
    }

    fn unary(&self, op: ast::UnaryOperator, expr: &Ast) -> Option<Node> {
        use ast::UnaryOperator as U;
        let name = match op {
            U::Not => {
                let inner = self.condition(expr)?;
                return Some(boolean(Kind::Not(Box::new(inner))));
            }
            U::Minus => {
                // A sign is a part of a number.
                if let Ast::Value(value) = bare(expr)
                    && let ast::Value::Number(digits, _) = &value.value
                {
                    return self.number(&format!("-{digits}"));
                }
                "-"
            }
            U::Plus => "+",
            U::BitwiseNot => "~",
            U::PGSquareRoot => "|/",
            U::PGCubeRoot => "||/",
            U::PGAbs => "@",
            _ => return None,
        };
        self.operator(name, vec![self.node(expr)?])
    }

    fn condition(&self, expr: &Ast) -> Option<Node> {
        let node = self.node(expr)?;
        self.types.coerced(node, number::BOOLEAN, Context::Assignment, Asked::No)
    }

    fn collate(&self, expr: &Ast, collation: &ast::ObjectName) -> Option<Node> {
        let inner = self.node(expr)?;
        let parts: Option<Vec<String>> =
            collation.0.iter().map(|part| part.as_ident().map(folded)).collect();
        let mut parts = parts?;
        let name = parts.pop()?;
        let name = self.types.objects.collation(parts.pop().as_deref(), &name)?;
        let ty = inner.ty;
        Some(Node::new(Kind::Collate { inner: Box::new(inner), name }, ty))
    }

    /// The functions that a name means.
    fn functions(&self, schema: Option<&str>, name: &str) -> Vec<super::Candidate> {
        let system = matches!(schema, None | Some("pg_catalog"));
        let known = if system { known::catalog().functions(name) } else { &[] };
        let mut all = known.to_vec();
        if schema != Some("pg_catalog") {
            all.extend(self.types.objects.functions(schema, name));
        }
        all
    }
}
