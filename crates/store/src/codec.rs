//! Values of the store as bytes, for networks and logs: what one function puts, its namesake reads.
//!
//! Integers are varints (`types::codec`). Nothing here panics, whatever the bytes: rows are looked
//! at field by field before anybody reads them, counts before memory is taken for them.
//! Elsewhere: requests and frames (`transport`).

use std::sync::Arc;

use types::codec::{Input, Malformed, put_bytes, put_i64, put_i128, put_u64};
use types::{CompareOp, Value};

use crate::error::{Result, Status, StoreError};
use crate::query::{Aggregate, Output, Partition, Predicate, Query, Selection, Test};
use crate::ranges::Ranges;
use crate::scan::{Flow, Rows, ScanEnd};
use crate::schema::{Field, FieldId, FieldType, Nulls, Schema, TableKind};
use crate::snapshot::{Access, Snapshot, Version};
use crate::tuple::{Tuple, is_row};

type Read<T> = Result<T, Malformed>;

/// Appends a snapshot: its bitmap has a bit for each version between base and version.
pub fn put_snapshot(out: &mut Vec<u8>, snapshot: &Snapshot) {
    put_u64(out, snapshot.lowest_active().0);
    put_u64(out, snapshot.base().0 - snapshot.lowest_active().0);
    put_u64(out, snapshot.version().0 - snapshot.base().0);
    out.push(u8::from(snapshot.access() == Access::ReadWrite));
    let bytes = snapshot.bits().iter().flat_map(|word| word.to_le_bytes());
    out.extend(bytes.take(snapshot.bitmap_bytes()));
}

/// Reads a snapshot.
///
/// # Errors
/// Where the bytes are none.
pub fn snapshot(input: &mut Input<'_>) -> Read<Snapshot> {
    let lowest = input.u64()?;
    let base = input.u64()?.checked_add(lowest);
    let between = input.u64()?;
    let version = base.and_then(|base| base.checked_add(between));
    let access = match input.u8()? {
        0 => Access::ReadOnly,
        1 => Access::ReadWrite,
        _ => return Err(input.malformed("an access")),
    };
    let (Some(base), Some(version)) = (base, version) else {
        return Err(input.malformed("a version"));
    };
    let bytes = input.take(usize::try_from(between.div_ceil(8)).unwrap_or(usize::MAX))?;
    let bits = bytes.chunks(8).map(crate::tuple::word_of).collect();
    Snapshot::from_bits(Version(lowest), Version(base), Version(version), access, bits)
        .map_err(|_| input.malformed("a snapshot"))
}

/// Appends a row.
pub fn put_tuple(out: &mut Vec<u8>, tuple: &Tuple) {
    put_words(out, tuple.words());
}

/// Reads a row of `schema`.
///
/// # Errors
/// Where the bytes are none.
pub fn tuple(input: &mut Input<'_>, schema: &Schema) -> Read<Tuple> {
    let words = words(input)?;
    Tuple::of_schema(schema, words.into()).map_err(|_| input.malformed("a row of the table"))
}

fn put_words(out: &mut Vec<u8>, words: &[u64]) {
    put_u64(out, words.len() as u64);
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn words(input: &mut Input<'_>) -> Read<Vec<u64>> {
    let count = input.count(8)?;
    Ok(input.take(count * 8)?.chunks(8).map(crate::tuple::word_of).collect())
}

/// Appends a schema.
pub fn put_schema(out: &mut Vec<u8>, schema: &Schema) {
    out.push(u8::from(schema.kind() == TableKind::NonTransactional));
    put_u64(out, schema.fields().len() as u64);
    for field in schema.fields() {
        put_bytes(out, field.name.as_bytes());
        out.push(match field.field_type {
            FieldType::I16 => 0,
            FieldType::I32 => 1,
            FieldType::I64 => 2,
            FieldType::F32 => 3,
            FieldType::F64 => 4,
            FieldType::Bytes => 5,
        });
        out.push(u8::from(field.nulls == Nulls::Allowed));
    }
}

/// Reads a schema.
///
/// # Errors
/// Where the bytes are none.
pub fn schema(input: &mut Input<'_>) -> Read<Schema> {
    let kind = match input.u8()? {
        0 => TableKind::Transactional,
        1 => TableKind::NonTransactional,
        _ => return Err(input.malformed("a kind of table")),
    };
    let count = input.count(3)?;
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let name = input.text()?.to_owned();
        let field_type = match input.u8()? {
            0 => FieldType::I16,
            1 => FieldType::I32,
            2 => FieldType::I64,
            3 => FieldType::F32,
            4 => FieldType::F64,
            5 => FieldType::Bytes,
            _ => return Err(input.malformed("a type of field")),
        };
        let nulls = match input.u8()? {
            0 => Nulls::Never,
            1 => Nulls::Allowed,
            _ => return Err(input.malformed("a field with or without NULLs")),
        };
        fields.push(Field { name, field_type, nulls });
    }
    Schema::new(kind, fields).map_err(|_| input.malformed("a schema"))
}

