//! Effect of a statement, as far as its text tells.

use sqlparser::ast::{SelectInto, SetExpr, Statement as Ast, With};

use super::{CopySource, ParsedStatement, SessionTree, Tree};

/// Effect of a statement, for interfaces that begin transactions by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The statement changes or locks what is stored, or is about the transaction it stands in.
    /// Such statements that belong together should be one transaction.
    Changes,
    /// The statement reads, or is about the session.
    Reads,
    /// The statement begins or ends a transaction, or has some of its own.
    Transaction,
}

impl ParsedStatement {
    /// Levels that its tree may have.
    pub fn levels(&self) -> usize {
        self.tree.levels()
    }

    /// Effect of the statement. EXECUTE counts as a change.
    pub fn effect(&self) -> Effect {
        match &*self.tree {
            Tree::Prepare(_) => Effect::Reads,
            // A cursor lives in its transaction.
            Tree::Declare(_) => Effect::Changes,
            Tree::Copy(copy) if copy.from => Effect::Changes,
            Tree::Copy(copy) => match &copy.source {
                CopySource::Query(query) => effect_of(&Ast::Query(query.clone())),
                CopySource::Table(..) => Effect::Reads,
            },
            Tree::Session(tree) => effect_of_session(tree),
            Tree::Sql(tree) if tree.calls_bus || !tree.locks.is_empty() => Effect::Changes,
            Tree::Sql(tree) => effect_of(&tree.statement),
        }
    }
}

fn effect_of(statement: &Ast) -> Effect {
    match statement {
        Ast::Query(query) => match &*query.body {
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Effect::Changes
            }
            _ if query.with.as_ref().is_some_and(changes) => Effect::Changes,
            body if into_of(body).is_some() => Effect::Changes,
            _ => Effect::Reads,
        },
        Ast::Explain { analyze: true, statement, .. } => effect_of(statement),
        Ast::Explain { .. }
        | Ast::Set(_)
        | Ast::Reset(_)
        | Ast::ShowVariable { .. }
        | Ast::ShowVariables { .. }
        | Ast::Analyze(_) => Effect::Reads,
        Ast::Call(_) => Effect::Transaction,
        _ => Effect::Changes,
    }
}

/// True when a query under the WITH changes rows.
fn changes(with: &With) -> bool {
    with.cte_tables.iter().any(|cte| {
        use SetExpr::{Delete, Insert, Merge, Update};
        matches!(&*cte.query.body, Insert(_) | Update(_) | Delete(_) | Merge(_))
    })
}

fn effect_of_session(tree: &SessionTree) -> Effect {
    match tree {
        SessionTree::Begin(_)
        | SessionTree::Commit(_)
        | SessionTree::Rollback(_)
        | SessionTree::PrepareTransaction(_)
        | SessionTree::EndPrepared(..)
        | SessionTree::Discard(_)
        | SessionTree::Checkpoint
        | SessionTree::Backup(_)
        | SessionTree::Database(_)
        | SessionTree::Vacuum { .. } => Effect::Transaction,
        SessionTree::SetSessionTransaction(_)
        | SessionTree::Described(_)
        | SessionTree::Deallocate(_)
        | SessionTree::Fetch(_)
        | SessionTree::CloseCursor(_)
        | SessionTree::Analyze(_)
        | SessionTree::SetRole { .. } => Effect::Reads,
        SessionTree::Savepoint(_)
        | SessionTree::Release(_)
        | SessionTree::RollbackTo(_)
        | SessionTree::SetTransaction(_)
        | SessionTree::LockTable { .. }
        | SessionTree::SetConstraints { .. }
        | SessionTree::AlterTable { .. }
        | SessionTree::Comment(_)
        | SessionTree::SchemaElements(..)
        | SessionTree::Effectless(_)
        | SessionTree::Absent(_)
        | SessionTree::Extension(_)
        | SessionTree::CreateCollation(_)
        | SessionTree::Collation(_)
        | SessionTree::AlterView { .. }
        | SessionTree::Partition(_)
        | SessionTree::RenameView(_)
        | SessionTree::Execute { .. }
        | SessionTree::CreateExecuted { .. }
        | SessionTree::AtCursor { .. }
        | SessionTree::CreateSequence { .. }
        | SessionTree::AlterSequence { .. }
        | SessionTree::RenameSequence { .. }
        | SessionTree::CreateWideTable { .. }
        | SessionTree::RefreshWideTable(_)
        | SessionTree::RefreshMaterialized { .. }
        | SessionTree::DropMaterialized { .. }
        | SessionTree::RenameMaterialized(_)
        | SessionTree::DropWideTable { .. }
        | SessionTree::Listen(_)
        | SessionTree::Unlisten(_)
        | SessionTree::Notify(..)
        | SessionTree::Privilege(_)
        | SessionTree::PrivilegeOnRoutines { .. }
        | SessionTree::Schema(_)
        | SessionTree::Type(_)
        | SessionTree::CreateComposite(..)
        | SessionTree::AlterComposite(..)
        | SessionTree::CreateRange(..)
        | SessionTree::Domain(_)
        | SessionTree::Routine(_)
        | SessionTree::Trigger(_)
        | SessionTree::Role(_) => Effect::Changes,
    }
}

/// INTO of the first SELECT of a query.
pub(crate) fn into_of(body: &SetExpr) -> Option<&SelectInto> {
    match body {
        SetExpr::Select(select) => select.into.as_ref(),
        SetExpr::SetOperation { left, .. } => into_of(left),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_told_from_what_reads() {
        for (text, effect) in [
            ("select 1", Effect::Reads),
            ("with t as (select 1) select * from t", Effect::Reads),
            ("values (1)", Effect::Reads),
            ("explain select 1", Effect::Reads),
            ("explain analyze delete from t", Effect::Changes),
            ("with d as (delete from t returning a) select * from d", Effect::Changes),
            ("show threads", Effect::Reads),
            ("describe t", Effect::Reads),
            ("summarize from t", Effect::Reads),
            ("set threads = 2", Effect::Reads),
            ("copy t to 'f'", Effect::Reads),
            ("select 1 into t", Effect::Changes),
            ("copy (delete from t returning a) to 'f'", Effect::Changes),
            ("select 1 for update", Effect::Changes),
            ("select bus_send(1, 2, 'x')", Effect::Changes),
            ("with t as (select 1) insert into u select * from t", Effect::Changes),
            ("insert into t values (1)", Effect::Changes),
            ("create table t (a int)", Effect::Changes),
            ("truncate t", Effect::Changes),
            ("copy t from 'f'", Effect::Changes),
            ("execute p(1)", Effect::Changes),
            ("begin", Effect::Transaction),
            ("prepare transaction 'a'", Effect::Transaction),
            ("commit prepared 'a'", Effect::Transaction),
            ("savepoint s", Effect::Changes),
            ("checkpoint", Effect::Transaction),
            ("call tpch(sf => 0.1)", Effect::Transaction),
        ] {
            let parsed = crate::parse(text).expect("it is well formed");
            assert_eq!(parsed[0].effect(), effect, "{text}");
        }
    }
}
