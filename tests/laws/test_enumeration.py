"""The real code, run over every outcome of every dataset of a small universe, keeps what it claims."""

import sys
from dataclasses import replace

import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.cases.additive import ADDITIVE_REPLAYS
from dplearn.audit.cases.ensembles import LONG_CASES
from dplearn.audit.cases.linear_regression import LINEAR_REPLAYS
from dplearn.audit.fits import WholeFit
from dplearn.ensembles.aggregators import AGGREGATIONS
from tests.laws.conftest import OnePair

#: Like others that run with every change, but for the aggregation, or the number of labels or bits; or whole
#: fits for the mechanism, which is enumerated alone and within another learner. Moments of linear regression
#: have Laplace noise, which is enumerated alone; that they move no further is tested with every change.
LIKE_OTHERS = (
    "small_exponential_classifier",
    "small_ensemble_three_labels",
    "small_ensemble_confident_gnmax",
    "small_ensemble_lnmax",
    "small_soft_labels_of_three",
    "small_soft_means",
    "three_label_classifier",
    "parity_elimination",
    "small_permute_and_flip_classifier",
    "consistent_parity_of_three_bits",
    "parity_elimination_of_three_bits",
    "parity_stable_of_three_bits",
    "best_of_logarithmically_many_runs",
    "best_of_concentrated_runs",
    "linear_moments",
)


#: Cases that take long: which records of theirs, by their places in the universe, all tables are made of that
#: run with every change; how many laws and how much of the claim these must show; and how the digest of their
#: laws begins. All records are for the night.
FEWER_RECORDS = {
    "exponential_mechanism": ((1, 2, 3, 4, 5), 134, 0.97, "b6da5d0dba0f0845"),
    "report_noisy_max": ((0, 1, 2), 7, 0.9999, "eb7873ab0ad0f760"),
    "most_frequent_if_stable": ((1, 2, 3), 27, 0.9999, "d2c973f1c92dbf2d"),
    "above_threshold": ((0, 1, 2, 3, 28), 5, 0.9999, "1b0ea55135d94328"),
    "sparse_vector": ((0, 1, 3, 12), 4, 0.9999, "736ed5c8c1425abf"),
    "sanitized_noisy_max_epsilon": ((0, 2), 6, 0.59, "c7b192abdc7f2d03"),
    "consistent_parity": ((0, 1, 2, 3), 20, 0.9999, "4f8d314fd3702f52"),
    "consistent_parity_of_one_bit": ((0, 1, 2), 15, 0.9999, "2a3e640b59bf213c"),
    "small_classifier": ((0, 1, 2), 10, 0.72, "761c6adca5252c33"),
    "parity_elimination_of_two_bits": ((0, 1, 2, 3), 4, 0.9999, "37de329fcf00d71b"),
    "parity_stable": ((0, 1, 3), 5, 0.9999, "409a1e9af46f4a29"),
    "parity_agnostic": ((0, 1, 2, 4, 6), 15, 0.62, "c59d3c2f05025a97"),
    "interior_point_exponential": ((0, 1, 2, 4), 20, 0.97, "c63dad9536a17d6c"),
    "interior_point_long_lengths": ((0, 1, 2), 7, 0.97, "bac3fb26d3303dd7"),
    "interior_point_recursive": ((0, 2), 7, 0.74, "93fe2c5a64486088"),
    "interior_point_recursive_twice": ((0, 2, 3), 15, 0.34, "2ccaa818b4a71b99"),
    "two_quantiles": ((0, 1, 3), 10, 0.37, "d5366cc74794f33d"),
    "quartiles": ((0, 1, 3), 6, 0.47, "eb91e5841d8495ae"),
    "level_of_lower_quartiles": ((0, 1, 2, 3, 4), 70, 0.46, "7349dcc61bdaaad4"),
    "distribution_of_three_values": ((0, 2), 4, 0.74, "e51d5b470d6d1f6b"),
    "distribution_by_blocks_at_large_epsilon": ((0, 1), 4, 0.13, "d17602bfd60a4d9f"),
    "distribution_by_blocks_from_below": ((0, 2), 4, 0.04, "2370598ef1927945"),
    "distribution_by_filled_blocks": ((0, 2), 4, 0.09, "5eff30b7d97931f7"),
    "stable_counts": ((0, 1), 7, 0.85, "8e0cb305c6d253de"),
    "stable_counts_of_few": ((0, 1), 5, 0.48, "4237635a9b40eeeb"),
    "point_stability": ((1, 3, 5), 7, 0.9999, "3205392bf6f8c9e4"),
    "point_stability_of_many": ((1, 3, 5), 10, 0.9999, "c5ead7ca96960cc3"),
    "point_hashing": ((0, 1, 2), 10, 0.9999, "2e1c00c6f71ab3eb"),
    "secret_sample_classifier": ((0, 1, 2), 4, 0.9, "f0e042d64b0a535f"),
    "threshold_exponential": ((0, 1, 2), 10, 0.72, "5ff754251a3a5fc0"),
    "threshold_exponential_of_two_columns": ((0, 1, 2, 4), 10, 0.62, "3af0d3f3dcba6204"),
    "threshold_interior_point": ((0, 2, 5), 10, 0.65, "83b27a3191f363fd"),
    "threshold_interior_point_of_four": ((0, 1, 2), 15, 0.55, "093c869d40dc3473"),
    "threshold_interior_point_of_two_columns": ((0, 1, 2, 5), 10, 0.52, "3595e9d520af3aa5"),
    "central_queries": ((0, 2), 3, 0.9999, "2a9236e8ac999530"),
    "masked_parity_central": ((0, 2, 3), 6, 0.51, "978795df6cbc8c48"),
    "masked_parity_local": ((1, 2, 3), 6, 0.9999, "6749511988815afa"),
    "masked_parity_local_one_round": ((0, 1, 2), 4, 0.9999, "d9e594eda36799d1"),
    "masked_parity_local_cells": ((1, 2, 3), 6, 0.9999, "be1b16bbe111c221"),
    "logistic_scores": ((0, 1, 2), 6, 0.9999, "f41f8dd9fc3922a8"),
}

