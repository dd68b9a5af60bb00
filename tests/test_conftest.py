"""What all tests share does what it says."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

tried = {}


@pytest.fixture(scope="module", autouse=True)
def all_are_counted():
    yield
    assert tried
    assert all(len(examples) == 30 // share for share, examples in tried.items())


SETTINGS = {"deadline": None, "derandomize": True, "database": None}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], **SETTINGS)
@given(x=st.integers())
def test_a_property_is_tried_on_a_share_of_its_examples(share_of_examples, x):
    tried.setdefault(share_of_examples, set()).add(x)
