"""What is verified: each mechanism and learner over a small universe, and its frozen exact distribution.

The frozen distributions ship with the package, so that anyone can run the code they installed over every
outcome and compare. Writing them anew (`python -m dplearn.audit.cases [NAME ...]`) is a deliberate act that a
diff shows.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from dplearn.audit.case import AuditCase
from dplearn.audit.cdf_cases import BLOCK_CASES, CDF_CASES
from dplearn.audit.conjunction_cases import CONJUNCTION_CASES
from dplearn.audit.ensemble_cases import ENSEMBLE_CASES
from dplearn.audit.interior_point_cases import INTERIOR_POINT_CASES
from dplearn.audit.learner_cases import LEARNER_CASES
from dplearn.audit.logistic_cases import LOGISTIC_CASES
from dplearn.audit.masked_parity_cases import MASKED_PARITY_CASES
from dplearn.audit.mechanism_cases import MECHANISM_CASES
from dplearn.audit.naive_bayes_cases import NAIVE_BAYES_CASES
from dplearn.audit.parity_cases import PARITY_CASES
from dplearn.audit.point_cases import POINT_CASES
from dplearn.audit.quantile_cases import QUANTILE_CASES
from dplearn.audit.query_cases import QUERY_CASES
from dplearn.audit.search_cases import SEARCH_CASES
from dplearn.audit.threshold_cases import THRESHOLD_CASES

__all__ = ["CASES"]

#: All cases, by name.
CASES: dict[str, AuditCase] = {
    case.name: case
    for case in (
        *MECHANISM_CASES,
        *LEARNER_CASES,
        *PARITY_CASES,
        *ENSEMBLE_CASES,
        *INTERIOR_POINT_CASES,
        *QUANTILE_CASES,
        *CDF_CASES,
        *BLOCK_CASES,
        *POINT_CASES,
        *THRESHOLD_CASES,
        *QUERY_CASES,
        *NAIVE_BAYES_CASES,
        *CONJUNCTION_CASES,
        *MASKED_PARITY_CASES,
        *LOGISTIC_CASES,
        *SEARCH_CASES,
    )
}


def freeze(names: Sequence[str], path: Path) -> None:
    """Run the named cases, or all, and write what was found."""
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
    path.write_text(json.dumps({name: record[name] for name in CASES}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    freeze(sys.argv[1:], Path(__file__).with_name("frozen.json"))
