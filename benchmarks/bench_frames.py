"""How many times what a user would take without privacy does a fit on a frame of text and numbers take?

    python benchmarks/bench_frames.py [--rows 100000,1000000] [--rounds 2] [--learners NAME,...]
        [--kinds KIND,...] [--json PATH]

Frames of 5 floats and 10 columns of text with 3 to 2,000 levels, Zipf's law among them, with 3% gaps in all
columns, and two labels. Their text is of one kind each, or in "mixed" of all kinds of pandas and Arrow. Each
learner is fitted in a process of its own, in turn with its peer, with one thread, and learns the schema. CPU
seconds are the least of all rounds, after a call of each on 2,000 rows; the conversions that a peer needs are
timed. Memory is the peak of a first fit above what is in use before it, in sizes of the frame.

Peers: of what counts, `factorize` and `bincount` of each column; of additive models, boosting of scikit-learn
with columns of at most 250 categories; of linear ones, `OneHotEncoder` and a linear model.

Bar, with exit status 1 if it is missed: for 10^6 rows of "mixed", naive Bayes takes at most 5 times the CPU
of its peer, a synthetic table 10 times, and each takes at most 1.5 times the memory of the frame.
"""

import sys
from typing import Any

from all.environments import ONE_CORE
from side_by_side import asked_of, by_learner, lined_up

BAR_ROWS, MEMORY = 1_000_000, 1.5
KINDS = ("mixed", "object", "str", "category", "arrow", "polars")
BARS = {"StatisticalQueryNaiveBayes": 5.0, "SyntheticTable": 10.0}
LEARNERS = (
    *BARS,
    "learned_schema",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "StatisticalQueryLogisticRegression",
    "LinearRegressor",
    "SyntheticDataClassifier",
)

