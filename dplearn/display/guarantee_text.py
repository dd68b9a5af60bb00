"""A guarantee in words: what may be learned of a record, before and after.

>>> from dplearn.privacy import ApproxDP
>>> greatest_belief(ApproxDP(1), Fraction(1, 2))
'73.2 %'
>>> greatest_factor(ApproxDP(1)), greatest_factor(ApproxDP(100))
('exp(1) = 2.72', 'exp(100), which is no limit at all')
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dplearn.core.exact import exp_bounds
from dplearn.display.document import Alert, Block, Figure, Paragraph, Table
from dplearn.privacy import ApproxDP, Guarantee, ZeroConcentratedDP
from dplearn.privacy.base import decimal

__all__ = ["figures", "greatest_belief", "greatest_factor", "in_groups", "in_words", "warnings_of"]

_DELTA = Fraction(1, 10**6)  # at which a zero-concentrated guarantee is put into words
_BELIEFS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
_GROUPS = (1, 2, 5, 10)
_WEAK = 10
_NO_LIMIT = 20  # from exp(20) on a factor is not written out
_WHAT = {
    ("replace_one", "examples"): "any one record: all that one row of the table says, its label included",
    ("replace_one", "labels"): "the label of any one record; what else its row says is taken as public",
    ("add_remove", "examples"): "whether any one record is in the table, and all that it says",
}
_NEIGHBORS = {"replace_one": "one record replaced", "add_remove": "one record more"}
_BETWEEN = {
    "replace_one": "any two tables with the same number of records that differ in one of them",
    "add_remove": "any two tables one of which has one record more than the other",
}


def figures(guarantee: Guarantee) -> Figure:
    """Return the numbers of a guarantee.

    Parameters
    ----------
    guarantee : Guarantee
        What is guaranteed.
    """
    numbers = [(name, decimal(getattr(guarantee, name))) for name in guarantee._numbers]
    terms = [
        ("neighbours", _NEIGHBORS[guarantee.neighbors]),
        ("protected", {"examples": "whole records", "labels": "labels"}[guarantee.protects]),
    ]
    return Figure((*numbers, *terms))


def warnings_of(guarantee: Guarantee) -> list[Alert]:
    """Return what must be said before anything else.

    Parameters
    ----------
    guarantee : Guarantee
        What is guaranteed.
    """
    found = []
    if guarantee.reproducible:
        text = (
            "A seed was set, so the noise can be drawn again and subtracted by whoever knows or guesses the"
            " seed. Such a fit is for tests. Fit again without a seed (random_state=None) before anything is"
            " published."
        )
        found.append(Alert("Not for release.", text))
    if _approximate(guarantee).epsilon > _WEAK:
        text = (
            f"Epsilon is above {_WEAK}: one record may change what is published almost at will. As a rule of"
            " thumb, 0.1 is strict, 1 is usual and 10 is weak."
        )
        found.append(Alert("This guarantee is worth very little.", text))
    return found


def in_words(guarantee: Guarantee) -> list[Block]:
    """Return what is protected, by how much, and what may be learned at most.

    Parameters
    ----------
    guarantee : Guarantee
        What is guaranteed.
    """
    approx = _approximate(guarantee)
    but = ", with a small exception" if approx.delta else ""
    what = _WHAT[guarantee.neighbors, guarantee.protects]
    blocks: list[Block] = [
        Paragraph(f"Protected is {what}. The guarantee compares {_BETWEEN[guarantee.neighbors]}."),
        Paragraph(
            "Take the worst case: somebody who sees everything that was released, has any computer, and knows"
            " every other record. They can change their odds about any one person's record by at most a"
            f" factor of {greatest_factor(approx)}{but}. (As a rule of thumb, an epsilon of 0.1 is strict, 1"
            " is usual and 10 is weak.)"
        ),
    ]
    if isinstance(guarantee, ZeroConcentratedDP):
        blocks.insert(1, Paragraph(_of_rho(guarantee, approx)))
    if approx.delta:
        blocks.append(Paragraph(_of_delta(approx)))
    rows = tuple((f"{int(100 * prior)} %", greatest_belief(approx, prior)) for prior in _BELIEFS)
    caption = "How sure such a person can become of a statement about one record"
    if approx.delta:
        caption += f", except with probability {decimal(2 * approx.delta)}"
    blocks.append(Table(caption, ("before seeing the release", "after, at most"), rows))
    return blocks


def in_groups(guarantee: Guarantee) -> list[Block]:
    """Return what a person with several records is guaranteed.

    Parameters
    ----------
    guarantee : Guarantee
        What is guaranteed of one record.
    """
    rows = []
    for k in _GROUPS:
        try:
            approx = guarantee.for_group(k)
        except ValueError:  # delta would reach 1
            rows.append((str(k), *("no limit" for _ in guarantee._numbers), "no limit"))
            continue
        numbers = (decimal(getattr(approx, name)) for name in approx._numbers)
        rows.append((str(k), *numbers, greatest_belief(_approximate(approx), Fraction(1, 10))))
    head = ("records of the person", *guarantee._numbers, "a belief of 10 % becomes at most")
    note = Paragraph("The guarantee is about one record. A person with several of them is protected less:")
    return [note, Table("What a person with several records is guaranteed", head, tuple(rows))]


def greatest_factor(approx: ApproxDP) -> str:
    """Return exp(epsilon), rounded up, as text.

    Parameters
    ----------
    guarantee : ApproxDP
        What is guaranteed.
    """
    shown = f"exp({decimal(approx.epsilon)})"
    if approx.epsilon >= _NO_LIMIT:
        return f"{shown}, which is no limit at all"
    return f"{shown} = {_up(exp_bounds(approx.epsilon)[1], 3)}"


def greatest_belief(approx: ApproxDP, prior: Fraction) -> str:
    """Return what a belief can become at most, rounded up, as text.

    Parameters
    ----------
    guarantee : ApproxDP
        What is guaranteed. If it has a delta, the bound may fail with probability 2 delta.
    prior : Fraction
        The belief before.
    """
    if approx.epsilon >= _NO_LIMIT or 2 * approx.delta >= 1:
        return "no limit"
    # Let E be the outcomes with P > 2 exp(epsilon) P'. There P(E) <= exp(epsilon) P'(E) + delta
    # <= P(E) / 2 + delta, so P(E) <= 2 delta.
    factor = exp_bounds(approx.epsilon)[1] * (2 if approx.delta else 1)
    percent = 100 * prior * factor / (1 - prior + prior * factor)
    tenths = -(-10 * percent // 1)
    return f"{Decimal(int(tenths)) / 10} %" if tenths < 1000 else "no limit"


def _approximate(guarantee: Guarantee) -> ApproxDP:
    """Return a guarantee with an epsilon."""
    if isinstance(guarantee, ZeroConcentratedDP):
        return guarantee.to_approx(_DELTA)
    if isinstance(guarantee, ApproxDP):
        return guarantee
    raise TypeError(f"guarantee must be ApproxDP or ZeroConcentratedDP, got {type(guarantee).__name__}")


def _of_delta(approx: ApproxDP) -> str:
    once = Context(prec=3, rounding=ROUND_FLOOR).divide(
        Decimal((2 * approx.delta).denominator), Decimal((2 * approx.delta).numerator)
    )
    return (
        f"The guarantee has a small exception, delta = {decimal(approx.delta)}: the odds rise by more than"
        f" twice that factor with probability at most 2 delta, one in {int(once):,}. The table below reckons"
        " with twice the factor. Delta should be far below one divided by the number of people."
    )


def _of_rho(guarantee: ZeroConcentratedDP, approx: ApproxDP) -> str:
    return (
        "The guarantee is stated as zero-concentrated differential privacy with rho ="
        f" {decimal(guarantee.rho)}. It implies epsilon = {decimal(approx.epsilon)} with delta ="
        f" {decimal(approx.delta)}, which is explained here."
    )


def _up(x: Fraction, digits: int) -> str:
    rounded = Context(prec=digits, rounding=ROUND_CEILING).divide(
        Decimal(x.numerator), Decimal(x.denominator)
    )
    return f"{int(rounded):,}" if rounded >= 10 ** (digits - 1) else f"{rounded}"
