"""Fixtures of the tests of the package `tessera`."""

import pytest

import tessera


@pytest.fixture
def con():
    """A new database in memory."""
    connection = tessera.connect(threads=2, memory="1GB")
    yield connection
    connection.close()


@pytest.fixture
def auto():
    """A new database in memory, each statement a transaction."""
    connection = tessera.connect(threads=2, memory="1GB", autocommit=True)
    yield connection
    connection.close()
