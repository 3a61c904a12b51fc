//! Sequences at run time: nextval and its kin.
//!
//! Values are outside transactions: taken at once, never given back, each at most once. A commit
//! logs where the sequences stand that its transaction took values of. CACHE has no effect: to take
//! a value is to lock a mutex.

use std::hash::BuildHasher;
use std::sync::Arc;

use catalog::codec::decode_sequence;
use catalog::rights::Object;
use catalog::who::Who;
use catalog::{Sequence, SequenceValue, State, undefined_table};
use parking_lot::Mutex;
use sql::algebra::{LargeObject, RoutineCall, SessionFunction};
use sql::catalog::{SequenceCalled, SequenceDef, SequenceWrap, Sequences};
use sql::statement::{AccessMode, Privilege, Privileges, RelationName};
use types::{DataType, Error, RegKind, Result, SqlState, Value};

use crate::instance::attached::{AttachedTransaction, Attachment, Counted, CounterId, CounterUse};
use crate::session::calls::SessionCalls;
use crate::session::lent::Lent;
use crate::session::sequence::SequenceMemory;
use crate::statement::attached::described;
use crate::statement::identity::TransactionIdentity;
use crate::statement::trigger::{Answer, TriggerCall};
use crate::transaction::work::UsedSequences;

/// The sequences as one query of a session sees them.
pub(crate) struct SessionSequences {
    pub(crate) state: Arc<State>,
    pub(crate) memory: Arc<Mutex<SequenceMemory>>,
    pub(crate) used: UsedSequences,
    pub(crate) access: AccessMode,
    pub(crate) who: Who,
    pub(crate) calls: Arc<SessionCalls>,
    /// Its transaction, for users.
    pub(crate) identity: TransactionIdentity,
    /// Where the session is.
    pub(crate) lent: Arc<Lent>,
    /// The attached database, if there is one.
    pub(crate) attached: Option<AttachedNames>,
}

/// Relations of the attached database, for one query.
pub(crate) struct AttachedNames {
    pub(crate) attachment: Arc<dyn Attachment>,
    /// The session's transaction there, or one to read names in, once somebody asked.
    pub(crate) transaction: Mutex<Option<Arc<dyn AttachedTransaction>>>,
    /// The state with its relations, once somebody asked for it.
    pub(crate) described: Mutex<Option<Arc<State>>>,
}

impl AttachedNames {
    /// # Errors
    /// 08006 and others when its processes do not answer.
    fn transaction(&self) -> Result<Arc<dyn AttachedTransaction>> {
        let mut known = self.transaction.lock();
        if let Some(transaction) = &*known {
            return Ok(Arc::clone(transaction));
        }
        Ok(Arc::clone(known.insert(self.attachment.begin(AccessMode::ReadOnly)?)))
    }
}

/// A sequence of the attached database.
struct Counting {
    sequence: Sequence,
    counter: CounterId,
    attachment: Arc<dyn Attachment>,
}

impl Counting {
    /// Its number in the memory of the session, which no sequence of the database has: that of its
    /// first counter.
    fn id(&self) -> u64 {
        let id = self.sequence.id;
        if id & ATTACHED != 0 { id } else { self.counter.0 | ATTACHED }
    }
}

/// Bit of the numbers of sequences of the attached database.
pub(crate) const ATTACHED: u64 = 1 << 63;

impl SessionSequences {
    /// The state with the tables of the attached database.
    ///
    /// # Errors
    /// 08006 and others when its processes do not answer.
    fn described(&self) -> Result<Arc<State>> {
        let Some(attached) = &self.attached else { return Ok(self.state.clone()) };
        let mut known = attached.described.lock();
        if let Some(state) = &*known {
            return Ok(Arc::clone(state));
        }
        let (database, transaction) = (self.calls.database.upgrade()?, attached.transaction()?);
        let state = Arc::new(described(&self.state, &database, &*transaction)?);
        Ok(Arc::clone(known.insert(state)))
    }

