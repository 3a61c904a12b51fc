//! Functions on text, bytes and regular expressions.

use kernels::like::Case;
use kernels::regexp::{self, Finding};
use kernels::text_fn::{self, Side};
use kernels::{Vector, cast};
use sql::algebra::Function;
use types::{DataType, Result};

use super::super::node::Traits;
use super::{FALLIBLE, Kernel, Signature, TOTAL, one, three, two};

/// The kernel of a function on text or bytes; None when `function` is another.
pub(super) fn kernel(
    function: Function,
    signature: &Signature,
) -> Result<Option<(Kernel, Traits)>> {
    let count = signature.arguments.len();
    let total = match function {
        Function::CharLength => one(text_fn::char_length),
        Function::OctetLength => one(text_fn::octet_length),
        Function::BitLength => one(text_fn::bit_length),
        Function::Upper => one(text_fn::upper),
        Function::Lower => one(text_fn::lower),
        Function::Initcap => one(text_fn::initcap),
        Function::TrimBoth => trimmed(signature, Side::Both)?,
        Function::TrimLeft => trimmed(signature, Side::Left)?,
        Function::TrimRight => trimmed(signature, Side::Right)?,
        Function::Left => two(text_fn::left),
        Function::Right => two(text_fn::right),
        Function::Reverse => one(text_fn::reverse),
        Function::Position => match signature.of(0)? {
            DataType::Bytea => two(text_fn::position_bytes),
            _ => two(text_fn::position),
        },
        Function::Ascii => one(text_fn::ascii),
        Function::StartsWith => two(text_fn::starts_with),
        Function::Translate => three(text_fn::translate),
        Function::Md5 => one(text_fn::md5),
        Function::ToHex => one(text_fn::to_hex),
        Function::QuoteLiteral => one(text_fn::quote_literal),
        Function::QuoteNullable => one(text_fn::quote_nullable),
        Function::QuoteIdent => one(text_fn::quote_ident),
        Function::Sha224 => one(text_fn::sha224),
        Function::Sha256 => one(text_fn::sha256),
        Function::Sha384 => one(text_fn::sha384),
        Function::Sha512 => one(text_fn::sha512),
        Function::BitCount => one(text_fn::bit_count),
        Function::HashText => one(text_fn::hash_text),
        Function::ConcatOperator => two(text_fn::concat_operator),
        Function::Concat => Box::new(|a: &[&Vector], _| text_fn::concat(a)),
        Function::ConcatWs => Box::new(|a: &[&Vector], _| text_fn::concat_ws(a[0], &a[1..])),
        Function::Substring if count == 2 => match signature.of(0)? {
            DataType::Bytea => two(|a, from| text_fn::substring_bytes(a, from, None)),
            _ => two(|a, from| text_fn::substring(a, from, None)),
        },
        _ => return Ok(fallible(function, signature)?.map(|kernel| (kernel, FALLIBLE))),
    };
    Ok(Some((total, TOTAL)))
}

fn fallible(function: Function, signature: &Signature) -> Result<Option<Kernel>> {
    let kernel = match function {
        Function::PadLeft => three(|a, n, fill| text_fn::pad(Side::Left, a, n, fill)),
        Function::PadRight => three(|a, n, fill| text_fn::pad(Side::Right, a, n, fill)),
        Function::Substring => match signature.of(0)? {
            DataType::Bytea => three(|a, from, n| text_fn::substring_bytes(a, from, Some(n))),
            _ => three(|a, from, n| text_fn::substring(a, from, Some(n))),
        },
        Function::Replace => three(text_fn::replace),
        Function::Repeat => two(text_fn::repeat),
        Function::AssignText => {
            let (from, to) = (signature.of(0)?, signature.ty);
            Box::new(move |a: &[&Vector], _| cast::assign(a[0], from, to))
        }
        Function::SplitPart => three(text_fn::split_part),
        Function::Chr => one(text_fn::chr),
        Function::Encode => two(text_fn::encode),
        Function::Decode => two(text_fn::decode),
        Function::GetByte => two(text_fn::get_byte),
        Function::SetByte => three(text_fn::set_byte),
        Function::GetBit => two(text_fn::get_bit),
        Function::SetBit => three(text_fn::set_bit),
        Function::Convert => three(text_fn::convert),
        Function::BytesAsText => one(text_fn::bytes_as_text),
        Function::ConvertFrom => two(text_fn::convert_from),
        Function::ConvertTo => two(text_fn::convert_to),
        Function::EncodingName => one(text_fn::encoding_name),
        Function::EncodingNumber => one(text_fn::encoding_number),
        Function::EncodingBytes => one(text_fn::encoding_bytes),
        Function::SizeBytes => one(text_fn::size_bytes),
        Function::Unistr => one(text_fn::unistr),
        Function::ParseIdent => two(text_fn::parse_ident),
        Function::Format => Box::new(|a: &[&Vector], _| text_fn::format(a[0], &a[1..])),
        Function::FormatArray => two(text_fn::format_array),
        function => return expression(function, signature),
    };
    Ok(Some(kernel))
}

/// Functions on regular expressions.
fn expression(function: Function, signature: &Signature) -> Result<Option<Kernel>> {
    let count = signature.arguments.len();
    let kernel = match function {
        Function::RegexpMatch => two(|a, p| regexp::matches(a, p, Case::Sensitive)),
        Function::RegexpMatchInsensitive => two(|a, p| regexp::matches(a, p, Case::Insensitive)),
        Function::RegexpSubstring => two(regexp::substring),
        Function::RegexpLike => three(regexp::is_like),
        Function::RegexpCount => {
            Box::new(|a: &[&Vector], _| regexp::count([a[0], a[1], a[2], a[3]]))
        }
        Function::RegexpInstr => Box::new(|a: &[&Vector], _| {
            regexp::nth_place(finding([a[0], a[1], a[2], a[3], a[5], a[6]]), a[4])
        }),
        Function::RegexpSubstr => Box::new(|a: &[&Vector], _| {
            regexp::nth_substring(finding([a[0], a[1], a[2], a[3], a[4], a[5]]))
        }),
        Function::RegexpGroups => three(regexp::groups),
        Function::RegexpAllGroups => three(regexp::all_groups),
        Function::RegexpSplitToArray => {
            three(|a, p, f| regexp::split("regexp_split_to_array", a, p, f))
        }
        Function::RegexpSplitToTable => {
            three(|a, p, f| regexp::split("regexp_split_to_table", a, p, f))
        }
        Function::RegexpReplace => {
            let from_place = count > 3 && signature.of(3)?.physical() == types::PhysicalType::I32;
            Box::new(move |a: &[&Vector], _| {
                let texts = [a[0], a[1], a[2]];
                if from_place {
                    let [start, nth, flags] = [3, 4, 5].map(|at| a.get(at).copied());
                    regexp::replace(texts, start, nth, flags)
                } else {
                    regexp::replace(texts, None, None, a.get(3).copied())
                }
            })
        }
        _ => return Ok(None),
    };
    Ok(Some(kernel))
}

fn trimmed(signature: &Signature, side: Side) -> Result<Kernel> {
    Ok(match signature.of(0)? {
        DataType::Bytea => Box::new(move |a: &[&Vector], _| text_fn::trim_bytes(side, a[0], a[1])),
        _ => Box::new(move |a: &[&Vector], _| text_fn::trim(side, a[0], a[1])),
    })
}

fn finding([text, pattern, start, nth, flags, group]: [&Vector; 6]) -> Finding<'_> {
    Finding { text, pattern, start, nth, flags, group }
}
