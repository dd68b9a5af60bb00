"""Audit cases of mechanisms, on inputs that satisfy the assumptions of their docstrings exactly.

A computation is a function of the mechanism, so that mutants run on the same universe. Some cases do not
attain their claims, for example because of the normalisation of the exponential mechanism, or because a delta
is spent only on larger universes.
"""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dplearn import mechanisms
from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Fit, Rows
from dplearn.audit.replay import RULES, coin_within, each_moved_by, moved_by
from dplearn.chance.dice import Dice
from dplearn.kernels import plurality
from dplearn.privacy import ApproxDP, Composition, GaussianSums, ZeroConcentratedDP

__all__ = ["CASES", "MECHANISM_FITS"]

Shown = tuple[str, Any]
_GAUSSIAN = ZeroConcentratedDP(Fraction(1, 2))
# Without the additional variance, the exact delta at epsilon 4 is nearly twice that of continuous noise.
_NARROW = Fraction(20, 23)
_CHOOSING = ApproxDP(4, Fraction(1, 100))
_STABLE = ApproxDP(1, Fraction(1, 100))
_STABLE_ANSWERS = ApproxDP(3, Fraction(1, 20))
_KEYS = ApproxDP(2, Fraction(1, 20))


def _sums(rows: Rows) -> Any:
    return np.array(rows, dtype=np.int64).sum(axis=0)


def _histogram(rows: Rows, n_values: int) -> Any:
    return np.bincount(rows, minlength=n_values)


def _shown(released: Any) -> Shown:
    return str(released), released


def _listed(noisy: Any) -> Shown:
    return str(noisy.tolist()), noisy


