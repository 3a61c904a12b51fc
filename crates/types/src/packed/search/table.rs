//! The functions and operators of text search.

use super::{debug, document, headline, query_functions, rank, rewrite, vector_functions};
use crate::packed::PackedFunction;
use crate::packed::call::Parameter::{self, Is};
use crate::packed::functions::{function, packed, row};
use crate::{DataType, ElementType, PackedType, RegKind};

const VECTOR: Parameter = packed(PackedType::TsVector);
const QUERY: Parameter = packed(PackedType::TsQuery);
const CONFIG: Parameter = Is(DataType::Reg(RegKind::Config));
const DICTIONARY: Parameter = Is(DataType::Reg(RegKind::Dictionary));
const TEXT: Parameter = Is(DataType::Text);
const TEXTS: Parameter = Is(DataType::Array(ElementType::Text));
const LETTER: Parameter = Is(DataType::InternalChar);
const LETTERS: Parameter = Is(DataType::Array(ElementType::InternalChar));
const JSON: Parameter = Is(DataType::Json);
const JSONB: Parameter = Is(DataType::Jsonb);
const JSONS: Parameter = Is(DataType::Array(ElementType::Json));
const INT: Parameter = Is(DataType::Integer);
const REAL: Parameter = Is(DataType::Real);
const REALS: Parameter = Is(DataType::Array(ElementType::Real));
const OID: Parameter = Is(DataType::Oid);
const BOOL: Parameter = Is(DataType::Boolean);

/// Functions of every database. A call without a configuration gets the session's: see
/// `sql::bind::search`.
pub(in crate::packed) const SEARCH: &[PackedFunction] = &[
    function("to_tsvector", &[CONFIG, TEXT], VECTOR, document::to_vector),
    function("to_tsvector", &[CONFIG, JSON], VECTOR, document::json_to_vector),
    function("to_tsvector", &[CONFIG, JSONB], VECTOR, document::json_to_vector),
    function("json_to_tsvector", &[CONFIG, JSON, JSONB], VECTOR, document::filtered_json_to_vector),
    function(
        "jsonb_to_tsvector",
        &[CONFIG, JSONB, JSONB],
        VECTOR,
        document::filtered_json_to_vector,
    ),
    function("to_tsquery", &[CONFIG, TEXT], QUERY, document::to_query),
    function("plainto_tsquery", &[CONFIG, TEXT], QUERY, document::plain_to_query),
    function("phraseto_tsquery", &[CONFIG, TEXT], QUERY, document::phrase_to_query),
    function("websearch_to_tsquery", &[CONFIG, TEXT], QUERY, document::web_to_query),
    row("ts_match_vq", "@@", &[VECTOR, QUERY], BOOL, vector_functions::matched),
    row("ts_match_qv", "@@", &[QUERY, VECTOR], BOOL, vector_functions::matched_turned),
    row("tsvector_concat", "||", &[VECTOR, VECTOR], VECTOR, vector_functions::concatenate),
    function("length", &[VECTOR], INT, vector_functions::length),
    function("strip", &[VECTOR], VECTOR, vector_functions::strip),
    function("setweight", &[VECTOR, LETTER], VECTOR, vector_functions::set_weight),
    function("setweight", &[VECTOR, LETTER, TEXTS], VECTOR, vector_functions::set_weight_of),
    function("ts_delete", &[VECTOR, TEXT], VECTOR, vector_functions::delete),
    function("ts_delete", &[VECTOR, TEXTS], VECTOR, vector_functions::delete_all),
    function("ts_filter", &[VECTOR, LETTERS], VECTOR, vector_functions::filter),
    function("tsvector_to_array", &[VECTOR], TEXTS, vector_functions::to_array),
    function("array_to_tsvector", &[TEXTS], VECTOR, vector_functions::of_array),
    function("#unnest_tsvector", &[VECTOR], JSONS, vector_functions::rows),
    function("ts_lexize", &[DICTIONARY, TEXT], TEXTS, vector_functions::lexize),
    function("#ts_parse", &[TEXT, TEXT], JSONS, debug::parse),
    function("#ts_token_type", &[TEXT], JSONS, debug::token_types),
    function("#ts_parse", &[OID, TEXT], JSONS, debug::parse),
    function("#ts_token_type", &[OID], JSONS, debug::token_types),
    function("#ts_debug", &[CONFIG, TEXT], JSONS, debug::debug),
    function("ts_rank", &[VECTOR, QUERY], REAL, rank::rank),
    function("ts_rank", &[VECTOR, QUERY, INT], REAL, rank::rank),
    function("ts_rank", &[REALS, VECTOR, QUERY], REAL, rank::rank),
    function("ts_rank", &[REALS, VECTOR, QUERY, INT], REAL, rank::rank),
    function("ts_rank_cd", &[VECTOR, QUERY], REAL, rank::rank_covers),
    function("ts_rank_cd", &[VECTOR, QUERY, INT], REAL, rank::rank_covers),
    function("ts_rank_cd", &[REALS, VECTOR, QUERY], REAL, rank::rank_covers),
    function("ts_rank_cd", &[REALS, VECTOR, QUERY, INT], REAL, rank::rank_covers),
    function("ts_headline", &[CONFIG, TEXT, QUERY], TEXT, headline::headline),
    function("ts_headline", &[CONFIG, TEXT, QUERY, TEXT], TEXT, headline::headline),
    function("ts_rewrite", &[QUERY, QUERY, QUERY], QUERY, rewrite::rewrite),
    row("tsquery_and", "&&", &[QUERY, QUERY], QUERY, query_functions::and),
    row("tsquery_or", "||", &[QUERY, QUERY], QUERY, query_functions::or),
    row("tsquery_phrase", "<->", &[QUERY, QUERY], QUERY, query_functions::phrase),
    function("tsquery_phrase", &[QUERY, QUERY, INT], QUERY, query_functions::distant_phrase),
    row("tsquery_not", "!!", &[QUERY], QUERY, query_functions::not),
    row("tsq_mcontains", "@>", &[QUERY, QUERY], BOOL, query_functions::contains),
    row("tsq_mcontained", "<@", &[QUERY, QUERY], BOOL, query_functions::contained),
    function("numnode", &[QUERY], INT, query_functions::nodes),
    function("querytree", &[QUERY], TEXT, query_functions::tree),
];
