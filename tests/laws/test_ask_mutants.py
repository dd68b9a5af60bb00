"""Generic mistakes of what answers queries, in every case that asks an oracle: half of the noise, the whole
budget for each answer, noise used again, exact answers; counts, ends, labels, errors of data; raw attributes.

`ask_witnesses.json` has, for each case that asks and each mistake that shows on it, neighbours as places of
the universe, how it is caught there, and in how many seconds. `python -m tests.laws.test_ask_mutants` finds
those of cases that it lacks, and anew those that are named.
"""

import json
import sys
import time
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from dplearn.audit import observe
from dplearn.audit.cases import CASES
from dplearn.chance import SeededDice
from dplearn.estimator import FitRecipe
from dplearn.privacy import ApproxDP
from dplearn.queries import noise, oracle, randomizers
from dplearn.table import targets
from tests.laws.conftest import OnePair
from tests.laws.mutants import (
    CERTAIN,
    EXCEEDS,
    LAW,
    Mistake,
    OnceForAll,
    assert_caught,
    in_places,
    is_caught,
    mistakes,
    original,
)

FOUND = Path(__file__).with_name("ask_witnesses.json")
#: Seconds from which on a mistake is for the night, and from which on all of a case are.
LONG, LONG_CASE = 0.03, 0.12


def changed(monkeypatch, place, name, wrap):
    monkeypatch.setattr(place, name, partial_method(wrap, getattr(place, name)))


def partial_method(wrap, right):
    return lambda *given, **how: wrap(right, *given, **how)


def half_of_the_noise(monkeypatch):
    """The sensitivity of an added record where one is replaced, or half of an epsilon's noise."""
    changed(
        monkeypatch,
        noise.CentralNoise,
        "_added_to",
        lambda right, self, totals, query, share, dice: right(self, totals, query, 2 * share, dice),
    )
    for name in ("randomized_response", "laplace_counts"):
        changed(
            monkeypatch,
            randomizers,
            name,
            lambda right, *given, privacy, **how: right(*given, privacy=ApproxDP(2 * privacy.epsilon), **how),
        )


def the_whole_budget_for_each(monkeypatch):
    """Each of several answers has the noise of one that spends all; each local record answers all queries."""
    changed(
        monkeypatch,
        noise.CentralNoise,
        "answer",
        lambda right, self, query, share, *known: right(self, query, Fraction(1), *known),
    )

    def again(right, self, account, asked, share):
        for query in asked:
            account.asked = 0
            yield from right(self, account, [query], share)

    changed(monkeypatch, oracle.LocalOracle, "_private", again)


def noise_used_again(monkeypatch):
    """One draw for all numbers of all answers."""
    held = {}

    def reused(right, *given, dice, **how):
        if held.get("of") is not dice:  # another run
            held.update(of=dice, dice=OnceForAll(dice))
        return right(*given, dice=held["dice"], **how)

    for place, name in ((noise, "laplace_counts"), (noise, "gaussian_sums"), (randomizers, "laplace_counts")):
        changed(monkeypatch, place, name, reused)

    def once(right, values, size, *, dice, **how):
        if held.get("of", dice) is not dice:
            held.clear()
        held["of"] = dice
        if size not in held:
            held[size] = right(0, size, dice=dice, **how)
        return (values + held[size]) % size

    changed(monkeypatch, randomizers, "randomized_response", once)


def exact_answers(monkeypatch):
    def exact(right, self, query, share, bounds, totals, dice):
        answer = right(self, query, share, bounds, totals, dice)
        answer.means[:] = totals * float(query.unit) / (self.n * self.each)
        return answer

    changed(monkeypatch, noise.CentralNoise, "answer", exact)
    for name in ("randomized_response", "laplace_counts"):
        changed(monkeypatch, randomizers, name, lambda right, values, *_, **__: values)


def the_number_of_records(monkeypatch):
    """An estimate without noise of a private number of records."""
    monkeypatch.setattr(noise.CentralNoise, "with_noisy_count", lambda self, n, dice: replace(self, n=n))


def ends_of_the_data(monkeypatch):
    """Noisy numbers are clipped to the least and the greatest of the data, and one step beyond."""

    def within(right, counts, *, low, high, **how):
        return right(counts, low=int(np.min(counts)) - 1, high=int(np.max(counts)) + 1, **how)

    for place, name in ((noise, "laplace_counts"), (noise, "gaussian_sums"), (randomizers, "laplace_counts")):
        changed(monkeypatch, place, name, within)


def labels_of_the_data(monkeypatch):
    for module in list(sys.modules.values()):
        if vars(module).get("read_labels") is targets.read_labels and module is not targets:
            changed(monkeypatch, module, "read_labels", lambda right, y, n, classes: right(y, n, None))


def noise_that_the_data_scale(monkeypatch):
    def scaled(right, self, query, share, bounds, totals, dice):
        return right(self, query, share / (1 + int(np.sum(totals)) % 3), bounds, totals, dice)

    changed(monkeypatch, noise.CentralNoise, "answer", scaled)


