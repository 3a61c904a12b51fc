//! Evaluation against single rows, guards, dictionaries, NULLs.

use std::sync::Arc;

use kernels::{BATCH_ROWS, Bitmap, StrVector, Vector, VectorData};
use plan::physical::ExprKind;
use sql::algebra::{Function, LikeCase};
use types::{CompareOp, DataType, PhysicalType, SqlState};

use super::*;

fn expr(kind: ExprKind, ty: DataType) -> Expr {
    Expr { kind, ty, physical: ty.physical() }
}

fn column(ordinal: usize, ty: DataType) -> Expr {
    expr(ExprKind::Column(ordinal), ty)
}

fn int(ordinal: usize) -> Expr {
    column(ordinal, DataType::Integer)
}

fn lit(value: i32) -> Expr {
    expr(ExprKind::Literal(Value::I32(value)), DataType::Integer)
}

fn text(value: &str) -> Expr {
    expr(ExprKind::Literal(Value::text(value)), DataType::Text)
}

fn null(ty: DataType) -> Expr {
    expr(ExprKind::Literal(Value::Null), ty)
}

fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Compare(op, Box::new(a), Box::new(b)), DataType::Boolean)
}

fn and(parts: Vec<Expr>) -> Expr {
    expr(ExprKind::And(parts), DataType::Boolean)
}

fn or(parts: Vec<Expr>) -> Expr {
    expr(ExprKind::Or(parts), DataType::Boolean)
}

fn call(function: Function, arguments: Vec<Expr>, ty: DataType) -> Expr {
    expr(ExprKind::Call(function, arguments), ty)
}

fn case(branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let ty = otherwise.ty;
    expr(ExprKind::Case { branches, otherwise: Box::new(otherwise) }, ty)
}

fn ints(rows: &[Option<i32>]) -> Column {
    let values = rows.iter().map(|v| v.unwrap_or(0)).collect();
    let valid = Bitmap::from_fn(rows.len(), |i| rows[i].is_some());
    Column::plain(Vector::with_validity(VectorData::I32(values), Some(valid)))
}

fn words(rows: &[&str]) -> Vector {
    Vector::new(VectorData::Str(rows.iter().map(|r| r.as_bytes()).collect::<StrVector>()))
}

fn batch(columns: Vec<Column>) -> Batch {
    let rows = columns[0].len();
    Batch::new(columns, rows)
}

fn evaluate(expr: &Expr, batch: &Batch) -> Result<Vec<Value>> {
    let column = Evaluator::new(expr)?.evaluate(batch)?;
    assert_eq!(column.len(), batch.rows);
    assert_eq!(column.physical(), expr.physical);
    Ok((0..batch.rows).map(|i| column.value(i)).collect())
}

fn select(expr: &Expr, batch: &Batch) -> Result<Vec<u32>> {
    let mut positions = (0..batch.rows as u32).collect();
    Evaluator::new(expr)?.select(batch, &mut positions)?;
    Ok(positions)
}

fn i32s(values: &[i32]) -> Vec<Value> {
    values.iter().map(|&v| Value::I32(v)).collect()
}

fn divide(a: Expr, b: Expr) -> Expr {
    call(Function::Divide, vec![a, b], DataType::Integer)
}

/// `x <> 0 AND 12 / x > 2`, and its negation by De Morgan.
fn guarded() -> (Expr, Expr) {
    let quotient = || divide(lit(12), int(0));
    let guard = and(vec![
        compare(CompareOp::NotEqual, int(0), lit(0)),
        compare(CompareOp::Greater, quotient(), lit(2)),
    ]);
    let inverse = or(vec![
        compare(CompareOp::Equal, int(0), lit(0)),
        compare(CompareOp::LessEqual, quotient(), lit(2)),
    ]);
    (guard, inverse)
}

