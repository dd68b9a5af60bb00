"""The commands `describe` and `synthetic`: statistics of a table in a file, and synthetic records of it."""

import argparse
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import Any

from dplearn._writing import in_full
from dplearn.commands.columns import SHARED, Declared, told
from dplearn.commands.csv_table import Table, add_format, format_of, listed, read_table
from dplearn.commands.learners import number, numbers_in
from dplearn.commands.options import LIST, NEEDED, PATH, add_options, public
from dplearn.commands.table import cells_of, check_csv, delta_of, open_ledger, replacing, warnings_shown
from dplearn.domains import IntegerRange, Schema
from dplearn.privacy import PrivacyLedger
from dplearn.privacy.guarantees import in_words
from dplearn.releases import SyntheticTable, describe, describe_plan
from dplearn.releases.describe import STATISTICS


def add_describe(parser: argparse.ArgumentParser) -> None:
    parser.description = "Release counts, means and quantiles of all columns, with intervals, as one table."
    add_options(
        parser,
        *SHARED,
        ("--by", LIST, "one or two columns whose values form groups"),
        ("--statistics", LIST, f"which (default {','.join(STATISTICS)})".replace("%", "%%")),
        ("--out", "CSV", "where to write the statistics, too", PATH),
    )
    add_format(parser)
    parser.set_defaults(run=run_describe)


def add_synthetic(parser: argparse.ArgumentParser) -> None:
    parser.description = "Write synthetic records with the columns of a private table, for one cost."
    add_options(
        parser,
        *SHARED,
        ("--target", "COLUMN", "the column that the records will be used to predict"),
        ("--rows", "M", "the number of records (default: that of the table)", {"type": int}),
        ("--out", "CSV", "where to write the records", {**NEEDED, **PATH}),
    )
    add_format(parser)
    parser.set_defaults(run=run_synthetic)


def run_describe(options: argparse.Namespace) -> None:
    """Print the statistics, and write them if asked."""
    read = _Read(options)
    by = None if options.by is None else listed(options.by)
    for name in by or ():
        read.table.require("--by", name)
    statistics = STATISTICS if options.statistics is None else listed(options.statistics)
    given = {"domain": read.domain, "statistics": statistics, **read.cost}
    with public():
        plan = describe_plan(read.n, by, n_features=len(read.names), **given)
    if read.goes_on(plan.guarantee):
        with nullcontext() if options.out is None else replacing(options.out) as draft, warnings_shown():
            found = describe(read.frame, by, ledger=read.ledger, **given)
            if draft is not None:
                found.to_frame().to_csv(draft, index=False)
        with in_full():
            sys.stdout.write(f"{found}\n{found.guarantee.sentence()}\n")


def run_synthetic(options: argparse.Namespace) -> None:
    read = _Read(options)
    if options.target is not None:
        read.table.require("--target", options.target)
    with public():
        table = SyntheticTable(**read.cost, domain=read.domain, target=options.target, ledger=read.ledger)
        plan = table.plan(read.n, n_features=len(read.names))
        if options.rows is not None and options.rows < 1:
            raise ValueError(f"--rows must be at least 1, got {options.rows}")
    if read.goes_on(plan.guarantee):
        with replacing(options.out) as draft, warnings_shown():
            rows = table.fit(read.frame).sample(options.rows or read.n)
            domains = table.domain_.columns.items()
            whole = [name for name, each in domains if type(each) is IntegerRange]
            rows.astype(dict.fromkeys(whole, "Int64")).to_csv(draft, index=False)
        lines = [f"{len(rows)} records written to {options.out}", table.guarantee_.sentence()]
        sys.stdout.write("\n".join([*lines, ""]))


class _Read:
    """A table, and what is declared of it."""

    def __init__(self, options: argparse.Namespace):
        self.options, form = options, format_of(options)
        with public():
            self.schema = None if options.schema is None else Schema.from_json(options.schema)
        self.ledger: PrivacyLedger | None = open_ledger(options)
        if options.out is not None:
            check_csv(options.out, options.table, options.schema, options.ledger)
        delta = delta_of(options, self.ledger)
        self.cost = {"epsilon": number(options.epsilon), "delta": number("1e-6" if delta is None else delta)}
        self.table: Table = read_table(options.table, form)
        self.names = self.table.names if self.schema is None else list(self.schema.names)
        self.declared = Declared.of(options, self.names)
        self.domain: Any = self.declared.domain(self.schema)

    @property
    def n(self) -> int:
        return len(self.table.columns[0])

    def goes_on(self, cost: Any) -> bool:
        """Tell what becomes of each column, and whether the release goes on."""
        if self.ledger is not None:
            self.ledger.require(cost)
        if self.schema is not None:
            self.schema.encode(self.frame)
        sys.stdout.write(told(self.table, self.declared, self.domain, "", {}))
        if self.options.dry_run:
            sys.stdout.write(f"Nothing was released. A release costs {in_words(cost)}.\n")
        return not self.options.dry_run

    @cached_property
    def frame(self) -> Any:
        """The table as a data frame of objects."""
        pandas = import_module("pandas")
        table = replace(self.table, formats=self.declared.formats)
        cells = cells_of(table, self.names, numbers_in(self.domain, 0))
        return pandas.DataFrame(cells, columns=self.names, dtype=object)  # a column of texts, too
