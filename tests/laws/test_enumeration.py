"""The real code, run over every outcome of every dataset of a small universe, keeps what it claims."""

import sys
from functools import partial
from itertools import product

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

#: Like others that run with every change, but for the aggregation, or the number of labels or bits; or whole
#: fits for the mechanism, which is enumerated alone and within another learner. Other
#: queries, columns and keys for an added record differ from those that run as for a replaced one. A fit
#: that learns its schema composes two fits, each of which is enumerated alone; so do such a table, and a
#: transfer from one. Sums other than those of R^2 are enumerated, and how far its own move is tested with
#: every change.
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
    "search_with_delta",
    "search_over_folds",
    "score_r2",
    "small_fit_with_learned_schema",
    "learned_target_and_column",
    "synthetic_table_with_learned_schema",
    "added_vector",
    "added_gaussian",
    "added_votes",
    "added_scores",
    "small_added_stable_votes",
    "added_stable_scores",
    "added_naive_bayes_of_two_columns",
    "added_learned_groups",
    "added_moments",
    "added_logistic",
)


#: Cases of which two neighbours run with every change, and all tables at night: the pair that attains the
#: most, as places in the universe; how much of the claim it must show; how the digest of its two laws begins.
ONE_PAIR = {
    "pca": ((0,), (2,), 0.4992, "5c3f85496c6d346e"),
    "corners_permute_and_flip": ((0, 4, 5), (0, 5, 5), 0.9999, "bc196dd19bd2ab85"),
    "added_additive_rare_labels": ((0, 1), (0,), 0.999, "1842f2c5b45c6e3a"),
    "added_additive_gradient": ((0, 1), (0,), 0.999, "d158e92da4be3b37"),
    "added_additive_joint": ((0, 1), (1,), 0.999, "3ec71285bc683c91"),
    "added_additive_three_labels": ((0, 1), (0,), 0.999, "3b0fa8a47984e4d1"),
    "added_additive_fit_masses": ((0, 2), (2,), 0.999, "14201e76bd3eaa76"),
    "added_additive_numbers_shapes": ((0, 1), (1,), 0.999, "ac8a995573aa2c79"),
    "additive_outputs_shapes": ((0,), (3,), 0.9999, "c12c176ccf666ff4"),
    "line_proper": ((0, 0, 0, 0, 2, 2, 2), (0, 0, 0, 1, 2, 2, 2), 0.4678, "46d1e285bf9bc055"),
    "additive_outputs": ((0,), (3,), 0.5714, "8e345dec1a73e497"),
    "additive_numbers_shapes": ((0,), (2,), 0.7583, "3598e27f01ac1dee"),
    "additive_outputs_masses": ((0,), (4,), 0.8165, "207bb277f7b65211"),
    "k_means_round": ((0,), (4,), 0.9999, "8ae73570b61579f5"),
    "search_over_gaussian_fits": ((0, 1), (0, 0), 0.5081, "229c7b33c61074b6"),
    "tuned_threshold": ((0, 0), (0, 1), 0.9999, "941b8c6d324db962"),
    "synthetic_table_of_three_columns": ((0,), (3,), 0.8169, "37c0f9bfbef7a0b4"),
    "synthetic_data": ((0, 0), (0, 1), 0.9999, "93e1ad79b470ed33"),
    "additive_labels": ((0, 0), (0, 1), 0.999, "e846188804794e1b"),
    "conjunction": ((0, 1), (0, 3), 0.999, "ed5cf05e125ad895"),
    "conjunction_of_two_columns": ((1,), (3,), 0.999, "58be1163cc6a4c65"),
    "local_conjunction": ((0, 0), (1, 0), 0.999, "d5487134760a6150"),
    "distribution_of_four_values": ((0, 2), (0, 0), 0.9999, "7a972256e24a020d"),
    "distribution_of_three_values": ((0, 0, 0), (0, 0, 2), 0.74, "784261f9d3f0a58e"),
    "distribution_by_blocks": ((1, 2, 2), (1, 2, 0), 0.12, "37fd456ce2fc4b8c"),
    "distribution_by_blocks_at_large_epsilon": ((0, 0, 1), (0, 0, 0), 0.13, "2007b90c089ba6c0"),
    "distribution_by_blocks_from_below": ((2, 2, 2), (2, 2, 0), 0.04, "ccacd066c5846a2d"),
    "distribution_by_filled_blocks": ((2, 2, 2), (2, 2, 0), 0.09, "7c9fa3dc914638de"),
    "small_ensemble_sparse_vector": ((1, 1, 1, 1), (0, 1, 1, 1), 0.68, "77ccfbd9df65a7a0"),
    "small_ensemble_gnmax": ((1, 0, 0, 0), (0, 0, 0, 0), 0.86, "5656f1bd28fb89ad"),
    "small_soft_labels": ((1, 1, 2, 2), (1, 1, 1, 2), 0.47, "20174046e571a298"),
    "small_transfer": ((0, 1, 1), (0, 0, 1), 0.37, "80cdc974feac4607"),
    "transfer_of_labels": ((0, 0, 1, 1, 0, 0), (0, 0, 1, 1, 1, 0), 0.68, "cd794829afb01981"),
    "grouped": ((0, 0), (0, 2), 0.99, "1f6802ebcb2770e1"),
    "sums_of_groups_by_category": ((2,), (3,), 0.9999, "a558cc4ef9837b2f"),
    "transfer_of_groups": ((2, 2, 0), (0, 2, 0), 0.99, "bc990a83e0410b46"),
    "small_classifier": ((1, 0, 0), (0, 0, 0), 0.72, "2601ef5d1d04538e"),
    "interior_point_exponential": ((0, 1, 0), (0, 1, 4), 0.97, "8f3156f0dd52c7dd"),
    "interior_point_long_lengths": ((0, 0, 0, 2, 0), (0, 0, 0, 2, 2), 0.97, "4d7869bd82e23391"),
    "interior_point_recursive": ((2, 2, 2, 2, 2, 0), (2, 2, 2, 2, 2, 2), 0.74, "780c4cdbfe22f03b"),
    "interior_point_recursive_twice": ((2, 2, 3, 3), (2, 2, 3, 0), 0.34, "6986a45d65ed71e6"),
    "frequent_keys_of_two_columns": ((0, 1, 1, 0), (0, 1, 1, 1), 0.24, "d39858f1c1bf75a6"),
    "learned_range": ((0, 0, 0, 1), (0, 0, 0, 0), 0.46, "fa181d816391ad9a"),
    "learned_target": ((0, *[1] * 11), (1,) * 12, 0.94, "d0f72ee2f49802e5"),
    "learned_schema": ((0, 0, 0, 1, 1, 1, 1, 0), (0, 0, 0, 1, 1, 1, 1, 1), 0.28, "75a3deeba678e0ce"),
    "logistic_second_moments": ((0,), (1,), 0.849, "52891d26834bd4c9"),
    "logistic_scores": ((0, 0), (1, 0), 0.9999, "98130baed5f0cc47"),
    "masked_parity_central": ((0, 2), (0, 3), 0.51, "65af4b9de9f59846"),
    "masked_parity_local": ((2, 1), (1, 1), 0.9999, "bc05a23d78c08b2b"),
    "masked_parity_local_one_round": ((0, 0), (1, 0), 0.9999, "6a77a8ce1a4d0314"),
    "masked_parity_local_cells": ((2, 1), (1, 1), 0.9999, "f62d2c3517aed749"),
    "masked_parity_rounds_of_two_bits": ((1, 0), (0, 0), 0.9999, "fc89e11c61d904d3"),
    "exponential_mechanism": ((5, 5, 5, 5, 5, 5, 2), (5, 5, 5, 5, 5, 5, 5), 0.97, "c4230bad6ed1f2f5"),
    "report_noisy_max": ((0, 0, 1), (0, 0, 2), 0.9999, "d9934a1419aafd68"),
    "most_frequent_if_stable": (
        (*[1] * 12, *[2] * 7, 1),
        (1,) * 12 + (2,) * 8,
        0.9999,
        "562281901d8dc4d9",
    ),
    "above_threshold": ((2,), (28,), 0.9999, "3be8ca81f62a488b"),
    "sparse_vector": ((3,), (12,), 0.9999, "4bd684cb632c3074"),
    "sparse_vector_renewed": ((1,), (2,), 0.999, "3924a185803e9791"),
    "sparse_vector_composed": ((1,), (2,), 0.98, "f7648bd1e071ff0c"),
    "stable_answers": ((0, 0, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 0, 2), 0.96, "abc16e243a000765"),
    "stable_histogram": ((0, 0, 0, 1, 1, 1), (0, 0, 0, 1, 1, 0), 0.85, "59bf1459b505298c"),
    "sanitized_noisy_max_epsilon": (
        (0,) * 11 + (2,),
        (0,) * 12,
        0.59,
        "f53bdf551a79aa6b",
    ),
    "consistent_parity": ((0, 0, 1), (0, 0, 0), 0.9999, "1662e07a2276fb5c"),
    "consistent_parity_of_one_bit": ((0, 0, 0, 1), (0, 0, 0, 0), 0.9999, "73168e35b2baa632"),
    "added_naive_bayes": ((0, 1), (0,), 0.999, "25779ac5ad0db55d"),
    "naive_bayes": ((0,), (1,), 0.999, "b2a571a4213836a0"),
    "naive_bayes_of_two_columns": ((0,), (1,), 0.999, "ff15a590b683812d"),
    "local_naive_bayes_of_two_columns": ((0, 0), (1, 0), 0.999, "0ecc6e589aa01c85"),
    "parity_elimination_of_two_bits": ((0, 1), (0, 0), 0.9999, "41258ad6e91ba01d"),
    "parity_stable": ((0, 0, 0, 1), (1, 0, 0, 1), 0.9999, "ddb27d711eeb018d"),
    "parity_stable_of_two_bits": ((0, 1), (1, 1), 0.9999, "e8f9bd00cc07c005"),
    "parity_stable_labels": ((0, 1), (1, 1), 0.9999, "ff45f6f7532301bb"),
    "parity_agnostic": ((1, 0), (0, 0), 0.62, "0f94a7cca2f8a42c"),
    "point_stability": ((1, 1, 1), (3, 1, 1), 0.9999, "20616258db1e912c"),
    "point_stability_of_many": ((1, 1, 1, 1, 1), (1, 1, 1, 1, 3), 0.9999, "8cd01b363157492a"),
    "point_of_two_labels": ((1, 1, 2), (1, 2, 2), 0.88, "26fd2a23c5ca4732"),
    "point_hashing": ((1, 0, 0), (0, 0, 0), 0.9999, "3e20db8d1b62ed85"),
    "two_quantiles": ((1, 3, 0), (1, 3, 3), 0.37, "5214e29d36997df2"),
    "quartiles": ((1, 0), (1, 3), 0.47, "5a5bb6627d31cc1e"),
    "quartiles_of_three": ((1, 1, 1), (1, 1, 0), 0.23, "71379744f040132b"),
    "level_of_medians": ((0, 1, 1, 2), (0, 1, 1, 0), 0.56, "8ed0a206481734c2"),
    "level_of_lower_quartiles": ((1, 1, 1, 3), (1, 1, 1, 0), 0.46, "7d0324de13077a96"),
    "central_queries": ((0, 0), (2, 0), 0.9999, "25023b76d1f0e354"),
    "central_vector": ((0,), (2,), 0.9999, "8c10d47e9205bf5d"),
    "local_laplace": ((0,), (2,), 0.9999, "fc619be34c5b33d3"),
    "search_by_permute_and_flip": ((0, 1), (0, 0), 0.79, "804cbf92cf97a867"),
    "search_by_absolute_error_and_permute_and_flip": ((0, 1), (0, 0), 0.79, "2c13b8d14f650cd7"),
    "search_by_absolute_error_and_noisy_scores": ((1, 0), (0, 0), 0.71, "3224e10003af883b"),
    "search_and_refit": ((1, 0), (0, 0), 0.56, "70abd30cabcdb451"),
    "search_by_random_stopping": ((1, 0), (0, 0), 0.57, "d5d29f54e1fd9883"),
    "secret_sample_classifier": ((0, 0, 1), (0, 0, 0), 0.9, "3156e808b0712548"),
    "multi_output": ((0, 3), (0, 0), 0.56, "df313b64a28b5f51"),
    "stable_counts": ((0, 0, 0, 1, 1, 1), (0, 0, 0, 1, 1, 0), 0.85, "1d814055f1107f4d"),
    "stable_counts_of_few": ((0, 0, 0, 0), (1, 0, 0, 0), 0.48, "d974a152c9cb3929"),
    "synthetic_table": ((0, 3), (0, 0), 0.95, "0ad7b096d77ab25a"),
    "threshold_exponential": ((0, 0, 1), (0, 0, 0), 0.72, "724f5b1b04616085"),
    "threshold_exponential_of_two_columns": ((0, 1), (0, 0), 0.62, "d92d317ac5a73c09"),
    "threshold_interior_point": ((2, 2, 0), (2, 2, 5), 0.65, "22c3e3b0f9e4625d"),
    "threshold_interior_point_of_four": ((1, 1, 2, 1), (1, 1, 2, 2), 0.55, "fe69d374c7c118fb"),
    "threshold_interior_point_of_two_columns": ((2, 0), (2, 5), 0.52, "e759f0421c7b5d9a"),
    "threshold_between_of_two": ((0, 1, 6, 0), (0, 1, 6, 7), 0.66, "132a3698590a53e6"),
    "logistic_class_weights": ((0,), (1,), 0.812, "ab9f8c5f982fed5c"),
    "search_by_log_loss_and_noisy_scores": ((0, 0), (1, 0), 0.716, "0918b9ac449d61f1"),
    "k_means": ((0,), (2,), 0.124, "db5b4d0af5ebc4cd"),
    "line_stability": ((0, 0, 0, 0, 2, 2, 2), (0, 0, 0, 1, 2, 2, 2), 0.467, "f5b11f114495588e"),
    "search_by_log_loss_and_permute_and_flip": ((0, 1), (0, 0), 0.796, "ece92dd84920b6a6"),
    "central_gaussian": ((1, 0), (0, 0), 0.927, "0a67af1316771c82"),
    "naive_bayes_of_groups": ((0,), (1,), 0.999, "cbf0b46940ed0ebc"),
    "gaussian_search_by_permute_and_flip": ((0, 1), (0, 0), 0.678, "3b37760de64ceeb1"),
    "best_of_runs": ((0,), (1,), 0.852, "fd810c8e86ec3203"),
    "additive_outputs_step": ((0,), (3,), 0.999, "c5147e93da028643"),
    "small_corners": ((4, 5), (5, 5), 0.927, "0ef143f5c650b589"),
    "classifier_with_probability": ((0,), (1,), 0.549, "db84f2eab69968e8"),
    "gaussian_sums": ((0, 0), (0, 1), 0.932, "ccfbfaef96e72b4d"),
    "search_by_noisy_scores": ((0, 0), (1, 0), 0.716, "a1897179875b73bc"),
    "additive_outputs_labels": ((0,), (3,), 0.999, "dac90e8336d3a46f"),
    "gaussian_sums_by_shares": ((0, 0), (0, 1), 0.836, "a1e109152ee661ee"),
    "additive_numbers_target": ((0,), (1,), 0.499, "667ba3f5e44ab01f"),
    "small_public_cuts_classifier": ((1, 0), (0, 0), 0.62, "6dbec528f03f9ffb"),
    "quantile_windows": (
        (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1),
        (0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1),
        0.16,
        "4135ac9d75527eaf",
    ),
    "added_histogram": ((0, 0), (0,), 0.999, "6842bb0376a4493f"),
    "point_sets_of_many": ((0, 0, 0, 0, 1), (0, 0, 0, 0, 0), 0.953, "dc620795b5178825"),
    "line_stability_of_three": ((0, 0, 0, 1, 0), (0, 0, 0, 1, 3), 0.364, "8381ab2d43691501"),
    "line_pure": ((0, 0, 1), (0, 0, 0), 0.727, "dc1c98a6d1f6d64e"),
    "added_additive_fit_labels": ((0, 1), (1,), 0.999, "2d27e0e5db64cc1f"),
    "added_stable_counts": ((0, 0, 0, 0), (0, 0, 0), 0.97, "0894ff1f6716aaa8"),
    "multi_output_with_delta": ((0,), (3,), 0.974, "6790d1b9528455f1"),
    "synthetic_table_with_target": ((0, 0), (0, 1), 0.999, "a1c5241f3d7b9419"),
    "corners_of_all_directions": ((0,), (1,), 0.499, "191b5ddd2e50c4d3"),
    "added_additive_fit_step": ((0, 1), (1,), 0.999, "f24179cdbdd94d89"),
    "added_additive_numbers_step": ((0, 1), (1,), 0.999, "af8d3aa113c071f1"),
    "classifier_of_groups": ((2, 0), (0, 0), 0.62, "b78bda281cf366bd"),
    "counts_of_groups": ((0, 0, 0), (1, 0, 0), 0.999, "b1025c178b53bca5"),
    "point_prefixes": ((1, 0), (0, 0), 0.743, "2a19de434065ab6d"),
    "additive_numbers_masses": ((0,), (2,), 0.816, "380e2212a1b3fffd"),
    "point_sets": ((1, 0), (0, 0), 0.802, "a3245dc1cb092c65"),
    "whole_multi_output": ((0, 0), (3, 0), 0.999, "b6f375137748695b"),
    "point_prefixes_of_many": ((0, 0, 0, 0, 1), (0, 0, 0, 0, 0), 0.943, "8b50e76b6962853f"),
    "additive_numbers_step": ((0,), (1,), 0.499, "6a1a4bbc1bde6f9e"),
    "naive_bayes_of_two_calls": ((0, 0), (1, 0), 0.999, "e621820e515c5215"),
    "grouped_learned": ((0, 0, 0), (0, 0, 2), 0.459, "ffe2434ee67c0021"),
    "scaler_of_two_calls": ((0, 0), (2, 0), 0.999, "f709687d466b8c8a"),
    "naive_bayes_of_two_epsilons": ((0, 0), (0, 1), 0.999, "3a4b4a74d3536cf0"),
    "added_queries": ((0, 2), (0,), 0.999, "531dabecd904f34a"),
    "threshold_between": ((1, 7, 9), (1, 7, 0), 0.609, "a12dec8a4c712766"),
    "line_pure_whole_fit": ((0, 1), (0, 0), 0.62, "bc4ffb28aecc9101"),
    "three_labels_of_public_rows": ((1, 0, 0), (0, 0, 0), 0.859, "fb326f3ab3c3a6c2"),
    "corners_of_public_rows": ((0, 1, 0), (0, 0, 0), 0.588, "3869317d4dd86ea7"),
    "added_vote": ((0, 1), (0,), 0.999, "1230d6b116e7913e"),
    "added_additive_fit_count": ((0, 0), (0,), 0.999, "b5bda629ee099f75"),
    "added_transfer": ((0, 1), (0,), 0.971, "26648ef48888e076"),
    "added_counted_votes": ((0, 1), (0,), 0.971, "a7e1d7c0e9126594"),
    "added_score": ((0, 1), (0,), 0.866, "a55fb15be7225a92"),
    "interior_point_lengths": ((0, 0, 0, 0, 3), (0, 0, 0, 3, 3), 0.642, "dc0db9623886c456"),
    "additive_rare_labels": ((1,), (5,), 0.999, "2a16691389cedfdf"),
    "local_queries": ((0, 0), (2, 0), 0.999, "840844a6eb6fcd2c"),
    "first_reaching": ((0, 1, 2), (0, 0, 2), 0.999, "2d2df60e88f6e032"),
    "logistic": ((1,), (0,), 0.999, "171a8bf10bf06036"),
    "searching_min_max_clipper": ((1,), (0,), 0.666, "0a360d8929d5d13c"),
    "naive_bayes_of_two_records": ((0, 0), (0, 1), 0.999, "f92f2a0cfca23927"),
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
        for rows, seed in product(case.pair, range(2)):
            seen = observe(partial(case.fit, rows), SeededDice(seed, name))
            assert seen in case.distributions[rows].masses


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
@pytest.mark.longest
@pytest.mark.parametrize("case", LONG_CASES, ids=lambda case: case.name)
def test_three_labels_with_a_noisy_count_each_keep_the_claim_too(case):
    report = case.run()
    assert report.n_pairs >= 4000
    assert report.n_distributions >= 8
    assert report.keeps(case.claim)
