"""Each primitive joins its tables as its identity says, at every scale, and refuses bad arguments."""

import hashlib
import sys
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.chance import EnumeratingDice, SeededDice, SystemDice, sampling
from dplearn.chance.sampling import ByteDice
from dplearn.kernels.exact import decay_ratio, log_bounds

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
ratios = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50)
groups = st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), min_size=1, max_size=5).filter(
    lambda pairs: any(m for _, m in pairs)
)
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
HUGE_SCALE = decay_ratio(Fraction(1, 10**20))


class Scripted(ByteDice):
    """Dice whose requests for bytes are answered from a list, each piece to a request of just its length."""

    def __init__(self, *pieces: bytes):
        self._pieces = iter(pieces)

    def _bytes(self, count):
        if not count:
            return b""
        piece = next(self._pieces)
        assert len(piece) == count
        return piece

    def finished(self) -> bool:
        return next(self._pieces, None) is None


def native(*words: int) -> bytes:
    return np.array(words, dtype=np.uint16).tobytes()


def big(word: int) -> bytes:
    return word.to_bytes(8, "big")


def sixteens(prefix: int, words: int) -> list[int]:
    """Return the 16-bit words of a number, the first one first, and ten more that follow them."""
    filler = hashlib.shake_128(repr((prefix, words)).encode()).digest(20)
    data = prefix.to_bytes(2 * words, "big") + filler
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]


def around(p: Fraction, words: int) -> list[list[int]]:
    """Return numbers whose first bits are those of p, or one unit more or less."""
    on = int(p * (1 << 16 * words))
    return [sixteens(on + step, words) for step in (-1, 0, 1) if 0 <= on + step < 1 << 16 * words]


def value(words: list[int]) -> Fraction:
    return sum((Fraction(word, 1 << 16 * (i + 1)) for i, word in enumerate(words)), Fraction(0))


