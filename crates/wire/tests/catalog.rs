//! The system catalog, by the queries that psql and drivers send.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use postgres::SimpleQueryMessage;
use support::{start, state};

const TABLES: &str = "
    create table p (id int primary key, name varchar(10) not null default 'x', n numeric(9, 2)
        check (n > 0));
    create table c (id bigint generated always as identity primary key,
        p int references p on delete cascade, at timestamptz);
    create index c_p on c (p desc);
    create view v as select id, name from p";

/// The rows of a query, fields between bars.
fn rows(client: &mut postgres::Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let row = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            let fields: Vec<_> = (0..row.len()).map(|i| row.get(i).unwrap_or("")).collect();
            Some(fields.join("|"))
        }
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

#[test]
fn relations_columns_and_constraints() {
    let server = start();
    let mut client = server.client();
    client.batch_execute(TABLES).unwrap();
    let listed = rows(
        &mut client,
        "SELECT c.relname, CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' END,
            pg_catalog.pg_get_userbyid(c.relowner)
         FROM pg_catalog.pg_class c
            LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind IN ('r','p','v','') AND n.nspname <> 'pg_catalog'
            AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema'
            AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1",
    );
    assert_eq!(listed, ["c|table|tessera", "p|table|tessera", "v|view|tessera"]);
    let columns = rows(
        &mut client,
        "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
            (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d
             WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull
         FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'p'::regclass AND a.attnum > 0
         ORDER BY a.attnum",
    );
    let expected = [
        "id|integer||t",
        "name|character varying(10)|'x'::character varying|t",
        "n|numeric(9,2)||f",
    ];
    assert_eq!(columns, expected);
    let constraints = rows(
        &mut client,
        "select conname, conrelid::regclass, pg_get_constraintdef(oid) from pg_constraint
         order by 1",
    );
    let expected = [
        "c_p_fkey|c|FOREIGN KEY (p) REFERENCES p(id) ON DELETE CASCADE",
        "c_pkey|c|PRIMARY KEY (id)",
        "p_n_check|p|CHECK ((n > (0)::numeric))",
        "p_pkey|p|PRIMARY KEY (id)",
    ];
    assert_eq!(constraints, expected);
    let keys = rows(
        &mut client,
        "select conname, attname from pg_constraint join pg_attribute a
         on conrelid = attrelid and attnum = any (conkey) where contype = 'f'",
    );
    assert_eq!(keys, ["c_p_fkey|p"]);
    let keys = rows(
        &mut client,
        "select i.relname, x.indkey, x.indkey[0], unnest(x.indkey), generate_subscripts(x.indkey, 1)
         from pg_index x join pg_class i on i.oid = x.indexrelid order by 1",
    );
    let expected = ["c_p|2|2|2|0", "c_pkey|1|1|1|0", "p_pkey|1|1|1|0"];
    assert_eq!(keys, expected);
    // As SQLAlchemy and psql's \\d ask for names of a key's columns.
    let names = rows(
        &mut client,
        "select c.conname, array_agg(a.attname order by u.ord), array_length(c.conkey, 1),
            array_to_string(array(select attname from pg_attribute where attrelid = c.conrelid
                and attnum = any (c.conkey)), ', ')
         from pg_constraint c, unnest(c.conkey) with ordinality as u(num, ord)
            join pg_attribute a on a.attnum = u.num
         where a.attrelid = c.conrelid and c.contype in ('p', 'f')
         group by c.oid, c.conname, c.conkey, c.conrelid order by 1",
    );
    assert_eq!(names, ["c_p_fkey|{p}|1|p", "c_pkey|{id}|1|id", "p_pkey|{id}|1|id"]);
    let indexes = rows(&mut client, "select indexdef from pg_indexes where indexname = 'c_p'");
    assert_eq!(indexes, ["CREATE INDEX c_p ON public.c USING btree (p DESC)"]);
    let referring = "SELECT conrelid::pg_catalog.regclass FROM pg_catalog.pg_constraint
        WHERE confrelid IN (SELECT pg_catalog.pg_partition_ancestors(confrelid::text)
        UNION ALL VALUES ('1'::pg_catalog.regclass)) AND contype = 'f'";
    assert_eq!(rows(&mut client, referring), ["c"]);
    let triggers = "SELECT t.tgname, CASE WHEN t.tgparentid != 0 THEN
          (SELECT u.tgrelid::pg_catalog.regclass FROM pg_catalog.pg_trigger AS u,
              pg_catalog.pg_partition_ancestors(t.tgrelid) WITH ORDINALITY AS a(relid, depth)
           WHERE u.tgname = t.tgname AND u.tgparentid = 0 AND u.tgrelid = a.relid
           ORDER BY a.depth LIMIT 1) END AS parent
        FROM pg_catalog.pg_trigger t WHERE t.tgrelid = '1'";
    assert!(rows(&mut client, triggers).is_empty());
}

#[test]
fn the_information_schema() {
    let server = start();
    let mut client = server.client();
    client.batch_execute(TABLES).unwrap();
    let columns = rows(
        &mut client,
        "select column_name, data_type, is_nullable, character_maximum_length, numeric_scale
         from information_schema.columns where table_name = 'p' order by ordinal_position",
    );
    let expected = ["id|integer|NO||0", "name|character varying|NO|10|", "n|numeric|YES||2"];
    assert_eq!(columns, expected);
    let tables = "select table_name, table_type from information_schema.tables order by 1";
    assert_eq!(rows(&mut client, tables), ["c|BASE TABLE", "p|BASE TABLE", "v|VIEW"]);
    let keys = "select table_name, column_name from information_schema.key_column_usage
        natural join information_schema.table_constraints where constraint_type = 'PRIMARY KEY'
        order by 1";
    assert_eq!(rows(&mut client, keys), ["c|id", "p|id"]);
    let used = "select constraint_name, table_name, column_name
        from information_schema.constraint_column_usage order by 1";
    assert_eq!(rows(&mut client, used), ["c_p_fkey|p|id", "c_pkey|c|id", "p_pkey|p|id"]);
    let references = "select constraint_name, unique_constraint_name, update_rule, delete_rule
        from information_schema.referential_constraints";
    assert_eq!(rows(&mut client, references), ["c_p_fkey|p_pkey|NO ACTION|CASCADE"]);
    let checks = "select constraint_name, check_clause from information_schema.check_constraints
        where constraint_name not like '%_not_null'";
    assert_eq!(rows(&mut client, checks), ["p_n_check|((n > (0)::numeric))"]);
}

/// Names are those of SQL text: in lower case unless in quotes.
#[test]
fn names_of_relations_and_types() {
    let server = start();
    let mut client = server.client();
    client
        .batch_execute("create table author (a int); create table \"Mixed Case\" (b int)")
        .unwrap();
    for name in ["\"author\"", "public.author", "\"public\".\"author\"", "AUTHOR", " Author "] {
        let query = format!(
            "select attname from pg_attribute where attrelid = '{name}'::regclass and attnum > 0"
        );
        assert_eq!(rows(&mut client, &query), ["a"], "{name}");
    }
    let named = "select to_regclass('\"author\"'), '\"Mixed Case\"'::regclass, to_regclass('b')";
    assert_eq!(rows(&mut client, named), ["author|\"Mixed Case\"|"]);
    let two = client.batch_execute("select to_regclass('b c')").unwrap_err();
    assert_eq!(state(&two), "42602");
    let rights = "select has_table_privilege(current_user, '\"Mixed Case\"', 'SELECT')";
    assert_eq!(rows(&mut client, rights), ["t"]);
    let numbers = "select 'character varying'::regtype::oid, 'int4'::regtype::oid,
        'public'::regnamespace::oid, '\"author\"'::regclass::oid = 'author'::regclass::oid";
    assert_eq!(rows(&mut client, numbers), ["1043|23|2200|t"]);
    let types = "select 'int'::regtype::oid, 'INTEGER'::regtype::oid, 'int[]'::regtype::oid,
        'timestamp with time zone'::regtype::oid, 'name'::regtype::oid, 'oid'::regtype::oid";
    assert_eq!(rows(&mut client, types), ["23|23|1007|1184|19|26"]);
    client.batch_execute("create sequence \"Mixed Seq\"; create table \"user\" (a int)").unwrap();
    let next =
        "select nextval('\"Mixed Seq\"'::regclass), nextval('public.\"Mixed Seq\"'::regclass),
        'user'::regclass::oid = (select oid from pg_class where relname = 'user')";
    assert_eq!(rows(&mut client, next), ["1|2|t"]);
    // What is a number stays that number, and pg_typeof is compared by name.
    let same =
        "select bool_and(c.oid::regclass::oid = c.oid), bool_and(a.atttypid::regtype::oid = 23)
        from pg_class c join pg_attribute a on a.attrelid = c.oid
        where c.relname in ('author', 'Mixed Case')";
    assert_eq!(rows(&mut client, same), ["t|t"]);
    let literal =
        "select '23'::regclass::oid, '23'::regclass::bigint, pg_typeof(1) = 'integer'::regtype";
    assert_eq!(rows(&mut client, literal), ["23|23|t"]);
    let typed = "select count(*) from pg_attribute
        where attrelid = 'author'::regclass and atttypid = 'int4'::regtype";
    assert_eq!(rows(&mut client, typed), ["1"]);
    // A flag that no expression uses has a type all the same.
    let prepared = client.prepare("select pg_get_constraintdef(1, $1)").unwrap();
    assert_eq!(prepared.params(), [postgres::types::Type::BOOL]);
}

#[test]
fn settings_that_clients_send() {
    let server = start();
    let mut client = server.client();
    client.batch_execute("set datestyle = iso; set enable_seqscan = off; set jit = off").unwrap();
    client.batch_execute("set client_encoding = 'SQL_ASCII'; set bytea_output = 'hex'").unwrap();
    assert_eq!(rows(&mut client, "show datestyle"), ["ISO, MDY"]);
    assert_eq!(rows(&mut client, "show password_encryption"), ["scram-sha-256"]);
    client.batch_execute("set datestyle = 'ISO, DMY'").unwrap();
    assert_eq!(rows(&mut client, "select date '02/01/2003'"), ["2003-01-02"]);
    for (statement, code) in [
        ("set datestyle = 'bogus'", "22023"),
        ("create user m password 'md5ea48576f30be1669971699c09ad05c94'", "0A000"),
    ] {
        assert_eq!(state(&client.batch_execute(statement).unwrap_err()), code, "{statement}");
    }
}

#[test]
fn what_drivers_ask_first() {
    let server = start();
    let mut client = server.client();
    assert!(rows(&mut client, "select pg_catalog.version()")[0].starts_with("PostgreSQL 15"));
    assert_eq!(rows(&mut client, "select current_schema()"), ["public"]);
    assert_eq!(rows(&mut client, "show transaction isolation level"), ["read committed"]);
    assert_eq!(rows(&mut client, "select current_setting('server_encoding')"), ["UTF8"]);
    let types = "select t.oid, typarray from pg_type t where t.typname = 'text'";
    assert_eq!(rows(&mut client, types), ["25|1009"]);
    let prepared = client.prepare("select typname::text from pg_type where oid = $1").unwrap();
    let row = client.query_one(&prepared, &[&23_u32]).unwrap();
    assert_eq!(row.get::<_, &str>(0), "int4");
    client.batch_execute("set extra_float_digits = 3; set application_name = 'x'").unwrap();
    client.batch_execute("set client_encoding to 'utf-8'; set statement_timeout to 0").unwrap();
    let roles = "select rolname, rolsuper from pg_roles where rolname !~ '^pg_'";
    assert_eq!(rows(&mut client, roles), ["tessera|t"]);
}
