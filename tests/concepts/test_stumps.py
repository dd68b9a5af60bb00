"""A class of stumps counts, orders and describes exactly its members, from 2 cuts to 2**64."""

from collections import Counter
from itertools import pairwise
from operator import eq, le, lt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.concepts import Conjunctions, DecisionStumps, Thresholds
from dplearn.concepts.stumps import Stump
from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, Product
from dplearn.kernels import cuts

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=40)


def examples(few, many):
    """How many examples are drawn: some with every change, and more of them at night."""
    return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.nightly)])


INT64 = IntegerRange(-(2**63) + 1, 2**63 - 1)  # 2**64 - 1 integers, the most a domain holds


def all_members(stumps):
    """Every stump, in the order that the class documents: by column, then pair of labels, then cut."""
    below = isinstance(stumps, Thresholds)
    domains, labels = stumps.domain.domains, range(stumps.n_labels)
    pairs = [(a, b) for a in labels for b in labels if a != b or len(labels) == 1 or not below]
    return [
        Stump(feature, domains[feature], code, *pair)
        for feature in stumps.features
        for pair in pairs
        for code in range(-below, domains[feature].size)
    ]


def errors_of(concept, columns, y):
    return int(np.count_nonzero(concept.predict(columns) != y))


def profile_of(stumps, columns, y):
    """The profile, and its groups as pairs (errors, number of members)."""
    profile = stumps.error_profile(columns, y)
    return profile, [*zip(*profile.groups(), strict=True)]


SMALL = {
    "numbers": Product([IntegerRange(0, 6), Grid(0, 6, 4)]),
    "names": Product([Categories(["a", "b", None]), Hashed(4)]),
    "mixed": Product(
        [Bits(), Floats(significand_bits=0, smallest=1, largest=2, missing=True), Categories(["a", "b"])]
    ),
    "one value": Product([IntegerRange(3, 3), Categories(["a"])]),
    "one column": Product([IntegerRange(0, 50)]),
    "gaps": Product([IntegerRange(0, 3, missing=True), Grid(0, 6, 4, missing=True)]),
}


def small_data(domain, n_labels):
    """Codes of a few records over a small domain, and their labels."""
    record = st.tuples(*[st.integers(0, d.size - 1) for d in domain.domains], st.integers(0, n_labels - 1))
    return st.lists(record, min_size=1, max_size=8).map(
        lambda rows: (
            [
                np.array(codes, dtype=np.min_scalar_type(d.size))
                for codes, d in zip([*zip(*rows, strict=True)][:-1], domain.domains, strict=True)
            ],
            np.array([row[-1] for row in rows], dtype=np.intp),
        )
    )


classes = st.builds(DecisionStumps, st.sampled_from([*SMALL.values()]), st.integers(1, 5)) | st.builds(
    Thresholds, st.sampled_from([SMALL["numbers"], SMALL["one column"]]), st.integers(1, 5)
)


@examples(15, 40)
@pytest.mark.parametrize("dense", [1 << 12, 0], ids=["counted", "sorted"])
def test_a_profile_holds_every_member_once_under_its_errors_and_in_the_classes_order(
    monkeypatch, dense, examples
):
    monkeypatch.setattr(cuts, "_DENSE", dense)

    @settings(repeatable, max_examples=examples)
    @given(st.data(), classes)
    def check(data, stumps):
        columns, y = data.draw(small_data(stumps.domain, stumps.n_labels))
        members = all_members(stumps)
        made = [errors_of(member, columns, y) for member in members]
        profile, groups = profile_of(stumps, columns, y)
        assert stumps.size == len(members) == len(set(members))
        assert groups == sorted(Counter(made).items())
        for errors, number in groups:
            found = [profile.member(errors, index) for index in range(number)]
            assert found == [m for m, e in zip(members, made, strict=True) if e == errors]

    check()


# Large domains: sorted in packed words, or by argsort; members cannot be listed, but intervals of them can

LARGE = {
    "10**4": IntegerRange(0, 9_999),
    "2**40": IntegerRange(-5, 2**40),
    "2**63": IntegerRange(-(2**63), -1),
    "2**64 - 1": INT64,
    "2**64 - 1, missing": IntegerRange(-(2**63) + 2, 2**63 - 1, missing=True),
    "Floats(0)": Floats(significand_bits=0),
    "Floats(32)": Floats(significand_bits=32, smallest=2.0**-40, largest=2.0**40),
    "Floats(52)": Floats(significand_bits=52),
    "Floats(52, missing)": Floats(significand_bits=52, missing=True),
}


