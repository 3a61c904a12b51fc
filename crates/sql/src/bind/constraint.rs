//! A table being defined or altered: its columns and constraints, named as PostgreSQL names them.
//!
//! Generated columns, CHECK and FOREIGN KEY wait until all columns and keys are known
//! ([`Definition::waiting`]).

use sqlparser::ast;
use types::{DataType, Error, Result, SqlState};

use super::comparable::refuse_unordered;
use super::domain::Declared;
use super::foreign_key::missing_in_foreign_key;
use super::inherit::Inheriting;
use super::name::{expr_at, ident_at, object_parts, refuse_reserved, refuse_system};
use super::{Binder, fail, place, unsupported};
use crate::algebra::Place;
use crate::catalog::{
    CheckDef, CheckScope, ColumnDef, Deferral, ForeignKeyDef, IdentityKind, IndexMeta, KeyDef,
    KeyNulls, TableRef, Uniqueness, Validity,
};
use crate::parse::folded;
use crate::parse::visit::rewrite_expressions;
use crate::statement::{ColumnSequence, RelationName};

/// Bytes of a name that PostgreSQL keeps.
const NAME_MAX: usize = 63;

/// A table being defined.
pub(super) struct Definition {
    pub(super) name: RelationName,
    pub(super) columns: Vec<ColumnDef>,
    pub(super) keys: Vec<KeyDef>,
    pub(super) checks: Vec<CheckDef>,
    pub(super) foreign_keys: Vec<ForeignKeyDef>,
    /// EXCLUDE: the indexes that serve it.
    pub(super) exclusions: Vec<IndexMeta>,
    pub(super) sequences: Vec<ColumnSequence>,
    /// Unique indexes that are no constraints, as keys that a foreign key may refer to.
    pub(super) unique: Vec<Vec<usize>>,
    waiting: Vec<Waiting>,
    /// Its parents, and parts that it has from them.
    pub(super) inheriting: Inheriting,
}

/// Form of a key.
#[derive(Clone)]
pub(super) struct KeyForm {
    pub(super) primary: bool,
    pub(super) nulls: KeyNulls,
    pub(super) deferral: Deferral,
    /// INCLUDE, by ordinal.
    pub(super) included: Vec<usize>,
}

impl KeyForm {
    fn primary(key: &ast::PrimaryKeyConstraint) -> Result<Self> {
        let deferral = deferral_of(key.characteristics.as_ref())?;
        Ok(Self { primary: true, nulls: KeyNulls::Distinct, deferral, included: Vec::new() })
    }

    /// UNIQUE, with or without NULLS [NOT] DISTINCT.
    fn unique(key: &ast::UniqueConstraint) -> Result<Self> {
        let deferral = deferral_of(key.characteristics.as_ref())?;
        let nulls = key_nulls(key.nulls_distinct);
        if deferral.is_deferrable() && nulls == KeyNulls::NotDistinct {
            return unsupported("NULLS NOT DISTINCT of a DEFERRABLE constraint", None);
        }
        Ok(Self { primary: false, nulls, deferral, included: Vec::new() })
    }
}

/// GENERATED ... AS IDENTITY (...).
pub(super) struct IdentityClause<'q> {
    pub(super) kind: IdentityKind,
    pub(super) options: &'q [ast::SequenceOptions],
    pub(super) at: Place,
}

/// A constraint that is bound last.
enum Waiting {
    Generated { column: usize, expr: ast::Expr },
    Check(WaitingCheck),
    ForeignKey { columns: Vec<usize>, key: ast::ForeignKeyConstraint },
    Exclusion(ast::ExcludeConstraint),
}

/// A CHECK constraint that is bound last.
struct WaitingCheck {
    name: Option<String>,
    expr: ast::Expr,
    scope: CheckScope,
}

impl WaitingCheck {
    fn waiting(name: Option<&ast::Ident>, check: &ast::CheckConstraint) -> Waiting {
        let scope = if check.no_inherit { CheckScope::Alone } else { CheckScope::Family };
        let (name, expr) = (name.map(folded), (*check.expr).clone());
        Waiting::Check(Self { name, expr, scope })
    }
}

impl Definition {
    pub(super) fn new(name: RelationName) -> Self {
        Self {
            name,
            columns: Vec::new(),
            keys: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            exclusions: Vec::new(),
            sequences: Vec::new(),
            unique: Vec::new(),
            waiting: Vec::new(),
            inheriting: Inheriting::default(),
        }
    }

