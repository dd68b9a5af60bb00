"""What outside tools audit: fits of ours on two neighbouring tables, and the same with a third of the noise.

    python benchmarks/audit_targets.py [NAME ...] --out FOLDER [--samples N] [--seconds S]

Each target is a case of `dplearn.audit.cases`: a real estimator or release, a small table and a claim. Its
two tables are the pair of neighbours with the greatest exact epsilon. The program draws outcomes of the
real code, with the operating system's entropy, and writes them as numbers: a tool in another environment,
where our package need not be installed, sees nothing else. The stages that make no draw run once a table,
those that draw and publish once an outcome.

The broken variant is a mutant: the same code with dice whose noise has a third of the scale, so that each
draw costs three times what is claimed.
"""

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Mutant, label_of
from dplearn.audit.cases import CASES
from dplearn.audit.cases.ensembles import Extreme, Spread, ensemble_case
from dplearn.audit.enumeration import OutputDistribution, distribution_on, least_exp_epsilon, observe
from dplearn.audit.fits import Fit, Rows, StagedFit, TableFit, WholeFit, run_on
from dplearn.chance import SystemDice
from dplearn.chance.dice import Dice
from dplearn.kernels import log_bounds
from dplearn.learners import SoftLabelAggregateClassifier, SubsampleAggregateClassifier
from dplearn.privacy import ApproxDP

__all__ = ["FACTOR", "TARGETS", "VARIANTS", "Target", "ThirdOfTheNoise"]

FACTOR = 3
LARGEST = 10.0  # of log-ratios that tools are told
VARIANTS = ("correct", "broken")
SIDES = ("rows", "neighbour")
_LEAST = 100  # outcomes of a table, however long they take
_DELTA = Fraction(1, 20)
_LEFT_OUT = Fraction(1, 1 << 16)  # the probability that enumerations of the ensembles' open ends leave out


class ThirdOfTheNoise:
    """Dice whose noise has a third of the scale: what they are drawn for costs three times its epsilon."""

    def __init__(self, dice: Dice):
        self._dice = dice

    def below(self, n: int, size: int | None = None) -> Any:
        """Draw uniformly."""
        return self._dice.below(n, size=size)

    def bernoulli(self, p: Fraction, size: int | None = None) -> Any:
        """Draw 1 with the odds of p to the power of three."""
        p = Fraction(p)
        return self._dice.bernoulli(p**FACTOR / (p**FACTOR + (1 - p) ** FACTOR), size=size)

    def power_weighted(self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> int:
        """Draw with a ratio to the power of three."""
        return self._dice.power_weighted(ratio**FACTOR, exponents, multiplicities)

    def permute_and_flip(
        self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]
    ) -> int:
        """Draw with a ratio to the power of three."""
        return self._dice.permute_and_flip(ratio**FACTOR, exponents, multiplicities)

    def discrete_laplace(
        self, ratio: Fraction, low: Any = None, high: Any = None, size: int | None = None
    ) -> Any:
        """Draw noise of a third of the scale."""
        return self._dice.discrete_laplace(ratio**FACTOR, low, high, size=size)

    def geometric(self, ratio: Fraction, low: Any = 0, high: Any = None, size: int | None = None) -> Any:
        """Draw noise of a third of the scale."""
        return self._dice.geometric(ratio**FACTOR, low, high, size=size)

    def discrete_gaussian(self, sigma2: Fraction, size: int | None = None) -> Any:
        """Draw noise of a third of the standard deviation."""
        return self._dice.discrete_gaussian(Fraction(sigma2) / FACTOR**2, size=size)


@dataclass(frozen=True)
class _Less(TableFit):
    """A computation with dice of a third of the noise."""

    fit: Fit

    def on(self, rows: Rows) -> Callable[[Dice], Any]:
        run = run_on(self.fit, rows)
        return lambda dice: run(ThirdOfTheNoise(dice))


