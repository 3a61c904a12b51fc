//! Tables of the catalog and their columns.

use types::{DataType, ElementType, RegKind};

use super::catalogs::CATALOGS;

/// Columns of pg_stat_all_tables and its kin.
const TABLE_COUNTS: &str = "\
    relid:o schemaname:n relname:n seq_scan:l seq_tup_read:l idx_scan:l idx_tup_fetch:l \
    n_tup_ins:l n_tup_upd:l n_tup_del:l n_tup_hot_upd:l n_live_tup:l n_dead_tup:l \
    n_mod_since_analyze:l n_ins_since_vacuum:l last_vacuum:t last_autovacuum:t \
    last_analyze:t last_autoanalyze:t vacuum_count:l autovacuum_count:l analyze_count:l \
    autoanalyze_count:l";

/// Columns of pg_statio_all_tables and its kin.
const TABLE_READS: &str = "\
    relid:o schemaname:n relname:n heap_blks_read:l heap_blks_hit:l idx_blks_read:l \
    idx_blks_hit:l toast_blks_read:l toast_blks_hit:l tidx_blks_read:l tidx_blks_hit:l";

/// Columns of pg_stat_all_indexes and its kin.
const INDEX_COUNTS: &str = "\
    relid:o indexrelid:o schemaname:n relname:n indexrelname:n idx_scan:l idx_tup_read:l \
    idx_tup_fetch:l";

/// Columns of pg_statio_all_indexes and its kin.
const INDEX_READS: &str = "\
    relid:o indexrelid:o schemaname:n relname:n indexrelname:n idx_blks_read:l \
    idx_blks_hit:l";

/// Columns of pg_statio_all_sequences and its kin.
const SEQUENCE_READS: &str = "relid:o schemaname:n relname:n blks_read:l blks_hit:l";

