"""What all tests share does what it says."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import few_with_every_value


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
