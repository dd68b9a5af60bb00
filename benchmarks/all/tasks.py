"""Tables as archives of arrays, which any environment can read, whatever versions it has."""

import json
from pathlib import Path

import numpy as np
from bench_additive import Problem
from bench_tables import DELTA
from numpy.typing import NDArray

from dplearn.domains import Categories, Grid, Schema
from dplearn.releases.table_columns import TableColumn, table_columns

__all__ = ["DELTA", "N_BINS", "saved"]

N_BINS = 16


def middles_of(column: TableColumn) -> NDArray[np.float64]:
    """Return the number in the middle of each bin; bins of wide ranges grow."""
    first = column.starts
    last = np.append(first[1:], np.uint64(column.domain.size)) - np.uint64(1)
    low, high = (np.asarray(column.domain.decode(codes), dtype=np.float64) for codes in (first, last))
    return (low + high) / 2


def saved(problem: Problem, fits: int, folder: Path | None, path: Path) -> None:
    """Write a table, what is declared of it and its splits; `folder` is where Adult was read from."""
    listed = {name: Categories(values) for name, values in problem.categories.items()}
    target = Grid(*problem.target, 1025) if problem.target else Categories(list(range(len(problem.labels))))
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
    np.savez(
        path,
        about=json.dumps(about),
        X=problem.one_hot(),
        codes=problem.as_numbers(),
        ends=problem.ends(),
        cells=cells.astype(np.int64),
        sizes=sizes,
        middles=middles_of(columns[-1]) if problem.target else np.arange(sizes[-1], dtype=float),
        y=problem.codes,
        **{f"private_{place}": private for place, (private, _, _) in enumerate(problem.splits[:fits])},
        **{f"tested_{place}": tested for place, (_, _, tested) in enumerate(problem.splits[:fits])},
    )
