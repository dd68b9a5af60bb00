"""Enumeration of cases and freezing of their reports: `python -m dplearn.audit.cases [NAME ...]`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from dplearn.audit.cases import CASES

__all__ = ["freeze_cases"]


def freeze_cases(names: Sequence[str], path: Path) -> None:
    """Enumerate the named cases, or all, and write their reports."""
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


if __name__ == "__main__":
    freeze_cases(sys.argv[1:], Path(__file__).parents[1] / "frozen.json")
