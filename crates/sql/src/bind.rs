//! Names and types: from a parsed statement to the bound algebra.
//!
//! ```text
//! levels: [ outer query | sub-query | ... ]   a name is looked up from the right
//! level:  scope (FROM so far) + aggregates, windows, GROUPING calls met in its expressions
//! ```
//! An aggregate or window call is bound to a fresh column at once, and collected in its level; when
//! all clauses of the level are bound, its operators are stacked and grouped expressions are
//! replaced by their key columns (`select`, `group`). Sub-queries stay inside expressions, with
//! free outer columns.
//!
//! Elsewhere: syntax (`parse`), rewriting (`plan`).

mod types;
mod unmatched;
mod comparable;
mod collation;
mod collation_def;
mod user_type;
mod range_type;
mod domain;
mod literal;
mod clock;
mod coerce;
mod scope;
mod stars;
mod statement;
mod ddl;
mod into;
mod like;
mod absent;
mod extension;
mod effectless;
mod write;
mod view_target;
mod policy;
mod insert;
mod instead;
mod conflict;
mod merge;
mod lock;
mod locks_below;
mod materialized;
mod session;
mod sequence;
mod constraint;
mod foreign_key;
mod inherit;
mod exclusion;
mod adopted_index;
mod alter;
mod alter_parts;
mod alter_family;
mod retyped;
mod index;
mod index_options;
mod index_method;
mod near_index;
mod index_terms;
mod comment;
mod row_expr;
mod row_place;
mod generated;
mod query;
mod cte;
mod recursion;
mod search;
mod changes;
mod bus;
mod set_ops;
mod values;
mod clauses;
mod from;
mod file;
mod described;
mod table_function;
mod record;
mod select;
mod sample;
mod series;
mod group;
mod order;
mod expr;
mod object;
mod packed;
mod shape;
mod text_search;
mod text_statistics;
mod operators;
mod predicate;
mod row;
mod composite;
mod subquery;
mod system;
mod system_rows;
mod table_change;
mod refresh;
mod special;
mod functions;
mod routine;
mod polymorphic;
mod routine_choice;
mod inline;
mod routine_call;
mod aggregate_def;
mod own_aggregate;
mod operator_functions;
mod trigger;
mod twins;
mod hypothetical;
mod parameter_names;
mod partition;
mod variadic;
mod json;
mod json_names;
mod json_paths;
mod function_table;
mod array;
mod array_functions;
mod array_targets;
mod attribute;
mod aggregate;
mod window;
mod name;
mod schema;
mod zone;

use std::collections::HashMap;
use std::sync::Arc;

use ::types::{DataType, Error, Position, Result, SqlState, budget, stack};

use crate::algebra::{ColumnId, CteId, Derived, Expr, Origin, OutputColumn, Place, Plan, Query};
use crate::catalog::Catalog;
use crate::parse::{Aside, LockTree, ParsedStatement};
use crate::statement::{Access, Extent, Privilege, Privileges, Statement, WithData};
use scope::Level;

pub use constraint::{object_name, with_column};
pub use domain::{bind_attribute_tests, bind_domain_tests, domain_written};
pub use extension::extension_functions;
pub use generated::bind_generated;
pub use index_terms::bind_index_terms;
pub(crate) use name::column_name;
pub use near_index::check_near_type;
pub use partition::{UniqueOver, check_unique};
pub(crate) use predicate::without_mark;
pub use retyped::refuse_unfit_key;
pub use row_expr::bind_row_exprs;
pub use trigger::with_row_column;
pub use types::type_named;
pub(crate) use types::{Context, written_type};
pub use view_target::written_columns;

/// Binds `statement` to what `catalog` knows. `parameters` are the types of `$1`, `$2` ... as far
/// as the caller knows them ([`DataType::Unknown`] where it does not); the others are inferred, and
/// the bound query lists them all.
///
/// # Errors
/// Whatever is wrong with the statement, with SQLSTATE and, where possible, position.
pub fn bind(
    statement: &ParsedStatement,
    catalog: &dyn Catalog,
    parameters: &[DataType],
) -> Result<Statement> {
    let mut binder = Binder::new(catalog, parameters);
    let mut bound = binder.bind_tree(&statement.tree, &statement.text);
    if let Err(error) = &bound
        && error.state() == SqlState::UNDEFINED_COLUMN
        && binder.aliases == Aliases::Met
    {
        // A name that nothing else has may be that of a select list.
        binder = Binder::new(catalog, parameters);
        binder.aliases = Aliases::Read;
        bound = binder.bind_tree(&statement.tree, &statement.text);
    }
    let bound = bound?;
    binder.check_shown()?;
    binder.refuse_stray_parts()?;
    // What a view reads is looked at when it is used.
    let reads_later = match &bound {
        Statement::CreateView(_) => true,
        Statement::CreateMaterialized(create) => create.data == WithData::Empty,
        _ => false,
    };
    if !reads_later {
        catalog.check_access(&binder.required)?;
    }
    Ok(bound)
}

