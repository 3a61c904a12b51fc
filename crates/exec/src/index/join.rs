//! Joins that look the matches of each outer row up in an index.
//!
//! ```text
//! outer flow -> key columns -> per row: key bytes -> entries -> pairs (outer row, inner row)
//!            full batch of pairs -> restrictions -> residual -> by kind -> flows
//! ```
//! Pairs are looked at a batch at a time; a row with more matches than a batch goes on in the next.
//! Look-ups that have cost more than they should end behind an outer row; the rows behind it pass
//! a hash join (`join::Instead`).

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kernels::{BATCH_ROWS, Batch, Column, Vector};
use plan::physical::{
    Expr, ExprKind, JoinKind, LookUps, Node, Operator as PlanOperator, OperatorId,
};
use storage::{Datum, Direction, KeyBatch, KeyBuffer, KeyRange};
use types::{Error, PhysicalType, Result, Value};

use super::access::{Access, Cursor, Found, constants};
use crate::context::QueryContext;
use crate::expr::{Evaluator, columns_of};
use crate::flow::Flow;
use crate::join::Instead;
use crate::opener::{Opener, more_than_one_row};
use crate::pipeline::{Demand, Operator, Push, Stream};
use crate::pushed::{self, PushedFilter};

/// A condition over outer columns, then inner columns.
struct Residual {
    evaluator: Evaluator,
    /// Outer columns that it uses.
    outer: Vec<usize>,
}

/// A key value of an outer row.
enum Key {
    Column(usize),
    Computed(Evaluator),
}

/// The operator.
struct IndexJoin {
    context: Arc<QueryContext>,
    id: OperatorId,
    access: Access,
    /// Position of the index.
    index: usize,
    kind: JoinKind,
    keys: Vec<Key>,
    key_columns: Vec<usize>,
    residual: Option<Residual>,
    outer_width: usize,
    inner_types: Vec<PhysicalType>,
    output: Vec<usize>,
    /// The hash join that it may go over to.
    instead: Option<Instead>,
}

/// A worker's memory.
struct State {
    cursor: Cursor,
    key: KeyBuffer,
    end: KeyBuffer,
    batch: KeyBatch,
    /// Per inner row found, its outer row.
    outer: Vec<u32>,
    /// Memory of the hash join in the place of the look-ups.
    hash: Option<Box<dyn Any + Send>>,
}

/// Opens [`PlanOperator::IndexJoin`].
///
/// # Errors
/// Whatever running below the outer side's breakers meets.
pub(crate) fn open(opener: &mut Opener, node: &Node, filters: Vec<PushedFilter>) -> Result<Stream> {
    let PlanOperator::IndexJoin {
        outer,
        table,
        index,
        keys,
        columns,
        restrictions,
        kind,
        residual,
        output_columns,
        ..
    } = &node.operator
    else {
        return Err(Error::internal("not an index join"));
    };
    let mut access = Access::new(opener, table, *index, columns)?;
    let name = |column: usize| format!("column {}", columns[column]);
    let mut rest = constants(opener, &access, restrictions, columns, &name)?;
    if let Some(reads) = &opener.context.reads {
        // Which keys are looked up depends on other rows: all of them count.
        reads.lock().push((Arc::clone(&access.table), rest.clone()));
    }
    let width = outer.output.len();
    let (mut outer_filters, mut inner_filters) = (Vec::new(), Vec::new());
    for pushed in filters {
        match output_columns[pushed.column] {
            column if column < width => outer_filters.push(PushedFilter { column, ..pushed }),
            column if *kind == JoinKind::Inner => {
                inner_filters.push(PushedFilter { column: column - width, ..pushed });
            }
            _ => {}
        }
    }
    let form = |at| access.physical(at);
    rest.extend(pushed::restrictions(inner_filters.clone(), columns, form));
    access.restrict(rest)?;
    let keys = keys.iter().map(|key| opener.resolve(key)).collect::<Result<Vec<_>>>()?;
    let residual = residual.as_ref().map(|residual| {
        let residual = opener.resolve(residual)?;
        let used = columns_of(&residual).into_iter().filter(|&c| c < width).collect();
        Ok::<_, Error>(Residual { evaluator: Evaluator::new(&residual)?, outer: used })
    });
    let join = IndexJoin {
        context: Arc::clone(&opener.context),
        id: node.id,
        index: *index,
        kind: *kind,
        key_columns: used_by(&keys),
        keys: keys.iter().map(key).collect::<Result<_>>()?,
        residual: residual.transpose()?,
        outer_width: width,
        inner_types: (0..columns.len()).map(|i| access.physical(i)).collect(),
        output: output_columns.clone(),
        instead: Instead::new(opener, node, inner_filters),
        access,
    };
    let mut stream = opener.open(outer, outer_filters)?;
    stream.push_operator(Arc::new(join));
    Ok(stream)
}

