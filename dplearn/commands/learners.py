"""The two tasks of `fit`, to predict labels or numbers, and the learners of each, which need only a table, a
target, epsilon and delta.
"""

import argparse
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from dplearn import learners
from dplearn._writing import did_you_mean, first_of
from dplearn.commands.csv_table import Table, listed
from dplearn.commands.options import Refusal, public
from dplearn.domains import Categories, Dates, Domain, DomainError, Learn, Schema
from dplearn.domains.column_kinds import as_learn
from dplearn.estimator import PrivateClassifier, PrivateRegressor
from dplearn.estimator.base import PrivateEstimator
from dplearn.preprocessing import CellEncoder
from dplearn.preprocessing.cells import finite_number
from dplearn.table.targets import TargetRange

Learner = PrivateClassifier | PrivateRegressor

#: The learners of labels, by their names for --learner; the first is the default for many records.
CLASSIFIERS: dict[str, type[PrivateClassifier]] = {
    "additive": learners.AdditiveClassifier,
    "stump": learners.ExponentialMechanismClassifier,
    "naive_bayes": learners.StatisticalQueryNaiveBayes,
    "logistic_regression": learners.StatisticalQueryLogisticRegression,
    "threshold": learners.ThresholdClassifier,
    "corner": learners.CornerClassifier,
    "conjunction": learners.ConjunctionClassifier,
    "parity": learners.ParityClassifier,
    "masked_parity": learners.MaskedParityClassifier,
    "point": learners.PointClassifier,
    "synthetic": learners.SyntheticDataClassifier,
}
#: The learners of numbers; the first is the default.
REGRESSORS: dict[str, type[PrivateRegressor]] = {
    "additive": learners.AdditiveRegressor,
    "linear": learners.LinearRegressor,
    "synthetic": learners.SyntheticDataRegressor,
}

AUTO = "auto"
_FOR_FEW = "stump"
# BASIS
_ENOUGH = 1000

#: Parameters that --set does not set, with the reason.
_ELSEWHERE = {
    "epsilon": "--epsilon does",
    "delta": "--delta does",
    "domain": "--schema describes the columns, or --numbers declares which are of numbers",
    "classes": "--labels lists the labels",
    "target_range": "--target-range does",
    "clip_target": "--clip-target does",
    "ledger": "--ledger names one",
    "random_state": "noise that can be drawn again can be subtracted",
}
#: From min(200, max(20, n / 5)) undeclared labels on they are refused, as numbers or names.
_MANY_LABELS, _FEW_LABELS, _PER_LABEL = 200, 20, 5
_FEW = 8  # the greatest number of labels that are listed


def candidates(
    name: str,
    known: Mapping[str, type[Learner]],
    *,
    epsilon: str,
    delta: str | None,
    settings: Sequence[str],
    given: Mapping[str, Any],
    interactions: bool = True,
) -> dict[str, Learner]:
    """Return the unfitted learner by its name; for "auto" the default, and another for few records if any.
    Parameters are checked, except `domain` and `ledger`, which are not set yet.
    """
    if name == AUTO and settings:
        raise Refusal(f"--set needs --learner, one of {', '.join(known)}, whose parameter it sets")
    chosen = next(iter(known)) if name == AUTO else name
    if chosen not in known:
        names = [AUTO, *known]
        near = (
            "; --task selects others"
            if name in {*CLASSIFIERS, *REGRESSORS}
            else did_you_mean(name, names) or "."
        )
        raise Refusal(f"--learner must be one of {', '.join(names)}, got {name!r}{near}")
    shared, own = {"epsilon": number(epsilon), **given}, _settings(settings, chosen, known)
    if not interactions:
        having = [each for each, kind in known.items() if "interactions" in _parameters(kind)]
        if chosen not in having:
            raise Refusal(f"--no-interactions goes with --learner {' or '.join(having)}, got {chosen!r}")
        if "interactions" in own:
            raise Refusal("--no-interactions does not go with --set interactions=VALUE")
        own["interactions"] = False
    if delta is not None:
        own["delta"] = number(delta)
    found = {chosen: known[chosen](**shared, **own)}
    if name == AUTO and _FOR_FEW in known:
        found[_FOR_FEW] = known[_FOR_FEW](**shared)
    for learner in found.values():
        learner._recipe(reproducible=False)  # raises the errors of a fit about parameters
    return found


def _parameters(kind: Any) -> Iterable[str]:
    return kind().get_params(deep=False)


def best_learner(learners: Mapping[str, Learner], n: int) -> str:
    """Return the name of the candidate with the greatest mean accuracy for n records."""
    first, *others = learners
    return first if not others or n * float(learners[first].epsilon) >= _ENOUGH else others[0]