/// An expression and where it stands.
#[derive(Clone, Debug)]
struct Bound {
    expr: Expr,
    at: Place,
}

impl Bound {
    fn new(expr: Expr, at: Place) -> Self {
        Self { expr, at }
    }

    fn ty(&self) -> DataType {
        self.expr.ty
    }

    fn is_unknown(&self) -> bool {
        self.expr.ty == DataType::Unknown
    }

    /// Moves it out, leaving TRUE.
    fn taken(&mut self) -> Self {
        Self { expr: std::mem::replace(&mut self.expr, Expr::boolean(true)), at: self.at }
    }
}

/// A result column of a query being bound.
#[derive(Clone, Debug)]
struct BoundColumn {
    name: String,
    ty: DataType,
    id: ColumnId,
    at: Place,
}

/// A query being bound; its columns are a permutation or subset (with repeats) of the plan's
/// output.
#[derive(Clone, Debug)]
struct BoundQuery {
    plan: Plan,
    columns: Vec<BoundColumn>,
}

/// Treatment of result columns whose type is not known, `SELECT 'a'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknowns {
    /// The columns become TEXT.
    Text,
    /// The columns keep no type, for the caller to decide: a UNION or an INSERT.
    Keep,
}

/// Names of select lists in other clauses, which mean something where PostgreSQL has an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Aliases {
    /// No select list gives a name.
    #[default]
    None,
    /// Select lists give names, which are not looked at.
    Met,
    /// Names that no column has are looked for in select lists.
    Read,
}

struct Binder<'a> {
    catalog: &'a dyn Catalog,
    parameters: Vec<DataType>,
    next_column: u32,
    next_cte: u32,
    levels: Vec<Level>,
    ctes: Vec<cte::CteEntry>,
    depth: usize,
    view_depth: usize,
    /// Keys of the views that are being bound, the outermost first.
    views: Vec<String>,
    /// Levels that the views that are being bound may have.
    definition_levels: usize,
    /// Above 0 while a definition that is kept is bound.
    definition_depth: usize,
    /// Set while the SELECT is bound whose rows are locked.
    locking: Option<lock::Locking>,
    /// True when the statement may call the message bus.
    calls_bus: bool,
    aliases: Aliases,
    /// FOR UPDATE and its kin, as far as their queries are not bound.
    locks: Vec<LockTree>,
    /// Clauses of the statement that are not in its tree.
    aside: Arc<Aside>,
    /// Privileges on relations that the statement needs.
    required: Vec<Access>,
    /// The owner of the view whose query is bound.
    on_behalf: Option<String>,
    /// Tables whose policies are being bound.
    policies_open: Vec<String>,
    /// True while the query of a view is bound that nobody reads yet.
    defines_view: bool,
    /// Changes of rows under the statement's WITH.
    changes: changes::Changes,
    /// Where columns come from that the statement itself reads of relations.
    origins: HashMap<ColumnId, Origin>,
    /// Collations of columns that do not have the usual one.
    collations: HashMap<ColumnId, Derived>,
    /// True once the statement has texts with another collation than the usual one.
    has_collations: bool,
    /// Where `ctid` and `tableoid` come from.
    row_places: row_place::RowPlaces,
    /// The session's time zone.
    zone: zone::SessionZone,
    /// Relations that the search path found in other schemas than `public`, by their places.
    placed: Vec<(Position, String)>,
    /// Columns that `*` and `t.*` of a view mean today, by their places; kept while a view is made.
    stars: Option<Vec<stars::Star>>,
    /// True when the search path found a relation whose place is not known: one of TABLE.
    has_unplaced: bool,
    /// How the types of exact results are chosen.
    digits: crate::catalog::Digits,
    /// Set while the argument of a sum is bound: the scales of single values do not show.
    summed: bool,
    /// Parameter or column for the time, once the statement asked for it.
    clock: Option<Expr>,
    /// Expression for the time at which a condition over rows is tested.
    moment: Option<Expr>,
    /// Numbers of the functions whose bodies are being bound in the place of calls.
    inlined: Vec<u32>,
}

