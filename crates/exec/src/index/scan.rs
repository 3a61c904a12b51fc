//! Scans of keys, of prefixes, and of ranges behind a prefix, of one index or of several.
//!
//! ```text
//! prefix = values of the first columns        | p p p |
//! not NULL, where the next column may be      | p p p | m |
//! low, high of the next column                | p p p | m | v v |   all keys that start so
//! ```
//! A bound includes or leaves out all keys that start with it, whatever columns follow. Of a
//! descending column the lower bound is the upper end of the keys.
//!
//! A near index gives the rows of its nearest vectors, then of the next ones.
//!
//! All ranges are one work order, which keeps their order; the planner takes short ones only. Those
//! of one index are sorted and merged, so that each row is in one of them.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kernels::BATCH_ROWS;
use kernels::keys::{SortDirection, SortNulls};
use plan::physical::{
    BoundKind, Expr, IndexList, IndexOrder, IndexRange, IndexWay, LookUps, Node, Operator,
    OperatorId,
};
use storage::{
    Datum, Direction, KeyBuffer, KeyRange, MemoryCategory, Reservation, Restriction,
    RestrictionKind,
};
use types::elements::ElementQuery;
use types::{CompareOp, Error, Interval, PhysicalType, Result, Value};

use super::access::{Access, Cursor, Found, constants};
use super::elements::{self, Finder};
use super::near::{self, Wished};
use crate::context::QueryContext;
use crate::flow::Flow;
use crate::opener::Opener;
use crate::pipeline::{Demand, Push, Source, Stream};
use crate::pushed::{self, PushedFilter};
use crate::simple::FilterOperator;

/// Rows of the first batch of a range: whoever has enough of few does not wait for many.
const FIRST_ROWS: usize = 32;

/// Opens [`Operator::IndexScan`], or the scan in its place when that is less to read.
pub(crate) fn open(opener: &mut Opener, node: &Node, filters: Vec<PushedFilter>) -> Result<Stream> {
    let Operator::IndexScan { ways, order, scan, entries_max, .. } = &node.operator else {
        return Err(Error::internal("not an index scan"));
    };
    let parts = parts_of(opener, node, ways)?;
    if parts.iter().any(|part| part.asked == ElementQuery::All) {
        return opener.open(scan, filters);
    }
    if let Some(entries_max) = entries_max.filter(|_| *order == IndexOrder::Any)
        && has_more(opener, &parts, entries_max)?
    {
        return opener.open(scan, filters);
    }
    open_parts(opener, node, parts, filters, None)
}

/// Opens [`Operator::IndexScan`] to find `needed` rows and read about `entries_max` entries, and
/// tells whether it read all of its.
pub(crate) fn open_walk(
    opener: &mut Opener,
    node: &Node,
    needed: u64,
    entries_max: u64,
) -> Result<(Stream, Arc<Walk>)> {
    let Operator::IndexScan { ways, .. } = &node.operator else {
        return Err(Error::internal("not an index scan"));
    };
    let walk = Arc::new(Walk { entries_max, is_cut: AtomicBool::new(false) });
    let mut parts = parts_of(opener, node, ways)?;
    for near in parts.iter_mut().filter_map(|part| part.near.as_mut()) {
        near.breadth = near.breadth.max(usize::try_from(needed).unwrap_or(usize::MAX));
    }
    let stream = open_parts(opener, node, parts, Vec::new(), Some(Arc::clone(&walk)))?;
    Ok((stream, walk))
}

/// An index scan that reads some entries at most.
pub(crate) struct Walk {
    entries_max: u64,
    /// True once it ended before the last entry.
    is_cut: AtomicBool,
}

impl Walk {
    /// True when every entry was read, unless the reader had enough.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_cut.load(Ordering::Acquire)
    }
}

/// Keys and ranges that `ways` look for, by index.
fn parts_of(opener: &Opener, node: &Node, ways: &[IndexWay]) -> Result<Vec<Part>> {
    let mut parts = Vec::with_capacity(1);
    for way in ways {
        add_way(opener, node, way, &mut parts)?;
    }
    for part in &mut parts {
        merge(&mut part.wanted);
    }
    Ok(parts)
}

