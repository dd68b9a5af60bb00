"""Write the comparison with peers, from the record of `benchmarks/all`.

    python benchmarks/tables/compared.py

Nothing is said here of a cell that the record lacks.
"""

import json
import math
import operator
import re
from collections.abc import Callable, Iterator
from functools import cache
from statistics import fmean, stdev
from typing import Any, NamedTuple

from files import MEASURED, ROOT, Table, write
from scipy.stats import t

RECORD = MEASURED / "compare.json"
EPSILONS = (0.1, 1.0, 3.0)
#: Tables that were looked at when defaults of ours were chosen: shown, and not counted.
SEEN = ("Adult",)
OURS, OPEN = "dplearn", "sklearn"
PEERS = {
    "interpret": "DP-EBM",
    "diffprivlib": "diffprivlib",
    "opendp": "OpenDP",
    "private_pgm": "private-pgm",
    "smartnoise": "SmartNoise",
}
SYNTHESIZERS = ("opendp", "private_pgm", "smartnoise")
NAMES = {
    OURS: "dplearn",
    **PEERS,
    OPEN: "not private",
}
SHORT = {
    "AdditiveClassifier": "additive",
    "AdditiveRegressor": "additive",
    "StatisticalQueryLogisticRegression": "logistic",
    "StatisticalQueryNaiveBayes": "naive Bayes",
    "ExponentialMechanismClassifier": "stump",
    "LinearRegressor": "linear",
    "LogisticRegression": "logistic",
    "LinearRegression": "linear",
    "GaussianNB": "naive Bayes",
    "RandomForestClassifier": "forest",
    "DPExplainableBoostingClassifier": "",
    "DPExplainableBoostingRegressor": "",
    "HistGradientBoostingClassifier": "boosting",
    "HistGradientBoostingRegressor": "boosting",
    "Ridge": "ridge",
}
MAIN = ("AdditiveClassifier", "AdditiveRegressor")
CONSTANT = ("DummyClassifier", "DummyRegressor")
#: Smaller differences are ties, whatever the standard error, and where there is none.
CLOSE, CLOSE_ONCE = 0.005, 0.01
#: An R^2 below counts as this, since how much worse than useless a model is would decide all means.
LEAST = -1.0
#: Test rows for each private one. Splits overlap, which widens the test (Nadeau and Bengio, 2003).
TESTED = 1 / 3
BEHIND, TIE, AHEAD = "behind", "tie", "ahead"

Cell = dict[str, Any]
Outcome = tuple[str, float, str, str, str]  # table, epsilon, measure, peer, and one of the three words


class Score(NamedTuple):
    """The mean of one learner on a table, and each repetition."""

    mean: float
    learner: str
    runs: tuple[tuple[int, float], ...]

    def shown(self) -> str:
        """Return the mean with its standard error, without leading zeros."""
        values = [value for _, value in self.runs]
        error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
        return number(self.mean) + ("" if error is None or self.mean <= LEAST else f" ± {number(error)}")


Choose = Callable[[str, float, str], Score | None]


@cache
def record() -> dict[str, Any]:
    """Return what was recorded."""
    return dict(json.loads(RECORD.read_text(encoding="utf-8")))


def cells(part: str) -> list[Cell]:
    """Return the recorded cells of one part."""
    return [cell for cell in record()["cells"] if cell["part"] == part]


@cache
def scores() -> dict[tuple[str, float | None, str, str, str], Score]:
    """Return the score by table, epsilon, peer, learner and measure."""
    runs: dict[Any, list[tuple[int, float]]] = {}
    for cell in cells("accuracy"):
        for measure in ("accuracy", "auc", "r2"):
            if measure in cell:
                key = (cell["table"], cell["epsilon"], cell["peer"], cell["learner"], measure)
                value = max(cell[measure], LEAST)
                runs.setdefault(key, []).append((cell["repetition"], value))
    return {
        key: Score(fmean(value for _, value in each), key[3], tuple(sorted(each)))
        for key, each in runs.items()
    }


def of(table: str, epsilon: float | None, peer: str, measure: str) -> list[Score]:
    """Return the scores of a peer's learners, the best first."""
    found = [
        score for key, score in scores().items() if (*key[:3], key[4]) == (table, epsilon, peer, measure)
    ]
    return sorted(found, key=lambda score: -score.mean)


def best(table: str, epsilon: float | None, peer: str, measure: str) -> Score | None:
    """Return the best of a peer's learners by its mean, seen afterwards."""
    return next(iter(of(table, epsilon, peer, measure)), None)


