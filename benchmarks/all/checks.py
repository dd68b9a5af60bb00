"""Which checks there are, in words; `peers/checking.py` runs them in the environments of the peers."""

from typing import Any

__all__ = ["INPUTS", "LEAKS", "cells_of"]

#: Bad or rare input, all else as declared: 2,000 records of two numbers and a category, and two labels.
INPUTS = {
    "text": "a category of texts",
    "gaps": "5 % of a column missing",
    "infinite": "one infinite cell",
    "outside": "one cell of 10^6, where 15 is declared the greatest",
    "unlisted": "one category that is not declared",
    "constant": "a constant column",
    "rare": "a label of one record",
    "absent": "a declared label without records",
    "one": "one record",
}
#: What is published, or decided, beside the claim.
LEAKS = {
    "bounds": "no bounds and no categories declared",
    "neighbours": "a label of one record, against no record of it",
    "labels": "a third label, which one record has, where two are declared",
    "open labels": "the same, where none are declared",
    "seed": "two fits after numpy.random.seed(0)",
    "grid": "1,000 draws of the noise",
}
#: The learner of each peer that is checked.
CHECKED = {
    "dplearn": ("AdditiveClassifier", "StatisticalQueryLogisticRegression"),
    "diffprivlib": ("LogisticRegression", "GaussianNB", "RandomForestClassifier"),
    "interpret": ("DPExplainableBoostingClassifier",),
    "opendp": ("MST",),
    "private_pgm": ("MST",),
    "smartnoise": ("MST",),
}


def cells_of(peer: str) -> list[dict[str, Any]]:
    """Return what a peer is asked."""
    return [
        {"part": "checks", "peer": peer, "learner": learner, "check": check}
        for learner in CHECKED.get(peer, ())
        for check in ("clean", *INPUTS, *LEAKS)
    ]
