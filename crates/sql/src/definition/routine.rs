//! Functions and procedures that users make: what the catalog keeps of them.
//!
//! ```text
//! parameters   in order: those that go in (IN, INOUT, VARIADIC) are what a call gives,
//!              those that come out (OUT, INOUT, TABLE) are the columns of its result
//! key          schema.name(type,type): of the parameters that go in; one name, many keys
//! ```
//! Elsewhere: how a call finds one (`bind::routine`), how it runs (`engine`).

use types::DataType;

use super::{AggregateDef, DomainUse, Polymorphic};
use crate::words::RelationName;

/// FUNCTION, PROCEDURE or AGGREGATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutineKind {
    /// Called in expressions and in FROM.
    Function,
    /// Called by CALL.
    Procedure,
    /// Called in expressions, for the rows of a group.
    Aggregate,
}

impl RoutineKind {
    /// The word in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Procedure => "procedure",
            Self::Aggregate => "aggregate",
        }
    }
}

/// Language of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Statements, of which the last gives the result.
    Sql,
    /// PL/pgSQL.
    PlPgSql,
    /// None: an aggregate has no body.
    Internal,
}

impl Language {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sql => "sql",
            Self::PlPgSql => "plpgsql",
            Self::Internal => "internal",
        }
    }
}

/// How a body was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyForm {
    /// As a string.
    #[default]
    Text,
    /// As RETURN expression: the body is a SELECT of it.
    Return,
    /// As BEGIN ATOMIC, statements, END: the body is the statements.
    Atomic,
}

/// When two calls give the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Volatility {
    /// Never: calls may change something.
    #[default]
    Volatile,
    /// Within a statement.
    Stable,
    /// Always.
    Immutable,
}

/// Outcome of a call whose argument is NULL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NullInput {
    /// Runs.
    #[default]
    Called,
    /// Gives NULL.
    Strict,
}

/// Whose rights count while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// The caller's.
    #[default]
    Invoker,
    /// The owner's.
    Definer,
}

/// Direction of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterMode {
    /// Goes in.
    In,
    /// Comes out.
    Out,
    /// Both.
    InOut,
    /// A column of RETURNS TABLE.
    Table,
    /// Goes in: an array of all further arguments.
    Variadic,
}

impl ParameterMode {
    /// True for what a call gives.
    pub fn goes_in(self) -> bool {
        matches!(self, Self::In | Self::InOut | Self::Variadic)
    }

    /// True for a column of the result.
    pub fn comes_out(self) -> bool {
        !matches!(self, Self::In | Self::Variadic)
    }
}

/// The type of a parameter or result.
#[derive(Clone, Debug, PartialEq)]
pub enum RoutineType {
    /// A type of values, and its domain.
    Value(DataType, Option<DomainUse>),
    /// Rows of the relation with this key.
    Row(String),
    /// Rows whose columns the call says, or the parameters that come out.
    Record,
    /// Nothing.
    Void,
    /// A row of the table that a trigger is of.
    Trigger,
    /// A type that the call says.
    Polymorphic(Polymorphic),
}

impl RoutineType {
    /// The domain that values are of.
    pub fn domain(&self) -> Option<DomainUse> {
        match self {
            Self::Value(_, domain) => *domain,
            _ => None,
        }
    }
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterDef {
    /// Its name; empty when it has none.
    pub name: String,
    /// Its direction.
    pub mode: ParameterMode,
    /// Its type.
    pub ty: RoutineType,
    /// DEFAULT, as SQL text.
    pub default: Option<String>,
}

/// How many rows a call gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowCount {
    /// One.
    #[default]
    One,
    /// SETOF or TABLE: any number.
    Many,
}

