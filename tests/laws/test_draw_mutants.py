"""Generic mistakes in draws: in every mechanism, and in one case or more of each learner that asks no oracle.

What the dice are asked or answer is changed, whatever asks them: noise that is too small, used for all,
bounded or left out; selections that look at something else than the costs and the numbers of candidates.
"""

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from dplearn.audit.cases import CASES, MECHANISM_FITS
from dplearn.chance import EnumeratingDice
from dplearn.privacy import ApproxDP
from tests.laws.mutants import LAW, Mistake, around, assert_caught, mistakes, named, witnesses

NOISE, SELECTIONS = ("discrete_laplace", "geometric"), ("power_weighted", "permute_and_flip")
SHORT = Fraction(1, 1 << 8)  # a delta that pays for what short tapes leave out


def vectors(questions, epsilon, tail_bits):
    universe = list(product((0, 1), repeat=questions))
    return {"universe": universe, "claim": ApproxDP(epsilon, SHORT), "tail_bits": tail_bits}


#: Mechanisms whose cases are larger than mistakes need them.
SMALLER = {
    "exponential_mechanism": {"n": 3},
    "permute_and_flip": {"n": 2},
    "laplace_counts": {"n": 2},
    "most_frequent_if_stable": {"n": 12},
    "above_threshold": vectors(4, 3, 14),
    "sparse_vector": vectors(3, 3, 14),
    "sparse_vector_renewed": vectors(3, 4, 15),
}
MECHANISMS = {name: replace(CASES[name], **SMALLER.get(name, {})) for name in MECHANISM_FITS}
LEARNERS = re.findall(
    r"\w+",
    """
    small_classifier classifier_with_probability corners corners_permute_and_flip line_pure line_stability
    threshold_exponential threshold_interior_point point_hashing point_prefixes point_sets point_of_two_labels
    point_stability stable_counts interior_point_exponential interior_point_lengths interior_point_recursive
    parity_stable secret_sample_classifier
    """,
)


#: Cases of which even two neighbours take long.
LONG = ("gaussian_sums", "gaussian_sums_by_shares", "sparse_vector_renewed", "sparse_vector_composed")


def in_draws(title, wrap, *names, **others):
    """Wrap some primitives in `wrap(right, dice, *arguments)`, and others in functions of their own."""
    wraps = dict.fromkeys(names, wrap) | others

    def patch(monkeypatch):
        for name, each in wraps.items():
            around(EnumeratingDice, name, each)(monkeypatch)

    return named(title, patch)


def moved(drawn, low, high, size):
    """Clamp one number, or each of some."""
    drawn = int(np.max(drawn)) if size is None else drawn
    found = np.clip(drawn, low, high)
    return int(found) if size is None else found


def least(primitive):
    """The least noise between public ends: geometric noise is not negative."""
    return -1 if primitive == "discrete_laplace" else 0


def for_more(times):
    """Noise for `times` the epsilon: for half of the sensitivity, or 5 % too small."""

    def steeper(right, dice, ratio, *known, **how):
        return right(dice, Fraction(float(ratio) ** times), *known, **how)

    def narrower(right, dice, sigma2, *known, **how):
        return right(dice, sigma2 / Fraction(times) ** 2, *known, **how)

    return in_draws(f"for_{times}_epsilon", steeper, *NOISE, *SELECTIONS, discrete_gaussian=narrower)


def once(right, dice, ratio, low=None, high=None, size=None):
    """One draw between public ends for all numbers of a kind."""
    held, key = vars(dice).setdefault("held", {}), (right.__name__, ratio)
    if key not in held:
        held[key] = right(dice, ratio, least(right.__name__), 1)
    return moved(np.full(size or 1, held[key]), low, high, size)


def first_of_all(right, dice, parameter, size=None):
    drawn = right(dice, parameter)
    return drawn if size is None else np.full(size, drawn)


def bounded(right, dice, ratio, low=None, high=None, size=None):
    """The noise is moved to public ends, and not its sum with what the data say."""
    return moved(right(dice, ratio, least(right.__name__), 1, size), low, high, size)


def bounded_gaussian(right, dice, sigma2, size=None):
    return np.clip(right(dice, sigma2, size), -1, 1)


def none(right, dice, ratio, low=None, high=None, size=None):
    return moved(np.zeros(size or 1, dtype=np.int64), low, high, size)


def no_gaussian(right, dice, sigma2, size=None):
    return 0 if size is None else np.zeros(size, dtype=np.int64)


def likelier(right, dice, p, size=None):
    return int(2 * p >= 1) if size is None else np.full(size, int(2 * p >= 1))


def best(right, dice, ratio, costs, sizes):
    return min((cost, group) for group, cost in enumerate(costs) if sizes[group])[1]


