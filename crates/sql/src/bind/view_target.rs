//! Views whose rows are written: what a statement says of a view, said of the table below it.
//!
//! ```text
//! INSERT, UPDATE, DELETE v   ->  Target { table, relation: columns of v as expressions over it }
//! v -> w -> t                    outermost view first; conditions filter the scan of t
//! ```
//! A view can be written when its rows are those of one table or view: no grouping, no set
//! operation, nothing that leaves rows out but WHERE. A column can be written when it is one of
//! the table's.
//!
//! Source of the rules: PostgreSQL 15, without triggers and rules of views.

use std::collections::BTreeSet;

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::clauses::Target as Item;
use super::from::with_alias;
use super::name::ident_at;
use super::policy::RowCondition;
use super::scope::{Clause, Level, Scope, ScopeColumn, ScopeRelation, Source, Whole};
use super::select::filter;
use super::write::Target;
use super::{Binder, BoundQuery, fail, place};
use crate::algebra::{Expr, Function, InputColumn, Place, Plan};
use crate::catalog::{Catalog, CheckOption, TableRef, ViewRights, ViewWrites};
use crate::parse::folded;
use crate::statement::{Extent, Privilege, Privileges, RelationName, RowRule, RowTest};

/// Statement that writes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteKind {
    Insert,
    Update,
    Delete,
    Merge,
}

impl WriteKind {
    /// 55000 for a view that cannot be written, with the reason.
    fn refused<T>(self, view: &str, reason: &str) -> Result<T> {
        let (action, doing, name) = match self {
            Self::Insert => ("insert into", "inserting into", "INSERT"),
            Self::Update | Self::Merge => ("update", "updating", "UPDATE"),
            Self::Delete => ("delete from", "deleting from", "DELETE"),
        };
        let message = format!("cannot {action} view \"{view}\"");
        let error = Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .with_detail(reason)
            .with_hint(format!(
                "To enable {doing} the view, provide an INSTEAD OF {name} trigger or an \
                 unconditional ON {name} DO INSTEAD rule."
            ));
        Err(error)
    }
}

/// The view through which a statement writes a table.
pub(super) struct ViewTarget {
    /// Its name, without the schema.
    pub(super) name: String,
    pub(super) columns: Vec<ViewColumn>,
    /// Defaults of the table's columns that views say, by ordinal of the table.
    defaults: Vec<(usize, String)>,
    /// Defaults that this view says itself: the meaning of DEFAULT in UPDATE.
    own_defaults: Vec<(usize, String)>,
    /// Its columns that have a default and cannot be written.
    fixed_defaults: Vec<usize>,
    /// Views, the outermost first.
    layers: Vec<Layer>,
    /// Whose rights count for the table.
    pub(super) asker: Option<String>,
}

/// A column of a view.
pub(super) struct ViewColumn {
    pub(super) name: String,
    /// The ordinal of the table's column that it is.
    written: std::result::Result<usize, Fixed>,
}

/// A column of a view that cannot be written.
#[derive(Clone)]
struct Fixed {
    view: String,
    column: String,
}

/// One of the views between a statement and the table.
struct Layer {
    key: String,
    asker: Option<String>,
    /// Reads of it: a position among what the statement needs.
    access: usize,
    /// The table's columns that its columns are.
    ordinals: Vec<Option<usize>>,
}

/// A view that is to be written.
pub(super) struct WrittenView {
    pub(super) full: RelationName,
    pub(super) sql: String,
    /// Names of its columns; empty when the query's own are used.
    pub(super) names: Vec<String>,
    pub(super) rights: ViewRights,
    pub(super) says: ViewWrites,
    pub(super) write: Write,
}

/// Kind of a statement that writes, and who tests its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) kind: WriteKind,
    /// True when a view above has the rows tested by those below it.
    pub(super) is_tested: bool,
}

impl Write {
    /// A statement's own.
    pub(super) fn of(kind: WriteKind) -> Self {
        Self { kind, is_tested: false }
    }
}

/// A view's query, bound over its table.
struct ViewRows {
    inner: Target,
    plan: Plan,
    condition: Option<Expr>,
    items: Vec<Item>,
}

impl Fixed {
    fn refused<T>(&self, kind: WriteKind, at: Place) -> Result<T> {
        let Self { view, column } = self;
        let action = if kind == WriteKind::Insert { "insert into" } else { "update" };
        let message = format!("cannot {action} column \"{column}\" of view \"{view}\"");
        let detail = "View columns that are not columns of their base relation are not updatable.";
        let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail);
        Err(place(error, at))
    }
}

