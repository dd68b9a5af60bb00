"""Tables whose number of records is private: neighbours have one record more or less.

The tables of this relation have at least one record, as scikit-learn requires. Of two neighbours therefore
neither is empty, and every two tables are joined by a chain of neighbours that avoids the empty table: first
add the records that are missing, then remove the others. So a replaced record is two steps, also in a table
of a single record, and `Guarantee.for_group` and the ledger's conversion hold as they stand.
"""

from fractions import Fraction
from typing import Any

from dplearn._validation import check_choice
from dplearn.privacy.base import NEIGHBORS

__all__ = [
    "ADDED",
    "AT_LEAST_ONE",
    "COUNT_SHARE",
    "MOST_RECORDS",
    "NEIGHBORS",
    "TAKING_ADDED",
    "added",
    "moved_counts",
    "refuse_added",
    "refuse_public_counts",
]

#: The assumption of a guarantee for one added or removed record, in place of that the number is public.
AT_LEAST_ONE = "the table has at least one record"
ADDED = NEIGHBORS[1]
#: The part of the budget for the number of records, where it is private.
COUNT_SHARE = Fraction(1, 10)
#: Sums are clipped to those of so many records, a public number that no table in memory reaches.
MOST_RECORDS = 1 << 32
#: The learners and releases with neighbors="add_remove", for messages.
TAKING_ADDED = (
    "StatisticalQueryNaiveBayes, StatisticalQueryLogisticRegression, AdditiveClassifier, AdditiveRegressor,"
    " LinearRegressor, SubsampleAggregateClassifier, SoftLabelAggregateClassifier,"
    " KnowledgeTransferClassifier, SoftLabelTransferClassifier, queries.central, releases.stable_counts and"
    " releases.grouped take neighbors='add_remove'"
)


def added(neighbors: Any, **only: tuple[Any, Any]) -> bool:
    """Return whether neighbours have one record more or less, after a check of the parameter.

    Parameters
    ----------
    neighbors : str
        The parameter.
    **only : pair of objects
        For each parameter that needs a certain value with "add_remove": the value given, and that value.

    Raises
    ------
    ValueError
        If `neighbors` is not one of `NEIGHBORS`, or another parameter does not suit it.
    """
    if check_choice("neighbors", neighbors, NEIGHBORS) != ADDED:
        return False
    for name, (given, needed) in only.items():
        if given != needed:
            raise ValueError(
                f"{name} must be {needed!r} for neighbors='add_remove', got {given!r}, which shows the number"
                " of records"
            )
    return True


def moved_counts(neighbors: str) -> int:
    """Return how many counts of a histogram differ between neighbours, by 1 each.

    Parameters
    ----------
    neighbors : {"replace_one", "add_remove"}
        A replaced record leaves one cell and enters another.
    """
    return 1 if neighbors == ADDED else 2


def refuse_added(neighbors: Any, what: str) -> None:
    """Raise an error if neighbours have one record more or less, where that number must be public.

    Parameters
    ----------
    neighbors : object
        Of a learner or of its cost.
    what : str
        The use of the learner that needs the number, for the message.

    Raises
    ------
    ValueError
        If `neighbors` is "add_remove".
    """
    if neighbors == ADDED:
        raise ValueError(
            f"neighbors must be 'replace_one' for {what}, which needs the number of records, got"
            f" 'add_remove'; {TAKING_ADDED}"
        )


def refuse_public_counts(held: str, groups: Any, source: Any) -> None:
    """Raise an error if groups or parts are given, whose numbers are public.

    Parameters
    ----------
    held : str
        How the message begins for parts: what must be in memory.
    groups, source : object or None
        The groups, and the parts.

    Raises
    ------
    TypeError
        If one of them is not None.
    """
    if groups is not None:
        raise TypeError("groups must be None for neighbors='add_remove': the set of groups is public")
    if source is not None:
        raise TypeError(f"{held} for neighbors='add_remove': the lengths of parts are public")
