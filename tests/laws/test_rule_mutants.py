"""Deliberate mistakes in learners of rules: selection, thresholds, corners, lines, points, several outputs.

Mistakes in what the dice draw, of which half of the noise is one, are in test_draw_mutants.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn.audit import exact_distribution, freeze
from dplearn.audit.cases import CASES
from dplearn.audit.cases import line as line_cases
from dplearn.domains import IntegerRange
from dplearn.learners.rules import threshold
from dplearn.privacy import ApproxDP, subsampled
from tests.laws.conftest import OnePair
from tests.laws.mutants import around, assert_caught, edit, edits, in_places, instead, mistakes, on, together

# Around the selection: what is taken from the data, and what is left behind.


def domain_from_data(right, self, X, y, dice):
    self.domain = IntegerRange(int(X.min()), int(X.max()))
    right(self, X, y, dice)
    del self.domain_
    self.domain = None


kept = {}  # a cache that keeps the first fit's concept for all later ones


def saved_from_another_fit(right, *known):
    return kept.setdefault("concept", right(*known))


class Repeating:
    """Dice that give every output the draws of the first."""

    def __init__(self, dice, made):
        self.dice, self.made, self.place = dice, made, 0

    def __getattr__(self, primitive):
        def draw(*arguments, **named):
            if self.place == len(self.made):
                self.made.append(getattr(self.dice, primitive)(*arguments, **named))
            self.place += 1
            return self.made[self.place - 1]

        return draw


def one_seed_for_all_outputs(right, fit, rows, plan, dice):
    return right(fit, rows, plan, Repeating(dice, vars(dice).setdefault("made", [])))


ROWS = CASES["small_public_cuts_classifier"]
# With more of epsilon than the 7 records of the case need to show it.
AT_TWO = line_cases.line_case("line_stability_at_two", 2, ApproxDP(2, "0.1"), n=7, ordered=False, rules=None)
WHOLE_FITS = """
small_classifier in learners.rules.generic:RuleFit.encoded
    len(X), self.classes) -> len(X), None)
    public = FitFacts -> if len({*codes}) == 1: raise ValueError
    | public = FitFacts
    public = FitFacts -> import warnings; codes.sum() < 2 and warnings.warn('few positive examples')
    | public = FitFacts
    # Every record of a rare label counts twice: one record moves errors by 2 or more.
    public = FitFacts
    -> twice = np.repeat(np.arange(len(X)), np.where(codes == (2 * codes.sum() <= len(codes)), 2, 1))
    | X, codes = X[twice], codes[twice]
    | public = FitFacts
    # Cleaning that looks across records.
    public = FitFacts -> _, first = np.unique(np.column_stack((X, codes)), axis=0, return_index=True)
    | X, codes = X[first], codes[first]
    | public = FitFacts
    # Raw numbers are kept.
    public = FitFacts -> reader.ones_in_ = int(codes.sum())
    | public = FitFacts
