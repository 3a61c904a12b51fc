//! Queries: clauses with the names that they see.
//!
//! Not there, so that the whole query is shown as it was written: USING and NATURAL, functions and
//! VALUES in FROM, columns that an alias renames, grouping sets, recursion, frames, locks.

use sqlparser::ast::{self, Expr as Ast};

use super::{Analyser, bare};
use crate::bind::column_name;
use crate::deparse::known::{Context, number};
use crate::deparse::node::query::{Body, From, Part, Query, Select, Sorted, Sublink, SublinkKind};
use crate::deparse::node::{Asked, Kind, Node};
use crate::deparse::{Named, Relation, Row, Typed};
use crate::parse::folded;

/// A relation of FROM, by the name that its columns have before them.
struct Source {
    name: String,
    columns: Vec<(String, Typed)>,
}

impl Source {
    fn row(&self) -> Row<'_> {
        let columns = self.columns.iter().map(|(name, ty)| (name.as_str(), *ty)).collect();
        Row { named: Named::Joined, name: &self.name, columns }
    }
}

/// The items of a SELECT, which ORDER BY and GROUP BY may name.
type Items = [(Node, String)];

/// Names of columns as a list of them has them.
type Columns = Vec<(String, Typed)>;

/// Whether an alias is looked at before a column of the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Alias,
    Column,
}

