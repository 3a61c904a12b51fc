//! Functions on JSON.

use kernels::Vector;
use kernels::json_fn::{self, Form, ObjectOf, Parts, Records, Wanted};
use sql::algebra::JsonFunction as J;
use types::json::PathChange;
use types::{DataType, Result, array};

use super::{Kernel, Signature, one, two};

/// The kernel of a function on JSON.
pub(super) fn kernel(function: J, signature: &Signature) -> Result<Kernel> {
    let form = if signature.ty == DataType::Text { Form::Text } else { Form::Json };
    Ok(match function {
        J::Key if signature.of(0)?.is_array() => one(json_fn::array_key),
        J::Key => one(json_fn::key),
        J::Get => match signature.of(1)? {
            DataType::Integer => {
                let ty = signature.of(0)?;
                Box::new(move |a: &[&Vector], _| json_fn::element(form, a[0], a[1], ty))
            }
            _ => Box::new(move |a: &[&Vector], _| json_fn::field(form, a[0], a[1])),
        },
        J::Path => Box::new(move |a: &[&Vector], _| json_fn::at_path(form, a[0], a[1])),
        J::Contains => two(json_fn::contains),
        J::HasKey => two(json_fn::has_key),
        J::HasAnyKey => two(|json, keys| json_fn::has_keys(Wanted::Any, json, keys)),
        J::HasAllKeys => two(|json, keys| json_fn::has_keys(Wanted::All, json, keys)),
        J::Concat => two(json_fn::concatenate),
        J::TypeOf => one(json_fn::type_of),
        J::ArrayLength => one(json_fn::array_length),
        J::Pretty => one(json_fn::pretty),
        J::LineFeeds => two(json_fn::line_feeds),
        J::StripNulls => {
            let ty = signature.ty;
            Box::new(move |a: &[&Vector], _| json_fn::strip_nulls(a[0], ty))
        }
        J::Without => {
            let ty = signature.of(1)?;
            Box::new(move |a: &[&Vector], _| json_fn::without(a[0], a[1], ty))
        }
        J::WithoutPath => {
            Box::new(|a: &[&Vector], _| json_fn::change_path(a, |_, _| PathChange::Delete))
        }
        J::Set => Box::new(|a: &[&Vector], _| {
            json_fn::change_path(a, |value, create| {
                if create { PathChange::Set(value) } else { PathChange::Replace(value) }
            })
        }),
        J::Insert => Box::new(|a: &[&Vector], _| {
            json_fn::change_path(a, |value, after| {
                if after { PathChange::InsertAfter(value) } else { PathChange::InsertBefore(value) }
            })
        }),
        J::Assign => Box::new(|a: &[&Vector], _| json_fn::assign(a[0], a[1], a[2])),
        J::PathResult(wanted) => {
            Box::new(move |a: &[&Vector], _| kernels::json_path::find(wanted, a))
        }
        J::Elements => parts(Parts::Elements, signature)?,
        J::ElementTexts => parts(Parts::ElementTexts, signature)?,
        J::Keys => parts(Parts::Keys, signature)?,
        J::Fields => parts(Parts::Fields, signature)?,
        J::FieldTexts => parts(Parts::FieldTexts, signature)?,
        J::Record => records(Records::One, signature)?,
        J::RecordsTo => records(Records::ToSet, signature)?,
        J::RecordsPopulated => records(Records::PopulateSet, signature)?,
        J::ColumnValue => two(json_fn::column),
        J::ValueText(ty) => Box::new(move |a: &[&Vector], _| json_fn::value_text(ty, a[0], a[1])),
        J::FromValue
        | J::BuildObject
        | J::BuildArray
        | J::BuildRow
        | J::ObjectOfTexts
        | J::ObjectOfArguments
        | J::Pair
        | J::AggregateArray
        | J::AggregateObject => made(function, signature)?,
    })
}

fn parts(parts: Parts, signature: &Signature) -> Result<Kernel> {
    let ty = signature.of(0)?;
    Ok(Box::new(move |a: &[&Vector], _| json_fn::parts(parts, a[0], ty)))
}

fn records(records: Records, signature: &Signature) -> Result<Kernel> {
    let ty = signature.of(0)?;
    Ok(Box::new(move |a: &[&Vector], _| json_fn::records(records, a[0], ty)))
}

/// Functions that make JSON, from which JSONB comes where that is asked for.
fn made(function: J, signature: &Signature) -> Result<Kernel> {
    let ty = signature.ty;
    let json: Kernel = match function {
        J::FromValue => {
            let from = signature.of(0)?;
            Box::new(move |a: &[&Vector], _| json_fn::from_value(a[0], from, a.get(1).copied()))
        }
        J::BuildObject => Box::new(move |a: &[&Vector], rows| json_fn::build_object(a, rows, ty)),
        J::ObjectOfTexts => {
            Box::new(move |a: &[&Vector], _| json_fn::object_of(ObjectOf::Texts, a, ty))
        }
        J::ObjectOfArguments => {
            Box::new(move |a: &[&Vector], _| json_fn::object_of(ObjectOf::Arguments, a, ty))
        }
        J::BuildArray => Box::new(json_fn::build_array),
        J::BuildRow => Box::new(json_fn::build_row),
        J::Pair => two(json_fn::pair),
        J::AggregateObject => one(json_fn::aggregate_object),
        _ => {
            let element = array::element_of(signature.of(0)?)?;
            Box::new(move |a: &[&Vector], _| {
                json_fn::aggregate_array(a[0], element, a[1], a.get(2).copied())
            })
        }
    };
    if ty != DataType::Jsonb {
        return Ok(json);
    }
    Ok(Box::new(move |a: &[&Vector], rows| json_fn::canonical(&json(a, rows)?)))
}