fn used_by(keys: &[Expr]) -> Vec<usize> {
    let mut used: Vec<usize> = keys.iter().flat_map(columns_of).collect();
    used.sort_unstable();
    used.dedup();
    used
}

fn key(expr: &Expr) -> Result<Key> {
    Ok(match expr.kind {
        ExprKind::Column(column) => Key::Column(column),
        _ => Key::Computed(Evaluator::new(expr)?),
    })
}

/// The key values of a flow's rows.
struct Keys {
    columns: Vec<Arc<Vector>>,
    physical: Vec<PhysicalType>,
}

impl Keys {
    /// The values of `row` into `values`; false when one is NULL, which matches nothing.
    fn of<'k>(&'k self, row: usize, values: &mut Vec<Datum<'k>>) -> Result<bool> {
        values.clear();
        for (column, &physical) in self.columns.iter().zip(&self.physical) {
            let datum = Datum::of(column, row);
            if datum.is_null() {
                return Ok(false);
            }
            let misfit = || Error::internal("a join key of another type than its column");
            values.push(datum.widened(physical).ok_or_else(misfit)?);
        }
        Ok(true)
    }
}

impl Operator for IndexJoin {
    fn state(&self) -> Box<dyn Any + Send> {
        Box::new(State {
            cursor: Cursor::new(),
            key: KeyBuffer::new(),
            end: KeyBuffer::new(),
            batch: KeyBatch::new(),
            outer: Vec::new(),
            hash: None,
        })
    }

    fn process(&self, state: &mut dyn Any, mut flow: Flow, push: &mut Push<'_>) -> Result<Demand> {
        let state = state.downcast_mut::<State>().expect("made by `state`");
        loop {
            if let Some(hash) = self.hash_join()? {
                let counters = self.context.counters(self.id);
                counters.hashed_rows.fetch_add(flow.rows() as u64, Ordering::Relaxed);
                let own = state.hash.get_or_insert_with(|| hash.state());
                return hash.process(&mut **own, flow, push);
            }
            match self.by_index(state, flow, push)? {
                Looked::All(demand) => return Ok(demand),
                Looked::Until(rest) => flow = rest,
            }
        }
    }

    fn id(&self) -> Option<OperatorId> {
        Some(self.id)
    }
}

/// The rows of a flow that were joined.
enum Looked {
    /// All of them, or nobody wants more.
    All(Demand),
    /// All but these, for look-ups have cost enough.
    Until(Flow),
}

impl IndexJoin {
    /// The hash join that the rows to come pass.
    fn hash_join(&self) -> Result<Option<&dyn Operator>> {
        self.instead.as_ref().map_or(Ok(None), Instead::operator)
    }

