"""Deliberate mistakes in learners of rules: selection, thresholds, corners, lines, points, several outputs.

Mistakes in what the dice draw, of which half of the noise is one, are in test_draw_mutants.
"""

import importlib
import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplearn import ExponentialMechanismClassifier
from dplearn.audit import exact_distribution, freeze
from dplearn.audit.cases import CASES, search
from dplearn.audit.cases import line as line_cases
from dplearn.concepts import corners
from dplearn.concepts import lines as concepts
from dplearn.domains import IntegerRange
from dplearn.kernels import points as point_core
from dplearn.learners import LineClassifier
from dplearn.learners.rules import constant, corner, generic, line, point, threshold
from dplearn.learners.several import multi_output
from dplearn.mechanisms import interior_point_code, select_exponential, select_permute_and_flip
from dplearn.privacy import ApproxDP, subsampled
from dplearn.table import LabelledRows
from tests.laws.conftest import OnePair
from tests.laws.mutants import (
    Mistake,
    around,
    assert_caught,
    given,
    in_places,
    instead,
    instead_of_the_fit,
    mistakes,
    named,
    with_epsilon,
)
from tests.laws.test_draw_mutants import in_draws

HISTOGRAM = importlib.import_module("dplearn.mechanisms.stable_histogram")
SMALL, COUNTED = CASES["small_classifier"], CASES["classifier_with_probability"]


# Around the selection: what is taken from the data, and what is left behind.


def domain_from_data(right, self, X, y, dice):
    self.domain = IntegerRange(int(X.min()), int(X.max()))
    right(self, X, y, dice)
    del self.domain_
    self.domain = None


def labels_from_data(right, self, X, y, dice):
    self.classes = sorted(set(y.tolist()))
    right(self, X, y, dice)
    self.classes = None


def exception_on_data(right, self, X, y, dice):
    if len(set(y.tolist())) == 1:
        raise ValueError("only one class in y")
    right(self, X, y, dice)


def warning_on_data(right, self, X, y, dice):
    if (y == "yes").sum() < 2:
        warnings.warn("few positive examples", stacklevel=1)
    right(self, X, y, dice)


def raw_errors_kept(right, self, X, y, dice):
    right(self, X, y, dice)
    self.training_errors_ = int((self.predict(X) != y).sum())


def weights_by_label(right, self, X, y, dice):
    """Every record of a rare label counts twice: one record moves errors by 2 or more."""
    repeat = np.where(y == ("yes" if (y == "yes").sum() <= len(y) / 2 else "no"), 2, 1)
    right(self, np.repeat(X, repeat, axis=0), np.repeat(y, repeat), dice)


def duplicates_dropped(right, self, X, y, dice):
    """Cleaning that looks across records."""
    _, first = np.unique([f"{x}{label}" for x, label in zip(X[:, 0], y, strict=True)], return_index=True)
    right(self, X[first], y[first], dice)


kept = {}  # a cache that keeps the first fit's concept for all later ones


def saved_from_another_fit(right, self, X, y, dice):
    right(self, X, y, dice)
    self.concept_ = kept.setdefault("concept", self.concept_)


FITS = [
    domain_from_data,
    labels_from_data,
    exception_on_data,
    warning_on_data,
    weights_by_label,
    duplicates_dropped,
    raw_errors_kept,
    saved_from_another_fit,
]
AROUND = [Mistake(around(ExponentialMechanismClassifier, "_fit", fit), SMALL, staged=False) for fit in FITS]


def the_whole_epsilon_for_the_rule(right, learner, *known, **how):
    plan = right(learner, *known, **how)
    return replace(plan, keeps={**plan.keeps, "selection": plan.guarantee})


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


def with_most_of_epsilon_for_counts(mistake):
    """A mistake beside counts of labels that have nine tenths of epsilon."""

    def patch(monkeypatch):
        monkeypatch.setattr(generic, "_COUNTED", Fraction(9, 10))
        mistake(monkeypatch)

    return Mistake(named(mistake.__name__, patch), "classifier_with_probability")


OF_COUNTS = [
    with_most_of_epsilon_for_counts(given("of_an_added_record", generic, "laplace_counts", sensitivity=1)),
    with_most_of_epsilon_for_counts(around(generic.RuleFit, "plan", the_whole_epsilon_for_the_rule)),
]


# Concepts that public rows determine


