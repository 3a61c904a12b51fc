//! PostgreSQL's own tables of the catalog: their numbers, and the columns of those that are empty
//! here.

use super::{numbers, schema};

/// Name, number, columns as in `schema`; no columns for those that have rows.
pub(super) const CATALOGS: &[(&str, i64, &str)] = &[
    (
        "pg_aggregate",
        2600,
        "aggfnoid:p aggkind:c aggnumdirectargs:s aggtransfn:p aggfinalfn:p aggcombinefn:p \
         aggserialfn:p aggdeserialfn:p aggmtransfn:p aggminvtransfn:p aggmfinalfn:p \
         aggfinalextra:b aggmfinalextra:b aggfinalmodify:c aggmfinalmodify:c aggsortop:o \
         aggtranstype:o aggtransspace:i aggmtranstype:o aggmtransspace:i agginitval:n \
         aggminitval:n",
    ),
    ("pg_am", 2601, ""),
    (
        "pg_amop",
        2602,
        "oid:o amopfamily:o amoplefttype:o amoprighttype:o amopstrategy:s amoppurpose:c \
         amopopr:o amopmethod:o amopsortfamily:o",
    ),
    (
        "pg_amproc",
        2603,
        "oid:o amprocfamily:o amproclefttype:o amprocrighttype:o amprocnum:s amproc:p",
    ),
    ("pg_attrdef", 2604, ""),
    ("pg_attribute", 1249, ""),
    ("pg_auth_members", 1261, ""),
    ("pg_authid", 1260, ""),
    ("pg_cast", 2605, "oid:o castsource:o casttarget:o castfunc:o castcontext:c castmethod:c"),
    ("pg_class", 1259, ""),
    ("pg_collation", 3456, ""),
    ("pg_constraint", 2606, ""),
    (
        "pg_conversion",
        2607,
        "oid:o conname:m connamespace:o conowner:o conforencoding:i contoencoding:i conproc:p \
         condefault:b",
    ),
    ("pg_database", 1262, ""),
    ("pg_db_role_setting", 2964, ""),
    ("pg_default_acl", 826, ""),
    ("pg_depend", 2608, ""),
    ("pg_description", 2609, ""),
    ("pg_enum", 3501, "oid:o enumtypid:o enumsortorder:f enumlabel:m"),
    (
        "pg_event_trigger",
        3466,
        "oid:o evtname:m evtevent:m evtowner:o evtfoid:o evtenabled:c evttags:N",
    ),
    ("pg_extension", 3079, ""),
    (
        "pg_foreign_data_wrapper",
        2328,
        "oid:o fdwname:m fdwowner:o fdwhandler:o fdwvalidator:o fdwacl:A fdwoptions:N",
    ),
    (
        "pg_foreign_server",
        1417,
        "oid:o srvname:m srvowner:o srvfdw:o srvtype:n srvversion:n srvacl:A srvoptions:N",
    ),
    ("pg_foreign_table", 3118, "ftrelid:o ftserver:o ftoptions:N"),
    ("pg_index", 2610, ""),
    ("pg_inherits", 2611, "inhrelid:o inhparent:o inhseqno:i inhdetachpending:b"),
    ("pg_init_privs", 3394, "objoid:o classoid:o objsubid:i privtype:c initprivs:A"),
    ("pg_language", 2612, ""),
    ("pg_largeobject", 2613, "loid:o pageno:i data:a"),
    ("pg_largeobject_metadata", 2995, "oid:o lomowner:o lomacl:A"),
    ("pg_namespace", 2615, ""),
    (
        "pg_opclass",
        2616,
        "oid:o opcmethod:o opcname:m opcnamespace:o opcowner:o opcfamily:o opcintype:o \
         opcdefault:b opckeytype:o",
    ),
    (
        "pg_operator",
        2617,
        "oid:o oprname:m oprnamespace:o oprowner:o oprkind:c oprcanmerge:b oprcanhash:b \
         oprleft:o oprright:o oprresult:o oprcom:o oprnegate:o oprcode:p oprrest:p oprjoin:p",
    ),
    ("pg_opfamily", 2753, "oid:o opfmethod:o opfname:m opfnamespace:o opfowner:o"),
    ("pg_parameter_acl", 6243, "oid:o parname:n paracl:A"),
    (
        "pg_partitioned_table",
        3350,
        "partrelid:o partstrat:c partnatts:s partdefid:o partattrs:sv partclass:ov \
         partcollation:ov partexprs:n",
    ),
    (
        "pg_policy",
        3256,
        "oid:o polname:m polrelid:o polcmd:c polpermissive:b polroles:O polqual:n \
         polwithcheck:n",
    ),
    (
        "pg_proc",
        1255,
        "oid:o proname:m pronamespace:o proowner:o prolang:o procost:f prorows:f provariadic:o \
         prosupport:p prokind:c prosecdef:b proleakproof:b proisstrict:b proretset:b \
         provolatile:c proparallel:c pronargs:s pronargdefaults:s prorettype:o proargtypes:ov \
         proallargtypes:O proargmodes:C proargnames:N proargdefaults:n protrftypes:O prosrc:n \
         probin:n prosqlbody:n proconfig:N proacl:A .arguments:n .identity:n .result:n \
         .definition:n",
    ),
    (
        "pg_publication",
        6104,
        "oid:o pubname:m pubowner:o puballtables:b pubinsert:b pubupdate:b pubdelete:b \
         pubtruncate:b pubviaroot:b",
    ),
    ("pg_publication_namespace", 6237, "oid:o pnpubid:o pnnspid:o"),
    ("pg_publication_rel", 6106, "oid:o prpubid:o prrelid:o prqual:n prattrs:sv"),
    (
        "pg_range",
        3541,
        "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o rngsubopc:o rngcanonical:p \
         rngsubdiff:p",
    ),
    ("pg_replication_origin", 6000, "roident:o roname:n"),
    ("pg_rewrite", 2618, ""),
    ("pg_seclabel", 3596, "objoid:o classoid:o objsubid:i provider:n label:n"),
    ("pg_sequence", 2224, ""),
    ("pg_shdepend", 1214, "dbid:o classid:o objid:o objsubid:i refclassid:o refobjid:o deptype:c"),
    ("pg_shdescription", 2396, ""),
    ("pg_shseclabel", 3592, "objoid:o classoid:o provider:n label:n"),
    (
        "pg_statistic",
        2619,
        "starelid:o staattnum:s stainherit:b stanullfrac:f stawidth:i stadistinct:f stakind1:s \
         stakind2:s stakind3:s stakind4:s stakind5:s staop1:o staop2:o staop3:o staop4:o \
         staop5:o stacoll1:o stacoll2:o stacoll3:o stacoll4:o stacoll5:o stanumbers1:F \
         stanumbers2:F stanumbers3:F stanumbers4:F stanumbers5:F stavalues1:n stavalues2:n \
         stavalues3:n stavalues4:n stavalues5:n",
    ),
    (
        "pg_statistic_ext",
        3381,
        "oid:o stxrelid:o stxname:m stxnamespace:o stxowner:o stxstattarget:i stxkeys:sv \
         stxkind:C stxexprs:n",
    ),
    (
        "pg_statistic_ext_data",
        3429,
        "stxoid:o stxdinherit:b stxdndistinct:n stxddependencies:n stxdmcv:n stxdexpr:n",
    ),
    (
        "pg_subscription",
        6100,
        "oid:o subdbid:o subskiplsn:n subname:m subowner:o subenabled:b subbinary:b substream:b \
         subtwophasestate:c subdisableonerr:b subconninfo:n subslotname:m subsynccommit:n \
         subpublications:N",
    ),
    ("pg_subscription_rel", 6102, "srsubid:o srrelid:o srsubstate:c srsublsn:n"),
    ("pg_tablespace", 1213, ""),
    ("pg_transform", 3576, "oid:o trftype:o trflang:o trffromsql:p trftosql:p"),
    (
        "pg_trigger",
        2620,
        "oid:o tgrelid:o tgparentid:o tgname:m tgfoid:o tgtype:s tgenabled:c tgisinternal:b \
         tgconstrrelid:o tgconstrindid:o tgconstraint:o tgdeferrable:b tginitdeferred:b \
         tgnargs:s tgattr:sv tgargs:a tgqual:n tgoldtable:m tgnewtable:m .definition:n .shown:n",
    ),
    ("pg_ts_config", 3602, ""),
    ("pg_ts_config_map", 3603, ""),
    ("pg_ts_dict", 3600, ""),
    ("pg_ts_parser", 3601, ""),
    ("pg_ts_template", 3764, ""),
    ("pg_type", 1247, ""),
    ("pg_user_mapping", 1418, "oid:o umuser:o umserver:o umoptions:N"),
];

/// The number of a table or view of the system: as PostgreSQL has it, or made of its name.
pub(super) fn number_in(schema: &str, name: &str) -> i64 {
    match number(name) {
        number if number != 0 && schema == "pg_catalog" => number,
        _ => numbers::system_view(schema, name),
    }
}

/// The table or view of the system with this number.
pub(super) fn numbered(number: i64) -> Option<(&'static str, &'static str)> {
    let own = CATALOGS.iter().map(|(name, ..)| ("pg_catalog", *name));
    let mut all = own.chain(schema::names());
    all.find(|(schema, name)| number_in(schema, name) == number)
}

/// The number of a table of the catalog itself, as PostgreSQL has it; 0 for others.
pub(super) fn number(name: &str) -> i64 {
    CATALOGS.iter().find(|(known, ..)| *known == name).map_or(0, |(_, number, _)| *number)
}
