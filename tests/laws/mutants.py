"""One runner for all deliberate mistakes: each is caught on two neighbours on which the original is kept.

A family of algorithms has one file, with a table of `Mistake`: what is patched, in which case, on which
neighbours it shows, and how it is caught. The unchanged distributions of a case and a pair are computed once;
`originals.json` has their digests, and `witnesses.json` the neighbours of mistakes whose rows do not name
them, as places of the universe. `python -m tests.laws.mutants` writes both: a digest that differs is another
law, and neighbours are searched for mistakes that have none.
"""

import hashlib
import json
import math
import sys
import time
from collections.abc import MutableMapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from dplearn.audit import AuditCase, observe
from dplearn.audit.cases import CASES
from dplearn.chance import SeededDice
from tests.laws.conftest import OnePair

#: How a mistake is caught: some event is more probable than the claim allows; some outcome has no probability
#: on one side; the claim is kept, or its universe too small, and the law is another; the draws are others
#: than the proof allows; or a path has two outcomes.
EXCEEDS, CERTAIN, LAW, REPLAY, NO_DICE = "exceeds", "certain", "another law", "replay", "no dice"
#: What a mistake raises that does not run, since what it patches or calls is gone: it shows nothing.
BROKEN = {
    "AttributeError",
    "ImportError",
    "ModuleNotFoundError",
    "NameError",
    "TypeError",
    "UnboundLocalError",
}


@dataclass(frozen=True)
class Mistake:
    """A deliberate mistake; `patch(monkeypatch)` puts it in, and may return another computation.

    Without a pair it is caught on its witness, in the way that the witness tells.
    """

    patch: object
    case: object  # or its name
    pair: tuple = ()  # two neighbours
    way: str = EXCEEDS
    staged: bool = field(
        default=True, kw_only=True
    )  # False where it is in what a fit in stages does not call
    late: bool = field(default=False, kw_only=True)  # whether a cheaper mistake shows the same: for the night

    def __post_init__(self):
        if not self.pair and (found := witnesses().get(str(self))):
            *places, way = found
            object.__setattr__(self, "pair", in_places(self.case, *places))
            object.__setattr__(self, "way", way)

    def __str__(self):
        return f"{self.patch.__name__}-{self.of.name}"

    @property
    def of(self):
        return CASES[self.case] if isinstance(self.case, str) else self.case


def in_places(name, *pair):
    """Return neighbours that are given as places of the universe of a case."""
    universe = (CASES[name] if isinstance(name, str) else name).universe
    return tuple(tuple(universe[place] for place in rows) for rows in pair)


def of_two(name, release, pair, claim, *, tail_bits=40):
    """Return the case of `release(record, dice)` on each of two records, which are neighbours."""

    def fit(rows, dice):
        shown = release(rows[0], dice)
        return str(shown), shown

    case = AuditCase(name, fit, pair, 1, claim, tail_bits=tail_bits, rules=None)
    return case, tuple((record,) for record in pair)


def on(case, pair, *patches, way=EXCEEDS, **how):
    """Return the mistakes that one case shows on one pair."""
    return [Mistake(patch, case, pair, way, **how) for patch in patches]


def mistakes(rows):
    """Run a test for each of some mistakes, with `mistake`."""
    params = [pytest.param(row, id=str(row), marks=pytest.mark.nightly if row.late else ()) for row in rows]
    return pytest.mark.parametrize("mistake", params)


_originals = {}
FROZEN, WITNESSES = (Path(__file__).with_name(f"{name}.json") for name in ("originals", "witnesses"))


@cache
def frozen():
    return json.loads(FROZEN.read_text(encoding="utf-8")) if FROZEN.exists() else {}


@cache
def witnesses():
    """Return places of neighbours and a way to be caught; None where a generic mistake never shows."""
    return json.loads(WITNESSES.read_text(encoding="utf-8")) if WITNESSES.exists() else {}


