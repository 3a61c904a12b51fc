"""Type objects and constructors of DB-API 2.0 (PEP 249)."""

from __future__ import annotations

import datetime
import time


class TypeObject:
    """Equal to the type codes in :attr:`Cursor.description` of its kind."""

    def __init__(self, name: str, *codes: str) -> None:
        self._name = name
        self._codes = frozenset(codes)

    def __eq__(self, other: object) -> bool:
        return other in self._codes if isinstance(other, str) else self is other

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"tessera.{self._name}"


STRING = TypeObject("STRING", "text", "character varying", "character", "unknown")
BINARY = TypeObject("BINARY", "bytea")
NUMBER = TypeObject(
    "NUMBER", "smallint", "integer", "bigint", "numeric", "real", "double precision"
)
DATETIME = TypeObject(
    "DATETIME",
    "date",
    "time without time zone",
    "timestamp without time zone",
    "timestamp with time zone",
    "interval",
)
ROWID = TypeObject("ROWID")

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """The local date at ``ticks`` seconds since 1970."""
    return datetime.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """The local time of day at ``ticks`` seconds since 1970."""
    return datetime.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """The local time at ``ticks`` seconds since 1970."""
    return datetime.datetime(*time.localtime(ticks)[:6])