def _over_qualities(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Every record approves of any subset of some candidates."""
    return _shown(mechanism(_sums(rows), privacy=ApproxDP(1), dice=dice))


def _over_a_histogram(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Count three values: a replaced record takes 1 from a cell and gives 1 to another."""
    counts = _histogram(rows, 3)
    return _listed(mechanism(counts, privacy=ApproxDP(1), dice=dice, sensitivity=2, low=0, high=len(rows)))


def _over_two_cells(mechanism: Any, rows: Rows, dice: Dice, *, unit: int, privacy: Any) -> Shown:
    """Count two values, in units of a record; the squares of the differences sum to 2 unit**2."""
    counts = unit * _histogram(rows, 2)
    return _listed(mechanism(counts, privacy=privacy, dice=dice, squared_sensitivity=2 * unit**2))


def _over_one_cell(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Count one value, with so little noise that the additional variance is most of it."""
    counts = np.array([sum(rows)])
    return _listed(mechanism(counts, privacy=GaussianSums(_NARROW), dice=dice, squared_sensitivity=1))


def _over_one_cell_twice(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Count one value twice, in quarters of a record, with a quarter of the budget and with the rest."""
    counts, shares = 4 * np.array([sum(rows)]), (GaussianSums("1/4"), GaussianSums("3/4"))
    return _shown(
        [mechanism(counts, privacy=share, dice=dice, squared_sensitivity=16).tolist() for share in shares]
    )


def _over_supporters(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Every record supports any subset of two solutions; solutions without support are not listed."""
    qualities = _sums(rows)
    solutions = np.flatnonzero(qualities)
    chosen = mechanism(qualities[solutions], growth=2, privacy=_CHOOSING, dice=dice)
    return _shown(None if chosen is None else int(solutions[chosen]))


def _over_votes(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Every record votes for one of three labels or for none."""
    return _shown(mechanism(np.array(rows), 3, privacy=_STABLE, dice=dice))


def _over_questions(mechanism: Any, rows: Rows, dice: Dice, *, privacy: ApproxDP, **options: Any) -> Shown:
    """One record answers some questions, asked one by one; the last answer True ends it."""
    vector = mechanism(0, privacy=privacy, dice=dice, **options)
    answers = []
    for value in _sums(rows).tolist():
        if not vector.stopped:
            answers.append(vector.ask(value))
    return _shown(answers)


def _over_questions_at_once(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """One record answers four questions, asked together; the second answer True is the last."""
    vector = mechanism(0, max_positives=2, privacy=ApproxDP(3), dice=dice)
    return _shown(vector.ask_all(_sums(rows)).tolist())


def _over_two_pluralities(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Seven voters vote yes or no on two questions, asked together; one without an answer ends it."""
    yes = _sums(rows)
    winner, distance = plurality(np.stack([len(rows) - yes, yes], axis=1))
    release = mechanism(max_abstentions=1, privacy=_STABLE_ANSWERS, dice=dice, n_queries=2)
    return _shown(release.answer(winner, distance).tolist())


def _over_keys(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Every record has one of three keys, from an undeclared set."""
    return _shown(mechanism(rows, privacy=_KEYS, dice=dice))


def _over_values(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Randomised responses of two records, each with one of four values."""
    return _listed(mechanism(rows, 4, privacy=ApproxDP(1), dice=dice))


def _over_equations(mechanism: Any, rows: Rows, dice: Dice) -> Shown:
    """Every record is any equation: bits, of which the last is the right-hand side."""
    equations = np.array(rows)
    return _shown(mechanism(equations[:, :-1], equations[:, -1], privacy=ApproxDP(1), dice=dice))


def _sums_claim(budget: Any, delta: str) -> ApproxDP:
    """Return what Gaussian sums with a budget of mu^2 / 2 cost at a delta, less that of omitted tails."""
    total = Composition([GaussianSums(budget)]).total(Fraction(delta) - Fraction(1, 1 << 15))
    return ApproxDP(total.epsilon, delta)


def _open(epsilon: int, delta: Any = 0, *, bits: int = 30) -> ApproxDP:
    """Return a claim with a delta for what paths leave out of noise with an open end."""
    return ApproxDP(epsilon, Fraction(delta) + Fraction(1, 1 << bits))


def _bits(k: int) -> list[tuple[int, ...]]:
    """Return all rows of k bits: a record that counts towards any of k questions or candidates."""
    return list(product((0, 1), repeat=k))


_two_sums = partial(_over_two_cells, unit=6, privacy=GaussianSums(1))
_one_positive = partial(_over_questions, privacy=ApproxDP(3))
_renewed = partial(_over_questions, privacy=ApproxDP(4), max_positives=2, renew_threshold=True)
# With a delta that lets each epoch cost more than half of epsilon.
_composed = partial(_renewed, privacy=ApproxDP(8, Fraction(1, 20)))
_MOVED_BY_2 = {**RULES, "discrete_laplace": moved_by(2)}
_EACH_BY_1 = {**RULES, "geometric": each_moved_by(1)}
_EXACT = 0.999999

#: From the name of a case to what makes its computation from the mechanism, or from a mutant of it.
MECHANISM_FITS: dict[str, Callable[[Any], Fit]] = {}
#: What verifies more than its mechanism.
_INNER = {
    "exponential_mechanism": "select_exponential",
    "permute_and_flip": "select_permute_and_flip",
    "most_frequent_if_stable": "release_if_stable",
}


def _case(
    name: str,
    computation: Callable[..., Shown],
    universe: Sequence[Hashable],
    n: int,
    claim: ApproxDP,
    required: Required,
    mechanism: str = "",  # the name of the case
    **options: Any,
) -> AuditCase:
    """Return a case of a computation from a mechanism, and note how to make it from a mutant."""
    MECHANISM_FITS[name] = partial(partial, computation)
    verifies = tuple(filter(None, (mechanism or name, _INNER.get(name))))
    fit = MECHANISM_FITS[name](getattr(mechanisms, verifies[0]))
    evidence: dict[str, Any] = {"verifies": verifies, "required": required}
    return AuditCase(name, fit, universe, n, claim, **{"ordered": False} | evidence | options)


#: Two are not replayed: what is drawn depends on the solutions with support or the keys that are present, and
#: the set of these is private.
CASES = (
    _case("permute_and_flip", _over_qualities, _bits(3), 4, ApproxDP(1), Required(61, _EXACT)),
    _case("exponential_mechanism", _over_qualities, _bits(3), 7, ApproxDP(1), Required(169, 0.95)),
    _case(
        "laplace_counts", _over_a_histogram, range(3), 3, ApproxDP(1), Required(10, _EXACT), rules=_MOVED_BY_2
    ),
    _case(
        "gaussian_counts",
        partial(_over_two_cells, unit=1, privacy=_GAUSSIAN),
        range(2),
        2,
        _GAUSSIAN.to_approx(Fraction(1, 100)),
        Required(3, 0.85),
        tail_bits=30,
    ),
    _case("gaussian_sums", _two_sums, range(2), 2, _sums_claim(1, "0.01"), Required(3, 0.93), tail_bits=20),
    _case(
        "gaussian_sums_narrow",
        _over_one_cell,
        range(2),
        2,
        _sums_claim(_NARROW, "0.00273"),
        Required(3, 0.2),
        "gaussian_sums",
        tail_bits=30,
    ),
    _case(
        "gaussian_sums_by_shares",
        _over_one_cell_twice,
        range(2),
        2,
        _sums_claim(1, "0.01"),
        Required(3, 0.8),
        "gaussian_sums",
        tail_bits=20,
    ),
    _case("choosing_mechanism", _over_supporters, _bits(2), 10, _CHOOSING, Required(121, 0.4), rules=None),
    _case(
        "most_frequent_if_stable",
        _over_votes,
        (-1, 0, 1, 2),
        20,
        _STABLE,
        Required(27, _EXACT),
        rules={**RULES, "bernoulli": coin_within(_STABLE)},
    ),
    _case(
        "above_threshold",
        _one_positive,
        _bits(5),
        1,
        _open(3),
        Required(32, _EXACT),
        "AboveThreshold",
        tail_bits=31,
    ),
    _case(
        "sparse_vector",
        _over_questions_at_once,
        _bits(4),
        1,
        _open(3),
        Required(16, _EXACT),
        "SparseVector",
        tail_bits=31,
        rules=_EACH_BY_1,
    ),
    _case(
        "sparse_vector_renewed",
        _renewed,
        _bits(4)[::5],
        1,
        _open(4, bits=11),
        Required(4, 0.999),
        "SparseVector",
        tail_bits=13,
    ),
    _case(
        "sparse_vector_composed",
        _composed,
        _bits(4)[::5],
        1,
        _open(8, "1/20", bits=11),
        Required(4, 0.98),
        "SparseVector",
        tail_bits=13,
    ),
    _case(
        "stable_answers",
        _over_two_pluralities,
        _bits(2),
        7,
        _open(3, "1/20", bits=11),
        Required(64, 0.95),
        "StableAnswers",
        tail_bits=14,
        rules=_EACH_BY_1,
    ),
    _case("stable_histogram", _over_keys, ("", "a", "b"), 6, _KEYS, Required(28, 0.85), rules=None),
    _case("randomized_response", _over_values, range(4), 2, ApproxDP(1), Required(16, _EXACT), ordered=True),
    _case(
        "consistent_parity_of_three_bits",
        _over_equations,
        _bits(4),
        2,
        ApproxDP(1),
        Required(130, _EXACT),
        "consistent_parity",
    ),
    _case("consistent_parity", _over_equations, _bits(3), 3, ApproxDP(1), Required(110, _EXACT)),
    _case(
        "consistent_parity_of_one_bit",
        _over_equations,
        _bits(2),
        4,
        ApproxDP(1),
        Required(35, _EXACT),
        "consistent_parity",
    ),
)
