"""Write the comparison with peers into the pages, from the record of `benchmarks/all`.

    python docs/compared_tables.py

Nothing is said here of a cell that the record lacks.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from statistics import fmean, stdev
from typing import Any, NamedTuple

from page_tables import DOCS, Marked, markdown_table
from scipy.stats import t

RECORD = DOCS / "gallery" / "measured" / "compare.json"
EPSILONS = (0.1, 1.0, 3.0)
#: Tables that were looked at when defaults of ours were chosen: shown, and not counted.
SEEN = ("Adult",)
#: Tables of our other benchmarks, where they were seen, but no default was chosen on them.
STANDING = ("flchain", "CPSSW8", "diabetes")
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


def wins() -> str:
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
    return lines_of(["ahead/tie/behind", *PEERS.values()], body)


def losses() -> str:
    """Return the first paragraphs: how often ours is behind, and where."""
    found = list(outcomes(best_of_ours))
    names = {each[0] for each in found}
    alone = [each for each in outcomes(main_of) if each[-1] == BEHIND]
    behind = [each for each in found if each[-1] == BEHIND]
    tested = [each for each in found if each[3] not in SYNTHESIZERS]
    once = [each for each in found if each[3] in SYNTHESIZERS]
    fewer = [each for each in tested if each[0] not in STANDING]
    lines = [
        f"On {len(names)} tables on which no default of dplearn was chosen, its best learner was set against",
        "the best of each peer, for each table, epsilon and measure.",
        f"Against peers that were run on {splits()} splits: {counted(tested)}.",
        f"Against synthesizers, which take longer, on one split and so without a test: {counted(once)}.",
        f"Without {', '.join(STANDING)}, which stand in other benchmarks of ours, the first comparison is:"
        f" {counted(fewer)}.",
        "The pairs are not independent: they are three epsilons and up to two measures of the same tables.",
        "",
        f"**Where dplearn loses.** {told('Its best learner', best_of_ours, behind)}",
        told("The additive model alone, which we recommend first,", main_of, alone),
        *(sentence for sentence in (higher(found), no_use(), slower(), lacking(found)) if sentence),
    ]
    return "\n".join(lines)


def counted(found: list[Outcome]) -> str:
    """Return how many outcomes there are of each kind."""
    words = ", ".join(f"{sum(each[-1] == word for each in found)} {word}" for word in (AHEAD, TIE, BEHIND))
    return f"{words.replace(TIE, 'tied')} of {len(found)}"


def told(what: str, choose: Choose, behind: list[Outcome]) -> str:
    """Return a sentence that lists where ours is behind."""
    places = [place(each, choose) for each in behind]
    return (
        f"{what} was behind on: {'; '.join(places)}."
        if places
        else f"{what} was behind on none of these tables."
    )


def higher(found: list[Outcome]) -> str:
    """Return the ties in which the mean of the peer is the greater."""
    places = []
    for each in found:
        table, epsilon, measure, peer, outcome = each
        ours, theirs = best_of_ours(table, epsilon, measure), best(table, epsilon, peer, measure)
        if outcome == TIE and ours and theirs:
            mine, others = means(ours, theirs)
            places += [place(each, best_of_ours)] * (others > mine)
    return f"Of the ties, the mean of a peer was higher on: {'; '.join(places)}." if places else ""


def place(each: Outcome, choose: Choose) -> str:
    """Return a table, an epsilon, a measure and a peer in words, with both scores."""
    table, epsilon, measure, peer, _ = each
    ours, theirs = choose(table, epsilon, measure), best(table, epsilon, peer, measure)
    assert ours is not None
    assert theirs is not None
    mine, others = means(ours, theirs)
    name = SHORT.get(theirs.learner, theirs.learner)
    text = f"{table}, epsilon {epsilon:g}: {MEASURES[measure]} {number(mine)}, {PEERS[peer]} {name}"
    return f"{text.strip()} {number(others)}"


def no_use() -> str:
    """Return where the best learner of ours is no better than a constant."""
    places = [
        f"{table} at epsilon {epsilon:g}"
        for measure in ("accuracy", "r2")
        for table in tables(measure)
        for epsilon in EPSILONS
        if (score := best_of_ours(table, epsilon, measure)) and not is_of_use(score, table, measure)
    ]
    if not places:
        return ""
    words = "By accuracy or R², no learner of ours was significantly better than a constant on"
    return f"{words} {', '.join(places)}."


def slower() -> str:
    """Return which learners of peers are faster than the additive model, and which take less memory."""
    least: dict[tuple[str, str], float] = {}
    memory: dict[tuple[str, str], float] = {}
    for cell in cells("speed"):
        if "cpu" in cell:
            key = cell["peer"], cell["learner"]
            least[key] = min(cell["cpu"], least.get(key, math.inf))
            memory[key] = max(cell["above"], memory.get(key, 0))
    main = OURS, MAIN[0]
    if main not in least:
        return ""
    peers = [key for key in sorted(least) if key[0] in PEERS]
    faster = [
        f"{called(*key)} ({least[main] / least[key]:.1f} times)"
        for key in peers
        if 1.1 * least[key] < least[main]
    ]
    lighter = [called(*key) for key in peers if memory[key] < memory[main]]
    return (
        f"Faster than our additive model: {', '.join(faster) or 'none'}."
        f" Less memory than it: {', '.join(lighter) or 'none'}."
    )


def called(peer: str, learner: str) -> str:
    """Return a library and the short name of its learner."""
    return f"{NAMES[peer]} {SHORT.get(learner, learner)}".strip()


def accuracy() -> str:
    """Return accuracies of labels, and who wins."""
    return of_measure("accuracy", "most common label")


def curves() -> str:
    """Return areas under the ROC curve of two labels."""
    return of_measure("auc", None)


def numbers() -> str:
    """Return R^2 of numbers."""
    return of_measure("r2", None)


def of_measure(measure: str, floor: str | None) -> str:
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
    return lines_of(head, body)


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


def lacking(found: list[Outcome]) -> str:
    """Return which peers were not run, or not on all pairs of a table and an epsilon."""
    pairs = {(table, epsilon) for table, epsilon, *_ in found}
    known = {peer: {each[:2] for each in found if each[3] == peer} for peer in PEERS}
    absent = [PEERS[peer] for peer, each in known.items() if not each]
    some = [
        f"{PEERS[peer]} on {len(each)}"
        for peer, each in known.items()
        if 0 < len(each) < len(pairs) and peer != "interpret"  # which takes two labels only
    ]
    told = [f"Not run, since they take minutes a fit: {', '.join(absent)}."] if absent else []
    told += [f"Of {len(pairs)} pairs of a table and an epsilon were run: {', '.join(some)}."] if some else []
    return " ".join(told)


def splits() -> str:
    """Return on how many splits the counted pairs were compared."""
    common = {
        len(in_common(ours, theirs))
        for measure in MEASURES
        for table in tables(measure)
        for epsilon in EPSILONS
        for peer in PEERS
        if table not in SEEN and peer not in SYNTHESIZERS
        if (ours := best_of_ours(table, epsilon, measure)) and (theirs := best(table, epsilon, peer, measure))
    }
    return " to ".join(map(str, sorted({min(common), max(common)})))


def speed() -> str:
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
    return "\n".join([lines_of(head, body), *synthesizers()])


def synthesizers() -> Iterator[str]:
    """Yield a sentence on the times of synthesizers."""
    told = []
    for peer in SYNTHESIZERS:
        times = [cell["cpu"] for cell in cells("accuracy") if cell["peer"] == peer and "cpu" in cell]
        if times:
            told.append(f"{NAMES[peer]} {min(times):.0f} to {max(times):.0f}")
    if told:
        yield f"\nCPU seconds of a synthesizer's fit, over all tables it was run on: {', '.join(told)}."


def inputs() -> str:
    """Return what learners do with bad input."""
    return checks("INPUTS")


def leaks() -> str:
    """Return what is published beside the claim."""
    return checks("LEAKS")


def checks(which: str) -> str:
    """Return a line for each check, and a column for each learner."""
    words = words_of_checks()[which]
    found = {(cell["peer"], cell["learner"], cell["check"]): cell for cell in cells("checks")}
    columns = [
        each
        for each in dict.fromkeys(key[:2] for key in sorted(found, key=lambda key: list(NAMES).index(key[0])))
        if any((*each, check) in found for check in words)
    ]
    head = ["", *(called(*each) for each in columns)]
    body = [
        [told, *(outcome(found.get((*each, check))) for each in columns)] for check, told in words.items()
    ]
    return lines_of(head, body)


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
    text = (DOCS.parent / "benchmarks" / "all" / "checks.py").read_text(encoding="utf-8")
    found = {}
    for name in ("INPUTS", "LEAKS"):
        block = re.search(rf"^{name} = \{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)[1]
        found[name] = dict(re.findall(r'^    "([^"]+)": "([^"]+)",$', block, re.MULTILINE))
    return found


def minutes() -> float:
    """Return how long all fits took, one after the other; synthetic rows of two models count once."""
    fits = {}
    for cell in record()["cells"]:
        learner = "all" if cell["peer"] in SYNTHESIZERS else cell["learner"]
        asked = (learner, *(cell.get(name) for name in ("part", "peer", "table", "epsilon", "repetition")))
        fits[asked] = cell.get("wall", 0.0)
    return sum(fits.values()) / 60


def about() -> str:
    """Return the versions, the machine and how much of the protocol the record holds."""
    known = record()["environments"]
    shown = []
    packages = {
        "diffprivlib": "diffprivlib",
        "interpret": "interpret-core",
        "opendp": "opendp",
        "private_pgm": "mbi",
        "smartnoise": "smartnoise-synth",
        "sklearn": "scikit-learn",
    }
    for peer, package in packages.items():
        if peer in known:
            others = [f"{name} {known[peer][name]}" for name in ("numpy", "jax") if name in known[peer]]
            shown.append(f"{package} {known[peer][package]} ({', '.join(others)})")
    machine = record()["machine"]
    lines = [
        f"Versions: {'; '.join(shown)}. Python {machine['python']} on {machine['machine']}, one core a fit.",
        f"The fits took {minutes():.0f} minutes of one core; checks come on top.",
    ]
    for peer in known:
        runs: dict[Any, set[int]] = {}
        for cell in cells("accuracy"):
            if cell["peer"] == peer and "error" not in cell:
                runs.setdefault((cell["table"], cell["epsilon"]), set()).add(cell["repetition"])
        counts = sorted(map(len, runs.values()))
        if counts and peer != OPEN:
            span = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
            lines.append(f"- {NAMES[peer]}: {len(runs)} pairs of table and epsilon, {span} fits of a learner")
    failed = [cell for cell in cells("accuracy") if "error" in cell]
    reasons: dict[str, int] = {}
    for cell in failed:
        told = f"{NAMES[cell['peer']]}: {cell['error']}"
        reasons[told] = reasons.get(told, 0) + 1
    if failed:
        lines.append(f"- {len(failed)} fits without a result:")
        lines += [f"  - {count} times {told}" for told, count in sorted(reasons.items())]
    return "\n".join([*lines[:2], "", *lines[2:]])


def lines_of(head: list[str], body: list[list[str]]) -> str:
    """Return a table in Markdown; columns that are empty everywhere are left out."""
    kept = [place for place in range(len(head)) if not body or any(line[place] for line in body)]
    rows = [[line[place] for place in kept] for line in (head, *body)]
    return markdown_table(rows[0], rows[1:])


TEXTS = Marked("compared", (losses, wins, accuracy, curves, numbers, speed, inputs, leaks, about))


if __name__ == "__main__":
    TEXTS.write()
