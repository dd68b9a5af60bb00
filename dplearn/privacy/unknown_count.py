"""Tables whose number of records is private: neighbours have one record more or less.

Tables have at least one record, as scikit-learn requires, and every two are joined by a chain of neighbours
that avoids the empty table: first add, then remove. So a replaced record is two steps, and
`Guarantee.for_group` and the ledger's conversion hold as they stand.
"""

from fractions import Fraction

from dplearn.privacy.guarantees import NEIGHBORS

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
    " KnowledgeTransferClassifier, SoftLabelTransferClassifier, queries.central, releases.describe,"
    " releases.stable_counts, releases.grouped, releases.quantiles and releases.median take"
    " neighbors='add_remove'"
)


def moved_counts(neighbors: str) -> int:
    """Return how many counts differ by 1: a replaced record leaves one cell and enters another."""
    return 1 if neighbors == ADDED else 2
