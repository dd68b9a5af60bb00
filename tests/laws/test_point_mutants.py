"""Deliberate mistakes around point functions: each breaks the claim, where the original keeps it."""

import importlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dplearn.audit import least_exp_epsilon
from dplearn.audit.cases import CASES
from dplearn.audit.enumeration import distribution_on
from dplearn.kernels import points as point_core
from dplearn.kernels.exact import at_most_exp
from dplearn.learners.rules import point
from dplearn.table.table import LabelledRows

SECRECY = importlib.import_module("dplearn.privacy.derived")
HISTOGRAM = importlib.import_module("dplearn.mechanisms.stable_histogram")


def holds_between(case, rows, others):
    one, other = (distribution_on(case.fit, given) for given in (rows, others))
    worst = [
        least_exp_epsilon(*distributions, case.claim.delta)[0]
        for distributions in ((one, other), (other, one))
    ]
    return all(found is not None and at_most_exp(found, case.claim.epsilon) for found in worst)


def lower_bar(monkeypatch):
    threshold = HISTOGRAM.stable_histogram_threshold
    monkeypatch.setattr(HISTOGRAM, "stable_histogram_threshold", lambda privacy: threshold(privacy) - 1)


def noise_for_one_key(monkeypatch):
    ratio = HISTOGRAM.decay_ratio
    monkeypatch.setattr(HISTOGRAM, "decay_ratio", lambda rate: ratio(2 * rate))