impl ViewTarget {
    /// The ordinal in the table of the column that the view calls `name`; None when it has none.
    ///
    /// # Errors
    /// 0A000 when it cannot be written.
    pub(super) fn ordinal(&self, name: &str, kind: WriteKind, at: Place) -> Result<Option<usize>> {
        match self.columns.iter().find(|column| column.name == name) {
            None => Ok(None),
            Some(ViewColumn { written: Ok(ordinal), .. }) => Ok(Some(*ordinal)),
            Some(ViewColumn { written: Err(fixed), .. }) => fixed.refused(kind, at),
        }
    }

    /// The ordinals of the columns that INSERT names, or of all up to the first that cannot be
    /// written.
    ///
    /// # Errors
    /// 42703, 42701, 0A000.
    pub(super) fn ordinals(&self, names: &[ast::Ident]) -> Result<Vec<usize>> {
        if names.is_empty() {
            return Ok(self
                .columns
                .iter()
                .map_while(|c| c.written.as_ref().ok().copied())
                .collect());
        }
        let mut ordinals = Vec::with_capacity(names.len());
        for ident in names {
            let (name, at) = (folded(ident), ident_at(ident));
            let Some(ordinal) = self.ordinal(&name, WriteKind::Insert, at)? else {
                let message =
                    format!("column \"{name}\" of relation \"{}\" does not exist", self.name);
                return fail(SqlState::UNDEFINED_COLUMN, message, at);
            };
            if names.iter().filter(|known| folded(known) == name).count() > 1 {
                let message = format!("column \"{name}\" specified more than once");
                return fail(SqlState::DUPLICATE_COLUMN, message, at);
            }
            ordinals.push(ordinal);
        }
        Ok(ordinals)
    }

    /// # Errors
    /// 42601 when two of the columns that INSERT fills are the same of the table; 0A000 for a
    /// column that has a default and cannot be written.
    pub(super) fn check_inserted(&self, table: &TableRef, ordinals: &[usize]) -> Result<()> {
        for (at_idx, ordinal) in ordinals.iter().enumerate() {
            if ordinals[..at_idx].contains(ordinal) {
                let column = table.columns().get(*ordinal).map_or("", |column| &column.name);
                let message = format!("multiple assignments to same column \"{column}\"");
                return fail(SqlState::SYNTAX_ERROR, message, None);
            }
        }
        self.fixed_defaults.iter().try_for_each(|at_idx| self.refuse_fixed(*at_idx, None))
    }

    /// # Errors
    /// 0A000 when column number `at_idx` of the view cannot be written.
    pub(super) fn refuse_fixed(&self, at_idx: usize, at: Place) -> Result<()> {
        match self.columns.get(at_idx).map(|column| &column.written) {
            Some(Err(fixed)) => fixed.refused(WriteKind::Insert, at),
            _ => Ok(()),
        }
    }

    /// The default that views say of the table's column `ordinal`.
    pub(super) fn default(&self, ordinal: usize) -> Option<&str> {
        let found = self.defaults.iter().find(|(known, _)| *known == ordinal);
        found.map(|(_, text)| text.as_str())
    }

    /// The default that the view itself says of the table's column `ordinal`.
    pub(super) fn own_default(&self, ordinal: usize) -> Option<&str> {
        let found = self.own_defaults.iter().find(|(known, _)| *known == ordinal);
        found.map(|(_, text)| text.as_str())
    }

    /// The position among the view's columns of the table's column `ordinal`.
    pub(super) fn position(&self, ordinal: usize) -> Option<usize> {
        self.columns.iter().position(|column| column.written.as_ref().ok() == Some(&ordinal))
    }
}

/// For each column of the view `name` whether statements can write it; None when the view cannot
/// be written.
pub fn written_columns(catalog: &dyn Catalog, name: &RelationName) -> Option<Vec<bool>> {
    let ident = |part: &str| ast::Ident::with_quote('"', part);
    let parts = name.schema.iter().map(String::as_str).chain([name.name.as_str()]);
    let name = ast::ObjectName::from(parts.map(ident).collect::<Vec<_>>());
    let mut binder = Binder::new(catalog, &[]);
    let target = binder.target_named(&name, None, Write::of(WriteKind::Delete)).ok()?.0;
    let view = target.view?;
    Some(view.columns.iter().map(|column| column.written.is_ok()).collect())
}

