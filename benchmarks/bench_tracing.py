"""How long must a fingerprinting code be, and whose fits to several labels does tracing refute?

    python benchmarks/bench_tracing.py [--users 10 20] [--runs 20] [--fits 5] [--diffprivlib-python PYTHON]
        [--pgm-python PYTHON --mechanisms FOLDER] [--smartnoise-python PYTHON] [--json PATH]

Codes: n users, all but two of whom are a coalition that makes a word: of each output the majority of its
labels, the rarer label that occurs, or each output's label of another user (interleaving). "length": the
least length k, to an eighth, at which in at least nine of ten runs some member is accused, or the last one
tried; "innocents": the runs at that length in which one of the two others is accused, which may happen in one
of a hundred. "UniformCode" and "ThresholdCode" accuse by exact p-values, and are tried up to 40 times the
square of the users; "TardosCode" and "BonehShawCode" by their published thresholds, up to "published", their
length. "ThresholdCode, own labels": of each user, the labels of its own point by thresholds with the least
errors are compared. UniformCode is for words that are accurate on average, not for all words that keep to the
labels that all members share: the rarer label escapes it, and not the published codes.

Fits: `trace_outputs` at confidence 0.95, `--fits` fits of each; the share of right guesses, the median bound,
the greatest one, and how often the claim is refuted (p below 1e-6). Ours have the claim (1, 1e-6). Peers,
each in an environment of its own, named by its python: diffprivlib 0.6 (pure, its bounds declared), MST of
private-pgm (FOLDER is `mechanisms` in its repository) and MST of smartnoise-synth, whose claims are for added
or removed records and so are tested at twice the epsilon; one fit to ten labels, which takes a minute and
shows little. "at the whole price": each output spends epsilon, as MultiOutputClassifier does; the claim of
one epsilon is then false.

Bars: published lengths are at least ten times ours; no claim of ours is refuted, but ours at the whole price
is, in each fit. Exit status 1 if not.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, write

from dplearn.audit import BonehShawCode, TardosCode, ThresholdCode, TraceReport, UniformCode, trace_outputs
from dplearn.audit.traced import CONTROL, TRACED
from dplearn.chance import SystemDice
from dplearn.kernels import decay_ratio
from dplearn.privacy import ApproxDP

ERROR, INNOCENT, ENOUGH, DELTA = 0.01, 2, 0.9, Fraction(1, 10**6)
WHOLE = "at the whole price"

#: Run by diffprivlib's interpreter: reads a table, writes the labels that a method predicts.
DIFFPRIVLIB = """
import sys, warnings
import numpy
from sklearn.multioutput import MultiOutputClassifier
warnings.simplefilter("ignore")
from diffprivlib import models, tools
folder, method = sys.argv[1:]
table = numpy.load(folder + "/table.npz")
X, Y = table["X"].astype(float), table["Y"].astype(float)
k = Y.shape[1]
if method == "mean":
    found = tools.mean(Y, axis=0, bounds=(0, 1), epsilon=1.0)
elif method == "LinearRegression":
    found = models.LinearRegression(epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1)).fit(X, Y).predict(X[:1])[0]
else:
    epsilon = 1.0 if "whole" in method else 1.0 / k
    model = MultiOutputClassifier(models.GaussianNB(epsilon=epsilon, bounds=(0, 2))).fit(X, Y)
    found = [each[0, -1] for each in model.predict_proba(X[:1])]
numpy.save(folder + "/labels.npy", numpy.clip(found, 0, 1))
"""

#: Run by the interpreters of makers of synthetic records: writes the means of their labels.
SYNTHETIC = """
import sys, warnings
import numpy, pandas
warnings.simplefilter("ignore")
folder, method, mechanisms = sys.argv[1:]
Y = numpy.load(folder + "/table.npz")["Y"]
frame = pandas.DataFrame(Y, columns=[f"y{j}" for j in range(Y.shape[1])])
if method == "private-pgm MST":
    sys.path.insert(0, mechanisms)
    from mbi import Dataset, Domain
    from mst import MST
    rows = MST(Dataset(frame, Domain(list(frame), [2] * len(frame.columns))), 1.0, 1e-6).df
