"""The commands `fit` and `predict`: fit a private learner of labels or numbers on a CSV file, and predict."""

import argparse
import csv
import gzip
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from dplearn._version import __version__
from dplearn.commands.columns import SHARED, Declared, told
from dplearn.commands.csv_table import CsvFormat, Table, add_format, format_of, read_table
from dplearn.commands.learners import (
    AUTO,
    CLASSIFIERS,
    REGRESSORS,
    TASKS,
    Regression,
    Task,
    assembled,
    best_learner,
    candidates,
    columns_of,
    last_of,
    numbers_wanted,
)
from dplearn.commands.ledger import opened
from dplearn.commands.options import FLAG, LIST, NEEDED, PATH, Option, Refusal, add_options, public, warn
from dplearn.domains import Categories, DomainError, Floats, Learn, Schema
from dplearn.domains.cells import as_numbers
from dplearn.estimator.recipe import cost_of_fit
from dplearn.privacy import ApproxDP, BudgetExceededError, Guarantee, PrivacyLedger
from dplearn.privacy.guarantees import in_words

_VERSION = "dplearn_version_"  # the attribute of a model with the version that wrote it
_FORMATS = "dplearn_formats_"  # that with the formats of numbers, by column
_OFFERED = {*CLASSIFIERS.values(), *REGRESSORS.values()}
_MANY_MISSING = 0.5  # the released share of missing numbers from which on a column is named
_SQLITE = b"SQLite format 3\0"  # the first bytes of a ledger
_PREDICTED = "prediction"  # the name of the column that `predict` writes
_FIT = """Fit a private classifier, or with --task regression a private regressor, on a table in a file, and
write it as a scikit-learn estimator.

No column type is inferred from the table, since this would publish it. There are three ways to read the
columns. With --numbers, --integers or --dates, the listed columns are of these kinds and all others of
categories; a tenth of the budget is spent on a schema of ranges and frequent categories, which is published
with the model. It is usually the most accurate way without a file. With --schema, a JSON file describes the
columns. With neither, each column is read as two: the number in a cell, if it is one, and a hash of its text.

The names and the number of columns and the number of rows count as public. So does the set of labels, which
is taken from the table unless --labels or the schema lists them.
"""


_OPTIONS: tuple[Option, ...] = (
    *SHARED,
    ("--target", "COLUMN", "the column to predict", NEEDED),
    (
        "--task",
        None,
        "classification (default): the target is a label; regression: a number",
        {"choices": list(TASKS), "default": next(iter(TASKS))},
    ),
    ("--out", "MODEL", "where to write the model", {**NEEDED, **PATH}),
    (
        "--learner",
        "NAME",
        f"{', '.join(CLASSIFIERS)}, or {AUTO} (default): additive, or stump for few records; for numbers"
        f" {', '.join(REGRESSORS)}, or {AUTO}: additive",
        {"default": AUTO},
    ),
    (
        "--no-interactions",
        None,
        "make an additive model a sum of effects of single columns, which can all be read and drawn",
        FLAG,
    ),
    (
        "--set",
        "PARAMETER=VALUE",
        "a parameter of the learner, such as method=permute_and_flip; may be repeated",
        {"action": "append", "default": [], "dest": "settings"},
    ),
    ("--labels", LIST, "all labels that can occur, separated by commas"),
    ("--target-range", "LOW,HIGH", "public bounds on a target of regression, such as -5,5"),
    (
        "--clip-target",
        None,
        "move targets outside the range to the nearest bound; without it they are refused",
        FLAG,
    ),
    ("--test", "FILE", "CSV file to measure accuracy on, or R^2; you declare it public", PATH),
)


def add_fit(fit: argparse.ArgumentParser) -> None:
    fit.description = _FIT
    add_options(fit, *_OPTIONS)
    add_format(fit)
    fit.set_defaults(run=run_fit)


def add_predict(predict: argparse.ArgumentParser) -> None:
    add_options(
        predict,
        ("model", None, "a model that fit wrote, from a trusted source: loading it runs its code", PATH),
        ("table", None, "CSV file with the columns that the model was fitted on", PATH),
        ("--out", "CSV", "where to write the predictions: .csv or .csv.gz", {**NEEDED, **PATH}),
        (
            "--probabilities",
            None,
            "also write a column for each label, named 'probability of LABEL'",
            FLAG,
        ),
        (
            "--intervals",
            None,
            "also write the columns low and high, the ends of 95 %% intervals of new targets",
            FLAG,
        ),
    )
    add_format(predict)
    predict.set_defaults(run=run_predict)


