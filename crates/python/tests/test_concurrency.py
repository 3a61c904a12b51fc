"""Threads, processes, Ctrl-C."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import tessera

LONG = "select count(*) from generate_series(1, 1000000000000) as g(i) where i % 7 = 3"


def test_one_directory_is_one_database(tmp_path):
    one = tessera.connect(tmp_path / "d", threads=2, memory="1GB")
    other = tessera.connect(str(tmp_path) + "/../" + tmp_path.name + "/d")
    one.execute("create table t (a int)")
    one.commit()
    other.execute("insert into t values (1)")
    assert one.execute("select * from t").fetchall() == []
    other.commit()
    assert one.execute("select * from t").fetchall() == [(1,)]
    with pytest.raises(tessera.OperationalError) as caught:
        tessera.connect(tmp_path / "d", threads=1)
    assert caught.value.sqlstate == "55006"
    one.close()
    assert other.execute("select * from t").fetchall() == [(1,)]
    other.close()
    with tessera.connect(tmp_path / "d", threads=1) as again:
        assert again.execute("select * from t").fetchall() == [(1,)]


def test_databases_in_memory_are_apart():
    with tessera.connect() as one, tessera.connect() as other:
        one.execute("create table t (a int)")
        one.commit()
        with pytest.raises(tessera.ProgrammingError):
            other.execute("select * from t")


OPEN = "import sys, tessera; tessera.connect(sys.argv[1]).execute(sys.argv[2])"


def in_another_process(path, sql="select 1"):
    return subprocess.run([sys.executable, "-c", OPEN, path, sql], capture_output=True, text=True)


def test_another_process_is_refused_until_the_last_connection_closes(tmp_path):
    path = str(tmp_path / "d")
    one, other = tessera.connect(path), tessera.connect(path)
    assert "OperationalError" in in_another_process(path).stderr
    one.close()
    assert "OperationalError" in in_another_process(path).stderr
    del other
    assert in_another_process(path).returncode == 0


def test_what_was_committed_survives_a_kill(tmp_path):
    path = str(tmp_path / "d")
    program = (
        "import os, signal, sys, tessera; con = tessera.connect(sys.argv[1]);"
        "con.execute('create table t (a int)'); con.execute('insert into t values (1)');"
        "con.commit(); con.execute('insert into t values (2)');"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, path])
    assert killed.returncode == -signal.SIGKILL
    with tessera.connect(path) as con:
        assert con.execute("select * from t").fetchall() == [(1,)]


def test_a_fork_does_not_touch_the_database(tmp_path):
    con = tessera.connect(tmp_path / "d")
    con.execute("create table t (a int)")
    con.commit()
    child = os.fork()
    if child == 0:
        try:
            con.execute("select 1")
        except tessera.InterfaceError:
            con.close()
            del con
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    con.execute("insert into t values (1)")
    con.commit()
    assert con.execute("select * from t").fetchall() == [(1,)]
    con.close()


def test_ctrl_c_cancels_a_statement(con):
    con.execute("create table t (a int)")
    con.commit()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        con.execute(LONG)
    assert time.monotonic() - begin < 20
    assert con.execute("select 1").fetchone() == (1,)
    assert not con.in_transaction


def test_ctrl_c_while_waiting_for_another_transaction(tmp_path):
    with tessera.connect(tmp_path / "d") as one, tessera.connect(tmp_path / "d") as other:
        one.execute("create table t (a int primary key)")
        one.commit()
        one.execute("lock table t in access exclusive mode")
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            other.execute("insert into t values (1)")
        one.rollback()
        other.execute("insert into t values (1)")


def test_interrupt_from_another_thread(con):
    threading.Timer(0.3, con.interrupt).start()
    with pytest.raises(tessera.OperationalError) as caught:
        con.execute(LONG)
    assert caught.value.sqlstate == "57014"
    assert con.execute("select 1").fetchone() == (1,)


def test_other_threads_run_while_a_statement_does(con):
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.monotonic()
    con.execute("select sum(i % 7) from generate_series(1, 20000000) as g(i)")
    end = time.monotonic()
    done.set()
    ticker.join()
    assert len([t for t in ticks if begin <= t <= end]) >= 3


def each_in_a_thread(work, count):
    failures = []

    def run(number):
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 (raised again below)
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        raise failure


def test_threads_with_connections_of_their_own(tmp_path):
    with tessera.connect(tmp_path / "d", autocommit=True) as con:
        con.execute("create table t (thread int, n int)")

    def work(number):
        with tessera.connect(tmp_path / "d", autocommit=True) as own:
            for n in range(50):
                own.execute("insert into t values (?, ?)", (number, n))
                (count,) = own.execute(
                    "select count(*) from t where thread = ?", (number,)
                ).fetchone()
                assert count == n + 1

    each_in_a_thread(work, 6)
    with tessera.connect(tmp_path / "d") as con:
        assert con.execute("select count(*), sum(n) from t").fetchone() == (300, 6 * 1225)


def test_threads_that_share_a_connection(auto):
    auto.execute("create table t (a int)")

    def work(number):
        for n in range(50):
            auto.execute("insert into t values (?)", (number * 50 + n,))
            assert auto.cursor().execute("select ?", (n,)).fetchone() == (n,)

    each_in_a_thread(work, 6)
    assert auto.execute("select count(distinct a) from t").fetchone() == (300,)


def test_threads_that_share_a_cursor(con):
    cursor = con.execute("select i from generate_series(1, 5000) as g(i)")
    rows = []
    each_in_a_thread(lambda _: rows.extend(cursor), 4)
    assert sorted(rows) == [(i,) for i in range(1, 5001)]


def test_first_writer_wins(tmp_path):
    with tessera.connect(tmp_path / "d") as one, tessera.connect(tmp_path / "d") as other:
        one.execute("create table t (a int)")
        one.execute("insert into t values (1)")
        one.commit()
        for con in (one, other):
            con.execute("begin isolation level repeatable read")
            con.execute("select * from t")
        one.execute("update t set a = 2")
        one.commit()
        with pytest.raises(tessera.OperationalError) as caught:
            other.execute("update t set a = 3")
        assert caught.value.sqlstate == "40001"
        other.rollback()
        assert other.execute("select * from t").fetchall() == [(2,)]


def test_spawned_processes_get_their_own(tmp_path):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        paths = [str(tmp_path / name) for name in ("a", "b")]
        assert pool.map(count_in, paths) == [3, 3]


def count_in(path):
    with tessera.connect(path, threads=1, memory="1GB") as con:
        con.execute("create table t (a int)")
        con.executemany("insert into t values (?)", [(i,) for i in range(3)])
        return con.execute("select count(*) from t").fetchone()[0]