#: Fits a learner and its peer in turn; prints CPU seconds by name, and bytes of the frame and above it.
PROGRAM = """
import gc, json, sys, time, warnings
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
import dplearn
from dplearn import releases
warnings.simplefilter("ignore")
name, kind, n, rounds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5])
LEVELS, ROTATION = (3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000), ("object", "str", "category", "arrow")

def of_kind(kind, codes, names, gaps):
    if kind == "category":
        return pd.Categorical.from_codes(np.where(gaps, -1, codes), names)
    places = pa.array(codes.astype(np.int32), mask=gaps)
    arrow = pa.DictionaryArray.from_arrays(places, pa.array(names))
    if kind == "arrow":
        return pd.Series(arrow, dtype=pd.ArrowDtype(arrow.type))
    if kind == "str":
        return pd.Series(arrow.cast(pa.string()), dtype="str")
    return pd.Series(np.where(gaps, None, names[codes]), dtype=object)

def frame(n):
    generator, columns = np.random.default_rng(0), {}
    for place in range(5):
        columns[f"number {place}"] = numbers = generator.standard_normal(n) * 10.0**place
        numbers[generator.random(n) < 0.03] = np.nan
    for place, size in enumerate(LEVELS):
        names = np.array([f"level {level}" for level in range(size)], dtype=object)
        codes, gaps = np.minimum(generator.zipf(1.3, n) - 1, size - 1), generator.random(n) < 0.03
        own = ROTATION[place % 4] if kind == "mixed" else kind
        columns[f"text {place}"] = of_kind("str" if kind == "polars" else own, codes, names, gaps)
    X = pd.DataFrame(columns)
    score = np.nan_to_num(columns["number 0"]) + generator.standard_normal(n)
    return pl.from_pandas(X) if kind == "polars" else X, score

def counted(X, y):
    for name in X.columns:
        if not name.startswith("text"):
            codes = np.digitize(np.asarray(X[name]), np.linspace(-1, 1, 32))
        elif kind == "polars":
            codes = X[name].cast(pl.Categorical).to_physical().fill_null(5000).to_numpy()
        else:
            codes = pd.factorize(X[name])[0] + 1
        np.bincount(2 * codes.astype(np.intp) + (y > 0))

def pandas_of(X):
    return X.to_pandas() if kind == "polars" else X

def boosted(model):
    def fit(X, y):
        X = pandas_of(X)
        texts = [each for each in X if each.startswith("text")]
        codes = {each: pd.Categorical(pd.factorize(X[each])[0] % 250) for each in texts}
        return model(categorical_features="from_dtype").fit(X.assign(**codes), y)
    return fit

def one_hot(model):
    def fit(X, y):
        X = pandas_of(X)
        texts = [each for each in X if each.startswith("text")]
        X = X.assign(**{each: X[each].astype(object).where(X[each].notna(), "") for each in texts})
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        columns = make_column_transformer((OneHotEncoder(), texts), remainder=numbers)
        return make_pipeline(columns, model()).fit(X, y)
    return fit

LEARN = {"domain": "learn"}
RANGE = {"target_range": (-5.0, 5.0), "clip_target": True}
PEERS = {
    "AdditiveClassifier": boosted(HistGradientBoostingClassifier),
    "AdditiveRegressor": boosted(HistGradientBoostingRegressor),
    "StatisticalQueryLogisticRegression": one_hot(LogisticRegression),
    "LinearRegressor": one_hot(Ridge),
}

def ours(X, y):
    if name == "learned_schema":
        return releases.learned_schema(X, epsilon=1.0)
    if name == "SyntheticTable":
        return releases.SyntheticTable(1.0, 1e-6).fit(X)
    if name in ("AdditiveRegressor", "LinearRegressor"):
        return getattr(dplearn, name)(epsilon=1.0, **LEARN, **RANGE).fit(X, y)
    return getattr(dplearn, name)(epsilon=1.0, classes=[False, True], **LEARN).fit(X, y)

def of_status(word):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(word))

calls = {"ours": ours, "peer": PEERS.get(name, counted)}
X, y = frame(n)
y = y if name in ("AdditiveRegressor", "LinearRegressor") else y > 0
for call in calls.values():
    call(X[:2000], y[:2000])
gc.collect()
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before, times = of_status("VmRSS"), {}
for _ in range(rounds):
    for who, call in calls.items():
        start = time.process_time()
        call(X, y)
        times.setdefault(who, []).append(time.process_time() - start)
        above = of_status("VmHWM") - before if len(times) == 1 else above
size = X.estimated_size() if kind == "polars" else int(X.memory_usage(index=False).sum())
print(json.dumps({"times": times, "table": size, "above": above}))
"""

Row = dict[str, Any]


def rows_of(n: int, learner: str, kind: str, rounds: int) -> list[Row]:
    """Return a row of a learner on frames of one kind; it has no seconds if that failed."""
    got: Any = asked_of(sys.executable, PROGRAM, learner, kind, n, rounds, **ONE_CORE)
    row: Row = {"rows": n, "learner": learner, "kind": kind}
    if got is None:
        return [row]
    cpu, theirs = (min(got["times"][who]) for who in ("ours", "peer"))
    row |= {"cpu": cpu, "peer": theirs, "times": cpu / theirs, "memory": got["above"] / got["table"]}
    if n == BAR_ROWS and kind == "mixed" and learner in BARS:
        row["passed"] = row["times"] <= BARS[learner] and row["memory"] <= MEMORY
    return [row]


def shown(rows: list[Row]) -> str:
    """Return the rows as a table."""
    lines = [["learner", "kind", "rows", "CPU s", "peer s", "times", "memory", "bar"]]
    for row in rows:
        numbers = [f"{row[key]:.2f}" if key in row else "" for key in ("cpu", "peer", "times", "memory")]
        bar = {True: "pass", False: "FAIL", None: ""}[row.get("passed")]
        lines.append([row["learner"], row["kind"], f"{row['rows']:,}", *numbers, bar])
    return lined_up(lines, left=2)


def main() -> int:
    """Measure, show and write; return 1 if a bar is missed."""
    packages = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "polars")
    lists = {"rows": (100_000, BAR_ROWS), "learners": LEARNERS, "kinds": KINDS}
    return by_learner("frames", __doc__, packages, rows_of, shown, 2, **lists)


if __name__ == "__main__":
    sys.exit(main())
