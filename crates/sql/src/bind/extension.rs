//! Functions and operators of extensions: they are there where the extension was created, in its
//! schema.

use sqlparser::ast::{self, BinaryOperator as Op};
use types::{CompareOp, DataType, ElementType, Result, SqlState, Value};

use super::function_table::{Gives, Kind, Overload};
use super::name::{object_at, object_parts};
use super::types::{Category, category};
use super::{Binder, Bound, fail, unsupported};
use crate::algebra::{Expr, ExtensionFunction as E, Function, Place};
use crate::catalog::Called;

/// An overload and the extension that has it.
struct Row {
    extension: &'static str,
    overload: Overload,
}

const fn row(
    extension: &'static str,
    function: E,
    name: &'static str,
    parameters: &'static [Kind],
    gives: DataType,
) -> Row {
    let (function, gives) = (Function::Extension(function), Gives::Is(gives));
    Row { extension, overload: Overload { name, parameters, rest: None, function, gives } }
}

const CRYPTO: &str = "pgcrypto";
const UUID: &str = "uuid-ossp";
const TRIGRAMS: &str = "pg_trgm";
const FUZZY: &str = "fuzzystrmatch";
use DataType as T;
use Kind::{Bytea, Integer, Text, Uuid};

const ROWS: &[Row] = &[
    row(CRYPTO, E::Digest, "digest", &[Text, Text], T::Bytea),
    row(CRYPTO, E::Digest, "digest", &[Bytea, Text], T::Bytea),
    row(CRYPTO, E::Hmac, "hmac", &[Text, Text, Text], T::Bytea),
    row(CRYPTO, E::Hmac, "hmac", &[Bytea, Bytea, Text], T::Bytea),
    row(CRYPTO, E::Crypt, "crypt", &[Text, Text], T::Text),
    row(CRYPTO, E::Salt, "gen_salt", &[Text], T::Text),
    row(CRYPTO, E::Salt, "gen_salt", &[Text, Integer], T::Text),
    row(CRYPTO, E::RandomBytes, "gen_random_bytes", &[Integer], T::Bytea),
    row(UUID, E::UuidOfTime, "uuid_generate_v1", &[], T::Uuid),
    row(UUID, E::UuidOfTimeOnly, "uuid_generate_v1mc", &[], T::Uuid),
    row(UUID, E::UuidOfNameMd5, "uuid_generate_v3", &[Uuid, Text], T::Uuid),
    row(UUID, E::UuidRandom, "uuid_generate_v4", &[], T::Uuid),
    row(UUID, E::UuidOfNameSha1, "uuid_generate_v5", &[Uuid, Text], T::Uuid),
    row("unaccent", E::Unaccent, "unaccent", &[Text], T::Text),
    row(TRIGRAMS, E::Similarity, "similarity", &[Text, Text], T::Real),
    row(TRIGRAMS, E::WordSimilarity, "word_similarity", &[Text, Text], T::Real),
    row(TRIGRAMS, E::WordsSimilarity, "strict_word_similarity", &[Text, Text], T::Real),
    row(TRIGRAMS, E::Trigrams, "show_trgm", &[Text], T::Array(ElementType::Text)),
    row(FUZZY, E::Soundex, "soundex", &[Text], T::Text),
    row(FUZZY, E::Soundex, "text_soundex", &[Text], T::Text),
    row(FUZZY, E::Difference, "difference", &[Text, Text], T::Integer),
    row(FUZZY, E::Levenshtein, "levenshtein", &[Text, Text], T::Integer),
    row(FUZZY, E::Levenshtein, "levenshtein", &[Text, Text, Integer, Integer, Integer], T::Integer),
    row(FUZZY, E::LevenshteinWithin, "levenshtein_less_equal", &[Text, Text, Integer], T::Integer),
    row(
        FUZZY,
        E::LevenshteinWithin,
        "levenshtein_less_equal",
        &[Text, Text, Integer, Integer, Integer, Integer],
        T::Integer,
    ),
];

