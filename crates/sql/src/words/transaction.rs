//! Words of transactions: their modes, and locks of tables and rows.

/// Isolation level asked for by BEGIN or SET TRANSACTION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED: as READ COMMITTED, by its own name.
    ReadUncommitted,
    /// READ COMMITTED: one snapshot per statement.
    ReadCommitted,
    /// REPEATABLE READ and SNAPSHOT: one snapshot per transaction.
    Snapshot,
    /// SERIALIZABLE.
    Serializable,
}

/// READ WRITE or READ ONLY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// READ WRITE
    ReadWrite,
    /// READ ONLY
    ReadOnly,
}

/// DEFERRABLE or NOT DEFERRABLE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deferral {
    /// NOT DEFERRABLE
    #[default]
    No,
    /// DEFERRABLE
    Yes,
}

/// Modes of a transaction; None is the session's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<Isolation>,
    /// READ ONLY or READ WRITE.
    pub access: Option<AccessMode>,
    /// DEFERRABLE or NOT DEFERRABLE; without effect, as readers never wait for a snapshot.
    pub deferral: Option<Deferral>,
}

/// AND CHAIN or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// The session is outside a transaction afterwards.
    No,
    /// A transaction with the same modes begins.
    Yes,
}

/// End of a prepared transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparedEnd {
    /// COMMIT PREPARED.
    Commit,
    /// ROLLBACK PREPARED.
    Rollback,
}

/// Modes of LOCK TABLE, from weak to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableLockMode {
    /// ACCESS SHARE
    AccessShare,
    /// ROW SHARE
    RowShare,
    /// ROW EXCLUSIVE
    RowExclusive,
    /// SHARE UPDATE EXCLUSIVE
    ShareUpdateExclusive,
    /// SHARE
    Share,
    /// SHARE ROW EXCLUSIVE
    ShareRowExclusive,
    /// EXCLUSIVE
    Exclusive,
    /// ACCESS EXCLUSIVE, the default
    AccessExclusive,
}

/// When deferrable constraints are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintMode {
    /// After each statement.
    Immediate,
    /// When the transaction commits.
    Deferred,
}

/// DISCARD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// ALL
    All,
    /// PLANS
    Plans,
    /// SEQUENCES
    Sequences,
    /// TEMPORARY
    Temporary,
}

/// How strongly SELECT locks its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowLockStrength {
    /// FOR KEY SHARE.
    KeyShare,
    /// FOR SHARE.
    Share,
    /// FOR NO KEY UPDATE.
    NoKeyUpdate,
    /// FOR UPDATE.
    Update,
}

/// Choice when a row or table is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Wait for the other transaction.
    Wait,
    /// NOWAIT: 55P03.
    Fail,
    /// SKIP LOCKED: the row is left out.
    Skip,
}
