"""Where code of a model meets private rows, nothing that it says gets out, and no replaced method runs."""

import functools
import logging
import random
import re
import signal
import sys
import traceback
import warnings
from functools import partial

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dplearn import (
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    PrivateMultiOutputClassifier,
    PublicData,
    SecretSampleClassifier,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
)
from dplearn.concepts import FiniteClass, Thresholds
from dplearn.display import PrivateRocCurveDisplay
from dplearn.domains import IntegerRange, Product
from dplearn.estimator import MANY_ROWS
from dplearn.model_selection import (
    PrivateScorer,
    PrivateSearchCV,
    PrivateTunedThresholdClassifier,
    private_score,
)
from dplearn.privacy import PrivacyLedger
from tests.audit.changed import with_recipe

pytestmark = pytest.mark.filterwarnings("ignore")

SECRET = "-".join(["canary", "9f3b"])  # in no line of code, which a traceback shows
LOGGER = logging.getLogger("of.a.model")
MARK = 7  # in no made-up and no public row
X = np.arange(80.0)[:, None] % 8
Y = (X[:, 0] > 3).astype(int)
PUBLIC = X[X[:, 0] < MARK]
TREE, BAYES = (
    DecisionTreeClassifier(max_depth=1, random_state=0),
    StatisticalQueryNaiveBayes(domain=IntegerRange(0, 7), classes=[0, 1]),
)


class Heard(logging.Handler):
    def emit(self, record):
        HEARD.append(record.getMessage())


HEARD = []
OF_THE_MODEL = Heard()


def prints():
    print(SECRET)
    print(SECRET, file=sys.stderr)


def logs():
    logging.disable(logging.NOTSET)
    LOGGER.addHandler(OF_THE_MODEL)
    LOGGER.setLevel(1)
    LOGGER.log(10**6, SECRET)
    logging.critical(SECRET)


def warns():
    warnings.simplefilter("always")
    warnings.warn(SECRET, stacklevel=1)


def draws():
    np.random.normal()
    random.random()
    np.seterr(all="raise")
    sklearn.set_config(assume_finite=True)


def shared():
    name, keys, *rest = np.random.get_state()
    return name, keys.tolist(), rest, random.getstate(), np.geterr(), sklearn.get_config(), sys.stdout


def stops(kind):
    def stop():
        error = kind(SECRET)
        error.add_note(SECRET)
        raise error from ValueError(SECRET)

    return stop


def enough(rows):
    return len(rows) > MANY_ROWS  # not in the dry run on public rows, whose errors are shown


def always(rows):
    return True


def marked(rows):
    return bool((np.asarray(rows) == MARK).any())


def reading(model, method, act):
    """Return a private estimator whose recipe acts before a method of it sees rows."""

    def change(own):
        def overridden(*given, **named):
            act()
            return own(*given, **named)

        return overridden

    return with_recipe(type(model), **{method: change})(**model.get_params(deep=False))


def talking(model, method, act, when=marked, base=None):
    """Return a model of a subclass that acts before a method sees certain rows."""

    def overridden(self, rows, *given, **more):
        if when(rows):
            act()
        return getattr(super(kind, self), method)(rows, *given, **more)

    kind = type("Talking", (base or type(model),), {method: overridden, "__module__": __name__})
    return kind(*model) if base else kind(**model.get_params(deep=False))


class Armed:
    """An act of models that are fitted without it."""

    def __init__(self, act):
        self.act, self.armed = act, False

    def __call__(self):
        if self.armed:
            self.act()


def asked(ensemble, method, answer):
    """The teachers say something when they are asked, since they were trained on private rows."""

    def run(act):
        act = Armed(act)
        teacher = talking(TREE, method, act, when=always)
        fitted = ensemble(teacher, n_teachers=4, epsilon=50).fit(X, Y)
        act.armed = True
        getattr(fitted, answer)(PUBLIC[:1])

    return run


def scored(model, method, scoring, score=private_score, X=X, y=Y):
    return lambda act: score(talking(model, method, act).fit(PUBLIC, PUBLIC[:, 0] > 3), X, y, scoring=scoring)


def curve(estimator, X, y, scoring):
    from matplotlib.figure import Figure

    return PrivateRocCurveDisplay.from_estimator(estimator, X, y, ax=Figure().subplots())


def searched(estimator, grid, **how):
    return PrivateSearchCV(estimator, grid, **how).fit(X, Y)


def through_a_step(act):
    step = talking(FunctionTransformer(), "transform", act)
    return searched(
        Pipeline([("step", step), ("last", BAYES)]), {"step__validate": [False]}, stateless="step"
    )


