"""Protocols and representations of small classes, computed exactly: how few hypotheses stand for a class."""

import ctypes
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array

from dplearn._validation import check_count, check_number
from dplearn.theory.littlestone import concept_table

_MOST_PARTITIONS = 1023
_MOST_POINTS = 7
_SMALL = 1e-9
_DENOMINATOR = 10**6

Bits = NDArray[Any]


@dataclass(frozen=True)
class ProvedValue:
    """The value of a game, between rational bounds.

    Attributes
    ----------
    lower, upper : Fraction
        Bounds; often equal.
    """

    lower: Fraction
    upper: Fraction


def one_way_error(concepts: Any, n_messages: int) -> ProvedValue:
    """Return the least error of a one-way protocol with public coins.

    Alice has a concept f and sends one of `n_messages` messages; Bob has a point x and answers with a label.

    Parameters
    ----------
    concepts
        ... At most 1,023 partitions into `n_messages` parts: 11 concepts with two messages, 8 with three.
    n_messages : int
        At least 1.

    Returns
    -------
    ProvedValue
        The probability that Bob's answer is not f(x), for the worst f and x, with exact bounds.

    Notes
    -----
    A matrix game, by Yao's principle: against a distribution of (f, x), the best protocol is a partition of
    the concepts, with the more probable label for each part and x. The dual of its linear program is the
    protocol.

    **Source.** Feldman and Xiao (2014), Section 3; Yao (1977).

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.theory import one_way_error
    >>> points = np.eye(4, dtype=int)  # four concepts on four points
    >>> one_way_error(points, 2).upper  # two messages err with at most this probability
    Fraction(3, 13)
    """
    table = concept_table(concepts)
    n, points = table.shape
    parts, member = _parts(n, min(check_count("n_messages", n_messages, low=1), n))
    inputs, sets = n * points, len(member) * points
    # Variables: the probabilities of (f, x); the lesser weight of a label, for each set and x; the value.
    blocks = []
    for label in (0, 1):
        at, f, x = np.nonzero(member[:, :, None] & (table == label)[None])
        rows = label * sets + at * points + x
        blocks += [
            (rows, f * points + x, -1.0),
            (label * sets + np.arange(sets), inputs + np.arange(sets), 1.0),
        ]
    which, part = np.nonzero(parts)
    each = np.arange(points)
    at = inputs + part[:, None] * points + each
    blocks += [(np.repeat(2 * sets + which, points), at.ravel(), -1.0)]
    blocks += [(2 * sets + np.arange(len(parts)), np.full(len(parts), inputs + sets), 1.0)]
    shape = (2 * sets + len(parts), inputs + sets + 1)
    solved = _solved(
        linprog(
            -np.eye(1, shape[1], shape[1] - 1)[0],
            A_ub=_sparse(blocks, shape),
            b_ub=np.zeros(shape[0]),
            A_eq=_sparse([(np.zeros(inputs, dtype=int), np.arange(inputs), 1.0)], (1, shape[1])),
            b_eq=[1],
            method="highs-ipm",
        )
    )
    chances = _rational(solved.x[:inputs])
    duals = -solved.ineqlin.marginals
    zero, one = duals[: 2 * sets].reshape(2, len(member), points)
    mixture = _rational(duals[2 * sets :])
    return ProvedValue(
        _least_error(table, parts, member, chances), _protocol_error(table, parts, member, mixture, zero, one)
    )