impl Binder<'_> {
    /// The table below a view as the target of a statement, and a scan of the view's rows in it.
    ///
    /// # Errors
    /// 55000 when the view cannot be written, with the reason.
    pub(super) fn view_target(
        &mut self,
        view: WrittenView,
        alias: Option<&ast::TableAlias>,
    ) -> Result<(Target, Plan)> {
        let key = view.full.key();
        let select = Privileges::of(&[Privilege::Select]);
        let access = self.require_any(&key, select, Extent::Read(BTreeSet::new()));
        let is_tested = view.write.is_tested || view.says.check == Some(CheckOption::Cascaded);
        let asker = self.on_behalf.clone();
        self.on_behalf = match &view.rights {
            ViewRights::Owner(owner) => Some(owner.clone()),
            ViewRights::Asker | ViewRights::System => None,
        };
        let below = Write { is_tested, ..view.write };
        let rows = self.in_view(&view.full, None, |binder| binder.view_rows(&view, below));
        let below = std::mem::replace(&mut self.on_behalf, asker.clone());
        let ViewRows { mut inner, mut plan, condition, items } = rows?;
        let columns = view_columns(&view, &items, &inner);
        // What cannot be written of the view below is refused column by column.
        let is_own = |c: &ViewColumn| matches!(&c.written, Err(f) if f.view == view.full.name);
        if view.write.kind != WriteKind::Delete && columns.iter().all(is_own) {
            return view.write.kind.refused(&view.full.name, NOTHING_WRITTEN);
        }
        if let Some(condition) = condition {
            if is_tested || view.says.check.is_some() {
                let (rule, condition) = (RowRule::View(view.full.name.clone()), condition.clone());
                inner.tests.push(RowCondition { rule, condition });
            }
            plan = filter(plan, condition);
        }
        let relation = view_relation(&view.full, &columns, items, access);
        let ordinals = columns.iter().map(|c| c.written.as_ref().ok().copied()).collect::<Vec<_>>();
        let (mut defaults, mut layers, base) = match inner.view.take() {
            Some(inner) => (inner.defaults, inner.layers, inner.asker),
            None => (Vec::new(), Vec::new(), below),
        };
        let (mut own_defaults, mut fixed_defaults) = (Vec::new(), Vec::new());
        for (at, text) in view.says.defaults {
            if let Some(None) = ordinals.get(at) {
                fixed_defaults.push(at);
            }
            if let Some(Some(ordinal)) = ordinals.get(at) {
                defaults.retain(|(known, _)| known != ordinal);
                defaults.push((*ordinal, text.clone()));
                own_defaults.push((*ordinal, text));
            }
        }
        layers.insert(0, Layer { key, asker, access, ordinals });
        let name = view.full.name;
        inner.view = Some(Box::new(ViewTarget {
            name,
            columns,
            defaults,
            own_defaults,
            fixed_defaults,
            layers,
            asker: base,
        }));
        inner.relation = with_alias(relation, alias)?;
        Ok((inner, plan))
    }

    /// Binds a view's query over the target below it.
    fn view_rows(&mut self, view: &WrittenView, write: Write) -> Result<ViewRows> {
        let refused = |reason: &str| write.kind.refused(&view.full.name, reason);
        let query = crate::parse::parse_query(&view.sql)?;
        let select = match simple_select(&query) {
            Ok(select) => select,
            Err(reason) => return refused(reason),
        };
        let Some((name, alias)) = only_relation(select) else { return refused(NOT_ONE_TABLE) };
        let levels = std::mem::take(&mut self.levels);
        let ctes = std::mem::take(&mut self.ctes);
        self.view_depth += 1;
        let rows = self.in_definition(|binder| {
            binder.nested(|binder| {
                let (inner, plan) = binder.target_named(name, alias, write)?;
                binder.in_level(Clause::From, |binder| {
                    binder.level()?.scope = Scope::of(inner.relation.clone());
                    let condition = match &select.selection {
                        Some(expr) => Some(binder.bind_condition(expr, Clause::Where)?),
                        None => None,
                    };
                    let items = binder.bind_items_settled(&select.projection)?;
                    match refused_calls(binder.level()?) {
                        None => Ok(ViewRows { inner, plan, condition, items }),
                        Some(reason) => refused(&reason),
                    }
                })
            })
        });
        self.view_depth -= 1;
        (self.levels, self.ctes) = (levels, ctes);
        rows
    }

    fn bind_items_settled(&mut self, items: &[ast::SelectItem]) -> Result<Vec<Item>> {
        let mut items = self.in_clause(Clause::Select, |binder| binder.bind_items(items))?;
        for item in &mut items {
            self.settle(&mut item.bound)?;
        }
        Ok(items)
    }

    /// # Errors
    /// 0A000 for CHECK OPTION of a view that cannot be written.
    pub(super) fn check_options(
        &mut self,
        create: &ast::CreateView,
        options: &[String],
    ) -> Result<()> {
        if !options.iter().any(|option| option.starts_with("check_option=")) {
            return Ok(());
        }
        match self.refusal(&create.query)? {
            None => Ok(()),
            Some(reason) => {
                let message =
                    "WITH CHECK OPTION is supported only on automatically updatable views";
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(reason))
            }
        }
    }

    /// Why a view of `query` could not be written.
    fn refusal(&mut self, query: &ast::Query) -> Result<Option<String>> {
        let select = match simple_select(query) {
            Ok(select) => select,
            Err(reason) => return Ok(Some(reason.to_owned())),
        };
        let Some((name, alias)) = only_relation(select) else {
            return Ok(Some(NOT_ONE_TABLE.to_owned()));
        };
        let (_, scope) = self.bind_relation(name, alias)?;
        self.in_level(Clause::From, |binder| {
            binder.level()?.scope = scope;
            let items = binder.bind_items_settled(&select.projection)?;
            let level = binder.level()?;
            let met = refused_calls(level);
            let is_column = |item: &Item| item.bound.expr.as_column().is_some();
            let is_fixed = !items.iter().any(is_column);
            Ok(met.or(is_fixed.then(|| NOTHING_WRITTEN.to_owned())))
        })
    }

    /// The statement needs `privilege` on the target: on `columns` of the table, or all of it.
    pub(super) fn require_written(
        &mut self,
        target: &Target,
        privilege: Privilege,
        columns: Option<&[usize]>,
    ) {
        let Some(view) = &target.view else {
            return match columns {
                Some(columns) => {
                    self.require_columns(target.table.name(), privilege, columns.iter().copied());
                }
                None => self.require(target.table.name(), privilege),
            };
        };
        let own = self.on_behalf.clone();
        for layer in &view.layers {
            self.on_behalf.clone_from(&layer.asker);
            match columns {
                None => self.require(&layer.key, privilege),
                Some(columns) => {
                    let position = |ordinal: &usize| {
                        layer.ordinals.iter().position(|known| *known == Some(*ordinal))
                    };
                    let all = columns.iter().filter_map(position);
                    self.require_columns(&layer.key, privilege, all);
                }
            }
        }
        self.on_behalf.clone_from(&view.asker);
        match columns {
            None => self.require(target.table.name(), privilege),
            Some(columns) => {
                self.require_columns(target.table.name(), privilege, columns.iter().copied());
            }
        }
        self.on_behalf = own;
    }

    /// Forgets what views read of what is below them where the statement reads nothing of the view.
    pub(super) fn settle_reads(&mut self, target: &Target) {
        let Some(view) = &target.view else { return };
        let reads = |binder: &Self, access: usize| {
            let extent = binder.required.get(access).map(|access| &access.extent);
            matches!(extent, Some(Extent::Read(columns)) if !columns.is_empty())
        };
        let mut accesses = view.layers.iter().map(|layer| layer.access);
        let Some(outer) = accesses.next().filter(|outer| !reads(self, *outer)) else { return };
        let below: Vec<usize> = accesses.chain(target.access).filter(|a| *a != outer).collect();
        for access in below {
            if let Some(access) = self.required.get_mut(access) {
                access.extent = Extent::Read(BTreeSet::new());
            }
        }
    }

    /// The queries that test rows of the target.
    pub(super) fn row_tests(
        &mut self,
        target: &Target,
        conditions: &[RowCondition],
    ) -> Result<Vec<RowTest>> {
        let mut tests = Vec::with_capacity(conditions.len());
        for RowCondition { rule, condition } in conditions {
            let query = self.breaking(target, condition.clone());
            tests.push(RowTest { query: self.finish(query)?, rule: rule.clone() });
        }
        Ok(tests)
    }

    /// The rows written, all columns, for which `condition` is not true.
    fn breaking(&mut self, target: &Target, condition: Expr) -> BoundQuery {
        let own = target.ids.iter().zip(target.table.columns()).enumerate();
        let own = own.map(|(ordinal, (id, def))| InputColumn { id: *id, ordinal, ty: def.ty });
        let columns: Vec<InputColumn> = own.collect();
        let name = format!("rows of {}", target.table.name()).into();
        let exprs = columns.iter().map(|column| Expr::column(column.id, column.ty)).collect();
        let kept = Expr::call(
            Function::Coalesce,
            vec![condition, Expr::boolean(false)],
            DataType::Boolean,
        );
        let plan = filter(Plan::Input { slot: 0, columns, name }, kept.negated());
        self.projected_exprs(plan, exprs)
    }
}

