//! Functions on JSON and JSONB.

use types::DataType;
use types::json_path::PathResult;

/// A function on JSON. Arguments called JSON are of either type, in the first of which those are
/// that make one; without more said the result is of the type of the expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonFunction {
    /// to_json(any [, TEXT time zone]).
    FromValue,
    /// JSONB -> BYTEA whose order is that of the values: what comparisons, groups and sorts are by.
    Key,
    /// JSON -> TEXT key or INTEGER index; as text (`->>`) where the expression is a TEXT.
    Get,
    /// JSON #> TEXT[] path; as text (`#>>`) where the expression is a TEXT.
    Path,
    /// JSONB @> JSONB -> BOOLEAN.
    Contains,
    /// JSONB ? TEXT -> BOOLEAN.
    HasKey,
    /// JSONB ?| TEXT[] -> BOOLEAN.
    HasAnyKey,
    /// JSONB ?& TEXT[] -> BOOLEAN.
    HasAllKeys,
    /// JSONB || JSONB.
    Concat,
    /// JSONB - TEXT key, INTEGER index or TEXT[] keys.
    Without,
    /// JSONB #- TEXT[] path.
    WithoutPath,
    /// jsonb_set(JSONB, TEXT[] path, JSONB, BOOLEAN create).
    Set,
    /// jsonb_insert(JSONB, TEXT[] path, JSONB, BOOLEAN after).
    Insert,
    /// JSONB, TEXT[] path, JSONB: the first one after an assignment to its part.
    Assign,
    /// json_typeof(JSON) -> TEXT.
    TypeOf,
    /// json_array_length(JSON) -> INTEGER.
    ArrayLength,
    /// json_strip_nulls(JSON).
    StripNulls,
    /// (json, BOOLEAN): line feeds between the parts of the outermost value when that is true.
    LineFeeds,
    /// jsonb_pretty(JSONB) -> TEXT.
    Pretty,
    /// json_build_object(TEXT key, JSON value, ...).
    BuildObject,
    /// json_object of one or two arrays of texts, as JSON.
    ObjectOfTexts,
    /// json_build_object of a JSON array of its arguments.
    ObjectOfArguments,
    /// json_build_array(JSON, ...).
    BuildArray,
    /// row_to_json: TEXT name, JSON value, ...
    BuildRow,
    /// A TEXT key and a JSON value as a field, a TEXT: what json_object_agg collects.
    Pair,
    /// json_agg of the array that was collected, TEXT between elements [, TEXT time zone].
    AggregateArray,
    /// json_object_agg of the TEXT[] of pairs that was collected.
    AggregateObject,
    /// Values that a JSONPATH leads to in a JSONB: which of them. Behind those two may be JSONB
    /// variables, BOOLEAN silent and a TEXT time zone.
    PathResult(PathResult),
    /// json_array_elements(JSON) as an array.
    Elements,
    /// json_array_elements_text(JSON) -> TEXT[].
    ElementTexts,
    /// json_object_keys(JSON) -> TEXT[].
    Keys,
    /// json_each(JSON) as an array of `[key, value]`.
    Fields,
    /// json_each_text(JSON), as [`Self::Fields`].
    FieldTexts,
    /// json_to_record(JSON): an array of it alone, an object.
    Record,
    /// json_to_recordset(JSON) as an array of its objects.
    RecordsTo,
    /// json_populate_recordset(JSON), as [`Self::RecordsTo`].
    RecordsPopulated,
    /// JSON -> TEXT key, null as NULL.
    ColumnValue,
    /// JSON -> TEXT key as the TEXT of a value of this type: an array or a record, whose parts are
    /// those of the JSON.
    ValueText(DataType),
}

impl JsonFunction {
    /// The function as SQL calls it, or in the way SQL's functions are called.
    pub fn name(self) -> &'static str {
        match self {
            Self::FromValue => "to_json",
            Self::Key => "jsonb_key",
            Self::Get => "json_get",
            Self::Path => "json_extract_path",
            Self::Contains => "jsonb_contains",
            Self::HasKey => "jsonb_exists",
            Self::HasAnyKey => "jsonb_exists_any",
            Self::HasAllKeys => "jsonb_exists_all",
            Self::Concat => "jsonb_concat",
            Self::Without => "jsonb_delete",
            Self::WithoutPath => "jsonb_delete_path",
            Self::Set => "jsonb_set",
            Self::Insert => "jsonb_insert",
            Self::Assign => "jsonb_assign",
            Self::TypeOf => "json_typeof",
            Self::ArrayLength => "json_array_length",
            Self::StripNulls => "json_strip_nulls",
            Self::LineFeeds => "json_line_feeds",
            Self::Pretty => "jsonb_pretty",
            Self::BuildObject => "json_build_object",
            Self::ObjectOfTexts => "json_object",
            Self::ObjectOfArguments => "json_build_object",
            Self::BuildArray => "json_build_array",
            Self::BuildRow => "row_to_json",
            Self::Pair => "json_pair",
            Self::AggregateArray => "json_agg",
            Self::AggregateObject => "json_object_agg",
            Self::PathResult(PathResult::Exists) => "jsonb_path_exists",
            Self::PathResult(PathResult::Match) => "jsonb_path_match",
            Self::PathResult(PathResult::Query) => "jsonb_path_query",
            Self::PathResult(PathResult::Array) => "jsonb_path_query_array",
            Self::PathResult(PathResult::First) => "jsonb_path_query_first",
            Self::Elements => "json_array_elements",
            Self::ElementTexts => "json_array_elements_text",
            Self::Keys => "json_object_keys",
            Self::Fields => "json_each",
            Self::FieldTexts => "json_each_text",
            Self::Record => "json_to_record",
            Self::RecordsTo => "json_to_recordset",
            Self::RecordsPopulated => "json_populate_recordset",
            Self::ColumnValue => "json_column",
            Self::ValueText(_) => "json_value_text",
        }
    }
}
