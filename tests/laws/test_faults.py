"""Whatever fails, and wherever: what was released never exceeds what was spent; no half-made fit is left."""

from functools import cache
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from sklearn.base import clone, is_classifier

from dplearn.audit import FaultyDice
from dplearn.chance import SeededDice, SystemDice
from dplearn.mechanisms import SparseVector
from dplearn.model_selection import PrivateSearchCV
from dplearn.privacy import ApproxDP, BudgetExceededError, LedgerError, PrivacyLedger
from tests.audit.changed import fit_with

pytestmark = pytest.mark.filterwarnings("ignore:n_(teachers|samples) is")

ERRORS = [KeyboardInterrupt(), OSError("no entropy"), MemoryError(), SystemExit(1)]
DRAWS_AT_MOST = 90  # of a local regression of 21 queries, each with a coordinate and a bit of every record
#: How many draws meet faults, evenly spread over those of a fit; a logistic regression has 27.
SPREAD = [4, pytest.param(27, marks=pytest.mark.nightly)]


#: What is raised at a draw, and whether after it; what at a ledger's call, whether after it, and at which.
AT_A_DRAW = list(product(ERRORS, [False, True]))
AT_A_CALL = list(product([*ERRORS, LedgerError("the disk is full")], [False, True], ["charge", "require"]))
#: The faults that all classifiers meet with every change, one before anything is done and one after it.
USUAL = [AT_A_DRAW[0], AT_A_DRAW[3], AT_A_CALL[1], AT_A_CALL[-2]]


def pytest_generate_tests(metafunc):
    if "fault" not in metafunc.fixturenames:
        return
    distributions = metafunc.config.pluginmanager.get_plugin(str(Path(__file__).with_name("conftest.py")))
    faults = AT_A_DRAW if "at_any_draw" in metafunc.function.__name__ else AT_A_CALL
    classifiers = distributions.chosen_classifiers(metafunc.fixturenames)
    metafunc.parametrize(
        "classifier, fault", distributions.faulty(classifiers, faults, USUAL), ids=cache(repr)
    )


def fixed_shards(classifier):
    """The classifier with public choices that do not change: how often it draws may depend on them."""
    return clone(classifier).set_params(random_state=0)


def n_draws(classifier, X, y):
    dice = FaultyDice(SeededDice(0))
    fit_with(dice, fixed_shards(classifier), X, y)
    assert 0 < dice.n_draws <= DRAWS_AT_MOST
    return dice.n_draws