/// Appends a query.
pub fn put_query(out: &mut Vec<u8>, query: &Query) {
    put_u64(out, query.selection.conjuncts.len() as u64);
    for conjunct in &query.selection.conjuncts {
        put_u64(out, conjunct.len() as u64);
        for predicate in conjunct {
            put_u64(out, u64::from(predicate.field.0));
            put_test(out, &predicate.test);
        }
    }
    match &query.output {
        Output::Fields(fields) => {
            out.push(0);
            put_u64(out, fields.len() as u64);
            fields.iter().for_each(|field| put_u64(out, u64::from(field.0)));
        }
        Output::Aggregates(aggregates) => {
            out.push(1);
            put_u64(out, aggregates.len() as u64);
            for aggregate in aggregates {
                out.push(match aggregate {
                    Aggregate::Rows => 0,
                    Aggregate::Count(_) => 1,
                    Aggregate::Sum(_) => 2,
                    Aggregate::Min(_) => 3,
                    Aggregate::Max(_) => 4,
                });
                put_u64(out, aggregate.field().map_or(0, |field| u64::from(field.0)));
            }
        }
    }
    out.push(u8::from(query.partition.is_some()));
    if let Some(partition) = query.partition {
        put_u64(out, partition.count);
        put_u64(out, partition.number);
    }
    out.push(u8::from(query.within.is_some()));
    query.within.iter().for_each(|within| within.put(out));
}

/// Reads a query, which may not fit any table.
///
/// # Errors
/// Where the bytes are none.
pub fn query(input: &mut Input<'_>) -> Read<Query> {
    let mut selection = Selection::all();
    for _ in 0..input.count(1)? {
        let predicates = (0..input.count(2)?)
            .map(|_| Ok(Predicate { field: field(input)?, test: test(input)? }))
            .collect::<Read<_>>()?;
        selection.conjuncts.push(predicates);
    }
    let output = match input.u8()? {
        0 => Output::Fields((0..input.count(1)?).map(|_| field(input)).collect::<Read<_>>()?),
        1 => {
            let aggregates = (0..input.count(2)?).map(|_| aggregate(input));
            Output::Aggregates(aggregates.collect::<Read<_>>()?)
        }
        _ => return Err(input.malformed("fields or aggregates")),
    };
    let partition = match input.u8()? {
        0 => None,
        1 => Some(Partition { count: input.u64()?, number: input.u64()? }),
        _ => return Err(input.malformed("a part or all")),
    };
    let within = match input.u8()? {
        0 => None,
        1 => Some(Ranges::read(input)?),
        _ => return Err(input.malformed("a set of keys or none")),
    };
    Ok(Query { selection, output, partition, within })
}

fn field(input: &mut Input<'_>) -> Read<FieldId> {
    let number = u16::try_from(input.u64()?);
    number.map(FieldId).map_err(|_| input.malformed("a field"))
}

fn aggregate(input: &mut Input<'_>) -> Read<Aggregate> {
    let tag = input.u8()?;
    let field = field(input)?;
    Ok(match tag {
        0 => Aggregate::Rows,
        1 => Aggregate::Count(field),
        2 => Aggregate::Sum(field),
        3 => Aggregate::Min(field),
        4 => Aggregate::Max(field),
        _ => return Err(input.malformed("an aggregate")),
    })
}

/// Operators that a test may have, by their number.
const OPS: [CompareOp; 8] = [
    CompareOp::Equal,
    CompareOp::NotEqual,
    CompareOp::Less,
    CompareOp::LessEqual,
    CompareOp::Greater,
    CompareOp::GreaterEqual,
    CompareOp::Distinct,
    CompareOp::NotDistinct,
];

fn put_test(out: &mut Vec<u8>, test: &Test) {
    let mut part = |tag, bytes: &[u8]| {
        out.push(tag);
        put_bytes(out, bytes);
    };
    match test {
        Test::Compare(op, literal) => {
            let number = OPS.iter().position(|known| known == op).unwrap_or_default();
            out.push(number as u8);
            put_value(out, literal);
        }
        Test::StartsWith(bytes) => part(8, bytes),
        Test::StartsNotWith(bytes) => part(9, bytes),
        Test::EndsWith(bytes) => part(10, bytes),
        Test::EndsNotWith(bytes) => part(11, bytes),
        Test::IsNull => out.push(12),
        Test::IsNotNull => out.push(13),
    }
}

