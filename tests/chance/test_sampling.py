"""Each primitive joins its tables as its identity says, at every scale, and refuses bad arguments."""

import hashlib
import sys
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from dplearn.chance import SeededDice, SystemDice, sampling
from dplearn.kernels import (
    decay_ratio,
    gaussian_probabilities,
    laplace_probabilities,
    log_bounds,
    permute_and_flip_probabilities,
    power_probabilities,
)
from tests.chance.test_table import exponential

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
ratios = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50)
groups = st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), min_size=1, max_size=5).filter(
    lambda pairs: any(m for _, m in pairs)
)
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
HUGE_SCALE = decay_ratio(Fraction(1, 10**20))


class Scripted(sampling.ByteDice):
    """Dice whose requests for bytes are answered from a list, each piece to a request of just its length."""

    def __init__(self, *pieces: bytes):
        self.pieces = iter(pieces)

    def take(self, count):
        if not count:
            return b""
        piece = next(self.pieces)
        assert len(piece) == count
        return piece

    _bytes = take

    def finished(self) -> bool:
        return next(self.pieces, None) is None


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


def test_below_gives_every_number_the_same_share_of_the_accepted_bytes():
    # Five numbers need 3 bits: 8 * 32 bytes, of which those that mean 5, 6 and 7 are drawn again (here as
    # 4).
    every_byte = [Scripted(bytes([b]), bytes([4 << 5])).below(5) for b in range(256)]
    assert np.bincount(every_byte).tolist() == [32, 32, 32, 32, 32 + 96]
    together = Scripted(bytes(range(256)), bytes([4 << 5] * 96))
    assert together.below(5, size=256).tolist() == every_byte
    assert together.finished()


def test_below_is_exact_beyond_64_bits():
    # 2**64 + 1 numbers need 65 bits, the upper ones of nine bytes: 2**64 is the last that is accepted.
    last, first_refused = (2**64 << 7).to_bytes(9, "big"), ((2**64 + 1) << 7).to_bytes(9, "big")
    assert Scripted(last).below(2**64 + 1) == 2**64
    assert Scripted(first_refused, last).below(2**64 + 1) == 2**64
    assert Scripted(first_refused, last, bytes(9)).below(2**64 + 1, size=2).tolist() == [2**64, 0]


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
            depths.add(len(words) - len(list(dice.pieces)))
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


@repeatable
@given(ratios, groups, st.integers(-(10**30), 10**30), st.integers(0, 2**32))
def test_adding_a_constant_to_all_exponents_changes_no_draw(ratio, pairs, shift, seed):
    exponents, multiplicities = zip(*pairs, strict=True)
    shifted = [e + shift for e in exponents]
    for primitive in ("power_weighted", "permute_and_flip"):
        draw, again = (getattr(SeededDice(seed), primitive) for _ in range(2))
        assert draw(ratio, exponents, multiplicities) == again(ratio, shifted, multiplicities)
        with pytest.raises(ValueError, match="exponents"):
            draw(ratio, exponents, [*multiplicities, 1])


@repeatable
@given(ratios, groups, st.sampled_from([1, 9, 2**58, 2**64]), st.sampled_from([1, 2**59, 2**70]))
def test_levels_hold_every_member_once_and_the_coin_makes_up_its_weight(ratio, pairs, apart, each):
    exponents, multiplicities = [e * apart for e, _ in pairs], [m * each for _, m in pairs]
    order, *ordered = sampling.check_many_groups(exponents, multiplicities)
    levels, seen = sampling.Levels(ratio, *ordered), Counter()
    for level, (bound, size) in enumerate(zip(levels.bounds, levels.sizes, strict=True)):
        for place in range(0, size, each):
            for member in (place, place + each - 1):
                group, excess = levels.member(level, member)
                assert exponents[order[group]] == bound + excess >= bound
                assert not excess or excess * -log(ratio) <= log(2) or level == len(levels.sizes) - 1
            seen[int(order[group])] += each
    assert seen == Counter(dict(enumerate(multiplicities)))


