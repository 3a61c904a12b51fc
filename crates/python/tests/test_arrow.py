"""Tables in and out: PyArrow, pandas, Polars, and whatever else has a stream."""

import datetime
from decimal import Decimal

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest

import tessera

DAY = datetime.date(2026, 1, 2)
MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)

COLUMNS = {
    "b": pyarrow.array([True, None, False]),
    "i8": pyarrow.array([1, None, -128], pyarrow.int8()),
    "u8": pyarrow.array([1, None, 255], pyarrow.uint8()),
    "i16": pyarrow.array([1, None, -(2**15)], pyarrow.int16()),
    "u16": pyarrow.array([1, None, 2**16 - 1], pyarrow.uint16()),
    "i32": pyarrow.array([1, None, -(2**31)], pyarrow.int32()),
    "u32": pyarrow.array([1, None, 2**32 - 1], pyarrow.uint32()),
    "i64": pyarrow.array([1, None, -(2**63)], pyarrow.int64()),
    "f16": pyarrow.array(numpy.array([0.5, 1.5, -2], numpy.float16)),
    "f32": pyarrow.array([0.5, None, -1.5], pyarrow.float32()),
    "f64": pyarrow.array([0.1, None, -1e300], pyarrow.float64()),
    "dec": pyarrow.array([Decimal("1.50"), None, Decimal("-99.99")], pyarrow.decimal128(10, 2)),
    "wide": pyarrow.array([Decimal(10**30), None, Decimal(-1)], pyarrow.decimal128(38, 0)),
    "text": pyarrow.array(["a", None, "longer than twelve bytes"]),
    "large": pyarrow.array(["a", None, "longer than twelve bytes"], pyarrow.large_string()),
    "view": pyarrow.array(["a", None, "longer than twelve bytes"], pyarrow.string_view()),
    "bin": pyarrow.array([b"\0", None, b"longer than twelve bytes"], pyarrow.binary()),
    "dict": pyarrow.array(["u", None, "v"]).dictionary_encode(),
    "day": pyarrow.array([DAY, None, datetime.date(1969, 12, 31)], pyarrow.date32()),
    "day64": pyarrow.array([DAY, None, datetime.date(1969, 12, 31)], pyarrow.date64()),
    "time": pyarrow.array([MOMENT.time(), None, datetime.time()], pyarrow.time64("us")),
    "time32": pyarrow.array([datetime.time(1, 2, 3), None, datetime.time()], pyarrow.time32("s")),
    "us": pyarrow.array([MOMENT, None, datetime.datetime(1969, 1, 1)], pyarrow.timestamp("us")),
    "ns": pyarrow.array([MOMENT, None, datetime.datetime(1969, 1, 1)], pyarrow.timestamp("ns")),
    "ms": pyarrow.array([datetime.datetime(2026, 1, 1), None, None], pyarrow.timestamp("ms")),
    "utc": pyarrow.array(
        [MOMENT.replace(tzinfo=datetime.timezone.utc), None, None], pyarrow.timestamp("us", "UTC")
    ),
    "for": pyarrow.array([datetime.timedelta(1, 2), None, datetime.timedelta(-1)]),
    "null": pyarrow.nulls(3),
}


def unhurried(value):
    """What Python has for a value of Arrow, whatever its own class."""
    if isinstance(value, pandas.Timestamp):
        return value.to_pydatetime()
    return value.to_pytimedelta() if isinstance(value, pandas.Timedelta) else value


@pytest.mark.parametrize("name", COLUMNS)
def test_arrow_types_in(con, name):
    table = pyarrow.table({"a": COLUMNS[name], "row": [0, 1, 2]})
    con.register("t", table)
    found = [value for (value,) in con.execute("select a from t order by row")]
    assert found == [unhurried(value) for value in COLUMNS[name].to_pylist()]
    nulls = con.execute("select count(*) from t where a is null").fetchone()
    assert nulls == (COLUMNS[name].null_count,)


def test_unsigned_64(con):
    table = pyarrow.table({"a": pyarrow.array([0, 2**64 - 1], pyarrow.uint64())})
    con.register("t", table)
    assert con.execute("select max(a) from t").fetchone() == (2**64 - 1,)