def _settings(texts: Sequence[str], learner: str, known: Mapping[str, type[Learner]]) -> dict[str, Any]:
    free, found = [each for each in _parameters(known[learner]) if each not in _ELSEWHERE], dict[str, Any]()
    for text in texts:
        name, equals, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not equals:
            raise Refusal(f"--set must be PARAMETER=VALUE, got {text!r}")
        if name in _ELSEWHERE:
            raise Refusal(f"--set does not set {name!r}: {_ELSEWHERE[name]}")
        if name not in free:
            raise Refusal(
                f"--set: {learner} has no parameter {name!r}{did_you_mean(name, free) or '.'} It has"
                f" {', '.join(free)}"
            )
        try:
            found[name] = json.loads(value)
        except ValueError:  # not JSON: the text itself is the value
            found[name] = {"None": None, "True": True, "False": False}.get(value, value)
    return found


def number(text: str) -> Any:
    """Return a text as a float if its shortest decimal is the same number, else unchanged."""
    try:
        value = float(text)
        return value if Fraction(repr(value)) == Fraction(text.strip()) else text
    except (ValueError, OverflowError, ZeroDivisionError):
        return text


def assembled(
    learner: Any,
    schema: Schema | None,
    names: Sequence[str],
    kinds: Mapping[str, str] | None = None,
) -> Any:
    """Return the model: the learner with its domain; without schema and kinds, behind an encoder of cells."""
    if kinds is not None and not learner.can_learn_schema:
        raise Refusal(f"--numbers does not go with {type(learner).__name__}, which does not learn a schema")
    given = "domain" in learner.get_params(deep=False)
    if schema is not None and not given:
        raise Refusal(f"--schema does not go with {type(learner).__name__}, which takes no domain")
    declared = schema if kinds is None else Learn(kinds)
    if declared is not None or not given:
        return learner.set_params(domain=declared) if given else learner
    encoder = CellEncoder().fit(np.empty((1, len(names)), dtype=object))
    return make_pipeline(encoder, learner.set_params(domain=encoder.domain(names)))


def last_of(model: Any) -> Any:
    """Return the learner of a model, which is the last step of a pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def columns_of(model: Any) -> list[str] | None:
    """Return the names of a fitted model's columns, in order; None for any other object."""
    learner = last_of(model)
    if not isinstance(learner, PrivateEstimator) or not hasattr(learner, "predict"):
        return None
    domain = getattr(learner, "domain", None)
    names = domain.names if isinstance(domain, Schema) else getattr(model, "feature_names_in_", None)
    return None if names is None or not hasattr(learner, "guarantee_") else list(map(str, names))


def numbers_wanted(model: Any, d: int) -> list[bool]:
    """Return, for each of d columns, whether the model needs its numbers as numbers instead of texts."""
    return (
        numbers_in(getattr(last_of(model), "domain", None), d) or [not get_tags(model).input_tags.string] * d
    )


def numbers_in(domain: Any, d: int) -> list[bool]:
    """Return the same of a schema, or of kinds; an empty list if columns have none of both."""
    learn = as_learn(domain)
    if learn is not None and learn.columns is not None:
        wanted = [kind in ("numbers", "integers") for kind in learn.columns.kinds]
        return wanted * d if learn.columns.alike else wanted
    return [_wants_numbers(each) for each in domain.domains] if isinstance(domain, Schema) else []


def _wants_numbers(domain: Domain) -> bool:
    return (
        domain.numbers if isinstance(domain, Categories) else domain.ordered and not isinstance(domain, Dates)
    )


def _target_cells(table: Table, target: str, source: Any, advice: str) -> list[str]:
    """Return the cells of the target, none of them empty."""
    if target not in table.names:
        raise Refusal(f"{source}: must have the target column {target!r}{table.missing(target)}")
    cells = table.column(target)
    if "" in cells:
        raise Refusal(f"{source}: column {target!r} must have no empty cell: {advice}")
    return cells


