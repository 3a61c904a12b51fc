//! ALTER TABLE of tables that inherit from others, and of those that others inherit from.
//!
//! ```text
//! each action -> the table -> its children, where they have what it changes from the table alone
//!   column or constraint that a child has, too -> one with that of the table, a notice
//!   ONLY -> what children had from the table alone becomes their own
//! ```
//! Elsewhere: CREATE TABLE (`inherit`), partitions (`alter_parts`).
//! Source: PostgreSQL 15, `tablecmds.c`.

use sqlparser::ast::{self, AlterColumnOperation as ColumnOp, AlterTableOperation as Op};
use types::{Error, Result, SqlState};

use super::alter::altered_table;
use super::alter_parts::object_name_of;
use super::domain::Declared;
use super::inherit::{check_parent, type_conflict};
use super::name::ident_at;
use super::{Binder, fail, unsupported};
use crate::catalog::{CheckDef, CheckScope, ColumnDef, Inheritance, Relation, TableRef, Validity};
use crate::parse::folded;
use crate::statement::{
    AlterAction, AlterTable, MergeNotice, RelationName, SetInheritance, Statement,
};

/// A table while it and those around it are altered.
struct Kin {
    table: TableRef,
    columns: Vec<ColumnDef>,
    checks: Vec<CheckDef>,
    inheritance: Inheritance,
    /// Parts of the statement that it carries out.
    operations: Vec<Op>,
    /// Constraints that it gets.
    added: Vec<CheckDef>,
    merged: Vec<MergeNotice>,
}

/// The table of the statement, then those that inherit from it, each behind one of its parents.
struct Kindred {
    all: Vec<Kin>,
    /// Parents of those that the statement does not change.
    others: Vec<TableRef>,
    only: bool,
}

fn invalid<T>(message: String) -> Result<T> {
    fail(SqlState::INVALID_DEFINITION, message, None)
}

impl Kin {
    fn new(table: &TableRef) -> Self {
        Self {
            table: table.clone(),
            columns: table.columns().to_vec(),
            checks: table.checks().to_vec(),
            inheritance: table.inheritance().cloned().unwrap_or_default(),
            operations: Vec::new(),
            added: Vec::new(),
            merged: Vec::new(),
        }
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    fn check(&self, name: &str) -> Option<usize> {
        self.checks.iter().position(|check| check.name == name)
    }

    fn notice(&mut self, message: String) {
        self.merged.push(MergeNotice { message, detail: None });
    }
}

/// A part of a table that those below it inherit.
#[derive(Clone, Copy)]
enum Inherited<'a> {
    Column(&'a str),
    Check(&'a str),
}

impl Inherited<'_> {
    fn is_of(self, columns: &[ColumnDef], checks: &[CheckDef]) -> bool {
        match self {
            Self::Column(name) => columns.iter().any(|column| column.name == name),
            Self::Check(name) => {
                checks.iter().any(|c| c.name == name && c.scope == CheckScope::Family)
            }
        }
    }
}

impl Kindred {
    fn children(&self, parent_idx: usize) -> Vec<usize> {
        let name = self.all[parent_idx].table.name();
        let is_child = |kin: &Kin| kin.inheritance.parents.iter().any(|parent| parent == name);
        (0..self.all.len()).filter(|at| is_child(&self.all[*at])).collect()
    }

    /// The number of parents from which a table has something.
    fn count(&self, kin_idx: usize, part: Inherited<'_>) -> usize {
        let has = |parent: &&String| {
            let known = self.all.iter().find(|kin| kin.table.name() == parent.as_str());
            match known {
                Some(kin) => part.is_of(&kin.columns, &kin.checks),
                None => {
                    let other = self.others.iter().find(|t| t.name() == parent.as_str());
                    other.is_some_and(|table| part.is_of(table.columns(), table.checks()))
                }
            }
        };
        self.all[kin_idx].inheritance.parents.iter().filter(has).count()
    }

