"""Releases of values in parts: equal to those in memory, for every division into parts."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow
import pytest

from dplearn import releases
from dplearn.domains import DomainError, IntegerRange
from dplearn.fit import PARTS, PARTS_OF_GROUPS
from dplearn.privacy import PrivacyLedger
from tests.releases.test_release import AGES, RELEASES, VALUES

N = len(VALUES)
WIDE = IntegerRange(-(2**62), 2**62)
#: Settings besides those of the registry: all floats, a wide range of integers, many quantiles, mixed keys.
MORE = {
    "quantiles, floats": ("quantiles", {"q": [i / 20 for i in range(1, 20)]}),
    "quantiles, ends": ("quantiles", {"q": [0, 0.001, 1], "domain": AGES}),
    "median, wide": ("median", {"domain": WIDE}),
    "cdf, floats": ("cdf", {}),
    "cdf, Gaussian": ("cdf", {"delta": 1e-6, "domain": WIDE}),
    "learned_schema, hashed": ("learned_schema", {"columns": ["categories"], "delta": 0}),
    "learned_schema, listed": ("learned_schema", {"columns": ["categories"], "delta": 1e-5}),
}
OF_TABLES = {"learned_schema", "describe"}
CUTS = ([0, 1, 1, 700, N], [0, 0, *range(100, N, 100), N, N])


@pytest.fixture(params=RELEASES | MORE)
def named(request):
    return (RELEASES | MORE)[request.param]


def series_of(name, values):
    """Return values as a series, or as a data frame of one column."""
    series = pd.Series(values, name="age", dtype=np.int64)
    series = series % 2 if name == "proportion" else series
    return series.to_frame() if name in OF_TABLES else series


def parts_of(table, cuts):
    """Return a function that makes parts of a table."""
    parts = [table.iloc[start:stop] for start, stop in pairwise(cuts)]
    return lambda: iter(parts)


def released(result):
    return {name: value for name, value in vars(result).items() if name != "plan"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_a_release_of_parts_is_that_of_the_values_in_memory(named, grouped):
    """Of groups too; and in another order of the records, which is another table."""
    name, parameters = named
    make, table = getattr(releases, name), series_of(name, VALUES)
    ids = pd.Series(np.random.default_rng(0).permutation(np.arange(N) % 1500))
    whole = make(table, random_state=5, **parameters, **({"groups": ids} if grouped else {}))
    for cuts in CUTS:
        parts, given = parts_of(table, cuts), {"groups": parts_of(ids, cuts)} if grouped else {}
        if grouped and name in OF_TABLES:
            parts, given = parts_of(table.assign(person=ids), cuts), {"groups": "person"}
        elif not grouped and cuts is CUTS[-1]:
            parts = parts_of(series_of(name, np.random.default_rng(0).permutation(VALUES)), cuts)
        parted = make(parts, random_state=5, **parameters, **given)
        assert repr(released(parted)) == repr(released(whole))
        assert parted.plan.n_samples == (len(set(ids)) if grouped else N)
        assert parted.guarantee.assumes == (*whole.guarantee.assumes, PARTS_OF_GROUPS if grouped else PARTS)


@pytest.mark.parametrize("release", [releases.median, partial(releases.mean, bounds=(0, 120))])
def test_groups_of_other_parts_are_refused_before_the_charge(release):
    ledger, values, people = PrivacyLedger(5, protects="groups"), pd.Series(VALUES), pd.Series(range(N))
    for cuts in ([0, 900], [0, 700, N]):
        with pytest.raises(ValueError, match="values and their groups must have the same parts"):
            release(parts_of(values, cuts), groups=parts_of(people, [0, 900, N]), ledger=ledger)
    with pytest.raises(TypeError, match="groups must be parts like those of the values"):
        release(parts_of(values, [0, N]), groups=people, ledger=ledger)
    assert ledger.history() == []


def test_columns_in_parts_may_be_of_dask_or_arrow():
    dataframe = pytest.importorskip("dask.dataframe")
    array = pytest.importorskip("dask.array")
    whole = releases.median(VALUES, domain=AGES, random_state=1).value
    frame = dataframe.from_pandas(pd.DataFrame({"age": VALUES}), npartitions=7)
    chunks = pyarrow.chunked_array([VALUES[:500], VALUES[500:]])
    for parts in (frame["age"], array.from_array(np.array(VALUES), 300), lambda: chunks.chunks):
        assert releases.median(parts, domain=AGES, random_state=1).value == whole
    batches = pyarrow.table({"age": VALUES}).to_batches(max_chunksize=900)
    column = releases.median(lambda: (each["age"] for each in batches), domain=AGES, random_state=1)
    assert column.value == whole
    with pytest.raises(ValueError, match=r'such as ddf\["age"\]'):
        releases.median(frame, domain=AGES)
    schema = releases.learned_schema(frame, random_state=1).schema
    assert schema == releases.learned_schema(frame.compute(), random_state=1).schema


def test_a_schema_of_text_and_numbers_reads_parts_twice():
    passes, generator = [], np.random.default_rng(0)
    frame = pd.DataFrame(
        {"pay": generator.normal(size=4000), "town": generator.choice(["a", "b", "c"], 4000)}
    )

    def parts():
        passes.append(1)
        return (frame[start : start + 500] for start in range(0, 4000, 500))

    found = releases.learned_schema(parts, random_state=1)
    assert found.schema == releases.learned_schema(frame, random_state=1).schema
    assert len(passes) == 2


def test_keys_in_parts_may_be_of_mixed_types():
    keys = ["a"] * 90 + [None] * 80 + [("a", 1)] * 70
    whole = releases.stable_counts(keys, delta=1e-3, random_state=0).counts
    held = np.empty(len(keys), dtype=object)
    held[:] = keys
    parts = [held[:100], held[:0], held[100:]]
    assert releases.stable_counts(lambda: parts, delta=1e-3, random_state=0).counts == whole
    assert len(whole) == 3


def test_a_part_that_leaves_the_domain_later_is_refused_in_that_pass():
    calls = []

    def parts():
        calls.append(1)
        return iter([np.full(5000, 30), np.full(5000, 40 if len(calls) < 2 else 121)])

    with pytest.raises(DomainError):
        releases.cdf(parts, domain=AGES)
    assert len(calls) == 2
