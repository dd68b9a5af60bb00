"""All releases have one form: a function, its plan, one order of calls, and a result that keeps the plan."""

import inspect
import re
import warnings
from collections.abc import Sized
from dataclasses import FrozenInstanceError, replace
from itertools import product

import numpy as np
import pytest

from dplearn import releases
from dplearn.chance import SeededDice
from dplearn.domains import Grid, IntegerRange, Product
from dplearn.fit import GROUPS, Recipe
from dplearn.privacy import BudgetExceededError, PrivacyLedger
from dplearn.releases import ReleasePlan
from dplearn.releases import release as base

AGES = IntegerRange(0, 120)
FORTIES, HALF = Grid(0, 120, 4), [[1, 1, 0, 0]]
N = 2000
VALUES = (np.arange(N) % 70 + 18).tolist()
#: Of every release, parameters besides the values; of some also those of another method.
RELEASES = {
    "quantiles": ("quantiles", {"q": [0.25, 0.5], "domain": AGES}),
    "mean": ("mean", {"bounds": (0, 120)}),
    "std": ("std", {"bounds": (0, 120)}),
    "proportion": ("proportion", {}),
    "median": ("median", {"domain": AGES}),
    "interior_point": ("interior_point", {"domain": AGES, "epsilon": 0.5}),
    "interior_point, recursive": ("interior_point", {"delta": 1e-6, "method": "recursive"}),
    "stable_counts": ("stable_counts", {"delta": 1e-6}),
    "grouped": ("grouped", {"delta": 1e-6}),
    "grouped, declared": ("grouped", {"categories": [1, 2]}),
    "learned_schema": ("learned_schema", {"columns": ["integers"]}),
    "describe": ("describe", {"domain": Product([AGES]), "statistics": ("mean",)}),
    "small_database": ("small_database", {"queries": HALF, "domain": FORTIES, "n_rows": 40}),
    "multiplicative_weights": (
        "multiplicative_weights",
        {"queries": HALF, "domain": FORTIES, "n_rounds": 2},
    ),
    "cdf": ("cdf", {"domain": AGES}),
    "cdf, blocks": ("cdf", {"domain": AGES, "method": "blocks"}),
}
OF_A_TABLE = {"small_database", "multiplicative_weights"}


def table_of(name, values):
    """Return values as the release takes them: a column, a table of one column, or zeros and ones."""
    if not isinstance(values, list):
        return values
    if name == "proportion":
        return [value % 2 for value in values]
    return [[value] for value in values] if name in ("learned_schema", "describe") else values


@pytest.fixture(params=RELEASES)
def named(request):
    return RELEASES[request.param]


@pytest.fixture
def release(named):
    name, parameters = named
    return lambda values, **others: getattr(releases, name)(table_of(name, values), **parameters, **others)


@pytest.fixture
def plan(named):
    name, parameters = named
    return lambda n_samples: getattr(releases, f"{name}_plan")(n_samples, **parameters)


class Unread(Sized):
    """Values that no release may look at."""

    def __len__(self):
        raise AssertionError("was read")

    __array__ = __iter__ = __getitem__ = lambda self, *_, **__: len(self)


def test_all_releases_are_in_the_list_and_each_has_a_plan_of_the_same_parameters():
    functions = [name for name in releases.__all__ if inspect.isfunction(getattr(releases, name))]
    charged = {
        name for name in functions if "ledger" in inspect.signature(getattr(releases, name)).parameters
    }
    assert charged == {name for name, _ in RELEASES.values()}
    for name in charged:
        function, planned = (getattr(releases, each) for each in (name, f"{name}_plan"))
        _, *asked = inspect.signature(function).parameters.values()
        n_samples, *told = inspect.signature(planned).parameters.values()
        private = {"values", "ledger", "random_state", "groups"} | {"by"} - {each.name for each in told}
        public = [each for each in asked if each.name not in private]
        assert n_samples.name == "n_samples"
        assert told[: len(public)] == public, name
        assert {each.name for each in told[len(public) :]} <= {"alpha", "beta", "n_keys", "n_features"}
        result = inspect.signature(function).return_annotation
        assert {name, f"{name}_plan", result.__name__} <= set(releases.__all__)
        assert inspect.signature(planned).return_annotation.__name__ in releases.__all__


def test_the_result_keeps_the_plan_that_planning_returns_but_for_its_seed(release, plan):
    found, planned, seeded = release(VALUES), plan(N), release(VALUES, random_state=0)
    assert type(found).__name__ in releases.__all__
    assert isinstance(planned, ReleasePlan)
    assert found.plan == planned != plan(N + 1)
    assert found.guarantee == planned.guarantee
    assert seeded.guarantee == replace(planned.guarantee, reproducible=True)
    assert replace(seeded.plan, guarantee=planned.guarantee) == planned
    with pytest.raises(FrozenInstanceError):
        found.plan = None
    assert planned.guarantee.assumes[0] == "the number of records is public"
    assert (planned.n_samples, planned.beta, planned.warnings) == (N, 0.05, ())
    assert str(planned.n_needed) in str(planned)
    for wrong in (0, -1, 2.5):
        with pytest.raises((TypeError, ValueError), match="n_samples must be"):
            plan(wrong)


def test_no_more_records_are_needed_than_for_less_epsilon(named):
    name, parameters = named
    needed = [
        getattr(releases, f"{name}_plan")(10**5, **{**parameters, "epsilon": epsilon}).n_needed
        for epsilon in (0.25, 1.0)
    ]
    assert needed[0] > needed[1] if named[0] != "multiplicative_weights" else needed == [None, None]