def name_of(case, pair):
    """Return the name under which the digest of a case's laws on two neighbours is frozen."""
    public = repr((case.n, case.tail_bits, str(case.claim), pair))
    return f"{case.name} {hashlib.sha256(public.encode()).hexdigest()[:12]}"


def original(case, pair, staged=True):
    """Return the unchanged case on two neighbours, on which it is kept; its distributions are kept too."""
    key = id(case), pair, staged
    if key not in _originals:
        found = OnePair.of(case, pair, staged=staged)
        assert found.run().keeps(case.claim), f"{case.name} itself is not kept on {pair}"
        _originals[key] = found
    return _originals[key]


def error_of(seen):
    """Return the name of the error that an outcome is, or None."""
    if isinstance(seen, tuple) and seen and seen[0] == "warned":
        return error_of(seen[2])
    return seen[1] if isinstance(seen, tuple) and len(seen) > 1 and seen[0] == "raised" else None


def assert_runs(outcomes, right=()):
    """Refuse a mistake whose computation stops because a name is gone or a call has other arguments."""
    broken = {seen for seen in outcomes if error_of(seen) in BROKEN} - set(right)
    assert not broken, f"the mistake does not run: {sorted(map(repr, broken))[0][:300]}"


def exponent(pair):
    """Return the exact epsilon of two neighbours over that of their claim; infinite if none is enough."""
    found = pair.run().exp_epsilon
    return math.inf if found is None else math.log(found) / float(pair.claim.epsilon)


def is_caught(wrong, right, way):
    """Return whether a changed computation is caught in a way, beside the unchanged one."""
    if way == REPLAY:
        assert_runs([observe(partial(wrong.fit, wrong.pair[0]), SeededDice(0))])
        return wrong.replay(10) != []
    if way == NO_DICE:
        with pytest.raises(RuntimeError, match="does not come from the dice"):
            wrong.run()
        return True
    for rows in wrong.pair:
        assert_runs(wrong.distributions[rows].masses, right.distributions[rows].masses)
    if way == LAW:
        return wrong.digest() != right.own_digest
    found = exponent(wrong)
    return found == math.inf if way == CERTAIN else not wrong.run().keeps(wrong.claim)


def assert_caught(mistake, monkeypatch):
    """Put a mistake in and find it in the way that it says."""
    assert mistake.pair, f"no neighbours of {mistake}: run python -m tests.laws.mutants"
    case = mistake.of
    right = original(case, mistake.pair, mistake.staged)
    if not mistake.late:
        assert frozen().get(name_of(case, mistake.pair)) == right.own_digest[:16], "another original law"
    assert mistake.way != REPLAY or right.replay(1) == []
    other = mistake.patch(monkeypatch)
    changed = case if other is None else case.with_fit(other)
    wrong = OnePair.of(changed, mistake.pair, staged=mistake.staged)
    assert is_caught(wrong, right, mistake.way)


# What mistakes are made of.


def named(name, patch):
    patch.__name__ = name
    return patch


def instead(place, name, wrong, title=None):
    """Put `wrong` in the place of an attribute of a module or class, or of a value of a dictionary."""

    def patch(monkeypatch):
        if isinstance(place, MutableMapping):
            assert name in place, f"the mistake does not run: {name} is gone"
            monkeypatch.setitem(place, name, wrong)
        else:
            monkeypatch.setattr(place, name, wrong)

    return named(title or getattr(wrong, "__name__", name), patch)


def around(place, name, wrap, title=None):
    """Put `wrap`, called with the right function and its arguments, in the place of a function."""

    def patch(monkeypatch):
        right = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *args, **how: wrap(right, *args, **how))

    return named(title or wrap.__name__, patch)


def given(title, place, name, **changes):
    """Call a function with other named arguments: constants, or functions of the right ones."""

    def wrap(right, *args, **how):
        made = {key: new(how[key]) if callable(new) else new for key, new in changes.items()}
        return right(*args, **how | made)

    return around(place, name, wrap, title)


def without_noise(place, name):
    """Return counts in place of noisy ones."""
    return instead(place, name, lambda counts, *_, **__: counts, f"exact_{name}")


