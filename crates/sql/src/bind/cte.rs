//! WITH and WITH RECURSIVE.

use std::collections::HashSet;
use std::sync::Arc;

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::name::{ident_at, renamed};
use super::recursion::{check_term, in_order, reads};
use super::scope::{ScopeColumn, ScopeRelation, Whole};
use super::search::{added_count, taken_clauses};
use super::types::{Candidate, Context, common_type};
use super::{Binder, BoundColumn, BoundQuery, Unknowns, fail, unsupported};
use crate::algebra::{ColumnId, CteId, Duplicates, Expr, Place, Plan};
use crate::parse::{RecursionClauses, folded};

/// A CTE in sight.
#[derive(Clone, Debug)]
pub(super) struct CteEntry {
    pub(super) name: String,
    id: CteId,
    columns: Vec<(String, DataType)>,
    /// Columns of its definition, for their origins; empty for changes of rows and
    /// recursive ones.
    defined: Vec<ColumnId>,
    /// Columns of the non-recursive term, or of RETURNING, for their collations.
    sources: Vec<ColumnId>,
    use_: CteUse,
    /// Columns at the end that `*` does not show while the recursive term is bound.
    added: usize,
}

/// State of a CTE: may it be read now?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CteUse {
    Free,
    /// Its non-recursive term is being bound.
    Forbidden,
    /// Its recursive term is being bound.
    Recursive,
    /// The CTE changes rows and returns none.
    WithoutRows,
}

impl CteEntry {
    pub(super) fn new(name: &str, id: CteId, columns: Vec<(String, DataType)>) -> Self {
        let (defined, sources) = (Vec::new(), Vec::new());
        let name = name.to_owned();
        Self { name, id, columns, defined, sources, use_: CteUse::Free, added: 0 }
    }

    /// The same, with the columns that its own have the collations of.
    pub(super) fn with_sources(self, sources: Vec<ColumnId>) -> Self {
        Self { sources, ..self }
    }

    /// Entry of a change without RETURNING.
    pub(super) fn without_rows(name: &str, id: CteId) -> Self {
        Self { use_: CteUse::WithoutRows, ..Self::new(name, id, Vec::new()) }
    }
}

/// A bound CTE that is yet to be put around the query that reads it.
#[derive(Clone)]
pub(super) struct Definition {
    cte: CteId,
    name: Arc<str>,
    kind: DefinitionKind,
}

#[derive(Clone)]
enum DefinitionKind {
    Plain(Plan),
    Recursive { base: Plan, step: Plan, duplicates: Duplicates },
}

impl Definition {
    /// Definition by `plan`, under `name`.
    pub(super) fn plain(cte: CteId, name: &str, plan: Plan) -> Self {
        Self { cte, name: name.into(), kind: DefinitionKind::Plain(plan) }
    }

    /// The definition around what reads it.
    pub(super) fn around(self, body: Plan) -> Plan {
        let (cte, name, body) = (self.cte, self.name, Box::new(body));
        match self.kind {
            DefinitionKind::Plain(definition) => {
                Plan::With { cte, name, definition: Box::new(definition), body }
            }
            DefinitionKind::Recursive { base, step, duplicates } => Plan::RecursiveWith {
                cte,
                name,
                duplicates,
                base: Box::new(base),
                step: Box::new(step),
                body,
            },
        }
    }
}

