"""The real code, run over every outcome of every dataset of a small universe, keeps what it claims."""

import re
import sys
from functools import partial

import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.cases.additive import ADDITIVE_REPLAYS
from dplearn.audit.cases.ensembles import LONG_CASES
from dplearn.audit.cases.linear_regression import LINEAR_REPLAYS
from dplearn.audit.enumeration import observe
from dplearn.audit.fits import WholeFit
from dplearn.chance import SeededDice
from dplearn.learners.votes.aggregators import AGGREGATIONS
from tests.laws.conftest import OnePair

#: Like others that run with every change, but for aggregation, scores, noise, or the number of labels; or
#: whole fits for the mechanism, which is enumerated alone and in another learner. A fit that learns a schema
#: composes two fits, each of which is enumerated alone; so do such a table, and a transfer.
NAMES_LIKE_OTHERS = """
small_exponential_classifier small_ensemble_three_labels small_ensemble_confident_gnmax small_ensemble_lnmax
small_soft_labels_of_three small_soft_means three_label_classifier parity_elimination
small_permute_and_flip_classifier consistent_parity_of_three_bits parity_elimination_of_three_bits
parity_stable_of_three_bits best_of_logarithmically_many_runs best_of_concentrated_runs search_with_delta
search_over_folds score_r2 small_fit_with_learned_schema learned_target_and_column
synthetic_table_with_learned_schema added_vector added_gaussian added_votes added_scores
small_added_stable_votes added_stable_scores added_naive_bayes_of_two_columns added_learned_groups
added_moments added_logistic logistic_class_weights synthetic_table_of_three_columns synthetic_table
search_over_gaussian_fits search_and_refit gaussian_search_by_permute_and_flip
search_by_absolute_error_and_noisy_scores search_by_log_loss_and_permute_and_flip
search_by_absolute_error_and_permute_and_flip search_by_log_loss_and_noisy_scores best_of_gaussian_runs
additive_numbers_shapes additive_outputs_shapes additive_outputs_step gaussian_sums_by_shares multi_output
k_means_round frequent_keys_of_two_columns searching_min_max_clipper distribution_of_four_values
sparse_vector_renewed naive_bayes_of_two_records added_additive_numbers_shapes
"""
LIKE_OTHERS = re.findall(r"\w+", NAMES_LIKE_OTHERS)


