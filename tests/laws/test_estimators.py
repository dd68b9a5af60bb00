"""Every estimator obeys scikit-learn's common checks, and leaves behind nothing that is not declared."""

import pickle
import re

import pytest
from sklearn.base import clone


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # array API: an opt-in of SciPy
def test_scikit_learn_common_checks(checked_estimator, common_check):
    common_check(checked_estimator)


def test_every_fitted_attribute_is_declared_public_or_released(fitted):
    section = re.split(r"\n    \w[\w ]*\n    -{3,}\n", type(fitted).__doc__.split("Attributes\n", 1)[1])[0]
    declared = re.findall(r"^    (\w+_) : .*\n\s+(Public|Released)\. ", section, flags=re.MULTILINE)
    left_behind = set(vars(fitted)) - set(fitted.get_params(deep=False))
    assert left_behind <= {name for name, _ in declared}
    assert "guarantee_" in left_behind


def test_a_pickle_is_small_and_holds_neither_dice_nor_record(fitted):
    # 150 float64 records of 4 columns take 4,800 bytes.
    assert len(pickle.dumps(fitted)) < 3000
    assert b"chance" not in pickle.dumps(fitted)


def test_fit_leaves_constructor_parameters_alone(classifier, fitted):
    assert repr(fitted.get_params()) == repr(classifier.get_params())


def test_an_integer_seed_repeats_and_says_so(classifier, iris, fitted):
    first, second = (clone(classifier).set_params(random_state=3).fit(*iris) for _ in range(2))
    assert first.concept_ == second.concept_
    assert first.guarantee_.reproducible
    assert not fitted.guarantee_.reproducible


def test_the_operating_systems_entropy_gives_different_fits(classifier, iris):
    rules = {repr(clone(classifier).set_params(epsilon=0.01).fit(*iris).concept_) for _ in range(12)}
    assert len(rules) > 1  # at epsilon 0.01 no rule has probability above 1/2, so 12 alike are below 2**-11
