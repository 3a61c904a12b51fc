"""Tessera, a main-memory SQL database, inside of this process.

>>> import tessera
>>> con = tessera.connect()                    # in memory; connect("my-data") is a directory
>>> con.execute("select ? + 1", (41,)).fetchone()
(42,)

Connections and cursors are those of DB-API 2.0 (PEP 249). Results become tables of PyArrow
(``.arrow()``), DataFrames of pandas (``.df()``) and Polars (``.pl()``); tables and DataFrames in
scope stand in FROM by their names.
"""

from ._connection import Connection, Cursor, connect
from ._errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004 (PEP 249 has this name)
)
from ._tessera import __version__
from ._types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

apilevel = "2.0"
"""The version of DB-API."""
threadsafety = 2
"""Threads may share the module and connections."""
paramstyle = "qmark"
"""``?`` stands for a parameter; ``$1``, and ``:name`` with a mapping, are taken, too."""

__all__ = [
    "BINARY",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "STRING",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
