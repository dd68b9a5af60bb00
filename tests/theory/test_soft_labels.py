"""Soft labels: the published formulas; ours, proved; both in play with teachers on shards of their own."""

from math import ceil, log, sqrt

import numpy as np
import pytest

from dplearn.kernels import plurality
from dplearn.privacy import ApproxDP
from dplearn.theory import (
    agreement_bound,
    decaying_steps,
    logistic_constants,
    logistic_score_stability,
    logistic_sgd,
    published_soft_label_precision,
    published_soft_label_setting,
    published_strong_quality_teachers,
    score_radius,
    sgd_stability,
    soft_label_precision,
    soft_label_teachers,
    soft_label_teachers_agreeing,
    stable_answers_noise,
    teachers_needed,
)

ONE = ApproxDP(1, 1e-6)


def test_the_published_teachers_of_one_query_are_those_of_lemma_5_13():
    found = published_strong_quality_teachers(ONE, 10, n_queries=1000, beta=0.05)
    setting = published_soft_label_setting(ONE, 10, n_queries=1000)
    assert found == ceil(3 * (sqrt(5) * setting.scale * log(40) + setting.threshold))
    large = ApproxDP(1000, 0.1)
    assert published_strong_quality_teachers(large, 1, n_queries=1, beta=0.05) == ceil(72 * log(40))


def test_a_fourth_of_the_published_radius_is_enough():
    published, ours = (f(1e-4, 800) for f in (published_soft_label_precision, soft_label_precision))
    assert (ours.radius, ours.width, ours.accuracy) == pytest.approx((0.004, 0.016, 0.012))
    assert ours.radius == score_radius(1e-4, 800) == pytest.approx(published.radius / 4)
    assert (ours.n_bins, soft_label_precision(0.1, 800).n_bins) == (62, 1)
    weak = soft_label_precision(1e-4, 800, quality=0.1)
    assert (weak.width, weak.accuracy) == pytest.approx((0.104, 0.056))


@pytest.mark.parametrize(("epsilon", "most"), [(1, 1), (1, 5), (100, 2)])
@pytest.mark.parametrize("probability", ["0.75", "0.95"])
def test_it_is_the_least_number_of_teachers_that_the_bounds_allow(epsilon, most, probability):
    privacy, m = ApproxDP(epsilon, 1e-6), 50
    found = soft_label_teachers(privacy, most, n_queries=m, beta=0.1, probability=probability)
    noise = stable_answers_noise(privacy, 2 * most, n_queries=m, beta=0.05)

    def enough(k):
        share = agreement_bound(k, n_queries=m, beta=0.05, probability=probability)
        worst = [ceil(share * k), k - ceil(share * k)]  # for two bins, of which the second wins ties
        leads = plurality(worst[::-1])[1] >= noise.least_distance(m, 0.05)
        return 3 * share > 2 and worst[0] > worst[1] and leads

    assert enough(found)
    assert not any(enough(k) for k in range(max(1, found - 150), found))
    asked = {"n_queries": m, "beta": 0.1, "agreement": "0.9"}
    agreeing = soft_label_teachers_agreeing(privacy, most, **asked)
    assert agreeing == teachers_needed(privacy, 2 * most, **asked)  # two unstable tests a query


# Teachers: logistic regressions, each of one pass over a shard of its own


N, ALPHA = 800, 1.0
CONSTANTS = logistic_constants(1, ALPHA)
STEPS = decaying_steps(CONSTANTS, N)
STABILITY = logistic_score_stability(sgd_stability(CONSTANTS, STEPS, N, order="in_turn"), 1)
QUERIES = np.array([[1.0, 0, 0], [-1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0, 1], [-0.7, 0, 0.7]])


def teachers(k, seed):
    """Scores of k teachers for all queries."""
    rng, scores = np.random.default_rng(seed), []
    for _ in range(0, k, 500):
        X = rng.normal(size=(500, N, 3))
        X /= np.linalg.norm(X, axis=2, keepdims=True)
        y = rng.random((500, N)) < 1 / (1 + np.exp(-6 * X[..., 0]))
        weights = logistic_sgd(X, y, np.arange(N), STEPS, alpha=ALPHA)
        scores.append(1 / (1 + np.exp(-weights @ QUERIES.T)))
    return np.concatenate(scores)[:k]


@pytest.fixture(scope="module")
def means():
    found = teachers(10_000, seed=99).mean(axis=0)
    assert found[3:5] == pytest.approx(0.5, abs=1e-3)
    found[3:5] = 0.5  # exactly, by symmetry
    return found


@pytest.mark.nightly
@pytest.mark.parametrize(
    "probability",
    [pytest.param(0.5, marks=pytest.mark.nightly), 0.75, pytest.param(0.95, marks=pytest.mark.nightly)],
)
def test_the_stated_share_of_teachers_is_near_the_mean(means, probability):
    scores = teachers(2000, seed=1)
    radius = soft_label_precision(
        STABILITY.root_mean_square, N, probability=probability, any_order=STABILITY.any_order
    ).radius
    assert (np.mean(abs(scores - means) <= radius, axis=0) >= probability).all()
    # The variance is below Efron and Stein's bound, and not beyond all proportion.
    bound = N * STABILITY.root_mean_square**2 / 2
    assert (scores.var(axis=0) < bound).all()
    assert scores.var(axis=0).max() > bound / 100