def candidate(method):
    talks = partial(talking, when=always) if method == "predict" else reading
    return lambda act: searched(talks(BAYES, method, act), {"smoothing": [1.0]})


def tuned(method):
    talks = partial(talking, when=always) if method == "predict_proba" else reading
    return lambda act: PrivateTunedThresholdClassifier(talks(BAYES, method, act)).fit(X, Y)


def concepts(method):
    def run(act):
        thresholds = talking([Product([IntegerRange(0, 7)])], method, act, always, base=Thresholds)
        ExponentialMechanismClassifier(thresholds, classes=[0, 1]).fit(X, Y)

    return run


def functions(act):
    def concept(rows):
        if marked(rows):
            act()
        return (rows[:, 0] > 3).astype(int)

    ExponentialMechanismClassifier(FiniteClass([concept, lambda rows: 1 - concept(rows)])).fit(X, Y)


def sampled(method):
    return lambda act: SecretSampleClassifier(reading(BAYES, method, act), sample_size=20).fit(X, Y)


def outputs(method):
    return lambda act: PrivateMultiOutputClassifier(
        reading(clone(BAYES).set_params(classes=None), method, act)
    ).fit(X, np.stack([Y, 1 - Y], axis=1))


PLACES = {
    "teacher, fit": lambda act: SubsampleAggregateClassifier(talking(TREE, "fit", act), n_teachers=4).fit(
        X, Y
    ),
    "teacher, labels": asked(SubsampleAggregateClassifier, "predict", "predict"),
    "teacher, probabilities": asked(SoftLabelAggregateClassifier, "predict_proba", "predict_proba"),
    "teacher of a student": lambda act: KnowledgeTransferClassifier(
        talking(TREE, "fit", act), n_teachers=4
    ).fit(X, Y, X_public=PublicData(PUBLIC)),
    "score, errors": scored(TREE, "predict", "accuracy"),
    "score, confusion": scored(TREE, "predict", "f1"),
    "score, bins": scored(TREE, "predict_proba", "roc_auc"),
    "score, margins": scored(
        LogisticRegression(), "decision_function", PrivateScorer("roc_auc", score_range=(-5, 5))
    ),
    "score, losses": scored(TREE, "predict_proba", "neg_log_loss"),
    "score, targets": scored(
        DecisionTreeRegressor(random_state=0), "predict", PrivateScorer("r2", target_range=(0, 1))
    ),
    "score, parts": scored(TREE, "predict", "accuracy", X=[X[:40], X[40:]], y=[Y[:40], Y[40:]]),
    "curve": scored(TREE, "predict_proba", None, score=curve),
    "candidate, reads": candidate("encoded"),
    "candidate, fit": candidate("summarize"),
    "candidate, predictions": candidate("predict"),
    "step before a candidate": through_a_step,
    "tuned, fit": tuned("run"),
    "tuned, probabilities": tuned("predict_proba"),
    "concepts of functions": functions,
    "class of concepts": concepts("error_profile"),
    "learner of a secret sample, reads": sampled("encoded"),
    "learner of a secret sample, fit": sampled("run"),
    "learner of an output, reads": outputs("encoded"),
    "learner of an output, fit": outputs("run"),
}


def counted(act):
    def counting():
        counting.times += 1
        act()

    counting.times = 0
    return counting


