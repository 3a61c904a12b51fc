"""PEP 249: what sqlite3 and psycopg do, too."""

import datetime
import sqlite3

import pytest

import tessera


def test_module_globals():
    assert tessera.apilevel == "2.0"
    assert tessera.threadsafety == 2
    assert tessera.paramstyle == "qmark"
    assert tessera.__version__


@pytest.mark.parametrize(
    "child, parent",
    [
        ("Error", Exception),
        ("Warning", Exception),
        ("InterfaceError", tessera.Error),
        ("DatabaseError", tessera.Error),
        ("DataError", tessera.DatabaseError),
        ("OperationalError", tessera.DatabaseError),
        ("IntegrityError", tessera.DatabaseError),
        ("InternalError", tessera.DatabaseError),
        ("ProgrammingError", tessera.DatabaseError),
        ("NotSupportedError", tessera.DatabaseError),
    ],
)
def test_exception_hierarchy(child, parent):
    assert issubclass(getattr(tessera, child), parent)
    assert getattr(tessera.Connection, child) is getattr(tessera, child)


@pytest.mark.parametrize(
    "sql, kind, state",
    [
        ("selec 1", tessera.ProgrammingError, "42601"),
        ("select * from missing", tessera.ProgrammingError, "42P01"),
        ("select missing", tessera.ProgrammingError, "42703"),
        ("select 1/0", tessera.DataError, "22012"),
        ("select 'x'::int", tessera.DataError, "22P02"),
        ("select 2147483647 + 1", tessera.DataError, "22003"),
        ("insert into t values (1)", tessera.IntegrityError, "23505"),
        ("insert into t values (null)", tessera.IntegrityError, "23502"),
        ("select 1 for xml", tessera.ProgrammingError, "42601"),
        ("create rule r as on insert to t do nothing", tessera.NotSupportedError, "0A000"),
        ("select * from read_csv('/missing')", tessera.OperationalError, "58P01"),
    ],
)
def test_errors_have_class_and_sqlstate(auto, sql, kind, state):
    auto.execute("create table t (a int primary key)")
    auto.execute("insert into t values (1)")
    with pytest.raises(kind) as caught:
        auto.execute(sql)
    assert state is None or caught.value.sqlstate == state
    assert auto.execute("select 1").fetchone() == (1,)


def test_errors_name_the_constraint(auto):
    auto.execute("create table t (a int constraint one unique, b int not null)")
    auto.execute("insert into t values (1, 1)")
    for sql, column, constraint in [
        ("insert into t values (1, 1)", None, "one"),
        ("insert into t values (2, null)", "b", None),
    ]:
        with pytest.raises(tessera.IntegrityError) as caught:
            auto.execute(sql)
        error = caught.value
        assert (error.schema_name, error.table_name) == ("public", "t")
        assert (error.column_name, error.constraint_name) == (column, constraint)


def test_an_error_knows_its_place(con):
    with pytest.raises(tessera.ProgrammingError) as caught:
        con.execute("select 1,\n       nothing")
    assert caught.value.position == (2, 8)
    assert "line 2 column 8" in str(caught.value)


def test_execute_and_fetch_as_sqlite_does(con):
    other = sqlite3.connect(":memory:")
    for connection in (con, other):
        connection.execute("create table t (a int primary key, b text, c float)")
        rows = [(i, f"row {i}" if i % 3 else None, i / 4) for i in range(100)]
        connection.executemany("insert into t values (?, ?, ?)", rows)
        connection.commit()
    for sql, parameters in [
        ("select * from t order by a", ()),
        ("select b, count(*), sum(c) from t where a < ? group by b order by 1 desc, 2", (50,)),
        ("select x.a, y.b from t x join t y on x.a = y.a + 1 where y.b is null order by 1", ()),
        ("select a from t where b = ? or c = ?", ("row 7", 2.5)),
        ("with recursive r(n) as (select 1 union all select n + 1 from r where n < ?) "
         "select sum(n) from r", (10,)),
    ]:
        found, expected = con.execute(sql, parameters), other.execute(sql, parameters)
        names = [column[0] for column in expected.description]
        if "(" not in "".join(names):
            assert [column[0] for column in found.description] == names
        found, expected = found.fetchall(), expected.fetchall()
        assert sorted(map(str, found)) == sorted(map(str, expected)), sql


def test_fetching(con):
    cursor = con.execute("select i from generate_series(1, 10) as g(i)")
    assert cursor.rowcount == 10
    assert cursor.fetchone() == (1,)
    assert cursor.fetchmany() == [(2,)]
    cursor.arraysize = 2
    assert cursor.fetchmany() == [(3,), (4,)]
    assert cursor.fetchmany(3) == [(5,), (6,), (7,)]
    assert next(cursor) == (8,)
    assert cursor.fetchall() == [(9,), (10,)]
    assert cursor.fetchone() is None
    assert cursor.fetchmany() == [] and cursor.fetchall() == [] and list(cursor) == []