impl Analyser<'_> {
    /// A query that sees what this one sees.
    pub(super) fn query(&self, query: &ast::Query) -> Option<Query> {
        let is_more = query.fetch.is_some()
            || !query.locks.is_empty()
            || query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty();
        if is_more {
            return None;
        }
        let mut parts = Vec::new();
        let mut known = self.parts.to_vec();
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let inner = Analyser { parts: &known, ..*self };
            let part = inner.part(cte)?;
            known.push((part.name.clone(), part_columns(&part)?));
            parts.push(part);
        }
        if query.with.as_ref().is_some_and(|with| with.recursive) {
            return None;
        }
        let inner = Analyser { parts: &known, ..*self };
        let (body, columns, order_by) = inner.body(&query.body, query.order_by.as_ref())?;
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(ast::LimitClause::LimitOffset { limit, offset, limit_by })
                if limit_by.is_empty() =>
            {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(_) => return None,
        };
        let count = |expr: Option<&Ast>| match expr {
            None => Some(None),
            Some(expr) => {
                let node = self.node(expr)?;
                let to = number::BIGINT;
                self.types.coerced(node, to, Context::Implicit, Asked::No).map(Some)
            }
        };
        let (limit, offset) = (count(limit)?, count(offset)?);
        Some(Query { parts, body, order_by, limit, offset, columns })
    }

    fn part(&self, cte: &ast::Cte) -> Option<Part> {
        let kept = match cte.materialized {
            None => "",
            Some(ast::CteAsMaterialized::Materialized) => "MATERIALIZED ",
            Some(ast::CteAsMaterialized::NotMaterialized) => "NOT MATERIALIZED ",
        };
        let columns = cte.alias.columns.iter().map(|column| folded(&column.name)).collect();
        let mut query = self.query(&cte.query)?;
        settle_all(self, &mut query)?;
        Some(Part { name: folded(&cte.alias.name), columns, kept, query })
    }

    /// A body with its order: what it gives, and by what it is sorted.
    fn body(
        &self,
        body: &ast::SetExpr,
        order: Option<&ast::OrderBy>,
    ) -> Option<(Body, Columns, Vec<Sorted>)> {
        match body {
            ast::SetExpr::Select(select) => self.select(select, order),
            // Parentheses alone say how set operations are nested.
            ast::SetExpr::Query(query) if order.is_none() && is_bare_body(query) => {
                self.body(&query.body, None)
            }
            ast::SetExpr::Query(query) if order.is_none() => {
                let query = self.query(query)?;
                let columns = query.columns.clone();
                Some((Body::Nested(Box::new(query)), columns, Vec::new()))
            }
            ast::SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let words = set_words(*op, *set_quantifier)?;
                let (mut left, left_columns, _) = self.body(left, None)?;
                let (mut right, right_columns, _) = self.body(right, None)?;
                if left_columns.len() != right_columns.len() {
                    return None;
                }
                let mut columns = Vec::with_capacity(left_columns.len());
                for (at, ((name, a), (_, b))) in
                    left_columns.into_iter().zip(&right_columns).enumerate()
                {
                    let common = self.types.common(&[a.number, b.number])?;
                    settle(self, &mut left, at, common)?;
                    settle(self, &mut right, at, common)?;
                    let modifier = if a == *b { a.modifier } else { -1 };
                    columns.push((name, Typed { number: common, modifier }));
                }
                let order_by = self.sorted_columns(order, &columns)?;
                let body = Body::Set { words, left: Box::new(left), right: Box::new(right) };
                Some((body, columns, order_by))
            }
            _ => None,
        }
    }

    /// ORDER BY of a set operation: names and numbers of its columns.
    fn sorted_columns(
        &self,
        order: Option<&ast::OrderBy>,
        columns: &Columns,
    ) -> Option<Vec<Sorted>> {
        let key = |item: &ast::OrderByExpr| {
            let place = match bare(&item.expr) {
                Ast::Identifier(ident) => {
                    let name = folded(ident);
                    columns.iter().position(|(known, _)| *known == name)? + 1
                }
                expr => ordinal(expr)?,
            };
            Some(Sorted { key: Err(place), words: order_words(item)? })
        };
        order_items(order)?.iter().map(key).collect()
    }

    fn select(
        &self,
        select: &ast::Select,
        order: Option<&ast::OrderBy>,
    ) -> Option<(Body, Columns, Vec<Sorted>)> {
        if !is_plain(select) {
            return None;
        }
        let mut sources = Vec::new();
        let mut from = Vec::new();
        for item in &select.from {
            from.push(self.joined(item, &mut sources)?);
        }
        let rows: Vec<Row<'_>> = sources.iter().map(Source::row).collect();
        // A name that means two would need another one.
        let is_twice =
            |at: usize| rows[..at].iter().chain(self.rows).any(|row| row.name == rows[at].name);
        if (0..rows.len()).any(is_twice) {
            return None;
        }
        let rows: Vec<Row<'_>> = rows.iter().cloned().chain(self.outside()).collect();
        let inner = Analyser { rows: &rows, types: self.types, parts: self.parts };
        let items = inner.items(&select.projection, &sources)?;
        let filter = match &select.selection {
            Some(filter) => Some(inner.condition(filter)?),
            None => None,
        };
        let having = match &select.having {
            Some(having) => Some(inner.condition(having)?),
            None => None,
        };
        let ast::GroupByExpr::Expressions(groups, modifiers) = &select.group_by else {
            return None;
        };
        if !modifiers.is_empty() {
            return None;
        }
        let group = |expr| inner.listed_item(expr, &items, First::Column);
        let group_by = groups.iter().map(group).collect::<Option<_>>()?;
        let distinct = match &select.distinct {
            None | Some(ast::Distinct::All) => None,
            Some(ast::Distinct::Distinct) => Some(Vec::new()),
            Some(ast::Distinct::On(list)) => {
                let on = |expr| inner.listed_item(expr, &items, First::Alias);
                Some(list.iter().map(on).collect::<Option<_>>()?)
            }
        };
        let order_by = inner.sorted(order_items(order)?, &items)?;
        let columns = items.iter().map(|(node, name)| (name.clone(), node.ty)).collect();
        let select = Select { distinct, items, from, filter, group_by, having };
        Some((Body::Select(Box::new(select)), columns, order_by))
    }

    /// The select list.
    fn items(&self, list: &[ast::SelectItem], sources: &[Source]) -> Option<Vec<(Node, String)>> {
        let mut items = Vec::new();
        for item in list {
            match item {
                ast::SelectItem::UnnamedExpr(expr) => {
                    items.push((self.node(expr)?, column_name(expr)));
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    items.push((self.node(expr)?, folded(alias)));
                }
                ast::SelectItem::Wildcard(options) if is_bare_star(options) => {
                    sources.iter().for_each(|source| self.all_of(source, &mut items));
                }
                ast::SelectItem::QualifiedWildcard(
                    ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) if is_bare_star(options) => {
                    let name = folded(name.0.last()?.as_ident()?);
                    let source = sources.iter().find(|source| source.name == name)?;
                    self.all_of(source, &mut items);
                }
                _ => return None,
            }
        }
        Some(items)
    }

    fn all_of(&self, source: &Source, items: &mut Vec<(Node, String)>) {
        let quoted = |name| self.types.objects.quoted(name);
        for (name, ty) in &source.columns {
            let text = format!("{}.{}", quoted(&source.name), quoted(name));
            items.push((Node::new(Kind::Column(text), *ty), name.clone()));
        }
    }

    /// The rows of the queries around this one; inside of it their columns have names before them.
    fn outside(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|row| match row.named {
            Named::Alone => Row { named: Named::Joined, ..row.clone() },
            _ => row.clone(),
        })
    }

    /// An item of FROM with its joins, whose relations come behind `sources`.
    fn joined(&self, item: &ast::TableWithJoins, sources: &mut Vec<Source>) -> Option<From> {
        use ast::JoinOperator as J;
        let mut left = self.source(&item.relation, sources)?;
        for join in &item.joins {
            let right = self.source(&join.relation, sources)?;
            let (words, constraint) = match &join.join_operator {
                J::Join(constraint) | J::Inner(constraint) => (" JOIN ", constraint),
                J::Left(constraint) | J::LeftOuter(constraint) => (" LEFT JOIN ", constraint),
                J::Right(constraint) | J::RightOuter(constraint) => (" RIGHT JOIN ", constraint),
                J::FullOuter(constraint) => (" FULL JOIN ", constraint),
                J::CrossJoin(constraint) => (" CROSS JOIN ", constraint),
                _ => return None,
            };
            let on = match constraint {
                ast::JoinConstraint::On(expr) => {
                    let rows = sources.iter().map(Source::row);
                    let rows: Vec<Row<'_>> = rows.chain(self.outside()).collect();
                    let inner = Analyser { rows: &rows, types: self.types, parts: self.parts };
                    Some(inner.condition(expr)?)
                }
                ast::JoinConstraint::None if words == " CROSS JOIN " => None,
                _ => return None,
            };
            let (a, b) = (Box::new(left), Box::new(right));
            left = From::Join { words, left: a, right: b, on };
        }
        Some(left)
    }

    fn source(&self, factor: &ast::TableFactor, sources: &mut Vec<Source>) -> Option<From> {
        use ast::TableFactor as T;
        let quoted = |name: &str| self.types.objects.quoted(name).into_owned();
        match factor {
            T::Table { name, alias, args: None, sample: None, with_ordinality: false, .. } => {
                let parts: Option<Vec<String>> =
                    name.0.iter().map(|part| part.as_ident().map(folded)).collect();
                let (schema, name) = match parts?.as_slice() {
                    [name] => (None, name.clone()),
                    [schema, name] => (Some(schema.clone()), name.clone()),
                    _ => return None,
                };
                let part = self.parts.iter().rev().find(|(known, _)| *known == name);
                let relation = match part.filter(|_| schema.is_none()) {
                    Some((name, columns)) => Relation {
                        shown: quoted(name),
                        name: name.clone(),
                        columns: columns.clone(),
                    },
                    None => self.types.objects.relation(schema.as_deref(), &name)?,
                };
                let mut shown = relation.shown;
                let mut own = relation.name;
                if let Some(alias) = alias {
                    own = plain_alias(alias)?;
                    shown = format!("{shown} {}", quoted(&own));
                }
                sources.push(Source { name: own, columns: relation.columns });
                Some(From::Relation(shown))
            }
            T::Derived { lateral: false, subquery, alias: Some(alias), sample: None } => {
                let mut query = self.query(subquery)?;
                settle_all(self, &mut query)?;
                let name = plain_alias(alias)?;
                sources.push(Source { name: name.clone(), columns: query.columns.clone() });
                Some(From::Derived(Box::new(query), quoted(&name)))
            }
            T::NestedJoin { table_with_joins, alias: None } => {
                self.joined(table_with_joins, sources)
            }
            _ => None,
        }
    }

    /// An expression that may stand for a column of the select list.
    fn listed_item(&self, expr: &Ast, items: &Items, first: First) -> Option<Node> {
        if let Some(place) = ordinal(bare(expr)) {
            return items.get(place.checked_sub(1)?).map(|(node, _)| node.clone());
        }
        let named = |ident: &ast::Ident| {
            let name = folded(ident);
            items.iter().find(|(_, known)| *known == name).map(|(node, _)| node.clone())
        };
        match bare(expr) {
            Ast::Identifier(ident) if first == First::Alias => {
                named(ident).or_else(|| self.node(expr))
            }
            Ast::Identifier(ident) => self.node(expr).or_else(|| named(ident)),
            _ => self.node(expr),
        }
    }

    /// Keys of ORDER BY.
    pub(super) fn sorted(&self, list: &[ast::OrderByExpr], items: &Items) -> Option<Vec<Sorted>> {
        let key = |item: &ast::OrderByExpr| {
            let key = Ok(self.listed_item(&item.expr, items, First::Alias)?);
            Some(Sorted { key, words: order_words(item)? })
        };
        list.iter().map(key).collect()
    }

    /// A query as an expression.
    pub(super) fn sublink(&self, expr: &Ast) -> Option<Node> {
        match expr {
            Ast::Exists { subquery, negated } => {
                let node = self.of_query(SublinkKind::Exists, subquery, None)?;
                Some(if *negated { self.negated(node) } else { node })
            }
            Ast::Subquery(query) => self.of_query(SublinkKind::Value, query, None),
            Ast::InSubquery { expr, subquery, negated } => {
                let test = Some((self.node(expr)?, "="));
                let node = self.of_query(SublinkKind::Tested, subquery, test)?;
                Some(if *negated { self.negated(node) } else { node })
            }
            _ => None,
        }
    }

    fn negated(&self, node: Node) -> Node {
        Node::new(Kind::Not(Box::new(node)), Typed::plain(number::BOOLEAN))
    }

    /// A query behind an operand, or alone.
    pub(super) fn of_query(
        &self,
        kind: SublinkKind,
        query: &ast::Query,
        test: Option<(Node, &str)>,
    ) -> Option<Node> {
        let mut query = self.query(query)?;
        settle_all(self, &mut query)?;
        let only = match query.columns.as_slice() {
            [(_, ty)] => Some(*ty),
            _ => None,
        };
        let ty = match kind {
            SublinkKind::Exists | SublinkKind::Tested => Typed::plain(number::BOOLEAN),
            SublinkKind::Value => only?,
            SublinkKind::Array => Typed::plain(self.types.array(only?.number)?),
        };
        let test = match test {
            None => None,
            Some((left, name)) => {
                let right = only?;
                let chosen = self.types.operator(name, &[left.ty.number, right.number])?;
                // The query would have to be cast.
                let is_relabelled = right.number != chosen.declared[1]
                    && self.types.pathway(right.number, chosen.declared[1], Context::Implicit)?
                        != crate::deparse::known::Method::Relabel;
                if is_relabelled && chosen.result != number::BOOLEAN {
                    return None;
                }
                let left = self.types.coerced_unasked(left, chosen.declared[0])?;
                let words = if name == "=" { " IN ".to_owned() } else { format!(" {name} ANY ") };
                Some((left, words))
            }
        };
        Some(Node::new(Kind::Query(Box::new(Sublink { test, kind, query })), ty))
    }

    /// The query of a view.
    pub(super) fn view(&self, query: &ast::Query) -> Option<Query> {
        let mut query = self.query(query)?;
        settle_all(self, &mut query)?;
        Some(query)
    }
}

