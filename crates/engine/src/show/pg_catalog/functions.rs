//! Functions of the catalog as expressions over its tables.

/// A scalar sub-query: `value` of the row of a table whose `key` is the argument. Its inner names
/// hide none that the argument could use.
macro_rules! lookup {
    ($table:literal, $key:literal, $value:literal) => {
        lookup!($table, $key, $value, "$1")
    };
    ($table:literal, $key:literal, $value:literal, $argument:literal) => {
        concat!(
            "(SELECT pgc.pgc_value FROM (SELECT ",
            $key,
            " AS pgc_key, ",
            $value,
            " AS pgc_value FROM pg_catalog.",
            $table,
            ") AS pgc WHERE pgc.pgc_key = ",
            $argument,
            ")"
        )
    };
}

/// The comment on the object `$1` in a table of comments, where the condition holds. Its inner
/// names hide none that an argument could use.
macro_rules! described {
    ($table:literal, $part:literal, $condition:literal) => {
        concat!(
            "(SELECT max(pgc.pgc_text) FROM (SELECT objoid AS pgc_object, ",
            $part,
            " AS pgc_part, class AS pgc_class, description AS pgc_text FROM pg_catalog.",
            $table,
            ") AS pgc WHERE pgc.pgc_object = $1 AND ",
            $condition,
            ")"
        )
    };
}

/// Tests that a role, by name or number, has one of some privileges on an object; NULL when one
/// of both does not exist. Inner names hide none that an argument could use.
macro_rules! held {
    ($kind:literal, $role:literal, $object:literal, $privileges:literal) => {
        concat!(
            "(SELECT bool_or(pgc.pgc_held ~* ('(^|,)(' || regexp_replace(trim(",
            $privileges,
            "), '\\s*,\\s*', '|', 'g') || ')(,|$)')) FROM (SELECT kind AS pgc_kind, \
             rolname AS pgc_role, oid AS pgc_oid, name AS pgc_name, shown AS pgc_shown, \
             held AS pgc_held FROM pg_catalog.tessera_privileges) AS pgc \
             WHERE pgc.pgc_kind = '",
            $kind,
            "' AND pgc.pgc_role = ",
            role!($role),
            " AND (pgc.pgc_oid::text = ",
            $object,
            "::text OR pgc.pgc_name = regexp_replace(",
            $object,
            "::text, '^public[.]', '') OR pgc.pgc_shown = ",
            $object,
            "::text))"
        )
    };
}

/// The same, and an error for a role or an object that there is none of: both are names of the
/// catalog, unless they are numbers.
macro_rules! held_there {
    ($kind:literal, $type:literal, $role:literal, $object:literal, $privileges:literal) => {
        concat!(
            "coalesce(",
            held!($kind, $role, $object, $privileges),
            ", CASE WHEN ",
            $object,
            "::text ~ '^[0-9]+$' OR ",
            $role,
            "::text ~ '^([0-9]+|public)$' THEN NULL WHEN length(",
            $object,
            "::text::",
            $type,
            "::text || ",
            $role,
            "::text::regrole::text) < 0 THEN true END)"
        )
    };
}

/// The same of columns of a relation, those for which a condition holds.
macro_rules! held_of {
    ($role:literal, $object:literal, $privileges:literal, $condition:literal) => {
        concat!(
            "(SELECT bool_or(pgc.pgc_held ~* ('(^|,)(' || regexp_replace(trim(",
            $privileges,
            "), '\\s*,\\s*', '|', 'g') || ')(,|$)')) FROM (SELECT rolname AS pgc_role, \
             part AS pgc_part, oid AS pgc_oid, name AS pgc_name, shown AS pgc_shown, \
             held AS pgc_held FROM pg_catalog.tessera_column_privileges) AS pgc \
             WHERE pgc.pgc_role = ",
            role!($role),
            " AND ",
            $condition,
            " AND (pgc.pgc_oid::text = ",
            $object,
            "::text OR pgc.pgc_name = regexp_replace(",
            $object,
            "::text, '^public[.]', '') OR pgc.pgc_shown = ",
            $object,
            "::text))"
        )
    };
}

