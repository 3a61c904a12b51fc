//! Function calls: overload resolution and the functions with rules of their own.

use sqlparser::ast;
use types::{CompareOp, DataType, Error, RegKind, Result, SqlState, Value};

use super::array_functions::is_array_function;
use super::attribute::called_field;
use super::clock::TIMETZ;
use super::comparable::{has_key, needs_key};
use super::function_table::{Gives, Kind, Overload, overloads};
use super::hypothetical::is_hypothetical;
use super::json::{refuse_missing, takes_rows};
use super::name::{object_at, object_parts};
use super::operators::is_caseless;
use super::operators::wide;
use super::parameter_names::in_order;
use super::scope::Series;
use super::system_rows::has_system_rows;
use super::types::{Context, as_numeric, can_cast, computed, is_exact, type_called};
use super::unmatched::no_function;
use super::{Binder, Bound, fail, place, unsupported, window};
use crate::algebra::{Expr, ExprKind, Function, Place};

/// An argument that is an expression; the row of a relation is its name.
pub(super) fn plain_argument(arg: &ast::FunctionArg) -> Option<ast::Expr> {
    match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::QualifiedWildcard(name)) => {
            let ident = name.0.last().and_then(|part| part.as_ident());
            ident.cloned().map(ast::Expr::Identifier)
        }
        _ => None,
    }
}

/// A name that is known.
pub(super) fn name_of(name: &str) -> Expr {
    Expr::literal(Value::text(name), DataType::Name)
}

/// Type of pg_typeof.
const TYPE: DataType = DataType::Reg(RegKind::Type);

/// Functions that the extension citext has for its type, too.
const CASELESS: [&str; 9] = [
    "regexp_match",
    "regexp_matches",
    "regexp_replace",
    "regexp_split_to_array",
    "regexp_split_to_table",
    "replace",
    "split_part",
    "strpos",
    "translate",
];

/// `value`, behind an argument that it does not depend on, which runs if it may do something.
fn behind(mut arguments: Vec<Bound>, value: Expr) -> Expr {
    let ran = arguments.pop().map(|bound| bound.expr).filter(super::series::is_volatile);
    let Some(ran) = ran else { return value };
    let ty = value.ty;
    let (branches, otherwise) = (vec![(ran.is_null(), value.clone())], Box::new(value));
    Expr { kind: ExprKind::Case { branches, otherwise }, ty }
}

/// 0A000 for a function that goes by the case of a CITEXT only here.
pub(super) fn refuse_caseless(name: &str, arguments: &[Bound], at: Place) -> Result<()> {
    if arguments.first().is_some_and(is_caseless) && CASELESS.contains(&name) {
        return unsupported(format!("function {name} of citext"), at);
    }
    Ok(())
}

