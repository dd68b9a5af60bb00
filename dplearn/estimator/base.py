"""The base classes of private estimators: parameters, fitted attributes, and what scikit-learn needs.

`fit` chooses the dice; `_fit` carries out the recipe of the checked parameters (`dplearn.fit.execute`), and
`_publish` sets the fitted attributes. An audit carries out the same recipe with enumerating dice.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from html import escape
from operator import attrgetter
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._progress import counted
from dplearn._validation import Named, check_constructed, check_count, check_number
from dplearn._writing import brief, in_full, shortened
from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.concepts.base import ChosenConcept
from dplearn.estimator.importances import HasImportances
from dplearn.estimator.recipe import FitRecipe, cost_of_fit
from dplearn.fit.execute import Done, execute, warn
from dplearn.kernels import IgnoresFloatErrors, first, float_errors_ignored, ignores_float_errors
from dplearn.privacy import ApproxDP, Guarantee, PrivacyLedger
from dplearn.privacy.guarantees import NEIGHBORS, in_words
from dplearn.privacy.unknown_count import MOST_RECORDS
from dplearn.privacy.unrepeatable import UnrepeatablePickles
from dplearn.table import Given, count_of
from dplearn.table.features import read_features
from dplearn.table.groups import with_ids
from dplearn.table.sources import table_in_parts
from dplearn.table.targets import joined_outputs, label_columns, read_numbers, share_all_right

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    CALLBACKS = True
except ImportError:  # scikit-learn before 1.9
    CallbackSupportMixin, CALLBACKS = object, False

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged: before scikit-learn 1.9 there are no callbacks."""
        return method


Outcome = TypeVar("Outcome")
#: The requests for metadata routing: weights are passed to `fit`, which refuses them with an explanation, and
#: groups, which a guarantee can protect.
ROUTED = {"sample_weight": True, "groups": True}
#: Beside these, of learners that take public rows.
ROUTED_PUBLIC = {"X_public": True}
#: The same for what learns nothing of any row.
ROUTED_WITHOUT_GROUPS = {**ROUTED, "groups": False}
_USER = 4  # the stack level of a user's call: above `_fit`, `_fit_privately` and `fit`
# Parameters that do not enter the context of a seeded fit: the seed enters by itself, and the others do not
# affect any draw.
_NOT_OF_THE_STREAM = {"classes", "ledger", "max_rows_per_group", "random_state"}


def available_where(condition: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Any]:
    """Make a method available where a condition on the estimator holds; it ignores float errors."""
    return lambda method: available_if(condition)(ignores_float_errors(method))


