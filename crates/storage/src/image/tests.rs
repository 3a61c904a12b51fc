//! Blocks from bytes: whole ones open equal, damaged ones are refused or harmless.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kernels::{Vector, VectorBuilder, VectorData};
use proptest::prelude::*;
use testkit::Random;
use types::{CompareOp, Interval, PhysicalType, SqlState, Value};

use super::*;
use crate::block::{Identity, Scheme, description_bytes, seal};
use crate::freeze::freeze;
use crate::schema::{ColumnSpec, Schema};
use crate::snapshot::TableSnapshot;
use crate::{Positions, Restriction, RestrictionKind, ScanPlan, Snapshot};
use types::DataType;

fn value(random: &mut Random, physical: PhysicalType, spread: u64) -> Value {
    let n = random.below(spread) as i64;
    match physical {
        PhysicalType::Bool => Value::Bool(n & 1 == 1),
        PhysicalType::I32 => Value::I32(n as i32),
        PhysicalType::I64 => Value::I64(n),
        PhysicalType::I128 => Value::I128(i128::from(n)),
        PhysicalType::F64 => Value::F64(n as f64),
        PhysicalType::Str if spread > 5 => Value::text(&format!("string number {n}, ").repeat(20)),
        PhysicalType::Str => Value::text(&format!("string number {n}")),
        PhysicalType::Interval => {
            Value::Interval(Interval { months: 0, days: n as i32, micros: n })
        }
    }
}

const TYPES: [DataType; 7] = [
    DataType::Boolean,
    DataType::Integer,
    DataType::BigInt,
    DataType::numeric(38, 0),
    DataType::Double,
    DataType::Text,
    DataType::INTERVAL,
];

fn vectors(random: &mut Random, rows: usize) -> Vec<Vector> {
    let column = |ty: &DataType| {
        let mut builder = VectorBuilder::new(ty.physical());
        let (spread, nulls) = ([1, 5, 1 << 20, 1 << 40][random.below(4) as usize], [0, 20, 100]);
        let nulls = nulls[random.below(3) as usize];
        for _ in 0..rows {
            if random.chance(nulls) {
                builder.push_null()
            } else {
                builder.push_value(&value(random, ty.physical(), spread))
            }
        }
        builder.finish()
    };
    TYPES.iter().map(column).collect()
}

fn make(random: &mut Random, layout: BlockLayout, rows: usize) -> (Block, Arc<BufferPool>) {
    let pool = BufferPool::new(1 << 32);
    let vectors = vectors(random, rows);
    let vectors: Vec<&Vector> = vectors.iter().collect();
    let block = match layout {
        BlockLayout::Frozen => freeze(1, &vectors, rows, &pool).expect("fits").0,
        _ => crate::hot::build(1, layout, &vectors, rows, &pool).expect("fits"),
    };
    (block, pool)
}

/// Reads everything and searches every column.
fn read(block: Block) -> Vec<Vec<String>> {
    let specs: Vec<ColumnSpec> = TYPES.iter().map(|&ty| ColumnSpec::new("c", ty)).collect();
    let schema: Schema = specs.into();
    let all = Positions::Range { start: 0, len: block.rows() as u32 };
    let snapshot = TableSnapshot::new(schema.clone(), Snapshot::ALL, &[Arc::new(block)]);
    let mut columns = Vec::new();
    for (c, ty) in TYPES.iter().enumerate() {
        let column = snapshot.unpack(0, c, &all).expect("in memory");
        columns.push((0..column.len()).map(|i| format!("{:?}", column.value(i))).collect());
        let value = value(&mut Random::new(1), ty.physical(), 5);
        for kind in
            [CompareOp::Equal, CompareOp::NotEqual, CompareOp::LessEqual, CompareOp::Greater]
        {
            let kind = RestrictionKind::Compare(kind, value.clone());
            let restriction = Restriction { column: c, kind };
            let plan = ScanPlan::new(&schema, vec![restriction]).expect("well typed");
            let mut positions = Positions::default();
            if let Some(mut cursor) = plan.open(&snapshot, 0).expect("no predicate") {
                while cursor.next(100, &mut positions).expect("no predicate") {}
            }
        }
    }
    columns
}