    /// The definition of a table that exists.
    pub(super) fn of(name: RelationName, table: &TableRef) -> Self {
        let unique = table.indexes().iter().filter(|index| index.unique != Uniqueness::No);
        let unique = unique.filter(|index| index.terms.is_empty());
        let unique =
            unique.map(|index| index.columns.iter().map(|column| column.ordinal).collect());
        Self {
            columns: table.columns().to_vec(),
            keys: table.keys().to_vec(),
            checks: table.checks().to_vec(),
            foreign_keys: table.foreign_keys().to_vec(),
            exclusions: table.indexes().iter().filter(|i| i.excludes()).cloned().collect(),
            unique: unique.collect(),
            inheriting: Inheriting::of(table),
            ..Self::new(name)
        }
    }

    fn has_constraint(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
            || self.checks.iter().any(|check| check.name == name)
            || self.foreign_keys.iter().any(|key| key.name == name)
            || self.exclusions.iter().any(|index| index.name == name)
    }

    /// `name`, or one that PostgreSQL would choose; 42710 when the given one is taken.
    pub(super) fn constraint_name(
        &self,
        name: Option<String>,
        columns: &[&str],
        label: &str,
        at: Place,
    ) -> Result<String> {
        if let Some(name) = name {
            let is_index = matches!(label, "pkey" | "key" | "excl");
            if is_index && self.keys.iter().any(|key| key.name == name) {
                let message = format!("relation \"{name}\" already exists");
                return fail(SqlState::DUPLICATE_TABLE, message, None);
            }
            if self.has_constraint(&name) {
                let message = format!(
                    "constraint \"{name}\" for relation \"{}\" already exists",
                    self.name.name
                );
                return fail(SqlState::DUPLICATE_OBJECT, message, at);
            }
            return Ok(name);
        }
        let mut number = 0u32;
        loop {
            let label = if number == 0 { label.to_owned() } else { format!("{label}{number}") };
            let name = object_name(&self.name.name, columns, &label);
            if !self.has_constraint(&name) {
                return Ok(name);
            }
            number += 1;
        }
    }

    /// Moves ordinals after column `ordinal` was taken out.
    pub(super) fn column_removed(&mut self, ordinal: usize) {
        let keys = self.keys.iter_mut().flat_map(|key| [&mut key.columns, &mut key.included]);
        let keys = keys.chain(self.foreign_keys.iter_mut().map(|key| &mut key.columns));
        for index in &mut self.exclusions {
            index.column_removed(ordinal);
        }
        self.unique.retain(|columns| !columns.contains(&ordinal));
        for column in keys.chain(&mut self.unique).flatten() {
            *column -= usize::from(*column > ordinal);
        }
    }

    pub(super) fn names(&self, ordinals: &[usize]) -> Vec<&str> {
        let name = |ordinal: &usize| self.columns.get(*ordinal).map_or("", |c| c.name.as_str());
        ordinals.iter().map(name).collect()
    }

    /// Ordinals of named columns; `missing` makes the message for one that is not there.
    pub(super) fn ordinals(
        &self,
        idents: &[&ast::Ident],
        missing: impl Fn(&str) -> String,
    ) -> Result<Vec<usize>> {
        let mut ordinals = Vec::with_capacity(idents.len());
        for ident in idents {
            let (name, at) = (folded(ident), ident_at(ident));
            let Some(ordinal) = self.columns.iter().position(|known| known.name == name) else {
                return fail(SqlState::UNDEFINED_COLUMN, missing(&name), at);
            };
            if ordinals.contains(&ordinal) {
                let message = format!("column \"{name}\" appears twice in constraint");
                return fail(SqlState::DUPLICATE_COLUMN, message, at);
            }
            ordinals.push(ordinal);
        }
        Ok(ordinals)
    }