def exponential(rate: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 160
        return Fraction((-Decimal(rate.numerator) / Decimal(rate.denominator)).exp())


# below


def test_below_gives_every_number_the_same_share_of_the_accepted_bytes():
    # Five numbers need 3 bits: 8 * 32 bytes, of which those that mean 5, 6 and 7 are drawn again (here as
    # 4).
    every_byte = [Scripted(bytes([b]), bytes([4 << 5])).below(5) for b in range(256)]
    assert np.bincount(every_byte).tolist() == [32, 32, 32, 32, 32 + 96]
    together = Scripted(bytes(range(256)), bytes([4 << 5] * 96))
    assert together.below(5, size=256).tolist() == every_byte
    assert together.finished()


def test_below_draws_again_as_often_as_it_takes():
    too_large = b"\xff"
    assert Scripted(too_large, too_large, too_large, b"\x20").below(5) == 1
    many = Scripted(too_large + b"\x00" + too_large, too_large + b"\x40", b"\x60")
    assert many.below(5, size=3).tolist() == [3, 0, 2]


@pytest.mark.parametrize(
    ("n", "width"), [(256, 1), (257, 2), (2**16, 2), (2**16 + 1, 4), (2**32 + 1, 8), (2**63, 8)]
)
def test_below_takes_the_upper_bits_of_the_narrowest_word(n, width):
    top = Scripted((np.array([2 ** (8 * width - 1)], dtype=f"u{width}")).tobytes())
    bits = (n - 1).bit_length()
    expected = 2 ** (bits - 1)
    assert top.below(n, size=1).tolist() == [expected]


def test_below_is_exact_beyond_64_bits():
    # 2**64 + 1 numbers need 65 bits, the upper ones of nine bytes: 2**64 is the last that is accepted.
    last, first_refused = (2**64 << 7).to_bytes(9, "big"), ((2**64 + 1) << 7).to_bytes(9, "big")
    assert Scripted(last).below(2**64 + 1) == 2**64
    assert Scripted(first_refused, last).below(2**64 + 1) == 2**64
    assert Scripted(first_refused, last, bytes(9)).below(2**64 + 1, size=2).tolist() == [2**64, 0]


def test_below_one_needs_no_chance():
    assert Scripted().below(1) == 0
    assert SystemDice().below(1, size=3).tolist() == [0, 0, 0]


@repeatable
@given(st.integers(1, 2**200), st.integers(0, 2**32))
def test_below_is_below(n, seed):
    dice = SeededDice(seed)
    assert 0 <= dice.below(n) < n
    many = dice.below(n, size=20)
    assert all(0 <= int(drawn) < n for drawn in many)
    assert many.dtype == (np.int64 if n <= 2**63 else object)


# bernoulli


@pytest.mark.parametrize(
    "p",
    [
        THIRD,
        2 * THIRD,
        HALF,
        Fraction(1, 65536),
        Fraction(65535, 65536),
        Fraction(1, 65537),
        Fraction(1, 2**40),
    ]
    + [Fraction(1, 3**80), 1 - Fraction(1, 3**80), Fraction(2**64 - 1, 2**64), Fraction(12345, 65536)],
    ids=str,
)
def test_a_coin_compares_p_with_the_whole_uniform_number(p):
    depths = set()
    for count in (1, 2, 3, 5, 9):
        for words in around(p, count):
            dice = Scripted(*(native(word) for word in words))
            assert dice.bernoulli(p) == (value(words) < p)
            depths.add(len(words) - len(list(dice._pieces)))
    # On a boundary of more than 16 bits the comparison goes on past the first word.
    assert max(depths) > 9 or p.denominator & (p.denominator - 1) == 0


def test_many_coins_each_go_on_with_their_own_words():
    lanes = [words for count in (1, 2, 3) for words in around(THIRD, count)]
    stages, open_ = [], list(range(len(lanes)))
    while open_:
        depth = len(stages)
        stages.append(native(*(lanes[k][depth] for k in open_)))
        digit = int(THIRD * 65536 ** (depth + 1)) % 65536  # 0x5555 at every depth
        open_ = [k for k in open_ if lanes[k][depth] == digit]
    assert len(stages) >= 4
    dice = Scripted(*stages)
    assert dice.bernoulli(THIRD, size=len(lanes)).tolist() == [int(value(words) < THIRD) for words in lanes]
    assert dice.finished()


@pytest.mark.parametrize("certain", [0, 1, Fraction(0), Fraction(1)])
def test_a_certain_coin_never_errs(certain):
    words = native(0, 1, 65534, 65535)
    assert Scripted(words).bernoulli(certain, size=4).tolist() == [int(certain)] * 4
    assert Scripted(native(65535)).bernoulli(certain) == certain


# selection


@repeatable
@given(ratios, groups, st.integers(-(10**30), 10**30), st.integers(0, 2**32))
def test_adding_a_constant_to_all_exponents_changes_no_draw(ratio, pairs, shift, seed):
    exponents, multiplicities = zip(*pairs, strict=True)
    shifted = [e + shift for e in exponents]
    for primitive in ("power_weighted", "permute_and_flip"):
        draw, again = (getattr(SeededDice(seed), primitive) for _ in range(2))
        assert draw(ratio, exponents, multiplicities) == again(ratio, shifted, multiplicities)


@repeatable
@given(ratios, groups, st.integers(0, 2**32))
def test_only_groups_with_members_are_selected(ratio, pairs, seed):
    exponents, multiplicities = zip(*pairs, strict=True)
    dice = SeededDice(seed)
    assert multiplicities[dice.power_weighted(ratio, exponents, multiplicities)]
    assert multiplicities[dice.permute_and_flip(ratio, exponents, multiplicities)]


@pytest.mark.parametrize("primitive", ["power_weighted", "permute_and_flip"])
def test_a_group_that_outweighs_the_others_is_selected_wherever_it_stands(primitive):
    ratio = Fraction(1, 2**300)  # the others have probability below 2**-200 in all
    dice = SystemDice()
    for exponents, multiplicities, best in (
        ([5, 3, 9], [2**70, 1, 2**70], 1),
        ([0, 1, 1], [0, 1, 2**80], 2),
        ([4, 4, 3], [1, 1, 1], 2),
    ):
        assert getattr(dice, primitive)(ratio, exponents, multiplicities) == best


@pytest.mark.parametrize("primitive", ["power_weighted", "permute_and_flip"])
def test_multiplicities_beyond_64_bits_are_counted(primitive):
    # The first group has probability below 2**-60; half of 2**70 flips of the second outweigh it.
    draws = {getattr(SystemDice(), primitive)(HALF, [0, 1], [1, 2**70]) for _ in range(50)}
    assert draws == {1}


@pytest.mark.parametrize("step", [-3, 3])
@pytest.mark.parametrize("words", [1, 2, 3])
def test_permute_and_flip_refines_its_clocks_until_they_decide(step, words):
    """F * A > (1 - p) * E with A = 3/2, p = 1/2, F = -ln(U), E = -ln(V): the same as U < V**(1/3)."""
    arrival = int.from_bytes(hashlib.shake_128(b"arrival").digest(8 * words), "big") | 1 << (64 * words - 1)
    with localcontext() as context:
        context.prec = 200
        root = ((Decimal(arrival) / 2 ** (64 * words)).ln() / 3).exp()
    clock = int(Fraction(root) * 2 ** (64 * words)) + step  # 3 units beside the root, at 64 * words bits
    pieces = [big(0xF << 60)]  # beyond 2/3: the worse group is proposed
    for k in reversed(range(words)):
        pair = [big(number >> 64 * k & (1 << 64) - 1) for number in (arrival, clock)]
        pieces.extend(
            pair if k == words - 1 else pair[::-1]
        )  # at first the arrival is drawn, later the clock
    again = [big(1), big(1)]  # the better group is proposed, and needs no clock
    dice = Scripted(*pieces, *again)
    assert dice.permute_and_flip(HALF, [0, 1], [1, 1]) == (1 if step < 0 else 0)
    assert len(list(dice._pieces)) == (2 if step < 0 else 0)


@pytest.mark.parametrize("step", [-10, 10])
def test_permute_and_flip_counts_every_arrival_since_the_start(step):
    """F * A > (1 - p) * (E1 + E2 + E3) with A = 2, p = 1/2: the same as U < (V1 V2 V3)**(1/4)."""
    arrivals = [int.from_bytes(hashlib.shake_128(bytes([i])).digest(8), "big") | 1 << 63 for i in range(3)]
    with localcontext() as context:
        context.prec = 60
        root = (sum((Decimal(v) / 2**64).ln() for v in arrivals) / 4).exp()
    worse, better, one, other = big(0xF << 60), big(1), b"\x00", b"\xff"
    dice = Scripted(
        *(worse, one, big(arrivals[0]), big(2**64 - 5)),  # its clock has hardly run, so it failed before
        *(worse, one, big(arrivals[1])),  # again the same candidate, which is not asked again
        *(worse, other, big(arrivals[2]), big(int(Fraction(root) * 2**64) + step)),
        *(better, big(1)),
    )
    assert dice.permute_and_flip(HALF, [0, 1], [1, 2]) == (1 if step < 0 else 0)
    assert len(list(dice._pieces)) == (2 if step < 0 else 0)


# discrete Laplace


@repeatable
@given(ratios, st.integers(-30, 30), st.integers(0, 30), st.integers(0, 2**32))
def test_laplace_noise_is_moved_to_the_ends_and_not_drawn_again(ratio, low, length, seed):
    high = low + length
    free = SeededDice(seed).discrete_laplace(ratio, -(10**6), 10**6, size=50)
    clamped = SeededDice(seed).discrete_laplace(ratio, low, high, size=50)
    assert clamped.tolist() == np.clip(free, low, high).tolist()
    assert clamped.dtype == np.int64


@repeatable
@given(ratios, st.integers(-5, 5), st.integers(0, 2**32))
def test_a_noisy_comparison_is_the_comparison_of_the_same_noise(ratio, gap, seed):
    noise = SeededDice(seed).discrete_laplace(ratio, -(10**6), 10**6)
    assert (SeededDice(seed).discrete_laplace(ratio, gap - 1, gap) == gap) == (noise >= gap)
    assert SeededDice(seed).discrete_laplace(ratio) == noise


@repeatable
@given(ratios, st.integers(0, 2**32), st.lists(st.integers(-9, 9), min_size=1, max_size=9))
def test_each_draw_may_have_its_own_ends(ratio, seed, lows):
    lows = np.array(lows)
    highs = lows + 3
    for primitive in ("discrete_laplace", "geometric"):
        free = getattr(SeededDice(seed), primitive)(ratio, None, None, size=lows.size)
        moved = getattr(SeededDice(seed), primitive)(ratio, lows, highs, size=lows.size)
        assert moved.tolist() == np.clip(free, lows, highs).tolist()
        wide = getattr(SeededDice(seed), primitive)(
            ratio, lows.astype(object), highs.astype(object) + 2**80, size=lows.size
        )
        assert wide.tolist() == np.maximum(free, lows).tolist()


@repeatable
@given(ratios, st.integers(0, 2**32))
def test_a_geometric_variable_is_never_negative_and_discrete_laplace_is_the_difference_of_two(ratio, seed):
    dice = SeededDice(seed)
    pair = [dice.geometric(ratio) for _ in range(2)]
    assert min(pair) >= 0
    assert SeededDice(seed).discrete_laplace(ratio) == pair[0] - pair[1]


@pytest.mark.parametrize("ratio", [HALF, decay_ratio(Fraction(700)), HUGE_SCALE])
@pytest.mark.parametrize("end", [-(2**62), -1, 0, 3, 2**62])
def test_noise_between_equal_ends_is_the_end(ratio, end):
    assert SystemDice().discrete_laplace(ratio, end, end) == end
    assert SystemDice().discrete_laplace(ratio, end, end, size=3).tolist() == [end] * 3


def test_noise_of_a_huge_scale_is_of_python_integers():
    drawn = SystemDice().discrete_laplace(HUGE_SCALE, -(10**30), 10**30, size=50)
    assert drawn.dtype == object
    assert {type(k) for k in drawn} == {int}
    # Beyond 100 scales once in exp(100) draws; all 50 within a hundredth of a scale about once in 100**50
    # runs.
    assert 10**18 < max(abs(k) for k in drawn) < 10**22
    assert len({k % 256 for k in drawn}) > 20  # the lowest digit varies too
    assert type(SystemDice().discrete_laplace(HUGE_SCALE, -5, 5)) is int
    assert set(SystemDice().discrete_laplace(HUGE_SCALE, -5, 5, size=20).tolist()) <= {-5, 5}


@pytest.mark.parametrize(
    ("low", "high"), [(2**70, 2**70), (-(2**70), -(2**69)), (2**63, 2**64), (-(2**64), -(2**63) - 1)]
)
def test_ends_beyond_64_bits_are_kept(low, high):
    # Was (dplearn/chance/sampling.py, discrete_laplace): only the outer side of each end is brought into 64
    # bits, so np.clip raises OverflowError where both ends lie beyond.
    assert SystemDice().discrete_laplace(HALF, low, high) == (low if low > 0 else high)


@pytest.mark.parametrize("gap", [2**62, 2**64, 2**70, 10**100])
def test_a_comparison_with_any_gap_has_an_answer(gap):
    # Was (the same): the gap is private, and here it decides between an answer and an OverflowError.
    assert SystemDice().discrete_laplace(HALF, gap - 1, gap) == gap - 1
    assert SystemDice().discrete_laplace(HALF, -gap - 1, -gap) == -gap
    assert SystemDice().geometric(HALF, gap - 1, gap) == gap - 1


@pytest.mark.parametrize(
    ("ratio", "digits"),
    [
        (HALF, 1),
        (Fraction(15, 16), 1),
        (Fraction(63, 64), 2),
        (decay_ratio(Fraction(1, 10**5)), 3),
        (HUGE_SCALE, 9),
    ],
)
def test_geometric_noise_has_a_digit_for_each_256_of_its_scale(ratio, digits):
    assert len(sampling._geometric_tables(ratio)) == digits
    assert (1 - ratio) * 256**digits >= 14 > (1 - ratio) * 256 ** (digits - 1)


@pytest.mark.parametrize("ratio", [Fraction(63, 64), decay_ratio(Fraction(1, 10**5))])
def test_every_digit_has_the_law_of_a_geometric_variables_digit(ratio):
    """P[digit <= d] = (1 - r**((d + 1) unit)) / (1 - r**(256 unit)); the first, which goes on, without /."""
    first, *lower = sampling._geometric_tables.__wrapped__(ratio)
    with localcontext() as context:
        context.prec = 120
        log = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()

        def ends(unit):
            return [Fraction(1 - (log * (d + 1) * unit).exp()) for d in range(256)]

        for position, table in enumerate(reversed(lower)):
            *inner, whole = ends(256**position)
            assert_ends(table, [end / whole for end in inner])
        assert_ends(first, ends(256 ** len(lower)))
        assert first.bounds(256, 64)[1] == 1 << 64


def assert_ends(table, ends):
    for d, end in enumerate(ends):
        low, high = table.bounds(d, 64)
        assert low <= end * 2**64 <= high


class Fixed:
    """Stands in for a table: gives out what it was given, request by request."""

    def __init__(self, *drawn: list[int]):
        self._drawn = iter(drawn)

    def draw_many(self, source, size):
        drawn = np.array(next(self._drawn, [1] * size))
        assert drawn.size == size
        return drawn

    def draw(self, source):
        return int(self.draw_many(source, 1)[0])


def test_geometric_noise_is_put_together_from_its_digits(monkeypatch):
    # Three numbers of three digits. A first digit of 256 goes on: 256 more than a fresh one.
    first = [256, 3, 256], [7, 256], [9]
    lower = [10, 20, 30], [1, 2, 0]
    expected = [(256 + 7, 10, 1), (3, 20, 2), (512 + 9, 30, 0)]
    tables = [Fixed(*first), *(Fixed(digits) for digits in lower)]
    monkeypatch.setattr(sampling, "_geometric_tables", lambda ratio: tables)
    total = SystemDice()._geometric(HALF, 3)
    assert total.tolist() == [a * 256**2 + b * 256 + c for a, b, c in expected]


def test_one_number_is_put_together_in_the_same_way(monkeypatch):
    tables = [Fixed([256], [256], [9]), Fixed([10]), Fixed([1])]
    monkeypatch.setattr(sampling, "_geometric_tables", lambda ratio: tables)
    assert SystemDice().geometric(HALF) == (512 + 9) * 256**2 + 10 * 256 + 1


@pytest.mark.parametrize("ratio", [HALF, Fraction(63, 64), decay_ratio(Fraction(1, 10**5)), HUGE_SCALE])
def test_one_number_and_few_are_drawn_from_the_same_bytes(ratio):
    for seed in range(20):
        assert SeededDice(seed).geometric(ratio) == SeededDice(seed).geometric(ratio, size=1)[0]


@pytest.mark.parametrize("spread", [1, 300, 70_000])
def test_digits_that_the_ends_make_idle_are_not_drawn_and_change_nothing(monkeypatch, spread):
    """With numbers of three digits: every draw is what its ends make of a number with those first digits."""
    generator, size = np.random.default_rng(0), 500
    first = generator.integers(0, 4, size)
    digits = generator.integers(0, 256, (2, size))
    whole = first * 65536 + digits[0] * 256 + digits[1]
    low = whole + generator.integers(-spread, spread, size)
    low[::3] = generator.integers(-(2**63), 2**63 - spread, low[::3].size)
    high = low + generator.integers(0, spread, size)
    needed = (low < first * 65536 + 65535) & (high > first * 65536)
    assert 0 < needed.sum() < size
    tables = [Fixed(first), *(Fixed(digit[needed]) for digit in digits)]
    monkeypatch.setattr(sampling, "_geometric_tables", lambda ratio: tables)
    assert SystemDice().geometric(HALF, low, high, size=size).tolist() == np.clip(whole, low, high).tolist()


@pytest.mark.parametrize("ratio", [Fraction(1, 50), Fraction(99, 100), decay_ratio(Fraction(1, 10**4))])
def test_a_comparison_of_many_succeeds_as_often_as_its_law_says(ratio):
    # Frequencies within 6 standard deviations: wrong once in 10**8 runs of one such test.
    size = 40_000
    for quantile in (0.02, 0.3, 0.9):
        gap = int(np.log(quantile) / np.log(float(ratio)))
        gaps = np.full(size, gap)
        hits = int((SystemDice().geometric(ratio, gaps, gaps + 1, size=size) > gap).sum())
        p = float(ratio) ** (gap + 1)
        assert abs(hits - size * p) <= 6 * (size * p * (1 - p)) ** 0.5 + 1


# discrete Gaussian


@pytest.mark.parametrize("sigma2", [Fraction(4), Fraction(40**2), Fraction(10**8) + THIRD])
def test_gaussian_blocks_hold_every_integer_once_and_the_coin_makes_up_its_weight(monkeypatch, sigma2):
    width, blocks, coins = sampling._block_width(sigma2), 12, []

    class Exhaustive(SystemDice):
        def below(self, n, size):
            assert n == width
            return np.tile(np.arange(width), size // width)

        def _survive(self, exponents, rate):
            assert rate == 1 / (2 * sigma2)
            coins.extend(exponents.tolist())
            return np.ones(exponents.size, dtype=bool)

    indices = np.repeat(np.arange(2 * blocks), width)
    monkeypatch.setattr(sampling, "_gaussian_table", lambda sigma2: Fixed(indices))
    proposed, accepted = Exhaustive()._gaussian_proposals(sigma2, indices.size)
    assert accepted.all()
    assert sorted(proposed.tolist()) == list(range(-blocks * width, blocks * width))
    # exp(-near**2 / (2 sigma2)) of the block times exp(-coin / (2 sigma2)) is the weight of the number
    # itself.
    near = indices // 2 * width + indices % 2
    assert (near**2 + np.array(coins or 0) == proposed**2).all()


@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1, 200), Fraction(1, 3)])
@pytest.mark.parametrize("digit", [1, 17, 255])
def test_a_survival_coin_is_exact_on_and_beside_its_boundary(rate, digit):
    p = exponential(rate * digit)
    for words in around(p, 1) + around(p, 5) + around(p, 9):
        rest = [int.from_bytes(native(*words[i : i + 4][::-1]), sys.byteorder) for i in range(1, 17, 4)]
        dice = Scripted(native(words[0]), *(big(word) for word in rest[: (len(words) - 1) // 4]))
        used = [*words[:1], *words[1 : 1 + 4 * ((len(words) - 1) // 4)]]
        assert dice._survive(np.array([digit]), rate).tolist() == [value(used) < p]


@pytest.mark.parametrize(
    "rate",
    [
        *(Fraction(1, 10**6), Fraction(1, 200), Fraction(40), Fraction(10**9)),
        *(Fraction(1, 2**57 - 2), Fraction(10**90, 10**90 * 2**30 + 7)),
    ],
    ids=float,
)
@pytest.mark.parametrize("position", [0, 1, 3, 6])
def test_survival_cuts_are_the_floors_of_the_probabilities(rate, position):
    cuts = sampling._survival_cuts(rate, position).tolist()
    assert cuts == [int(exponential(rate * (digit << 8 * position)) * 65536) for digit in range(256)]


@pytest.mark.parametrize("cut", [1, 30000, 65535])
@pytest.mark.parametrize("digit", [1, 77, 255])
def test_survival_cuts_are_floors_also_where_128_bits_leave_them_open(cut, digit, monkeypatch):
    # exp(-rate * digit) is about 10**-60 above or below cut / 65536.
    used, enclose = [], sampling.fixed_decay
    monkeypatch.setattr(sampling, "fixed_decay", lambda rate, bits: used.append(bits) or enclose(rate, bits))
    logarithms = log_bounds(Fraction(cut, 65536), 62)
    found = [
        sampling._survival_cuts.__wrapped__(-logarithm / digit, 0)[digit].item() for logarithm in logarithms
    ]
    assert found == [cut - 1, cut]
    assert used == [128, 256, 128, 256]


@pytest.mark.parametrize(
    "sigma2",
    [
        *(Fraction(1, 10**40), Fraction(1, 100), Fraction(1, 2), Fraction(22, 7), Fraction(1023)),
        *(Fraction(1024), Fraction(10**90 * 4000 + 1, 10**90), Fraction(10**9, 7), Fraction(2**56 - 1)),
    ],
    ids=float,
)
@pytest.mark.parametrize("bits", [0, 1, 20, 128, 300])
def test_weights_of_gaussian_blocks_enclose_the_exponentials(sigma2, bits):
    lows, errors, tail = sampling._gaussian_blocks(sigma2, bits)
    width, rate = sampling._block_width(sigma2), 1 / (2 * sigma2)
    nears = [k // 2 * width + k % 2 for k in range(2 * len(lows) + 200)]
    with localcontext() as context:
        context.prec = 160
        step = -Decimal(rate.numerator) / Decimal(rate.denominator)
        exact = [(step * near * near).exp() * (1 << bits) for near in nears]
        # 160 digits leave open by which side an exponential of 0 or nearly 0 is missed.
        for true, low, error in zip(exact, lows, errors, strict=False):
            assert low <= true <= low + error
        assert sum(exact[len(lows) :]) <= tail
    assert (lows[0], errors[0]) == (1 << bits, 0)
    assert set(errors[1:]) == {1}
    assert all(lows[:-1])
    assert lows[-1] == 0
    assert tail < 2000


def test_a_new_sigma2_costs_one_exponential_for_its_blocks_and_one_for_each_digit(monkeypatch):
    # Was (dplearn/chance/sampling.py, _gaussian_table and _survival_cuts): about 800 exponentials for the
    # blocks, and 256 for each digit.
    asked, enclose = [], sampling.fixed_decay
    monkeypatch.setattr(sampling, "fixed_decay", lambda rate, bits: asked.append(rate) or enclose(rate, bits))
    sigma2 = Fraction(10**12) + Fraction(1, 10**7 + 19)
    rate = 1 / (2 * sigma2)
    SeededDice(0).discrete_gaussian(sigma2, size=1000)
    assert asked == [rate * 256**k for k in (0, 0, 1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("sigma2", "digest"),
    [
        (Fraction(1, 50), "c3865e513a2281b6"),
        (Fraction(22, 7), "070ad5472b271458"),
        (Fraction(1000), "a62b45a764107cad"),
        (Fraction(10**6, 3), "de224c43982699ba"),
        (10**12 + Fraction(1, 7), "207da4fb4362699c"),
        (Fraction(2**56 - 1), "e9c178e29f860b96"),
    ],
    ids=str,
)
def test_seeded_gaussian_noise_is_that_of_tables_of_single_exponentials(sigma2, digest):
    # The digests were computed when each entry of a table was an exponential of its own.
    dice, hashed = SeededDice(1, "gaussian"), hashlib.sha256()
    for size in (1, 63, 64, 2000):
        hashed.update(dice.discrete_gaussian(sigma2, size=size).astype("<i8").tobytes())
    hashed.update(dice._bytes(8))  # and as many bytes were used
    assert hashed.hexdigest()[:16] == digest


def test_survival_needs_a_coin_for_every_digit_of_the_exponent():
    exponents, rate = np.array([300]), Fraction(1, 1000)  # 300 is 1 * 256 + 44
    outcomes = {
        (low, high): Scripted(native(low), native(high))._survive(exponents, rate).item()
        for low in (0, 65535)
        for high in (0, 65535)
    }
    assert outcomes == {(0, 0): True, (0, 65535): False, (65535, 0): False, (65535, 65535): False}
    assert Scripted()._survive(np.array([0, 0]), rate).all()


def test_a_refused_proposal_is_drawn_again(monkeypatch):
    verdicts = iter([np.array([True, False, False]), np.array([False, True]), np.array([True])])
    proposals = iter([np.array([1, 2, 3]), np.array([4, 5]), np.array([6])])
    monkeypatch.setattr(
        ByteDice, "_gaussian_proposals", lambda self, sigma2, size: (next(proposals), next(verdicts))
    )
    assert SystemDice().discrete_gaussian(Fraction(4), size=3).tolist() == [1, 6, 5]


@pytest.mark.parametrize(
    "sigma2", [Fraction(1, 10**4), Fraction(1, 50), 1, Fraction(22, 7), Fraction(2**56 - 1)]
)
def test_gaussian_noise_comes_at_every_scale(sigma2):
    sigma = float(sigma2) ** 0.5
    drawn = SystemDice().discrete_gaussian(Fraction(sigma2), size=200)
    assert drawn.dtype == np.int64
    assert abs(drawn).max() <= 20 * sigma + (sigma < 1)  # beyond 20 sigma once in exp(200) draws
    assert (abs(drawn) > sigma / 4).sum() > 50 or sigma < 1
    assert type(SystemDice().discrete_gaussian(Fraction(sigma2))) is int


@pytest.mark.parametrize(
    "sigma2", ["Fraction(1, 10**40)", pytest.param("Fraction(1, 10**8)", marks=pytest.mark.nightly)]
)
def test_gaussian_noise_far_narrower_than_one_ends(sigma2, program):
    # Was (dplearn/chance/sampling.py, _gaussian_table): it asks for exp(-1 / (2 sigma2)) as a Fraction, a
    # number of 1 / sigma2 digits, though 2**-bits bounds it well enough. From sigma2 = 10**-7 on it takes
    # for ever.
    ended = program(
        "from fractions import Fraction; from dplearn.chance import SystemDice\n"
        f"assert SystemDice().discrete_gaussian({sigma2}) == 0",
        seconds=4,
    )
    assert ended.returncode == 0, ended.stderr


# sizes


SIZED = {
    "below": lambda dice, size: dice.below(7, size=size),
    "below beyond 64 bits": lambda dice, size: dice.below(2**70, size=size),
    "bernoulli": lambda dice, size: dice.bernoulli(THIRD, size=size),
    "laplace": lambda dice, size: dice.discrete_laplace(HALF, -2, 2, size=size),
    "laplace of a huge scale": lambda dice, size: dice.discrete_laplace(
        HUGE_SCALE, -(10**30), 10**30, size=size
    ),
    "gaussian": lambda dice, size: dice.discrete_gaussian(Fraction(4), size=size),
    "gaussian of many blocks": lambda dice, size: dice.discrete_gaussian(Fraction(10**6), size=size),
}


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("size", [0, 1, 63, 64, 1000])
def test_as_many_come_as_asked_for_before_and_after_look_ups_are_made(name, size):
    sampling._geometric_tables.cache_clear()
    sampling._gaussian_table.cache_clear()
    dice = SystemDice()
    assert SIZED[name](dice, size).shape == (size,)
    SIZED[name](dice, 64)
    assert SIZED[name](dice, size).shape == (size,)
    assert type(SIZED[name](dice, None)) is int


@pytest.mark.parametrize("name", SIZED)
def test_draws_of_all_sizes_together_are_as_varied_as_their_law(name):
    dice = SystemDice()
    single = {SIZED[name](dice, None) for _ in range(300)}
    many = set(SIZED[name](dice, 300).tolist())
    assert min(len(single), len(many)) > 1
    assert abs(len(single) - len(many)) <= 60  # both ways see about as many different numbers


@pytest.mark.parametrize("name", [name for name in SIZED if "huge" not in name])
@pytest.mark.parametrize(
    "make", [SystemDice, lambda: SeededDice(0), EnumeratingDice], ids=["system", "seeded", "enumerating"]
)
def test_a_negative_size_is_a_value_error(make, name):
    dice = make()
    dice.below(256, size=100)
    with pytest.raises(ValueError, match=r"size|negative"):
        SIZED[name](dice, -5)


# bad arguments

BOTH = pytest.mark.parametrize("make", [SystemDice, EnumeratingDice])


@BOTH
@pytest.mark.parametrize(
    "draw",
    [
        lambda dice: dice.below(0),
        lambda dice: dice.below(-3, size=2),
        lambda dice: dice.bernoulli(0.5),
        lambda dice: dice.bernoulli(Fraction(-1, 2)),
        lambda dice: dice.bernoulli(Fraction(3, 2), size=2),
        lambda dice: dice.power_weighted(Fraction(1), [0], [1]),
        lambda dice: dice.power_weighted(0.5, [0], [1]),
        lambda dice: dice.permute_and_flip(Fraction(0), [0], [1]),
        lambda dice: dice.discrete_laplace(Fraction(1), 0, 1),
        lambda dice: dice.discrete_laplace(HALF, 1, 0),
        lambda dice: dice.geometric(Fraction(2)),
        lambda dice: dice.geometric(HALF, 3, 2),
        lambda dice: dice.discrete_gaussian(Fraction(0)),
        lambda dice: dice.discrete_gaussian(-1),
        lambda dice: dice.discrete_gaussian(4.0),
    ],
)
def test_a_bad_public_argument_is_a_value_error_that_names_it(make, draw):
    with pytest.raises(ValueError, match=r"^(n|p|ratio|low|sigma2) must be"):
        draw(make())


@BOTH
@pytest.mark.parametrize(
    "low", [np.array([0]), np.array([0, 1, 2]), np.array([0.0, 1.0]), np.zeros((2, 1), int)]
)
def test_ends_that_do_not_match_the_draws_are_refused_without_quoting_them(make, low):
    with pytest.raises(
        ValueError, match=r"^ends must be integers, or integer arrays with one end for each draw$"
    ):
        make().discrete_laplace(HALF, low, None, size=2)


@pytest.mark.parametrize("sigma2", [Fraction(2**56), Fraction(2**5000)], ids=["2**56", "2**5000"])
def test_a_gaussian_too_wide_for_64_bits_is_refused(sigma2):
    with pytest.raises(ValueError, match=r"below 2\*\*56"):
        SystemDice().discrete_gaussian(sigma2)


@BOTH
@pytest.mark.parametrize("primitive", ["power_weighted", "permute_and_flip"])
@pytest.mark.parametrize(
    ("exponents", "multiplicities"),
    [
        ([777777], [-888888]),
        ([777777, 888888], [0, 0]),
        ([777777], [888888, 999999]),
        ([777777, 888888], [999999]),
        ([], []),
    ],
)
def test_bad_groups_are_a_value_error_that_tells_no_private_value(make, primitive, exponents, multiplicities):
    with pytest.raises(ValueError, match=r"multiplicities|argument") as refused:
        getattr(make(), primitive)(HALF, exponents, multiplicities)
    assert not any(digit in str(refused.value) for digit in "789")


@BOTH
@pytest.mark.parametrize("primitive", ["power_weighted", "permute_and_flip"])
@pytest.mark.parametrize(("exponents", "multiplicities"), [([0.9, 1.9], [1, 1]), ([0, 1], [1.5, 1])])
def test_exponents_and_multiplicities_that_are_not_integers_are_refused(
    make, primitive, exponents, multiplicities
):
    # Rounded down without a word they would follow another law.
    with pytest.raises((TypeError, ValueError)):
        getattr(make(), primitive)(HALF, exponents, multiplicities)


def test_numpy_integers_are_integers():
    exponents, multiplicities = np.array([3, 1], dtype=np.uint8), np.array([1, 2])
    assert SeededDice(0).power_weighted(HALF, exponents, multiplicities) in (0, 1)
    assert SeededDice(0).permute_and_flip(HALF, exponents, multiplicities) in (0, 1)
