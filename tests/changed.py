"""Estimators whose recipe is changed, for mistakes that laws must find; and fits with given dice."""


def fit_with(dice, learner, X, y=None):
    """Fit with given dice, charging the learner's ledger, which `fitted_with` of the audit leaves alone."""
    return learner._fit(X, y, dice)


def recipe_of(learner):
    return learner._recipe(reproducible=False)


def with_recipe(kind, **changes):
    """Return a subclass of an estimator whose recipe has other methods.

    Each change is a function from the recipe's own method, of `self` and its arguments, to the other one.
    """

    class Changed(kind):
        def _recipe(self, reproducible):
            return changed_recipe(super()._recipe(reproducible), **changes)

    return Changed


def changed_recipe(recipe, **changes):
    """Return a recipe with other methods."""
    own = type(recipe)
    methods = {name: change(getattr(own, name)) for name, change in changes.items()}
    return type(own.__name__, (own,), methods).like(recipe)