def by_rows(chosen):
    """The dichotomies of the records that a function of all labels chooses."""

    def dichotomies(concepts, table):
        records = table.at_once(lambda rows: rows)
        keep = chosen(records.y)
        return concepts.dichotomies([column[keep] for column in records.X.columns])

    return dichotomies


def where_labels_change(concepts, table):
    """Only cuts between neighbours of different labels can be best: the others are left out."""
    records = table.at_once(lambda rows: rows)
    order = np.argsort(records.X.columns[0], kind="stable")
    labels = records.y[order]
    last = order[np.append(labels[1:] != labels[:-1], True)]
    return concepts.dichotomies([column[last] for column in records.X.columns])


def records_of_the_second_label(y):
    keep = y == 1
    keep[0] |= not keep.any()
    return keep


def with_rows(rows_of):
    """Public rows that are a function of private and of public ones."""

    def known(right, self, facts, table):
        public = self.fit_arguments["X_public"]
        mine = np.column_stack(table.at_once(lambda rows: rows).X.columns)
        changed = type(public)(rows_of(mine, public.X))
        return right(self.given(fit_arguments={"X_public": changed}), facts, table)

    return Mistake(around(generic.RuleFit, "known", known, rows_of.__name__), ROWS, staged=False)


def the_private_rows(mine, public):
    return mine


def public_and_private_rows(mine, public):
    return np.vstack((public, mine))


def public_rows_that_divide_the_private(mine, public):
    return np.array([row for row in public.tolist() if (mine[:, 0] <= row[0]).any()] or [[0]])


def cuts(title, wrong, case="small_label_classifier"):
    return Mistake(instead(generic, "_dichotomies", wrong, title), case)


ROWS = CASES["small_public_cuts_classifier"]
CUTS = [
    cuts("at_records_of_one_label", by_rows(lambda y: y == 1)),
    cuts("where_labels_change", where_labels_change),
    cuts("of_the_more_frequent_label", by_rows(lambda y: y == np.bincount(y, minlength=2).argmax())),
    cuts("of_the_second_label", by_rows(records_of_the_second_label), "corners_of_public_rows"),
    *map(with_rows, [the_private_rows, public_and_private_rows, public_rows_that_divide_the_private]),
]


def test_a_fit_that_protects_labels_does_not_protect_examples():
    """Its cuts are values of records, and its guarantee does not claim more."""
    whole, pair = ROWS.fit, in_places(ROWS, (3, 3), (1, 3))
    of_labels = replace(whole, make=lambda: whole.make().set_params(protects="labels"), public={})
    assert OnePair.of(ROWS.with_fit(of_labels), pair, staged=False).run().epsilon == math.inf
    assert of_labels.make().plan(2, n_features=1).guarantee.protects == "labels"


# Corners and lines


