"""Generic mistakes of what answers queries, in every case that asks an oracle: half of the noise, the whole
budget for each answer, noise used again, exact answers; counts, ends, labels, errors of data; raw attributes.

`ask_witnesses.json` has, for each case that asks and each mistake that shows on it, neighbours as places of
the universe, how it is caught there, and in how many seconds. `python -m tests.laws.test_ask_mutants` finds
those of cases that it lacks, and anew those that are named.
"""

import json
import sys
import time
from functools import cache, partial
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest

from dplearn.audit import observe
from dplearn.audit.cases import CASES
from dplearn.chance import SeededDice
from dplearn.estimator import FitRecipe
from dplearn.queries import noise, oracle, randomizers
from tests.laws.mutants import (
    Mistake,
    OnceForAll,
    around,
    assert_caught,
    edit,
    in_places,
    mistakes,
    named,
    together,
    way_on,
    witness,
)

FOUND = Path(__file__).with_name("ask_witnesses.json")
#: Seconds from which on a mistake is for the night, and from which on all of a case are.
LONG, LONG_CASE = 0.03, 0.12


def noise_used_again(monkeypatch):
    """One draw for all numbers of all answers."""
    held = {}

    def reused(right, *given, dice, **how):
        if held.get("of") is not dice:  # another run
            held.update(of=dice, dice=OnceForAll(dice))
        return right(*given, dice=held["dice"], **how)

    for place, name in ((noise, "laplace_counts"), (noise, "gaussian_sums"), (randomizers, "laplace_counts")):
        around(place, name, reused)(monkeypatch)

    def once(right, values, size, *, dice, **how):
        if held.get("of", dice) is not dice:
            held.clear()
        held["of"] = dice
        if size not in held:
            held[size] = right(0, size, dice=dice, **how)
        return (values + held[size]) % size

    around(randomizers, "randomized_response", once)(monkeypatch)


def ends_of_the_data(monkeypatch):
    """Noisy numbers are clipped to the least and the greatest of the data, and one step beyond."""

    def within(right, counts, *, low, high, **how):
        return right(counts, low=int(np.min(counts)) - 1, high=int(np.max(counts)) + 1, **how)

    for place, name in ((noise, "laplace_counts"), (noise, "gaussian_sums"), (randomizers, "laplace_counts")):
        around(place, name, within)(monkeypatch)


def a_raw_attribute(monkeypatch):
    """A learner keeps the exact totals that it asked for."""
    totals = []

    def publish(right, self, learner, *given):
        right(self, learner, *given)
        learner.totals_ = list(totals)
        totals.clear()

    for kind, total in (
        ("Central", lambda query, private: private),
        ("Local", lambda query, private: query.total(private)),
    ):

        def answer(right, self, query, share, bounds, private, dice, total=total):
            totals.append(int(np.sum(total(query, private))))
            return right(self, query, share, bounds, private, dice)

        around(f"queries.noise:{kind}Noise", "answer", answer)(monkeypatch)
    around(FitRecipe, "publish", publish)(monkeypatch)


ADDED, ANSWER = "queries.noise:CentralNoise._added_to", "queries.noise:CentralNoise.answer"
COUNT = "queries.noise:CentralNoise.with_noisy_count"
REPORTS, LABELS = "queries.oracle:LocalOracle._private", "table.targets:read_labels"
DRAWS = [f"queries.randomizers:{kind}Randomizer.draw" for kind in ("Bit", "Category", "Laplace")]
OF_SHARE = "share * self.budget,", "2 * share * self.budget,", "(query, share)", "(query, 2 * share)"
ODD, COUNTED = "% 2: raise ValueError\n", "n=min(max(round(float(noisy) / 2.0**bits), 1), self.most_records)"
noise_that_the_data_scale = edit(
    ANSWER, "unit, n =", "share = share / (1 + int(np.sum(private)) % 3)\nunit, n ="
)
GENERIC = [
    named(title, together(*patches))
    for title, *patches in (
        (
            "half_of_the_noise",
            edit(ADDED, *OF_SHARE),
            *(edit(draw, "ApproxDP(", "ApproxDP(2 * ") for draw in DRAWS),
        ),
        # Each of several answers has the noise of one that spends all; each local record answers all queries.
        (
            "the_whole_budget_for_each",
            edit(ANSWER, "unit, n =", "share = Fraction(1)\nunit, n ="),
            edit(REPORTS, "places =", "account.asked = 0\nplaces ="),
        ),
        ("noise_used_again", noise_used_again),
        (
            "exact_answers",
            edit(ANSWER, "sums * unit / (n * 2.0**bits)", "private * unit / n"),
            *(
                around(randomizers, name, lambda right, values, *_, **__: values)
                for name in ("randomized_response", "laplace_counts")
            ),
        ),
        # An estimate without noise of a private number of records.
        ("the_number_of_records", edit(COUNT, COUNTED, "n=n")),
        ("ends_of_the_data", ends_of_the_data),
        ("labels_of_the_data", edit(LABELS, "labels = label", "classes = None\nlabels = label")),
        ("noise_that_the_data_scale", noise_that_the_data_scale),
        (
            "an_error_on_data",
            edit(ANSWER, "unit, n =", f"if int(np.sum(private)) {ODD}unit, n ="),
            edit(
                "queries.noise:LocalNoise.answer",
                "count =",
                f"if int(np.sum(query.total(private))) {ODD}count =",
            ),
        ),
        ("a_raw_attribute", a_raw_attribute),
    )
]


def asks(case):
    """Return whether a run of a case asks an oracle."""
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        ask = oracle.BudgetedOracle.ask
        patch.setattr(
            oracle.BudgetedOracle, "ask", lambda *known, **how: asked.append(0) or ask(*known, **how)
        )
        observe(partial(case.fit, tuple(islice(cycle(case.universe), case.n))), SeededDice(0))
    return bool(asked)


@cache
def found():
    return json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}


def shown_by(patch, case):
    """Return neighbours on which a mistake shows, how it is caught there, and in how many seconds."""
    if places := witness(Mistake(patch, case), seconds=3):
        *pair, way = places
        begin = time.process_time()
        way_on(Mistake(patch, case, in_places(case, *pair)))
        return [pair, way, round(time.process_time() - begin, 3)]
    return None


def find(names):
    """Write the witnesses of cases that have none, and of some; a case that asks nothing has null."""
    known = dict(found())
    for name in CASES:
        if name not in known or name in names:
            shown = (
                {patch.__name__: shown_by(patch, name) for patch in GENERIC} if asks(CASES[name]) else None
            )
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
