//! Functions on wide decimals, and keys of values that are not compared as they are held.

use kernels::{Vector, collate, wide};
use sql::algebra::Function;
use types::wide::Wide;
use types::{DataType, Result};

use super::{FALLIBLE, Kernel, Signature, TOTAL, Traits};

/// The kernel of a function on wide decimals; None when `function` is another, or its first
/// argument.
pub(super) fn kernel(
    function: Function,
    signature: &Signature,
) -> Result<Option<(Kernel, Traits)>> {
    if function == Function::Factorial {
        return Ok(Some((Box::new(|a: &[&Vector], _| wide::factorial(a[0])), FALLIBLE)));
    }
    let Some(first) = signature.arguments.first().map(|argument| argument.ty) else {
        return Ok(None);
    };
    if function == Function::NumericKey {
        return Ok(Some((Box::new(move |a: &[&Vector], _| wide::key(a[0], first)), TOTAL)));
    }
    if let Function::CollationKey(collation) = function {
        let keys = move |a: &[&Vector], _| collate::keys(a[0], first, collation);
        return Ok(Some((Box::new(keys), FALLIBLE)));
    }
    if function == Function::KeyedText {
        return Ok(Some((Box::new(|a: &[&Vector], _| collate::texts(a[0])), TOTAL)));
    }
    if matches!(function, Function::HeldText | Function::Collate(_)) {
        return Ok(Some((Box::new(|a: &[&Vector], _| Ok(a[0].clone())), TOTAL)));
    }
    if !matches!(first, DataType::WideNumeric(_)) {
        return Ok(None);
    }
    if let Some(f) = unary(function, signature.arguments.len()) {
        return Ok(Some((Box::new(move |a: &[&Vector], _| wide::unary(a[0], f)), FALLIBLE)));
    }
    if let Some(f) = binary(function) {
        return Ok(Some((Box::new(move |a: &[&Vector], _| wide::binary(a[0], a[1], f)), FALLIBLE)));
    }
    let rounding: wide::Rounding = match function {
        Function::Round => Wide::round,
        Function::Trunc => Wide::trunc,
        Function::Scale => return Ok(Some(digits(Wide::scale))),
        Function::MinScale => return Ok(Some(digits(Wide::min_scale))),
        _ => return Ok(None),
    };
    Ok(Some((Box::new(move |a: &[&Vector], _| wide::rounded(a[0], a[1], rounding)), FALLIBLE)))
}

fn digits(f: fn(&Wide) -> Option<u32>) -> (Kernel, Traits) {
    (Box::new(move |a: &[&Vector], _| wide::digits(a[0], f)), TOTAL)
}

fn unary(function: Function, arguments: usize) -> Option<wide::Unary> {
    Some(match function {
        Function::Negate => |a| Ok(a.negated()),
        Function::Abs => |a| Ok(a.abs()),
        Function::Sign => |a| Ok(a.sign()),
        Function::Ceil => Wide::ceil,
        Function::Floor => Wide::floor,
        Function::Round if arguments == 1 => |a| a.round(0),
        Function::Trunc if arguments == 1 => |a| a.trunc(0),
        Function::Sqrt => Wide::sqrt,
        Function::Exp => Wide::exp,
        Function::Ln => Wide::ln,
        Function::Log10 => |a| a.log(&Wide::new(10, 0)),
        Function::TrimScale => |a| Ok(a.trimmed()),
        _ => return None,
    })
}

fn binary(function: Function) -> Option<wide::Binary> {
    Some(match function {
        Function::Add => Wide::add,
        Function::Subtract => Wide::subtract,
        Function::Multiply => Wide::multiply,
        Function::Divide => Wide::divide,
        Function::Modulo => Wide::modulo,
        Function::Div => Wide::divide_integer,
        Function::Log => |base, a| a.log(base),
        Function::Power => Wide::power,
        Function::Gcd => Wide::gcd,
        Function::Lcm => Wide::lcm,
        _ => return None,
    })
}
