"""Every estimator obeys scikit-learn's common checks, and leaves behind nothing that is not declared."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from dplearn import ExponentialMechanismClassifier
from dplearn.preprocessing import CellEncoder

CLASSIFIERS = [
    ExponentialMechanismClassifier(),
    ExponentialMechanismClassifier(mechanism="permute_and_flip"),
    ExponentialMechanismClassifier("thresholds", epsilon=0.1),
    ExponentialMechanismClassifier("conjunctions"),
]


@parametrize_with_checks([*CLASSIFIERS, CellEncoder()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # array API: an opt-in of SciPy
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)


def fitted_on_iris(classifier):
    X, y = load_iris(return_X_y=True)
    keep = y != 1 if classifier.concept_class == "conjunctions" else np.ones(len(y), dtype=bool)
    return clone(classifier).fit(X[keep], y[keep])


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)
def test_every_fitted_attribute_is_declared_public_or_released(classifier):
    fitted = fitted_on_iris(classifier)
    section = re.split(r"\n    \w[\w ]*\n    -{3,}\n", type(fitted).__doc__.split("Attributes\n", 1)[1])[0]
    declared = re.findall(r"^    (\w+_) : .*\n\s+(Public|Released)\. ", section, flags=re.MULTILINE)
    left_behind = set(vars(fitted)) - set(fitted.get_params(deep=False))
    assert left_behind <= {name for name, _ in declared}
    assert "guarantee_" in left_behind


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)
def test_a_pickle_is_small_and_holds_neither_dice_nor_record(classifier):
    fitted = fitted_on_iris(classifier)
    # 150 float64 records of 4 columns take 4,800 bytes.
    assert len(pickle.dumps(fitted)) < 3000
    assert b"chance" not in pickle.dumps(fitted)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)
def test_fit_leaves_constructor_parameters_alone(classifier):
    before = repr(classifier.get_params())
    assert repr(fitted_on_iris(classifier).get_params()) == before


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)
def test_an_integer_seed_repeats_and_says_so(classifier):
    seeded = clone(classifier).set_params(random_state=3)
    first, second = fitted_on_iris(seeded), fitted_on_iris(seeded)
    assert first.concept_ == second.concept_
    assert first.guarantee_.reproducible
    assert not fitted_on_iris(classifier).guarantee_.reproducible


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)
def test_the_operating_systems_entropy_gives_different_fits(classifier):
    rules = {repr(fitted_on_iris(clone(classifier).set_params(epsilon=0.01)).concept_) for _ in range(12)}
    assert len(rules) > 1  # at epsilon 0.01 no rule has probability above 1/2, so 12 alike are below 2**-11