impl Binder<'_> {
    /// Binds the CTEs of a query and brings them in sight; the caller takes them out again.
    pub(super) fn bind_with(&mut self, with: &ast::With) -> Result<Vec<Definition>> {
        let mut names = HashSet::new();
        let mut definitions = Vec::new();
        for cte in in_order(with)? {
            let name = folded(&cte.alias.name);
            if !names.insert(name.clone()) {
                let message = format!("WITH query name \"{name}\" specified more than once");
                return fail(SqlState::DUPLICATE_ALIAS, message, ident_at(&cte.alias.name));
            }
            if let Some(change) = self.bind_change(with, cte, &name, &definitions)? {
                self.note_definition(&change);
                definitions.push(change);
                continue;
            }
            let taken = taken_clauses(cte)?;
            let (cte, clauses) = match &taken {
                Some((own, clauses)) => (own, Some(clauses)),
                None => (cte, None),
            };
            let recursive = with.recursive && reads(&cte.query, &name);
            if clauses.is_some() && !recursive {
                return fail(SqlState::SYNTAX_ERROR, "WITH query is not recursive", None);
            }
            let definition = match (recursive, self.has_parts(with)) {
                (true, true) => {
                    let what = "a recursive query beside changes or locks of rows";
                    return unsupported(what, ident_at(&cte.alias.name));
                }
                (true, false) => {
                    let (inner, definition) = self.bind_recursive(cte, &name, clauses)?;
                    definitions.extend(inner);
                    definition
                }
                (false, true) => self.bind_part(cte, &name, &definitions)?,
                (false, false) => self.bind_plain(cte, &name)?,
            };
            self.note_definition(&definition);
            definitions.push(definition);
        }
        Ok(definitions)
    }

    /// Queries inside of the statement that lock rows may read it.
    fn note_definition(&mut self, definition: &Definition) {
        if self.changes.locks_inside {
            self.changes.known.insert(definition.cte, definition.clone());
        }
    }

    fn bind_plain(&mut self, cte: &ast::Cte, name: &str) -> Result<Definition> {
        let bound = self.bind_query(&cte.query, Unknowns::Text)?;
        let (plan, columns) = self.exact(bound);
        let defined = columns.iter().map(|column| column.id).collect();
        let columns = columns.into_iter().map(|column| (column.name, column.ty)).collect();
        let id = self.fresh_cte();
        let columns = renamed(columns, &cte.alias)?;
        self.ctes.push(CteEntry { defined, ..CteEntry::new(name, id, columns) });
        Ok(Definition::plain(id, name, plan))
    }

    /// The recursive query called `name`, behind the queries of its own WITH.
    fn bind_recursive(
        &mut self,
        cte: &ast::Cte,
        name: &str,
        clauses: Option<&RecursionClauses>,
    ) -> Result<(Vec<Definition>, Definition)> {
        let at = ident_at(&cte.alias.name);
        let query = &*cte.query;
        let (left, right, duplicates) = recursive_parts(query, name, at)?;
        check_term(right, name)?;
        let outer = self.ctes.len();
        let inner = match &query.with {
            Some(with) => self.bind_with(with)?,
            None => Vec::new(),
        };
        let own = self.ctes.len();
        let id = self.fresh_cte();
        let entry = CteEntry::new(name, id, Vec::new());
        self.ctes.push(CteEntry { use_: CteUse::Forbidden, ..entry });
        let wrapped = match clauses {
            Some(clauses) => Some(self.with_clauses(cte, clauses, left, right)?),
            None => None,
        };
        let (left, right) = wrapped.as_ref().map_or((left, right), |(left, right)| (left, right));
        let base = self.bind_set_expr(left, Unknowns::Text)?;
        let base = self.stored(base)?;
        let (base, columns) = self.exact(base);
        let types: Vec<DataType> = columns.iter().map(|column| column.ty).collect();
        let has_key = |column: &BoundColumn| self.has_key(&Expr::column(column.id, column.ty));
        if duplicates == Duplicates::Remove && columns.iter().any(has_key) {
            let what =
                "UNION of jsonb, or under a nondeterministic collation, in a recursive query";
            return unsupported(what, at);
        }
        let sources: Vec<_> = columns.iter().map(|column| column.id).collect();
        let names = columns.into_iter().map(|column| (column.name, column.ty)).collect();
        let columns = renamed(names, &cte.alias)?;
        if let Some(entry) = self.ctes.get_mut(own) {
            entry.columns.clone_from(&columns);
            entry.sources.clone_from(&sources);
            entry.added = clauses.map_or(0, added_count);
            entry.use_ = CteUse::Recursive;
        }
        let step = self.bind_set_expr(right, Unknowns::Keep)?;
        let step = self.recursive_step(step, &types, name, at)?;
        let (step, outcome) = self.exact(step);
        self.check_recursive_collations(name, &sources, &outcome)?;
        if let Some(entry) = self.ctes.get_mut(own) {
            entry.use_ = CteUse::Free;
        }
        // Who reads the recursive query does not see what stands inside of it.
        self.ctes.drain(outer..own);
        let kind = DefinitionKind::Recursive { base, step, duplicates };
        Ok((inner, Definition { cte: id, name: name.into(), kind }))
    }

    /// The recursive term with the types of the other one, to which it must fit without widening
    /// it.
    fn recursive_step(
        &mut self,
        step: BoundQuery,
        types: &[DataType],
        name: &str,
        at: Place,
    ) -> Result<BoundQuery> {
        if step.columns.len() != types.len() {
            let message = "each UNION query must have the same number of columns";
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        for (ordinal, (column, ty)) in step.columns.iter().zip(types).enumerate() {
            let candidates = [*ty, column.ty].map(|ty| Candidate { ty });
            let overall = common_type(&candidates).unwrap_or(column.ty);
            let nested = matches!(ty, DataType::Array(_) | DataType::Record(_))
                && std::mem::discriminant(&column.ty) == std::mem::discriminant(ty);
            // Digits of numbers are those of each value.
            let numbers = *ty == DataType::NUMERIC && overall.is_numeric();
            let fits = overall == *ty || numbers || nested;
            if !fits {
                let message = format!(
                    "recursive query \"{name}\" column {} has type {ty} in non-recursive term but \
                     type {overall} overall",
                    ordinal + 1
                );
                let error = types::Error::new(SqlState::DATATYPE_MISMATCH, message)
                    .with_hint("Cast the output of the non-recursive term to the correct type.");
                return Err(super::place(error, column.at.or(at)));
            }
        }
        self.coerce_columns(step, types, Context::Assignment)
    }

    /// 42P21 where the recursive term has another collation than the first one.
    fn check_recursive_collations(
        &mut self,
        name: &str,
        sources: &[ColumnId],
        step: &[BoundColumn],
    ) -> Result<()> {
        for (ordinal, (source, column)) in sources.iter().zip(step).enumerate() {
            let pair = [*source, column.id].map(|id| Expr::column(id, column.ty));
            let [Some(first), Some(overall)] = self.recursive_collations(&pair)? else { continue };
            if first == overall {
                continue;
            }
            let (first, overall) = (self.collation_shown(first), self.collation_shown(overall));
            let message = format!(
                "recursive query \"{name}\" column {} has collation \"{first}\" in \
                 non-recursive term but collation \"{overall}\" overall",
                ordinal + 1
            );
            let error = types::Error::new(SqlState::COLLATION_MISMATCH, message).with_hint(
                "Use the COLLATE clause to set the collation of the non-recursive term.",
            );
            return Err(super::place(error, column.at));
        }
        Ok(())
    }

    /// A read of the CTE `name`, when one is in sight.
    pub(super) fn cte_scan(
        &mut self,
        name: &str,
        at: Place,
    ) -> Result<Option<(Plan, ScopeRelation)>> {
        let Some(entry) = self.ctes.iter().rev().find(|entry| entry.name == name).cloned() else {
            return Ok(None);
        };
        if entry.use_ == CteUse::Forbidden {
            let message = format!(
                "recursive reference to query \"{name}\" must not appear within its non-recursive \
                 term"
            );
            return fail(SqlState::INVALID_RECURSION, message, at);
        }
        if entry.use_ == CteUse::WithoutRows {
            let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
            return fail(SqlState::FEATURE_NOT_SUPPORTED, message, at);
        }
        let recursive = entry.use_ == CteUse::Recursive;
        self.level()?.reads_itself |= recursive;
        let columns: Vec<_> = entry.columns.iter().map(|(_, ty)| (self.fresh(), *ty)).collect();
        if recursive {
            let added = columns.iter().rev().take(entry.added).map(|(id, _)| *id);
            self.level()?.hidden.extend(added);
        }
        for ((id, _), defined) in columns.iter().zip(&entry.defined) {
            self.copy_origin(*defined, *id);
        }
        for ((id, ty), source) in columns.iter().zip(&entry.sources) {
            self.note_collation(*id, &Expr::column(*source, *ty))?;
        }
        let scope_columns = entry
            .columns
            .iter()
            .zip(&columns)
            .map(|((column, _), (id, ty))| ScopeColumn {
                name: column.clone(),
                expr: Expr::column(*id, *ty),
                relation: name.to_owned(),
                source: None,
            })
            .collect();
        let relation = ScopeRelation {
            name: name.to_owned(),
            schema: None,
            columns: scope_columns,
            system: Vec::new(),
            table: None,
            whole: Whole::Row,
            at,
        };
        Ok(Some((Plan::CteScan { cte: entry.id, columns, name: name.into() }, relation)))
    }
}

/// The two terms of `base UNION [ALL] step`.
fn recursive_parts<'q>(
    query: &'q ast::Query,
    name: &str,
    at: Place,
) -> Result<(&'q ast::SetExpr, &'q ast::SetExpr, Duplicates)> {
    if query.order_by.is_some() {
        return unsupported("ORDER BY in a recursive query", at);
    }
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return unsupported("LIMIT in a recursive query", at);
    }
    let ast::SetExpr::SetOperation { op: ast::SetOperator::Union, set_quantifier, left, right } =
        &*query.body
    else {
        let message = format!(
            "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] \
             recursive-term"
        );
        return fail(SqlState::INVALID_RECURSION, message, at);
    };
    let duplicates = match set_quantifier {
        ast::SetQuantifier::All => Duplicates::Keep,
        ast::SetQuantifier::None | ast::SetQuantifier::Distinct => Duplicates::Remove,
        _ => return unsupported("UNION BY NAME", at),
    };
    Ok((left, right, duplicates))
}
