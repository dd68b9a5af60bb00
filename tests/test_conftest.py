"""What all tests share does what it says; dice of a test by day draw what its name determines."""

import os
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dplearn.chance import SystemDice
from tests.conftest import few_with_every_value
from tests.repeatable import draws_of, system_draws


@pytest.fixture
def counted(request):
    """Examples of the test, of which there are as many as its share when it ends."""
    examples = set()
    yield examples
    assert len(examples) == -(-30 // request.node.callspec.params["share_of_examples"])


SETTINGS = {"deadline": None, "derandomize": True, "database": None}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], **SETTINGS)
@given(x=st.integers())
def test_a_property_is_tried_on_a_share_of_its_examples(counted, x):
    counted.add(x)


def test_by_day_every_value_comes_about_equally_often():
    chosen = [[("first", i), ("second", j)] for i in range(4) for j in range(6)]
    places = few_with_every_value(chosen)
    assert len(places) == 6
    for name, size, most in (("first", 4, 2), ("second", 6, 1)):
        times = Counter(value for place in places for key, value in chosen[place] if key == name)
        assert len(times) == size
        assert max(times.values()) == most


@pytest.mark.parametrize("one", "abc")
@pytest.mark.parametrize(("two", "three"), [(0, 1), (1, 0), (0, 0)])
def test_by_day_three_of_nine_combinations_run(request, one, two, three):
    mine = [item for item in request.session.items if item.originalname == request.node.originalname]
    by_day = [item.callspec.params for item in mine if not item.get_closest_marker("nightly")]
    if by_day:  # none at night
        assert len(by_day) == 3
        assert {each["one"] for each in by_day} == set("abc")
        assert {(each["two"], each["three"]) for each in by_day} == {(0, 1), (1, 0), (0, 0)}


@pytest.mark.first_by_day
@pytest.mark.parametrize("which", [0, 1, 2])
def test_by_day_only_the_first_runs(request, which):
    mine = [item for item in request.session.items if item.originalname == request.node.originalname]
    assert [item.callspec.params["which"] for item in mine] in ([0], [1, 2])


def drawn():
    return SystemDice().below(1 << 64), random.random(), np.random.random()


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
                os.write(writable, str(drawn()[0]).encode())
                os._exit(0)
            os.close(writable)
            with os.fdopen(readable, "rb") as pipe:
                children.append(pipe.read())
            os.wait()
    assert children[0] != children[1]