/// The stream of what `parts` look for, of which `filters` leave some.
fn open_parts(
    opener: &Opener,
    node: &Node,
    mut parts: Vec<Part>,
    filters: Vec<PushedFilter>,
    walk: Option<Arc<Walk>>,
) -> Result<Stream> {
    let Operator::IndexScan { ways, columns, residual, order, .. } = &node.operator else {
        return Err(Error::internal("not an index scan"));
    };
    note_reads(opener, node, ways)?;
    let filters = pushed::restrictions(filters, columns, |at| node.output[at].physical);
    for part in &mut parts {
        let rest = rest_of(opener, node, &part.access)?;
        part.access.restrict([rest, filters.clone()].concat())?;
    }
    parts.retain(|part| !part.is_idle() && !part.access.is_never());
    if parts.is_empty() {
        return Ok(Stream::default());
    }
    let is_backward = *order == IndexOrder::Backward;
    if is_backward {
        parts.iter_mut().for_each(|part| part.wanted.reverse());
    }
    let direction = if is_backward { Direction::Backward } else { Direction::Forward };
    let (context, id) = (Arc::clone(&opener.context), node.id);
    let source = IndexSource { context, id, parts, direction, walk };
    let mut stream = Stream::new(Arc::new(source), Some(node.id));
    if let Some(residual) = residual {
        let residual = opener.resolve(residual)?;
        stream.push_operator(Arc::new(FilterOperator::new(&residual, None)?));
    }
    Ok(stream)
}

/// An index and what is looked for in it.
struct Part {
    index: usize,
    access: Access,
    wanted: Vec<Wanted>,
    /// Elements asked for of an inverted index; nothing of others.
    asked: ElementQuery,
    /// The vector asked for of a near index.
    near: Option<Wished>,
}

impl Part {
    /// True when nothing is looked for.
    fn is_idle(&self) -> bool {
        self.wanted.is_empty() && self.asked == ElementQuery::Nothing && self.near.is_none()
    }
}

/// Adds what `way` looks for to the part of its index.
fn add_way(opener: &Opener, node: &Node, way: &IndexWay, parts: &mut Vec<Part>) -> Result<()> {
    let Operator::IndexScan { table, columns, .. } = &node.operator else {
        return Err(Error::internal("not an index scan"));
    };
    let at = match parts.iter().position(|part| part.index == way.index) {
        Some(at) => at,
        None => {
            let access = Access::new(opener, table, way.index, columns)?;
            let asked = ElementQuery::Nothing;
            parts.push(Part { index: way.index, access, wanted: Vec::new(), asked, near: None });
            parts.len() - 1
        }
    };
    let part = &mut parts[at];
    if let Some(near) = &way.near {
        part.near = near::wished(opener, near)?;
        return Ok(());
    }
    if !way.elements.is_empty() {
        let asked = elements::asked(opener, &way.elements)?;
        let before = std::mem::replace(&mut part.asked, ElementQuery::Nothing);
        part.asked = ElementQuery::any_of(vec![before, asked]);
        return Ok(());
    }
    let way = Way::new(opener, &part.access, way)?;
    Wanted::add(&part.access, &way, &mut part.wanted)
}