    /// Takes a column or a constraint from a table, and from those that have it from there alone.
    fn drop(&mut self, kin_idx: usize, part: Inherited<'_>, operation: &Op) {
        let kin = &mut self.all[kin_idx];
        kin.operations.push(operation.clone());
        match part {
            Inherited::Column(name) => kin.columns.retain(|column| column.name != name),
            Inherited::Check(name) => kin.checks.retain(|check| check.name != name),
        }
        for child_idx in self.children(kin_idx) {
            let is_there = part.is_of(&self.all[child_idx].columns, &self.all[child_idx].checks);
            let count = self.count(child_idx, part);
            let only = self.only;
            let inheritance = &mut self.all[child_idx].inheritance;
            let (names, name) = match part {
                Inherited::Column(name) => (&mut inheritance.columns, name),
                Inherited::Check(name) => (&mut inheritance.checks, name),
            };
            let Some(at) = names.iter().position(|known| known == name) else { continue };
            if only {
                names.remove(at);
            } else if is_there && count == 0 {
                names.remove(at);
                self.drop(child_idx, part, operation);
            }
        }
    }

    /// All below a table, each once.
    fn descendants(&self) -> std::ops::Range<usize> {
        1..self.all.len()
    }

    fn has_children(&self) -> bool {
        self.all.len() > 1
    }

    /// Gives those below the table that have the part the same operation.
    fn everywhere(&mut self, part: Inherited<'_>, operation: &Op) {
        for kin in &mut self.all[1..] {
            if part.is_of(&kin.columns, &kin.checks) {
                kin.operations.push(operation.clone());
            }
        }
    }

    fn rename_column(&mut self, from: &str, to: &str, operation: &Op) -> Result<()> {
        for kin_idx in 0..self.all.len() {
            let kin = &mut self.all[kin_idx];
            let Some(at) = kin.column(from) else { continue };
            to.clone_into(&mut kin.columns[at].name);
            let names = kin.inheritance.columns.iter_mut();
            names.filter(|name| *name == from).for_each(|name| to.clone_into(name));
            kin.operations.push(operation.clone());
        }
        // Parents that keep the old name keep the column's.
        if self.descendants().any(|at| self.count(at, Inherited::Column(from)) > 0) {
            return invalid(format!("cannot rename inherited column \"{from}\""));
        }
        Ok(())
    }

    fn rename_check(&mut self, from: &str, to: &str, operation: &Op) -> Result<()> {
        for kin_idx in 0..self.all.len() {
            let kin = &mut self.all[kin_idx];
            let Some(at) = kin.check(from) else { continue };
            to.clone_into(&mut kin.checks[at].name);
            let names = kin.inheritance.checks.iter_mut();
            names.filter(|name| *name == from).for_each(|name| to.clone_into(name));
            kin.operations.push(operation.clone());
        }
        if self.descendants().any(|at| self.count(at, Inherited::Check(from)) > 0) {
            return invalid(format!("cannot rename inherited constraint \"{from}\""));
        }
        Ok(())
    }

