"""Random stopping: which outcome is kept, and that the tape agrees with the formula."""

from collections import Counter
from fractions import Fraction

from dplearn.chance import enumerate_paths
from dplearn.mechanisms.selection import best_of_runs
from dplearn.privacy.random_stopping import RandomStopping


def test_the_law_of_the_best_is_the_mean_power_of_the_runs_law():
    stopping, weights = RandomStopping(4, 2), (3, 1, 2)
    distribution = Counter()
    for (rank, _), p in enumerate_paths(
        lambda dice: best_of_runs(
            lambda d: (d.power_weighted(Fraction(1, 2), (0, 0, 0), weights), None),
            stopping=stopping,
            dice=dice,
        )
    ):
        distribution[rank] += p
    numbers = stopping.weights

    def below(mass):
        x = Fraction(mass, 6)
        return sum(w * x**k for k, w in enumerate(numbers, 1)) / sum(numbers)

    assert distribution == {0: below(3), 1: below(4) - below(3), 2: 1 - below(4)}


def test_of_equal_scores_the_first_run_is_kept():
    names = iter("abcdefgh")

    class ThreeRuns:
        def power_weighted(self, ratio, exponents, multiplicities):
            return 2

    assert best_of_runs(lambda _: (7, next(names)), stopping=RandomStopping(5), dice=ThreeRuns()) == (7, "a")