/// Name and columns: `name:type`, a point before the name of one that `*` does not show. The type
/// is o (oid), n (text), b (boolean), l (bigint), i (integer), s (smallint), f (real),
/// t (timestamptz), v (interval), m (name), c ("char"), x (xid), p (regproc), y (regtype),
/// w (varchar), d (double precision), a (bytea); F, S, O, N, M, C and R are arrays of f, s, o, n,
/// m, c and y, A is one of aclitem; sv and ov are int2vector and oidvector.
const TABLES: &[(&str, &str)] = &[
    ("pg_catalog.pg_namespace", "oid:o nspname:m nspowner:o nspacl:A"),
    (
        "pg_catalog.pg_class",
        "oid:o relname:m relnamespace:o reltype:o reloftype:o relowner:o relam:o \
         relfilenode:o reltablespace:o relpages:i reltuples:f relallvisible:i reltoastrelid:o \
         relhasindex:b relisshared:b relpersistence:c relkind:c relnatts:s relchecks:s \
         relhasrules:b relhastriggers:b relhassubclass:b relrowsecurity:b \
         relforcerowsecurity:b relispopulated:b relreplident:c relispartition:b relrewrite:o \
         relfrozenxid:x relminmxid:x relacl:A reloptions:N relpartbound:n \
         .bytes:l .viewdef:n .viewpretty:n .updatable:i .shown:n .fullname:n .visible:b \
         .partkeydef:n .partconstraint:n .partroot:o",
    ),
    // The search path, for functions.
    ("pg_catalog.tessera_search_path", "place:l name:m implied:b"),
    (
        "pg_catalog.pg_attribute",
        "attrelid:o attname:m atttypid:o attstattarget:i attlen:s attnum:s attndims:i \
         attcacheoff:i atttypmod:i attbyval:b attalign:c attstorage:c attcompression:c \
         attnotnull:b atthasdef:b atthasmissing:b attidentity:c attgenerated:c attisdropped:b \
         attislocal:b attinhcount:i attcollation:o attacl:A attoptions:N attfdwoptions:N \
         attmissingval:n .attindexdef:n .attindexpretty:n",
    ),
    (
        "pg_catalog.pg_type",
        "oid:o typname:m typnamespace:o typowner:o typlen:s typbyval:b typtype:c \
         typcategory:c typispreferred:b typisdefined:b typdelim:c typrelid:o typsubscript:p \
         typelem:o typarray:o typinput:p typoutput:p typreceive:p typsend:p typmodin:p \
         typmodout:p typanalyze:p typalign:c typstorage:c typnotnull:b typbasetype:o \
         typtypmod:i typndims:i typcollation:o typdefaultbin:n typdefault:n typacl:A \
         .formatted:n .hidden:b",
    ),
    (
        "pg_catalog.pg_index",
        "indexrelid:o indrelid:o indnatts:s indnkeyatts:s indisunique:b indnullsnotdistinct:b \
         indisprimary:b indisexclusion:b indimmediate:b indisclustered:b indisvalid:b \
         indcheckxmin:b indisready:b indislive:b indisreplident:b indkey:sv indcollation:ov \
         indclass:ov indoption:sv indexprs:n indpred:n .indexdef:n .prettydef:n",
    ),
    (
        "pg_catalog.pg_constraint",
        "oid:o conname:m connamespace:o contype:c condeferrable:b condeferred:b \
         convalidated:b conrelid:o contypid:o conindid:o conparentid:o confrelid:o \
         confupdtype:c confdeltype:c confmatchtype:c conislocal:b coninhcount:i \
         connoinherit:b conkey:S confkey:S conpfeqop:O conppeqop:O conffeqop:O \
         confdelsetcols:S conexclop:O conbin:n .condef:n .conpretty:n",
    ),
    ("pg_catalog.pg_attrdef", "oid:o adrelid:o adnum:s adbin:n"),
    (
        "pg_catalog.pg_roles",
        "rolname:m rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b \
         rolreplication:b rolconnlimit:i rolpassword:n rolvaliduntil:t rolbypassrls:b \
         rolconfig:N oid:o",
    ),
    (
        "pg_catalog.pg_user",
        "usename:m usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd:n \
         valuntil:t useconfig:N",
    ),
    ("pg_catalog.pg_db_role_setting", "setdatabase:o setrole:o setconfig:N"),
    // What each role may do with each object, and what it is a member of: for functions.
    ("pg_catalog.tessera_privileges", "rolname:n kind:n oid:o name:n shown:n held:n"),
    ("pg_catalog.tessera_members", "member:n rolname:n oid:o inherited:b"),
    ("pg_catalog.tessera_column_privileges", "rolname:n oid:o name:n shown:n part:n held:n"),
    // The numbers of PostgreSQL's own tables, and what acldefault says of each role: for functions.
    ("pg_catalog.tessera_catalogs", "name:n oid:o"),
    ("pg_catalog.tessera_usual_rights", "key:n acl:N"),
    ("pg_catalog.pg_auth_members", "roleid:o member:o grantor:o admin_option:b"),
    (
        "pg_catalog.pg_database",
        "oid:o datname:m datdba:o encoding:i datlocprovider:c datistemplate:b datallowconn:b \
         datconnlimit:i datfrozenxid:x datminmxid:x dattablespace:o datcollate:n datctype:n \
         daticulocale:n datcollversion:n datacl:A",
    ),
    (
        "pg_catalog.pg_authid",
        "oid:o rolname:m rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b \
         rolreplication:b rolbypassrls:b rolconnlimit:i rolpassword:n rolvaliduntil:t",
    ),
    (
        "pg_catalog.pg_default_acl",
        "oid:o defaclrole:o defaclnamespace:o defaclobjtype:c defaclacl:A",
    ),
    (
        "pg_catalog.pg_extension",
        "oid:o extname:m extowner:o extnamespace:o extrelocatable:b extversion:n extconfig:O \
         extcondition:N",
    ),
    ("pg_catalog.pg_am", "oid:o amname:m amhandler:p amtype:c"),
    ("pg_catalog.pg_tablespace", "oid:o spcname:m spcowner:o spcacl:A spcoptions:N"),
    (
        "pg_catalog.pg_settings",
        "name:n setting:n unit:n category:n short_desc:n extra_desc:n context:n vartype:n \
         source:n min_val:n max_val:n enumvals:N boot_val:n reset_val:n sourcefile:n \
         sourceline:i pending_restart:b",
    ),
    (
        "pg_catalog.pg_sequence",
        "seqrelid:o seqtypid:o seqstart:l seqincrement:l seqmax:l seqmin:l seqcache:l \
         seqcycle:b .name:n .owner_table:n .owner_shown:n .owner_column:n .last:l",
    ),
    (
        "pg_catalog.pg_tables",
        "schemaname:m tablename:m tableowner:m tablespace:m hasindexes:b hasrules:b \
         hastriggers:b rowsecurity:b",
    ),
    ("pg_catalog.pg_views", "schemaname:m viewname:m viewowner:m definition:n"),
    ("pg_catalog.pg_indexes", "schemaname:m tablename:m indexname:m tablespace:m indexdef:n"),
    (
        "pg_catalog.pg_stat_activity",
        "datid:o datname:m pid:i leader_pid:i usesysid:o usename:m application_name:n \
         client_addr:n client_hostname:n client_port:i backend_start:t xact_start:t \
         query_start:t state_change:t wait_event_type:n wait_event:n state:n backend_xid:x \
         backend_xmin:x query_id:l query:n backend_type:n",
    ),
    (
        "pg_catalog.tessera_queries",
        "session_id:l usename:n application_name:n query:n query_start:t elapsed_ms:l \
         orders_done:l orders_known:l state:n bytes_asked:l bytes_granted:l waiting_since:t",
    ),
    (
        "pg_catalog.tessera_work_orders",
        "session_id:l usename:n priority:l orders:l begun:l running:l predicted_us:l",
    ),
    (
        "pg_catalog.tessera_operators",
        "session_id:l usename:n operator_id:l operator:n pipeline:l state:n orders:l \
         orders_done:l measured_us:l predicted_us:l",
    ),
    ("pg_catalog.pg_description", "objoid:o classoid:o objsubid:i description:n .class:n"),
    ("pg_catalog.pg_shdescription", "objoid:o classoid:o description:n .class:n"),
    ("pg_catalog.pg_ts_config", "oid:o cfgname:m cfgnamespace:o cfgowner:o cfgparser:o"),
    ("pg_catalog.pg_ts_config_map", "mapcfg:o maptokentype:i mapseqno:i mapdict:o"),
    (
        "pg_catalog.pg_ts_dict",
        "oid:o dictname:m dictnamespace:o dictowner:o dicttemplate:o dictinitoption:n",
    ),
    (
        "pg_catalog.pg_ts_parser",
        "oid:o prsname:m prsnamespace:o prsstart:p prstoken:p prsend:p prsheadline:p \
         prslextype:p",
    ),
    ("pg_catalog.pg_ts_template", "oid:o tmplname:m tmplnamespace:o tmplinit:p tmpllexize:p"),
    (
        "pg_catalog.pg_language",
        "oid:o lanname:m lanowner:o lanispl:b lanpltrusted:b lanplcallfoid:o laninline:o \
         lanvalidator:o lanacl:A",
    ),
    (
        "pg_catalog.pg_collation",
        "oid:o collname:m collnamespace:o collowner:o collprovider:c collisdeterministic:b \
         collencoding:i collcollate:n collctype:n colliculocale:n collversion:n .hidden:b",
    ),
    (
        "pg_catalog.pg_depend",
        "classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype:c",
    ),
    (
        "pg_catalog.pg_rewrite",
        "oid:o rulename:m ev_class:o ev_type:c ev_enabled:c is_instead:b ev_qual:n \
         ev_action:n",
    ),
    ("pg_catalog.pg_stat_all_tables", TABLE_COUNTS),
    ("pg_catalog.pg_statio_all_tables", TABLE_READS),
    ("pg_catalog.pg_stat_all_indexes", INDEX_COUNTS),
    ("pg_catalog.pg_statio_all_indexes", INDEX_READS),
    ("pg_catalog.pg_statio_all_sequences", SEQUENCE_READS),
    ("pg_catalog.pg_stat_user_tables", TABLE_COUNTS),
    ("pg_catalog.pg_statio_user_tables", TABLE_READS),
    ("pg_catalog.pg_stat_user_indexes", INDEX_COUNTS),
    ("pg_catalog.pg_statio_user_indexes", INDEX_READS),
    ("pg_catalog.pg_statio_user_sequences", SEQUENCE_READS),
    ("pg_catalog.pg_stat_sys_tables", TABLE_COUNTS),
    ("pg_catalog.pg_statio_sys_tables", TABLE_READS),
    ("pg_catalog.pg_stat_sys_indexes", INDEX_COUNTS),
    ("pg_catalog.pg_statio_sys_indexes", INDEX_READS),
    ("pg_catalog.pg_statio_sys_sequences", SEQUENCE_READS),
    (
        "pg_catalog.pg_sequences",
        "schemaname:m sequencename:m sequenceowner:m data_type:y start_value:l min_value:l \
         max_value:l increment_by:l cycle:b cache_size:l last_value:l",
    ),
    (
        "pg_catalog.pg_prepared_statements",
        "name:n statement:n prepare_time:t parameter_types:R from_sql:b generic_plans:l \
         custom_plans:l",
    ),
    ("pg_catalog.pg_timezone_names", "name:n abbrev:n utc_offset:v is_dst:b"),
    // A function.
    ("pg_catalog.pg_get_keywords", "word:n catcode:n barelabel:b catdesc:n baredesc:n"),
    // For functions.
    ("pg_catalog.tessera_server", "started:t"),
    (
        "pg_catalog.pg_matviews",
        "schemaname:m matviewname:m matviewowner:m tablespace:m hasindexes:b ispopulated:b \
         definition:n",
    ),
    (
        "pg_catalog.pg_seclabels",
        "objoid:o classoid:o objsubid:i objtype:n objnamespace:o objname:n provider:n label:n",
    ),
    (
        "pg_catalog.pg_locks",
        "locktype:n database:o relation:o page:i tuple:s virtualxid:n transactionid:x \
         classid:o objid:o objsubid:s virtualtransaction:n pid:i mode:n granted:b fastpath:b \
         waitstart:t",
    ),
    ("pg_catalog.pg_prepared_xacts", "transaction:x gid:n prepared:t owner:m database:m"),
    (
        "pg_catalog.pg_cursors",
        "name:n statement:n is_holdable:b is_binary:b is_scrollable:b creation_time:t",
    ),
    // A function with WITH ORDINALITY.
    ("pg_catalog.pg_partition_ancestors", "relid:o depth:l"),
    (
        "information_schema.schemata",
        "catalog_name:m schema_name:m schema_owner:m default_character_set_catalog:m \
         default_character_set_schema:m default_character_set_name:m sql_path:w",
    ),
    (
        "information_schema.tables",
        "table_catalog:m table_schema:m table_name:m table_type:w \
         self_referencing_column_name:m reference_generation:w user_defined_type_catalog:m \
         user_defined_type_schema:m user_defined_type_name:m is_insertable_into:w is_typed:w \
         commit_action:w",
    ),
    (
        "information_schema.columns",
        "table_catalog:m table_schema:m table_name:m column_name:m ordinal_position:i \
         column_default:w is_nullable:w data_type:w character_maximum_length:i \
         character_octet_length:i numeric_precision:i numeric_precision_radix:i \
         numeric_scale:i datetime_precision:i interval_type:w interval_precision:i \
         character_set_catalog:m character_set_schema:m character_set_name:m \
         collation_catalog:m collation_schema:m collation_name:m domain_catalog:m \
         domain_schema:m domain_name:m udt_catalog:m udt_schema:m udt_name:m scope_catalog:m \
         scope_schema:m scope_name:m maximum_cardinality:i dtd_identifier:m \
         is_self_referencing:w is_identity:w identity_generation:w identity_start:w \
         identity_increment:w identity_maximum:w identity_minimum:w identity_cycle:w \
         is_generated:w generation_expression:w is_updatable:w",
    ),
    (
        "information_schema.views",
        "table_catalog:m table_schema:m table_name:m view_definition:w check_option:w \
         is_updatable:w is_insertable_into:w is_trigger_updatable:w is_trigger_deletable:w \
         is_trigger_insertable_into:w",
    ),
    (
        "information_schema.table_constraints",
        "constraint_catalog:m constraint_schema:m constraint_name:m table_catalog:m \
         table_schema:m table_name:m constraint_type:w is_deferrable:w initially_deferred:w \
         enforced:w nulls_distinct:w",
    ),
    (
        "information_schema.key_column_usage",
        "constraint_catalog:m constraint_schema:m constraint_name:m table_catalog:m \
         table_schema:m table_name:m column_name:m ordinal_position:i \
         position_in_unique_constraint:i",
    ),
    (
        "information_schema.table_privileges",
        "grantor:m grantee:m table_catalog:m table_schema:m table_name:m privilege_type:w \
         is_grantable:w with_hierarchy:w",
    ),
    (
        "information_schema.column_privileges",
        "grantor:m grantee:m table_catalog:m table_schema:m table_name:m column_name:m \
         privilege_type:w is_grantable:w",
    ),
    (
        "information_schema.role_column_grants",
        "grantor:m grantee:m table_catalog:m table_schema:m table_name:m column_name:m \
         privilege_type:w is_grantable:w",
    ),
    (
        "information_schema.role_table_grants",
        "grantor:m grantee:m table_catalog:m table_schema:m table_name:m privilege_type:w \
         is_grantable:w with_hierarchy:w",
    ),
    ("information_schema.enabled_roles", "role_name:m"),
    ("information_schema.applicable_roles", "grantee:m role_name:m is_grantable:w"),
    (
        "information_schema.constraint_column_usage",
        "table_catalog:m table_schema:m table_name:m column_name:m constraint_catalog:m \
         constraint_schema:m constraint_name:m",
    ),
    (
        "information_schema.referential_constraints",
        "constraint_catalog:m constraint_schema:m constraint_name:m \
         unique_constraint_catalog:m unique_constraint_schema:m unique_constraint_name:m \
         match_option:w update_rule:w delete_rule:w",
    ),
    (
        "information_schema.check_constraints",
        "constraint_catalog:m constraint_schema:m constraint_name:m check_clause:w",
    ),
    (
        "information_schema.routines",
        "specific_catalog:m specific_schema:m specific_name:m routine_catalog:m \
         routine_schema:m routine_name:m routine_type:w module_catalog:m module_schema:m \
         module_name:m udt_catalog:m udt_schema:m udt_name:m data_type:w \
         character_maximum_length:i character_octet_length:i character_set_catalog:m \
         character_set_schema:m character_set_name:m collation_catalog:m collation_schema:m \
         collation_name:m numeric_precision:i numeric_precision_radix:i numeric_scale:i \
         datetime_precision:i interval_type:w interval_precision:i type_udt_catalog:m \
         type_udt_schema:m type_udt_name:m scope_catalog:m scope_schema:m scope_name:m \
         maximum_cardinality:i dtd_identifier:m routine_body:w routine_definition:w \
         external_name:w external_language:w parameter_style:w is_deterministic:w \
         sql_data_access:w is_null_call:w sql_path:w schema_level_routine:w \
         max_dynamic_result_sets:i is_user_defined_cast:w is_implicitly_invocable:w \
         security_type:w to_sql_specific_catalog:m to_sql_specific_schema:m \
         to_sql_specific_name:m as_locator:w created:t last_altered:t new_savepoint_level:w \
         is_udt_dependent:w result_cast_from_data_type:w result_cast_as_locator:w \
         result_cast_char_max_length:i result_cast_char_octet_length:i \
         result_cast_char_set_catalog:m result_cast_char_set_schema:m \
         result_cast_char_set_name:m result_cast_collation_catalog:m \
         result_cast_collation_schema:m result_cast_collation_name:m \
         result_cast_numeric_precision:i result_cast_numeric_precision_radix:i \
         result_cast_numeric_scale:i result_cast_datetime_precision:i \
         result_cast_interval_type:w result_cast_interval_precision:i \
         result_cast_type_udt_catalog:m result_cast_type_udt_schema:m \
         result_cast_type_udt_name:m result_cast_scope_catalog:m result_cast_scope_schema:m \
         result_cast_scope_name:m result_cast_maximum_cardinality:i \
         result_cast_dtd_identifier:m",
    ),
    (
        "information_schema.parameters",
        "specific_catalog:m specific_schema:m specific_name:m ordinal_position:i \
         parameter_mode:w is_result:w as_locator:w parameter_name:m data_type:w \
         character_maximum_length:i character_octet_length:i character_set_catalog:m \
         character_set_schema:m character_set_name:m collation_catalog:m collation_schema:m \
         collation_name:m numeric_precision:i numeric_precision_radix:i numeric_scale:i \
         datetime_precision:i interval_type:w interval_precision:i udt_catalog:m udt_schema:m \
         udt_name:m scope_catalog:m scope_schema:m scope_name:m maximum_cardinality:i \
         dtd_identifier:m parameter_default:w",
    ),
    (
        "information_schema.triggers",
        "trigger_catalog:m trigger_schema:m trigger_name:m event_manipulation:w \
         event_object_catalog:m event_object_schema:m event_object_table:m action_order:i \
         action_condition:w action_statement:w action_orientation:w action_timing:w \
         action_reference_old_table:m action_reference_new_table:m action_reference_old_row:m \
         action_reference_new_row:m created:t",
    ),
    (
        "information_schema.domains",
        "domain_catalog:m domain_schema:m domain_name:m data_type:w \
         character_maximum_length:i character_octet_length:i character_set_catalog:m \
         character_set_schema:m character_set_name:m collation_catalog:m collation_schema:m \
         collation_name:m numeric_precision:i numeric_precision_radix:i numeric_scale:i \
         datetime_precision:i interval_type:w interval_precision:i domain_default:w \
         udt_catalog:m udt_schema:m udt_name:m scope_catalog:m scope_schema:m scope_name:m \
         maximum_cardinality:i dtd_identifier:m",
    ),
    ("pg_catalog.pg_rules", "schemaname:m tablename:m rulename:m definition:n"),
    (
        "pg_catalog.pg_policies",
        "schemaname:m tablename:m policyname:m permissive:n roles:M cmd:n qual:n with_check:n",
    ),
    (
        "pg_catalog.pg_available_extensions",
        "name:m default_version:n installed_version:n comment:n",
    ),
    (
        "information_schema.sequences",
        "sequence_catalog:m sequence_schema:m sequence_name:m data_type:w numeric_precision:i \
         numeric_precision_radix:i numeric_scale:i start_value:w minimum_value:w \
         maximum_value:w increment:w cycle_option:w",
    ),
];

