//! Tables of the catalog and their columns.

use types::{DataType, ElementType};

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

/// Name and columns: `name:type`, where the type is o (oid), n (text), b (boolean), l (bigint),
/// i (integer), s (smallint), f (real), t (timestamptz), v (interval); S, O and N are arrays of
/// s, o
/// and n.
const TABLES: &[(&str, &str)] = &[
    ("pg_catalog.pg_namespace", "oid:o nspname:n nspowner:o nspacl:N"),
    (
        "pg_catalog.pg_class",
        "oid:o relname:n relnamespace:o reltype:o reloftype:o relowner:o relam:o relfilenode:o \
         reltablespace:o relpages:i reltuples:f relallvisible:i reltoastrelid:o relhasindex:b \
         relisshared:b relpersistence:n relkind:n relnatts:s relchecks:s relhasrules:b \
         relhastriggers:b relhassubclass:b relrowsecurity:b relforcerowsecurity:b \
         relispopulated:b relreplident:n relispartition:b relrewrite:o relfrozenxid:l \
         relminmxid:l relacl:N reloptions:N relpartbound:n bytes:l viewdef:n shown:n fullname:n \
         visible:b",
    ),
    // The search path, for functions.
    ("pg_catalog.tessera_search_path", "place:l name:n implied:b"),
    (
        "pg_catalog.pg_attribute",
        "attrelid:o attname:n atttypid:o attstattarget:i attlen:s attnum:s attndims:i \
         attcacheoff:i atttypmod:i attbyval:b attalign:n attstorage:n attcompression:n \
         attnotnull:b atthasdef:b atthasmissing:b attidentity:n attgenerated:n attisdropped:b \
         attislocal:b attinhcount:i attcollation:o attacl:N attoptions:N attfdwoptions:N \
         attmissingval:n attindexdef:n",
    ),
    (
        "pg_catalog.pg_type",
        "oid:o typname:n typnamespace:o typowner:o typlen:s typbyval:b typtype:n typcategory:n \
         typispreferred:b typisdefined:b typdelim:n typrelid:o typsubscript:n typelem:o \
         typarray:o typinput:n typoutput:n typreceive:n typsend:n typalign:n typstorage:n \
         typnotnull:b typbasetype:o typtypmod:i typndims:i typcollation:o typdefault:n typacl:N \
         formatted:n",
    ),
    (
        "pg_catalog.pg_index",
        "indexrelid:o indrelid:o indnatts:s indnkeyatts:s indisunique:b indnullsnotdistinct:b \
         indisprimary:b indisexclusion:b indimmediate:b indisclustered:b indisvalid:b \
         indcheckxmin:b indisready:b indislive:b indisreplident:b indkey:S indcollation:O \
         indclass:O indoption:S indexprs:n indpred:n indexdef:n",
    ),
    (
        "pg_catalog.pg_constraint",
        "oid:o conname:n connamespace:o contype:n condeferrable:b condeferred:b convalidated:b \
         conrelid:o contypid:o conindid:o conparentid:o confrelid:o confupdtype:n confdeltype:n \
         confmatchtype:n conislocal:b coninhcount:i connoinherit:b conkey:S confkey:S conpfeqop:O \
         conppeqop:O conffeqop:O confdelsetcols:S conexclop:O conbin:n condef:n",
    ),
    ("pg_catalog.pg_attrdef", "oid:o adrelid:o adnum:s adbin:n"),
    (
        "pg_catalog.pg_roles",
        "oid:o rolname:n rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b \
         rolreplication:b rolconnlimit:i rolpassword:n rolvaliduntil:t rolbypassrls:b rolconfig:N",
    ),
    (
        "pg_catalog.pg_user",
        "usename:n usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd:n \
         valuntil:t useconfig:N",
    ),
    ("pg_catalog.pg_db_role_setting", "setdatabase:o setrole:o setconfig:N"),
    // What each role may do with each object, and what it is a member of: for functions.
    ("pg_catalog.tessera_privileges", "rolname:n kind:n oid:o name:n shown:n held:n"),
    ("pg_catalog.tessera_members", "member:n rolname:n oid:o inherited:b"),
    ("pg_catalog.tessera_column_privileges", "rolname:n oid:o name:n part:n held:n"),
    // The numbers of PostgreSQL's own tables, and what acldefault says of each role: for functions.
    ("pg_catalog.tessera_catalogs", "name:n oid:o"),
    ("pg_catalog.tessera_usual_rights", "key:n acl:N"),
    ("pg_catalog.pg_auth_members", "roleid:o member:o grantor:o admin_option:b"),
    (
        "pg_catalog.pg_database",
        "oid:o datname:n datdba:o encoding:i datlocprovider:n datistemplate:b datallowconn:b \
         datconnlimit:i datfrozenxid:l datminmxid:l dattablespace:o datcollate:n datctype:n \
         daticulocale:n datcollversion:n datacl:N",
    ),
    (
        "pg_catalog.pg_authid",
        "oid:o rolname:n rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b \
         rolreplication:b rolbypassrls:b rolconnlimit:i rolpassword:n rolvaliduntil:t",
    ),
    (
        "pg_catalog.pg_default_acl",
        "oid:o defaclrole:o defaclnamespace:o defaclobjtype:n defaclacl:N",
    ),
    (
        "pg_catalog.pg_extension",
        "oid:o extname:n extowner:o extnamespace:o extrelocatable:b extversion:n extconfig:O \
         extcondition:N",
    ),
    ("pg_catalog.pg_am", "oid:o amname:n amhandler:n amtype:n"),
    ("pg_catalog.pg_tablespace", "oid:o spcname:n spcowner:o spcacl:N spcoptions:N"),
    (
        "pg_catalog.pg_settings",
        "name:n setting:n unit:n category:n short_desc:n extra_desc:n context:n vartype:n \
         source:n min_val:n max_val:n boot_val:n reset_val:n",
    ),
    (
        "pg_catalog.pg_sequence",
        "seqrelid:o seqtypid:o seqstart:l seqincrement:l seqmax:l seqmin:l seqcache:l seqcycle:b \
         name:n owner_table:n owner_shown:n owner_column:n",
    ),
    (
        "pg_catalog.pg_tables",
        "schemaname:n tablename:n tableowner:n tablespace:n hasindexes:b hasrules:b \
         hastriggers:b rowsecurity:b",
    ),
    ("pg_catalog.pg_views", "schemaname:n viewname:n viewowner:n definition:n"),
    ("pg_catalog.pg_indexes", "schemaname:n tablename:n indexname:n tablespace:n indexdef:n"),
    (
        "pg_catalog.pg_stat_activity",
        "datid:o datname:n pid:i usesysid:o usename:n application_name:n client_addr:n state:n \
         query:n query_start:t backend_type:n",
    ),
    (
        "pg_catalog.tessera_queries",
        "session_id:l usename:n application_name:n query:n query_start:t elapsed_ms:l \
         orders_done:l orders_known:l",
    ),
    (
        "pg_catalog.tessera_work_orders",
        "session_id:l usename:n priority:l orders:l begun:l running:l predicted_us:l",
    ),
    ("pg_catalog.pg_description", "objoid:o classoid:o objsubid:i description:n class:n"),
    ("pg_catalog.pg_shdescription", "objoid:o classoid:o description:n class:n"),
    (
        "pg_catalog.pg_language",
        "oid:o lanname:n lanowner:o lanispl:b lanpltrusted:b lanplcallfoid:o laninline:o \
         lanvalidator:o lanacl:N",
    ),
    (
        "pg_catalog.pg_collation",
        "oid:o collname:n collnamespace:o collowner:o collprovider:n collisdeterministic:b \
         collencoding:i collcollate:n collctype:n colliculocale:n collversion:n",
    ),
    (
        "pg_catalog.pg_depend",
        "classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype:n",
    ),
    (
        "pg_catalog.pg_rewrite",
        "oid:o rulename:n ev_class:o ev_type:n ev_enabled:n is_instead:b ev_qual:n ev_action:n",
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
        "schemaname:n sequencename:n sequenceowner:n data_type:n start_value:l min_value:l \
         max_value:l increment_by:l cycle:b cache_size:l last_value:l",
    ),
    (
        "pg_catalog.pg_prepared_statements",
        "name:n statement:n prepare_time:t parameter_types:N from_sql:b generic_plans:l \
         custom_plans:l",
    ),
    ("pg_catalog.pg_timezone_names", "name:n abbrev:n utc_offset:v is_dst:b"),
    // A function.
    ("pg_catalog.pg_get_keywords", "word:n catcode:n barelabel:b catdesc:n baredesc:n"),
    // For functions.
    ("pg_catalog.tessera_server", "started:t"),
    ("pg_catalog.pg_matviews", "schemaname:n matviewname:n matviewowner:n definition:n"),
    (
        "pg_catalog.pg_seclabels",
        "objoid:o classoid:o objsubid:i objtype:n objnamespace:o objname:n provider:n label:n",
    ),
    ("pg_catalog.pg_locks", "locktype:n database:o relation:o pid:i mode:n granted:b"),
    ("pg_catalog.pg_prepared_xacts", "gid:n owner:n database:n"),
    ("pg_catalog.pg_cursors", "name:n statement:n is_holdable:b is_scrollable:b"),
    // A function with WITH ORDINALITY.
    ("pg_catalog.pg_partition_ancestors", "relid:o depth:l"),
    (
        "information_schema.schemata",
        "catalog_name:n schema_name:n schema_owner:n default_character_set_name:n sql_path:n",
    ),
    (
        "information_schema.tables",
        "table_catalog:n table_schema:n table_name:n table_type:n is_insertable_into:n is_typed:n \
         commit_action:n",
    ),
    (
        "information_schema.columns",
        "table_catalog:n table_schema:n table_name:n column_name:n ordinal_position:i \
         column_default:n is_nullable:n data_type:n character_maximum_length:i \
         numeric_precision:i numeric_precision_radix:i numeric_scale:i datetime_precision:i \
         udt_catalog:n udt_schema:n udt_name:n is_identity:n identity_generation:n \
         is_generated:n generation_expression:n is_updatable:n",
    ),
    (
        "information_schema.views",
        "table_catalog:n table_schema:n table_name:n view_definition:n is_updatable:n",
    ),
    (
        "information_schema.table_constraints",
        "constraint_catalog:n constraint_schema:n constraint_name:n table_catalog:n \
         table_schema:n table_name:n constraint_type:n is_deferrable:n initially_deferred:n",
    ),
    (
        "information_schema.key_column_usage",
        "constraint_catalog:n constraint_schema:n constraint_name:n table_catalog:n \
         table_schema:n table_name:n column_name:n ordinal_position:i \
         position_in_unique_constraint:i",
    ),
    (
        "information_schema.table_privileges",
        "grantor:n grantee:n table_catalog:n table_schema:n table_name:n privilege_type:n \
         is_grantable:n with_hierarchy:n",
    ),
    (
        "information_schema.column_privileges",
        "grantor:n grantee:n table_catalog:n table_schema:n table_name:n column_name:n \
         privilege_type:n is_grantable:n",
    ),
    (
        "information_schema.role_column_grants",
        "grantor:n grantee:n table_catalog:n table_schema:n table_name:n column_name:n \
         privilege_type:n is_grantable:n",
    ),
    (
        "information_schema.role_table_grants",
        "grantor:n grantee:n table_catalog:n table_schema:n table_name:n privilege_type:n \
         is_grantable:n with_hierarchy:n",
    ),
    ("information_schema.enabled_roles", "role_name:n"),
    ("information_schema.applicable_roles", "grantee:n role_name:n is_grantable:n"),
    (
        "information_schema.constraint_column_usage",
        "table_catalog:n table_schema:n table_name:n column_name:n constraint_catalog:n \
         constraint_schema:n constraint_name:n",
    ),
    (
        "information_schema.referential_constraints",
        "constraint_catalog:n constraint_schema:n constraint_name:n unique_constraint_catalog:n \
         unique_constraint_schema:n unique_constraint_name:n match_option:n update_rule:n \
         delete_rule:n",
    ),
    (
        "information_schema.check_constraints",
        "constraint_catalog:n constraint_schema:n constraint_name:n check_clause:n",
    ),
    // What there is none of.
    (
        "information_schema.routines",
        "specific_catalog:n specific_schema:n specific_name:n routine_catalog:n \
         routine_schema:n routine_name:n routine_type:n data_type:n type_udt_catalog:n \
         type_udt_schema:n type_udt_name:n routine_body:n routine_definition:n \
         external_language:n is_deterministic:n security_type:n",
    ),
    (
        "information_schema.parameters",
        "specific_catalog:n specific_schema:n specific_name:n ordinal_position:i \
         parameter_mode:n is_result:n parameter_name:n data_type:n udt_catalog:n udt_schema:n \
         udt_name:n parameter_default:n",
    ),
    (
        "information_schema.triggers",
        "trigger_catalog:n trigger_schema:n trigger_name:n event_manipulation:n \
         event_object_catalog:n event_object_schema:n event_object_table:n action_order:i \
         action_condition:n action_statement:n action_orientation:n action_timing:n",
    ),
    (
        "information_schema.domains",
        "domain_catalog:n domain_schema:n domain_name:n data_type:n \
         character_maximum_length:i numeric_precision:i numeric_scale:i domain_default:n \
         udt_catalog:n udt_schema:n udt_name:n",
    ),
    ("pg_catalog.pg_rules", "schemaname:n tablename:n rulename:n definition:n"),
    (
        "pg_catalog.pg_policies",
        "schemaname:n tablename:n policyname:n permissive:n roles:N cmd:n qual:n with_check:n",
    ),
    (
        "pg_catalog.pg_available_extensions",
        "name:n default_version:n installed_version:n comment:n",
    ),
    (
        "information_schema.sequences",
        "sequence_catalog:n sequence_schema:n sequence_name:n data_type:n start_value:n \
         minimum_value:n maximum_value:n increment:n cycle_option:n",
    ),
];

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
        None => CATALOGS.iter().find(is_empty)?.2,
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
                "t" => DataType::TIMESTAMPTZ,
                "v" => DataType::Interval,
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