def distance_one_too_far(monkeypatch):
    monkeypatch.setattr(point_core, "distance_of_lead", lambda lead: (lead + 1) // 2)


def lead_for_a_distance(monkeypatch):
    monkeypatch.setattr(point_core, "distance_of_lead", lambda lead: max(0, lead - 1))


def shown_without_a_test(monkeypatch):
    monkeypatch.setattr(point, "release_if_stable", lambda answer, *_, **__: answer)


def tie_to_the_first(monkeypatch):
    honest = point_core.leading_key

    def leading(keys, labels):
        leader, distance = honest(keys, labels)
        return (leader or (keys[0],), distance)

    def spoken(answer, distance, *, privacy, dice):
        return answer if dice.bernoulli(privacy.delta * 2) else None

    monkeypatch.setattr(point, "leading_key", leading)
    monkeypatch.setattr(point, "release_if_stable", spoken)


def leader_kept_when_silent(monkeypatch):
    honest = point._by_lead

    def kept(records, plan):
        keys, release = records.X.columns[0].tolist(), honest(records, plan)
        leading, _ = point.leading_key(list(map(point.spelled, keys)), records.y.tolist())
        leader = None if leading is None else (keys[list(map(point.spelled, keys)).index(leading[0])],)
        return lambda privacy, dice: [shown or leader for shown in release(privacy, dice)]

    monkeypatch.setattr(point, "_by_lead", kept)


def errors_counted_twice(monkeypatch):
    honest = point.bucket_errors
    monkeypatch.setattr(point, "bucket_errors", lambda *given: 2 * honest(*given))


def best_bucket_without_noise(monkeypatch):
    monkeypatch.setattr(
        point, "permute_and_flip", lambda qualities, *, privacy, dice: int(np.argmax(qualities))
    )


def before(monkeypatch, name, look):
    """Let a function of the records and the plan see both before anything is computed."""
    honest = getattr(point, name)

    def looked_at(records, plan):
        look(records, plan)
        return honest(records, plan)

    monkeypatch.setattr(point, name, looked_at)


def count_of_negatives_leaks(monkeypatch):
    def look(records, plan):
        object.__setattr__(plan.hashed, "n_negatives", int((records.y == 0).sum()))

    before(monkeypatch, "_by_errors", look)


def hash_from_the_order_of_the_data(monkeypatch):
    def look(records, plan):
        first = int.from_bytes(point.spelled(records.X.columns[0][0])[:30], "big")
        object.__setattr__(plan.hashed, "shift", first)

    before(monkeypatch, "_by_errors", look)


def histogram_for_each_label(monkeypatch):
    honest = point._by_counts

    def of_each(records, plan):
        X, y = records.X, records.y
        alone = [honest(LabelledRows(X, y[:, [output]]), plan) for output in range(y.shape[1])]
        return lambda privacy, dice: [where for release in alone for where in release(privacy, dice)]

    monkeypatch.setattr(point, "_by_counts", of_each)


def only_records_with_a_key_counted(monkeypatch):
    counted = point.KeyCounts
    of_some = SimpleNamespace(of=lambda codes: counted.of([code for code in codes if code]))
    monkeypatch.setattr(point, "KeyCounts", of_some)


def counts_without_noise_compared(monkeypatch):
    honest = point.stable_histogram

    def released(counts, *, privacy, dice):
        true = dict(counts.sorted())
        return {code: true[code] for code in honest(counts, privacy=privacy, dice=dice)}

    monkeypatch.setattr(point, "stable_histogram", released)


def reseeded(monkeypatch, name):
    """Let the first label decide on the hash."""
    honest = getattr(point, name)

    def of_another(records, plan):
        hashed = replace(plan.hashed, shift=int(records.y[0]) << 255)
        return honest(records, replace(plan, keeps={**plan.keeps, "hashed": hashed}))

    monkeypatch.setattr(point, name, of_another)


def prefixes_hashed_by_labels(monkeypatch):
    reseeded(monkeypatch, "_by_prefix_errors")


def sets_hashed_by_labels(monkeypatch):
    reseeded(monkeypatch, "_by_errors_of_sets")


def only_levels_and_buckets_with_records(monkeypatch):
    honest = point.permute_and_flip

    def of_some(qualities, *, privacy, dice):
        # A rule on a bucket without records has as many errors as the rule 0 everywhere.
        zero = qualities[-2]
        kept = np.flatnonzero((qualities != zero) | (np.arange(len(qualities)) >= len(qualities) - 2))
        return int(kept[honest(qualities[kept], privacy=privacy, dice=dice)])

    monkeypatch.setattr(point, "permute_and_flip", of_some)


class OfSome(point.BucketSets):
    """The sets of buckets with a net count other than 0."""

    def __init__(self, nets, largest, cap):
        self.kept = np.flatnonzero(nets) if nets.any() else np.arange(1)
        super().__init__(nets[self.kept], min(largest, len(self.kept)), cap)

    def member(self, deficit, index):
        return tuple(int(self.kept[place]) for place in super().member(deficit, index))


def only_sets_of_buckets_with_records(monkeypatch):
    monkeypatch.setattr(point, "BucketSets", OfSome)


def far_sets_left_out(monkeypatch):
    class Near(point.BucketSets):
        def groups(self):
            deficits, counts = super().groups()
            return (deficits[:-1], counts[:-1]) if len(deficits) > 1 else (deficits, counts)

    monkeypatch.setattr(point, "BucketSets", Near)


def errors_of_prefixes_counted_twice(monkeypatch):
    honest = point.prefix_errors
    monkeypatch.setattr(point, "prefix_errors", lambda *given: 2 * honest(*given))


def best_set_without_noise(monkeypatch):
    monkeypatch.setattr(point, "select_permute_and_flip", lambda *_, **__: (0, 0))


def errors_of_sets_counted_twice(monkeypatch):
    honest = point.net_counts
    monkeypatch.setattr(point, "net_counts", lambda *given: 2 * honest(*given))


ALL_ZERO = (("a", 0),) * 3
A1, N1 = ("a", 1), (None, 1)
NO_LABELS = (("a", 0, 0),) * 2
#: From a mistake to the case, and the neighbours of its universe that show it worst.
MISTAKES = {
    lower_bar: ("stable_counts", ("a",) * 5 + (None,), ("a",) * 6),
    noise_for_one_key: ("stable_counts", ("a",) * 3 + (None,) * 3, ("a",) * 4 + (None,) * 2),
    distance_one_too_far: ("point_stability_of_many", ((None, 1), ("a", 0), *ALL_ZERO), (("a", 0),) * 5),
    lead_for_a_distance: (
        "point_stability_of_many",
        (*ALL_ZERO, (None, 1), (None, 1)),
        (*ALL_ZERO, (None, 0), (None, 1)),
    ),
    shown_without_a_test: ("point_stability", ((None, 1), *ALL_ZERO[1:]), ALL_ZERO),
    tie_to_the_first: ("point_stability", ((None, 0), *ALL_ZERO[1:]), ALL_ZERO),
    leader_kept_when_silent: ("point_stability", ((None, 1), *ALL_ZERO[1:]), ALL_ZERO),
    best_bucket_without_noise: ("point_hashing", ((None, 0), *ALL_ZERO[1:]), ALL_ZERO),
    count_of_negatives_leaks: ("point_hashing", (("a", 1), *ALL_ZERO[1:]), ALL_ZERO),
    histogram_for_each_label: ("point_of_two_labels", (*NO_LABELS, ("a", 1, 1)), (*NO_LABELS, ("a", 0, 0))),
    only_records_with_a_key_counted: (
        "point_of_two_labels",
        (("a", 0, 0), ("a", 0, 1), ("a", 0, 1)),
        (("a", 0, 0), ("a", 0, 0), ("a", 0, 1)),
    ),
    counts_without_noise_compared: (
        "point_of_two_labels",
        (("a", 1, 1), (None, 1, 0), (None, 0, 1)),
        (("a", 1, 1), ("a", 1, 1), (None, 0, 1)),
    ),
    errors_counted_twice: ("point_hashing", (("a", 1), *ALL_ZERO[1:]), ALL_ZERO),
    prefixes_hashed_by_labels: ("point_prefixes", ((A1, 0), (N1, 1)), ((N1, 1), (N1, 1))),
    only_levels_and_buckets_with_records: ("point_prefixes", ((A1, 0), (A1, 0)), ((A1, 1), (A1, 0))),
    errors_of_prefixes_counted_twice: ("point_prefixes", ((A1, 0), (A1, 1)), ((A1, 1), (A1, 1))),
    sets_hashed_by_labels: ("point_sets", (("a", 1), (b"x", 1)), ((None, 0), (b"x", 1))),
    only_sets_of_buckets_with_records: ("point_sets", (("a", 0), ("a", 1)), (("a", 0), ("a", 0))),
    far_sets_left_out: ("point_sets", (("a", 0), ("a", 1)), (("a", 1), ("a", 1))),
    best_set_without_noise: ("point_sets", (("a", 0), ("a", 0)), ((None, 1), ("a", 0))),
    errors_of_sets_counted_twice: ("point_sets", (("a", 1), (None, 1)), (("a", 0), (None, 1))),
    hash_from_the_order_of_the_data: ("point_hashing", ((None, 0), *ALL_ZERO[1:]), ALL_ZERO),
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_breaks_the_claim(mistake, monkeypatch):
    name, *pair = MISTAKES[mistake]
    assert holds_between(CASES[name], *pair)
    mistake(monkeypatch)
    assert not holds_between(CASES[name], *pair)


@pytest.mark.nightly
def test_sets_that_are_not_told_apart_keep_the_claim(monkeypatch):
    case = CASES["point_sets_of_many"]
    for cap in (1, 2, 3):
        monkeypatch.setattr(point, "power_at_most", lambda *_, cap=cap: cap)
        assert case.with_fit(case.fit).run().keeps(case.claim)
        assert case.with_fit(case.fit).replay() == []


def test_errors_capped_at_a_number_of_their_own_break_the_claim(monkeypatch):
    """The cap is relative to the least errors: where it depends on the data in any other way, errors jump."""

    class Capped(point.BucketSets):
        def __init__(self, nets, largest, cap):
            super().__init__(nets, largest, min(cap, 1 + 4 * (int(nets.max()) > 2)))

    monkeypatch.setattr(point, "BucketSets", Capped)
    case = CASES["point_sets_of_many"]
    assert not case.with_fit(case.fit).run().keeps(case.claim)


# --- Secret samples. ---

PAIR = (((("a", 1),) * 3), (("a", 1), ("a", 1), ("a", 0)))


def test_the_secret_sample_of_a_classifier_keeps_its_claim():
    assert holds_between(CASES["secret_sample_classifier"], *PAIR)


class Drawn:
    """Dice whose uniform draws are looked at."""

    def __init__(self, dice, look):
        self._dice, self._look = dice, look

    def below(self, n, size=None):
        return self._look(self._dice.below(n, size=size), n)

    def __getattr__(self, name):
        return getattr(self._dice, name)


def test_rows_drawn_in_public_break_the_claim_of_a_secret_sample():
    case = CASES["secret_sample"]

    def last_two(rows, dice):
        return case.fit(rows, Drawn(dice, lambda _, n: np.array([n - 2, n - 1])))

    assert not case.with_fit(last_two).run().keeps(case.claim)


def test_rows_that_are_told_break_the_claim_of_a_secret_sample():
    case = CASES["secret_sample"]

    def given(rows, dice):
        places = []
        shown, reports = case.fit(rows, Drawn(dice, lambda drawn, _: places.append(drawn) or drawn))
        return shown, (reports, places)

    assert not case.with_fit(given).run().keeps(case.claim)


def test_labels_that_are_read_from_the_sample_break_the_claim(monkeypatch):
    case = CASES["secret_sample_classifier"]
    found, summarize, publish = [], point.PointFit.summarize, point.PointClassifier._publish

    def rereads(self, rows, plan):
        found[:] = sorted(set(rows.y.tolist()))
        return summarize(self, rows, plan)

    def published(self, *given):
        publish(self, *given)
        self.found_ = list(found)

    monkeypatch.setattr(point.PointFit, "summarize", rereads)
    monkeypatch.setattr(point.PointClassifier, "_publish", published)
    assert not holds_between(case, *PAIR)


def test_a_sample_charged_at_half_its_exponent_breaks_the_claim():
    case = CASES["secret_sample"]
    half = SECRECY.subsampled(SECRECY.ApproxDP(1), m=1, n=4)
    assert case.run().keeps(case.claim)
    assert not case.run().keeps(half)
