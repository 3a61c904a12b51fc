//! CREATE and ALTER DOMAIN.
//!
//! ```text
//! change -> another content -> State::replace_domain: columns, domains made of it
//!        -> tables whose texts cast to it: their conditions are bound anew
//! a test that is added: first all rows that have the domain, whose tables are locked
//! ```
//! Departure from PostgreSQL: temporary tables of other sessions keep the tests that the domain
//! had.

use catalog::user_types::has_attribute_of;
use sql::catalog::{CheckDef, ColumnDef, Domain, DomainDef, DomainOf, UserType, Validity};
use sql::statement::{
    DomainChange, DomainStatement, IfMissing, NewDomain, Nullability, RelationName, TypeKind,
};
use types::{Error, Result, SqlState};

use super::{redefined, texts, user_type, validate};
use crate::session::definer::Definer;
use crate::{QueryResult, Session};

/// Runs a statement about domains; the catalog is locked.
pub(super) fn run_statement(
    session: &mut Session,
    statement: DomainStatement,
) -> Result<QueryResult> {
    let command = statement.command();
    match statement {
        DomainStatement::Create { name, content } => {
            create(&mut session.definer(), &name, content)?
        }
        DomainStatement::Alter { name, change } => alter(session, &name, change)?,
    }
    Ok(QueryResult::command(command))
}

fn create(definer: &mut Definer<'_>, name: &RelationName, content: NewDomain) -> Result<()> {
    let state = definer.state();
    let key = state.key_of(name)?;
    user_type::check_free(&state, &key)?;
    let number = state.new_type_number(&key);
    let NewDomain { ty, over, default, nulls, checks } = content;
    let not_null = nulls == Nullability::NotNull;
    let def = DomainDef { number, key: key.clone(), ty, over, default, not_null, checks };
    let domain = Domain::new(def)?;
    definer.change_catalog(|state| {
        state.types.insert(key, UserType::Domain(domain));
        Ok(())
    })
}

fn alter(session: &mut Session, name: &RelationName, change: DomainChange) -> Result<()> {
    let state = session.state();
    let key = user_type::existing(&state, TypeKind::Domain, name)?;
    user_type::check_owner(&state, &session.who(), &key)?;
    let Some(UserType::Domain(old)) = state.types.get(&key).copied() else { return Ok(()) };
    let mut def = DomainDef::clone(&old);
    let missing = |name: &str, word: &str| {
        let message = format!("constraint \"{name}\" {word} does not exist");
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    };
    let bare = RelationName::name_of_key(&key);
    let of_domain = format!("of domain \"{bare}\"");
    match change {
        DomainChange::Default(default) => def.default = default,
        DomainChange::Nulls(Nullability::Nullable) => def.not_null = false,
        DomainChange::Nulls(Nullability::NotNull) => {
            if !def.not_null {
                test_rows(session, old, None)?;
            }
            def.not_null = true;
        }
        DomainChange::AddCheck(check) => {
            if check.validity == Validity::Valid {
                test_rows(session, old, Some(&check))?;
            }
            def.checks.push(check);
        }
        DomainChange::DropConstraint { name, if_missing } => {
            let before = def.checks.len();
            def.checks.retain(|check| check.name != name);
            if def.checks.len() == before {
                let error = missing(&name, &of_domain);
                if if_missing == IfMissing::Fail {
                    return Err(error);
                }
                let message = format!("{}, skipping", error.message());
                session.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                return Ok(());
            }
        }
        DomainChange::Validate(name) => {
            let check = def.checks.iter_mut().find(|check| check.name == name);
            let check = check.ok_or_else(|| missing(&name, &of_domain))?;
            if check.validity == Validity::NotValid {
                test_rows(session, old, Some(check))?;
            }
            check.validity = Validity::Valid;
        }
        DomainChange::RenameConstraint { from, to } => {
            let is_taken = def.checks.iter().any(|check| check.name == to);
            let check = def.checks.iter_mut().find(|check| check.name == from);
            let shown = format!("for domain {}", old.name());
            let check = check.ok_or_else(|| missing(&from, &shown))?;
            if is_taken {
                let message = format!("constraint \"{to}\" {shown} already exists");
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            check.name = to;
        }
    }
    replace(session, old, Domain::new(def)?)
}

/// Puts another content in the place of a domain.
fn replace(session: &mut Session, old: Domain, new: Domain) -> Result<()> {
    let state = session.state();
    let over = state.domains_over(old);
    let holders = state.types.values().filter(|ty| has_attribute_of(ty.data_type(), &over));
    let keys = over.iter().map(|domain| domain.key.clone());
    let keys: Vec<String> = keys.chain(holders.map(|ty| ty.key().to_owned())).collect();
    let named = keys.iter().flat_map(|key| texts::users_of(session, texts::Naming::Types, key));
    let tables: Vec<String> = named.filter_map(|place| place.table().map(str::to_owned)).collect();
    session.change_catalog(|state| {
        state.replace_domain(old, new)?;
        state.renew_tables(|key| tables.iter().any(|table| table == key));
        Ok(())
    })
}

/// 0A000 for a column that holds values of the domain in arrays or records.
fn held_below(domain: Domain, table: &str, column: &str) -> Error {
    let message = format!(
        "cannot alter type \"{}\" because column \"{table}.{column}\" uses it",
        domain.name()
    );
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// Tests all values that are of the domain: against a condition, or to be no NULL.
///
/// # Errors
/// 23502, 23514; 0A000 where arrays of the domain are held, or records with it; what the condition
/// raises.
fn test_rows(session: &mut Session, domain: Domain, check: Option<&CheckDef>) -> Result<()> {
    let tables: Vec<String> = session.state().tables.keys().cloned().collect();
    let over = session.state().domains_over(domain);
    for key in tables {
        let state = session.state();
        let Some(entry) = state.tables.get(&key) else { continue };
        let of = |column: &ColumnDef| {
            let used = column.domain?;
            let is_it = used.domain.levels().any(|level| level.is_same_object(domain));
            is_it.then(|| (column.name.clone(), used.of))
        };
        let columns: Vec<(String, DomainOf)> = entry.def.columns.iter().filter_map(of).collect();
        let holds = |column: &&ColumnDef| has_attribute_of(column.ty, &over);
        if let Some(column) = entry.def.columns.iter().find(holds) {
            return Err(held_below(domain, entry.def.bare_name(), &column.name));
        }
        if columns.is_empty() {
            continue;
        }
        let entry = redefined::locked_named(session, &key)?;
        for (column, of) in columns {
            if of == DomainOf::Elements {
                return Err(held_below(domain, entry.def.bare_name(), &column));
            }
            validate::domain(session, &entry.def, &column, check)?;
        }
    }
    Ok(())
}
