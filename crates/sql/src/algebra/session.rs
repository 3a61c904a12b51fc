//! Functions of the session: settings, notifications, advisory locks, other sessions.

use types::{DataType, ElementType, PackedType, RegKind};

use super::LargeObject;

/// A function that the session carries out when it is called: see [`crate::catalog::Sequences`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionFunction {
    /// set_config(TEXT name, TEXT value, BOOLEAN is_local) -> TEXT.
    SetConfig,
    /// current_setting(TEXT name [, BOOLEAN missing_ok]) -> TEXT.
    CurrentSetting,
    /// pg_notify(TEXT channel, TEXT payload): nothing.
    Notify,
    /// pg_cancel_backend(INTEGER pid) -> BOOLEAN.
    CancelBackend,
    /// pg_terminate_backend(INTEGER pid) -> BOOLEAN.
    TerminateBackend,
    /// tessera_suspend(INTEGER pid) -> BOOLEAN.
    SuspendBackend,
    /// tessera_resume(INTEGER pid) -> BOOLEAN.
    ResumeBackend,
    /// pg_sleep(DOUBLE seconds): nothing.
    Sleep,
    /// clock_timestamp() -> TIMESTAMPTZ: the time of the call.
    ClockTimestamp,
    /// statement_timestamp() -> TIMESTAMPTZ: the time at which the statement began.
    StatementTimestamp,
    /// pg_trigger_depth() -> INTEGER: how many triggers are running, each in the one before.
    TriggerDepth,
    /// pg_advisory_lock and its kin.
    Advisory(Advisory),
    /// Numbers of transactions: txid_current() and its kin.
    Identity(Identity),
    /// An object of the catalog -> `regclass` and its kin; an array of them for an array.
    Object(RegKind, ObjectKey),
    /// A function of large objects.
    LargeObject(LargeObject),
}

/// A function of numbers of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The number of the transaction, which gets one.
    Current(NumberForm),
    /// The number of the transaction, NULL while it has none.
    IfAssigned(NumberForm),
    /// Transactions that the statement sees.
    Snapshot(NumberForm),
    /// Fate of a transaction -> TEXT.
    Status(NumberForm),
    /// age(XID) -> INTEGER: how many numbers were given out since.
    Age,
    /// mxid_age(XID) -> INTEGER, of groups of transactions, which there are none of.
    MultiAge,
}

/// Type of numbers of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberForm {
    /// BIGINT, and TXID_SNAPSHOT: functions whose names begin with txid.
    BigInt,
    /// XID8, and PG_SNAPSHOT.
    Xid8,
}

impl NumberForm {
    /// The type of a number.
    pub const fn number(self) -> DataType {
        match self {
            Self::BigInt => DataType::BigInt,
            Self::Xid8 => DataType::Packed(PackedType::Xid8),
        }
    }

    /// The type of a snapshot.
    pub const fn snapshot(self) -> DataType {
        match self {
            Self::BigInt => DataType::Packed(PackedType::TxidSnapshot),
            Self::Xid8 => DataType::Packed(PackedType::Snapshot),
        }
    }
}

impl Identity {
    fn from_name(name: &str) -> Option<Self> {
        use NumberForm::{BigInt, Xid8};
        Some(match name {
            "txid_current" => Self::Current(BigInt),
            "pg_current_xact_id" => Self::Current(Xid8),
            "txid_current_if_assigned" => Self::IfAssigned(BigInt),
            "pg_current_xact_id_if_assigned" => Self::IfAssigned(Xid8),
            "txid_current_snapshot" => Self::Snapshot(BigInt),
            "pg_current_snapshot" => Self::Snapshot(Xid8),
            "txid_status" => Self::Status(BigInt),
            "pg_xact_status" => Self::Status(Xid8),
            "age" => Self::Age,
            "mxid_age" => Self::MultiAge,
            _ => return None,
        })
    }

    fn parameters(self) -> &'static [DataType] {
        match self {
            Self::Current(_) | Self::IfAssigned(_) | Self::Snapshot(_) => &[],
            Self::Status(NumberForm::BigInt) => &[DataType::BigInt],
            Self::Status(NumberForm::Xid8) => &[DataType::Packed(PackedType::Xid8)],
            Self::Age | Self::MultiAge => &[DataType::Xid],
        }
    }

    fn result(self) -> DataType {
        match self {
            Self::Current(form) | Self::IfAssigned(form) => form.number(),
            Self::Snapshot(form) => form.snapshot(),
            Self::Status(_) => DataType::Text,
            Self::Age | Self::MultiAge => DataType::Integer,
        }
    }
}

/// Argument that an object of the catalog is looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKey {
    /// TEXT; there must be such an object.
    Name,
    /// TEXT; NULL where there is no such object.
    NameIfAny,
    /// OID.
    Number,
    /// TEXT[].
    Names,
    /// OID[].
    Numbers,
}

/// A function of advisory locks: of one BIGINT key or two INTEGER keys, but for `UnlockAll`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advisory {
    /// Waits for the lock.
    Lock(AdvisoryMode, AdvisorySpan),
    /// Takes it if it is free -> BOOLEAN.
    Try(AdvisoryMode, AdvisorySpan),
    /// Gives a lock of the session up -> BOOLEAN.
    Unlock(AdvisoryMode),
    /// Gives all locks of the session up.
    UnlockAll,
}

/// Sessions that may hold an advisory lock besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvisoryMode {
    /// No others.
    Exclusive,
    /// Others in this mode.
    Shared,
}

/// How long an advisory lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvisorySpan {
    /// Until it is given up, or the session ends.
    Session,
    /// Until the transaction ends.
    Transaction,
}

