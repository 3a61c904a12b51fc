//! Aggregates that need all rows of a group in order: string_agg, array_agg, percentiles, mode.

use std::any::Any;
use std::sync::Arc;

use kernels::keys::{SortDirection, SortField, SortKeys, SortNulls};
use kernels::sort_rows::sort_by;
use kernels::{Batch, Column, Vector, VectorBuilder, VectorData, array_fn, time_fn};
use sql::algebra::Duplicates;
use types::array::{ArrayBuilder, Nested, Nesting};
use types::budget::{self, Charge, Room};
use types::{ElementType, Error, PhysicalType, Result, SqlState, Value};

use super::distinct::{mapped, targets};
use super::{Mapping, States, Update, downcast};
use crate::result::string_bytes;

/// Result that is made of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collected {
    /// Strings joined by separators.
    StringAgg,
    /// An array of values of this type, NULLs included.
    ArrayAgg(ElementType),
    /// An array of another dimension of arrays with elements of this type.
    NestedAgg(ElementType),
    /// Interpolated value at a fraction.
    PercentileCont,
    /// First value at or after a fraction.
    PercentileDisc,
    /// Most frequent value.
    Mode,
}

/// How rows are gathered. Columns of an update: arguments, then sort keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Collector {
    /// Result that is made of them.
    pub(crate) result: Collected,
    /// How many columns are arguments.
    pub(crate) arguments: usize,
    /// The sort keys.
    pub(crate) keys: Vec<SortField>,
    /// DISTINCT.
    pub(crate) duplicates: Duplicates,
    /// How results are held.
    pub(crate) physical: PhysicalType,
}

impl Collector {
    /// The column of values.
    fn subject(&self) -> usize {
        match self.result {
            Collected::StringAgg | Collected::ArrayAgg(_) | Collected::NestedAgg(_) => 0,
            _ => self.arguments,
        }
    }

    /// True when rows with a NULL value count.
    fn takes_null(&self) -> bool {
        matches!(self.result, Collected::ArrayAgg(_) | Collected::NestedAgg(_))
    }
}

/// Rows of one update; shared with the states that they were merged from.
#[derive(Default)]
struct Chunk {
    groups: Vec<u32>,
    sequence: Arc<Vec<u64>>,
    columns: Arc<Vec<Vector>>,
}

/// All rows of all groups in order.
#[derive(Default)]
struct Sealed {
    /// Rows by group and order.
    rows: Vec<u32>,
    /// Where each group's rows start in `rows`, and the end.
    starts: Vec<u32>,
    columns: Vec<Vector>,
    /// Sort keys without arguments, to tell equal rows.
    keys: Option<SortKeys>,
}

/// The rows of each group.
pub(crate) struct CollectStates {
    collector: Collector,
    groups: usize,
    chunks: Vec<Chunk>,
    bytes: usize,
    sealed: Sealed,
}

impl CollectStates {
    pub(crate) fn new(collector: Collector) -> Self {
        let sealed = Sealed::default();
        Self { collector, groups: 0, chunks: Vec::new(), bytes: 0, sealed }
    }

    fn add(
        &mut self,
        groups: Vec<u32>,
        sequence: Vec<u64>,
        columns: &[Column],
        rows: &[u32],
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        // Until the copy is reserved.
        let mut charge = Charge::default();
        let batch = Batch::new(columns.to_vec(), columns.first().map_or(0, Column::len));
        charge.grow(string_bytes(&batch))?;
        let copy = |column: &Column| {
            let vector = column.to_vector();
            let mut builder = VectorBuilder::with_capacity(vector.physical(), rows.len());
            builder.append(&vector, Some(rows));
            self.bytes += builder.bytes();
            builder.finish_pinned()
        };
        let columns = Arc::new(columns.iter().map(copy).collect());
        self.bytes += rows.len() * 12;
        self.chunks.push(Chunk { groups, sequence: Arc::new(sequence), columns });
        Ok(())
    }

    /// The rows of a group in order.
    fn rows(&self, group: u32) -> &[u32] {
        let starts = &self.sealed.starts;
        let (start, end) = (starts[group as usize], starts[group as usize + 1]);
        &self.sealed.rows[start as usize..end as usize]
    }

