//! Pages of any number of rows, at the end of memory that may be read; pages that do not fit.

use std::ptr::null_mut;
use std::sync::Arc;

use kernels::Bitmap;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use store::code::{
    Bounds, Check, Columns, Compile as _, FieldCheck, FixedColumn, Form, Page, Pass, PassQuery,
    RowsPage, Sense, TextColumn, Total, Wish,
};
use store::{Aggregate, Field, FieldId, FieldType, Schema, TableKind, Tuple};
use types::Value;

use crate::{Compiler, When};

/// Memory whose last byte stands before memory that nobody may touch.
struct Edge {
    begin: *mut std::ffi::c_void,
    bytes: usize,
}

const PAGE: usize = 1 << 16;

impl Edge {
    fn new() -> Self {
        let bytes = 2 * PAGE;
        let read_write = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory at an address of the system's choice.
        let begin = unsafe { mmap_anonymous(null_mut(), bytes, read_write, MapFlags::PRIVATE) };
        let begin = begin.expect("there is memory");
        // SAFETY: the second half of the mapping, which nobody uses.
        let outcome = unsafe { mprotect(begin.byte_add(PAGE), PAGE, MprotectFlags::empty()) };
        outcome.expect("is protected");
        Self { begin, bytes }
    }

    /// `values`, the last of which ends where the memory does.
    fn put<T: Copy>(&mut self, values: &[T]) -> &[T] {
        let bytes = size_of_val(values);
        assert!(bytes <= PAGE);
        // SAFETY: `PAGE` bytes from `begin` on may be read and written, `self` alone has them, and
        // their end is aligned for all numbers.
        unsafe {
            let target = self.begin.byte_add(PAGE - bytes).cast::<T>();
            target.copy_from_nonoverlapping(values.as_ptr(), values.len());
            std::slice::from_raw_parts(target, values.len())
        }
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        // SAFETY: the mapping, whose slices ended with the borrows of `self`.
        let outcome = unsafe { munmap(self.begin, self.bytes) };
        assert!(outcome.is_ok());
    }
}

/// One column.
struct One<'a> {
    column: FixedColumn<'a>,
    validity: Option<Bitmap>,
    rows: usize,
}

impl Columns for One<'_> {
    fn len(&self) -> usize {
        self.rows
    }
    fn keys(&self) -> &[u64] {
        &[]
    }
    fn validity(&self, _: usize) -> Option<&Bitmap> {
        self.validity.as_ref()
    }
    fn fixed(&self, _: usize) -> FixedColumn<'_> {
        self.column
    }
    fn text(&self, _: usize) -> Option<TextColumn<'_>> {
        None
    }
    fn bounds(&self, _: usize) -> Option<Bounds> {
        None
    }
}

fn schema(field_type: FieldType) -> Arc<Schema> {
    let field = Field::nullable("a", field_type);
    Arc::new(Schema::new(TableKind::Transactional, vec![field]).expect("fits"))
}

/// A query for the positions of values from 5 on, one for their sum, one for the values.
fn pass(field_type: FieldType, form: Form) -> Pass {
    let schema = schema(field_type);
    let check = match field_type {
        FieldType::F32 | FieldType::F64 => {
            Check::Float { op: types::CompareOp::GreaterEqual, literal: 5.0 }
        }
        _ => Check::Integer { low: 5, high: i64::MAX, sense: Sense::Plain },
    };
    let fields = Wish::Fields { schema: (*schema).clone(), fields: vec![0] };
    let wishes = [Wish::Positions, Wish::Totals(vec![Aggregate::Sum(FieldId(0))]), fields];
    let queries = wishes.map(|wish| PassQuery { conjuncts: vec![0], wish });
    let conjuncts = vec![vec![FieldCheck { field: 0, check }]];
    Pass { schema, form, rows: 0, conjuncts, queries: queries.into() }
}

fn code(pass: &Pass) -> Arc<dyn store::code::Code> {
    // The compiler is dropped: its functions stay as long as the code that uses them.
    let compiler = Compiler::new(When::Always).expect("there is code for this processor");
    compiler.compile(pass).expect("is made")
}

/// Values 0 to 9, the third of each ten NULL.
fn numbers(rows: usize) -> (Vec<i64>, Bitmap) {
    ((0..rows).map(|row| row as i64 % 10).collect(), Bitmap::from_fn(rows, |row| row % 10 != 7))
}

fn positions(rows: usize) -> Vec<u32> {
    (0..rows as u32).filter(|row| row % 10 >= 5 && row % 10 != 7).collect()
}

