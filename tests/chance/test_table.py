"""Inversion is exact: the outcome never depends on how few bits happened to decide it.

The tables are fed chosen bits: words that stand on a boundary between two outcomes, or one unit beside it,
for one, two, three and four words of 64 bits, followed by bits that decide. What comes must be what inversion
in Fractions (for the irrational laws: in 150 decimal digits) says of the whole number.
"""

import hashlib
import threading
from bisect import bisect_right
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.chance import sampling
from dplearn.chance.sampling import (
    Enclosure,
    Lookup,
    Table,
    exponential_event,
    power_blocks,
    power_weights,
    ratio_power,
)
from dplearn.kernels import decay_ratio, power_probabilities

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
HALF = Fraction(1, 2)


class Bits:
    """A source of bits that are known beforehand: a prefix, then what SHAKE makes of a seed."""

    def __init__(self, prefix: int, words: int, seed: int = 0):
        filler = hashlib.shake_128(repr((words, seed)).encode()).digest(128)
        self.data = prefix.to_bytes(8 * words, "big") + filler
        self.used = 0

    def __call__(self, count: int) -> bytes:
        taken = self.data[self.used : self.used + count]
        self.used += count
        assert len(taken) == count, "the draw should have been decided by now"
        return taken

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The uniform number lies between these."""
        whole = int.from_bytes(self.data, "big")
        return Fraction(whole, 1 << 8 * len(self.data)), Fraction(whole + 1, 1 << 8 * len(self.data))

    def word(self, start_bit: int, bits: int) -> int:
        """Return some of the bits as a number."""
        whole = int.from_bytes(self.data, "big")
        return whole >> (8 * len(self.data) - start_bit - bits) & ((1 << bits) - 1)


class OneOpenLane:
    """A source for `draw_many` of 64 draws: one is fed chosen bits, the others a 16-bit word that decides."""

    def __init__(self, bits: Bits, lane: int, quiet: int):
        self.bits, self.lane, self.quiet = bits, lane, quiet
        self.requests = []

    def __call__(self, count: int) -> bytes:
        self.requests.append(count)
        if len(self.requests) == 1:
            words = np.full(64, self.quiet, dtype=np.uint16)
            words[self.lane] = self.bits.word(0, 16)
            return words.tobytes()
        if len(self.requests) == 2:
            # The next 48 bits stand at the upper end of a word of the machine's own byte order.
            return np.array([self.bits.word(16, 48) << 16 | 0xBEEF], dtype=np.uint64).tobytes()
        return self.bits.word(64 * (len(self.requests) - 2), 64).to_bytes(8, "big")


def gaussian_ends(sigma2: Fraction) -> list[Fraction]:
    """Return the upper ends of the Gaussian's blocks to 150 digits, until the rest is below 10**-140."""
    width = sampling.block_width(sigma2)
    with localcontext() as context:
        context.prec = 160
        rate = Decimal(sigma2.denominator) / (2 * Decimal(sigma2.numerator))
        weights = []
        while not weights or weights[-1] > Decimal("1e-150"):
            near = len(weights) // 2 * width + len(weights) % 2
            weights.append((-rate * near * near).exp())
        total = sum(weights)
        return [Fraction(end / total) for end in accumulate(weights)]


