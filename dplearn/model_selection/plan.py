"""What a private search would spend on what, before there are any data."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dplearn._validation import check_number
from dplearn.core.distributions import laplace_quantile
from dplearn.core.exact import decay_ratio
from dplearn.estimator.stages import Params, Public
from dplearn.model_selection.splits import Split
from dplearn.model_selection.terms import SearchTerms
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan, hidden

__all__ = ["SearchPlan", "SearchTable"]


@dataclass(frozen=True)
class SearchTable(Public):
    """The public values of a table that candidates are tried on.

    Attributes
    ----------
    splits : sequence of (ndarray, ndarray)
        Which places train and which test.
    exposure : Exposure
        That of `splits`.
    guarantees : tuple of ApproxDP
        What candidates would guarantee of their fits; empty in a plan.
    notes : tuple of str
        What candidates warn of; empty in a plan.
    seed : int or None
        Public choices of the candidates are made from it.
    """

    splits: Sequence[Split] = ()
    exposure: Any = None
    guarantees: tuple[ApproxDP, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int | None = None


@dataclass(frozen=True)
class SearchPlan(Plan):
    """What a search would guarantee and spend.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would guarantee.
    method : str
        "permute_and_flip" or "random_stopping".
    n_candidates, n_samples : int
        As asked for.
    fit, scoring : ApproxDP
        What each fit of a candidate on one split may spend, and what is spent on errors: of one run, with
        random stopping.
    refit : ApproxDP or None
        What the last fit, on all records, may spend.
    mean_fits : float
        How many fits are made on average, the last one included.
    missed : float
        How likely it is that a given candidate is never tried.
    score_error : float
        With probability at least 1 - beta the noise moves a score, such as `best_score_`, by less than this.
    beta : float
        As asked for.
    """

    guarantee: ApproxDP
    method: str
    n_candidates: int
    n_samples: int
    fit: ApproxDP
    scoring: ApproxDP
    refit: ApproxDP | None
    mean_fits: float
    missed: float
    score_error: float
    beta: float
    params: Any = hidden()
    public: Any = hidden()
    terms: Any = hidden()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What candidates warn of, each text once."""
        notes: tuple[str, ...] = self.public.notes
        return notes

    @classmethod
    def of(
        cls,
        guarantee: ApproxDP,
        terms: SearchTerms,
        public: SearchTable,
        params: Params,
        beta: Any,
    ) -> "SearchPlan":
        """Return the plan of a search on these terms."""
        beta = check_number("beta", beta, above=0, below=1)
        stopping, splits, n_candidates = terms.stopping, public.splits, len(params.candidates)
        runs = Fraction(n_candidates) if stopping is None else stopping.mean
        epsilon = terms.scoring.epsilon if stopping else terms.scoring.epsilon / 2
        ratio = decay_ratio(epsilon / public.exposure.tests)
        return cls(
            guarantee=guarantee,
            method=terms.method,
            n_candidates=n_candidates,
            n_samples=public.n_samples,
            fit=terms.fit,
            scoring=terms.scoring,
            refit=terms.refit,
            mean_fits=float(runs * len(splits) + (terms.refit is not None)),
            missed=float(stopping.missed(Fraction(1, n_candidates))) if stopping else 0.0,
            score_error=laplace_quantile(ratio, beta / 2) / sum(len(test) for _, test in splits),
            beta=float(beta),
            params=params,
            public=public,
            terms=terms,
        )