def none_when_far(right, dice, ratio, low=None, high=None, size=None):
    """What is improbable does not happen: no draw where both ends are far on one side."""
    if size is not None:
        ends = [[end] * size if np.ndim(end) == 0 else end.tolist() for end in (low, high)]
        return np.array([none_when_far(right, dice, ratio, *both) for both in zip(*ends, strict=True)])
    if high is not None and high < -1:
        return high
    return low if low is not None and low > 1 else right(dice, ratio, low, high)


def none_when_improbable(right, dice, p, size=None):
    return int(2 * p >= 1) if min(p, 1 - p) < Fraction(1, 8) else right(dice, p, size)


def none_where_one_leads(right, dice, ratio, costs, sizes):
    """The number of draws depends on the data."""
    ahead = sorted(cost for group, cost in enumerate(costs) if sizes[group])[:2]
    if len(ahead) == 2 and ahead[1] - ahead[0] >= 2:
        return best(right, dice, ratio, costs, sizes)
    return right(dice, ratio, costs, sizes)


def two_sided(right, dice, ratio, low=0, high=None, size=None):
    """Two-sided noise, its negative half moved to 0: from 0 to 1 it falls by more than the ratio."""
    ends = [end if end is None else np.maximum(end, 0) for end in (low, high)]
    return moved(dice.discrete_laplace(ratio, *ends, size), None, high, size)


def one_coin(right, dice, ratio, costs, sizes):
    """Permute-and-flip that gives up after one candidate and takes the best."""
    costs, sizes = [*map(int, costs)], [*map(int, sizes)]
    place = dice.below(sum(sizes))
    group = next(group for group, end in enumerate(np.cumsum(sizes)) if place < end)
    leader = best(right, dice, ratio, costs, sizes)
    return group if dice.bernoulli(ratio ** (costs[group] - costs[leader])) else leader


def with_costs(title, of):
    def select(right, dice, ratio, costs, sizes):
        return right(dice, ratio, *of([int(cost) for cost in costs], sizes))

    return in_draws(title, select, *SELECTIONS)


def group_is_kept(right, dice, *known):
    dice.group = right(dice, *known)
    return dice.group


def member_by_the_group(right, dice, n, size=None):
    group = vars(dice).pop("group", None)
    return right(dice, n, size) if group is None else group % n


def one_for_all(monkeypatch):
    in_draws("", once, *NOISE)(monkeypatch)
    in_draws("", first_of_all, "discrete_gaussian", "bernoulli", "below")(monkeypatch)


def no_noise(monkeypatch):
    in_draws("", none, *NOISE, discrete_gaussian=no_gaussian, bernoulli=likelier)(monkeypatch)
    in_draws("", best, *SELECTIONS)(monkeypatch)


def no_noise_when_far(monkeypatch):
    in_draws("", none_when_far, *NOISE, bernoulli=none_when_improbable)(monkeypatch)
    in_draws("", none_where_one_leads, *SELECTIONS)(monkeypatch)


GENERIC = [
    for_more(2),
    for_more(1.05),
    one_for_all,
    no_noise,
    no_noise_when_far,
    in_draws("bounded", bounded, *NOISE, discrete_gaussian=bounded_gaussian),
    in_draws("two_sided", two_sided, "geometric"),
    in_draws("one_coin", one_coin, *SELECTIONS),
    with_costs("sizes_ignored", lambda costs, sizes: (costs, [min(1, size) for size in sizes])),
    with_costs("ranks", lambda costs, sizes: ([sorted(set(costs)).index(cost) for cost in costs], sizes)),
    with_costs("worst_for_best", lambda costs, sizes: ([max(costs) - cost for cost in costs], sizes)),
    in_draws("member_by_the_group", group_is_kept, *SELECTIONS, below=member_by_the_group),
]


def shown(cases):
    """Each generic mistake in each case, but where the search for neighbours found none on which it shows."""
    rows = [Mistake(patch, case) for case in cases for patch in GENERIC]
    known = [row for row in rows if witnesses().get(str(row), ()) is not None]
    slow = {"one_coin-interior_point_exponential"}
    return [replace(row, late=row.way == LAW or row.of.name in LONG or str(row) in slow) for row in known]


@mistakes(shown([*MECHANISMS.values(), *map(CASES.get, LEARNERS)]))
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


def test_each_case_shows_some_and_each_shows_in_some_case():
    seen = {(name.split("-")[1], name.split("-")[0]) for name, each in witnesses().items() if each}
    assert {*MECHANISMS, *LEARNERS} <= {case for case, _ in seen}
    assert {patch.__name__ for patch in GENERIC} <= {title for _, title in seen}
