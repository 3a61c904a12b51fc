//! INSERT: rows brought to the columns of the table.

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::array_targets::{Step, no_default};
use super::name::object_at;
use super::scope::{Clause, Level, Scope};
use super::types::{Context, can_cast};
use super::view_target::{Write, WriteKind};
use super::write::{Target, column_at};
use super::{Binder, Bound, BoundColumn, BoundQuery, Unknowns, at_span, fail, place, unsupported};
use crate::algebra::{Expr, ExprKind, Place, Plan};
use crate::catalog::{ColumnDef, IdentityKind, PolicyCommand, TableRef};
use crate::parse::{BY_NAME, Overriding, folded};
use crate::statement::{ConflictAction, Insert, Privilege, RowRule, RowTest, RowVersion};

/// True for INSERT ... BY NAME.
fn is_by_name(columns: &[ast::ObjectName]) -> bool {
    let [name] = columns else { return false };
    let ident = name.0.first().and_then(|part| part.as_ident());
    ident.is_some_and(|ident| ident.value == BY_NAME)
}

/// The ON CONFLICT that INSERT OR IGNORE and OR REPLACE stand for: the columns `named` are written,
/// or all.
///
/// # Errors
/// 42P10 when OR REPLACE has no key, or several, to find rows by; 0A000 for other forms.
fn or_conflict(
    or: ast::SqliteOnConflict,
    table: &TableRef,
    named: &[String],
    at: Place,
) -> Result<ast::OnConflict> {
    let nothing =
        ast::OnConflict { conflict_target: None, action: ast::OnConflictAction::DoNothing };
    match or {
        ast::SqliteOnConflict::Ignore => return Ok(nothing),
        ast::SqliteOnConflict::Replace => {}
        _ => return unsupported("this form of INSERT", at),
    }
    let keys = table.keys();
    let Some(key) = keys.iter().find(|key| key.primary).or_else(|| keys.first()) else {
        let message = "INSERT OR REPLACE needs a primary key or a unique constraint";
        return fail(SqlState::INVALID_COLUMN_REFERENCE, message, at);
    };
    if keys.len() > 1 {
        let message =
            "INSERT OR REPLACE needs a table with one key; say ON CONFLICT (...) DO UPDATE";
        return fail(SqlState::INVALID_COLUMN_REFERENCE, message, at);
    }
    let ident = |ordinal: usize| {
        let column = table.columns().get(ordinal);
        ast::Ident::with_quote('"', column.map_or("", |column| column.name.as_str()))
    };
    let is_set = |ordinal: &usize| {
        let column = table.columns().get(*ordinal);
        let is_given = column.is_some_and(|column| {
            column.generated.is_none() && (named.is_empty() || named.contains(&column.name))
        });
        is_given && !key.columns.contains(ordinal)
    };
    let assignments: Vec<ast::Assignment> = (0..table.columns().len())
        .filter(is_set)
        .map(|ordinal| ast::Assignment {
            target: ast::AssignmentTarget::ColumnName(ast::ObjectName::from(vec![ident(ordinal)])),
            value: ast::Expr::CompoundIdentifier(vec![ast::Ident::new("excluded"), ident(ordinal)]),
        })
        .collect();
    if assignments.is_empty() {
        return Ok(nothing);
    }
    let columns = key.columns.iter().map(|ordinal| ident(*ordinal)).collect();
    Ok(ast::OnConflict {
        conflict_target: Some(ast::ConflictTarget::Columns(columns)),
        action: ast::OnConflictAction::DoUpdate(ast::DoUpdate { assignments, selection: None }),
    })
}

/// The columns that VALUES lists fill.
struct ValueTargets<'q> {
    target: &'q Target,
    ordinals: &'q [usize],
    /// Types and names of the values.
    wanted: &'q [ColumnDef],
    /// The subscripts of columns of which parts are assigned.
    parts: &'q [Option<Vec<Step>>],
    overriding: Overriding,
}

