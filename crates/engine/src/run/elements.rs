//! Statements that are made of others: what changes nothing beside what does.

use catalog::undefined_table;
use sql::statement::{
    Effectless, IfExists, IfMissing, RelationName, RoleName, SchemaElements, SchemaStatement,
    Statement,
};
use types::{Error, Result, SqlState};

use crate::QueryResult;
use crate::session::Session;
use crate::statement::running::Running;
use crate::transaction::work::Begun;

impl Session {
    /// Looks for the index that the statement is about, gives its notices, and runs what it has
    /// of others.
    pub(super) fn effectless(&mut self, statement: Effectless) -> Result<QueryResult> {
        let Effectless { command, apart, index, notices, rest } = statement;
        if let Some(what) = apart.filter(|_| self.work().begun != Begun::ForOneStatement) {
            let message = format!("{what} cannot run inside a transaction block");
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        if let Some((name, if_missing)) = &index {
            let key = self.state().key_of(name)?;
            let kind = self.state().kind_of(&key);
            let is_index = matches!(kind, Some("index" | "table" | "materialized view"));
            if command == "REINDEX" && kind.is_some_and(|kind| kind != "index") {
                let message = format!("\"{}\" is not an index", name.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            match if_missing {
                _ if is_index => {}
                IfMissing::Fail => return Err(undefined_table(&key)),
                IfMissing::Skip => {
                    let message = format!("relation \"{}\" does not exist, skipping", name.name);
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                    return Ok(QueryResult::command(command));
                }
            }
        }
        for (state, message) in notices {
            self.notice(state, message);
        }
        match rest {
            Some(statement) => Running::own(self).run(*statement),
            None => Ok(QueryResult::command(command)),
        }
    }

    /// CREATE SCHEMA, and in it what follows.
    pub(super) fn schema_with(&mut self, statement: SchemaElements) -> Result<QueryResult> {
        let SchemaElements { schema, elements } = statement;
        let SchemaStatement::Create { name, owner, if_exists } = &schema else {
            return Err(Error::internal("CREATE SCHEMA holds elements"));
        };
        if *if_exists == IfExists::Skip {
            let message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
            return Err(Error::new(types::SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let name = match (name, owner) {
            (Some(name), _) | (None, Some(RoleName::Named(name))) => name.clone(),
            _ => self.settings.current_user().to_owned(),
        };
        let result = Running::own(self).run(Statement::Schema(Box::new(schema)))?;
        let before = self.settings.clone();
        let path = before.get("search_path")?;
        let own = RelationName::public(&name).quoted();
        self.settings.set_local("search_path", Some(&format!("{own}, {path}")))?;
        let ran = elements
            .iter()
            .try_for_each(|element| self.bind_and_run(element, &[], Vec::new()).map(drop));
        self.settings.go_back(before);
        ran.map(|()| result)
    }
}