def groups_by_intervals(stumps, columns, y):
    """Count members in Python integers: between two data values all cuts make the errors of the first."""
    counts = Counter()
    for feature in stumps.features:
        domain = stumps.domain.domains[feature]
        edges = [*sorted({0, *columns[feature].tolist()}), domain.size]
        intervals = [*pairwise(edges)]
        if isinstance(stumps, Thresholds):
            intervals.insert(0, (-1, 0))
        for pair in stumps.pairs:
            for start, end in intervals:
                counts[errors_of(Stump(feature, domain, start, *pair), columns, y)] += end - start
    return sorted(counts.items())


def large_codes(domain):
    ends = st.integers(0, 3) | st.integers(domain.size - 4, domain.size - 1)
    return ends | st.integers(0, domain.size - 1) | st.integers(domain.size // 2, domain.size // 2 + 9)


@examples(2, 15)
@pytest.mark.parametrize("kind", [DecisionStumps, Thresholds])
@pytest.mark.parametrize("n_labels", [1, 2, 5])
@pytest.mark.parametrize("name", LARGE)
def test_members_of_large_classes_make_the_errors_that_are_counted(name, n_labels, kind, examples):
    domain = LARGE[name]
    stumps = kind(Product([domain, domain] if kind is DecisionStumps else [domain]), n_labels)

    @settings(repeatable, max_examples=examples)
    @given(st.data())
    def check(data):
        n = data.draw(st.integers(1, 7))
        draw_codes = st.lists(large_codes(domain), min_size=n, max_size=n)
        columns = [np.array(data.draw(draw_codes), dtype=np.uint64) for _ in stumps.domain.domains]
        y = np.array(data.draw(st.lists(st.integers(0, n_labels - 1), min_size=n, max_size=n)))
        profile, groups = profile_of(stumps, columns, y)
        assert groups == groups_by_intervals(stumps, columns, y)
        assert sum(number for _, number in groups) == stumps.size
        for errors, number in groups:
            places = {0, 1, number // 3, number // 2, number - 2, number - 1}
            for index in (i for i in places if 0 <= i < number):
                member = profile.member(errors, index)
                assert errors_of(member, columns, y) == errors
                assert -(kind is Thresholds) <= member.code < domain.size

    check()


def test_neighbouring_places_hold_neighbouring_cuts_of_a_large_domain():
    stumps = DecisionStumps(Product([Floats(significand_bits=52)]))
    codes, y = stumps.domain.encode(np.array([[-1.5], [0.0], [3.25]])), np.array([0, 1, 1])
    profile, groups = profile_of(stumps, codes, y)
    for errors, number in groups:
        places = [i for start in (0, number // 2, number - 5) for i in range(start, start + 5)]
        found = [profile.member(errors, i) for i in places]
        assert len(set(found)) == len({*places})
        assert [errors_of(member, codes, y) for member in found] == [errors] * len(found)


@pytest.mark.nightly
def test_seven_times_10_to_the_21_stumps_are_told_apart():
    stumps = DecisionStumps(Product([Floats(significand_bits=52)] * 100))
    assert stumps.size == 100 * Floats(significand_bits=52).size * 4 > 7 * 10**21
    X = np.random.default_rng(0).standard_cauchy((50, 100))
    y = (X[:, 41] > 0.5).astype(np.intp)
    columns = stumps.domain.encode(X)
    profile, groups = profile_of(stumps, columns, y)
    assert sum(number for _, number in groups) == stumps.size
    assert groups[0][0] == 0
    for errors, number in groups:
        for index in {0, number * 7919 // 104729, number - 1}:
            assert errors_of(profile.member(errors, index), columns, y) == errors


@pytest.mark.parametrize("codes", [[5, 2**64 - 9], [0], [2**64 - 2]], ids=str)
def test_as_many_as_2_to_the_64_thresholds_may_make_equally_many_errors(codes):
    # With the cut below the domain there are 2**64 cuts, whose number is 0 in uint64.
    stumps = Thresholds(Product([INT64]), n_labels=3)
    assert stumps.size == 6 * 2**64
    columns, y = [np.array(codes, dtype=np.uint64)], np.full(len(codes), 2)
    profile, groups = profile_of(stumps, columns, y)
    assert groups == groups_by_intervals(stumps, columns, y)
    found = []
    for errors, number in groups:
        for index in (0, number // 2, number - 1):
            found.append(profile.member(errors, index))
            assert errors_of(found[-1], columns, y) == errors
    assert len(set(found)) == len(found)


# Thresholds


def test_thresholds_include_the_cut_below_the_domain():
    thresholds = Thresholds(Product([IntegerRange(0, 9)]))
    assert thresholds.size == 11 * 2
    columns, y = [np.array([0, 4, 9])], np.array([1, 1, 1])
    profile, groups = profile_of(thresholds, columns, y)
    perfect = [profile.member(0, i) for i in range(dict(groups)[0])]
    assert Stump(0, IntegerRange(0, 9), -1, 0, 1) in perfect
    assert Stump(0, IntegerRange(0, 9), 9, 1, 0) in perfect
    assert all(member.inner != member.outer for member in perfect)
    assert Stump(0, IntegerRange(0, 9), -1, 0, 1).predict(columns).tolist() == [1, 1, 1]


def test_thresholds_ask_of_the_column_that_was_named():
    domain = Product([Categories(["a"]), IntegerRange(0, 9), Bits()])
    thresholds = Thresholds(domain, feature=1)
    columns, y = [np.array([0, 0]), np.array([2, 7]), np.array([0, 1])], np.array([1, 0])
    profile, groups = profile_of(thresholds, columns, y)
    assert {profile.member(e, i).feature for e, number in groups for i in range(number)} == {1}
    assert groups[0] == (0, 5)


# Predictions and words


def test_predictions_are_label_codes():
    columns = [np.array([0, 1, 2], dtype=np.uint8)]
    for domain, code, labels in (
        (IntegerRange(0, 2), 1, [4, 4, 0]),
        (IntegerRange(0, 2), -1, [0, 0, 0]),
        (Categories(["a", "b", "c"]), 1, [0, 4, 0]),
    ):
        predicted = Stump(0, domain, code, 4, 0).predict(columns)
        assert predicted.dtype == np.intp
        assert predicted.tolist() == labels


READ = {"<": lt, "<=": le, "==": eq}


def answer(rule, name, value):
    """What a person who reads the rule says of a value of the column `name`."""
    if rule.startswith("always "):
        return rule.removeprefix("always ")
    inner, question = rule.split(" if ")
    words, outer = question.removeprefix(f"{name} ").split(", else ")
    missing = value is None or value != value
    if missing:
        return inner if words.endswith("missing)") or words == "is missing" else outer
    words = words.removesuffix(" (or missing)")
    if words in ("is any number", "is missing"):
        return inner if words == "is any number" else outer
    sign, bound = words.split()
    return inner if READ[sign](value, eval(bound)) else outer


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (IntegerRange(-3, 4), range(-3, 5)),
        (Grid(0, 10, 11), [0, 0.5, 1, 1.5, 9.99, 10]),
        (
            Floats(significand_bits=1, smallest=0.5, largest=4),
            [-5, -4, -3.9, -0.5, -0.1, 0, 0.1, 0.5, 0.75, 2.9, 3, 99],
        ),
        (Floats(significand_bits=0, smallest=1, largest=2, missing=True), [None, -2, -1, 0, 1, 2]),
        (IntegerRange(-3, 4, missing=True), [None, *range(-3, 5)]),
        (IntegerRange(-1, 2, "clip", missing=True), [None, -9, -1, 0.5, 1, 9]),
        (Grid(0, 10, 11, missing=True), [None, 0, 0.5, 1, 1.5, 9.99, 10]),
        (Categories(["a", 7, None]), ["a", 7, None]),
        (Bits(), [-1, 0, 0.5, 1]),
        (Bits(None), [0, 1]),
    ],
    ids=str,
)
def test_the_words_of_every_member_say_what_it_predicts(domain, values):
    product = Product([Hashed(2), domain], ["name", "the size"])
    cells = np.array([["x", value] for value in values], dtype=object)
    columns = product.encode(cells)
    labels = ["no", "yes"]
    classes = [DecisionStumps(product), *([Thresholds(product, feature=1)] if domain.ordered else [])]
    for member in [member for stumps in classes for member in all_members(stumps) if member.feature == 1]:
        rule = member.describe(product.names, labels)
        said = [eval(answer(rule, "the size", value)) for value in values]
        assert said == [labels[code] for code in member.predict(columns)]


# Corners


def test_a_single_record_and_a_single_label():
    stumps = DecisionStumps(Product([IntegerRange(0, 9)]), n_labels=1)
    profile, groups = profile_of(stumps, [np.array([4])], np.array([0]))
    assert groups == [(0, 10)]
    assert [profile.member(0, i).code for i in range(10)] == list(range(10))
    thresholds = Thresholds(Product([IntegerRange(0, 9)]), n_labels=1)
    assert profile_of(thresholds, [np.array([4])], np.array([0]))[1] == [(0, 11)]
    two = DecisionStumps(Product([IntegerRange(0, 9)]))
    assert profile_of(two, [np.array([4])], np.array([1]))[1] == [(0, 20), (1, 20)]


# The fact behind every guarantee

VALUES = {
    "integers": (IntegerRange(0, 6), st.integers(0, 6)),
    "clipped": (IntegerRange(0, 6, "clip"), st.floats(-9, 9)),
    "grid": (Grid(0, 6, 5), st.floats(0, 6)),
    "floats": (
        Floats(significand_bits=1, smallest=0.5, largest=4, missing=True),
        st.none() | st.floats(-9, 9),
    ),
    "integers with gaps": (IntegerRange(0, 6, missing=True), st.none() | st.integers(0, 6)),
    "grid with gaps": (Grid(0, 6, 5, missing=True), st.none() | st.floats(0, 6)),
    "names": (Categories(["a", "b"], other=True), st.sampled_from(["a", "b", "c", None])),
    "hashed": (Hashed(5), st.text(max_size=2) | st.none()),
    "bits": (Bits(), st.floats(-1, 1)),
}
MIXED = [VALUES[name] for name in VALUES]


def error_of_every_member(concepts, X, y):
    profile, groups = profile_of(concepts, concepts.domain.encode(X), y)
    return {profile.member(errors, i): errors for errors, number in groups for i in range(number)}


def as_array(rows):
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


@examples(3, 25)
@pytest.mark.parametrize("holder", [lambda rows: as_array(rows), lambda rows: pd.DataFrame(as_array(rows))])
@pytest.mark.parametrize("dense", [1 << 12, 0], ids=["counted", "sorted"])
def test_replacing_one_record_moves_every_members_errors_by_at_most_one(monkeypatch, dense, holder, examples):
    monkeypatch.setattr(cuts, "_DENSE", dense)
    record = st.tuples(*[values for _, values in MIXED])

    @settings(repeatable, max_examples=examples)
    @given(st.lists(record, min_size=1, max_size=5), record, st.integers(1, 3), st.data())
    def check(rows, other, n_labels, data):
        product = Product([domain for domain, _ in MIXED])
        label = st.integers(0, n_labels - 1)
        labels = data.draw(st.lists(label, min_size=len(rows), max_size=len(rows)))
        place = data.draw(st.integers(0, len(rows) - 1))
        changed, changed_labels = list(rows), list(labels)
        changed[place], changed_labels[place] = other, data.draw(label)
        for concepts in (DecisionStumps(product, n_labels), Thresholds(product, n_labels, feature=3)):
            before = error_of_every_member(concepts, holder(rows), np.array(labels))
            after = error_of_every_member(concepts, holder(changed), np.array(changed_labels))
            assert before.keys() == after.keys()
            assert len(before) == concepts.size
            assert max(abs(before[member] - after[member]) for member in before) <= 1

    check()


@repeatable
@given(
    st.lists(st.tuples(*[st.floats(-1, 1)] * 3, st.integers(0, 1)), min_size=1, max_size=6),
    st.tuples(*[st.floats(-1, 1)] * 3, st.integers(0, 1)),
    st.data(),
)
def test_replacing_one_record_moves_every_conjunctions_errors_by_at_most_one(rows, other, data):
    concepts = Conjunctions(3, 3)
    changed = list(rows)
    changed[data.draw(st.integers(0, len(rows) - 1))] = other
    before, after = (
        error_of_every_member(concepts, np.array(r)[:, :3], np.array([row[3] for row in r]))
        for r in (rows, changed)
    )
    assert before.keys() == after.keys()
    assert len(before) == concepts.size
    assert max(abs(before[member] - after[member]) for member in before) <= 1