impl Binder<'_> {
    /// INSERT under the CTEs of `with`.
    pub(super) fn bind_insert(
        &mut self,
        insert: &ast::Insert,
        with: Option<&ast::With>,
    ) -> Result<Insert> {
        let ast::TableObject::TableName(name) = &insert.table else {
            return unsupported("INSERT into a function", None);
        };
        let at = object_at(name);
        if insert.overwrite || insert.replace_into || insert.ignore {
            return unsupported("this form of INSERT", at);
        }
        if !insert.assignments.is_empty() || insert.output.is_some() {
            return unsupported("this form of INSERT", at);
        }
        let definitions = self.definitions(with)?;
        let (mut target, mut scan) = self.insert_target(name, insert.table_alias.as_ref())?;
        let table = target.table.clone();
        let source = self.insert_source(&target, insert, at)?;
        let last =
            |name: &ast::ObjectName| Ok(super::name::object_parts(name)?.pop().unwrap_or_default());
        let is_named = !is_by_name(&insert.columns);
        let named = insert.columns.iter().filter(|_| is_named).map(last);
        let named = named.collect::<Result<Vec<String>>>()?;
        let (plan, columns) = self.exact(source);
        let source = BoundQuery { plan, columns };
        let conflict = match &insert.on {
            None => match insert.or {
                None => None,
                Some(_) if target.view.is_some() => {
                    return unsupported("INSERT OR ... into a view", at);
                }
                Some(or) => {
                    let conflict = or_conflict(or, &table, &named, at)?;
                    Some(self.bind_conflict(&conflict, &target, at)?)
                }
            },
            Some(_) if insert.or.is_some() => {
                let message = "INSERT OR ... and ON CONFLICT exclude each other";
                return fail(SqlState::SYNTAX_ERROR, message, at);
            }
            Some(ast::OnInsert::OnConflict(conflict)) => {
                Some(self.bind_conflict(conflict, &target, at)?)
            }
            Some(_) => return unsupported("ON DUPLICATE KEY UPDATE", at),
        };
        let returning = self.in_level(Clause::Returning, |binder| {
            binder.level()?.scope = Scope::of(target.relation.clone());
            binder.bind_returning(insert.returning.as_deref(), &target)
        })?;
        let on_conflict = match conflict {
            Some(conflict) => Some(self.finish_conflict(conflict, &definitions)?),
            None => None,
        };
        self.guard_reads(&mut scan, &mut target)?;
        let (source, returning) = self.finish_write(source, returning, definitions)?;
        let insert = Insert {
            table,
            source,
            on_conflict,
            returning,
            proposed: Vec::new(),
            met: Vec::new(),
            updated: Vec::new(),
            tests: Vec::new(),
        };
        self.tested(insert, &target)
    }

    /// The target of INSERT under its alias.
    fn insert_target(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAliasWithoutColumns>,
    ) -> Result<(Target, Plan)> {
        let alias = alias.map(|alias| ast::TableAlias {
            explicit: alias.explicit,
            name: alias.alias.clone(),
            columns: Vec::new(),
            at: None,
        });
        self.target_named(name, alias.as_ref(), Write::of(WriteKind::Insert))
    }

    /// `insert` with the tests of its rows.
    fn tested(&mut self, insert: Insert, target: &Target) -> Result<Insert> {
        let is_policy = |test: &RowTest| matches!(test.rule, RowRule::Policy { .. });
        let all = self.row_tests(target, &target.tests)?;
        let (proposed, tests) = all.into_iter().partition(is_policy);
        let action = insert.on_conflict.as_ref().map(|conflict| &conflict.action);
        let (mut met, mut updated) = (Vec::new(), Vec::new());
        if let Some(ConflictAction::Update { .. }) = action {
            let commands = [PolicyCommand::Update, PolicyCommand::Select];
            for command in commands {
                met.extend(self.there(target, command, RowVersion::Met)?);
            }
            updated.extend(self.written(target, PolicyCommand::Update)?);
            updated.extend(self.there(target, PolicyCommand::Select, RowVersion::New)?);
        }
        let (met, updated) = (self.row_tests(target, &met)?, self.row_tests(target, &updated)?);
        Ok(Insert { proposed, met, updated, tests, ..insert })
    }

    /// The rows to insert, with all columns of the table.
    fn insert_source(
        &mut self,
        target: &Target,
        insert: &ast::Insert,
        at: Place,
    ) -> Result<BoundQuery> {
        let table = &target.table;
        let (by_name, columns) = match &insert.source {
            Some(query) if is_by_name(&insert.columns) => {
                let bound = self.bind_query(query, Unknowns::Keep)?;
                let name = |column: &BoundColumn| ast::Ident::with_quote('"', &column.name);
                let names = bound.columns.iter().map(|c| ast::ObjectName::from(vec![name(c)]));
                let names = names.collect();
                (Some(bound), names)
            }
            _ => (None, insert.columns.clone()),
        };
        let overriding = self.aside.overriding(at_span(insert.insert_token.0.span));
        let (ordinals, parts) = self.insert_targets(target, &columns)?;
        let wanted = self.wanted_columns(table, &ordinals, &parts, at)?;
        let (source, defaults) = match insert.source.as_deref() {
            Some(_) if let Some(bound) = by_name => (bound, Vec::new()),
            None => (BoundQuery { plan: Plan::one_row(), columns: Vec::new() }, Vec::new()),
            Some(query) => match plain_values(query) {
                Some(values) => {
                    let plain = self.without_stars(values)?;
                    let values = plain.as_ref().unwrap_or(values);
                    let (ordinals, wanted, parts) = (&ordinals, &wanted, &parts);
                    let targets = ValueTargets { target, ordinals, wanted, parts, overriding };
                    let bound = self.bind_value_rows(targets, values)?;
                    (bound, default_columns(values, ordinals.len()))
                }
                None => (self.bind_query(query, Unknowns::Keep)?, Vec::new()),
            },
        };
        let implicit = columns.is_empty();
        let named = match source.columns.len().cmp(&ordinals.len()) {
            std::cmp::Ordering::Equal => ordinals,
            std::cmp::Ordering::Less if implicit || insert.source.is_none() => {
                ordinals.into_iter().take(source.columns.len()).collect()
            }
            std::cmp::Ordering::Less => {
                let message = "INSERT has more target columns than expressions";
                return fail(SqlState::SYNTAX_ERROR, message, at);
            }
            std::cmp::Ordering::Greater => {
                if let (true, Some(view)) = (implicit, &target.view) {
                    view.refuse_fixed(ordinals.len(), at)?;
                }
                let message = "INSERT has more expressions than target columns";
                let extra = source.columns.get(ordinals.len()).and_then(|column| column.at);
                return fail(SqlState::SYNTAX_ERROR, message, extra.or(at));
            }
        };
        if let Some(view) = &target.view
            && parts.iter().all(Option::is_none)
        {
            view.check_inserted(table, &named)?;
        }
        self.require_written(target, Privilege::Insert, Some(&named));
        let source = self.assigned(&wanted, &parts, source)?;
        let (named, source) = self.whole_arrays(table, named, &parts, source)?;
        let named = self.identities_given(table, named, &defaults, overriding)?;
        self.with_defaults(target, &named, source)
    }

    /// The ordinals of the source's columns; None for those whose value does not count because
    /// the column has its own (OVERRIDING USER VALUE).
    pub(super) fn identities_given(
        &self,
        table: &TableRef,
        named: Vec<usize>,
        defaults: &[bool],
        overriding: Overriding,
    ) -> Result<Vec<Option<usize>>> {
        let given = |(at, ordinal): (usize, usize)| {
            let is_default = defaults.get(at).copied().unwrap_or(false);
            let column = column_at(table, ordinal)?;
            if column.generated.is_some() && !is_default {
                let name = &column.name;
                let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
                let detail = format!("Column \"{name}\" is a generated column.");
                let error = types::Error::new(SqlState::GENERATED_ALWAYS, message);
                return Err(error.with_detail(detail));
            }
            let Some(identity) = table.identity(ordinal) else {
                return Ok(Some(ordinal));
            };
            match (overriding, identity.kind) {
                (Overriding::User, _) => Ok(None),
                (Overriding::No, IdentityKind::Always) if !is_default => {
                    let name = &column_at(table, ordinal)?.name;
                    let message =
                        format!("cannot insert a non-DEFAULT value into column \"{name}\"");
                    let detail = format!(
                        "Column \"{name}\" is an identity column defined as GENERATED ALWAYS."
                    );
                    Err(types::Error::new(SqlState::GENERATED_ALWAYS, message)
                        .with_detail(detail)
                        .with_hint("Use OVERRIDING SYSTEM VALUE to override."))
                }
                _ => Ok(Some(ordinal)),
            }
        };
        named.into_iter().enumerate().map(given).collect()
    }

    pub(super) fn target_ordinals(
        &self,
        target: &Target,
        columns: &[ast::ObjectName],
    ) -> Result<Vec<usize>> {
        let mut idents = Vec::with_capacity(columns.len());
        for name in columns {
            match name.0.as_slice() {
                [ast::ObjectNamePart::Identifier(ident)] => idents.push(ident.clone()),
                _ => return unsupported("a qualified column in INSERT", object_at(name)),
            }
        }
        match &target.view {
            Some(view) => view.ordinals(&idents),
            None => self.column_ordinals(&target.table, &idents),
        }
    }

    /// The columns that INSERT names, and the subscripts under which parts of them are meant; a
    /// column may be there for several parts.
    fn insert_targets(
        &self,
        target: &Target,
        columns: &[ast::ObjectName],
    ) -> Result<(Vec<usize>, Vec<Option<Vec<Step>>>)> {
        let parts: Vec<_> = columns.iter().map(|name| self.steps_of(name)).collect();
        if parts.iter().all(Option::is_none) {
            let ordinals = self.target_ordinals(target, columns)?;
            let parts = vec![None; ordinals.len()];
            return Ok((ordinals, parts));
        }
        let mut ordinals: Vec<usize> = Vec::with_capacity(columns.len());
        for (name, part) in columns.iter().zip(&parts) {
            let column = ast::ObjectName(name.0.iter().take(1).cloned().collect());
            let one = self.target_ordinals(target, std::slice::from_ref(&column))?;
            for ordinal in one {
                let known = ordinals.iter().position(|known| *known == ordinal);
                if known.is_some_and(|at| part.is_none() || parts.get(at) == Some(&None)) {
                    let message = format!("column \"{name}\" specified more than once");
                    return fail(SqlState::DUPLICATE_COLUMN, message, object_at(name));
                }
                ordinals.push(ordinal);
            }
        }
        Ok((ordinals, parts))
    }

    /// Types and names for the values of these columns, or of the parts of them that are assigned.
    fn wanted_columns(
        &self,
        table: &TableRef,
        ordinals: &[usize],
        parts: &[Option<Vec<Step>>],
        at: Place,
    ) -> Result<Vec<ColumnDef>> {
        let wanted = |(ordinal, part): (&usize, &Option<Vec<Step>>)| {
            let column = column_at(table, *ordinal)?;
            match part {
                Some(steps) => self.target_part(column, steps, at),
                None => Ok(column.clone()),
            }
        };
        ordinals.iter().zip(parts).map(wanted).collect()
    }

    /// VALUES lists of an INSERT: DEFAULT may stand in them, and literals take the columns' types.
    fn bind_value_rows(
        &mut self,
        targets: ValueTargets<'_>,
        values: &ast::Values,
    ) -> Result<BoundQuery> {
        let ValueTargets { target, ordinals, wanted, parts, overriding } = targets;
        let table = &target.table;
        let clause = if values.rows.len() == 1 { Clause::InsertRow } else { Clause::Values };
        self.levels.push(Level::new(clause));
        let mut rows = Vec::with_capacity(values.rows.len());
        let width = values.rows.first().map_or(0, |row| row.content.len());
        for row in &values.rows {
            if row.content.len() != width {
                let at = row.content.first().and_then(super::name::expr_at);
                let message = "VALUES lists must all be the same length";
                return fail(SqlState::SYNTAX_ERROR, message, at);
            }
            let mut bound = Vec::with_capacity(width);
            for (position, expr) in row.content.iter().enumerate() {
                let ordinal = ordinals.get(position).copied().unwrap_or_default();
                let part = parts.get(position).and_then(Option::as_ref);
                bound.push(match (wanted.get(position), part) {
                    (None, _) => self.bind_expr(expr)?,
                    (Some(_), Some(steps)) if is_default(expr) => {
                        return fail(SqlState::FEATURE_NOT_SUPPORTED, no_default(steps), None);
                    }
                    // Its value does not count, and takes none of the sequence.
                    (Some(column), None)
                        if is_default(expr)
                            && overriding == Overriding::User
                            && table.identity(ordinal).is_some() =>
                    {
                        Bound::new(Expr::null(column.ty), None)
                    }
                    (Some(_), None) if is_default(expr) => {
                        Bound::new(self.column_default(target, ordinal)?, None)
                    }
                    (Some(column), part) => {
                        let bound = self.bind_expr(expr)?;
                        let at = bound.at;
                        Bound::new(
                            match part {
                                Some(_) => self.assign_part(bound, column)?,
                                None => self.assign(bound, column)?,
                            },
                            at,
                        )
                    }
                });
            }
            rows.push(bound);
        }
        let series = self.levels.pop().map(|level| level.series).unwrap_or_default();
        if series.is_empty() {
            return self.values_query(rows, Unknowns::Keep);
        }
        // One row, with functions that give rows: a select list.
        let input = Box::new(self.expanded_calls(Plan::one_row(), series)?);
        let (mut columns, mut project) = (Vec::with_capacity(width), Vec::with_capacity(width));
        for (position, bound) in rows.into_iter().flatten().enumerate() {
            let (id, name) = (self.fresh(), format!("column{}", position + 1));
            columns.push(BoundColumn { name, ty: bound.ty(), id, at: bound.at });
            project.push((id, bound.expr));
        }
        Ok(BoundQuery { plan: Plan::Project { input, columns: project }, columns })
    }

    /// `bound` as a value for `column`, by the rules of assignment.
    pub(super) fn assign(&mut self, bound: Bound, column: &ColumnDef) -> Result<Expr> {
        let bound = self.retyped(bound);
        let is_row = super::coerce::written_row(&bound.expr, column.ty).is_some();
        if let (DataType::Record(own), DataType::Record(of)) = (bound.ty(), column.ty)
            && !is_row
            && own.number().is_none()
            && of.number().is_some()
        {
            let message = format!("cannot cast type record to {}", of.name());
            return fail(SqlState::CANNOT_COERCE, message, bound.at);
        }
        if !is_row && !can_cast(bound.ty(), column.ty, Context::Assignment) {
            let error = types::Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "column \"{}\" is of type {} but expression is of type {}",
                    column.name,
                    column.ty.name(),
                    bound.ty().name()
                ),
            )
            .with_hint("You will need to rewrite or cast the expression.");
            return Err(place(error, bound.at));
        }
        self.coerce(bound, column.ty, Context::Assignment)
    }

    /// The source with each column of its target's type.
    fn assigned(
        &mut self,
        wanted: &[ColumnDef],
        parts: &[Option<Vec<Step>>],
        source: BoundQuery,
    ) -> Result<BoundQuery> {
        let mut types = Vec::with_capacity(source.columns.len());
        for ((column, part), source) in wanted.iter().zip(parts).zip(&source.columns) {
            // Checked here for the message; the cast itself follows for all columns at once.
            let probe = Expr { kind: ExprKind::Column(source.id), ty: source.ty };
            if source.ty != DataType::Unknown {
                let probe = Bound::new(probe, source.at);
                match part {
                    Some(_) => self.assign_part(probe, column)?,
                    None => self.assign(probe, column)?,
                };
            }
            types.push(column.ty);
        }
        self.coerce_columns(source, &types, Context::Assignment)
    }

    /// The source with all columns of the table, in order: those not named get their default.
    fn with_defaults(
        &mut self,
        target: &Target,
        named: &[Option<usize>],
        source: BoundQuery,
    ) -> Result<BoundQuery> {
        let table = &target.table;
        let mut columns: Vec<BoundColumn> = Vec::with_capacity(table.columns().len());
        let mut added = Vec::new();
        for (ordinal, def) in table.columns().iter().enumerate() {
            let given = named.iter().position(|known| *known == Some(ordinal));
            let column = match given.and_then(|position| source.columns.get(position)) {
                Some(column) => BoundColumn { name: def.name.clone(), ..column.clone() },
                None => {
                    let id = self.fresh();
                    added.push((id, self.column_default(target, ordinal)?));
                    BoundColumn { name: def.name.clone(), ty: def.ty, id, at: None }
                }
            };
            columns.push(column);
        }
        if added.is_empty() {
            return Ok(BoundQuery { plan: source.plan, columns });
        }
        let (input, mut project) = match source.plan {
            Plan::Project { input, columns } => (input, columns),
            plan => {
                let pass = plan.output_types().into_iter();
                let pass = pass.map(|(id, ty)| (id, Expr::column(id, ty))).collect();
                (Box::new(plan), pass)
            }
        };
        project.extend(added);
        Ok(BoundQuery { plan: Plan::Project { input, columns: project }, columns })
    }

    /// The default of a column, bound: its identity's next value, or NULL when it has none. The
    /// value of a generated column is computed when the row is written.
    pub(super) fn column_default(&mut self, target: &Target, ordinal: usize) -> Result<Expr> {
        let table = &target.table;
        let column = column_at(table, ordinal)?;
        let of_view = target.view.as_ref().and_then(|view| view.default(ordinal));
        if let Some(text) = of_view {
            return self.default_text(text, column);
        }
        if let Some(identity) = table.identity(ordinal) {
            let next = super::sequence::next_value(&identity.sequence);
            return self.coerce(Bound::new(next, None), column.ty, Context::Assignment);
        }
        self.kept_default(column)
    }

    /// The default that the definition of a column, or of its domain, says; NULL without.
    pub(super) fn kept_default(&mut self, column: &ColumnDef) -> Result<Expr> {
        match column.default_or_domains() {
            None => Ok(Expr::null(column.ty)),
            Some(text) => self.default_text(text, column),
        }
    }

    /// The default that the kept `text` says.
    pub(super) fn default_text(&mut self, text: &str, column: &ColumnDef) -> Result<Expr> {
        let expr = crate::parse::parse_expr(text)?;
        self.in_definition(|binder| binder.default_value(&expr, column.ty, &column.name))
    }

    /// Looks at a DEFAULT expression where it is defined. A value that does not fit its column is
    /// an error where it is used; one that is no value of its type is one here.
    pub(super) fn check_default(
        &mut self,
        expr: &ast::Expr,
        ty: DataType,
        name: &str,
    ) -> Result<()> {
        let is_text = matches!(
            expr,
            ast::Expr::Value(value) if matches!(value.value, ast::Value::SingleQuotedString(_))
        );
        match self.default_value(expr, ty, name).map_err(|error| (error.state(), error)) {
            Err((SqlState::STRING_TOO_LONG, _)) => Ok(()),
            Err((SqlState::NUMERIC_OUT_OF_RANGE, _)) if !is_text || ty.is_numeric() => Ok(()),
            Err((_, error)) => Err(error),
            Ok(_) => Ok(()),
        }
    }

    /// A DEFAULT expression as a value of its column; it may name no column.
    pub(super) fn default_value(
        &mut self,
        expr: &ast::Expr,
        ty: DataType,
        name: &str,
    ) -> Result<Expr> {
        let levels = std::mem::take(&mut self.levels);
        self.levels.push(Level::new(Clause::Default));
        let bound = self.bind_expr(expr);
        self.levels = levels;
        let bound = bound.map_err(|error| match error.state() {
            SqlState::UNDEFINED_COLUMN => {
                let message = "cannot use column reference in DEFAULT expression";
                let moved = types::Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                place(moved, error.position())
            }
            _ => error,
        })?;
        if contains_subquery(&bound.expr) {
            let message = "cannot use subquery in DEFAULT expression";
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, bound.at);
        }
        let at: Place = bound.at;
        if !can_cast(bound.ty(), ty, Context::Assignment) {
            let message = format!(
                "column \"{name}\" is of type {} but default expression is of type {}",
                ty.name(),
                bound.ty().name()
            );
            return fail(SqlState::DATATYPE_MISMATCH, message, at);
        }
        self.coerce(bound, ty, Context::Assignment)
    }
}

/// The VALUES lists of a query that is nothing else.
fn plain_values(query: &ast::Query) -> Option<&ast::Values> {
    let plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match &*query.body {
        ast::SetExpr::Values(values) if plain => Some(values),
        _ => None,
    }
}

/// For each column of VALUES whether all its values are DEFAULT.
fn default_columns(values: &ast::Values, width: usize) -> Vec<bool> {
    let all = |at: usize| values.rows.iter().all(|row| row.content.get(at).is_some_and(is_default));
    (0..width).map(all).collect()
}

/// True for the word DEFAULT.
pub(super) fn is_default(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Identifier(ident) => ident.quote_style.is_none() && folded(ident) == "default",
        _ => false,
    }
}

pub(super) fn contains_subquery(expr: &Expr) -> bool {
    let mut found = expr.subquery().is_some();
    expr.each_child(&mut |child| found |= contains_subquery(child));
    found
}
