"""The dice of a test by day draw what its name determines, and nothing else does."""

import os
import random

import numpy as np
import pytest

from dplearn.chance import SystemDice
from tests.repeatable import draws_of, system_draws


def drawn():
    return SystemDice()._bytes(16), random.random(), np.random.random()


@pytest.fixture(scope="module")
def shared():
    return drawn()


@pytest.fixture
def own():
    return drawn()


def test_a_name_determines_the_draws():
    with draws_of("one"):
        first = drawn(), drawn()
        with draws_of("another"):
            other = drawn()
        inner = drawn()  # goes on where it was
    with draws_of("one"):
        assert (drawn(), drawn()) == first
        assert drawn()[0] == inner[0]  # the other generators begin anew
    assert len({*first, inner, other}) == len({each[1] for each in (*first, inner, other)}) == 4


@pytest.mark.parametrize("which", [0, 1])
def test_a_test_draws_what_its_name_determines(request, which, own, shared):
    mine = drawn()
    if request.config.getoption("entropy") == "system":
        pytest.skip("the operating system decides")
    for name, value in (
        (f"{request.node.nodeid} ", mine),
        (f"{request.node.nodeid} own", own),
        (f"{request.node.parent.nodeid} shared", shared),
    ):
        with draws_of(name):
            assert drawn() == value


@pytest.mark.system_entropy
def test_the_system_never_repeats(request):
    mine = drawn()
    with draws_of(f"{request.node.nodeid} "):
        assert drawn()[0] != mine[0]
        with system_draws():
            first = drawn()
        with system_draws():
            assert drawn()[0] != first[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forked_processes_draw_from_the_system():
    with draws_of("one"):
        children = []
        for _ in range(2):
            readable, writable = os.pipe()
            if os.fork() == 0:
                os.write(writable, drawn()[0])
                os._exit(0)
            os.close(writable)
            with os.fdopen(readable, "rb") as pipe:
                children.append(pipe.read())
            os.wait()
    assert children[0] != children[1]