    fn string_agg(&self, group: u32, (room, out): (&mut Room, &mut Vec<u8>)) -> Result<bool> {
        let rows = self.rows(group);
        let values = self.sealed.columns[0].as_str();
        let separators = &self.sealed.columns[1];
        out.clear();
        for (i, &row) in rows.iter().enumerate() {
            if i > 0 && !separators.is_null(row as usize) {
                room.push(out, separators.as_str().get(row as usize))?;
            }
            room.push(out, values.get(row as usize))?;
        }
        Ok(!rows.is_empty())
    }

    /// None for a group without rows.
    fn array_agg(&self, group: u32, element: ElementType) -> Result<Option<Vec<u8>>> {
        let Some(values) = self.sealed.columns.first() else {
            return Ok(None);
        };
        let rows = self.rows(group);
        let mut array = ArrayBuilder::new();
        let mut room = Room::default();
        for (i, &row) in rows.iter().enumerate() {
            array_fn::push_row(&mut array, values, row as usize, element);
            if i % LOOK_ROWS == 0 {
                room.note(array.bytes(), array.bytes())?;
            }
        }
        (!rows.is_empty()).then(|| array.finish()).transpose()
    }

    /// None for a group without rows.
    fn nested_agg(&self, group: u32, element: ElementType) -> Result<Option<Vec<u8>>> {
        let Some(values) = self.sealed.columns.first() else {
            return Ok(None);
        };
        let rows = self.rows(group);
        let mut nested = Nested::new(element, Nesting::Aggregate);
        let mut room = Room::default();
        let arrays = values.as_str();
        for (i, &row) in rows.iter().enumerate() {
            let row = row as usize;
            nested.push((!values.is_null(row)).then(|| arrays.get(row)))?;
            if i % LOOK_ROWS == 0 {
                room.note(nested.bytes(), nested.bytes())?;
            }
        }
        (!rows.is_empty()).then(|| nested.finish()).transpose()
    }

    /// The arrays of `groups`, each made by `make`.
    fn arrays(groups: &[u32], make: impl Fn(u32) -> Result<Option<Vec<u8>>>) -> Result<Vector> {
        let mut builder = VectorBuilder::with_capacity(PhysicalType::Str, groups.len());
        for &group in groups {
            match make(group)? {
                Some(array) => builder.push_str(&array),
                None => builder.push_null(),
            }
        }
        Ok(builder.finish())
    }

    /// The fraction asked for; None when NULL.
    fn fraction(&self, row: u32) -> Result<Option<f64>> {
        let fraction = match self.sealed.columns[0].value(row as usize) {
            Value::Null => return Ok(None),
            Value::F64(fraction) => fraction,
            other => return Err(Error::internal(format!("{other:?} as a fraction"))),
        };
        if !(0.0..=1.0).contains(&fraction) {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
        }
        Ok(Some(fraction))
    }

    fn percentile_disc(&self, group: u32) -> Result<Option<u32>> {
        let rows = self.rows(group);
        let Some(&first) = rows.first() else {
            return Ok(None);
        };
        let place = self.fraction(first)?.map(|f| (f * rows.len() as f64).ceil() as usize);
        Ok(place.map(|place| rows[place.clamp(1, rows.len()) - 1]))
    }

    /// The rows between which the value at the fraction lies, and how far it is from the first.
    fn percentile_place(&self, group: u32) -> Result<Option<(u32, u32, f64)>> {
        let rows = self.rows(group);
        let Some(&first) = rows.first() else {
            return Ok(None);
        };
        let Some(fraction) = self.fraction(first)? else {
            return Ok(None);
        };
        let place = fraction * (rows.len() - 1) as f64;
        let at = |place: f64| rows[place as usize];
        Ok(Some((at(place.floor()), at(place.ceil()), place - place.floor())))
    }

