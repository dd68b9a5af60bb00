"""Deliberate mistakes in the mechanisms and the learner: each is noticed, and the original is not."""

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn import ExponentialMechanismClassifier
from dplearn.audit import Mutant, how_caught
from dplearn.audit.cases import CASES
from dplearn.audit.cases.generic import whole_fit
from dplearn.concepts.base import CountedErrors
from dplearn.domains import IntegerRange
from dplearn.kernels.exact import decay_ratio, selection_ratio
from dplearn.kernels.grouping import group_counts, nth_equal
from dplearn.learners.rules import generic
from dplearn.learners.rules.generic import RuleFit
from dplearn.privacy import ApproxDP
from tests.laws.conftest import OnePair

SMALL = CASES["small_classifier"]
COUNTED = CASES["classifier_with_probability"]
SELECTION = CASES["exponential_mechanism"]
FLIP = CASES["permute_and_flip"]


def tried(case):
    """The case's own computation: what no verification may object to."""
    return Mutant("none", case, case.fit)


#: Neighbours that mistakes show on, found by running each over the whole universe.
WITNESSES = {
    "small_classifier": [
        (((0, "yes"), (0, "no"), (0, "no")), ((0, "no"), (0, "no"), (0, "no"))),
        (((0, "no"), (0, "no"), (0, "no")), ((1, "no"), (0, "no"), (0, "no"))),
        (((0, "no"), (0, "no"), (0, "yes")), ((0, "yes"), (0, "no"), (0, "yes"))),
    ],
    **{
        case.name: [
            (((0, 0, 1),) + ((1, 1, 0),) * (case.n - 1), ((1, 1, 0),) * case.n),
            (((0, 0, 0),) * case.n, ((0, 0, 0),) * (case.n - 1) + ((0, 0, 1),)),
            (((0, 0, 1),) * (case.n - 1) + ((0, 1, 0),), ((0, 0, 1),) * case.n),
            (
                ((0, 0, 1), (0, 1, 0)) + ((0, 1, 1),) * (case.n - 2),
                ((0, 0, 1),) * 2 + ((0, 1, 1),) * (case.n - 2),
            ),
        ]
        for case in (SELECTION, FLIP)
    },
}
#: Which witness a mistake shows on, where it is not the first; and how, where it is no broken claim.
SHOWN_ON = {
    "small_classifier": {
        "argmax": 1,
        "group sizes ignored": 1,
        "permute-and-flip cut short": 1,
        "a draw used twice": 1,
        "DomainFromData": 1,
        "WarningOnData": 2,
        "TypeOnData": 1,
        "hidden_in_a_closure": 1,
        "hidden_in_a_bound_method": 1,
        "hidden_behind_a_view": 1,
        "hidden_from_pickle": 1,
        "hidden_in_a_default": 1,
    },
    **{
        case.name: {
            "argmax": 1,
            "group sizes ignored": 2,
            "permute-and-flip cut short": 3,
            "no draw where one group leads": 3,
            "a draw used twice": 1,
        }
        for case in (SELECTION, FLIP)
    },
}
FROZEN, REPLAY, UNSEEDED = (
    "differs from the frozen distribution",
    "violates replay: the same path",
    "an unseeded fall-back to numpy's generator",
)
OTHERWISE = {
    "a scale 5% too small": FROZEN,
    "ranks in place of costs": FROZEN,
    "scores normalised by n": FROZEN,
    "the worst in place of the best": FROZEN,
    UNSEEDED: REPLAY,
    "SavedFromAnotherFit": FROZEN,
}


def witness(case, mistake):
    """A case of two neighbours that a mistake shows on; the unchanged code is not caught on them."""
    if mistake == UNSEEDED:
        return case  # two tables may be answered alike twice, all of them never
    pair = OnePair.of(case, WITNESSES[case.name][SHOWN_ON[case.name].get(mistake, 0)], staged=False)
    assert pair.is_kept()
    assert pair.own_digest  # of the unchanged code, before a mistake is put into it
    return pair


def assert_caught(mutant):
    found = how_caught(mutant)
    assert any(way.startswith(OTHERWISE.get(mutant.mistake, "exceeds the claim")) for way in found), found


@pytest.mark.nightly  # enumeration runs each with every change
@pytest.mark.parametrize("case", [SMALL, SELECTION, FLIP], ids=lambda case: case.name)
def test_the_unchanged_code_is_not_caught(case):
    assert how_caught(tried(case)) == []


# --- Mistakes in selection: on the grouped form, as the learner calls it, or on the array of qualities. ---


def by_group(select_group):
    """Return a selection over groups that draws the group as `select_group(ratio, costs, sizes, dice)`."""

    def select(costs, multiplicities, *, privacy, dice, sensitivity=1):
        group = select_group(selection_ratio(privacy.epsilon, sensitivity), costs, multiplicities, dice)
        return group, dice.below(multiplicities[group])

    return select