    pub(super) fn add_key(
        &mut self,
        name: Option<String>,
        columns: Vec<usize>,
        KeyForm { primary, nulls, deferral, included }: KeyForm,
        at: Place,
    ) -> Result<()> {
        if primary && self.keys.iter().any(|known| known.primary) {
            let message =
                format!("multiple primary keys for table \"{}\" are not allowed", self.name.name);
            return fail(SqlState::INVALID_DEFINITION, message, at);
        }
        for column in columns.iter().filter_map(|ordinal| self.columns.get(*ordinal)) {
            refuse_unordered(column.ty, at)?;
            if column.is_keyed() && deferral.is_deferrable() {
                let of = if column.has_own_equality() {
                    "under a nondeterministic collation"
                } else {
                    "of jsonb"
                };
                return unsupported(format!("a DEFERRABLE key {of}"), at);
            }
        }
        let names = self.names(&[columns.as_slice(), &included].concat());
        let name = if primary {
            self.constraint_name(name, &[], "pkey", at)?
        } else {
            self.constraint_name(name, &names, "key", at)?
        };
        if primary {
            for &ordinal in &columns {
                if let Some(column) = self.columns.get_mut(ordinal) {
                    column.not_null = true;
                }
            }
        }
        self.keys.push(KeyDef { name, columns, primary, nulls, deferral, included });
        Ok(())
    }

    /// Adds a constraint of the table.
    pub(super) fn add_constraint(&mut self, constraint: &ast::TableConstraint) -> Result<()> {
        let (name, columns, mut form, include) = match constraint {
            ast::TableConstraint::PrimaryKey(key) => {
                (&key.name, &key.columns, KeyForm::primary(key)?, &key.include)
            }
            ast::TableConstraint::Unique(key) => {
                (&key.name, &key.columns, KeyForm::unique(key)?, &key.include)
            }
            ast::TableConstraint::ForeignKey(key) => {
                let idents: Vec<&ast::Ident> = key.columns.iter().collect();
                // A column may refer to several, alone among constraints.
                let one = |ident: &&ast::Ident| self.ordinals(&[*ident], missing_in_foreign_key);
                let columns: Vec<Vec<usize>> = idents.iter().map(one).collect::<Result<_>>()?;
                let columns = columns.concat();
                self.waiting.push(Waiting::ForeignKey { columns, key: key.clone() });
                return Ok(());
            }
            ast::TableConstraint::Check(check) => {
                self.waiting.push(WaitingCheck::waiting(check.name.as_ref(), check));
                return Ok(());
            }
            ast::TableConstraint::Exclude(exclude) => {
                self.waiting.push(Waiting::Exclusion(exclude.clone()));
                return Ok(());
            }
            other => return unsupported(format!("constraint {other}"), None),
        };
        let mut idents = Vec::with_capacity(columns.len());
        for column in columns {
            match &column.column.expr {
                ast::Expr::Identifier(ident) => idents.push(ident),
                expr => return unsupported("a key over an expression", expr_at(expr)),
            }
        }
        let missing = |name: &str| format!("column \"{name}\" named in key does not exist");
        let ordinals = self.ordinals(&idents, missing)?;
        let at = idents.first().and_then(|ident| ident_at(ident));
        for ident in include {
            form.included.extend(self.ordinals(&[ident], missing)?);
        }
        self.add_key(name.as_ref().map(folded), ordinals, form, at)
    }
}