def main_of(table: str, epsilon: float, measure: str) -> Score | None:
    """Return the score of the learner of ours that the guides name first."""
    return next((each for each in of(table, epsilon, OURS, measure) if each.learner in MAIN), None)


def constant(table: str, measure: str) -> Score:
    """Return the score of the most common label, or of the mean of the targets."""
    if measure == "accuracy":
        return next(each for each in of(table, None, OPEN, measure) if each.learner in CONSTANT)
    value = 0.5 if measure == "auc" else 0.0
    found = of(table, None, OPEN, measure)[0]
    return Score(value, "constant", tuple((place, value) for place, _ in found.runs))


def is_of_use(score: Score, table: str, measure: str) -> bool:
    """Return whether a score is ahead of a constant's."""
    return compared(score, constant(table, measure)) == AHEAD


def tables(measure: str) -> list[str]:
    """Return the tables that a measure is known on, those that count first and each kind by size."""
    known = {key[0] for key in scores() if key[4] == measure}
    sizes = record()["tables"]
    return sorted(known, key=lambda name: (name in SEEN, -sizes[name]["private"]))


def in_common(ours: Score, theirs: Score) -> list[tuple[float, float]]:
    """Return both values on each split that both have."""
    mine, others = dict(ours.runs), dict(theirs.runs)
    return [(mine[place], others[place]) for place in sorted(mine.keys() & others.keys())]


def means(ours: Score, theirs: Score) -> tuple[float, float]:
    """Return both means over the common splits."""
    mine, others = zip(*in_common(ours, theirs), strict=True)
    return fmean(mine), fmean(others)


def compared(ours: Score, theirs: Score) -> str:
    """Return whether ours is ahead, behind, or neither, on the common splits, at level .05.

    A paired t-test, whose variance allows for the overlap of the splits. With one common split there is no
    test: the difference must exceed that of two splits of whoever has several. Differences of at most
    `CLOSE`, or `CLOSE_ONCE`, are ties in any case.
    """
    both = [mine - other for mine, other in in_common(ours, theirs)]
    mean, n = fmean(both), len(both)
    if n > 1:
        error = max(CLOSE, t.ppf(0.975, n - 1) * stdev(both) * math.sqrt(1 / n + TESTED))
    else:
        runs = [value for _, value in max(ours.runs, theirs.runs, key=len)]
        spread = t.ppf(0.975, len(runs) - 1) * math.sqrt(2) * stdev(runs) if len(runs) > 1 else 0.0
        error = max(CLOSE_ONCE, spread)
    if abs(mean) <= error:
        return TIE
    return AHEAD if mean > 0 else BEHIND


def outcomes(choose: Choose) -> Iterator[Outcome]:
    """Yield the outcomes of one of ours against each peer, on the tables that count."""
    for measure in ("accuracy", "auc", "r2"):
        for table in tables(measure):
            for epsilon in EPSILONS:
                ours = choose(table, epsilon, measure)
                for peer in PEERS:
                    theirs = best(table, epsilon, peer, measure)
                    if ours and theirs and table not in SEEN:
                        useless = not any(is_of_use(each, table, measure) for each in (ours, theirs))
                        yield table, epsilon, measure, peer, TIE if useless else compared(ours, theirs)


def best_of_ours(table: str, epsilon: float, measure: str) -> Score | None:
    return best(table, epsilon, OURS, measure)


MEASURES = {"accuracy": "accuracy", "auc": "area under the curve", "r2": "R²"}


def wins() -> Table:
    """Return how often ours is ahead, ties, and is behind, for each measure and peer."""
    body = []
    for words, choose in (("best of ours", best_of_ours), ("additive model alone", main_of)):
        found = list(outcomes(choose))
        for measure, name in MEASURES.items():
            cells_of = []
            for peer in PEERS:
                each = [outcome for _, _, kind, who, outcome in found if (kind, who) == (measure, peer)]
                counts = "/".join(str(each.count(outcome)) for outcome in (AHEAD, TIE, BEHIND))
                cells_of.append(counts if each else "not run")
            body.append([f"{words}, {name}", *cells_of])
    return [["ahead/tie/behind", *PEERS.values()], *body]


def called(peer: str, learner: str) -> str:
    """Return a library and the short name of its learner."""
    return f"{NAMES[peer]} {SHORT.get(learner, learner)}".strip()