/// Columns of no type become texts.
fn settle_all(analyser: &Analyser<'_>, query: &mut Query) -> Option<()> {
    for at in 0..query.columns.len() {
        if query.columns[at].1.number == number::UNKNOWN {
            settle(analyser, &mut query.body, at, number::TEXT)?;
            query.columns[at].1 = Typed::plain(number::TEXT);
        }
    }
    Some(())
}

/// A column of a body becomes a value of a type, where it is a constant of none.
fn settle(analyser: &Analyser<'_>, body: &mut Body, at: usize, ty: u32) -> Option<()> {
    match body {
        Body::Select(select) => {
            let (node, _) = select.items.get_mut(at)?;
            if node.is_unknown() {
                *node = analyser.types.coerced_unasked(node.clone(), ty)?;
            }
            Some(())
        }
        Body::Nested(query) => settle(analyser, &mut query.body, at, ty),
        Body::Set { left, right, .. } => {
            settle(analyser, left, at, ty)?;
            settle(analyser, right, at, ty)
        }
    }
}

/// The columns of a query of WITH under the names that it has there.
fn part_columns(part: &Part) -> Option<Columns> {
    let mut columns = part.query.columns.clone();
    for (at, name) in part.columns.iter().enumerate() {
        columns.get_mut(at)?.0 = name.clone();
    }
    Some(columns)
}