impl SessionFunction {
    /// The function that SQL calls `name`, with `count` arguments.
    pub fn called(name: &str, count: usize) -> Option<Self> {
        Self::from_name(name).or_else(|| LargeObject::called(name, count).map(Self::LargeObject))
    }

    fn from_name(name: &str) -> Option<Self> {
        use AdvisoryMode::{Exclusive, Shared};
        use AdvisorySpan::{Session, Transaction};
        Some(match name {
            "set_config" => Self::SetConfig,
            "current_setting" => Self::CurrentSetting,
            "pg_notify" => Self::Notify,
            "pg_cancel_backend" => Self::CancelBackend,
            "pg_terminate_backend" => Self::TerminateBackend,
            "tessera_suspend" => Self::SuspendBackend,
            "tessera_resume" => Self::ResumeBackend,
            "pg_sleep" => Self::Sleep,
            "clock_timestamp" => Self::ClockTimestamp,
            "statement_timestamp" => Self::StatementTimestamp,
            "pg_trigger_depth" => Self::TriggerDepth,
            "pg_advisory_lock" => Self::Advisory(Advisory::Lock(Exclusive, Session)),
            "pg_advisory_lock_shared" => Self::Advisory(Advisory::Lock(Shared, Session)),
            "pg_advisory_xact_lock" => Self::Advisory(Advisory::Lock(Exclusive, Transaction)),
            "pg_advisory_xact_lock_shared" => Self::Advisory(Advisory::Lock(Shared, Transaction)),
            "pg_try_advisory_lock" => Self::Advisory(Advisory::Try(Exclusive, Session)),
            "pg_try_advisory_lock_shared" => Self::Advisory(Advisory::Try(Shared, Session)),
            "pg_try_advisory_xact_lock" => Self::Advisory(Advisory::Try(Exclusive, Transaction)),
            "pg_try_advisory_xact_lock_shared" => {
                Self::Advisory(Advisory::Try(Shared, Transaction))
            }
            "pg_advisory_unlock" => Self::Advisory(Advisory::Unlock(Exclusive)),
            "pg_advisory_unlock_shared" => Self::Advisory(Advisory::Unlock(Shared)),
            "pg_advisory_unlock_all" => Self::Advisory(Advisory::UnlockAll),
            "to_regclass" => Self::Object(RegKind::Class, ObjectKey::NameIfAny),
            "to_regtype" => Self::Object(RegKind::Type, ObjectKey::NameIfAny),
            "to_regproc" => Self::Object(RegKind::Proc, ObjectKey::NameIfAny),
            "to_regprocedure" => Self::Object(RegKind::Procedure, ObjectKey::NameIfAny),
            "to_regoper" => Self::Object(RegKind::Oper, ObjectKey::NameIfAny),
            "to_regoperator" => Self::Object(RegKind::Operator, ObjectKey::NameIfAny),
            "to_regnamespace" => Self::Object(RegKind::Namespace, ObjectKey::NameIfAny),
            "to_regrole" => Self::Object(RegKind::Role, ObjectKey::NameIfAny),
            "to_regcollation" => Self::Object(RegKind::Collation, ObjectKey::NameIfAny),
            name => return Identity::from_name(name).map(Self::Identity),
        })
    }

    /// Its parameters when it is called with `count` arguments; None when it is not.
    pub fn parameters(self, count: usize) -> Option<&'static [DataType]> {
        use DataType::{BigInt, Boolean, Double, Integer, Text};
        Some(match (self, count) {
            (Self::SetConfig, 3) => &[Text, Text, Boolean],
            (Self::CurrentSetting, 1) => &[Text],
            (Self::CurrentSetting, 2) => &[Text, Boolean],
            (Self::Notify, 2) => &[Text, Text],
            (
                Self::CancelBackend
                | Self::TerminateBackend
                | Self::SuspendBackend
                | Self::ResumeBackend,
                1,
            ) => &[Integer],
            (Self::Sleep, 1) => &[Double],
            (Self::ClockTimestamp | Self::StatementTimestamp | Self::TriggerDepth, 0) => &[],
            (Self::ClockTimestamp | Self::StatementTimestamp | Self::TriggerDepth, _) => {
                return None;
            }
            (Self::Advisory(Advisory::UnlockAll), 0) => &[],
            (Self::Advisory(Advisory::UnlockAll), _) => return None,
            (Self::Advisory(_), 1) => &[BigInt],
            (Self::Advisory(_), 2) => &[Integer, Integer],
            (Self::Object(..), 1) => &[Text],
            (Self::Identity(identity), count) if identity.parameters().len() == count => {
                identity.parameters()
            }
            (Self::LargeObject(function), count) if function.parameters().len() == count => {
                function.parameters()
            }
            _ => return None,
        })
    }

    /// True when it needs the session as routines do: its statements run in the transaction.
    pub fn runs_statements(self) -> bool {
        matches!(self, Self::LargeObject(_))
    }

    /// The type of its result; empty text stands for PostgreSQL's void.
    pub fn result(self) -> DataType {
        match self {
            Self::CancelBackend
            | Self::TerminateBackend
            | Self::SuspendBackend
            | Self::ResumeBackend
            | Self::Advisory(Advisory::Try(..) | Advisory::Unlock(_)) => DataType::Boolean,
            Self::ClockTimestamp | Self::StatementTimestamp => DataType::TIMESTAMPTZ,
            Self::TriggerDepth => DataType::Integer,
            Self::Identity(identity) => identity.result(),
            Self::Object(kind, ObjectKey::Names | ObjectKey::Numbers) => {
                DataType::Array(ElementType::Reg(kind))
            }
            Self::Object(kind, _) => DataType::Reg(kind),
            Self::LargeObject(function) => function.result(),
            _ => DataType::Text,
        }
    }
}
