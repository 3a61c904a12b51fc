//! Calls: functions by name, those with a syntax of their own, words without parentheses.

use sqlparser::ast::{self, Expr as Ast};

use super::Analyser;
use crate::deparse::known::{self, Context, Method, number};
use crate::deparse::node::query::{Aggregate, SublinkKind, Window};
use crate::deparse::node::{Asked, Kind, Node, Syntax};
use crate::deparse::{Calls, Candidate, Typed};
use crate::parse::folded;

/// Words that are calls without parentheses, and the types of what they give.
const KEYWORDS: [(&str, u32); 11] = [
    ("current_date", number::DATE),
    ("current_time", number::TIMETZ),
    ("current_timestamp", number::TIMESTAMPTZ),
    ("localtime", number::TIME),
    ("localtimestamp", number::TIMESTAMP),
    ("current_role", number::NAME),
    ("current_user", number::NAME),
    ("user", number::NAME),
    ("session_user", number::NAME),
    ("current_catalog", number::NAME),
    ("current_schema", number::NAME),
];

/// A word that is a call, with as many digits of seconds as it is given.
pub(super) fn keyword(name: &str, digits: Option<i32>) -> Option<Node> {
    let (name, ty) = KEYWORDS.iter().find(|(known, _)| *known == name)?;
    let mut text = name.to_uppercase();
    if let Some(digits) = digits {
        text.push_str(&format!("({digits})"));
    }
    let ty = Typed { number: *ty, modifier: digits.unwrap_or(-1) };
    Some(Node::new(Kind::Keyword(text), ty))
}

/// True for a call of `name` without a schema.
pub(super) fn is_named(function: &ast::Function, name: &str) -> bool {
    match function.name.0.as_slice() {
        [ast::ObjectNamePart::Identifier(ident)] => {
            ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(name)
        }
        _ => false,
    }
}

/// The arguments of a call that has nothing else.
pub(super) fn plain_arguments(function: &ast::Function) -> Option<Vec<&Ast>> {
    let is_more = function.filter.is_some()
        || function.null_treatment.is_some()
        || function.over.is_some()
        || !function.within_group.is_empty()
        || !matches!(function.parameters, ast::FunctionArguments::None);
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    if is_more || list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
        return None;
    }
    let argument = |argument| match argument {
        &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    list.args.iter().map(argument).collect()
}

/// The last argument of a call, where that is all of VARIADIC.
fn spread(function: &ast::Function) -> Option<(ast::Function, &Ast)> {
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let (last, others) = list.args.split_last()?;
    let (name, expr) = match last {
        ast::FunctionArg::Named { name, arg: ast::FunctionArgExpr::Expr(expr), .. } => {
            (folded(name), expr)
        }
        ast::FunctionArg::ExprNamed {
            name: Ast::Identifier(name),
            arg: ast::FunctionArgExpr::Expr(expr),
            ..
        } => (folded(name), expr),
        _ => return None,
    };
    let mut function = function.clone();
    let others = ast::FunctionArgumentList { args: others.to_vec(), ..list.clone() };
    function.args = ast::FunctionArguments::List(others);
    (name == "variadic").then_some((function, expr))
}

