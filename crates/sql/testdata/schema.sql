CREATE TABLE t1 (a integer, b integer, c integer, s text);
CREATE TABLE t2 (a integer, b integer, c integer, s text);
CREATE TABLE t3 (a integer, b integer, c integer, s text);
CREATE TABLE pk (id integer PRIMARY KEY, name varchar(20) NOT NULL DEFAULT 'none', price numeric(15,2) DEFAULT 1.5 + 1, made date DEFAULT current_date, UNIQUE (name));
CREATE TABLE everything (
  bo boolean, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision,
  n numeric, n15 numeric(15,2), n38 numeric(38,10), c10 char(10), v10 varchar(10), v varchar, tx text,
  by bytea, d date, ti time, ts timestamp, tz timestamptz, iv interval, u uuid);
CREATE TABLE region (r_regionkey integer PRIMARY KEY, r_name char(25), r_comment varchar(152));
CREATE TABLE nation (n_nationkey integer PRIMARY KEY, n_name char(25), n_regionkey integer, n_comment varchar(152));
CREATE TABLE supplier (s_suppkey integer PRIMARY KEY, s_name char(25), s_address varchar(40), s_nationkey integer, s_phone char(15), s_acctbal numeric(15,2), s_comment varchar(101));
CREATE TABLE customer (c_custkey integer PRIMARY KEY, c_name varchar(25), c_address varchar(40), c_nationkey integer, c_phone char(15), c_acctbal numeric(15,2), c_mktsegment char(10), c_comment varchar(117));
CREATE TABLE part (p_partkey integer PRIMARY KEY, p_name varchar(55), p_mfgr char(25), p_brand char(10), p_type varchar(25), p_size integer, p_container char(10), p_retailprice numeric(15,2), p_comment varchar(23));
CREATE TABLE partsupp (ps_partkey integer, ps_suppkey integer, ps_availqty integer, ps_supplycost numeric(15,2), ps_comment varchar(199), PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE orders (o_orderkey bigint PRIMARY KEY, o_custkey integer, o_orderstatus char(1), o_totalprice numeric(15,2), o_orderdate date, o_orderpriority char(15), o_clerk char(15), o_shippriority integer, o_comment varchar(79));
CREATE TABLE lineitem (l_orderkey bigint, l_partkey integer, l_suppkey integer, l_linenumber integer, l_quantity numeric(15,2), l_extendedprice numeric(15,2), l_discount numeric(15,2), l_tax numeric(15,2), l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44), PRIMARY KEY (l_orderkey, l_linenumber));