@dataclass(frozen=True)
class Target:
    """A fit that tools audit.

    Attributes
    ----------
    family : str
        What it stands for, in the words of the page.
    case : AuditCase
        The computation, the records, and the claim.
    pair : tuple of two tuples
        Two neighbouring tables; a test checks that none of the case's pairs has a greater exact epsilon.
    enumerated : bool
        Whether all paths of both variants are enumerated here. If not, the exact epsilon is the frozen one of
        the case, which has no other pair.
    """

    family: str
    case: AuditCase
    pair: tuple[Rows, Rows]
    enumerated: bool = True
    _found: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def fit(self) -> Fit:
        """The computation; the stages without draws run once a table."""
        fit = self.case.fit
        return StagedFit(fit) if isinstance(fit, WholeFit) else fit

    @property
    def mutant(self) -> Mutant:
        """The broken variant."""
        return Mutant("noise of a third of the scale", self.case, _Less(self.fit))

    def computation(self, variant: str) -> Fit:
        """Return the fit of a variant."""
        return self.fit if variant == "correct" else self.mutant.fit

    def distributions(self, variant: str) -> tuple[OutputDistribution, OutputDistribution] | None:
        """Return the exact distributions of a variant on both tables, or None if it is not enumerated."""
        if self.enumerated and variant not in self._found:
            fit = self.computation(variant)
            first, second = (distribution_on(fit, rows, self.case.tail_bits) for rows in self.pair)
            self._found[variant] = first, second
        return self._found.get(variant)

    def exact(self, variant: str) -> float | None:
        """Return the exact epsilon of a variant on the pair at the claim's delta; infinite if none is enough.

        None if it is not known.
        """
        found = self.distributions(variant)
        if found is None:
            return float(self.case.frozen()["epsilon"]) if variant == "correct" else None
        first, second = found
        delta = self.case.claim.delta
        both = [least_exp_epsilon(*each, delta)[0] for each in ((first, second), (second, first))]
        return max(math.inf if bound is None else float(log_bounds(bound)[1]) for bound in both)

    def ratios(self, variant: str) -> dict[str, float] | None:
        """Return the logarithm of each outcome's probability ratio, within LARGEST; None if unknown."""
        found = self.distributions(variant)
        if found is None:
            return None
        first, second = (
            {label_of(seen): Fraction(mass, each.total) for seen, mass in each.masses.items()}
            for each in found
        )
        return {
            text: max(-LARGEST, min(LARGEST, _log(first.get(text)) - _log(second.get(text))))
            for text in first | second
        }

    def sampled(self, variant: str, side: int, most: int, seconds: float) -> list[str]:
        """Return outcomes of the real code on one of the two tables, as texts.

        Parameters
        ----------
        variant : {"correct", "broken"}
            Which code runs.
        side : {0, 1}
            Which table.
        most : int
            Number of outcomes at most.
        seconds : float
            After which no further outcome is drawn.
        """
        run, dice, drawn = run_on(self.computation(variant), self.pair[side]), SystemDice(), list[str]()
        end = time.monotonic() + seconds
        while len(drawn) < most and (time.monotonic() < end or len(drawn) < _LEAST):
            drawn.append(label_of(observe(run, dice)))
        return drawn


def _log(p: Fraction | None) -> float:
    """Return the logarithm of a probability, -2 LARGEST at least."""
    return -2 * LARGEST if not p else max(-2 * LARGEST, math.log(p.numerator) - math.log(p.denominator))


def _ensemble(name: str, kind: Any, **parameters: Any) -> AuditCase:
    """Return a case of an ensemble of four teachers and one query at epsilon 1."""
    model = kind(
        n_teachers=4,
        classes=["a", "b"],
        epsilon=1,
        delta=float(_DELTA),
        random_state=0,  # the public seed, which cuts the shards
        max_queries=1,
        **parameters,
    )
    method = "predict" if kind is SubsampleAggregateClassifier else "predict_proba"
    return ensemble_case(name, model, "aba", ApproxDP(1, _DELTA + _LEFT_OUT), free=3, method=method)


_A = (("a", 1.0), ("a", 1.0))
_ZERO = ((0, "no"), (0, "no"), (0, "no"))  # the records of a table whose column and labels are constant

