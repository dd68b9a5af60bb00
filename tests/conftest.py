"""What all tests share: one process that has imported the package, of which programs that need a process of
their own are forked; and with several workers, each of them uses one thread for linear algebra."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass

import pytest
import sklearn.linear_model  # noqa: F401 - which loads the libraries whose threads are limited
from hypothesis import settings
from threadpoolctl import threadpool_limits


def pytest_configure():
    # Threads of two workers on two cores wait for each other; a fit of milliseconds then takes seconds.
    if "PYTEST_XDIST_WORKER" in os.environ:
        threadpool_limits(1)


#: Of so many examples that a property is tried on, one is tried with every change, and all at night.
SHARES = [3, pytest.param(1, marks=pytest.mark.nightly)]


def pytest_generate_tests(metafunc):
    if getattr(metafunc.function, "is_hypothesis_test", False):
        metafunc.parametrize("share_of_examples", SHARES, ids=["some", "all"], indirect=True)


@pytest.fixture(autouse=True)
def share_of_examples(request, monkeypatch):
    """Try a property on some of the examples that it asks for; return which part, or None for other tests."""
    if not hasattr(request, "param"):
        return None
    asked = request.function._hypothesis_internal_use_settings
    fewer = settings(asked, max_examples=-(-asked.max_examples // request.param))
    monkeypatch.setattr(request.function, "_hypothesis_internal_use_settings", fewer)
    return request.param


#: Has nothing done but import. For each connection it forks who waits for the program, and the program.
SERVER = """
import json, os, socket, sys
import dplearn, dplearn.mechanisms, dplearn.privacy

listener = socket.socket(fileno=int(sys.argv[1]))
while True:
    connection, _ = listener.accept()
    while True:  # reap who has answered
        try:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                break
        except ChildProcessError:
            break
    if os.fork():
        connection.close()
        continue
    listener.close()
    with connection.makefile("r") as asked:
        request = json.loads(asked.readline())
    program = os.fork()
    if program:
        status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
        connection.sendall(json.dumps(status).encode())
        os._exit(0)
    connection.close()
    break

for number, path in enumerate([os.devnull, *request["files"]]):
    os.dup2(os.open(path, os.O_RDWR | os.O_APPEND), number)
sys.argv[1:] = request["arguments"]
if request["seconds"]:
    import resource, time
    limit = int(time.process_time()) + 1 + request["seconds"]
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
source = request["source"]
for name in ("json", "socket", "listener", "connection", "asked", "request", "program", "number", "path"):
    globals().pop(name, None)
exec(compile(source, "<program>", "exec"))
"""


@dataclass(frozen=True)
class Ended:
    """How a program ended, as `subprocess.CompletedProcess` has it."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of a process that has imported the package and runs programs in forks of itself."""
    address = str(tmp_path_factory.mktemp("programs") / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(listener.fileno())], pass_fds=[listener.fileno()]
        )
    yield address
    process.kill()
    process.wait()


@pytest.fixture
def program(server, tmp_path_factory):
    """Run a program as in a new process, at most so many more seconds of CPU time; return how it ended."""

    def run(source, *arguments, seconds=None):
        files = [tmp_path_factory.mktemp("given") / name for name in ("stdout", "stderr")]
        for file in files:
            file.touch()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(300)
            connection.connect(server)
            asked = {"source": source, "arguments": [*map(str, arguments)], "seconds": seconds}
            connection.sendall(json.dumps(asked | {"files": [*map(str, files)]}).encode() + b"\n")
            with connection.makefile("r") as answer:
                returncode = json.loads(answer.read())
        return Ended(returncode, *(file.read_text() for file in files))

    return run
