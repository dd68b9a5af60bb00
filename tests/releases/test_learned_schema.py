"""Learned schemas: ranges, lists of categories, cells that are never refused, and what the plan states."""

import datetime
import math
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from dplearn import StatisticalQueryNaiveBayes
from dplearn.domains import Categories, Grid, Hashed, IntegerRange, Learn, Product, Schema
from dplearn.fit import Facts
from dplearn.privacy import ApproxDP, BoundedRange, Composition, ZeroConcentrated, concentrated_budget
from dplearn.releases import SyntheticTable, learned_schema, learned_schema_plan
from dplearn.releases.learned_schema import NUMBERS, ConcentratedPart, SchemaRelease

N = 20_000
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "year": RNG.integers(1990, 2021, N),
        "id": 10**9 + RNG.integers(0, 5000, N),
        "height": RNG.normal(170, 10, N),
        "town": RNG.choice(["north", "south", "west"], N, p=[0.5, 0.4, 0.1]),
        "member": RNG.random(N) < 0.5,
    }
)
ODD_CELLS = [None, "text", 0.5, float("inf"), float("nan"), 10**400, b"bytes", (1, 2), True, [1], {}]


class Refusing:
    """A cell that raises an error whatever is asked."""

    def __hash__(self):
        raise RuntimeError("secret")

    __eq__ = __float__ = __str__ = lambda self, *_: hash(self)


