"""Tables as archives of arrays, which any environment can read, whatever versions it has."""

import json
from pathlib import Path

import numpy as np
from bench_additive import Problem
from bench_tables import DELTA

from dplearn.domains import Categories, Grid, Schema
from dplearn.releases.table_columns import table_columns

__all__ = ["DELTA", "N_BINS", "saved"]

N_BINS = 16


def saved(problem: Problem, fits: int, folder: Path | None, path: Path) -> None:
    """Write a table, what is declared of it and its splits; `folder` is where Adult was read from."""
    listed = {name: Categories(values) for name, values in problem.categories.items()}
    low, high = problem.target or (0, len(problem.labels) - 1)
    target = Grid(low, high, 1025) if problem.target else Categories(list(range(len(problem.labels))))
    schema = Schema({**problem.numbers, **listed, "the target": target})
    frame = problem.frame.assign(**{"the target": problem.codes})
    columns = table_columns(schema, N_BINS)
    codes = schema.encode(frame[list(schema.names)])
    cells = np.stack([column.of(each) for column, each in zip(columns, codes, strict=True)], axis=1)
    sizes = np.array([column.size for column in columns])
    about = {
        "name": problem.name,
        "folder": folder and str(folder),
        "fits": fits,
        "n_numbers": len(problem.numbers),
        "n_labels": 0 if problem.target else len(problem.labels),
        "target": problem.target,
        "delta": DELTA,
    }
    places = (np.arange(sizes[-1]) + 0.5) / sizes[-1]
    np.savez(
        path,
        about=json.dumps(about),
        X=problem.one_hot(),
        codes=problem.as_numbers(),
        ends=problem.ends(),
        cells=cells.astype(np.int64),
        sizes=sizes,
        middles=low + (high - low) * places,
        y=problem.codes,
        **{f"private_{place}": private for place, (private, _, _) in enumerate(problem.splits[:fits])},
        **{f"tested_{place}": tested for place, (_, _, tested) in enumerate(problem.splits[:fits])},
    )
