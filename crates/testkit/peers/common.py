"""Runs queries on another system for a process that asks: what the systems share.

One JSON object per line in, one per line out:
  {"sql": "...", "want": "rows"}    -> {"types": [...], "rows": [[...]]}
  {"sql": "...", "want": "time"}    -> {"seconds": s, "count": n}
  {"sql": "...", "want": "warm"}    -> {"seconds": s, "count": n}
  {"sql": "...", "want": "done"}    -> {"seconds": s, "count": 0}
  {"sql": "...", "want": "profile"} -> {"planning": s or null, "bytes": n or null}
  {"table": t, "file": f, "want": "load"} -> {"seconds": s, "count": 0}
  anything that fails               -> {"error": "..."}

Cells are text as PostgreSQL writes it, or null. A system is an object with the methods rows, time,
warm, done, profile and load. Arguments: the database file (or ":memory:"), the number of threads.
"""

import datetime
import decimal
import json
import sys
import time


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


def timed(seconds, count=0):
    """The reply to what was timed."""
    return {"seconds": seconds, "count": count}


def serve(start):
    """Starts the system and answers requests until the input ends."""
    system = start(sys.argv[1], int(sys.argv[2]))
    for line in sys.stdin:
        try:
            request = json.loads(line)
            method = getattr(system, request.pop("want"))
            reply = method(**request)
        except Exception as error:  # the caller decides what to do about it
            reply = {"error": str(error)}
        print(json.dumps(reply), flush=True)