    fn percentile_cont(&self, groups: &[u32]) -> Result<Vector> {
        let places = groups.iter().map(|&group| self.percentile_place(group));
        let places = places.collect::<Result<Vec<_>>>()?;
        let subject = self.sealed.columns.get(1).map(|column| &column.data);
        if let Some(VectorData::Interval(_)) = subject {
            let side = |pick: fn(&(u32, u32, f64)) -> u32| {
                self.pick(&places.iter().map(|place| place.as_ref().map(pick)).collect::<Vec<_>>())
            };
            let (low, high) = (side(|place| place.0), side(|place| place.1));
            let share = places.iter().map(|place| place.map_or(0.0, |(.., share)| share));
            let share = Vector::new(VectorData::F64(share.collect()));
            let distance = time_fn::interval_subtract(&high, &low)?;
            return time_fn::interval_add(&low, &time_fn::interval_multiply(&distance, &share)?);
        }
        let mut builder = VectorBuilder::with_capacity(PhysicalType::F64, groups.len());
        for place in places {
            let value = match (place, subject) {
                (None, _) => Value::Null,
                (Some((low, high, share)), Some(VectorData::F64(values))) => {
                    let (low, high) = (values[low as usize], values[high as usize]);
                    Value::F64(if share == 0.0 { low } else { low + share * (high - low) })
                }
                _ => return Err(Error::internal("percentile_cont of what has no halves")),
            };
            builder.push_value(&value);
        }
        Ok(builder.finish())
    }

    fn mode(&self, group: u32) -> Option<u32> {
        let keys = self.sealed.keys.as_ref()?;
        let rows = self.rows(group);
        let mut best: Option<(usize, u32)> = None;
        let mut start = 0;
        while start < rows.len() {
            let key = keys.get(rows[start] as usize);
            let equal = rows[start..].iter().take_while(|&&row| keys.get(row as usize) == key);
            let count = equal.count();
            if best.is_none_or(|(most, _)| count > most) {
                best = Some((count, rows[start]));
            }
            start += count;
        }
        best.map(|(_, row)| row)
    }

    /// Values of the sort key at rows.
    fn pick(&self, rows: &[Option<u32>]) -> Vector {
        let mut builder = VectorBuilder::with_capacity(self.collector.physical, rows.len());
        let values = self.sealed.columns.get(self.collector.subject());
        for row in rows {
            match (row, values) {
                (Some(row), Some(values)) => builder.append(values, Some(&[*row])),
                _ => builder.push_null(),
            }
        }
        builder.finish()
    }
}

/// Rows between two looks at how long an array got.
const LOOK_ROWS: usize = 1024;

/// Bytes of the values of a column, and of the views of strings.
fn vector_bytes(vector: &Vector) -> usize {
    let width = match vector.physical() {
        PhysicalType::Bool => 1,
        PhysicalType::I32 => 4,
        PhysicalType::I64 | PhysicalType::F64 => 8,
        PhysicalType::I128 | PhysicalType::Interval | PhysicalType::Str => 16,
    };
    vector.len() * width
}

/// The rows of each of `count` groups, group by group.
fn by_group(groups: &[u32], count: usize) -> Vec<u32> {
    let mut next = vec![0u32; count + 1];
    groups.iter().for_each(|&group| next[group as usize + 1] += 1);
    for group in 0..count {
        next[group + 1] += next[group];
    }
    let mut rows = vec![0; groups.len()];
    for (row, &group) in groups.iter().enumerate() {
        let place = &mut next[group as usize];
        rows[*place as usize] = row as u32;
        *place += 1;
    }
    rows
}

/// The columns of all chunks, behind each other.
fn concatenate(chunks: &[Chunk]) -> Vec<Vector> {
    let Some(first) = chunks.first() else {
        return Vec::new();
    };
    let rows = chunks.iter().map(|c| c.groups.len()).sum();
    let column = |i: usize| {
        let mut builder = VectorBuilder::with_capacity(first.columns[i].physical(), rows);
        chunks.iter().for_each(|chunk| builder.append(&chunk.columns[i], None));
        builder.finish_pinned()
    };
    (0..first.columns.len()).map(column).collect()
}

impl States for CollectStates {
    fn resize(&mut self, groups: usize) {
        self.groups = self.groups.max(groups);
    }

    fn update(&mut self, update: Update<'_>) -> Result<()> {
        let subject = update.columns[self.collector.subject()].to_vector();
        let rows: Vec<u32> = match &subject.validity {
            Some(valid) if !self.collector.takes_null() => valid.ones(),
            _ => (0..update.groups.len() as u32).collect(),
        };
        let groups = rows.iter().map(|&row| update.groups[row as usize]).collect();
        let sequence = rows.iter().map(|&row| update.sequence[row as usize]).collect();
        self.add(groups, sequence, update.columns, &rows)
    }

