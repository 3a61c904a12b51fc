"""Scenarios of psycopg 3, asyncpg, pg8000 and SQLAlchemy: python clients.py PORT PASSWORD CLIENT.

What each came to is printed as "status\\tscenario\\twhy". Values are compared with what PostgreSQL 15
gives the same client.
"""
import asyncio
import datetime
import decimal
import sys
import threading

import asyncpg
import pg8000.native
import psycopg
import sqlalchemy
from psycopg import errors
from psycopg.types.json import Json, Jsonb
from sqlalchemy import ForeignKey, String, func, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

PORT, PASSWORD = int(sys.argv[1]), sys.argv[2]
PLACE = dict(host="127.0.0.1", port=PORT, user="tessera", password=PASSWORD)
URL = f"tessera:{PASSWORD}@127.0.0.1:{PORT}/tessera"
UTC = datetime.timezone.utc
SCENARIOS = []


def scenario(run):
    SCENARIOS.append(run)
    return run


def connect(**options):
    return psycopg.connect(dbname="tessera", **PLACE, **options)


def refused(error, run):
    try:
        run()
    except error:
        return
    raise AssertionError(f"not refused with {error.__name__}")


@scenario
def psycopg_passwords():
    wrong = dict(PLACE, password="wrong")
    refused(psycopg.OperationalError, lambda: psycopg.connect(dbname="tessera", **wrong))


@scenario
def psycopg_values_as_text():
    values = (7, "x'y", decimal.Decimal("12.5"), datetime.date(2026, 1, 2), True, 1.5, None)
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 6)
    with connect() as client:
        row = client.execute(
            "select %s::int, %s::text, %s::numeric, %s::date, %s::bool, %s::float8, %s::text",
            values,
        ).fetchone()
        assert row == values, row
        row = client.execute("select %s::timestamp, %s::timestamptz", (moment, moment.replace(tzinfo=UTC)))
        assert row.fetchone() == (moment, moment.replace(tzinfo=UTC))


@scenario
def psycopg_named_cursors():
    with connect() as client:
        with client.cursor("c") as cursor:
            cursor.itersize = 100
            cursor.execute("select g, g * 2 from generate_series(1, %s::int) as t(g)", (1000,))
            assert [column.name for column in cursor.description] == ["g", "?column?"]
            assert sum(row[1] for row in cursor) == 1001000
        with client.cursor("s", scrollable=True) as cursor:
            cursor.execute("select g from generate_series(1, 10) as t(g)")
            assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
            cursor.scroll(-2)
            assert cursor.fetchone() == (2,)
            cursor.scroll(9, mode="absolute")
            assert cursor.fetchall() == [(10,)]
    with connect(autocommit=True) as client:
        with client.cursor("h", withhold=True) as cursor:
            cursor.execute("select 1 as one")
            assert cursor.fetchall() == [(1,)]


@scenario
def psycopg_notices_and_notifications():
    with connect(autocommit=True) as client, connect(autocommit=True) as other:
        told = []
        client.add_notice_handler(lambda notice: told.append((notice.severity, notice.message_primary)))
        client.execute("drop table if exists no_such_table")
        assert told == [("NOTICE", 'table "no_such_table" does not exist, skipping')], told
        client.execute("listen news")
        other.execute("select pg_notify('news', 'hello')")
        came = next(client.notifies(timeout=10, stop_after=1))
        assert (came.channel, came.payload) == ("news", "hello")


@scenario
def psycopg_named_cursors_end():
    with connect() as client:
        cursor = client.cursor("c")
        cursor.execute("select 1")
        client.rollback()
        refused(errors.InvalidCursorName, cursor.fetchone)


@scenario
def psycopg_two_phase():
    with connect(autocommit=True) as client:
        client.execute("create table client_two_phase (id int primary key)")
    for number, end in ((1, "tpc_commit"), (2, "tpc_rollback")):
        with connect() as client:
            xid = client.xid(17, f"client {number}", "branch")
            client.tpc_begin(xid)
            client.execute("insert into client_two_phase values (%s)", (number,))
            client.tpc_prepare()
        # The connection is gone, the work is not.
        with connect() as client:
            (found,) = [found for found in client.tpc_recover() if found.gtrid == f"client {number}"]
            assert (found.format_id, found.bqual, found.database) == (17, "branch", "tessera")
            getattr(client, end)(found)
            assert all(found.gtrid != f"client {number}" for found in client.tpc_recover())
    with connect(autocommit=True) as client:
        assert client.execute("select id from client_two_phase").fetchall() == [(1,)]
        client.execute("drop table client_two_phase")


