"""The extension module: what `Connection` and `Cursor` are made of."""

from collections.abc import Callable, Iterable
from typing import Any, final

__version__: str

@final
class Session:
    """A session of a database."""

    def __new__(cls, path: str | None, threads: int | None, memory: int | None) -> Session:
        """Opens the database in the directory ``path``, or a new one in memory."""
    def run(
        self, text: str, parameters: Any, autocommit: bool, find: Callable[[str], Any] | None
    ) -> Result:
        """Runs ``text``: one statement with parameters, any number without."""
    def run_many(
        self, text: str, rows: Iterable[Any], autocommit: bool, find: Callable[[str], Any] | None
    ) -> int:
        """Runs a statement for each of ``rows`` in one transaction; how many rows it changed."""
    def end(self, text: str) -> str:
        """Ends the transaction, if there is one: by COMMIT or ROLLBACK."""
    @property
    def in_transaction(self) -> bool:
        """Whether a transaction was begun."""
    def has_relation(self, name: str) -> bool:
        """Whether there is a table or view ``name``."""
    def cancel(self) -> None:
        """Cancels what runs, from another thread."""
    def close(self) -> None:
        """Rolls back and gives up the database."""

@final
class Result:
    """The rows of a statement and how far they were fetched."""

    @property
    def tag(self) -> str:
        """The command tag."""
    @property
    def has_rows(self) -> bool:
        """Whether the statement has rows, even if there are none of them."""
    @property
    def columns(self) -> list[tuple[str, str, int | None, int | None]]:
        """Name, type, precision and scale of each column."""
    def __len__(self) -> int: ...
    def fetch(self, count: int) -> list[tuple[Any, ...]]:
        """The next rows, at most ``count``."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows as an Arrow stream."""
    def with_durations(self) -> Durations:
        """The result with intervals as durations, for DataFrames."""

@final
class Durations:
    """A result whose intervals are durations."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows as an Arrow stream."""
