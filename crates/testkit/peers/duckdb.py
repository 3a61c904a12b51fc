# DuckDB. There are two ways to run a query to its end: keep its rows inside DuckDB, which costs a
# little on every query, or bring them to Python, which costs per row. "warm" tries both, and "time"
# then uses the faster one, so that DuckDB is measured at its best.

import threading

import duckdb


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


class DuckDb:
    """A connection, and the faster way of each query that was warmed."""

    def __init__(self, file, threads):
        self.connection = duckdb.connect(file)
        self.connection.execute("SET enable_progress_bar = false")
        self.connection.execute(f"SET threads = {threads}")
        self.fastest = {}

    def rows(self, sql, limit=None):
        """The rows of a query, which is interrupted after `limit` seconds."""
        timer = threading.Timer(limit, self.connection.interrupt) if limit else None
        if timer:
            timer.start()
        try:
            result = self.connection.sql(sql).materialize()
            rows = [[cell(value) for value in row] for row in result.fetchall()]
        finally:
            if timer:
                timer.cancel()
        return {"types": [str(kind) for kind in result.types], "rows": rows}

    def warm(self, sql):
        """Runs a query often enough to know the faster way."""
        ways = [kept, fetched]
        tried = [(min(way(self.connection, sql) for _ in range(3)), way) for way in ways]
        best, self.fastest[sql] = min(tried, key=lambda pair: pair[0])
        return timed(*best)

    def time(self, sql):
        """Runs a query in the faster way."""
        return timed(*self.fastest.get(sql, fetched)(self.connection, sql))

    def done(self, sql):
        """Runs a statement."""
        start = time.perf_counter()
        self.connection.execute(sql)
        return timed(time.perf_counter() - start)

    def load(self, table, file):
        """Makes a table from a Parquet file."""
        return self.done(f"CREATE OR REPLACE TABLE {table} AS FROM read_parquet('{file}')")

    def memory(self):
        """Bytes that DuckDB holds."""
        held = "SELECT sum(memory_usage_bytes) FROM duckdb_memory()"
        return self.connection.sql(held).fetchall()[0][0]

    def profile(self, sql):
        """Runs a query under the profiler, its rows streamed away: seconds of binding, optimizing
        and planning, and the peak of memory beyond what was held before."""
        before = self.memory()
        self.connection.execute("SET profiling_mode = 'detailed'")
        self.connection.execute("PRAGMA enable_profiling = 'no_output'")
        self.connection.execute(sql).fetchall()
        found = json.loads(self.connection.get_profiling_information("json"))
        self.connection.execute("PRAGMA disable_profiling")
        if "system" not in found:
            # Queries that are answered from statistics leave no profile.
            return {"planning": None, "bytes": None}
        steps = [found[step]["total_time"] for step in ("planner", "optimizer", "physical_planner")]
        return {
            "planning": sum(steps),
            "bytes": max(0, int(found["system"]["peak_buffer_memory"] - before)),
        }


serve(DuckDb)
