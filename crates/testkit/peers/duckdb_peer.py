"""Runs queries on DuckDB for another process.

One JSON object per line in, one per line out:
  {"sql": "...", "want": "rows"}   -> {"seconds": s, "types": [...], "rows": [[...]]}
  {"sql": "...", "want": "time"}   -> {"seconds": s, "count": n}
  {"sql": "...", "want": "warm"}   -> {"seconds": s, "count": n}
  {"sql": "...", "want": "done"}   -> {"seconds": s, "count": 0}
  {"sql": "...", "want": "profile"} -> {"planning": s or null, "bytes": n or null}
  anything that fails              -> {"error": "..."}

Cells are text as PostgreSQL writes it, or null. There are two ways to run a query to its end: keep
its rows inside DuckDB, which costs a little on every query, or bring them to Python, which costs per
row. "warm" tries both, and "time" then uses the faster one, so that DuckDB is measured at its best.
Arguments: the database file (or ":memory:") and the number of threads.
"""

import datetime
import decimal
import json
import sys
import time

import duckdb


def cell(value):
    """The text of one value."""
    if value is None:
        return None
    if value is True:
        return "t"
    if value is False:
        return "f"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, (bytes, bytearray)):
        return "\\x" + value.hex()
    return str(value)


def kept(connection, sql):
    """Runs a query and keeps its rows inside DuckDB: how many, in which time."""
    start = time.perf_counter()
    result = connection.sql(sql).materialize()
    return time.perf_counter() - start, len(result)


def fetched(connection, sql):
    """Runs a query and brings its rows to Python: how many, in which time."""
    start = time.perf_counter()
    rows = connection.execute(sql).fetchall()
    return time.perf_counter() - start, len(rows)


WAYS = [kept, fetched]
FASTEST = {}


def warm(connection, sql):
    """Runs a query often enough to know the faster way."""
    tried = [(min(way(connection, sql) for _ in range(3)), way) for way in WAYS]
    best, FASTEST[sql] = min(tried, key=lambda pair: pair[0])
    return best


def memory(connection):
    """Bytes that DuckDB holds."""
    return connection.sql("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()[0][0]


def profile(connection, sql):
    """Runs a query under DuckDB's profiler, its rows streamed away: seconds of binding, optimizing
    and planning, and the peak of memory beyond what was held before."""
    before = memory(connection)
    connection.execute("SET profiling_mode = 'detailed'")
    connection.execute("PRAGMA enable_profiling = 'no_output'")
    connection.execute(sql).fetchall()
    found = json.loads(connection.get_profiling_information("json"))
    connection.execute("PRAGMA disable_profiling")
    if "system" not in found:
        # Queries that are answered from statistics leave no profile.
        return {"planning": None, "bytes": None}
    steps = [found[step]["total_time"] for step in ("planner", "optimizer", "physical_planner")]
    return {
        "planning": sum(steps),
        "bytes": max(0, int(found["system"]["peak_buffer_memory"] - before)),
    }


def answer(connection, request):
    """Runs one request."""
    sql, want = request["sql"], request["want"]
    if want == "rows":
        start = time.perf_counter()
        result = connection.sql(sql).materialize()
        seconds = time.perf_counter() - start
        rows = [[cell(value) for value in row] for row in result.fetchall()]
        return {"seconds": seconds, "types": [str(kind) for kind in result.types], "rows": rows}
    if want == "profile":
        return profile(connection, sql)
    if want == "done":
        start = time.perf_counter()
        connection.execute(sql)
        return {"seconds": time.perf_counter() - start, "count": 0}
    way = warm if want == "warm" else FASTEST.get(sql, fetched)
    seconds, count = way(connection, sql)
    return {"seconds": seconds, "count": count}


def main():
    """Answers requests until the input ends."""
    connection = duckdb.connect(sys.argv[1])
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET threads = {int(sys.argv[2])}")
    for line in sys.stdin:
        try:
            reply = answer(connection, json.loads(line))
        except Exception as error:  # the caller decides what to do about it
            reply = {"error": str(error)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