def chain(error):
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("place", PLACES)
def test_nothing_that_a_model_says_about_private_rows_gets_out(place, capsys, monkeypatch):
    monkeypatch.setattr(logging.root, "handlers", [Heard()])
    monkeypatch.setattr(LOGGER, "handlers", [])
    HEARD.clear()
    before = shared()
    act = counted(lambda: [one() for one in (prints, logs, warns, draws)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PLACES[place](act)
    assert act.times
    assert SECRET not in "".join([*capsys.readouterr(), *HEARD, *(str(each.message) for each in caught)])
    assert shared() == before
    assert (LOGGER.handlers, LOGGER.level) == ([], logging.NOTSET)
    LOGGER.warning("heard again")
    assert HEARD[-1] == "heard again"


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupt_or_an_exit_of_a_model_carries_no_text_out(place):
    for kind in (KeyboardInterrupt, SystemExit):
        stop, raised = counted(stops(kind)), None
        try:
            PLACES[place](stop)
        except BaseException as error:
            raised = error
        assert stop.times
        if kind is KeyboardInterrupt:
            assert type(raised) is kind
            assert (raised.__cause__, raised.__context__) == (None, None)
            # Nothing, or what is spent: public numbers.
            assert re.fullmatch(
                r"(\w+ was interrupted after its charge: it has spent [^,]*, .*)?", str(raised)
            )
            assert len(raised.args) <= 1
        if raised is not None:
            assert SECRET not in chain(raised) + repr(vars(raised))


def test_an_interrupt_from_the_keyboard_stops_a_fit():
    def press():
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            PLACES["teacher, fit"](press)
    finally:
        signal.signal(signal.SIGINT, before)
    assert sys.stdout is not None
    assert logging.Logger.callHandlers.__name__ == "callHandlers"


@pytest.mark.nightly
def test_an_interrupt_in_a_worker_process_carries_no_text_out():
    for place in ("teacher, fit", "teacher of a student"):
        with parallel_config(backend="loky", n_jobs=2), pytest.raises(KeyboardInterrupt) as raised:
            PLACES[place](stops(KeyboardInterrupt))
        assert SECRET not in chain(raised.value)


def spied(original, seen):
    @functools.wraps(original)
    def spy(self, *given, **more):
        seen.append(type(self).__name__)
        return original(self, *given, **more)

    return spy


class Unread:
    """Private values that nobody may look at."""

    def __getattribute__(self, name):
        raise AssertionError("private values were read")


STEPS = {"stateless": ["functiontransformer"]}
GRID = {"functiontransformer__validate": [False]}
GIVEN = {
    "votes": lambda model, **how: SubsampleAggregateClassifier(model, **how).fit,
    "scores": lambda model, **how: SoftLabelAggregateClassifier(model, **how).fit,
    "transfer": lambda model, **how: KnowledgeTransferClassifier(model, **how).fit,
    "soft transfer": lambda model, **how: SoftLabelTransferClassifier(model, **how).fit,
    "search": lambda model, **how: (
        PrivateSearchCV(make_pipeline(FunctionTransformer(), BAYES), GRID, **STEPS, **how).fit
    ),
    "tuned": lambda model, **how: (
        PrivateTunedThresholdClassifier(make_pipeline(FunctionTransformer(), BAYES), **STEPS, **how).fit
    ),
    "score": lambda model, **how: functools.partial(private_score, model, **how),
    "curve": lambda model, **how: functools.partial(PrivateRocCurveDisplay.from_estimator, model, **how),
}


@pytest.mark.parametrize("use", GIVEN)
def test_a_replaced_method_is_refused_before_values_are_read_and_anything_is_spent(use, monkeypatch):
    fitted, seen, ledger = clone(TREE).fit(X, Y), [], PrivacyLedger(100, 1e-3)
    for kind in (DecisionTreeClassifier, FunctionTransformer):
        for method in ("fit", "predict" if kind is DecisionTreeClassifier else "transform"):
            monkeypatch.setattr(kind, method, spied(getattr(kind, method), seen))
    with pytest.raises(ValueError, match="estimator must run the code of its own classes"):
        GIVEN[use](fitted, ledger=ledger)(Unread(), Unread())
    assert (seen, ledger.history()) == ([], [])


@pytest.mark.first_by_day
@pytest.mark.parametrize("default", [None, LogisticRegression()])
def test_a_replaced_method_of_the_teachers_is_refused_when_they_are_asked(default, monkeypatch):
    fitted = SubsampleAggregateClassifier(default, n_teachers=4, epsilon=50).fit(X, Y)
    left, seen = fitted.remaining_queries_, []
    with monkeypatch.context() as patched:
        patched.setattr(LogisticRegression, "predict", spied(LogisticRegression.predict, seen))
        with pytest.raises(ValueError, match=r"LogisticRegression\.predict has been replaced"):
            fitted.predict(PUBLIC[:1])
    assert (seen, fitted.remaining_queries_) == ([], left)
    fitted.predict(PUBLIC[:1])


def test_a_replaced_method_of_a_default_model_is_refused_and_nothing_is_spent(monkeypatch):
    seen, ledger = [], PrivacyLedger(100, 1e-3)
    monkeypatch.setattr(LogisticRegression, "fit", spied(LogisticRegression.fit, seen))
    for fit in (
        SubsampleAggregateClassifier(ledger=ledger).fit,
        partial(KnowledgeTransferClassifier(ledger=ledger).fit, X_public=PublicData(PUBLIC)),
    ):
        with pytest.raises(ValueError, match=r"LogisticRegression\.fit has been replaced"):
            fit(X, Y)
    assert (seen, ledger.history()) == ([], [])