fn test(input: &mut Input<'_>) -> Read<Test> {
    let tag = input.u8()?;
    if let Some(op) = OPS.get(usize::from(tag)) {
        return Ok(Test::Compare(*op, value(input)?));
    }
    Ok(match tag {
        8 => Test::StartsWith(input.bytes()?.into()),
        9 => Test::StartsNotWith(input.bytes()?.into()),
        10 => Test::EndsWith(input.bytes()?.into()),
        11 => Test::EndsNotWith(input.bytes()?.into()),
        12 => Test::IsNull,
        13 => Test::IsNotNull,
        _ => return Err(input.malformed("a test")),
    })
}

/// Appends a value of a field or an aggregate; others become NULL.
pub fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::I32(v) => {
            out.push(1);
            put_i64(out, i64::from(*v));
        }
        Value::I64(v) => {
            out.push(2);
            put_i64(out, *v);
        }
        Value::I128(v) => {
            out.push(3);
            put_i128(out, *v);
        }
        Value::F64(v) => {
            out.push(4);
            out.extend(v.to_bits().to_le_bytes());
        }
        Value::Str(v) => {
            out.push(5);
            put_bytes(out, v);
        }
        _ => out.push(0),
    }
}

/// Reads a value.
///
/// # Errors
/// Where the bytes are none.
pub fn value(input: &mut Input<'_>) -> Read<Value> {
    Ok(match input.u8()? {
        0 => Value::Null,
        1 => Value::I32(input.i32()?),
        2 => Value::I64(input.i64()?),
        3 => Value::I128(input.i128()?),
        4 => Value::F64(f64::from_bits(crate::tuple::word_of(input.take(8)?))),
        5 => Value::Str(Arc::from(input.bytes()?)),
        _ => return Err(input.malformed("a value")),
    })
}

/// Appends rows of a scan.
pub fn put_rows(out: &mut Vec<u8>, rows: &Rows) {
    put_u64(out, rows.len() as u64);
    for i in 0..rows.len() {
        put_u64(out, rows.key(i));
        put_words(out, rows.words_of(i));
    }
}

/// Reads rows of a scan; `schema` is the table's, projected to the query's fields.
///
/// # Errors
/// Where the bytes are none.
pub fn rows(input: &mut Input<'_>, schema: &Schema) -> Read<Rows> {
    let mut rows = Rows::default();
    for _ in 0..input.count(2)? {
        let key = input.u64()?;
        let words = words(input)?;
        if !is_row(schema, &words) {
            return Err(input.malformed("a row of the query"));
        }
        rows.push(key, &words);
    }
    Ok(rows)
}

/// Appends the end of a scan.
pub fn put_scan_end(out: &mut Vec<u8>, end: &ScanEnd) {
    put_u64(out, end.values.len() as u64);
    end.values.iter().for_each(|value| put_value(out, value));
    put_u64(out, end.rows);
    out.push(u8::from(end.flow == Flow::Stop));
}

/// Reads the end of a scan.
///
/// # Errors
/// Where the bytes are none.
pub fn scan_end(input: &mut Input<'_>) -> Read<ScanEnd> {
    let values = (0..input.count(1)?).map(|_| value(input)).collect::<Read<_>>()?;
    let rows = input.u64()?;
    let flow = if input.u8()? == 0 { Flow::Continue } else { Flow::Stop };
    Ok(ScanEnd { values, rows, flow })
}

/// Appends an outcome without a value: a [`Status`], and the text of an error that has one.
pub fn put_outcome(out: &mut Vec<u8>, outcome: &Result<()>) {
    out.push(Status::of(outcome) as u8);
    if let Err(
        StoreError::InvalidScan(text)
        | StoreError::InvalidTable(text)
        | StoreError::InvalidTuple(text)
        | StoreError::Unreachable(text)
        | StoreError::Refused(text),
    ) = outcome
    {
        put_bytes(out, text.as_bytes());
    }
}