/// Runs the three queries; the words of the rows are returned.
fn run(code: &Arc<dyn store::code::Code>, pass: &Pass, page: Page<'_>, rows: usize) -> Vec<u64> {
    let mut runner = code.clone().runner();
    let mut run = runner.begin(page).expect("fits");
    let expected = positions(rows);
    assert_eq!(run.select(0, None), expected, "{rows} rows");
    let mut total = [Total::new(Aggregate::Sum(FieldId(0)), &pass.schema)];
    assert_eq!(run.fold(1, None, &mut total), expected.len() as u64);
    let sum: i64 = expected.iter().map(|row| i64::from(row % 10)).sum();
    let is_exact = match total[0].value() {
        Value::Null => expected.is_empty(),
        Value::I128(v) => v == i128::from(sum),
        Value::F64(v) => v == sum as f64,
        _ => false,
    };
    assert!(is_exact, "{total:?} of {sum}");
    let mut words = Vec::new();
    run.gather(2, &expected, &mut words);
    words
}

fn counts() -> impl Iterator<Item = usize> {
    (0..70).chain([127, 128, 129, 1000])
}

/// Runs columns of each type that end where memory does.
#[test]
fn columns_are_read_up_to_their_end() {
    let mut edge = Edge::new();
    macro_rules! column {
        ($kind:ident, $number:ty) => {
            let pass = pass(FieldType::$kind, Form::Columns);
            let code = code(&pass);
            for rows in counts() {
                let (values, validity) = numbers(rows);
                let values: Vec<$number> = values.iter().map(|v| *v as $number).collect();
                let column = FixedColumn::$kind(edge.put(&values));
                let columns = One { column, validity: Some(validity), rows };
                let words = run(&code, &pass, Page::Columns(&columns), rows);
                let tuples = positions(rows).into_iter().flat_map(|row| {
                    let value = match FieldType::$kind {
                        FieldType::I64 => Value::I64(i64::from(row % 10)),
                        FieldType::F32 | FieldType::F64 => Value::F64(f64::from(row % 10)),
                        _ => Value::I32((row % 10) as i32),
                    };
                    words_of(&pass.schema, value)
                });
                assert_eq!(words, tuples.collect::<Vec<u64>>());
            }
        };
    }
    column!(I16, i16);
    column!(I32, i32);
    column!(I64, i64);
    column!(F32, f32);
    column!(F64, f64);
}

fn words_of(schema: &Schema, value: Value) -> Vec<u64> {
    Tuple::encode(schema, &[value]).expect("fits").words().to_vec()
}

/// Runs rows that end where memory does.
#[test]
fn rows_are_read_up_to_their_end() {
    let (mut edge, mut other) = (Edge::new(), Edge::new());
    let pass = pass(FieldType::I64, Form::Rows);
    let code = code(&pass);
    for rows in counts() {
        let (values, validity) = numbers(rows);
        let (mut starts, mut words) = (vec![0], Vec::new());
        for (row, value) in values.iter().enumerate() {
            let value = if validity.get(row) { Value::I64(*value) } else { Value::Null };
            words.extend(words_of(&pass.schema, value));
            starts.push(words.len() as u32);
        }
        let page = RowsPage { starts: edge.put(&starts), words: other.put(&words) };
        let gathered = run(&code, &pass, Page::Rows(page), rows);
        let expected = positions(rows).into_iter().flat_map(|row| page.row(row as usize).to_vec());
        assert_eq!(gathered, expected.collect::<Vec<u64>>());
    }
}

/// Pages of other types, with columns that are too short, and with rows outside.
#[test]
fn pages_that_do_not_fit_are_refused() {
    let code_of = |form| code(&pass(FieldType::I32, form)).runner();
    let mut columns = code_of(Form::Columns);
    let mut refused = |column, validity, rows| {
        let columns_of = One { column, validity, rows };
        columns.begin(Page::Columns(&columns_of)).is_none()
    };
    assert!(!refused(FixedColumn::I32(&[1; 20]), None, 20));
    assert!(refused(FixedColumn::I32(&[1; 20]), None, 21));
    assert!(refused(FixedColumn::I64(&[1; 20]), None, 20));
    assert!(refused(FixedColumn::I32(&[1; 70]), Some(Bitmap::filled(64, true)), 70));
    let mut rows = code_of(Form::Rows);
    let mut refused = |starts: &[u32], words: &[u64]| {
        rows.begin(Page::Rows(RowsPage { starts, words })).is_none()
    };
    // Each row has a word of null bits and one of fields.
    assert!(!refused(&[0, 2, 4], &[0; 4]));
    assert!(refused(&[0, 2, 4], &[0; 3]));
    assert!(refused(&[0, 1, 4], &[0; 4]));
    assert!(refused(&[2, 0, 4], &[0; 4]));
    assert!(refused(&[], &[]));
    let page = RowsPage { starts: &[0, 2], words: &[0; 2] };
    assert!(code_of(Form::Columns).begin(Page::Rows(page)).is_none());
}

/// Asks for the fields of a row that is not there.
#[test]
#[should_panic(expected = "rows of this page")]
fn rows_outside_are_refused() {
    let mut runner = code(&pass(FieldType::I32, Form::Columns)).runner();
    let columns = One { column: FixedColumn::I32(&[1; 20]), validity: None, rows: 20 };
    let mut run = runner.begin(Page::Columns(&columns)).expect("fits");
    run.gather(2, &[20], &mut Vec::new());
}