def test_fetching_over_many_batches(con):
    cursor = con.execute("select i, i::text from generate_series(1, 10000) as g(i)")
    expected = [(i, str(i)) for i in range(1, 10001)]
    assert [row for _ in range(4) for row in cursor.fetchmany(2500)] == expected


def test_description_and_type_objects(con):
    cursor = con.execute("select 1 a, 'x'::text b, 1.25::numeric(10, 2) c, date '2020-01-01' d")
    assert [column[0] for column in cursor.description] == ["a", "b", "c", "d"]
    kinds = [column[1] for column in cursor.description]
    assert kinds[0] == tessera.NUMBER and kinds[1] == tessera.STRING
    assert kinds[2] == tessera.NUMBER and kinds[3] == tessera.DATETIME
    assert kinds[0] != tessera.STRING
    assert cursor.description[2][4:6] == (10, 2)
    assert all(len(column) == 7 for column in cursor.description)
    con.execute("create table t (a int)")
    assert con.cursor().description is None
    assert con.execute("insert into t values (1)").description is None


def test_rowcount_and_status(con):
    cursor = con.cursor()
    assert cursor.rowcount == -1 and cursor.statusmessage is None
    assert cursor.execute("create table t (a int)").rowcount == -1
    assert cursor.statusmessage == "CREATE TABLE"
    assert cursor.execute("insert into t values (1), (2), (3)").rowcount == 3
    assert cursor.statusmessage == "INSERT 0 3"
    assert cursor.execute("update t set a = a + 1 where a > 1").rowcount == 2
    assert cursor.execute("delete from t where a = 1").rowcount == 1
    assert cursor.executemany("insert into t values (?)", [(i,) for i in range(10)]).rowcount == 10
    assert cursor.execute("insert into t values (99) returning a").fetchall() == [(99,)]


def test_nothing_to_fetch(con):
    cursor = con.cursor()
    for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.arrow):
        with pytest.raises(tessera.ProgrammingError):
            fetch()
    cursor.execute("create table t (a int)")
    with pytest.raises(tessera.ProgrammingError):
        cursor.fetchone()


def test_changes_begin_a_transaction(con):
    assert not con.in_transaction
    con.execute("select 1")
    assert not con.in_transaction
    con.execute("create table t (a int)")
    assert con.in_transaction
    con.rollback()
    assert not con.in_transaction
    with pytest.raises(tessera.ProgrammingError):
        con.execute("select * from t")
    con.execute("create table t (a int)")
    con.execute("insert into t values (1)")
    con.commit()
    con.execute("insert into t values (2)")
    con.rollback()
    assert con.execute("select * from t").fetchall() == [(1,)]
    con.rollback()
    con.commit()


def test_an_error_fails_the_transaction_unless_it_is_the_first(con):
    con.execute("create table t (a int primary key)")
    con.commit()
    with pytest.raises(tessera.IntegrityError):
        con.execute("insert into t values (1), (1)")
    assert not con.in_transaction
    con.execute("insert into t values (1)")
    with pytest.raises(tessera.IntegrityError):
        con.execute("insert into t values (1)")
    with pytest.raises(tessera.InternalError) as caught:
        con.execute("select 1")
    assert caught.value.sqlstate == "25P02"
    with pytest.raises(tessera.InternalError):
        con.commit()
    assert not con.in_transaction
    assert con.execute("select count(*) from t").fetchone() == (0,)


def test_autocommit(auto):
    auto.execute("create table t (a int)")
    assert auto.autocommit and not auto.in_transaction
    auto.execute("insert into t values (1)")
    auto.rollback()
    assert auto.execute("select * from t").fetchall() == [(1,)]
    auto.execute("begin")
    auto.execute("insert into t values (2)")
    assert auto.in_transaction
    with pytest.raises(tessera.ProgrammingError):
        auto.autocommit = False
    auto.rollback()
    auto.autocommit = False
    auto.execute("insert into t values (3)")
    auto.rollback()
    assert auto.execute("select * from t").fetchall() == [(1,)]


def test_executemany_is_all_or_nothing(auto):
    auto.execute("create table t (a int primary key)")
    with pytest.raises(tessera.IntegrityError):
        auto.executemany("insert into t values (?)", [(1,), (2,), (1,)])
    assert auto.execute("select count(*) from t").fetchone() == (0,)
    assert not auto.in_transaction
    auto.executemany("insert into t values (:a)", ({"a": i} for i in range(5)))
    assert auto.execute("select sum(a) from t").fetchone() == (10,)
    auto.executemany("insert into t values (?)", [])
    assert auto.execute("select count(*) from t").fetchone() == (5,)


def test_executemany_takes_types_that_change(con):
    con.execute("create table t (a numeric(30, 2), b text)")
    rows = [(None, "x"), (1, None), (2**40, "y"), (2**70, "z"), (1.5, "")]
    con.executemany("insert into t values (?, ?)", rows)
    assert con.execute("select * from t").fetchall() == rows


def test_savepoints(con):
    con.execute("create table t (a int)")
    con.execute("savepoint s")
    con.execute("insert into t values (1)")
    con.execute("rollback to s")
    con.execute("insert into t values (2)")
    con.commit()
    assert con.execute("select * from t").fetchall() == [(2,)]