@scenario
def psycopg_values_in_binary():
    with connect() as client:
        cursor = client.cursor(binary=True)
        cursor.execute(
            "select 1::int8, 1.25::numeric, date '2020-01-01', timestamp '2020-01-01 01:02:03.5', "
            "interval '1 day 2 hours', 'x', time '10:11:12'"
        )
        assert cursor.fetchone() == (
            1,
            decimal.Decimal("1.25"),
            datetime.date(2020, 1, 1),
            datetime.datetime(2020, 1, 1, 1, 2, 3, 500000),
            datetime.timedelta(days=1, hours=2),
            "x",
            datetime.time(10, 11, 12),
        )


@scenario
def psycopg_infers_types_of_parameters():
    row = (5, "five", decimal.Decimal("5.55"), datetime.date(2020, 2, 2))
    with connect() as client:
        client.execute("create temp table t (a int, b text, c numeric(10, 2), d date)")
        client.execute("insert into t values (%s, %s, %s, %s)", row)
        found = client.execute("select * from t where a = %s and b = %s and c = %s and d = %s", row)
        assert found.fetchall() == [row]


@scenario
def psycopg_many_rows():
    with connect() as client:
        client.execute("create temp table t (a int, b text)")
        client.cursor().executemany("insert into t values (%s, %s)", [(i, str(i)) for i in range(1000)])
        assert client.execute("select count(*), sum(a) from t").fetchone() == (1000, 499500)


@scenario
def psycopg_copy():
    with connect() as client:
        client.execute("create temp table t (a int, b text)")
        with client.cursor().copy("copy t from stdin") as copy:
            for i in range(1000):
                copy.write_row((i, None if i % 10 == 0 else f"tab\tand\nline {i}"))
        with client.cursor().copy("copy t to stdout") as copy:
            rows = list(copy.rows())
        assert len(rows) == 1000 and rows[0] == ("0", None) and rows[1] == ("1", "tab\tand\nline 1")


@scenario
def psycopg_failed_transactions():
    client = connect()
    refused(errors.DivisionByZero, lambda: client.execute("select 1/0"))
    refused(errors.InFailedSqlTransaction, lambda: client.execute("select 1"))
    client.rollback()
    with client.transaction():
        client.execute("create temp table t (a int unique)")
        client.execute("insert into t values (1)")

        def twice():
            with client.transaction():
                client.execute("insert into t values (1)")

        refused(errors.UniqueViolation, twice)
        assert client.execute("select count(*) from t").fetchone() == (1,)
    client.close()


@scenario
def psycopg_prepared_and_pipelined():
    with connect() as client:
        for i in range(20):
            row = client.execute("select %s::int + 1", (i,), prepare=True).fetchone()
            assert row == (i + 1,)
        with client.pipeline():
            cursors = [client.execute("select %s::int", (i,)) for i in range(50)]
        assert [cursor.fetchone()[0] for cursor in cursors] == list(range(50))


@scenario
def psycopg_cancel():
    with connect(autocommit=True) as client:
        threading.Timer(0.3, client.cancel).start()
        long = "select count(*) from generate_series(1, 1000000000000) as g(i) where i % 7 = 3"
        refused(errors.QueryCanceled, lambda: client.execute(long))
        assert client.execute("select 1").fetchone() == (1,)


@scenario
def psycopg_nulls():
    with connect() as client:
        for binary in (False, True):
            cursor = client.cursor(binary=binary)
            cursor.execute("select %s::int, %s::text, null::timestamptz", (None, None))
            assert cursor.fetchone() == (None, None, None)


@scenario
def psycopg_isolation_levels():
    with connect(autocommit=True) as setup:
        setup.execute("drop table if exists py_iso")
        setup.execute("create table py_iso (a int)")
        setup.execute("insert into py_iso values (1)")
    with connect() as client, connect(autocommit=True) as other:
        client.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        assert client.execute("select a from py_iso").fetchone() == (1,)
        other.execute("update py_iso set a = 2")
        assert client.execute("select a from py_iso").fetchone() == (1,)
        refused(errors.SerializationFailure, lambda: client.execute("update py_iso set a = 3"))
        client.rollback()
        client.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        assert client.execute("select a from py_iso").fetchone() == (2,)


@scenario
def psycopg_statement_timeout():
    with connect(autocommit=True, options="-c statement_timeout=200") as client:
        long = "select count(*) from generate_series(1, 1000000000000) as g(i) where i % 7 = 3"
        refused(errors.QueryCanceled, lambda: client.execute(long))


@scenario
def psycopg_large_text():
    text = "größer " * (1 << 20)
    with connect() as client:
        assert client.execute("select %s::text, length(%s)", (text, text)).fetchone() == (text, len(text))


@scenario
def psycopg_arrays():
    with connect() as client:
        assert client.execute("select 2 = any(%s)", ([1, 2],)).fetchone() == (True,)
        assert client.execute("select %s::text[]", (["a", "b"],)).fetchone() == (["a", "b"],)