def noise_used_again(case):
    """Draw noise of each kind once for all numbers and calls of a case."""
    fit = (CASES[case] if isinstance(case, str) else case).fit
    return instead_of_the_fit("noise_used_again", lambda rows, dice: fit(rows, OnceForAll(dice)))


def instead_of_the_fit(title, fit):
    """Compute something else in place of the case's computation."""
    return named(title, lambda monkeypatch: fit)


def with_epsilon(mechanism, factor):
    """Spend more epsilon than is said: 2 is half of the sensitivity, 21/20 noise that is 5% too small."""

    def spend(*data, privacy, **parameters):
        return mechanism(*data, privacy=replace(privacy, epsilon=privacy.epsilon * factor), **parameters)

    return named(f"{factor}_epsilon", spend)


class OnceForAll:
    """Dice that draw noise of each kind once, between public ends, and use it for all numbers and calls."""

    def __init__(self, dice, far=3):
        self._dice, self._far, self._drawn = dice, far, {}

    def __getattr__(self, name):
        return getattr(self._dice, name)

    def discrete_laplace(self, ratio, low=None, high=None, size=None):
        if "laplace" not in self._drawn:
            self._drawn["laplace"] = np.ravel(self._dice.discrete_laplace(ratio, -self._far, self._far, 1))[0]
        noise = self._drawn["laplace"]
        return np.clip(noise if size is None else np.full(size, noise), low, high)

    def discrete_gaussian(self, sigma2, size=None):
        if "gaussian" not in self._drawn:
            self._drawn["gaussian"] = self._dice.discrete_gaussian(sigma2)
        return self._drawn["gaussian"] if size is None else np.full(size, self._drawn["gaussian"])


def witness(mistake, seconds=20):
    """Return places of the first neighbours on which a mistake is caught best, and how; or None."""
    from tests.laws.test_ask_mutants import candidates  # which imports this module

    best, begin = None, time.process_time()
    for places in candidates(mistake.of):
        way = way_on(replace(mistake, pair=in_places(mistake.of, *places)))
        if way and (best is None or way != LAW):
            best = [*places, way]
        if time.process_time() - begin > seconds or (best and best[2] != LAW):
            break
    return best


def way_on(mistake):
    """Return how a mistake is caught on its neighbours, or None."""
    right = original(mistake.of, mistake.pair, mistake.staged)
    with pytest.MonkeyPatch.context() as monkeypatch:
        other = mistake.patch(monkeypatch)
        changed = mistake.of if other is None else mistake.of.with_fit(other)
        wrong = OnePair.of(changed, mistake.pair, staged=mistake.staged)
        return next((way for way in (CERTAIN, EXCEEDS, LAW) if is_caught(wrong, right, way)), None)


def freeze():
    """Find witnesses of mistakes that have none; write the digests of laws of all that run by day."""
    laws, found = {}, {name: None for name, each in witnesses().items() if each is None}
    for path in sorted(Path(__file__).parent.glob("test_*_mutants.py")):
        test = getattr(import_module(f"tests.laws.{path.stem}"), "test_a_mistake_is_caught", None)
        for [mistake] in (row.values for row in test.pytestmark[0].args[1]) if test else ():
            name = str(mistake)
            if name in witnesses():
                found[name] = witnesses()[name]
            if not mistake.pair:
                found[name] = witness(mistake)
                sys.stdout.write(f"{name}: {found[name]}\n")
            pair = mistake.pair or (found[name] and in_places(mistake.of, *found[name][:2]))
            if pair and not mistake.late and (law := name_of(mistake.of, pair)) not in laws:
                laws[law] = OnePair.of(mistake.of, pair, staged=mistake.staged).digest()[:16]
        sys.stdout.write(f"{path.stem}: {len(laws)} laws\n")
        sys.stdout.flush()
    FROZEN.write_text(json.dumps(laws, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in sorted(found.items())]
    WITNESSES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    freeze()
