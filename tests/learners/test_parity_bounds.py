"""At the sizes that plans state, real learners succeed as often as stated; with an eighth they do not."""

import numpy as np
import pytest

from dplearn import ParityClassifier
from dplearn.chance import SeededDice
from dplearn.kernels import success_bounds
from dplearn.mechanisms import consistent_parity
from dplearn.privacy import ApproxDP
from dplearn.theory import parity_sample_size

UNSURE = 1e-4  # how often a bound on the probability of failure would be wrong, were the seeds not fixed


def coins(d):
    """All rows, equally probable."""
    rows = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    return rows, np.full(2**d, 0.5**d)


def rare(d, share):
    """Each column is 1 in rows of its own, of the given share; all other rows are 0."""
    rows = np.vstack([np.zeros((1, d), dtype=int), np.eye(d, dtype=int)])
    return rows, np.array([1 - d * share] + [share] * d)


def failures(release, columns, n, runs, alpha):
    """How often there is no parity, or one that errs too much, on n rows of that distribution."""
    rows, shares = columns
    generator = np.random.default_rng(0)
    failed = 0
    for seed in range(runs):
        right = generator.integers(0, 2, rows.shape[1])
        X = rows[generator.choice(len(rows), size=n, p=shares)]
        parity = release(X, X @ right % 2, seed)
        failed += parity is None or shares[rows @ (parity ^ right) % 2 == 1].sum() > alpha
    return failed


def once(**task):
    """One part by itself."""

    def release(X, y, seed):
        return consistent_parity(X, y, privacy=ApproxDP(task["epsilon"]), dice=SeededDice(seed))

    return release


def learner(method, **parameters):
    model = ParityClassifier(method=method, classes=[0, 1], binarize=None, **parameters)

    def release(X, y, seed):
        fitted = model.set_params(random_state=seed).fit(X, y)
        return None if fitted.abstained_ else fitted.parity_

    return release


COINS, RARE, ONE = coins(10), rare(8, 0.11), rare(1, 0.11)
#: A method, the distribution of columns, the task, and how often it is run with all records and with fewer.
BY_DAY = [
    ("once", COINS, {"epsilon": 2, "alpha": 0.4, "beta": 0.3}, 400, 150),
    ("agnostic", COINS, {"epsilon": 1, "alpha": 0.4, "beta": 0.12}, 200, 50),
]
AT_NIGHT = [
    ("once", RARE, {"epsilon": 2, "alpha": 0.1, "beta": 0.3}, 400, 150),
    ("once", ONE, {"epsilon": 2, "alpha": 0.1, "beta": 0.3}, 400, 150),
    ("agnostic", RARE, {"epsilon": 1, "alpha": 0.1, "beta": 0.12}, 200, 50),
    ("elimination", COINS, {"epsilon": 1, "alpha": 0.4, "beta": 0.12}, 300, 150),
    ("elimination", RARE, {"epsilon": 1, "alpha": 0.1, "beta": 0.12}, 300, 150),
    ("elimination", ONE, {"epsilon": 1, "alpha": 0.1, "beta": 0.2}, 300, 150),
]


@pytest.mark.parametrize(
    ("method", "columns", "task", "runs", "fewer"),
    [*BY_DAY, *(pytest.param(*each, marks=pytest.mark.nightly) for each in AT_NIGHT)],
)
def test_a_method_keeps_its_promise_and_with_an_eighth_of_the_records_does_not(
    method, columns, task, runs, fewer
):
    release = once(**task) if method == "once" else learner(method, **task)
    n = parity_sample_size(columns[0].shape[1], method=method, **task)
    failed = failures(release, columns, n, runs, task["alpha"])
    assert success_bounds(failed, runs, UNSURE)[1] <= task["beta"]
    failed = failures(release, columns, n // 8, fewer, task["alpha"])
    assert success_bounds(failed, fewer, UNSURE)[0] > task["beta"]