@scenario
def psycopg_json():
    value = {"b": [1, 2.5, None], "a": "x\ny", "c": {"d": True}}
    with connect() as client:
        client.execute("create temp table docs (id int, j json, b jsonb)")
        insert = "insert into docs values (%s, %s, %s)"
        client.execute(insert, (1, Json(value), Jsonb(value)))
        client.cursor(binary=True).execute(insert, (2, Json([1]), Jsonb([1])))
        for binary in (False, True):
            rows = client.cursor(binary=binary).execute("select j, b from docs order by id")
            assert rows.fetchall() == [(value, value), ([1], [1])]
        assert client.execute("select b -> 'b' -> 1 from docs where b @> %s", (
            Jsonb({"a": "x\ny"}),
        )).fetchone() == (2.5,)
        found = client.execute("select id from docs where b = %s", (Jsonb([1.0]),))
        assert found.fetchone() == (2,)
        with client.cursor().copy("copy docs (id, b) from stdin (format binary)") as copy:
            copy.set_types(["int4", "jsonb"])
            copy.write_row((3, Jsonb({"k": 1})))
        assert client.execute("select b from docs where id = 3").fetchone() == ({"k": 1},)


@scenario
def psycopg_what_is_refused():
    with connect(autocommit=True) as client:
        refused(errors.FeatureNotSupported, lambda: client.execute("select array[[1], [2]]"))


LISTED = "create table listed (id int primary key, s varchar(10), a int[], w text[])"
FILLED = "insert into listed select i, 's' || i, array[i, null, i + 1], array['x', 's ' || i]"
FILLED += " from generate_series(1, 100) as g(i)"


@scenario
def psycopg_lists():
    with connect() as client:
        client.execute(LISTED)
        client.execute(FILLED)
        for binary in (False, True):
            cursor = client.cursor(binary=binary)
            found = cursor.execute("select id from listed where id = any(%s) order by 1", ([5, 7, 5, 1000],))
            assert found.fetchall() == [(5,), (7,)]
            found = cursor.execute("select id from listed where s = any(%s) order by 1", (["s1", "s3"],))
            assert found.fetchall() == [(1,), (3,)]
            found = cursor.execute("select count(*) from listed where id <> all(%s)", ([1, 2],))
            assert found.fetchone() == (98,)
            found = cursor.execute("select a, w from listed where id = 4")
            assert found.fetchone() == ([4, None, 5], ["x", "s 4"])
            lists = ([1, None, 70000], ["a", None, 'q"\\,{}'], [1.5, -2.5], [], [True, False])
            row = cursor.execute("select %s::int[], %s::text[], %s::float8[], %s::int[], %s::bool[]", lists)
            assert row.fetchone() == lists
        wide = client.execute("select id from listed where id = any(%s)", ([6, 2**40],), binary=True)
        assert wide.fetchall() == [(6,)]
        client.execute("insert into listed values (%s, %s, %s, %s)", (200, "new", [1, 2], ["p", "q"]))
        assert client.execute("select a, w from listed where id = 200").fetchone() == ([1, 2], ["p", "q"])
        with client.cursor().copy("copy (select id, a from listed where id < 3 order by 1) to stdout") as copy:
            assert list(copy.rows()) == [("1", "{1,NULL,2}"), ("2", "{2,NULL,3}")]
        client.rollback()


@scenario
def pg8000_lists():
    client = pg8000.native.Connection(database="tessera", **PLACE)
    client.run("drop table if exists listed")
    client.run(LISTED)
    client.run(FILLED)
    assert client.run("select id from listed where id = any(:ids) order by 1", ids=[5, 7]) == [[5], [7]]
    assert client.run("select a, w from listed where id = 4") == [[[4, None, 5], ["x", "s 4"]]]
    client.run("drop table listed")
    client.close()


@scenario
def asyncpg_lists():
    async def run():
        client = await asyncpg.connect(f"postgres://{URL}")
        await client.execute("drop table if exists listed")
        await client.execute(LISTED)
        await client.execute(FILLED)
        rows = await client.fetch("select id from listed where id = any($1) order by 1", [5, 7, 1000])
        assert [row[0] for row in rows] == [5, 7]
        rows = await client.fetch("select id from listed where s = any($1) order by 1", ["s1", "s3"])
        assert [row[0] for row in rows] == [1, 3]
        assert tuple(await client.fetchrow("select a, w from listed where id = 4")) == ([4, None, 5], ["x", "s 4"])
        await client.execute("insert into listed values ($1, $2, $3, $4)", 200, "n", [1, None], [])
        assert tuple(await client.fetchrow("select a, w from listed where id = 200")) == ([1, None], [])
        await client.execute("drop table listed")
        await client.close()

    asyncio.run(run())


@scenario
def pg8000_values():
    client = pg8000.native.Connection(database="tessera", **PLACE)
    assert client.run("select :a::int + 1, :b::text", a=4, b="x") == [[5, "x"]]
    client.close()


