//! Expressions as text with gaps.
//!
//! Each result is determined, and small enough where it is a number: products are rounded, and
//! quotients, whose scale is nobody's contract, too.

use super::generate::Dialect;
use super::tree::Kind::{self, Bool, Date, Decimal, Float, Int, Text, Timestamp};

/// An expression of a fixed kind; each `$` is one of the arguments.
pub(super) struct Template {
    pub(super) kind: Kind,
    pub(super) text: &'static str,
    pub(super) arguments: &'static [Kind],
    /// Systems in which it means the same.
    pub(super) dialect: Dialect,
}

const fn shared(kind: Kind, text: &'static str, arguments: &'static [Kind]) -> Template {
    Template { kind, text, arguments, dialect: Dialect::Shared }
}

const fn own(kind: Kind, text: &'static str, arguments: &'static [Kind]) -> Template {
    Template { kind, text, arguments, dialect: Dialect::Postgres }
}

/// Expressions whose arguments have kinds of their own.
pub(super) const TEMPLATES: &[Template] = &[
    shared(Bool, "($ AND $)", &[Bool, Bool]),
    shared(Bool, "($ OR $)", &[Bool, Bool]),
    shared(Bool, "(NOT $)", &[Bool]),
    shared(Bool, "($ IS TRUE)", &[Bool]),
    shared(Bool, "($ IS NOT FALSE)", &[Bool]),
    shared(Bool, "($ = $)", &[Int, Decimal]),
    shared(Bool, "($ < $)", &[Decimal, Int]),
    shared(Bool, "($ >= $)", &[Float, Int]),
    shared(Bool, "($ < $)", &[Decimal, Float]),
    shared(Bool, "($ <= $)", &[Date, Timestamp]),
    shared(Bool, "($ = CAST($ AS bigint))", &[Int, Int]),
    shared(Bool, "($ > CAST($ AS double precision))", &[Int, Int]),
    own(Bool, "($ <= CAST($ AS numeric) / 2)", &[Int, Int]),
    own(Bool, "($ IN (CAST($ AS numeric), $ + 0.5, $))", &[Decimal, Int, Int, Decimal]),
    shared(Bool, "($ LIKE 'a%')", &[Text]),
    shared(Bool, "($ LIKE '%e')", &[Text]),
    shared(Bool, "($ NOT LIKE '%a%')", &[Text]),
    shared(Bool, "($ LIKE '_b%')", &[Text]),
    shared(Bool, "($ LIKE '%long%kept%')", &[Text]),
    shared(Bool, "($ ILIKE 'a%')", &[Text]),
    own(Bool, "($ LIKE '100\\%')", &[Text]),
    own(Bool, "($ SIMILAR TO '(a|b)%')", &[Text]),
    own(Bool, "($ ~ '^[a-c]+')", &[Text]),
    own(Bool, "($ ~ '^ab*')", &[Text]),
    own(Bool, "starts_with($, $)", &[Text, Text]),
    shared(Bool, "($ IS NOT NULL)", &[Int]),
    shared(Bool, "($ IS NULL)", &[Text]),
    own(Bool, "(($, $) = ($, $))", &[Int, Text, Int, Text]),
    own(Bool, "(($, $) < ($, $))", &[Int, Date, Int, Date]),
    shared(Int, "($ + $)", &[Int, Int]),
    shared(Int, "($ - $)", &[Int, Int]),
    shared(Int, "(CAST($ AS bigint) * $)", &[Int, Int]),
    shared(Int, "(- $)", &[Int]),
    shared(Int, "abs($)", &[Int]),
    own(Int, "($ / NULLIF($, 0))", &[Int, Int]),
    own(Int, "($ % NULLIF($, 0))", &[Int, Int]),
    shared(Int, "($ % 7)", &[Int]),
    shared(Int, "CAST($ AS bigint)", &[Int]),
    own(Int, "CAST($ AS integer)", &[Decimal]),
    own(Int, "CAST(floor($) AS integer)", &[Float]),
    shared(Int, "CAST($ AS integer)", &[Bool]),
    shared(Int, "length($)", &[Text]),
    own(Int, "octet_length($)", &[Text]),
    own(Int, "ascii($)", &[Text]),
    own(Int, "position('a' IN $)", &[Text]),
    own(Int, "CAST(extract(year FROM $) AS integer)", &[Date]),
    own(Int, "CAST(extract(dow FROM $) AS integer)", &[Date]),
    own(Int, "CAST(extract(hour FROM $) AS integer)", &[Timestamp]),
    own(Int, "($ - $)", &[Date, Date]),
    own(Int, "CAST(sign($) AS integer)", &[Decimal]),
    shared(Decimal, "($ + $)", &[Decimal, Decimal]),
    shared(Decimal, "($ - $)", &[Decimal, Decimal]),
    shared(Decimal, "($ + $)", &[Decimal, Int]),
    own(Decimal, "round($ * $, 4)", &[Decimal, Decimal]),
    own(Decimal, "round($ * $, 2)", &[Int, Decimal]),
    own(Decimal, "round($ / NULLIF($, 0), 4)", &[Decimal, Decimal]),
    own(Decimal, "round($, 1)", &[Decimal]),
    own(Decimal, "trunc($, 1)", &[Decimal]),
    own(Decimal, "floor($)", &[Decimal]),
    own(Decimal, "ceil($)", &[Decimal]),
    own(Decimal, "($ % 7.5)", &[Decimal]),
    shared(Decimal, "abs($)", &[Decimal]),
    shared(Decimal, "(- $)", &[Decimal]),
    shared(Decimal, "CAST($ AS numeric(18,2))", &[Int]),
    own(Decimal, "CAST($ AS numeric(20,1))", &[Decimal]),
    shared(Float, "($ + $)", &[Float, Float]),
    shared(Float, "($ - $)", &[Float, Float]),
    shared(Float, "($ * 0.5)", &[Float]),
    shared(Float, "(- $)", &[Float]),
    shared(Float, "abs($)", &[Float]),
    own(Float, "($ / NULLIF($, 0))", &[Float, Float]),
    shared(Float, "CAST($ AS double precision)", &[Int]),
    shared(Float, "CAST($ AS double precision)", &[Decimal]),
    own(Float, "sqrt(abs($))", &[Float]),
    shared(Text, "($ || $)", &[Text, Text]),
    shared(Text, "upper($)", &[Text]),
    shared(Text, "lower($)", &[Text]),
    shared(Text, "trim($)", &[Text]),
    own(Text, "substring($ FROM 2 FOR 3)", &[Text]),
    own(Text, "left($, 3)", &[Text]),
    own(Text, "right($, 2)", &[Text]),
    own(Text, "lpad($, 6, 'xy')", &[Text]),
    shared(Text, "replace($, 'a', 'oo')", &[Text]),
    shared(Text, "reverse($)", &[Text]),
    shared(Text, "concat($, '-', $)", &[Text, Text]),
    shared(Text, "CAST($ AS text)", &[Int]),
    own(Text, "CAST($ AS text)", &[Date]),
    own(Text, "CAST($ AS varchar(3))", &[Text]),
    own(Text, "to_char($, 'YYYY-MM')", &[Date]),
    own(Text, "split_part($, ' ', 1)", &[Text]),
    own(Date, "($ + $ % 1000)", &[Date, Int]),
    own(Date, "($ - 3)", &[Date]),
    shared(Date, "CAST(date_trunc('month', $) AS date)", &[Date]),
    own(Date, "CAST($ + INTERVAL '1 month' AS date)", &[Date]),
    shared(Date, "CAST($ AS date)", &[Timestamp]),
    shared(Timestamp, "CAST($ AS timestamp)", &[Date]),
    shared(Timestamp, "($ + INTERVAL '36 hours')", &[Timestamp]),
    shared(Timestamp, "($ - INTERVAL '1 month')", &[Timestamp]),
    shared(Timestamp, "date_trunc('day', $)", &[Timestamp]),
];

