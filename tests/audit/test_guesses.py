"""How many coins can be guessed: bounds are the exact maxima over all private releases."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from dplearn.audit import epsilon_from_guesses, exact_distribution, freeze, guesses_p_value, least_exp_epsilon
from dplearn.kernels import decay_ratio


def published_p_value(n_right, n_guesses, n_coins, epsilon, delta):
    """Return the bound of Steinke, Nasr and Jagielski (2023), Corollary 5.4."""
    law = binom(n_guesses, 1 / (1 + exp(-epsilon)))
    steps = np.arange(1, n_right + 1)
    short = np.cumsum(law.pmf(n_right - steps)) / steps  # P[n_right > B >= n_right - i] / i
    return law.sf(n_right - 1) + 2 * n_coins * delta * short.max()


def symmetric_release(coins, dice, weights):
    """Guess all coins; guesses of which w are right have probability proportional to weights[w]."""
    guesses = list(product((0, 1), repeat=len(coins)))
    chances = [weights[sum(a == b for a, b in zip(guess, coins, strict=True))] for guess in guesses]
    unit = min(chances).denominator * max(chances).denominator
    return guesses[dice.power_weighted(Fraction(1, 2), [0] * len(chances), [int(c * unit) for c in chances])]


def test_the_published_term_for_delta_is_too_small_below_the_mean():
    """Three coins, epsilon 0, delta 1/1000: no guess is right a little less often than with fair guesses."""
    weights = [Fraction(993, 8000)] + [Fraction(1001, 8000)] * 3
    delta = Fraction(1, 1000)
    laws = {
        coins: exact_distribution(lambda dice, coins=coins: symmetric_release(coins, dice, weights))
        for coins in product((0, 1), repeat=3)
    }
    for coins, law in laws.items():
        for i in range(3):
            neighbour = laws[(*coins[:i], 1 - coins[i], *coins[i + 1 :])]
            assert least_exp_epsilon(law, neighbour, delta)[0] == 1
    some_right = 1 - sum(law.probability(freeze(coins_negated(coins))) for coins, law in laws.items()) / 8
    assert some_right == Fraction(875_875, 1_000_000)
    assert published_p_value(1, 3, 3, 0, 0.001) == pytest.approx(0.87575)
    assert guesses_p_value(1, 3, epsilon=0, delta=delta) == pytest.approx(0.875875, rel=2e-6)


def coins_negated(coins):
    return tuple(1 - coin for coin in coins)


def greatest_probability(n_right, n_guesses, n_coins, epsilon, delta):
    """Return the greatest P[at least n_right of n_guesses guesses are right], without any symmetry.

    The variables are the probability of each outcome, guesses 0 and 1 of n_guesses coins and None of the
    others, for each value of the coins, and the excesses for each ordered pair of neighbours.
    """
    coins = list(product((0, 1), repeat=n_coins))
    outcomes = [
        t for t in product((0, 1, None), repeat=n_coins) if sum(each is not None for each in t) == n_guesses
    ]
    pairs = [(s, i) for s in range(len(coins)) for i in range(n_coins)]
    laws, size = len(coins) * len(outcomes), (len(coins) + len(pairs)) * len(outcomes)
    aim, rows, sums, total = np.zeros(size), [], [], []
    for s, values in enumerate(coins):
        here = slice(s * len(outcomes), (s + 1) * len(outcomes))
        right = [sum(a == b for a, b in zip(t, values, strict=True)) for t in outcomes]
        aim[here] = [-(w >= n_right) / len(coins) for w in right]
        total.append(np.zeros(size))
        total[-1][here] = 1
    for place, (s, i) in enumerate(pairs):
        values = coins[s]
        other = coins.index((*values[:i], 1 - values[i], *values[i + 1 :]))
        first = laws + place * len(outcomes)
        for t in range(len(outcomes)):
            row = np.zeros(size)
            row[[s * len(outcomes) + t, other * len(outcomes) + t, first + t]] = 1, -exp(epsilon), -1
            rows.append(row)
        sums.append(np.zeros(size))
        sums[-1][first : first + len(outcomes)] = 1
    found = linprog(
        aim,
        A_ub=np.array(rows + sums),
        b_ub=[0.0] * len(rows) + [delta] * len(sums),
        A_eq=np.array(total),
        b_eq=np.ones(len(coins)),
        bounds=(0, None),
        method="highs",
    )
    return -found.fun


@pytest.mark.parametrize(
    ("m", "r", "v"),
    [(m, r, v) for m in (1, 2, 3) for r in range(1, m + 1) for v in range(1, r + 1)]
    + [(4, 2, 2), (4, 2, 1), (4, 4, 4), (4, 4, 3), (4, 4, 1)],
)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (1, 0), (0, 0.02), (2, 1e-3)])
def test_the_bound_is_the_maximum_over_all_private_releases(m, r, v, epsilon, delta):
    bound = guesses_p_value(v, r, n_coins=m, epsilon=epsilon, delta=delta)
    assert bound == pytest.approx(greatest_probability(v, r, m, epsilon, delta), rel=3e-6)


def responses(coins, dice, truth):
    """Release each coin by randomised response."""
    return [coin if dice.bernoulli(truth) else 1 - coin for coin in coins]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_randomised_response_attains_the_bound_for_every_number_of_right_guesses(epsilon):
    ratio = decay_ratio(epsilon)
    truth = 1 / (1 + ratio)
    coins = (0, 1, 1, 0)
    law = exact_distribution(
        lambda dice: sum(a == b for a, b in zip(responses(coins, dice, truth), coins, strict=True))
    )
    for v in range(1, 5):
        chance = sum(law.probability(w) for w in range(v, 5))
        assert guesses_p_value(v, 4, epsilon=epsilon) == pytest.approx(float(chance), rel=2e-6)
        assert guesses_p_value(v, 4, epsilon=epsilon) >= chance


@pytest.mark.parametrize("n", [1, 7, 30, 200])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
def test_a_lower_bound_exceeds_the_truth_with_at_most_the_error_exactly(n, epsilon):
    """Of randomised response, whose number of right guesses is binomial; with a smaller error it is tight."""
    chances = binom.pmf(np.arange(n + 1), n, 1 / (1 + exp(-epsilon)))
    for error in (0.05, 0.01):
        bounds = np.array([epsilon_from_guesses(v, n, error=error) for v in range(n + 1)])
        assert (np.diff(bounds) >= 0).all()
        missed = chances[bounds > epsilon + 1e-12].sum()
        assert missed <= error
        if n == 200:
            assert missed > error / 3
    if (n, epsilon) == (200, 1):  # the control: with twice the error it is exceeded too often
        bounds = np.array([epsilon_from_guesses(v, n, error=0.1) for v in range(n + 1)])
        assert chances[bounds > 1].sum() > 0.05


def test_values_are_probabilities_at_any_size():
    sizes = [(0, 0, 0), (0, 5, 9), (5, 5, 5), (1, 10**6, 10**7), (10**6, 10**6, 10**7)]
    for (v, r, m), epsilon, delta in product(sizes, (0, 1, 29.9, 1e30), (0, 1e-6, 0.5)):
        with np.errstate(all="raise"):
            p = guesses_p_value(v, r, n_coins=m, epsilon=epsilon, delta=delta)
        assert 0 <= p <= 1
        assert p == 1 or v > 0