def faulty_draws(classifier, X, y, most):
    """The numbers of the draws that meet faults, about so many."""
    count = n_draws(classifier, X, y)
    step = -(-count // most)
    return sorted({*range(0, count, step), count - 1})


def released(estimator):
    """What a fit sets, other than what is public before anything is drawn."""
    public = {*estimator.get_params(deep=False), "n_features_in_", "feature_names_in_"}
    return {name for name in vars(estimator) if name not in public}


#: What a search has released before its last fit.
CHOICE = {"best_index_", "best_params_", "best_score_", "budgets_", "cv_results_", "guarantee_", "method_"}


def kept_by(classifier, error):
    """What a fit keeps when it is stopped: nothing, but a search that an interrupt of its last fit stops."""
    if not isinstance(classifier, PrivateSearchCV) or "are kept" not in str(error):
        return set()
    assert isinstance(error, KeyboardInterrupt)
    learned = {"schema_"} if getattr(classifier.estimator, "domain", None) == "learn" else set()
    return CHOICE | learned | ({"classes_"} if is_classifier(classifier) else set())


@pytest.mark.parametrize("most", SPREAD)
def test_a_failure_at_any_draw_leaves_the_fit_paid_for_and_unpublished(
    fit_draws, classifier, iris, budget, fault, most
):
    error, drawn = fault
    for at in faulty_draws(classifier, *iris, most):
        ledger = budget(1)
        learner = fixed_shards(classifier).set_params(ledger=ledger)
        with pytest.raises(type(error)) as caught:
            fit_with(FaultyDice(SeededDice(0), at, error, drawn=drawn), learner, *iris)
        assert ledger.spent().epsilon == ApproxDP(classifier.epsilon).epsilon
        assert released(learner) == kept_by(classifier, caught.value)


@pytest.mark.parametrize("most", SPREAD)
def test_a_failed_second_fit_leaves_the_first_one_whole(
    one_a_class, fit_draws, classifier, iris, budget, most
):
    learner = clone(classifier).set_params(ledger=budget(1 + DRAWS_AT_MOST)).fit(*iris)
    before = dict(vars(learner))
    learner.random_state = 0
    for at in faulty_draws(classifier, *iris, most):
        with pytest.raises(KeyboardInterrupt) as caught:
            fit_with(FaultyDice(SeededDice(0), at), learner, *iris)
        if kept := kept_by(classifier, caught.value):
            assert released(learner) == kept
            vars(learner).clear()
            vars(learner).update(before)
    assert all(vars(learner)[name] is before[name] for name in released(learner))


def test_a_failure_at_any_ledger_call_comes_before_the_first_draw(
    classifier, iris, budget, fault, monkeypatch
):
    error, written, operation = fault
    ledger = budget(1)
    honest = getattr(PrivacyLedger, operation)

    def failing(self, *arguments, **named):
        if written:
            honest(self, *arguments, **named)
        raise error

    monkeypatch.setattr(PrivacyLedger, operation, failing)
    dice = FaultyDice(SystemDice())
    learner = clone(classifier).set_params(ledger=ledger)
    with pytest.raises(type(error)):
        fit_with(dice, learner, *iris)
    assert dice.n_draws == 0
    assert released(learner) == set()
    # A charge that was written stays: there are no refunds.
    paid = ApproxDP(classifier.epsilon).epsilon if operation == "charge" and written else 0
    assert ledger.spent().epsilon == paid


@pytest.mark.parametrize("renew_threshold", [False, True])
def test_a_sparse_vector_that_is_interrupted_never_answers_more_than_was_paid_for(renew_threshold):
    for at in range(40):
        dice = FaultyDice(SystemDice(), at)
        positives, asked = 0, 0
        try:
            vector = SparseVector(
                5, max_positives=3, privacy=ApproxDP(3), dice=dice, renew_threshold=renew_threshold
            )
        except KeyboardInterrupt:
            continue  # while the threshold was drawn: there is nothing to ask
        while not vector.stopped and asked < 60:
            asked += 1
            try:
                positives += vector.ask(5 + (-1) ** asked * 3)
            except KeyboardInterrupt:
                assert positives + vector.positives_left <= 3
        assert positives <= 3
        assert positives + vector.positives_left <= 3


@pytest.mark.filterwarnings("ignore:estimator fails where values are missing")  # of a frame
def test_a_refused_second_fit_leaves_the_columns_of_the_first(
    one_a_class, fit_draws, classifier, iris, budget
):
    X, y = iris
    first, second = (pd.DataFrame(X, columns=list(names)) for names in ("abcd", "dcba"))
    learner = clone(classifier).set_params(ledger=budget(1)).fit(first, y)
    before = {name: value for name, value in vars(learner).items() if name.endswith("_")}
    with pytest.raises(BudgetExceededError):
        learner.fit(second, y)
    with pytest.raises(ValueError, match="sample"):
        learner.set_params(ledger=None).fit(second, y[:-1])
    after = {name: value for name, value in vars(learner).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_a_fit_leaves_nothing_in_its_classes(one_a_class, classifier, iris):
    kinds = [kind for kind in type(classifier).__mro__ if kind.__module__.startswith("dplearn")]
    before = [dict(vars(kind)) for kind in kinds]
    clone(classifier).fit(*iris)
    for kind, kept in zip(kinds, before, strict=True):
        now = dict(vars(kind))
        assert now.keys() == kept.keys()
        assert all(now[name] is kept[name] for name in kept)
