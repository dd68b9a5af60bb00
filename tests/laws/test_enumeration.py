"""The real code, run over every outcome of every dataset of a small universe, keeps what it claims."""

import sys

import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.cases.ensembles import LONG_CASES
from dplearn.ensembles.aggregators import AGGREGATIONS

#: Like others that run with every change, but for the aggregation, or the number of labels or bits; or whole
#: fits for the mechanism, which is enumerated alone and within another learner.
LIKE_OTHERS = (
    "small_exponential_classifier",
    "small_ensemble_three_labels",
    "small_ensemble_confident_gnmax",
    "small_ensemble_lnmax",
    "small_soft_labels_of_three",
    "small_soft_means",
    "transfer_of_labels",
    "three_label_classifier",
    "parity_elimination",
    "small_permute_and_flip_classifier",
    "consistent_parity_of_three_bits",
    "parity_elimination_of_three_bits",
    "parity_stable_of_three_bits",
)


def affordable(case):
    """Mark cases of which there is a small one, and those like others: they run at night."""
    nightly = f"small_{case.name}" in CASES or case.name in LIKE_OTHERS
    return pytest.param(case, id=case.name, marks=pytest.mark.nightly if nightly else ())


@pytest.mark.parametrize("case", [affordable(case) for case in CASES.values()])
def test_the_exact_epsilon_is_at_most_the_claim(case):
    report = case.run()
    sys.stdout.write(
        f"{case.name}: exact {report.epsilon:.6f} of {float(case.claim.epsilon):g},"
        f" {report.n_distributions} distributions,"
        f" {report.n_pairs} pairs\n"
    )
    assert report.keeps(case.claim)
    assert report.n_distributions >= case.required.n_distributions
    assert report.tightness(case.claim) >= case.required.tightness
    assert case.digest() == case.frozen()["digest"]
    # A case is run once in a session: its laws are kept, and nothing else needs them.
    case.__dict__.pop("distributions", None)


def test_every_case_says_how_many_distributions_and_how_much_of_its_claim_it_must_show():
    assert [name for name, case in CASES.items() if case.required.n_distributions < 2] == []
    assert [name for name, case in CASES.items() if not 0 < case.required.tightness <= 1] == []


def test_a_small_case_has_the_claim_of_the_one_that_it_stands_for():
    small = {name for name in CASES if f"small_{name}" in CASES}
    assert small
    for name in small:
        assert CASES[f"small_{name}"].claim == CASES[name].claim
        assert CASES[f"small_{name}"].frozen()["n_pairs"] < CASES[name].frozen()["n_pairs"]


def test_every_aggregation_is_run_over_at_least_4000_pairs():
    ensembles = [name for name in CASES if name.startswith("ensemble_")]  # not the small ones
    assert len(ensembles) > len(AGGREGATIONS)
    assert min(CASES[name].frozen()["n_pairs"] for name in [*ensembles, "soft_labels"]) >= 4000


def test_the_learner_is_run_over_at_least_20000_pairs():
    assert CASES["exponential_classifier"].frozen()["n_pairs"] >= 20_000


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_replay_on_neighbours_finds_only_what_the_proof_allows(case):
    assert case.replay() == []


@pytest.mark.nightly
@pytest.mark.parametrize("case", LONG_CASES, ids=lambda case: case.name)
def test_three_labels_with_a_noisy_count_each_keep_the_claim_too(case):
    report = case.run()
    assert report.n_pairs >= 4000
    assert report.n_distributions >= 8
    assert report.keeps(case.claim)
