"""Every mechanism's claim survives sampling through the operating system's entropy; a looser one's does not.

Each case is run at the privacy that it claims, which must not be refuted, and again, as its own control, at a
privacy so much weaker that the same samples must refute the claim. A claim that is true is refuted once in a
million runs; each control is missed less than once in a million.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dplearn import mechanisms
from dplearn.audit import fitted_with, sample_privacy
from dplearn.audit.cases.interior_point import tiny_sizes
from dplearn.kernels.distributions import gaussian_probabilities
from dplearn.kernels.ranks import Cell, SortedCodes
from dplearn.learners import StatisticalQueryLogisticRegression
from dplearn.mechanisms.quantile_windows import WindowTerms
from dplearn.privacy import ApproxDP, Composition, GaussianSums, ZeroConcentratedDP


@dataclass(frozen=True)
class Claim:
    """`fit(rows, dice, privacy)`, or with `batch` `fit(rows, dice, size, privacy)`, at two strengths."""

    fit: Callable[..., Any]
    rows: Any
    neighbour: Any
    claim: ApproxDP
    loose: Any
    n: int = 3_000
    batch: bool = False
    privacy: Any = None  # where it is not the claim

    def sampled(self, privacy):
        return sample_privacy(
            lambda *arguments: self.fit(*arguments, privacy),
            self.rows,
            self.neighbour,
            claim=self.claim,
            n_samples=self.n,
            batch=self.batch,
        )


def selection(mechanism):
    return lambda rows, dice, privacy: mechanism(np.array(rows), privacy=privacy, dice=dice)


def laplace(count, dice, size, privacy):
    return mechanisms.laplace_counts(np.full(size, count), privacy=privacy, dice=dice, low=-20, high=20)


def gaussian(count, dice, size, privacy):
    return mechanisms.gaussian_counts(np.full(size, count), privacy=privacy, dice=dice)


def gaussian_sums(count, dice, size, privacy):
    counts = np.full(size, count)
    return mechanisms.gaussian_sums(counts, privacy=privacy, dice=dice, squared_sensitivity=9)


def response(value, dice, size, privacy):
    return mechanisms.randomized_response(np.full(size, value), 4, privacy=privacy, dice=dice)


def equations(rows, dice, privacy):
    table = np.array(rows)
    solution = mechanisms.consistent_parity(table[:, :-1], table[:, -1], privacy=privacy, dice=dice)
    return None if solution is None else solution.tolist()


def stable_release(rows, dice, privacy):
    return mechanisms.release_if_stable(*rows, privacy=privacy, dice=dice)


def stable_vote(votes, dice, privacy):
    return mechanisms.most_frequent_if_stable(votes, 2, privacy=privacy, dice=dice)


def rare_key(keys, dice, privacy):
    return "b" in mechanisms.stable_histogram(keys, privacy=privacy, dice=dice)


def rare_key_of_a_column(keys, dice, privacy):
    # With rho 1/20 the noisy counts have epsilon 1 but for a probability below half of a percent.
    half = {"privacy": ZeroConcentratedDP("0.05"), "delta": privacy.delta / 2}
    return "b" in mechanisms.frequent_keys([keys], dice=dice, **half)[0]


def choosing(qualities, dice, privacy):
    return mechanisms.choosing_mechanism(np.array(qualities), growth=2, privacy=privacy, dice=dice)


def above(values, dice, privacy):
    return mechanisms.AboveThreshold(0, privacy=privacy, dice=dice).ask_all(values).tolist()


def reaching(counts, dice, privacy):
    return mechanisms.first_reaching(counts, 1, privacy=privacy, dice=dice)


def sparse(values, dice, privacy):
    vector = mechanisms.SparseVector(0, max_positives=2, privacy=privacy, dice=dice)
    return vector.ask_all(values).tolist()


def stable_answers(asked, dice, privacy):
    release = mechanisms.StableAnswers(max_abstentions=1, privacy=privacy, dice=dice, n_queries=1)
    return release.answer(*asked).tolist()


def sanitized(counts, dice, privacy):
    return mechanisms.sanitized_noisy_max_epsilon(
        np.array(counts), n_teachers=12, sigma2=Fraction(1, 2), delta="0.01", privacy=privacy, dice=dice
    )


def point(codes, dice, privacy):
    return mechanisms.interior_point_code(codes, 80, privacy=privacy, dice=dice)


def recursive_point(codes, dice, privacy):
    """Half of epsilon for the lengths, a quarter for the prefix and one for its end."""
    choice = ApproxDP(privacy.epsilon / 4, privacy.delta)
    sizes = tiny_sizes(
        0, choice=choice, comparison=privacy.epsilon / 4, base=privacy.epsilon / 2, threshold=4
    )
    return mechanisms.recursive_interior_point(codes, 8, sizes=sizes, privacy=privacy, dice=dice)


def tree(codes, dice, privacy):
    levels = mechanisms.tree_counts(
        codes, 4, fan_out=2, threshold=1, privacy=privacy, dice=dice, low=0, high=4
    )
    return levels[1].counts.tolist()


def near_rank(codes, dice, privacy):
    cell = Cell(SortedCodes(np.array(codes)), 0, len(codes), 0, 4)
    return mechanisms.code_near_rank(cell, Fraction(1, 2), privacy=privacy, dice=dice)


def quartiles(codes, dice, privacy):
    wanted = [Fraction(i, 4) for i in (1, 2, 3)]
    return mechanisms.codes_at_fractions(SortedCodes(np.array(codes)), 4, wanted, privacy=privacy, dice=dice)


def windows(codes, dice, privacy):
    # (2/5 + 3/20 + 1/20) epsilon, and 1.5 for ranks that the proof merges: less than epsilon = 4.
    noise, choice, kappa = privacy.epsilon * 2 / 5, privacy.epsilon / 20, Fraction(2, 5)
    terms = WindowTerms((3,), 6, noise, choice, reach=1, least=2, ramp=4, decay=kappa, zone=2)
    ranks = SortedCodes(np.array(codes))
    return mechanisms.codes_in_windows(ranks, 4, terms, privacy=privacy, dice=dice)


def logistic(**parameters):
    """What the sign of a weight of a whole fit tells."""

    def fit(rows, dice, privacy):
        table, given = np.array(rows), {"n_steps": 2, "classes": [0, 1], **parameters}
        model = StatisticalQueryLogisticRegression(epsilon=privacy.epsilon, **given)
        found = fitted_with(model, table[:, :-1], table[:, -1].astype(int), dice=dice)
        return bool(found.coef_[0, 0] > 0)

    return fit


def gaussian_delta(sigma2, epsilon) -> Fraction:
    """Return the delta of discrete Gaussian noise on a count at exp(epsilon): no more than 1e-9 too great."""
    support, masses, left_out = gaussian_probabilities(Fraction(sigma2))
    distribution = dict(zip(support, masses, strict=True))
    excess = (
        mass - distribution.get(k + 1, 0) * Fraction(np.exp(epsilon)) for k, mass in distribution.items()
    )
    return sum(max(part, Fraction(0)) for part in excess) + left_out + Fraction(1, 10**9)


ONE, FOUR = ApproxDP(1), ApproxDP(4)
PERCENT, TWENTY_PERCENT = ApproxDP(1, "0.01"), ApproxDP(1, "0.2")
CLAIMS = {
    "exponential_mechanism": Claim(
        selection(mechanisms.exponential_mechanism), (1, 0, 0, 0), (0, 1, 1, 1), ONE, FOUR
    ),
    "permute_and_flip": Claim(selection(mechanisms.permute_and_flip), (0, 2), (1, 1), ONE, FOUR),
    "report_noisy_max": Claim(selection(mechanisms.report_noisy_max), (0, 2), (1, 1), ONE, FOUR),
    "laplace_counts": Claim(laplace, 3, 4, ONE, ApproxDP("1.1"), n=200_000, batch=True),
    "gaussian_counts": Claim(
        gaussian,
        3,
        4,
        ApproxDP(1, gaussian_delta(1, 1)),
        ZeroConcentratedDP("0.6"),
        n=300_000,
        batch=True,
        privacy=ZeroConcentratedDP("0.5"),
    ),
    "gaussian_sums": Claim(
        gaussian_sums,
        3,
        6,
        Composition([GaussianSums("0.5")]).total("0.1"),
        GaussianSums(4),
        n=300_000,
        batch=True,
        privacy=GaussianSums("0.5"),
    ),
    "consistent_parity": Claim(equations, [(1, 0), (0, 0)], [(1, 0), (0, 1)], ONE, FOUR),
    "randomized_response": Claim(response, 0, 1, ONE, ApproxDP("1.1"), n=300_000, batch=True),
    "release_if_stable": Claim(stable_release, ("yes", 0), ("no", 0), PERCENT, TWENTY_PERCENT),
    "most_frequent_if_stable": Claim(stable_vote, [0, 0, 1], [0, 1, 1], PERCENT, TWENTY_PERCENT),
    "stable_histogram": Claim(rare_key, "a" * 20 + "b", "a" * 21, PERCENT, TWENTY_PERCENT),
    "frequent_keys": Claim(rare_key_of_a_column, "a" * 20 + "b", "a" * 21, PERCENT, TWENTY_PERCENT, n=10_000),
    "choosing_mechanism": Claim(choosing, (30, 29), (29, 30), PERCENT, ApproxDP(8, "0.01")),
    "AboveThreshold": Claim(above, (0, 0, 0, 0, 1), (1, 1, 1, 1, 0), ONE, FOUR),
    "first_reaching": Claim(reaching, (0, 0, 0, 0, 1, 1), (1, 1, 1, 1, 1, 1), ONE, FOUR),
    "StableAnswers": Claim(stable_answers, ([0], [0]), ([1], [0]), PERCENT, TWENTY_PERCENT),
    "sanitized_noisy_max_epsilon": Claim(
        sanitized, [(10, 2), (9, 3)], [(9, 3), (8, 4)], ONE, ApproxDP(20), n=3_000
    ),
    "interior_point_code": Claim(point, (0, 0, 1), (0, 1, 79), ONE, FOUR),
    "recursive_interior_point": Claim(
        recursive_point, (0, 7, 7, 7), (7, 7, 7, 7), PERCENT, ApproxDP(40, "0.2"), n=1_000
    ),
    "tree_counts": Claim(tree, (0, 0, 3, 3), (0, 3, 3, 3), ONE, ApproxDP(16)),
    "code_near_rank": Claim(near_rank, (0, 2, 2, 2, 3), (0, 0, 2, 2, 2), ONE, ApproxDP(8)),
    "codes_at_fractions": Claim(quartiles, (0, 1), (1, 3), ONE, ApproxDP(16), n=1_000),
    "codes_in_windows": Claim(
        windows, (0, 0, 0, 3, 3, 3), (0, 0, 0, 0, 3, 3), FOUR, ApproxDP(4000), n=6_000, privacy=FOUR
    ),
    "SparseVector": Claim(sparse, (0, 0, 0, 0, 1, 1), (1, 1, 1, 1, 0, 0), ONE, ApproxDP(8)),
}


LEARNERS = {
    f"logistic, {noise}": Claim(
        logistic(**given), ((0.0, 0), (1.0, 1)), ((0.0, 0), (-1.0, 1)), PERCENT, ApproxDP(200, "0.01"), n=200
    )
    for noise, given in (("laplace", {}), ("gaussian", {"delta": "0.01"}))
}


def test_every_mechanism_has_a_claim():
    """Selecting from groups is how both selections of their names work, and has their claims."""
    drawing = {
        name
        for name in mechanisms.__all__
        if "dice" in inspect.signature(getattr(mechanisms, name)).parameters
    }
    assert drawing - {"select_exponential", "select_permute_and_flip"} == CLAIMS.keys()


#: Enumeration runs all of them with every change; of samples one, which is drawn all at once, is enough.
DAILY = "laplace_counts"
ALL = CLAIMS | LEARNERS


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", sorted(ALL, key=lambda name: name != DAILY))
def test_the_claim_is_not_refuted_and_that_of_a_looser_mechanism_is(name):
    case = ALL[name]
    report = case.sampled(case.privacy or case.claim)
    assert not report.refutes, report
    report = case.sampled(case.loose)
    assert report.refutes, report
