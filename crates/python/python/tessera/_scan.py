"""Names in FROM that are objects of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from ._errors import ProgrammingError

_MISSING = object()


def finder(registered: Mapping[str, Any], frame: FrameType) -> Callable[[str], Any]:
    """What finds the object that a name stands for: registered, local or global in ``frame``.

    A statement's names are in lower case unless quoted, so upper case counts only when two
    variables differ by nothing else.
    """

    def find(name: str) -> Any:
        scopes = (registered, frame.f_locals, frame.f_globals)
        for scope in scopes:
            value = _get(scope, name)
            if value is not _MISSING:
                return stream_of(name, value)
        return None

    return find


def _get(scope: Mapping[str, Any], name: str) -> Any:
    value = scope.get(name, _MISSING)
    if value is not _MISSING:
        return value
    alike = [key for key in scope if isinstance(key, str) and key.lower() == name]
    return scope[alike[0]] if len(alike) == 1 else _MISSING


def stream_of(name: str, value: Any) -> Any:
    """``value``, or what is made of it, with ``__arrow_c_stream__``."""
    kind = type(value)
    if hasattr(kind, "__arrow_c_stream__"):
        return value
    module = kind.__module__.partition(".")[0]
    if module == "polars" and hasattr(value, "collect"):
        return value.collect()
    if module == "pyarrow" and hasattr(value, "scanner"):
        return value.scanner().to_reader()
    error = ProgrammingError(
        f'relation "{name}" does not exist\n'
        f"HINT: The Python variable {name} is of type {kind.__name__}, which is no table: "
        "it has no __arrow_c_stream__."
    )
    error.sqlstate = "42P01"
    raise error