const LAYOUTS: [BlockLayout; 3] = [BlockLayout::Row, BlockLayout::Column, BlockLayout::Frozen];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn blocks_open_from_their_bytes(seed: u64, rows in 1usize..300, layout in 0usize..3) {
        let (block, pool) = make(&mut Random::new(seed), LAYOUTS[layout], rows);
        let bytes = block.to_bytes().expect("fits");
        let again = Block::from_bytes(1, &bytes, &pool).expect("whole");
        prop_assert_eq!(&again.header, &block.header);
        prop_assert_eq!(again.to_bytes().expect("fits"), bytes);
        prop_assert_eq!(read(again), read(block));
    }

    #[test]
    fn damage_is_reported_or_harmless(seed: u64, rows in 1usize..200, layout in 0usize..3) {
        let random = &mut Random::new(seed);
        let (block, pool) = make(random, LAYOUTS[layout], rows);
        let whole = block.to_bytes().expect("fits");
        let described = description_bytes(TYPES.len());
        for round in 0..40 {
            let mut bytes = whole.clone();
            // Half of the damage hits the description, whose checksum is then made right again.
            let end = if round % 2 == 0 { described } else { bytes.len() };
            for _ in 0..=random.below(3) {
                let at = random.below(end as u64) as usize;
                bytes[at] = match random.below(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => bytes[at] ^ (1 << random.below(8)),
                    _ => random.bits() as u8,
                };
            }
            if random.chance(10) {
                bytes.truncate(random.below(bytes.len() as u64) as usize);
            }
            seal(&mut bytes);
            match Block::from_bytes(1, &bytes, &pool) {
                Err(error) => prop_assert_eq!(error.state(), SqlState::DATA_CORRUPTED),
                Ok(block) if types_kept(&block) => {
                    let result = catch_unwind(AssertUnwindSafe(|| read(block)));
                    prop_assert!(result.is_ok(), "reading a damaged block panics");
                }
                Ok(_) => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn identities_come_back_and_damage_is_reported_or_fits(seed: u64, rows in 1usize..300) {
        let random = &mut Random::new(seed);
        let (block, _) = make(random, BlockLayout::Frozen, rows);
        let whole = block.identity();
        let again = Identity::read(&whole).expect("whole");
        prop_assert_eq!(&again.header, &block.header);
        for column in 0..TYPES.len() {
            prop_assert_eq!(again.sma(column), block.sma(column));
        }
        for _ in 0..40 {
            let mut bytes = whole.clone();
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.bits() as u8;
            if random.chance(10) {
                bytes.truncate(random.below(bytes.len() as u64) as usize);
            }
            seal(&mut bytes);
            if let Err(error) = Identity::read(&bytes) {
                prop_assert_eq!(error.state(), SqlState::DATA_CORRUPTED);
            }
        }
    }
}

/// Types are the catalog's business: a block of other types is not this table's.
fn types_kept(block: &Block) -> bool {
    let types = block.header.segments.iter().map(|s| s.physical);
    types.eq(TYPES.iter().map(|ty| ty.physical()))
}

#[test]
fn a_wrong_checksum_is_reported() {
    let (block, pool) = make(&mut Random::new(3), BlockLayout::Frozen, 10);
    let mut bytes = block.to_bytes().expect("fits");
    bytes[HEADER_TEST_BYTE] ^= 1;
    let error = Block::from_bytes(1, &bytes, &pool).expect_err("damaged");
    assert_eq!(error.state(), SqlState::DATA_CORRUPTED);
    assert!(Block::from_bytes(1, &bytes[..10], &pool).is_err());
    assert!(Block::from_bytes(1, &[], &pool).is_err());
}

/// A byte of the description of the first column.
const HEADER_TEST_BYTE: usize = 70;

#[test]
fn schemes_are_the_smallest() {
    let pool = BufferPool::new(1 << 30);
    let rows = 60_000;
    let scheme = |data: VectorData| {
        let vector = Vector::new(data);
        let (block, _) = freeze(1, &[&vector], rows, &pool).expect("fits");
        (block.scheme(0), block.width(0))
    };
    let ints = |f: fn(i64) -> i64| VectorData::I64((0..rows as i64).map(f).collect());
    assert_eq!(scheme(ints(|_| 5)), (Scheme::Single, 0));
    assert_eq!(scheme(ints(|i| i % 250 - 9)), (Scheme::Truncation, 1));
    assert_eq!(scheme(ints(|i| i % 250 * 100)), (Scheme::Dictionary, 1));
    assert_eq!(scheme(ints(|i| i)), (Scheme::Truncation, 2));
    assert_eq!(scheme(ints(|i| i % 1000 * 5_000_000)), (Scheme::Dictionary, 2));
    assert_eq!(scheme(ints(|i| i * 50_000)), (Scheme::Truncation, 4));
    assert_eq!(scheme(ints(|i| i * 500_000)), (Scheme::Plain, 8));
    let doubles = |f: fn(usize) -> f64| VectorData::F64((0..rows).map(f).collect());
    assert_eq!(scheme(doubles(|i| (i % 11) as f64 / 100.0)), (Scheme::Dictionary, 1));
    assert_eq!(scheme(doubles(|i| i as f64 / 3.0)), (Scheme::Plain, 8));
    let texts = |f: fn(usize) -> String| {
        let texts: Vec<String> = (0..rows).map(f).collect();
        VectorData::Str(texts.iter().map(|t| t.as_bytes()).collect())
    };
    assert_eq!(scheme(texts(|i| format!("{}", i % 7))), (Scheme::Dictionary, 1));
    assert_eq!(scheme(texts(|i| format!("clerk {}", i % 1000))), (Scheme::Dictionary, 2));
    assert_eq!(scheme(texts(|i| format!("clerk {}", i / 4))), (Scheme::Dictionary, 2));
    assert_eq!(scheme(texts(|i| format!("a comment {i}"))), (Scheme::Plain, 4));
    assert_eq!(scheme(texts(|_| "same".into())), (Scheme::Single, 0));
    assert_eq!(scheme(texts(comment)), (Scheme::Compressed, 4));
    let noise = |i| (0..5).map(|n| format!("{:x}", hash(i * 5 + n))).collect::<String>();
    assert_eq!(scheme(texts(noise)), (Scheme::Compressed, 4));
    let mut random = Random::new(5);
    let bytes: Vec<Vec<u8>> =
        (0..rows).map(|_| (0..80).map(|_| random.bits() as u8).collect()).collect();
    let bytes = VectorData::Str(bytes.iter().map(|b| &b[..]).collect());
    assert_eq!(scheme(bytes), (Scheme::Plain, 4));
}

fn comment(i: usize) -> String {
    format!("the {i} carefully final deposits haggle furiously among the even, ironic requests")
}

fn hash(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Every way in which codes may not fit their symbols.
#[test]
fn damaged_symbols_and_codes_are_reported() {
    let pool = BufferPool::new(1 << 30);
    let texts: Vec<String> = (0..1000).map(comment).collect();
    let vector = Vector::new(VectorData::Str(texts.iter().map(|t| t.as_bytes()).collect()));
    let (block, _) = freeze(1, &[&vector], 1000, &pool).expect("fits");
    assert_eq!(block.scheme(0), Scheme::Compressed);
    let segment = block.segment(0).clone();
    let (symbols, codes) = (segment.symbols as usize, segment.strings as usize);
    let ends = segment.data as usize;
    let pinned = block.pin_again();
    let block = pinned.frozen().expect("frozen");
    let second = block.string_offsets(0)[1] as usize;
    let symbol_used = usize::from(block.memory().as_slice()[codes]);
    assert_ne!(symbol_used, 255, "the comments begin alike");
    let described = description_bytes(0);
    let length_at = |code: usize| symbols + 256 * 8 + code;
    let cases: [(&str, usize, Vec<u8>); 8] = [
        ("a length past the symbol", length_at(200), vec![9]),
        ("a long length", length_at(symbol_used), vec![255]),
        ("a code without symbol", length_at(symbol_used), vec![0]),
        ("an escape at the end of a row", codes + second - 1, vec![255]),
        ("an offset past the codes", ends + 4, vec![255; 4]),
        ("symbols outside the block", described + 40, vec![0xc0, 0xff, 0xff, 0xff]),
        (
            "symbols across the end",
            described + 40,
            (block.header.bytes as u32 - 64).to_le_bytes().into(),
        ),
        ("no symbols", described + 40, vec![0; 4]),
    ];
    for (what, at, damage) in cases {
        let mut bytes = block.to_bytes().expect("fits");
        bytes[at..at + damage.len()].copy_from_slice(&damage);
        seal(&mut bytes);
        let error = Block::from_bytes(1, &bytes, &pool).expect_err(what);
        assert_eq!(error.state(), SqlState::DATA_CORRUPTED, "{what}");
    }
}
