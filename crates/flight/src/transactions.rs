//! Transactions and savepoints, by handle.

use std::sync::Arc;

use arrow_flight::sql::{
    ActionBeginSavepointRequest, ActionBeginSavepointResult, ActionBeginTransactionResult,
    ActionEndSavepointRequest, ActionEndTransactionRequest, EndTransaction,
};
use bytes::Bytes;
use engine::Session;
use types::{Error, Result, SqlState};

use crate::connection::Line;
use crate::door::Caller;
use crate::flights::{Begun, Flights};
use crate::lists::identifier;
use crate::seat::run;
use crate::status::unreadable;

/// Bytes of a transaction's handle, before the name of a savepoint.
const HANDLE_BYTES: usize = 16;

/// How a savepoint ends, as the protocol numbers it.
const RELEASE: i32 = 1;
const ROLL_BACK: i32 = 2;

fn commit(session: &mut Session) -> Result<()> {
    let has_failed = session.in_failed_transaction();
    session.execute("COMMIT")?;
    if has_failed {
        let message = "a statement of the transaction failed, so that it was rolled back";
        return Err(Error::new(SqlState::IN_FAILED_TRANSACTION, message));
    }
    Ok(())
}

impl Flights {
    /// Begins a transaction, which ends with the connection `line`.
    ///
    /// # Errors
    /// Errors of [`crate::door::Door::seat`].
    pub(crate) async fn begin(
        &self,
        caller: &Caller,
        line: Line,
    ) -> Result<ActionBeginTransactionResult> {
        let seat = self.door.seat(caller)?;
        run(self.take(seat.clone()).await?, |session| session.execute("BEGIN").map(drop)).await?;
        let transaction_id = self.transactions.put(&caller.user, Begun { seat, line })?;
        Ok(ActionBeginTransactionResult { transaction_id })
    }

    /// Ends a transaction; its handle is gone, whatever comes of it.
    ///
    /// # Errors
    /// 26000 for an unknown transaction, 25P02 for the commit of one that failed; errors of the
    /// commit.
    pub(crate) async fn end(
        &self,
        caller: &Caller,
        asked: &ActionEndTransactionRequest,
    ) -> Result<()> {
        let action = EndTransaction::try_from(asked.action).map_err(unreadable)?;
        let begun = self.transactions.take(&caller.user, &asked.transaction_id)?;
        let seat = self.take(Arc::clone(&begun.seat)).await?;
        match action {
            EndTransaction::Commit => run(seat, commit).await?,
            EndTransaction::Rollback => {
                run(seat, |session| session.execute("ROLLBACK").map(drop)).await?
            }
            EndTransaction::Unspecified => return Err(unreadable("COMMIT or ROLLBACK")),
        };
        Ok(())
    }

    /// Sets a savepoint; its handle is that of the transaction, and its name.
    ///
    /// # Errors
    /// 26000 for an unknown transaction; errors of SAVEPOINT.
    pub(crate) async fn save(
        &self,
        caller: &Caller,
        asked: &ActionBeginSavepointRequest,
    ) -> Result<ActionBeginSavepointResult> {
        let seat = self.seat(caller, Some(&asked.transaction_id))?;
        let statement = format!("SAVEPOINT {}", identifier(&asked.name));
        run(self.take(seat).await?, move |session| session.execute(&statement).map(drop)).await?;
        let savepoint_id = [&asked.transaction_id[..], asked.name.as_bytes()].concat();
        Ok(ActionBeginSavepointResult { savepoint_id: savepoint_id.into() })
    }

    /// Releases a savepoint, or goes back to it.
    ///
    /// # Errors
    /// 26000 for an unknown transaction, 3B001 for an unknown savepoint.
    pub(crate) async fn end_savepoint(
        &self,
        caller: &Caller,
        asked: &ActionEndSavepointRequest,
    ) -> Result<()> {
        let id = &asked.savepoint_id;
        let place = id.split_at_checked(HANDLE_BYTES);
        let (handle, name) = place.ok_or_else(|| unreadable("a savepoint"))?;
        let name = identifier(std::str::from_utf8(name).map_err(unreadable)?);
        let statement = match asked.action {
            RELEASE => format!("RELEASE SAVEPOINT {name}"),
            ROLL_BACK => format!("ROLLBACK TO SAVEPOINT {name}"),
            _ => return Err(unreadable("RELEASE or ROLLBACK")),
        };
        let seat = self.seat(caller, Some(&Bytes::copy_from_slice(handle)))?;
        run(self.take(seat).await?, move |session| session.execute(&statement).map(drop)).await?;
        Ok(())
    }
}