@pytest.mark.parametrize(
    "sql, parameters, expected",
    [
        ("select ?, ?", (1, "a"), (1, "a")),
        ("select $2, $1, $1", [1, "a"], ("a", 1, 1)),
        ("select :a, :b, :a", {"a": 1, "b": "x", "unused": 3}, (1, "x", 1)),
        ("select '?', \"?\" from (select ? as \"?\") t -- ?", (1,), ("?", 1)),
        ("select /* ? /* ? */ ? */ ?", (1,), (1,)),
        ("select $$ ? $$, $a$ ? $$ $a$, ?", (1,), (" ? ", " ? $$ ", 1)),
        ("select E'\\'?', ?", (1,), ("'?", 1)),
        ("select '1'::int + :n::int, ':n'", {"n": 2}, (3, ":n")),
        ("select count(*) from generate_series(1, 10) g(i) where i > ? and i <= ?", (2, 5), (3,)),
    ],
)
def test_parameter_styles(con, sql, parameters, expected):
    assert con.execute(sql, parameters).fetchone() == expected


@pytest.mark.parametrize(
    "sql, parameters, kind",
    [
        ("select ?, ?", (1,), tessera.ProgrammingError),
        ("select ?", (1, 2), tessera.ProgrammingError),
        ("select ?, $1", (1,), tessera.ProgrammingError),
        ("select :a", {"b": 1}, tessera.ProgrammingError),
        ("select ?", "a", TypeError),
        ("select ?", 5, TypeError),
        ("select ?", (object(),), tessera.NotSupportedError),
        ("select ?; select ?", (1, 2), tessera.ProgrammingError),
        ("select ?", ("a\0b",), tessera.DataError),
    ],
)
def test_wrong_parameters(con, sql, parameters, kind):
    with pytest.raises(kind):
        con.execute(sql, parameters)
    assert con.execute("select 1").fetchone() == (1,)


def test_several_statements_without_parameters(con):
    cursor = con.execute("create table t (a int); insert into t values (1), (2); select * from t")
    assert cursor.fetchall() == [(1,), (2,)]
    con.rollback()
    with pytest.raises(tessera.ProgrammingError):
        con.execute("select * from t")


def test_a_statement_is_planned_anew_when_its_table_changes(con):
    con.execute("create table t (a int primary key, b int)")
    con.execute("insert into t values (1, 10)")
    con.commit()
    by_key = "select * from t where a = ?"
    assert con.execute(by_key, (1,)).fetchall() == [(1, 10)]
    con.execute("alter table t add column c text default 'new'")
    con.commit()
    assert con.execute(by_key, (1,)).fetchall() == [(1, 10, "new")]
    con.execute("drop table t")
    con.commit()
    with pytest.raises(tessera.ProgrammingError):
        con.execute(by_key, (1,))


def test_context_managers(tmp_path):
    with tessera.connect(tmp_path / "d") as con, con.cursor() as cursor:
        cursor.execute("create table t (a int)")
        cursor.execute("insert into t values (1)")
    assert con.closed
    with pytest.raises(ZeroDivisionError), tessera.connect(tmp_path / "d") as con:
        con.execute("insert into t values (2)")
        1 / 0  # noqa: B018
    with tessera.connect(tmp_path / "d") as con:
        assert con.execute("select * from t").fetchall() == [(1,)]


def test_what_is_closed_stays_closed(con):
    cursor = con.execute("select 1")
    cursor.close()
    with pytest.raises(tessera.InterfaceError):
        cursor.fetchone()
    cursor = con.execute("select 1")
    con.close()
    con.close()
    for call in (con.cursor, con.commit, con.rollback, cursor.fetchone):
        with pytest.raises(tessera.InterfaceError):
            call()
    with pytest.raises(tessera.InterfaceError):
        con.execute("select 1")


def test_options_of_connect():
    with tessera.connect(threads=3, memory="512MiB") as con:
        assert con.execute("show threads").fetchone() == ("3",)
        assert con.execute("show memory_limit").fetchone() == (str(512 << 20),)
    for wrong in ({"threads": 0}, {"memory": "lots"}, {"memory": 1}):
        with pytest.raises(tessera.ProgrammingError):
            tessera.connect(**wrong)


def test_constructors():
    assert tessera.Date(2020, 1, 2) == datetime.date(2020, 1, 2)
    assert tessera.Time(1, 2, 3) == datetime.time(1, 2, 3)
    assert tessera.Timestamp(2020, 1, 2, 3, 4, 5) == datetime.datetime(2020, 1, 2, 3, 4, 5)
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5)
    assert tessera.TimestampFromTicks(moment.timestamp()) == moment
    assert tessera.DateFromTicks(moment.timestamp()) == moment.date()
    assert tessera.TimeFromTicks(moment.timestamp()) == moment.time()
    assert tessera.Binary(b"x") == b"x"


def test_sizes_are_ignored(con):
    cursor = con.cursor()
    cursor.setinputsizes([1])
    cursor.setoutputsize(1, 0)
    assert cursor.lastrowid is None and cursor.connection is con