def full_epsilon_weights(costs, multiplicities, *, privacy, dice, sensitivity=1):
    group = dice.power_weighted(decay_ratio(privacy.epsilon / sensitivity), costs, multiplicities)
    return group, dice.below(multiplicities[group])


def scale_five_percent_too_small(costs, multiplicities, *, privacy, dice, sensitivity=1):
    ratio = decay_ratio(privacy.epsilon * Fraction(105, 100) / 2)
    group = dice.power_weighted(ratio, costs, multiplicities)
    return group, dice.below(multiplicities[group])


def argmax(costs, multiplicities, *, privacy, dice, sensitivity=1):
    return 0, dice.below(multiplicities[0])


def ranks_for_costs(ratio, costs, multiplicities, dice):
    return dice.power_weighted(ratio, range(len(costs)), multiplicities)


def normalised_costs(ratio, costs, multiplicities, dice):
    return dice.power_weighted(ratio, [cost // 3 for cost in costs], multiplicities)


def sizes_ignored(ratio, costs, multiplicities, dice):
    return dice.power_weighted(ratio, costs, [1] * len(costs))


def worst_for_best(ratio, costs, multiplicities, dice):
    return dice.power_weighted(ratio, [max(costs) - cost for cost in costs], multiplicities)


def coin_for_each_else_best(ratio, costs, multiplicities, dice):
    """Permute-and-flip that gives up after one candidate and takes the best."""
    position = dice.below(sum(multiplicities))
    group = next(i for i, end in enumerate(np.cumsum(multiplicities)) if position < end)
    return group if dice.bernoulli(ratio ** (costs[group] - costs[0])) else 0


def stops_early_when_clear(ratio, costs, multiplicities, dice):
    """Skips the draw where one group leads by far: the number of draws depends on the data."""
    if len(costs) > 1 and costs[1] - costs[0] >= 2:
        return 0
    return dice.power_weighted(ratio, costs, multiplicities)


def reused_draw(costs, multiplicities, *, privacy, dice, sensitivity=1):
    """Lets the draw of the group decide the member too."""
    group = dice.power_weighted(selection_ratio(privacy.epsilon, sensitivity), costs, multiplicities)
    return group, group % multiplicities[group]


def numpys_generator(costs, multiplicities, *, privacy, dice, sensitivity=1):
    weights = np.array(multiplicities) * np.exp(-float(privacy.epsilon) / 2 * np.array(costs))
    group = int(np.random.choice(len(costs), p=weights / weights.sum()))
    return group, int(np.random.randint(multiplicities[group]))


SELECTIONS = {
    "full-epsilon weights": full_epsilon_weights,
    "a scale 5% too small": scale_five_percent_too_small,
    "argmax": argmax,
    "ranks in place of costs": by_group(ranks_for_costs),
    "scores normalised by n": by_group(normalised_costs),
    "group sizes ignored": by_group(sizes_ignored),
    "the worst in place of the best": by_group(worst_for_best),
    "permute-and-flip cut short": by_group(coin_for_each_else_best),
    "no draw where one group leads": by_group(stops_early_when_clear),
    "a draw used twice": reused_draw,
    UNSEEDED: numpys_generator,
}


@pytest.mark.parametrize("mistake", SELECTIONS)
def test_a_mistake_in_the_learners_selection_is_caught(mistake, monkeypatch):
    pair = witness(SMALL, mistake)
    monkeypatch.setitem(generic._METHODS, "exponential", SELECTIONS[mistake])
    assert_caught(Mutant(mistake, pair, SMALL.fit))


@pytest.mark.nightly  # with every change, on a witness
@pytest.mark.parametrize("mistake", SELECTIONS)
def test_a_mistake_in_the_learners_selection_is_caught_in_the_whole_universe(mistake, monkeypatch):
    monkeypatch.setitem(generic._METHODS, "exponential", SELECTIONS[mistake])
    assert_caught(Mutant(mistake, SMALL, SMALL.fit))


def over_qualities(select):
    """Return the case's computation with another selection over groups of equal quality."""

    def fit(rows, dice):
        qualities = np.array(rows, dtype=np.int64).sum(axis=0)
        distinct, sizes = group_counts(-qualities)
        group, member = select(distinct, sizes, privacy=ApproxDP(1), dice=dice)
        chosen = nth_equal(-qualities, distinct[group], member)
        return str(chosen), chosen

    return fit


both_mechanisms = pytest.mark.parametrize("case", [SELECTION, FLIP], ids=lambda case: case.name)
in_a_mechanism = pytest.mark.parametrize("mistake", [name for name in SELECTIONS if "normalised" not in name])


@both_mechanisms
@in_a_mechanism
def test_a_mistake_in_a_mechanism_is_caught(mistake, case):
    assert_caught(Mutant(mistake, witness(case, mistake), over_qualities(SELECTIONS[mistake])))


@pytest.mark.nightly  # with every change, on a witness
@both_mechanisms
@in_a_mechanism
def test_a_mistake_in_a_mechanism_is_caught_in_the_whole_universe(mistake, case):
    assert_caught(Mutant(mistake, case, over_qualities(SELECTIONS[mistake])))


def test_only_the_exact_epsilon_sees_a_scale_5_percent_too_small_as_a_broken_claim():
    pair = witness(SELECTION, "a scale 5% too small")
    mutant = Mutant("5%", pair, over_qualities(scale_five_percent_too_small))
    assert any(way.startswith("exceeds the claim") for way in how_caught(mutant))


# --- Mistakes around the selection: what is taken from the data, and what is left behind. ---


class Careless(ExponentialMechanismClassifier):
    """A learner that a subclass makes one mistake in; audited under the original's declared guarantee."""

    def _fit(self, X, y, dice):
        super()._fit(X, y, dice)


class DomainFromData(Careless):
    def _fit(self, X, y, dice):
        self.domain = IntegerRange(int(X.min()), int(X.max()))
        super()._fit(X, y, dice)
        del self.domain_
        self.domain = None


class LabelsFromData(Careless):
    def _fit(self, X, y, dice):
        self.classes = sorted(set(y.tolist()))
        super()._fit(X, y, dice)
        self.classes = None


class ExceptionOnData(Careless):
    def _fit(self, X, y, dice):
        if len(set(y.tolist())) == 1:
            raise ValueError("only one class in y")
        super()._fit(X, y, dice)


class WarningOnData(Careless):
    def _fit(self, X, y, dice):
        if (y == "yes").sum() < 2:
            warnings.warn("few positive examples", stacklevel=1)
        super()._fit(X, y, dice)


class RawErrorsKept(Careless):
    def _fit(self, X, y, dice):
        super()._fit(X, y, dice)
        self.training_errors_ = int((self.predict(X) != y).sum())


class RawProfileKept(Careless):
    """An attribute with an underscore is an attribute."""

    def _fit(self, X, y, dice):
        super()._fit(X, y, dice)
        self._counts = CountedErrors(np.bincount((y == "yes").astype(int), minlength=2), None)


class TypeOnData(Careless):
    def _fit(self, X, y, dice):
        super()._fit(X, y, dice)
        self.n_features_in_ = np.int64(1) if X.sum() else 1


class WeightsByLabel(Careless):
    """Every record of a rare label counts twice: one record moves errors by 2 or more."""

    def _fit(self, X, y, dice):
        rare = "yes" if (y == "yes").sum() <= len(y) / 2 else "no"
        repeat = np.where(y == rare, 2, 1)
        super()._fit(np.repeat(X, repeat, axis=0), np.repeat(y, repeat), dice)


class DuplicatesDropped(Careless):
    """Cleaning that looks across records."""

    def _fit(self, X, y, dice):
        _, first = np.unique([f"{x}{label}" for x, label in zip(X[:, 0], y, strict=True)], return_index=True)
        super()._fit(X[first], y[first], dice)


class SavedFromAnotherFit(Careless):
    """A cache keeps the first fit's concept for all later ones."""

    cache: dict = {}  # noqa: RUF012 - that it is shared is the mistake

    def _fit(self, X, y, dice):
        super()._fit(X, y, dice)
        self.concept_ = self.cache.setdefault("concept", self.concept_)


def mutant_fit(learner):
    template = ExponentialMechanismClassifier(domain=IntegerRange(0, 1), classes=["no", "yes"], epsilon=1.0)
    return whole_fit(partial(learner, **template.get_params(deep=False)))


CARELESS = [
    DomainFromData,
    LabelsFromData,
    ExceptionOnData,
    WarningOnData,
    RawErrorsKept,
    RawProfileKept,
    TypeOnData,
    WeightsByLabel,
    DuplicatesDropped,
    SavedFromAnotherFit,
]


@pytest.mark.parametrize("learner", CARELESS, ids=lambda learner: learner.__name__)
def test_a_mistake_around_the_selection_is_caught(learner):
    name = learner.__name__
    assert_caught(Mutant(name, witness(SMALL, name), mutant_fit(learner)))


@pytest.mark.nightly  # with every change, on a witness
@pytest.mark.parametrize("learner", CARELESS, ids=lambda learner: learner.__name__)
def test_a_mistake_around_the_selection_is_caught_in_the_whole_universe(learner):
    assert_caught(Mutant(learner.__name__, SMALL, mutant_fit(learner)))


@pytest.mark.parametrize("mistake", ["none", "argmax", "WarningOnData"])  # of which each shows on another
def test_a_subclass_without_a_mistake_is_not_caught_on_any_witness(mistake):
    assert how_caught(Mutant("none", witness(SMALL, mistake), mutant_fit(Careless))) == []


@pytest.mark.nightly  # with every change, on the witnesses
def test_a_subclass_without_a_mistake_is_not_caught():
    assert how_caught(Mutant("none", SMALL, mutant_fit(Careless))) == []


@pytest.mark.parametrize("learner", [RawErrorsKept, ExceptionOnData, LabelsFromData, TypeOnData])
def test_what_tells_data_apart_for_certain_has_infinite_epsilon(learner):
    pair = witness(SMALL, learner.__name__)
    assert pair.with_fit(mutant_fit(learner)).run().epsilon == math.inf


# --- Hiding places: what an auditor who looks only at values would miss. ---


def hidden_in_a_closure(fitted, secret):
    fitted.explain_ = lambda: secret


def hidden_in_a_bound_method(fitted, secret):
    fitted.get_ = Holder(secret).get


def hidden_behind_a_view(fitted, secret):
    fitted.zero_ = np.array([0, *secret])[:1]


def hidden_from_pickle(fitted, secret):
    fitted.holder_ = Forgetful(secret)


def hidden_in_a_default(fitted, secret):
    def explain(held=secret):
        return held

    fitted.explain_ = explain


class Holder:
    def __init__(self, secret):
        self.secret = secret

    def get(self):
        return self.secret


class Forgetful(Holder):
    def __getstate__(self):
        return {}


@pytest.mark.parametrize(
    "hide",
    [
        hidden_in_a_closure,
        hidden_in_a_bound_method,
        hidden_behind_a_view,
        hidden_from_pickle,
        hidden_in_a_default,
    ],
)
def test_a_raw_value_is_found_wherever_it_is_hidden(hide):
    class Hiding(Careless):
        def _fit(self, X, y, dice):
            super()._fit(X, y, dice)
            hide(self, X[:, 0].tolist())

    name = hide.__name__
    assert_caught(Mutant(name, witness(SMALL, name), mutant_fit(Hiding)))


def test_an_exceptions_attributes_notes_and_causes_are_published():
    def attribute(rows, dice):
        error = ValueError("fixed")
        error.value = rows[0]
        raise error

    def note(rows, dice):
        error = ValueError("fixed")
        error.add_note(str(rows[0]))
        raise error

    def cause(rows, dice):
        try:
            int(f"x{rows[0]}")
        except ValueError:
            raise ValueError("fixed") from None

    for fit in (attribute, note, cause):
        assert SMALL.with_fit(fit).run().epsilon == math.inf


def test_chance_on_one_branch_only_is_found():
    rng = np.random.default_rng(np.random.randint(1 << 30))

    def fit(rows, dice):
        return rng.integers(1 << 60) if dice.bernoulli(Fraction(1, 2)) else 0

    assert any("does not come from the dice" in way for way in how_caught(Mutant("branch", SMALL, fit)))


def sensitivity_of_an_added_record(monkeypatch):
    right = generic.laplace_counts
    monkeypatch.setattr(
        generic, "laplace_counts", lambda counts, **how: right(counts, **{**how, "sensitivity": 1})
    )


def the_whole_epsilon_for_the_rule(monkeypatch):
    right = RuleFit.plan

    def planned(learner, *given, **known):
        plan = right(learner, *given, **known)
        return replace(plan, keeps={**plan.keeps, "selection": plan.guarantee})

    monkeypatch.setattr(RuleFit, "plan", planned)


def counts_without_noise(monkeypatch):
    monkeypatch.setattr(generic, "laplace_counts", lambda counts, **_: counts)


@pytest.mark.parametrize(
    ("mistake", "excess"),
    [
        (sensitivity_of_an_added_record, 1.85),
        (the_whole_epsilon_for_the_rule, 1.4),
        (counts_without_noise, math.inf),
    ],
)
def test_a_mistake_in_the_counts_of_labels_breaks_the_claim(mistake, excess, monkeypatch):
    # With nine tenths of epsilon for the counts; one record of two moves errors by half of what it can.
    monkeypatch.setattr(generic, "_COUNTED", Fraction(9, 10))
    pair = ((0, "no"),), ((0, "yes"),)

    def exact():
        found = OnePair.of(COUNTED, pair).run().exp_epsilon
        return math.inf if found is None else math.log(found) / float(COUNTED.claim.epsilon)

    assert exact() == pytest.approx(0.95)
    mistake(monkeypatch)
    assert exact() == pytest.approx(excess)
