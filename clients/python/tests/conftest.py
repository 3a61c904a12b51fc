"""A server for each test that asks for one: the program that TESSERA names, or the one that cargo
built for tests."""

import os
import pathlib
import subprocess

import pytest

import tessera_bus

ROOT = pathlib.Path(__file__).parents[3]


class Server:
    """A server process that may be killed and started again at the same address."""

    def __init__(self, directory, *options):
        self._directory, self._options = directory, options
        self.address = "127.0.0.1:0"
        self.start()

    def start(self):
        target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
        program = os.environ.get("TESSERA", f"{target}/debug/tessera")
        words = [program, "bus", self._directory, "--listen", self.address, *self._options]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        for line in self._process.stdout:
            if " bus on " in line:
                self.address = line.split()[-1]
                return
        raise RuntimeError("the server does not start")

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture
def start(tmp_path):
    """Starts servers with options."""
    servers = []

    def start(*options):
        servers.append(Server(tmp_path / "bus", *options))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture
def server(start):
    """A server."""
    return start()


@pytest.fixture
def bus(server):
    """Its bus."""
    with tessera_bus.Bus(server.address, patience=60) as bus:
        yield bus
