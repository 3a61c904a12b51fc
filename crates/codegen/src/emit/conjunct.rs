//! Conjuncts: 16 rows at a time, a bit for each that satisfies one of the predicates.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    AbiParam, BlockArg, ConstantData, Endianness, InstBuilder, MemFlagsData, SigRef, Signature,
    Type, Value, types,
};
use store::code::{Form, Sense};
use store::{FieldType, Nulls};

use super::Emitter;
use super::source::{Source, Spot};
use crate::call::Argument;
use crate::shape::{Compare, LITERALS, Predicate, Range, Test};

/// Rows of a group.
const ROWS: usize = 16;

/// A predicate with all that stays the same for all rows.
struct Ready<'p> {
    predicate: &'p Predicate,
    source: Source,
    literals: [Value; LITERALS],
}

pub(super) fn emit(e: &mut Emitter<'_>, form: Form, predicates: &[Predicate]) {
    let [count, wanted, out] =
        [Argument::Count, Argument::Wanted, Argument::Out].map(|argument| e.argument(argument));
    let sources = e.sources(form, predicates.len());
    let ready: Vec<Ready<'_>> = predicates
        .iter()
        .zip(&sources)
        .enumerate()
        .map(|(number, (predicate, source))| Ready {
            predicate,
            source: *source,
            literals: e.literals(form, predicate, number),
        })
        .collect();
    let (plain, asked): (Vec<_>, Vec<_>) =
        ready.iter().enumerate().partition(|(_, r)| r.predicate.test != Test::Bytes);
    let question = (!asked.is_empty()).then(|| e.question());
    e.repeat(count, &[], |e, group, _| {
        let bytes = e.left(group, 1);
        let place = e.add(wanted, bytes);
        let wanted = e.load_zeros_above(2, place, 0);
        let mut found = match form {
            Form::Columns => e.columns(group, &plain),
            Form::Rows => e.rows(group, &sources, &plain),
        };
        for (number, ready) in &asked {
            found = e.ask(question, *number, ready, [group, wanted, found]);
        }
        found = e.and(found, wanted);
        let place = e.add(out, bytes);
        let narrow = e.b.ins().ireduce(types::I16, found);
        e.store(narrow, place, 0);
        Vec::new()
    });
}