/// The name of a role that is given by name or number.
macro_rules! role {
    ($role:literal) => {
        concat!(
            "coalesce((SELECT pgr.pgr_name FROM (SELECT oid AS pgr_oid, rolname AS pgr_name \
             FROM pg_catalog.pg_roles) AS pgr WHERE pgr.pgr_oid::text = ",
            $role,
            "::text), ",
            $role,
            "::text)"
        )
    };
}

/// Tests that a role is in another.
macro_rules! member {
    ($member:literal, $role:literal, $how:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM (SELECT member AS pgc_member, rolname AS pgc_role, \
             oid AS pgc_oid, inherited AS pgc_inherited FROM pg_catalog.tessera_members) AS pgc \
             WHERE pgc.pgc_member = ",
            role!($member),
            " AND (pgc.pgc_role = ",
            $role,
            "::text OR pgc.pgc_oid::text = ",
            $role,
            "::text) AND (pgc.pgc_inherited OR upper(",
            $how,
            ") LIKE 'MEMBER%'))"
        )
    };
}

/// The expression that a call of `name` with `count` arguments `$1`... stands for.
pub(crate) fn template(name: &str, count: usize) -> Option<&'static str> {
    let is_meant =
        |(known, counts, _): &&(&str, &[usize], &str)| *known == name && counts.contains(&count);
    let found = TEMPLATES.iter().find(is_meant);
    found.map(|(.., text)| *text)
}

const FORMAT_TYPE: &str = concat!(
    "CASE \
    WHEN $1 = 1043 AND $2 > 4 THEN 'character varying(' || ($2 - 4)::text || ')' \
    WHEN $1 = 1042 AND $2 = -1 THEN 'bpchar' \
    WHEN $1 = 1042 AND $2 > 4 THEN 'character(' || ($2 - 4)::text || ')' \
    WHEN $1 = 1700 AND $2 > 4 THEN 'numeric(' || (($2 - 4) / 65536)::text || ',' || \
    (($2 - 4) % 65536)::text || ')' \
    WHEN $1 = 1015 AND $2 > 4 THEN 'character varying(' || ($2 - 4)::text || ')[]' \
    WHEN $1 = 1014 AND $2 > 4 THEN 'character(' || ($2 - 4)::text || ')[]' \
    WHEN $1 = 1231 AND $2 > 4 THEN 'numeric(' || (($2 - 4) / 65536)::text || ',' || \
    (($2 - 4) % 65536)::text || ')[]' \
    WHEN $1 = 1083 AND $2 >= 0 THEN 'time(' || $2::text || ') without time zone' \
    WHEN $1 = 1183 AND $2 >= 0 THEN 'time(' || $2::text || ') without time zone[]' \
    WHEN $1 = 1114 AND $2 >= 0 THEN 'timestamp(' || $2::text || ') without time zone' \
    WHEN $1 = 1184 AND $2 >= 0 THEN 'timestamp(' || $2::text || ') with time zone' \
    WHEN $1 = 1115 AND $2 >= 0 THEN 'timestamp(' || $2::text || ') without time zone[]' \
    WHEN $1 = 1185 AND $2 >= 0 THEN 'timestamp(' || $2::text || ') with time zone[]' \
    WHEN $1 = 1266 AND $2 >= 0 THEN 'time(' || $2::text || ') with time zone' \
    WHEN $1 = 1270 AND $2 >= 0 THEN 'time(' || $2::text || ') with time zone[]' \
    WHEN $1 = 1014 AND $2 = -1 THEN 'bpchar[]' \
    WHEN $1 IN (1186, 1187) AND $2 >= 0 THEN 'interval' || CASE ($2 >> 16) & 32767 \
    WHEN 4 THEN ' year' WHEN 2 THEN ' month' WHEN 8 THEN ' day' WHEN 1024 THEN ' hour' \
    WHEN 2048 THEN ' minute' WHEN 4096 THEN ' second' WHEN 6 THEN ' year to month' \
    WHEN 1032 THEN ' day to hour' WHEN 3080 THEN ' day to minute' \
    WHEN 7176 THEN ' day to second' WHEN 3072 THEN ' hour to minute' \
    WHEN 7168 THEN ' hour to second' WHEN 6144 THEN ' minute to second' ELSE '' END || \
    CASE WHEN $2 & 65535 < 65535 THEN '(' || ($2 & 65535)::text || ')' ELSE '' END || \
    CASE WHEN $1 = 1187 THEN '[]' ELSE '' END \
    WHEN $1 = 1560 AND $2 > 0 THEN 'bit(' || $2::text || ')' \
    WHEN $1 = 1561 AND $2 > 0 THEN 'bit(' || $2::text || ')[]' \
    WHEN $1 = 1562 AND $2 > 0 THEN 'bit varying(' || $2::text || ')' \
    WHEN $1 = 1563 AND $2 > 0 THEN 'bit varying(' || $2::text || ')[]' \
    WHEN $1 IN (15994, 15995) AND $2 > 0 THEN replace(",
    lookup!("pg_type", "oid", "formatted"),
    " || '(' || $2::text || ')', '[](' || $2::text || ')', '(' || $2::text || ')[]') ELSE ",
    lookup!("pg_type", "oid", "formatted"),
    " END"
);

