//! Binds what changes nothing here (`parse::effectless`): what it names must exist, as in
//! PostgreSQL.

use sqlparser::ast;
use types::{Result, SqlState};

use super::index_terms::bare;
use super::name::{ident_at, object_parts};
use super::scope::Clause;
use super::{Binder, fail, unsupported};
use crate::catalog::{Relation, TableRef};
use crate::definition::TriggerFiring;
use crate::parse::{
    AlteredKind, EffectlessAction as Action, EffectlessTree, Statistics, Switched, folded,
};
use crate::statement::{
    AlterAction, AlterTable, Effectless, Extent, IfMissing, Privilege, Privileges, Skipped,
    Statement,
};

/// The only tablespaces that there are.
const TABLESPACES: [&str; 2] = ["pg_default", "pg_global"];

/// Storage parameters of PostgreSQL's tables and indexes; those of `autovacuum_` besides.
const PARAMETERS: [&str; 14] = [
    "autosummarize",
    "buffering",
    "check_option",
    "deduplicate_items",
    "fastupdate",
    "fillfactor",
    "gin_pending_list_limit",
    "log_autovacuum_min_duration",
    "pages_per_range",
    "parallel_workers",
    "security_barrier",
    "toast_tuple_target",
    "user_catalog_table",
    "vacuum_index_cleanup",
];

/// Columns of `pg_class` that are no more than hints for plans.
const HINTS: [&str; 3] = ["reltuples", "relpages", "relallvisible"];

/// The parameter that names the column by which loads sort the rows of each block.
const ORDER: &str = "order_by";

/// True for a storage parameter of PostgreSQL, which means nothing here.
pub(super) fn is_storage_parameter(name: &str) -> bool {
    let name = name.strip_prefix("toast.").unwrap_or(name);
    PARAMETERS.contains(&name) || name.starts_with("autovacuum_") || name == "vacuum_truncate"
}

/// 22023 for a storage parameter that PostgreSQL does not know, or a value that it refuses.
pub(super) fn check_parameter(ident: &ast::Ident, value: Option<&str>) -> Result<()> {
    let name = folded(ident);
    if !is_storage_parameter(&name) {
        let message = format!("unrecognized parameter \"{name}\"");
        return fail(SqlState::INVALID_PARAMETER, message, ident_at(ident));
    }
    if let ("fillfactor", Some(value)) = (name.as_str(), value) {
        let Ok(percent) = value.trim_matches('\'').parse::<i64>() else {
            let message = format!("invalid value for integer option \"fillfactor\": {value}");
            return fail(SqlState::INVALID_PARAMETER, message, ident_at(ident));
        };
        if !(10..=100).contains(&percent) {
            let message = format!("value {percent} out of bounds for option \"fillfactor\"");
            return fail(SqlState::INVALID_PARAMETER, message, ident_at(ident));
        }
    }
    Ok(())
}

/// 42704 for a tablespace that there is none of.
pub(super) fn check_tablespace(ident: &ast::Ident) -> Result<()> {
    let name = folded(ident);
    if TABLESPACES.contains(&name.as_str()) {
        Ok(())
    } else {
        let message = format!("tablespace \"{name}\" does not exist");
        fail(SqlState::UNDEFINED_OBJECT, message, ident_at(ident))
    }
}

/// A statement that does nothing.
pub(super) fn plain(command: &'static str) -> Effectless {
    let (apart, index, notices, rest) = (None, None, Vec::new(), None);
    Effectless { command, apart, index, notices, rest }
}

/// The most columns and expressions of CREATE STATISTICS.
const STATISTICS_MAX: usize = 8;

