"""Every estimator obeys scikit-learn's common checks, is shown and named as its users expect, and takes no
weights; it leaves behind nothing that is not declared."""

import importlib
import pickle
import re
from inspect import cleandoc
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, clone, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

import dplearn
from dplearn import (
    ApproxDP,
    ParityClassifier,
    PrivacyLedger,
    PrivateMultiOutputClassifier,
    SecretSampleClassifier,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    ThresholdClassifier,
    learners,
)
from dplearn.estimator import PrivateClassifier, PrivateRegressor
from dplearn.learners.votes import OnlineEnsembleClassifier
from dplearn.preprocessing import PrivateStandardScaler
from dplearn.privacy import OneTimeState
from tests.laws.conftest import (
    PREDICTORS,
    REGRESSORS,
    STAND_FOR_ALL,
    TRANSFORMERS,
    expected_failures,
    settings,
    written,
)

# Tables of scikit-learn's checks are small, and so is epsilon below; what is pickled is not meant to predict.
# Some of the checks fit lists.
pytestmark = pytest.mark.filterwarnings(
    "ignore:n_(teachers|samples) is", "ignore:a pickle of", "ignore:X is a list"
)


def test_every_learner_is_exported_and_so_found_by_these_laws():
    modules = [importlib.import_module(f"dplearn.learners.{m.name}") for m in iter_modules(learners.__path__)]
    defined = {
        thing
        for module in modules
        for thing in (getattr(module, name) for name in dir(module))
        if isinstance(thing, type) and issubclass(thing, (PrivateClassifier, PrivateRegressor))
        if thing.__module__.startswith("dplearn.learners") and not thing.__doc__.startswith("Base class of")
    }
    assert len(defined) >= 14
    assert {kind.__name__ for kind in defined} <= set(learners.__all__) & set(dplearn.__all__)
    regressors = {kind for kind in defined if issubclass(kind, PrivateRegressor)}
    assert regressors <= {type(each) for each in REGRESSORS}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # array API: an opt-in of SciPy
@pytest.mark.parametrize("each", settings([*PREDICTORS, *TRANSFORMERS], one_a_class=True), ids=written)
def test_scikit_learn_common_checks(each):
    expected = expected_failures(each)
    found = check_estimator(each, expected_failed_checks=expected, on_skip=None, on_fail=None)
    for check in found:
        if check["status"] == "failed":
            raise AssertionError(check["check_name"]) from check["exception"]
    assert {check["check_name"] for check in found if check["status"] == "xfail"} == expected.keys()
    assert len(found) > 30


def test_every_fitted_attribute_is_declared_public_or_released(one_a_class, fitted):
    text = cleandoc(type(fitted).__doc__)  # Python 3.13 does so itself
    section = re.split(r"\n\w[\w ]*\n-{3,}\n", text.split("Attributes\n", 1)[1])[0]
    declared = re.findall(r"^(\w+_) : .*\n\s+(Public|Released)\. ", section, flags=re.MULTILINE)
    left_behind = set(vars(fitted)) - set(fitted.get_params(deep=False))
    held = {name for name in left_behind if isinstance(vars(fitted)[name], OneTimeState)}
    left_behind -= held  # which shows nothing and is in no pickle
    assert left_behind <= {name for name, _ in declared}
    assert "guarantee_" in left_behind


