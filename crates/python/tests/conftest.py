"""Fixtures of the tests of the package `tessera`."""

import signal

import pytest

import tessera

# A run that a script put into the background ignores Ctrl-C, which tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)


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
