//! Meaning of names: the relations of FROM, level by level.

use sqlparser::ast;
use types::{DataType, Result, SqlState};

use super::name::{ident_at, refuse_reserved};
use super::{Aliases, Binder, Bound, fail};
use crate::algebra::{
    AggregateCall, ColumnId, Derived, Expr, ExprKind, FrameUnits, Place, SeriesFunction, WindowCall,
};
use crate::catalog::{NameConflict, TableRef};
use crate::parse::folded;

/// A column that a name can mean.
#[derive(Clone, Debug)]
pub(super) struct ScopeColumn {
    pub(super) name: String,
    /// A column; for one merged by USING possibly a cast or coalesce of two.
    pub(super) expr: Expr,
    /// The relation it came from, for messages; empty for merged columns.
    pub(super) relation: String,
    /// Right and column that reading it needs, if it is a column of a table or view.
    pub(super) source: Option<Source>,
}

/// A column of a relation that rights are about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// Position of what the statement needs of the relation.
    pub(super) access: usize,
    pub(super) ordinal: usize,
}

/// A relation that qualifies column names.
#[derive(Clone, Debug)]
pub(super) struct ScopeRelation {
    pub(super) name: String,
    /// The schema, for names like `public.t.a`; None for an alias, and for what has none.
    pub(super) schema: Option<String>,
    pub(super) columns: Vec<ScopeColumn>,
    /// Columns of the system's rows that `*` does not show: the number of their table, and more.
    pub(super) system: Vec<ScopeColumn>,
    /// The table behind it, whose columns are the first of `columns`, by ordinal.
    pub(super) table: Option<TableRef>,
    pub(super) whole: Whole,
    pub(super) at: Place,
}

impl ScopeRelation {
    /// The names of a row's fields: those of the table behind it, whatever an alias calls them.
    pub(super) fn field_names(&self) -> Vec<String> {
        let own = self.table.as_ref().map(|table| table.columns()).unwrap_or_default();
        let named = self.columns.iter().enumerate();
        let name = |(at, column): (usize, &ScopeColumn)| {
            own.get(at).map_or_else(|| column.name.clone(), |own| own.name.clone())
        };
        named.map(name).collect()
    }
}

/// Meaning of the bare name of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// A row.
    Row,
    /// A row, or none: an outer join may have found nothing.
    OptionalRow,
    /// The only column's value, of a function of single values.
    Value,
}

/// The relations in sight, and the columns that names without qualifier mean, in the order of `*`.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) relations: Vec<ScopeRelation>,
    pub(super) columns: Vec<ScopeColumn>,
}

/// The clause being bound: which of aggregates, windows and set-returning functions may stand in
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clause {
    From,
    JoinOn,
    Where,
    GroupBy,
    Having,
    Select,
    OrderBy,
    DistinctOn,
    Limit,
    Values,
    Default,
    Check,
    /// A condition of a policy.
    Policy,
    /// WHEN of a trigger.
    When,
    Generated,
    IndexExpression,
    IndexPredicate,
    Update,
    Returning,
    Merge,
    Execute,
    Using,
    /// FILTER of an aggregate.
    Filter,
    /// The VALUES list of an INSERT of one row, which is bound like a select list.
    InsertRow,
    /// A bound of a window's frame.
    Frame(FrameUnits),
}

impl Clause {
    /// True for expressions that are kept with a definition, and run where no session is.
    pub(super) fn is_kept(self) -> bool {
        matches!(
            self,
            Self::Default
                | Self::Check
                | Self::When
                | Self::Generated
                | Self::IndexExpression
                | Self::IndexPredicate
        )
    }