/// Conditions on any kind; each `$` has the same one.
pub(super) const CONDITIONS: &[&str] = &[
    "($ = $)",
    "($ = $)",
    "($ <> $)",
    "($ < $)",
    "($ <= $)",
    "($ > $)",
    "($ >= $)",
    "($ IS NULL)",
    "($ IS NOT NULL)",
    "($ IS DISTINCT FROM $)",
    "($ IS NOT DISTINCT FROM $)",
    "($ BETWEEN $ AND $)",
    "($ NOT BETWEEN $ AND $)",
    "($ IN ($, $))",
    "($ IN ($, $, $, $))",
    "($ NOT IN ($, $))",
];

/// Conditions on two columns that an index may have, as programs send them, and what each `$` is:
/// the column `a` or `b`, or a literal like `a` (1) or like `b` (2).
pub(super) const KEYED: &[(&str, &str)] = &[
    ("(($, $) IN (($, $), ($, $), ($, $)))", "ab121212"),
    ("(($ = $ AND $ = $) OR ($ = $ AND $ > $))", "a1b2a1b2"),
    ("($ = $ OR $ = $)", "a1b2"),
    ("($ IN ($, $) OR $ BETWEEN $ AND $)", "a11b22"),
    ("($ = $ AND ($ = $ OR $ < $))", "a1b2b2"),
    ("(($, $) > ($, $))", "ab12"),
    ("(($, $) <= ($, $))", "ab12"),
    ("($ > $ OR ($ > $ AND $ < $) OR $ IS NULL)", "a1a1b2b"),
    ("(($, $) >= ($, $) AND ($, $) < ($, $))", "ab12ab12"),
];