#: Cases of which two neighbours run with every change, and all tables at night: the pair that attains the
#: most, as places in the universe; how much of the claim it must show; how the digest of its two laws begins.
ONE_PAIR = {
    "pca": ((0,), (2,), 0.4992, "5c3f85496c6d"),
    "corners_permute_and_flip": ((0, 4, 5), (0, 5, 5), 0.9999, "bc196dd19bd2"),
    "added_additive_rare_labels": ((0, 1), (0,), 0.999, "1842f2c5b45c"),
    "added_additive_gradient": ((0, 1), (0,), 0.999, "d158e92da4be"),
    "added_additive_joint": ((0, 1), (1,), 0.999, "3ec71285bc68"),
    "added_additive_three_labels": ((0, 1), (0,), 0.999, "3b0fa8a47984"),
    "added_additive_fit_masses": ((0, 2), (2,), 0.999, "14201e76bd3e"),
    "line_proper": ((0, 0, 0, 0, 2, 2, 2), (0, 0, 0, 1, 2, 2, 2), 0.4678, "46d1e285bf9b"),
    "additive_outputs": ((0,), (3,), 0.5714, "8e345dec1a73"),
    "additive_outputs_masses": ((0,), (4,), 0.8165, "207bb277f7b6"),
    "tuned_threshold": ((0, 0), (0, 1), 0.9999, "941b8c6d324d"),
    "synthetic_data": ((0, 0), (0, 1), 0.9999, "93e1ad79b470"),
    "additive_labels": ((0, 0), (0, 1), 0.999, "e84618880479"),
    "conjunction": ((0, 1), (0, 3), 0.999, "ed5cf05e125a"),
    "conjunction_of_two_columns": ((1,), (3,), 0.999, "58be1163cc6a"),
    "local_conjunction": ((0, 0), (1, 0), 0.999, "d5487134760a"),
    "distribution_of_three_values": ((0, 0, 0), (0, 0, 2), 0.74, "784261f9d3f0"),
    "distribution_by_blocks": ((1, 2, 2), (1, 2, 0), 0.12, "37fd456ce2fc"),
    "distribution_by_blocks_at_large_epsilon": ((0, 0, 1), (0, 0, 0), 0.13, "2007b90c089b"),
    "distribution_by_blocks_from_below": ((2, 2, 2), (2, 2, 0), 0.04, "ccacd066c584"),
    "distribution_by_filled_blocks": ((2, 2, 2), (2, 2, 0), 0.09, "7c9fa3dc9146"),
    "small_ensemble_sparse_vector": ((1, 1, 1, 1), (0, 1, 1, 1), 0.68, "77ccfbd9df65"),
    "small_ensemble_gnmax": ((1, 0, 0, 0), (0, 0, 0, 0), 0.86, "5656f1bd28fb"),
    "small_soft_labels": ((1, 1, 2, 2), (1, 1, 1, 2), 0.47, "20174046e571"),
    "small_transfer": ((0, 1, 1), (0, 0, 1), 0.37, "80cdc974feac"),
    "transfer_of_labels": ((0, 0, 1, 1, 0, 0), (0, 0, 1, 1, 1, 0), 0.68, "cd794829afb0"),
    "grouped": ((0, 0), (0, 2), 0.99, "1f6802ebcb27"),
    "sums_of_groups_by_category": ((2,), (3,), 0.9999, "a558cc4ef983"),
    "transfer_of_groups": ((2, 2, 0), (0, 2, 0), 0.99, "bc990a83e041"),
    "small_classifier": ((1, 0, 0), (0, 0, 0), 0.72, "2601ef5d1d04"),
    "interior_point_exponential": ((0, 1, 0), (0, 1, 4), 0.97, "8f3156f0dd52"),
    "interior_point_long_lengths": ((0, 0, 0, 2, 0), (0, 0, 0, 2, 2), 0.97, "4d7869bd82e2"),
    "interior_point_recursive": ((2, 2, 2, 2, 2, 0), (2, 2, 2, 2, 2, 2), 0.74, "780c4cdbfe22"),
    "interior_point_recursive_twice": ((2, 2, 3, 3), (2, 2, 3, 0), 0.34, "6986a45d65ed"),
    "learned_range": ((0, 0, 0, 1), (0, 0, 0, 0), 0.46, "fa181d816391"),
    "learned_target": ((0, *[1] * 11), (1,) * 12, 0.94, "d0f72ee2f498"),
    "learned_schema": ((0, 0, 0, 1, 1, 1, 1, 0), (0, 0, 0, 1, 1, 1, 1, 1), 0.28, "75a3deeba678"),
    "logistic_second_moments": ((0,), (1,), 0.849, "52891d26834b"),
    "logistic_scores": ((0, 0), (1, 0), 0.9999, "98130baed5f0"),
    "masked_parity_central": ((0, 2), (0, 3), 0.51, "65af4b9de9f5"),
    "masked_parity_local": ((2, 1), (1, 1), 0.9999, "bc05a23d78c0"),
    "masked_parity_local_one_round": ((0, 0), (1, 0), 0.9999, "6a77a8ce1a4d"),
    "masked_parity_local_cells": ((2, 1), (1, 1), 0.9999, "f62d2c3517ae"),
    "masked_parity_rounds_of_two_bits": ((1, 0), (0, 0), 0.9999, "fc89e11c61d9"),
    "exponential_mechanism": ((5, 5, 5, 5, 5, 5, 2), (5, 5, 5, 5, 5, 5, 5), 0.97, "c4230bad6ed1"),
    "report_noisy_max": ((0, 0, 1), (0, 0, 2), 0.9999, "d9934a1419aa"),
    "most_frequent_if_stable": ((*[1] * 12, *[2] * 7, 1), (*[1] * 12, *[2] * 8), 0.9999, "562281901d8d"),
    "above_threshold": ((2,), (28,), 0.9999, "3be8ca81f62a"),
    "sparse_vector": ((3,), (12,), 0.9999, "4bd684cb632c"),
    "sparse_vector_composed": ((1,), (2,), 0.98, "f7648bd1e071"),
    "stable_answers": ((0, 0, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 0, 2), 0.96, "abc16e243a00"),
    "stable_histogram": ((0, 0, 0, 1, 1, 1), (0, 0, 0, 1, 1, 0), 0.85, "59bf1459b505"),
    "sanitized_noisy_max_epsilon": ((*[0] * 11, 2), (0,) * 12, 0.59, "f53bdf551a79"),
    "consistent_parity": ((0, 0, 1), (0, 0, 0), 0.9999, "1662e07a2276"),
    "consistent_parity_of_one_bit": ((0, 0, 0, 1), (0, 0, 0, 0), 0.9999, "73168e35b2ba"),
    "added_naive_bayes": ((0, 1), (0,), 0.999, "25779ac5ad0d"),
    "naive_bayes": ((0,), (1,), 0.999, "b2a571a42138"),
    "naive_bayes_of_two_columns": ((0,), (1,), 0.999, "ff15a590b683"),
    "local_naive_bayes_of_two_columns": ((0, 0), (1, 0), 0.999, "0ecc6e589aa0"),
    "parity_elimination_of_two_bits": ((0, 1), (0, 0), 0.9999, "41258ad6e91b"),
    "parity_stable": ((0, 0, 0, 1), (1, 0, 0, 1), 0.9999, "ddb27d711eeb"),
    "parity_stable_of_two_bits": ((0, 1), (1, 1), 0.9999, "e8f9bd00cc07"),
    "parity_stable_labels": ((0, 1), (1, 1), 0.9999, "ff45f6f75323"),
    "parity_agnostic": ((1, 0), (0, 0), 0.62, "0f94a7cca2f8"),
    "point_stability": ((1, 1, 1), (3, 1, 1), 0.9999, "20616258db1e"),
    "point_stability_of_many": ((1, 1, 1, 1, 1), (1, 1, 1, 1, 3), 0.9999, "8cd01b363157"),
    "point_of_two_labels": ((1, 1, 2), (1, 2, 2), 0.88, "26fd2a23c5ca"),
    "point_hashing": ((1, 0, 0), (0, 0, 0), 0.9999, "3e20db8d1b62"),
    "two_quantiles": ((1, 3, 0), (1, 3, 3), 0.37, "5214e29d3699"),
    "quartiles": ((1, 0), (1, 3), 0.47, "5a5bb6627d31"),
    "quartiles_of_three": ((1, 1, 1), (1, 1, 0), 0.23, "71379744f040"),
    "level_of_medians": ((0, 1, 1, 2), (0, 1, 1, 0), 0.56, "8ed0a2064817"),
    "level_of_lower_quartiles": ((1, 1, 1, 3), (1, 1, 1, 0), 0.46, "7d0324de1307"),
    "central_queries": ((0, 0), (2, 0), 0.9999, "25023b76d1f0"),
    "central_vector": ((0,), (2,), 0.9999, "8c10d47e9205"),
    "local_laplace": ((0,), (2,), 0.9999, "fc619be34c5b"),
    "search_by_permute_and_flip": ((0, 1), (0, 0), 0.79, "804cbf92cf97"),
    "search_by_random_stopping": ((1, 0), (0, 0), 0.57, "d5d29f54e1fd"),
    "secret_sample_classifier": ((0, 0, 1), (0, 0, 0), 0.9, "3156e808b071"),
    "stable_counts": ((0, 0, 0, 1, 1, 1), (0, 0, 0, 1, 1, 0), 0.85, "1d814055f110"),
    "stable_counts_of_few": ((0, 0, 0, 0), (1, 0, 0, 0), 0.48, "d974a152c9cb"),
    "threshold_exponential": ((0, 0, 1), (0, 0, 0), 0.72, "724f5b1b0461"),
    "threshold_exponential_of_two_columns": ((0, 1), (0, 0), 0.62, "d92d317ac5a7"),
    "threshold_interior_point": ((2, 2, 0), (2, 2, 5), 0.65, "22c3e3b0f9e4"),
    "threshold_interior_point_of_four": ((1, 1, 2, 1), (1, 1, 2, 2), 0.55, "fe69d374c7c1"),
    "threshold_interior_point_of_two_columns": ((2, 0), (2, 5), 0.52, "e759f0421c7b"),
    "threshold_between_of_two": ((0, 1, 6, 0), (0, 1, 6, 7), 0.66, "132a3698590a"),
    "k_means": ((0,), (2,), 0.124, "db5b4d0af5eb"),
    "line_stability": ((0, 0, 0, 0, 2, 2, 2), (0, 0, 0, 1, 2, 2, 2), 0.467, "f5b11f114495"),
    "central_gaussian": ((1, 0), (0, 0), 0.927, "0a67af131677"),
    "naive_bayes_of_groups": ((0,), (1,), 0.999, "cbf0b46940ed"),
    "best_of_runs": ((0,), (1,), 0.852, "fd810c8e86ec"),
    "small_corners": ((4, 5), (5, 5), 0.927, "0ef143f5c650"),
    "classifier_with_probability": ((0,), (1,), 0.549, "db84f2eab699"),
    "gaussian_sums": ((0, 0), (0, 1), 0.932, "ccfbfaef96e7"),
    "search_by_noisy_scores": ((0, 0), (1, 0), 0.716, "a1897179875b"),
    "additive_outputs_labels": ((0,), (3,), 0.999, "dac90e8336d3"),
    "additive_numbers_target": ((0,), (1,), 0.499, "667ba3f5e44a"),
    "small_public_cuts_classifier": ((1, 0), (0, 0), 0.62, "6dbec528f03f"),
    "quantile_windows": (
        (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1),
        (0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1),
        0.16,
        "4135ac9d7552",
    ),
    "added_histogram": ((0, 0), (0,), 0.999, "6842bb0376a4"),
    "point_sets_of_many": ((0, 0, 0, 0, 1), (0, 0, 0, 0, 0), 0.953, "dc620795b517"),
    "line_stability_of_three": ((0, 0, 0, 1, 0), (0, 0, 0, 1, 3), 0.364, "8381ab2d4369"),
    "line_pure": ((0, 0, 1), (0, 0, 0), 0.727, "dc1c98a6d1f6"),
    "added_additive_fit_labels": ((0, 1), (1,), 0.999, "2d27e0e5db64"),
    "added_stable_counts": ((0, 0, 0, 0), (0, 0, 0), 0.97, "0894ff1f6716"),
    "multi_output_with_delta": ((0,), (3,), 0.974, "6790d1b95284"),
    "synthetic_table_with_target": ((0, 0), (0, 1), 0.999, "a1c5241f3d7b"),
    "corners_of_all_directions": ((0,), (1,), 0.499, "191b5ddd2e50"),
    "added_additive_fit_step": ((0, 1), (1,), 0.999, "f24179cdbdd9"),
    "added_additive_numbers_step": ((0, 1), (1,), 0.999, "af8d3aa113c0"),
    "classifier_of_groups": ((2, 0), (0, 0), 0.62, "b78bda281cf3"),
    "counts_of_groups": ((0, 0, 0), (1, 0, 0), 0.999, "b1025c178b53"),
    "point_prefixes": ((1, 0), (0, 0), 0.743, "2a19de434065"),
    "additive_numbers_masses": ((0,), (2,), 0.816, "380e2212a1b3"),
    "point_sets": ((1, 0), (0, 0), 0.802, "a3245dc1cb09"),
    "whole_multi_output": ((0, 0), (3, 0), 0.999, "b6f375137748"),
    "point_prefixes_of_many": ((0, 0, 0, 0, 1), (0, 0, 0, 0, 0), 0.943, "8b50e76b6962"),
    "additive_numbers_step": ((0,), (1,), 0.499, "6a1a4bbc1bde"),
    "naive_bayes_of_two_calls": ((0, 0), (1, 0), 0.999, "e621820e515c"),
    "grouped_learned": ((0, 0, 0), (0, 0, 2), 0.459, "ffe2434ee67c"),
    "scaler_of_two_calls": ((0, 0), (2, 0), 0.999, "f709687d466b"),
    "naive_bayes_of_two_epsilons": ((0, 0), (0, 1), 0.999, "3a4b4a74d353"),
    "added_queries": ((0, 2), (0,), 0.999, "531dabecd904"),
    "threshold_between": ((1, 7, 9), (1, 7, 0), 0.609, "a12dec8a4c71"),
    "line_pure_whole_fit": ((0, 1), (0, 0), 0.62, "bc4ffb28aecc"),
    "three_labels_of_public_rows": ((1, 0, 0), (0, 0, 0), 0.859, "fb326f3ab3c3"),
    "corners_of_public_rows": ((0, 1, 0), (0, 0, 0), 0.588, "3869317d4dd8"),
    "added_vote": ((0, 1), (0,), 0.999, "1230d6b116e7"),
    "added_additive_fit_count": ((0, 0), (0,), 0.999, "b5bda629ee09"),
    "added_transfer": ((0, 1), (0,), 0.971, "26648ef48888"),
    "added_counted_votes": ((0, 1), (0,), 0.971, "a7e1d7c0e912"),
    "added_score": ((0, 1), (0,), 0.866, "a55fb15be722"),
    "interior_point_lengths": ((0, 0, 0, 0, 3), (0, 0, 0, 3, 3), 0.642, "dc0db9623886"),
    "additive_rare_labels": ((1,), (5,), 0.999, "2a16691389ce"),
    "local_queries": ((0, 0), (2, 0), 0.999, "840844a6eb6f"),
    "first_reaching": ((0, 1, 2), (0, 0, 2), 0.999, "2d2df60e88f6"),
    "logistic": ((1,), (0,), 0.999, "171a8bf10bf0"),
}