#: The family, the claimed case and the two tables of each target.
_CASES: dict[str, tuple[str, tuple[Rows, Rows]]] = {
    "small_classifier": ("exponential mechanism over rules", (((0, "yes"), *_ZERO[1:]), _ZERO)),
    "threshold_exponential": ("threshold", ((*_ZERO[1:], (0, "yes")), _ZERO)),
    "point_hashing": ("point function", ((("a", 1), ("a", 0), ("a", 0)), (("a", 0), ("a", 0), ("a", 0)))),
    "parity_elimination_of_two_bits": ("parity", (((0, 0, 0), (0, 0, 1)), ((0, 0, 0), (0, 0, 0)))),
    "naive_bayes": ("naive Bayes", (((0, 0),), ((0, 1),))),
    "logistic": ("logistic regression", (((0.0, 1),), ((-1e17, 0),))),
    "small_scaler": ("scaler", (((-1.0,),), ((1.0,),))),
    "additive": ("additive model", ((("a", 0),), (("a", 1),))),
    "k_means_round": ("k-means, one round", (((-1.0,),), ((1.0,),))),
    "grouped_counts": ("counts by group", ((("a", 1.0), *_A), (("b", 1.0), *_A))),
    "distribution_of_four_values": ("counts of a distribution", ((0, 0), (0, 3))),
    "stable_counts": ("key counts", (("a",) * 3 + (None,) * 3, ("a",) * 4 + (None,) * 2)),
    "lower_quartile": ("quantile", ((3, 1, 1, 1, 1), (0, 1, 1, 1, 1))),
}
_HEAVY = ("additive",)
_RECORDS = ((0, "a"), (1, "b"), (2, "a"))  # of the ensembles, whose other five records are fixed


def _of(*places: int) -> Rows:
    """Return the records of an ensemble's table."""
    return tuple(_RECORDS[place] for place in places)


#: All targets, by name.
TARGETS: dict[str, Target] = {
    **{
        name: Target(family, CASES[name], pair, name not in _HEAVY) for name, (family, pair) in _CASES.items()
    },
    "four_votes": Target(
        "sub-sample and aggregate",
        _ensemble("four_votes", SubsampleAggregateClassifier, estimator=Extreme(), aggregation="gnmax"),
        (_of(0, 0, 0), _of(0, 0, 2)),  # one teacher's vote changes
    ),
    "four_scores": Target(
        "soft labels",
        _ensemble("four_scores", SoftLabelAggregateClassifier, estimator=Spread(), aggregation="mean"),
        (_of(0, 2, 2), _of(1, 2, 2)),  # one teacher's score changes from 0 to 1
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(TARGETS), help="targets; all unless given")
    parser.add_argument("--out", type=Path, required=True, help="where outcomes are written")
    parser.add_argument("--samples", type=int, default=20_000, help="outcomes of each table at most")
    parser.add_argument("--seconds", type=float, default=60, help="for the outcomes of each table")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # fits of one record warn that records are few
    for name in options.names:
        if not (options.out / f"{name}.json").exists():  # an interrupted run goes on
            write_samples(TARGETS[name], options.out / name, options.samples, options.seconds)


def write_samples(target: Target, path: Path, most: int, seconds: float) -> None:
    """Write outcomes of both variants on both tables as numbers, with the claim and the exact epsilons.

    Of each outcome the logarithm of the exact ratio of its two probabilities is written, too, where it is
    known: no other number of an outcome tells as much about its table. Outcomes of equal ratio have the same
    number. Both are post-processing, which is chosen without a look at what was drawn.
    """
    arrays: dict[str, Any] = {}
    for variant in VARIANTS:
        drawn = [target.sampled(variant, place, most, seconds) for place in (0, 1)]
        known = target.ratios(variant)
        texts = sorted({text for outcomes in drawn for text in outcomes})
        labels: list[Any] = texts if known is None else [round(known.get(text, 0.0), 9) for text in texts]
        values = sorted(set(labels))
        code = {text: values.index(label) for text, label in zip(texts, labels, strict=True)}
        for side, outcomes in zip(SIDES, drawn, strict=True):
            arrays[f"{variant}_{side}"] = np.array([code[text] for text in outcomes])
        if known is not None:
            arrays[f"{variant}_ratios"] = np.array(values)
    np.savez_compressed(path.with_suffix(".npz"), **arrays)
    about = {
        "family": target.family,
        "epsilon": float(target.case.claim.epsilon),
        "delta": float(target.case.claim.delta),
        "tables": [repr(rows) for rows in target.pair],
        "exact": {variant: target.exact(variant) for variant in VARIANTS},
        "features": "log-ratio" if target.enumerated else "one-hot",
        "outcomes": {
            variant: 1 + int(max(arrays[f"{variant}_{side}"].max() for side in SIDES)) for variant in VARIANTS
        },
    }
    path.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n")
    numbers = {name: len(outcomes) for name, outcomes in arrays.items()}
    print(path.name, numbers, about["exact"], flush=True)


if __name__ == "__main__":
    main()
