"""Scenarios of ADBC's PostgreSQL driver: python scenarios.py PORT PASSWORD.

What each came to is printed as "status\\tscenario\\twhy". Values are what PostgreSQL 15 gives.
"""
import datetime
import os
import sys

import adbc_driver_postgresql.dbapi
import pyarrow

PORT, PASSWORD = sys.argv[1:3]
USER = os.environ.get("CLIENT_USER", "tessera")
DATABASE = os.environ.get("CLIENT_DATABASE", USER)
URI = f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{PORT}/{DATABASE}"
SCENARIOS = []


def scenario(run):
    SCENARIOS.append(run)
    return run


@scenario
def values_as_arrow(cursor):
    cursor.execute(
        "select 1::int2 as a, 2::int4 as b, 3::int8 as c, 1.5::float8 as d, 'x' as e, true as f,"
        " date '2026-01-02' as g, timestamp '2026-01-02 03:04:05' as h, null::int4 as i"
    )
    (row,) = cursor.fetch_arrow_table().to_pylist()
    assert list(row.values()) == [
        1, 2, 3, 1.5, "x", True, datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5), None
    ], row


@scenario
def numeric_and_arrays(cursor):
    cursor.execute("select 12.50::numeric as n, array[1, 2, null] as a, array['x'] as t")
    (row,) = cursor.fetch_arrow_table().to_pylist()
    assert [str(row["n"]), row["a"], row["t"]] == ["12.50", [1, 2, None], ["x"]], row


@scenario
def a_table_is_made_from_arrow(cursor):
    rows = pyarrow.table({"k": [1, 2, 3], "v": ["a", None, "c"], "x": [0.5, 1.5, None]})
    assert cursor.adbc_ingest("adbc_rows", rows, mode="create") == 3
    assert cursor.adbc_ingest("adbc_rows", rows, mode="append") == 3
    cursor.execute("select count(*), count(v), sum(x) from adbc_rows")
    assert cursor.fetchone() == (6, 4, 4.0)


@scenario
def parameters(cursor):
    cursor.execute("select $1::int8 + 1, $2::text || '!'", (41, "x"))
    assert cursor.fetchone() == (42, "x!")


@scenario
def objects_and_schemas(cursor):
    cursor.execute("create table adbc_rows (id int primary key, name varchar(20), price numeric(8, 2))")
    schema = cursor.connection.adbc_get_table_schema("adbc_rows")
    assert schema.names == ["id", "name", "price"], schema
    objects = cursor.connection.adbc_get_objects(depth="all", table_name_filter="adbc_rows").read_all().to_pylist()
    tables = [t for c in objects for s in c["catalog_db_schemas"] for t in s["db_schema_tables"]]
    assert [c["column_name"] for c in tables[0]["table_columns"]] == ["id", "name", "price"], tables


for run in SCENARIOS:
    status, why = "ok", ""
    try:
        with adbc_driver_postgresql.dbapi.connect(URI) as connection, connection.cursor() as cursor:
            run(cursor)
    except Exception as error:
        status = "FAILED"
        why = " ".join(f"{type(error).__name__}: {error}".split())
    print(status, run.__name__.replace("_", " "), why, sep="\t", flush=True)
