//! Where code finds the fields of a row.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use store::code::Form;
use store::{FieldType, Nulls};

use super::{Emitter, flags};
use crate::call::Argument;
use crate::shape::FieldShape;

/// Words of a field in the slots of columns.
pub(crate) const SLOTS: usize = 3;

/// Addresses that do not change during a call.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Column { values: Value, validity: Value, mask: Value },
    Rows { starts: Value, words: Value },
}

/// One row.
#[derive(Clone, Copy)]
pub(super) enum Spot {
    /// Its number.
    Position(Value),
    /// Where its words begin.
    Words(Value),
}

impl Emitter<'_> {
    /// The sources of fields, in order.
    pub(super) fn sources(&mut self, form: Form, fields: usize) -> Vec<Source> {
        let slots = self.argument(Argument::Slots);
        if form == Form::Rows {
            let starts = self.load(types::I64, slots, 0);
            let words = self.load(types::I64, slots, 8);
            return vec![Source::Rows { starts, words }; fields];
        }
        let column = |e: &mut Self, number: usize| {
            let mut word = |i: usize| e.load(types::I64, slots, ((number * SLOTS + i) * 8) as i32);
            Source::Column { values: word(0), validity: word(1), mask: word(2) }
        };
        (0..fields).map(|number| column(self, number)).collect()
    }

    /// Where the row at a position is: the same for all sources of a call.
    pub(super) fn spot(&mut self, sources: &[Source], position: Value) -> Spot {
        match sources.first() {
            Some(Source::Rows { starts, words }) => {
                let place = self.element(*starts, position, 4);
                let start = self.b.ins().uload32(flags(), place, 0);
                Spot::Words(self.element(*words, start, 8))
            }
            _ => Spot::Position(position),
        }
    }

    /// Address and offset of a field of fixed width.
    fn address(&mut self, source: Source, spot: Spot, field: &FieldShape) -> (Value, i32) {
        match (source, spot) {
            (Source::Column { values, .. }, Spot::Position(position)) => {
                (self.element(values, position, field.field_type.width()), 0)
            }
            (_, Spot::Words(words)) => (words, (field.place.at * 8 + field.place.shift / 8) as i32),
            (Source::Rows { words, .. }, Spot::Position(_)) => (words, 0),
        }
    }

    /// The bits of a field of fixed width, zeros above.
    pub(super) fn bits(&mut self, source: Source, spot: Spot, field: &FieldShape) -> Value {
        let (address, offset) = self.address(source, spot, field);
        self.load_zeros_above(field.field_type.width(), address, offset)
    }

    /// An integer as one of 64 bits, a float as it is.
    pub(super) fn value(&mut self, source: Source, spot: Spot, field: &FieldShape) -> Value {
        let (address, offset) = self.address(source, spot, field);
        match field.field_type {
            FieldType::F32 => self.load(types::F32, address, offset),
            FieldType::F64 => self.load(types::F64, address, offset),
            _ => self.load_signed(field.field_type.width(), address, offset),
        }
    }

    /// A word that is 1 when the field is not NULL, else 0; `None` when it never is.
    pub(super) fn present(
        &mut self,
        source: Source,
        spot: Spot,
        field: &FieldShape,
    ) -> Option<Value> {
        if field.nulls == Nulls::Never {
            return None;
        }
        let one = self.int(1);
        Some(match (source, spot) {
            (Source::Column { validity, mask, .. }, Spot::Position(position)) => {
                let word = self.right(position, 6);
                let bytes = self.left(word, 3);
                let bytes = self.and(bytes, mask);
                let address = self.add(validity, bytes);
                let word = self.load(types::I64, address, 0);
                // A shift counts modulo 64.
                let bit = self.b.ins().ushr(word, position);
                self.and(bit, one)
            }
            (_, Spot::Words(words)) => {
                let bit = field.place.null_bit.unwrap_or(0);
                let byte = self.load_zeros_above(1, words, (bit / 8) as i32);
                let bit = self.right(byte, i64::from(bit % 8));
                let null = self.and(bit, one);
                self.b.ins().bxor(null, one)
            }
            (Source::Rows { .. }, Spot::Position(_)) => one,
        })
    }
}
