//! Every kind of code is made for both processors.

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::{Context, ir};
use cranelift_frontend::FunctionBuilderContext;
use store::code::{Form, Sense};
use store::{FieldType, Nulls, Place};

use super::emit;
use crate::machine;
use crate::shape::{Compare, Copied, FieldShape, Growth, Item, Predicate, Range, Shape, Test};

const FIXED: [FieldType; 5] =
    [FieldType::I16, FieldType::I32, FieldType::I64, FieldType::F32, FieldType::F64];

fn is_float(field_type: FieldType) -> bool {
    matches!(field_type, FieldType::F32 | FieldType::F64)
}

fn tests_of(field_type: FieldType) -> Vec<Test> {
    let senses = [Sense::Plain, Sense::Inverse];
    let mut tests = vec![Test::Present, Test::Null, Test::Bytes];
    if field_type == FieldType::Bytes {
        return tests;
    }
    for sense in senses {
        if is_float(field_type) {
            let compares = [Compare::Equal, Compare::Less, Compare::LessEqual];
            tests.extend(compares.map(|compare| Test::Float(compare, sense)));
            tests.push(Test::NotANumber(sense));
        } else {
            let ranges = [Range::Low, Range::High, Range::Both, Range::Single];
            tests.extend(ranges.map(|range| Test::Integer(range, sense)));
        }
    }
    tests
}

/// Shapes of each test, aggregate and field, alone and together.
fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for form in [Form::Columns, Form::Rows] {
        let (mut predicates, mut items, mut copied) = (Vec::new(), Vec::new(), Vec::new());
        for (i, field_type) in FIXED.into_iter().chain([FieldType::Bytes]).enumerate() {
            for nulls in [Nulls::Never, Nulls::Allowed] {
                let null_bit = (nulls == Nulls::Allowed).then_some(i as u32 + 9);
                let place = Place { null_bit, at: i as u32 + 1, shift: 0 };
                let field = FieldShape { field_type, nulls, place };
                let tests = tests_of(field_type).into_iter();
                predicates.extend(tests.map(|test| Predicate { field, test }));
                copied.push(Copied { field, target: place });
                items.push(Item { field, growth: Growth::Count });
                if field_type != FieldType::Bytes {
                    let growths = [Growth::Sum, Growth::Min, Growth::Max];
                    items.extend(growths.map(|growth| Item { field, growth }));
                }
            }
        }
        shapes.extend(predicates.iter().map(|p| Shape::Conjunct(form, vec![*p])));
        shapes.extend(items.iter().map(|item| Shape::Fold(form, vec![*item])));
        shapes.push(Shape::Conjunct(form, predicates));
        shapes.push(Shape::Fold(form, items));
        shapes.push(Shape::Gather(form, 8, copied));
        shapes.push(Shape::Conjunct(form, Vec::new()));
        shapes.push(Shape::Fold(form, Vec::new()));
        shapes.push(Shape::Gather(form, 0, Vec::new()));
    }
    shapes
}

fn is_made(isa: &OwnedTargetIsa, shape: &Shape) {
    let mut context = Context::new();
    let mut signature = ir::Signature::new(isa.default_call_conv());
    signature.params.push(AbiParam::new(types::I64));
    context.func.signature = signature;
    let mut memory = FunctionBuilderContext::new();
    emit(shape, isa.frontend_config(), &mut context.func, &mut memory);
    let outcome = context.compile(&**isa, &mut ControlPlane::default());
    let code = outcome.unwrap_or_else(|error| panic!("{shape:?}: {:?}", error.inner));
    assert!(!code.code_buffer().is_empty());
}

#[test]
fn code_is_made_for_this_processor() {
    let isa = machine::processor().expect("there is code for this processor");
    shapes().iter().for_each(|shape| is_made(&isa, shape));
}

#[test]
fn code_is_made_for_arm() {
    let builder = isa::lookup_by_name("aarch64-unknown-linux-gnu").expect("is built in");
    let isa = builder.finish(machine::flags().expect("are known")).expect("is complete");
    shapes().iter().for_each(|shape| is_made(&isa, shape));
}
