//! Aggregates: rows whose bit is set, one after the other, so that sums of floats are those of a
//! loop over rows.
//!
//! ```text
//! state of an item   count | first | second
//! sum                first + second * 2^32 of 64-bit integers; first alone of others
//! extreme            first: the best so far
//! ```

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use store::code::Form;
use store::{FieldType, Nulls};

use super::Emitter;
use super::source::{Source, Spot};
use crate::call::{Argument, STATE};
use crate::shape::{Growth, Item};

pub(super) fn emit(e: &mut Emitter<'_>, form: Form, items: &[Item]) {
    let [count, wanted, out] =
        [Argument::Count, Argument::Wanted, Argument::Out].map(|argument| e.argument(argument));
    let sources = e.sources(form, items.len());
    let mut states = Vec::new();
    for (number, item) in items.iter().enumerate() {
        for (word, kind) in kinds(item).into_iter().enumerate() {
            if let Some(kind) = kind {
                states.push(e.load(kind, out, ((number * STATE + word) * 8) as i32));
            }
        }
    }
    let states = e.repeat(count, &states, |e, number, states| {
        let place = e.element(wanted, number, 8);
        let word = e.load(types::I64, place, 0);
        let first = e.left(number, 6);
        e.each_bit(word, states, |e, bit, states| {
            let position = e.or(first, bit);
            let spot = e.spot(&sources, position);
            let mut rest = states.iter().copied();
            let mut next = Vec::new();
            for (item, source) in items.iter().zip(&sources) {
                let state = kinds(item).map(|kind| kind.and_then(|_| rest.next()));
                next.extend(e.grown(item, *source, spot, state).into_iter().flatten());
            }
            next
        })
    });
    let mut rest = states.into_iter();
    for (number, item) in items.iter().enumerate() {
        for (word, kind) in kinds(item).into_iter().enumerate() {
            if let Some(value) = kind.and_then(|_| rest.next()) {
                e.store(value, out, ((number * STATE + word) * 8) as i32);
            }
        }
    }
}

/// Words of an item's state that code keeps; the count of a field without NULLs is that of rows.
fn kinds(item: &Item) -> [Option<Type>; STATE] {
    let count = (item.field.nulls == Nulls::Allowed).then_some(types::I64);
    let (first, second) = match (item.growth, item.field.field_type) {
        (Growth::Count, _) => (None, None),
        (_, FieldType::F32 | FieldType::F64) => (Some(types::F64), None),
        (Growth::Sum, FieldType::I64) => (Some(types::I64), Some(types::I64)),
        _ => (Some(types::I64), None),
    };
    [count, first, second]
}

impl Emitter<'_> {
    /// The state with one more row.
    fn grown(
        &mut self,
        item: &Item,
        source: Source,
        spot: Spot,
        [count, first, second]: [Option<Value>; STATE],
    ) -> [Option<Value>; STATE] {
        let present = self.present(source, spot, &item.field);
        let count = count.zip(present).map(|(count, present)| self.add(count, present));
        let Some(state) = first else { return [count, None, None] };
        let value = self.value(source, spot, &item.field);
        let (first, second) = match (item.growth, item.field.field_type, second) {
            (Growth::Sum, FieldType::I64, Some(high)) => {
                let value = self.or_zero(value, present);
                let low_bits = self.int(0xffff_ffff);
                let low = self.and(value, low_bits);
                let by = self.int(32);
                let top = self.b.ins().sshr(value, by);
                (self.add(state, low), Some(self.add(high, top)))
            }
            (Growth::Sum, FieldType::I16 | FieldType::I32, _) => {
                let value = self.or_zero(value, present);
                (self.add(state, value), None)
            }
            (_, FieldType::F32 | FieldType::F64, _) => {
                let wide = match item.field.field_type {
                    FieldType::F32 => self.b.ins().fpromote(types::F64, value),
                    _ => value,
                };
                let next = match item.growth {
                    Growth::Sum => self.b.ins().fadd(state, wide),
                    growth => self.better_float(growth, state, wide),
                };
                (self.if_present(present, next, state), None)
            }
            (growth, ..) => {
                let next = match growth {
                    Growth::Min => self.b.ins().smin(state, value),
                    _ => self.b.ins().smax(state, value),
                };
                (self.if_present(present, next, state), None)
            }
        };
        [count, Some(first), second]
    }

    /// 0 in the place of what stands under a NULL.
    fn or_zero(&mut self, value: Value, present: Option<Value>) -> Value {
        let Some(present) = present else { return value };
        let all = self.b.ins().ineg(present);
        self.and(value, all)
    }

    fn if_present(&mut self, present: Option<Value>, next: Value, state: Value) -> Value {
        match present {
            Some(present) => self.b.ins().select(present, next, state),
            None => next,
        }
    }

    /// The better of two floats in SQL's order, the first one of equals; NaN is the largest.
    fn better_float(&mut self, growth: Growth, best: Value, value: Value) -> Value {
        let (low, high) = if growth == Growth::Min { (value, best) } else { (best, value) };
        let less = self.b.ins().fcmp(FloatCC::LessThan, low, high);
        let is_number = self.b.ins().fcmp(FloatCC::Ordered, low, low);
        let is_nan = self.b.ins().fcmp(FloatCC::Unordered, high, high);
        let below_nan = self.and(is_number, is_nan);
        let is_better = self.or(less, below_nan);
        self.b.ins().select(is_better, value, best)
    }
}