/// date_trunc in a zone: what is shorter than a day keeps the offset from UTC.
const TRUNCATED_IN: &str = "(CASE WHEN lower($1) IN ('hour', 'hours', 'h', 'hr', 'hrs', 'minute', \
     'minutes', 'm', 'min', 'mins', 'second', 'seconds', 's', 'sec', 'secs', 'millisecond', \
     'milliseconds', 'ms', 'msec', 'msecs', 'microsecond', 'microseconds', 'us', 'usec', 'usecs') \
     AND isfinite(($2)::timestamptz) \
     THEN ($2)::timestamptz - ((($2)::timestamptz AT TIME ZONE $3) \
     - date_trunc($1, ($2)::timestamptz AT TIME ZONE $3)) \
     ELSE (date_trunc($1, ($2)::timestamptz AT TIME ZONE $3) AT TIME ZONE $3) END)";

const INDEX_DEFINITION: &str = lookup!("pg_index", "indexrelid", "indexdef");

/// The definition, or the column at the place `$2`, from 1.
const INDEX_PART: &str = concat!(
    "CASE WHEN $2 = 0 AND $3 THEN ",
    lookup!("pg_index", "indexrelid", "prettydef"),
    " WHEN $2 = 0 THEN ",
    lookup!("pg_index", "indexrelid", "indexdef"),
    " ELSE (SELECT max(CASE WHEN $3 THEN pgc.pgc_pretty ELSE pgc.pgc_name END) \
     FROM (SELECT a.attrelid AS pgc_index, a.attnum AS pgc_place, a.attindexdef AS pgc_name, \
     a.attindexpretty AS pgc_pretty FROM pg_catalog.pg_attribute AS a) AS pgc \
     WHERE pgc.pgc_index = $1 AND pgc.pgc_place = $2) END"
);

/// Everybody may call functions of the system.
const FUNCTION_PRIVILEGE: &str = concat!(
    "coalesce(",
    held!("function", "current_user", "($1)::regprocedure::oid", "$2"),
    ", true)"
);

const FUNCTION_PRIVILEGE_OF: &str =
    concat!("coalesce(", held!("function", "$1", "($2)::regprocedure::oid", "$3"), ", true)");

const TRIGGER_DEFINITION: &str = lookup!("pg_trigger", "oid", "definition");

/// The definition, for people where `$2` is true.
const TRIGGER_SHOWN: &str = concat!(
    "CASE WHEN $2 THEN ",
    lookup!("pg_trigger", "oid", "shown"),
    " ELSE ",
    lookup!("pg_trigger", "oid", "definition"),
    " END"
);

const CONSTRAINT_DEFINITION: &str = lookup!("pg_constraint", "oid", "condef");

