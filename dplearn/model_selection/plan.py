"""The plan of a private search: what it spends on what, so that all of it together spends its budget.

>>> import numpy as np
>>> wanted = {"candidates": range(10), "n_iter": None, "concentration": 1, "refit": True}
>>> split = (np.arange(80), np.arange(80, 100))
>>> table = SearchTable(100, splits=[split], exposure=Exposure(trains=1, tests=1, apart=True))
>>> plan = SearchPlan.of(Params(ApproxDP(1), method="random_stopping", **wanted), table)
>>> str(plan.fit.epsilon), str(plan.scoring.epsilon), str(plan.refit.epsilon)
('1/6', '1/6', '1/2')
>>> plan = SearchPlan.of(Params(ApproxDP(1), method="auto", **wanted | {"candidates": range(2)}), table)
>>> plan.method, str(plan.fit.epsilon), str(plan.scoring.epsilon)
('permute_and_flip', '1/4', '1/2')
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dplearn._validation import check_number
from dplearn.core.distributions import laplace_quantile
from dplearn.core.exact import decay_ratio
from dplearn.estimator.stages import Params, Public
from dplearn.model_selection.splits import Exposure, Split
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan, hidden
from dplearn.privacy.random_stopping import RandomStopping
from dplearn.records.reading import labels_assumed

__all__ = ["METHODS", "SearchPlan", "SearchTable"]

METHODS = ("auto", "permute_and_flip", "random_stopping")
_ON_THE_REFIT = Fraction(1, 2)
_ON_SCORES = Fraction(1, 5)  # where records both train and test; counts of errors need little
_RUNS_PER_CANDIDATE = 4
_UNOBSERVED = "how many candidates were tried, and how long it took, is not observed"


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

    Notes
    -----
    **Privacy.** All together spend the budget. Proof: the last fit and the search before it add up. In a
    search a record trains in `trains` splits and tests in `tests`. What is released of the fits in which it
    trains adds up; given all fitted models, so does what is released of errors, which move by at most
    `tests`. A record that tests only changes no fit, and one that trains only no error once the models are
    there: so where no record does both, the larger of the two counts and not the sum. For random stopping
    this holds of one run, and `RandomStopping` has the rest.
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
    stopping: RandomStopping | None = hidden()  # how many runs there are, with random stopping

    @property
    def warnings(self) -> tuple[str, ...]:
        """What candidates warn of, each text once."""
        notes: tuple[str, ...] = self.public.notes
        return notes

    @classmethod
    def of(
        cls, params: Params, public: SearchTable, *, assumes: Sequence[str] = (), beta: Any = 0.05
    ) -> "SearchPlan":
        """Return the plan of a search.

        Parameters
        ----------
        params : Params
            Has the budget as `cost`, `candidates`, `method`, `refit`, `n_iter` and `concentration`.
        public : SearchTable
            Which records train and test.
        assumes : sequence of str
            What the search assumes by itself; candidates' assumptions are those of `public.guarantees`.
        beta : float, default=0.05
            Probability with which noisy errors may be further off.
        """
        beta = check_number("beta", beta, above=0, below=1)
        splits, n_candidates = public.splits, len(params.candidates)
        method, stopping = _method(params)
        fit, scoring, refit = _parts(params, stopping, public.exposure)
        runs = Fraction(n_candidates) if stopping is None else stopping.mean
        epsilon = scoring.epsilon if stopping else scoring.epsilon / 2
        ratio = decay_ratio(epsilon / public.exposure.tests)
        own = [*assumes, *([_UNOBSERVED] if stopping else [])]
        return cls(
            guarantee=_guarantee(params.cost, public.guarantees, own),
            method=method,
            n_candidates=n_candidates,
            n_samples=public.n_samples,
            fit=fit,
            scoring=scoring,
            refit=refit,
            mean_fits=float(runs * len(splits) + (refit is not None)),
            missed=float(stopping.missed(Fraction(1, n_candidates))) if stopping else 0.0,
            score_error=laplace_quantile(ratio, beta / 2) / sum(len(test) for _, test in splits),
            beta=float(beta),
            params=params,
            public=public,
            stopping=stopping,
        )


def _method(params: Params) -> tuple[str, RandomStopping | None]:
    """Return the method, for "auto" the one that leaves more for each fit, and how many runs it has."""
    candidates = len(params.candidates)
    most = _RUNS_PER_CANDIDATE * candidates if params.n_iter is None else params.n_iter
    stopping = RandomStopping(most, params.concentration)
    flips = candidates <= stopping.factor if params.method == "auto" else params.method == "permute_and_flip"
    return ("permute_and_flip", None) if flips else ("random_stopping", stopping)


def _parts(
    params: Params, stopping: RandomStopping | None, exposure: Exposure
) -> tuple[ApproxDP, ApproxDP, ApproxDP | None]:
    """Return what each fit of a candidate, the errors, and the last fit may spend."""
    last = _part(params.cost, _ON_THE_REFIT) if params.refit else None
    search = _part(params.cost, 1 - _ON_THE_REFIT) if params.refit else params.cost
    if stopping is None:
        fits, scoring = _shared(search, exposure)
        return _part(fits, Fraction(1, len(params.candidates) * exposure.trains)), scoring, last
    fits, scoring = _shared(stopping.run_of(search), exposure)
    return _part(fits, Fraction(1, exposure.trains)), scoring, last


def _shared(budget: ApproxDP, exposure: Exposure) -> tuple[ApproxDP, ApproxDP]:
    """Return what all fits in which a record trains may spend, and what is for errors: they need no delta."""
    if exposure.apart:
        return budget, replace(budget, delta=Fraction(0))
    scoring = replace(budget, epsilon=budget.epsilon * _ON_SCORES, delta=Fraction(0))
    return replace(budget, epsilon=budget.epsilon * (1 - _ON_SCORES)), scoring


def _part(budget: ApproxDP, share: Fraction) -> ApproxDP:
    return replace(budget, epsilon=budget.epsilon * share, delta=budget.delta * share)


def _guarantee(cost: ApproxDP, guarantees: Sequence[ApproxDP], own: Sequence[str]) -> ApproxDP:
    """Return the cost with all that is assumed, by candidates too; of labels the search says itself."""
    given = labels_assumed(())
    theirs = [entry for guarantee in guarantees for entry in guarantee.assumes if entry != given]
    protects = "labels" if any(guarantee.protects == "labels" for guarantee in guarantees) else cost.protects
    return replace(cost, protects=protects, assumes=tuple(dict.fromkeys([*own, *theirs])))
