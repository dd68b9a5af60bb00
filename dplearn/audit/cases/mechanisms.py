"""Audit cases of mechanisms, on inputs that satisfy the assumptions of their docstrings exactly.

Every case is built by a function of the mechanism, so that mutants run on the same universe. Some cases do
not attain their claims: because of the normalisation of the exponential mechanism, because the conversion of
a concentrated guarantee is not tight, and because the exact delta of the choosing mechanism and the stable
histogram is below the claimed one on small universes.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dplearn import mechanisms
from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Fit, Rows
from dplearn.audit.replay import RULES, coin_within, each_moved_by, moved_by
from dplearn.chance.dice import Dice
from dplearn.kernels.votes import plurality
from dplearn.privacy import ApproxDP, Composition, GaussianSums, ZeroConcentratedDP

__all__ = ["CASES", "MECHANISM_FITS"]

#: From the name of a case to what makes its computation from the mechanism, or from a mutant of it.
MECHANISM_FITS: dict[str, Callable[[Any], Fit]] = {}
_CASES: list[AuditCase] = []
_LEFT_OUT = Fraction(
    1, 1 << 30
)  # the delta for the probability that paths leave out of noise with an open end


def _case(
    name: str,
    mechanism: Any,
    universe: Sequence[Hashable],
    n: int,
    claim: ApproxDP,
    **options: Any,
) -> Callable[[Callable[[Any], Fit]], Callable[[Any], Fit]]:
    """Register the decorated function as what makes the computation of a case."""

    def register(make: Callable[[Any], Fit]) -> Callable[[Any], Fit]:
        MECHANISM_FITS[name] = make
        _CASES.append(AuditCase(name, make(mechanism), universe, n, claim, **{"ordered": False} | options))
        return make

    return register


def _bits(k: int) -> list[tuple[int, ...]]:
    """Return all rows of k bits: a record that counts towards any of k questions or candidates."""
    return list(product((0, 1), repeat=k))


def _sums(rows: Rows) -> Any:
    return np.array(rows, dtype=np.int64).sum(axis=0)


def _histogram(rows: Rows, n_values: int) -> Any:
    return np.bincount(rows, minlength=n_values)


def _shown(released: Any) -> tuple[str, Any]:
    return str(released), released


@_case(
    "exponential_mechanism",
    mechanisms.exponential_mechanism,
    _bits(3),
    7,
    ApproxDP(1),
    verifies=("exponential_mechanism", "select_exponential"),
    required=Required(169, 0.95),
)
@_case(
    "permute_and_flip",
    mechanisms.permute_and_flip,
    _bits(3),
    4,
    ApproxDP(1),
    verifies=("permute_and_flip", "select_permute_and_flip"),
    required=Required(61, 0.999999),
)
def over_qualities(mechanism: Any) -> Fit:
    """Every record approves of any subset of three candidates."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        return _shown(mechanism(_sums(rows), privacy=ApproxDP(1), dice=dice))

    return fit


@_case(
    "report_noisy_max",
    mechanisms.report_noisy_max,
    _bits(2),
    3,
    ApproxDP(2, _LEFT_OUT),
    tail_bits=33,
    verifies=("report_noisy_max",),
    required=Required(7, 0.999999),
)
def over_two_qualities(mechanism: Any) -> Fit:
    """Every record approves of any subset of two candidates."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        return _shown(mechanism(_sums(rows), privacy=ApproxDP(2), dice=dice))

    return fit


@_case(
    "laplace_counts",
    mechanisms.laplace_counts,
    range(3),
    3,
    ApproxDP(1),
    rules={**RULES, "discrete_laplace": moved_by(2)},
    verifies=("laplace_counts",),
    required=Required(10, 0.999999),
)
def over_a_histogram(mechanism: Any) -> Fit:
    """Count three values: a replaced record takes 1 from a cell and gives 1 to another."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        counts = _histogram(rows, 3)
        noisy = mechanism(counts, privacy=ApproxDP(1), dice=dice, sensitivity=2, low=0, high=len(rows))
        return str(noisy.tolist()), noisy

    return fit


_GAUSSIAN = ZeroConcentratedDP(Fraction(1, 2))


@_case(
    "gaussian_counts",
    mechanisms.gaussian_counts,
    range(2),
    2,
    _GAUSSIAN.to_approx(Fraction(1, 100)),
    tail_bits=30,
    verifies=("gaussian_counts",),
    required=Required(3, 0.85),
)
def over_two_cells(mechanism: Any) -> Fit:
    """Count two values, with Gaussian noise; the squares of the differences sum to 2."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        noisy = mechanism(_histogram(rows, 2), privacy=_GAUSSIAN, dice=dice, squared_sensitivity=2)
        return str(noisy.tolist()), noisy

    return fit


def _sums_claim(budget: Any, delta: Any) -> ApproxDP:
    """Return what Gaussian sums with a budget of mu^2 / 2 cost at a delta, less that of omitted tails."""
    return Composition([GaussianSums(budget)]).total(Fraction(delta) - Fraction(1, 1 << 15))


# Without the additional variance, the exact delta at epsilon 4 is nearly twice that of continuous noise.
_NARROW = Fraction(20, 23)


@_case(
    "gaussian_sums",
    mechanisms.gaussian_sums,
    range(2),
    2,
    ApproxDP(_sums_claim(1, "0.01").epsilon, "0.01"),
    tail_bits=20,
    verifies=("gaussian_sums",),
    required=Required(3, 0.93),
)
def over_two_multiplied_cells(mechanism: Any) -> Fit:
    """Count two values, in sixths of a record: the squares of the differences sum to 72."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        noisy = mechanism(6 * _histogram(rows, 2), privacy=GaussianSums(1), dice=dice, squared_sensitivity=72)
        return str(noisy.tolist()), noisy

    return fit


