"""Fit on a user's own CSV file, and predict with what was fitted."""

import argparse
import csv
import sys
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline

from dplearn.commands.output import check_out, replacing
from dplearn.commands.refusal import Refusal, public
from dplearn.domains import Categories, Domain, Schema
from dplearn.learners import ExponentialMechanismClassifier
from dplearn.preprocessing import CellEncoder
from dplearn.privacy import Guarantee, PrivacyLedger

__all__ = ["add_commands"]

_FORMAT = "dplearn model, version 1"
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_FEW = 8  # labels that are listed
_FIT = """Fit one private decision stump on a CSV file.

Every cell is encoded by itself, as a number if it is one and as a hash of its text, so that no column type
and no list of categories is inferred from the table: what an encoder infers, it publishes. Where you know
the columns, say so in a JSON file with --schema, for better accuracy and readable rules. The header, the
number of rows and, unless --labels says otherwise, the set of labels count as public.
"""


def add_commands(commands: Any) -> None:
    """Add the commands `fit` and `predict`."""
    fit = commands.add_parser("fit", help="fit on a CSV file", description=_FIT)
    fit.add_argument("table", type=Path, help="CSV file with a header line; private")
    fit.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict")
    fit.add_argument("--epsilon", default="1", help="privacy budget of this fit (default 1)")
    fit.add_argument("--out", required=True, type=Path, metavar="MODEL", help="where to write the model")
    fit.add_argument("--schema", type=Path, metavar="FILE", help="JSON description of the columns")
    fit.add_argument("--labels", metavar="A,B,...", help="all labels that can occur, with commas between")
    fit.add_argument("--mechanism", default="exponential", help="exponential (default) or permute_and_flip")
    fit.add_argument("--ledger", type=Path, metavar="FILE", help="the ledger to charge the fit to")
    fit.add_argument(
        "--test", type=Path, metavar="FILE", help="CSV file to measure accuracy on; you declare it public"
    )
    fit.set_defaults(run=run_fit)
    predict = commands.add_parser("predict", help="predict with a fitted model")
    predict.add_argument("model", type=Path, help="what fit wrote; a pickle, so only from those you trust")
    predict.add_argument("table", type=Path, help="CSV file with the columns that the model was fitted on")
    predict.add_argument("--out", required=True, type=Path, metavar="CSV", help="where to write the labels")
    predict.set_defaults(run=run_predict)


def run_fit(options: argparse.Namespace) -> None:
    """Fit, write the model, and say what was released."""
    with public():
        schema = None if options.schema is None else Schema.from_json(options.schema)
        learner = ExponentialMechanismClassifier(
            epsilon=options.epsilon, mechanism=options.mechanism, classes=_classes(options, schema)
        )
        plan = learner.plan(1, n_features=1, n_labels=1)
    ledger = _open_ledger(options, plan.guarantee)
    check_out(options.out, options.table, options.schema, options.test, options.ledger)
    header, rows = read_table(options.table)
    columns = _feature_columns(header, options.target, schema)
    X, y = _cells(header, rows, columns, schema), _labels(header, rows, options.target, options.table)
    test = None if options.test is None else _read_test(options, columns, schema)
    model = _assemble(learner.set_params(ledger=ledger), schema, columns, X)
    model.fit(X, y)
    learner.set_params(ledger=None)  # a model to be passed on does not say where the ledger lies
    saved = {"columns": columns, "schema": schema, "target": options.target, "model": model}
    with replacing(options.out) as draft:
        joblib.dump({"format": _FORMAT} | saved, draft)
    _say_what_was_released(learner, options.out)
    if test is not None:
        accuracy = np.mean(model.predict(test[0]) == test[1])
        sys.stdout.write(f"Accuracy on {options.test}, declared public: {accuracy:.4f}\n")


def run_predict(options: argparse.Namespace) -> None:
    """Write one label for each row."""
    check_out(options.out, options.table, options.model)
    try:
        saved = joblib.load(options.model)
    except OSError:
        raise
    except Exception:
        saved = None
    if not isinstance(saved, dict) or saved.get("format") != _FORMAT:
        raise Refusal(f"{options.model}: not a model that this version of dplearn wrote")
    header, rows = read_table(options.table)
    labels = saved["model"].predict(_cells(header, rows, saved["columns"], saved["schema"]))
    with replacing(options.out) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([saved["target"]])
        writer.writerows([label] for label in labels.tolist())
    sys.stdout.write(f"{len(labels)} labels written to {options.out}\n")


def _open_ledger(options: argparse.Namespace, price: Guarantee) -> PrivacyLedger | None:
    """Return the ledger to charge, if it can pay; if not, the table is not even read."""
    if options.ledger is None:
        return None
    ledger = PrivacyLedger.open(options.ledger)
    ledger.require(price)
    return ledger