class Classification:
    """The target is a label."""

    learners: Mapping[str, type[Learner]] = CLASSIFIERS

    def parameters(self, options: argparse.Namespace, schema: Schema | None) -> dict[str, Any]:
        """Return the parameters of a learner: `classes`, if they are declared."""
        for name in ("target_range", "clip_target"):
            if getattr(options, name):
                option = name.replace("_", "-")
                raise Refusal(f"--{option} goes with --task regression, which predicts numbers")
        described = None if schema is None or schema.labels is None else list(map(str, schema.labels))
        if options.labels is None:
            return {} if described is None else {"classes": described}
        labels = listed(options.labels)
        if "" in labels:
            raise Refusal(f"--labels must list labels that are not empty, got {options.labels!r}")
        if described is not None and set(labels) != set(described):
            raise Refusal(
                f"--labels must list the labels that {options.schema} lists ({_some(described)}), or be left"
                f" out, got {options.labels!r}"
            )
        return {"classes": labels}

    def said(self, learner: Any) -> str:
        if learner.classes is None:
            return "labels, taken from the table, and published"
        return f"declared labels, {_some(learner.classes)}"

    def read(self, table: Table, options: argparse.Namespace, source: Any) -> NDArray[Any]:
        """Return the labels, as texts, of a table that was read from the file `source`."""
        advice = (
            "leave records without a label out, if how many remain may be public, or give them a label of"
            " their own, such as unknown"
        )
        return np.array(_target_cells(table, options.target, source, advice))

    def check(self, y: NDArray[Any], learner: Any, options: argparse.Namespace) -> dict[str, int]:
        """Refuse labels that are not declared, too many labels, and fewer or more than the learner takes;
        return the arguments of its plan about the labels.
        """
        found, declared = set(y.tolist()), learner.classes
        most = min(_MANY_LABELS, max(_FEW_LABELS, len(y) // _PER_LABEL))
        if declared is None and len(found) >= most:
            raise Refusal(
                f"--target must be a column of few labels, got {most} or more in {options.target!r}, and none"
                " is declared: if it is a number to predict, --task regression --target-range LOW,HIGH"
                " predicts it; if they are labels, --labels A,B,... declares them: those taken from the table"
                " are published"
            )
        if declared is not None and not found <= set(declared):
            where = "--labels" if options.labels is not None else str(options.schema)
            raise Refusal(
                f"{options.table}: column {options.target!r} must hold only the labels that {where} lists"
                f" ({_some(declared)}), and holds another"
            )
        n_labels = len(found if declared is None else declared)
        if n_labels < 2:
            raise Refusal(
                "--target must be a column of two labels or more, got one"
                + ("; --labels A,B,... declares all that can occur" if declared is None else "")
            )
        if n_labels > 2 and not get_tags(learner).classifier_tags.multi_class:
            raise Refusal(f"--learner: {type(learner).__name__} takes two labels, got {n_labels}")
        return {"n_labels": n_labels}

    def notes(self, learner: Any) -> list[str]:
        """Return a line about labels that are published, unless they are declared."""
        if learner.classes is not None:
            return []
        return [
            f"Labels taken from the table, and so published: {_some(learner.classes_)}; --labels A,B,..."
            " declares them."
        ]

    def score(self, y: NDArray[Any], predicted: NDArray[Any]) -> tuple[str, float]:
        """Return the accuracy on a public test file."""
        return "Accuracy", float(np.mean(predicted == y))


class Regression:
    """The target is a number in a public range; the methods are those of `Classification`."""

    learners: Mapping[str, type[Learner]] = REGRESSORS

    def parameters(self, options: argparse.Namespace, schema: Schema | None) -> dict[str, Any]:  # noqa: ARG002 - as for labels
        """Return `target_range` and `clip_target`."""
        if options.labels is not None:
            raise Refusal("--labels goes with --task classification; numbers have --target-range LOW,HIGH")
        if options.target_range is None:
            raise Refusal(
                "--task regression needs --target-range LOW,HIGH: public bounds on the target, known without"
                " looking at the table"
            )
        given = tuple(map(finite_number, listed(options.target_range)))
        if len(given) != 2 or any(map(math.isnan, given)):
            raise Refusal(f"--target-range must be two numbers, LOW,HIGH, got {options.target_range!r}")
        if not given[0] < given[1]:
            raise Refusal(f"--target-range must be LOW,HIGH with LOW < HIGH, got {options.target_range!r}")
        with public():
            TargetRange.of(given)
        return {"target_range": given, "clip_target": options.clip_target}

    def said(self, learner: Any) -> str:
        ends = " to ".join(f"{end:g}" for end in learner.target_range)
        return f"numbers, {'moved to' if learner.clip_target else 'all'} within {ends}"

    def read(self, table: Table, options: argparse.Namespace, source: Any) -> NDArray[Any]:
        advice = "leave records without a target out, if how many remain may be public"
        cells = _target_cells(table, options.target, source, advice)
        numbers = np.array([finite_number(str(table.number(options.target, cell))) for cell in cells])
        if np.isnan(numbers).any():
            raise Refusal(
                f"{source}: column {options.target!r} must hold finite numbers with --task regression, and"
                f" holds another cell; decimals have the mark {table.decimal!r}, which --decimal sets, and no"
                " separators of thousands or signs unless --numbers NAME:FORMAT declares them"
            )
        return numbers

    def check(self, y: NDArray[Any], learner: Any, options: argparse.Namespace) -> dict[str, int]:
        """Refuse numbers outside the declared range, unless they are clipped."""
        try:
            TargetRange.of(learner.target_range, clip=learner.clip_target).encode(y)
        except DomainError:
            raise Refusal(
                f"{options.table}: column {options.target!r} must lie in --target-range"
                f" {options.target_range}, and holds a number outside it; --clip-target moves such numbers to"
                " the nearest bound"
            ) from None
        return {}

    def notes(self, learner: Any) -> list[str]:
        return [f"Standard deviation of residuals, released: {learner.residual_std_:.4g}"]

    def score(self, y: NDArray[Any], predicted: NDArray[Any]) -> tuple[str, float]:
        return "R^2", float(r2_score(y, predicted))


Task = Classification | Regression
TASKS: dict[str, Task] = {"classification": Classification(), "regression": Regression()}


def _some(classes: Iterable[Any]) -> str:
    return first_of(map(str, classes), _FEW)
