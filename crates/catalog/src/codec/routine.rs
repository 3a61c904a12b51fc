//! The form of routines.

use sql::catalog::{
    AggregateDef, BodyForm, Language, LastTakes, NullInput, ParameterDef, ParameterMode,
    Polymorphic, RoutineDef, RoutineKind, RoutineType, RowCount, Security, StepFunction,
    Volatility,
};
use types::Result;

use super::field::{Codec, Decode, Reader, Writer, damaged, record, variants};

variants!(RoutineKind { Function = 0, Procedure = 1, Aggregate = 210 });
variants!(Language { Sql = 0, PlPgSql = 1, Internal = 210 });
variants!(BodyForm { Text = 0, Return = 1, Atomic = 2 });
variants!(Volatility { Volatile = 0, Stable = 1, Immutable = 2 });
variants!(NullInput { Called = 0, Strict = 1 });
variants!(Security { Invoker = 0, Definer = 1 });
variants!(ParameterMode { In = 0, Out = 1, InOut = 2, Table = 3, Variadic = 210 });
variants!(RowCount { One = 0, Many = 1 });
variants!(LastTakes { State = 0, Nulls = 1 });
variants!(Polymorphic {
    Element = 0,
    Array = 1,
    NonArray = 2,
    Enum = 3,
    Compatible = 4,
    CompatibleArray = 5,
    CompatibleNonArray = 6,
    Range = 235,
    Multirange = 236,
    CompatibleRange = 237,
    CompatibleMultirange = 238
});

/// One byte, then what belongs to it.
impl Codec for RoutineType {
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Value(ty, domain) => {
                out.raw(&[0]);
                out.field(ty);
                out.field(domain);
            }
            Self::Row(key) => {
                out.raw(&[1]);
                out.field(key);
            }
            Self::Record => out.raw(&[2]),
            Self::Void => out.raw(&[3]),
            Self::Trigger => out.raw(&[4]),
            Self::Polymorphic(ty) => {
                out.raw(&[210]);
                out.field(ty);
            }
        }
    }
}

impl Decode for RoutineType {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match u8::get(from)? {
            0 => Self::Value(from.field()?, from.field()?),
            1 => Self::Row(from.field()?),
            2 => Self::Record,
            3 => Self::Void,
            4 => Self::Trigger,
            210 => Self::Polymorphic(from.field()?),
            _ => return Err(damaged("an unknown type of a routine")),
        })
    }
}

record!(ParameterDef { name, mode, ty, default });

/// One byte, then what belongs to it.
impl Codec for StepFunction {
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Routine(number) => {
                out.raw(&[0]);
                out.field(number);
            }
            Self::System(name, nulls) => {
                out.raw(&[1]);
                out.field(name);
                out.field(nulls);
            }
        }
    }
}

impl Decode for StepFunction {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(match u8::get(from)? {
            0 => Self::Routine(from.field()?),
            1 => Self::System(from.field()?, from.field()?),
            _ => return Err(damaged("an unknown function of an aggregate")),
        })
    }
}

record!(AggregateDef { transition, state, initial, last, last_takes, combine, options });

/// The content of an aggregate is written for aggregates alone.
impl Codec for RoutineDef {
    fn put(&self, out: &mut Writer<'_>) {
        out.field(&self.number);
        out.field(&self.name);
        out.field(&self.kind);
        out.field(&self.parameters);
        out.field(&self.result);
        out.field(&self.rows);
        out.field(&self.language);
        out.field(&self.body);
        out.field(&self.form);
        out.field(&self.volatility);
        out.field(&self.nulls);
        out.field(&self.security);
        out.field(&self.settings);
        out.field(&self.hints);
        if let Some(aggregate) = &self.aggregate {
            out.field(&**aggregate);
        }
    }
}

impl Decode for RoutineDef {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            number: from.field()?,
            name: from.field()?,
            kind: from.field()?,
            parameters: from.field()?,
            result: from.field()?,
            rows: from.field()?,
            language: from.field()?,
            body: from.field()?,
            form: from.field()?,
            volatility: from.field()?,
            nulls: from.field()?,
            security: from.field()?,
            settings: from.field()?,
            hints: from.field()?,
            aggregate: if from.end().is_err() { Some(Box::new(from.field()?)) } else { None },
        })
    }
}