def deterministic_representation(concepts: Any, alpha: Any) -> NDArray[np.uint8]:
    """Return a smallest set of hypotheses with one of error at most alpha for each concept and distribution.

    Parameters
    ----------
    concepts
        ... At most seven points.

    Returns
    -------
    ndarray of uint8 of shape (n_hypotheses, n_points)
        The labels of each hypothesis, sorted. That they represent the class is verified in rational numbers;
        that fewer do not is the result of HiGHS's search.

    Notes
    -----
    By the minimax theorem, hypotheses have one of error at most alpha on each distribution if some
    distribution over them errs with probability at most alpha at each point: a mixed integer program.

    **Source.** Beimel, Kasiviswanathan and Nissim (2010), Definition 4 of Feldman and Xiao (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.theory import deterministic_representation
    >>> len(deterministic_representation(np.eye(4, dtype=int), 0.25))
    4
    """
    table, share = concept_table(concepts), check_number("alpha", alpha, above=0, below=1)
    hypotheses = _hypotheses(table)
    n, m, points = len(table), len(hypotheses), table.shape[1]
    blocks, row = [], 0
    for f in range(n):
        own = m + f * m + np.arange(m)
        wrong = hypotheses != table[f]
        blocks.append((np.full(m, row), own, 1.0))
        at, x = np.nonzero(wrong)
        blocks.append((row + 1 + x, own[at], 1.0))
        blocks += [
            (row + 1 + points + np.arange(m), own, 1.0),
            (row + 1 + points + np.arange(m), np.arange(m), -1.0),
        ]
        row += 1 + points + m
    low = np.tile(np.concatenate(([1], np.zeros(points), np.full(m, -1))), n)
    high = np.tile(np.concatenate(([1], np.full(points, float(share)), np.zeros(m))), n)
    taken = np.repeat([1, 0], [m, n * m])
    solved = _solved(
        _quiet_milp(
            taken,
            constraints=LinearConstraint(_sparse(blocks, (row, m + n * m)).tocsr(), low, high),
            integrality=taken,
            bounds=Bounds(0, 1),
        )
    )
    found: NDArray[np.uint8] = hypotheses[solved.x[:m] > 0.5]
    weak = [f for f in range(n) if _mixture_error(found, table[f]) > share]
    if weak:
        raise RuntimeError(f"alpha is too close to a value of the game of concept {weak[0]} to be verified")
    return found


def representation_value(concepts: Any, alpha: Any) -> ProvedValue:
    """Return how probable an accurate hypothesis can be if it is drawn without data.

    Parameters
    ----------
    concepts
        ... At most seven points, and six take seconds.

    Returns
    -------
    ProvedValue
        The greatest v such that some distribution of hypotheses has, for each concept and each distribution
        of points, one of error at most alpha with probability at least v. The upper bound is exact; the lower
        one rests on HiGHS's search, whose tolerance of a millionth is subtracted.

    Notes
    -----
    A pure private learner with n records has n >= ln((1 - beta) / v) / epsilon: on n records of a
    distribution an accurate hypothesis is at most exp(epsilon n) times as probable as on any one data set.
    And ceil(ln(1/miss) / v) hypotheses, drawn from the best distribution, include an accurate one with
    probability at least 1 - miss.

    The linear program has a row for each concept and distribution of points; rows are added by a mixed
    integer program. There, inaccurate is an error of at least alpha + t, which loses nothing if t is at most
    half of 1 / (q M), where q is alpha's denominator and M bounds the determinants of tables of 0 and 1 with
    one more row and column than there are points: of these the greatest least error above alpha is a
    quotient.

    **Source.** Beimel, Nissim and Stemmer (2013); Feldman and Xiao (2014), Definition 5, for sets.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.theory import representation_value
    >>> representation_value(np.eye(4, dtype=int), 0.25).upper
    Fraction(1, 4)
    """
    table, share = concept_table(concepts), check_number("alpha", alpha, above=0, below=1)
    hypotheses = _hypotheses(table)
    side = table.shape[1] + 1
    determinant = math.ceil((side + 1) ** ((side + 1) / 2) / 2**side)  # Hadamard's bound
    bar = float(share + Fraction(1, 2 * share.denominator * determinant))
    wrong = [(hypotheses != concept).astype(np.int64) for concept in table]
    law, value, rows = np.full(len(hypotheses), 1 / len(hypotheses)), 1.0, dict[bytes, NDArray[np.bool_]]()
    weights: NDArray[np.float64] = np.ones(0)
    while True:
        found = [_worst(errors, law, bar) for errors in wrong]
        new = {}
        for errors, (least, points) in zip(wrong, found, strict=True):
            good = _accurate(errors, points, share)
            if least < value - _SMALL and good.tobytes() not in rows:
                new[good.tobytes()] = good
        if not new:
            break
        rows |= new
        law, value, weights = _best_law(np.array(list(rows.values())))
    cuts = np.array(list(rows.values()))
    chances = _rational(weights)
    upper = max(
        sum((c for c, good in zip(chances, column, strict=True) if good), Fraction(0)) for column in cuts.T
    )
    least_of_all = math.floor(min(least for least, _ in found) * _DENOMINATOR) - 1
    return ProvedValue(min(upper, Fraction(least_of_all, _DENOMINATOR)), upper)


