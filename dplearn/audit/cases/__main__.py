"""Freeze what the cases find: `python -m dplearn.audit.cases [--verified] [NAME ...]`."""

import json
import sys
from collections.abc import Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Any

from dplearn.audit.case import AuditCase
from dplearn.audit.cases import CASES


def freeze_cases(names: Sequence[str], path: Path) -> None:
    """Enumerate the named cases, or all, and write their reports, and remove those of no case."""
    record = json.loads(path.read_text(encoding="utf-8"))
    for name in names or CASES:
        case = CASES[name]
        report = case.run()
        record[name] = {
            "digest": case.digest(),
            "epsilon": f"{report.epsilon:.6f}",
            "n_distributions": report.n_distributions,
            "n_pairs": report.n_pairs,
            "n_outcomes": report.n_outcomes,
        }
    kept = {name: found for name, found in record.items() if name in CASES}
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def verified_by(cases: Mapping[str, AuditCase]) -> dict[str, Any]:
    """Return the claims and sizes of cases, and from each class or function to the cases that verify it."""
    # Cases that a class is only a part of come last. Of a case and the small one that stands for it, the case
    # alone is listed.
    whole: dict[str, list[str]] = {}
    parts: dict[str, list[str]] = {}
    smaller = {f"small_{name}" for name in cases}
    for case in cases.values():
        for found, names in ((whole, case.verifies), (parts, case.part_of)):
            for name in names if case.name not in smaller else ():
                found.setdefault(name, []).append(case.name)
    return {
        "cases": {
            name: {
                "claimed": float(case.claim.epsilon),
                "delta": float(case.claim.delta),
                "n_datasets": _datasets(case),
            }
            for name, case in cases.items()
        },
        "verified": {
            name: {"whole": name in whole, "cases": [*whole.get(name, ()), *parts.get(name, ())]}
            for name in sorted({*whole, *parts})
        },
    }


def _datasets(case: AuditCase) -> int:
    """Return the number of datasets: of a case that ignores the order of records, of multisets of records."""
    values = len(case.universe)
    return sum(values**n if case.ordered else comb(values + n - 1, n) for n in case.sizes)


if __name__ == "__main__":
    audit = Path(__file__).parents[1]
    if sys.argv[1:] != ["--verified"]:
        freeze_cases(sys.argv[1:], audit / "frozen.json")
    (audit / "verified.json").write_text(json.dumps(verified_by(CASES), indent=1) + "\n", encoding="utf-8")