#: Cases of which two neighbours run with every change: the pair that attains the most, as places in the
#: universe; how much of the claim it must show; and how the digest of its two laws begins.
ONE_PAIR = {
    "stable_answers": ((0, 0, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 0, 2), 0.96, "abc16e243a000765"),
    "sparse_vector_renewed": ((1,), (2,), 0.999, "3924a185803e9791"),
    "distribution_of_four_values": ((0, 2), (0, 0), 0.9999, "7a972256e24a020d"),
    "logistic_local_queries": ((0, 0), (1, 0), 0.47, "e38372cff632e19a"),
    "learned_schema": ((0, 0, 0, 1, 1, 1, 1, 0), (0, 0, 0, 1, 1, 1, 1, 1), 0.28, "75a3deeba678e0ce"),
    "small_fit_with_learned_schema": ((0, 0, 0, 1), (0, 0, 0, 0), 0.52, "d4669c5bbc54c540"),
    "small_ensemble_sparse_vector": ((1, 1, 1, 1), (0, 1, 1, 1), 0.68, "77ccfbd9df65a7a0"),
    "small_ensemble_gnmax": ((1, 0, 0, 0), (0, 0, 0, 0), 0.86, "5656f1bd28fb89ad"),
    "small_soft_labels": ((1, 1, 2, 2), (1, 1, 1, 2), 0.47, "20174046e571a298"),
    "small_transfer": ((0, 1, 1), (0, 0, 1), 0.37, "80cdc974feac4607"),
    "search_by_random_stopping": ((1, 0), (0, 0), 0.57, "d5d29f54e1fd9883"),
    "search_with_delta": ((1, 0), (0, 0), 0.54, "622226a3d9cb2770"),
    "search_over_folds": ((1, 0), (0, 0), 0.07, "e6c4ec3ba4a74da7"),
    "transfer_of_labels": ((0, 0, 1, 1, 0, 0), (0, 0, 1, 1, 1, 0), 0.68, "cd794829afb01981"),
}

#: Cases of one record, which have no smaller ones. Each of their queries is a case of its own that runs with
#: every change, and their whole fits are replayed.
LONG = ("additive", "linear_local", "logistic_step")


def affordable(case):
    """Mark long cases, those of which there is a smaller one, and those like others: they run at night."""
    smaller = f"small_{case.name}" in CASES or case.name in FEWER_RECORDS or case.name in ONE_PAIR
    nightly = smaller or case.name in (*LIKE_OTHERS, *LONG)
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


@pytest.mark.parametrize("name", FEWER_RECORDS)
def test_the_exact_epsilon_on_tables_of_fewer_records_is_at_most_the_claim(name):
    places, distributions, share, digest = FEWER_RECORDS[name]
    case = replace(CASES[name], universe=[CASES[name].universe[place] for place in places])
    report = case.run()
    assert report.keeps(case.claim)
    assert report.n_distributions >= distributions
    assert report.tightness(case.claim) >= share
    assert case.digest().startswith(digest)


@pytest.mark.parametrize("name", ONE_PAIR)
def test_the_exact_epsilon_on_the_worst_neighbours_is_at_most_the_claim(name):
    *pair, share, digest = ONE_PAIR[name]
    universe = CASES[name].universe
    case = OnePair.of(CASES[name], tuple(tuple(universe[place] for place in places) for places in pair))
    report = case.run()
    assert report.keeps(case.claim)
    assert report.n_distributions == 2
    assert report.tightness(case.claim) >= share
    assert case.digest().startswith(digest)


def test_a_whole_fit_of_each_class_runs_with_every_change_or_is_replayed():
    quick = [case for name, case in CASES.items() if name not in (*LIKE_OTHERS, *LONG)]
    fits = {name for case in CASES.values() if isinstance(case.fit, WholeFit) for name in case.verifies}
    by_day = {name for case in quick if isinstance(case.fit, WholeFit) for name in case.verifies}
    replayed = {name for case in (*ADDITIVE_REPLAYS, *LINEAR_REPLAYS) for name in case.verifies}
    assert fits - by_day == fits & replayed == {"AdditiveClassifier", "LinearRegressor"}


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


@pytest.mark.parametrize("seeds", [1, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_replay_on_neighbours_finds_only_what_the_proof_allows(case, seeds):
    assert case.replay(seeds) == []


@pytest.mark.nightly
@pytest.mark.parametrize("case", LONG_CASES, ids=lambda case: case.name)
def test_three_labels_with_a_noisy_count_each_keep_the_claim_too(case):
    report = case.run()
    assert report.n_pairs >= 4000
    assert report.n_distributions >= 8
    assert report.keeps(case.claim)