else:
    from snsynth import Synthesizer
    synthesizer = Synthesizer.create("mst", epsilon=1.0, delta=1e-6)
    rows = synthesizer.fit_sample(frame, categorical_columns=list(frame), preprocessor_eps=0.0)
numpy.save(folder + "/labels.npy", rows[list(frame)].astype(float).to_numpy().mean(axis=0))
"""


@dataclass(frozen=True)
class Length:
    """The measured length of a code against one strategy of the coalition."""

    code: str
    users: int
    word: str
    published: int | None
    length: int
    accused: float
    innocents: int

    def cells(self) -> list[str]:
        """Return the row of the printed table."""
        published = "" if self.published is None else str(self.published)
        counts = f"{self.accused:.2f}", str(self.innocents)
        return [self.code, self.word, str(self.users), published, str(self.length), *counts]


@dataclass
class Trace:
    """The traces of one method."""

    method: str
    claim: ApproxDP
    reports: list[TraceReport]
    error: str = ""

    def cells(self) -> list[str]:
        """Return the row of the printed table."""
        if self.error:
            return [self.method, self.error, "", "", "", "", ""]
        bounds = [each.epsilon for each in self.reports]
        refuted = f"{sum(each.refuted for each in self.reports)} of {len(self.reports)}"
        right = sum(each.n_right for each in self.reports) / sum(each.n_guesses for each in self.reports)
        first = self.reports[0]
        return [
            self.method,
            str(first.n),
            str(first.k),
            f"{right:.2f}",
            f"{np.median(bounds):.2f}",
            f"{max(bounds):.2f}",
            refuted,
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return what is written to the JSON file."""
        return {
            "method": self.method,
            "claim": repr(self.claim),
            "epsilon": [each.epsilon for each in self.reports],
            "refuted": [each.refuted for each in self.reports],
            "n": [each.n for each in self.reports],
            "k": [each.k for each in self.reports],
            "error": self.error,
        }


def majority(rows: Any) -> Any:
    return (2 * rows.sum(axis=0, dtype=int) > len(rows)).astype(int)


def minority(rows: Any) -> Any:
    ones = rows.sum(axis=0, dtype=int)
    return np.where(ones == 0, 0, np.where(ones == len(rows), 1, 2 * ones <= len(rows))).astype(int)


def interleaved(rows: Any) -> Any:
    places = np.arange(rows.shape[1])
    return rows[places % len(rows), places].astype(int)


WORDS = {"majority": majority, "minority": minority, "interleaving": interleaved}


def thresholds_of_least_errors(rows: Any, points: Any, n: int) -> Any:
    """Return the labels of points 0..n - 1 by thresholds that label the coalition's rows without error."""
    least = np.where(rows > 0, points[:, None] + 1, 0).max(axis=0)  # the first point that may have label 0
    return (np.arange(n)[:, None] < least).astype(int)