#: Cases of one record, which have no smaller ones. Each of their queries is a case of its own that runs with
#: every change, and their whole fits are replayed.
LONG = ("additive", "linear", "logistic_step")


def affordable(case):
    """Mark long cases, those of which there is a smaller one, and those like others: they run at night."""
    smaller = f"small_{case.name}" in CASES or case.name in ONE_PAIR
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
    if isinstance(case.fit, WholeFit):  # of which the stages have been enumerated
        for rows in case.pair:
            seen = observe(partial(case.fit, rows), SeededDice(0, name))
            assert seen in case.distributions[rows].masses


def test_a_whole_fit_of_each_class_runs_with_every_change_or_is_replayed():
    quick = [case for name, case in CASES.items() if name not in (*LIKE_OTHERS, *LONG)]
    fits = {name for case in CASES.values() if isinstance(case.fit, WholeFit) for name in case.verifies}
    by_day = {name for case in quick if isinstance(case.fit, WholeFit) for name in case.verifies}
    replayed = {name for case in (*ADDITIVE_REPLAYS, *LINEAR_REPLAYS) for name in case.verifies}
    assert fits - by_day == fits & replayed == {"AdditiveClassifier", "LinearRegressor"}


def test_every_case_says_how_many_distributions_and_how_much_of_its_claim_it_must_show():
    for name, case in CASES.items():
        assert case.required.n_distributions >= 2, name
        assert 0 < case.required.tightness <= 1, name
        if small := CASES.get(f"small_{name}"):
            assert small.claim == case.claim
            assert small.frozen()["n_pairs"] < case.frozen()["n_pairs"]
    ensembles = [name for name in CASES if name.startswith("ensemble_")]  # not the small ones
    assert len(ensembles) > len(AGGREGATIONS)
    assert min(CASES[name].frozen()["n_pairs"] for name in [*ensembles, "soft_labels"]) >= 4000
    assert CASES["exponential_classifier"].frozen()["n_pairs"] >= 20_000


@pytest.mark.parametrize("seeds", [1, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_replay_on_neighbours_finds_only_what_the_proof_allows(case, seeds):
    assert case.replay(seeds) == []


@pytest.mark.nightly
@pytest.mark.longest
@pytest.mark.parametrize("case", LONG_CASES, ids=lambda case: case.name)
def test_three_labels_with_a_noisy_count_each_keep_the_claim_too(case):
    report = case.run()
    assert report.n_pairs >= 4000
    assert report.n_distributions >= 8
    assert report.keeps(case.claim)