def test_of_many_groups_one_is_drawn_until_the_coin_accepts_it(monkeypatch):
    coins, weights = [], Fraction(9, 10)

    class Refusing(SeededDice):
        def geometric(self, ratio, low, high):
            coins.append((ratio, low, high))
            return high if len(coins) == 3 else low

    monkeypatch.setattr(sampling, "MANY_GROUPS", 1)
    assert Refusing(0).power_weighted(weights, [6, 1, 5], [2**70, 1, 1]) == 0
    assert coins == [(weights, 4, 5)] * 3
    assert SeededDice(0).power_weighted(Fraction(1, 2), [0, 2], [10**400, 1]) == 0  # more than any float


def test_many_groups_whose_weights_fall_at_once_are_not_all_one_level():
    class WithoutCoins(SeededDice):
        geometric = None

    assert WithoutCoins(0).power_weighted(Fraction(1, 2**200), range(300), [1, *[2**60] * 299]) == 0


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
    assert len(list(dice.pieces)) == (2 if step < 0 else 0)


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
    assert len(list(dice.pieces)) == (2 if step < 0 else 0)


@repeatable
@given(ratios, st.integers(0, 2**32), st.lists(st.integers(-9, 9), min_size=1, max_size=9))
@example(Fraction(49, 50), 0, [-3, 0, 5])  # of two digits
def test_noise_is_moved_to_its_ends_and_not_drawn_again(ratio, seed, lows):
    lows = np.array(lows)
    highs = lows + 3
    for primitive in ("discrete_laplace", "geometric"):

        def drawn(low, high, size=lows.size, name=primitive):
            return getattr(SeededDice(seed), name)(ratio, low, high, size=size)

        free = drawn(None, None)
        assert drawn(lows, highs).tolist() == np.clip(free, lows, highs).tolist()
        wide = drawn(lows.astype(object), highs.astype(object) + 2**80)
        assert wide.tolist() == np.maximum(free, lows).tolist()
        one, low, high = drawn(None, None, None), int(lows[0]), int(highs[0])
        assert drawn(low, high, None) == min(max(one, low), high)
        assert (drawn(low - 1, low, None) == low) == (one >= low)
        assert drawn(low, high).tolist() == np.clip(free, low, high).tolist()
    dice = SeededDice(seed)
    pair = [dice.geometric(ratio) for _ in range(2)]
    assert min(pair) >= 0
    assert SeededDice(seed).discrete_laplace(ratio) == pair[0] - pair[1]


@pytest.mark.parametrize("ratio", [HALF, decay_ratio(Fraction(700)), HUGE_SCALE])
def test_ends_of_any_size_are_kept(ratio):
    # Were (dplearn/chance/sampling.py, discrete_laplace): OverflowError where ends lie beyond 64 bits; and
    # where a private gap does, which decides between an answer and that error.
    dice = SystemDice()
    for end in (-(2**70), -(2**62), -1, 0, 3, 2**62, 2**70):
        assert dice.discrete_laplace(ratio, end, end) == end
        assert dice.discrete_laplace(ratio, end, end, size=3).tolist() == [end] * 3
    for gap in (2**64, 2**70, 10**100) if ratio != HUGE_SCALE else [10**100]:
        assert dice.discrete_laplace(ratio, gap - 1, 2 * gap) == gap - 1
        assert dice.discrete_laplace(ratio, -gap - 1, -gap) == -gap
        assert dice.geometric(ratio, gap - 1, gap) == gap - 1


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


@pytest.mark.parametrize("ratio", [Fraction(63, 64), decay_ratio(Fraction(1, 10**5))])
def test_every_digit_has_the_law_of_a_geometric_variables_digit(ratio):
    """P[digit <= d] = (1 - r**((d + 1) unit)) / (1 - r**(256 unit)); the first, which goes on, without /."""
    first, *lower = sampling.geometric_tables.__wrapped__(ratio)
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
        assert (log * 256 ** len(lower)).exp() <= Decimal("0.95")  # as power_blocks needs it


def assert_ends(table, ends):
    for d, end in enumerate(ends):
        low, high = table.bounds(d, 64)
        assert low <= end * 2**64 <= high


class Fixed:
    """Stands in for a table: gives out what it was given, request by request."""

    def __init__(self, *drawn: list[int]):
        self.drawn = iter(drawn)

    def draw_many(self, source, size):
        drawn = np.array(next(self.drawn, [1] * size))
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
    monkeypatch.setattr(sampling, "geometric_tables", lambda ratio: tables)
    total = SystemDice().geometric(HALF, size=3)
    assert total.tolist() == [a * 256**2 + b * 256 + c for a, b, c in expected]
    one = [Fixed([256], [256], [9]), Fixed([10]), Fixed([1])]
    monkeypatch.setattr(sampling, "geometric_tables", lambda ratio: one)
    assert SystemDice().geometric(HALF) == (512 + 9) * 256**2 + 10 * 256 + 1


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
    monkeypatch.setattr(sampling, "geometric_tables", lambda ratio: tables)
    assert SystemDice().geometric(HALF, low, high, size=size).tolist() == np.clip(whole, low, high).tolist()


