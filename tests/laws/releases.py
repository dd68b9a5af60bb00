"""Every release, score and oracle, once: laws over them read this table, so that a new one is one entry."""

from dataclasses import dataclass
from functools import cache
from inspect import isclass, signature
from itertools import pairwise

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from dplearn import queries, releases
from dplearn.domains import Categories, IntegerRange, Schema
from dplearn.model_selection import PrivateScorer, private_score
from dplearn.queries import HistogramQuery, MeanQuery

N = 600
AGES = np.random.default_rng(0).integers(0, 100, N)
KEYS = pd.Series([f"k{each}" for each in AGES // 30], name="v", dtype=object)
MIXED = pd.DataFrame({"age": AGES, "kind": KEYS, "height": np.where(AGES < 9, np.nan, AGES)})
#: What releases are made of, by name; scores are of a public model, see `scored`.
TABLES = {
    "ages": pd.Series(AGES, name="v"),
    "ones": pd.Series(AGES > 50, name="v"),
    "heights": pd.Series(AGES + 0.25, name="v"),
    "keys": KEYS,
    "mixed": MIXED,
    "declared": MIXED[["age", "kind"]],
}
DECLARED = Schema({"age": IntegerRange(0, 99), "kind": Categories(["k0", "k1", "k2", "k3"])})
ASKED = [
    MeanQuery(lambda rows: rows, low=0, high=99),
    HistogramQuery(lambda rows: rows // 10, categories=10),
]
YEARS = IntegerRange(0, 99)
DECADES = np.repeat(np.eye(10, dtype=int), 10, axis=1)


@cache
def scored(kind):
    """A public model, and the rows and labels that it is scored on."""
    X, y = AGES[:, None], AGES > 50 if kind == "scored" else AGES
    return (GaussianNB() if kind == "scored" else LinearRegression()).fit(X, y), X, y


@dataclass(frozen=True)
class Record:
    """A release: a function, of what, and its public parameters."""

    function: object
    of: str
    parameters: dict

    @property
    def name(self):
        return self.function.__name__

    @property
    def table(self):
        return TABLES.get(self.of, self.of)

    @property
    def beside(self):
        """The columns beside its table, by their parameters."""
        return {each: self.parameters[each] for each in ("values", "by") if each in self.parameters}

    @property
    def is_of_a_column(self):
        """Whether it is a function of one column."""
        return isinstance(self.table, pd.Series) and self.name in releases.__all__

    @property
    def takes(self):
        """The names of all that it takes."""
        return {*signature(self.function).parameters} | ({"groups"} if isclass(self.function) else set())

    def make(self, table=..., **given):
        """Release; a class fits a table, an oracle is asked, a score is of a public model."""
        given = {"random_state": 0, **self.parameters, **given}
        table = self.table if table is ... else table
        if isclass(self.function):
            of_fit = {name: given.pop(name) for name in ("groups",) if name in given}
            return self.function(**given).fit(table, **of_fit)
        if self.function is private_score:
            return self.function(*scored(table), **given)
        found = self.function(table, **given)
        if self.name in queries.__all__:
            found.ask(ASKED)
        return found


def cut_up(table):
    """A function that returns a table in parts."""
    return lambda: iter([table[start:stop] for start, stop in pairwise([0, 1, 1, 400, len(table)])])


OF_ERRORS = PrivateScorer("neg_mean_absolute_error", target_range=(0, 99))
IN_YEARS = {"domain": IntegerRange(0, 120)}
RECURSIVE = {"method": "recursive", "epsilon": 20, "delta": 1e-2, **IN_YEARS}
BY = {"by": KEYS, "categories": ["k0", "k2", "none"]}
MEANS = {"values": AGES, "bounds": (0, 99)}
RELEASES = {
    "mean": Record(releases.mean, "ages", {"bounds": (0, 120)}),
    "proportion": Record(releases.proportion, "ones", {}),
    "std": Record(releases.std, "ages", {"bounds": (0, 120)}),
    "small_database": Record(
        releases.small_database, "ages", {"queries": DECADES, "domain": YEARS, "n_rows": 1}
    ),
    "multiplicative_weights": Record(
        releases.multiplicative_weights, "ages", {"queries": DECADES, "domain": YEARS, "n_rounds": 4}
    ),
    "median": Record(releases.median, "ages", IN_YEARS),
    "median, interval": Record(releases.median, "ages", IN_YEARS | {"intervals": True}),
    "median of floats": Record(releases.median, "heights", {}),
    "quantiles": Record(releases.quantiles, "ages", {"q": [0.1, 0.5], **IN_YEARS}),
    "quantiles of floats": Record(releases.quantiles, "heights", {"q": [0, 0.1, 1]}),
    "median by category": Record(releases.median, "ages", BY | IN_YEARS),
    "quantiles by category": Record(releases.quantiles, "heights", {"q": [0.2, 0.5], **BY}),
    "cdf": Record(releases.cdf, "ages", IN_YEARS),
    "cdf of floats": Record(releases.cdf, "heights", {"delta": 1e-6}),
    "cdf in blocks": Record(releases.cdf, "ages", {"method": "blocks", "delta": 1e-6, **IN_YEARS}),
    "interior_point": Record(releases.interior_point, "ages", IN_YEARS),
    "interior_point, recursive": Record(releases.interior_point, "ages", RECURSIVE),
    "stable_counts": Record(releases.stable_counts, "keys", {"delta": 1e-4}),
    "grouped": Record(releases.grouped, "keys", {"categories": ["k0", "k1", "k2"]}),
    "grouped of any keys": Record(releases.grouped, "keys", {"delta": 1e-4}),
    "grouped means": Record(releases.grouped, "keys", {"categories": ["k0"], **MEANS}),
    "grouped means of columns": Record(
        releases.grouped,
        "keys",
        {
            "categories": ["k0", "k1"],
            "values": MIXED.assign(half=AGES / 2)[["age", "half"]],
            "bounds": {"age": (0, 99), "half": (0, 50)},
        },
    ),
    "describe": Record(releases.describe, "declared", {"domain": DECLARED}),
    "describe, learned": Record(releases.describe, "mixed", {}),
    "learned_schema": Record(releases.learned_schema, "mixed", {}),
    "learned_schema, pure": Record(releases.learned_schema, "mixed", {"delta": 0}),
    "SyntheticTable": Record(releases.SyntheticTable, "declared", {"domain": DECLARED, "delta": 0}),
    "SyntheticTable, learned": Record(releases.SyntheticTable, "mixed", {}),
    "private_score": Record(private_score, "scored", {"scoring": "accuracy"}),
    "private_score of areas": Record(private_score, "scored", {"scoring": "roc_auc"}),
    "private_score of errors": Record(private_score, "regressed", {"scoring": OF_ERRORS}),
    "central": Record(queries.central, "ages", {}),
    "central, Gaussian": Record(queries.central, "ages", {"delta": 1e-6}),
    "local": Record(queries.local, "ages", {}),
    "local, Laplace": Record(queries.local, "ages", {"randomizer": "laplace"}),
}