def losses() -> Table:
    """Return where ours is behind, where a peer's mean is higher without significance, and what is faster."""
    found = [(choose, each) for choose in (best_of_ours, main_of) for each in outcomes(choose)]
    first = {each[:4]: each for choose, each in found if choose is best_of_ours}
    kinds = {
        "our best learner is behind": [place(e, best_of_ours) for e in first.values() if e[-1] == BEHIND],
        "the additive model alone is behind": [
            place(each, main_of) for choose, each in found if choose is main_of and each[-1] == BEHIND
        ],
        "a tie, but a peer's mean is higher": [
            place(each, best_of_ours) for each in first.values() if each[-1] == TIE and is_lower(each)
        ],
        "no learner of ours is better than a constant": no_use(),
        "faster than our additive model": quicker(),
    }
    return [
        ["where dplearn is not first", "cells"],
        *([kind, "; ".join(e) or "none"] for kind, e in kinds.items()),
    ]


def is_lower(each: Outcome) -> bool:
    """Return whether the mean of the peer is the greater."""
    table, epsilon, measure, peer, _ = each
    ours, theirs = best_of_ours(table, epsilon, measure), best(table, epsilon, peer, measure)
    return bool(ours and theirs) and operator.lt(*means(ours, theirs))  # type: ignore[arg-type]


def place(each: Outcome, choose: Choose) -> str:
    """Return a table, an epsilon, a measure and a peer in words, with both scores."""
    table, epsilon, measure, peer, _ = each
    ours, theirs = choose(table, epsilon, measure), best(table, epsilon, peer, measure)
    mine, others = means(ours, theirs)  # type: ignore[arg-type]
    text = f"{table}, epsilon {epsilon:g}: {MEASURES[measure]} {number(mine)}, {called(peer, theirs.learner)}"  # type: ignore[union-attr]
    return f"{text} {number(others)}"


def no_use() -> list[str]:
    """Return where the best learner of ours is no better than a constant."""
    return [
        f"{table} at epsilon {epsilon:g}"
        for measure in ("accuracy", "r2")
        for table in tables(measure)
        for epsilon in EPSILONS
        if (score := best_of_ours(table, epsilon, measure)) and not is_of_use(score, table, measure)
    ]


def quicker() -> list[str]:
    """Return which learners of peers take less time than the additive model."""
    least: dict[tuple[str, str], float] = {}
    for cell in cells("speed"):
        if "cpu" in cell:
            key = cell["peer"], cell["learner"]
            least[key] = min(cell["cpu"], least.get(key, math.inf))
    main = least[OURS, MAIN[0]]
    return [
        f"{called(*key)} ({main / least[key]:.1f} times)"
        for key in sorted(least)
        if key[0] in PEERS and 1.1 * least[key] < main
    ]


def accuracy() -> Table:
    """Return accuracies of labels, and who wins."""
    return of_measure("accuracy", "most common label")


def curves() -> Table:
    """Return areas under the ROC curve of two labels."""
    return of_measure("auc", None)


def numbers() -> Table:
    """Return R^2 of numbers."""
    return of_measure("r2", None)


def of_measure(measure: str, floor: str | None) -> Table:
    """Return a line for each table and epsilon."""
    head = ["table, records, epsilon", *([floor] if floor else []), "additive model", "best of dplearn"]
    head += [*PEERS.values(), "not private", "best"]
    body = []
    for table in tables(measure):
        size = record()["tables"][table]["private"]
        for epsilon in EPSILONS:
            line = [f"{table}{'*' if table in SEEN else ''}, {size:,}, {epsilon:g}"]
            line += [number(constant(table, measure).mean)] if floor else []
            main = main_of(table, epsilon, measure)
            line += [main.shown() if main else "", named(best(table, epsilon, OURS, measure))]
            line += [named(best(table, epsilon, peer, measure)) for peer in PEERS]
            line += [number(found.mean) if (found := best(table, None, OPEN, measure)) else ""]
            body.append([*line, winner(table, epsilon, measure)])
    return filled([head, *body])