impl Binder<'_> {
    /// Adds a column with its constraints.
    pub(super) fn define_column(
        &mut self,
        definition: &mut Definition,
        column: &ast::ColumnDef,
    ) -> Result<()> {
        refuse_reserved(&column.name)?;
        refuse_system(&column.name)?;
        let (name, at) = (folded(&column.name), ident_at(&column.name));
        let ordinal = definition.columns.len();
        let serial = serial_type(&column.data_type);
        let Declared { ty, domain } = match serial {
            Some(ty) => Declared { ty, domain: None },
            None => self.declared_type(&column.data_type, at)?,
        };
        let mut def = ColumnDef { domain, ..ColumnDef::new(&name, ty) };
        if serial.is_some() {
            let sequence = self.column_sequence(definition, &name);
            def.not_null = true;
            def.default = Some(format!("nextval('{}')", sequence.quoted().replace('\'', "''")));
            definition.sequences.push(ColumnSequence {
                column: ordinal,
                identity: None,
                name: sequence,
                definition: Self::serial_definition(ty)?,
            });
        }
        let null = |option: &ast::ColumnOptionDef| option.option == ast::ColumnOption::Null;
        let not_null = |option: &ast::ColumnOptionDef| match &option.option {
            ast::ColumnOption::NotNull => true,
            // An identity column has no NULL.
            ast::ColumnOption::Generated { generation_expr, .. } => generation_expr.is_none(),
            _ => false,
        };
        let declared_not_null = def.not_null || column.options.iter().any(not_null);
        if declared_not_null && column.options.iter().any(null) {
            let table = &definition.name.name;
            let message = format!(
                "conflicting NULL/NOT NULL declarations for column \"{name}\" of table \"{table}\""
            );
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        definition.columns.push(def);
        for option in &column.options {
            self.column_option(definition, ordinal, option, at)?;
        }
        let is_identity = definition
            .sequences
            .iter()
            .any(|sequence| sequence.column == ordinal && sequence.identity.is_some());
        let Some(def) = definition.columns.get(ordinal) else { return Ok(()) };
        let both = match (is_identity, &def.default, &def.generated) {
            (true, Some(_), _) => "default and identity",
            (_, Some(_), Some(_)) => "default and generation expression",
            (true, _, Some(_)) => "identity and generation expression",
            _ => return Ok(()),
        };
        let table = &definition.name.name;
        let message = format!("both {both} specified for column \"{name}\" of table \"{table}\"");
        fail(SqlState::SYNTAX_ERROR, message, at)
    }

    /// GENERATED ALWAYS AS (`expr`) STORED, looked at when all columns are known.
    fn define_generated(
        definition: &mut Definition,
        column: usize,
        expr: &ast::Expr,
        at: Place,
    ) -> Result<()> {
        let table = &definition.name.name;
        let Some(def) = definition.columns.get_mut(column) else {
            return Err(Error::internal("column out of range"));
        };
        if def.generated.is_some() {
            let name = &def.name;
            let message = format!(
                "multiple generation clauses specified for column \"{name}\" of table \"{table}\""
            );
            return fail(SqlState::SYNTAX_ERROR, message, at);
        }
        def.generated = Some(unqualified(expr).to_string());
        definition.waiting.push(Waiting::Generated { column, expr: expr.clone() });
        Ok(())
    }

    pub(super) fn column_option(
        &mut self,
        definition: &mut Definition,
        ordinal: usize,
        option: &ast::ColumnOptionDef,
        at: Place,
    ) -> Result<()> {
        let constraint = option.name.as_ref().map(folded);
        let Some(def) = definition.columns.get_mut(ordinal) else {
            return Err(Error::internal("column out of range"));
        };
        match &option.option {
            ast::ColumnOption::Null => {}
            ast::ColumnOption::NotNull => def.not_null = true,
            ast::ColumnOption::Default(expr) => {
                if def.default.is_some() {
                    let message = format!(
                        "multiple default values specified for column \"{}\" of table \"{}\"",
                        def.name, definition.name.name
                    );
                    return fail(SqlState::SYNTAX_ERROR, message, at);
                }
                // Bound once to find errors now; bound again by each INSERT.
                self.check_default(expr, def.ty, &def.name)?;
                def.default = Some(self.defined(expr).to_string());
            }
            ast::ColumnOption::PrimaryKey(key) => {
                let form = KeyForm::primary(key)?;
                definition.add_key(constraint, vec![ordinal], form, at)?;
            }
            ast::ColumnOption::Unique(key) => {
                let form = KeyForm::unique(key)?;
                definition.add_key(constraint, vec![ordinal], form, at)?;
            }
            ast::ColumnOption::ForeignKey(key) => {
                let mut key = key.clone();
                key.name = option.name.clone();
                definition.waiting.push(Waiting::ForeignKey { columns: vec![ordinal], key });
            }
            ast::ColumnOption::Check(check) => {
                definition.waiting.push(WaitingCheck::waiting(option.name.as_ref(), check));
            }
            ast::ColumnOption::Generated {
                generation_expr: Some(expr),
                generation_expr_mode: Some(ast::GeneratedExpressionMode::Stored),
                generated_keyword: true,
                ..
            } => Self::define_generated(definition, ordinal, expr, at)?,
            ast::ColumnOption::Generated { generation_expr: Some(_), .. } => {
                let message = "syntax error: GENERATED ALWAYS AS (...) STORED expected";
                return fail(SqlState::SYNTAX_ERROR, message, at);
            }
            ast::ColumnOption::Generated { generated_as, sequence_options, .. } => {
                let kind = identity_kind(generated_as);
                let options = sequence_options.as_deref().unwrap_or_default();
                let clause = IdentityClause { kind, options, at };
                self.define_identity(definition, ordinal, &clause)?;
            }
            ast::ColumnOption::Collation(name) => {
                if let Some(def) = definition.columns.get(ordinal).cloned() {
                    let collation = self.column_collation(&def, name)?;
                    definition.columns[ordinal].collation = collation;
                }
            }
            other => return unsupported(format!("column option {other}"), at),
        }
        Ok(())
    }

    /// GENERATED ... AS IDENTITY of column `ordinal`.
    pub(super) fn define_identity(
        &mut self,
        definition: &mut Definition,
        ordinal: usize,
        clause: &IdentityClause<'_>,
    ) -> Result<()> {
        let IdentityClause { kind, options, at } = *clause;
        let Some(def) = definition.columns.get_mut(ordinal) else {
            return Err(Error::internal("column out of range"));
        };
        let ty = def.ty;
        if !matches!(ty, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
            let message = "identity column type must be smallint, integer, or bigint";
            return fail(SqlState::INVALID_PARAMETER, message, at);
        }
        def.not_null = true;
        let column = def.name.clone();
        let name = match self.aside.sequence_name(at) {
            Some(name) => self.free_sequence(definition, name)?,
            None => self.column_sequence(definition, &column),
        };
        let sequence = self.identity_definition(options, ty).map_err(|error| place(error, at))?;
        definition.sequences.push(ColumnSequence {
            column: ordinal,
            identity: Some(kind),
            name,
            definition: sequence,
        });
        Ok(())
    }

    /// The name that a sequence is to have; 42P07 when a relation has it.
    fn free_sequence(
        &self,
        definition: &Definition,
        name: &ast::ObjectName,
    ) -> Result<RelationName> {
        let mut full = self.written_name(name)?;
        if full.schema.is_none() {
            full.schema.clone_from(&definition.name.schema);
        }
        if self.is_taken(definition, &full) {
            let message = format!("relation \"{}\" already exists", full.name);
            return fail(SqlState::DUPLICATE_TABLE, message, super::name::object_at(name));
        }
        Ok(full)
    }

    /// A free name for the sequence of a column.
    pub(super) fn column_sequence(&self, definition: &Definition, column: &str) -> RelationName {
        let mut number = 0u32;
        loop {
            let label = if number == 0 { "seq".to_owned() } else { format!("seq{number}") };
            let name = object_name(&definition.name.name, &[column], &label);
            let full = RelationName { schema: definition.name.schema.clone(), name };
            if !self.is_taken(definition, &full) {
                return full;
            }
            number += 1;
        }
    }

    /// True when a relation is called so, or a part of the definition will be.
    fn is_taken(&self, definition: &Definition, full: &RelationName) -> bool {
        let (schema, name) = (full.schema.as_deref(), full.name.as_str());
        self.catalog.sequence(schema, name).is_some()
            || self.catalog.relation(schema, name).is_some()
            || definition.name.name == name
            || definition.sequences.iter().any(|known| known.name.name == name)
    }

    /// Binds the constraints that waited for all columns and keys.
    pub(super) fn finish_constraints(&mut self, definition: &mut Definition) -> Result<()> {
        for waiting in std::mem::take(&mut definition.waiting) {
            match waiting {
                Waiting::Generated { column, expr } => {
                    let (table, columns) = (&definition.name.name, &definition.columns);
                    self.generation(&expr, table, columns, column)?;
                    let sql = unqualified(&self.defined(&expr)).to_string();
                    if let Some(def) = definition.columns.get_mut(column) {
                        def.generated = Some(sql);
                    }
                }
                Waiting::Check(check) => self.add_check(definition, check)?,
                Waiting::ForeignKey { columns, key } => {
                    self.add_foreign_key(definition, columns, &key)?;
                }
                Waiting::Exclusion(exclude) => self.add_exclusion(definition, &exclude)?,
            }
        }
        Ok(())
    }

    fn add_check(
        &mut self,
        definition: &mut Definition,
        WaitingCheck { name, expr, scope }: WaitingCheck,
    ) -> Result<()> {
        let expr = &expr;
        let bound = self.check_condition(expr, &definition.name.name, &definition.columns)?;
        let mut used = Vec::new();
        bound.each_column(&mut |id| used.push(id.0 as usize));
        used.sort_unstable();
        used.dedup();
        let sql = unqualified(&self.defined(expr)).to_string();
        let validity = Validity::Valid;
        if let Some(name) = &name {
            let check = CheckDef { name: name.clone(), sql: sql.clone(), validity, scope };
            if definition.is_inherited(&check)? {
                return Ok(());
            }
        }
        let columns = if used.len() == 1 { definition.names(&used) } else { Vec::new() };
        let name = definition.constraint_name(name, &columns, "check", expr_at(expr))?;
        definition.checks.push(CheckDef { name, sql, validity, scope });
        Ok(())
    }
}

