"""Write the tables of outside audits, from what the benchmarks recorded.

    python benchmarks/tables/outside.py

The records are those of `benchmarks/outside_audits.py` and `benchmarks/accounting_oracles.py`.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from files import MEASURED, Table, write

TESTERS = ("histogram", "hockey_stick")
RECORDER, AUDITORIUM = "dp-recorder", "dp-auditorium"

Row = dict[str, Any]


def record(name: str) -> Row:
    """Return what one benchmark recorded."""
    return dict(json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8")))


def number(x: float | None) -> str:
    """Return a number of three digits; nothing for an unknown one."""
    return "" if x is None else f"{x:.3g}"


def claim(row: Row) -> str:
    """Return epsilon, with delta if there is one."""
    return f"{row['epsilon']:g}" + (f", delta {row['delta']:.2g}" if row["delta"] else "")


def verdict(found: Row | None) -> str:
    """Return the lower bound of a tester, or that it refutes the claim."""
    if found is None:
        return "not run"
    bound = number(found["epsilon_lower"])
    if not found["refutes"]:
        return bound
    more = f", delta {number(found['delta_lower'])}" if found.get("delta_lower") else ""
    return f"**{bound}{more}, refuted**"


def correct() -> Table:
    """Return claims, exact epsilons and the tools' lower bounds of the correct code."""
    return audits("correct")


def broken() -> Table:
    """Return the same for a third of the noise, where each tool should refute the claim."""
    return audits("broken")


def audits(variant: str) -> Table:
    """Return the table of one variant."""
    head = ["what is fitted", "claimed epsilon", "exact", "outcomes drawn", "given as", *testers()]
    body = []
    for row in record("outside_audits")["rows"]:
        verdicts = [verdict(of(row, variant)) for of in testers().values()]
        samples = (found["samples"] for tool in row["tools"].values() if (found := tool[variant]))
        drawn = f"{max(samples):,}"
        body.append(
            [row["family"], claim(row), number(row["exact"][variant]), drawn, row["features"], *verdicts]
        )
    return [head, *body]


def testers() -> dict[str, Callable[[Row, str], Row | None]]:
    """Return, by name, what gives a tester's finding of a variant of a row; None if it did not run."""

    def recorder(row: Row, variant: str) -> Row | None:
        return row["tools"].get(RECORDER, {}).get(variant)

    def auditorium(name: str, row: Row, variant: str) -> Row | None:
        return row["tools"].get(AUDITORIUM, {}).get(variant, {}).get(name)

    names = {f"{AUDITORIUM}, {name.replace('_', '-')}": partial(auditorium, name) for name in TESTERS}
    return {RECORDER: recorder, **names}


def controls() -> Table:
    """Return how many of the broken fits, and of the correct ones, each tester refutes."""
    body = []
    for name, of in testers().items():
        ran = [row for row in record("outside_audits")["rows"] if of(row, "broken")]
        refuted = {
            variant: [row["family"] for row in ran if of(row, variant)["refutes"]]  # type: ignore[index]
            for variant in ("correct", "broken")
        }
        missed = [row["family"] for row in ran if row["family"] not in refuted["broken"]]
        counts = [f"{len(families)} of {len(ran)}" for families in refuted.values()]
        body.append([name, *counts, ", ".join(missed) or "none"])
    return [["tester", "correct fits refuted", "broken fits refuted", "broken fits missed"], *body]


def replays() -> Table:
    """Return what dp-recorder's replays of whole fits found, and which broken fits they caught."""
    found = record("outside_audits")["replays"]
    mistakes = list(next(iter(found.values()))["mistakes"])
    head = ["fit of 200 rows", "draws", "neighbours", "violations", "greatest loss, of 1 claimed", *mistakes]
    body = [
        [
            family,
            str(row["draws"]),
            str(row["neighbours"]),
            str(len(row["violations"])),
            number(row["greatest_loss"]),
            *(f"{row['mistakes'][mistake]['caught']} caught" for mistake in mistakes),
        ]
        for family, row in found.items()
    ]
    return [head, *body]


def oracles() -> Table:
    """Return the least and the greatest ratio of each accounting name to each outside figure."""
    body = []
    for row in record("accounting_oracles")["rows"]:
        ends = [row["least"], row["greatest"]]
        ratio = "" if None in ends else " to ".join(dict.fromkeys(f"{end:.4g}" for end in ends))
        kind = f"{row['kind']} bound" + ("" if row["truth"] else "; theirs is a bound, too")
        body.append(
            [f"`{row['name']}`", row["by"], kind, str(row["figures"]), ratio, str(len(row["broken"]))]
        )
    head = ["name", "outside figure of", "ours is", "figures", "ours / theirs", "unsafe"]
    return [head, *body]


def without() -> Table:
    """Return the names without an outside figure."""
    found = record("accounting_oracles")["without"]
    return [["name", "why", "checked by"], *[[f"`{n}`", why, f"`{at}`"] for n, (why, at) in found.items()]]


TABLES = (broken, controls, correct, oracles, replays, without)

if __name__ == "__main__":
    write(TABLES)
