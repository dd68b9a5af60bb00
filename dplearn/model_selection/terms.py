"""What a private search spends on what, so that all of it together spends what it was given.

>>> from fractions import Fraction
>>> apart = Exposure(trains=1, tests=1, apart=True)
>>> terms = SearchTerms.of(ApproxDP(1), apart, candidates=10, method="random_stopping", refit=True)
>>> str(terms.fit.epsilon), str(terms.scoring.epsilon), str(terms.refit.epsilon)
('1/6', '1/6', '1/2')
>>> terms = SearchTerms.of(ApproxDP(1), apart, candidates=2, method="auto", refit=False)
>>> terms.method, str(terms.fit.epsilon), str(terms.scoring.epsilon)
('permute_and_flip', '1/2', '1')
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from dplearn.model_selection.splits import Exposure
from dplearn.privacy import ApproxDP
from dplearn.privacy.random_stopping import RandomStopping

__all__ = ["METHODS", "SearchTerms"]

METHODS = ("auto", "permute_and_flip", "random_stopping")
_ON_THE_REFIT = Fraction(1, 2)
_ON_SCORES = Fraction(1, 5)  # where records both train and test; counts of errors need little
_RUNS_PER_CANDIDATE = 4


@dataclass(frozen=True)
class SearchTerms:
    """A budget cut up among the fits and the scores of a search.

    Attributes
    ----------
    method : str
        "permute_and_flip" or "random_stopping".
    stopping : RandomStopping or None
        How many runs there are, of the latter.
    fit : ApproxDP
        What each fit of a candidate on the training records of one split may spend.
    scoring : ApproxDP
        What is spent on errors: all that is released of them, or, with random stopping, of one run's.
    refit : ApproxDP or None
        What the last fit, on all records, may spend.

    Notes
    -----
    **Privacy.** All together spend the budget. Proof: the last fit and the search before it add up. In a
    search a record trains in `trains` splits and tests in `tests`. What is released of the fits in which it
    trains adds up; given all fitted models, so does what is released of errors, which move by at most
    `tests`. A record that tests only changes no fit, and one that trains only no error once the models are
    there: so where no record does both, the larger of the two counts and not the sum. For random stopping
    this holds of one run, and `RandomStopping` has the rest.
    """

    method: str
    stopping: RandomStopping | None
    fit: ApproxDP
    scoring: ApproxDP
    refit: ApproxDP | None

    @classmethod
    def of(
        cls,
        budget: ApproxDP,
        exposure: Exposure,
        *,
        candidates: int,
        method: str,
        refit: bool,
        n_iter: int | None = None,
        concentration: int = 1,
    ) -> "SearchTerms":
        """Cut up a budget.

        Parameters
        ----------
        budget : ApproxDP
            Spent whole.
        exposure : Exposure
            How often a record trains and tests.
        candidates : int
            Number of candidates, at least 1.
        method : {"auto", "permute_and_flip", "random_stopping"}
            "auto": what leaves more for each fit.
        refit : bool
            Whether the candidate chosen is fitted on all records.
        n_iter : int, optional
            The largest number of runs; 4 for each candidate if left out.
        concentration : int, default=1
            As for `RandomStopping`.
        """
        last = _part(budget, _ON_THE_REFIT) if refit else None
        search = _part(budget, 1 - _ON_THE_REFIT) if refit else budget
        most = _RUNS_PER_CANDIDATE * candidates if n_iter is None else n_iter
        stopping = RandomStopping(most, concentration)
        if method == "auto":
            method = "permute_and_flip" if candidates <= stopping.factor else "random_stopping"
        if method == "permute_and_flip":
            fits, scoring = _shared(search, exposure)
            fit = _part(fits, Fraction(1, candidates * exposure.trains))
            return cls(method, None, fit, scoring, last)
        fits, scoring = _shared(stopping.run_of(search), exposure)
        return cls(method, stopping, _part(fits, Fraction(1, exposure.trains)), scoring, last)


def _shared(budget: ApproxDP, exposure: Exposure) -> tuple[ApproxDP, ApproxDP]:
    """Return what all fits in which a record trains may spend, and what is for errors: they need no delta."""
    if exposure.apart:
        return budget, replace(budget, delta=Fraction(0))
    scoring = replace(budget, epsilon=budget.epsilon * _ON_SCORES, delta=Fraction(0))
    return replace(budget, epsilon=budget.epsilon * (1 - _ON_SCORES)), scoring


def _part(budget: ApproxDP, share: Fraction) -> ApproxDP:
    return replace(budget, epsilon=budget.epsilon * share, delta=budget.delta * share)
