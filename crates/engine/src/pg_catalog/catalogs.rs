//! PostgreSQL's own tables of the catalog: their numbers, and the columns of those that are empty
//! here.

/// Name, number, columns as in `schema`; no columns for those that have rows.
pub(super) const CATALOGS: &[(&str, i64, &str)] = &[
    (
        "pg_aggregate",
        2600,
        "aggfnoid:o aggkind:n aggnumdirectargs:s aggtransfn:o aggfinalfn:o aggcombinefn:o \
         aggserialfn:o aggdeserialfn:o aggmtransfn:o aggminvtransfn:o aggmfinalfn:o \
         aggfinalextra:b aggmfinalextra:b aggfinalmodify:n aggmfinalmodify:n aggsortop:o \
         aggtranstype:o aggtransspace:i aggmtranstype:o aggmtransspace:i agginitval:n \
         aggminitval:n",
    ),
    ("pg_am", 2601, ""),
    (
        "pg_amop",
        2602,
        "oid:o amopfamily:o amoplefttype:o amoprighttype:o amopstrategy:s amoppurpose:n amopopr:o \
         amopmethod:o amopsortfamily:o",
    ),
    (
        "pg_amproc",
        2603,
        "oid:o amprocfamily:o amproclefttype:o amprocrighttype:o amprocnum:s amproc:o",
    ),
    ("pg_attrdef", 2604, ""),
    ("pg_attribute", 1249, ""),
    ("pg_auth_members", 1261, ""),
    ("pg_authid", 1260, ""),
    ("pg_cast", 2605, "oid:o castsource:o casttarget:o castfunc:o castcontext:n castmethod:n"),
    ("pg_class", 1259, ""),
    ("pg_collation", 3456, ""),
    ("pg_constraint", 2606, ""),
    (
        "pg_conversion",
        2607,
        "oid:o conname:n connamespace:o conowner:o conforencoding:i contoencoding:i conproc:o \
         condefault:b",
    ),
    ("pg_database", 1262, ""),
    ("pg_db_role_setting", 2964, ""),
    ("pg_default_acl", 826, ""),
    ("pg_depend", 2608, ""),
    ("pg_description", 2609, ""),
    ("pg_enum", 3501, "oid:o enumtypid:o enumsortorder:f enumlabel:n"),
    (
        "pg_event_trigger",
        3466,
        "oid:o evtname:n evtevent:n evtowner:o evtfoid:o evtenabled:n evttags:N",
    ),
    ("pg_extension", 3079, ""),
    (
        "pg_foreign_data_wrapper",
        2328,
        "oid:o fdwname:n fdwowner:o fdwhandler:o fdwvalidator:o fdwacl:N fdwoptions:N",
    ),
    (
        "pg_foreign_server",
        1417,
        "oid:o srvname:n srvowner:o srvfdw:o srvtype:n srvversion:n srvacl:N srvoptions:N",
    ),
    ("pg_foreign_table", 3118, "ftrelid:o ftserver:o ftoptions:N"),
    ("pg_index", 2610, ""),
    ("pg_inherits", 2611, "inhrelid:o inhparent:o inhseqno:i inhdetachpending:b"),
    ("pg_init_privs", 3394, "objoid:o classoid:o objsubid:i privtype:n initprivs:N"),
    ("pg_language", 2612, ""),
    ("pg_largeobject", 2613, "loid:o pageno:i data:n"),
    ("pg_largeobject_metadata", 2995, "oid:o lomowner:o lomacl:N"),
    ("pg_namespace", 2615, ""),
    (
        "pg_opclass",
        2616,
        "oid:o opcmethod:o opcname:n opcnamespace:o opcowner:o opcfamily:o opcintype:o \
         opcdefault:b opckeytype:o",
    ),
    (
        "pg_operator",
        2617,
        "oid:o oprname:n oprnamespace:o oprowner:o oprkind:n oprcanmerge:b oprcanhash:b oprleft:o \
         oprright:o oprresult:o oprcom:o oprnegate:o oprcode:o oprrest:o oprjoin:o",
    ),
    ("pg_opfamily", 2753, "oid:o opfmethod:o opfname:n opfnamespace:o opfowner:o"),
    ("pg_parameter_acl", 6243, "oid:o parname:n paracl:N"),
    (
        "pg_partitioned_table",
        3350,
        "partrelid:o partstrat:n partnatts:s partdefid:o partattrs:S partclass:O partcollation:O \
         partexprs:n",
    ),
    (
        "pg_policy",
        3256,
        "oid:o polname:n polrelid:o polcmd:n polpermissive:b polroles:O polqual:n polwithcheck:n",
    ),
    (
        "pg_proc",
        1255,
        "oid:o proname:n pronamespace:o proowner:o prolang:o procost:f prorows:f provariadic:o \
         prosupport:o prokind:n prosecdef:b proleakproof:b proisstrict:b proretset:b \
         provolatile:n proparallel:n pronargs:s pronargdefaults:s prorettype:o proargtypes:O \
         proallargtypes:O proargmodes:N proargnames:N proargdefaults:n protrftypes:O prosrc:n \
         probin:n prosqlbody:n proconfig:N proacl:N",
    ),
    (
        "pg_publication",
        6104,
        "oid:o pubname:n pubowner:o puballtables:b pubinsert:b pubupdate:b pubdelete:b \
         pubtruncate:b pubviaroot:b",
    ),
    ("pg_publication_namespace", 6237, "oid:o pnpubid:o pnnspid:o"),
    ("pg_publication_rel", 6106, "oid:o prpubid:o prrelid:o prqual:n prattrs:S"),
    (
        "pg_range",
        3541,
        "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o rngsubopc:o rngcanonical:o \
         rngsubdiff:o",
    ),
    ("pg_replication_origin", 6000, "roident:o roname:n"),
    ("pg_rewrite", 2618, ""),
    ("pg_seclabel", 3596, "objoid:o classoid:o objsubid:i provider:n label:n"),
    ("pg_sequence", 2224, ""),
    ("pg_shdepend", 1214, "dbid:o classid:o objid:o objsubid:i refclassid:o refobjid:o deptype:n"),
    ("pg_shdescription", 2396, ""),
    ("pg_shseclabel", 3592, "objoid:o classoid:o provider:n label:n"),
    (
        "pg_statistic",
        2619,
        "starelid:o staattnum:s stainherit:b stanullfrac:f stawidth:i stadistinct:f stakind1:s \
         stakind2:s stakind3:s stakind4:s stakind5:s staop1:o staop2:o staop3:o staop4:o staop5:o \
         stacoll1:o stacoll2:o stacoll3:o stacoll4:o stacoll5:o stanumbers1:N stanumbers2:N \
         stanumbers3:N stanumbers4:N stanumbers5:N stavalues1:n stavalues2:n stavalues3:n \
         stavalues4:n stavalues5:n",
    ),
    (
        "pg_statistic_ext",
        3381,
        "oid:o stxrelid:o stxname:n stxnamespace:o stxowner:o stxstattarget:i stxkeys:S stxkind:N \
         stxexprs:n",
    ),
    (
        "pg_statistic_ext_data",
        3429,
        "stxoid:o stxdinherit:b stxdndistinct:n stxddependencies:n stxdmcv:n stxdexpr:n",
    ),
    (
        "pg_subscription",
        6100,
        "oid:o subdbid:o subskiplsn:n subname:n subowner:o subenabled:b subbinary:b substream:b \
         subtwophasestate:n subdisableonerr:b subconninfo:n subslotname:n subsynccommit:n \
         subpublications:N",
    ),
    ("pg_subscription_rel", 6102, "srsubid:o srrelid:o srsubstate:n srsublsn:n"),
    ("pg_tablespace", 1213, ""),
    ("pg_transform", 3576, "oid:o trftype:o trflang:o trffromsql:o trftosql:o"),
    (
        "pg_trigger",
        2620,
        "oid:o tgrelid:o tgparentid:o tgname:n tgfoid:o tgtype:s tgenabled:n tgisinternal:b \
         tgconstrrelid:o tgconstrindid:o tgconstraint:o tgdeferrable:b tginitdeferred:b tgnargs:s \
         tgattr:S tgargs:n tgqual:n tgoldtable:n tgnewtable:n",
    ),
    ("pg_ts_config", 3602, "oid:o cfgname:n cfgnamespace:o cfgowner:o cfgparser:o"),
    ("pg_ts_config_map", 3603, "mapcfg:o maptokentype:i mapseqno:i mapdict:o"),
    (
        "pg_ts_dict",
        3600,
        "oid:o dictname:n dictnamespace:o dictowner:o dicttemplate:o dictinitoption:n",
    ),
    (
        "pg_ts_parser",
        3601,
        "oid:o prsname:n prsnamespace:o prsstart:o prstoken:o prsend:o prsheadline:o prslextype:o",
    ),
    ("pg_ts_template", 3764, "oid:o tmplname:n tmplnamespace:o tmplinit:o tmpllexize:o"),
    ("pg_type", 1247, ""),
    ("pg_user_mapping", 1418, "oid:o umuser:o umserver:o umoptions:N"),
];

/// The number of a table of the catalog itself, as PostgreSQL has it; 0 for others.
pub(super) fn number(name: &str) -> i64 {
    CATALOGS.iter().find(|(known, ..)| *known == name).map_or(0, |(_, number, _)| *number)
}