    fn merge(&mut self, other: &dyn States, mapping: Mapping<'_>) -> Result<()> {
        let other = downcast::<Self>(other)?;
        let targets = targets(other.groups, mapping);
        for chunk in &other.chunks {
            let (rows, groups) = mapped(&chunk.groups, &targets);
            if rows.len() == chunk.groups.len() {
                let (sequence, columns) = (&chunk.sequence, &chunk.columns);
                self.bytes += rows.len() * 12 + columns.iter().map(vector_bytes).sum::<usize>();
                let (sequence, columns) = (Arc::clone(sequence), Arc::clone(columns));
                self.chunks.push(Chunk { groups, sequence, columns });
                continue;
            }
            let sequence = rows.iter().map(|&row| chunk.sequence[row as usize]).collect();
            let columns: Vec<Column> = chunk.columns.iter().cloned().map(Column::plain).collect();
            self.add(groups, sequence, &columns, &rows)?;
        }
        Ok(())
    }

    fn seal(&mut self) {
        // In the order of their first rows all of them mostly are in order.
        self.chunks.sort_by_key(|chunk| chunk.sequence.first().copied());
        let columns = concatenate(&self.chunks);
        let groups: Vec<u32> = self.chunks.iter().flat_map(|c| c.groups.iter().copied()).collect();
        let sequence: Vec<u64> =
            self.chunks.iter().flat_map(|c| c.sequence.iter().copied()).collect();
        self.chunks.clear();
        let mut fields = self.collector.keys.clone();
        let mut inputs: Vec<&Vector> = columns.iter().skip(self.collector.arguments).collect();
        if self.collector.duplicates == Duplicates::Remove {
            for column in columns.iter().take(self.collector.arguments) {
                let (direction, nulls) = (SortDirection::Ascending, SortNulls::Last);
                fields.push(SortField { physical: column.physical(), direction, nulls });
                inputs.push(column);
            }
        }
        let mut keys = SortKeys::new(fields);
        if !inputs.is_empty() {
            keys.append(&inputs);
        }
        let key = |row: u32| {
            if keys.is_empty() { &[][..] } else { keys.get(row as usize) }
        };
        let mut rows = by_group(&groups, self.groups);
        let sorted = sort_by(&mut rows, |&a, &b| {
            let group = groups[a as usize].cmp(&groups[b as usize]);
            let sequence = || sequence[a as usize].cmp(&sequence[b as usize]);
            group.then_with(|| key(a).cmp(key(b))).then_with(sequence)
        });
        if let Err(error) = sorted {
            // The statement fails; what is made of the rows does not matter any more.
            budget::fail(error);
        }
        if self.collector.duplicates == Duplicates::Remove {
            rows.dedup_by_key(|row| (groups[*row as usize], key(*row)));
        }
        let mut starts = vec![0u32; self.groups + 1];
        for &row in &rows {
            starts[groups[row as usize] as usize + 1] += 1;
        }
        for group in 0..self.groups {
            starts[group + 1] += starts[group];
        }
        self.sealed = Sealed { rows, starts, columns, keys: Some(keys) };
    }

    fn finish(&self, groups: &[u32]) -> Result<Vector> {
        budget::check()?;
        match self.collector.result {
            Collected::StringAgg => {
                let mut builder = VectorBuilder::with_capacity(PhysicalType::Str, groups.len());
                let (mut room, mut joined) = (Room::default(), Vec::new());
                for &group in groups {
                    let out = (&mut room, &mut joined);
                    if !self.sealed.rows.is_empty() && self.string_agg(group, out)? {
                        builder.push_str(&joined);
                    } else {
                        builder.push_null();
                    }
                }
                Ok(builder.finish())
            }
            Collected::ArrayAgg(element) => Self::arrays(groups, |g| self.array_agg(g, element)),
            Collected::NestedAgg(element) => Self::arrays(groups, |g| self.nested_agg(g, element)),
            Collected::PercentileCont => self.percentile_cont(groups),
            Collected::PercentileDisc => {
                let rows = groups.iter().map(|&g| self.percentile_disc(g));
                Ok(self.pick(&rows.collect::<Result<Vec<_>>>()?))
            }
            Collected::Mode => {
                Ok(self.pick(&groups.iter().map(|&g| self.mode(g)).collect::<Vec<_>>()))
            }
        }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn clear(&mut self) {
        self.chunks.clear();
        self.groups = 0;
        self.bytes = 0;
        self.sealed = Sealed::default();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_heavy(&self) -> bool {
        true
    }
}
