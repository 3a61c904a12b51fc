//! Rows in their row form, of those at some positions: words before the texts, one after the other
//! in straight lines, with all places as constants.
//!
//! Source: Pilman 2017, section 4.5.2. Departure: of the fields that a query wants, for many rows.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use store::FieldType;
use store::code::Form;

use super::source::{Source, Spot};
use super::{Emitter, flags};
use crate::call::Argument;
use crate::shape::Copied;

pub(super) fn emit(e: &mut Emitter<'_>, form: Form, stride: usize, fields: &[Copied]) {
    let [count, wanted, out] =
        [Argument::Count, Argument::Wanted, Argument::Out].map(|argument| e.argument(argument));
    let sources = e.sources(form, fields.len());
    e.repeat(count, &[out], |e, idx, out| {
        let place = e.element(wanted, idx, 4);
        let position = e.b.ins().uload32(flags(), place, 0);
        let spot = e.spot(&sources, position);
        let mut words: Vec<Option<Value>> = vec![None; stride];
        for (copied, source) in fields.iter().zip(&sources) {
            e.copy(copied, *source, spot, &mut words);
        }
        for (number, word) in words.into_iter().enumerate() {
            let word = word.unwrap_or_else(|| e.int(0));
            e.store(word, out[0], (number * 8) as i32);
        }
        let bytes = e.int((stride * 8) as i64);
        vec![e.add(out[0], bytes)]
    });
}

impl Emitter<'_> {
    /// Adds a field to the words of its row.
    fn copy(&mut self, copied: &Copied, source: Source, spot: Spot, words: &mut [Option<Value>]) {
        let Copied { field, target } = copied;
        let present = self.present(source, spot, field);
        if let (Some(present), Some(bit)) = (present, target.null_bit) {
            let one = self.b.ins().iconst(types::I64, 1);
            let null = self.b.ins().bxor(present, one);
            self.put(null, bit as usize / 64, bit % 64, words);
        }
        if field.field_type == FieldType::Bytes {
            return;
        }
        let mut value = self.bits(source, spot, field);
        if let Some(present) = present {
            let all = self.b.ins().ineg(present);
            value = self.and(value, all);
        }
        self.put(value, target.at as usize, target.shift, words);
    }

    fn put(&mut self, bits: Value, at: usize, shift: u32, words: &mut [Option<Value>]) {
        let bits = self.left(bits, i64::from(shift));
        words[at] = Some(match words[at] {
            Some(word) => self.or(word, bits),
            None => bits,
        });
    }
}
