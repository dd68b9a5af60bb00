"""Audit cases of masked parity: the fit over one bit, in both models and ways of asking; two local rounds."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, Rule, each_moved_by, moved_by
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.kernels import pack
from dplearn.learners.parity.masked import Asking, MaskedParityClassifier, MaskedRecords, learn_masked_parity
from dplearn.privacy import ApproxDP
from dplearn.queries import LocalOracle

__all__ = ["CASES", "masked_parity_case"]

#: A bit and the mask, and the label: one of each kind, and one besides.
_ONE_BIT = ((0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1), (0, 0, 1))
#: Two bits, the index, the mask, and the label: a sign each way for one index, and without mask.
_TWO_BITS = ((0, 1, 1, 1, 0), (0, 1, 1, 1, 1), (1, 1, 0, 0, 0), (1, 0, 0, 0, 1))


def masked_parity_case(
    name: str,
    model: MaskedParityClassifier,
    universe: Sequence[tuple[int, ...]],
    n: int,
    *,
    required: Required,
    staged: bool = True,
) -> AuditCase:
    # A record's report is drawn whatever it holds. Counts move by 2 in all: a single signed one by itself.
    rules: dict[str, Rule] = {**RULES, "discrete_laplace": moved_by(2), "geometric": each_moved_by(2)}
    how: dict[str, Any] = {"rules": rules, "staged": staged, "required": required}
    return fit_case(name, model, _split, _shown, universe, n, **how)


def _split(rows: Rows) -> tuple[Any, Any]:
    X, y = np.split(np.array(rows), [-1], axis=1)
    return X, y[:, 0]


def _shown(fitted: MaskedParityClassifier) -> tuple[str, Any]:
    return f"{fitted.parity_.tolist()} + {fitted.intercept_}", fitted


def _rounds_of_two_bits(rows: Rows, dice: Dice) -> tuple[str, Any]:
    """Run the two rounds of a local fit, without the estimator around them."""
    table = np.array(rows, dtype=np.uint8)
    records = MaskedRecords.of(pack(table[:, :-1]), 2, table[:, -1])
    oracle = LocalOracle(records, privacy=ApproxDP(1), dice=dice, stream=PublicStream(0))
    first, second = Asking("cells", {"share": Fraction(1, 2)}), Asking("hadamard")
    chosen = learn_masked_parity(oracle, 2, first, second)
    return repr(chosen), oracle.rounds


def _model(**parameters: Any) -> MaskedParityClassifier:
    chosen: dict[str, Any] = {"epsilon": 1.0, "binarize": None, "classes": (0, 1), "random_state": 0}
    return MaskedParityClassifier(**chosen | parameters)


CASES = (
    masked_parity_case("masked_parity_central", _model(), _ONE_BIT, 2, required=Required(14, 0.5156)),
    masked_parity_case(
        "masked_parity_central_one_round",
        _model(interactive=False),
        _ONE_BIT,
        1,
        required=Required(4, 0.9999),
    ),
    masked_parity_case(
        "masked_parity_local",
        _model(trust_model="local"),
        _ONE_BIT,
        2,
        staged=False,
        required=Required(8, 0.9999),
    ),
    masked_parity_case(
        "masked_parity_local_one_round",
        _model(trust_model="local", interactive=False),
        _ONE_BIT,
        2,
        required=Required(4, 0.9999),
    ),
    masked_parity_case(
        "masked_parity_local_cells",
        _model(trust_model="local", epsilon=4.0),
        _ONE_BIT,
        2,
        required=Required(8, 0.9999),
    ),
    AuditCase(
        "masked_parity_rounds_of_two_bits",
        _rounds_of_two_bits,
        _TWO_BITS,
        2,
        ApproxDP(1),
        part_of=("MaskedParityClassifier",),
        required=Required(6, 0.9999),
    ),
)
