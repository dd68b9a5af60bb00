"""What the user declares of a table's columns, and what becomes of each: told before anything is charged."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dplearn._writing import aligned, did_you_mean
from dplearn.commands.csv_table import FORMATS, Table, listed
from dplearn.commands.options import FLAG, LIST, PATH, Option, Refusal
from dplearn.domains import Learn, Schema

SHARED: tuple[Option, ...] = (
    ("table", None, "CSV file, .csv or .csv.gz, workbook or Parquet file; private", PATH),
    ("--epsilon", "E", "privacy budget (default 1)", {"default": "1"}),
    ("--delta", "D", "the same for delta (default 1e-6, or the learner's own; 0 if the ledger has none)"),
    ("--ledger", "FILE", "the ledger to charge", PATH),
    ("--dry-run", None, "tell what would become of each column, and what is charged, and stop", FLAG),
    ("--schema", "FILE", "JSON description of the columns", PATH),
    (
        "--numbers",
        LIST,
        "columns of numbers, in which a cell that is no number is read as missing; all others are"
        " categories, and the schema is learned privately; NAME:FORMAT reads numbers that are written with"
        f" signs, where FORMAT is {', '.join(FORMATS)}",
    ),
    ("--integers", LIST, "columns of integers; otherwise as --numbers"),
    ("--dates", LIST, "columns of dates in ISO 8601, such as 2020-01-31; otherwise as --numbers"),
)
_KINDS = ("numbers", "integers", "dates")
_BECOMES = {
    "numbers": "numbers in a learned range; any other cell counts as missing",
    "integers": "integers in a learned range; any other cell counts as missing",
    "dates": "days in a learned range; any other cell counts as missing",
    "categories": "frequent values are listed, and published; all others share one category",
}


@dataclass(frozen=True)
class Declared:
    """The public kinds of columns, and the formats of numbers that are written with signs."""

    kinds: Mapping[str, str] | None = None  # None: no column has a kind
    formats: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, options: argparse.Namespace, names: Sequence[str], target: str | None = None) -> "Declared":
        """Return what the options of `SHARED` declare of some columns; a target may have a format."""
        given = {kind: getattr(options, kind) for kind in _KINDS}
        if all(text is None for text in given.values()):
            return cls()
        kinds, formats = dict.fromkeys(names, "categories"), dict[str, str]()
        for kind, text in given.items():
            for entry in [] if text is None else listed(text):
                name, _, how = (entry, "", "") if entry in kinds else entry.partition(":")
                if name not in kinds and not (how and name == target):
                    raise Refusal(
                        f"--{kind} must list columns of the table other than the target, got"
                        f" {name!r}{did_you_mean(name, kinds)}"
                    )
                if how and how not in FORMATS:
                    raise Refusal(f"--{kind}: a format must be one of {', '.join(FORMATS)}, got {how!r}")
                formats |= {name: how} if how else {}
                kinds |= {name: kind} if name in kinds else {}
        if options.schema is not None:
            raise Refusal(
                "--numbers, --integers and --dates do not go with --schema, which describes the columns"
            )
        return cls(kinds, formats)

    def domain(self, schema: Schema | None) -> Any:
        """Return the domain of a release of the whole table."""
        if schema is None and self.kinds is None:
            raise Refusal(
                "--schema, or --numbers, --integers or --dates, must declare the columns: all others are"
                " categories"
            )
        return Learn(self.kinds) if schema is None else schema


def told(table: Table, declared: Declared, domain: Any, other: str, said: Mapping[str, str]) -> str:
    """Return a line for each column: its type in the file, what is declared, and what becomes of it."""
    rows = [("column", "in the file", "declared", "becomes")]
    for place, name in enumerate(table.names):
        kind = "" if declared.kinds is None else declared.kinds.get(name, "")
        if isinstance(domain, Schema):
            known = domain.columns.get(name)
            how, becomes = ("", "left out") if known is None else ("--schema", known.assumption)
        else:
            how, becomes = kind if kind != "categories" else "", _BECOMES.get(kind, other)
        if name in declared.formats:
            how = f"{how}, {declared.formats[name]}"
        elif kind in ("numbers", "integers"):
            becomes += f"; NAME:{'|'.join(FORMATS)} reads signs"
        how, becomes = ("target", said[name]) if name in said else (how, becomes)
        rows.append((repr(name), table.types[place] if table.types else "text", how or "-", becomes))
    return "\n".join(["Before the charge:", *aligned(rows), "", ""])