@scenario
def asyncpg_values_transactions_cursors():
    async def run():
        client = await asyncpg.connect(f"postgres://{URL}")
        assert await client.fetchval("select $1::int + 1", 41) == 42
        row = await client.fetchrow(
            "select 1.5::numeric a, date '2020-01-01' b, timestamp '2020-01-01' c, true d, 'x' e"
        )
        day = datetime.date(2020, 1, 1)
        assert tuple(row) == (decimal.Decimal("1.5"), day, datetime.datetime(2020, 1, 1), True, "x")
        async with client.transaction():
            await client.execute("create temp table t (a int)")
            rows = [row async for row in client.cursor("select * from generate_series(1, 500)")]
            assert len(rows) == 500
        await client.executemany("insert into t values ($1)", [(i,) for i in range(100)])
        assert await client.fetchval("select count(*) from t") == 100
        await client.close()

    asyncio.run(run())


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "client_user"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(30))
    addresses = relationship("Address", back_populates="user")


class Address(Base):
    __tablename__ = "client_address"
    id: Mapped[int] = mapped_column(primary_key=True)
    mail: Mapped[str]
    user_id: Mapped[int] = mapped_column(ForeignKey("client_user.id"))
    user = relationship("User", back_populates="addresses")


@scenario
def sqlalchemy_objects():
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://{URL}")
    Base.metadata.create_all(engine)
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        mails = [Address(mail="a@x"), Address(mail="b@x")]
        session.add_all([User(name="ann", addresses=mails), User(name="bob")])
        session.commit()
        assert session.scalar(select(func.count()).select_from(Address)) == 2
        ann = session.scalars(select(User).where(User.name == "ann")).one()
        assert sorted(address.mail for address in ann.addresses) == ["a@x", "b@x"]
        ann.name = "anna"
        session.commit()
        assert session.scalars(select(User.name).order_by(User.id)).all() == ["anna", "bob"]
    Base.metadata.drop_all(engine)


@scenario
def sqlalchemy_json():
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://{URL}")
    metadata = sqlalchemy.MetaData()
    docs = sqlalchemy.Table(
        "client_docs",
        metadata,
        sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True),
        sqlalchemy.Column("plain", sqlalchemy.JSON),
        sqlalchemy.Column("data", JSONB),
    )
    metadata.create_all(engine)
    with engine.begin() as client:
        client.execute(docs.insert(), [{"plain": {"x": 1}, "data": {"tags": ["a", "b"], "n": 1}}])
        found = client.execute(docs.select().where(docs.c.data["tags"].contains(["a"]))).one()
        assert found == (1, {"x": 1}, {"tags": ["a", "b"], "n": 1})
        name = docs.c.data["tags"][0].astext
        assert client.execute(select(name).where(docs.c.data.has_key("n"))).scalar() == "a"
        assert client.execute(select(docs.c.plain["x"].as_integer())).scalar() == 1
    columns = {c["name"]: str(c["type"]) for c in sqlalchemy.inspect(engine).get_columns("client_docs")}
    assert columns == {"id": "INTEGER", "plain": "JSON", "data": "JSONB"}
    metadata.drop_all(engine)


@scenario
def sqlalchemy_two_phase():
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://{URL}")
    Base.metadata.create_all(engine)
    with engine.connect() as client:
        transaction = client.begin_twophase("client prepared")
        client.execute(sqlalchemy.insert(User).values(name="ann"))
        transaction.prepare()
    with engine.connect() as client:
        assert "client prepared" in client.recover_twophase()
        assert client.scalar(select(func.count()).select_from(User)) == 0
        client.rollback()
        client.commit_prepared("client prepared", recover=True)
        assert client.scalar(select(func.count()).select_from(User)) == 1
    Base.metadata.drop_all(engine)


@scenario
def sqlalchemy_reflection():
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://{URL}")
    Base.metadata.create_all(engine)
    inspector = sqlalchemy.inspect(engine)
    assert {"client_user", "client_address"} <= set(inspector.get_table_names())
    columns = {column["name"]: column["nullable"] for column in inspector.get_columns("client_user")}
    assert columns == {"id": False, "name": False}
    assert inspector.get_pk_constraint("client_user")["constrained_columns"] == ["id"]
    assert inspector.get_foreign_keys("client_address")[0]["referred_table"] == "client_user"
    Base.metadata.drop_all(engine)


only = sys.argv[3]
for run in SCENARIOS:
    client, _, name = run.__name__.partition("_")
    if client != only:
        continue
    status, why = "ok", ""
    try:
        run()
    except Exception as error:
        status = "FAILED"
        why = " ".join(f"{type(error).__name__}: {error}".split())
    print(status, name.replace("_", " "), why, sep="\t", flush=True)
