"""Sizes for a selection among listed concepts: the bound is proved, and the learner keeps it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_law
from scipy.stats import binom, multinomial

from dplearn import ExponentialMechanismClassifier, PublicData
from dplearn.chance import SystemDice
from dplearn.concepts import FiniteClass
from dplearn.domains import IntegerRange
from dplearn.kernels import selection_ratio
from dplearn.mechanisms import select_exponential, select_permute_and_flip
from dplearn.privacy import ApproxDP
from dplearn.theory import (
    dichotomy_sample_size,
    public_cut_sample_size,
    representation_failure,
    representation_sample_size,
    sauer_bound,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=100)
USUAL = {"epsilon": 1, "alpha": 0.1, "beta": 0.1}
epsilons = st.floats(0.01, 20)
rates = st.floats(0.01, 0.95)


def rate_on_a_grid(epsilon, alpha, kappa):
    """The rate of the module's proof, over 20,000 bases."""
    least = float(selection_ratio(Fraction(epsilon)))
    s = np.linspace(least, 1, 20_001)
    return -np.log1p(-np.max((1 - s) * (alpha - kappa) - kappa * (1 - s) ** 2 / s))


@repeatable
@given(epsilon=epsilons, alpha=rates, share=st.floats(0, 0.9), agnostic=st.booleans())
def test_the_rate_is_the_greatest_over_all_bases(epsilon, alpha, share, agnostic):
    kappa, n = share * alpha, 100
    failure = representation_failure(7, n, epsilon=epsilon, alpha=alpha, kappa=kappa, agnostic=agnostic)
    if agnostic:
        alpha, kappa = (1 + alpha - kappa) / 2, (1 - alpha + kappa) / 2
    assert failure == pytest.approx(7 * math.exp(-n * rate_on_a_grid(epsilon, alpha, kappa)), rel=1e-3)


def chance_of_first(lead, ratio, *, flips):
    """The exact probability of the first of two concepts, with so many errors more than the second."""
    if flips and lead:
        # The better one is never passed over: the other is selected if it comes first and its coin is heads.
        worse = ratio ** abs(lead) / 2
        return worse if lead > 0 else 1 - worse
    return 1 / (1 + ratio**-lead)


@pytest.mark.parametrize("flips", [False, True], ids=["exponential", "permute_and_flip"])
@pytest.mark.parametrize(
    ("p", "q", "epsilon"), [(0.3, 0, 1), (0.3, 0.05, 1), (0.6, 0.4, 2), (0.55, 0.45, 8), (0.2, 0.1, 0.3)]
)
def test_two_concepts_fail_no_more_often_than_the_bound(p, q, epsilon, flips):
    """On a share p of the records only the one is wrong, on q only the other; exact sums over all samples."""
    ratio, n = float(selection_ratio(Fraction(epsilon))), 25
    law = multinomial(n, [p, q, max(0, 1 - p - q)])
    failure = sum(
        law.pmf([i, j, n - i - j]) * chance_of_first(i - j, ratio, flips=flips)
        for i in range(n + 1)
        for j in range(n + 1 - i)
    )
    # Concept 0 has error p, just above alpha = p; concept 1 is good, of error q.
    bound = representation_failure(1, n, epsilon=epsilon, alpha=p - 1e-9, kappa=q)
    excess = representation_failure(1, n, epsilon=epsilon, alpha=p - q - 1e-9, agnostic=True)
    assert failure <= bound <= excess + 1e-9


# The real learner at these sizes

UNSURE = 1e-6  # how often a Clopper-Pearson bound may be wrong


def kept(failed, repetitions, beta):
    return beta_law.ppf(1 - UNSURE, failed + 1, repetitions - failed) <= beta