def exponential(rate: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 160
        return Fraction((-Decimal(rate.numerator) / Decimal(rate.denominator)).exp())


def groups(ratio, exponents, multiplicities):
    ends = list(accumulate(power_probabilities(ratio, exponents, multiplicities)))
    return lambda: Table(power_weights(ratio, exponents, multiplicities)), ends


def blocks(ratio, unit, count):
    """The distribution of floor(G / unit): below d + 1 with probability 1 - ratio**((d + 1) unit)."""
    ends = [1 - ratio ** (unit * (d + 1)) for d in range(count)]
    return lambda: Table(power_blocks(ratio, unit, count)), [*ends, Fraction(1)]


def distributions() -> dict:
    """Return by name a function without arguments, which `law` calls when it is asked for."""
    third, near_one = Fraction(1, 3), decay_ratio(Fraction(1, 10))
    sigmas = [Fraction(1, 50), Fraction(40**2), Fraction(10**8) + third]
    rates = [Fraction(1, 10**9), Fraction(1, 7), Fraction(40)]
    return {
        "halves": partial(groups, HALF, [0, 1, 2], [1, 1, 1]),
        "a coin": partial(groups, HALF, [0, 0], [1, 1]),
        "one outcome": partial(groups, third, [5], [7]),
        "spread": partial(groups, Fraction(3, 7), [0, 1, 5, 9], [2, 1, 70, 3]),
        "huge group": partial(groups, third, [0, 2, 300], [1, 2**70, 2**400]),
        "a digit": partial(groups, near_one, list(range(64)), [1] * 64),
        "high digit": partial(groups, Fraction(63, 64), [16 * d for d in range(64)], [1] * 64),
        "far": partial(groups, Fraction(999, 1000), [-50, 10**4], [1, 5]),
        "blocks": partial(blocks, near_one, 1, 64),
        "blocks of 100": partial(blocks, near_one, 100, 8),
        "blocks of which many go on": partial(blocks, Fraction(9, 10), 2, 3),
        "blocks of which all but a few go on": partial(blocks, Fraction(19, 20), 1, 1),
        **{
            f"exponential event {rate}": lambda rate=rate: (
                lambda: Table(exponential_event(rate)),
                [exponential(rate), Fraction(1)],
            )
            for rate in rates
        },
        **{
            f"gaussian {sigma2}": lambda sigma2=sigma2: (
                lambda: sampling.gaussian_table.__wrapped__(sigma2),
                gaussian_ends(sigma2),
            )
            for sigma2 in sigmas
        },
    }


LAWS = distributions()


@cache
def law(name):
    """Return how to make a table, and the upper ends of its outcomes."""
    return LAWS[name]()


every_law = pytest.mark.parametrize("name", LAWS)
#: On and beside how many of a distribution's boundaries.
at_boundaries = pytest.mark.parametrize("most", [2, pytest.param(24, marks=pytest.mark.nightly)])
# A group of 2**400 makes the first enclosures too wide to decide anything: exact all the same, but with
# more bits.
every_narrow_law = pytest.mark.parametrize("name", [name for name in LAWS if name != "huge group"])


def inverted(ends: list[Fraction], bits: Bits) -> int:
    """Return the outcome of exact inversion; no outcome may end within what is open of the bits."""
    low, high = bits.ends
    assert bisect_right(ends, low) == bisect_right(ends, high)
    return bisect_right(ends, low)


def adversarial(ends: list[Fraction], most: int):
    """Yield bits on and beside boundaries, whether they are on one, and for how many words."""
    inner = sorted({end for end in ends if 0 < end < 1})
    for end in inner[:: -(-len(inner) // most)] if inner else [HALF]:
        for words in (1, 2, 3, 4):
            on = end * (1 << 64 * words)
            for step in (-1, 0, 1):
                prefix = on.__floor__() + step
                if 0 <= prefix < 1 << 64 * words:
                    yield Bits(prefix, words), step == 0 and on.denominator > 1, words


def can_be_open(ends: list[Fraction]) -> bool:
    """Whether some end has more than 64 bits, so that a first word may leave it open."""
    return any((end * (1 << 64)).denominator > 1 for end in ends[:-1])


def quiet_word(ends: list[Fraction]) -> tuple[int, int]:
    """Return a 16-bit word well inside the widest outcome, and that outcome."""
    starts = [Fraction(0), *ends[:-1]]
    outcome = max(range(len(ends)), key=lambda i: ends[i] - starts[i])
    return int((starts[outcome] + ends[outcome]) / 2 * 65536), outcome


@every_law
@at_boundaries
def test_a_draw_on_or_beside_a_boundary_is_that_of_exact_inversion_in_tables_of_any_past(name, most):
    make, ends = law(name)
    fresh, often, lengthened = make(), make(), False
    outcomes = len(often.enclosure(400).lows)
    for _ in range(min(outcomes, 300) + 1):
        often.draw(Bits(0, 1))
    assert (often.ends is not None) == (outcomes <= 300)
    for bits, on_boundary, words in adversarial(ends, most):
        assert fresh.draw(bits) == inverted(ends, bits)
        if on_boundary:
            # The first 64 * words bits are those of the boundary itself: no exact sampler can stop there.
            assert bits.used > 8 * words
            lengthened = True
        used, bits.used = bits.used, 0
        assert often.draw(bits) == inverted(ends, bits)
        assert bits.used == used or name == "huge group"  # of which more was known
    assert lengthened == can_be_open(ends)


@every_narrow_law
@at_boundaries
def test_draw_many_is_exact_inversion_too(name, most):
    make, ends = law(name)
    table, lengthened = make(), False
    quiet, other = quiet_word(ends)
    for lane, (bits, on_boundary, words) in enumerate(adversarial(ends, most)):
        source = OneOpenLane(bits, lane % 64, quiet)
        drawn = table.draw_many(source, 64)
        assert drawn[lane % 64] == inverted(ends, bits) == table.draw(bits)
        assert set(np.delete(drawn, lane % 64).tolist()) == {other}
        assert source.requests == [128, *[8] * (len(source.requests) - 1)]
        if on_boundary:
            assert len(source.requests) > 1 + words
            lengthened = True
    assert lengthened == can_be_open(ends)


@pytest.mark.parametrize("lows", [[], [0], [0, 0, 1], [1 << 48], [5 << 48, (5 << 48) + 1, 5 << 48 | 7 << 40]])
@pytest.mark.parametrize("slack", [0, 1, 2, 1 << 48, 3 << 60])
@pytest.mark.parametrize("last", [[6 << 48], [(1 << 64) - 1], [1 << 64], [1 << 64, 1 << 64]])
def test_sixteen_bits_decide_exactly_as_much_for_ends_of_any_width(lows, slack, last):
    lows = [*lows, *last]
    known = [low for low in lows if low < 1 << 64]  # an end of 1 is left out
    above = [max(min(low + slack, 1 << 64), 1) - 1 for low in known]
    lookup = Lookup(np.array(known, dtype=np.uint64), np.array(above, dtype=np.uint64), len(lows))
    starts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    first, final = lookup.long(starts), lookup.long(starts | np.uint64((1 << 48) - 1))
    assert (lookup.short == np.where(first == final, first, -1)).all()


@every_narrow_law
def test_bounds_hold_the_exact_ends_between_them_and_are_those_computed_together(name):
    make, ends = law(name)
    for bits in (1, 64, 200):
        table = make()
        outcomes = len(table.enclosure(bits + 64).lows)
        for i in range(0, outcomes, -(-outcomes // 40)):
            low, high = table.bounds(i, bits)
            # The irrational ends have 150 digits.
            assert low <= ends[i] * (1 << bits) <= high + Fraction(1, 10**60)
            assert high - low <= 2
    table = make()
    together = table.all_ends()
    for i in range(0, len(together.lows), -(-len(together.lows) // 40)):
        assert (together.lows[i], together.highs[i]) == table.bounds(i, 64)


@repeatable
@given(
    st.fractions(min_value=Fraction(1, 10**9), max_value=1 - Fraction(1, 10**9)),
    st.lists(st.integers(0, 60), min_size=1, max_size=8).map(sorted),
    st.integers(1, 200),
)
def test_weights_are_too_low_by_no_more_than_they_say(ratio, exponents, bits):
    lows, errors, tail = power_weights(ratio, exponents, [3] * len(exponents))(bits)
    exact = [3 * ratio ** (exponent - exponents[0]) * (1 << bits) for exponent in exponents]
    for true, low, error in zip(exact, lows, errors, strict=False):
        assert low <= true <= low + error
    # What is not listed at this precision weighs no more than the tail.
    assert sum(exact[len(lows) :]) <= tail
    assert (tail == 0) == (len(lows) == len(exact))


@pytest.mark.parametrize("ratio", [1 - Fraction(1, 10**6), 1 - Fraction(1, 10**9), 1 - Fraction(7, 10**12)])
def test_half_of_what_weights_may_be_too_low_by_is_not_enough(ratio):
    # The longest chains of products near 1 lose about 3/2 of a unit a step, where 2 are allowed for.
    for exponents in (list(range(200)), [0, 199, 255]):
        losses = []
        for bits in (64, 128, 129, 130, 131, 140):
            lows, errors, _ = power_weights(ratio, exponents, [1] * len(exponents))(bits)
            pairs = zip(exponents[1:], lows[1:], errors[1:], strict=True)
            losses.extend((ratio**e * (1 << bits) - low) / error for e, low, error in pairs)
        assert HALF < max(losses) <= 1
    powers = [(bits, ratio_power(ratio, 256, bits)) for bits in (64, 128, 129, 130, 131, 140)]
    assert HALF < max((ratio**256 * (1 << bits) - power) / 512 for bits, power in powers) <= 1


@repeatable
@given(
    st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(19, 20)),
    st.integers(1, 40),
    st.integers(1, 60),
    st.integers(1, 200),
)
def test_weights_of_blocks_are_too_low_by_no_more_than_they_say_and_so_is_that_of_the_rest(
    ratio, unit, count, bits
):
    lows, errors, tail = power_blocks(ratio, unit, count)(bits)
    p = ratio**unit
    exact = [p**d * (1 << bits) for d in range(count)] + [p**count / (1 - p) * (1 << bits)]
    for true, low, error in zip(exact, lows, errors, strict=False):
        assert low <= true <= low + error
    assert sum(exact[len(lows) :]) <= tail
    assert (tail == 0) == (len(lows) == count + 1)


@pytest.mark.parametrize(
    "ratio", [1 - Fraction(1, 10**6), 1 - Fraction(1, 10**9), decay_ratio(Fraction(1, 7))]
)
def test_the_rest_is_enclosed_at_the_lowest_precision_where_blocks_are_just_long_enough(ratio):
    # ratio**unit is at most 19/20, and hardly less: 1 - ratio**unit is where digits cancel.
    unit = int(1 / (1 - ratio) / 19) + 1
    for bits in (1, 20, 64, 128):
        lows, errors, tail = power_blocks(ratio, unit, 4)(bits)
        with localcontext() as context:
            context.prec = 120
            p = ((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln() * unit).exp()
            assert p <= Decimal("0.95")
            rest = p**4 / (1 - p) * (1 << bits)
        high = lows[4] + errors[4] if len(lows) == 5 else tail
        assert rest <= high
        assert len(lows) < 5 or lows[4] <= rest


@pytest.mark.parametrize("sigma2", [Fraction(4), Fraction(40**2)])
@pytest.mark.parametrize("words", [1, 2, 3])
def test_an_open_ended_table_grows_as_far_as_its_tail_is_asked_for(sigma2, words):
    table = sampling.gaussian_table.__wrapped__(sigma2)
    at_first = len(table.enclosure(128).lows)
    bits = Bits((1 << 64 * words) - 1, words)
    outcome = table.draw(bits)
    assert outcome == inverted(gaussian_ends(sigma2), bits)
    assert len(table.enclosure(0).lows) > at_first or words == 1
    # What lies beyond the outcome has probability about 2**(-64 words), so the last word decided it.
    assert bits.used in (8 * words, 8 * (words + 1))


def test_two_threads_may_use_one_table_for_the_first_time():
    # Was (dplearn/chance/sampling.py, enclosure): `bits` is set before `_low`, `_high` and `_tail`, so a
    # second thread finds them missing or, where the precision rises, of different precisions. Tables are
    # shared by lru_cache.
    made, drawn = [], []

    class Slow(list):
        """Weights; while their sums are taken another thread draws."""

        def __iter__(self):
            if not made:
                made.append(True)
                other = threading.Thread(
                    target=lambda: drawn.append(table.draw(lambda count: b"\xff" * count))
                )
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(threading, "excepthook", lambda args: drawn.append(args.exc_type))
                    other.start()
                    other.join()
            return super().__iter__()

    table = Table(lambda bits: Enclosure(Slow([1 << bits, 1 << bits]), [0, 0]))
    assert table.draw(lambda count: bytes(count)) == 0
    assert drawn == [1]
