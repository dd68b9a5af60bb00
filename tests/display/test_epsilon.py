"""The display of accuracy against epsilon."""

import sys

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from dplearn import (
    ApproxDP,
    BudgetExceededError,
    ExponentialMechanismClassifier,
    LedgerError,
    PrivacyLedger,
    SecretSampleClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.display import EpsilonDisplay
from dplearn.display.planning import require_all
from dplearn.domains import IntegerRange
from dplearn.preprocessing import PrivateQuantileTransformer

X = np.random.default_rng(0).integers(0, 64, size=(400, 1))
Y = (X[:, 0] > 31).astype(int)
ROWS, LABELS = np.zeros((100, 2)), np.zeros(100, dtype=int)


def learner(**parameters):
    return ExponentialMechanismClassifier(classes=[0, 1], domain=IntegerRange(0, 63), **parameters)


def test_accuracies_of_seeded_fits_are_repeatable_differ_between_fits_and_rise(pyplot):
    def found():
        return EpsilonDisplay.from_estimator(
            learner(), X, Y, X, Y, epsilons=(1, 0.001), repeats=8, random_state=3
        )

    first, second = found(), found()
    assert first.epsilons.tolist() == [0.001, 1]
    np.testing.assert_array_equal(first.accuracies, second.accuracies)
    assert len(set(first.accuracies[0].tolist())) > 1
    assert first.middle[0] < first.middle[1]
    assert first.ax_.get_xscale() == "log"


def test_every_fit_is_charged_to_the_ledger(pyplot):
    ledger = PrivacyLedger(2)
    EpsilonDisplay.from_estimator(learner(ledger=ledger), X, Y, X, Y, epsilons=(0.1, 0.3), repeats=2)
    assert ledger.spent().epsilon == ApproxDP("0.8").epsilon


def test_no_fit_starts_if_the_budget_is_less_than_the_cost_of_all_fits(pyplot):
    ledger = PrivacyLedger(2)
    with pytest.raises(BudgetExceededError, match=r"asked epsilon 2\.2, delta 0; spent epsilon 0"):
        EpsilonDisplay.from_estimator(learner(ledger=ledger), X, Y, X, Y, epsilons=(0.1, 1), repeats=2)
    assert not ledger.history()
    assert not pyplot.get_fignums()


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"scoring": "accuracy"}, TypeError, "from_estimator takes only its own keywords.*'scoring'"),
        ({"verbose": 1}, TypeError, "'verbose'"),
        ({"n_jobs": 2, "ax": None}, TypeError, "'n_jobs'"),
        ({"share": 2}, ValueError, "share must be"),
        ({"ax": [1]}, TypeError, "ax must be None or matplotlib Axes, got list"),
        ({"param_name": "learner__epsilon"}, ValueError, "param_name must be a parameter of estimator"),
        ({"X_test": X[:, [0, 0]]}, ValueError, "X_test must have the columns of X"),
        ({"X_test": X[1:]}, ValueError, "inconsistent numbers of samples"),
        ({"y_test": Y[:, None]}, ValueError, "y_test must be labels"),
        ({"baseline": DummyClassifier(strategy="no such")}, ValueError, "strategy"),
    ],
    ids=["scoring", "verbose", "jobs", "share", "axes", "parameter", "columns", "rows", "labels", "baseline"],
)
def test_errors_in_drawing_and_scoring_are_raised_before_any_fit(pyplot, how, error, message):
    ledger = PrivacyLedger(999)
    data = {"X": X, "y": Y, "X_test": X, "y_test": Y}
    with pytest.raises(error, match=message):
        EpsilonDisplay.from_estimator(learner(ledger=ledger), **data | how)
    assert not ledger.history()
    assert not pyplot.get_fignums()


def test_without_matplotlib_nothing_is_fitted(monkeypatch):
    ledger = PrivacyLedger(99)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="plot needs matplotlib"):
        EpsilonDisplay.from_estimator(learner(ledger=ledger), X, Y, X, Y)
    assert not ledger.history()


def test_the_error_for_a_pipeline_names_the_epsilon_of_its_step():
    chain = make_pipeline(Normalizer(), learner())
    given = "say param_name='exponentialmechanismclassifier__epsilon'"
    with pytest.raises(ValueError, match=given):
        EpsilonDisplay.from_estimator(chain, X, Y, X, Y)


def test_a_step_of_a_pipeline_can_be_varied_and_a_baseline_drawn(pyplot):
    chain = make_pipeline(Normalizer(), ExponentialMechanismClassifier(classes=[0, 1]))
    display = EpsilonDisplay.from_estimator(
        chain,
        X,
        Y,
        X,
        Y,
        epsilons=(1,),
        repeats=1,
        param_name="exponentialmechanismclassifier__epsilon",
        baseline=DummyClassifier(strategy="constant", constant=1),
        random_state=0,
    )
    assert display.baseline == Y.mean()
    assert display.baseline_.get_ydata()[0] == Y.mean()


