"""Exceptions of DB-API 2.0 (PEP 249)."""

from __future__ import annotations


class Warning(Exception):  # noqa: A001 (PEP 249 has this name)
    """Something worth a warning. Tessera raises none."""


class Error(Exception):
    """What went wrong in a database or in its use."""

    sqlstate: str | None = None
    """PostgreSQL's five-character code: ``"23505"``; None when there is none."""
    position: tuple[int, int] | None = None
    """Line and column in the statement, both from 1."""
    detail: str | None = None
    """A line of detail."""
    hint: str | None = None
    """What might help."""
    schema_name: str | None = None
    """Schema of the table whose constraint was violated."""
    table_name: str | None = None
    """That table."""
    column_name: str | None = None
    """The column that must not be NULL."""
    constraint_name: str | None = None
    """The constraint that was violated, NOT NULL apart."""


class InterfaceError(Error):
    """The module was used wrongly: a closed connection, say."""


class DatabaseError(Error):
    """The database refused or failed."""


class DataError(DatabaseError):
    """A value was wrong: division by zero, a number out of range, a bad date (class 22)."""


class OperationalError(DatabaseError):
    """Not the program's fault: conflicts to be retried (40001), memory, disk, a directory in use."""


class IntegrityError(DatabaseError):
    """A constraint was violated (class 23)."""


class InternalError(DatabaseError):
    """A transaction that failed before (25P02), damaged files (XX001), mistakes of Tessera's own."""


class ProgrammingError(DatabaseError):
    """A statement was wrong: its syntax, a table that does not exist, types that do not fit."""


class NotSupportedError(DatabaseError):
    """Tessera has no such feature (0A000)."""