/// The definition, for people where `$2` is true.
const CONSTRAINT_SHOWN: &str = concat!(
    "CASE WHEN $2 THEN ",
    lookup!("pg_constraint", "oid", "coalesce(conpretty, condef)"),
    " ELSE ",
    lookup!("pg_constraint", "oid", "condef"),
    " END"
);

/// The first of the texts that a column has of an expression.
const EXPRESSION: &str = "split_part($1, chr(1), 1)";

/// The first, or for people the second where there is one.
const EXPRESSION_SHOWN: &str =
    "coalesce(nullif(split_part($1, chr(1), CASE WHEN $3 THEN 2 ELSE 1 END), ''), $1)";

const VIEW_DEFINITION: &str = lookup!("pg_class", "oid", "viewdef", "($1)::regclass");

/// The query for people, unless `$2` is false.
const VIEW_SHOWN: &str = concat!(
    "CASE WHEN ($2)::text = 'false' THEN ",
    lookup!("pg_class", "oid", "viewdef", "($1)::regclass"),
    " ELSE ",
    lookup!("pg_class", "oid", "viewpretty", "($1)::regclass"),
    " END"
);

/// The value that a sequence gave last; NULL when it gave none.
const LAST_VALUE: &str = lookup!("pg_sequence", "seqrelid", "last", "($1)::regclass");

/// Which commands a relation takes: tables INSERT, UPDATE and DELETE, others none.
const UPDATABLE: &str = lookup!(
    "pg_class",
    "oid",
    "CASE WHEN relkind IN ('r', 'p') THEN 28 ELSE coalesce(updatable, 0) END",
    "($1)::regclass"
);

const COLUMN_UPDATABLE: &str = "(pg_relation_is_updatable($1, $3) & 20 = 20 AND ($2 < 0 OR \
     NOT EXISTS (SELECT FROM information_schema.columns AS pgc, pg_catalog.pg_class AS pgd, \
     pg_catalog.pg_namespace AS pge WHERE pgc.is_updatable = 'NO' AND pgc.ordinal_position = $2 \
     AND pgd.oid = $1::regclass AND pgc.table_name = pgd.relname AND pge.oid = pgd.relnamespace \
     AND pgc.table_schema = pge.nspname)))";

/// The place of a column of a table in the key of an index.
const INDEX_POSITION: &str = "(SELECT pgc.pgc_place FROM (SELECT indexrelid AS pgc_index, \
     array_position(indkey, $2::smallint) + 1 AS pgc_place FROM pg_catalog.pg_index) AS pgc \
     WHERE pgc.pgc_index = $1)";

/// When the database was opened.
const STARTED: &str = "(SELECT max(pgc.started) FROM pg_catalog.tessera_server AS pgc)";

/// Bytes of a relation, by number or name.
const SIZE: &str = lookup!("pg_class", "oid", "bytes", "($1)::regclass");

/// A size in units of `$unit`, rounded half away from zero.
macro_rules! in_unit {
    ($unit:literal, $half:literal, $name:literal) => {
        concat!(
            "trunc((($1)::numeric + sign(($1)::numeric) * ",
            $half,
            ") / ",
            $unit,
            ")::text || ' ",
            $name,
            "' "
        )
    };
}

/// The limits are those of 20479 half units, as PostgreSQL has them.
const PRETTY: &str = concat!(
    "CASE WHEN abs($1) < 10240 THEN ($1)::text || ' bytes' WHEN abs($1) < 10485248 THEN ",
    in_unit!("1024", "512", "kB"),
    "WHEN abs($1) < 10736893952 THEN ",
    in_unit!("1048576", "524288", "MB"),
    "WHEN abs($1) < 10994579406848 THEN ",
    in_unit!("1073741824", "536870912", "GB"),
    "WHEN abs($1) < 11258449312612352 THEN ",
    in_unit!("1099511627776", "549755813888", "TB"),
    "ELSE ",
    in_unit!("1125899906842624", "562949953421312", "PB"),
    "END"
);