/// Why views cannot be written.
const NOT_ONE_TABLE: &str =
    "Views that do not select from a single table or view are not automatically updatable.";
const NOTHING_WRITTEN: &str =
    "Views that have no updatable columns are not automatically updatable.";

/// The SELECT of a query whose rows are those of its FROM that WHERE lets through.
///
/// # Errors
/// Why the query is another one.
fn simple_select(query: &ast::Query) -> std::result::Result<&ast::Select, &'static str> {
    let select = match &*query.body {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::SetOperation { .. } => {
            return Err(
                "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.",
            );
        }
        ast::SetExpr::Query(inner) if query.limit_clause.is_none() => return simple_select(inner),
        _ => return Err(NOT_ONE_TABLE),
    };
    let groups = match &select.group_by {
        ast::GroupByExpr::All(_) => true,
        ast::GroupByExpr::Expressions(exprs, modifiers) => {
            !exprs.is_empty() || !modifiers.is_empty()
        }
    };
    let refused = [
        (select.distinct.is_some(), "Views containing DISTINCT are not automatically updatable."),
        (groups, "Views containing GROUP BY are not automatically updatable."),
        (select.having.is_some(), "Views containing HAVING are not automatically updatable."),
        (query.with.is_some(), "Views containing WITH are not automatically updatable."),
        (
            query.limit_clause.is_some() || query.fetch.is_some(),
            "Views containing LIMIT or OFFSET are not automatically updatable.",
        ),
    ];
    match refused.iter().find(|(is_met, _)| *is_met) {
        Some((_, reason)) => Err(reason),
        None => Ok(select),
    }
}

