"""Deliberate mistakes in private search: each breaks a claim that the original keeps."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit.cases import search as search_cases
from dplearn.audit.cases.scores import CASES as SCORE_CASES
from dplearn.audit.cases.search import CASES as SEARCH_CASES
from dplearn.mechanisms import selection as random_stopping
from dplearn.model_selection import candidates, search, tables
from dplearn.privacy import random_stopping as costs
from dplearn.privacy.random_stopping import RandomStopping, gaussian_runs_delta
from dplearn.privacy.shares import gaussian_budget
from tests.laws.conftest import OnePair

CASES = {case.name: case for case in SEARCH_CASES}
SCORES = {case.name: case for case in SCORE_CASES}


def always_as_many_runs_as_there_may_be(monkeypatch):
    class Stubborn:
        def __init__(self, dice):
            self.dice = dice

        def power_weighted(self, ratio, exponents, multiplicities):
            return len(multiplicities) - 1

    honest = random_stopping.best_of_runs

    def best(run, *, stopping, dice):
        return honest(lambda _: run(dice), stopping=stopping, dice=Stubborn(dice))

    return best


def number_of_runs_shown(monkeypatch):
    honest = random_stopping.best_of_runs

    def best(run, *, stopping, dice):
        runs = []

        def counted(dice):
            runs.append(0)
            return run(dice)

        score, outcome = honest(counted, stopping=stopping, dice=dice)
        return score, (outcome, len(runs))

    return best


def growth_of_the_slope_forgotten(monkeypatch):
    monkeypatch.setattr(costs, "_growth", lambda stopping, mu: 1.0)


def number_of_runs_forgotten(monkeypatch):
    monkeypatch.setattr(random_stopping.RandomStopping, "mean", 1)


@pytest.mark.parametrize("mistake", [growth_of_the_slope_forgotten, number_of_runs_forgotten])
def test_a_mistake_in_the_cost_of_gaussian_runs_claims_less_than_enumeration_finds(monkeypatch, mistake):
    case = CASES["best_of_gaussian_runs"]
    found, half = Fraction(case.frozen()["epsilon"]), Fraction(1, 4)
    claimed = lambda: gaussian_runs_delta(RandomStopping(7), half, found)  # noqa: E731
    assert claimed() > case.claim.delta
    mistake(monkeypatch)
    assert claimed() < case.claim.delta


@pytest.mark.first_by_day
@pytest.mark.parametrize("mistake", [always_as_many_runs_as_there_may_be, number_of_runs_shown])
@pytest.mark.parametrize(
    "name",
    ["best_of_runs", pytest.param("best_of_logarithmically_many_runs", marks=pytest.mark.nightly)],
)
def test_a_mistake_in_when_to_stop_exceeds_the_claim(monkeypatch, name, mistake):
    monkeypatch.setattr(search_cases, "best_of_runs", mistake(monkeypatch))
    assert not CASES[name].with_fit(CASES[name].fit).run().keeps(CASES[name].claim)


def each_fit_has_the_whole_budget(monkeypatch):
    honest = search._part
    monkeypatch.setattr(
        search, "_part", lambda budget, part: budget if part == 1 / 2 else honest(budget, part)
    )


def errors_without_noise(monkeypatch):
    monkeypatch.setattr(tables.TableNoise, "added", lambda self, counts, **_: counts)


def candidate_chosen_by_true_errors(monkeypatch):
    monkeypatch.setattr(
        search, "permute_and_flip", lambda qualities, *, privacy, dice, sensitivity: int(np.argmax(qualities))
    )


def records_that_test_train_too(monkeypatch):
    honest = candidates.splits_by_position

    def splits(cv, n):
        return [(np.concatenate([test, train]), test) for train, test in honest(cv, n)]

    monkeypatch.setattr(candidates, "splits_by_position", splits)
    honest_exposure = candidates.Exposure.of
    monkeypatch.setattr(
        candidates.Exposure,
        "of",
        classmethod(lambda cls, splits, n: replace(honest_exposure(splits, n), apart=True)),
    )


def number_of_runs_published(monkeypatch):
    honest = candidates.Trial.counted
    fitted = []

    def counted(self, index, *given, **how):
        fitted.append(index)
        return honest(self, index, *given, **how)

    publish = search.PrivateSearchCV._publish

    def published(self, *found):
        self.n_fits_ = len(fitted)
        fitted.clear()
        publish(self, *found)

    monkeypatch.setattr(candidates.Trial, "counted", counted)
    monkeypatch.setattr(search.PrivateSearchCV, "_publish", published)


def each_gaussian_fit_has_the_budget_of_one_run(monkeypatch):
    monkeypatch.setattr(
        search,
        "gaussian_run_budget",
        lambda stopping, total, fits: gaussian_budget(
            replace(total, epsilon=stopping.factor * total.epsilon)
        ),
    )


FIRST, LAST = ((1, 0), (0, 0)), ((0, 1), (0, 0))
#: What each mistake is made in, and neighbours that it shows on.
BREACHES = [
    ("search_by_permute_and_flip", each_fit_has_the_whole_budget, FIRST),
    ("search_by_permute_and_flip", errors_without_noise, LAST),
    ("search_by_permute_and_flip", candidate_chosen_by_true_errors, LAST),
    ("search_by_permute_and_flip", records_that_test_train_too, LAST),
    ("search_by_random_stopping", errors_without_noise, LAST),
    ("search_and_refit", each_fit_has_the_whole_budget, FIRST),
]
#: Universes so small hold not the worst data for these: their laws are others than the frozen ones.
CHANGES = [
    ("search_by_random_stopping", number_of_runs_published, FIRST),
    ("search_and_refit", records_that_test_train_too, LAST),
    ("search_over_gaussian_fits", each_gaussian_fit_has_the_budget_of_one_run, FIRST),
]


def each_of(mistakes):
    names = lambda each: each if isinstance(each, str) else getattr(each, "__name__", "")  # noqa: E731
    return pytest.mark.parametrize(("name", "mistake", "pair"), mistakes, ids=names)


def anew(name, pair, whole):
    """The case anew, on neighbours that are its witness, or on its whole universe."""
    case = CASES[name].with_fit(CASES[name].fit)
    return case if whole else OnePair.of(case, pair)


#: On all tables at night.
witness_or_all = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.nightly)])


@witness_or_all
@each_of(BREACHES)
def test_a_mistake_in_a_search_exceeds_the_claim(monkeypatch, name, mistake, pair, whole):
    case = anew(name, pair, whole)
    mistake(monkeypatch)
    assert not case.run().keeps(case.claim)


@pytest.mark.nightly
@witness_or_all
@each_of(CHANGES)
def test_a_mistake_that_few_records_do_not_show_changes_the_law(monkeypatch, name, mistake, pair, whole):
    case = anew(name, pair, whole)
    mistake(monkeypatch)
    assert case.run().epsilon > float(CASES[name].frozen()["epsilon"]) + 1e-5


def errors_not_clipped(monkeypatch):
    # The noisy sum may be as great as the errors are; the sensitivity is that of clipped ones.
    monkeypatch.setattr(tables.TargetSums, "high", property(lambda each: 7 * each.steps))
    monkeypatch.setattr(
        tables.TargetSums, "_shares", lambda each, numbers: numbers / (each.high_end - each.low_end)
    )
    monkeypatch.setattr(tables, "_steps", lambda shares, steps: (shares * steps).astype(np.int64))


def sensitivity_of_half_the_range(monkeypatch):
    for name in ("l1", "first"):
        monkeypatch.setattr(tables.TargetSums, name, property(lambda each: each.steps // 2))


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        pytest.param(
            "search_by_absolute_error_and_permute_and_flip", errors_not_clipped, marks=pytest.mark.nightly
        ),
        ("search_by_absolute_error_and_permute_and_flip", sensitivity_of_half_the_range),
        ("search_by_absolute_error_and_noisy_scores", sensitivity_of_half_the_range),
        ("selection_by_r2", errors_not_clipped),
        ("selection_by_r2", sensitivity_of_half_the_range),
    ],
)
def test_a_mistake_in_a_search_of_regressors_exceeds_the_claim(monkeypatch, name, mistake):
    case = OnePair.of(SCORES[name].with_fit(SCORES[name].fit), ((0, 7), (0, 0)))
    mistake(monkeypatch)
    assert not case.run().keeps(case.claim)


def test_a_score_without_its_noise_is_caught(monkeypatch):
    case = CASES["private_score"]
    errors_without_noise(monkeypatch)
    assert not case.with_fit(case.fit).run().keeps(case.claim)


def counts_for_an_added_record(monkeypatch):
    right = tables.laplace_counts
    monkeypatch.setattr(
        tables, "laplace_counts", lambda counts, **how: right(counts, **how | {"sensitivity": 1})
    )


def held_out_records_that_train_too(monkeypatch):
    honest = candidates.splits_by_position
    monkeypatch.setattr(
        candidates,
        "splits_by_position",
        lambda cv, n: [(np.concatenate([test, train]), test) for train, test in honest(cv, n)],
    )
    monkeypatch.setattr(
        candidates.Exposure, "of", classmethod(lambda cls, splits, n: cls(trains=1, tests=1, apart=True))
    )


@pytest.mark.parametrize(
    "mistake",
    [counts_for_an_added_record, pytest.param(held_out_records_that_train_too, marks=pytest.mark.nightly)],
)
def test_a_mistake_in_a_tuned_threshold_exceeds_the_claim(monkeypatch, mistake):
    mistake(monkeypatch)
    case = OnePair.of(CASES["tuned_threshold"].with_fit(CASES["tuned_threshold"].fit), LAST)
    assert not case.run().keeps(case.claim)