impl Analyser<'_> {
    pub(super) fn call(&self, function: &ast::Function) -> Option<Node> {
        let parts: Option<Vec<_>> = function.name.0.iter().map(|part| part.as_ident()).collect();
        let parts = parts?;
        let (schema, ident) = match parts.as_slice() {
            [name] => (None, *name),
            [schema, name] => (Some(folded(schema)), *name),
            _ => return None,
        };
        let name = folded(ident);
        if matches!(function.args, ast::FunctionArguments::None) {
            return keyword(&name, None);
        }
        if let Some((function, last)) = spread(function) {
            let mut arguments = self.nodes(plain_arguments(&function)?)?;
            arguments.push(self.node(last)?);
            return self.spread_call(schema.as_deref(), &name, arguments);
        }
        if let ast::FunctionArguments::Subquery(query) = &function.args {
            let is_array = schema.is_none() && name == "array";
            return is_array.then(|| self.of_query(SublinkKind::Array, query, None))?;
        }
        let is_group =
            |candidate: &Candidate| matches!(candidate.calls, Calls::Group | Calls::Window);
        if function.over.is_some() || self.functions(schema.as_deref(), &name).iter().any(is_group)
        {
            return self.aggregate(schema.as_deref(), &name, function);
        }
        let arguments = plain_arguments(function)?;
        if schema.is_none()
            && ident.quote_style.is_none()
            && let Some(node) = self.of_grammar(&name, &arguments)
        {
            return node;
        }
        self.function(schema.as_deref(), &name, self.nodes(arguments)?)
    }

    /// Calls that are a part of the grammar; None for others.
    fn of_grammar(&self, name: &str, arguments: &[&Ast]) -> Option<Option<Node>> {
        let united = |name| {
            let (nodes, ty) = self.types.united(self.nodes(arguments.iter().copied())?)?;
            let modifier = crate::deparse::coerce::common_modifier(&nodes);
            Some(Node::new(Kind::Listed(name, nodes), Typed { number: ty, modifier }))
        };
        Some(match name {
            "coalesce" => united("COALESCE"),
            "greatest" => united("GREATEST"),
            "least" => united("LEAST"),
            "nullif" => self.null_if(arguments),
            "row" => self
                .nodes(arguments.iter().copied())
                .map(|fields| Node::new(Kind::Row(fields), Typed::plain(number::RECORD))),
            "current_time" | "current_timestamp" | "localtime" | "localtimestamp" => {
                let [Ast::Value(value)] = arguments else { return Some(None) };
                let ast::Value::Number(digits, _) = &value.value else { return Some(None) };
                digits.parse().ok().and_then(|digits: i32| keyword(name, Some(digits.min(6))))
            }
            _ => return None,
        })
    }

    fn null_if(&self, arguments: &[&Ast]) -> Option<Node> {
        let nodes = self.nodes(arguments.iter().copied())?;
        if nodes.len() != 2 {
            return None;
        }
        let node = self.operator("=", nodes)?;
        let Kind::Operator { operands, .. } = node.kind else { return None };
        let ty = operands.first()?.ty;
        Some(Node::new(Kind::Listed("NULLIF", operands), ty))
    }

    /// A call of the function `name`, or a cast that is written as one.
    pub(super) fn function(
        &self,
        schema: Option<&str>,
        name: &str,
        arguments: Vec<Node>,
    ) -> Option<Node> {
        let types: Vec<u32> = arguments.iter().map(|node| node.ty.number).collect();
        let all = self.functions(schema, name);
        let is_exact = all.iter().any(|candidate| candidate.arguments == types);
        if !is_exact
            && schema.is_none()
            && let [argument] = arguments.as_slice()
            && let Some(to) = self.named_cast(name, argument)
        {
            let argument = arguments.into_iter().next()?;
            return self.types.coerced(argument, to, Context::Explicit, Asked::Yes);
        }
        let chosen = self.types.function(&all, &types)?;
        if chosen.calls != Calls::Value || chosen.spread.is_some() {
            return None;
        }
        let arguments = self.declared(arguments, &chosen.declared)?;
        let quoted = || self.types.objects.quoted(name).into_owned();
        let name = chosen.shown.unwrap_or_else(quoted);
        let kind = Kind::Call { name, arguments, spread: false };
        Some(Node::new(kind, Typed::plain(chosen.result)))
    }

    /// A call over a group or a window.
    fn aggregate(
        &self,
        schema: Option<&str>,
        name: &str,
        function: &ast::Function,
    ) -> Option<Node> {
        let ast::FunctionArguments::List(list) = &function.args else { return None };
        let order_by = match list.clauses.as_slice() {
            [] => Vec::new(),
            [ast::FunctionArgumentClause::OrderBy(keys)] => self.sorted(keys, &[])?,
            _ => return None,
        };
        if !function.within_group.is_empty() || function.null_treatment.is_some() {
            return None;
        }
        let arguments = match list.args.as_slice() {
            [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard)] => None,
            list => {
                let node = |argument: &ast::FunctionArg| match argument {
                    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => self.node(expr),
                    _ => None,
                };
                Some(list.iter().map(node).collect::<Option<Vec<_>>>()?)
            }
        };
        let types: Vec<u32> = arguments.iter().flatten().map(|node| node.ty.number).collect();
        let chosen = self.types.function(&self.functions(schema, name), &types)?;
        let over = match &function.over {
            None => None,
            Some(ast::WindowType::WindowSpec(spec))
                if spec.window_name.is_none() && spec.window_frame.is_none() =>
            {
                let partition_by = self.nodes(&spec.partition_by)?;
                let order_by = self.sorted(&spec.order_by, &[])?;
                Some(Window { partition_by, order_by })
            }
            Some(_) => return None,
        };
        let is_fit = match chosen.calls {
            Calls::Group => true,
            Calls::Window => over.is_some(),
            Calls::Value | Calls::Rows => false,
        };
        if !is_fit || chosen.spread.is_some() {
            return None;
        }
        let filter = match &function.filter {
            Some(filter) => Some(self.condition(filter)?),
            None => None,
        };
        let arguments = match arguments {
            Some(arguments) => Some(self.declared(arguments, &chosen.declared)?),
            None => None,
        };
        let quoted = || self.types.objects.quoted(name).into_owned();
        let name = chosen.shown.unwrap_or_else(quoted);
        let is_distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
        let call = Aggregate { name, is_distinct, arguments, order_by, filter, over };
        Some(Node::new(Kind::Aggregate(Box::new(call)), Typed::plain(chosen.result)))
    }

    /// The type that a call of its name with one argument casts to.
    fn named_cast(&self, name: &str, argument: &Node) -> Option<u32> {
        let to = known::catalog().type_named(name)?;
        if argument.is_unknown() {
            return Some(to);
        }
        let method = self.types.pathway(argument.ty.number, to, Context::Explicit)?;
        matches!(method, Method::Relabel | Method::Text).then_some(to)
    }

    /// A call whose last argument is all of VARIADIC.
    fn spread_call(&self, schema: Option<&str>, name: &str, arguments: Vec<Node>) -> Option<Node> {
        let mut all = self.functions(schema, name);
        all.retain(|candidate| candidate.variadic != 0);
        for candidate in &mut all {
            candidate.variadic = 0;
        }
        let types: Vec<u32> = arguments.iter().map(|node| node.ty.number).collect();
        let chosen = self.types.function(&all, &types)?;
        if chosen.calls != Calls::Value {
            return None;
        }
        let arguments = self.declared(arguments, &chosen.declared)?;
        let quoted = || self.types.objects.quoted(name).into_owned();
        let name = chosen.shown.unwrap_or_else(quoted);
        let kind = Kind::Call { name, arguments, spread: true };
        Some(Node::new(kind, Typed::plain(chosen.result)))
    }

    /// A call of a function of the system that is written in its own syntax.
    pub(super) fn called(&self, name: &str, syntax: Syntax, arguments: Vec<Node>) -> Option<Node> {
        let mut node = self.function(Some("pg_catalog"), name, arguments)?;
        let Kind::Call { name, arguments, spread } = node.kind else { return None };
        let is_text = |node: &Node| node.ty.number == number::TEXT;
        let syntax = match syntax {
            Syntax::Substring if arguments.iter().all(is_text) => {
                if arguments.len() != 3 {
                    node.kind = Kind::Call { name, arguments, spread };
                    return Some(node);
                }
                Syntax::SubstringSimilar
            }
            other => other,
        };
        Some(Node::new(Kind::Special(syntax, arguments), node.ty))
    }

    /// The functions with a syntax of their own.
    pub(super) fn special(&self, expr: &Ast) -> Option<Node> {
        match expr {
            Ast::Extract { field, expr, .. } => {
                let field = field.to_string();
                let field = field.trim_matches(['\'', '"']).to_lowercase();
                let field = Kind::Constant(Some(field));
                let field = Node::new(field, Typed::plain(number::TEXT));
                self.called("extract", Syntax::Extract, vec![field, self.node(expr)?])
            }
            Ast::Ceil { expr, field } if is_whole(field) => {
                self.function(None, "ceil", vec![self.node(expr)?])
            }
            Ast::Floor { expr, field } if is_whole(field) => {
                self.function(None, "floor", vec![self.node(expr)?])
            }
            Ast::Position { expr, r#in } => {
                let arguments = vec![self.node(r#in)?, self.node(expr)?];
                self.called("position", Syntax::Position, arguments)
            }
            Ast::Substring { expr, substring_from, substring_for, special, shorthand } => {
                let mut arguments = vec![self.node(expr)?];
                match (substring_from, substring_for) {
                    (None, None) => {}
                    (None, Some(count)) => {
                        arguments.push(Node::new(
                            Kind::Constant(Some("1".to_owned())),
                            Typed::plain(number::INTEGER),
                        ));
                        let count = self.node(count)?;
                        let to = number::INTEGER;
                        let explicit = Context::Explicit;
                        arguments.push(self.types.coerced(count, to, explicit, Asked::Yes)?);
                    }
                    (Some(from), count) => {
                        arguments.push(self.node(from)?);
                        if let Some(count) = count {
                            arguments.push(self.node(count)?);
                        }
                    }
                }
                if *special {
                    let name = if *shorthand { "substr" } else { "substring" };
                    return self.function(None, name, arguments);
                }
                self.called("substring", Syntax::Substring, arguments)
            }
            Ast::Trim { expr, trim_where, trim_what, trim_characters } => {
                let (name, syntax) = match trim_where {
                    Some(ast::TrimWhereField::Leading) => ("ltrim", Syntax::TrimLeading),
                    Some(ast::TrimWhereField::Trailing) => ("rtrim", Syntax::TrimTrailing),
                    Some(ast::TrimWhereField::Both) | None => ("btrim", Syntax::TrimBoth),
                };
                let mut arguments = vec![self.node(expr)?];
                let listed = trim_characters.as_ref().and_then(|list| list.first());
                if let Some(characters) = trim_what.as_deref().or(listed) {
                    arguments.push(self.node(characters)?);
                }
                self.called(name, syntax, arguments)
            }
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let parts = [expr, overlay_what, overlay_from].into_iter().chain(overlay_for);
                self.called("overlay", Syntax::Overlay, self.nodes(parts.map(|part| &**part))?)
            }
            Ast::AtTimeZone { timestamp, time_zone } => {
                let arguments = vec![self.node(time_zone)?, self.node(timestamp)?];
                self.called("timezone", Syntax::AtTimeZone, arguments)
            }
            _ => None,
        }
    }
}

fn is_whole(field: &ast::CeilFloorKind) -> bool {
    matches!(field, ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime))
}
