"""The recipe of a fit: what it holds, and the order in which its methods run."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from dplearn.domains import Categories, IntegerRange, Product
from dplearn.estimator import FitFacts, PrivateEstimator, cost_of_fit, planned_columns, planned_table
from dplearn.learners import ExponentialMechanismClassifier, ParityClassifier, SecretSampleClassifier
from dplearn.privacy import ApproxDP, PrivacyLedger, held_by
from tests.audit.changed import changed_recipe, recipe_of
from tests.laws.conftest import PREDICTORS, TRANSFORMERS

PRIVATE = [each for each in (*PREDICTORS, *TRANSFORMERS) if isinstance(each, PrivateEstimator)]
X, Y = np.arange(20)[:, None] % 10, np.arange(20) % 2


def learner(**parameters):
    return ExponentialMechanismClassifier(domain=IntegerRange(0, 9), classes=[0, 1], **parameters)


def test_parameters_do_not_change():
    recipe = recipe_of(learner(method="exponential"))
    with pytest.raises(AttributeError, match="do not change, got 'method'"):
        recipe.method = "permute_and_flip"
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        _ = recipe.x
    other = recipe.given(method="permute_and_flip")
    assert (recipe.method, other.method) == ("exponential", "permute_and_flip")


@pytest.mark.parametrize("each", PRIVATE, ids=repr)
def test_no_parameter_hides_a_method_and_no_estimator_or_ledger_is_held(each):
    given = clone(each).set_params(ledger=PrivacyLedger(1))
    recipe = recipe_of(given)
    assert not [name for name in vars(recipe) if callable(getattr(type(recipe), name, None))]
    held = list(held_by(recipe))
    assert not [one for one in held if one is given]
    assert not [one for one in held if isinstance(one, PrivacyLedger)]


def test_declared_sizes_take_precedence_in_a_planned_table():
    pair = Product([IntegerRange(0, 9), Categories(["a", "b"])])
    declared = SimpleNamespace(declared=pair, classes=["a", "b", "c"])
    assert planned_columns(declared, 7, n_features=None) == FitFacts(7, 2)
    assert planned_table(declared, 7, n_features=5, n_labels=9) == FitFacts(7, 2, 3)
    free = SimpleNamespace(declared=None, classes=None)
    assert planned_columns(free, 1, n_features=5) == FitFacts(1, 5)
    assert planned_table(free, 7, n_features=5, n_labels=9) == FitFacts(7, 5, 9)


def test_a_table_has_n_samples_rows():
    def shorter(own):
        return lambda self, X, y, reader: (own(self, X, y, reader)[0], np.arange(len(X) + 1))

    recipe = changed_recipe(recipe_of(learner()), encoded=shorter)
    with pytest.raises(AssertionError):
        recipe.read(X, Y)


def test_the_cost_follows_from_parameters_or_shapes_without_a_fit():
    assert cost_of_fit(learner(epsilon=2)) == ApproxDP(2)
    assert cost_of_fit(learner(epsilon=-1)) is None
    assert cost_of_fit(learner(random_state=0)) == ApproxDP(1, reproducible=True)
    stable = ParityClassifier(method="stable", delta=1e-6)
    assert cost_of_fit(stable) is None
    assert cost_of_fit(stable, np.zeros((500, 3)), Y) == ApproxDP(1, "1e-6")
    sampled = SecretSampleClassifier(learner(), sample_size=10)
    assert cost_of_fit(sampled) is None
    assert cost_of_fit(sampled, np.zeros((100, 1)), Y).epsilon < 1
