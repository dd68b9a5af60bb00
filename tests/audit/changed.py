"""Estimators whose recipe is changed, for mistakes that laws must find; and fits with given dice."""

from dplearn import PublicData
from dplearn.releases import SyntheticTable


def fit_with(dice, learner, X, y=None, **given):
    """Fit with given dice, charging the learner's ledger, which `fitted_with` of the audit leaves alone.

    What is given besides takes the place of parameters of the recipe.
    """
    learner._fit(X, y, dice, recipe=recipe_of(learner).given(**given))
    return learner


def recipe_of(learner):
    return learner._recipe(**{} if isinstance(learner, SyntheticTable) else {"reproducible": False})


def with_recipe(kind, **changes):
    """Return a subclass of an estimator whose recipe has other methods.

    Each change is a function from the recipe's own method, of `self` and its arguments, to the other one.
    """

    class Changed(kind):
        def _recipe(self, reproducible):
            return changed_recipe(super()._recipe(reproducible), **changes)

    return Changed


class OnItsOwnRows:
    """A transfer whose public rows are those of X unless others are given: laws fit learners to X and y."""

    def _fit(self, X, y, dice, *, X_public=None, **more):
        return super()._fit(X, y, dice, X_public=PublicData(X) if X_public is None else X_public, **more)


def changed_recipe(recipe, **changes):
    """Return a recipe with other methods."""
    own = type(recipe)
    methods = {name: change(getattr(own, name)) for name, change in changes.items()}
    return type(own.__name__, (own,), methods).like(recipe)
