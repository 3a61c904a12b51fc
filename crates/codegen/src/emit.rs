//! Shapes as functions in cranelift's intermediate language.
//!
//! ```text
//! function(call)      call: a `Call`, all of whose words it may read
//! columns             slots: values | bits that are 1 for values | mask of bytes, by field
//! rows                slots: where rows begin | their words
//! ```
//! Bits of validity stand at `address + (bytes & mask)`: a page without NULLs has one word of ones,
//! and a mask of zeros. Code for columns reads 16 rows at once with vectors of 128 bits, code for
//! rows goes from row to row.
//! Elsewhere: who calls it with which memory (`page`); all that it reads and writes is said there.

pub(crate) mod source;
mod conjunct;
mod fold;
mod gather;
#[cfg(test)]
mod tests;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, Function, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::call::Argument;
use crate::shape::Shape;

/// A function that is being made.
pub(crate) struct Emitter<'a> {
    b: FunctionBuilder<'a>,
    call: Value,
}

/// Writes the body of a function that takes the address of a call.
pub(crate) fn emit(
    shape: &Shape,
    target: TargetFrontendConfig,
    function: &mut Function,
    memory: &mut FunctionBuilderContext,
) {
    let mut b = FunctionBuilder::new(function, memory);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    b.seal_block(entry);
    let call = b.block_params(entry)[0];
    let mut emitter = Emitter { b, call };
    match shape {
        Shape::Conjunct(form, predicates) => conjunct::emit(&mut emitter, *form, predicates),
        Shape::Fold(form, items) => fold::emit(&mut emitter, *form, items),
        Shape::Gather(form, stride, fields) => {
            gather::emit(&mut emitter, *form, *stride, fields);
        }
    }
    emitter.b.ins().return_(&[]);
    emitter.b.finalize(target);
}

/// Accesses that need no alignment and do not trap.
fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Emitter<'_> {
    /// A word of the call.
    fn argument(&mut self, argument: Argument) -> Value {
        self.load(types::I64, self.call, argument.offset())
    }

    fn load(&mut self, ty: Type, address: Value, offset: i32) -> Value {
        self.b.ins().load(ty, flags(), address, offset)
    }

    fn store(&mut self, value: Value, address: Value, offset: i32) {
        self.b.ins().store(flags(), value, address, offset);
    }

    fn int(&mut self, value: i64) -> Value {
        self.b.ins().iconst(types::I64, value)
    }

    fn add(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().iadd(a, b)
    }

    fn and(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().band(a, b)
    }

    fn or(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().bor(a, b)
    }

    fn left(&mut self, value: Value, bits: i64) -> Value {
        let bits = self.int(bits);
        self.b.ins().ishl(value, bits)
    }

    fn right(&mut self, value: Value, bits: i64) -> Value {
        let bits = self.int(bits);
        self.b.ins().ushr(value, bits)
    }

    /// The address of element `idx` of so many bytes, a power of two.
    fn element(&mut self, address: Value, idx: Value, bytes: usize) -> Value {
        let offset = self.left(idx, i64::from(bytes.trailing_zeros()));
        self.add(address, offset)
    }

    /// An integer of `bytes` bytes, zeros above.
    fn load_zeros_above(&mut self, bytes: usize, address: Value, offset: i32) -> Value {
        match bytes {
            1 => self.b.ins().uload8(types::I64, flags(), address, offset),
            2 => self.b.ins().uload16(types::I64, flags(), address, offset),
            4 => self.b.ins().uload32(flags(), address, offset),
            _ => self.load(types::I64, address, offset),
        }
    }

    /// A signed integer of `bytes` bytes.
    fn load_signed(&mut self, bytes: usize, address: Value, offset: i32) -> Value {
        match bytes {
            2 => self.b.ins().sload16(types::I64, flags(), address, offset),
            4 => self.b.ins().sload32(flags(), address, offset),
            _ => self.load(types::I64, address, offset),
        }
    }

    /// Runs `body` for 0 up to `count`, with values that it carries from one to the next; returns
    /// the last ones.
    fn repeat(
        &mut self,
        count: Value,
        carried: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let zero = self.int(0);
        let is_left = |e: &mut Self, idx| e.b.ins().icmp(IntCC::UnsignedLessThan, idx, count);
        self.again(zero, carried, is_left, |e, idx, carried| {
            let next = body(e, idx, carried);
            let one = e.int(1);
            (e.add(idx, one), next)
        })
    }

    /// Runs `body` for each bit of `word` that is set, from the lowest on.
    fn each_bit(
        &mut self,
        word: Value,
        carried: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let is_left = |e: &mut Self, word| {
            let zero = e.int(0);
            e.b.ins().icmp(IntCC::NotEqual, word, zero)
        };
        self.again(word, carried, is_left, |e, word, carried| {
            let bit = e.b.ins().ctz(word);
            let next = body(e, bit, carried);
            let less = e.int(-1);
            let below = e.add(word, less);
            (e.and(word, below), next)
        })
    }

    /// A loop on a state: `body` gives the next one.
    fn again(
        &mut self,
        first: Value,
        carried: &[Value],
        is_left: impl FnOnce(&mut Self, Value) -> Value,
        body: impl FnOnce(&mut Self, Value, &[Value]) -> (Value, Vec<Value>),
    ) -> Vec<Value> {
        let [head, inside, behind] = [(); 3].map(|()| self.b.create_block());
        let state = self.b.append_block_param(head, types::I64);
        let kinds = carried.iter().map(|value| self.b.func.dfg.value_type(*value));
        let kinds: Vec<Type> = kinds.collect();
        let held: Vec<Value> =
            kinds.into_iter().map(|kind| self.b.append_block_param(head, kind)).collect();
        self.jump(head, first, carried);
        self.b.switch_to_block(head);
        let more = is_left(self, state);
        self.b.ins().brif(more, inside, &[], behind, &[]);
        self.b.switch_to_block(inside);
        self.b.seal_block(inside);
        let (next, carried) = body(self, state, &held);
        self.jump(head, next, &carried);
        self.b.seal_block(head);
        self.b.switch_to_block(behind);
        self.b.seal_block(behind);
        held
    }

    fn jump(&mut self, target: cranelift_codegen::ir::Block, first: Value, rest: &[Value]) {
        let all = std::iter::once(&first).chain(rest);
        let all: Vec<BlockArg> = all.map(|value| BlockArg::Value(*value)).collect();
        self.b.ins().jump(target, &all);
    }
}