    /// Joins the rows of `flow` until look-ups have cost enough.
    fn by_index(&self, state: &mut State, mut flow: Flow, push: &mut Push<'_>) -> Result<Looked> {
        flow.load(&self.key_columns)?;
        if let Some(residual) = &self.residual {
            flow.load(&residual.outer)?;
        }
        let keys = self.keys_of(&flow)?;
        let mut pass = Pass {
            join: self,
            matched: vec![false; flow.rows()],
            found: self.access.found(),
            made: LookUps { index: self.index, ..LookUps::default() },
            cost_left: self.instead.as_ref().map_or(u64::MAX, Instead::cost_left),
            end: flow.rows(),
            flow,
        };
        state.outer.clear();
        let mut demand = if self.access.is_lookup(self.keys.len()) {
            pass.look_up(&keys, state, push)?
        } else {
            pass.read_ranges(&keys, state, push)?
        };
        if demand == Demand::More {
            demand = pass.flush(state, push)?;
        }
        self.context.note_look_ups(self.id, pass.made);
        if let Some(instead) = &self.instead {
            instead.spend(pass.made.cost());
        }
        if demand == Demand::Enough {
            return Ok(Looked::All(Demand::Enough));
        }
        let rest: Vec<u32> = (pass.end as u32..pass.flow.rows() as u32).collect();
        let rest = (!rest.is_empty()).then(|| pass.flow.select(&rest));
        match (pass.finish(push)?, rest) {
            (Demand::More, Some(rest)) => Ok(Looked::Until(rest)),
            (demand, _) => Ok(Looked::All(demand)),
        }
    }

    fn keys_of(&self, flow: &Flow) -> Result<Keys> {
        let column = |key: &Key| match key {
            Key::Column(column) => Ok(flow.batch().columns[*column].to_plain()),
            Key::Computed(evaluator) => Ok(evaluator.evaluate(flow.batch())?.to_plain()),
        };
        let columns = self.keys.iter().map(column).collect::<Result<_>>()?;
        let physical = (0..self.keys.len()).map(|i| self.access.key_physical(i)).collect();
        Ok(Keys { columns, physical })
    }

    /// True when nothing but the key decides what matches.
    fn is_decided_by_key(&self) -> bool {
        self.residual.is_none() && !self.access.has_restrictions()
    }

    /// True when one match says all that is asked of an outer row.
    fn wants_one(&self) -> bool {
        matches!(self.kind, JoinKind::ProbeSemi | JoinKind::ProbeAnti)
    }

    /// Outer rows that are not joined with anything, NULLs for the inner columns.
    fn padded(&self, mut flow: Flow) -> Flow {
        let rows = flow.rows();
        for &physical in &self.inner_types {
            let null = Arc::new(Vector::repeat(physical, &Value::Null, 1));
            flow.append_column(Column::Constant(null, rows));
        }
        flow
    }
}

/// One outer flow on its way through the operator.
struct Pass<'a> {
    join: &'a IndexJoin,
    flow: Flow,
    /// Per outer row, whether it has a match.
    matched: Vec<bool>,
    found: Found,
    made: LookUps,
    /// Cost of look-ups with which the pass ends.
    cost_left: u64,
    /// Rows before this one are looked at.
    end: usize,
}

