"""Write the tables of the measured results, from what the benchmarks recorded.

    python benchmarks/tables/measured.py

The records are those of `bench_tables.py`, `bench_synthetic_uses.py`, `bench_sizes.py`, `bench_fixed.py` and
`bench_frames.py` in `benchmarks`.
"""

import json
from typing import Any

from files import MEASURED, Table, write

RECORD = MEASURED / "tables.json"
SYNTHETIC = MEASURED / "synthetic_uses.json"
SIZES = MEASURED / "sizes.json"
FIXED, FRAMES = MEASURED / "fixed.json", MEASURED / "frames.json"
EPSILONS, MIDDLE, MAIN = (0.1, 1.0, 3.0), 1.0, "Adult"
PRIVATE = ("dplearn", "diffprivlib", "interpret")
IN_WORDS = {
    "AdditiveClassifier": "additive model",
    "StatisticalQueryLogisticRegression": "logistic regression",
    "StatisticalQueryNaiveBayes": "naive Bayes",
    "ExponentialMechanismClassifier": "stump",
    "ConjunctionClassifier": "conjunction",
}
PEER_NAMES = {"DPExplainableBoostingClassifier": "DP-EBM"}

Row = dict[str, Any]


def rows() -> list[Row]:
    """Return what was recorded."""
    return list(json.loads(RECORD.read_text(encoding="utf-8"))["rows"])


def contenders() -> list[tuple[str, str, str]]:
    """Return (by, learner, needs) of all, the most accurate on Adult at epsilon 1 first, no privacy last."""
    found = {(r["by"], r["learner"], r.get("needs", "")): -1.0 for r in rows()}
    for r in rows():
        if r["data"] == MAIN and r.get("epsilon", MIDDLE) == MIDDLE:
            found[r["by"], r["learner"], r.get("needs", "")] = r["accuracy"]
    return sorted(found, key=lambda who: (who[0] not in PRIVATE, -found[who], who))


def cell(data: str, who: tuple[str, str, str], epsilon: float | None) -> Row | None:
    """Return the row of a learner on a table, if there is one."""
    for r in rows():
        same = (r["data"], r["by"], r["learner"], r.get("needs", "")) == (data, *who)
        if same and r.get("epsilon", epsilon) == epsilon:
            return r
    return None


def called(who: tuple[str, str, str]) -> str:
    """Return how a contender is named in a table."""
    by, learner, needs = who
    if by == "dplearn":
        return f"`{learner}`" + (f" ({needs})" if needs else "")
    name = PEER_NAMES.get(learner, learner)
    return f"{name}, not private" if by == "no privacy" else f"{by} {name}"


def spread(found: Row | None, measure: str, digits: int = 3) -> str:
    """Return a mean and its standard error, without the leading zeros."""
    if found is None or measure not in found:
        return ""
    error = f" ± {found[f'{measure}_se']:.{digits}f}" if f"{measure}_se" in found else ""
    return (f"{found[measure]:.{digits}f}{error}").replace("0.", ".")


def adult() -> Table:
    """Return accuracies on Adult at each epsilon, the area under the curve and the time at epsilon 1."""
    head = ["Adult, accuracy", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS), "AUC at 1", "seconds"]
    body = []
    for who in contenders():
        found = [cell(MAIN, who, epsilon) for epsilon in EPSILONS]
        if any(found):
            middle = found[EPSILONS.index(MIDDLE)]
            numbers = [spread(each, "accuracy") for each in found]
            seconds = "" if middle is None else f"{middle['seconds']:.1f}"
            body.append([called(who), *numbers, spread(middle, "auc").split(" ")[0], seconds])
    return [head, *body]


def everywhere() -> Table:
    """Return the accuracy, and the area under the curve, on each table at epsilon 1."""
    names = list(dict.fromkeys(r["data"] for r in rows()))
    sizes = {r["data"]: r["private"] for r in rows()}
    head = ["epsilon 1", *(f"{name}, {sizes[name]:,} records" for name in names)]
    body = []
    for who in contenders():
        numbers = []
        for name in names:
            found = cell(name, who, MIDDLE)
            auc = f" ({spread(found, 'auc').split(' ')[0]})" if found and "auc" in found else ""
            numbers.append(spread(found, "accuracy").split(" ")[0] + auc)
        body.append([called(who), *numbers])
    return [head, *body]


def best() -> Table:
    """Return which private learner was the most accurate on each table, of ours and of all."""
    names = list(dict.fromkeys(r["data"] for r in rows()))
    head = ["the most accurate", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)]
    return [head, *([name, *(winners(name, epsilon) for epsilon in EPSILONS)] for name in names)]