    /// As PostgreSQL names it in errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::From => "functions in FROM",
            Self::JoinOn => "JOIN conditions",
            Self::Where => "WHERE",
            Self::GroupBy => "GROUP BY",
            Self::Having => "HAVING",
            Self::Select => "SELECT",
            Self::OrderBy => "ORDER BY",
            Self::DistinctOn => "DISTINCT ON",
            Self::Limit => "LIMIT",
            Self::Values => "VALUES",
            Self::Default => "DEFAULT expressions",
            Self::Check => "check constraints",
            Self::Policy => "policy expressions",
            Self::When => "trigger WHEN conditions",
            Self::Generated => "column generation expressions",
            Self::IndexExpression => "index expressions",
            Self::IndexPredicate => "index predicates",
            Self::Update => "UPDATE",
            Self::Returning => "RETURNING",
            Self::Merge => "MERGE WHEN conditions",
            Self::Execute => "EXECUTE parameters",
            Self::Using => "transform expressions",
            Self::Filter => "FILTER",
            Self::InsertRow => "VALUES",
            Self::Frame(FrameUnits::Rows) => "window ROWS",
            Self::Frame(FrameUnits::Range) => "window RANGE",
            Self::Frame(FrameUnits::Groups) => "window GROUPS",
        }
    }

    /// The word of the frame whose bound is being bound; None in other clauses.
    pub(super) fn frame_name(self) -> Option<&'static str> {
        match self {
            Self::Frame(_) => self.name().strip_prefix("window "),
            _ => None,
        }
    }

    pub(super) fn takes_aggregates(self) -> bool {
        matches!(self, Self::Select | Self::Having | Self::OrderBy | Self::DistinctOn)
    }

    pub(super) fn takes_windows(self) -> bool {
        matches!(self, Self::Select | Self::OrderBy | Self::DistinctOn)
    }

    /// True where a function that gives rows may stand.
    pub(super) fn takes_series(self) -> bool {
        self.takes_windows() || matches!(self, Self::GroupBy | Self::InsertRow)
    }
}

/// A call of a function that gives rows, in a select list.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// The column that stands for it.
    pub(super) id: ColumnId,
    pub(super) ty: DataType,
    pub(super) function: SeriesFunction,
    pub(super) arguments: Vec<Expr>,
}

/// One query level while it is being bound.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) scope: Scope,
    pub(super) clause: Clause,
    /// Aggregates met in the level's expressions, with the columns that stand for them.
    pub(super) aggregates: Vec<(ColumnId, AggregateCall)>,
    /// Direct arguments of ordered-set aggregates, which are the same for all rows of a group.
    pub(super) direct: Vec<Expr>,
    pub(super) windows: Vec<(ColumnId, WindowCall)>,
    /// GROUPING(...) calls: the column that stands for the result, the arguments.
    pub(super) groupings: Vec<(ColumnId, Vec<Expr>, Place)>,
    /// Calls of functions that give rows outside FROM.
    pub(super) series: Vec<Series>,
    /// The place of each such call, also of those that another one stands for.
    pub(super) series_met: Vec<Place>,
    /// WINDOW name AS (...).
    pub(super) named_windows: Vec<(String, ast::WindowSpec)>,
    /// Every reference to a column of the level, in the order met.
    pub(super) references: Vec<(ColumnId, Place)>,
    /// True when GROUP BY has grouping sets: a conversion that no one wrote is then no key.
    pub(super) has_sets: bool,
    /// Columns that `*` does not show.
    pub(super) hidden: Vec<ColumnId>,
    /// True when FROM reads the recursive query whose term is being bound.
    pub(super) reads_itself: bool,
    /// Names that the select list gives and no column has, with what they stand for.
    pub(super) aliases: Vec<(String, ast::Expr)>,
}

impl Level {
    /// True when nothing but columns was met.
    pub(super) fn is_plain(&self) -> bool {
        self.aggregates.is_empty()
            && self.windows.is_empty()
            && self.groupings.is_empty()
            && self.series.is_empty()
    }

    pub(super) fn new(clause: Clause) -> Self {
        Self {
            scope: Scope::default(),
            clause,
            aggregates: Vec::new(),
            direct: Vec::new(),
            windows: Vec::new(),
            groupings: Vec::new(),
            series: Vec::new(),
            series_met: Vec::new(),
            named_windows: Vec::new(),
            references: Vec::new(),
            has_sets: false,
            hidden: Vec::new(),
            reads_itself: false,
            aliases: Vec::new(),
        }
    }
}

impl Scope {
    /// A scope of one relation.
    pub(super) fn of(relation: ScopeRelation) -> Self {
        Self { columns: relation.columns.clone(), relations: vec![relation] }
    }