    /// Gives a new constraint of the table to those below it.
    fn add_check(&mut self, kin_idx: usize, check: &CheckDef) -> Result<()> {
        for child_idx in self.children(kin_idx) {
            let child = &mut self.all[child_idx];
            let (name, of) = (&check.name, child.table.bare_name().to_owned());
            let Some(at) = child.check(name) else {
                child.inheritance.checks.push(name.clone());
                child.checks.push(check.clone());
                child.added.push(check.clone());
                self.add_check(child_idx, check)?;
                continue;
            };
            let known = &child.checks[at];
            if known.sql != check.sql {
                let message = format!("constraint \"{name}\" for relation \"{of}\" already exists");
                return fail(SqlState::DUPLICATE_OBJECT, message, None);
            }
            let conflict = if known.scope == CheckScope::Alone {
                Some("non-inherited")
            } else {
                let is_late = known.validity == Validity::NotValid;
                (is_late && check.validity == Validity::Valid).then_some("NOT VALID")
            };
            if let Some(what) = conflict {
                let message = format!(
                    "constraint \"{name}\" conflicts with {what} constraint on relation \"{of}\""
                );
                return fail(SqlState::INVALID_OBJECT_DEFINITION, message, None);
            }
            child.notice(format!("merging constraint \"{name}\" with inherited definition"));
        }
        Ok(())
    }
}

impl Binder<'_> {
    /// ALTER TABLE of a table with parents or children.
    pub(super) fn bind_alter_family(
        &mut self,
        alter: &ast::AlterTable,
        table: &TableRef,
    ) -> Result<Statement> {
        let heirs = table.family().into_iter().flat_map(|family| &family.heirs);
        let tables = std::iter::once(table).chain(heirs.map(|heir| &heir.table));
        let mut kindred =
            Kindred { all: tables.map(Kin::new).collect(), others: Vec::new(), only: alter.only };
        for kin in &kindred.all {
            for parent in &kin.inheritance.parents {
                kindred.others.extend(self.table_of_key(parent));
            }
        }
        for operation in &alter.operations {
            self.alter_kin(&mut kindred, operation)?;
        }
        let statement = self.bind_alter_table(alter)?;
        let Statement::AlterTable(Some(mut own)) = statement else { return Ok(statement) };
        for action in &own.actions {
            let AlterAction::AddCheck(check) = action else { continue };
            if check.scope == CheckScope::Alone || !kindred.has_children() {
                continue;
            }
            if alter.only {
                return invalid("constraint must be added to child tables too".to_owned());
            }
            kindred.add_check(0, check)?;
        }
        let mut all = kindred.all.into_iter();
        if let Some(mut first) = all.next() {
            first.follow(&own.actions);
            own.actions.retain(|action| !matches!(action, AlterAction::SetInheritance(_)));
            own.actions.extend(first.inherits());
        }
        for kin in all {
            own.partitions.push(self.altered_kin(alter, kin)?);
        }
        Ok(Statement::AlterTable(Some(own)))
    }

    /// The statement for a table below that of the statement.
    fn altered_kin(&mut self, alter: &ast::AlterTable, mut kin: Kin) -> Result<AlterTable> {
        let operations = std::mem::take(&mut kin.operations);
        let one = if operations.is_empty() {
            altered_table(kin.table.clone(), Vec::new(), None)
        } else {
            let name = object_name_of(kin.table.name());
            self.bind_alter_table(&ast::AlterTable { name, operations, ..alter.clone() })?
        };
        let Statement::AlterTable(Some(mut one)) = one else {
            return Err(Error::internal("ALTER TABLE of a child"));
        };
        one.actions.extend(kin.added.drain(..).map(AlterAction::AddCheck));
        one.actions.extend(kin.inherits());
        Ok(*one)
    }

