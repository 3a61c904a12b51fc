//! Functions on numbers: integers, NUMERIC, floating point.

use kernels::arithmetic::{self, Arithmetic, Shift, power_of_ten, scaled};
use kernels::numeric::{self, Operand, Target};
use kernels::{Vector, math_fn, time_fn};
use plan::physical::{Expr, ExprKind};
use sql::algebra::Function;
use types::{DataType, Error, NumericType, PhysicalType, Result, Value};

use super::wide;
use super::{FALLIBLE, Kernel, Signature, TOTAL, Traits, one, two, without_arguments};

/// A NUMERIC kernel of two operands.
type Binary = fn(Operand, Operand, Target) -> Result<Vector>;
/// A NUMERIC kernel of one operand.
type Unary = fn(Operand, Target) -> Result<Vector>;

/// The kernel of a function on numbers; None when `function` is another.
pub(super) fn kernel(
    function: Function,
    signature: &Signature,
) -> Result<Option<(Kernel, Traits)>> {
    if let Some(found) = without_arguments(function) {
        return Ok(Some(found));
    }
    if let Some(found) = wide::kernel(function, signature)? {
        return Ok(Some(found));
    }
    if let Some(op) = arithmetic_of(function) {
        return arithmetic(op, signature).map(Some);
    }
    let fallible = |kernel: Kernel| Ok(Some((kernel, FALLIBLE)));
    match function {
        Function::Negate | Function::Abs => sign_change(function, signature).map(Some),
        Function::BitNot => {
            Ok(Some((Box::new(|a: &[&Vector], _| Ok(arithmetic::bit_not(a[0]))), TOTAL)))
        }
        Function::ShiftLeft => Ok(Some((shift(Shift::Left, signature.ty), TOTAL))),
        Function::ShiftRight => Ok(Some((shift(Shift::Right, signature.ty), TOTAL))),
        Function::Gcd | Function::Lcm => {
            let ty = signature.ty;
            let f = if function == Function::Gcd { math_fn::gcd } else { math_fn::lcm };
            fallible(Box::new(move |a: &[&Vector], _| f(a[0], a[1], ty)))
        }
        Function::FloatSend => {
            let is_real = signature.arguments.first().is_some_and(|a| a.ty == DataType::Real);
            let bytes = if is_real { math_fn::real_bytes } else { math_fn::double_bytes };
            fallible(Box::new(move |a: &[&Vector], _| bytes(a[0])))
        }
        Function::Sampled => {
            fallible(Box::new(|a: &[&Vector], _| math_fn::sampled(a[0], a[1], a[2])))
        }
        Function::WidthBucket => {
            fallible(Box::new(|a: &[&Vector], _| math_fn::width_bucket(a[0], a[1], a[2], a[3])))
        }
        _ => match signature.arguments.first().map(|a| a.ty) {
            Some(DataType::Numeric(_)) => of_numeric(function, signature),
            _ => Ok(of_float(function).map(|kernel| (kernel, FALLIBLE))),
        },
    }
}

fn arithmetic_of(function: Function) -> Option<Arithmetic> {
    Some(match function {
        Function::Add => Arithmetic::Add,
        Function::Subtract => Arithmetic::Subtract,
        Function::Multiply => Arithmetic::Multiply,
        Function::Divide => Arithmetic::Divide,
        Function::Modulo => Arithmetic::Modulo,
        Function::BitAnd => Arithmetic::BitAnd,
        Function::BitOr => Arithmetic::BitOr,
        Function::BitXor => Arithmetic::BitXor,
        _ => return None,
    })
}

fn shift(direction: Shift, ty: DataType) -> Kernel {
    Box::new(move |a: &[&Vector], _| Ok(arithmetic::shift(direction, a[0], a[1], ty)))
}

