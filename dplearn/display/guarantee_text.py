"""A guarantee in words: how far a release can change a belief in a statement about one record.

>>> from dplearn.privacy import ApproxDP
>>> greatest_belief(ApproxDP(1), Fraction(1, 2))
'73.2 %'
>>> greatest_factor(ApproxDP(1)), greatest_factor(ApproxDP(100))
('exp(1) = 2.72', 'exp(100), which is no limit at all')
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dplearn.display.template import Table
from dplearn.kernels.exact import exp_bounds
from dplearn.privacy import ApproxDP, Guarantee, ZeroConcentratedDP, attack_risk
from dplearn.privacy.base import decimal

_DELTA = Fraction(1, 10**6)  # the delta of the approximate guarantee that explains a zero-concentrated one
_BELIEFS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
_GROUPS = (1, 2, 5, 10)
_WEAK = 10
_NO_LIMIT = 20  # factors of exp(20) and more are not written out
_RULE_OF_THUMB = "As a rule of thumb, an epsilon of 0.1 is strict, 1 is usual and 10 is weak."
_PROTECTED = {
    ("replace_one", "examples"): "all values in any one record, its label included",
    (
        "replace_one",
        "labels",
    ): "the label of any one record; the other values of the record are taken as public",
    ("add_remove", "examples"): "the presence of any one record in the table, and all its values",
    ("replace_one", "groups"): "the number and all values of the rows of any one group, such as one person",
    ("add_remove", "groups"): "the presence of any one group, such as one person, and all values of its rows",
}
_PARTS = {"groups": "all records of a group", "examples": "whole records", "labels": "labels"}
_NEIGHBORS = {"replace_one": "one {} replaced", "add_remove": "one {} added or removed"}
_NEIGHBORING = {
    "replace_one": "any two tables with the same number of {0}s that differ in one {0}",
    "add_remove": "any two tables of which one has one {0} more than the other",
}


def figures(guarantee: Guarantee) -> list[tuple[str, str]]:
    """Return the numbers and terms of a guarantee, each with its name."""
    numbers = [(name, decimal(getattr(guarantee, name))) for name in guarantee._numbers]
    terms = [
        ("neighbours", _NEIGHBORS[guarantee.neighbors].format(guarantee._unit)),
        ("protected", _PARTS[guarantee.protects]),
    ]
    return numbers + terms


def protected(guarantee: Guarantee) -> str:
    """Return the protected values of a record in words."""
    return _PROTECTED[guarantee.neighbors, guarantee.protects]


def neighboring(guarantee: Guarantee) -> str:
    """Return the pairs of neighbouring tables in words."""
    return _NEIGHBORING[guarantee.neighbors].format(guarantee._unit)


def warnings_of(guarantee: Guarantee) -> list[tuple[str, str]]:
    """Return warnings about a weak guarantee or a seed, each with its heading."""
    found = []
    if guarantee.reproducible:
        text = (
            "A seed was set. Anybody who knows or guesses the seed can draw the noise again and subtract it."
            " Such a fit is for tests. Before you publish anything, fit again without a seed"
            " (random_state=None)."
        )
        found.append(("Not for release.", text))
    if _approximate(guarantee).epsilon > _WEAK:
        text = (
            f"Epsilon is above {_WEAK}: one {guarantee._unit} can change the output distribution almost"
            f" arbitrarily. {_RULE_OF_THUMB}"
        )
        found.append(("This guarantee is worth very little.", text))
    return found


def in_words(guarantee: Guarantee) -> list[str]:
    """Return paragraphs on the protected values, the neighbours and the bound on the odds."""
    approx = _approximate(guarantee)
    but = ", with a small exception" if approx.delta else ""
    texts = [f"Protected: {protected(guarantee)}. Neighbours: {neighboring(guarantee)}."]
    if isinstance(guarantee, ZeroConcentratedDP):
        texts.append(_of_rho(guarantee, approx))
    texts.append(
        "In the worst case, an adversary sees the whole release, has unlimited computing power and knows"
        f" every other {guarantee._unit}. The release changes the adversary's odds about any one"
        f" {guarantee._unit} by at most a factor of {greatest_factor(approx)}{but}. {_RULE_OF_THUMB}"
    )
    return [*texts, _of_delta(approx)] if approx.delta else texts


def beliefs(guarantee: Guarantee) -> Table:
    """Return the largest belief in a statement about one record after the release, by the belief before."""
    approx = _approximate(guarantee)
    caption = f"Belief of this adversary in a statement about one {guarantee._unit}"
    if approx.delta:
        caption += f", except with probability {decimal(2 * approx.delta)}"
    rows = [(f"{int(100 * prior)} %", greatest_belief(approx, prior)) for prior in _BELIEFS]
    return Table(caption, ("before the release", "after the release, at most"), rows)


def attacks(guarantee: Guarantee) -> list[str]:
    """Return sentences on the rates of an attacker who decides about one record."""
    advantage, rates, *_ = attack_risk(guarantee).sentences()  # `beliefs` has the rest
    return [f"{advantage} {rates}"]


def in_groups(guarantee: Guarantee) -> Table:
    """Return the guarantee for a person with several records."""
    rows = []
    for k in _GROUPS:
        try:
            approx = guarantee.for_group(k)
        except ValueError:  # delta would reach 1
            rows.append((str(k), *("no limit" for _ in guarantee._numbers), "no limit"))
            continue
        numbers = (decimal(getattr(approx, name)) for name in approx._numbers)
        rows.append((str(k), *numbers, greatest_belief(_approximate(approx), Fraction(1, 10))))
    caption = "The guarantee is about one record. A person with several records is protected less."
    head = ("records of the person", *guarantee._numbers, "a belief of 10 % becomes at most")
    return Table(caption, head, rows)


def greatest_factor(approx: ApproxDP) -> str:
    """Return exp(epsilon), rounded up, as text."""
    shown = f"exp({decimal(approx.epsilon)})"
    if approx.epsilon >= _NO_LIMIT:
        return f"{shown}, which is no limit at all"
    return f"{shown} = {_up(exp_bounds(approx.epsilon)[1], 3)}"


def greatest_belief(approx: ApproxDP, prior: Fraction) -> str:
    """Return the largest belief after the release, rounded up, as text.

    With a delta, the bound may fail with probability 2 delta.
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
    """Return the guarantee, or the approximate one that it implies."""
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
        f" twice that factor with probability at most 2 delta, one in {int(once):,}. The table below uses"
        " twice the factor. Delta should be far below one divided by the number of people."
    )


def _of_rho(guarantee: ZeroConcentratedDP, approx: ApproxDP) -> str:
    return (
        f"The guarantee is zero-concentrated differential privacy with rho = {decimal(guarantee.rho)}. It"
        f" implies epsilon = {decimal(approx.epsilon)} with delta = {decimal(approx.delta)}, which the"
        " following explains."
    )


def _up(x: Fraction, digits: int) -> str:
    rounded = Context(prec=digits, rounding=ROUND_CEILING).divide(
        Decimal(x.numerator), Decimal(x.denominator)
    )
    return f"{int(rounded):,}" if rounded >= 10 ** (digits - 1) else f"{rounded}"