def test_a_pickle_does_not_grow_with_the_records_and_holds_no_dice(one_a_class, classifier, iris, fitted):
    X, y = (np.repeat(part, 3, axis=0) for part in iris)
    # A model of more records has more interactions, up to a number in the plan; a tree that is trained on
    # synthetic records has a size of its own. What else is left behind is compared.
    constant = (DummyRegressor if is_regressor(classifier) else DummyClassifier)()
    same_size = {"interactions": False} | ({"estimator": constant} if hasattr(fitted, "synthetic_") else {})
    fixed = {name: value for name, value in same_size.items() if hasattr(classifier, name)}
    alike = clone(classifier).set_params(**fixed)
    few, more = clone(alike).fit(*iris) if fixed else fitted, alike.fit(X, y)
    # A float64 record of 4 columns takes 32 bytes, 300 more of them 9,600.
    sized = hasattr(few, "synthetic_") and (classifier.domain == "learn" or hasattr(classifier, "student"))
    if sized or hasattr(few, "reports_"):
        # Released cells, students of released labels, and the reports of all records have their own sizes.
        few, more = (clone(each) for each in (few, more))
    # A search may choose another candidate, with a domain of another size.
    slack = 600 if hasattr(classifier, "param_grid") else 300
    assert abs(len(pickle.dumps(more)) - len(pickle.dumps(few))) < slack
    pickled = pickle.dumps(fitted)
    assert not any(np.asarray(row, dtype=np.float64).tobytes() in pickled for row in iris[0])
    assert b"dplearn.chance" not in pickled
    assert repr(fitted.get_params()) == repr(classifier.get_params())  # which a fit leaves alone


def published(fitted, iris):
    """What a fit and some predictions show."""
    return repr(fitted.__dict__.get("concept_", fitted.predict(iris[0]).tolist()))


def test_an_integer_seed_repeats_and_the_operating_systems_entropy_does_not(
    speaks, one_a_class, classifier, iris, fitted
):
    def another(**given):
        model = clone(classifier).set_params(**given).fit(*iris)
        assert model.guarantee_.reproducible == ("random_state" in given)
        return published(model, iris)

    assert another(random_state=3) == another(random_state=3)
    first = another(epsilon=0.01)  # no outcome has probability above .6 there, so 41 alike are below 2**-29
    assert any(another(epsilon=0.01) != first for _ in range(40))


@pytest.mark.filterwarnings("ignore")
def test_every_classifier_is_fitted_to_two_labels_or_refused_before_a_charge(one_a_class, classifier, iris):
    X, y = iris
    Y = np.column_stack([y, np.roll(y, 7)])
    cost = {"epsilon": 2 * classifier.epsilon, "delta": 1e-6 if hasattr(classifier, "delta") else 0}
    ledger = PrivacyLedger(*cost.values(), protects=getattr(classifier, "protects", "examples"))
    model = PrivateMultiOutputClassifier(clone(classifier), **cost, ledger=ledger)
    if (
        is_regressor(classifier)
        or isinstance(classifier, OnlineEnsembleClassifier | PrivateMultiOutputClassifier)
        or getattr(classifier, "trust_model", "central") == "local"
        or getattr(classifier, "needs_public_rows", False)
    ):
        with pytest.raises((TypeError, ValueError), match="estimator must"):
            model.fit(X, Y)
        assert ledger.history() == []
        return
    model.fit(X, Y)
    assert len(ledger.history()) == 1
    assert model.guarantee_.epsilon == ledger.spent().epsilon
    assert model.predict(X).shape == Y.shape
    assert [each.tolist() for each in model.classes_] == [np.unique(y).tolist()] * 2
    assert all(each.guarantee_.epsilon <= model.guarantee_.epsilon for each in model.estimators_)
    assert all(each.classes_.tolist() == np.unique(y).tolist() for each in model.estimators_)


# What a notebook shows

every_setting = pytest.mark.parametrize(
    "private", [each for each in (*PREDICTORS, *TRANSFORMERS) if hasattr(each, "epsilon")], ids=written
)


def shown(estimator):
    """What a notebook shows, by both ways that it may ask."""
    bundle = estimator._repr_mimebundle_()
    assert bundle["text/plain"] == repr(estimator)
    given = (estimator._repr_html_(), bundle["text/html"])
    under = [html.rpartition('<div class="dplearn-guarantee">')[2].removesuffix("</div>") for html in given]
    assert under[0] == under[1]
    return under[0]