/// The sequence that goes with a column, for `nextval`; the table as SQL text writes it.
const SERIAL_SEQUENCE: &str = "(SELECT max(pgc.pgc_name) FROM (SELECT owner_table AS pgc_table, \
     owner_shown AS pgc_shown, owner_column AS pgc_column, name AS pgc_name \
     FROM pg_catalog.pg_sequence) AS pgc WHERE pgc.pgc_column = $2::text \
     AND CASE WHEN $1::text LIKE '%\"%' THEN replace($1::text, '\"', '') \
     ELSE lower($1::text) END IN (replace(pgc.pgc_table, '\"', ''), \
     replace(pgc.pgc_shown, '\"', '')))";

/// The next sum of aggregates that begin with NULL.
macro_rules! summed {
    ($type:literal) => {
        concat!(
            "coalesce(($1)::",
            $type,
            " + ($2)::",
            $type,
            ", ($1)::",
            $type,
            ", ($2)::",
            $type,
            ")"
        )
    };
}

/// Count and sum with one more.
const COUNT_AND_SUM: &str = "ARRAY[($1)[1] + 1, ($1)[2] + ($2)::int8]::int8[]";

/// Count, sum and sum of squared distances with one more. Source: Youngs and Cramer 1971.
const MOMENTS: &str = "ARRAY[($1)[1] + 1, ($1)[2] + $2, ($1)[3] + CASE WHEN ($1)[1] > 0 THEN \
    power(($2) * (($1)[1] + 1) - (($1)[2] + $2), 2) / ((($1)[1] + 1) * ($1)[1]) \
    ELSE 0 END]::float8[]";