@pytest.mark.parametrize("sigma2", [Fraction(4), Fraction(40**2), Fraction(10**8) + THIRD])
def test_gaussian_blocks_hold_every_integer_once_and_the_coin_makes_up_its_weight(monkeypatch, sigma2):
    width, blocks, coins = sampling.block_width(sigma2), 12, []

    class Exhaustive(SystemDice):
        def below(self, n, size):
            assert n == width
            return np.tile(np.arange(width), size // width)

    def survivors(exponents, rate, source):
        assert rate == 1 / (2 * sigma2)
        coins.extend(exponents.tolist())
        return np.ones(exponents.size, dtype=bool)

    monkeypatch.setattr(sampling, "survivors", survivors)
    indices = np.repeat(np.arange(2 * blocks), width)
    monkeypatch.setattr(sampling, "gaussian_table", lambda sigma2: Fixed(indices))
    proposed = Exhaustive().discrete_gaussian(sigma2, indices.size)
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
        assert sampling.survivors(np.array([digit]), rate, dice.take).tolist() == [value(used) < p]


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
    cuts = sampling.survival_cuts(rate, position).tolist()
    assert cuts == [int(exponential(rate * (digit << 8 * position)) * 65536) for digit in range(256)]


@pytest.mark.parametrize("cut", [1, 30000, 65535])
@pytest.mark.parametrize("digit", [1, 77, 255])
def test_survival_cuts_are_floors_also_where_128_bits_leave_them_open(cut, digit, monkeypatch):
    # exp(-rate * digit) is about 10**-60 above or below cut / 65536.
    used, enclose = [], sampling.fixed_decay
    monkeypatch.setattr(sampling, "fixed_decay", lambda rate, bits: used.append(bits) or enclose(rate, bits))
    logarithms = log_bounds(Fraction(cut, 65536), 62)
    found = [
        sampling.survival_cuts.__wrapped__(-logarithm / digit, 0)[digit].item() for logarithm in logarithms
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
@pytest.mark.parametrize("bits", [0, 20, pytest.param(128, marks=pytest.mark.nightly)])
def test_weights_of_gaussian_blocks_enclose_the_exponentials(sigma2, bits):
    lows, errors, tail = sampling.gaussian_blocks(sigma2, bits)
    width, rate = sampling.block_width(sigma2), 1 / (2 * sigma2)
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
    assert set(errors[1:-1]) <= {2}
    assert errors[-1] == 1
    assert all(lows[:-1])
    assert lows[-1] == 0
    assert tail < 2000


def test_a_new_sigma2_costs_one_exponential_for_its_blocks_and_one_for_its_coins(monkeypatch):
    # Was (dplearn/chance/sampling.py, gaussian_table and survival_cuts): about 800 exponentials for the
    # blocks, and 256 for each digit of a coin.
    asked, enclose = [], sampling.fixed_decay
    monkeypatch.setattr(sampling, "fixed_decay", lambda rate, bits: asked.append(rate) or enclose(rate, bits))
    sigma2 = Fraction(10**12) + Fraction(1, 10**7 + 19)
    rate = 1 / (2 * sigma2)
    SeededDice(0).discrete_gaussian(sigma2, size=1000)
    assert asked == [rate, rate]


def test_seeded_gaussian_noise_is_that_of_tables_of_single_exponentials():
    # The digest was computed where each entry of a table was an exponential of its own.
    hashed, wide = hashlib.sha256(), 10**12 + Fraction(1, 7)
    for sigma2 in (Fraction(1, 50), Fraction(22, 7), Fraction(10**6, 3), wide, Fraction(2**56 - 1)):
        dice = SeededDice(1, "gaussian")
        for size in (1, 63, 64, 500):
            hashed.update(dice.discrete_gaussian(sigma2, size=size).astype("<i8").tobytes())
        hashed.update(dice.below(1 << 64).to_bytes(8, "big"))  # and as many bytes were used
    assert hashed.hexdigest()[:16] == "722ab3b4dc6cdc9c"


GROUPS = [5, 3, 9, 4], [2, 1, 2**9, 0]


def gaussian_law(sigma2):
    support, masses, _ = gaussian_probabilities(sigma2, 60)
    return dict(zip(support, masses, strict=True))


FIFTHS = dict.fromkeys(range(5), Fraction(1, 5))
RATIO = Fraction(99, 100)
#: By name: one draw or several, and the exact probabilities.
LAWS = {
    **{
        f"below {5 << bits}": (lambda dice, size, bits=bits: dice.below(5 << bits, size=size) >> bits, FIFTHS)
        for bits in (0, 8, 20, 40, 70)
    },
    "below 1": (lambda dice, size: dice.below(1, size=size), {0: Fraction(1)}),
    **{
        f"a coin of {p}": (lambda dice, size, p=p: dice.bernoulli(p, size=size), {0: 1 - p, 1: p})
        for p in (0, THIRD, Fraction(1))
    },
    "laplace": (
        lambda dice, size: dice.discrete_laplace(RATIO**10, -9, 7, size=size),
        dict(zip(range(-9, 8), laplace_probabilities(RATIO**10, -9, 7), strict=True)),
    ),
    "geometric of two digits": (
        lambda dice, size: dice.geometric(RATIO, 0, 400, size=size) // 50,
        {k: RATIO ** (50 * k) * (1 - RATIO**50) for k in range(8)} | {8: RATIO**400},
    ),
    "gaussian": (lambda dice, size: dice.discrete_gaussian(Fraction(3), size=size), gaussian_law(3)),
    "gaussian of wide blocks": (
        lambda dice, size: dice.discrete_gaussian(Fraction(4000), size=size) // 40,
        {k: sum(p for i, p in gaussian_law(4000).items() if i // 40 == k) for k in range(-6, 6)},
    ),
    "power weighted": (
        lambda dice, size: repeated(lambda: dice.power_weighted(HALF, *GROUPS), size),
        dict(enumerate(power_probabilities(HALF, *GROUPS))),
    ),
    "permute and flip": (
        lambda dice, size: repeated(lambda: dice.permute_and_flip(HALF, *GROUPS), size),
        dict(enumerate(permute_and_flip_probabilities(HALF, *GROUPS))),
    ),
}


def repeated(draw, size):
    """Draw one by one what has no size."""
    return draw() if size is None else np.array([draw() for _ in range(min(size, 100))], dtype=int)


def p_value(seen, law):
    """Of the chi-square test of outcomes against a law, with all that are improbable in one cell."""
    n = len(seen)
    counts, likely = Counter(seen), {k: float(p) for k, p in law.items() if n * p >= 5}
    rest = 1 - sum(likely.values())
    statistic = sum((counts[k] - n * p) ** 2 / (n * p) for k, p in likely.items())
    others = n - sum(counts[k] for k in likely)
    if rest <= 1e-12:
        return float(not others and chi2.sf(statistic, max(len(likely) - 1, 1)))
    return chi2.sf(statistic + (others - n * rest) ** 2 / max(n * rest, 1), len(likely))


@pytest.mark.parametrize("name", LAWS)
def test_draws_of_all_sizes_have_their_exact_law_and_a_law_that_is_off_by_a_tenth_is_refuted(name):
    draw, law = LAWS[name]
    sampling.geometric_tables.cache_clear()
    sampling.gaussian_table.cache_clear()
    dice, seen = SystemDice(), []
    for size in (0, 1, 63, 64, 1, 63, 20_000):  # before and after look-ups are made
        drawn = draw(dice, size)
        assert drawn.shape == (size,) or size > 100
        seen.extend(drawn.tolist())
    single = [draw(dice, None) for _ in range(150)]
    assert {type(each) for each in single} == {int}
    assert p_value(seen, law) > 1e-9
    assert p_value(single, law) > 1e-9
    if max(law.values()) < 1 and len(seen) > 5000:
        signs = [1 + Fraction((-1) ** i, 10) for i in range(len(law))]
        other = {k: p * sign for (k, p), sign in zip(law.items(), signs, strict=True)}
        assert p_value(seen, {k: p / sum(other.values()) for k, p in other.items()}) < 1e-9