/// Expressions of any kind; each `$` has that kind, `#` is a condition.
pub(super) const CHOICES: &[&str] = &[
    "COALESCE($, $)",
    "NULLIF($, $)",
    "CASE WHEN # THEN $ ELSE $ END",
    "CASE WHEN # THEN $ WHEN # THEN $ END",
    "CASE $ WHEN $ THEN $ ELSE $ END",
    "GREATEST($, $)",
    "LEAST($, $, $)",
];

/// Aggregates; those whose result depends on the order of rows are not here.
pub(super) const AGGREGATES: &[Template] = &[
    shared(Int, "count(*)", &[]),
    shared(Int, "count($)", &[Int]),
    shared(Int, "count($)", &[Text]),
    shared(Int, "count(DISTINCT $)", &[Int]),
    shared(Int, "count(DISTINCT $)", &[Text]),
    shared(Int, "count(DISTINCT $)", &[Date]),
    shared(Int, "count(DISTINCT $)", &[Decimal]),
    shared(Int, "CAST(sum($) AS bigint)", &[Int]),
    shared(Int, "CAST(sum(DISTINCT $) AS bigint)", &[Int]),
    shared(Int, "min($)", &[Int]),
    shared(Int, "max($)", &[Int]),
    own(Int, "bit_or($)", &[Int]),
    shared(Decimal, "sum($)", &[Decimal]),
    shared(Decimal, "sum(DISTINCT $)", &[Decimal]),
    shared(Decimal, "min($)", &[Decimal]),
    shared(Decimal, "max($)", &[Decimal]),
    own(Decimal, "round(avg($), 4)", &[Decimal]),
    own(Decimal, "round(avg($), 4)", &[Int]),
    shared(Float, "CAST(avg($) AS double precision)", &[Int]),
    shared(Float, "sum($)", &[Float]),
    shared(Float, "avg($)", &[Float]),
    shared(Float, "max($)", &[Float]),
    own(Float, "stddev_samp($)", &[Float]),
    own(Float, "CAST(var_pop($) AS double precision)", &[Int]),
    shared(Text, "min($)", &[Text]),
    shared(Text, "max($)", &[Text]),
    shared(Date, "min($)", &[Date]),
    shared(Date, "max($)", &[Date]),
    shared(Timestamp, "max($)", &[Timestamp]),
    shared(Timestamp, "min($)", &[Timestamp]),
    shared(Bool, "bool_and($)", &[Bool]),
    shared(Bool, "bool_or($)", &[Bool]),
];

/// Window functions that give all peers the same result.
pub(super) const RANKS: &[Template] = &[
    shared(Int, "rank()", &[]),
    shared(Int, "dense_rank()", &[]),
    shared(Float, "percent_rank()", &[]),
    shared(Float, "cume_dist()", &[]),
];

/// Window functions that need a total order.
pub(super) const PLACES: &[Template] = &[
    shared(Int, "row_number()", &[]),
    shared(Int, "ntile(4)", &[]),
    shared(Int, "lag($)", &[Int]),
    shared(Text, "lag(CAST($ AS text), 2)", &[Text]),
    shared(Date, "lead($)", &[Date]),
    shared(Decimal, "lead($, 1, 1.5)", &[Decimal]),
    shared(Text, "first_value(CAST($ AS text))", &[Text]),
    shared(Int, "last_value($)", &[Int]),
    shared(Decimal, "nth_value($, 2)", &[Decimal]),
];