/// Name, numbers of arguments, expression.
const TEMPLATES: &[(&str, &[usize], &str)] = &[
    ("acldefault", &[2], lookup!("tessera_usual_rights", "key", "acl", "($1::text || $2::text)")),
    ("int2_sum", &[2], summed!("int8")),
    ("int4_sum", &[2], summed!("int8")),
    ("int8_sum", &[2], summed!("numeric")),
    ("int2_avg_accum", &[2], COUNT_AND_SUM),
    ("int4_avg_accum", &[2], COUNT_AND_SUM),
    (
        "int8_avg",
        &[1],
        "CASE WHEN ($1)[1] = 0 THEN NULL ELSE (($1)[2])::numeric / (($1)[1])::numeric END",
    ),
    ("float4_accum", &[2], MOMENTS),
    ("float8_accum", &[2], MOMENTS),
    ("float8_avg", &[1], "CASE WHEN ($1)[1] = 0 THEN NULL ELSE ($1)[2] / ($1)[1] END"),
    ("float8_var_pop", &[1], "CASE WHEN ($1)[1] = 0 THEN NULL ELSE ($1)[3] / ($1)[1] END"),
    ("float8_var_samp", &[1], "CASE WHEN ($1)[1] <= 1 THEN NULL ELSE ($1)[3] / (($1)[1] - 1) END"),
    ("float8_stddev_pop", &[1], "CASE WHEN ($1)[1] = 0 THEN NULL ELSE sqrt(($1)[3] / ($1)[1]) END"),
    (
        "float8_stddev_samp",
        &[1],
        "CASE WHEN ($1)[1] <= 1 THEN NULL ELSE sqrt(($1)[3] / (($1)[1] - 1)) END",
    ),
    ("pg_get_userbyid", &[1], lookup!("pg_roles", "oid", "rolname")),
    (
        "pg_table_is_visible",
        &[1],
        concat!("coalesce(", lookup!("pg_class", "oid", "visible"), ", true)"),
    ),
    ("pg_type_is_visible", &[1], concat!("(NOT ", lookup!("pg_type", "oid", "hidden"), ")")),
    ("pg_function_is_visible", &[1], "true"),
    ("pg_statistics_obj_is_visible", &[1], "true"),
    (
        "pg_collation_is_visible",
        &[1],
        concat!("(NOT ", lookup!("pg_collation", "oid", "hidden"), ")"),
    ),
    ("pg_conversion_is_visible", &[1], "true"),
    ("pg_opfamily_is_visible", &[1], "true"),
    ("pg_ts_config_is_visible", &[1], "true"),
    ("pg_ts_dict_is_visible", &[1], "true"),
    ("pg_ts_parser_is_visible", &[1], "true"),
    ("pg_ts_template_is_visible", &[1], "true"),
    ("pg_postmaster_start_time", &[0], STARTED),
    ("pg_conf_load_time", &[0], STARTED),
    ("pg_opclass_is_visible", &[1], "true"),
    ("pg_operator_is_visible", &[1], "true"),
    ("pg_sequence_last_value", &[1], LAST_VALUE),
    ("pg_relation_is_updatable", &[2], UPDATABLE),
    ("pg_column_is_updatable", &[3], COLUMN_UPDATABLE),
    ("pg_relation_filenode", &[1], lookup!("pg_class", "oid", "relfilenode", "($1)::regclass")),
    ("pg_get_function_sqlbody", &[1], lookup!("pg_proc", "oid", "prosqlbody")),
    (
        "pg_get_partition_constraintdef",
        &[1],
        lookup!("pg_class", "oid", "partconstraint", "($1)::regclass"),
    ),
    (
        "pg_partition_root",
        &[1],
        lookup!("pg_class", "oid", "nullif(partroot, 0::oid)::regclass", "($1)::regclass"),
    ),
    ("pg_get_statisticsobjdef", &[1], "NULL::text"),
    ("pg_get_statisticsobjdef_expressions", &[1], "NULL::text[]"),
    ("pg_blocking_pids", &[1], "'{}'::int[]"),
    ("pg_stat_get_numscans", &[1], "0::bigint"),
    ("row_security_active", &[1], "false"),
    ("pg_is_wal_replay_paused", &[0], "false"),
    ("_pg_char_max_length", &[2], "(CASE WHEN $2 > 4 AND $1 IN (1042, 1043) THEN $2 - 4 END)"),
    (
        "_pg_truetypid",
        &[2],
        "(CASE WHEN ($2).typtype = 'd' THEN ($2).typbasetype ELSE ($1).atttypid END)",
    ),
    (
        "_pg_truetypmod",
        &[2],
        "(CASE WHEN ($2).typtype = 'd' THEN ($2).typtypmod ELSE ($1).atttypmod END)",
    ),
    ("_pg_index_position", &[2], INDEX_POSITION),
    ("format_type", &[2], FORMAT_TYPE),
    ("pg_get_expr", &[2], EXPRESSION),
    ("pg_get_expr", &[3], EXPRESSION_SHOWN),
    ("pg_get_indexdef", &[1], INDEX_DEFINITION),
    ("pg_get_indexdef", &[3], INDEX_PART),
    ("pg_get_constraintdef", &[1], CONSTRAINT_DEFINITION),
    ("pg_get_constraintdef", &[2], CONSTRAINT_SHOWN),
    ("pg_get_viewdef", &[1], VIEW_DEFINITION),
    ("pg_get_viewdef", &[2], VIEW_SHOWN),
    ("pg_get_ruledef", &[1, 2], "NULL::text"),
    ("pg_get_triggerdef", &[1], TRIGGER_DEFINITION),
    ("pg_get_triggerdef", &[2], TRIGGER_SHOWN),
    ("pg_get_partkeydef", &[1], lookup!("pg_class", "oid", "partkeydef", "($1)::regclass")),
    ("pg_get_functiondef", &[1], lookup!("pg_proc", "oid", "definition")),
    ("pg_get_function_result", &[1], lookup!("pg_proc", "oid", "result")),
    ("pg_get_function_arguments", &[1], lookup!("pg_proc", "oid", "arguments")),
    ("pg_get_function_identity_arguments", &[1], lookup!("pg_proc", "oid", "identity")),
    ("pg_get_statisticsobjdef_columns", &[1], "NULL::text"),
    ("obj_description", &[1], described!("pg_description", "objsubid", "pgc.pgc_part = 0")),
    (
        "obj_description",
        &[2],
        described!("pg_description", "objsubid", "pgc.pgc_part = 0 AND pgc.pgc_class = $2::text"),
    ),
    ("shobj_description", &[2], described!("pg_shdescription", "0", "pgc.pgc_class = $2::text")),
    (
        "col_description",
        &[2],
        described!("pg_description", "objsubid", "pgc.pgc_part = $2 AND $2 > 0"),
    ),
    ("pg_get_serial_sequence", &[2], SERIAL_SEQUENCE),
    ("pg_relation_is_publishable", &[1], "false"),
    ("pg_relation_size", &[1, 2], SIZE),
    ("pg_table_size", &[1], SIZE),
    ("pg_indexes_size", &[1], "0::bigint"),
    ("pg_total_relation_size", &[1], SIZE),
    ("pg_database_size", &[1], "(SELECT sum(c.bytes)::bigint FROM pg_catalog.pg_class c)"),
    ("pg_size_pretty", &[1], PRETTY),
    // In the words of Unix.
    ("timeofday", &[0], "to_char(clock_timestamp(), 'Dy Mon DD HH24:MI:SS.US YYYY TZ')"),
    ("length", &[2], "char_length(convert_from($1, $2))"),
    ("date_trunc", &[3], TRUNCATED_IN),
    (
        "make_timestamptz",
        &[7],
        "(make_timestamp($1, $2, $3, $4, $5, $6) AT TIME ZONE zone_of_time($7))",
    ),
    ("pg_tablespace_location", &[1], "''"),
    ("pg_client_encoding", &[0], "current_setting('client_encoding')::name"),
    ("getdatabaseencoding", &[0], "'UTF8'::name"),
    (
        "current_schemas",
        &[1],
        "coalesce((SELECT array_agg(pgp.name ORDER BY pgp.place) \
         FROM pg_catalog.tessera_search_path AS pgp WHERE $1 OR NOT pgp.implied), \
         ARRAY[]::name[])",
    ),
    ("pg_partition_ancestors", &[1], "$1::bigint"),
    ("pg_is_in_recovery", &[0], "false"),
    ("pg_is_other_temp_schema", &[1], "false"),
    (
        "pg_my_temp_schema",
        &[0],
        "coalesce((SELECT max(pgc.oid) FROM pg_catalog.pg_namespace AS pgc \
         WHERE pgc.nspname = 'pg_temp'), 0::oid)",
    ),
    ("inet_server_addr", &[0], "NULL::text"),
    ("inet_client_addr", &[0], "NULL::text"),
    ("has_table_privilege", &[2], held_there!("relation", "regclass", "current_user", "$1", "$2")),
    ("has_table_privilege", &[3], held_there!("relation", "regclass", "$1", "$2", "$3")),
    ("has_any_column_privilege", &[2], held_of!("current_user", "$1", "$2", "true")),
    ("has_any_column_privilege", &[3], held_of!("$1", "$2", "$3", "true")),
    ("has_column_privilege", &[3], held_of!("current_user", "$1", "$3", "pgc.pgc_part = $2::text")),
    ("has_column_privilege", &[4], held_of!("$1", "$2", "$4", "pgc.pgc_part = $3::text")),
    (
        "has_sequence_privilege",
        &[2],
        held_there!("relation", "regclass", "current_user", "$1", "$2"),
    ),
    ("has_sequence_privilege", &[3], held_there!("relation", "regclass", "$1", "$2", "$3")),
    (
        "has_schema_privilege",
        &[2],
        held_there!("schema", "regnamespace", "current_user", "$1", "$2"),
    ),
    ("has_schema_privilege", &[3], held_there!("schema", "regnamespace", "$1", "$2", "$3")),
    ("has_database_privilege", &[2], held!("database", "current_user", "$1", "$2")),
    ("has_database_privilege", &[3], held!("database", "$1", "$2", "$3")),
    ("has_function_privilege", &[2], FUNCTION_PRIVILEGE),
    ("has_function_privilege", &[3], FUNCTION_PRIVILEGE_OF),
    ("pg_has_role", &[2], member!("current_user", "$1", "$2")),
    ("pg_has_role", &[3], member!("$1", "$2", "$3")),
];