    /// Adds `other`, whose relation names must differ from those here.
    pub(super) fn extend(&mut self, other: Self) -> Result<()> {
        for relation in &other.relations {
            let same = |known: &ScopeRelation| {
                known.name == relation.name
                    && (known.schema.is_none()
                        || relation.schema.is_none()
                        || known.schema == relation.schema)
            };
            if !relation.name.is_empty() && self.relations.iter().any(same) {
                let message = format!("table name \"{}\" specified more than once", relation.name);
                return fail(SqlState::DUPLICATE_ALIAS, message, relation.at);
            }
        }
        self.relations.extend(other.relations);
        self.columns.extend(other.columns);
        Ok(())
    }

    /// The rows of all relations may be missing: an outer join found none.
    pub(super) fn make_optional(&mut self) {
        for relation in self.relations.iter_mut().filter(|r| r.whole == Whole::Row) {
            relation.whole = Whole::OptionalRow;
        }
    }

    /// The relation called `name`.
    ///
    /// # Errors
    /// 42P09 when there are several, of different schemas.
    pub(super) fn relation(
        &self,
        schema: Option<&str>,
        name: &str,
        at: Place,
    ) -> Result<Option<&ScopeRelation>> {
        let schema = schema.map(|schema| if schema == "main" { "public" } else { schema });
        let fits = |relation: &&ScopeRelation| {
            relation.name == name && schema.is_none_or(|_| relation.schema.as_deref() == schema)
        };
        let mut all = self.relations.iter().filter(fits);
        match (all.next(), all.next()) {
            (Some(_), Some(_)) => {
                let message = format!("table reference \"{name}\" is ambiguous");
                fail(SqlState::AMBIGUOUS_ALIAS, message, at)
            }
            (found, _) => Ok(found),
        }
    }
}

/// The only column called `name` among `columns`; 42702 when there are several.
pub(super) fn find_column<'a>(
    columns: &'a [ScopeColumn],
    name: &str,
    at: Place,
) -> Result<Option<&'a ScopeColumn>> {
    let mut found = columns.iter().filter(|column| column.name == name);
    let first = found.next();
    if found.next().is_some() {
        let message = format!("column reference \"{name}\" is ambiguous");
        return fail(SqlState::AMBIGUOUS_COLUMN, message, at);
    }
    Ok(first)
}