    /// The table that the catalog calls `key`.
    fn table_of_key(&self, key: &str) -> Option<TableRef> {
        let full = RelationName::of_key(key);
        match self.catalog.relation(Some(full.schema_name()), &full.name)? {
            Relation::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Follows an operation down to the tables below that of the statement.
    fn alter_kin(&mut self, kindred: &mut Kindred, operation: &Op) -> Result<()> {
        let (only, has_children) = (kindred.only, kindred.has_children());
        let refuse_only =
            |message: String| if only && has_children { invalid(message) } else { Ok(()) };
        match operation {
            Op::AddColumn { column_def, if_not_exists, .. } => {
                let name = folded(&column_def.name);
                if kindred.all[0].column(&name).is_some() && *if_not_exists {
                    return Ok(());
                }
                refuse_only("column must be added to child tables too".to_owned())?;
                self.add_column_below(kindred, column_def)
            }
            Op::DropColumn { column_names, .. } => {
                for ident in column_names {
                    let name = folded(ident);
                    let part = Inherited::Column(&name);
                    if kindred.all[0].column(&name).is_none() {
                        continue;
                    }
                    if kindred.count(0, part) > 0 {
                        return invalid(format!("cannot drop inherited column \"{name}\""));
                    }
                    let column_names = vec![ident.clone()];
                    let mut one = operation.clone();
                    if let Op::DropColumn { column_names: names, .. } = &mut one {
                        *names = column_names;
                    }
                    kindred.drop(0, part, &one);
                }
                Ok(())
            }
            Op::RenameColumn { old_column_name, new_column_name } => {
                let (from, to) = (folded(old_column_name), folded(new_column_name));
                if kindred.count(0, Inherited::Column(&from)) > 0 {
                    return invalid(format!("cannot rename inherited column \"{from}\""));
                }
                refuse_only(format!(
                    "inherited column \"{from}\" must be renamed in child tables too"
                ))?;
                kindred.rename_column(&from, &to, operation)
            }
            Op::AlterColumn { column_name, op } => {
                alter_column(kindred, &folded(column_name), op, operation)
            }
            other => alter_constraint(kindred, other),
        }
    }

    /// ADD COLUMN below the table that gets one.
    fn add_column_below(&mut self, kindred: &mut Kindred, column: &ast::ColumnDef) -> Result<()> {
        if !kindred.has_children() {
            return Ok(());
        }
        let at = ident_at(&column.name);
        if super::constraint::serial_type(&column.data_type).is_some() {
            return unsupported(
                "ADD COLUMN of type serial to a table that others inherit from",
                at,
            );
        }
        let is_identity = |option: &ast::ColumnOptionDef| match &option.option {
            ast::ColumnOption::Generated { generation_expr, .. } => generation_expr.is_none(),
            _ => false,
        };
        if column.options.iter().any(is_identity) {
            let message = "cannot recursively add identity column to table that has child tables";
            return fail(SqlState::INVALID_OBJECT_DEFINITION, message, at);
        }
        let Declared { ty, domain } = self.declared_type(&column.data_type, at)?;
        let def = ColumnDef { domain, ..ColumnDef::new(folded(&column.name), ty) };
        // Constraints but NOT NULL stay with the table, or follow by name.
        let stays = |option: &ast::ColumnOptionDef| {
            matches!(
                option.option,
                ast::ColumnOption::PrimaryKey(_)
                    | ast::ColumnOption::Unique(_)
                    | ast::ColumnOption::ForeignKey(_)
                    | ast::ColumnOption::Check(_)
            )
        };
        let mut column = column.clone();
        column.options.retain(|option| !stays(option));
        let operation = Op::AddColumn {
            column_keyword: true,
            if_not_exists: false,
            column_def: column,
            column_position: None,
        };
        kindred.all[0].columns.push(def.clone());
        give_column(kindred, 0, &def, &operation)
    }

    /// ALTER TABLE ... INHERIT.
    pub(super) fn inherit_from(
        &mut self,
        table: &TableRef,
        parent: &ast::ObjectName,
    ) -> Result<AlterAction> {
        refuse_partitions(table)?;
        let parent = self.writable_table(parent)?;
        check_parent(&parent, None)?;
        if table.name().starts_with("pg_temp.") != parent.name().starts_with("pg_temp.") {
            return unsupported("a temporary table and a permanent one in a family", None);
        }
        let (own, of) = (table.bare_name(), parent.bare_name());
        let mut inheritance = table.inheritance().cloned().unwrap_or_default();
        if inheritance.parents.iter().any(|known| known == parent.name()) {
            let message = format!("relation \"{of}\" would be inherited from more than once");
            return fail(SqlState::DUPLICATE_TABLE, message, None);
        }
        let is_below = |heir: &crate::algebra::family::Heir| heir.table.name() == parent.name();
        if table.name() == parent.name()
            || table.family().is_some_and(|family| family.heirs.iter().any(is_below))
        {
            let message = "circular inheritance not allowed".to_owned();
            let detail = format!("\"{of}\" is already a child of \"{own}\".");
            return Err(Error::new(SqlState::DUPLICATE_TABLE, message).with_detail(detail));
        }
        check_columns(&parent, table)?;
        check_checks(&parent, table)?;
        inheritance.parents.push(parent.name().to_owned());
        let merged = Vec::new();
        let set = SetInheritance { inheritance, joins: Some(parent), merged };
        Ok(AlterAction::SetInheritance(Box::new(set)))
    }

    /// ALTER TABLE ... NO INHERIT.
    pub(super) fn inherit_no_more(
        &mut self,
        table: &TableRef,
        parent: &ast::ObjectName,
    ) -> Result<AlterAction> {
        refuse_partitions(table)?;
        let parent = self.table_named(parent)?;
        let mut kindred = Kindred { all: vec![Kin::new(table)], others: Vec::new(), only: false };
        let parents = &mut kindred.all[0].inheritance.parents;
        let Some(at) = parents.iter().position(|known| known == parent.name()) else {
            let message = format!(
                "relation \"{}\" is not a parent of relation \"{}\"",
                parent.bare_name(),
                table.bare_name()
            );
            return fail(SqlState::UNDEFINED_TABLE, message, None);
        };
        parents.remove(at);
        for other in kindred.all[0].inheritance.parents.clone() {
            kindred.others.extend(self.table_of_key(&other));
        }
        let Inheritance { parents, mut columns, mut checks } = kindred.all[0].inheritance.clone();
        columns.retain(|name| kindred.count(0, Inherited::Column(name)) > 0);
        checks.retain(|name| kindred.count(0, Inherited::Check(name)) > 0);
        let inheritance = Inheritance { parents, columns, checks };
        let set = SetInheritance { inheritance, joins: None, merged: Vec::new() };
        Ok(AlterAction::SetInheritance(Box::new(set)))
    }
}

fn refuse_partitions(table: &TableRef) -> Result<()> {
    let message = if table.partition_of().is_some() {
        "cannot change inheritance of a partition"
    } else if table.partition_key().is_some() {
        "cannot change inheritance of partitioned table"
    } else {
        return Ok(());
    };
    fail(SqlState::WRONG_OBJECT_TYPE, message, None)
}

/// Refuses a table whose columns are not those of its new parent.
fn check_columns(parent: &TableRef, table: &TableRef) -> Result<()> {
    let own = table.bare_name();
    let mismatch = |message: String| fail(SqlState::DATATYPE_MISMATCH, message, None);
    for column in parent.columns() {
        let name = &column.name;
        let Some(known) = table.columns().iter().find(|known| known.name == *name) else {
            return mismatch(format!("child table is missing column \"{name}\""));
        };
        if type_conflict(known, column).is_some() {
            return mismatch(format!(
                "child table \"{own}\" has different type for column \"{name}\""
            ));
        }
        if column.not_null && !known.not_null {
            return mismatch(format!("column \"{name}\" in child table must be marked NOT NULL"));
        }
        if column.generated.is_some() && known.generated.is_none() {
            return mismatch(format!(
                "column \"{name}\" in child table must be a generated column"
            ));
        }
        if column.generated.is_some() && column.generated != known.generated {
            return mismatch(format!(
                "column \"{name}\" in child table has a conflicting generation expression"
            ));
        }
    }
    Ok(())
}

/// Refuses a table that lacks constraints of its new parent.
fn check_checks(parent: &TableRef, table: &TableRef) -> Result<()> {
    let own = table.bare_name();
    let mismatch = |message: String| fail(SqlState::DATATYPE_MISMATCH, message, None);
    for check in parent.checks().iter().filter(|check| check.scope == CheckScope::Family) {
        let name = &check.name;
        let Some(known) = table.checks().iter().find(|known| known.name == *name) else {
            return mismatch(format!("child table is missing constraint \"{name}\""));
        };
        if known.sql != check.sql {
            return mismatch(format!(
                "child table \"{own}\" has different definition for check constraint \"{name}\""
            ));
        }
        if known.scope == CheckScope::Alone {
            let message = format!(
                "constraint \"{name}\" conflicts with non-inherited constraint on child table \
                 \"{own}\""
            );
            return fail(SqlState::INVALID_OBJECT_DEFINITION, message, None);
        }
    }
    Ok(())
}

impl Kin {
    /// Takes over what the actions of the table itself made its own of what it inherits.
    fn follow(&mut self, actions: &[AlterAction]) {
        for action in actions {
            let AlterAction::SetInheritance(set) = action else { continue };
            self.inheritance.checks.retain(|name| set.inheritance.checks.contains(name));
            self.merged.extend(set.merged.iter().cloned());
        }
    }

    /// The action that keeps its inheritance, where that differs.
    fn inherits(self) -> Option<AlterAction> {
        let Self { table, inheritance, merged, .. } = self;
        let is_same = *table.inheritance().unwrap_or(&Inheritance::default()) == inheritance;
        let set = SetInheritance { inheritance, joins: None, merged };
        (!is_same || !set.merged.is_empty()).then(|| AlterAction::SetInheritance(Box::new(set)))
    }
}

/// Gives a new column of the table at `kin_idx` to those below it.
fn give_column(
    kindred: &mut Kindred,
    kin_idx: usize,
    column: &ColumnDef,
    operation: &Op,
) -> Result<()> {
    for child_idx in kindred.children(kin_idx) {
        let child = &mut kindred.all[child_idx];
        let (name, of) = (&column.name, child.table.bare_name().to_owned());
        let Some(at) = child.column(name) else {
            child.inheritance.columns.push(name.clone());
            child.columns.push(column.clone());
            child.operations.push(operation.clone());
            give_column(kindred, child_idx, column, operation)?;
            continue;
        };
        if type_conflict(&child.columns[at], column).is_some() {
            let message = format!("child table \"{of}\" has different type for column \"{name}\"");
            return fail(SqlState::DATATYPE_MISMATCH, message, None);
        }
        child.notice(format!("merging definition of column \"{name}\" for child \"{of}\""));
    }
    Ok(())
}

/// ALTER COLUMN of the table and of those below it.
fn alter_column(kindred: &mut Kindred, name: &str, op: &ColumnOp, operation: &Op) -> Result<()> {
    let part = Inherited::Column(name);
    match op {
        ColumnOp::SetDataType { .. } => {
            if kindred.count(0, part) > 0 {
                return invalid(format!("cannot alter inherited column \"{name}\""));
            }
            if kindred.only && kindred.has_children() {
                return invalid(format!(
                    "type of inherited column \"{name}\" must be changed in child tables too"
                ));
            }
            let others = kindred.others.clone();
            for kin_idx in kindred.descendants() {
                let kin = &kindred.all[kin_idx];
                let is_other = |parent: &&String| {
                    !kindred.all.iter().any(|kin| kin.table.name() == parent.as_str())
                };
                let mut parents = kin.inheritance.parents.iter().filter(is_other);
                let has = |parent: &String| {
                    let other = others.iter().find(|table| table.name() == parent.as_str());
                    other.is_some_and(|table| part.is_of(table.columns(), table.checks()))
                };
                if parents.any(has) {
                    let of = kin.table.bare_name();
                    return invalid(format!(
                        "cannot alter inherited column \"{name}\" of relation \"{of}\""
                    ));
                }
            }
            kindred.everywhere(part, operation);
        }
        ColumnOp::SetNotNull
        | ColumnOp::DropNotNull
        | ColumnOp::SetDefault { .. }
        | ColumnOp::DropDefault
            if !kindred.only =>
        {
            kindred.everywhere(part, operation);
        }
        _ => {}
    }
    Ok(())
}

/// Changes of CHECK constraints of the table and of those below it.
fn alter_constraint(kindred: &mut Kindred, operation: &Op) -> Result<()> {
    let is_family =
        |kindred: &Kindred, name: &str| Inherited::Check(name).is_of(&[], &kindred.all[0].checks);
    let is_only = kindred.only && kindred.has_children();
    match operation {
        Op::DropConstraint { name, .. } => {
            let name = folded(name);
            let part = Inherited::Check(&name);
            if kindred.count(0, part) > 0 && kindred.all[0].check(&name).is_some() {
                let of = kindred.all[0].table.bare_name();
                return invalid(format!(
                    "cannot drop inherited constraint \"{name}\" of relation \"{of}\""
                ));
            }
            if is_family(kindred, &name) {
                kindred.drop(0, part, operation);
            }
            Ok(())
        }
        Op::RenameConstraint { old_name, new_name } => {
            let (from, to) = (folded(old_name), folded(new_name));
            if !is_family(kindred, &from) {
                return Ok(());
            }
            if kindred.count(0, Inherited::Check(&from)) > 0 {
                return invalid(format!("cannot rename inherited constraint \"{from}\""));
            }
            if is_only {
                return invalid(format!(
                    "inherited constraint \"{from}\" must be renamed in child tables too"
                ));
            }
            kindred.rename_check(&from, &to, operation)
        }
        Op::ValidateConstraint { name } if is_family(kindred, &folded(name)) => {
            if is_only {
                return invalid("constraint must be validated on child tables too".to_owned());
            }
            let name = folded(name);
            kindred.everywhere(Inherited::Check(&name), operation);
            Ok(())
        }
        _ => Ok(()),
    }
}