impl Binder<'_> {
    /// Any call: window, aggregate or scalar function.
    pub(super) fn bind_function(&mut self, function: &ast::Function) -> Result<Bound> {
        let at = object_at(&function.name);
        let name = object_parts(&function.name)?.pop().unwrap_or_default();
        if self.routines_named(&function.name)?.is_empty()
            && let Some(bound) = self.twin_aggregate(function, &name)?
        {
            return Ok(bound);
        }
        if let Some(over) = &function.over {
            return self.bind_window_call(function, &name, over);
        }
        if function.null_treatment.is_some() {
            return unsupported("IGNORE NULLS", at);
        }
        if let Some(bound) = self.bind_aggregate(function, &name)? {
            return Ok(bound);
        }
        if is_hypothetical(&name) && !function.within_group.is_empty() {
            return self.bind_hypothetical(function, &name);
        }
        if window::is_window_function(&name) {
            let message = format!("window function {name} requires an OVER clause");
            return fail(SqlState::WRONG_OBJECT_TYPE, message, at);
        }
        refuse_aggregate_syntax(function, &name)?;
        super::bus::refuse_call(&name, at)?;
        let args = match &function.args {
            ast::FunctionArguments::None => return self.niladic(&name, at),
            ast::FunctionArguments::Subquery(query) => {
                if name == "array" {
                    return self.array_of_query(query);
                }
                return unsupported(format!("{name} of a query"), at);
            }
            ast::FunctionArguments::List(list) => &list.args,
        };
        if name == "row" {
            let row = ast::Expr::Function(function.clone());
            if super::row::is_row(&row) {
                return self.bind_row(&row);
            }
        }
        if let Some(bound) = self.other_call(function, &name, args)? {
            return Ok(bound);
        }
        if name == "pg_typeof"
            && let [arg] = args.as_slice()
            && let Some(expr) = plain_argument(arg)
        {
            // A literal has no type yet.
            let bound = self.bind_expr(&expr)?;
            return self.call(&name, vec![bound], at);
        }
        if let Some(bound) = self.variadic_call(&name, args, at)? {
            return Ok(bound);
        }
        self.refuse_unfit_names(function, args)?;
        let ordered = in_order(&name, args, at)?;
        let mark = self.series_mark()?;
        let bound: Result<Vec<Bound>> =
            ordered.iter().map(|arg| self.bind_argument(&name, arg)).collect();
        let bound = bound?;
        if name == "coalesce" {
            let message = "set-returning functions are not allowed in COALESCE";
            self.refuse_series_since(mark, message)?;
        }
        self.call(&name, bound, at)
    }

    /// The call of a function that stands for an expression; None for others.
    fn other_call(
        &mut self,
        function: &ast::Function,
        name: &str,
        args: &[ast::FunctionArg],
    ) -> Result<Option<Bound>> {
        if let Some(bound) = self.routine_value(&function.name, args)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.range_constructor(&function.name, args)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.twin_call(function, name)? {
            return Ok(Some(bound));
        }
        if let Some(bound) = self.extension_call(function, name, args)? {
            return Ok(Some(bound));
        }
        let is_known = self.catalog.template(name, args.len()).is_some();
        if !is_known && !has_system_rows(name, args.len()) {
            return Ok(None);
        }
        match args.iter().map(plain_argument).collect::<Option<Vec<_>>>() {
            Some(list) => self.system_call(name, &list.iter().collect::<Vec<_>>()),
            None => Ok(None),
        }
    }

    /// An argument of the function `name`, some of which take rows.
    pub(super) fn bind_argument(&mut self, name: &str, arg: &ast::FunctionArg) -> Result<Bound> {
        if takes_rows(name)
            && let Some(row) = self.row_argument(arg)?
        {
            return Ok(row);
        }
        self.bind_plain_argument(arg)
    }

    /// A function called by name with bound arguments.
    pub(super) fn call(&mut self, name: &str, arguments: Vec<Bound>, at: Place) -> Result<Bound> {
        let mut arguments: Vec<Bound> =
            arguments.into_iter().map(|bound| self.retyped(bound)).collect();
        if let Some(bound) = self.early_call(name, &arguments, at)? {
            return Ok(bound);
        }
        match name {
            "coalesce" | "greatest" | "least" => return self.choice(name, arguments, at),
            "nullif" => return self.null_if(arguments, at),
            "mod" if arguments.len() == 2 => {
                let (Some(right), Some(left)) = (arguments.pop(), arguments.pop()) else {
                    return Err(Error::internal("two arguments expected"));
                };
                return self.bind_binary(&ast::BinaryOperator::Modulo, left, right);
            }
            "date_part" => return self.date_part(arguments, at),
            "setseed" => return unsupported("function setseed", at),
            "num_nulls" | "num_nonnulls" => return self.count_nulls(name, arguments, at),
            "timezone" if arguments.first().is_some_and(|zone| zone.ty().is_interval()) => {
                return self.at_offset(arguments, at);
            }
            "current_timestamp" | "localtimestamp" | "current_time" | "localtime"
                if arguments.len() == 1 =>
            {
                return self.rounded_clock(name, &arguments, at);
            }
            "grouping" if arguments.is_empty() => {
                return fail(SqlState::SYNTAX_ERROR, "syntax error at or near \")\"", at);
            }
            "grouping" => return self.grouping(arguments, at),
            name if self.is_set_call(name) => return self.series_call(name, arguments, at),
            "pg_typeof" if arguments.len() == 1 => {
                let ty = arguments.first().map_or(DataType::Unknown, Bound::ty);
                let object = Expr::literal(self.catalog.type_object(ty), TYPE);
                return Ok(Bound::new(behind(arguments, object), at));
            }
            "scale" | "min_scale" | "trim_scale" if arguments.len() == 1 => {
                if let Some(bound) = self.scale_of(name, &arguments, at)? {
                    return Ok(bound);
                }
            }
            "round" | "trunc" => {
                if let Some(bound) = self.round_to_scale(name, &arguments, at)? {
                    return Ok(bound);
                }
            }
            _ if arguments.is_empty() => {
                if let Some(expr) = self.constant_function(name) {
                    return Ok(Bound::new(expr, at));
                }
            }
            _ => {}
        }
        if is_array_function(name, arguments.len())
            && let Some(bound) = self.array_call(name, arguments.clone(), at)?
        {
            return Ok(bound);
        }
        if let Some(bound) = self.bind_enum_function(name, &arguments, at)? {
            return Ok(bound);
        }
        if let Some(bound) = self.populated_record(name, &arguments, at)? {
            return Ok(bound);
        }
        if let Some(bound) = self.json_call(name, &arguments, at)? {
            return Ok(bound);
        }
        refuse_missing(name, at)?;
        self.overloaded(name, arguments, at)
    }

    /// A function whose arguments go by rules of their own: on sequences, on packed types.
    fn early_call(&mut self, name: &str, arguments: &[Bound], at: Place) -> Result<Option<Bound>> {
        refuse_caseless(name, arguments, at)?;
        self.refuse_searches(name, arguments, at)?;
        if let ("pg_collation_for", [of]) = (name, arguments) {
            return self.collation_for(of, at).map(Some);
        }
        match self.sequence_call(name, arguments, at)? {
            Some(bound) => Ok(Some(bound)),
            None => self.packed_call(name, arguments, at),
        }
    }

    /// A function of the table of overloads, whose arguments have their types.
    ///
    /// # Errors
    /// 42883 and 42725 when none, or none better than others, fits.
    pub(super) fn overloaded(
        &mut self,
        name: &str,
        arguments: Vec<Bound>,
        at: Place,
    ) -> Result<Bound> {
        if let Some(bound) = self.operator_function(name, &arguments, at)? {
            return Ok(bound);
        }
        if let Some(bound) = self.joined_instant(name, &arguments, at)? {
            return Ok(bound);
        }
        let overload = match (choose(name, &arguments, at), arguments.as_slice()) {
            (Err(error), [argument]) if error.state() == SqlState::UNDEFINED_FUNCTION => {
                if let Some(field) = called_field(name, argument, at) {
                    return Ok(field);
                }
                // Rows become texts by a cast alone.
                let is_row = matches!(argument.ty(), DataType::Record(_));
                let ty = type_called(name).filter(|ty| !is_row || !ty.is_text());
                let ty = ty.filter(|ty| can_cast(argument.ty(), *ty, Context::Explicit));
                let Some(ty) = ty else { return Err(error) };
                // A call by a type's name is a conversion to it.
                let [argument] = <[Bound; 1]>::try_from(arguments).map_err(|_| error)?;
                return Ok(Bound::new(self.coerce(argument, ty, Context::Explicit)?, at));
            }
            (overload, _) => overload?,
        };
        self.apply(overload, arguments, at)
    }

    pub(super) fn apply(
        &mut self,
        overload: &Overload,
        arguments: Vec<Bound>,
        at: Place,
    ) -> Result<Bound> {
        let mut list = Vec::with_capacity(arguments.len());
        for (argument, kind) in arguments.into_iter().zip(kinds(overload)) {
            list.push(match kind {
                Kind::Numeric => self.as_numeric_operand(argument)?,
                Kind::Shown => self.as_shown(argument)?,
                Kind::Cast => self.coerce(argument, DataType::Text, Context::Explicit)?,
                Kind::Text if overload.function == Function::OctetLength => {
                    self.padded_text(argument)?
                }
                kind if kind.is_exactly(argument.ty()) => argument.expr,
                kind => self.coerce(argument, kind.target(), Context::Implicit)?,
            });
        }
        let first = list.first().map_or(DataType::Unknown, |expr| expr.ty);
        let ty = match (overload.gives, first) {
            (Gives::Is(ty), _) => ty,
            (Gives::Whole, DataType::Numeric(numeric)) => self.digits.rounded(numeric, 0, 1),
            (Gives::Math, ty) if ty.is_numeric() => DataType::NUMERIC,
            (Gives::First | Gives::Whole, ty) if ty.is_numeric() => computed(ty),
            (Gives::First | Gives::Whole | Gives::Math, ty) => ty,
        };
        if overload.gives == Gives::Math && ty == DataType::NUMERIC {
            list = list.into_iter().map(wide).collect();
        }
        let unfielded = list.first().and_then(Expr::as_literal) == Some(&Value::Null);
        if overload.function == Function::DateTrunc && unfielded {
            return Ok(Bound::new(Expr::null(ty), at));
        }
        if overload.function == Function::Age {
            // What clocks of the session show is compared.
            let local = |expr: Expr| match expr.ty {
                DataType::TimestampTz(_) => self.cast(expr, DataType::TIMESTAMP),
                _ => expr,
            };
            list = list.into_iter().map(local).collect();
        }
        let list = self.completed(overload.function, list);
        if (overload.function, ty) == (Function::MakeTimestamp, DataType::TIMESTAMPTZ) {
            let local = Expr::call(overload.function, list, DataType::TIMESTAMP);
            return Ok(Bound::new(self.cast(local, ty), at));
        }
        Ok(Bound::new(self.call_in_zone(overload.function, list, ty), at))
    }

    /// Arguments with the defaults that short forms leave out.
    fn completed(&mut self, function: Function, mut list: Vec<Expr>) -> Vec<Expr> {
        match (function, list.len()) {
            (Function::TrimBoth | Function::TrimLeft | Function::TrimRight, 1)
            | (Function::PadLeft | Function::PadRight, 2) => list.push(Expr::text(" ")),
            (Function::Age, 1) => {
                list.insert(0, self.midnight());
            }
            (Function::ParseIdent, 1) => list.push(Expr::boolean(true)),
            _ => {
                let missing = usual(function).iter().skip(list.len().saturating_sub(2));
                list.extend(missing.map(|usual| match usual {
                    Usual::Number(number) => Expr::integer(*number),
                    Usual::Flags => Expr::text(""),
                }));
            }
        }
        list
    }

    /// round and trunc of a NUMERIC to a constant number of digits: the result has that scale.
    fn round_to_scale(
        &mut self,
        name: &str,
        arguments: &[Bound],
        at: Place,
    ) -> Result<Option<Bound>> {
        let [value, digits] = arguments else {
            return Ok(None);
        };
        if !is_exact(value.ty()) || !can_cast(digits.ty(), DataType::Integer, Context::Implicit) {
            return Ok(None);
        }
        let digits = self.coerce(digits.clone(), DataType::Integer, Context::Implicit)?;
        let value = self.as_numeric_operand(value.clone())?;
        let (function, carry) = match name {
            "round" => (Function::Round, 1),
            _ => (Function::Trunc, 0),
        };
        let count = digits.as_literal().and_then(Value::as_integer);
        let ty = match (count.map(|count| u32::try_from(count.max(0))), as_numeric(value.ty)) {
            (Some(Ok(count)), Some(numeric)) => self.digits.rounded(numeric, count, carry),
            // Each row has the digits that it asks for.
            _ => DataType::NUMERIC,
        };
        let value = if ty == DataType::NUMERIC { wide(value) } else { value };
        Ok(Some(Bound::new(Expr::call(function, vec![value, digits], ty), at)))
    }

    /// scale, min_scale and trim_scale.
    fn scale_of(&mut self, name: &str, arguments: &[Bound], at: Place) -> Result<Option<Bound>> {
        let [value] = arguments else {
            return Ok(None);
        };
        if !can_cast(value.ty(), DataType::NUMERIC, Context::Implicit) {
            return Ok(None);
        }
        let value = wide(self.as_numeric_operand(value.clone())?);
        let (function, ty) = match name {
            "trim_scale" => (Function::TrimScale, DataType::NUMERIC),
            "scale" => (Function::Scale, DataType::Integer),
            _ => (Function::MinScale, DataType::Integer),
        };
        let expr = Expr::call(function, vec![value], ty);
        Ok(Some(Bound::new(expr, at)))
    }

    fn choice(&mut self, name: &str, arguments: Vec<Bound>, at: Place) -> Result<Bound> {
        let (function, construct) = match name {
            "coalesce" => (Function::Coalesce, "COALESCE"),
            "greatest" => (Function::Greatest, "GREATEST"),
            _ => (Function::Least, "LEAST"),
        };
        if arguments.is_empty() {
            return fail(SqlState::SYNTAX_ERROR, format!("{construct} needs an argument"), at);
        }
        let (list, ty) = self.unite(arguments, construct)?;
        if function != Function::Coalesce && has_key(ty) {
            return unsupported(format!("{construct} of {}", ty.name()), at);
        }
        if function != Function::Coalesce
            && let Some(keys) = self.ranked(&list, at)?
        {
            let key = Expr::call(function, keys, DataType::Bytea);
            return Ok(Bound::new(super::collation::text_of_key(key, ty), at));
        }
        Ok(Bound::new(Expr::call(function, list, ty), at))
    }

    fn null_if(&mut self, arguments: Vec<Bound>, at: Place) -> Result<Bound> {
        let [a, b] = <[Bound; 2]>::try_from(arguments).map_err(|_| {
            place(Error::new(SqlState::SYNTAX_ERROR, "NULLIF takes two arguments"), at)
        })?;
        if let Some(found) = self.null_if_shape(&a, &b)? {
            return Ok(found);
        }
        let (x, y) = (a.ty(), b.ty());
        super::comparable::refuse_json("=", x, y, at)?;
        match self.unite_operands(a, b)? {
            Some((a, b)) if needs_key(a.ty) || self.is_keyed_pair(&a, &b, at)? => {
                let again = self.refreshed(&Bound::new(a.clone(), at)).expr;
                let (a, b) = self.compared_pair(CompareOp::Equal, a, b, at)?;
                let ty = again.ty;
                let branches = vec![(Expr::compare(CompareOp::Equal, a, b), Expr::null(ty))];
                let kind = ExprKind::Case { branches, otherwise: Box::new(again) };
                Ok(Bound::new(Expr { kind, ty }, at))
            }
            Some((a, b)) => {
                let ty = a.ty;
                let result = Expr::call(Function::NullIf, vec![a, b], ty);
                // As in PostgreSQL, which compares integers of two widths as they are, and numbers
                // of two scales.
                let own = match (ty, as_numeric(x)) {
                    (DataType::Numeric(_), Some(own)) => DataType::Numeric(own),
                    (ty, Some(_)) if ty.is_integer() => x,
                    (DataType::Varchar(_), None) => DataType::Text,
                    (DataType::Char(_), None) if matches!(x, DataType::Char(_)) => x,
                    (ty, _) => ty,
                };
                Ok(Bound::new(if own == ty { result } else { result.cast(own) }, at))
            }
            None => Err(super::unmatched::no_operator("=", x, y, at)),
        }
    }

    /// GROUPING(a, b ...): a column stands for it until the grouping sets are known.
    fn grouping(&mut self, arguments: Vec<Bound>, at: Place) -> Result<Bound> {
        let id = self.fresh();
        // Of the level whose columns are named, like an aggregate.
        let mut columns = Vec::new();
        arguments.iter().for_each(|bound| bound.expr.each_column(&mut |id| columns.push(id)));
        let names = |level: &super::scope::Level| {
            level.references.iter().any(|(id, _)| columns.contains(id))
        };
        let depth = self.levels.iter().rposition(names);
        let top = self.levels.len().saturating_sub(1);
        let Some(level) = self.levels.get_mut(depth.unwrap_or(top)) else {
            return fail(SqlState::GROUPING_ERROR, "grouping operations are not allowed here", at);
        };
        if !level.clause.takes_aggregates() {
            let message = format!("grouping operations are not allowed in {}", level.clause.name());
            return fail(SqlState::GROUPING_ERROR, message, at);
        }
        let arguments = arguments.into_iter().map(|bound| bound.expr).collect();
        level.groupings.push((id, arguments, at));
        Ok(Bound::new(Expr::column(id, DataType::Integer), at))
    }

    /// A function that gives rows in a select list.
    fn series_call(&mut self, name: &str, arguments: Vec<Bound>, at: Place) -> Result<Bound> {
        let name = super::text_search::set_named(name, &arguments);
        let Ok([call]) = <[Series; 1]>::try_from(self.set_calls(name, arguments, at)?) else {
            let message = "unnest of several arrays is only allowed in FROM";
            return fail(SqlState::UNDEFINED_FUNCTION, message, at);
        };
        let row = self.series_value(call, at)?;
        let mut columns = super::json::parts_columns(name, row.expr);
        match (columns.pop(), columns.is_empty()) {
            (Some((_, value)), true) => Ok(Bound::new(value, at)),
            (last, _) => {
                columns.extend(last);
                let named = |(name, value): (Option<&str>, Expr)| {
                    (name.unwrap_or_default().to_owned(), value)
                };
                let row = super::composite::record(columns.into_iter().map(named).collect())?;
                Ok(Bound::new(row, at))
            }
        }
    }

    /// CURRENT_DATE and other functions without parentheses.
    fn niladic(&mut self, name: &str, at: Place) -> Result<Bound> {
        match self.constant_function(name) {
            Some(expr) => Ok(Bound::new(expr, at)),
            None => {
                let message = format!("column \"{name}\" does not exist");
                fail(SqlState::UNDEFINED_COLUMN, message, at)
            }
        }
    }

    /// Functions without arguments that are constant for a statement.
    fn constant_function(&mut self, name: &str) -> Option<Expr> {
        Some(match name {
            "now" | "current_timestamp" | "transaction_timestamp" => {
                self.clock_as(DataType::TIMESTAMPTZ)
            }
            "localtimestamp" => self.clock_as(DataType::TIMESTAMP),
            "current_time" => self.clock_as(TIMETZ),
            "localtime" => self.clock_as(DataType::TIME),
            "current_date" => self.clock_as(DataType::Date),
            "version" => Expr::text(concat!(
                "PostgreSQL 15.0 (Tessera ",
                env!("CARGO_PKG_VERSION"),
                ") on ",
                "64-bit"
            )),
            "current_user" | "user" | "current_role" => name_of(self.catalog.user()),
            "session_user" => name_of(self.catalog.session_user()),
            "current_database" | "current_catalog" => name_of(self.catalog.database()),
            "database" => Expr::text(self.catalog.database()),
            "current_schema" => self.first_schema(),
            "pg_backend_pid" => {
                let id = Value::I32(self.catalog.session_id());
                Expr::literal(id, DataType::Integer)
            }
            _ => return None,
        })
    }
}

