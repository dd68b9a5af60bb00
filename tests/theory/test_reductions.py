"""Reductions between interior points, counts, thresholds and distributions keep their bounds."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dplearn.chance import SeededDice
from dplearn.releases import threshold_from_interior_point
from dplearn.theory import (
    interior_point_from_counts,
    interior_point_from_threshold_learner,
    learned_distribution,
    learner_from_release,
    threshold_from_corner_learner,
)


def counting(error):
    """A release whose numbers are wrong by up to `error`, as unfavourably as it can."""

    def release(codes):
        sign = np.random.default_rng(len(codes) + sum(codes)).choice([-1, 1], 1000)
        return lambda code: sum(value <= code for value in codes) + error * float(sign[code])

    return release


@pytest.mark.parametrize("n_padded", [4, 6, 20])
def test_numbers_wrong_by_less_than_half_the_records_give_an_interior_point(n_padded):
    seen = []
    for last in (3, 4):
        codes = [1, 2, 2, last]
        interior_point_from_counts(
            codes, 5, n_padded=n_padded, release=lambda c: seen.append(Counter(c)) or c.count
        )
    assert (seen[0] - seen[1]).total() == 1  # one record replaces one of the padded codes
    assert seen[0].total() == n_padded
    for codes in product(range(5), repeat=4):
        found = interior_point_from_counts(codes, 5, n_padded=n_padded, release=counting(1.9))
        assert min(codes) <= found <= max(codes)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("place", ["low", "high"])
def test_any_interior_point_makes_a_threshold_with_fewer_than_m_errors(m, place):
    end = {"low": min, "high": max}[place]
    for n, size in ((1, 3), (3, 3), (4, 2)):
        for codes, t in product(product(range(size), repeat=n), range(-1, size)):
            labels = [int(code <= t) for code in codes]
            found = threshold_from_interior_point(
                codes, labels, size, m=m, interior_point=lambda codes, size: end(codes)
            )
            assert -1 <= found < size
            assert sum((code <= found) != label for code, label in zip(codes, labels, strict=True)) < m


def test_one_example_replaces_at_most_two_codes():
    records = list(product(range(3), (0, 1)))
    seen = {}

    def note(codes, size):
        seen["codes"] = Counter(codes)
        assert len(codes) == 4
        assert 0 <= min(codes) <= max(codes) < size
        return 0

    def given(rows):
        codes, labels = zip(*rows, strict=True)
        threshold_from_interior_point(codes, labels, 3, m=2, interior_point=note)
        return seen["codes"]

    for rows in product(records, repeat=3):
        for record in records:
            assert (given(rows) - given((record, *rows[1:]))).total() <= 2


def with_errors(examples, labels, size, allowed):
    """A threshold with as many errors as are allowed, as far out as possible."""
    codes, marks = np.array(examples), np.array(labels)
    return max(
        (t for t in range(-1, size) if ((codes <= t) != marks).sum() <= allowed),
        key=lambda t: abs(2 * t - size),
    )


@pytest.mark.parametrize("n_padded", [4, 8])
def test_a_learner_with_fewer_errors_than_half_the_records_gives_an_interior_point(n_padded):
    for codes in product(range(4), repeat=4):
        found = interior_point_from_threshold_learner(
            codes,
            4,
            n_padded=n_padded,
            learn=lambda examples, labels, size: with_errors(examples, labels, size, allowed=1),
        )
        assert min(codes) <= found <= max(codes)


def test_one_code_replaces_at_most_two_examples():
    seen = {}

    def note(examples, labels, size):
        seen["rows"] = Counter(zip(examples, labels, strict=True))
        return 0

    def given(codes):
        interior_point_from_threshold_learner(codes, 4, n_padded=6, learn=note)
        return seen["rows"]

    for codes in product(range(4), repeat=4):
        for code in range(4):
            assert (given(codes) - given((code, *codes[1:]))).total() <= 2


def of_thresholds(t, size, seed):
    """A function that samples codes labelled by a threshold."""
    rng = np.random.default_rng(seed)

    def sample(n=40):
        codes = rng.integers(0, size, n).tolist()
        return codes, [int(code <= t) for code in codes]

    return sample


def errors(threshold, values, labels):
    """The errors of a threshold on a table."""
    return int(((np.asarray(values) <= threshold) != np.asarray(labels)).sum())


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_corner_without_errors_has_a_threshold_without_errors(d):
    def learn(rows, labels):
        assert len(rows) == len(labels) == 40 * d
        assert all(sum(code > 0 for code in row) <= 1 for row in rows)
        ones = [row for row, label in zip(rows, labels, strict=True) if label]
        return [max((row[column] for row in ones), default=0) for column in range(d)]

    def made(sample, learn, seed, d=d):
        codes, labels = sample()
        how = {"n_columns": d, "sample": sample, "learn": learn, "dice": SeededDice(seed)}
        found = threshold_from_corner_learner(codes, labels, **how)
        return found, errors(found, codes, labels)

    for seed in range(20):
        assert made(of_thresholds(seed % 9, 9, seed), learn, seed)[1] == 0
    sample = of_thresholds(4, 9, 0)
    for empty in ([-1, 3], [3, -1], [-1, -1]):  # an empty corner is an empty threshold
        assert made(sample, lambda *_, empty=empty: empty, 0, d=2)[0] == -1
    # A learner that errs on one column of d fails for that one alone.
    failed = sum(made(sample, lambda *_: [8] + [4] * (d - 1), seed)[1] > 0 for seed in range(60 * d))
    assert 35 < failed < 85 if d > 1 else failed == 60


def test_one_record_replaces_one_row_of_the_corner_learner():
    seen = []

    def learn(rows, labels):
        seen.append(Counter(zip(rows, labels, strict=True)))
        return [0, 0, 0]

    how = {"n_columns": 3, "sample": lambda: ([0, 3, 7], [1, 1, 0]), "learn": learn}
    for seed in range(8):
        for code, label in ((2, 1), (9, 0)):
            threshold_from_corner_learner([1, 5, code], [1, 0, label], dice=SeededDice(seed), **how)
        assert (seen[-2] - seen[-1]).total() == 1
        assert seen[-1].total() == 9


def test_two_releases_make_a_learner_with_an_excess_of_at_most_four_errors_of_an_answer():
    rng, error, worst = np.random.default_rng(0), 1.0, 0.0

    def release(values):
        off = rng.choice([-error, error], 5)
        return lambda threshold: sum(value <= threshold for value in values) + off[threshold]

    for _ in range(2000):
        values, labels = rng.integers(0, 4, 8), rng.integers(0, 2, 8)
        found = learner_from_release(values.tolist(), labels, range(-1, 4), absent=4, release=release)
        fewest = min(errors(threshold, values, labels) for threshold in range(-1, 4))
        worst = max(worst, errors(found, values, labels) - fewest)
    assert 3 * error <= worst <= 4 * error


def of_records(generator, n_values, n=500):
    return np.bincount(generator.integers(0, n_values, n) ** 2 // n_values, minlength=n_values) / n


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("kind", ["thresholds", "random"])
def test_the_answers_are_within_alpha_and_the_truth_within_twice_that(alpha, kind):
    generator = np.random.default_rng(0)
    truth = of_records(generator, 40)
    queries = np.tri(40) if kind == "thresholds" else (generator.random((25, 40)) < 0.3).astype(float)
    answers = queries @ truth + generator.uniform(-alpha, alpha, len(queries))
    learned = learned_distribution(queries, answers)
    assert learned.weights.min() >= 0
    assert learned.weights.sum() == pytest.approx(1)
    assert learned.discrepancy <= alpha + 1e-9
    assert np.abs(queries @ (learned.weights - truth)).max() <= 2 * alpha + 1e-9
    sparse = learned_distribution(csr_matrix(queries), answers)
    assert sparse.weights == pytest.approx(learned.weights)
    others = generator.dirichlet(np.full(40, 0.5), 500) @ queries.T  # no other is nearer
    assert np.abs(others - answers).max(axis=1).min() >= learned.discrepancy