@pytest.mark.parametrize("select", [select_exponential, select_permute_and_flip])
@pytest.mark.parametrize("kappa", [0.0, 0.05])
def test_a_list_with_one_good_concept_fails_no_more_often_than_beta(select, kappa):
    """The worst task of the proof: all other concepts are wrong on the same records, just above alpha."""
    epsilon, alpha, beta, size, repetitions = 1, 0.25, 0.25, 50, 600
    n = representation_sample_size(size, epsilon=epsilon, alpha=alpha, beta=beta, kappa=kappa)
    rng, dice, failed = np.random.default_rng(0), SystemDice(), 0  # the samples are public
    for _ in range(repetitions):
        good, others, _ = rng.multinomial(n, [kappa, alpha + 1e-9, 1 - kappa - alpha - 1e-9])
        errors = sorted({int(good), int(others)})
        sizes = [size] if len(errors) == 1 else [1, size - 1] if good < others else [size - 1, 1]
        group, index = select(errors, sizes, privacy=ApproxDP(epsilon), dice=dice)
        failed += errors[group] != good or (len(errors) == 1 and index > 0)
    assert failed > 0
    assert kept(failed, repetitions, beta)


def cut_task(rng, n, columns):
    """Records of uniform columns with many values; a cut of the first one labels all of them."""
    X = rng.integers(0, 1 << 20, size=(n, columns))
    return X, (X[:, 0] >= 1 << 19).astype(int)


def true_error(model):
    """The true error of a stump on such records."""
    stump = model.concept_.concept
    if stump.inner == stump.outer or stump.feature > 0:
        return 0.5
    wrong = abs((stump.code + 1) / (1 << 20) - 0.5)
    return wrong if stump.inner == 0 else 1 - wrong


@pytest.mark.parametrize(("public", "method"), [("features", "exponential"), ("rows", "permute_and_flip")])
def test_cuts_at_public_values_fail_no_more_often_than_beta(public, method):
    rng, repetitions, failed = np.random.default_rng(1), 150, 0  # the records are public
    labels = public == "features"
    n = dichotomy_sample_size(6, **USUAL) if labels else public_cut_sample_size(6, 200, **USUAL)
    model = ExponentialMechanismClassifier(
        protects="labels" if labels else "examples",
        method=method,
        domain=IntegerRange(0, (1 << 20) - 1),
        classes=[0, 1],
    )
    for _ in range(repetitions):
        more = {} if labels else {"X_public": PublicData(cut_task(rng, 200, 6)[0])}
        failed += true_error(model.fit(*cut_task(rng, n, 6), **more)) > 0.1
    assert kept(failed, repetitions, 0.1)


def test_rounds_of_compression_take_more_records_than_one_fit_to_all_rules():
    one, three = (sum(math.comb(100, j) << j for j in range(k + 1)) for k in (1, 3))
    learning = representation_sample_size(one, epsilon=1, alpha=0.05, beta=0.025)
    whole = [representation_sample_size(size, **USUAL) for size in (three, 2**28)]
    assert (learning, whole) == (453, [409, 541])
    left = whole[1] - learning  # for a test that tells an error of .05 from one of .1, here without noise
    chances = [max(binom.cdf(bar, left, 0.1), binom.sf(bar, left, 0.05)) for bar in range(left)]
    assert min(chances) > 0.2 > 0.025


def test_by_corollary_3_6_the_size_depends_on_the_labellings_of_a_finite_domain():
    # 1,000 functions of 16 records label them in 16 ways.
    functions = [lambda X, cut=cut: (X[:, 0] > cut / 1000).astype(int) for cut in range(0, 16000, 16)]
    domain = np.arange(16.0).reshape(-1, 1)
    listed = FiniteClass(functions)
    few = listed.distinct(domain)
    assert few.size == 16 < sauer_bound(1, 16) < listed.size == 1000
    assert representation_sample_size(few.size, **USUAL) == 127
    assert representation_sample_size(listed.size, **USUAL) == 230
    x = np.random.default_rng(0).integers(0, 16, size=127).reshape(-1, 1).astype(float)  # public
    fitted = ExponentialMechanismClassifier(few, epsilon=50).fit(x, (x[:, 0] > 7).astype(int))
    assert fitted.score(x, (x[:, 0] > 7).astype(int)) == 1