@pytest.mark.parametrize(
    "array",
    [
        pyarrow.array([[[1]], [[2]]]),
        pyarrow.array([{"x": 1}]),
        pyarrow.array([[("k", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
        pyarrow.array([Decimal(1)], pyarrow.decimal256(50, 0)),
    ],
    ids=["list of lists", "struct", "map", "decimal256"],
)
def test_arrow_types_without_counterpart(con, array):
    table = pyarrow.table({"odd column": array})
    with pytest.raises(tessera.NotSupportedError, match="odd column"):
        con.execute('select * from "table"')
    assert table.num_rows


def test_slices_offsets_and_chunks(con):
    values = pyarrow.chunked_array([pyarrow.array(range(k, k + 1000)) for k in range(0, 9000, 1000)])
    flags = pyarrow.array([None if i % 7 == 0 else i % 2 == 0 for i in range(9000)])
    big = pyarrow.table({"i": values, "f": flags})
    part = big.slice(1234, 4321)
    found = con.execute("select i, f from part order by i").fetchall()
    assert found == list(zip(part["i"].to_pylist(), part["f"].to_pylist(), strict=True))


def test_many_rows_in_parallel(con):
    rows = 300_000
    big = pandas.DataFrame({"k": numpy.arange(rows) % 97, "v": numpy.arange(rows)})
    found = con.execute("select k, sum(v), count(*) from big group by k order by k").fetchall()
    sums = big.groupby("k")["v"].agg(["sum", "count"])
    assert [row[1] for row in found] == sums["sum"].tolist()
    assert [row[2] for row in found] == sums["count"].tolist()


def test_dataframes_of_pandas(con):
    frame = pandas.DataFrame(
        {
            "i": [3, 1, 2],
            "s": ["x", None, "a string of more than twelve bytes"],
            "c": pandas.Categorical(["u", "v", "u"]),
            "t": pandas.to_datetime(["2020-01-01 00:00", None, "2021-06-01 12:00"]),
            "n": pandas.array([1, None, 3], dtype="Int64"),
        },
        index=[10, 20, 30],
    )
    rows = con.execute("select i, s, c, t, n from frame order by i").fetchall()
    assert rows == [
        (1, None, "v", None, None),
        (2, "a string of more than twelve bytes", "u", datetime.datetime(2021, 6, 1, 12), 3),
        (3, "x", "u", datetime.datetime(2020, 1, 1), 1),
    ]
    back = con.execute("select * from frame").df()
    assert back["i"].tolist() == [3, 1, 2] and back["t"].isna().tolist() == [False, True, False]


def test_frames_of_polars(con):
    frame = polars.DataFrame({"g": ["a", "b", "a"], "v": [1, 2, 4], "d": [DAY, None, DAY]})
    lazy = frame.lazy().filter(polars.col("v") > 1)
    assert con.execute("select g, sum(v) from frame group by g order by g").fetchall() == [
        ("a", 5),
        ("b", 2),
    ]
    assert con.execute("select sum(v) from lazy").fetchone() == (6,)
    back = con.execute("select * from frame").pl()
    assert back.equals(frame)


def test_readers_are_read_once_a_statement(con):
    def batches():
        for k in range(5):
            yield pyarrow.record_batch({"i": list(range(k * 10, k * 10 + 10))})

    reader = pyarrow.RecordBatchReader.from_batches(
        pyarrow.schema([("i", pyarrow.int64())]), batches()
    )
    sql = "select count(*), sum(a.i) from reader a join reader b using (i)"
    assert con.execute(sql).fetchone() == (50, 1225)
    # As in PyArrow itself, nothing is left then.
    assert con.execute("select count(*) from reader").fetchone() == (0,)


def test_a_stream_that_fails(con):
    def batches():
        yield pyarrow.record_batch({"i": [1]})
        raise RuntimeError("the source is gone")

    reader = pyarrow.RecordBatchReader.from_batches(
        pyarrow.schema([("i", pyarrow.int64())]), batches()
    )
    with pytest.raises(tessera.OperationalError, match="the source is gone"):
        con.execute("select * from reader")


def test_datasets(con, tmp_path):
    import pyarrow.dataset
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"i": range(100)}), tmp_path / "f.parquet")
    files = pyarrow.dataset.dataset(tmp_path)
    assert con.execute("select sum(i) from files").fetchone() == (4950,)


def test_anything_with_a_stream(con):
    class Wrapped:
        def __arrow_c_stream__(self, requested_schema=None):
            return pyarrow.table({"x": [1, 2]}).__arrow_c_stream__(requested_schema)

    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise LookupError("not today")

    class Wrong:
        def __arrow_c_stream__(self, requested_schema=None):
            return "no capsule"

    mine, broken, wrong = Wrapped(), Broken(), Wrong()
    assert con.execute("select sum(x) from mine").fetchone() == (3,)
    with pytest.raises(LookupError, match="not today"):
        con.execute("select * from broken")
    with pytest.raises(TypeError):
        con.execute("select * from wrong")
    series = polars.Series("s", [1, 2])
    with pytest.raises(tessera.ProgrammingError, match="no table"):
        con.execute("select * from series")
    assert mine and broken and wrong and len(series) == 2


def test_results_are_tables_too(con):
    first = con.execute("select i, i * i as square from generate_series(1, 10) as g(i)")
    assert con.execute("select sum(square) from first").fetchone() == (385,)
    assert len(first.fetchall()) == 10


outer = pandas.DataFrame({"a": [1, 2, 3]})


def test_whose_variables(con):
    assert con.cursor().execute('select sum(a) from "outer"').fetchone() == (6,)

    def inner():
        outer = polars.DataFrame({"a": [10]})
        assert con.execute('select sum(a) from "outer"').fetchone() == (10,)
        return outer

    inner()
    MixedCase = pandas.DataFrame({"a": [7]})
    assert con.execute("select a from MixedCase").fetchone() == (7,)
    assert con.execute('select a from "MixedCase" as t where t.a = ?', (7,)).fetchone() == (7,)
    number = len(MixedCase)
    with pytest.raises(tessera.ProgrammingError, match="type int") as caught:
        con.execute("select * from number")
    assert caught.value.sqlstate == "42P01" and number == 1
    with pytest.raises(tessera.ProgrammingError):
        con.execute("select * from public.MixedCase")


def test_tables_come_before_variables(con):
    frame = pandas.DataFrame({"a": [1]})
    con.execute("create table frame as select a + 1 as a from frame")
    assert con.execute("select a from frame").fetchone() == (2,)
    con.execute("drop table frame")
    assert con.execute("select a from frame").fetchone() == (1,)
    assert len(frame) == 1


def test_variables_in_statements_that_change(con):
    frame = polars.DataFrame({"k": [1, 2], "v": ["x", "y"]})
    con.execute("create table t (k int primary key, v text)")
    assert con.execute("insert into t select * from frame").rowcount == 2
    frame = polars.DataFrame({"k": [2, 3], "v": ["new", "z"]})
    con.execute(
        "merge into t using frame on t.k = frame.k "
        "when matched then update set v = frame.v "
        "when not matched then insert values (frame.k, frame.v)"
    )
    found = con.execute("select * from t order by k").fetchall()
    assert found == [(1, "x"), (2, "new"), (3, "z")]
    assert con.execute("delete from t where k in (select k from frame)").rowcount == 2
    with pytest.raises(tessera.ProgrammingError):
        con.execute("create view v as select * from frame")
    con.rollback()
    with pytest.raises(tessera.ProgrammingError):
        con.execute("insert into frame values (1, 'x')")


def test_registered_names(con):
    con.register("mine", pyarrow.table({"a": [1, 2]}))
    assert con.execute("select sum(a) from mine").fetchone() == (3,)
    con.register("mine", pandas.DataFrame({"a": [5]}))
    assert con.execute("select sum(a) from mine").fetchone() == (5,)
    con.unregister("mine")
    con.unregister("mine")
    with pytest.raises(tessera.ProgrammingError):
        con.execute("select * from mine")
    con.execute("create table t (a int)")
    with pytest.raises(tessera.ProgrammingError) as caught:
        con.register("t", pyarrow.table({"a": [1]}))
    assert caught.value.sqlstate == "42P07"
    with pytest.raises(tessera.ProgrammingError, match="no table"):
        con.register("x", [1, 2])


EVERY = (
    "select 1::smallint a, 2 b, 3::bigint c, 1.5::real d, 2.5::float8 e, 1.25::numeric(10,2) f, "
    "'t' g, 'c'::char(2) h, '\\x00ff'::bytea i, date '2026-01-02' j, time '03:04:05.678901' k, "
    "timestamp '2026-01-02 03:04:05.678901' l, timestamptz '2026-01-02 03:04:05+00' m, true n, "
    "interval '1 day 2 seconds' o, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid p, null q"
)


def test_arrow_out(con):
    table = con.execute(EVERY).arrow()
    assert [str(field.type) for field in table.schema] == [
        "int16", "int32", "int64", "float", "double", "decimal128(10, 2)", "string", "string",
        "binary", "date32[day]", "time64[us]", "timestamp[us]", "timestamp[us, tz=UTC]", "bool",
        "month_day_nano_interval", "string", "string",
    ]  # fmt: skip
    row = table.to_pylist()[0]
    assert (row["a"], row["f"], row["i"], row["j"]) == (1, Decimal("1.25"), b"\x00\xff", DAY)
    assert row["l"] == MOMENT and row["q"] is None
    table.validate(full=True)
    assert con.execute('select g, p from "table"').fetchone()


def test_frames_out(con):
    frame = con.execute(EVERY).df()
    assert frame["b"][0] == 2 and frame["l"][0] == pandas.Timestamp(MOMENT)
    assert frame["o"][0] == pandas.Timedelta(days=1, seconds=2)
    frame = con.execute(EVERY).pl()
    assert frame["o"][0] == datetime.timedelta(days=1, seconds=2)
    assert frame["f"][0] == Decimal("1.25") and frame["m"].dtype == polars.Datetime("us", "UTC")
    cursor = con.execute("select interval '1 month' as i")
    assert cursor.arrow().num_rows == 1
    with pytest.raises(Exception, match="months has no fixed length"):
        cursor.df()


def test_arrays_out(con):
    found = con.execute("select i, i / 2.0::float8 h from generate_series(1, 5) as g(i)").fetchnumpy()
    assert found["i"].tolist() == [1, 2, 3, 4, 5] and found["h"].dtype == numpy.float64


def test_large_results_come_in_few_batches(con):
    cursor = con.execute(
        "select i, case when i % 10 = 0 then null else i::text end s "
        "from generate_series(1, 200000) as g(i)"
    )
    cursor.fetchmany(10)
    table = cursor.arrow()
    table.validate(full=True)
    assert table.num_rows == 200_000 and len(table["i"].chunks) < 10
    assert sorted(table["i"].to_pylist()) == list(range(1, 200_001))
    assert table["s"].null_count == 20_000
    assert pyarrow.table(cursor).equals(table)


def test_empty_tables(con):
    nothing = con.execute("select 1 a, 'x' b where false")
    assert nothing.arrow().num_rows == 0 and nothing.df().shape == (0, 2)
    assert nothing.pl().shape == (0, 2)
    frame = pandas.DataFrame({"a": pandas.Series([], dtype="int64")})
    assert con.execute("select count(*), sum(a) from frame").fetchone() == (0, None)
    assert len(frame) == 0


@pytest.mark.parametrize(
    "sql",
    [
        "select g, count(*) n, sum(v) s, min(d) m, avg(v) a from data group by g",
        "select x.g, y.v from data x join data y on x.v = y.v + 1",
        "select g, v, row_number() over (partition by g order by v) r from data",
        "select g, v from data where v between 100 and 200 and g like 'g1%' order by v limit 7",
        "select distinct d from data where g is null",
        "select upper(g) u, length(g) l, v % 7 w, cast(v as double precision) / 3 q from data",
    ],
)
def test_answers_are_those_of_duckdb(con, sql):
    rows = 5000
    day = numpy.datetime64("2020-01-01", "us")
    data = pandas.DataFrame(
        {
            "g": [None if i % 11 == 0 else f"g{i % 23}" for i in range(rows)],
            "v": numpy.arange(rows),
            "d": day + numpy.arange(rows) % 17 * numpy.timedelta64(1, "D"),
        }
    )

    def plain(value):
        return float(value) if isinstance(value, (int, Decimal)) else value

    def key(row):
        return tuple((value is None, value if value is not None else 0) for value in row)

    ours = [tuple(map(plain, row)) for row in con.execute(sql).fetchall()]
    theirs = [tuple(map(plain, row)) for row in duckdb.connect().execute(sql).fetchall()]
    assert len(data) == rows
    for mine, other in zip(sorted(ours, key=key), sorted(theirs, key=key), strict=True):
        for a, b in zip(mine, other, strict=True):
            assert a == b or abs(a - b) <= 1e-9 * abs(b), sql