@_case(
    "gaussian_sums_narrow",
    mechanisms.gaussian_sums,
    range(2),
    2,
    ApproxDP(_sums_claim(_NARROW, "0.00273").epsilon, "0.00273"),
    tail_bits=30,
    verifies=("gaussian_sums",),
    required=Required(3, 0.2),
)
def over_one_cell(mechanism: Any) -> Fit:
    """Count one value, with so little noise that the additional variance is most of it."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        noisy = mechanism(
            np.array([sum(rows)]), privacy=GaussianSums(_NARROW), dice=dice, squared_sensitivity=1
        )
        return str(noisy.tolist()), noisy

    return fit


@_case(
    "gaussian_sums_by_shares",
    mechanisms.gaussian_sums,
    range(2),
    2,
    ApproxDP(_sums_claim(1, "0.01").epsilon, "0.01"),
    tail_bits=20,
    verifies=("gaussian_sums",),
    required=Required(3, 0.8),
)
def over_one_cell_twice(mechanism: Any) -> Fit:
    """Count one value twice, in quarters of a record, with a quarter of the budget and with the rest."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        counts = 4 * np.array([sum(rows)])
        noisy = [
            mechanism(counts, privacy=share, dice=dice, squared_sensitivity=16).tolist()
            for share in (GaussianSums("1/4"), GaussianSums("3/4"))
        ]
        return str(noisy), noisy

    return fit


_CHOOSING = ApproxDP(4, Fraction(1, 100))


@_case(
    "choosing_mechanism",
    mechanisms.choosing_mechanism,
    _bits(2),
    10,
    _CHOOSING,
    rules=None,
    verifies=("choosing_mechanism",),
    required=Required(121, 0.4),
)
def over_supporters(mechanism: Any) -> Fit:
    """Every record supports any subset of two solutions; solutions without support are not listed.

    No replay: the selection is among the solutions with support, and the set of these is private.
    """

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        qualities = _sums(rows)
        solutions = np.flatnonzero(qualities)
        chosen = mechanism(qualities[solutions], growth=2, privacy=_CHOOSING, dice=dice)
        return _shown(None if chosen is None else int(solutions[chosen]))

    return fit


_STABLE = ApproxDP(1, Fraction(1, 100))


@_case(
    "most_frequent_if_stable",
    mechanisms.most_frequent_if_stable,
    (-1, 0, 1, 2),
    20,
    _STABLE,
    rules={**RULES, "bernoulli": coin_within(_STABLE)},
    verifies=("most_frequent_if_stable", "release_if_stable"),
    required=Required(27, 0.999999),
)
def over_votes(mechanism: Any) -> Fit:
    """Every record votes for one of three labels or for none."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        return _shown(mechanism(np.array(rows), 3, privacy=_STABLE, dice=dice))

    return fit


@_case(
    "above_threshold",
    mechanisms.AboveThreshold,
    _bits(5),
    1,
    ApproxDP(3, _LEFT_OUT),
    tail_bits=31,
    verifies=("AboveThreshold",),
    required=Required(32, 0.999999),
)
def over_questions(mechanism: Any) -> Fit:
    """One record answers five questions; the first answer True is the last."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        vector = mechanism(0, privacy=ApproxDP(3), dice=dice)
        answers = []
        for value in _sums(rows).tolist():
            if not vector.stopped:
                answers.append(vector.ask(value))
        return _shown(answers)

    return fit


