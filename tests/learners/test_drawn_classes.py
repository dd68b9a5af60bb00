"""Concept classes that a public seed draws: when, from what, what is published, and what is refused."""

import pickle
from copy import copy
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

from dplearn import ExponentialMechanismClassifier, PrivacyLedger
from dplearn.audit import enumerate_privacy, fitted_with, ready
from dplearn.chance import PublicStream
from dplearn.concepts import CountedClass, FiniteClass
from dplearn.domains import DomainError, IntegerRange, Product
from dplearn.privacy import ApproxDP
from dplearn.theory import representation_sample_size
from tests.audit.changed import fit_with


class Hashed(CountedClass):
    """Label 1 for the values with one number, where each value of one column gets a public random number."""

    n_labels = 2

    def __init__(self, n_values=50, n_buckets=1024):
        self.domain = Product([IntegerRange(0, n_values - 1)])
        self.n_values, self.n_buckets, self.numbers, self.n_draws = n_values, n_buckets, None, []

    @property
    def size(self):
        return self.n_buckets

    def draw(self, seed):
        self.n_draws.append(seed)
        drawn = copy(self)
        drawn.numbers = PublicStream(seed).labels(self.n_buckets, self.n_values)
        return drawn

    def miss(self, kappa):
        return 1 / (kappa * self.n_buckets)

    def error_counts(self, columns, y):
        counts = np.bincount(self.numbers[columns[0]], 1 - 2 * y, self.n_buckets)
        return np.sum(y) + counts.astype(int)

    def member_at(self, position):
        return Member(tuple((self.numbers == position).astype(int).tolist()))


@dataclass(frozen=True)
class Member:
    labels: tuple

    def predict(self, columns):
        return np.array(self.labels)[columns[0]]

    def describe(self, features, labels):
        return f"{labels[1]} at {[value for value, label in enumerate(self.labels) if label]}"


def learner(concepts=None, **parameters):
    return ExponentialMechanismClassifier(concepts or Hashed(), **{"classes": [0, 1], **parameters})


X = np.arange(2000)[:, None] % 50
Y = (X[:, 0] == 7).astype(int)


@pytest.mark.parametrize("method", ["exponential", "permute_and_flip"])
def test_a_drawn_class_is_learned_and_its_seed_published(method):
    # Of 25 drawn seeds about one gives the key a bucket with others; this one does not.
    fitted = learner(epsilon=50.0, method=method, random_state=0).fit(X, Y)
    assert fitted.predict(X[:50])[7] == 1
    assert fitted.score(X, Y) > 0.9
    numbers = Hashed().draw(fitted.seed_).numbers
    assert fitted.concept_.concept == Member(tuple((numbers == numbers[7]).astype(int).tolist()))
    assert any("seed" in each for each in fitted.guarantee_.assumes)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(X) == fitted.predict(X)).all()


def test_the_seed_is_fresh_unless_the_fit_is_reproducible():
    seeds = [learner(random_state=state).fit(X, Y).seed_ for state in (None, None, 3, 3, 4)]
    assert seeds[2] == seeds[3]
    assert len({*seeds}) == 4
    generator = [np.random.default_rng(0) for _ in range(2)]
    assert len({learner(random_state=each).fit(X, Y).seed_ for each in generator}) == 1


def test_the_class_is_drawn_before_the_data_are_read_and_does_not_depend_on_them():
    concepts = Hashed()
    model = learner(concepts, random_state=0)
    with pytest.raises(DomainError):
        model.fit([[10**6]], [0])
    assert len(concepts.n_draws) == 1
    model.fit(X, Y)
    model.fit(X[::-1] // 2, 1 - Y)
    assert len({*concepts.n_draws}) == 1
    assert concepts.numbers is None


def test_the_plan_adds_what_the_class_misses():
    plan = learner().plan(500)
    fit = ready(learner(), X, Y).plan
    assert plan.class_size == fit.class_size == 1024
    assert plan.n_needed == fit.n_needed
    goal = {"epsilon": 1, "alpha": 0.1, "beta": 0.05}
    kappas = 0.1 * 2.0 ** -(np.arange(1, 96) / 4)
    wanted = [
        min(
            representation_sample_size(1024, **goal, agnostic=each, kappa=kappa, miss=1 / (1024 * kappa))
            for kappa in kappas
            if 1 / (1024 * kappa) < 0.05
        )
        for each in (False, True)
    ]
    assert [plan.n_needed, plan.n_needed_agnostic] == wanted
    assert learner(Hashed(n_buckets=64)).plan(500).n_needed is None


def test_an_unsuitable_draw_is_refused_unpaid():
    ledger, over = PrivacyLedger(9), FiniteClass([[0, 1], [1, 0]], 2)

    class Other(Hashed):
        def draw(self, seed):
            return self.wrong

    for wrong in (None, Hashed(n_buckets=2048), FiniteClass([[0, 1, 2]], n_labels=3), over):
        concepts = Other()
        concepts.wrong = wrong
        message = "over the same domain" if wrong is over else "a concept class of 2 labels"
        with pytest.raises(ValueError, match=f"draw of Other must return .*{message}"):
            learner(concepts, ledger=ledger).fit(X, Y)
    with pytest.raises(ValueError, match="protects must be 'examples' for a drawn concept class"):
        learner(protects="labels").fit(X, Y)
    with pytest.raises(ValueError, match="domain must describe 2 columns, as X has, got 1"):
        learner(ledger=ledger).fit(np.repeat(X, 2, axis=1), Y)
    assert ledger.history() == []


UNIVERSE = [(key, label) for key in range(3) for label in (0, 1)]


def report_of(model, fit=fitted_with):
    """All outcomes of fits of two records."""

    def fitted(rows, dice):
        found = fit(model, [[key] for key, _ in rows], [label for _, label in rows], dice=dice)
        return repr(found.concept_), found.seed_ if fit is fitted_with else None

    return enumerate_privacy(fitted, universe=UNIVERSE, n=2)


@pytest.mark.parametrize("seed", [0, 3])
def test_every_outcome_keeps_the_guarantee_for_a_seed(seed):
    report = report_of(learner(Hashed(3, 2), random_state=seed, method="permute_and_flip"))
    assert report.keeps(ApproxDP(1))
    assert report.epsilon > 0.5


def test_a_class_drawn_from_labels_breaks_the_guarantee():
    def peeking(model, X, y, dice):
        return fit_with(dice, clone(model), X, y, random_state=y[0] + 3)

    model = learner(Hashed(3, 2), random_state=0, method="permute_and_flip")
    assert not report_of(model, peeking).keeps(ApproxDP(1))