impl Emitter<'_> {
    /// The literals of a predicate: repeated in all lanes for columns, one value for rows.
    fn literals(&mut self, form: Form, predicate: &Predicate, number: usize) -> [Value; LITERALS] {
        let literals = self.argument(Argument::Literals);
        let mut word = 0;
        [(); LITERALS].map(|()| {
            let offset = ((number * LITERALS + word) * 8) as i32;
            word += 1;
            let scalar = match (form, predicate.field.field_type) {
                (Form::Columns, FieldType::I16) => types::I16,
                (Form::Columns, FieldType::I32) => types::I32,
                (_, FieldType::F32) => types::F32,
                (_, FieldType::F64) => types::F64,
                _ => types::I64,
            };
            let literal = self.load(scalar, literals, offset);
            match form {
                Form::Columns => self.b.ins().splat(lanes_of(scalar), literal),
                Form::Rows => literal,
            }
        })
    }

    /// Answers for a group of columns.
    fn columns(&mut self, group: Value, ready: &[(usize, &Ready<'_>)]) -> Value {
        let mut found = self.int(0);
        for (_, ready) in ready {
            let Source::Column { values, .. } = ready.source else { continue };
            let present = self.present_group(group, ready);
            let ones = self.int(0xffff);
            let answers = match (ready.predicate.test, present) {
                (Test::Null, Some(present)) => self.b.ins().bxor(present, ones),
                (Test::Null | Test::Present | Test::Bytes, present) => present.unwrap_or(ones),
                (_, present) => {
                    let answers = self.lanes(values, group, ready);
                    present.map_or(answers, |present| self.and(answers, present))
                }
            };
            found = self.or(found, answers);
        }
        found
    }

    /// Bits of a group that are 1 where the column is not NULL; `None` when it never is.
    fn present_group(&mut self, group: Value, ready: &Ready<'_>) -> Option<Value> {
        let Source::Column { validity, mask, .. } = ready.source else { return None };
        if ready.predicate.field.nulls == Nulls::Never {
            return None;
        }
        let bytes = self.left(group, 1);
        let bytes = self.and(bytes, mask);
        let address = self.add(validity, bytes);
        Some(self.load_zeros_above(2, address, 0))
    }

    /// Answers of a test of values for a group of a column, whatever is NULL.
    fn lanes(&mut self, values: Value, group: Value, ready: &Ready<'_>) -> Value {
        let field_type = ready.predicate.field.field_type;
        let kind = lanes_of(match field_type {
            FieldType::I16 => types::I16,
            FieldType::I32 => types::I32,
            FieldType::F32 => types::F32,
            FieldType::F64 => types::F64,
            FieldType::I64 | FieldType::Bytes => types::I64,
        });
        let width = field_type.width().max(2);
        let first = self.element(values, group, width * ROWS);
        let masks: Vec<Value> = (0..width)
            .map(|part| {
                let value = self.load(kind, first, (part * 16) as i32);
                self.judged(value, ready)
            })
            .collect();
        let packed = self.packed(masks, kind.lane_bits());
        let bits = self.b.ins().vhigh_bits(types::I32, packed);
        self.b.ins().uextend(types::I64, bits)
    }

    /// Lanes of all bits as 16 lanes of 8 bits.
    fn packed(&mut self, mut masks: Vec<Value>, mut bits: u32) -> Value {
        while bits > 8 {
            let pairs = masks.chunks_exact(2).map(|pair| match bits {
                64 => self.halved(pair[0], pair[1]),
                _ => self.b.ins().snarrow(pair[0], pair[1]),
            });
            masks = pairs.collect();
            bits /= 2;
        }
        masks[0]
    }

    /// The low halves of the lanes of two vectors of 64-bit lanes.
    fn halved(&mut self, a: Value, b: Value) -> Value {
        let order: [u8; 16] = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
        let order = self.b.func.dfg.immediates.push(ConstantData::from(&order[..]));
        let cast = MemFlagsData::new().with_endianness(Endianness::Little);
        let [a, b] = [a, b].map(|v| self.b.ins().bitcast(types::I8X16, cast, v));
        let mixed = self.b.ins().shuffle(a, b, order);
        self.b.ins().bitcast(types::I32X4, cast, mixed)
    }

    /// A test of a value or of lanes of values: bits are all ones, or 1, where it holds.
    fn judged(&mut self, value: Value, ready: &Ready<'_>) -> Value {
        let [first, second] = ready.literals;
        match ready.predicate.test {
            Test::Integer(range, sense) => {
                let plain = sense == Sense::Plain;
                let pick = |yes, no| if plain { yes } else { no };
                let above = pick(IntCC::SignedGreaterThanOrEqual, IntCC::SignedLessThan);
                let below = pick(IntCC::SignedLessThanOrEqual, IntCC::SignedGreaterThan);
                match range {
                    Range::Single => {
                        self.b.ins().icmp(pick(IntCC::Equal, IntCC::NotEqual), value, first)
                    }
                    Range::Low => self.b.ins().icmp(above, value, first),
                    Range::High => self.b.ins().icmp(below, value, second),
                    Range::Both => {
                        let low = self.b.ins().icmp(above, value, first);
                        let high = self.b.ins().icmp(below, value, second);
                        if plain { self.and(low, high) } else { self.or(low, high) }
                    }
                }
            }
            Test::Float(compare, sense) => {
                let code = match compare {
                    Compare::Equal => FloatCC::Equal,
                    Compare::Less => FloatCC::LessThan,
                    Compare::LessEqual => FloatCC::LessThanOrEqual,
                };
                let holds = self.b.ins().fcmp(code, value, first);
                self.sensed(holds, sense)
            }
            Test::NotANumber(sense) => {
                let holds = self.b.ins().fcmp(FloatCC::Unordered, value, value);
                self.sensed(holds, sense)
            }
            Test::Present | Test::Null | Test::Bytes => value,
        }
    }

    fn sensed(&mut self, holds: Value, sense: Sense) -> Value {
        if sense == Sense::Plain {
            return holds;
        }
        let kind = self.b.func.dfg.value_type(holds);
        if kind.is_vector() {
            return self.b.ins().bnot(holds);
        }
        let one = self.b.ins().iconst(kind, 1);
        self.b.ins().bxor(holds, one)
    }

    /// Answers for a group of rows.
    fn rows(&mut self, group: Value, sources: &[Source], ready: &[(usize, &Ready<'_>)]) -> Value {
        let zero = self.int(0);
        if ready.is_empty() {
            return zero;
        }
        let first = self.left(group, 4);
        let count = self.int(ROWS as i64);
        let found = self.repeat(count, &[zero], |e, row, found| {
            let position = e.add(first, row);
            let spot = e.spot(sources, position);
            let mut any = e.int(0);
            for (_, ready) in ready {
                let answer = e.row(spot, ready);
                any = e.or(any, answer);
            }
            let bit = e.b.ins().ishl(any, row);
            vec![e.or(found[0], bit)]
        });
        found[0]
    }

    /// 1 when a row satisfies the predicate.
    fn row(&mut self, spot: Spot, ready: &Ready<'_>) -> Value {
        let field = &ready.predicate.field;
        let present = self.present(ready.source, spot, field);
        let one = self.int(1);
        match (ready.predicate.test, present) {
            (Test::Null, Some(present)) => self.b.ins().bxor(present, one),
            (Test::Null | Test::Present | Test::Bytes, present) => present.unwrap_or(one),
            (_, present) => {
                let value = self.value(ready.source, spot, field);
                let holds = self.judged(value, ready);
                let holds = self.b.ins().uextend(types::I64, holds);
                present.map_or(holds, |present| self.and(holds, present))
            }
        }
    }

    /// The signature of the function that looks at bytes.
    fn question(&mut self) -> SigRef {
        let mut signature = Signature::new(self.b.func.signature.call_conv);
        signature.params = vec![AbiParam::new(types::I64); 4];
        signature.returns = vec![AbiParam::new(types::I64)];
        self.b.import_signature(signature)
    }

    /// Asks for the rows of a group that are wanted and not yet found: `[group, wanted, found]`.
    fn ask(
        &mut self,
        question: Option<SigRef>,
        number: usize,
        ready: &Ready<'_>,
        [group, wanted, found]: [Value; 3],
    ) -> Value {
        let Some(question) = question else { return found };
        let rest = self.b.ins().band_not(wanted, found);
        let [inside, behind] = [(); 2].map(|()| self.b.create_block());
        let known = self.b.append_block_param(behind, types::I64);
        self.b.ins().brif(rest, inside, &[], behind, &[BlockArg::Value(found)]);
        self.b.switch_to_block(inside);
        self.b.seal_block(inside);
        let function = self.argument(Argument::Question);
        let context = self.argument(Argument::Context);
        let number = self.int(number as i64);
        let arguments = [context, number, group, rest];
        let call = self.b.ins().call_indirect(question, function, &arguments);
        let answers = self.b.inst_results(call)[0];
        let answers = match self.present_group(group, ready) {
            Some(present) => self.and(answers, present),
            None => answers,
        };
        let found = self.or(found, answers);
        self.b.ins().jump(behind, &[BlockArg::Value(found)]);
        self.b.switch_to_block(behind);
        self.b.seal_block(behind);
        known
    }
}

/// The vector of 128 bits of such lanes.
fn lanes_of(lane: Type) -> Type {
    match lane {
        types::I16 => types::I16X8,
        types::I32 => types::I32X4,
        types::F32 => types::F32X4,
        types::F64 => types::F64X2,
        _ => types::I64X2,
    }
}