/// # Errors
/// 54011, 42601, 42P17 and 42701 for what PostgreSQL keeps no statistics of.
fn check_statistics(
    tree: &Statistics,
    columns: &[String],
    expressions: &[&ast::Expr],
) -> Result<()> {
    if tree.terms.len() > STATISTICS_MAX {
        let message = format!("cannot have more than {STATISTICS_MAX} columns in statistics");
        return fail(SqlState::TOO_MANY_COLUMNS, message, None);
    }
    let is_kind = |kind: &&String| matches!(kind.as_str(), "ndistinct" | "dependencies" | "mcv");
    if let Some(kind) = tree.kinds.iter().find(|kind| !is_kind(kind)) {
        let message = format!("unrecognized statistics kind \"{kind}\"");
        return fail(SqlState::SYNTAX_ERROR, message, None);
    }
    if let ([_], []) = (columns, expressions) {
        let message = "extended statistics require at least 2 columns";
        return fail(SqlState::INVALID_OBJECT_DEFINITION, message, None);
    }
    if let ([], [_], false) = (columns, expressions, tree.kinds.is_empty()) {
        let message = "when building statistics on a single expression, statistics kinds may \
                       not be specified";
        return fail(SqlState::SYNTAX_ERROR, message, None);
    }
    if (1..columns.len()).any(|at| columns[..at].contains(&columns[at])) {
        let message = "duplicate column name in statistics definition";
        return fail(SqlState::DUPLICATE_COLUMN, message, None);
    }
    if (1..expressions.len()).any(|at| expressions[..at].contains(&expressions[at])) {
        let message = "duplicate expression in statistics definition";
        return fail(SqlState::DUPLICATE_COLUMN, message, None);
    }
    Ok(())
}