    /// The sequence of the attached database that `name` means, if it means one.
    ///
    /// # Errors
    /// 42P01 when there is none in its schema.
    fn counting(&self, name: &str) -> Result<Option<Counting>> {
        let Some(attached) = &self.attached else { return Ok(None) };
        let name = RelationName::parse_in(name, &self.state.database.0)?;
        let schema = attached.attachment.schema();
        let is_meant = match &name.schema {
            Some(named) => named == schema,
            None => self.calls.finds_in(schema, &self.state, &name.name),
        };
        if !is_meant {
            return Ok(None);
        }
        let Some(found) = attached.transaction()?.sequence(&name.name)? else {
            return if name.schema.is_some() {
                Err(undefined_table(&name.to_string()))
            } else {
                Ok(None)
            };
        };
        let (sequence, counter) = (decode_sequence(&found.definition)?, found.counter);
        Ok(Some(Counting { sequence, counter, attachment: Arc::clone(&attached.attachment) }))
    }

    /// Gives values of a sequence of the attached database.
    fn count(&self, counting: &Counting, values: &mut [i64]) -> Result<()> {
        let Sequence { name, def, value, .. } = &counting.sequence;
        // Its definition says where a sequence begins that nobody took values of.
        let begin = *value.lock();
        let next = |counted: Option<Counted>| {
            let value =
                counted.map_or(begin, |Counted { last, called }| SequenceValue { last, called });
            next_value(name, def, value)
        };
        let rules = (def.increment, def.min, def.max, def.wrap == SequenceWrap::Cycle);
        let rules = foldhash::fast::FixedState::default().hash_one(rules);
        let counter = CounterUse { counter: counting.counter, rules };
        counting.attachment.count(counter, &next, values)?;
        if let Some(last) = values.last() {
            let mut memory = self.memory.lock();
            memory.values.insert(counting.id(), *last);
            memory.last = Some(counting.id());
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&Arc<Sequence>> {
        let mut name = RelationName::parse_in(name, &self.state.database.0)?;
        let mut key = self.state.key_of(&name)?;
        if name.schema.is_none()
            && let Some(found) = self.calls.found(&self.state, &name.name)
        {
            (key, name) = (found.key(), found);
        }
        match self.state.sequences.get(&key) {
            Some(sequence) => Ok(sequence),
            None if self.state.contains(&key) => {
                let message = format!("\"{}\" is not a sequence", name.name);
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
            }
            None => Err(undefined_table(&name.to_string())),
        }
    }

    /// # Errors
    /// 42501 unless the session may do one of these with the sequence; that of an identity column
    /// goes with its table.
    fn check(&self, sequence: &Sequence, any_of: &[Privilege]) -> Result<()> {
        if self.who == Who::All {
            return Ok(());
        }
        let schema = RelationName::schema_of_key(&sequence.name);
        let is_there = |of: &AttachedNames| of.attachment.schema() == schema;
        let state = match &self.attached {
            Some(of) if is_there(of) && !self.state.is_superuser(&self.who) => self.described()?,
            _ => Arc::clone(&self.state),
        };
        let table = sequence.owner.as_ref().and_then(|(table, _)| state.tables.get(table));
        let is_identity = table.is_some_and(|table| {
            table.def.identities.iter().any(|(_, i)| i.sequence.key() == sequence.name)
        });
        if is_identity {
            return Ok(());
        }
        let object = Object::Relation(sequence.name.clone());
        state.check(&self.who, &object, Privileges::of(any_of))
    }

    fn check_writable(&self, sequence: &Sequence, function: &str) -> Result<()> {
        let is_own = RelationName::schema_of_key(&sequence.name) == "pg_temp";
        if is_own || self.access == AccessMode::ReadWrite {
            return Ok(());
        }
        let message = format!("cannot execute {function}() in a read-only transaction");
        Err(Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
    }

    /// The commit has to log where the sequence stands.
    fn note(&self, sequence: &Arc<Sequence>) {
        let mut used = self.used.lock();
        if !used.iter().any(|known| Arc::ptr_eq(known, sequence)) {
            used.push(Arc::clone(sequence));
        }
    }
}

/// Calls of routines by the queries of a session, and of triggers by its statements.
pub(crate) trait Callee {
    /// Calls the routine with values of the parameters that go in; a result of type `ty`.
    ///
    /// # Errors
    /// Errors of the routine.
    fn call_routine(&mut self, called: RoutineCall, ty: DataType, row: &[Value]) -> Result<Value>;

    /// Calls a trigger, if its condition holds.
    ///
    /// # Errors
    /// Errors of the condition and of the function; 42804 for a row of another shape.
    fn call_trigger(&mut self, call: TriggerCall<'_>) -> Result<Answer>;

    /// Carries out a function of large objects, none of whose arguments is NULL.
    ///
    /// # Errors
    /// Errors of the function.
    fn call_large_object(&mut self, function: LargeObject, arguments: &[Value]) -> Result<Value>;
}

impl Sequences for SessionSequences {
    fn routine(
        &self,
        called: RoutineCall,
        ty: DataType,
        rows: &[Vec<Value>],
    ) -> Result<Vec<Value>> {
        let missing = || Error::unsupported("a call of a routine in this place");
        let mut session = self.lent.take().ok_or_else(missing)?;
        rows.iter().map(|row| session.call_routine(called, ty, row)).collect()
    }

    fn call(&self, function: SessionFunction, arguments: &[Value]) -> Result<Value> {
        if let SessionFunction::LargeObject(function) = function {
            if arguments.contains(&Value::Null) {
                return Ok(Value::Null);
            }
            let missing = || Error::unsupported("a function of large objects in this place");
            let mut session = self.lent.take().ok_or_else(missing)?;
            return session.call_large_object(function, arguments);
        }
        if let SessionFunction::Identity(identity) = function {
            return self.identity.call(&self.calls.database, identity, arguments);
        }
        let state = match function {
            SessionFunction::Object(RegKind::Class | RegKind::Namespace, _) => self.described()?,
            _ => Arc::clone(&self.state),
        };
        self.calls.call(function, arguments, &state, &self.who)
    }

    fn next(&self, name: &str, values: &mut [i64]) -> Result<()> {
        if let Some(counting) = self.counting(name)? {
            self.check(&counting.sequence, &[Privilege::Usage, Privilege::Update])?;
            self.check_writable(&counting.sequence, "nextval")?;
            return self.count(&counting, values);
        }
        let sequence = self.find(name)?;
        self.check(sequence, &[Privilege::Usage, Privilege::Update])?;
        self.check_writable(sequence, "nextval")?;
        self.note(sequence);
        let mut current = sequence.value.lock();
        for value in &mut *values {
            *value = next_value(&sequence.name, &sequence.def, *current)?;
            *current = SequenceValue { last: *value, called: true };
        }
        // Still under the sequence's lock: of two workers of a query the session remembers the one
        // that took the later values.
        if let Some(&last) = values.last() {
            let mut memory = self.memory.lock();
            memory.values.insert(sequence.id, last);
            memory.last = Some(sequence.id);
        }
        Ok(())
    }

    fn current(&self, name: &str) -> Result<i64> {
        let (id, name) = match self.counting(name)? {
            Some(counting) => {
                self.check(&counting.sequence, &[Privilege::Usage, Privilege::Select])?;
                (counting.id(), counting.sequence.name)
            }
            None => {
                let sequence = self.find(name)?;
                self.check(sequence, &[Privilege::Usage, Privilege::Select])?;
                (sequence.id, sequence.name.clone())
            }
        };
        self.memory.lock().values.get(&id).copied().ok_or_else(|| {
            let message =
                format!("currval of sequence \"{name}\" is not yet defined in this session");
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    fn last(&self) -> Result<i64> {
        let memory = self.memory.lock();
        let known =
            |id: &u64| id & ATTACHED != 0 || self.state.sequences.values().any(|s| s.id == *id);
        let last = memory.last.filter(known).and_then(|id| memory.values.get(&id).copied());
        last.ok_or_else(|| {
            Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "lastval is not yet defined in this session",
            )
        })
    }

    fn set(&self, name: &str, value: i64, called: SequenceCalled) -> Result<()> {
        let is_called = called == SequenceCalled::Yes;
        if let Some(counting) = self.counting(name)? {
            self.check(&counting.sequence, &[Privilege::Update])?;
            self.check_writable(&counting.sequence, "setval")?;
            check_bounds(&counting.sequence, value)?;
            let counted = Counted { last: value, called: is_called };
            counting.attachment.set_counter(counting.counter, counted)?;
            if is_called {
                self.memory.lock().values.insert(counting.id(), value);
            }
            return Ok(());
        }
        let sequence = self.find(name)?;
        self.check(sequence, &[Privilege::Update])?;
        self.check_writable(sequence, "setval")?;
        check_bounds(sequence, value)?;
        self.note(sequence);
        let called = is_called;
        let mut current = sequence.value.lock();
        *current = SequenceValue { last: value, called };
        if called {
            self.memory.lock().values.insert(sequence.id, value);
        }
        Ok(())
    }
}

/// # Errors
/// 22003 for a value that the sequence never has.
fn check_bounds(sequence: &Sequence, value: i64) -> Result<()> {
    let (SequenceDef { min, max, .. }, name) = (&sequence.def, &sequence.name);
    if (*min..=*max).contains(&value) {
        return Ok(());
    }
    let message =
        format!("setval: value {value} is out of bounds for sequence \"{name}\" ({min}..{max})");
    Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message))
}

/// The value after `current`.
///
/// # Errors
/// 2200H at the end of a sequence that does not cycle.
fn next_value(name: &str, def: &SequenceDef, current: SequenceValue) -> Result<i64> {
    if !current.called {
        return Ok(current.last);
    }
    let next = current.last.checked_add(def.increment);
    match next.filter(|next| (def.min..=def.max).contains(next)) {
        Some(next) => Ok(next),
        None if def.wrap == SequenceWrap::Cycle => {
            Ok(if def.increment > 0 { def.min } else { def.max })
        }
        None => {
            let (end, bound) =
                if def.increment > 0 { ("maximum", def.max) } else { ("minimum", def.min) };
            let message = format!("nextval: reached {end} value of sequence \"{name}\" ({bound})");
            Err(Error::new(SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that finds nothing is to fail.
mod tests {
    use proptest::prelude::*;
    use types::DataType;

    use super::*;

    proptest! {
        #[test] // Against the definition in whole numbers without bounds.
        fn values_follow_the_definition(
            (min, max) in prop_oneof![(-3i64..3, 3i64..9), (Just(i64::MIN), Just(i64::MAX))],
            increment in prop_oneof![-4i64..-1, 1i64..4, Just(i64::MIN), Just(i64::MAX)],
            at in any::<prop::sample::Index>(),
            cycles: bool,
        ) {
            let wrap = if cycles { SequenceWrap::Cycle } else { SequenceWrap::Fail };
            let ty = DataType::BigInt;
            let def = SequenceDef { ty, increment, min, max, start: min, cache: 1, wrap };
            let span = (i128::from(max) - i128::from(min) + 1).min(1 << 40) as usize;
            let last = min + at.index(span) as i64;
            let next = next_value("s", &def, SequenceValue { last, called: true });
            let wide = i128::from(last) + i128::from(increment);
            let inside = (i128::from(min)..=i128::from(max)).contains(&wide);
            match next {
                Ok(next) if inside => prop_assert_eq!(i128::from(next), wide),
                Ok(next) => {
                    let first = if increment > 0 { min } else { max };
                    prop_assert_eq!((cycles, next), (true, first));
                }
                Err(error) => {
                    prop_assert!(!inside && !cycles);
                    prop_assert_eq!(error.state(), SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED);
                }
            }
            let first = next_value("s", &def, SequenceValue { last, called: false });
            prop_assert_eq!(first.unwrap(), last);
        }
    }
}