@every_setting
def test_an_estimator_tells_its_price_or_its_guarantee(private):
    before = vars(private).copy()
    parameters = private.get_params(deep=False)
    pure = parameters.get("trust_model") == "local" or parameters.get("method") == "interior_point"
    delta = 0 if pure or parameters.get("delta") == "auto" else parameters.get("delta", 0)
    tells = f" A fit will spend epsilon {private.epsilon:.15g}, delta {delta:g}."
    # Whether parities spend delta depends on how many columns there are.
    assert shown(private) == "Not fitted." + tells * (not isinstance(private, ParityClassifier))
    assert vars(private) == before
    plain = object.__new__(
        type(type(private).__name__, (BaseEstimator,), {"__init__": type(private).__init__})
    )
    vars(plain).update(parameters)
    assert repr(private) == repr(plain)
    with sklearn.config_context(display="text"):
        assert not hasattr(private, "_repr_html_")
        assert private._repr_mimebundle_() == {"text/plain": repr(private)}
    assert not has_fit_parameter(private, "sample_weight")


def test_a_fitted_estimator_tells_its_guarantee():
    for private in STAND_FOR_ALL:
        if hasattr(private, "epsilon"):
            fitted = clone(private)
            fitted.guarantee_ = ApproxDP(0.25, assumes=["<b> is public"])
            assert fitted.guarantee_._repr_html_() in fitted._repr_html_()
            assert "&lt;b&gt; is public" in shown(fitted)
            assert "Not fitted" not in shown(fitted)


def test_a_price_that_is_not_known_is_not_told_and_no_generator_is_drawn_from():
    secret = SecretSampleClassifier(ThresholdClassifier(), sample_size=5)
    wrong = ({"epsilon": -1}, {"epsilon": "<b>"}, {"ledger": 3, "method": "none"})  # for the fit to refuse
    for each in (secret, *(ThresholdClassifier(**given) for given in wrong)):
        assert shown(each) == "Not fitted."
    generator = np.random.RandomState(3)
    state = generator.get_state()[1].tobytes()
    shown(SubsampleAggregateClassifier(random_state=generator))
    assert generator.get_state()[1].tobytes() == state
    pipeline = make_pipeline(ThresholdClassifier(), SubsampleAggregateClassifier())
    assert "SubsampleAggregateClassifier" in pipeline._repr_html_()
    assert estimator_html_repr(pipeline) is not None


# Names of columns