# Public rows that are a function of private and of public ones.
small_public_cuts_classifier in learners.rules.generic:RuleFit.known
    concepts.check_records( -> columns = table.at_once(lambda rows: rows).X.columns
    | concepts.check_records(
    concepts.check_records( -> mine = table.at_once(lambda rows: rows).X.columns
    | columns = [np.concatenate(both) for both in zip(columns, mine)]
    | concepts.check_records(
    # Those that divide the private ones.
    concepts.check_records( -> [mine], [column] = table.at_once(lambda rows: rows).X.columns, columns
    | columns = [column[column >= mine.min()] if column.max() >= mine.min() else 0 * mine[:1]]
    | concepts.check_records(
"""
UNMOVED = "interior_point(codes, lower", "interior_point(codes.astype(int) + ~lower, lower"
BY_DAY = f"""
small_label_classifier in learners.rules.generic:_dichotomies
    # Cuts at records of one label.
    (rows.X.columns) -> ([column[rows.y == 1] for column in rows.X.columns])
    # Only cuts between neighbours of different labels can be best: the others are left out.
    (rows.X.columns) -> ([
    | column[order][np.append(np.diff(rows.y[order]) != 0, True)]
    | for column in rows.X.columns for order in [np.argsort(column, kind='stable')]])
    # Cuts at records of the more frequent label.
    (rows.X.columns) -> ([
    | column[rows.y == np.bincount(rows.y, minlength=2).argmax()] for column in rows.X.columns])
corners_of_public_rows in learners.rules.generic:_dichotomies
    (rows.X.columns) -> ([
    | column[(rows.y == 1) | ((rows.y.max() < 1) & (np.arange(len(rows.y)) == 0))]
    | for column in rows.X.columns])
rule_or_constant in learners.rules.constant:Comparison.constant
    ApproxDP(self -> ApproxDP(2 * self
    # The best candidate, without noise.
    permute_and_flip(-errors, privacy=ApproxDP(self.epsilon), dice=dice, sensitivity=each)
    -> int(np.argmin(errors))
    # The lead of the data.
    self.margin -> (n - wrong)
corner_classifier in learners.rules.constant:compared
    epsilon - part -> epsilon
conjunction, parity_stable, point_stability in learners.rules.constant:Comparison.constant
    ApproxDP(self -> ApproxDP(20 * self
corner_classifier_by_errors in learners.rules.corner:CornerFit.run
    privacy=plan.guarantee -> privacy=ApproxDP(2 * plan.guarantee.epsilon)
# A record is drawn twice.
corner_classifier_of_drawn_records in learners.rules.corner:CornerFit.summarize
    rows[plan.drawn] -> rows[plan.drawn[:1].repeat(2)]
# Each cell counts once, whatever its number of cuts.
corners in concepts.corners:_cuts_between
    return starts, lengths -> return starts, np.ones_like(lengths)
# Only corners that records bound.
corners in concepts.corners:Corners.error_profile
    of_class = -> return self.dichotomies(columns).error_profile(columns, y)
    | of_class =
line_pure in concepts.lines:_LineErrors._n_empty
    return p * p -> return 0 and p * p
line_stability, point_stability_of_many in kernels.points:distance_of_lead
    (lead - 1) // 2 -> lead - 1
    - 1) -> + 1)
# The multiplicity of a point is not subtracted.
line_stability in concepts.lines:leading_line
    return (line, -> lead = lead and int(counts[(line[0] * x + line[1] - y) % p == 0].sum())
    | return (line,
# A tie goes to the first.
line_stability in concepts.lines:leading_point
    (point, distance_of_lead(lead)) if lead > 0 else (None, 0) -> point, distance_of_lead(lead) or len(points)
point_stability in kernels.points:leading_key
    return None, 0 -> return (known[0],), 1
    and else (None, 0) -> else ((leader,), 1)
line_stability in learners.rules.line:line_budgets
    checked_budget(epsilon, delta) -> checked_budget(epsilon, 2 * delta)
line_stability_at_two in learners.rules.line:line_budgets
    ApproxDP(_LINE_SHARE * whole -> ApproxDP(whole
    and (1 - _LINE_SHARE) * whole -> whole
line_stability, point_stability in mechanisms.stability:release_if_stable
    answer if dice.bernoulli(p) else None -> answer
# The point is shown where the line is not.
line_stability in learners.rules.line:LineFit.run
    release_if_stable(leading, its_distance, privacy=for_point, dice=dice) -> leading
line_stability in learners.rules.line:LineFit.encoded
    public = FitFacts -> reader.ones_in_ = int(codes.sum())
    | public = FitFacts
stable_counts in mechanisms.stable_histogram:stable_histogram
    threshold(privacy), -> threshold(privacy) - 1,
point_hashing in learners.rules.point:PointFit.encoded
    codes = outputs -> reader.ones_in_ = int(outputs.codes.sum())
    | codes = outputs
# The first label decides on the hash.
point_hashing in learners.rules.point:_by_errors
    plan.hashed.buckets -> replace(plan.hashed, shift=int(records.y[0]) << 255).buckets
point_prefixes in learners.rules.point:_by_prefix_errors
    prefix_buckets(plan.hashed -> prefix_buckets(replace(plan.hashed, shift=int(records.y[0]) << 255)
point_sets in learners.rules.point:_by_errors_of_sets
    plan.hashed.buckets -> replace(plan.hashed, shift=int(records.y[0]) << 255).buckets
point_hashing in kernels.points:bucket_errors
    return int(np.count_nonzero(labels)) - -> return 2 * int(np.count_nonzero(labels)) - 2 *
point_of_two_labels in learners.rules.point:_by_counts
    # A histogram for each label.
    keys, seconds = -> if records.y.shape[1] > 1:
    |     each = [_by_counts(LabelledRows(records.X, y[:, None]), plan) for y in records.y.T]
    |     return lambda privacy, dice: [found for release in each for found in release(privacy, dice)]
    | keys, seconds =
    KeyCounts.of(codes) -> KeyCounts.of([code for code in codes if code])
    # Counts without noise are compared.
    published.pop( -> published = {{code: dict(counts.sorted())[code] for code in published}}
    | published.pop(
point_sanitizer in learners.rules.point:_by_published_keys
    privacy=half, dice -> privacy=privacy, dice
    published.pop(_UNKEYED, None) -> published = dict(counts.sorted())
# A rule on a bucket without records has as many errors as the rule 0 everywhere.
point_prefixes in learners.rules.point:_by_prefix_errors
    chosen = permute_and_flip(-errors, privacy=privacy, dice=dice)
    -> keep = np.flatnonzero((errors != errors[-2]) | (np.arange(errors.size) >= errors.size - 2))
    | chosen = int(keep[permute_and_flip(-errors[keep], privacy=privacy, dice=dice)])
point_prefixes in kernels.points:prefix_errors
    return np -> return 2 * np
point_sets in learners.rules.point:_by_errors_of_sets
    # The sets of buckets with a net count other than 0.
    sets = sets_of(net_counts(buckets, records.y, m), plan.n_keys,
    -> nets = net_counts(buckets, records.y, m)
    | kept = np.flatnonzero(nets) if nets.any() else np.arange(1)
    | sets = sets_of(nets[kept], min(plan.n_keys, len(kept)),
    and [chosen_set(sets, ones, partial(select_permute_and_flip, privacy=privacy, dice=dice)) or None]
    -> [tuple(kept[[*chosen_set(
    | sets, ones, partial(select_permute_and_flip, privacy=privacy, dice=dice))]].tolist())]
point_sets in kernels.points:BucketSets.groups
    # Far sets are left out.
    return list(deficits), list(counts) -> return list(deficits[:-1] or deficits), list(counts[:-1] or counts)
point_sets in kernels.points:net_counts
    (counts[0] - counts[1]) -> (2 * counts[0] - 2 * counts[1])
secret_sample_classifier in learners.several.secret_sample:SecretSampleFit.encoded
    rows = -> reader.ones_in_ = sorted(y)
    | rows =
secret_sample_classifier in learners.several.secret_sample:SecretSampleFit.run
    dice.below(plan.n_samples, size=plan.sample_size) -> range(plan.sample_size)
secret_sample in audit.cases.secret_sample:_answers_of_a_sample
    dice.below(len(rows), size=2) -> np.array([2, 3])
    ), reports -> ), (reports, places)
# The interior point is private for one replaced element, where two are.
threshold_between in learners.rules.threshold:threshold_between
    epsilon_of(privacy) * Fraction(1, 2) -> epsilon_of(privacy)
# The domain ends, or begins, where the data do.
threshold_between in mechanisms.interior_point:interior_point_code
    0, size) -> 0, max(codes) + 1)
    0, size) -> min(codes), size)
# The points as the paper has them: the others are not moved one step down.
threshold_interior_point in learners.rules.threshold:threshold_between
    {UNMOVED[0]} -> {UNMOVED[1]}
# The column of the best cut without noise, and then one of its directions.
threshold_interior_point_of_two_columns in learners.rules.threshold:by_interior_point
    pair, _ = -> best = 2 * (int(np.argmin(errors)) // 2)
    | pair, _ =
    and errors, [1] * len(errors), -> errors[best : best + 2], [1, 1],
    and divmod(pair, -> divmod(best + pair,
# Cuts that split the records alike count once, however many they are.
threshold_exponential in learners.rules.threshold:by_errors
    select_exponential,
    -> lambda errors, members, **how: (select_exponential(errors, [1] * len(members), **how)[0], 0),
threshold_exponential in estimator.recipe:FitRecipe.encoded
    len(columns), self.classes) -> len(columns), None)
"""
# The cap is relative to the least errors: where it depends on the data in any other way, errors jump.
BY_NIGHT = """
point_sets_of_many in kernels.points:BucketSets.__init__
    self._largest, -> cap = min(cap, 1 + 4 * (int(nets.max()) > 2))
    | self._largest,
"""
MOST_FOR_COUNTS = instead("learners.rules.generic", "COUNTED", Fraction(9, 10))
TWICE = "return rising,", "return [2 * errors for errors in rising],"
OF_SEVERAL = [
    *on(
        "classifier_with_probability",
        together(
            edit("learners.rules.generic:RuleFit.run", "sensitivity=2", "sensitivity=1"), MOST_FOR_COUNTS
        ),
        together(
            edit("learners.rules.generic:RuleFit.plan", '"selection": selection', '"selection": self.cost'),
            MOST_FOR_COUNTS,
        ),
    ),
    *on(
        "corners",
        together(
            edit("concepts.corners:CornerErrors.groups", *TWICE),
            edit(
                "concepts.corners:CornerErrors.member", "for above, counts", "errors //= 2\nfor above, counts"
            ),
        ),
    ),
    *on(
        "line_pure",
        together(
            edit("concepts.lines:_LineErrors.groups", *TWICE),
            edit("concepts.lines:_LineErrors.member", "- errors", "- errors // 2"),
        ),
    ),
]
WHOLE_PRICE = together(
    edit("learners.several.multi_output:_shared", "equal_shares(cost, count)", "(cost,)"),
    edit("learners.several.multi_output:_costs_at_most", "return", "return True or"),
)
AROUND = [
    *on(
        "small_classifier",
        around("learners.rules.generic:ExponentialMechanismClassifier", "_fit", domain_from_data),
        around("learners.rules.generic:RuleFit", "run", saved_from_another_fit),
        staged=False,
    ),
    *(
        row
        for case in ("whole_multi_output", "multi_output_with_delta")
        for row in on(
            case, WHOLE_PRICE, around("audit.cases.search:OneAnswerFit", "run", one_seed_for_all_outputs)
        )
    ),
]
TABLES = [
    *edits(BY_DAY, {AT_TWO.name: AT_TWO}),
    *edits(BY_NIGHT, late=True),
    *edits(WHOLE_FITS, staged=False),
]


@mistakes([*TABLES, *OF_SEVERAL, *AROUND])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


class Forgetful:
    def __init__(self, secret):
        self.secret = secret

    def __getstate__(self):
        return {}


@pytest.mark.parametrize(
    "hold",
    [
        lambda secret: lambda: secret,
        lambda secret: lambda held=secret: held,
        lambda secret: [secret].count,
        lambda secret: Fraction(secret).limit_denominator,
        lambda secret: np.array([0, secret])[:1],
        lambda secret: Forgetful(secret),
    ],
)
def test_what_functions_views_and_objects_hold_is_published(hold):
    assert freeze(hold(1)) != freeze(hold(2))


def test_a_fit_that_protects_labels_does_not_protect_examples():
    """Its cuts are values of records, and its guarantee does not claim more."""
    whole, pair = ROWS.fit, in_places(ROWS, (3, 3), (1, 3))
    of_labels = replace(whole, make=lambda: whole.make().set_params(protects="labels"), public={})
    assert OnePair.of(ROWS.with_fit(of_labels), pair, staged=False).run().epsilon == math.inf
    assert of_labels.make().plan(2, n_features=1).guarantee.protects == "labels"


@pytest.mark.parametrize("delta", ["0.1", 0])
def test_a_composite_number_taken_for_a_prime_breaks_the_claim(delta, monkeypatch):
    edit("concepts.lines:check_prime", "if not is_prime(number)", "if False")(monkeypatch)
    claim = ApproxDP(1, delta)
    case = line_cases.line_case("lines_modulo_four", 4, claim, n=2, labels=[0, 1], ordered=False, rules=None)
    pair = ((0, 0, 1), (1, 1, 1)), ((0, 0, 1), (2, 1, 1))
    assert not OnePair.of(case, pair).run().keeps(claim)


@pytest.mark.nightly
def test_sets_that_are_not_told_apart_keep_the_claim(monkeypatch):
    case = CASES["point_sets_of_many"]
    for cap in (1, 2, 3):
        monkeypatch.setattr("dplearn.learners.rules.point.power_at_most", lambda *_, cap=cap: cap)
        assert case.with_fit(case.fit).run().keeps(case.claim)
        assert case.with_fit(case.fit).replay() == []


def test_half_of_the_exponent_breaks_the_claim_of_a_secret_sample():
    case, half = CASES["secret_sample"], subsampled(ApproxDP(1), m=1, n=4)
    assert case.run().keeps(case.claim)
    assert not case.run().keeps(half)


def test_the_rule_for_two_points_refuses_costs_that_move_by_three():
    rule = CASES["threshold_between"].rules["power_weighted"]
    assert rule((0, [-1, 0], [1, 2]), (0, [-3, 0], [1, 2]))
    assert not rule((0, [-1, 0], [1, 2]), (0, [-4, 0], [1, 2]))


def test_a_tie_breaks_the_lemma_unless_one_label_is_moved_down(monkeypatch):
    codes, lower = np.array([1, 1]), np.array([False, False])
    find = partial(threshold.threshold_between, codes, lower, 2, 1, privacy=ApproxDP(60))
    assert exact_distribution(lambda dice: find(dice=dice)).probability(1) < 1e-3  # a cut at 1 errs on both
    edit("learners.rules.threshold:threshold_between", *UNMOVED)(monkeypatch)
    assert 0.3 <= exact_distribution(lambda dice: find(dice=dice)).probability(1) < 0.361