def one_row_each(named):
    takes = inspect.signature(getattr(releases, named[0])).parameters
    return {"max_rows_per_group": 1} if "max_rows_per_group" in takes else {}


def test_a_release_of_groups_with_one_value_each_is_that_of_the_values(named, release):
    ids = np.arange(N)
    found, grouped = (
        release(VALUES, random_state=0),
        release(VALUES, random_state=0, groups=ids, **one_row_each(named)),
    )
    assert replace(grouped.plan, guarantee=found.guarantee) == found.plan
    assert str(replace(grouped, plan=found.plan)) == str(found)
    assert grouped.guarantee == replace(
        found.guarantee,
        protects="groups",
        assumes=(
            "the number of groups is public",
            *(
                each.replace("one record alone", "rows of one group alone")
                for each in found.guarantee.assumes[1:]
            ),
            GROUPS,
        ),
    )

    # Of groups whose values are all equal, so that the chosen ones are known, one value of each counts.
    values, ids = VALUES * 2, [*range(N)] * 2
    order = np.random.default_rng(0).permutation(2 * N)
    found = release(
        [values[each] for each in order],
        random_state=0,
        groups=[f"{ids[each]:04}" for each in order],
        **one_row_each(named),
    )
    whole = release(VALUES, random_state=0)
    assert str(replace(found, plan=whole.plan)) == str(whole)
    assert found.plan.n_samples == N


def test_nothing_is_read_that_the_ledger_cannot_afford(release):
    ledger = PrivacyLedger("0.01", 1e-5)
    with pytest.raises(BudgetExceededError):
        release(Unread(), ledger=ledger)
    assert ledger.history() == []


def synthetic(values, **given):
    domain = Product([AGES, AGES])
    return releases.SyntheticTable(domain=domain, **given).fit([[value, value] for value in values])


def test_methods_of_a_synthetic_table_come_in_their_order(monkeypatch):
    test_methods_come_in_their_order_and_nothing_is_drawn_before_the_charge(synthetic, monkeypatch)


def test_a_synthetic_table_without_a_domain_is_charged_before_anything_is_released(monkeypatch):
    """The recipes of the schema and of the tables run within its own."""
    seen = seen_stages(
        lambda values, **given: releases.SyntheticTable(**given).fit(np.column_stack([values, values])),
        monkeypatch,
    )
    paid = seen.index("charge")
    assert seen.count("charge") == seen.count("afford") == 1
    assert set(seen[:paid]) == {"afford", "read", "plan"}
    assert {"run", "draw"} <= set(seen[paid:])


def seen_stages(release, monkeypatch):
    """Return the methods of a release, its charge and its draws, in their order."""
    seen = []

    class Watched(SeededDice):
        """Dice that say when they are thrown: the source of all their draws is watched."""

        def __init__(self):
            super().__init__(0)

        def __getattribute__(self, name):
            seen.append("draw")
            return super().__getattribute__(name)

    def watched(function, name):
        def called(*args, **kwargs):
            seen.append(name)
            return function(*args, **kwargs)

        return called

    kinds, found = [Recipe], set()
    while kinds:
        kinds = [each for kind in kinds for each in kind.__subclasses__()]
        found |= {kind for kind in kinds if kind.__module__.startswith("dplearn.releases.")}
    assert len(found) >= len({name for name, _ in RELEASES.values()}) - 1
    for kind, name in product(found, ("read", "plan", "run")):
        if name in vars(kind):
            monkeypatch.setattr(kind, name, watched(getattr(kind, name), name))
    ledger, dice = PrivacyLedger(1, 1e-5), Watched()
    monkeypatch.setattr(base, "dice_for", lambda *_: dice)
    monkeypatch.setattr(PrivacyLedger, "require", watched(PrivacyLedger.require, "afford"))
    monkeypatch.setattr(PrivacyLedger, "charge", watched(PrivacyLedger.charge, "charge"))
    seen.clear()
    release(VALUES, ledger=ledger)
    return seen


def test_methods_come_in_their_order_and_nothing_is_drawn_before_the_charge(release, monkeypatch):
    seen = seen_stages(release, monkeypatch)
    order = ["afford", "read", "plan", "charge", "run"]
    assert [each for each in seen if each != "draw"] == order
    assert seen[: len(order)] == order  # all draws come after
    assert "draw" in seen


@pytest.mark.parametrize("kind", [kind for kind in RELEASES if kind != "cdf, blocks"])  # these refuse
def test_the_warnings_of_a_release_are_those_of_its_plan_and_come_before_the_charge(kind):
    name, parameters = RELEASES[kind]
    few, parameters = table_of(name, VALUES[:3]), {**parameters, "epsilon": 0.1}
    texts = getattr(releases, f"{name}_plan")(3, **parameters).warnings
    assert texts
    for text in texts:  # in one form; those of statistics by group say that a subset's size is private
        assert re.match(r"n_samples is 3: \w.*; (declare|use|spend) ", text)
        assert ("; if a private column chose the records" in text) != (name in OF_A_TABLE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(releases, name)(few, **parameters)
    assert tuple(str(each.message) for each in caught) == texts
    assert {each.filename for each in caught} == {__file__}  # where the user called
    ledger = PrivacyLedger(1, 1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"\b3\b"):
            getattr(releases, name)(few, ledger=ledger, **parameters)
    assert ledger.history() == []