class PrivateEstimator(Named, IgnoresFloatErrors, UnrepeatablePickles, BaseEstimator):
    """Base of all private estimators.

    A subclass has the parameters `epsilon`, `ledger` and `random_state`, and the methods `_recipe` and
    `_publish` (of an ensemble the recipe's `run` returns the fitted attributes instead). Only `_recipe` reads
    the constructor's parameters, because code that runs while the data are read could change them.
    """

    row_methods = frozenset(
        {
            "decision_function",
            "inverse_transform",
            "predict",
            "predict_interval",
            "predict_log_proba",
            "predict_proba",
            "score",
            "transform",
        }
    )
    ledger: PrivacyLedger | None
    #: Whether `domain="learn"` is a value of the parameter `domain`; see `learns_schema`.
    can_learn_schema = False
    #: Whether `fit` takes tables in parts; see `dplearn.table.sources.table_in_parts`.
    reads_parts = False
    #: Whether `fit` takes several labels a record, `y` of shape (n_samples, n_outputs).
    reads_outputs = False
    #: Whether the rows are used with their types, rather than encoded in a declared domain.
    keeps_types = False
    _most_records = MOST_RECORDS  # of an estimate, where their number is private; audits use fewer
    _carried_out = "fit"  # what the guarantee says that it covers
    _two_labels = ""  # what a classifier of two labels only learns, in words

    __metadata_request__fit = ROUTED

    @property
    def spends_delta(self) -> bool:
        """Whether a positive `delta` can buy anything; where not, it is accepted and not spent."""
        return hasattr(self, "delta")

    @property
    def needs_public_rows(self) -> bool:
        """Whether a fit takes public rows, `X_public`, and cannot do without."""
        return False

    def _ranks_columns(self, X: Any) -> bool:  # noqa: ARG002
        """Whether a fit to a table may have importances of columns, or coefficients."""
        return True

    @property
    def guarantee_(self) -> ApproxDP:
        """Public. The guarantee of the fit, which displays that it is the cost of this fit alone."""
        if "guarantee_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'guarantee_'")
        found: ApproxDP = vars(self)["guarantee_"].of_one(self._carried_out)
        return found

    @guarantee_.setter
    def guarantee_(self, guarantee: ApproxDP) -> None:
        self.__dict__["guarantee_"] = guarantee

    @classmethod
    @lru_cache(maxsize=256)  # a search clones each time, and a fit with a learned schema ten times
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return scikit-learn's repr, with long parameters, such as a schema, shortened."""
        alike = type(type(self).__name__, (BaseEstimator,), {"__init__": type(self).__init__})
        shown: Any = object.__new__(alike)  # its parameters are set below
        vars(shown).update((name, shortened(value)) for name, value in self.get_params(deep=False).items())
        return shown.__repr__(N_CHAR_MAX)

    def epsilon_for(
        self, n_samples: int, *, alpha: Any = None, advantage: Any = None, **public: Any
    ) -> float:
        """Return an epsilon for a wanted accuracy, or for the risk of an attack. No data is read.

        Parameters
        ----------
        n_samples : int
            Number of records of the planned fit.
        alpha : number, optional
            The wanted accuracy, in (0, 1): the least epsilon is returned for which the plan's `n_needed` for
            this alpha, or its `n_needed_agnostic` if it states both, is at most `n_samples`; without an
            alpha, its `tolerance` or `deviation` at most alpha. With neither alpha nor advantage: `n_needed`
            as stated.
        advantage : number, optional
            The wanted bound on the true minus the false positive rate of an attacker on one record, in (0,
            1): the greatest epsilon is returned for which that of the plan is at most this.
        **public : object
            Further arguments of `plan`, such as `n_features`.

        Returns
        -------
        float
            A decimal of three significant digits from .001 to 100, whose plan has the wanted property.

        Raises
        ------
        ValueError
            If both bounds are given, no such epsilon has the property, or the plan states no such accuracy.
        TypeError
            If the class has no plan.
        """
        return chosen_epsilon(self, n_samples, alpha=alpha, advantage=advantage, **public)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Scikit-learn's diagram, followed by the guarantee, or by the cost of a fit."""
        diagram: Callable[[], str] = super()._repr_html_  # AttributeError if scikit-learn displays text
        return lambda: diagram() + guarantee_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | {
            kind: given + guarantee_html(self) for kind, given in bundle.items() if kind == "text/html"
        }

    def _fit_privately(self, X: Any, y: Any, **public: Any) -> Self:
        refuse_callers(self, X)
        dice, reproducible = self._dice()
        with float_errors_ignored():
            self._fit(X, y, dice, reproducible=reproducible, **public)
        return self

    def _dice(self, *purpose: object) -> tuple[Dice, bool]:
        """Return the dice of one fit, and whether they are reproducible; seeded fits of other purposes
        differ.
        """
        check_constructed(self)
        random_state = self.random_state
        with in_full():
            context = self._context()
        return dice_for(random_state, type(self).__name__, *context, *purpose), random_state is not None

    def _cost(self, reproducible: bool, **more: Any) -> ApproxDP:
        """Check the budget, and return the greatest cost of a fit."""
        epsilon = check_number("epsilon", self.epsilon, above=0)
        cost = ApproxDP(epsilon, self.delta, reproducible=reproducible, **more)
        return cost if self.spends_delta else replace(cost, delta=Fraction(0))

    def _context(self) -> tuple[object, ...]:
        """Return the parameters from which, with seed and class, the stream of a seeded fit is derived."""
        parameters = self.get_params(deep=False)
        if parameters.get("neighbors") == NEIGHBORS[0]:  # the stream of a learner without that parameter
            del parameters["neighbors"]
        return tuple(
            (name, repr(parameters[name])) for name in sorted(parameters.keys() - _NOT_OF_THE_STREAM)
        )

    def _fit(
        self,
        X: Any,
        y: Any,
        dice: Dice,
        *,
        groups: Any = None,
        reproducible: bool = False,
        recipe: FitRecipe | None = None,
        **public: Any,
    ) -> None:
        """Fit with the given dice; a fit that fails leaves the model as it was."""
        recipe = self._recipe(reproducible) if recipe is None else recipe
        if public := {name: value for name, value in public.items() if value is not None}:
            recipe = recipe.given(fit_arguments=public)
        kept = vars(self).copy()
        try:
            if recipe.earlier is None:  # what an earlier fit published is not covered by this one's guarantee
                self._delete_fitted_attributes()
            done = execute(recipe, X, y, groups=groups, ledger=self.ledger, dice=dice, stacklevel=_USER + 1)
            self._set_fitted(done)
        except BaseException:  # a refused table leaves the model as it was
            self._delete_fitted_attributes()
            self.__dict__.update((name, kept[name]) for name in kept if name.endswith("_"))
            raise
        self._raise_interrupt()
        warn(recipe.late_warnings(self, done.plan), done.plan.guarantee, stacklevel=_USER)

    def _take(self, done: Done) -> None:
        """Set the fitted attributes, within a fit of another estimator."""
        self._set_fitted(done)
        self._raise_interrupt()

    def _set_fitted(self, done: Done) -> None:
        fit: Any = done.recipe
        with float_errors_ignored():
            fit.publish(self, done.facts, done.released, done.plan)

    def _raise_interrupt(self) -> None:
        """Raise an interrupt that came when all was released; the fitted attributes keep it."""
        if (kept := self._left_by_interrupt()) is not None:
            raise KeyboardInterrupt(kept)

    def _left_by_interrupt(self) -> str | None:
        """Return what an interrupt has kept from being fitted, and what there is; None without one."""
        return None

    def _delete_fitted_attributes(self) -> None:
        for name in list(vars(self)):
            if name.endswith("_"):
                del self.__dict__[name]

    @abstractmethod
    def _recipe(self, reproducible: bool) -> FitRecipe:
        """Check the constructor's parameters, and return the recipe of a fit; with domain="learn" the
        decorator `learns_schema` makes it a `LearnedFit` around this one.
        """

    @abstractmethod
    def _publish(self, outcome: Any, plan: Any) -> None:
        """Set the fitted attributes besides `guarantee_`; neither records nor a summary of them are seen."""

    def _declared(self) -> Any:
        """Return the domain of the columns that the parameters declare, or None."""
        return None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if (domain := self._declared()) is not None:
            tags.input_tags.allow_nan = domain.accepts_missing
            tags.input_tags.categorical = tags.input_tags.string = not domain.numeric
        return tags


