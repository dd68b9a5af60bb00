"""The line classifier: what it learns, from what input, what it refuses, and what it shows."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn import LineClassifier
from dplearn.concepts import Line, LinePoint
from dplearn.theory import line_failure, line_sample_size, pure_line_sample_size

PRIMES = (101, 2**31 - 1, 2**61 - 1, 2**127 - 1, 2**521 - 1)
SLOPE, INTERCEPT = 7, 20


def learner(p=101, /, **parameters):
    given = {"epsilon": 2.0, "delta": 1e-6, "method": "stability", "classes": [0, 1], "random_state": 0}
    return LineClassifier(p, **given | parameters)


def on_and_off(p, n=1000, n_points=90):
    """Rows, every second of which is on the line."""
    x = [pow(3, i, p) for i in range(n_points)]
    rows = [[x[i % n_points], (SLOPE * x[i % n_points] + INTERCEPT + i % 2) % p] for i in range(n)]
    return rows, [1 - i % 2 for i in range(n)]


@pytest.mark.parametrize(
    ("method", "p"), [*(("stability", p) for p in PRIMES), *(("pure", p) for p in PRIMES[:3])]
)
def test_it_finds_the_line(method, p):
    n = 1000 if method == "stability" else pure_line_sample_size(p, epsilon=2, alpha=0.1, beta=1e-6)
    rows, y = on_and_off(p, n, n_points=60)
    fitted = learner(p, method=method).fit(rows, y)
    assert fitted.concept_.concept == Line(SLOPE, INTERCEPT, p)
    assert not fitted.abstained_
    assert fitted.method_ == method
    assert fitted.score(rows, y) == 1
    assert fitted.guarantee_.delta == (Fraction(1, 10**6) if method == "stability" else 0)


def test_one_point_is_published_as_a_point_and_nothing_as_the_first_label():
    fitted = learner().fit([[3, 4]] * 300 + [[5, 5]] * 100, [1] * 300 + [0] * 100)
    assert fitted.concept_.concept == LinePoint(3, 4)
    assert not fitted.abstained_
    assert fitted.predict([[3, 4], [4, 3]]).tolist() == [1, 0]
    silent = learner().fit([[3, 4]] * 400, [0] * 400)
    assert silent.concept_.concept == LinePoint()
    assert silent.abstained_
    assert silent.predict([[3, 4]]).tolist() == [0]


@pytest.mark.parametrize("p", [2, 3, 101, 2**127 - 1])
def test_a_proper_learner_publishes_a_line_always(p):
    for labels, point in ((1, (1, 0)), (0, None)):
        found = set()
        for seed in range(8):
            fitted = learner(p, proper=True, random_state=seed).fit([[1, 0]] * 400, [labels] * 400)
            line = fitted.concept_.concept
            assert isinstance(line, Line)
            assert fitted.abstained_ == (point is None)
            assert point is None or (line.slope + line.intercept) % p == 0
            found.add(line)
        assert len(found) > 1


def test_the_failures_at_the_worst_masses_are_as_the_bound_says():
    n, alpha, share = 400, 0.1, 0.32
    given = {"epsilon": 5, "delta": 1e-6, "alpha": alpha}
    model = learner(2**31 - 1, epsilon=5.0, random_state=None)
    rng, failures, runs = np.random.default_rng(1), 0, 80
    masses = [alpha * share, alpha * (1 - share), 1 - alpha]
    points = np.array([[1, SLOPE + INTERCEPT], [2, 2 * SLOPE + INTERCEPT], [3, 0]])
    for _ in range(runs):
        kinds = rng.choice(3, n, p=masses)
        failures += model.fit(points[kinds], (kinds < 2).astype(int)).abstained_
    bound = line_failure(n, **given)
    assert line_sample_size(**given, beta=0.1) <= n
    assert failures <= runs * bound + 5 * (runs * bound) ** 0.5


def test_new_numbers_outside_the_plane_are_moved_to_the_nearest_inside():
    rows, y = on_and_off(101)
    fitted = learner().fit(rows, y)
    inside = fitted.predict([[0, 20], [100, 13]]).tolist()
    assert fitted.predict([[-5, 20.5], [10**9, 13]]).tolist() == inside == [1, 1]