impl Pass<'_> {
    /// True when look-ups have cost enough, so that `row` and those behind it are left.
    fn ends_before(&mut self, row: usize) -> bool {
        let rows = self.made.rows + self.found.rows() as u64;
        let is_end =
            self.cost_left < u64::MAX && LookUps { rows, ..self.made }.cost() >= self.cost_left;
        if is_end {
            self.end = row;
        }
        is_end
    }

    /// Finds the inner rows of all outer rows, whose keys are whole.
    fn look_up(&mut self, keys: &Keys, state: &mut State, push: &mut Push<'_>) -> Result<Demand> {
        let access = &self.join.access;
        state.batch.clear();
        let (mut rows, mut values) = (Vec::with_capacity(self.flow.rows()), Vec::new());
        for row in 0..self.flow.rows() {
            if keys.of(row, &mut values)? {
                state.batch.push(&access.index, &values);
                rows.push(row as u32);
            }
        }
        for (i, &row) in rows.iter().enumerate() {
            if self.ends_before(row as usize) {
                break;
            }
            self.made.count += 1;
            access.look_up_nth(&mut state.batch, i, &mut state.cursor, &mut self.found)?;
            state.outer.resize(self.found.rows(), row);
            if self.found.rows() >= BATCH_ROWS && self.flush(state, push)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }

    /// Finds the inner rows of all outer rows, each a range of the index.
    fn read_ranges(
        &mut self,
        keys: &Keys,
        state: &mut State,
        push: &mut Push<'_>,
    ) -> Result<Demand> {
        let mut values = Vec::new();
        for row in 0..self.flow.rows() {
            if self.ends_before(row) {
                break;
            }
            if keys.of(row, &mut values)? {
                self.join.access.index.encode(&values, &mut state.key);
                if self.row(row as u32, state, push)? == Demand::Enough {
                    return Ok(Demand::Enough);
                }
            }
        }
        Ok(Demand::More)
    }

    /// Finds the inner rows of one outer row, whose key is in `state`.
    fn row(&mut self, row: u32, state: &mut State, push: &mut Push<'_>) -> Result<Demand> {
        let access = &self.join.access;
        self.made.count += 1;
        let range = KeyRange::prefix(&state.key, &mut state.end);
        access.start(range, Direction::Forward, &mut state.cursor);
        let is_enough = self.join.wants_one() && self.join.is_decided_by_key();
        loop {
            let rows_max = if is_enough { self.found.rows() + 1 } else { BATCH_ROWS };
            let ended = access.read(&mut state.cursor, &mut self.found, rows_max)?;
            state.outer.resize(self.found.rows(), row);
            if self.found.rows() >= BATCH_ROWS && self.flush(state, push)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
            let settled = self.join.wants_one() && self.matched[row as usize];
            if ended || is_enough || settled {
                return Ok(Demand::More);
            }
        }
    }

    /// Decides the pairs found so far and puts out what matches.
    fn flush(&mut self, state: &mut State, push: &mut Push<'_>) -> Result<Demand> {
        let join = self.join;
        join.context.check()?;
        if self.found.rows() == 0 {
            return Ok(Demand::More);
        }
        self.made.rows += self.found.rows() as u64;
        let found = std::mem::replace(&mut self.found, join.access.found());
        let (inner, mut kept) = join.access.finish(found)?;
        let mut outer = std::mem::take(&mut state.outer);
        if let Some(residual) = &join.residual {
            self.keep(residual, &outer, &inner, &mut kept)?;
        }
        for &pair in &kept {
            let row = outer[pair as usize] as usize;
            if std::mem::replace(&mut self.matched[row], true) && join.kind == JoinKind::ProbeSingle
            {
                return Err(more_than_one_row());
            }
        }
        let demand = if join.wants_one() || kept.is_empty() {
            Demand::More
        } else {
            let rows: Vec<u32> = kept.iter().map(|&pair| outer[pair as usize]).collect();
            let mut joined = self.flow.select(&rows);
            let all = kept.len() == inner.rows;
            for column in &inner.columns {
                joined.append_column(if all { column.clone() } else { column.gather(&kept) });
            }
            push(joined.project(&join.output))?
        };
        outer.clear();
        state.outer = outer;
        Ok(demand)
    }

    /// Keeps the pairs for which the residual is true.
    fn keep(
        &self,
        residual: &Residual,
        outer: &[u32],
        inner: &Batch,
        kept: &mut Vec<u32>,
    ) -> Result<()> {
        let batch = self.flow.batch();
        let unused = Column::Constant(
            Arc::new(Vector::repeat(PhysicalType::Bool, &Value::Null, 1)),
            inner.rows,
        );
        let mut columns = vec![unused; self.join.outer_width];
        for &column in &residual.outer {
            columns[column] = batch.columns[column].gather(outer);
        }
        columns.extend(inner.columns.iter().cloned());
        residual.evaluator.select(&Batch::new(columns, inner.rows), kept)
    }

    /// Puts out what is decided once all matches are known.
    fn finish(self, push: &mut Push<'_>) -> Result<Demand> {
        let join = self.join;
        let wanted = match join.kind {
            JoinKind::ProbeSemi => true,
            JoinKind::ProbeAnti | JoinKind::ProbeOuter | JoinKind::ProbeSingle => false,
            _ => return Ok(Demand::More),
        };
        let rows = (0..self.end as u32).filter(|&r| self.matched[r as usize] == wanted);
        let rows: Vec<u32> = rows.collect();
        if rows.is_empty() {
            return Ok(Demand::More);
        }
        let all = rows.len() == self.flow.rows();
        let flow = if all { self.flow } else { self.flow.select(&rows) };
        let flow = if join.wants_one() { flow } else { join.padded(flow) };
        push(flow.project(&join.output))
    }
}
