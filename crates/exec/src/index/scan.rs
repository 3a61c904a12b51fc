//! Scans of a key, of a prefix, or of a range behind a prefix.
//!
//! ```text
//! prefix = values of the first columns        | p p p |
//! not NULL, where the next column may be      | p p p | m |
//! low, high of the next column                | p p p | m | v v |   all keys that start so
//! ```
//! A bound includes or leaves out all keys that start with it, whatever columns follow. Of a
//! descending column the lower bound is the upper end of the keys.
//!
//! A range is one work order: it keeps its order, and the planner takes short ones only.

use std::ops::Bound;
use std::sync::Arc;

use kernels::BATCH_ROWS;
use kernels::keys::{SortDirection, SortNulls};
use plan::physical::{BoundKind, Expr, IndexList, IndexOrder, IndexRange, Node, Operator};
use storage::{Datum, Direction, KeyBuffer, KeyRange, Restriction, RestrictionKind, TID_COLUMN};
use types::{CompareOp, Error, Result, Value};

use super::access::{Access, Cursor, constants};
use crate::context::QueryContext;
use crate::flow::Flow;
use crate::opener::{Opener, PushedFilter};
use crate::pipeline::{Demand, Push, Source, Stream};
use crate::simple::FilterOperator;

/// Rows of the first batch of a range: whoever has enough of few does not wait for many.
const FIRST_ROWS: usize = 32;

/// Opens [`Operator::IndexScan`].
pub(crate) fn open(opener: &mut Opener, node: &Node, filters: Vec<PushedFilter>) -> Result<Stream> {
    let Operator::IndexScan {
        table,
        index,
        columns,
        keys,
        list,
        range,
        restrictions,
        residual,
        order,
        ..
    } = &node.operator
    else {
        return Err(Error::internal("not an index scan"));
    };
    let mut access = Access::new(opener, table, *index, columns)?;
    let keys: Vec<Value> = keys.iter().map(|key| opener.constant(key)).collect::<Result<_>>()?;
    let bounds = range.as_ref().map(|range| Bounds::new(opener, range)).transpose()?;
    let list = list.as_ref().map(|list| Listed::new(opener, &access, list)).transpose()?;
    let name = |column: usize| node.output[column].name.to_string();
    let mut rest = constants(opener, &access, restrictions, columns, &name)?;
    if let Some(reads) = &opener.context.reads {
        let mut all = conditions(&access, &keys, list.as_ref(), bounds.as_ref());
        all.extend(rest.iter().cloned());
        reads.lock().push((Arc::clone(&access.table), all));
    }
    for pushed in filters.into_iter().filter(|f| columns[f.column] != TID_COLUMN) {
        let kind = RestrictionKind::KeyFilter(pushed.filter);
        rest.push(Restriction { column: columns[pushed.column], kind });
    }
    access.restrict(rest)?;
    let wanted = if access.is_never() {
        Vec::new()
    } else {
        Wanted::all(&access, &keys, list.as_ref(), bounds.as_ref())?
    };
    let direction = match order {
        IndexOrder::Any | IndexOrder::Forward => Direction::Forward,
        IndexOrder::Backward => Direction::Backward,
    };
    if wanted.is_empty() {
        return Ok(Stream::default());
    }
    let context = Arc::clone(&opener.context);
    let source = IndexSource { context, access, wanted, direction };
    let mut stream = Stream::new(Arc::new(source), Some(node.id));
    if let Some(residual) = residual {
        let residual = opener.resolve(residual)?;
        stream.push_operator(Arc::new(FilterOperator::new(&residual, None)?));
    }
    Ok(stream)
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

/// Restrictions that all rows found by the index satisfy.
fn conditions(
    access: &Access,
    keys: &[Value],
    list: Option<&Listed>,
    bounds: Option<&Bounds>,
) -> Vec<Restriction> {
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

impl Wanted {
    /// Everything to look for, in the order of the keys, each once.
    fn all(
        access: &Access,
        keys: &[Value],
        list: Option<&Listed>,
        bounds: Option<&Bounds>,
    ) -> Result<Vec<Self>> {
        let Some(list) = list else {
            return Ok(Self::new(access, keys, bounds)?.into_iter().collect());
        };
        let mut all = Vec::with_capacity(list.values.len());
        let mut keys = keys.to_vec();
        keys.insert(list.at, Value::Null);
        for value in &list.values {
            keys[list.at] = value.clone();
            all.extend(Self::new(access, &keys, bounds)?);
        }
        all.sort_unstable_by(|a, b| a.first()[..].cmp(&b.first()[..]));
        all.dedup_by(|a, b| a.first()[..] == b.first()[..]);
        Ok(all)
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
        let any = low.as_ref().or(high.as_ref()).map(|(value, _)| key_of(value)).transpose()?;
        let any = any.ok_or_else(|| Error::internal("a range without bounds"))?;
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
    access: Access,
    wanted: Vec<Wanted>,
    direction: Direction,
}

impl IndexSource {
    /// Pushes what was found once it is `rows_max` rows: those of several keys or short ranges
    /// make one batch, and each batch is larger than the one before.
    fn push_full(
        &self,
        found: &mut super::access::Found,
        rows_max: &mut usize,
        push: &mut Push<'_>,
    ) -> Result<Demand> {
        if found.rows() < *rows_max {
            return Ok(Demand::More);
        }
        self.context.check()?;
        *rows_max = (*rows_max * 4).min(BATCH_ROWS);
        self.push(std::mem::replace(found, self.access.found()), push)
    }

    fn push(&self, found: super::access::Found, push: &mut Push<'_>) -> Result<Demand> {
        let rows = found.rows();
        let (batch, kept) = self.access.finish(found)?;
        if kept.is_empty() {
            return Ok(Demand::More);
        }
        let flow = Flow::from_batch(batch);
        push(if kept.len() == rows { flow } else { flow.select(&kept) })
    }
}

impl Source for IndexSource {
    fn orders(&self) -> usize {
        1
    }

    fn run(&self, _order: usize, push: &mut Push<'_>) -> Result<Demand> {
        let mut cursor = Cursor::new();
        let mut found = self.access.found();
        let mut rows_max = FIRST_ROWS;
        for wanted in &self.wanted {
            let (low, high) = match wanted {
                Wanted::Key(key) => {
                    self.access.look_up(key, &mut cursor, &mut found);
                    if self.push_full(&mut found, &mut rows_max, push)? == Demand::Enough {
                        return Ok(Demand::Enough);
                    }
                    continue;
                }
                Wanted::Range(low, high) => (low, high.as_ref()),
            };
            let high = high.map_or(Bound::Unbounded, |high| Bound::Excluded(&high[..]));
            let range = KeyRange { low: Bound::Included(&low[..]), high };
            self.access.start(range, self.direction, &mut cursor);
            let mut ended = false;
            while !ended {
                ended = self.access.read(&mut cursor, &mut found, rows_max);
                if self.push_full(&mut found, &mut rows_max, push)? == Demand::Enough {
                    return Ok(Demand::Enough);
                }
            }
        }
        self.push(found, push)
    }
}