/// `table_column_label`, cut so that PostgreSQL keeps it as it is.
pub fn object_name(table: &str, columns: &[&str], label: &str) -> String {
    let (mut table, mut middle) = (table.to_owned(), columns.join("_"));
    let joined = |table: &str, middle: &str| {
        if middle.is_empty() {
            format!("{table}_{label}")
        } else {
            format!("{table}_{middle}_{label}")
        }
    };
    while joined(&table, &middle).len() > NAME_MAX {
        let longer = if table.len() > middle.len() { &mut table } else { &mut middle };
        if longer.pop().is_none() {
            break;
        }
    }
    joined(&table, &middle)
}

/// `expr` with column names that no table name qualifies, so that it outlives a new table name.
pub(super) fn unqualified(expr: &ast::Expr) -> ast::Expr {
    let mut expr = expr.clone();
    rewrite_expressions(&mut expr, &mut |inner| {
        if let ast::Expr::CompoundIdentifier(parts) = inner
            && let Some(last) = parts.pop()
        {
            *inner = ast::Expr::Identifier(last);
        }
    });
    expr
}

/// A kept condition in which the column `from` is called `to`; None when it does not name it.
///
/// # Errors
/// None for a condition that was bound before.
pub fn with_column(sql: &str, from: &str, to: &str) -> Result<Option<String>> {
    let mut is_named = false;
    rewrite_expressions(&mut crate::parse::parse_expr(sql)?, &mut |inner| {
        is_named |= matches!(inner, ast::Expr::Identifier(ident) if folded(ident) == from);
    });
    if !is_named {
        return Ok(None);
    }
    renamed_column(sql, from, &ast::Ident::with_quote('"', to)).map(Some)
}