def winners(data: str, epsilon: float) -> str:
    """Return the most accurate of ours that needs nothing else, and a peer if it was more accurate.

    One that is no better than the most common label, in the digits that are shown, is not named.
    """
    found = [r for r in rows() if r["data"] == data and r.get("epsilon") == epsilon and not r.get("needs")]
    ours = max((r for r in found if r["by"] == "dplearn"), key=lambda r: r["accuracy"])
    first = max(found, key=lambda r: r["accuracy"])
    majority = next(r for r in rows() if r["data"] == data and r["learner"] == "majority class")
    told = f"{IN_WORDS[ours['learner']]} {shown(ours)}"
    if not is_better(ours, majority):
        none = "none of ours" if is_better(first, majority) else "none"
        told = f"{none}: the most common label has {shown(majority)}"
    if first is not ours and is_better(first, majority):
        told += f"; {called((first['by'], first['learner'], ''))} {shown(first)}"
    return told


def shown(found: Row) -> str:
    """Return an accuracy without its standard error."""
    return spread(found, "accuracy").split(" ")[0]


def is_better(found: Row, other: Row) -> bool:
    """Return whether an accuracy is greater in the digits that are shown."""
    return round(found["accuracy"], 3) > round(other["accuracy"], 3)


def probabilities() -> Table:
    """Return Brier scores on Adult: of all that give probabilities."""
    head = ["Adult, Brier score", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS)]
    scored = {
        who: numbers
        for who in contenders()
        if any(numbers := [spread(cell(MAIN, who, epsilon), "brier", 4) for epsilon in EPSILONS])
    }
    return [head, *([called(who), *numbers] for who, numbers in scored.items())]


def transfers() -> Table:
    """Return accuracies of knowledge transfer, and of what needs no public rows."""
    return uses("transfer")


def searches() -> Table:
    """Return accuracies of searches on synthetic rows, and of what they are compared with."""
    return uses("search")


def uses(part: str) -> Table:
    """Return the table of one part of the benchmark of what synthetic rows are used for."""
    found = [r for r in json.loads(SYNTHETIC.read_text(encoding="utf-8"))["rows"] if r["part"] == part]
    names = list(dict.fromkeys(r["by"] for r in found))
    numbers = {
        (r["data"], r["private"], r["epsilon"]): {} for r in sorted(found, key=lambda r: -r["private"])
    }
    for r in found:
        deviation = f" (sd {r['accuracy_sd']:.3f})" if r["fits"] > 1 else ""
        text = f"{r['accuracy']:.3f}{deviation}".replace("0.", ".")
        numbers[r["data"], r["private"], r["epsilon"]][r["by"]] = text
    body = [
        [f"{data}, {private:,} records, epsilon {epsilon:g}", *(each.get(name, "") for name in names)]
        for (data, private, epsilon), each in numbers.items()
    ]
    plain = [f"`{name}`" if name in ("AdditiveClassifier", "PrivateSearchCV") else name for name in names]
    return [["accuracy", *plain], *body]


def sizes() -> Table:
    """Return how often each learner or release fails at the size of its plan, and at a quarter of it."""
    record = json.loads(SIZES.read_text(encoding="utf-8"))
    head = [f"{record['times']} runs each", "n_needed", "failures", "failures at n_needed / 4"]
    body = [
        [row["task"], f"{row['needed']:,}", *(f"{row[f'failed_at_1/{part}']:.3f}" for part in (1, 4))]
        for row in record["rows"]
    ]
    return [head, *body]


def fixed() -> Table:
    """Return the CPU milliseconds of small fits, predictions, clones and plans, by learner."""
    found = [r for r in json.loads(FIXED.read_text(encoding="utf-8"))["rows"] if r["task"] != "start"]
    tasks = list(dict.fromkeys(r["task"] for r in found))
    ms = {(r["by"], r["task"]): f"{r['ms']:,.0f}" if r["ms"] >= 10 else f"{r['ms']:.2g}" for r in found}
    names = dict.fromkeys(r["by"] for r in found)
    return [
        ["CPU milliseconds", *tasks],
        *([name, *(ms.get((name, task), "") for task in tasks)] for name in names),
    ]


def frames() -> Table:
    """Return the CPU seconds of fits on frames of text and numbers, beside their peers, and the memory."""
    head, keys = ["fit", "rows", "CPU seconds", "peer", "times", "memory"], ("cpu", "peer", "times", "memory")
    found = json.loads(FRAMES.read_text(encoding="utf-8"))["rows"]
    body = [[r["learner"], f"{r['rows']:,}", *(f"{r[key]:.2f}" for key in keys)] for r in found]
    return [head, *body]


TABLES = (adult, best, everywhere, fixed, frames, probabilities, searches, sizes, transfers)


if __name__ == "__main__":
    write(TABLES)
