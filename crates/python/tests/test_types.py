"""Values there and back."""

import datetime
import math
import uuid
from decimal import Decimal

import pytest

import tessera

UTC = datetime.timezone.utc
EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)
KEY = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")


@pytest.mark.parametrize(
    "sql, value",
    [
        ("boolean", True),
        ("boolean", False),
        ("smallint", -32768),
        ("integer", 2**31 - 1),
        ("bigint", -(2**63)),
        ("numeric(38, 0)", Decimal(10**38 - 1)),
        ("real", 1.5),
        ("double precision", 0.1),
        ("double precision", math.inf),
        ("numeric(10, 3)", Decimal("-1234567.125")),
        ("numeric(5, 2)", Decimal("1.50")),
        ("text", "größer \U0001f5ff 'quoted' \"too\""),
        ("text", ""),
        ("varchar(5)", "five5"),
        ("bytea", b"\x00\x01\xfe\xff"),
        ("bytea", b""),
        ("date", datetime.date(1, 1, 1)),
        ("date", datetime.date(9999, 12, 31)),
        ("time", datetime.time(23, 59, 59, 999999)),
        ("timestamp", MOMENT),
        ("timestamp", datetime.datetime(1, 1, 1)),
        ("timestamptz", MOMENT.replace(tzinfo=UTC)),
        ("timestamptz", MOMENT.replace(tzinfo=EAST)),
        ("interval", datetime.timedelta(days=-3, seconds=4, microseconds=5)),
        ("uuid", KEY),
        ("jsonb", {"a": [1, 2.5, None, "x"], "b": {"c": True}}),
        ("text", None),
        ("integer", None),
    ],
)
def test_values_there_and_back(con, sql, value):
    con.execute(f"create table t (a {sql})")
    con.execute("insert into t values (?)", (value,))
    (found,) = con.execute("select a from t").fetchone()
    assert found == value and type(found) is type(value)
    assert con.execute("select count(*) from t where a = ?", (value,)).fetchone() == (
        0 if value is None else 1,
    )
    assert con.execute(f"select ?::{sql}", (value,)).fetchone() == (value,)


@pytest.mark.parametrize(
    "value, kind",
    [
        (1, "integer"),
        (2**31, "bigint"),
        (2**63, "numeric"),
        (1.0, "double precision"),
        ("x", "text"),
        (True, "boolean"),
        (Decimal("1.5"), "numeric"),
        (b"x", "bytea"),
        (bytearray(b"x"), "bytea"),
        (memoryview(b"x"), "bytea"),
        (MOMENT, "timestamp without time zone"),
        (MOMENT.replace(tzinfo=UTC), "timestamp with time zone"),
        (MOMENT.date(), "date"),
        (MOMENT.time(), "time without time zone"),
        (datetime.timedelta(1), "interval"),
        (KEY, "uuid"),
    ],
)
def test_types_of_parameters(con, value, kind):
    cursor = con.execute("select ?", (value,))
    assert cursor.description[0][1] == kind
    assert cursor.fetchone() == (value,)


def test_text_is_what_the_statement_wants(con):
    row = con.execute(
        "select date '2020-01-05' - ?, 1 + ?, ? = any_value(u) from (select ?::uuid u) t",
        ("2020-01-01", "2", str(KEY), str(KEY)),
    ).fetchone()
    assert row == (4, 3, True)
    with pytest.raises(tessera.DataError):
        con.execute("select 1 + ?", ("x",))


def test_not_a_number(con):
    (value,) = con.execute("select ?", (math.nan,)).fetchone()
    assert math.isnan(value)
    for text in ("NaN", "Infinity", "-Infinity"):
        (value,) = con.execute("select ?", (Decimal(text),)).fetchone()
        assert isinstance(value, Decimal)
        assert str(value) == text


def test_numpy_scalars(con):
    numpy = pytest.importorskip("numpy")
    values = (numpy.int64(5), numpy.float32(0.5), numpy.bool_(True), numpy.str_("x"))
    assert con.execute("select ?, ?, ?, ?", values).fetchone() == (5, 0.5, True, "x")
    moment = numpy.datetime64("2026-01-02T03:04:05.678901", "us")
    assert con.execute("select ?", (moment,)).fetchone() == (MOMENT,)
    with pytest.raises(tessera.NotSupportedError):
        con.execute("select ?", (numpy.datetime64("2026-01-02T03:04:05", "ns"),))


@pytest.mark.parametrize(
    "sql",
    [
        "date '0044-03-15 BC'",
        "date '10000-01-01'",
        "'infinity'::date",
        "'-infinity'::timestamp",
        "timestamp '12000-01-01'",
        "time '24:00:00'",
    ],
)
def test_times_that_python_has_not(con, sql):
    cursor = con.execute(f"select {sql}")
    with pytest.raises(tessera.DataError) as caught:
        cursor.fetchone()
    assert caught.value.sqlstate == "22008"
    assert isinstance(con.execute(f"select ({sql})::text").fetchone()[0], str)


def test_months_are_thirty_days_and_years_365(con):
    sql = "select interval '1 year 1 month 1 day', interval '-1 month', interval '-1 second'"
    days = datetime.timedelta
    assert con.execute(sql).fetchone() == (days(396), days(-30), days(seconds=-1))


def test_char_is_padded(con):
    assert con.execute("select 'a'::char(3), 'b'::varchar(3)").fetchone() == ("a  ", "b")


def test_decimals_keep_their_digits(con):
    sql = "select 1.10, 2.5 * 2, 10.0 / 4, 0.000, 1e3::numeric, sum(a) from (values (0.10), (0.2)) t(a)"
    row = con.execute(sql).fetchone()
    assert row == tuple(map(Decimal, ("1.10", "5.0", "2.5", "0", "1000", "0.3")))
    assert str(row[0]) == "1.10" and all(isinstance(value, Decimal) for value in row)
    (value,) = con.execute("select ?", (Decimal("12.340"),)).fetchone()
    assert str(value) == "12.340"
    assert con.execute("select ?", (Decimal("1E+5"),)).fetchone() == (Decimal(100000),)


def test_lists_are_arrays(con):
    con.execute("create table t (id int primary key, a int[], w text[])")
    con.executemany("insert into t values (?, ?, ?)", [(i, [i, None], ("x", 'q"\\,{}')) for i in range(100)])
    assert con.execute("select a, w from t where id = 7").fetchone() == ([7, None], ["x", 'q"\\,{}'])
    found = con.execute("select id from t where id = any(?) order by 1", ([3, 5, 1000],))
    assert found.fetchall() == [(3,), (5,)]
    dates = [datetime.date(2020, 2, 29), None]
    assert con.execute("select ?::date[], ?::numeric[]", (dates, [])).fetchone() == (dates, [])
    assert con.execute("select ?::int[]", ([[1], [None]],)).fetchone() == ([[1], [None]],)
    assert con.execute("select '{{a,b},{c,d}}'::text[]").fetchone() == ([["a", "b"], ["c", "d"]],)
    with pytest.raises(tessera.DataError):
        con.execute("select ?::int[]", ([[1], [2, 3]],))
    assert con.execute("select a from t where id = 7").arrow().to_pydict() == {"a": [[7, None]]}