/// Schema and name of each table and view.
pub(super) fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = TABLES.iter().map(|(name, _)| *name).chain(views().map(|(name, _)| name));
    all.filter_map(|name| name.split_once('.'))
}

/// Name and columns of more views, most of them empty: a line for each.
const VIEWS: &str = include_str!("data/views.tsv");

fn views() -> impl Iterator<Item = (&'static str, &'static str)> {
    VIEWS.lines().filter_map(|line| line.split_once('\t'))
}

/// The columns of a table; None when there is none of that name.
pub(super) fn find(schema: &str, name: &str) -> Option<Vec<(&'static str, DataType)>> {
    let is_meant = |table: &&(&str, &str)| {
        table.0.strip_prefix(schema).and_then(|rest| rest.strip_prefix('.')) == Some(name)
    };
    let is_empty = |(known, _, columns): &&(&str, i64, &str)| {
        schema == "pg_catalog" && *known == name && !columns.is_empty()
    };
    let columns = match TABLES.iter().find(is_meant) {
        Some((_, columns)) => *columns,
        None => match CATALOGS.iter().find(is_empty) {
            Some((.., columns)) => columns,
            None => views().find(|view| is_meant(&view))?.1,
        },
    };
    let column = |column: &'static str| {
        let (name, ty) = column.split_once(':')?;
        Some((
            name,
            match ty {
                "o" => DataType::Oid,
                "b" => DataType::Boolean,
                "l" => DataType::BigInt,
                "i" => DataType::Integer,
                "s" => DataType::SmallInt,
                "f" => DataType::Real,
                "S" => DataType::Array(ElementType::SmallInt),
                "O" => DataType::Array(ElementType::Oid),
                "N" => DataType::Array(ElementType::Text),
                "M" => DataType::Array(ElementType::Name),
                "A" => DataType::Array(ElementType::AclItem),
                "C" => DataType::Array(ElementType::InternalChar),
                "R" => DataType::Array(ElementType::Reg(RegKind::Type)),
                "sv" => DataType::Array(ElementType::VectorSmallInt),
                "ov" => DataType::Array(ElementType::VectorOid),
                "t" => DataType::TIMESTAMPTZ,
                "v" => DataType::INTERVAL,
                "m" => DataType::Name,
                "c" => DataType::InternalChar,
                "x" => DataType::Xid,
                "p" => DataType::Reg(RegKind::Proc),
                "y" => DataType::Reg(RegKind::Type),
                "w" => DataType::Varchar(None),
                "d" => DataType::Double,
                "a" => DataType::Bytea,
                "F" => DataType::Array(ElementType::Real),
                _ => DataType::Text,
            },
        ))
    };
    columns.split_whitespace().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_tables_have_columns() {
        for (name, _, columns) in CATALOGS {
            let found = find("pg_catalog", name).expect("a table");
            let count = columns.split_whitespace().count();
            assert!(columns.is_empty() || found.len() == count, "{name}");
        }
    }

    #[test]
    fn all_tables_have_columns() {
        for (name, columns) in TABLES {
            let (schema, table) = name.split_once('.').expect("a schema");
            let found = find(schema, table).expect("columns");
            assert_eq!(found.len(), columns.split_whitespace().count(), "{name}");
        }
        assert!(find("pg_catalog", "pg_nothing").is_none());
    }
}