def released(X, columns=None, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return learned_schema(X, columns, random_state=0, **how)


def test_ranges_resolve_numbers_far_from_zero_and_frequent_categories_are_listed():
    found = released(FRAME).schema.columns
    assert isinstance(found["year"], IntegerRange)
    assert 1980 <= found["year"].low <= 1992
    assert 2018 <= found["year"].high <= 2030
    ids = found["id"]
    assert isinstance(ids, Grid)
    assert 10**9 - 3000 <= ids.low <= 10**9 + 300
    assert 10**9 + 4700 <= ids.high <= 10**9 + 8000
    assert 100 <= found["height"].low <= 160
    assert 180 <= found["height"].high <= 240
    assert found["town"] == Categories(["north", "south", "west", None], other=True)
    assert found["member"] == Categories([False, True, None], other=True)
    [ends] = released(np.repeat([[0.0], [1.0]], N // 2, axis=0)).schema.domains  # move outward
    assert ends.low < 0
    assert ends.high > 1
    heights = FRAME["height"].where(np.arange(N) % 2 == 0)
    [half] = released(heights.to_frame()).schema.domains
    assert 120 <= half.low <= 165
    assert 175 <= half.high <= 220
    [few] = released(FRAME[["height"]].where(np.arange(N)[:, None] < 8)).schema.domains
    assert few == NUMBERS


def test_without_names_there_is_a_product_and_without_delta_no_list():
    assert type(released(FRAME[["year", "id"]].to_numpy()).schema) is Product
    rows = FRAME[["year", "town"]].to_numpy(dtype=object)
    found = released(rows, {"year": "integers", "town": "categories"}, delta=0)
    assert type(found.schema) is Schema
    assert found.schema.columns["town"] == Hashed(32)
    assert isinstance(found.schema.columns["year"], IntegerRange)
    assert (found.plan.parts.epsilon, found.plan.warnings) == (Fraction(1, 2), ())


@pytest.mark.parametrize("delta", [1e-6, 0])
def test_no_cell_is_refused_by_a_learned_schema(delta):
    # **Assumes** nothing about cells.
    columns = {"a": "numbers", "b": "integers", "c": "booleans", "d": "categories"}
    cells = [*ODD_CELLS, Refusing()]
    rows = np.full((5000, 4), 1, dtype=object)
    for place, column in product(range(len(cells)), range(4)):
        rows[place, column] = cells[place]
    found = released(rows, columns, delta=delta, epsilon=5).schema
    codes = found.encode(rows)
    assert [each.tolist() for each in codes] == [each.tolist() for each in found.nearest(rows)]
    assert all(
        0 <= each.min() <= each.max() < domain.size for each, domain in zip(codes, found.domains, strict=True)
    )


@pytest.mark.parametrize("cells", [[each] * 5000 for each in (None, 1.5, float("inf"), "a", Refusing())])
@pytest.mark.parametrize("kind", ["numbers", "integers", "booleans", "categories"])
def test_constant_missing_and_infinite_columns_have_domains(cells, kind):
    rows = np.fromiter(cells, dtype=object, count=len(cells)).reshape(-1, 1)
    with np.errstate(all="raise"):
        [domain] = released(rows, [kind]).schema.domains
        domain.encode(rows)
    assert domain.size >= 2


@pytest.mark.parametrize("epsilon", ["1/10", 1, 8])
@pytest.mark.parametrize("delta", ["1e-9", "1e-3"])
@pytest.mark.parametrize("kinds", [["numbers"], ["categories"] * 3, ["numbers"] * 30 + ["categories"] * 30])
def test_the_parts_compose_to_at_most_the_guarantee(epsilon, delta, kinds):
    # **Privacy**: the events of the release, by the package's accounting.
    plan = learned_schema_plan(10**7, kinds, epsilon=epsilon, delta=delta)
    parts = plan.parts
    lists = {ZeroConcentrated(parts.rho): int(parts.lists > 0)}
    whole = Composition({BoundedRange(parts.epsilon): parts.ends} | lists)
    total = whole.total(delta=plan.guarantee.delta - parts.failure).epsilon
    assert total <= plan.guarantee.epsilon
    assert total > 0.99 * plan.guarantee.epsilon
    assert parts.failure in (0, plan.guarantee.delta / 2)


def test_a_budget_in_rho_is_divided_and_not_exceeded():
    rho = concentrated_budget(ApproxDP(1, 1e-6))
    part = ConcentratedPart(rho, Fraction(1, 10**7))
    release = SchemaRelease(["numbers"] * 3 + ["categories"], ApproxDP(1, 1e-6), concentrated=part)
    parts = release.plan(Facts(10**6)).parts
    spent = parts.ends * parts.epsilon**2 / 8 + parts.rho
    assert spent <= rho
    assert float(spent) == pytest.approx(float(rho))
    assert parts.failure == Fraction(1, 10**7)


def test_few_records_lie_beyond_a_range():
    # **Accuracy**: with probability .95, at most tail n + error records on either side.
    values, n = RNG.exponential(size=3000), 3000
    plan = learned_schema_plan(n, ["numbers"], epsilon=1)
    for seed in range(20):
        [domain] = learned_schema(values[:, None], epsilon=1, random_state=seed).schema.domains
        assert max((values < domain.low).sum(), (values > domain.high).sum()) <= plan.tail * n + plan.error
        assert domain.high < 4 * values.max()
    assert plan.error == np.ceil(2 * np.log(NUMBERS.size * 2 / 0.05) / 0.5)


def test_a_listed_category_reaches_the_threshold():
    # **Accuracy** of lists.
    threshold = learned_schema_plan(N, ["categories"], epsilon=1).threshold
    counts = {"often": N - 5 - 5 * threshold, "seldom": 5, "enough": 5 * threshold}
    column = np.repeat(list(counts), list(counts.values())).astype(object)
    for seed in range(20):
        [domain] = learned_schema(column[:, None], "categories", epsilon=1, random_state=seed).schema.domains
        assert set(domain.values) == {"often", "enough", None}


def test_the_public_schemas_bound_what_can_be_released():
    kinds = {"a": "numbers", "b": "categories", "c": "booleans"}
    plan = learned_schema_plan(N, kinds)
    assert [domain.size for domain in plan.narrowest.domains] == [1026, 3, 4]
    assert [domain.size for domain in plan.widest.domains] == [1026, plan.most + 2, 4]
    kinds = [["numbers"] * a + ["categories"] * b for a, b in ((0, 1), (0, 3), (10, 3))]
    assert [learned_schema_plan(10**6, each).most for each in kinds] == [2046, 680, 674]  # 2048 codes in all
    values = [f"{i}" for i in range(2500)] * 20
    [domain] = released(np.array(values, dtype=object)[:, None], "categories", epsilon=50).schema.domains
    assert domain.size <= 2048


OBJECTS = {
    "dates": [datetime.date(2020, 1, day) for day in range(1, 4)],
    "decimals": [Decimal(place) / 7 for place in range(3)],
    "fractions": [Fraction(place, 7) for place in range(3)],
    "UUIDs": [uuid.UUID(int=place) for place in range(3)],
    "lists": [[place] for place in range(3)],
    "ids": [f"P{place}" for place in range(N)],
    "gaps": [None],
}


def table_of(cells, n=4000):
    column = np.fromiter((cells[place % len(cells)] for place in range(n)), dtype=object, count=n)
    return pd.DataFrame({"odd": column, "town": FRAME["town"][:n]})


@pytest.mark.parametrize("name", OBJECTS)
def test_a_column_whose_values_are_not_told_apart_has_a_warning_after_every_release(name):
    table, kinds = table_of(OBJECTS[name]), Learn({"odd": "categories"})
    told = "does not tell apart the values of 1 of 2 columns, 'odd': no category.* as 'dates', in ISO 8601"
    with pytest.warns(UserWarning, match=told):
        learned_schema(table, kinds.columns, epsilon=5)
    if name not in ("dates", "ids"):
        return  # learners have their schema from the same release
    with pytest.warns(UserWarning, match=told):
        StatisticalQueryNaiveBayes(epsilon=5, domain=kinds).fit(table, FRAME["member"][: len(table)])
    with pytest.warns(UserWarning, match=told):
        SyntheticTable(epsilon=5, domain=kinds).fit(table)


def test_fractions_and_booleans_of_a_category_are_listed_and_numbers_without_a_range_are_told():
    cells = [0.1, 0.5, 2.0, float(np.float32(0.1)), True, math.inf]
    column = released(table_of(cells), {"odd": "categories"}, epsilon=5).schema.columns["odd"]
    assert set(column.values) == {0.1, 0.5, 2, float(np.float32(0.1)), 1, None}
    assert len({*column.encode(cells).tolist()}) == len(cells)
    with pytest.warns(UserWarning, match="does not tell apart the values of 1 of 1 columns, 'x0'"):
        learned_schema(np.full((N, 1), np.nan), epsilon=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned_schema(FRAME, epsilon=5)


@pytest.mark.parametrize(
    ("epsilon", "delta", "kinds"),
    [*product((0.1, 1, 4), (0, 1e-6), (["numbers"] * 3, ["numbers", "categories"]))],
)
def test_a_plan_is_free_where_records_are_too_few(epsilon, delta, kinds):
    release = SchemaRelease.of(kinds, epsilon, delta)
    needed = release.plan(Facts(10)).n_needed
    free = [release.plan(Facts(n)).is_free for n in (1, 10, needed, 2 * needed)]
    assert (free[0], free[-2:]) == (True, [False, False])
