"""Scenarios of clients of Arrow Flight: python scenarios.py PORT PASSWORD, FLIGHT_PORT in the environment.

ADBC's driver for Flight SQL, and pyarrow.flight for scans in parts. What each came to is printed as
"status\\tscenario\\twhy".
"""
import concurrent.futures
import datetime
import decimal
import json
import os
import sys

import adbc_driver_flightsql
import adbc_driver_flightsql.dbapi as dbapi
import pyarrow
import pyarrow.flight as flight

PASSWORD = sys.argv[2]
USER = os.environ.get("CLIENT_USER", "tessera")
URI = f"grpc://127.0.0.1:{os.environ['FLIGHT_PORT']}"
SCENARIOS = []


def scenario(run):
    SCENARIOS.append(run)
    return run


def connect(password=PASSWORD, **options):
    return dbapi.connect(URI, db_kwargs={"username": USER, "password": password}, **options)


def scanner():
    client = flight.connect(URI)
    token = client.authenticate_basic_token(USER, PASSWORD)
    return client, flight.FlightCallOptions(headers=[token])


@scenario
def values_as_arrow(cursor):
    cursor.execute(
        "select 1::int2 as a, 2::int4 as b, 3::int8 as c, 1.5::float8 as d, 'x' as e, true as f,"
        " date '2026-01-02' as g, timestamp '2026-01-02 03:04:05' as h, null::int4 as i,"
        " 12.50::numeric(8, 2) as j, array[1, 2, null] as k"
    )
    (row,) = cursor.fetch_arrow_table().to_pylist()
    assert list(row.values()) == [
        1, 2, 3, 1.5, "x", True, datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5), None,
        decimal.Decimal("12.50"), [1, 2, None],
    ], row


@scenario
def parameters(cursor):
    cursor.execute("select $1::int8 + 1, $2::text || '!'", (41, "x"))
    assert cursor.fetchone() == (42, "x!")
    cursor.execute("create table flight_values (k int primary key, v text)")
    cursor.executemany("insert into flight_values values ($1, $2)", [(1, "a"), (2, None), (3, "c")])
    cursor.execute("select k, v from flight_values order by k")
    assert cursor.fetchall() == [(1, "a"), (2, None), (3, "c")]


@scenario
def commit_and_rollback(cursor):
    connection = cursor.connection
    cursor.execute("create table flight_money (v int)")
    connection.commit()
    cursor.execute("insert into flight_money values (1)")
    connection.rollback()
    cursor.execute("insert into flight_money values (2), (3)")
    connection.commit()
    with connect() as other, other.cursor() as seen:
        seen.execute("select sum(v) from flight_money")
        assert seen.fetchone() == (5,)
    cursor.execute("drop table flight_money")
    connection.commit()


@scenario
def errors_and_passwords(cursor):
    try:
        cursor.execute("select * from nothing_of_this_name")
        cursor.fetchall()
        raise AssertionError("a table that there is not was read")
    except dbapi.Error as error:
        assert "42P01" in str(error), error
    try:
        with connect(password="wrong") as other, other.cursor() as refused:
            refused.execute("select 1")
            refused.fetchall()
        raise AssertionError("a wrong password was taken")
    except dbapi.Error as error:
        assert "28P01" in str(error), error


@scenario
def a_table_is_made_from_arrow(cursor):
    rows = pyarrow.table({"k": [1, 2, 3], "v": ["a", None, "c"], "x": [0.5, 1.5, None]})
    assert cursor.adbc_ingest("flight_rows", rows, mode="create") == 3
    assert cursor.adbc_ingest("flight_rows", rows, mode="append") == 3
    cursor.execute("select count(*), count(v), sum(x) from flight_rows")
    assert cursor.fetchone() == (6, 4, 4.0)


@scenario
def objects_and_schemas(cursor):
    cursor.execute("create table flight_things (id int primary key, name varchar(20), price numeric(8, 2))")
    cursor.connection.commit()
    schema = cursor.connection.adbc_get_table_schema("flight_things")
    assert schema.names == ["id", "name", "price"], schema
    assert schema.field("price").type == pyarrow.decimal128(8, 2), schema
    objects = cursor.connection.adbc_get_objects(depth="columns", table_name_filter="flight_things")
    objects = objects.read_all().to_pylist()
    tables = [t for c in objects for s in c["catalog_db_schemas"] for t in s["db_schema_tables"]]
    assert [c["column_name"] for c in tables[0]["table_columns"]] == ["id", "name", "price"], tables
    assert "TABLE" in cursor.connection.adbc_get_table_types()
    assert cursor.connection.adbc_get_info()["vendor_name"] == "Tessera"
    cursor.execute("drop table flight_things")
    cursor.connection.commit()


@scenario
def parts_of_one_snapshot_from_many_connections(cursor):
    cursor.execute("create table flight_scan as select i as k, i % 10 as v from generate_series(1, 500000) i")
    cursor.connection.commit()
    client, options = scanner()
    asked = {"table": ["public", "flight_scan"], "columns": ["k"], "where": "v < 5", "parts": 4}
    info = client.get_flight_info(flight.FlightDescriptor.for_command(json.dumps(asked)), options)
    assert 1 < len(info.endpoints) <= 4, info.endpoints
    cursor.execute("delete from flight_scan where k % 2 = 0")
    cursor.connection.commit()

    def read(endpoint):
        own, own_options = scanner()
        return own.do_get(endpoint.ticket, own_options).read_all()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(read, info.endpoints))
    keys = pyarrow.concat_tables(parts)["k"].to_pylist()
    assert sorted(keys) == [k for k in range(1, 500001) if k % 10 < 5]
    paths = [listed.descriptor.path for listed in client.list_flights(options=options)]
    assert [b"public", b"flight_scan"] in paths, paths


@scenario
def many_rows(cursor):
    cursor.execute("select i, 'row ' || i from generate_series(1, 1000000) i")
    table = cursor.fetch_arrow_table()
    assert table.num_rows == 1000000 and table.column(0)[999999].as_py() == 1000000


assert adbc_driver_flightsql.__version__
for run in SCENARIOS:
    status, why = "ok", ""
    try:
        with connect() as connection, connection.cursor() as cursor:
            run(cursor)
    except BaseException as error:
        status = "FAILED"
        why = " ".join(f"{type(error).__name__}: {error}".split())
    print(status, run.__name__.replace("_", " "), why, sep="\t", flush=True)
