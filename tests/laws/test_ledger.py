"""Exactly one charge for each fit, whoever calls it; the end of the budget reaches the user through all."""

import copy
import pickle

import numpy as np
import pytest
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - it makes the next import possible
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier

from dplearn import (
    ApproxDP,
    BudgetExceededError,
    ExponentialMechanismClassifier,
    LedgerError,
    PrivacyLedger,
    SecretSampleClassifier,
    ThresholdClassifier,
)
from dplearn.chance import ReplayDice, SeededDice, SystemDice
from dplearn.domains import Grid
from dplearn.fit import execute
from dplearn.privacy import open_account
from tests.audit.changed import fit_with

X, Y = np.linspace(0, 1, 40)[:, None], np.arange(40) % 2  # public
FOLDS, HALVES = KFold(5), KFold(2)
TWO = {"method": ["exponential", "permute_and_flip"]}


def learner(ledger=None, **parameters):
    chosen = {"epsilon": 0.1, "domain": Grid(0, 1, 5), "classes": [0, 1]} | parameters
    return ExponentialMechanismClassifier(ledger=ledger, **chosen)


def halving(e):
    return HalvingGridSearchCV(e, TWO, cv=KFold(3), factor=2, min_resources=20)


# How many fits each of them makes. Those that pass a seed or a score do so for public splits only.
MANY = {
    "refit": (3, lambda e: e.fit(X, Y).fit(X, Y).fit(X, Y)),
    "clone": (2, lambda e: [clone(e).fit(X, Y), clone(clone(e)).fit(X, Y)]),
    "deepcopy": (2, lambda e: [copy.deepcopy(e).fit(X, Y), copy.copy(e).fit(X, Y)]),
    "pickle": (1, lambda e: pickle.loads(pickle.dumps(e)).fit(X, Y)),
    "GridSearchCV": (11, lambda e: GridSearchCV(e, TWO, cv=FOLDS).fit(X, Y)),
    "RandomizedSearchCV": (7, lambda e: RandomizedSearchCV(e, TWO, n_iter=2, cv=KFold(3)).fit(X, Y)),
    "HalvingGridSearchCV": (10, lambda e: halving(e).fit(X, Y)),
    "cross_val_score": (5, lambda e: cross_val_score(e, X, Y, cv=FOLDS)),
    "cross_validate": (5, lambda e: cross_validate(e, X, Y, cv=FOLDS, return_estimator=True)),
    "cross_val_predict": (5, lambda e: cross_val_predict(e, X, Y, cv=FOLDS)),
    "learning_curve": (4, lambda e: learning_curve(e, X, Y, cv=HALVES, train_sizes=[0.5, 1.0])),
    "validation_curve": (
        4,
        lambda e: validation_curve(e, X, Y, cv=HALVES, param_name="method", param_range=TWO["method"]),
    ),
    "permutation_test_score": (
        6,
        lambda e: permutation_test_score(e, X, Y, cv=HALVES, n_permutations=2, random_state=0),
    ),
    "VotingClassifier": (2, lambda e: VotingClassifier([("a", e), ("b", e)]).fit(X, Y)),
    "StackingClassifier": (
        4,
        lambda e: StackingClassifier([("a", e)], final_estimator=e, cv=HALVES).fit(X, Y),
    ),
    "OneVsRestClassifier": (1, lambda e: OneVsRestClassifier(e).fit(X, Y)),
}


def ledger_of(place, tmp_path, epsilon):
    return PrivacyLedger(epsilon, path=tmp_path / "ledger" if place == "file" else None)