def lengths(users: int, runs: int) -> Iterator[Length]:
    """Yield the measured lengths of all codes."""
    members = users - INNOCENT
    places = np.sort(np.random.default_rng(0).permutation(users)[:members])
    shaw = (users - 1) * BonehShawCode.repetitions(users, ERROR)
    makers: dict[str, tuple[Callable[[int], Any], int | None]] = {
        "UniformCode": (lambda k: UniformCode.drawn(users, k, error=ERROR), None),
        "ThresholdCode": (lambda k: ThresholdCode.drawn(users, k, error=ERROR), None),
        "TardosCode": (lambda k: TardosCode.drawn(users, k, error=ERROR), TardosCode.length(users, ERROR)),
        "BonehShawCode": (
            lambda k: BonehShawCode.drawn(users, max(1, k // (users - 1)), error=ERROR),
            shaw,
        ),
    }
    for name, (make, published) in makers.items():
        for word, of_rows in WORDS.items():
            run = partial(_accused, make, lambda code, of_rows=of_rows: of_rows(code.words[places]), places)
            yield _measured(name, users, word, published, run, runs)

    def own(code: Any) -> Any:
        return thresholds_of_least_errors(code.words[places], places, users)

    run = partial(_accused, makers["ThresholdCode"][0], own, places)
    yield _measured("ThresholdCode, own labels", users, "least errors", None, run, runs)


def _accused(make: Any, word: Any, places: Any, k: int) -> tuple[bool, bool]:
    """Return whether members, and whether innocents, are accused in one run."""
    code = make(k)
    accused = set(code.accused(word(code)).tolist())
    return bool(accused & set(places.tolist())), bool(accused - set(places.tolist()))


def _measured(name: str, users: int, word: str, published: int | None, run: Any, runs: int) -> Length:
    """Return the least length, to an eighth, at which nine of ten runs accuse a member."""
    most = published or 40 * users**2

    def tried(k: int) -> Length:
        found = [run(k) for _ in range(runs)]
        share = float(np.mean([member for member, _ in found]))
        return Length(name, users, word, published, k, share, sum(other for _, other in found))

    low, best = users, tried(min(2 * users, most))
    while best.accused < ENOUGH and best.length < most:
        low, best = best.length, tried(min(2 * best.length, most))
    while best.accused >= ENOUGH and best.length - low > best.length // 8:
        middle = tried((low + best.length) // 2)
        low, best = (low, middle) if middle.accused >= ENOUGH else (middle.length, best)
    return best


def forgetful(X: Any, Y: Any) -> Any:  # noqa: ARG001
    """Return majorities of noisy counts whose noise is that of one output."""
    n, k = Y.shape
    return 2 * (Y.sum(axis=0) + SystemDice().discrete_laplace(decay_ratio(Fraction(1)), size=k)) > n


def thresholds_each(X: Any, Y: Any) -> Any:
    """Return the labels of a threshold for each output, each chosen at the whole price of 1."""
    n, k = Y.shape
    below = np.vstack([np.zeros(k, dtype=int), Y.cumsum(axis=0)])  # ones among the first t
    errors = (np.arange(n + 1)[:, None] - below) + (below[-1] - below)
    ratio, dice = decay_ratio(Fraction(1, 2)), SystemDice()
    chosen = [dice.power_weighted(ratio, column.tolist(), [1] * (n + 1)) for column in errors.T]
    return np.array(chosen) >= X


#: The sizes of the guide's table, by code.
FORGOTTEN = {
    "uniform": ((50, 10_000), (200, 100_000)),
    "fair": ((50, 500), (100, 1000), (400, 4000)),
    "thresholds": ((60, 6000), (100, 20_000)),
}


def from_process(python: str, program: str, *arguments: str) -> Callable[[Any, Any], Any]:
    """Return a `fit_predict` that runs a program in another environment."""

    def fit_predict(X: Any, Y: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            np.savez(f"{folder}/table.npz", X=X, Y=Y)
            call = [python, "-c", program, folder, *arguments]
            done = subprocess.run(call, capture_output=True, text=True, timeout=900, check=False)
            if done.returncode:
                raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1][:90])
            return np.load(f"{folder}/labels.npy")

    return fit_predict


def traces(options: argparse.Namespace) -> Iterator[Trace]:
    """Yield the traces of ours, of bare noise and of the peers that have an environment."""
    fits = options.fits
    for learner in TRACED.values():
        yield Trace(learner.what, learner.claim, [learner.trace() for _ in range(fits)])
    yield Trace(
        f"ours, exponential mechanism, {WHOLE}", CONTROL.claim, [CONTROL.trace() for _ in range(fits)]
    )
    one = ApproxDP(1)
    for code, sizes in FORGOTTEN.items():
        forgets = thresholds_each if code == "thresholds" else forgetful
        for n, k in sizes:
            found = [trace_outputs(forgets, n, k, code=code, claim=one) for _ in range(fits)]
            yield Trace(f'noise that forgets k, code "{code}"', one, found)
    added = ApproxDP(1, DELTA, neighbors="add_remove")
    peers: list[tuple[str, ApproxDP, int, int, Any]] = []
    if options.diffprivlib_python:
        for method in ("mean", "LinearRegression", "GaussianNB", f"GaussianNB, {WHOLE}"):
            run = from_process(options.diffprivlib_python, DIFFPRIVLIB, method)
            peers.append((f"diffprivlib {method}", one, 200, 1500, run))
    synthetic = {"private-pgm MST": options.pgm_python, "smartnoise-synth MST": options.smartnoise_python}
    for method, python in synthetic.items():
        if python:
            run = from_process(python, SYNTHETIC, method, str(options.mechanisms))
            peers.append((method, added, 30, 10, run))
    for method, claim, n, k, run in peers:
        try:
            times = 1 if "MST" in method else fits  # a minute and more for ten labels
            reports = [trace_outputs(run, n, k, code="fair", claim=claim) for _ in range(times)]
            yield Trace(method, claim, reports)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            yield Trace(method, claim, [], str(error))


def missed(codes: list[Length], found: list[Trace]) -> list[str]:
    """Return which bars are missed."""
    texts = []
    for users in {each.users for each in codes}:
        most = {
            name: max(
                each.length
                for each in codes
                if (each.code, each.users) == (name, users) and each.word != "minority"
            )
            for name in ("UniformCode", "ThresholdCode")
        }
        for ours, theirs in (("UniformCode", "TardosCode"), ("ThresholdCode", "BonehShawCode")):
            published = next(each.published for each in codes if (each.code, each.users) == (theirs, users))
            if 10 * most[ours] > (published or 0):
                texts.append(f"{ours} for {users} users has more than a tenth of {theirs}'s length")
    for trace in found:
        refuted = [report.refuted for report in trace.reports]
        is_false = trace.method.startswith("ours") and WHOLE in trace.method
        if is_false and not all(refuted):
            texts.append(f"{trace.method} is not refuted in each fit")
        if not is_false and trace.claim.delta == DELTA and any(refuted):
            texts.append(f"{trace.method} is refuted")
    return texts


def main() -> int:
    parser = options_of("tracing", __doc__)
    parser.add_argument("--users", type=int, nargs="*", default=[10, 20], help="numbers of users of a code")
    parser.add_argument("--runs", type=int, default=20, help="runs for each length")
    parser.add_argument("--fits", type=int, default=5, help="fits of each method that are traced")
    parser.add_argument("--diffprivlib-python", help="python of an environment with diffprivlib")
    parser.add_argument("--pgm-python", help="python of an environment with private-pgm")
    parser.add_argument("--mechanisms", type=Path, help="the folder `mechanisms` of its repository")
    parser.add_argument("--smartnoise-python", help="python of an environment with smartnoise-synth")
    options = parser.parse_args()
    codes = [each for users in options.users for each in lengths(users, options.runs)]
    head = ["code", "word", "users", "published", "length", "accused", "innocents"]
    print(lined_up([head, *(each.cells() for each in codes)], left=2), flush=True)
    found = []
    for each in traces(options):
        found.append(each)
        print(*each.cells(), sep="; ", file=sys.stderr, flush=True)
    head = ["fit", "records", "labels", "right", "median bound", "greatest bound", "refuted"]
    print(lined_up([head, *(each.cells() for each in found)]))
    short = missed(codes, found)
    print("\n".join(f"missed: {text}" for text in short) or "all bars are reached")
    packages = ("numpy", "scipy", "scikit-learn")
    counts = {"runs": options.runs, "fits": options.fits}
    lines = {"codes": [vars(each) for each in codes], "traces": [each.as_dict() for each in found]}
    write(options.json, packages, **counts, missed=short, **lines)
    return int(bool(short))


if __name__ == "__main__":
    sys.exit(main())
