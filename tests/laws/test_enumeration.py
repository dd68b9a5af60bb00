"""The real code, run over every outcome of every dataset of a small universe, keeps what it claims."""

import sys

import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.ensemble_cases import LONG_CASES
from dplearn.ensembles.aggregators import AGGREGATIONS

#: How many distinct laws each universe must show, for with fewer it would not exercise the code it is for,
#: and the least share of its claim that it attains. Where that is less than all but for what tapes leave out:
#: the exponential mechanism normalises, a concentrated guarantee loses in conversion, the choosing mechanism
#: and the stable histogram have a delta that their universes do not use up, a classifier's universe does not
#: hold its worst data, four teachers are too few for the greatest distances, the choice of a prefix attains
#: at most half of its epsilon, alone and in a recursion, and few records do not reach the worst cells of
#: quantiles.
MUST_SHOW = {
    "best_of_runs": (2, 0.85),
    "best_of_logarithmically_many_runs": (2, 0.9),
    "best_of_concentrated_runs": (2, 0.79),
    "best_of_two_runs": (2, 0.69),
    "search_by_permute_and_flip": (4, 0.79),
    "search_and_refit": (4, 0.56),
    "search_by_random_stopping": (4, 0.57),
    "search_with_delta": (4, 0.54),
    "search_over_folds": (2, 0.07),
    "private_score": (5, 0.999999),
    "permute_and_flip": (61, 0.999999),
    "exponential_mechanism": (169, 0.95),
    "report_noisy_max": (7, 0.999999),
    "laplace_counts": (10, 0.999999),
    "gaussian_counts": (3, 0.85),
    "choosing_mechanism": (121, 0.4),
    "most_frequent_if_stable": (27, 0.999999),
    "above_threshold": (32, 0.999999),
    "sparse_vector": (16, 0.999999),
    "sparse_vector_renewed": (4, 0.999),
    "sparse_vector_composed": (4, 0.98),
    "stable_answers": (64, 0.95),
    "stable_histogram": (28, 0.85),
    "randomized_response": (16, 0.999999),
    "sanitized_noisy_max_epsilon": (21, 0.7),
    "consistent_parity_of_three_bits": (130, 0.999999),
    "consistent_parity": (110, 0.999999),
    "consistent_parity_of_one_bit": (35, 0.999999),
    "exponential_classifier": (225, 0.8),
    "small_exponential_classifier": (96, 0.7),
    "permute_and_flip_classifier": (85, 0.85),
    "small_permute_and_flip_classifier": (44, 0.75),
    "small_classifier": (16, 0.7),
    "three_label_classifier": (55, 0.8),
    "parity_elimination": (29, 0.999999),
    "parity_elimination_of_two_bits": (8, 0.999999),
    "parity_elimination_of_three_bits": (16, 0.999999),
    "parity_stable": (5, 0.999999),
    "parity_stable_of_two_bits": (2, 0.999999),
    "parity_stable_of_three_bits": (2, 0.999999),
    "parity_stable_labels": (2, 0.999999),
    "parity_agnostic": (33, 0.6),
    "ensemble_sparse_vector": (19, 0.99),
    "small_ensemble_sparse_vector": (8, 0.99),
    "ensemble_three_labels": (23, 0.6),
    "small_ensemble_three_labels": (9, 0.45),
    "ensemble_gnmax": (5, 0.85),
    "small_ensemble_gnmax": (4, 0.85),
    "ensemble_confident_gnmax": (5, 0.33),
    "small_ensemble_confident_gnmax": (4, 0.33),
    "ensemble_lnmax": (5, 0.9),
    "small_ensemble_lnmax": (4, 0.9),
    "soft_labels": (16, 0.6),
    "small_soft_labels": (9, 0.45),
    "soft_labels_of_three": (6, 0.7),
    "small_soft_labels_of_three": (5, 0.45),
    "soft_means": (3, 0.8),
    "small_soft_means": (2, 0.8),
    "transfer": (11, 0.99),
    "small_transfer": (7, 0.35),
    "transfer_of_labels": (15, 0.65),
    "interior_point_exponential": (35, 0.97),
    "interior_point_lengths": (16, 0.6),
    "interior_point_long_lengths": (12, 0.975),
    "interior_point_prefixes": (120, 0.46),
    "interior_point_recursive": (28, 0.74),
    "interior_point_recursive_twice": (35, 0.34),
    "threshold_exponential": (96, 0.72),
    "threshold_exponential_of_two_columns": (27, 0.62),
    "threshold_interior_point": (56, 0.65),
    "threshold_interior_point_of_four": (35, 0.55),
    "threshold_interior_point_of_two_columns": (34, 0.52),
    "threshold_between": (21, 0.6),
    "threshold_between_of_two": (70, 0.66),
    "stable_counts": (28, 0.85),
    "stable_counts_of_few": (15, 0.48),
    "point_stability": (7, 0.999),
    "point_stability_of_many": (10, 0.999),
    "point_hashing": (16, 0.999),
    "secret_sample": (5, 0.999),
    "secret_sample_classifier": (4, 0.9),
    "distribution_of_four_values": (10, 0.999999),
    "distribution_of_three_values": (10, 0.74),
    "distribution_by_gaussian_counts": (3, 0.8),
    "distribution_by_blocks": (10, 0.12),
    "distribution_by_blocks_at_large_epsilon": (10, 0.13),
    "distribution_by_blocks_from_below": (10, 0.04),
    "distribution_by_filled_blocks": (10, 0.09),
    "central_queries": (6, 0.999999),
    "central_vector": (3, 0.999999),
    "central_gaussian": (6, 0.7),
    "local_queries": (6, 0.999999),
    "local_vector": (3, 0.99),
    "local_laplace": (3, 0.999999),
    "naive_bayes": (4, 0.999),
    "naive_bayes_of_two_records": (3, 0.999),
    "naive_bayes_of_two_columns": (4, 0.999),
    "local_naive_bayes": (4, 0.999),
    "local_naive_bayes_of_two_columns": (8, 0.999),
    "conjunction": (6, 0.999),
    "conjunction_of_two_columns": (4, 0.999),
    "local_conjunction": (6, 0.999),
    "masked_parity_central": (14, 0.5),
    "masked_parity_central_one_round": (4, 0.999),
    "masked_parity_local": (8, 0.999),
    "masked_parity_local_one_round": (4, 0.999),
    "masked_parity_local_cells": (8, 0.999),
    "masked_parity_rounds_of_two_bits": (6, 0.999),
    "logistic": (2, 0.999),
    "logistic_step": (2, 0.63),
    "logistic_second_moments": (3, 0.849),
    "logistic_scores": (10, 0.999),
    "logistic_local_queries": (4, 0.47),
    "median": (56, 0.66),
    "lower_quartile": (56, 0.72),
    "two_quantiles": (20, 0.37),
    "quartiles": (10, 0.47),
    "quartiles_of_three": (4, 0.23),
    "level_of_medians": (105, 0.56),
    "level_of_lower_quartiles": (125, 0.46),
    "min_max_clipper": (9, 0.2),
    "small_min_max_clipper": (4, 0.16),
}


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
    distributions, share = MUST_SHOW[case.name]
    assert report.keeps(case.claim)
    assert report.n_distributions >= distributions
    assert report.tightness(case.claim) >= share
    assert case.digest() == case.frozen()["digest"]
    # A case is run once in a session: its laws are kept, and nothing else needs them.
    case.__dict__.pop("distributions", None)


def test_every_case_says_how_many_laws_and_how_much_of_its_claim_it_must_show():
    assert MUST_SHOW.keys() == CASES.keys()


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