fn arithmetic(op: Arithmetic, signature: &Signature) -> Result<(Kernel, Traits)> {
    let ty = signature.ty;
    match signature.of(0)? {
        DataType::Numeric(_) => numeric_arithmetic(op, signature),
        DataType::Real | DataType::Double => {
            Ok((Box::new(move |a: &[&Vector], _| arithmetic::float(op, a[0], a[1], ty)), FALLIBLE))
        }
        _ => {
            let bits = matches!(op, Arithmetic::BitAnd | Arithmetic::BitOr | Arithmetic::BitXor);
            let traits = if bits { TOTAL } else { FALLIBLE };
            Ok((Box::new(move |a: &[&Vector], _| arithmetic::integer(op, a[0], a[1], ty)), traits))
        }
    }
}

fn numeric_type(ty: DataType) -> Result<NumericType> {
    match ty {
        DataType::Numeric(ty) => Ok(ty),
        other => Err(Error::internal(format!("{other:?} among NUMERIC operands"))),
    }
}

/// The most digits that a value of this argument has before and after the point.
fn digits(argument: &Expr, ty: NumericType) -> u32 {
    match argument.physical {
        PhysicalType::I128 => u32::from(ty.precision),
        // What is held in 64 bits has at most 19 digits, whatever is declared.
        _ => u32::from(ty.precision).min(19),
    }
}

/// The factors that bring both operands to the result's scale, when every result is known to fit.
fn exact_factors(op: Arithmetic, signature: &Signature) -> Result<Option<(i128, i128)>> {
    let [left, right] = signature.arguments else {
        return Err(Error::internal("arithmetic has two operands"));
    };
    let (a, b) = (numeric_type(left.ty)?, numeric_type(right.ty)?);
    let result = numeric_type(signature.ty)?;
    let (digits_a, digits_b) = (digits(left, a), digits(right, b));
    let scale = a.scale.max(b.scale);
    let (expected_scale, digits) = match op {
        Arithmetic::Add | Arithmetic::Subtract => {
            let up = |digits: u32, s: u8| digits + u32::from(scale - s);
            (scale, up(digits_a, a.scale).max(up(digits_b, b.scale)) + 1)
        }
        Arithmetic::Multiply => (a.scale + b.scale, digits_a + digits_b),
        _ => return Ok(None),
    };
    let narrow = signature.physical == PhysicalType::I64;
    let proved_by_planner = narrow && result.precision > NumericType::PRECISION_64;
    let proved_by_types = digits <= u32::from(result.precision);
    if expected_scale != result.scale || !(proved_by_planner || proved_by_types) {
        return Ok(None);
    }
    Ok(Some((power_of_ten(scale - a.scale), power_of_ten(scale - b.scale))))
}

fn numeric_arithmetic(op: Arithmetic, signature: &Signature) -> Result<(Kernel, Traits)> {
    let physical = signature.physical;
    if let Some(factors) = exact_factors(op, signature)? {
        return Ok((
            Box::new(move |a: &[&Vector], _| Ok(scaled(op, a[0], a[1], factors, physical))),
            TOTAL,
        ));
    }
    let f: Binary = match op {
        Arithmetic::Add => numeric::add,
        Arithmetic::Subtract => numeric::subtract,
        Arithmetic::Multiply => numeric::multiply,
        Arithmetic::Modulo => numeric::modulo,
        other => return Err(Error::internal(format!("{other:?} on NUMERIC"))),
    };
    Ok((binary(f, signature)?, FALLIBLE))
}

fn target(signature: &Signature) -> Result<Target> {
    Ok(Target { ty: numeric_type(signature.ty)?, physical: signature.physical })
}

fn binary(f: Binary, signature: &Signature) -> Result<Kernel> {
    let to = target(signature)?;
    let (x, y) = (numeric_type(signature.of(0)?)?, numeric_type(signature.of(1)?)?);
    Ok(Box::new(move |a: &[&Vector], _| {
        f(Operand { vector: a[0], ty: x }, Operand { vector: a[1], ty: y }, to)
    }))
}

fn unary(f: Unary, signature: &Signature) -> Result<Kernel> {
    let to = target(signature)?;
    let ty = numeric_type(signature.of(0)?)?;
    Ok(Box::new(move |a: &[&Vector], _| f(Operand { vector: a[0], ty }, to)))
}

