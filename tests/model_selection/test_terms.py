"""How a search's budget is cut up: the parts add up to it, whatever records meet with."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn.model_selection.splits import Exposure
from dplearn.model_selection.terms import SearchTerms
from dplearn.privacy import ApproxDP

BUDGET = ApproxDP(1, "1e-6")
exposures = st.builds(Exposure, st.integers(1, 9), st.integers(1, 3), st.booleans())


def spent(terms, exposure, candidates):
    """Return what one record is exposed to: fits in which it trains, errors of its own, the last fit."""
    runs = 1 if terms.stopping else candidates
    fits = [runs * exposure.trains * number for number in (terms.fit.epsilon, terms.fit.delta)]
    scores = [terms.scoring.epsilon, Fraction(0)]
    one = [max(pair) if exposure.apart else sum(pair) for pair in zip(fits, scores, strict=True)]
    search = ApproxDP(*one)
    total = terms.stopping.total(search) if terms.stopping else search
    last = terms.refit or ApproxDP(0)
    return total.epsilon + last.epsilon, total.delta + last.delta


@given(
    exposures,
    st.integers(1, 30),
    st.sampled_from(["auto", "permute_and_flip", "random_stopping"]),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 50)),
    st.integers(0, 3),
)
def test_all_parts_together_spend_the_budget(exposure, candidates, method, refit, n_iter, concentration):
    terms = SearchTerms.of(
        BUDGET,
        exposure,
        candidates=candidates,
        method=method,
        refit=refit,
        n_iter=n_iter,
        concentration=concentration,
    )
    assert spent(terms, exposure, candidates) == (BUDGET.epsilon, BUDGET.delta)


@pytest.mark.parametrize("candidates", [1, 2, 3, 4, 40])
def test_auto_leaves_more_for_each_fit_than_the_other_method(candidates):
    exposure = Exposure(1, 1, True)
    terms = {
        method: SearchTerms.of(BUDGET, exposure, candidates=candidates, method=method, refit=True)
        for method in ("auto", "permute_and_flip", "random_stopping")
    }
    best = max(terms["permute_and_flip"].fit.epsilon, terms["random_stopping"].fit.epsilon)
    assert terms["auto"].fit.epsilon == best
    assert (terms["auto"].method == "permute_and_flip") == (candidates <= 3)