/// Content of a function or procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutineDef {
    /// Its number in the catalog, which CREATE OR REPLACE keeps.
    pub number: u32,
    /// Its schema and name, as a key of relations ([`RelationName::key`]).
    pub name: String,
    /// FUNCTION, PROCEDURE or AGGREGATE.
    pub kind: RoutineKind,
    /// Parameters in order.
    pub parameters: Vec<ParameterDef>,
    /// Type of the result.
    pub result: RoutineType,
    /// Rows of the result.
    pub rows: RowCount,
    /// Language of the body.
    pub language: Language,
    /// The body.
    pub body: String,
    /// How the body was written.
    pub form: BodyForm,
    /// IMMUTABLE, STABLE or VOLATILE.
    pub volatility: Volatility,
    /// STRICT.
    pub nulls: NullInput,
    /// SECURITY DEFINER.
    pub security: Security,
    /// SET name TO value.
    pub settings: Vec<(String, String)>,
    /// LEAKPROOF, PARALLEL, COST and ROWS as they were written: nothing asks for them here.
    pub hints: Vec<(String, String)>,
    /// Content of an aggregate.
    pub aggregate: Option<Box<AggregateDef>>,
}

/// Change of the settings of a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoutineSetting {
    /// SET name TO value.
    Set(String, String),
    /// RESET name, SET name TO DEFAULT.
    Reset(String),
    /// RESET ALL.
    ResetAll,
}

impl RoutineSetting {
    /// Changes `settings`, those of a routine.
    pub fn apply(self, settings: &mut Vec<(String, String)>) {
        match self {
            Self::Set(name, value) => {
                settings.retain(|(known, _)| *known != name);
                settings.push((name, value));
            }
            Self::Reset(name) => settings.retain(|(known, _)| *known != name),
            Self::ResetAll => settings.clear(),
        }
    }
}

impl RoutineDef {
    /// Its name without schema.
    pub fn bare_name(&self) -> &str {
        RelationName::name_of_key(&self.name)
    }

    /// The parameters that a call gives.
    pub fn inputs(&self) -> impl Iterator<Item = &ParameterDef> {
        self.parameters.iter().filter(|parameter| parameter.mode.goes_in())
    }

    /// The parameters that are columns of the result.
    pub fn outputs(&self) -> impl Iterator<Item = &ParameterDef> {
        self.parameters.iter().filter(|parameter| parameter.mode.comes_out())
    }

    /// Key in the catalog.
    pub fn key(&self) -> String {
        let types: Vec<String> = self.inputs().map(|parameter| parameter.ty.shown()).collect();
        routine_key(&self.name, &types)
    }

    /// `name(type,type)`, as messages show it.
    pub fn shown(&self) -> String {
        let types: Vec<String> = self.inputs().map(|parameter| parameter.ty.shown()).collect();
        format!("{}({})", RelationName::of_key(&self.name).quoted(), types.join(","))
    }

    /// True when the types of its parameters or its result depend on the call.
    pub fn is_polymorphic(&self) -> bool {
        let types = self.parameters.iter().map(|parameter| &parameter.ty).chain([&self.result]);
        types.into_iter().any(|ty| matches!(ty, RoutineType::Polymorphic(_)))
    }

    /// The parameter that takes all further arguments.
    pub fn variadic(&self) -> Option<&ParameterDef> {
        self.parameters.iter().find(|parameter| parameter.mode == ParameterMode::Variadic)
    }

    /// True for a function that triggers call.
    pub fn is_trigger(&self) -> bool {
        self.result == RoutineType::Trigger
    }
}

/// Key in the catalog of the routine `name`, a key of relations, with parameters of such types.
pub fn routine_key(name: &str, types: &[String]) -> String {
    format!("{name}({})", types.join(","))
}

impl RoutineType {
    /// A type of values without domain.
    pub fn plain(ty: DataType) -> Self {
        Self::Value(ty, None)
    }

    /// Its name, as format_type has it.
    pub fn shown(&self) -> String {
        match self {
            Self::Value(_, Some(used)) => used.name(),
            Self::Value(ty, None) => ty.of_all_digits().name().to_owned(),
            Self::Row(key) => RelationName::of_key(key).quoted(),
            Self::Record => "record".to_owned(),
            Self::Void => "void".to_owned(),
            Self::Trigger => "trigger".to_owned(),
            Self::Polymorphic(ty) => ty.name().to_owned(),
        }
    }
}