@documented_by()
class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """Base of all private classifiers; the `_publish` of a subclass also sets `classes_`."""

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **fit_parameters: Any) -> Self:
        """Fit privately; the data are used for this one release and are not kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Private. Values within the declared domain. A sparse matrix is refused unless the class supports
            it.
        y : array-like of shape (n_samples,)
            Private. Labels; of shape (n_samples, n_outputs) for a class with several outputs. None where each
            part of X is a pair of rows and labels.
        groups : array-like of shape (n_samples,), or str, optional
            ... Of a table in parts: the name of the column that holds them, which is then no feature.

        Raises
        ------
        DomainError, TypeError, ValueError
            If a value is outside its declared domain, or an argument is not as described; nothing is spent.
        BudgetExceededError
            If the cost exceeds the ledger's remaining budget; nothing is spent. It is no `Exception`.
        """
        refuse_parameters(self, fit_parameters)
        return self._fit_privately(X, y, groups=groups)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows with all labels correct; if the rows are private, so is the result.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The labels of the rows, of any type that `fit` takes.
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the rows.
        """
        predicted, classes = self.predict(X), self.classes_
        sets = classes if isinstance(classes, list) else [classes]
        return share_all_right(sets, predicted, y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # because of noise; tests at large epsilon check the accuracy
        tags.classifier_tags.multi_class = not self._two_labels
        return tags


@documented_by()
class PrivateRegressor(RegressorMixin, PrivateEstimator):
    """Base of all private regressors, of targets within a declared range."""

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **fit_parameters: Any) -> Self:
        """Fit privately; the data are used for this one release and are not kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Private. Values within the declared domain. A sparse matrix is refused unless the class supports
            it.
        y : array-like of shape (n_samples,)
            Private. Numbers within the declared range of the target. None where each part of X is a pair of
            rows and targets.
        groups : array-like of shape (n_samples,), or str, optional
            ... Of a table in parts: the name of the column that holds them, which is then no feature.

        Raises
        ------
        DomainError, TypeError, ValueError
            If a value is outside its declared domain or range, or an argument is not as described; nothing
            is spent.
        BudgetExceededError
            If the cost exceeds the ledger's remaining budget; nothing is spent. It is no `Exception`.
        """
        refuse_parameters(self, fit_parameters)
        return self._fit_privately(X, y, groups=groups)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R^2; if the rows are private, so is the result.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The targets of the rows, of any type that `fit` takes.
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the rows.
        """
        return float(super().score(X, read_numbers(y, count_of(X)), sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # because of noise; tests at large epsilon check the accuracy
        return tags


class TransformsParts:
    """Mixin, before scikit-learn's, whose `fit_transform` takes parts; `set_output` applies to each part."""

    def fit_transform(self, X: Any, y: Any = None, **fit_parameters: Any) -> Any:
        """Fit privately, and transform the same table.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or parts of one
            Private. As for `fit`.
        y : object, optional
            Ignored by the fit. Of a table in parts: as for the learners of tables in parts, for a later step.
        **fit_parameters : None
            As for `fit`.

        Returns
        -------
        ndarray or data frame of shape (n_samples, n_transformed), or parts
            The transformed table. Of a table in parts: an object that a learner of tables in parts fits, with
            the labels and the groups in it; it reads and transforms the parts in each pass.
        """
        table = table_in_parts(X, y)
        if table is None:
            return super().fit_transform(X, y, **fit_parameters)  # type: ignore[misc]
        self.fit(table, **fit_parameters)  # type: ignore[attr-defined]
        fitted: Any = copy(self)
        fitted.ledger = None  # it has a lock and a history
        groups = fit_parameters.get("groups")
        rows = table if groups is None else with_ids(table, groups)
        return rows.map(partial(_transformed, fitted))


def _transformed(fitted: Any, given: Given) -> Given:
    return given._replace(X=fitted.transform(given.X)) if count_of(given.X) else given


@documented_by()
class PrivateTransformer(TransformsParts, TransformerMixin, PrivateEstimator):
    """Base of all private transformers."""

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **fit_parameters: Any) -> Self:
        """Fit privately; the data are used for this one release and are not kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Private. Values within the declared domain. A sparse matrix is refused.
        y : ignored
            Except as the name of a column, which is left out of a table in parts.
        groups : array-like of shape (n_samples,), or str, optional
            ... Of a table in parts: the name of the column that holds them, which is then no feature.

        Raises
        ------
        DomainError, TypeError, ValueError
            If a value is outside its declared domain, or an argument is not as described; nothing is spent.
        BudgetExceededError
            If the cost exceeds the ledger's remaining budget; nothing is spent. It is no `Exception`.
        """
        refuse_parameters(self, fit_parameters)
        return self._fit_privately(X, y if isinstance(y, str) else None, groups=groups)


@documented_by()
class RuleClassifier(HasImportances, PrivateClassifier):
    """Base of classifiers that publish a decision rule.

    The `_publish` of a subclass also sets `domain_`, and `concept_` or what else `_predict_codes` uses.
    """

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers outside the domain are replaced with its nearest value.
        """
        codes = self._codes(X)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return probability 1 for the predicted label, since a rule has no confidence; costs no privacy."""
        codes = self._codes(X)
        return np.eye(len(self.classes_))[codes]

    @available_where(attrgetter("has_margins"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margin of each class, or with two classes that of the second; costs no privacy.

        Of a rule with cuts, the margin of the predicted class is the distance from the cut, of several cuts
        the least from inside.
        """
        scores = self._scores(self._columns(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @property
    def has_margins(self) -> bool:
        """Whether there is a `decision_function`."""
        return False

    def _codes(self, X: Any) -> NDArray[np.intp]:
        return self._predict_codes(self._columns(X))

    def _columns(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.domain_.nearest(read_features(self, X, domain=self.domain_, reset=False))

    def _scores(self, columns: Any) -> NDArray[np.float64]:
        return self.concept_.scores(columns)

    def _predict_codes(self, columns: Any) -> NDArray[np.intp]:
        return self.concept_.predict(columns)

    def _types_are_public(self) -> bool:
        """Whether rules may depend on types of columns; in a declared domain, types may follow the values."""
        return self.domain is None or isinstance(self.domain, str)

    def _publish_rule(self, rule: Any, plan: Any) -> None:
        """Set what a fit publishes that selects one rule over the domain of its plan."""
        self.classes_, self.domain_ = plan.public.classes, plan.domain
        if hasattr(rule, "at_integers") and self._types_are_public():
            rule = rule.at_integers(plan.public.whole)
        self.concept_ = ChosenConcept(rule, tuple(plan.domain.names), tuple(self.classes_.tolist()))


@documented_by()
class SeveralOutputsClassifier(HasImportances, PrivateClassifier):
    """Base of classifiers whose `classes_` are a list, if there are several outputs; it uses `_codes`."""

    reads_outputs = True

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Entries of `classes_`.
        """
        columns = self._label_columns(X)
        return joined_outputs(columns) if isinstance(self.classes_, list) else columns[0]

    def predict_proba(self, X: Any) -> Any:
        """Return probability 1 for the predicted label, since the release contains no probabilities.

        Returns
        -------
        ndarray of float64 of shape (n_samples, 2), or a list of n_outputs such arrays
        """
        likely = [np.eye(2)[column] for column in self._codes(X).T]
        return likely if isinstance(self.classes_, list) else likely[0]

    def _label_columns(self, X: Any) -> list[NDArray[Any]]:
        codes = self._codes(X)  # raises an error before a fit
        return label_columns(self.classes_ if isinstance(self.classes_, list) else [self.classes_], codes)

    def _codes(self, X: Any) -> NDArray[np.integer]:
        """Return the predicted label code of each row in each output, of shape (n_samples, n_outputs)."""
        raise NotImplementedError


class TellsProgress(CallbackSupportMixin):
    """Base of estimators whose fit has one long step of many tasks, reported to scikit-learn's callbacks.

    `set_callbacks` is there from scikit-learn 1.9 on. A callback is called at the begin and at the end of
    each task, with the estimator's parameters, and never gets data, labels or the partially fitted estimator.
    Its return value cannot stop the fit, since it may depend on the time.
    """

    @with_callbacks  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def _telling(self, work: Callable[[Callable[[int], None]], Outcome], *, task: str, count: int) -> Outcome:
        """Run the long step, with a function that it calls with each number of finished tasks."""
        with counted(f"Training {task}s", count) as done:
            if not CALLBACKS:
                return work(done)
            root = self._init_callback_context(max_subtasks=count).call_on_fit_task_begin(estimator=self)

            def report(finished: int) -> None:
                for _ in range(finished):
                    each = root.subcontext(task_name=task)
                    each.call_on_fit_task_begin(estimator=self).call_on_fit_task_end(estimator=self)
                done(finished)

            outcome = work(report)
            root.call_on_fit_task_end(estimator=self)
            return outcome


def refuse_callers(estimator: Any, X: Any) -> None:
    """Refuse a fit that a meta-estimator of scikit-learn could not use; the stack tells which one calls.

    One label against the rest would give predictions that cannot be put together; selectors look for
    importances.
    """
    classes, frame = getattr(estimator, "classes", None), inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module == "sklearn.multiclass" and classes is not None and not np.array_equal(classes, [0, 1]):
            raise ValueError(
                "classes must be None, or [0, 1] within OneVsRestClassifier and OneVsOneClassifier, which"
                f" give their learners the labels 0 and 1, got {brief(classes)}"
            )
        known = frame.f_locals if module.startswith("sklearn.feature_selection.") else {}
        selector = known.get("self")
        if getattr(selector, "importance_getter", "") == "auto" and not estimator._ranks_columns(X):
            raise TypeError(
                f"{type(estimator).__name__} has no importances here, which {type(selector).__name__} looks"
                " for after the fit: select columns by a learner that has some, such as AdditiveClassifier or"
                " AdditiveRegressor"
            )
        if module.endswith("._rfe") and "X_public" in known.get("fit_params", ()):
            raise TypeError(
                f"{type(selector).__name__} leaves out columns of X and none of X_public, so that the next"
                " fit would fail: select columns by SelectFromModel, which fits once"
            )
        frame = frame.f_back


def refuse_parameters(estimator: Any, parameters: Mapping[str, Any], method: str = "fit") -> None:
    """Refuse further arguments, except a `sample_weight` of None; messages show names and no values.

    A call on the class, whose first argument is then the estimator, is refused, too.
    """
    name = type(estimator).__name__
    if not hasattr(estimator, "get_params"):
        raise TypeError(f"{method} must be called on an instance, Learner().{method}(X, y), got {name}")
    if not parameters:
        return
    given = [key for key, value in parameters.items() if key != "sample_weight" or value is not None]
    if "sample_weight" in given:
        raise TypeError(
            f"{name}.{method} takes no sample_weight: a weight changes how much one record counts, so that"
            " the guarantee would not hold. Leave it out; or repeat each row as often as it counts, and"
            " guarantee_.for_group(k) is the guarantee of k rows together. Where metadata are routed,"
            f" set_{method}_request(sample_weight=False) keeps weights from this fit"
        )
    if given:
        raise TypeError(f"{name}.{method}() got an unexpected keyword argument {given[0]!r}")


_SCOPE = (
    "For a whole pipeline ask dplearn.privacy.pipeline_guarantee(pipeline): a step that is fitted on private"
    " rows without a guarantee, such as StandardScaler, is not private."
)


def guarantee_html(estimator: Any) -> str:
    """Return advice on pipelines, then the guarantee of a private estimator or the cost of a fit, as HTML."""
    return (
        f'<div class="dplearn-scope">{_SCOPE}</div>'
        f'<div class="dplearn-guarantee">{_guarantee_html(estimator)}</div>'
    )


def _guarantee_html(estimator: Any) -> str:
    guarantee = getattr(estimator, "guarantee_", None)
    if isinstance(guarantee, Guarantee):
        return guarantee._repr_html_()
    cost = cost_of_fit(estimator)
    return "Not fitted." if cost is None else f"Not fitted. A fit will spend {escape(in_words(cost))}."


#: The epsilons that are tried: all decimals of three digits from .001 to 100.
_EPSILONS = (*(Decimal(n).scaleb(power) for power in range(-5, 0) for n in range(100, 1000)), Decimal(100))
_LAST = len(_EPSILONS) - 1


def chosen_epsilon(
    learner: Any, n_samples: int, *, alpha: Any = None, advantage: Any = None, **public: Any
) -> float:
    """Return the epsilon of `PrivateEstimator.epsilon_for`: a search over plans at other epsilons."""
    name, given = type(learner).__name__, learner.get_params(deep=False)
    if not hasattr(learner, "plan") or "epsilon" not in given:
        raise TypeError(f"epsilon_for needs a plan and a parameter epsilon, which {name} does not have")
    check_count("n_samples", n_samples, low=1)
    planned, error = partial(_planned, learner, n_samples, public), None
    if advantage is not None:
        if alpha is not None:
            raise ValueError("at most one of alpha and advantage must be given, got both")
        return _greatest(planned, check_number("advantage", advantage, above=0, below=1))
    if alpha is not None:
        check_number("alpha", alpha, above=0, below=1)
        if "alpha" in inspect.signature(learner.plan).parameters:
            planned = partial(_planned, learner, n_samples, public | {"alpha": alpha})
        elif "alpha" in given:
            planned = partial(_planned, clone(learner).set_params(alpha=alpha), n_samples, public)
        elif (error := planned(_LAST).error_name) is None:
            raise ValueError(
                f"alpha must be None: the plan of {name} states no error that could be compared with it;"
                " without it, epsilon_for returns the least epsilon for which n_needed is at most n_samples"
            )
    elif not hasattr(planned(_LAST), "n_needed"):
        raise ValueError(f"advantage must be given: the plan of {name} states no n_needed, so no accuracy")
    return _least(planned, n_samples, alpha, error)


def _planned(learner: Any, n_samples: int, public: dict[str, Any], place: int) -> Any:
    epsilon = float(_EPSILONS[place])
    return clone(learner).set_params(epsilon=epsilon, ledger=None).plan(n_samples, **public)


def _first(planned: Callable[[int], Any], wanted: Callable[[Any], bool]) -> int:
    """Return the place of the least epsilon whose plan is as wanted, which that of the last one is."""

    def holds(place: int) -> bool:
        try:
            return wanted(planned(place))
        except ValueError:  # the plan refuses the epsilon, as too small
            return False

    return first(holds, 0, _LAST)


def _greatest(planned: Callable[[int], Any], most: Fraction) -> float:
    """Return the greatest epsilon with an advantage of at most the wanted one."""
    if planned(_LAST).risk.advantage <= most:
        return float(_EPSILONS[_LAST])
    place = _first(planned, lambda plan: plan.risk.advantage > most)
    if not place:
        raise ValueError(
            f"advantage must be reachable with an epsilon of at least {_EPSILONS[0]}, got {float(most):g};"
            " a smaller delta helps if delta is as large as this"
        )
    return float(_EPSILONS[place - 1])


def _least(planned: Callable[[int], Any], n_samples: int, alpha: Any, error: str | None) -> float:
    """Return the least epsilon that suffices for alpha by the plan's error, or by what it needs."""
    best = planned(_LAST)
    # For any labels, if that is proved for some epsilon.
    of_any = getattr(best, "n_needed_agnostic", None) is not None
    needs = "n_needed_agnostic" if of_any else "n_needed"

    def suffices(plan: Any) -> bool:
        if error is not None:
            return bool(getattr(plan, error) <= alpha)
        needed = getattr(plan, needs, None)
        return needed is not None and bool(needed <= n_samples)

    if not suffices(best):
        shown = "the error that the plan states" if alpha is None else f"alpha={float(alpha):g}"
        needed = getattr(best, needs, None)
        there = "" if needed is None else f", where {needed} are needed{' for any labels' * of_any}"
        if error is not None:
            there = f", where {error} is {float(getattr(best, error)):.3g}"
        raise ValueError(
            f"n_samples must be greater: {n_samples} records do not suffice for {shown} at any epsilon up to"
            f" {_EPSILONS[_LAST]}{there}"
        )
    return float(_EPSILONS[_first(planned, suffices)])
