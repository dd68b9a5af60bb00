import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from dplearn import StatisticalQueryLogisticRegression
from dplearn.domains import IntegerRange
from dplearn.learners.logistic_calibration import calibrate
from dplearn.learners.logistic_queries import Mapped, score_edges, score_queries
from dplearn.queries import Examples
from tests.learners.logistic_plans import plan_of

EDGES = np.concatenate([[-1.0], score_edges(9), [1.0]])
MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2


def counts_of(slope, offset, n=100_000):
    likely = expit(slope * MIDDLES + offset)
    each = n / len(MIDDLES)
    return np.column_stack([each * (1 - likely), each * likely])


@pytest.mark.parametrize(("slope", "offset"), [(2.0, 0.0), (8.0, -3.0), (0.5, 1.0)])
def test_slope_and_offset_are_found_for_every_prior(slope, offset):
    found = calibrate(counts_of(slope, offset), EDGES, slope=1.0, noise=1.0)
    assert (found.slope, found.offset) == (pytest.approx(slope, rel=0.02), pytest.approx(offset, abs=0.02))


def test_the_deviation_of_the_slope_is_that_of_noisy_counts():
    exact, rng = counts_of(6.0, -1.0), np.random.default_rng(0)
    found = [
        calibrate(exact + rng.normal(scale=100.0, size=exact.shape), EDGES, slope=6.0, noise=100.0)
        for _ in range(200)
    ]
    given = np.mean([each.deviation for each in found])
    assert 0.8 < np.std([each.slope for each in found]) / given < 1.25


def test_noise_dominated_counts_give_the_prior_slope_and_offset():
    few = counts_of(50.0, -2.0, n=100)
    found = calibrate(few, EDGES, slope=3.0, noise=1e6)
    assert (found.slope, found.deviation) == (3.0, 3.0)
    assert found.offset == pytest.approx(np.log(few[:, 1].sum() / few[:, 0].sum()))


def test_scores_of_the_wrong_sign_give_nearly_no_slope():
    found = calibrate(counts_of(-4.0, 0.0), EDGES, slope=1.0, noise=1.0)
    assert 0 < found.slope < 1e-3


def test_scores_of_several_classes_are_of_the_label_against_its_two_neighbours():
    plan = plan_of(2, 3, levels=1)
    records = Examples(np.array([[1.0, 0.0], [1.0, 0.0]]) * plan.reach, np.array([0, 2]))
    weights = np.array([[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])  # margins 3, 2, 1
    after, before = score_queries(plan, Mapped(plan, np.eye(2)), weights, shift=0.0, reach=4.0)
    assert after.inputs(records).tolist() == [1, 0]  # 3 - 2, 1 - 3
    assert before.inputs(records).tolist() == [1, 0]  # 3 - 1, 1 - 2


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    ("n_steps", "delta"),
    [
        (1, 0),
        pytest.param(1, 1e-6, marks=pytest.mark.nightly),
        ("auto", 1e-6),
        pytest.param(24, 1e-6, marks=pytest.mark.nightly),
    ],
)
def test_rare_labels_are_ranked_and_no_worse_is_predicted_than_the_majority(n_steps, delta):
    """One digit of ten: a step without the label's frequency predicts it too often."""
    images, digits = load_digits(return_X_y=True)
    images, rare = np.tile(images, (4, 1)), np.tile(digits == 4, 4).astype(int)
    for seed in range(2):
        model = StatisticalQueryLogisticRegression(
            epsilon=1.0,
            delta=delta,
            n_steps=n_steps,
            domain=IntegerRange(0, 16),
            classes=[0, 1],
            random_state=seed,
        ).fit(images, rare)
        chances = model.predict_proba(images)[:, 1]
        assert model.score(images, rare) > 1 - rare.mean() - 0.005
        assert roc_auc_score(rare, chances) > 0.85
        assert abs(chances.mean() - rare.mean()) < 0.03
