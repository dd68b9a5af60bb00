"""Callbacks receive the progress of a fit, and no data."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from dplearn import (
    KnowledgeTransferClassifier,
    PublicData,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    SubsampleAggregateClassifier,
)

pytestmark = pytest.mark.skipif(
    not find_spec("sklearn.callback"), reason="scikit-learn has callbacks from 1.9 on"
)

X = np.random.default_rng(0).normal(size=(400, 2))
y = (X[:, 0] > 0).astype(int)
K = 7
STUMP = DecisionTreeClassifier(max_depth=1)
OF_TEACHERS = {"n_teachers": K, "epsilon": 1e4}
OF_STUDENTS = OF_TEACHERS | {"max_queries": 20}
ENSEMBLES = [
    SubsampleAggregateClassifier(STUMP, **OF_TEACHERS),
    SoftLabelAggregateClassifier(STUMP, **OF_TEACHERS),
    KnowledgeTransferClassifier(STUMP, STUMP, **OF_STUDENTS),
    SoftLabelTransferClassifier(STUMP, Ridge(), **OF_STUDENTS),
]
in_turn = pytest.mark.parametrize("ensemble", ENSEMBLES, ids=lambda each: type(each).__name__)


def fitted(ensemble, model=None):
    """Return a model of an ensemble, or the ensemble itself, fitted with public rows where it needs them."""
    public = {"X_public": PublicData(X)} if ensemble.needs_public_rows else {}
    return (model or ensemble).fit(X, y, **public)


class Spy:
    """Keeps all that a callback may be given."""

    max_propagation_depth = None  # scikit-learn passes such a callback to the steps of a pipeline

    def __init__(self, answer=None):
        self.heard, self.given, self.known, self.answer = [], [], [], answer

    def setup(self, estimator, context):
        self.note("setup", estimator, context)

    def teardown(self, estimator, context):
        self.note("teardown", estimator, context)

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.note("begin", estimator, context, X, y, metadata, fitted_estimator)

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.note("end", estimator, context, X, y, metadata, fitted_estimator)
        return self.answer

    def note(self, what, estimator, context, *given):
        if type(estimator).__module__.startswith("dplearn"):
            self.heard.append((what, context.task_name, context.task_id, context.max_subtasks))
            self.given += given
            self.known.append(set(vars(estimator)) - set(estimator.get_params(deep=False)))
        elif not isinstance(estimator, (GridSearchCV, type(make_pipeline(None)))):
            self.heard.append((what, "of a teacher"))


@in_turn
def test_a_callback_is_called_for_every_teacher_and_gets_no_data(ensemble):
    spy = Spy()
    fitted(clone(ensemble).set_callbacks(spy))
    assert spy.heard[:2] == [("setup", "fit", 0, K), ("begin", "fit", 0, K)]
    assert spy.heard[-2:] == [("end", "fit", 0, K), ("teardown", "fit", 0, K)]
    teachers = [(what, "teacher", i, 0) for i in range(K) for what in ("begin", "end")]
    assert spy.heard[2:-2] == teachers
    assert spy.given == [None] * len(spy.given)
    allowed = {"n_features_in_", "_skl_callbacks", "_callback_fit_ctx", "_skl_callbacks_to_teardown"}
    assert set().union(*spy.known) <= allowed


@in_turn
def test_callbacks_change_nothing_and_stop_nothing(ensemble):
    seeded = clone(ensemble).set_params(random_state=3)
    fits = [fitted(clone(seeded)), fitted(clone(seeded).set_callbacks(Spy(answer=True)))]
    alone, heard = (fit.predict(X[:9]).tolist() for fit in fits)
    assert alone == heard
    assert not hasattr(fits[1], "_callback_fit_ctx")


def test_a_fit_that_fails_is_torn_down():
    class Failing(Spy):
        def on_fit_task_end(self, estimator, context):
            raise KeyError("of the callback")

    spy = Failing()
    model = clone(ENSEMBLES[0]).set_callbacks(spy)
    with pytest.raises(KeyError, match="of the callback"):
        model.fit(X, y)
    assert spy.heard[-1][0] == "teardown"
    assert not hasattr(model, "guarantee_")


def test_teachers_call_no_callback():
    spy = Spy()
    teacher = make_pipeline(LogisticRegression().set_callbacks(spy)).set_callbacks(spy)
    search = GridSearchCV(LogisticRegression().set_callbacks(spy), {"C": [1.0]}, cv=2)
    for each in (teacher, search):
        SubsampleAggregateClassifier(each, **OF_TEACHERS).fit(X, y)
    assert spy.heard == []
    teacher[0].fit(X, y)
    assert spy.heard  # the user's own estimator keeps it


def test_a_pipeline_and_a_search_hand_their_callbacks_down():
    spy = Spy()
    make_pipeline(clone(ENSEMBLES[0])).set_callbacks(spy).fit(X, y)
    assert [task for what, task, *_ in spy.heard if what == "end"] == ["teacher"] * K + ["fit"]
    assert spy.given == [None] * len(spy.given)
    spy = Spy()
    fitted(ENSEMBLES[2], GridSearchCV(clone(ENSEMBLES[2]), {"epsilon": [1e4]}, cv=2).set_callbacks(spy))
    assert [task for what, task, *_ in spy.heard if what == "end"] == (["teacher"] * K + ["fit"]) * 3
    assert spy.given == [None] * len(spy.given)