NUMBERS = np.linspace(-3, 3, 90).reshape(30, 3)
NAMES = ["age", "wage", "height"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_transformers_name_their_columns_and_give_frames_where_they_are_asked_to(any_transformer, library):
    frames = importlib.import_module(library)
    frame = frames.DataFrame(dict(zip(NAMES, NUMBERS.T, strict=True)))
    fitted = clone(any_transformer).fit(frame)
    plain = fitted.transform(frame)
    if hasattr(plain, "toarray"):
        plain = plain.toarray()
        fitted.set_params(encode="onehot-dense")  # scikit-learn puts no sparse matrix into a frame
    out = fitted.get_feature_names_out().tolist()
    made = fitted.set_output(transform=library).transform(frame)
    assert isinstance(made, frames.DataFrame)
    assert list(made.columns) == out
    assert len(set(out)) == len(out)
    assert np.array_equal(made.to_numpy(), np.asarray(plain), equal_nan=True)
    assert fitted.feature_names_in_.tolist() == NAMES
    without = clone(any_transformer).fit(NUMBERS)
    assert not hasattr(without, "feature_names_in_")
    numbered = without.get_feature_names_out().tolist()
    if isinstance(fitted, ClassNamePrefixFeaturesOutMixin):  # its columns are none of the input's
        assert all(name.startswith(type(fitted).__name__.lower()) for name in out)
        assert numbered[0] == f"{type(fitted).__name__.lower()}0"
    else:
        assert {name for name in NAMES if any(other.startswith(name) for other in out)} == set(NAMES)
        assert fitted.get_feature_names_out(NAMES).tolist() == out
        assert all(any(name.startswith(f"x{i}") for name in numbered) for i in range(3))
    other = frames.DataFrame(dict(zip(["years", *NAMES[1:]], NUMBERS.T, strict=True)))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(other)
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        fitted.get_feature_names_out(["years", *NAMES[1:]])
    dense = {"encode": "onehot-dense"} if getattr(any_transformer, "encode", None) == "onehot" else {}
    steps = [clone(any_transformer).set_params(**dense) for _ in range(2)]
    pipeline = make_pipeline(*steps).set_output(transform="pandas")
    assert list(pipeline.fit_transform(frame).columns) == pipeline.get_feature_names_out().tolist()


# Weights

X, y = np.linspace(0, 1, 12)[:, None], np.arange(12) % 2
WEIGHTS = np.full(12, 7.0)
REFUSED = pytest.raises(TypeError, match="a weight changes how much one record counts")


@pytest.mark.parametrize("routed", [False, True], ids=["as parameters", "routed"])
@pytest.mark.parametrize("estimator", [StatisticalQueryNaiveBayes(), PrivateStandardScaler()], ids=written)
def test_weights_are_refused_whoever_hands_them_over(estimator, routed):
    estimator = estimator.set_params(ledger=PrivacyLedger(1e15, 0.5))
    with sklearn.config_context(enable_metadata_routing=routed):
        how = {"sample_weight" if routed else "last__sample_weight": WEIGHTS}
        with REFUSED as refused:
            Pipeline([("last", estimator)]).fit(X, y, **how)
        assert "7" not in str(refused.value)
        with REFUSED:
            if hasattr(estimator, "transform"):
                estimator.fit_transform(X, y, sample_weight=WEIGHTS)
            else:
                model = estimator.set_score_request(sample_weight=True) if routed else estimator
                search = GridSearchCV(model, {"epsilon": [1.0]}, cv=2, refit=False, error_score="raise")
                search.fit(X, y, sample_weight=WEIGHTS)
    assert estimator.ledger.history() == []


class SaysZero(ThresholdClassifier):
    """Fits like its base, and is right where the label is 0."""

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_no_weights_are_none_and_a_score_weighs_where_the_fit_is_told_of_no_weights():
    model = SaysZero(classes=[0, 1], ledger=PrivacyLedger(300)).fit(X, y, sample_weight=None)
    model.set_params(ledger=PrivacyLedger(300))
    right = (y == 0).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_score_request(sample_weight=True).set_fit_request(sample_weight=False)
        search = GridSearchCV(model, {"epsilon": [100.0]}, cv=2, error_score="raise")
        search.fit(X, y, sample_weight=right)
    assert search.best_score_ == 1
    assert model.ledger.spent().epsilon == 300
    assert search.best_estimator_.score(X, y, sample_weight=right) == 1
    assert search.best_estimator_.score(X, y) == 0.5


# What is imported


#: Names that scikit-learn keeps to itself, and may change.
PRIVATE = re.compile(
    r"^\s*((import|from) sklearn[\w.]*\._|from sklearn[\w.]* import (\([^)]*|[^(\n]*)\b_)",
    re.M,
)


def test_no_module_imports_private_names_of_scikit_learn():
    modules = list(Path(dplearn.__file__).parent.rglob("*.py"))
    assert len(modules) > 100
    assert [str(each) for each in modules if PRIVATE.search(each.read_text(encoding="utf-8"))] == []
    for line in (
        "import sklearn._config",
        "from sklearn.utils._tags import Tags",
        "from sklearn.base import _x",
        "from sklearn.base import (\n    clone,\n    _x,\n)",
    ):
        assert PRIVATE.search(f"def f():\n    {line}\n")
    assert not PRIVATE.search("from sklearn.base import clone\n\n_x = 1\n")