def run_fit(options: argparse.Namespace) -> None:
    """Fit, write the model, and print the released rule and its guarantee."""
    form, task = format_of(options), TASKS[options.task]
    ledger = open_ledger(options)
    learners, schema = _learners(options, task, ledger)
    check_out(options.out, options.table, options.schema, options.test, options.ledger)
    if options.test is not None and _same_file(options.test, options.table):
        raise Refusal("--test must not be the private table: an accuracy measured on it is a release")
    table = read_table(options.table, form)
    names = _feature_columns(table, options.target, schema)
    learner = learners[best_learner(learners, len(table.columns[0]))]
    declared = Declared.of(options, names, options.target)
    table = replace(table, formats=declared.formats)
    with public():
        model = assembled(learner, schema, names, declared.kinds)
    X = _read_cells(
        table,
        names,
        model,
        f"--learner: {type(learner).__name__}",
        "; additive, naive_bayes and stump take any cells",
        new=False,
    )
    y = task.read(table, options, options.table)
    _check_shape(model, len(y), len(names), task.check(y, learner, options))
    test = None if options.test is None else _read_test(task, options, form, names, model, declared.formats)
    other = "the number in a cell, or missing, and a hash of its text" if model is not learner else "numbers"
    said = {options.target: task.said(learner)}
    sys.stdout.write(told(table, declared, learner.get_params(deep=False).get("domain"), other, said))
    if options.dry_run:
        cost = cost_of_fit(learner)
        sys.stdout.write(f"Nothing was fitted.{f' A fit costs {in_words(cost)}.' if cost else ''}\n")
        return
    with replacing(options.out) as draft:
        with warnings_shown():
            learner.set_params(ledger=ledger)
            model.fit(X, y)
        learner.set_params(ledger=None)  # the model may be shared, and must not contain the ledger's path
        first = model[0] if isinstance(model, Pipeline) else model
        first.feature_names_in_ = np.array(names, dtype=object)
        setattr(model, _VERSION, __version__)
        setattr(model, _FORMATS, dict(declared.formats))
        joblib.dump(model, draft)
    _print_release(task, model, names, len(y), ledger, options)
    if test is not None:
        with _without_names():
            score, value = task.score(test[1], model.predict(test[0]))
        sys.stdout.write(f"{score} on {options.test}, declared public: {value:.4f}\n")


def _learners(
    options: argparse.Namespace, task: Task, ledger: PrivacyLedger | None
) -> tuple[dict[str, Any], Schema | None]:
    """Return the candidates, whose costs the ledger covers, and the schema of the features."""
    with public():
        schema = None if options.schema is None else _of_features(options.schema, options.target)
        found = candidates(
            options.learner,
            task.learners,
            epsilon=options.epsilon,
            delta=delta_of(options, ledger),
            settings=options.settings,
            interactions=not options.no_interactions,
            given=task.parameters(options, schema),
        )
    for cost in map(cost_of_fit, found.values()):
        if ledger is not None and cost is not None:
            _require(ledger, cost)
    return found, schema