/// The overload that PostgreSQL's rules choose.
///
/// Source: PostgreSQL manual, "Function Type Resolution".
fn choose(name: &str, arguments: &[Bound], at: Place) -> Result<&'static Overload> {
    choose_among(overloads(name).collect(), name, arguments, at)
}

/// [`choose`] among the overloads `known`.
///
/// # Errors
/// 42883 and 42725 when none, or none better than others, fits.
pub(super) fn choose_among(
    known: Vec<&'static Overload>,
    name: &str,
    arguments: &[Bound],
    at: Place,
) -> Result<&'static Overload> {
    let fits = |overload: &&Overload| {
        let count = overload.parameters.len();
        let arity = match overload.rest {
            Some(_) => arguments.len() > count || (count > 0 && arguments.len() == count),
            None => arguments.len() == count,
        };
        arity
            && kinds(overload).zip(arguments).all(|(kind, argument)| {
                matches!(kind, Kind::Shown | Kind::Cast)
                    || can_cast(argument.ty(), kind.target(), Context::Implicit)
            })
    };
    let mut candidates: Vec<&'static Overload> = known.into_iter().filter(fits).collect();
    keep_best(&mut candidates, |overload| {
        let exact = |(kind, argument): &(Kind, &Bound)| kind.is_exactly(argument.ty());
        kinds(overload).zip(arguments).filter(exact).count()
    });
    keep_best(&mut candidates, |overload| {
        let good = |(kind, argument): &(Kind, &Bound)| {
            !argument.is_unknown() && (kind.is_exactly(argument.ty()) || kind.is_preferred())
        };
        kinds(overload).zip(arguments).filter(good).count()
    });
    for (position, argument) in arguments.iter().enumerate() {
        if argument.is_unknown() && candidates.len() > 1 {
            let kind = |overload: &&Overload| kinds(overload).nth(position);
            if candidates.iter().any(|overload| kind(overload) == Some(Kind::Text)) {
                candidates.retain(|overload| kind(overload) == Some(Kind::Text));
            } else {
                keep_best(&mut candidates, |overload| {
                    usize::from(kinds(overload).nth(position).is_some_and(Kind::is_preferred))
                });
            }
        }
    }
    match candidates.as_slice() {
        [only] => Ok(only),
        [] => Err(no_function(format!("function {} does not exist", shown(name, arguments)), at)),
        _ => {
            let message = format!("function {} is not unique", shown(name, arguments));
            let error = Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(
                "Could not choose a best candidate function. You might need to add explicit type \
                 casts.",
            );
            Err(place(error, at))
        }
    }
}

