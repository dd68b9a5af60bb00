"""The real code, run over every outcome of every dataset of a small universe, keeps what it claims."""

import sys

import pytest

from dplearn.audit.cases import CASES

# How many distinct laws each universe must show: with fewer, it would not exercise the code it claims to.
LAWS = {
    "exponential_mechanism": 169,
    "permute_and_flip": 61,
    "exponential_classifier": 225,
    "permute_and_flip_classifier": 85,
    "small_classifier": 16,
    "three_label_classifier": 55,
}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_exact_epsilon_is_at_most_the_claim(case):
    report = case.run()
    sys.stdout.write(
        f"{case.name}: exact {report.epsilon:.6f} of {float(case.claim.epsilon):g}, {report.n_laws} laws,"
        f" {report.n_pairs} pairs\n"
    )
    assert report.keeps(case.claim)
    assert report.n_laws >= LAWS[case.name]
    assert case.digest() == case.frozen()["digest"]
    # A case is run once in a session: its laws are kept, and nothing else needs them.
    case.__dict__.pop("laws", None)


def test_the_exponential_mechanism_is_at_least_95_percent_tight():
    case = CASES["exponential_mechanism"]
    assert case.run().tightness(case.claim) >= 0.95


def test_permute_and_flip_attains_its_epsilon():
    case = CASES["permute_and_flip"]
    assert case.run().tightness(case.claim) >= 0.999999


def test_the_learner_is_run_over_at_least_20000_pairs():
    assert CASES["exponential_classifier"].frozen()["n_pairs"] >= 20_000


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_replay_on_neighbours_finds_only_what_the_proof_allows(case):
    assert case.replay() == []