def looking(look):
    """Let a function of a query's exact totals look before each answer."""

    def patch(monkeypatch):
        def central(right, self, query, share, bounds, totals, dice):
            look(np.sum(totals))
            return right(self, query, share, bounds, totals, dice)

        def local(right, self, query, share, bounds, records, dice):
            look(np.sum(query.total(records)))
            return right(self, query, share, bounds, records, dice)

        changed(monkeypatch, noise.CentralNoise, "answer", central)
        changed(monkeypatch, noise.LocalNoise, "answer", local)

    return patch


def an_error_on_data(monkeypatch):
    def refuse(total):
        if int(total) % 2:
            raise ValueError("an odd total")

    looking(refuse)(monkeypatch)


def a_raw_attribute(monkeypatch):
    """A learner keeps the exact totals that it asked for."""
    totals = []
    looking(lambda total: totals.append(int(total)))(monkeypatch)

    def publish(right, self, learner, *given):
        right(self, learner, *given)
        learner.totals_ = list(totals)
        totals.clear()

    changed(monkeypatch, FitRecipe, "publish", publish)


GENERIC = [
    half_of_the_noise,
    the_whole_budget_for_each,
    noise_used_again,
    exact_answers,
    the_number_of_records,
    ends_of_the_data,
    labels_of_the_data,
    noise_that_the_data_scale,
    an_error_on_data,
    a_raw_attribute,
]


def asks(case):
    """Return whether a run of a case asks an oracle."""
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        changed(
            patch,
            oracle.BudgetedOracle,
            "ask",
            lambda right, *given, **how: asked.append(0) or right(*given, **how),
        )
        observe(partial(case.fit, tuple(islice(_again(case.universe), case.n))), SeededDice(0))
    return bool(asked)


def _again(records):
    while True:
        yield from records


def candidates(case):
    """Yield neighbours as places of the universe: one record among like ones, then among others."""
    rng, size = np.random.default_rng(0), len(case.universe)
    tables = [
        (0,) * case.n,
        (size - 1,) * case.n,
        *map(tuple, rng.integers(size, size=(20, case.n)).tolist()),
    ]
    for table in tables:
        if case.claim.neighbors == "add_remove":
            yield table, table[:-1]
        else:
            for other in rng.permutation(size).tolist():
                if other != table[0]:
                    yield table, (other, *table[1:])


def tried(case, pair, patch):
    """Return how a mistake is caught on a pair, or None; and in how many seconds."""
    right, begin = original(case, pair), time.process_time()
    with pytest.MonkeyPatch.context() as monkeypatch:
        patch(monkeypatch)
        wrong = OnePair.of(case, pair)
        way = next((way for way in (CERTAIN, EXCEEDS, LAW) if is_caught(wrong, right, way)), None)
    return way, time.process_time() - begin


def witness(case, patch, seconds=3):
    """Return the first neighbours on which a mistake is caught best, how, and in how many seconds."""
    best, begin = None, time.process_time()
    for places in islice(candidates(case), 12):
        pair = tuple(tuple(case.universe[place] for place in rows) for rows in places)
        way, cost = tried(case, pair, patch)
        if way and (best is None or way in (CERTAIN, EXCEEDS)):
            best = [places, way, round(cost, 3)]
        if time.process_time() - begin > seconds or (best and best[1] in (CERTAIN, EXCEEDS)):
            break
    return best


@cache
def found():
    return json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}


def find(names):
    """Write the witnesses of cases that have none, and of some; a case that asks nothing has null."""
    known = dict(found())
    for name, case in CASES.items():
        if name not in known or name in names:
            shown = {patch.__name__: witness(case, patch) for patch in GENERIC} if asks(case) else None
            known[name] = shown and {mistake: each for mistake, each in shown.items() if each}
            sys.stdout.write(f"{name} {known[name]}\n")
    lines = [f"{json.dumps(name)}: {json.dumps(known[name])}" for name in CASES]
    FOUND.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def rows():
    for name, shown in found().items():
        whole = shown["exact_answers"][2] if shown and "exact_answers" in shown else 0
        for patch in GENERIC if shown else ():
            if patch.__name__ in shown:
                pair, way, cost = shown[patch.__name__]
                late = cost > LONG or whole > LONG_CASE
                yield Mistake(patch, name, in_places(name, *map(tuple, pair)), way, late=late)


@mistakes(rows())
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


def test_every_case_is_known_and_each_that_asks_shows_most_mistakes():
    assert found().keys() == CASES.keys()
    shown = [each for each in found().values() if each]
    assert len(shown) > 60
    assert all({"exact_answers", "half_of_the_noise"} & each.keys() for each in shown)
    assert {mistake for each in shown for mistake in each} == {patch.__name__ for patch in GENERIC}


@pytest.mark.nightly
def test_the_cases_that_ask_are_those_that_have_witnesses():
    long = {name for name, each in found().items() if each == {}}  # like others, and too long for a search
    assert {name for name in CASES if asks(CASES[name])} - long == {
        name for name, each in found().items() if each
    }


if __name__ == "__main__":
    find(sys.argv[1:])