def run_predict(options: argparse.Namespace) -> None:
    """Write the predicted label or number of each row."""
    form = format_of(options)
    check_csv(options.out, options.table, options.model)
    model = _load(options.model)
    names = columns_of(model)
    if names is None:
        raise Refusal(
            f"{options.model}: not a model that fit wrote, nor a fitted classifier or regressor of dplearn"
            " with the names of its columns"
        )
    _check_more(options, model)
    table = replace(read_table(options.table, form), formats=getattr(model, _FORMATS, {}))
    cells = _read_cells(table, names, model, f"{options.model}: the model")
    with _without_names():
        columns, parts = [_PREDICTED], [model.predict(cells)[:, None].astype(object)]
        if options.probabilities:
            columns += [f"probability of {label}" for label in last_of(model).classes_.tolist()]
            parts.append(model.predict_proba(cells).astype(object))
        if options.intervals:
            columns += ["low", "high"]
            rows = model[:-1].transform(cells) if isinstance(model, Pipeline) else cells
            parts.append(last_of(model).predict_interval(rows).astype(object))
    open_text: Any = gzip.open if options.out.name.lower().endswith(".gz") else open
    with replacing(options.out) as draft, open_text(draft, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(np.concatenate(parts, axis=1).tolist())
    what = "labels" if hasattr(last_of(model), "classes_") else "numbers"
    sys.stdout.write(f"{len(cells)} {what} written to {options.out}\n")


def _check_more(options: argparse.Namespace, model: Any) -> None:
    """Refuse probabilities or intervals of a model that has none."""
    for option, method, kind in (
        ("probabilities", "predict_proba", "labels that predicts probabilities"),
        ("intervals", "predict_interval", "numbers that predicts intervals"),
    ):
        if getattr(options, option) and not hasattr(last_of(model), method):
            raise Refusal(f"--{option} needs a model of {kind}, which {type(last_of(model)).__name__} is not")


def check_csv(out: Path, *inputs: Path | None) -> None:
    """Raise an error as `check_out`, and if the name of `out` is that of another format than CSV."""
    if out.suffix.lower() in (".parquet", ".xlsx", ".xls", ".json"):
        raise Refusal(f"--out is written as CSV: name it {out.with_suffix('.csv')}, got {out}")
    check_out(out, *inputs)


def check_out(out: Path, *inputs: Path | None) -> None:
    """Raise an error if the folder of `out` does not exist, or if `out` is an input or a ledger."""
    if not out.resolve().parent.is_dir() or (out.exists() and not out.is_file()):
        raise Refusal(f"--out must be a file in a folder that exists, got {out}")
    for path in inputs:
        if path is not None and _same_file(out, path):
            raise Refusal(f"--out must not be a file that this command reads, got {out}")
    if out.exists():
        with out.open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                raise Refusal(f"--out must not be a ledger, got {out}")


def _same_file(one: Path, other: Path) -> bool:
    """Return True if both paths lead to one file."""
    with suppress(OSError):
        return one.samefile(other)  # resolves links and other spellings
    return one.resolve() == other.resolve()


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Yield the path of a draft beside `out`, made at once, which replaces `out` once it is complete."""
    target = out.resolve()
    draft = target.with_name(f".out-{os.urandom(8).hex()}")
    try:
        draft.touch()  # what cannot be written is refused before a charge
        yield draft
        os.replace(draft, target)
    finally:
        with suppress(OSError):
            draft.unlink()


def _load(path: Path) -> Any:
    """Return the object in a model file, or None if it cannot be loaded; warn of another minor version."""
    with warnings_shown():
        try:
            model = joblib.load(path)
        except Exception as error:
            if isinstance(error, OSError):
                raise
            model = None
    written = str(getattr(model, _VERSION, __version__))
    if written.split(".")[:2] != __version__.split(".")[:2]:
        warn(
            f"{path} was written by dplearn {written}, and this is {__version__}: a model must be read by the"
            " minor version that wrote it; with another one it may fail, or predict other labels"
        )
    return model


@contextmanager
def _without_names() -> Iterator[None]:
    """Suppress the warning that cells in the order of the model's columns have no names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Show each distinct UserWarning as one line, and no other warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield
    for text in dict.fromkeys(" ".join(str(each.message).split()) for each in caught):
        warn(text)


def open_ledger(options: argparse.Namespace) -> PrivacyLedger | None:
    return None if options.ledger is None else opened(options.ledger)


def delta_of(options: argparse.Namespace, ledger: PrivacyLedger | None) -> str | None:
    """Return --delta; if it is not given, 0 for a ledger without delta, else None for the default."""
    budget = None if ledger is None else ledger.budget
    pure = isinstance(budget, ApproxDP) and not budget.delta
    return "0" if options.delta is None and pure else options.delta


def _require(ledger: PrivacyLedger, cost: Guarantee) -> None:
    """Raise an error if the remaining budget does not cover the cost; if only delta exceeds it, say so."""
    try:
        ledger.require(cost)
    except BudgetExceededError as error:
        if not isinstance(cost, ApproxDP) or not cost.delta:
            raise
        with suppress(BudgetExceededError):
            ledger.require(replace(cost, delta=Fraction(0)))
            raise Refusal(f"{error}; --delta 0 asks for none") from None
        raise


def _of_features(file: Path, target: str) -> Schema:
    """Return the schema in a file without the target, whose categories are the labels if all are listed."""
    schema = Schema.from_json(file)
    columns = dict(schema.columns)
    own = columns.pop(target, None)
    listed = own.values if isinstance(own, Categories) and not own.accepts_missing else None
    return schema if own is None else Schema(columns, schema.labels or listed)


def _feature_columns(table: Table, target: str, schema: Schema | None) -> list[str]:
    """Return the names of the feature columns: the schema's, or all but the target."""
    table.require("--target", target)
    names = [name for name in table.names if name != target] if schema is None else list(schema.names)
    if not names:
        raise Refusal("the table must have a column besides the target")
    return names


def cells_of(table: Table, names: list[str], wanted: list[bool]) -> NDArray[Any]:
    """Return the named columns: texts, or numbers where these are wanted; None for an empty cell."""
    absent = [name for name in names if name not in table.names]
    if absent:
        raise Refusal(f"the table must have a column {absent[0]!r}{table.missing(absent[0])}")
    cells = np.empty((len(table.columns[0]), len(names)), dtype=object)
    for place, (name, numeric) in enumerate(zip(names, wanted, strict=True)):
        column = table.column(name)
        cells[:, place] = [
            (table.number(name, text) if numeric else text) if text else None for text in column
        ]
    return cells


def _read_cells(
    table: Table, names: list[str], model: Any, who: str, instead: str = "", *, new: bool = True
) -> NDArray[Any]:
    """Return the columns of a model; refuse other cells than numbers if it takes only numbers: errors of
    estimators advise on code.
    """
    X = cells_of(table, names, numbers_wanted(model, len(names)))
    domain, tags = getattr(last_of(model), "domain", None), get_tags(model).input_tags
    if isinstance(domain, Schema):
        (domain.nearest if new else domain.encode)(X)
    elif type(model) in _OFFERED and domain is None and not tags.string:
        for name, column in zip(names, X.T, strict=True):
            try:
                as_numbers(column, Floats(), missing=tags.allow_nan)
            except DomainError:
                where = f"column {name!r}" if table.quotable else "a column"
                gaps = "text" if tags.allow_nan else "empty or text"
                told = f"{who} takes numbers only, and {where} holds a cell that is {gaps}{instead}"
                raise Refusal(told) from None
    return X


def _check_shape(model: Any, n: int, d: int, about: dict[str, int]) -> None:
    """Refuse numbers of records and columns, and public numbers about the target, without a plan."""
    learner = last_of(model)
    given = {"n_features": d if model is learner else 2 * d, **about}
    known = signature(learner.plan).parameters
    with public():
        learner.plan(n, **{name: value for name, value in given.items() if name in known})


def _print_release(
    task: Task,
    model: Any,
    names: list[str],
    n: int,
    ledger: PrivacyLedger | None,
    options: argparse.Namespace,
) -> None:
    learner = last_of(model)
    guarantee = learner.guarantee_
    lines = [
        f"Learner: {type(learner).__name__}",
        f"Records: {n}; columns: {len(names)}",
        f"Privacy cost: {in_words(guarantee)}"
        + ("" if ledger is None else f"; left in {options.ledger}: {in_words(ledger.remaining())}"),
    ]
    if hasattr(learner, "concept_"):
        lines.append(f"Released rule: {learner.concept_}")
        if not hasattr(learner, "domain"):
            lines.append("There x0, x1, ... are the columns of the table without the target, in order.")
    lines += [guarantee.sentence(), f"It assumes that {'; '.join(guarantee.assumes)}."]
    if isinstance(model, Pipeline):
        lines.append(
            "Without --schema each column is read as two: NAME, the number in a cell, or missing;"
            f" NAME#text, a hash of the cell's text into one of {model[0].buckets} buckets, which are the"
            " public categories."
        )
    if hasattr(learner, "schema_"):
        lines += [f"Learned schema, released: {learner.schema_}"]
    lines += [*_mostly_missing(learner, options), *task.notes(learner)]
    sys.stdout.write("\n".join([*lines, f"Model written to {options.out}\n"]))


def _mostly_missing(learner: Any, options: argparse.Namespace) -> list[str]:
    """Return a line for each declared column of numbers of which most are missing by the released masses."""
    if options.schema is not None:
        advice = f"describe the column as categories in {options.schema}"
    elif isinstance(getattr(learner, "domain", None), Learn):
        advice = (
            "do not list the column under --numbers, --integers or --dates; if they are numbers with signs,"
            " NAME:FORMAT declares how"
        )
    else:  # nobody declared numbers: each column is read as numbers and as texts
        return []
    lines = []
    for shape in getattr(learner, "shapes_", []):
        missing = float(shape.masses[: shape.column.gap].sum())
        if missing > _MANY_MISSING:
            lines.append(
                f"Column {shape.name!r}: about {missing:.0%} of the cells are empty or no numbers, by the"
                f" released masses; if they are texts, {advice}."
            )
    return lines


def _read_test(
    task: Task,
    options: argparse.Namespace,
    form: CsvFormat,
    names: list[str],
    model: Any,
    formats: Mapping[str, str],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the cells and targets of the public test file, before anything is spent."""
    table = replace(read_table(options.test, form), formats=formats)
    y = task.read(table, options, options.test)
    if isinstance(task, Regression) and len(set(y.tolist())) < 2:
        raise Refusal(f"{options.test}: --test must hold two different numbers of the target, for R^2")
    return _read_cells(table, names, model, f"{options.test}: the model"), y