def test_an_estimator_with_a_seed_is_refused():
    with pytest.raises(ValueError, match="random_state of estimator must be None"):
        EpsilonDisplay.from_estimator(learner(random_state=0), X, Y, X, Y)


def test_predictions_are_compared_with_the_true_labels_and_the_band_contains_its_share(pyplot):
    truth = np.array([0, 1, 1, 0])
    axes = pyplot.subplots()[1]
    display = EpsilonDisplay.from_predictions(
        truth, {1: [truth, 1 - truth, [0, 0, 0, 0]], 0.1: [1, 1, 1, 1]}, ax=axes, share=1.0
    )
    assert [each.tolist() for each in display.accuracies] == [[0.5], [1, 0, 0.5]]
    heights = display.band_.get_paths()[0].vertices
    assert heights[heights[:, 0] == 1, 1].min() == 0
    assert heights[heights[:, 0] == 1, 1].max() == 1
    assert display.ax_ is axes
    assert display.baseline_ is None


@pytest.mark.usefixtures("pyplot")
def test_an_abstention_counts_as_wrong():
    display = EpsilonDisplay.from_predictions(["no", "yes"], {1: ["no", "?"]})
    assert display.middle.tolist() == [0.5]


def test_there_must_be_one_prediction_for_each_true_label():
    with pytest.raises(ValueError, match="one for each true label"):
        EpsilonDisplay.from_predictions([0, 1], {1: [0, 1, 1]})


@pytest.mark.parametrize(
    ("accuracies", "message"),
    [({}, "accuracies must hold"), ({1: []}, "accuracies must hold"), ({0: [1.0]}, "epsilon must be")],
    ids=["none", "no fit", "epsilon 0"],
)
def test_accuracies_that_cannot_be_drawn_are_refused(accuracies, message):
    with pytest.raises(ValueError, match=message):
        EpsilonDisplay(accuracies)


def plain(**parameters):
    return ExponentialMechanismClassifier(**parameters)


def chain(scaler, model):
    return make_pipeline(
        PrivateQuantileTransformer(epsilon=0.5, ledger=scaler), plain(epsilon=1, ledger=model)
    )


def ensemble(ledger):
    return SubsampleAggregateClassifier(LogisticRegression(), epsilon=1, delta=1e-6, ledger=ledger)


def sampled(ledger):
    return SecretSampleClassifier(plain(epsilon=1), sample_size=20, ledger=ledger)


@pytest.mark.parametrize(
    ("made", "least"),
    [
        (lambda ledger: [plain(epsilon=e, ledger=ledger) for e in (0.1, 0.2, 0.3)], ("0.6", 0)),
        (lambda ledger: [chain(ledger, ledger)] * 2, (3, 0)),
        (lambda ledger: [chain(ledger, None)] * 2, (1, 0)),
        (lambda ledger: [ensemble(ledger)] * 3, (3, "3e-6")),
        (lambda ledger: [plain(epsilon=5)] * 3, ("1e-9", 0)),
    ],
    ids=["learners", "pipelines", "transformers", "ensembles", "no ledger"],
)
def test_a_budget_that_equals_the_sum_of_all_costs_is_enough_and_less_is_not(made, least):
    epsilon, delta = least
    ledger = PrivacyLedger(epsilon, delta)
    require_all(made(ledger), ROWS, LABELS)
    assert not ledger.history()
    if ledger.budget.epsilon > 0.1:
        with pytest.raises(BudgetExceededError):
            require_all(made(PrivacyLedger(float(ledger.budget.epsilon) - 0.01, delta)), ROWS, LABELS)


def test_a_cost_that_depends_on_the_number_of_records_is_known():
    ledger = PrivacyLedger(10)
    sampled(ledger).fit(ROWS, np.arange(100) % 2)
    cost = ledger.spent().epsilon
    require_all([sampled(PrivacyLedger(2 * cost))] * 2, ROWS, LABELS)
    with pytest.raises(BudgetExceededError):
        require_all([sampled(PrivacyLedger(2 * cost))] * 3, ROWS, LABELS)


def test_a_ledger_of_rho_adds_squares():
    models = [plain(epsilon=1, ledger=PrivacyLedger.of_rho(1))] * 2
    require_all(models, ROWS, LABELS)
    with pytest.raises(BudgetExceededError, match=r"asked rho 1\.5"):
        require_all(models + models[:1], ROWS, LABELS)


def test_two_ledgers_of_one_file_are_one_ledger(tmp_path):
    models = [plain(epsilon=1, ledger=PrivacyLedger(2, path=tmp_path / "account")) for _ in range(3)]
    require_all(models[:2], ROWS, LABELS)
    with pytest.raises(BudgetExceededError):
        require_all(models, ROWS, LABELS)


def test_the_ledger_refuses_a_seed_before_any_fit():
    with pytest.raises(LedgerError, match="random_state"):
        require_all([plain(random_state=0, ledger=PrivacyLedger(9))], ROWS, LABELS)
