"""Replaced methods of models are found, however they were replaced; methods of their classes pass."""

import contextlib
import functools
import sys
import types
from unittest import mock

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators
from sklearn.utils.metaestimators import available_if

import dplearn
import dplearn.preprocessing
from dplearn.estimator import check_own_code

X, Y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2


def plain(original):
    return lambda self, *given, **more: original(self, *given, **more)


def wrapped(original):
    @functools.wraps(original)
    def look_alike(self, *given, **more):
        return original(self, *given, **more)

    return look_alike


class Proxy:
    """Pretends to be the function that it wraps, as the proxies of tracing libraries do."""

    def __init__(self, original):
        functools.update_wrapper(self, original)
        self.original = original

    @property
    def __class__(self):
        return type(self.original)

    @property
    def __globals__(self):
        return self.original.__globals__

    def __get__(self, owner, kind=None):
        return functools.partial(self.original, owner)


class Span(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


@contextlib.contextmanager
def span():
    yield


PATCHES = {
    "a function": plain,
    "a function that looks like the original": wrapped,
    "a partial method": lambda original: functools.partialmethod(plain(original)),
    "a descriptor": lambda original: available_if(lambda self: True)(plain(original)),
    "a property": lambda original: property(lambda self: functools.partial(original, self)),
    "a proxy": Proxy,
    "a mock": lambda original: mock.MagicMock(),
    "a context manager": lambda original: Span()(original),
    "a generator's context manager": lambda original: span()(original),
    "two wrappers": lambda original: functools.wraps(original)(functools.partialmethod(wrapped(original))),
}


def refused(estimator, *texts):
    with pytest.raises(ValueError, match="estimator must run the code of its own classes") as raised:
        check_own_code("estimator", estimator)
    assert all(text in str(raised.value) for text in texts)


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
@pytest.mark.parametrize(
    "method", ["fit", "predict", "predict_proba", "score", "decision_function", "_predict_proba_lr"]
)
def test_a_replaced_method_is_found(monkeypatch, patch, method):
    fitted = LogisticRegression().fit(X, Y)
    check_own_code("estimator", fitted)
    monkeypatch.setattr(LogisticRegression, method, patch(getattr(LogisticRegression, method)))
    for estimator in (fitted, LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        refused(estimator, f"LogisticRegression.{method}", "mlflow.sklearn.autolog(disable=True)")


def test_a_replaced_function_in_a_descriptor_of_scikit_learn_is_found(monkeypatch):
    descriptor = vars(Pipeline)["predict"]
    monkeypatch.setattr(descriptor, "fn", wrapped(descriptor.fn))
    refused(make_pipeline(LogisticRegression()), "Pipeline.predict")


class Heir(LogisticRegression):
    pass


@pytest.mark.parametrize(
    ("owner", "estimator"),
    [
        (ClassifierMixin, LogisticRegression()),
        (LogisticRegression, Heir()),
        (LogisticRegression, VotingClassifier([("a", Pipeline([("b", LogisticRegression())]))])),
        (LogisticRegression, GridSearchCV(DecisionTreeClassifier(), {"x": [LogisticRegression()]})),
        (LogisticRegression, StackingClassifier([("a", DecisionTreeClassifier())])),  # the default at the end
        (DecisionTreeClassifier, RandomForestClassifier()),
    ],
)
def test_a_replaced_method_of_any_class_that_takes_part_is_found(monkeypatch, owner, estimator):
    check_own_code("estimator", estimator)
    monkeypatch.setattr(owner, "score", wrapped(ClassifierMixin.score))
    refused(estimator, "score")


def test_a_method_that_is_set_on_one_object_is_found():
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    fitted[-1].predict = lambda X: print(X)
    refused(fitted, "LogisticRegression.predict")
    check_own_code("estimator", clone(fitted))


def test_a_replacement_that_the_tracker_also_puts_into_the_module_is_found(monkeypatch):
    module = sys.modules[LogisticRegression.__module__]
    for marker in (Span(), wrapped(LogisticRegression.fit)):
        monkeypatch.setattr(module, "marker", marker, raising=False)
        with monkeypatch.context() as patched:
            patched.setattr(LogisticRegression, "fit", plain(LogisticRegression.fit))
            refused(LogisticRegression())


def bare(kind):
    """An object of a class whose parameters are not asked for."""
    return object.__new__(type(kind.__name__, (kind,), {"get_params": lambda self, deep=True: {}}))


def test_no_estimator_of_scikit_learn_or_ours_is_refused():
    kinds = [kind for _, kind in all_estimators()]
    for module in (dplearn, dplearn.preprocessing):
        own = [getattr(module, name) for name in module.__all__]
        kinds += [kind for kind in own if isinstance(kind, type) and hasattr(kind, "fit")]
    assert len(kinds) > 200
    check_own_code("estimator", [bare(kind) for kind in kinds])


def counted(method):
    @functools.wraps(method)
    def inner(self, *given):
        return method(self, *given)

    return inner


class Own(ClassifierMixin, BaseEstimator):
    """A class as users write them: with decorators, aliases and methods of libraries."""

    @counted
    def fit(self, X, y):
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = self.inner_.classes_
        self.transform_parameters = print
        return self

    @np.errstate(all="ignore")
    def predict(self, X):
        return self.inner_.predict(X)

    @available_if(lambda self: True)
    @functools.lru_cache  # noqa: B019 - what the test is about
    def predict_proba(self, X):
        return self.inner_.predict_proba(X)

    @contextlib.contextmanager
    def transform(self, X):
        yield X

    score_by = staticmethod(np.mean)
    score_samples = functools.partialmethod(predict)
    helper = mock.MagicMock()


@pytest.mark.parametrize(
    "estimator",
    [
        Own(),
        make_pipeline(StandardScaler(), PCA(1), Own()),
        RandomForestClassifier(3),
        GridSearchCV(LogisticRegression(), {"C": [1, 2]}),
    ],
)
def test_no_fitted_model_is_refused(estimator):
    check_own_code("estimator", estimator.fit(X, Y))


def test_a_library_may_decorate_its_own_methods_and_use_others(monkeypatch):
    """As packages of gradient boosting do."""
    other, boost = types.ModuleType("other_package.tools"), types.ModuleType("boost.sklearn")
    exec("def deprecated(f):\n    return lambda *given: f(*given)", vars(other))
    source = """
from other_package.tools import deprecated
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

class Base(BaseEstimator):
    @deprecated
    def fit(self, X, y):
        return self

class Boost(Base, ClassifierMixin):
    predict = LogisticRegression.predict
    transform = dict.get

    def fit(self, X, y):
        return super().fit(X, y)
"""
    for module in (other, boost):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(source, vars(boost))
    check_own_code("estimator", boost.Boost())
    del boost.deprecated  # as if it had not been imported, but had come later
    refused(boost.Boost(), "Base.fit", "other_package")
