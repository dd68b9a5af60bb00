"""What is not a promise that suffices is refused by name."""

import numpy as np
import pytest

from dplearn import mechanisms
from dplearn.chance import SystemDice
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.spending import delta_of, epsilon_of, rho_of


def test_the_numbers_are_those_of_the_promise():
    promise = ApproxDP(0.1, 1e-6)
    assert (epsilon_of(promise), delta_of(promise)) == (promise.epsilon, promise.delta)
    assert rho_of(ZeroConcentratedDP(0.5)) == ZeroConcentratedDP(0.5).rho


@pytest.mark.parametrize(
    ("take", "promise", "message"),
    [
        (epsilon_of, 0.5, "privacy must be of type ApproxDP, got 0.5"),
        (epsilon_of, ZeroConcentratedDP(1), "privacy must be of type ApproxDP, got ZeroConcentratedDP"),
        (rho_of, ApproxDP(1), "privacy must be of type ZeroConcentratedDP, got ApproxDP"),
    ],
)
def test_another_type_is_named(take, promise, message):
    with pytest.raises(TypeError, match=message):
        take(promise)


@pytest.mark.parametrize(
    ("take", "promise", "name"),
    [
        (epsilon_of, ApproxDP(0), "epsilon"),
        (delta_of, ApproxDP(1), "delta"),
        (rho_of, ZeroConcentratedDP(0), "rho"),
    ],
)
def test_nothing_is_too_little(take, promise, name):
    with pytest.raises(ValueError, match=f"^{name} must be a finite number above 0, got "):
        take(promise)


COUNTS = np.array([5, 3])


@pytest.mark.parametrize("privacy", [0.5, None, "1"])
@pytest.mark.parametrize(
    "use",
    [
        lambda **given: mechanisms.laplace_counts(COUNTS, **given),
        lambda **given: mechanisms.gaussian_counts(COUNTS, **given),
        lambda **given: mechanisms.exponential_mechanism(COUNTS, **given),
        lambda **given: mechanisms.permute_and_flip(COUNTS, **given),
        lambda **given: mechanisms.report_noisy_max(COUNTS, **given),
        lambda **given: mechanisms.choosing_mechanism(COUNTS, **given),
        lambda **given: mechanisms.release_if_stable("a", 3, **given),
        lambda **given: mechanisms.most_frequent_if_stable([0, 1], 2, **given),
        lambda **given: mechanisms.SparseVector(0, max_positives=2, **given),
        lambda **given: mechanisms.stable_histogram(["a"], **given),
        lambda **given: mechanisms.randomized_response([0], 2, **given),
    ],
)
def test_every_mechanism_says_what_privacy_must_be(use, privacy):
    with pytest.raises(TypeError, match=r"privacy must be of type (ApproxDP|ZeroConcentratedDP), got"):
        use(privacy=privacy, dice=SystemDice())