fn sign_change(function: Function, signature: &Signature) -> Result<(Kernel, Traits)> {
    let (ty, negate) = (signature.ty, function == Function::Negate);
    let kernel: Kernel = match signature.of(0)? {
        DataType::Numeric(_) => {
            unary(if negate { numeric::negate } else { numeric::abs }, signature)?
        }
        DataType::Interval(_) => one(time_fn::interval_negate),
        DataType::Real | DataType::Double if negate => {
            return Ok((Box::new(|a: &[&Vector], _| Ok(arithmetic::negate_float(a[0]))), TOTAL));
        }
        DataType::Real | DataType::Double => {
            Box::new(move |a: &[&Vector], _| math_fn::abs(a[0], ty))
        }
        _ if negate => Box::new(move |a: &[&Vector], _| arithmetic::negate(a[0], ty)),
        _ => Box::new(move |a: &[&Vector], _| arithmetic::abs(a[0], ty)),
    };
    Ok((kernel, FALLIBLE))
}

/// The number of digits in the second argument, 0 without.
pub(super) fn digits_argument(signature: &Signature) -> Result<i32> {
    match signature.arguments.get(1).map(|a| &a.kind) {
        None => Ok(0),
        Some(ExprKind::Literal(Value::I32(digits))) => Ok(*digits),
        Some(_) => Err(Error::unsupported("a number of digits that is not a literal")),
    }
}

fn of_numeric(function: Function, signature: &Signature) -> Result<Option<(Kernel, Traits)>> {
    let by_unary = |f: Unary| unary(f, signature);
    let kernel = match function {
        Function::Ceil => by_unary(numeric::ceil)?,
        Function::Floor => by_unary(numeric::floor)?,
        Function::Sign => by_unary(numeric::sign)?,
        Function::Round | Function::Trunc => {
            let (to, ty) = (target(signature)?, numeric_type(signature.of(0)?)?);
            let digits = digits_argument(signature)?;
            let f = if function == Function::Round { numeric::round } else { numeric::trunc };
            Box::new(move |a: &[&Vector], _| f(Operand { vector: a[0], ty }, digits, to))
        }
        _ => return Ok(None),
    };
    Ok(Some((kernel, FALLIBLE)))
}

fn of_float(function: Function) -> Option<Kernel> {
    Some(match function {
        Function::Ceil => one(math_fn::ceil),
        Function::Floor => one(math_fn::floor),
        Function::Round => one(math_fn::round),
        Function::Trunc => one(math_fn::trunc),
        Function::Sign => one(math_fn::sign),
        Function::Sqrt => one(math_fn::sqrt),
        Function::Cbrt => one(math_fn::cbrt),
        Function::Exp => one(math_fn::exp),
        Function::Ln => one(math_fn::ln),
        Function::Log10 => one(math_fn::log10),
        Function::Power => two(math_fn::power),
        Function::Degrees => one(math_fn::degrees),
        Function::Radians => one(math_fn::radians),
        Function::Sin => one(math_fn::sin),
        Function::Cos => one(math_fn::cos),
        Function::Tan => one(math_fn::tan),
        Function::Cot => one(math_fn::cot),
        Function::Asin => one(math_fn::asin),
        Function::Acos => one(math_fn::acos),
        Function::Atan => one(math_fn::atan),
        Function::Atan2 => two(math_fn::atan2),
        Function::Sinh => one(math_fn::sinh),
        Function::Cosh => one(math_fn::cosh),
        Function::Tanh => one(math_fn::tanh),
        Function::Asinh => one(math_fn::asinh),
        Function::Acosh => one(math_fn::acosh),
        Function::Atanh => one(math_fn::atanh),
        Function::Sind => one(math_fn::sind),
        Function::Cosd => one(math_fn::cosd),
        Function::Tand => one(math_fn::tand),
        Function::Cotd => one(math_fn::cotd),
        Function::Asind => one(math_fn::asind),
        Function::Acosd => one(math_fn::acosd),
        Function::Atand => one(math_fn::atand),
        Function::Atan2d => two(math_fn::atan2d),
        _ => return None,
    })
}