impl<'a> Binder<'a> {
    fn new(catalog: &'a dyn Catalog, parameters: &[DataType]) -> Self {
        Self {
            catalog,
            parameters: parameters.to_vec(),
            next_column: 0,
            next_cte: 0,
            levels: Vec::new(),
            ctes: Vec::new(),
            depth: 0,
            view_depth: 0,
            views: Vec::new(),
            definition_levels: 0,
            definition_depth: 0,
            locking: None,
            calls_bus: false,
            aliases: Aliases::None,
            locks: Vec::new(),
            aside: Arc::default(),
            required: Vec::new(),
            on_behalf: None,
            policies_open: Vec::new(),
            defines_view: false,
            changes: changes::Changes::default(),
            origins: HashMap::new(),
            collations: HashMap::new(),
            has_collations: false,
            row_places: row_place::RowPlaces::default(),
            zone: zone::SessionZone::of(catalog),
            placed: Vec::new(),
            stars: None,
            has_unplaced: false,
            digits: catalog.digits(),
            summed: false,
            clock: None,
            moment: None,
            inlined: Vec::new(),
        }
    }

    /// The statement needs this privilege on `relation`.
    fn require(&mut self, relation: &str, privilege: Privilege) {
        self.require_any(relation, Privileges::of(&[privilege]), Extent::Whole);
    }

    /// The statement needs this privilege on columns of `relation`.
    fn require_columns(
        &mut self,
        relation: &str,
        privilege: Privilege,
        columns: impl IntoIterator<Item = usize>,
    ) {
        let extent = Extent::Columns(columns.into_iter().collect());
        self.require_any(relation, Privileges::of(&[privilege]), extent);
    }

    /// The statement needs one of these on `relation`. What it reads may be said later, by the
    /// position that is returned: see [`Self::note_read`].
    fn require_any(&mut self, relation: &str, any_of: Privileges, extent: Extent) -> usize {
        let relation = relation.to_owned();
        let access = Access { relation, any_of, extent, on_behalf: self.on_behalf.clone() };
        match self.required.iter().position(|known| *known == access) {
            Some(at) => at,
            None => {
                self.required.push(access);
                self.required.len() - 1
            }
        }
    }

    /// The statement reads this column.
    fn note_read(&mut self, source: Option<scope::Source>) {
        let Some(source) = source else { return };
        match self.required.get_mut(source.access).map(|access| &mut access.extent) {
            Some(Extent::Columns(columns) | Extent::Read(columns)) => {
                columns.insert(source.ordinal);
            }
            Some(Extent::Whole) | None => {}
        }
    }

    fn fresh(&mut self) -> ColumnId {
        let id = ColumnId(self.next_column);
        self.next_column += 1;
        id
    }

    fn fresh_cte(&mut self) -> CteId {
        let id = CteId(self.next_cte);
        self.next_cte += 1;
        id
    }

    /// Runs `work` one level of nesting deeper; 54001 beyond [`stack::LEVELS_MAX`].
    fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.chained(1, |binder| stack::deep(|| work(binder)))
    }

    /// Runs `work` under `levels` more of the tree; 54001 beyond [`stack::LEVELS_MAX`].
    fn chained<T>(
        &mut self,
        levels: usize,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.depth;
        self.depth += levels;
        stack::check_levels(self.depth)?;
        budget::check()?;
        stack::note_levels(self.depth);
        let result = work(self);
        self.depth = before;
        result
    }

    /// The query as the caller of [`bind`] gets it.
    fn finish(&mut self, query: BoundQuery) -> Result<Query> {
        self.check_row_places()?;
        let unknown = self.parameters.iter().position(|ty| *ty == DataType::Unknown);
        // What is bound after a part may tell the types of its parameters.
        if let Some(at) = unknown.filter(|_| !self.changes.is_part) {
            let message = format!("could not determine data type of parameter ${}", at + 1);
            return Err(Error::new(SqlState::INDETERMINATE_DATATYPE, message));
        }
        let output = |column: BoundColumn| {
            let BoundColumn { name, ty, id, .. } = column;
            let origin = self.origins.get(&id).cloned();
            let collation = self.collations.get(&id).copied().unwrap_or_default();
            OutputColumn { name, ty, id, collation, origin }
        };
        Ok(Query {
            plan: query.plan,
            columns: query.columns.into_iter().map(output).collect(),
            parameters: self.parameters.clone(),
            next_column: self.next_column,
            next_cte: self.next_cte,
        })
    }
}

/// `error` at `at`, unless it has a position already.
fn place(error: Error, at: Place) -> Error {
    match at {
        Some(position) => error.at(position),
        None => error,
    }
}

/// An error with a position.
fn fail<T>(state: SqlState, message: impl Into<String>, at: Place) -> Result<T> {
    Err(place(Error::new(state, message), at))
}

/// 0A000 naming the feature.
fn unsupported<T>(what: impl std::fmt::Display, at: Place) -> Result<T> {
    let error = Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported yet"));
    Err(place(error, at))
}

/// The earlier of two places, or the only one.
fn first(a: Place, b: impl FnOnce() -> Place) -> Place {
    a.or_else(b)
}

/// A position as a place, for spans.
fn at_span(span: sqlparser::tokenizer::Span) -> Option<Position> {
    crate::parse::position(span)
}
