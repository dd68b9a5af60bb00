"""Every estimator obeys scikit-learn's common checks, and leaves behind nothing that is not declared."""

import importlib
import pickle
import re
from inspect import cleandoc, signature
from itertools import product
from pkgutil import iter_modules

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor

import dplearn
from dplearn import learners
from dplearn.estimator import PrivateClassifier, PrivateRegressor
from dplearn.privacy import OneTimeState
from tests.laws.conftest import REGRESSORS

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
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, (PrivateClassifier, PrivateRegressor))
        if thing.__module__.startswith("dplearn.learners") and not thing.__doc__.startswith("Base class of")
    }
    assert len(defined) >= 14
    assert {kind.__name__ for kind in defined} <= set(learners.__all__) & set(dplearn.__all__)
    regressors = {kind for kind in defined if issubclass(kind, PrivateRegressor)}
    assert regressors <= {
        type(each) for each in REGRESSORS
    }  # the checks' tables have too few records to learn a range


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # array API: an opt-in of SciPy
def test_scikit_learn_common_checks(checked_estimator, common_check):
    common_check(checked_estimator)


def test_every_fitted_attribute_is_declared_public_or_released(fitted):
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
    if hasattr(few, "synthetic_") and (classifier.domain == "learn" or hasattr(classifier, "student")):
        # Released cells, and students of released labels, have sizes of their own.
        few, more = (clone(each) for each in (few, more))
    assert abs(len(pickle.dumps(more)) - len(pickle.dumps(few))) < 300
    pickled = pickle.dumps(fitted)
    assert not any(np.asarray(row, dtype=np.float64).tobytes() in pickled for row in iris[0])
    assert b"dplearn.chance" not in pickled


def test_fit_leaves_constructor_parameters_alone(one_a_class, classifier, fitted):
    assert repr(fitted.get_params()) == repr(classifier.get_params())


def test_a_parameter_that_is_true_or_false_refuses_all_else(one_a_class, classifier, iris):
    parameters = signature(type(classifier)).parameters.values()
    flags = {each.name for each in parameters if isinstance(each.default, bool)} - {"verbose"}  # a level, too
    for name, wrong in product(flags, ("yes", 2, None)):
        with pytest.raises(TypeError, match=f"{name} must be True or False, got"):
            clone(classifier).set_params(**{name: wrong}).fit(*iris)


def published(fitted, iris):
    """What a fit and some predictions show."""
    return repr(fitted.__dict__.get("concept_", fitted.predict(iris[0]).tolist()))


def test_an_integer_seed_repeats_and_says_so(one_a_class, classifier, iris, fitted):
    first, second = (clone(classifier).set_params(random_state=3).fit(*iris) for _ in range(2))
    assert published(first, iris) == published(second, iris)
    assert first.guarantee_.reproducible
    assert not fitted.guarantee_.reproducible


def test_the_operating_systems_entropy_gives_different_fits(speaks, one_a_class, classifier, iris):
    def another():
        return published(clone(classifier).set_params(epsilon=0.01).fit(*iris), iris)

    first = another()  # no outcome has probability above .6 there, so 41 alike are below 2**-29
    assert any(another() != first for _ in range(40))
