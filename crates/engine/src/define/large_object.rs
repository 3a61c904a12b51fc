//! Large objects: the tables that hold them, who owns them.
//!
//! ```text
//! pg_toast.pg_largeobject_metadata   oid | owner                        an object
//! pg_toast.pg_largeobject            loid, pageno | data                2,048 bytes, or fewer
//! ```
//! The tables are ordinary ones, made by the first large object, so that log, recovery, backups,
//! savepoints and memory are those of all rows; clients find them under PostgreSQL's names as views
//! (`statement::catalog`). Nobody but the database itself has rights on them. Who owns an object is
//! in its row: to make one does not change the catalog.
//! Invariants: an object has a row in the first table; pages that are not there are zeros, and the
//! last one ends where the object does.
//! Elsewhere: what reads and writes them (`run::large_object`).

mod guard;

use catalog::Schema;
use catalog::comments::Commented;
use catalog::rights::Object;
use catalog::rows::Rows;
use catalog::who::{Who, denied};
use sql::statement::{RelationName, RoleStatement, Statement};
use types::{DataType, Error, Result, SqlState, Value};

use super::table;
use crate::statement::running::Running;
use crate::{Database, QueryResult, Session};

pub(super) use self::guard::refuse_definition;

/// Everything that there is, in order.
const DEFINITIONS: &str = include_str!("large_object/definitions.sql");

/// The schema of the tables.
pub(super) const SCHEMA: &str = "pg_toast";

/// The table of objects.
const OBJECTS: &str = "pg_toast.pg_largeobject_metadata";

/// A statement over the tables.
#[derive(Clone, Copy)]
pub(crate) struct Own<'a> {
    /// Its text.
    pub(crate) text: &'a str,
    /// Types of its parameters.
    pub(crate) types: &'a [DataType],
}

/// The large objects of a database, for one session and in its transaction.
pub(crate) struct LargeObjects<'s> {
    pub(crate) session: &'s mut Session,
}

/// The rows of a result.
pub(crate) fn rows_of(result: &QueryResult) -> Vec<Vec<Value>> {
    let mut all = Vec::new();
    for batch in result.batches() {
        let rows = Rows::new(batch);
        all.extend((0..rows.count).map(|row| {
            let columns = batch.columns.iter();
            columns.map(|column| column.value(row)).collect()
        }));
    }
    all
}

