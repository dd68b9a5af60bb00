"""The real code, run over every outcome of every dataset of a small universe, keeps what it claims.

`python -m tests.laws.test_enumeration NAME...` writes the worst neighbours of some cases to `one_pair.json`.
"""

import json
import re
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from dplearn.audit import WholeFit, observe
from dplearn.audit.cases import CASES, LONG_CASES, REPLAYS
from dplearn.chance import SeededDice
from dplearn.learners.votes import AGGREGATIONS
from tests.laws.conftest import OnePair
from tests.laws.mutants import in_places

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
synthetic_table_with_public_rows
search_over_gaussian_fits search_and_refit gaussian_search_by_permute_and_flip
search_by_absolute_error_and_noisy_scores search_by_log_loss_and_permute_and_flip
search_by_absolute_error_and_permute_and_flip search_by_log_loss_and_noisy_scores best_of_gaussian_runs
additive_numbers_shapes additive_outputs_shapes additive_outputs_step gaussian_sums_by_shares multi_output
k_means_round frequent_keys_of_two_columns searching_min_max_clipper distribution_of_four_values
sparse_vector_renewed naive_bayes_of_two_records added_additive_numbers_shapes labels_of_two_clusters
"""
LIKE_OTHERS = re.findall(r"\w+", NAMES_LIKE_OTHERS)


#: Cases of which two neighbours run with every change, and all tables at night: the pair that attains the
#: most, as places in the universe; how much of the claim it shows; how the digest of its two laws begins.
FILE = Path(__file__).with_name("one_pair.json")
ONE_PAIR = json.loads(FILE.read_text(encoding="utf-8"))

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
    case = OnePair.of(CASES[name], in_places(name, *pair))
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
    replayed = {name for case in REPLAYS.values() for name in case.verifies}
    assert fits - by_day == {"AdditiveClassifier"} <= replayed


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
    assert report.n_pairs == 81 * 8 / 2
    assert report.n_distributions == 15  # all counts of four votes
    assert report.keeps(case.claim)


def worst_neighbours(name):
    case = CASES[name]
    pair = case.run().pair
    if not case.ordered:  # the rows that both have stand first
        both = Counter(pair[0]) & Counter(pair[1])
        pair = tuple((*both.elements(), *(Counter(rows) - both).elements()) for rows in pair)
    one = OnePair.of(case, pair)
    places = [[case.universe.index(record) for record in rows] for rows in pair]
    share = min(0.9999, int(1000 * one.run().tightness(case.claim)) / 1000)
    return [*places, share, one.digest()[:12]]


if __name__ == "__main__":
    found = ONE_PAIR | {name: worst_neighbours(name) for name in sys.argv[1:]}
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in found.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