def histograms(scores, n_bins):
    """Counts of each query's scores in bins, and in bins shifted by half of one; last, those in neither."""
    places = np.minimum((scores * n_bins).astype(int), n_bins - 1)
    shifted = np.floor(scores * n_bins - 0.5).astype(int)
    shifted = np.where((shifted < 0) | (shifted >= n_bins - 1), n_bins - 1, shifted)
    return [np.array([np.bincount(q, minlength=n_bins) for q in each.T]) for each in (places, shifted)]


def algorithm_6(scores, width, setting, most, rng):
    """Answers of the published algorithm without half bins at the ends; nan for abstentions."""
    answers, count = np.full(scores.shape[1], np.nan), 0
    n_bins = round(1 / width)
    plain, shifted = histograms(scores, n_bins)
    tables = plain, shifted[:, :-1]
    threshold = setting.threshold + rng.laplace(scale=setting.scale)
    for query in range(scores.shape[1]):
        if count > most:
            break
        for counts, offset in zip(tables, (0.5, 1.0), strict=True):
            second, first = np.sort(np.append(counts[query], 0))[-2:]
            if max(0, first - second - 1) + rng.laplace(scale=2 * setting.scale) > threshold:
                answers[query] = (counts[query].argmax() + offset) / n_bins
                break
            threshold, count = setting.threshold + rng.laplace(scale=setting.scale), count + 1
    return answers


# The claims of docs/errata.md about Section 5


def test_an_answer_may_be_further_than_half_a_bin_from_the_mean_prediction():
    # One example in ten lowers the score by d. The score is that of the first example: a^2 = 2 Var / n'.
    width, n = 0.25, 100
    d = width / 9.6
    spread = d * sqrt(0.1 * 0.9)
    precision = published_soft_label_precision(sqrt(2 / n) * spread, n)
    assert precision.width == pytest.approx(width)
    setting = published_soft_label_setting(ONE, 1, n_queries=1)
    rng, mean, runs = np.random.default_rng(0), width - d / 10, 50
    errors = []
    for _ in range(runs):
        scores = np.where(rng.random((setting.n_teachers, 1)) < 0.1, width - d, width)
        errors.append(abs(algorithm_6(scores, width, setting, 1, rng)[0] - mean))
    assert errors == pytest.approx([precision.accuracy * (1 + 1 / 48)] * runs)
    assert max(errors) < soft_label_precision(sqrt(2 / n) * spread, n).radius + width / 2


def test_queries_with_two_unstable_histograms_exceed_the_budget_of_theorem_5_6():
    # T = 1 of three queries has evenly spread scores, the others have equal ones. It costs two abstentions.
    setting, rng = published_soft_label_setting(ONE, 1, n_queries=3), np.random.default_rng(1)
    k = setting.n_teachers
    scores = np.column_stack([(np.arange(k) + 0.5) / k, np.full(k, 0.3), np.full(k, 0.3)])
    answers = np.array([algorithm_6(scores, 0.25, setting, 1, rng) for _ in range(50)])
    leads = [np.sort(counts)[:, -1] - np.sort(counts)[:, -2] for counts in histograms(scores, 4)]
    assert (leads[0][1:] > setting.distance).all()  # all but T are d-stable
    assert np.isnan(answers).all()


def test_with_the_published_bound_on_the_mean_theorem_5_14_fails():
    # SGD on (w - z)^2/2 with steps of 1 answers with its last example; the score is (1 + w)/2.
    n = 10**6
    guaranteed = published_soft_label_precision(2 / n, n)  # half of 2 L/(mu n') = 4/n'
    assert guaranteed.width < 0.05
    true = published_soft_label_precision(sqrt(1 / (2 * n)), n)
    assert true.width == pytest.approx(16)  # wider than the range of scores, for every n'
    setting, rng = published_soft_label_setting(ONE, 1, n_queries=1), np.random.default_rng(2)
    scores = rng.integers(2, size=(setting.n_teachers, 1)).astype(float)
    assert np.isnan(algorithm_6(scores, 1 / 22, setting, 1, rng)).all()


def test_passes_that_are_shuffled_anew_have_no_consistent_randomisation():
    # Two examples of two kinds, as likely as each other; the mean prediction depends on how the second pass
    # is turned against the first.
    kinds = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    rows, labels = np.array([1.0, 0.2])[kinds][..., None], kinds
    means = [
        np.mean(1 / (1 + np.exp(-logistic_sgd(rows, labels, order, [4.0] * 4)[:, 0])))
        for order in ([0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1])
    ]
    assert means[0] == pytest.approx(means[1])
    assert means[2] == pytest.approx(means[3])
    assert [means[0], means[2]] == pytest.approx([0.27743, 0.27424], abs=1e-5)