def read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a CSV file; messages hold no cell."""
    csv.field_size_limit(sys.maxsize)  # the length of a cell decides nothing
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except UnicodeDecodeError:
        raise Refusal(f"{path}: must be encoded in UTF-8, and is in another encoding: save it so") from None
    except csv.Error:
        raise Refusal(f"{path}: not a CSV file") from None
    if not rows:
        raise Refusal(f"{path}: empty")
    # In a table of one column an empty line is an empty cell; elsewhere it is no record.
    rows = [row or [""] for row in rows if row or len(rows[0]) == 1]
    if len(rows) < 2:
        raise Refusal(f"{path}: needs a header line and at least one row")
    header = [name.strip() for name in rows[0]]
    if len(header) == 1 and (found := [each for each in _SEPARATORS if each in header[0]]):
        raise Refusal(
            f"{path}: columns must be separated by commas, got a header with {_SEPARATORS[found[0]]}"
        )
    if len(set(header)) < len(header) or "" in header:
        raise Refusal(f"{path}: column names must be distinct and not empty")
    if any(len(row) != len(header) for row in rows[1:]):
        raise Refusal(f"{path}: every row must have as many cells as the header, {len(header)}")
    return header, rows[1:]


def _classes(options: argparse.Namespace, schema: Schema | None) -> list[str] | None:
    if options.labels is not None:
        return [label.strip() for label in options.labels.split(",")]
    return None if schema is None or schema.labels is None else [str(label) for label in schema.labels]


def _feature_columns(header: list[str], target: str, schema: Schema | None) -> list[str]:
    """Return the names of the feature columns: the schema's, or all but the target."""
    if target not in header:
        # Not all columns: without a header line these would be the first record.
        near = get_close_matches(target, header, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else f"; its header has {len(header)} others"
        raise Refusal(f"--target must be a column of the table, got {target!r}{meant}")
    columns = [name for name in header if name != target] if schema is None else list(schema.names)
    if target in columns:
        raise Refusal(f"--schema must not describe the target as a feature, got {target!r}")
    if not columns:
        raise Refusal("the table must have a column besides the target")
    return columns


def _cells(
    header: list[str], rows: list[list[str]], columns: list[str], schema: Schema | None
) -> NDArray[Any]:
    """Return the named columns: text, or numbers where the schema says so; None where a cell is empty."""
    absent = [name for name in columns if name not in header]
    if absent:
        raise Refusal(f"the table must have a column {absent[0]!r}")
    places = [header.index(name) for name in columns]
    numeric = [schema is not None and _wants_numbers(schema.columns[name]) for name in columns]
    cells = np.empty((len(rows), len(columns)), dtype=object)
    for i, row in enumerate(rows):
        cells[i] = [_cell(row[place].strip(), read) for place, read in zip(places, numeric, strict=True)]
    return cells


def _wants_numbers(domain: Domain) -> bool:
    return domain.numbers if isinstance(domain, Categories) else domain.numeric


def _cell(text: str, numeric: bool) -> Any:
    """Return None for an empty cell, and the number that a cell is where one is wanted."""
    if not text or not numeric or "_" in text:
        return text or None
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _labels(header: list[str], rows: list[list[str]], target: str, path: Path) -> NDArray[Any]:
    if target not in header:
        raise Refusal(f"{path}: must have the target column {target!r}")
    labels = [row[header.index(target)].strip() for row in rows]
    if "" in labels:
        raise Refusal(f"{path}: column {target!r} must have no empty cell")
    return np.array(labels)


def _assemble(
    learner: ExponentialMechanismClassifier, schema: Schema | None, columns: list[str], X: NDArray[Any]
) -> Any:
    """Return the learner behind what reads cells for it."""
    if schema is not None:
        return learner.set_params(domain=schema)
    encoder = CellEncoder().fit(X)
    return make_pipeline(encoder, learner.set_params(domain=encoder.domain(columns)))


def _say_what_was_released(learner: ExponentialMechanismClassifier, out: Path) -> None:
    guarantee = learner.guarantee_
    sys.stdout.write(
        f"Released rule: {learner.concept_}\n"
        f"{guarantee.sentence()}\n"
        f"It assumes that {'; '.join(guarantee.assumes)}.\n"
        f"{_labels_taken(learner)}"
        f"Model written to {out}\n"
    )


def _labels_taken(learner: ExponentialMechanismClassifier) -> str:
    """Return which labels were published because nobody declared them, and how they are declared."""
    if learner.classes is not None:
        return ""
    labels = [str(label) for label in learner.classes_]
    shown = ", ".join(map(repr, labels[:_FEW])) + (f" and {len(labels) - _FEW} more" * (len(labels) > _FEW))
    return f"Labels taken from the table, and so published: {shown}; --labels A,B,... declares them.\n"


def _read_test(
    options: argparse.Namespace, columns: list[str], schema: Schema | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the cells and labels of the public test file, before anything is spent."""
    header, rows = read_table(options.test)
    return _cells(header, rows, columns, schema), _labels(header, rows, options.target, options.test)