impl Binder<'_> {
    /// The innermost level, in which the current clause is bound.
    pub(super) fn level(&mut self) -> Result<&mut Level> {
        self.levels.last_mut().ok_or_else(|| types::Error::internal("no query level"))
    }

    /// Binds `work` with `clause` as the level's clause.
    pub(super) fn in_clause<T>(
        &mut self,
        clause: Clause,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.level()?.clause, clause);
        let result = work(self);
        self.level()?.clause = before;
        result
    }

    /// Binds `work` with `scope` in sight on this level, and puts back what was there.
    pub(super) fn in_scope<T>(
        &mut self,
        scope: Scope,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Scope)> {
        let before = std::mem::replace(&mut self.level()?.scope, scope);
        let result = work(self)?;
        let scope = std::mem::replace(&mut self.level()?.scope, before);
        Ok((result, scope))
    }

    /// A column name without qualifier, looked up from the innermost level outwards.
    pub(super) fn resolve_name(&mut self, ident: &ast::Ident) -> Result<Bound> {
        refuse_reserved(ident)?;
        let (name, at) = (folded(ident), ident_at(ident));
        match self.find_name(&name, at)? {
            Some(bound) => Ok(self.variable_before(&[&name], at)?.unwrap_or(bound)),
            None => {
                if let Some(variable) = self.variable(&[&name], at) {
                    return Ok(variable);
                }
                if let Some(row) = self.whole_row(None, &name, at)? {
                    return Ok(row);
                }
                if let Some(bound) = self.bind_alias(&name)? {
                    return Ok(bound);
                }
                let message = format!("column \"{name}\" does not exist");
                let mut error =
                    super::place(types::Error::new(SqlState::UNDEFINED_COLUMN, message), at);
                if let Some(hint) = self.similar_name(&name) {
                    error = error.with_hint(hint);
                }
                Err(error)
            }
        }
    }

    /// Keeps the names of a select list that are those of no column: a name that nothing else has
    /// means the expression, as in DuckDB. Until such a name was met they are only known to be
    /// there.
    pub(super) fn note_aliases(&mut self, items: &[ast::SelectItem]) -> Result<()> {
        if self.aliases != Aliases::Read {
            let gives =
                |item: &ast::SelectItem| matches!(item, ast::SelectItem::ExprWithAlias { .. });
            if items.iter().any(gives) {
                self.aliases = Aliases::Met;
            }
            return Ok(());
        }
        let level = self.level()?;
        for item in items {
            let ast::SelectItem::ExprWithAlias { expr, alias } = item else { continue };
            let name = folded(alias);
            if !level.scope.columns.iter().any(|column| column.name == name) {
                level.aliases.push((name, expr.clone()));
            }
        }
        Ok(())
    }

    /// The expression `name` in the select list of the innermost level; None when it is no name
    /// there, or that of several.
    fn bind_alias(&mut self, name: &str) -> Result<Option<Bound>> {
        let level = self.level()?;
        let mut named = (0..level.aliases.len()).filter(|at| level.aliases[*at].0 == name);
        let (Some(at), None) = (named.next(), named.next()) else { return Ok(None) };
        // While it is bound it does not mean itself.
        let (name, expr) = level.aliases.swap_remove(at);
        let bound = self.nested(|binder| binder.bind_expr(&expr));
        self.level()?.aliases.push((name, expr));
        bound.map(Some)
    }

    /// As [`Self::resolve_name`]; None when there is no such column.
    pub(super) fn find_name(&mut self, name: &str, at: Place) -> Result<Option<Bound>> {
        for depth in (0..self.levels.len()).rev() {
            let Some(level) = self.levels.get(depth) else {
                continue;
            };
            let system = level.scope.relations.iter().flat_map(|relation| &relation.system);
            let system = || system.clone().find(|column| column.name == name);
            if let Some(column) = find_column(&level.scope.columns, name, at)?.or_else(system) {
                let column = column.clone();
                return Ok(Some(self.named_column(depth, column, at)));
            }
            if let Some(bound) = self.row_place_of_level(depth, name, at)? {
                return Ok(Some(bound));
            }
            let Some(level) = self.levels.get(depth) else {
                continue;
            };
            let whole = level.scope.relation(None, name, at)?.filter(|r| r.whole == Whole::Value);
            if let Some(column) = whole.and_then(|relation| relation.columns.first()) {
                let expr = column.expr.clone();
                self.note_reference(depth, &expr, at);
                return Ok(Some(Bound::new(expr, at)));
            }
        }
        Ok(None)
    }

    /// A name on this level only, for GROUP BY.
    pub(super) fn find_local(&mut self, name: &str, at: Place) -> Result<Option<Bound>> {
        let Some(depth) = self.levels.len().checked_sub(1) else {
            return Ok(None);
        };
        let Some(level) = self.levels.get(depth) else {
            return Ok(None);
        };
        let Some(column) = find_column(&level.scope.columns, name, at)? else {
            return Ok(None);
        };
        let column = column.clone();
        Ok(Some(self.named_column(depth, column, at)))
    }

    /// `relation.column` or `schema.relation.column`.
    pub(super) fn resolve_qualified(&mut self, parts: &[ast::Ident]) -> Result<Bound> {
        let (schema, relation, column) = match parts {
            [relation, column] => (None, relation, column),
            [schema, relation, column] | [_, schema, relation, column] => {
                (Some(folded(schema)), relation, column)
            }
            _ => {
                let at = parts.first().and_then(ident_at);
                return fail(SqlState::SYNTAX_ERROR, "improper qualified name", at);
            }
        };
        let (table, name) = (folded(relation), folded(column));
        let at = ident_at(relation);
        for depth in (0..self.levels.len()).rev() {
            let Some(level) = self.levels.get(depth) else {
                continue;
            };
            let Some(found) = level.scope.relation(schema.as_deref(), &table, at)? else {
                continue;
            };
            let system = || found.system.iter().find(|column| column.name == name);
            return match find_column(&found.columns, &name, at)?.or_else(system) {
                Some(column) => {
                    let column = column.clone();
                    Ok(self.named_column(depth, column, at))
                }
                None => {
                    let found = found.clone();
                    if let Some(bound) = self.row_place(depth, &found, &name, at)? {
                        return Ok(bound);
                    }
                    if self.is_routine(column)? {
                        let row = self.row_of(depth, found, at)?;
                        if let Some(bound) = self.function_of_row(row, column)? {
                            return Ok(bound);
                        }
                    }
                    let message = format!("column {table}.{name} does not exist");
                    fail(SqlState::UNDEFINED_COLUMN, message, at)
                }
            };
        }
        let names: Vec<String> = parts.iter().map(folded).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if let Some(variable) = self.variable(&names, at) {
            return Ok(variable);
        }
        // A field of a variable that is a row, or of one that a label leads to.
        if let [root @ .., _] = names.as_slice()
            && let Some(record) = self.variable(root, at)
            && let (DataType::Record(_), Some(ident)) = (record.ty(), parts.last())
        {
            return self.named_field(record, ident);
        }
        let message = format!("missing FROM-clause entry for table \"{table}\"");
        fail(SqlState::UNDEFINED_TABLE, message, at)
    }

    /// True in texts of views and defaults, which are no part of the program.
    fn is_definition(&self) -> bool {
        self.definition_depth > 0 || self.defines_view
    }

    /// The variable of the program around the statement that `parts` name.
    pub(super) fn variable(&mut self, parts: &[&str], at: Place) -> Option<Bound> {
        if self.is_definition() {
            return None;
        }
        let variables = self.catalog.variables()?;
        let (number, ty) = variables.find(parts)?;
        self.has_collations |= variables.collation(number) != Derived::Usual;
        let place = number as usize;
        if self.parameters.len() <= place {
            self.parameters.resize(place + 1, DataType::Unknown);
        }
        self.parameters[place] = ty;
        Some(Bound::new(Expr { kind: ExprKind::Parameter(number), ty }, at))
    }

    /// The variable that a name that a column has means.
    ///
    /// # Errors
    /// 42702 when it may mean either.
    fn variable_before(&mut self, parts: &[&str], at: Place) -> Result<Option<Bound>> {
        if self.is_definition() {
            return Ok(None);
        }
        let Some(variables) = self.catalog.variables() else { return Ok(None) };
        match variables.conflict() {
            NameConflict::Column => return Ok(None),
            NameConflict::Variable => return Ok(self.variable(parts, at)),
            NameConflict::Error if variables.find(parts).is_none() => return Ok(None),
            NameConflict::Error => {}
        }
        let message = format!("column reference \"{}\" is ambiguous", parts.join("."));
        let error = types::Error::new(SqlState::AMBIGUOUS_COLUMN, message)
            .with_detail("It could refer to either a PL/pgSQL variable or a table column.");
        Err(super::place(error, at))
    }

    pub(super) fn note_reference(&mut self, depth: usize, expr: &Expr, at: Place) {
        if let Some(level) = self.levels.get_mut(depth) {
            expr.each_column(&mut |id| level.references.push((id, at)));
        }
    }

    /// A column of the level at `depth` that the statement names.
    fn named_column(&mut self, depth: usize, column: ScopeColumn, at: Place) -> Bound {
        if let Some(level) = self.levels.get_mut(depth) {
            column.expr.each_column(&mut |id| level.references.push((id, at)));
        }
        self.note_read(column.source);
        Bound::new(column.expr, at)
    }

    /// A hint with the column whose name is closest to `name`.
    fn similar_name(&self, name: &str) -> Option<String> {
        let scope = &self.levels.last()?.scope;
        let close = |column: &&ScopeColumn| distance_below(&column.name, name, 3);
        let column = scope.columns.iter().find(close)?;
        let qualified = match column.relation.as_str() {
            "" => column.name.clone(),
            relation => format!("{relation}.{}", column.name),
        };
        Some(format!("Perhaps you meant to reference the column \"{qualified}\"."))
    }
}

/// True when the edit distance of two names is below `limit`.
fn distance_below(a: &str, b: &str, limit: usize) -> bool {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().is_some_and(|distance| *distance < limit && *distance < b.len())
}