impl Binder<'_> {
    pub(super) fn bind_effectless(&mut self, tree: &EffectlessTree) -> Result<Statement> {
        Ok(Statement::Effectless(match tree {
            EffectlessTree::Alter { .. } => return self.bind_effectless_alter(tree),
            EffectlessTree::Maintain { command, apart, table, index } => {
                let table = table.as_ref().map(|name| self.table_named(name)).transpose()?;
                let ident = index.as_ref().and_then(|index| index.0.last()?.as_ident());
                let index = match (&table, index) {
                    // An index of CLUSTER is where its table is.
                    (Some(table), _) => {
                        ident.map(|ident| check_index(table, ident)).transpose()?;
                        None
                    }
                    (None, Some(name)) => Some((self.relation_name(name)?, IfMissing::Fail)),
                    (None, None) => None,
                };
                Effectless { index, apart: *apart, ..plain(command) }
            }
            EffectlessTree::ReindexSchema(name) => {
                if !self.catalog.has_schema(name) {
                    let message = format!("schema \"{name}\" does not exist");
                    return fail(SqlState::UNDEFINED_SCHEMA, message, None);
                }
                Effectless { apart: Some("REINDEX SCHEMA"), ..plain("REINDEX") }
            }
            EffectlessTree::Statistics(tree) => self.bind_statistics(tree)?,
        }))
    }

    /// CREATE STATISTICS, of which nothing is kept.
    fn bind_statistics(&mut self, tree: &Statistics) -> Result<Effectless> {
        let table = self.table_named(&tree.table)?;
        let (mut columns, mut expressions): (Vec<String>, Vec<&ast::Expr>) = Default::default();
        for term in &tree.terms {
            match bare(term) {
                ast::Expr::Identifier(column) => {
                    column_of(&table, column)?;
                    columns.push(folded(column));
                }
                expression => expressions.push(expression),
            }
        }
        check_statistics(tree, &columns, &expressions)?;
        let message = match tree.name.as_str() {
            "" => "statistics are those that queries gather: nothing is kept".to_owned(),
            name => format!(
                "statistics object \"{name}\" is not kept: statistics are those that queries \
                 gather"
            ),
        };
        let notices = vec![(SqlState::SUCCESSFUL_COMPLETION, message)];
        Ok(Effectless { notices, ..plain("CREATE STATISTICS") })
    }

    /// UPDATE of what `pg_class` tells the planner of PostgreSQL about sizes, which are those of
    /// the storage here; None for other statements.
    pub(super) fn bind_hints(&mut self, update: &ast::Update) -> Result<Option<Statement>> {
        let ast::TableFactor::Table { name, alias, args: None, .. } = &update.table.relation else {
            return Ok(None);
        };
        let is_hint = |assignment: &ast::Assignment| match &assignment.target {
            ast::AssignmentTarget::ColumnName(name) => {
                object_parts(name).is_ok_and(|parts| HINTS.contains(&parts.concat().as_str()))
            }
            ast::AssignmentTarget::Tuple(_) => false,
        };
        let is_class = object_parts(name)?.last().is_some_and(|name| name == "pg_class");
        if !is_class || !update.assignments.iter().all(is_hint) || update.returning.is_some() {
            return Ok(None);
        }
        let full = self.relation_name(name)?;
        if full.schema.as_deref() != Some("pg_catalog") {
            return Ok(None);
        }
        self.require_any(&full.key(), Privileges::of(&[Privilege::Update]), Extent::Whole);
        self.in_level(Clause::From, |binder| {
            let (plan, scope) = binder.bind_relation(name, alias.as_ref())?;
            binder.level()?.scope = scope;
            binder.selected_rows(plan, update.selection.as_ref())
        })?;
        let message = "sizes of relations are those of the storage: nothing is kept".to_owned();
        let notices = vec![(SqlState::SUCCESSFUL_COMPLETION, message)];
        let effectless = Effectless { notices, ..plain("UPDATE 0") };
        Ok(Some(Statement::Effectless(effectless)))
    }

    /// ALTER TABLE, INDEX or VIEW with actions without effect.
    fn bind_effectless_alter(&mut self, tree: &EffectlessTree) -> Result<Statement> {
        let EffectlessTree::Alter { kind, name, if_missing, actions, rest } = tree else {
            return Err(types::Error::internal("ALTER expected"));
        };

        let (command, index) = match kind {
            AlteredKind::Table => {
                let full = self.relation_name(name)?;
                let found = self.catalog.relation(full.schema.as_deref(), &full.name);
                if found.is_none() && *if_missing == IfMissing::Skip {
                    return Ok(missing(name, "ALTER TABLE"));
                }
                // As PostgreSQL has it, ALTER TABLE changes views, too.
                if !matches!(found, Some(Relation::View { .. })) {
                    self.check_actions(name, actions)?;
                }
                ("ALTER TABLE", None)
            }
            AlteredKind::View => {
                let full = self.relation_name(name)?;
                match self.catalog.relation(full.schema.as_deref(), &full.name) {
                    Some(Relation::View { .. }) => {}
                    None if *if_missing == IfMissing::Skip => {
                        return Ok(missing(name, "ALTER VIEW"));
                    }
                    _ => drop(self.table_named(name)?),
                }
                check_parameters(actions, *kind)?;
                ("ALTER VIEW", None)
            }
            AlteredKind::MaterializedView => {
                let command = "ALTER MATERIALIZED VIEW";
                let full = self.relation_name(name)?;
                let found = self.catalog.relation(full.schema.as_deref(), &full.name);
                if found.is_none() && *if_missing == IfMissing::Skip {
                    return Ok(missing(name, command));
                }
                self.materialized_named(name)?;
                self.check_actions(name, actions)?;
                (command, None)
            }
            AlteredKind::Index => {
                check_parameters(actions, *kind)?;
                ("ALTER INDEX", Some((self.relation_name(name)?, *if_missing)))
            }
        };
        let has_rows = matches!(kind, AlteredKind::Table | AlteredKind::MaterializedView);
        let order = order_in(actions).filter(|_| has_rows);
        let switches = switches_in(actions);
        let rest = match (rest, order) {
            (Some(_), _) if !switches.is_empty() => {
                return unsupported("ENABLE or DISABLE TRIGGER beside other actions", None);
            }
            (None, None) if !switches.is_empty() => {
                Some(Box::new(self.bind_switches(name, &switches)?))
            }
            (None, Some((ident, value))) => {
                Some(Box::new(self.bind_block_order(name, ident, value)?))
            }
            (Some(_), Some((ident, _))) => {
                return unsupported("SET (order_by) beside other actions", ident_at(ident));
            }
            (Some(tree), None) => Some(Box::new(self.bind_tree(tree, "")?)),
            (None, None) => None,
        };
        Ok(Statement::Effectless(Effectless { index, rest, ..plain(command) }))
    }

    /// The order of a table's blocks that SET says; RESET without a value.
    fn bind_block_order(
        &mut self,
        name: &ast::ObjectName,
        ident: &ast::Ident,
        value: Option<&str>,
    ) -> Result<Statement> {
        let table = self.table_named(name)?;
        let wanted = value.map(|value| match value.strip_prefix(['\'', '"']) {
            Some(quoted) => quoted[..quoted.len() - 1].to_owned(),
            None => value.to_lowercase(),
        });
        let place = |wanted: &String| table.columns().iter().position(|c| c.name == *wanted);
        let column = wanted.as_ref().map(|wanted| {
            place(wanted).map_or_else(
                || {
                    let message =
                        format!("column \"{wanted}\" named in option \"order_by\" does not exist");
                    fail(SqlState::UNDEFINED_COLUMN, message, ident_at(ident))
                },
                Ok,
            )
        });
        let actions = vec![AlterAction::SetOrder { column: column.transpose()? }];
        Ok(Statement::AlterTable(Some(Box::new(AlterTable {
            table,
            actions,
            rewrite: None,
            partitions: Vec::new(),
        }))))
    }

    /// Looks up what actions of ALTER TABLE name.
    fn check_actions(&self, name: &ast::ObjectName, actions: &[Action]) -> Result<()> {
        let table = self.table_named(name)?;
        let of = table.bare_name();
        check_parameters(actions, AlteredKind::Table)?;
        for action in actions {
            match action {
                Action::OfIndex(ident) => check_index(&table, ident)?,
                Action::OfColumn(ident) => column_of(&table, ident)?,
                Action::Tablespace(ident) => check_tablespace(ident)?,
                Action::Rule(ident) => {
                    let message =
                        format!("rule \"{}\" for relation \"{of}\" does not exist", folded(ident));
                    return fail(SqlState::UNDEFINED_OBJECT, message, ident_at(ident));
                }
                Action::Triggers(..) | Action::Plain | Action::Parameters(_) => {}
            }
        }
        Ok(())
    }
}