/// True when there are more keys and entries than `entries_max`.
fn has_more(opener: &Opener, parts: &[Part], entries_max: u64) -> Result<bool> {
    let (mut count, mut cursor) = (0, Cursor::new());
    for part in parts {
        if part.asked != ElementQuery::Nothing {
            let mut finder = Finder::new(&opener.context, &part.access.index);
            count += finder.count(&part.asked, entries_max + 1 - count)?;
            if count > entries_max {
                return Ok(true);
            }
        }
        for wanted in &part.wanted {
            count += match wanted {
                Wanted::Key(_) => 1,
                Wanted::Range(low, high) => {
                    let range = key_range(low, high.as_ref());
                    part.access.count(range, &mut cursor, entries_max + 1 - count)
                }
            };
            if count > entries_max {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Notes what is read, by way, for transactions that are validated.
fn note_reads(opener: &Opener, node: &Node, ways: &[IndexWay]) -> Result<()> {
    let Operator::IndexScan { table, columns, .. } = &node.operator else {
        return Err(Error::internal("not an index scan"));
    };
    let Some(reads) = &opener.context.reads else {
        return Ok(());
    };
    for way in ways {
        let access = Access::new(opener, table, way.index, columns)?;
        let mut all = conditions(&access, &Way::new(opener, &access, way)?);
        all.extend(rest_of(opener, node, &access)?);
        reads.lock().push((Arc::clone(&access.table), all));
    }
    Ok(())
}

/// The restrictions that the ways leave, with their constants.
fn rest_of(opener: &Opener, node: &Node, access: &Access) -> Result<Vec<Restriction>> {
    let Operator::IndexScan { columns, restrictions, .. } = &node.operator else {
        return Err(Error::internal("not an index scan"));
    };
    let name = |column: usize| node.output[column].name.to_string();
    constants(opener, access, restrictions, columns, &name)
}

/// A conjunction on one index with its values.
struct Way {
    keys: Vec<Value>,
    list: Option<Listed>,
    bounds: Option<Bounds>,
}

impl Way {
    fn new(opener: &Opener, access: &Access, way: &IndexWay) -> Result<Self> {
        let IndexWay { keys, list, range, .. } = way;
        Ok(Self {
            keys: keys.iter().map(|key| opener.constant(key)).collect::<Result<_>>()?,
            list: list.as_ref().map(|list| Listed::new(opener, access, list)).transpose()?,
            bounds: range.as_ref().map(|range| Bounds::new(opener, range)).transpose()?,
        })
    }
}

/// The bounds of a range with their values.
struct Bounds {
    low: Option<(Value, BoundKind)>,
    high: Option<(Value, BoundKind)>,
}

impl Bounds {
    fn new(opener: &Opener, range: &IndexRange) -> Result<Self> {
        let value =
            |bound: &(Expr, BoundKind)| Ok::<_, Error>((opener.constant(&bound.0)?, bound.1));
        Ok(Self {
            low: range.low.as_ref().map(value).transpose()?,
            high: range.high.as_ref().map(value).transpose()?,
        })
    }

    fn has_null(&self) -> bool {
        [&self.low, &self.high].into_iter().flatten().any(|(value, _)| value.is_null())
    }

    /// As a restriction of a scan.
    fn kind(&self) -> RestrictionKind {
        let bound = |bound: &Option<(Value, BoundKind)>| match bound {
            None => Bound::Unbounded,
            Some((value, BoundKind::Inclusive)) => Bound::Included(value.clone()),
            Some((value, BoundKind::Exclusive)) => Bound::Excluded(value.clone()),
        };
        if self.has_null() {
            RestrictionKind::Never
        } else {
            RestrictionKind::Between { low: bound(&self.low), high: bound(&self.high) }
        }
    }
}

/// The values that one column of the index may have, without NULLs.
struct Listed {
    /// Position of the column in the index.
    at: usize,
    values: Vec<Value>,
}

impl Listed {
    fn new(opener: &Opener, access: &Access, list: &IndexList) -> Result<Self> {
        let physical = access.key_physical(list.at);
        let kind = crate::scan::restriction_kind(opener, &list.values, physical, String::new())?;
        match kind {
            RestrictionKind::InList(values) => Ok(Self { at: list.at, values }),
            _ => Err(Error::internal("a list of keys that is no list")),
        }
    }
}

/// Restrictions that rows satisfy which `way` finds.
fn conditions(access: &Access, way: &Way) -> Vec<Restriction> {
    let Way { keys, list, bounds } = way;
    let columns = &access.index.spec().columns;
    let mut ordinals: Vec<usize> = columns.iter().map(|column| column.ordinal).collect();
    let mut listed = None;
    if let Some(list) = list {
        let kind = RestrictionKind::InList(list.values.clone());
        listed = Some(Restriction { column: ordinals.remove(list.at), kind });
    }
    let equal = |(&column, value): (&usize, &Value)| {
        let kind = if value.is_null() {
            RestrictionKind::Never
        } else {
            RestrictionKind::Compare(CompareOp::Equal, value.clone())
        };
        Restriction { column, kind }
    };
    let mut all: Vec<Restriction> = ordinals.iter().zip(keys).map(equal).collect();
    all.extend(listed);
    if let Some(bounds) = bounds {
        all.push(Restriction { column: ordinals[keys.len()], kind: bounds.kind() });
    }
    // What is known of an expression says nothing of columns.
    all.retain(|restriction| restriction.column < storage::INDEX_EXPRESSION);
    all
}

/// Keys to look for.
enum Wanted {
    /// A whole key.
    Key(KeyBuffer),
    /// Keys from the first bytes up to the second, without them.
    Range(KeyBuffer, Option<KeyBuffer>),
}

/// Sorts what is looked for, and leaves each key in one of them.
fn merge(wanted: &mut Vec<Wanted>) {
    // Of those that begin alike a key is the last: ranges that begin there have it.
    let is_key = |wanted: &Wanted| matches!(wanted, Wanted::Key(_));
    wanted
        .sort_unstable_by(|a, b| a.first()[..].cmp(&b.first()[..]).then(is_key(a).cmp(&is_key(b))));
    wanted.dedup_by(|next, last| match (last, next) {
        (Wanted::Key(last), Wanted::Key(next)) => last[..] == next[..],
        (Wanted::Key(_), Wanted::Range(..)) => false,
        (Wanted::Range(_, high), Wanted::Key(key)) => {
            high.as_ref().is_none_or(|high| key[..] < high[..])
        }
        (Wanted::Range(_, high), Wanted::Range(low, next_high)) => {
            let meets = high.as_ref().is_none_or(|high| low[..] <= high[..]);
            if meets && let Some(end) = high {
                match next_high.take() {
                    Some(next_end) if next_end[..] <= end[..] => {}
                    next_end => *high = next_end,
                }
            }
            meets
        }
    });
}

/// The keys of a [`Wanted::Range`].
fn key_range<'k>(low: &'k KeyBuffer, high: Option<&'k KeyBuffer>) -> KeyRange<'k> {
    let high = high.map_or(Bound::Unbounded, |high| Bound::Excluded(&high[..]));
    KeyRange { low: Bound::Included(&low[..]), high }
}

impl Wanted {
    /// Adds everything that `way` looks for to `all`.
    fn add(access: &Access, way: &Way, all: &mut Vec<Self>) -> Result<()> {
        let (mut keys, bounds) = (way.keys.clone(), way.bounds.as_ref());
        let Some(list) = &way.list else {
            all.extend(Self::new(access, &keys, bounds)?);
            return Ok(());
        };
        all.reserve(list.values.len());
        keys.insert(list.at, Value::Null);
        for value in &list.values {
            keys[list.at] = value.clone();
            all.extend(Self::new(access, &keys, bounds)?);
        }
        Ok(())
    }

    /// Where the keys begin.
    fn first(&self) -> &KeyBuffer {
        match self {
            Self::Key(key) | Self::Range(key, _) => key,
        }
    }

    /// None when no row can be there.
    fn new(access: &Access, keys: &[Value], bounds: Option<&Bounds>) -> Result<Option<Self>> {
        if keys.iter().any(Value::is_null) || bounds.is_some_and(Bounds::has_null) {
            return Ok(None);
        }
        let values = keys.iter().enumerate().map(|(i, value)| datum(access, i, value));
        let values = values.collect::<Result<Vec<_>>>()?;
        let mut prefix = KeyBuffer::new();
        access.index.encode(&values, &mut prefix);
        let Some(bounds) = bounds else {
            if access.is_lookup(keys.len()) {
                return Ok(Some(Self::Key(prefix)));
            }
            let end = successor(&prefix);
            return Ok(Some(Self::Range(prefix, end)));
        };
        let at = values.len();
        let key_of = |value: &Value| -> Result<KeyBuffer> {
            let mut values = values.clone();
            values.push(datum(access, at, value)?);
            let mut key = KeyBuffer::new();
            access.index.encode(&values, &mut key);
            Ok(key)
        };
        let field = access.index.key_fields()[at];
        let mut ends = [&bounds.low, &bounds.high];
        if field.direction == SortDirection::Descending {
            ends.swap(0, 1);
        }
        let [low, high] = ends;
        let any = match low.as_ref().or(high.as_ref()) {
            Some((value, _)) => key_of(value)?,
            None => key_of(&any_value(field.physical))?,
        };
        // All keys whose next column is not NULL.
        let not_null = prefix.len() + usize::from(field.nulls != SortNulls::Absent);
        let mut within = KeyBuffer::new();
        within.set(&any[..not_null]);
        let start = match low {
            None => within.clone(),
            Some((value, BoundKind::Inclusive)) => key_of(value)?,
            Some((value, BoundKind::Exclusive)) => match successor(&key_of(value)?) {
                Some(start) => start,
                None => return Ok(None),
            },
        };
        let end = match high {
            None => successor(&within),
            Some((value, BoundKind::Inclusive)) => successor(&key_of(value)?),
            Some((value, BoundKind::Exclusive)) => Some(key_of(value)?),
        };
        let is_empty = end.as_ref().is_some_and(|end| end[..] <= start[..]);
        Ok((!is_empty).then_some(Self::Range(start, end)))
    }
}

/// Some value: of its key only the mark that it is no NULL is looked at.
fn any_value(physical: PhysicalType) -> Value {
    match physical {
        PhysicalType::Bool => Value::Bool(false),
        PhysicalType::I32 => Value::I32(0),
        PhysicalType::I64 => Value::I64(0),
        PhysicalType::I128 => Value::I128(0),
        PhysicalType::F64 => Value::F64(0.0),
        PhysicalType::Str => Value::text(""),
        PhysicalType::Interval => Value::Interval(Interval::default()),
    }
}

/// The value as key column `i` holds it.
fn datum<'v>(access: &Access, i: usize, value: &'v Value) -> Result<Datum<'v>> {
    let misfit = || Error::internal("a key value of another type than its column");
    Datum::from(value).widened(access.key_physical(i)).ok_or_else(misfit)
}

/// The first key above all that start with `key`; None when there is none.
fn successor(key: &KeyBuffer) -> Option<KeyBuffer> {
    let mut successor = KeyBuffer::new();
    successor.set_successor(key).then_some(successor)
}

/// Keys and ranges, as one work order.
struct IndexSource {
    context: Arc<QueryContext>,
    id: OperatorId,
    /// By index.
    parts: Vec<Part>,
    direction: Direction,
    /// None when all entries are to be read.
    walk: Option<Arc<Walk>>,
}

impl IndexSource {
    /// Pushes what was found once it is `rows_max` rows: those of several keys or short ranges
    /// make one batch, and each batch is larger than the one before.
    fn push_full(&self, access: &Access, state: &mut State, push: &mut Push<'_>) -> Result<Demand> {
        state.cursor.check()?;
        if state.found.rows() < state.rows_max {
            return Ok(Demand::More);
        }
        self.context.check()?;
        state.rows_max = (state.rows_max * 4).min(BATCH_ROWS);
        state.rows += state.found.rows() as u64;
        let demand = push_found(access, std::mem::replace(&mut state.found, access.found()), push)?;
        match &self.walk {
            Some(walk) if demand == Demand::More => {
                let left = walk.entries_max.saturating_sub(state.rows);
                state.rows_max = state.rows_max.min(left as usize);
                walk.is_cut.store(left == 0, Ordering::Release);
                Ok(if left == 0 { Demand::Enough } else { Demand::More })
            }
            _ => Ok(demand),
        }
    }

    fn run_part(&self, part: &Part, state: &mut State, push: &mut Push<'_>) -> Result<Demand> {
        (state.count, state.rows) = (0, 0);
        let demand = self.look_up(part, state, push);
        let (index, count, rows) = (part.index, state.count, state.rows);
        self.context.note_look_ups(self.id, LookUps { index, count, rows });
        demand
    }

    fn read_candidates(
        &self,
        part: &Part,
        state: &mut State,
        push: &mut Push<'_>,
    ) -> Result<Demand> {
        state.count += 1;
        let found = Finder::new(&self.context, &part.access.index).candidates(&part.asked)?;
        let mut rest = found.tids.as_slice();
        while let Some((first, behind)) = rest.split_at_checked(state.rows_max.min(rest.len()))
            && !first.is_empty()
        {
            rest = behind;
            part.access.read_candidates(
                &mut first.to_vec(),
                &mut state.cursor,
                &mut state.found,
            )?;
            if self.push_full(&part.access, state, push)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }

    /// Pushes the rows of a near index, the nearest first, a batch for each part of the search.
    fn read_near(&self, part: &Part, state: &mut State, push: &mut Push<'_>) -> Result<Demand> {
        let Some(wished) = &part.near else { return Ok(Demand::More) };
        let access = &part.access;
        let Some(mut near) = access.index.near(&wished.from, wished.breadth) else {
            return Ok(Demand::More);
        };
        let mut memory = Reservation::empty(&self.context.pool, MemoryCategory::Temporary);
        let mut entries = 0;
        while access.index.next_near(&mut near) {
            self.context.check()?;
            memory.resize(near.bytes() as u64)?;
            state.count += 1;
            entries += near.count() as u64;
            access.read_near(&near, &mut state.cursor, &mut state.found)?;
            state.cursor.check()?;
            state.rows += state.found.rows() as u64;
            let found = std::mem::replace(&mut state.found, access.found());
            if push_found(access, found, push)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
            if let Some(walk) = &self.walk
                && entries >= walk.entries_max
            {
                walk.is_cut.store(true, Ordering::Release);
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }

    fn look_up(&self, part: &Part, state: &mut State, push: &mut Push<'_>) -> Result<Demand> {
        let access = &part.access;
        if self.read_near(part, state, push)? == Demand::Enough {
            return Ok(Demand::Enough);
        }
        if part.asked != ElementQuery::Nothing
            && self.read_candidates(part, state, push)? == Demand::Enough
        {
            return Ok(Demand::Enough);
        }
        for wanted in &part.wanted {
            state.count += 1;
            let (low, high) = match wanted {
                Wanted::Key(key) => {
                    access.look_up(key, &mut state.cursor, &mut state.found)?;
                    if self.push_full(access, state, push)? == Demand::Enough {
                        return Ok(Demand::Enough);
                    }
                    continue;
                }
                Wanted::Range(low, high) => (low, high.as_ref()),
            };
            access.start(key_range(low, high), self.direction, &mut state.cursor);
            let mut ended = false;
            while !ended {
                ended = access.read(&mut state.cursor, &mut state.found, state.rows_max)?;
                if self.push_full(access, state, push)? == Demand::Enough {
                    return Ok(Demand::Enough);
                }
            }
        }
        state.rows += state.found.rows() as u64;
        push_found(access, std::mem::replace(&mut state.found, access.found()), push)
    }
}

/// State of one run of the source.
struct State {
    cursor: Cursor,
    found: Found,
    rows_max: usize,
    /// Keys and ranges of the index so far, and rows found there that were put out.
    count: u64,
    rows: u64,
}

fn push_found(access: &Access, found: Found, push: &mut Push<'_>) -> Result<Demand> {
    let rows = found.rows();
    let (batch, kept) = access.finish(found)?;
    if kept.is_empty() {
        return Ok(Demand::More);
    }
    let flow = Flow::from_batch(batch);
    push(if kept.len() == rows { flow } else { flow.select(&kept) })
}

impl Source for IndexSource {
    fn orders(&self) -> usize {
        1
    }

    fn run(&self, _order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let cursor = match self.parts.len() {
            1 => Cursor::new(),
            _ => Cursor::of_several(&self.context.pool),
        };
        let found = self.parts[0].access.found();
        let mut state = State { cursor, found, rows_max: FIRST_ROWS, count: 0, rows: 0 };
        for part in &self.parts {
            if self.run_part(part, &mut state, push)? == Demand::Enough {
                return Ok(Demand::Enough);
            }
        }
        Ok(Demand::More)
    }
}