impl LargeObjects<'_> {
    /// Runs a statement in the session's transaction, with all rights.
    ///
    /// # Errors
    /// Errors of the statement.
    pub(crate) fn run(&mut self, own: Own<'_>, values: Vec<Value>) -> Result<QueryResult> {
        let parsed = sql::parse(own.text)?.pop();
        let parsed = parsed.ok_or_else(|| Error::internal("a statement of our own"))?;
        let bound = sql::bind(&parsed, &self.session.definition_catalog(), own.types)?;
        let result = Running::new(self.session, values).run_rows(&bound);
        result.ok_or_else(|| Error::internal("a statement of our own is about rows"))?
    }

    /// True when somebody has made the tables.
    pub(crate) fn are_there(&self) -> bool {
        self.session.state().tables.contains_key(OBJECTS)
    }

    /// Makes the tables, in the session's transaction, when there are none.
    ///
    /// # Errors
    /// 40P01, 57014 from waiting for others who change the catalog.
    pub(crate) fn ensure(&mut self) -> Result<()> {
        if self.are_there() {
            return Ok(());
        }
        self.session.work().check_writable("lo_create")?;
        self.session.lock_catalog()?;
        if self.are_there() {
            return Ok(());
        }
        self.session.change_catalog(|state| {
            state.schemas.entry(SCHEMA.to_owned()).or_insert(Schema);
            Ok(())
        })?;
        for parsed in sql::parse(DEFINITIONS)? {
            match sql::bind(&parsed, &self.session.definition_catalog(), &[])? {
                Statement::CreateTable(create) => drop(table::create(self.session, *create)?),
                _ => return Err(Error::internal("a definition of large objects")),
            }
        }
        self.session.change_catalog(|state| {
            let is_own = |object: &Object| match object {
                Object::Schema(name) => name == SCHEMA,
                Object::Relation(key) => RelationName::schema_of_key(key) == SCHEMA,
                Object::Database | Object::Type(_) | Object::Routine(_) => false,
            };
            state.rights.retain(|object, _| !is_own(object));
            Ok(())
        })
    }

    /// The owner of an object; nothing stands for the superusers.
    ///
    /// # Errors
    /// 42704 when there is none of this number.
    pub(crate) fn owner_of(&mut self, number: u32) -> Result<String> {
        if !self.are_there() {
            return Err(undefined(number));
        }
        let text = "SELECT owner FROM pg_toast.pg_largeobject_metadata WHERE oid = $1";
        let found = Own { text, types: &[DataType::Oid] };
        let rows = rows_of(&self.run(found, vec![Value::I64(i64::from(number))])?);
        match rows.first().map(Vec::as_slice) {
            Some([Value::Str(owner)]) => Ok(String::from_utf8_lossy(owner).into_owned()),
            _ => Err(undefined(number)),
        }
    }

    /// True when the session may do everything with what belongs to `owner`.
    fn owns(&self, owner: &str) -> bool {
        let (state, who) = (self.session.state(), self.session.who());
        state.is_superuser(&who) || (!owner.is_empty() && state.has_rights_of(&who, owner))
    }

    /// # Errors
    /// 42704, 42501 unless the session owns the object.
    pub(crate) fn check_owner(&mut self, number: u32) -> Result<()> {
        let owner = self.owner_of(number)?;
        if self.owns(&owner) {
            return Ok(());
        }
        Err(denied(format!("must be owner of large object {number}")))
    }

    /// # Errors
    /// 42704, 42501 for what belongs to others.
    pub(crate) fn check_access(&mut self, number: u32) -> Result<()> {
        let owner = self.owner_of(number)?;
        if self.owns(&owner) {
            return Ok(());
        }
        Err(denied(format!("permission denied for large object {number}")))
    }

    /// Makes an object without content, which the session owns.
    ///
    /// # Errors
    /// 23505 when there is one of this number.
    pub(crate) fn create(&mut self, number: u32) -> Result<()> {
        self.ensure()?;
        let owner = match self.session.who() {
            Who::All => String::new(),
            Who::Role(role) if self.session.state().is_superuser(&Who::Role(role.clone())) => {
                String::new()
            }
            Who::Role(role) => role.to_string(),
        };
        let text = "INSERT INTO pg_toast.pg_largeobject_metadata VALUES ($1, $2)";
        let insert = Own { text, types: &[DataType::Oid, DataType::Text] };
        self.run(insert, vec![Value::I64(i64::from(number)), Value::text(&owner)]).map(drop)
    }

    /// Takes an object away, with its content and its comment.
    ///
    /// # Errors
    /// 42704, 42501.
    pub(crate) fn remove(&mut self, number: u32) -> Result<()> {
        self.check_owner(number)?;
        let values = || vec![Value::I64(i64::from(number))];
        for text in [
            "DELETE FROM pg_toast.pg_largeobject WHERE loid = $1",
            "DELETE FROM pg_toast.pg_largeobject_metadata WHERE oid = $1",
        ] {
            self.run(Own { text, types: &[DataType::Oid] }, values())?;
        }
        let commented = Commented::LargeObject(number);
        if self.session.state().comments.contains_key(&commented) {
            self.session.lock_catalog()?;
            self.session.change_catalog(|state| {
                state.comments.remove(&commented);
                Ok(())
            })?;
        }
        self.session.work_mut().descriptors.close_all_of(number);
        Ok(())
    }

    /// ALTER LARGE OBJECT ... OWNER TO; `name` is the number.
    ///
    /// # Errors
    /// 42704; 42501 unless the session owns it and is a member of the role.
    pub(super) fn set_owner(&mut self, name: &RelationName, to: &str) -> Result<()> {
        let number =
            name.name.parse().map_err(|_| Error::internal("a number of a large object"))?;
        self.check_owner(number)?;
        if let Who::Role(own) = self.session.who()
            && !self.session.state().is_superuser(&Who::Role(own.clone()))
            && !self.session.state().is_member(&own, to)
        {
            return Err(denied(format!("must be member of role \"{to}\"")));
        }
        let text = "UPDATE pg_toast.pg_largeobject_metadata SET owner = $2 WHERE oid = $1";
        let update = Own { text, types: &[DataType::Oid, DataType::Text] };
        self.run(update, vec![Value::I64(i64::from(number)), Value::text(to)]).map(drop)
    }

    /// Gives what belongs to one role to another.
    pub(super) fn reassign(&mut self, from: &str, to: &str) -> Result<()> {
        if !self.are_there() {
            return Ok(());
        }
        let text = "UPDATE pg_toast.pg_largeobject_metadata SET owner = $2 WHERE owner = $1";
        let update = Own { text, types: &[DataType::Text, DataType::Text] };
        self.run(update, vec![Value::text(from), Value::text(to)]).map(drop)
    }

    /// The numbers of the objects of a role.
    ///
    /// # Errors
    /// Errors of reading them.
    pub(super) fn objects_of(&mut self, role: &str) -> Result<Vec<u32>> {
        if !self.are_there() {
            return Ok(Vec::new());
        }
        let text = "SELECT oid FROM pg_toast.pg_largeobject_metadata WHERE owner = $1 ORDER BY oid";
        let found = self.run(Own { text, types: &[DataType::Text] }, vec![Value::text(role)])?;
        let number =
            |row: &Vec<Value>| row.first()?.as_integer().and_then(|n| u32::try_from(n).ok());
        Ok(rows_of(&found).iter().filter_map(number).collect())
    }

    /// Takes away the objects of a role.
    pub(super) fn remove_owned(&mut self, role: &str) -> Result<()> {
        self.objects_of(role)?.into_iter().try_for_each(|number| self.remove(number))
    }

    /// Objects follow their owner's new name, and hold a role that was dropped: `statement` was
    /// allowed, and is taken back by an error.
    ///
    /// # Errors
    /// 2BP01 for a role that has some.
    pub(super) fn follow_roles(&mut self, statement: &RoleStatement) -> Result<()> {
        match statement {
            RoleStatement::Rename { name, to } => self.reassign(name, to),
            RoleStatement::Drop { names, .. } => {
                names.iter().try_for_each(|name| self.refuse_owner(name))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// 2BP01 for a role that has objects.
    fn refuse_owner(&mut self, role: &str) -> Result<()> {
        let objects = self.objects_of(role)?;
        if objects.is_empty() {
            return Ok(());
        }
        let line = |number: &u32| format!("owner of large object {number}");
        let lines: Vec<String> = objects.iter().map(line).collect();
        let message =
            format!("role \"{role}\" cannot be dropped because some objects depend on it");
        Err(Error::new(SqlState::DEPENDENT_OBJECTS, message).with_detail(lines.join("\n")))
    }
}

/// # Errors
/// 2BP01 for a role that has large objects in `database`, which is not the session's.
pub(super) fn refuse_owner_in(database: &Database, role: &str) -> Result<()> {
    if !database.inner().stores.relations.snapshot().tables.contains_key(OBJECTS) {
        return Ok(());
    }
    let mut session = database.session();
    session.begin_statement()?;
    let outcome = LargeObjects { session: &mut session }.refuse_owner(role);
    session.rollback_work();
    outcome
}

/// 42704.
fn undefined(number: u32) -> Error {
    let message = format!("large object {number} does not exist");
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}
