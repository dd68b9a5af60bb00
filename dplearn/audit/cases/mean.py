"""Audit cases of means: the whole release, of numbers that are rounded to one of three steps."""

from itertools import chain
from typing import Any

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.cases.groups import groups_of
from dplearn.audit.fits import ReleaseFit, Rows
from dplearn.audit.replay import RULES, moved_by
from dplearn.privacy import ApproxDP
from dplearn.releases.mean import _Mean, _Std

__all__ = ["CASES"]


class _Coarse(_Mean[Any]):
    reach = 2


class _CoarseStd(_Std):
    reach = 2


_MOVED: dict[str, Any] = {**RULES, "discrete_laplace": moved_by(2)}  # by as many steps as a number has


def _shown(found: Any) -> tuple[str, Any]:
    return repr(found.value), found


def _of_groups(rows: Rows) -> list[float]:
    return list(chain.from_iterable(rows))


CASES = (
    AuditCase(
        "mean",
        ReleaseFit(lambda: _Coarse((-1, 1), 1, 1, 0), list, _shown),
        (-1.0, 0.25, 3.0),  # the last is clipped
        3,
        ApproxDP(1),
        ordered=False,
        rules=_MOVED,
        verifies=("Mean",),
        required=Required(7, 0.999),
    ),
    AuditCase(
        "mean_of_groups",
        ReleaseFit(lambda: _Coarse((-1, 1), 1, 1, 0), _of_groups, _shown, groups_of),
        [(-1.0,), (3.0,), (-1.0, 3.0), (3.0, 3.0, -1.0)],
        2,
        ApproxDP(1, protects="groups"),
        rules=_MOVED,
        part_of=("Mean",),
        required=Required(3, 0.999),  # one for each sum of two groups
    ),
    AuditCase(
        "mean_of_two_rows",
        ReleaseFit(lambda: _Coarse((-1, 1), 1, 2, 0), _of_groups, _shown, groups_of),
        [(-1.0,), (3.0,), (-1.0, 3.0), (3.0, 3.0, -1.0)],
        1,
        ApproxDP(1, protects="groups"),
        rules={**RULES, "discrete_laplace": moved_by(4)},
        part_of=("Mean",),
        required=Required(3, 0.999),
    ),
    AuditCase(
        "std",
        ReleaseFit(lambda: _CoarseStd((-1, 1), 1, 1, 0), list, _shown),
        (-1.0, 0.0, 1.0),
        2,
        ApproxDP(1),
        ordered=False,
        rules={**RULES, "discrete_laplace": moved_by(3)},  # by 1 and by 2, of 4 that the noise is for
        verifies=("Std",),
        required=Required(4, 0.7),
    ),
)