def winner(table: str, epsilon: float, measure: str) -> str:
    """Return who is the best; nobody who is no better than a constant, in the digits shown."""
    found = [(score, who) for who in (OURS, *PEERS) if (score := best(table, epsilon, who, measure))]
    if not found:
        return ""
    # A score of one split says little beside means of five: it wins if it is clearly ahead on that split.
    score, who = max((each for each in found if each[1] not in SYNTHESIZERS), key=lambda each: each[0].mean)
    clear = [each for each in found if each[1] in SYNTHESIZERS and compared(score, each[0]) == BEHIND]
    score, who = max(clear, key=lambda each: each[0].mean, default=(score, who))
    if not is_of_use(score, table, measure):
        return "none beats a constant"
    text = f"**{NAMES[who]}**"
    close = [
        NAMES[other]
        for each, other in found
        if other != who and compared(score, each) == TIE and is_of_use(each, table, measure)
    ]
    return text + (f" (tie: {', '.join(close)})" if close else "")


def named(score: Score | None) -> str:
    """Return a score and the short name of the learner that has it."""
    if score is None:
        return ""
    name = SHORT.get(score.learner, score.learner)
    return score.shown() + (f" {name}" if name else "")


def number(value: float, digits: int = 3) -> str:
    """Return a number without its leading zero; a very negative R^2 is not told in digits."""
    if value <= LEAST:
        return f"≤ {LEAST:g}"
    return re.sub(r"^(-?)0\.", r"\1.", f"{value:.{digits}f}")


def speed() -> Table:
    """Return CPU seconds, the ratio to scikit-learn's logistic regression, and memory, by learner."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells("speed"):
        if "cpu" in cell:
            found.setdefault((cell["peer"], cell["learner"]), []).append(cell)
    if not found:
        return "*(Not run yet.)*"
    reference = min(cell["cpu"] for cell in found[OPEN, "LogisticRegression"])
    body = []
    for (peer, learner), each in sorted(found.items(), key=lambda item: min(c["cpu"] for c in item[1])):
        least = min(cell["cpu"] for cell in each)
        memory = max(cell["above"] for cell in each) / 2**20
        name = f"{NAMES[peer]}: {SHORT.get(learner, learner) or 'classifier'}"
        body.append([name, f"{least:.2f}", f"{least / reference:.1f}", f"{memory:.0f}"])
    table = cells("speed")[0]["table"]
    head = [f"a fit of {table}, epsilon 1", "CPU seconds", "times logistic regression", "memory, MiB"]
    for peer in SYNTHESIZERS:
        times = [cell["cpu"] for cell in cells("accuracy") if cell["peer"] == peer and "cpu" in cell]
        body.append([f"{NAMES[peer]}: all tables", f"{min(times):.0f} to {max(times):.0f}", "", ""])
    return [head, *body]


def inputs() -> Table:
    """Return what learners do with bad input."""
    return checks("INPUTS")


def leaks() -> Table:
    """Return what is published beside the claim."""
    return checks("LEAKS")


def checks(which: str) -> Table:
    """Return a line for each check, and a column for each learner."""
    words = words_of_checks()[which]
    found = {(cell["peer"], cell["learner"], cell["check"]): cell for cell in cells("checks")}
    columns = [
        each
        for each in dict.fromkeys(key[:2] for key in sorted(found, key=lambda key: list(NAMES).index(key[0])))
        if any((*each, check) in found for check in words)
    ]
    head = ["check", *(called(*each) for each in columns)]
    body = [
        [told, *(outcome(found.get((*each, check))) for each in columns)] for check, told in words.items()
    ]
    return [head, *body]


def outcome(cell: Cell | None) -> str:
    """Return the outcome of a check, with the type of the error or of the warning."""
    if cell is None:
        return ""
    if "error" in cell:
        return "did not end" if cell["error"].startswith("no result") else "check failed"
    kind = cell.get("says", "").partition(":")[0]
    kind = f" ({kind})" if re.fullmatch(r"\w+", kind) and kind != "predict" else ""
    return cell["outcome"] + kind


def words_of_checks() -> dict[str, dict[str, str]]:
    """Return the descriptions of the checks, which the benchmark gives."""
    text = (ROOT / "benchmarks" / "all" / "checks.py").read_text(encoding="utf-8")
    found = {}
    for name in ("INPUTS", "LEAKS"):
        block = re.search(rf"^{name} = \{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)[1]
        found[name] = dict(re.findall(r'^    "([^"]+)": "([^"]+)",$', block, re.MULTILINE))
    return found


def filled(table: Table) -> Table:
    """Return a table without columns that are empty everywhere."""
    kept = [place for place in range(len(table[0])) if any(line[place] for line in table[1:])]
    return [[line[place] for place in kept] for line in table]


TABLES = (wins, losses, accuracy, curves, numbers, speed, inputs, leaks)

if __name__ == "__main__":
    write(TABLES)
