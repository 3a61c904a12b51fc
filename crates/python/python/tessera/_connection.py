"""Connections and cursors of DB-API 2.0 (PEP 249)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Union

from . import _errors, _scan
from ._tessera import Result, Session

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow

Parameters = Union[Sequence[Any], Mapping[str, Any]]

_UNITS = {"": 1, "b": 1}
_UNITS |= {"k": 1 << 10, "kib": 1 << 10, "kb": 10**3, "m": 1 << 20, "mib": 1 << 20, "mb": 10**6}
_UNITS |= {"g": 1 << 30, "gib": 1 << 30, "gb": 10**9}


def _bytes(memory: int | str) -> int:
    """``"4GB"``, ``"512MiB"`` or a number as bytes."""
    match = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]*)\s*", str(memory))
    factor = _UNITS.get(match[2].lower()) if match else None
    if match is None or factor is None or float(match[1]) * factor < 1e6:
        raise _errors.ProgrammingError(f'memory={memory!r} is no size of 1MB or more: "4GB", say')
    return int(float(match[1]) * factor)


def connect(
    path: str | os.PathLike[str] = ":memory:",
    *,
    threads: int | None = None,
    memory: int | str | None = None,
    autocommit: bool = False,
) -> Connection:
    """Opens a database.

    ``path`` is a directory, made when it is missing; ``":memory:"`` is a new database in memory.
    Connections of one process to one directory share its database; another process gets
    :class:`OperationalError` with SQLSTATE 55006.

    ``threads`` (all cores) and ``memory`` (80 % of the machine's; ``"4GB"`` or bytes) limit the
    database. With ``autocommit`` every statement is a transaction of its own.
    """
    if threads is not None and not 1 <= threads <= 1024:
        raise _errors.ProgrammingError(f"threads={threads} is not from 1 to 1024")
    where = os.fspath(path)
    place = None if where in (":memory:", "") else where
    session = Session(place, threads, None if memory is None else _bytes(memory))
    return Connection(session, autocommit=autocommit)


class Connection:
    """A session of a database. Threads may share it: its statements run one after the other."""

    Warning = _errors.Warning
    Error = _errors.Error
    InterfaceError = _errors.InterfaceError
    DatabaseError = _errors.DatabaseError
    DataError = _errors.DataError
    OperationalError = _errors.OperationalError
    IntegrityError = _errors.IntegrityError
    InternalError = _errors.InternalError
    ProgrammingError = _errors.ProgrammingError
    NotSupportedError = _errors.NotSupportedError

    def __init__(self, session: Session, *, autocommit: bool = False) -> None:
        self._session = session
        self._autocommit = autocommit
        self._registered: dict[str, Any] = {}
        self._closed = False

    def cursor(self) -> Cursor:
        """A new cursor."""
        self._check_open()
        return Cursor(self)

    def execute(self, sql: str, parameters: Parameters | None = None) -> Cursor:
        """Runs a statement on a new cursor, which it returns: see :meth:`Cursor.execute`."""
        return self.cursor()._execute(sql, parameters, sys._getframe(1))

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> Cursor:
        """Runs a statement for each of ``rows``: see :meth:`Cursor.executemany`."""
        return self.cursor()._executemany(sql, rows, sys._getframe(1))

    def commit(self) -> None:
        """Commits the transaction, if there is one.

        A transaction in which a statement failed is rolled back, with :class:`InternalError`.
        """
        self._check_open()
        if self._session.end("COMMIT") != "COMMIT":
            error = _errors.InternalError("the transaction failed before and was rolled back")
            error.sqlstate = "25P02"
            raise error

    def rollback(self) -> None:
        """Rolls the transaction back, if there is one."""
        self._check_open()
        self._session.end("ROLLBACK")

    def close(self) -> None:
        """Rolls back and closes; the database closes with its last connection."""
        self._closed = True
        self._registered.clear()
        self._session.close()

    def interrupt(self) -> None:
        """Cancels the statement that runs, from another thread: it raises SQLSTATE 57014."""
        self._session.cancel()

    def register(self, name: str, table: Any) -> None:
        """Lets ``name`` stand for ``table`` in FROM, as long as the connection is open.

        ``table`` is a DataFrame of pandas or Polars, a table or reader of PyArrow, or whatever else
        has ``__arrow_c_stream__``. It is read by each statement, without being copied before.
        """
        self._check_open()
        _scan.stream_of(name, table)
        if self._session.has_relation(name):
            error = _errors.ProgrammingError(f'relation "{name}" already exists')
            error.sqlstate = "42P07"
            raise error
        self._registered[name] = table

    def unregister(self, name: str) -> None:
        """Takes back what :meth:`register` did."""
        self._registered.pop(name, None)

    @property
    def autocommit(self) -> bool:
        """Whether every statement is a transaction of its own.

        If not, the first statement that changes something begins a transaction.
        """
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        if self.in_transaction:
            raise _errors.ProgrammingError("autocommit cannot change inside of a transaction")
        self._autocommit = bool(value)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun and not ended."""
        self._check_open()
        return self._session.in_transaction

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    def __enter__(self) -> Connection:
        self._check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commits, or rolls back after an exception, and closes."""
        if self._closed:
            return
        try:
            if kind is None:
                self.commit()
        finally:
            self.close()

    def _check_open(self) -> None:
        if self._closed:
            error = _errors.InterfaceError("the connection is closed")
            error.sqlstate = "08003"
            raise error


class Cursor:
    """Runs statements and gives their rows. The rows are in memory when ``execute`` returns."""

    arraysize: int = 1
    """How many rows :meth:`fetchmany` gives without a number."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._result: Result | None = None
        self._rowcount = -1
        self._closed = False

    @property
    def connection(self) -> Connection:
        """The connection that made it."""
        return self._connection

    @property
    def description(self) -> list[tuple[str, str, None, None, int | None, int | None, None]] | None:
        """Name, type, precision and scale of each column; None when there are no rows to fetch."""
        result = self._result
        if result is None or not result.has_rows:
            return None
        return [
            (name, kind, None, None, precision, scale, None)
            for name, kind, precision, scale in result.columns
        ]

    @property
    def rowcount(self) -> int:
        """How many rows the last statement gave or changed; -1 when it did neither."""
        return self._rowcount

    @property
    def statusmessage(self) -> str | None:
        """PostgreSQL's tag of the last statement: ``"INSERT 0 3"``."""
        return None if self._result is None else self._result.tag

    @property
    def lastrowid(self) -> None:
        """Always None: RETURNING gives the keys of inserted rows."""
        return None

    def execute(self, sql: str, parameters: Parameters | None = None) -> Cursor:
        """Runs ``sql`` and returns the cursor.

        Parameters are ``?`` or ``$1`` with a sequence, ``:name`` with a mapping. Without parameters
        ``sql`` may be several statements; the rows are those of the last.

        A name in FROM that is no table may be a variable of the caller: a DataFrame of pandas or
        Polars, a table or reader of PyArrow, whatever has ``__arrow_c_stream__``.
        """
        return self._execute(sql, parameters, sys._getframe(1))

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> Cursor:
        """Runs one statement with the parameters of each of ``rows``, all or none of them."""
        return self._executemany(sql, rows, sys._getframe(1))

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None after the last."""
        rows = self._rows().fetch(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows: ``size`` of them, or :attr:`arraysize`."""
        return self._rows().fetch(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that were not fetched yet."""
        return self._rows().fetch(sys.maxsize)

    def arrow(self) -> pyarrow.Table:
        """The whole result, whatever was fetched, as a table of PyArrow."""
        import pyarrow

        return pyarrow.table(self._rows())

    def df(self) -> pandas.DataFrame:
        """The whole result, whatever was fetched, as a DataFrame of pandas (with PyArrow).

        Intervals are durations: one with months raises an error.
        """
        import pandas  # noqa: F401 (its absence is told before the work)
        import pyarrow

        return pyarrow.table(self._rows().with_durations()).to_pandas()

    def pl(self) -> polars.DataFrame:
        """The whole result, whatever was fetched, as a DataFrame of Polars.

        Intervals are durations: one with months raises an error.
        """
        import polars

        return polars.DataFrame(self._rows().with_durations())

    def fetchnumpy(self) -> dict[str, numpy.ndarray]:
        """The whole result, whatever was fetched, as an array for each column (with PyArrow)."""
        import pyarrow

        table = pyarrow.table(self._rows().with_durations())
        return {
            name: column.to_numpy()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The whole result, whatever was fetched, by Arrow's PyCapsule interface."""
        return self._rows().__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Forgets the rows."""
        self._closed = True
        self._result = None

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Does nothing, as PEP 249 allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as PEP 249 allows."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _rows(self) -> Result:
        self._check_open()
        if self._result is None or not self._result.has_rows:
            raise _errors.ProgrammingError("there are no rows: no query was executed")
        return self._result

    def _execute(self, sql: str, parameters: Parameters | None, frame: FrameType) -> Cursor:
        connection = self._begin()
        find = _scan.finder(connection._registered, frame)
        given = parameters if parameters else None
        self._result = connection._session.run(sql, given, connection._autocommit, find)
        count = self._result.tag.rpartition(" ")[2]
        self._rowcount = int(count) if count.isdigit() else -1
        return self

    def _executemany(self, sql: str, rows: Iterable[Parameters], frame: FrameType) -> Cursor:
        connection = self._begin()
        find = _scan.finder(connection._registered, frame)
        self._rowcount = connection._session.run_many(sql, rows, connection._autocommit, find)
        return self

    def _begin(self) -> Connection:
        """The connection, for a new statement."""
        self._check_open()
        self._result = None
        self._rowcount = -1
        return self._connection

    def _check_open(self) -> None:
        self._connection._check_open()
        if self._closed:
            raise _errors.InterfaceError("the cursor is closed")