/// Reads an outcome.
///
/// # Errors
/// Where the bytes are none.
pub fn outcome(input: &mut Input<'_>) -> Read<Result<()>> {
    Ok(Err(match input.u8()? {
        0 => return Ok(Ok(())),
        1 => StoreError::NotFound,
        2 => StoreError::NotInSnapshot,
        3 => StoreError::InvalidWrite,
        4 => StoreError::OutOfMemory,
        5 => StoreError::Overloaded,
        6 => StoreError::InvalidScan(input.text()?.into()),
        7 => StoreError::InvalidTable(input.text()?.into()),
        8 => StoreError::InvalidSnapshot,
        9 => StoreError::InvalidTuple(input.text()?.into()),
        10 => StoreError::Unreachable(input.text()?.into()),
        11 => StoreError::Fenced,
        12 => StoreError::DiskFull,
        13 => StoreError::Refused(input.text()?.into()),
        14 => StoreError::Moved,
        15 => StoreError::Overtaken,
        _ => return Err(input.malformed("a status")),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::conformance;

    fn round<T: PartialEq + std::fmt::Debug>(
        value: &T,
        put: fn(&mut Vec<u8>, &T),
        read: fn(&mut Input<'_>) -> Read<T>,
    ) {
        let mut bytes = Vec::new();
        put(&mut bytes, value);
        let mut input = Input::new(&bytes);
        assert_eq!(read(&mut input).as_ref(), Ok(value));
        assert!(input.is_empty());
        for length in 0..bytes.len() {
            assert!(read(&mut Input::new(&bytes[..length])).is_err(), "a part of {value:?}");
        }
    }

    #[test]
    fn values_come_back_whole_or_not_at_all() {
        let v = Version;
        let sets = [
            Snapshot::read_write(v(3), v(5), v(90), &[v(6), v(70), v(89)]).expect("fits"),
            Snapshot::read_only(v(3), v(5), v(69), &[v(69)]).expect("fits"),
            Snapshot::analytical(v(0), v(5)).expect("fits"),
            Snapshot::newest(),
            Snapshot::conditional(v(0)).expect("fits"),
        ];
        sets.iter().for_each(|set| round(set, put_snapshot, snapshot));
        for kind in [TableKind::Transactional, TableKind::NonTransactional] {
            round(&conformance::schema(kind), put_schema, schema);
        }
        let test = |op| Test::Compare(op, Value::F64(0.5));
        let selection = Selection::all()
            .and(FieldId(1), test(CompareOp::Less))
            .and(FieldId(300), Test::StartsWith((*b"ab").into()))
            .and(FieldId(2), Test::IsNull);
        let partition = Some(Partition { count: 7, number: 2 });
        let range = |first, last| crate::ranges::HashRange { first, last };
        let within = Some(Ranges::of(vec![range(3, 9), range(1 << 40, u64::MAX)]));
        let some = Query { partition, within, ..Query::fields(vec![FieldId(2), FieldId(0)]) };
        round(&some.of(selection), put_query, query);
        let list = vec![Aggregate::Rows, Aggregate::Sum(FieldId(9)), Aggregate::Max(FieldId(1))];
        round(&Query::aggregates(list), put_query, query);
        let values = vec![Value::Null, Value::I128(-1 << 90), Value::text("x"), Value::I32(-5)];
        round(&ScanEnd { values, rows: 1 << 40, flow: Flow::Stop }, put_scan_end, scan_end);
        let errors = [StoreError::Fenced, StoreError::InvalidTuple("why".into())];
        errors.into_iter().for_each(|error| round(&Err(error), put_outcome, outcome));
        round(&Ok(()), put_outcome, outcome);
    }

    #[test]
    fn rows_of_another_table_are_refused() {
        let schema = conformance::schema(TableKind::Transactional);
        for n in 0..40 {
            let made = Tuple::encode(&schema, &conformance::row(n)).expect("fits");
            let mut bytes = Vec::new();
            put_tuple(&mut bytes, &made);
            assert_eq!(tuple(&mut Input::new(&bytes), &schema), Ok(made));
            let other = schema.project(&[FieldId(0), FieldId(6)]).expect("known fields");
            assert!(tuple(&mut Input::new(&bytes), &other).is_err());
        }
    }

    proptest! {
        #[test] // Whatever is let in can be read.
        fn any_words_are_a_row_or_refused(
            mut words in proptest::collection::vec(any::<u64>(), 0..16),
            nulls in 0..128u64,
            texts in 0..64u64,
        ) {
            let schema = conformance::schema(TableKind::Transactional);
            // Close to a row: without that, nothing gets past the first check.
            if let Some(first) = words.first_mut() {
                *first = nulls;
            }
            let made = Tuple::encode(&schema, &conformance::row(texts as i64)).expect("fits");
            let pairs = made.words().iter().zip(&words);
            let near: Vec<u64> = pairs.map(|(a, b)| a ^ (b & nulls)).collect();
            for words in [words, near] {
                let mut bytes = Vec::new();
                put_words(&mut bytes, &words);
                if let Ok(tuple) = tuple(&mut Input::new(&bytes), &schema) {
                    tuple.decode(&schema);
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let schema = conformance::schema(TableKind::Transactional);
            drop(snapshot(&mut Input::new(&bytes)));
            drop(query(&mut Input::new(&bytes)));
            drop(super::schema(&mut Input::new(&bytes)));
            drop(rows(&mut Input::new(&bytes), &schema));
            drop(scan_end(&mut Input::new(&bytes)));
            drop(outcome(&mut Input::new(&bytes)));
        }
    }
}
