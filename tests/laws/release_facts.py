"""Public facts of releases, scores and oracles: what they promise, assume and charge, and errors."""

import numpy as np
import pandas as pd

from dplearn.domains import Categories, Grid
from dplearn.privacy import PrivacyLedger
from tests.laws.facts import charges, facts_of, guarantee_of, outcome, plain, plan_facts, two_types
from tests.laws.releases import AGES, RELEASES, N, cut_up

PEOPLE = np.array([f"p{each}" for each in np.arange(N) % 250])
FORMS = ("memory", "parts", "groups", "parts groups", "added", "added parts", "added groups")


def released(name):
    """What a release tells of itself, for each form."""
    found = {form: released_as(name, form.split()) for form in FORMS}
    return {form: told for form, told in found.items() if told is not None}


def released_as(name, words):
    record = RELEASES[name]
    table, parameters, more = record.table, {}, {"neighbors": "add_remove"} if "added" in words else {}
    if "groups" in words:
        more["groups"] = cut_up(pd.Series(PEOPLE)) if "parts" in words else PEOPLE
    if not record.takes.issuperset(more) or ("parts" in words and isinstance(table, str)):
        return None
    if "parts" in words:
        if isinstance(table, pd.DataFrame) and "groups" in words:
            table, more["groups"] = table.assign(person=PEOPLE), "person"
        parameters = {each: cut_up(column) for each, column in record.beside.items()}
        table = cut_up(table)
    protects = "groups" if "groups" in words else "examples"
    neighbors = more.get("neighbors", "replace_one")
    ledger = PrivacyLedger(10**13, 0.9, protects=protects, neighbors=neighbors, allow_reproducible=True)
    given = {**parameters, **more, "ledger": ledger}
    found = facts_of(lambda: facts_of_release(record.make(table, **given)))
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
    ("groups", "in another order", pd.Series(PEOPLE)[::-1]),
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
    record = RELEASES[name]
    wrong = [(f"{each}={plain(repr(value))}", each, value) for each, value in VALUES if each in record.takes]
    wrong += [(f"{each} {what}", each, value) for each, what, value in OBJECTS if each in record.takes]
    found = {key: outcome(lambda given={each: value}: record.make(**given)) for key, each, value in wrong}
    for key, make in TABLES.items() if not isinstance(record.table, str) else ():
        found[f"a table: {key}"] = outcome(lambda make=make: record.make(make(record.table)))
    return found