/// Value of an argument that is left out.
enum Usual {
    Number(i32),
    Flags,
}

/// Arguments of a function on regular expressions behind its text and pattern.
fn usual(function: Function) -> &'static [Usual] {
    use Usual::{Flags, Number};
    match function {
        Function::RegexpGroups
        | Function::RegexpAllGroups
        | Function::RegexpSplitToArray
        | Function::RegexpSplitToTable => &[Flags],
        Function::RegexpCount => &[Number(1), Flags],
        Function::RegexpInstr => &[Number(1), Number(1), Number(0), Flags, Number(0)],
        Function::RegexpSubstr => &[Number(1), Number(1), Flags, Number(0)],
        _ => &[],
    }
}

fn kinds(overload: &Overload) -> impl Iterator<Item = Kind> {
    let rest = std::iter::repeat(overload.rest).map_while(|rest| rest);
    overload.parameters.iter().copied().chain(rest)
}

fn keep_best(candidates: &mut Vec<&'static Overload>, score: impl Fn(&'static Overload) -> usize) {
    let best = candidates.iter().map(|overload| score(overload)).max().unwrap_or(0);
    candidates.retain(|overload| score(overload) == best);
}

fn shown(name: &str, arguments: &[Bound]) -> String {
    let types: Vec<&str> = arguments.iter().map(|bound| bound.ty().name()).collect();
    format!("{name}({})", types.join(", "))
}

fn refuse_aggregate_syntax(function: &ast::Function, name: &str) -> Result<()> {
    let at = object_at(&function.name);
    let what = match &function.args {
        _ if function.filter.is_some() => "FILTER",
        _ if !function.within_group.is_empty() => "WITHIN GROUP",
        ast::FunctionArguments::List(list) if list.duplicate_treatment.is_some() => "DISTINCT",
        ast::FunctionArguments::List(list) if !list.clauses.is_empty() => "ORDER BY",
        _ => return Ok(()),
    };
    let message = format!("{what} specified, but {name} is not an aggregate function");
    fail(SqlState::WRONG_OBJECT_TYPE, message, at)
}