/// Triggers that are switched.
fn switches_in(actions: &[Action]) -> Vec<(Switched, TriggerFiring)> {
    let switch = |action: &Action| match action {
        Action::Triggers(switched, firing) => Some((switched.clone(), *firing)),
        _ => None,
    };
    actions.iter().filter_map(switch).collect()
}

/// The last parameter `order_by`, the only one that means something here, and its value.
fn order_in(actions: &[Action]) -> Option<(&ast::Ident, Option<&str>)> {
    let lists = actions.iter().filter_map(|action| match action {
        Action::Parameters(parameters) => Some(parameters),
        _ => None,
    });
    let mut all = lists.flatten().filter(|(name, _)| folded(name) == ORDER);
    all.next_back().map(|(name, value)| (name, value.as_deref()))
}

fn check_parameters(actions: &[Action], kind: AlteredKind) -> Result<()> {
    let is_own = |name: &ast::Ident| kind == AlteredKind::Table && folded(name) == ORDER;
    for action in actions {
        match action {
            Action::Parameters(parameters) => {
                for (name, value) in parameters.iter().filter(|(name, _)| !is_own(name)) {
                    check_parameter(name, value.as_deref())?;
                }
            }
            Action::Tablespace(ident) => check_tablespace(ident)?,
            _ => {}
        }
    }
    Ok(())
}

/// Notice of IF EXISTS.
fn missing(name: &ast::ObjectName, command: &'static str) -> Statement {
    let name = object_parts(name).unwrap_or_default().join(".");
    let message = format!("relation \"{name}\" does not exist, skipping");
    Statement::Skipped(Skipped {
        command,
        notices: vec![(SqlState::SUCCESSFUL_COMPLETION, message)],
    })
}

fn column_of(table: &TableRef, ident: &ast::Ident) -> Result<()> {
    let name = folded(ident);
    if table.columns().iter().any(|column| column.name == name) {
        Ok(())
    } else {
        let message =
            format!("column \"{name}\" of relation \"{}\" does not exist", table.bare_name());
        fail(SqlState::UNDEFINED_COLUMN, message, ident_at(ident))
    }
}

fn check_index(table: &TableRef, ident: &ast::Ident) -> Result<()> {
    let name = folded(ident);
    let is_there = table.indexes().iter().any(|index| index.name == name)
        || table.keys().iter().any(|key| key.name == name);
    if is_there {
        Ok(())
    } else {
        let message =
            format!("index \"{name}\" for table \"{}\" does not exist", table.bare_name());
        fail(SqlState::UNDEFINED_OBJECT, message, ident_at(ident))
    }
}