@_case(
    "sparse_vector",
    mechanisms.SparseVector,
    _bits(4),
    1,
    ApproxDP(3, _LEFT_OUT),
    tail_bits=31,
    rules={**RULES, "geometric": each_moved_by(1)},
    verifies=("SparseVector",),
    required=Required(16, 0.999999),
)
def over_questions_at_once(mechanism: Any) -> Fit:
    """One record answers four questions, asked together; the second answer True is the last."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        vector = mechanism(0, max_positives=2, privacy=ApproxDP(3), dice=dice)
        return _shown(vector.ask_all(_sums(rows)).tolist())

    return fit


def _by_epoch(mechanism: Any, privacy: ApproxDP) -> Fit:
    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        vector = mechanism(0, max_positives=2, privacy=privacy, dice=dice, renew_threshold=True)
        answers = []
        for value in _sums(rows).tolist():
            if not vector.stopped:
                answers.append(vector.ask(value))
        return _shown(answers)

    return fit


_RENEWED = ApproxDP(4)
_COMPOSED = ApproxDP(8, Fraction(1, 20))
_LEFT_OUT_OF_TWO = Fraction(1, 1 << 11)


@_case(
    "sparse_vector_renewed",
    mechanisms.SparseVector,
    _bits(4)[::5],
    1,
    ApproxDP(4, _LEFT_OUT_OF_TWO),
    tail_bits=13,
    verifies=("SparseVector",),
    required=Required(4, 0.999),
)
def over_questions_by_epoch(mechanism: Any) -> Fit:
    """Ask four questions one by one, with fresh noise on the threshold after the first answer True."""
    return _by_epoch(mechanism, _RENEWED)


@_case(
    "sparse_vector_composed",
    mechanisms.SparseVector,
    _bits(4)[::5],
    1,
    ApproxDP(8, Fraction(1, 20) + _LEFT_OUT_OF_TWO),
    tail_bits=13,
    verifies=("SparseVector",),
    required=Required(4, 0.98),
)
def over_questions_by_composed_epoch(mechanism: Any) -> Fit:
    """Ask as above, with a delta that lets each epoch cost more than half of epsilon."""
    return _by_epoch(mechanism, _COMPOSED)


_STABLE_ANSWERS = ApproxDP(3, Fraction(1, 20))


@_case(
    "stable_answers",
    mechanisms.StableAnswers,
    _bits(2),
    7,
    replace(_STABLE_ANSWERS, delta=_STABLE_ANSWERS.delta + _LEFT_OUT_OF_TWO),
    tail_bits=14,
    rules={**RULES, "geometric": each_moved_by(1)},
    verifies=("StableAnswers",),
    required=Required(64, 0.95),
)
def over_two_pluralities(mechanism: Any) -> Fit:
    """Seven voters vote yes or no on two questions, asked together; one without an answer ends it."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        yes = _sums(rows)
        winner, distance = plurality(np.stack([len(rows) - yes, yes], axis=1))
        release = mechanism(max_abstentions=1, privacy=_STABLE_ANSWERS, dice=dice, n_queries=2)
        return _shown(release.answer(winner, distance).tolist())

    return fit


_KEYS = ApproxDP(2, Fraction(1, 20))


@_case(
    "stable_histogram",
    mechanisms.stable_histogram,
    ("", "a", "b"),
    6,
    _KEYS,
    rules=None,
    verifies=("stable_histogram",),
    required=Required(28, 0.85),
)
def over_keys(mechanism: Any) -> Fit:
    """Every record has one of three keys, from an undeclared set.

    No replay: noise is drawn for the keys that are present, and the set of these is private.
    """

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        return _shown(mechanism(rows, privacy=_KEYS, dice=dice))

    return fit


@_case(
    "randomized_response",
    mechanisms.randomized_response,
    range(4),
    2,
    ApproxDP(1),
    ordered=True,
    verifies=("randomized_response",),
    required=Required(16, 0.999999),
)
def over_values(mechanism: Any) -> Fit:
    """Randomised responses of two records, each with one of four values."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        reports = mechanism(rows, 4, privacy=ApproxDP(1), dice=dice)
        return str(reports.tolist()), reports

    return fit


_BOUND = ApproxDP(3)
_TWO_VOTES = ((0, 0), (0, 1), (1, 1))


@_case(
    "sanitized_noisy_max_epsilon",
    mechanisms.sanitized_noisy_max_epsilon,
    _TWO_VOTES,
    12,
    _BOUND,
    verifies=("sanitized_noisy_max_epsilon",),
    required=Required(21, 0.7),
)
def over_teachers(mechanism: Any) -> Fit:
    """Every record is a teacher with a vote in two queries; a replaced teacher may change both votes."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        ones = _sums(rows)
        counts = np.stack([len(rows) - ones, ones], axis=1)
        bound = mechanism(
            counts,
            n_teachers=len(rows),
            sigma2=Fraction(1, 2),
            delta=Fraction(1, 100),
            privacy=_BOUND,
            dice=dice,
        )
        return _shown(bound)

    return fit


@_case(
    "consistent_parity_of_one_bit",
    mechanisms.consistent_parity,
    _bits(2),
    4,
    ApproxDP(1),
    verifies=("consistent_parity",),
    required=Required(35, 0.999999),
)
@_case(
    "consistent_parity",
    mechanisms.consistent_parity,
    _bits(3),
    3,
    ApproxDP(1),
    verifies=("consistent_parity",),
    required=Required(110, 0.999999),
)
@_case(
    "consistent_parity_of_three_bits",
    mechanisms.consistent_parity,
    _bits(4),
    2,
    ApproxDP(1),
    verifies=("consistent_parity",),
    required=Required(130, 0.999999),
)
def over_equations(mechanism: Any) -> Fit:
    """Every record is any equation: bits, of which the last is the right-hand side."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        equations = np.array(rows)
        return _shown(mechanism(equations[:, :-1], equations[:, -1], privacy=ApproxDP(1), dice=dice))

    return fit


CASES = tuple(_CASES)
