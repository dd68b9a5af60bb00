"""What all tests share: one process that has imported the package, of which programs that need a process of
their own are forked; and with several workers, each of them uses one thread for linear algebra."""

import gc
import json
import os
import re
import socket
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess
from time import process_time

import pytest

from tests.repeatable import draws_of, system_draws


def pytest_addoption(parser):
    parser.addoption(
        "--entropy",
        choices=("named", "system"),
        default="named",
        help="what dice of tests by day draw from: the test's name (default), or the operating system",
    )
    parser.addoption(
        "--slow-list",
        metavar="FILE",
        type=Path,
        help="fail tests by day that take long and that this file, tests/slow.txt, does not name",
    )


#: What takes long to import, of which no test is to blame.
LONG_IMPORTS = ("dask.dataframe", "galois", "matplotlib.pyplot", "polars", "pyarrow", "scipy.stats")


def pytest_configure(config):
    for name in LONG_IMPORTS if config.getoption("slow_list") else ():
        with suppress(ImportError):
            import_module(name)
    # Threads of two workers on two cores wait for each other; a fit of milliseconds then takes seconds.
    if "PYTEST_XDIST_WORKER" in os.environ:
        import sklearn.linear_model  # noqa: F401 - which loads the libraries whose threads are limited
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """By day make no tests of parameters for the night: there are more of them than of all others."""
    if getattr(metafunc.function, "is_hypothesis_test", False):
        metafunc.parametrize("share_of_examples", SHARES, ids=["some", "all"], indirect=True)
    made = yield
    if metafunc.config.getoption("markexpr") == "not nightly":
        late = {id(call) for call in metafunc._calls if any(mark.name == "nightly" for mark in call.marks)}
        if len(late) < len(metafunc._calls):  # else pytest would take the test for one without parameters
            metafunc._calls = [call for call in metafunc._calls if id(call) not in late]
    return made


#: Files of which all combinations of parameters run with every change.
IN_FULL = re.compile("ledger|mutants|enumeration|replay|private|faults|filter|one_time")


def choices(item):
    """Return what a test has of each `parametrize`, and of all other parameters together."""
    params, calls = item.callspec.params, []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        calls.append(tuple(re.findall(r"\w+", names)) if isinstance(names, str) else tuple(names))
    calls.append(tuple(name for name in params if name not in set().union(*calls)))
    return [(names, tuple(id(params[name]) for name in names)) for names in calls if names]


def few_with_every_value(chosen):
    """Return the places of a few tests that have every value of each parameter, each about equally often."""
    places, times, missing = set(), Counter(), set().union(*chosen)
    while missing:

        def merit(place):
            return (
                len(missing.intersection(chosen[place])),
                -sum(times[each] for each in chosen[place]),
                -place,
            )

        best = max(range(len(chosen)), key=merit)
        places.add(best)
        times.update(chosen[best])
        missing.difference_update(chosen[best])
    return places


@pytest.hookimpl(tryfirst=True)  # before tests are selected by marks
def pytest_collection_modifyitems(items):
    """Of several `parametrize`, run each value of each with every change, and all combinations at night.

    Of a test marked `first_by_day`, run only the first with every change. Those marked `longest` come first,
    so that no process waits for them at the end; otherwise the order is that of paths, in all processes.
    """
    items.sort(key=lambda item: (item.get_closest_marker("longest") is None, item.path))
    tests, begun = defaultdict(list), set()
    for item in items:
        if item.get_closest_marker("first_by_day") and not item.get_closest_marker("nightly"):
            test = item.path, item.originalname
            if test in begun:
                item.add_marker(pytest.mark.nightly)
            begun.add(test)
        in_full = IN_FULL.search(item.path.name) or item.get_closest_marker("nightly")
        if hasattr(item, "callspec") and not in_full:
            tests[item.path, item.originalname].append(item)
    for together in tests.values():
        chosen = [choices(item) for item in together]
        if len(chosen[0]) > 1:
            kept = few_with_every_value(chosen)
            for place, item in enumerate(together):
                if place not in kept:
                    item.add_marker(pytest.mark.nightly)


def pytest_collection_finish():
    # What was imported and collected stays to the end: each garbage collection of a test would visit it.
    gc.collect()
    gc.freeze()


def draws(node, purpose=""):
    """Return where dice draw from in a test, or in what it or several tests are given."""
    system = node.config.getoption("entropy") == "system"
    by_chance = any(node.get_closest_marker(mark) for mark in ("nightly", "system_entropy"))
    return system_draws() if system or by_chance else draws_of(f"{node.nodeid} {purpose}")


#: Of how many rounds of `calibrated` a test by day may take, 0.3 s on the machine that this was set on.
MOST_ROUNDS = 30


def cpu_seconds():
    """CPU time of this process and of those that it has waited for."""
    return process_time() + sum(os.times()[2:4])


@cache
def calibrated():
    """How long a fixed computation takes here: the fastest of some rounds, of about 10 ms each."""

    def round_of():
        start = process_time()
        assert sorted(str(number * number % 9973) for number in range(45_000))
        return process_time() - start

    return min(round_of() for _ in range(20))


@cache
def known_to_be_slow(path):
    return {line.split("#")[0].strip() for line in path.read_text().splitlines()}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    path, start = item.config.getoption("slow_list"), cpu_seconds()
    with draws(item):
        result = yield
    rounds = (cpu_seconds() - start) / calibrated() if path else 0
    if rounds > MOST_ROUNDS and not item.get_closest_marker("nightly"):
        name = item.nodeid.partition("[")[0]
        if name not in known_to_be_slow(path):
            pytest.fail(f"{name} takes {rounds:.0f} rounds, above {MOST_ROUNDS}; make it smaller, or name it")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    # Of a fixture that tests share, whichever of them comes first sets it up: all see the same.
    with draws(request.node, fixturedef.argname):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Collect from the end in every other process: of what one has compiled the others need not."""
    with draws_of(collector.nodeid):
        report = yield
    if isinstance(collector, pytest.Dir) and os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579":
        report.result.reverse()
    return report


#: Of so many examples that a property is tried on, one is tried with every change, and all at night.
SHARES = [8, pytest.param(1, marks=pytest.mark.nightly)]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(obj):
    # Not an autouse fixture, which all other tests would set up too.
    if getattr(obj, "is_hypothesis_test", False):
        pytest.mark.usefixtures("share_of_examples")(obj)


@pytest.fixture
def share_of_examples(request, monkeypatch):
    """Try a property on some of the examples that it asks for; return which part."""
    from hypothesis import settings

    asked = request.function._hypothesis_internal_use_settings
    fewer = settings(asked, max_examples=-(-asked.max_examples // request.param))
    monkeypatch.setattr(request.function, "_hypothesis_internal_use_settings", fewer)
    return request.param


#: Has nothing done but import. For each connection it forks who waits for the program, and the program.
SERVER = """
import gc, json, os, socket, sys
import dplearn, dplearn.mechanisms, dplearn.privacy

gc.freeze()  # a program's garbage collections do not visit what it was forked with
del gc
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


@pytest.fixture(scope="session")
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
        return CompletedProcess(source, returncode, *(file.read_text() for file in files))

    return run
