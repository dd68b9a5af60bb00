"""One runner for all deliberate mistakes: each is caught on two neighbours on which the original is kept.

A family of algorithms has one file, with a table of `Mistake`: what is wrong, in which case, on which
neighbours it shows, and how it is caught. Most are edits of a line of the source. The unchanged distributions
of a case and a pair are computed once; `originals.json` has their digests, and `witnesses.json` the
neighbours of mistakes whose rows do not name them, as places of the universe. `python -m tests.laws.mutants`
writes both: a digest that differs is another law, and neighbours are searched for mistakes that have none.
"""

import builtins
import hashlib
import inspect
import json
import math
import re
import sys
import textwrap
import time
from dataclasses import dataclass, field, replace
from dis import get_instructions
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

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
    """Return the case of `release(record, dice)` on two records alone, which are neighbours."""

    def fit(rows, dice):
        shown = release(rows[0], dice)
        return str(shown), shown

    return AuditCase(name, fit, pair, 1, claim, tail_bits=tail_bits, rules=None)


def on(case, *patches, **how):
    """Return the mistakes that one case shows."""
    return [Mistake(patch, case, **how) for patch in patches]


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


def at(place):
    """Return what is at "module:name" in dplearn; an object is itself."""
    return resolve_name(f"dplearn.{place}") if isinstance(place, str) else place


def edit(place, *texts):
    """Return the mistake of a function, a method or a property at "module:name" with another source.

    `texts`: what its source has once and what it has instead; several such pairs are made one by one. Further
    lines have the indentation of the line that they stand in.
    """
    changes = list(zip(texts[::2], texts[1::2], strict=True))
    title = "; ".join(" ".join((new or f"no {old}").split()) for old, new in changes)

    @cache
    def changed():
        right = at(place)
        assert not hasattr(right, "cache_clear"), f"the mistake does not run: {place} keeps right results"
        function = getattr(right, "fget", None) or getattr(right, "func", right)
        function = inspect.unwrap(getattr(function, "__func__", function))
        wrong = source = textwrap.dedent(inspect.getsource(function))
        for old, new in changes:
            assert wrong.count(old) == 1, f"the mistake does not run: {old!r} is not once in {place}"
            before, _, after = wrong.partition(old)
            line = before[before.rfind("\n") + 1 :]
            indentation = line[: len(line) - len(line.lstrip())]
            wrong = before + new.replace("\n", f"\n{indentation}") + after
        codes, same = (_codes(each, function.__qualname__) for each in (wrong, source))
        assert codes != same, f"the mistake does not run: {title!r} changes no statement of {place}"
        steps = [step for code in codes for step in get_instructions(code) if step.opname == "LOAD_GLOBAL"]
        gone = {step.argval for step in steps} - {*function.__globals__, *dir(builtins)}
        assert not gone, f"the mistake does not run: {place} knows no {gone}"
        return function, codes[0]

    def patch(monkeypatch):
        function, code = changed()
        monkeypatch.setattr(function, "__code__", code)  # of itself: all that import it see it
        monkeypatch.setattr(Kept(), "results", None, raising=False)

    return named(f"{place.split(':')[-1]}: {title}", patch)


def _codes(source, name):
    """Return the code of a function's source, which names its class if it is of one, and all within it."""
    *owner, own = name.split(".")
    if owner:  # so that `super()` and names with two underscores mean what they mean there
        source = f"class {owner[-1]}:\n{textwrap.indent(source, ' ')}"
    codes = [compile(source, f"<a mistake in {name}>", "exec")]
    for code in codes:
        codes += [each for each in code.co_consts if inspect.iscode(each)]
    return codes[[code.co_name for code in codes].index(own) :]


class Kept:
    """Results that functions of the package keep: when a mistake is undone, those with it are forgotten."""

    def __init__(self):
        self.misses = {each: each.cache_info().misses for each in cached(len(sys.modules))}

    def __delattr__(self, _):
        for each, misses in self.misses.items():
            if each.cache_info().misses > misses:
                each.cache_clear()


@cache
def cached(n_modules):
    """Return the functions of the package that keep results."""
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("dplearn.")]
    return {each for module in modules for each in module.values() if isinstance(each, type(cached))}


def edits(table, cases=CASES, **how):
    """Return the mistakes of a table: cases and a function, `names in module:name`, and edits of it.

    An edit is `old -> new`, in one line or two. Below it may stand a further line of the new text, `| ...`,
    and a further change, `and old -> new`. Cases are the package's where no others have the names.
    """
    rows, joined = [], {r"^ *#.*\n": "", r"\n +->": " ->", r"\n +and ": "\f", r"\n +[|] ?": "\v"}
    for pattern, mark in joined.items():
        table = re.sub(pattern, mark, table, flags=re.MULTILINE)
    for line in filter(None, table.split("\n")):
        if not line.startswith(" "):
            names, place = line.split(" in ")
            continue
        texts = [text.strip(" ") for change in line.split("\f") for text in change.split(" ->")]
        patch = edit(place, *(text.replace("\v", "\n") for text in texts))
        rows += [Mistake(patch, cases.get(name, name), **how) for name in names.split(", ")]
    return rows


def together(*patches):
    """Return several mistakes as one."""

    def patch(monkeypatch):
        for each in patches:
            each(monkeypatch)

    return named(patches[0].__name__, patch)


def instead(place, name, wrong):
    """Put `wrong` in the place of an attribute of a module or class."""
    return named(f"{name}_is_{wrong}", lambda monkeypatch: monkeypatch.setattr(at(place), name, wrong))


def around(place, name, wrap):
    """Put `wrap`, called with the right function and its arguments, in the place of a function."""

    def patch(monkeypatch):
        owner = at(place)
        right = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **how: wrap(right, *args, **how))

    return named(wrap.__name__, patch)


def noise_used_again(case):
    """Draw noise of each kind once for all numbers and calls of a case."""
    fit = (CASES[case] if isinstance(case, str) else case).fit
    return named("noise_used_again", lambda monkeypatch: lambda rows, dice: fit(rows, OnceForAll(dice)))


class OnceForAll:
    """Dice that draw noise of each kind once, between public ends, and use it for all numbers and calls."""

    def __init__(self, dice, far=3):
        self.dice, self.far, self.drawn = dice, far, {}

    def __getattr__(self, name):
        return getattr(self.dice, name)

    def discrete_laplace(self, ratio, low=None, high=None, size=None):
        if "laplace" not in self.drawn:
            self.drawn["laplace"] = np.ravel(self.dice.discrete_laplace(ratio, -self.far, self.far, 1))[0]
        noise = self.drawn["laplace"]
        return np.clip(noise if size is None else np.full(size, noise), low, high)

    def discrete_gaussian(self, sigma2, size=None):
        if "gaussian" not in self.drawn:
            self.drawn["gaussian"] = self.dice.discrete_gaussian(sigma2)
        return self.drawn["gaussian"] if size is None else np.full(size, self.drawn["gaussian"])


def candidates(case):
    """Yield neighbours as places of the universe: one record among like ones, then among others."""
    rng, size = np.random.default_rng(0), len(case.universe)
    others = map(tuple, rng.integers(size, size=(20, case.n)).tolist())
    for table in [(0,) * case.n, (size - 1,) * case.n, *others]:
        if case.claim.neighbors == "add_remove":
            yield table, table[:-1]
        else:
            for other in rng.permutation(size).tolist():
                if other != table[0]:
                    yield table, (other, *table[1:])


def witness(mistake, seconds=20):
    """Return places of the first neighbours on which a mistake is caught best, and how; or None."""
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