/// Why a view cannot be written in whose select list these calls were met.
fn refused_calls(level: &Level) -> Option<String> {
    let met = [
        (level.aggregates.is_empty(), "aggregate functions"),
        (level.windows.is_empty(), "window functions"),
        (level.series.is_empty(), "set-returning functions"),
    ];
    let (_, what) = met.iter().find(|(is_empty, _)| !is_empty)?;
    Some(format!("Views that return {what} are not automatically updatable."))
}

/// The one table or view that a SELECT reads.
fn only_relation(select: &ast::Select) -> Option<(&ast::ObjectName, Option<&ast::TableAlias>)> {
    let [ast::TableWithJoins { relation, joins }] = select.from.as_slice() else { return None };
    match relation {
        ast::TableFactor::Table { name, alias, args: None, sample: None, .. }
            if joins.is_empty() =>
        {
            Some((name, alias.as_ref()))
        }
        _ => None,
    }
}

/// The columns of a view over the target `inner`, and which of them can be written.
fn view_columns(view: &WrittenView, items: &[Item], inner: &Target) -> Vec<ViewColumn> {
    let column = |(at, item): (usize, &Item)| {
        let name = view.names.get(at).unwrap_or(&item.name).clone();
        let expr = &item.bound.expr;
        // What the view below computes, it refuses itself.
        let below = inner.view.as_ref().and_then(|below| {
            let at = inner.relation.columns.iter().position(|column| column.expr == *expr)?;
            below.columns.get(at).map(|column| column.written.clone())
        });
        let own = || expr.as_column().and_then(|id| inner.ids.iter().position(|own| *own == id));
        let fixed = || Fixed { view: view.full.name.clone(), column: name.clone() };
        let written = below.unwrap_or_else(|| own().ok_or_else(fixed));
        ViewColumn { name, written }
    };
    items.iter().enumerate().map(column).collect()
}

/// The view as a relation in sight, its columns as expressions over the table below.
fn view_relation(
    full: &RelationName,
    columns: &[ViewColumn],
    items: Vec<Item>,
    access: usize,
) -> ScopeRelation {
    let column = |(ordinal, (column, item)): (usize, (&ViewColumn, Item))| ScopeColumn {
        name: column.name.clone(),
        expr: item.bound.expr,
        relation: full.name.clone(),
        source: Some(Source { access, ordinal }),
    };
    let columns = columns.iter().zip(items).enumerate().map(column).collect();
    ScopeRelation {
        name: full.name.clone(),
        schema: Some(full.schema_name().to_owned()),
        columns,
        system: Vec::new(),
        table: None,
        whole: Whole::Row,
        at: None,
    }
}