/// Functions that are expressions: extension, name, number of arguments, text.
const TEMPLATES: &[(&str, &str, usize, &str)] = &[
    (UUID, "uuid_nil", 0, "'00000000-0000-0000-0000-000000000000'::uuid"),
    (UUID, "uuid_ns_dns", 0, "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid"),
    (UUID, "uuid_ns_url", 0, "'6ba7b811-9dad-11d1-80b4-00c04fd430c8'::uuid"),
    (UUID, "uuid_ns_oid", 0, "'6ba7b812-9dad-11d1-80b4-00c04fd430c8'::uuid"),
    (UUID, "uuid_ns_x500", 0, "'6ba7b814-9dad-11d1-80b4-00c04fd430c8'::uuid"),
    (
        TRIGRAMS,
        "set_limit",
        1,
        "set_config('pg_trgm.similarity_threshold', ($1)::real::text, false)::real",
    ),
    (
        TRIGRAMS,
        "show_limit",
        0,
        "coalesce(current_setting('pg_trgm.similarity_threshold', true), '0.3')::real",
    ),
];

/// Functions of the extensions that are not there: extension, name.
const MISSING: &[(&str, &str)] = &[
    (CRYPTO, "armor"),
    (CRYPTO, "dearmor"),
    (CRYPTO, "decrypt"),
    (CRYPTO, "decrypt_iv"),
    (CRYPTO, "encrypt"),
    (CRYPTO, "encrypt_iv"),
    (CRYPTO, "pgp_armor_headers"),
    (CRYPTO, "pgp_key_id"),
    (CRYPTO, "pgp_pub_decrypt"),
    (CRYPTO, "pgp_pub_decrypt_bytea"),
    (CRYPTO, "pgp_pub_encrypt"),
    (CRYPTO, "pgp_pub_encrypt_bytea"),
    (CRYPTO, "pgp_sym_decrypt"),
    (CRYPTO, "pgp_sym_decrypt_bytea"),
    (CRYPTO, "pgp_sym_encrypt"),
    (CRYPTO, "pgp_sym_encrypt_bytea"),
    (FUZZY, "dmetaphone"),
    (FUZZY, "dmetaphone_alt"),
    (FUZZY, "metaphone"),
];

/// The names of an extension's functions and operators.
pub fn extension_functions(extension: &str) -> Vec<&'static str> {
    let rows = ROWS.iter().filter(|row| row.extension == extension).map(|row| row.overload.name);
    let templates = TEMPLATES.iter().filter(|(of, ..)| *of == extension).map(|(_, name, ..)| *name);
    let operators = if extension == TRIGRAMS { OPERATORS } else { &[] };
    rows.chain(templates).chain(operators.iter().map(|known| known.symbol)).collect()
}

/// The extension that has a function called `name`.
fn extension_of(name: &str) -> Option<&'static str> {
    let rows = ROWS.iter().map(|row| (row.extension, row.overload.name));
    let templates = TEMPLATES.iter().map(|(extension, name, ..)| (*extension, *name));
    let mut all = rows.chain(templates).chain(MISSING.iter().copied());
    all.find(|(_, known)| *known == name).map(|(extension, _)| extension)
}