def _parts(n: int, messages: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the partitions of n concepts, as which sets they have, and the sets, as which concepts."""
    sets: dict[tuple[int, ...], int] = {}
    rows = []
    for letters in _grown(n, messages):
        parts = [tuple(i for i in range(n) if letters[i] == a) for a in range(messages)]
        rows.append([sets.setdefault(part, len(sets)) for part in parts])
        if len(rows) > _MOST_PARTITIONS:
            raise ValueError(
                f"n_messages and concepts must be so few that there are at most {_MOST_PARTITIONS} partitions"
                f" of the concepts into parts, got {n} concepts and {messages} messages"
            )
    chosen = np.zeros((len(rows), len(sets)), dtype=bool)
    np.put_along_axis(chosen, np.array(rows), True, axis=1)
    member = np.array([[i in part for i in range(n)] for part in sets])
    return chosen, member


def _grown(n: int, messages: int) -> Iterator[tuple[int, ...]]:
    """Yield the partitions into exactly `messages` parts, as the number of each concept's part."""
    ahead: list[tuple[int, ...]] = [(0,)]
    while ahead:
        letters = ahead.pop()
        used = max(letters) + 1
        if len(letters) == n:
            yield letters
        else:
            possible = range(min(used + 1, messages))
            left = n - len(letters) - 1
            ahead += [(*letters, a) for a in possible if max(used, a + 1) + left >= messages]


def _least_error(table: Bits, parts: Bits, member: Bits, chances: list[Fraction]) -> Fraction:
    """Return the least error of a protocol against rational probabilities of (f, x)."""
    total = math.lcm(*(chance.denominator for chance in chances))
    given = np.array([int(chance * total) for chance in chances], dtype=object).reshape(table.shape)
    ones, zeros = member.astype(object) @ (given * table), member.astype(object) @ (given * (1 - table))
    lesser = np.minimum(ones, zeros).sum(axis=1)
    return Fraction(min(parts.astype(object) @ lesser), total)


def _protocol_error(
    table: Bits, parts: Bits, member: Bits, mixture: list[Fraction], zero: Bits, one: Bits
) -> Fraction:
    """Return the greatest error of a rational mixture of partitions."""
    # Bob errs at a label, for a set of concepts and x, with the share of the weight that the dual has there.
    weight = [Fraction(0)] * len(member)
    for chance, part in zip(mixture, parts, strict=True):
        for at in np.flatnonzero(part).tolist() if chance else []:
            weight[at] += chance
    errors = np.full(table.shape, Fraction(0))
    for at in [i for i, chance in enumerate(weight) if chance]:
        for x, (a, b) in enumerate(zip(zero[at], one[at], strict=True)):
            at_one = (
                Fraction(max(0.0, b / (a + b))).limit_denominator(_DENOMINATOR) if b > _SMALL else Fraction(0)
            )
            for f in np.flatnonzero(member[at]):
                errors[f, x] += weight[at] * (at_one if table[f, x] else 1 - at_one)
    return errors.max()


def _hypotheses(table: Bits) -> NDArray[np.uint8]:
    if table.shape[1] > _MOST_POINTS:
        raise ValueError(f"concepts must have at most {_MOST_POINTS} points, got {table.shape[1]}")
    return np.array(list(product((0, 1), repeat=table.shape[1])), dtype=np.uint8)


def _mixture_error(hypotheses: Bits, concept: Bits) -> Fraction:
    """Return the error at the worst point of the best rational distribution over hypotheses found."""
    wrong = (hypotheses != concept).T.astype(float)
    solved = _solved(
        linprog(
            np.append(np.zeros(len(hypotheses)), 1),
            A_ub=np.column_stack((wrong, -np.ones(len(wrong)))),
            b_ub=np.zeros(len(wrong)),
            A_eq=np.append(np.ones(len(hypotheses)), 0)[None],
            b_eq=[1],
        )
    )
    chances = np.array(_rational(solved.x[:-1]), dtype=object)
    return max((hypotheses != concept).T.astype(object) @ chances)


def _worst(
    wrong: NDArray[np.int64], law: NDArray[np.float64], bar: float
) -> tuple[float, NDArray[np.float64]]:
    """Return the least probability of an accurate hypothesis, and the distribution of points with it."""
    drawn = np.flatnonzero(law > _SMALL)
    points = wrong.shape[1]
    solved = _solved(
        _quiet_milp(
            np.append(np.zeros(points), law[drawn]),
            constraints=[
                LinearConstraint(np.column_stack((wrong[drawn], bar * np.eye(len(drawn)))), bar, np.inf),
                LinearConstraint(np.append(np.ones(points), np.zeros(len(drawn)))[None], 1, 1),
            ],
            integrality=np.repeat([0, 1], [points, len(drawn)]),
            bounds=Bounds(0, 1),
        )
    )
    return float(solved.mip_dual_bound), solved.x[:points]


def _accurate(wrong: NDArray[np.int64], points: NDArray[np.float64], share: Fraction) -> NDArray[np.bool_]:
    """Return which hypotheses have an error of at most `share` on rational probabilities, exactly."""
    chances = np.array(_rational(points), dtype=object)
    return np.array(wrong.astype(object) @ chances <= share, dtype=bool)


def _best_law(cuts: NDArray[np.bool_]) -> tuple[NDArray[np.float64], float, NDArray[np.float64]]:
    """Return the distribution with the greatest least probability of a row, that, and the weights."""
    solved = _solved(
        linprog(
            -np.eye(1, cuts.shape[1] + 1, cuts.shape[1])[0],
            A_ub=np.column_stack((-cuts.astype(float), np.ones(len(cuts)))),
            b_ub=np.zeros(len(cuts)),
            A_eq=np.append(np.ones(cuts.shape[1]), 0)[None],
            b_eq=[1],
            method="highs-ds",
        )
    )
    return np.maximum(solved.x[:-1], 0), -float(solved.fun), -solved.ineqlin.marginals


def _quiet_milp(*given: Any, **options: Any) -> Any:
    """Return the result of `milp`, and discard what its solver, HiGHS, prints whatever its options are."""
    # HiGHS 1.12 prints a line, by C code and so into a buffer, where it repairs a solution: its issue 2783.
    flush = ctypes.CDLL(None).fflush
    flush(None)
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 1)
        return milp(*given, **options)
    finally:
        flush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


def _rational(weights: NDArray[np.float64]) -> list[Fraction]:
    """Return probabilities near the weights, which sum to 1 exactly."""
    found = [Fraction(max(0.0, float(w))).limit_denominator(_DENOMINATOR) for w in weights]
    total = sum(found)
    return [each / total for each in found]


def _sparse(blocks: list[tuple[Any, Any, float]], shape: tuple[int, int]) -> Any:
    rows, columns = (np.concatenate([block[i] for block in blocks]) for i in (0, 1))
    values = np.concatenate([np.full(len(block[0]), block[2]) for block in blocks])
    return coo_array((values, (rows, columns)), shape=shape)


def _solved(result: Any) -> Any:
    if result.status != 0:
        raise RuntimeError(f"HiGHS found no optimum: {result.message}")
    return result