#[test]
fn guards_keep_later_operands_from_failing() {
    let rows = batch(vec![ints(&[Some(0), Some(3), None, Some(6), Some(-1)])]);
    let (guard, inverse) = guarded();
    assert_eq!(select(&guard, &rows), Ok(vec![1]));
    assert_eq!(select(&inverse, &rows), Ok(vec![0, 3, 4]));
    let truth = [Some(false), Some(true), None, Some(false), Some(false)];
    let expected: Vec<Value> = truth.iter().map(|v| v.map_or(Value::Null, Value::Bool)).collect();
    assert_eq!(evaluate(&guard, &rows), Ok(expected));
    let expected: Vec<Value> =
        truth.iter().map(|v| v.map_or(Value::Null, |v| Value::Bool(!v))).collect();
    assert_eq!(evaluate(&inverse, &rows), Ok(expected));
    let bare = compare(CompareOp::Greater, divide(lit(12), int(0)), lit(2));
    assert_eq!(select(&bare, &rows).map_err(|e| e.state()), Err(SqlState::DIVISION_BY_ZERO));
    let mut positions = vec![1, 3];
    let evaluator = Evaluator::new(&bare);
    assert!(evaluator.is_ok_and(|e| e.select(&rows, &mut positions).is_ok()));
    assert_eq!(positions, [1]);
}

#[test]
fn case_evaluates_branches_on_rows_that_reach_them() {
    let rows = batch(vec![ints(&[Some(0), Some(3), None, Some(12)])]);
    let branches = vec![
        (compare(CompareOp::Equal, int(0), lit(0)), lit(-1)),
        (compare(CompareOp::Greater, int(0), lit(5)), divide(lit(24), int(0))),
    ];
    let otherwise = divide(lit(6), int(0));
    let expected = vec![Value::I32(-1), Value::I32(2), Value::Null, Value::I32(2)];
    assert_eq!(evaluate(&case(branches, otherwise), &rows), Ok(expected));
    let simple = case(vec![(compare(CompareOp::Greater, int(0), lit(2)), int(0))], lit(7));
    assert_eq!(evaluate(&simple, &rows), Ok(i32s(&[7, 3, 7, 12])));
    let no_else =
        case(vec![(compare(CompareOp::Greater, int(0), lit(2)), lit(1))], null(DataType::Integer));
    let expected = vec![Value::Null, Value::I32(1), Value::Null, Value::I32(1)];
    assert_eq!(evaluate(&no_else, &rows), Ok(expected));
}

#[test]
fn coalesce_stops_at_the_first_value() {
    let rows = batch(vec![ints(&[Some(1), None, None]), ints(&[Some(0), Some(5), None])]);
    let last = divide(lit(10), int(1));
    let all = call(Function::Coalesce, vec![int(0), last, lit(9)], DataType::Integer);
    assert_eq!(evaluate(&all, &rows), Ok(i32s(&[1, 2, 9])));
    let two = call(Function::Coalesce, vec![int(0), int(1)], DataType::Integer);
    assert_eq!(evaluate(&two, &rows), Ok(vec![Value::I32(1), Value::I32(5), Value::Null]));
}

#[test]
fn extremes_and_nullif_ignore_and_make_nulls() {
    let rows = batch(vec![ints(&[Some(1), None, Some(7)]), ints(&[Some(2), Some(5), Some(7)])]);
    let both = || vec![int(0), int(1)];
    let greatest = call(Function::Greatest, both(), DataType::Integer);
    assert_eq!(evaluate(&greatest, &rows), Ok(i32s(&[2, 5, 7])));
    let least = call(Function::Least, both(), DataType::Integer);
    assert_eq!(evaluate(&least, &rows), Ok(i32s(&[1, 5, 7])));
    let null_if = call(Function::NullIf, both(), DataType::Integer);
    assert_eq!(evaluate(&null_if, &rows), Ok(vec![Value::I32(1), Value::Null, Value::Null]));
}

/// The same rows as a dictionary column and plain.
fn both_forms(entries: &[&str], rows: usize) -> (Batch, Batch) {
    let codes: Vec<u32> = (0..rows as u32).map(|i| i * 7 % entries.len() as u32).collect();
    let dictionary = Column::Dictionary(Arc::new(codes), Arc::new(words(entries)));
    let plain = Column::Plain(dictionary.to_plain());
    (batch(vec![dictionary]), batch(vec![plain]))
}