def errors_counted_twice(kind):
    """Groups of doubled errors, whose members are those of the right ones."""

    def patch(monkeypatch):
        groups, member = kind.groups, kind.member

        def doubled(self):
            errors, counts = groups(self)
            return [2 * each for each in errors], counts

        monkeypatch.setattr(kind, "groups", doubled)
        monkeypatch.setattr(kind, "member", lambda self, errors, index: member(self, errors // 2, index))

    return named("errors_counted_twice", patch)


def cells_for_cuts(right, values, size):
    """Each cell counts once, whatever its number of cuts."""
    return corners._at(right(values, size).starts)


def only_corners_bounded_by_records(concepts, columns, y):
    return concepts.dichotomies(columns).error_profile(columns, y)


def no_line_is_empty(_):
    """Only lines through records are candidates."""
    return 0


def multiplicity_not_subtracted(right, points, p):
    found, distance = right(points, p)
    if found is None:
        return found, distance
    slope, intercept = found
    on_it = [count for (x, y), count in points.items() if (slope * x + intercept - y) % p == 0]
    return found, concepts.distance_of_lead(sum(on_it))


def point_shown_where_the_line_is_not(right, answer, distance, *, privacy, dice):
    spoken = right(answer, distance, privacy=privacy, dice=dice)
    return answer if privacy == line.line_budgets(1, "0.1")[1] else spoken


def tie_to_the_first(right, points):
    found, distance = right(points)
    return found or next(iter(points), None), distance or len(points)


def left_behind(place, learner):
    """Labels of the summarised rows that a learner publishes."""

    def patch(monkeypatch):
        found, summarize, publish = [], place.summarize, learner._publish

        def summarized(self, rows, plan):
            found[:] = [sorted(rows.y.tolist())]
            return summarize(self, rows, plan)

        def published(self, *known):
            publish(self, *known)
            [self.found_] = found

        monkeypatch.setattr(place, "summarize", summarized)
        monkeypatch.setattr(learner, "_publish", published)

    return named("left_behind", patch)


def one_delta_for_both(epsilon, delta):
    return (ApproxDP(epsilon / 2, delta),) * 2


def one_epsilon_for_both(epsilon, delta):
    return (ApproxDP(epsilon, delta / 2),) * 2


def shown_without_a_test(answer, *_, **__):
    return answer


def lead_for_a_distance(lead):
    return max(0, lead - 1)


def distance_one_too_far(lead):
    return (lead + 1) // 2


# With more of epsilon than the 7 records of the case need to show it.
AT_TWO = line_cases.line_case("line_stability_at_two", 2, ApproxDP(2, "0.1"), n=7, ordered=False, rules=None)


def all_for_the_rule(right, epsilon, beta):
    comparison, _, rest = right(epsilon, beta)
    return comparison, epsilon, rest


def as_counted(_, self, wrong, ones, n, dice):
    """The best candidate, without noise."""
    return [None, 0, 1][int(np.argmin([wrong - self.margin, ones, n - ones]))]


def lead_of_the_data(right, self, wrong, ones, n, dice):
    return right(replace(self, margin=n - wrong), wrong, ones, n, dice)


CORNERS_AND_LINES = [
    Mistake(
        instead(constant, "permute_and_flip", with_epsilon(constant.permute_and_flip, 2)), "rule_or_constant"
    ),
    Mistake(around(constant.Comparison, "constant", as_counted), "rule_or_constant"),
    Mistake(around(constant.Comparison, "constant", lead_of_the_data), "rule_or_constant"),
    Mistake(around(corner, "compared", all_for_the_rule), "corner_classifier"),
    *(
        Mistake(instead(constant, "permute_and_flip", with_epsilon(constant.permute_and_flip, 20)), case)
        for case in ("conjunction", "parity_stable", "point_stability")
    ),
    Mistake(
        instead(corner, "select_exponential", with_epsilon(select_exponential, 2)),
        "corner_classifier_by_errors",
    ),
    Mistake(around(corners, "_cuts_between", cells_for_cuts), "corners"),
    Mistake(instead(corners.Corners, "error_profile", only_corners_bounded_by_records), "corners"),
    Mistake(errors_counted_twice(corners.CornerErrors), "corners"),
    Mistake(errors_counted_twice(concepts._LineErrors), "line_pure"),
    Mistake(instead(concepts._LineErrors, "_n_empty", no_line_is_empty), "line_pure"),
    Mistake(instead(concepts, "distance_of_lead", lead_for_a_distance), "line_stability"),
    Mistake(instead(concepts, "distance_of_lead", distance_one_too_far), "line_stability"),
    Mistake(around(line, "leading_line", multiplicity_not_subtracted), "line_stability"),
    Mistake(around(line, "leading_point", tie_to_the_first), "line_stability"),
    Mistake(instead(line, "line_budgets", one_delta_for_both), "line_stability"),
    Mistake(instead(line, "line_budgets", one_epsilon_for_both), AT_TWO),
    Mistake(instead(line, "release_if_stable", shown_without_a_test), "line_stability"),
    Mistake(around(line, "release_if_stable", point_shown_where_the_line_is_not), "line_stability"),
    Mistake(left_behind(line.LineFit, LineClassifier), "line_stability"),
]


@pytest.mark.parametrize("delta", ["0.1", 0])
def test_a_composite_number_taken_for_a_prime_breaks_the_claim(delta, monkeypatch):
    monkeypatch.setattr(concepts, "is_prime", lambda _: True)
    claim = ApproxDP(1, delta)
    case = line_cases.line_case("lines_modulo_four", 4, claim, n=2, labels=[0, 1], ordered=False, rules=None)
    pair = ((0, 0, 1), (1, 1, 1)), ((0, 0, 1), (2, 1, 1))
    assert not OnePair.of(case, pair).run().keeps(claim)


# Points


def tie_of_keys_to_the_first(right, keys, labels):
    found, distance = right(keys, labels)
    return found or (keys[0],), distance or 1


def hashed_by_labels(right, records, plan):
    """The first label decides on the hash."""
    hashed = replace(plan.hashed, shift=int(records.y[0]) << 255)
    return right(records, replace(plan, keeps={**plan.keeps, "hashed": hashed}))


def histogram_for_each_label(right, records, plan):
    X, y = records.X, records.y
    alone = [right(LabelledRows(X, y[:, [output]]), plan) for output in range(y.shape[1])]
    return lambda privacy, dice: [where for release in alone for where in release(privacy, dice)]


class OnlyWithKey(point.KeyCounts):
    @classmethod
    def of(cls, codes):
        return point_counts.of([code for code in codes if code])


point_counts = point.KeyCounts


def counts_without_noise_compared(right, counts, *, privacy, dice):
    true = dict(counts.sorted())
    return {code: true[code] for code in right(counts, privacy=privacy, dice=dice)}


def only_levels_and_buckets_with_records(right, qualities, *, privacy, dice):
    # A rule on a bucket without records has as many errors as the rule 0 everywhere.
    zero = qualities[-2]
    keep = np.flatnonzero((qualities != zero) | (np.arange(len(qualities)) >= len(qualities) - 2))
    return int(keep[right(qualities[keep], privacy=privacy, dice=dice)])


class OfSome(point.BucketSets):
    """The sets of buckets with a net count other than 0."""

    def __init__(self, nets, largest, cap):
        self.kept = np.flatnonzero(nets) if nets.any() else np.arange(1)
        super().__init__(nets[self.kept], min(largest, len(self.kept)), cap)

    def member(self, deficit, index):
        return tuple(int(self.kept[place]) for place in super().member(deficit, index))


class Near(point.BucketSets):
    """Far sets are left out."""

    def groups(self):
        deficits, counts = super().groups()
        return (deficits[:-1], counts[:-1]) if len(deficits) > 1 else (deficits, counts)


class Capped(point.BucketSets):
    """The cap is relative to the least errors: where it depends on the data in any other way, errors jump."""

    def __init__(self, nets, largest, cap):
        super().__init__(nets, largest, min(cap, 1 + 4 * (int(nets.max()) > 2)))


def counted_twice(name):
    return around(point, name, lambda right, *known: 2 * right(*known), f"{name}_counted_twice")


def rows_told(rows, dice):
    told, below = [], dice.below
    dice.below = lambda n, size=None: told.append(below(n, size)) or told[-1]
    return *CASES["secret_sample"].fit(rows, dice), told


def last_two(right, dice, n, size=None):
    return np.array([n - 2, n - 1])


def lower_bar(right, privacy):
    return right(privacy) - 1


POINTS = [
    Mistake(around(HISTOGRAM, "stable_histogram_threshold", lower_bar), "stable_counts"),
    Mistake(instead(point_core, "distance_of_lead", distance_one_too_far), "point_stability_of_many"),
    Mistake(instead(point_core, "distance_of_lead", lead_for_a_distance), "point_stability_of_many"),
    Mistake(instead(point, "release_if_stable", shown_without_a_test), "point_stability"),
    Mistake(around(point, "leading_key", tie_of_keys_to_the_first), "point_stability"),
    Mistake(left_behind(point.PointFit, point.PointClassifier), "point_hashing"),
    Mistake(around(point, "_by_errors", hashed_by_labels), "point_hashing"),
    Mistake(counted_twice("bucket_errors"), "point_hashing"),
    Mistake(around(point, "_by_counts", histogram_for_each_label), "point_of_two_labels"),
    Mistake(instead(point, "KeyCounts", OnlyWithKey), "point_of_two_labels"),
    Mistake(around(point, "stable_histogram", counts_without_noise_compared), "point_of_two_labels"),
    Mistake(around(point, "_by_prefix_errors", hashed_by_labels), "point_prefixes"),
    Mistake(around(point, "permute_and_flip", only_levels_and_buckets_with_records), "point_prefixes"),
    Mistake(counted_twice("prefix_errors"), "point_prefixes"),
    Mistake(around(point, "_by_errors_of_sets", hashed_by_labels), "point_sets"),
    Mistake(instead(point, "BucketSets", OfSome), "point_sets"),
    Mistake(instead(point, "BucketSets", Near), "point_sets"),
    Mistake(counted_twice("net_counts"), "point_sets"),
    Mistake(instead(point, "BucketSets", Capped), "point_sets_of_many", late=True),
    Mistake(left_behind(point.PointFit, point.PointClassifier), "secret_sample_classifier"),
    Mistake(in_draws("last_two", last_two, "below"), "secret_sample"),
    Mistake(instead_of_the_fit("rows_told", rows_told), "secret_sample"),
]


@pytest.mark.nightly
def test_sets_that_are_not_told_apart_keep_the_claim(monkeypatch):
    case = CASES["point_sets_of_many"]
    for cap in (1, 2, 3):
        monkeypatch.setattr(point, "power_at_most", lambda *_, cap=cap: cap)
        assert case.with_fit(case.fit).run().keeps(case.claim)
        assert case.with_fit(case.fit).replay() == []


def test_half_of_the_exponent_breaks_the_claim_of_a_secret_sample():
    case, half = CASES["secret_sample"], subsampled(ApproxDP(1), m=1, n=4)
    assert case.run().keeps(case.claim)
    assert not case.run().keeps(half)


# Thresholds


def domain_ends_at_the_greatest(right, points, size, **how):
    return right(points, max(points) + 1, **how)


def domain_begins_at_the_least(right, points, size, **how):
    low = min(points)
    return low + right([point - low for point in points], size - low, **how)


def free_column(errors, members, *, privacy, dice):
    """The column of the best cut without noise, and then one of its directions."""
    best = 2 * (int(np.argmin(errors)) // 2)
    direction, _ = select_permute_and_flip(errors[best : best + 2], members[:2], privacy=privacy, dice=dice)
    return best + direction, 0


def cuts_that_occur(errors, members, *, privacy, dice):
    """Cuts that split the records alike count once, however many they are."""
    return select_exponential(errors, [1] * len(members), privacy=privacy, dice=dice)[0], 0


def labels_found(right, y, n, classes):
    return right(y, n, None)


def unmoved(codes, lower, size, m, *, privacy, dice):
    """The points as the paper has them: the others are not moved one step down."""
    return threshold.threshold_between(codes.astype(int) + ~lower, lower, size, m, privacy=privacy, dice=dice)


#: The interior point is private for one replaced element, where two are.
FOR_ONE_POINT = with_epsilon(interior_point_code, 2)
OF_TWO_COLUMNS = "threshold_interior_point_of_two_columns"
THRESHOLDS = [
    Mistake(instead(threshold, "interior_point_code", FOR_ONE_POINT), "threshold_between"),
    Mistake(around(threshold, "interior_point_code", domain_ends_at_the_greatest), "threshold_between"),
    Mistake(around(threshold, "interior_point_code", domain_begins_at_the_least), "threshold_between"),
    Mistake(instead(threshold, "threshold_between", unmoved), "threshold_interior_point"),
    Mistake(instead(threshold, "select_permute_and_flip", free_column), OF_TWO_COLUMNS),
    Mistake(instead(threshold, "select_exponential", cuts_that_occur), "threshold_exponential"),
    Mistake(around(threshold, "read_labels", labels_found), "threshold_exponential"),
]


def test_the_rule_for_two_points_refuses_costs_that_move_by_three():
    rule = CASES["threshold_between"].rules["power_weighted"]
    assert rule((0, [-1, 0], [1, 2]), (0, [-3, 0], [1, 2]))
    assert not rule((0, [-1, 0], [1, 2]), (0, [-4, 0], [1, 2]))


@pytest.mark.parametrize(("find", "least"), [(threshold.threshold_between, 0), (unmoved, 0.3)])
def test_a_tie_breaks_the_lemma_unless_one_label_is_moved_down(find, least):
    codes, lower = np.array([1, 1]), np.array([False, False])
    distribution = exact_distribution(lambda dice: find(codes, lower, 2, 1, privacy=ApproxDP(60), dice=dice))
    assert least <= distribution.probability(1) < least + 1e-3 + least / 5  # a cut at 1 errs on both


# Several outputs


def the_whole_price_for_each_output(monkeypatch):
    monkeypatch.setattr(multi_output, "equal_shares", lambda privacy, count: (privacy,))
    monkeypatch.setattr(multi_output, "_costs_at_most", lambda cost, events: True)


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


OUTPUTS = [
    Mistake(patch, case)
    for patch in (
        the_whole_price_for_each_output,
        around(search.OneAnswerFit, "run", one_seed_for_all_outputs),
    )
    for case in ("whole_multi_output", "multi_output_with_delta")
]


@mistakes([*AROUND, *OF_COUNTS, *CUTS, *CORNERS_AND_LINES, *POINTS, *THRESHOLDS, *OUTPUTS])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)