/// The SQL text of a condition in which column `from` is called `to`.
pub(super) fn renamed_column(sql: &str, from: &str, to: &ast::Ident) -> Result<String> {
    let mut expr = crate::parse::parse_expr(sql)?;
    rewrite_expressions(&mut expr, &mut |inner| {
        if let ast::Expr::Identifier(ident) = inner
            && folded(ident) == from
        {
            *ident = to.clone();
        }
    });
    Ok(expr.to_string())
}

/// The type of a `serial` column.
pub(super) fn serial_type(ty: &ast::DataType) -> Option<DataType> {
    let ast::DataType::Custom(name, modifiers) = ty else {
        return None;
    };
    let parts = object_parts(name).ok()?;
    match parts.last().map(String::as_str) {
        _ if !modifiers.is_empty() => None,
        Some("serial" | "serial4") => Some(DataType::Integer),
        Some("bigserial" | "serial8") => Some(DataType::BigInt),
        Some("smallserial" | "serial2") => Some(DataType::SmallInt),
        _ => None,
    }
}

pub(super) fn identity_kind(generated: &ast::GeneratedAs) -> IdentityKind {
    match generated {
        ast::GeneratedAs::ByDefault => IdentityKind::ByDefault,
        _ => IdentityKind::Always,
    }
}

fn key_nulls(option: ast::NullsDistinctOption) -> KeyNulls {
    match option {
        ast::NullsDistinctOption::NotDistinct => KeyNulls::NotDistinct,
        _ => KeyNulls::Distinct,
    }
}

/// When a constraint with these characteristics is tested.
pub(super) fn deferral_of(
    characteristics: Option<&ast::ConstraintCharacteristics>,
) -> Result<Deferral> {
    let Some(characteristics) = characteristics else { return Ok(Deferral::Never) };
    if characteristics.enforced == Some(false) {
        return unsupported("a constraint that is NOT ENFORCED", None);
    }
    let deferred = characteristics.initially == Some(ast::DeferrableInitial::Deferred);
    match (characteristics.deferrable, deferred) {
        (Some(false), true) => {
            let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            fail(SqlState::SYNTAX_ERROR, message, None)
        }
        (_, true) => Ok(Deferral::Deferred),
        (Some(true), false) => Ok(Deferral::Immediate),
        _ => Ok(Deferral::Never),
    }
}
