"""Runs queries on DuckDB for another process.

One JSON object per line in, one per line out:
  {"sql": "...", "want": "rows"}   -> {"seconds": s, "columns": [...], "types": [...], "rows": [[...]]}
  {"sql": "...", "want": "time"}   -> {"seconds": s, "count": n}
  anything that fails              -> {"error": "..."}

Cells are text as PostgreSQL writes it, or null. `seconds` covers planning and running the query and
keeping its rows inside DuckDB, not their conversion to Python.
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


def answer(connection, request):
    """Runs one request."""
    start = time.perf_counter()
    relation = connection.sql(request["sql"])
    if relation is None:
        return {"seconds": time.perf_counter() - start, "count": 0}
    result = relation.materialize()
    seconds = time.perf_counter() - start
    if request.get("want") != "rows":
        return {"seconds": seconds, "count": len(result)}
    return {
        "seconds": seconds,
        "columns": list(result.columns),
        "types": [str(kind) for kind in result.types],
        "rows": [[cell(value) for value in row] for row in result.fetchall()],
    }


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