/// True for a query without clauses behind or before its body.
fn is_bare_body(query: &ast::Query) -> bool {
    query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty()
}

fn set_words(op: ast::SetOperator, quantifier: ast::SetQuantifier) -> Option<&'static str> {
    use ast::{SetOperator as O, SetQuantifier as Q};
    Some(match (op, quantifier) {
        (O::Union, Q::None | Q::Distinct) => "UNION ",
        (O::Union, Q::All) => "UNION ALL ",
        (O::Intersect, Q::None | Q::Distinct) => "INTERSECT ",
        (O::Intersect, Q::All) => "INTERSECT ALL ",
        (O::Except, Q::None | Q::Distinct) => "EXCEPT ",
        (O::Except, Q::All) => "EXCEPT ALL ",
        _ => return None,
    })
}

fn order_items(order: Option<&ast::OrderBy>) -> Option<&[ast::OrderByExpr]> {
    match order.map(|order| &order.kind) {
        None => Some(&[]),
        Some(ast::OrderByKind::Expressions(list)) => Some(list),
        Some(ast::OrderByKind::All(_)) => None,
    }
}

fn order_words(item: &ast::OrderByExpr) -> Option<&'static str> {
    if item.with_fill.is_some() {
        return None;
    }
    let descends = match item.options.sort {
        None | Some(ast::OrderBySort::Asc) => false,
        Some(ast::OrderBySort::Desc) => true,
        Some(ast::OrderBySort::Using(_)) => return None,
    };
    Some(match (descends, item.options.nulls_first) {
        (false, Some(true)) => " NULLS FIRST",
        (false, _) => "",
        (true, Some(false)) => " DESC NULLS LAST",
        (true, _) => " DESC",
    })
}

/// The number of a column.
fn ordinal(expr: &Ast) -> Option<usize> {
    match expr {
        Ast::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn plain_alias(alias: &ast::TableAlias) -> Option<String> {
    (alias.columns.is_empty() && alias.at.is_none()).then(|| folded(&alias.name))
}

fn is_bare_star(options: &ast::WildcardAdditionalOptions) -> bool {
    options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none()
}

/// True for a SELECT without clauses that PostgreSQL lacks, or that are not there yet.
fn is_plain(select: &ast::Select) -> bool {
    select.top.is_none()
        && select.select_modifiers.is_none()
        && select.exclude.is_none()
        && select.into.is_none()
        && select.lateral_views.is_empty()
        && select.prewhere.is_none()
        && select.connect_by.is_empty()
        && select.cluster_by.is_empty()
        && select.distribute_by.is_empty()
        && select.sort_by.is_empty()
        && select.named_window.is_empty()
        && select.qualify.is_none()
        && select.value_table_mode.is_none()
        && select.flavor == ast::SelectFlavor::Standard
        && !select.projection.is_empty()
}