#[test]
fn dictionaries_give_what_rows_give() {
    let (coded, plain) = both_forms(&["AIR", "MAIL", "SHIP", "TRUCK"], 100);
    let name = || column(0, DataType::Text);
    let members = expr(
        ExprKind::InList(Box::new(name()), vec![text("MAIL"), text("SHIP")]),
        DataType::Boolean,
    );
    let equal = compare(CompareOp::Equal, name(), text("AIR"));
    let either = or(vec![equal.clone(), members.clone()]);
    for predicate in [&members, &equal, &either] {
        assert_eq!(select(predicate, &coded), select(predicate, &plain));
        assert_eq!(evaluate(predicate, &coded), evaluate(predicate, &plain));
        let column = Evaluator::new(predicate).and_then(|e| e.evaluate(&coded));
        assert!(matches!(column, Ok(Column::Dictionary(..))));
    }
    let flag = case(vec![(either, lit(1))], lit(0));
    assert_eq!(evaluate(&flag, &coded), evaluate(&flag, &plain));
    let evaluator = Evaluator::new(&members);
    let Ok(evaluator) = evaluator else { panic!("compiles") };
    let first = evaluator.evaluate(&coded);
    let second = evaluator.evaluate(&coded);
    match (first, second) {
        (Ok(Column::Dictionary(_, a)), Ok(Column::Dictionary(_, b))) => {
            assert!(Arc::ptr_eq(&a, &b))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_dictionary_entry_that_no_row_has_does_not_fail() {
    let entries = Vector::new(VectorData::I32(vec![0, 3, 4]));
    let codes = Arc::new(vec![1, 2, 1, 2]);
    let rows = batch(vec![Column::Dictionary(codes, Arc::new(entries))]);
    assert_eq!(evaluate(&divide(lit(12), int(0)), &rows), Ok(i32s(&[4, 3, 4, 3])));
}

#[test]
fn in_lists_follow_sql() {
    let rows = batch(vec![ints(&[Some(1), Some(2), None])]);
    let in_list = |list| expr(ExprKind::InList(Box::new(int(0)), list), DataType::Boolean);
    let few = in_list(vec![lit(1), lit(5)]);
    let expected = vec![Value::Bool(true), Value::Bool(false), Value::Null];
    assert_eq!(evaluate(&few, &rows), Ok(expected.clone()));
    let many = in_list((3..40).map(lit).chain([lit(1)]).collect());
    assert_eq!(evaluate(&many, &rows), Ok(expected));
    let with_null = in_list(vec![lit(1), null(DataType::Integer)]);
    assert_eq!(evaluate(&with_null, &rows), Ok(vec![Value::Bool(true), Value::Null, Value::Null]));
    let of_columns = in_list(vec![int(0), lit(9)]);
    assert_eq!(select(&of_columns, &rows), Ok(vec![0, 1]));
}

#[test]
fn constants_fold_and_errors_wait_for_rows() {
    let sum = call(Function::Add, vec![lit(2), lit(3)], DataType::Integer);
    assert_eq!(fold_constant(&sum), Ok(Value::I32(5)));
    let bad = divide(lit(1), lit(0));
    assert_eq!(fold_constant(&bad).map_err(|e| e.state()), Err(SqlState::DIVISION_BY_ZERO));
    let never =
        and(vec![compare(CompareOp::Less, int(0), lit(0)), compare(CompareOp::Equal, bad, lit(1))]);
    let rows = batch(vec![ints(&[Some(1), Some(2)])]);
    assert_eq!(select(&never, &rows), Ok(Vec::new()));
    assert_eq!(evaluate(&never, &rows), Ok(vec![Value::Bool(false); 2]));
    let parameter = expr(ExprKind::Parameter(0), DataType::Integer);
    assert!(Evaluator::new(&parameter).is_err());
}

#[test]
fn numeric_products_stay_exact_in_64_bits() {
    let price_type = DataType::numeric(15, 2);
    let price = || column(0, price_type);
    let one = expr(ExprKind::Literal(Value::I64(1)), DataType::numeric(1, 0));
    let left = call(Function::Subtract, vec![one, column(1, price_type)], DataType::numeric(16, 2));
    let product = Expr {
        physical: PhysicalType::I64,
        ..call(Function::Multiply, vec![price(), left], DataType::numeric(31, 4))
    };
    let rows = batch(vec![
        VectorData::I64(vec![12_345_678, -5]).into(),
        VectorData::I64(vec![4, 10]).into(),
    ]);
    let expected = vec![Value::I64(12_345_678 * 96), Value::I64(-5 * 90)];
    assert_eq!(evaluate(&product, &rows), Ok(expected));
}

#[test]
fn selections_of_selections_agree_with_rows() {
    let rows: Vec<Option<i32>> =
        (0..BATCH_ROWS as i32).map(|i| (i % 11 != 0).then_some(i * 37 % 1000)).collect();
    let input = batch(vec![ints(&rows), VectorData::I32((0..BATCH_ROWS as i32).collect()).into()]);
    let low = compare(CompareOp::GreaterEqual, int(0), lit(100));
    let high = compare(CompareOp::Less, int(0), lit(400));
    let unequal = compare(CompareOp::NotEqual, int(0), lit(137));
    let odd = compare(
        CompareOp::Equal,
        call(Function::Modulo, vec![int(1), lit(2)], DataType::Integer),
        lit(1),
    );
    let flipped = compare(CompareOp::Greater, lit(1500), int(1));
    let all = and(vec![low, high, unequal, odd, flipped]);
    let expected: Vec<u32> = (0..BATCH_ROWS as u32)
        .filter(|&i| {
            rows[i as usize].is_some_and(|v| (100..400).contains(&v) && v != 137)
                && i % 2 == 1
                && i < 1500
        })
        .collect();
    assert_eq!(select(&all, &input), Ok(expected.clone()));
    let values = evaluate(&all, &input).unwrap_or_default();
    let positions = |values: &[Value]| {
        (0..values.len() as u32).filter(|&i| values[i as usize] == Value::Bool(true)).collect()
    };
    let by_value: Vec<u32> = positions(&values);
    assert_eq!(by_value, expected);
    let never = compare(CompareOp::Less, int(1), lit(i32::MIN));
    assert_eq!(select(&never, &input), Ok(Vec::new()));
    let unknown = compare(CompareOp::Equal, int(1), null(DataType::Integer));
    assert_eq!(select(&unknown, &input), Ok(Vec::new()));
}

#[test]
fn constant_columns_and_empty_batches() {
    let five = Arc::new(Vector::new(VectorData::I32(vec![5])));
    let input = Batch::new(vec![Column::Constant(five, 3)], 3);
    let sum = call(Function::Add, vec![int(0), lit(1)], DataType::Integer);
    assert_eq!(evaluate(&sum, &input), Ok(i32s(&[6, 6, 6])));
    assert_eq!(select(&compare(CompareOp::Equal, int(0), lit(5)), &input), Ok(vec![0, 1, 2]));
    let empty = Batch::new(vec![ints(&[])], 0);
    assert_eq!(evaluate(&divide(lit(1), lit(0)), &empty), Ok(Vec::new()));
    assert_eq!(evaluate(&sum, &empty), Ok(Vec::new()));
}

#[test]
fn random_differs_by_row_and_is_not_folded() {
    let random = call(Function::Random, Vec::new(), DataType::Double);
    let input = Batch::new(Vec::new(), 100);
    let column = Evaluator::new(&random).and_then(|e| e.evaluate(&input));
    assert!(column.is_ok_and(|c| matches!(c, Column::Plain(_)) && c.len() == 100));
}

#[test]
fn like_with_a_column_pattern_compiles() {
    let like = expr(
        ExprKind::Like {
            operand: Box::new(column(0, DataType::Text)),
            pattern: Box::new(text("%IL%")),
            escape: Some('\\'),
            case: LikeCase::Sensitive,
        },
        DataType::Boolean,
    );
    let (coded, plain) = both_forms(&["AIR", "MAIL"], 10);
    assert_eq!(select(&like, &coded), select(&like, &plain));
}
