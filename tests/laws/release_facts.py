"""Public facts of releases, scores and oracles: what they promise, assume and charge, and errors."""

from functools import cache
from inspect import signature
from itertools import pairwise

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from dplearn import queries, releases
from dplearn.domains import Categories, Grid, IntegerRange, Schema
from dplearn.model_selection import private_score
from dplearn.privacy import PrivacyLedger
from dplearn.queries import HistogramQuery, MeanQuery
from tests.laws.facts import charges, facts_of, guarantee_of, outcome, plain, plan_facts, two_types

N = 600
AGES = np.random.default_rng(0).integers(0, 100, N)
SERIES = {
    "ages": pd.Series(AGES, name="v"),
    "heights": pd.Series(AGES + 0.25, name="v"),
    "keys": pd.Series([f"k{each}" for each in AGES // 30], name="v", dtype=object),
}
MIXED = pd.DataFrame({"age": AGES, "kind": SERIES["keys"], "height": np.where(AGES < 9, np.nan, AGES)})
DECLARED = Schema({"age": IntegerRange(0, 99), "kind": Categories(["k0", "k1", "k2", "k3"])})
PEOPLE = np.array([f"p{each}" for each in np.arange(N) % 250])
IN_YEARS = {"domain": IntegerRange(0, 120)}
#: From a name to a function, its column, and public parameters.
RELEASES = {
    "mean": (releases.mean, "ages", {"bounds": (0, 120)}),
    "median": (releases.median, "ages", IN_YEARS),
    "median of floats": (releases.median, "heights", {}),
    "quantiles": (releases.quantiles, "ages", {"q": [0.1, 0.5], **IN_YEARS}),
    "quantiles of floats": (releases.quantiles, "heights", {"q": [0, 0.1, 1]}),
    "cdf": (releases.cdf, "ages", IN_YEARS),
    "cdf of floats": (releases.cdf, "heights", {"delta": 1e-6}),
    "cdf in blocks": (releases.cdf, "ages", {"method": "blocks", "delta": 1e-6, **IN_YEARS}),
    "interior_point": (releases.interior_point, "ages", IN_YEARS),
    "interior_point, recursive": (
        releases.interior_point,
        "ages",
        {"method": "recursive", "epsilon": 20, "delta": 1e-2, **IN_YEARS},
    ),
    "stable_counts": (releases.stable_counts, "keys", {"delta": 1e-4}),
    "grouped": (releases.grouped, "keys", {"categories": ["k0", "k1", "k2"]}),
    "grouped of any keys": (releases.grouped, "keys", {"delta": 1e-4}),
    "grouped means": (releases.grouped, "keys", {"values": AGES, "bounds": (0, 99), "categories": ["k0"]}),
    "grouped means of persons": (
        releases.grouped,
        "keys",
        {"values": AGES, "bounds": (0, 99), "delta": 1e-4, "max_rows_per_group": 3},
    ),
    "learned_schema": (releases.learned_schema, MIXED, {}),
    "learned_schema, pure": (releases.learned_schema, MIXED, {"delta": 0}),
    "SyntheticTable": (releases.SyntheticTable, MIXED[["age", "kind"]], {"domain": DECLARED, "delta": 0}),
    "SyntheticTable, learned": (releases.SyntheticTable, MIXED, {}),
    "private_score": (private_score, "scored", {"scoring": "accuracy"}),
    "private_score of areas": (private_score, "scored", {"scoring": "roc_auc"}),
    "private_score of errors": (private_score, "regressed", {"scoring": "neg_mean_absolute_error"}),
    "central": (queries.central, "ages", {}),
    "central, Gaussian": (queries.central, "ages", {"delta": 1e-6}),
    "local": (queries.local, "ages", {}),
    "local, Laplace": (queries.local, "ages", {"randomizer": "laplace"}),
}
FORMS = ("memory", "parts", "groups", "parts groups", "added", "added parts", "added groups")
ASKED = [
    MeanQuery(lambda rows: rows, low=0, high=99),
    HistogramQuery(lambda rows: rows // 10, categories=10),
]


def cut_up(table):
    """A function that returns a table in parts."""
    return lambda: iter([table[start:stop] for start, stop in pairwise([0, 1, 1, 400, len(table)])])


@cache
def scored(kind):
    """A public model, and the rows and labels that it is scored on."""
    X, y = AGES[:, None], AGES > 50 if kind == "scored" else AGES
    return (GaussianNB() if kind == "scored" else LinearRegression()).fit(X, y), X, y


def release(function, table, parameters):
    """Make a release; a class fits a table, an oracle is asked, a score is of a public model."""
    if function is releases.SyntheticTable:
        of_fit = {name: parameters[name] for name in ("groups",) if name in parameters}
        given = {name: value for name, value in parameters.items() if name not in of_fit}
        return function(**{"random_state": 0, **given}).fit(table, **of_fit)
    if function is private_score:
        return function(*scored(table), **{"random_state": 0, **parameters})
    found = function(table, **{"random_state": 0, **parameters})
    if function in (queries.central, queries.local):
        found.ask(ASKED)
    return found


def given_to(name):
    """A release, its table, its parameters, and the names of all that it takes."""
    function, of, parameters = RELEASES[name]
    table = SERIES.get(of, of) if isinstance(of, str) else of
    more = ("groups",) if function is releases.SyntheticTable else ()
    return function, table, parameters, {*signature(function).parameters, *more}


def released(name):
    """What a release tells of itself, for each form."""
    found = {form: released_as(name, form.split()) for form in FORMS}
    return {form: told for form, told in found.items() if told is not None}


def released_as(name, words):
    function, table, parameters, takes = given_to(name)
    more = {"neighbors": "add_remove"} if "added" in words else {}
    if "groups" in words:
        more["groups"] = cut_up(pd.Series(PEOPLE)) if "parts" in words else PEOPLE
    if not takes.issuperset(more) or ("parts" in words and isinstance(table, str)):
        return None
    if "parts" in words:
        if isinstance(table, pd.DataFrame) and "groups" in words:
            table, more["groups"] = table.assign(person=PEOPLE), "person"
        parameters = parameters | ({"values": cut_up(AGES)} if "values" in parameters else {})
        table = cut_up(table)
    protects = "groups" if "groups" in words else "examples"
    neighbors = more.get("neighbors", "replace_one")
    ledger = PrivacyLedger(10**13, 0.9, protects=protects, neighbors=neighbors, allow_reproducible=True)
    given = {**parameters, **more, "ledger": ledger}
    found = facts_of(lambda: facts_of_release(release(function, table, given)))
    return found if isinstance(found, str) else found | {"charges": charges(ledger)}


def facts_of_release(found):
    guarantee = found.guarantee_ if hasattr(found, "guarantee_") else found.guarantee
    fields = {"fields": ", ".join(name for name in vars(found) if not name.startswith("_"))}
    plan = getattr(found, "plan", None)
    plan = {} if plan is None or callable(plan) else {"plan": plan_facts(plan)}
    return guarantee_of(guarantee) | fields | plan


LOW = PrivacyLedger("1e-9", allow_reproducible=True)
#: Wrong values of releases' parameters.
VALUES = (
    *(("epsilon", value) for value in (0, -1, float("nan"), "1", None)),
    *(("delta", value) for value in (-0.1, 1, float("nan"), None)),
    *(("q", value) for value in (-0.1, 1.1, [], float("nan"), "a")),
    *(("bounds", value) for value in ((1, 0), (0, float("nan")), 3)),
    *(("categories", value) for value in ([], ["k0", "k0"], "k0", 3)),
    *(("domain", value) for value in (3, "ab", Categories(["a", "b"]), Grid(0, 10, 11))),
    *(("columns", value) for value in ("colours", {"b": "numbers"}, ["numbers"])),
    *((name, "?") for name in ("method", "noise", "neighbors", "randomizer", "scoring", "constants")),
    *(("max_rows_per_group", value) for value in (0, 1.5)),
    *(("count_share", value) for value in (0, 1, "a")),
    *(("random_state", value) for value in ("a", 0.5)),
)
OBJECTS = (
    ("groups", "fewer", PEOPLE[:-1]),
    ("groups", "of two types", two_types(N)),
    ("groups", "missing", [None] * N),
    ("groups", "a name", "person"),
    ("groups", "of two dimensions", np.zeros((N, 2))),
    ("ledger", "of another type", 3),
    ("ledger", "too small", LOW),
    ("ledger", "that refuses seeds", PrivacyLedger(9, 0.5)),
)
TABLES = {
    "none": lambda table: None,
    "a text": lambda table: "v",
    "no rows": lambda table: table[:0],
    "one row": lambda table: table[:1],
    "of two dimensions": lambda table: np.zeros((N, 2)),
    "of three dimensions": lambda table: np.zeros((N, 2, 2)),
    "missing values": lambda table: table.where(AGES > 9),
    "infinite values": lambda table: np.where(AGES > 9, np.inf, AGES),
    "of two types": lambda table: two_types(N),
    "no parts": lambda table: lambda: iter(()),
    "parts without rows": lambda table: lambda: iter([table[:0], table[:0]]),
    "parts of other types": lambda table: lambda: iter([table, table == table]),
    "parts of other shapes": lambda table: lambda: iter([AGES, np.zeros((N, 2))]),
}


def release_mistakes(name):
    """Errors of a release for each mistake."""
    function, table, parameters, takes = given_to(name)
    wrong = [(f"{each}={plain(repr(value))}", each, value) for each, value in VALUES if each in takes]
    wrong += [(f"{each} {what}", each, value) for each, what, value in OBJECTS if each in takes]
    found = {
        key: outcome(lambda given={**parameters, each: value}: release(function, table, given))
        for key, each, value in wrong
    }
    for key, make in TABLES.items() if not isinstance(table, str) else ():
        found[f"a table: {key}"] = outcome(lambda make=make: release(function, make(table), parameters))
    return found