@pytest.mark.parametrize("place", ["memory", pytest.param("file", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", MANY)
def test_every_fit_is_charged_once_and_the_last_is_not_made_where_the_budget_ends(name, place, tmp_path):
    number, use = MANY[name]
    ledger = ledger_of(place, tmp_path, 2)
    parameters = {"domain": None} if name == "StackingClassifier" else {}
    use(learner(ledger, **parameters))
    history = ledger.history()
    assert [record.number for record in history] == list(range(1, number + 1))
    assert {record.estimator for record in history} == {"ExponentialMechanismClassifier"}
    assert ledger.spent().epsilon == number * ApproxDP(0.1).epsilon
    if number > 1:
        ledger = PrivacyLedger(ApproxDP(0.1).epsilon * (number - 1))
        with pytest.raises(BudgetExceededError, match=r"asked epsilon 0\.1, .* remaining epsilon 0, "):
            use(learner(ledger, **parameters))
        assert len(ledger.history()) == number - 1


@pytest.mark.parametrize(
    ("backend", "place", "error_score"),
    [
        ("threading", "memory", np.nan),
        ("threading", "file", "raise"),
        # What NaN stands for hides whatever is an Exception.
        *[pytest.param("loky", "file", score, marks=pytest.mark.nightly) for score in (np.nan, "raise")],
    ],
)
def test_two_workers_charge_the_same_account_and_show_its_end(backend, place, error_score, tmp_path):
    ledger = ledger_of(place, tmp_path, 1.5)
    search = GridSearchCV(learner(ledger), TWO, cv=FOLDS, n_jobs=2, error_score=error_score)
    with parallel_backend(backend, n_jobs=2):
        search.fit(X, Y)
        assert len(ledger.history()) == 11
        with pytest.raises(BudgetExceededError):
            search.fit(X, Y)
        assert ledger.spent().epsilon <= ledger.budget.epsilon
        with pytest.raises(BudgetExceededError):
            cross_val_score(learner(ledger, epsilon=2), X, Y, cv=FOLDS, n_jobs=2)


def test_an_ensemble_that_seeds_its_members_is_refused():
    """It would draw their noise from numpy's global generator, which anyone can wind back."""
    ledger = PrivacyLedger(2)
    with pytest.raises(LedgerError, match=r"random_state set .* noise that can be drawn again"):
        BaggingClassifier(learner(ledger), n_estimators=3).fit(X, Y)
    assert ledger.history() == []


# The order in a fit


class Bomb:
    """Data that nobody may look at."""

    def __getattribute__(self, name):
        raise AssertionError("looked at")

    __array__ = __len__ = __iter__ = __getattribute__


@pytest.mark.parametrize(
    ("ledger", "parameters", "message"),
    [
        (PrivacyLedger(0.05), {}, "does not fit into the budget"),
        (PrivacyLedger(1), {"random_state": 0}, "allow_reproducible=True"),
        (
            PrivacyLedger(1, neighbors="add_remove"),
            {},
            "implies no guarantee for the ledger's neighbors='add_remove'",
        ),
        (PrivacyLedger(1, protects="groups"), {}, "protects, .groups.: pass groups=, the group of"),
        (
            PrivacyLedger(1),
            {"protects": "labels"},
            "protects, 'examples': open PrivacyLedger.*protects='labels'",
        ),
    ],
    ids=repr,
)
def test_what_the_ledger_refuses_is_refused_before_the_data_are_looked_at(ledger, parameters, message):
    with pytest.raises(LedgerError, match=message):
        learner(ledger, **parameters).fit(Bomb(), Bomb())
    with pytest.raises(AssertionError, match="looked at"):
        learner(PrivacyLedger(1)).fit(Bomb(), Bomb())
    assert ledger.history() == []


class Meddling:
    """Data that change the estimator while they are read."""

    def __init__(self, estimator, **changes):
        self.estimator, self.changes = estimator, changes

    def __array__(self, dtype=None, copy=None):
        self.estimator.set_params(**self.changes)
        return np.asarray(X, dtype=dtype)


@pytest.mark.parametrize(
    "changes",
    [{"ledger": None}, {"epsilon": 100}, {"random_state": 0}, {"domain": Grid(0, 1, 2)}, {"classes": [0, 2]}],
    ids=str,
)
def test_what_changes_the_parameters_while_the_data_are_read_comes_too_late(changes):
    ledger = PrivacyLedger(1)
    fitted = learner(ledger)
    fitted.fit(Meddling(fitted, **changes), Y)
    assert [record.guarantee for record in ledger.history()] == [fitted.guarantee_]
    assert fitted.guarantee_.epsilon == ApproxDP(0.1).epsilon
    assert not fitted.guarantee_.reproducible
    assert fitted.domain_.domains == (Grid(0, 1, 5),)
    seeded = learner(random_state=0)
    seeded.fit(Meddling(seeded, random_state=None, ledger=PrivacyLedger(1)), Y)
    assert seeded.guarantee_.reproducible


class Watching:
    """Dice that note how many charges there are when they are thrown."""

    def __init__(self, ledger):
        self.ledger, self.seen = ledger, set()

    def __getattr__(self, name):
        self.seen.add(len(self.ledger.history()))
        return getattr(SystemDice(), name)


def test_the_charge_is_durable_before_the_first_draw(tmp_path):
    ledger = PrivacyLedger(1, path=tmp_path / "ledger")
    dice = Watching(PrivacyLedger.open(tmp_path / "ledger"))
    fit_with(dice, learner(ledger), X, Y)
    assert dice.seen == {1}


@pytest.mark.filterwarnings("ignore")
def test_a_transformer_draws_nothing_before_the_charge(one_a_class, any_transformer):
    ledger = PrivacyLedger(10, 0.1)
    if hasattr(any_transformer, "ledger"):
        fit_with(dice := Watching(ledger), clone(any_transformer).set_params(ledger=ledger), X)
        assert dice.seen == {1}


def test_a_secret_sample_is_drawn_after_the_charge():
    dice = Watching(ledger := PrivacyLedger(10, 0.1))
    inner = ThresholdClassifier(domain=Grid(0, 1, 5), classes=[0, 1])
    model = SecretSampleClassifier(inner, sample_size=5, ledger=ledger)
    fit_with(dice, model, np.linspace(0, 1, 5).repeat(20)[:, None], np.arange(100) % 2)
    assert dice.seen == {1}


def test_a_fit_that_is_overtaken_by_another_draws_nothing(monkeypatch):
    ledger = PrivacyLedger(0.1)
    first, dice = learner(ledger), ReplayDice(SeededDice(0))

    def overtaken(*account, **named):
        charge = open_account(*account, **named)
        monkeypatch.setattr(execute, "open_account", open_account)
        learner(ledger).fit(X, Y)
        return charge

    monkeypatch.setattr(execute, "open_account", overtaken)
    with pytest.raises(BudgetExceededError):
        fit_with(dice, first, X, Y)
    assert dice.trace == []
    assert not hasattr(first, "concept_")
    assert len(ledger.history()) == 1


# Ledger and estimator


def test_the_estimators_repr_and_page_show_the_ledger(tmp_path):
    ledger = PrivacyLedger(1, path=tmp_path / "<b>ledger")
    estimator = learner(ledger)
    assert "".join(repr(estimator).split()).count("".join(f"ledger={ledger!r}".split())) == 1
    assert "<b>ledger" not in estimator._repr_html_()
    assert "ledger=" not in repr(learner())


def test_a_saved_estimator_predicts_where_its_ledger_is_not(tmp_path, program):
    for number, ledger in enumerate([PrivacyLedger(1), PrivacyLedger(1, path=tmp_path / "ledger")]):
        (tmp_path / f"{number}.pickle").write_bytes(pickle.dumps(learner(ledger).fit(X, Y)))
    (tmp_path / "ledger").unlink()
    source = """
import pickle, sys
for number in (0, 1):
    with open(f"{sys.argv[1]}/{number}.pickle", "rb") as file:
        model = pickle.load(file)
    print(repr(model.ledger)[:24], len(model.predict([[0.5]])))
    try:
        model.fit([[0.5]], [0])
    except BaseException as error:
        print(type(error).__name__)
"""
    done = program(source, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["PrivacyLedger(epsilon=1, 1", "LedgerError"] * 2