/// An operator of pg_trgm, found wherever its schema is: a function of its operands in some order,
/// which is compared with a threshold or taken from 1.
#[derive(Clone, Copy)]
struct Operator {
    symbol: &'static str,
    function: E,
    operands: Operands,
    /// The setting with the threshold, and its value where nobody set it; None for a distance.
    threshold: Option<(&'static str, f64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    AsWritten,
    Swapped,
}

const SIMILAR: Option<(&str, f64)> = Some(("pg_trgm.similarity_threshold", 0.3));
const WORD: Option<(&str, f64)> = Some(("pg_trgm.word_similarity_threshold", 0.6));
const STRICT: Option<(&str, f64)> = Some(("pg_trgm.strict_word_similarity_threshold", 0.5));

const fn operator(
    symbol: &'static str,
    function: E,
    operands: Operands,
    threshold: Option<(&'static str, f64)>,
) -> Operator {
    Operator { symbol, function, operands, threshold }
}

const OPERATORS: &[Operator] = &[
    operator("%", E::Similarity, Operands::AsWritten, SIMILAR),
    operator("<->", E::Similarity, Operands::AsWritten, None),
    operator("<%", E::WordSimilarity, Operands::AsWritten, WORD),
    operator("%>", E::WordSimilarity, Operands::Swapped, WORD),
    operator("<<%", E::WordsSimilarity, Operands::AsWritten, STRICT),
    operator("%>>", E::WordsSimilarity, Operands::Swapped, STRICT),
    operator("<<->", E::WordSimilarity, Operands::AsWritten, None),
    operator("<->>", E::WordSimilarity, Operands::Swapped, None),
    operator("<<<->", E::WordsSimilarity, Operands::AsWritten, None),
    operator("<->>>", E::WordsSimilarity, Operands::Swapped, None),
];

impl Binder<'_> {
    /// The call of an extension's function; None for others, and where nobody created it.
    pub(super) fn extension_call(
        &mut self,
        function: &ast::Function,
        name: &str,
        args: &[ast::FunctionArg],
    ) -> Result<Option<Bound>> {
        let Some(extension) = extension_of(name) else { return Ok(None) };
        let mut parts = object_parts(&function.name)?;
        parts.pop();
        let called = self.called(parts.last().map(String::as_str));
        if !self.catalog.finds_extension(extension, called) {
            return Ok(None);
        }
        let at = object_at(&function.name);
        if MISSING.contains(&(extension, name)) {
            return unsupported(format!("function {name}"), at);
        }
        let is_it = |known: &&(&str, &str, usize, &str)| known.1 == name && known.2 == args.len();
        if let Some((.., template)) = TEMPLATES.iter().find(is_it) {
            let list: Option<Vec<ast::Expr>> =
                args.iter().map(super::functions::plain_argument).collect();
            let list = list.unwrap_or_default();
            let list: Vec<&ast::Expr> = list.iter().collect();
            return self.bind_expr(&super::system::filled(template, &list)?).map(Some);
        }
        let list: Result<Vec<Bound>> =
            args.iter().map(|arg| self.bind_argument(name, arg)).collect();
        let list: Vec<Bound> = list?.into_iter().map(|bound| self.retyped(bound)).collect();
        let known = ROWS.iter().filter(|row| row.overload.name == name);
        let known = known.map(|row| &row.overload).collect();
        let overload = super::functions::choose_among(known, name, &list, at)?;
        self.apply(overload, list, at).map(Some)
    }

    /// Where a function is looked for that is written with this schema or none.
    pub(super) fn called<'n>(&self, schema: Option<&'n str>) -> Called<'n> {
        match schema {
            _ if self.view_depth > 0 || self.definition_depth > 0 => Called::InKeptText,
            Some(schema) => Called::In(schema),
            None => Called::ByPath,
        }
    }

    /// The value of an operator of an extension; None for other operators and operands.
    pub(super) fn extension_operator(
        &mut self,
        op: &Op,
        operands: [&Bound; 2],
    ) -> Result<Option<Expr>> {
        if !matches!(op, Op::Modulo | Op::LtDashGt | Op::Custom(_)) {
            return Ok(None);
        }
        let symbol = op.to_string();
        let found = OPERATORS.iter().find(|known| known.symbol == symbol).copied();
        let Some(known) = found else { return Ok(None) };
        let [left, right] = operands.map(|bound| self.retyped(bound.clone()));
        let is_text = |bound: &Bound| category(bound.ty()) == Category::Text;
        let may = |bound: &Bound| is_text(bound) || bound.is_unknown();
        if !may(&left)
            || !may(&right)
            || !self.catalog.finds_extension(TRIGRAMS, Called::InKeptText)
        {
            return Ok(None);
        }
        let (left, right) = (self.as_text(left, T::Text)?, self.as_text(right, T::Text)?);
        let list = match known.operands {
            Operands::AsWritten => vec![left, right],
            Operands::Swapped => vec![right, left],
        };
        let share = Expr::call(Function::Extension(known.function), list, T::Real);
        let Some((setting, usual)) = known.threshold else {
            let one = Expr::literal(Value::F64(1.0), T::Real);
            return Ok(Some(Expr::call(Function::Subtract, vec![one, share], T::Real)));
        };
        let threshold = self.threshold(setting, usual)?;
        let least = Expr::literal(Value::F64(threshold), T::Double);
        Ok(Some(Expr::compare(CompareOp::GreaterEqual, share.cast(T::Double), least)))
    }

    /// # Errors
    /// 22023 for a setting that is no number from 0 to 1.
    fn threshold(&self, setting: &str, usual: f64) -> Result<f64> {
        let Some(text) = self.catalog.setting(setting) else { return Ok(usual) };
        match text.trim().parse::<f64>() {
            Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
            _ => {
                let at: Place = None;
                let message = format!("invalid value for parameter \"{setting}\": \"{text}\"");
                fail(SqlState::INVALID_PARAMETER, message, at)
            }
        }
    }
}
