"""The sums of additive models move by no more than their bounds, which hill climbing nearly attains."""

import math
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.chance import SeededDice
from dplearn.domains import Categories, Floats, IntegerRange
from dplearn.learners.additive import queries, steps
from dplearn.learners.additive.losses import MARGIN_BITS, LogisticLoss, SquaredLoss
from dplearn.learners.additive.model import JointBasis
from dplearn.learners.additive.queries import (
    ColumnBundles,
    Rows,
    grouped,
    margins_of,
    mass_query,
    moment_query,
    residual_norm,
    residual_query,
)
from dplearn.queries import HistogramQuery, LabelledRows
from dplearn.queries.noise import CentralNoise, LocalNoise
from dplearn.queries.oracle import BudgetedOracle
from dplearn.table.targets import STEPS

DOMAIN = [
    IntegerRange(0, 30),
    Categories(["a", "b", "c"]),
    Floats(missing=True),
    IntegerRange(0, 200, missing=True),
]
SETTINGS = {"gaussian": {}, "laplace": {"delta": 0}}


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = rng.integers(0, 31, n)
    X[:, 1] = rng.choice(["a", "b", "c"], n, p=[0.8, 0.15, 0.05])
    X[:, 2] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(0, 10, n))
    X[:, 3] = np.where(rng.random(n) < 0.1, np.nan, rng.binomial(200, 0.2, n))
    return X, X[:, 0].astype(float) / 30 + (X[:, 1] == "a")


@cache
def asked(kind, n_labels, n=800, steps=2):
    """Return the columns of a fit, and all queries that it asks."""
    X, score = table(n)
    if n_labels:
        y = np.digitize(score, np.quantile(score, np.arange(1, n_labels) / n_labels))
        model = AdditiveClassifier(domain=DOMAIN, classes=range(n_labels), random_state=0)
    else:
        y, model = score, AdditiveRegressor(domain=DOMAIN, target_range=(-3, 3), random_state=0)
    model.set_params(**{"epsilon": 3.0, **SETTINGS[kind]})
    model._steps = steps
    return asked_by(model, X, y)


def asked_by(model, X, y):
    """Return the columns of a fit, and all queries that it asks, as queries about its records."""
    queries, images = [], []
    right, mapped = {kind: kind.answer for kind in (CentralNoise, LocalNoise)}, BudgetedOracle.map

    def spied(self, query, *task):
        of_records = copy(query)
        for image in images:
            of_records._function = lambda records, image=image: query.values(image(records))
        queries.append(of_records)
        return right[type(self)](self, query, *task)

    def noted(self, image):
        if getattr(image, "func", None) is steps._image:  # else from rows to its records
            images.append(image)
        return mapped(self, image)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BudgetedOracle, "map", noted)
        for kind in right:
            patch.setattr(kind, "answer", spied)
        model._fit(X, y, SeededDice(1))
    return [shape.column for shape in model.shapes_], queries


def greatest_move(query, columns, n_codes, order, rounds=30, crowd=96, seed=0):
    """Return the greatest move of a query's totals that hill climbing over pairs of records finds."""
    rng = np.random.default_rng(seed)
    sizes = [column.size for column in columns]

    def code(n):
        if n_codes:
            return rng.integers(0, n_codes, n)
        return rng.choice([-STEPS, STEPS, 0, int(rng.integers(-STEPS, STEPS + 1))], n)

    def values(cells, y):
        found = query.values(LabelledRows(cells.astype(np.int16), y)).astype(np.float64)
        return np.eye(query.size)[found.astype(int)] if found.ndim == 1 else found

    def moves(X, y):
        return (np.abs(values(X[0], y[0]) - values(X[1], y[1])) ** order).sum(axis=1)

    X = np.stack([np.stack([rng.integers(0, size, crowd) for size in sizes], axis=1) for _ in range(2)])
    y = np.stack([code(crowd), code(crowd)])
    best = moves(X, y)
    for _ in range(rounds):
        # Each pair tries one change of one of its records.
        for side in (0, 1):
            for place in range(len(sizes) + 1):
                one, other = X.copy(), y.copy()
                if place == len(sizes):
                    other[side] = code(crowd)
                else:
                    one[side, :, place] = rng.integers(0, sizes[place], crowd)
                found = moves(one, other)
                better = found >= best
                X[:, better], y[:, better], best[better] = one[:, better], other[:, better], found[better]
    return float(best.max())


def bound(query, order):
    return query.l1 if order == 1 else query.squared_l2


#: The least share of the bound on each move that is found. With Laplace noise, residuals of three labels are
#: at most two labels' apart in their L1 norm, which hill climbing rarely finds. With Gaussian noise and three
#: labels, targets are centred on released shares: only the rarest label has the greatest target.
LEAST = {("laplace", 3): 0.6, ("gaussian", 3): 0.65}


@pytest.mark.first_by_day
@pytest.mark.parametrize("n_labels", [2, 3, 0])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_no_pair_of_records_moves_a_sum_of_a_fit_further_than_its_noise_is_for(kind, n_labels):
    columns, queries = asked(kind, n_labels)
    order = 1 if kind == "laplace" else 2
    shares = [greatest_move(query, columns, n_labels, order) / bound(query, order) for query in queries]
    assert max(shares) <= 1
    histograms = [
        share for share, query in zip(shares, queries, strict=True) if isinstance(query, HistogramQuery)
    ]
    assert histograms == [1.0] * len(histograms)
    vectors = [
        share for share, query in zip(shares, queries, strict=True) if not isinstance(query, HistogramQuery)
    ]
    assert min(vectors) > LEAST.get((kind, n_labels), 0.9)
    assert min(vectors) > 2**-order  # with half of the bound on the distance, each fails


def test_no_pair_of_records_moves_a_sum_of_a_linear_fit_further_than_its_noise_is_for():
    columns, queries = asked("gaussian", 3, n=60, steps=None)
    _, mean_row, labels, *scores = queries  # the first, for the masses, is that of other fits
    assert len(scores) == 2
    found = [greatest_move(query, columns, 3, 2) / bound(query, 2) for query in (mean_row, labels)]
    assert max(found) <= 1
    assert min(found) > 0.6  # rows have a number 1 in common before they get one length: none are opposite
    assert [greatest_move(query, columns, 3, 2) / bound(query, 2) for query in scores] == [1.0, 1.0]


#: Of few values: all records are tried.
FEW = [
    IntegerRange(0, 3, missing=True),
    Categories(["a", "b", "c"]),
    IntegerRange(0, 2),
    Categories(["a", "b"]),
]


@pytest.mark.parametrize("n_labels", [2, 3, 0])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_no_record_moves_a_sum_of_a_fit_for_added_records_further_than_its_noise_is_for(kind, n_labels):
    rng = np.random.default_rng(0)
    X = np.empty((400, 4), dtype=object)
    X[:, 0], X[:, 2] = rng.choice([np.nan, 0, 1, 2, 3], 400), rng.integers(0, 3, 400)
    X[:, 1], X[:, 3] = rng.choice(["a", "b", "c"], 400), rng.choice(["a", "b"], 400)
    score = X[:, 2].astype(float) + (X[:, 1] == "a") * (X[:, 3] == "a")
    given = {"domain": FEW, "interactions": True, "neighbors": "add_remove", "epsilon": 3.0, **SETTINGS[kind]}
    if n_labels:
        model = AdditiveClassifier(classes=range(n_labels), **given)
        y, codes = np.minimum(score.astype(int), n_labels - 1), np.arange(n_labels)
    else:
        model, y = AdditiveRegressor(target_range=(-3, 3), **given), score
        codes = np.array([-STEPS, -STEPS + 1, -12345, -1, 0, 1, 54321, STEPS - 1, STEPS])
    model._steps = 2
    columns, queries = asked_by(model, X, y)
    sizes = [range(column.size) for column in columns]
    *cells, targets = np.stack(np.meshgrid(*sizes, codes, indexing="ij")).reshape(5, -1)
    records = LabelledRows(np.stack(cells, axis=1).astype(np.int16), targets)
    vectors = [query for query in queries if not isinstance(query, HistogramQuery)]
    assert len(vectors) > 3
    shares = []
    for query in vectors:
        rows = query.values(records).astype(object)
        found = {
            1: (abs(rows).sum(axis=1).max(), query.added_l1),
            2: ((rows**2).sum(axis=1).max(), query.added_squared_l2),
        }
        assert all(most <= bound for most, bound in found.values())
        most, bound = found[1 if kind == "laplace" else 2]
        shares.append(most / bound)
    # Targets of three labels are centred on released shares, so that only the rarest has the greatest.
    assert min(shares) > (0.5 if n_labels == 3 else 0.8)


def joint_rows(length, n_cells=9, d=4):
    """Return rows of four columns, with one number of each column and 30 joint features."""
    rng = np.random.default_rng(0)
    scores = [np.linspace(-2.0, 2.0, n_cells)] * d
    cells = rng.integers(0, n_cells, (600, d))
    basis = JointBasis.of(scores, np.ones(d), np.eye(d), cells, size=30, amplitude=1.7)
    tables = [0.1 * score[:, None] for score in scores]
    rows = Rows.of(tables, constant=0.1, length=length, bits=9)
    return replace(rows, joint=basis.rounded(rows.unit))


@pytest.mark.parametrize("length", [0.05, 0.7, 1.1, 3.0])
def test_rows_with_joint_features_are_shortened_to_the_reach_and_sums_move_no_further(length):
    rows, columns = joint_rows(length), [SimpleNamespace(size=9)] * 4
    rng = np.random.default_rng(0)
    records = LabelledRows(rng.integers(0, 9, (3000, 4)).astype(np.int16), rng.integers(0, 2, 3000))
    whole, factors = rows.of_records(records), rows.block(records).weights
    squares = (whole.astype(object) ** 2).sum(axis=1) * factors.astype(object) ** 2
    assert max(squares) <= (rows.reach << queries.WEIGHT_BITS) ** 2
    joint = (whole[:, rows.joint_slice] ** 2).sum(axis=1)
    assert (joint > (whole**2).sum(axis=1) / 2).mean() > 0.9
    loss = LogisticLoss(Fraction(1, 2))
    weights = rng.normal(size=(30, 1)) * rows.unit
    margins = margins_of([np.zeros((9, 1))] * 4, np.zeros(1), weights)
    query = residual_query(
        rows, lambda block: loss.residuals(margins(block), block.y), n_outputs=1, reach=2048, bits=11
    )
    share = greatest_move(query, columns, 2, 2) / query.squared_l2
    assert share <= 1
    if length < 2:  # no row is as long as 3
        assert share > 0.9


def test_the_means_of_a_target_and_of_its_square_move_by_at_most_their_bound():
    [query] = SquaredLoss(bits=6).base_queries()
    targets = np.arange(-STEPS, STEPS + 1, STEPS // 64)
    rows = query.inputs(LabelledRows(np.zeros((len(targets), 1), np.int16), targets))
    moves = rows[:, None, :] - rows[None, :, :]
    assert 0.95 < (moves**2).sum(axis=2).max() / query.squared_l2 <= 1
    assert 0.95 < np.abs(moves).sum(axis=2).max() / query.l1 <= 1
    assert 0.95 < (rows**2).sum(axis=1).max() / query.added_squared_l2 <= 1
    assert np.abs(rows).sum(axis=1).max() == query.added_l1


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_a_total_is_the_sum_of_values_each_of_which_is_of_its_own_record(kind, monkeypatch):
    monkeypatch.setattr(queries, "_BLOCK", 7)
    columns, found = asked(kind, 3)
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, column.size, 40) for column in columns], axis=1).astype(np.int16)
    records = LabelledRows(X, rng.integers(0, 3, 40))
    order = rng.permutation(40)
    for query in found:
        values, each = query.values(records), query.inputs(records)
        alone = [query.values(records[np.array([place])])[0] for place in range(40)]
        assert values.dtype.kind in "iu"
        assert (values == np.array(alone)).all()
        assert (query.values(records[order]) == values[order]).all()
        assert (each == values).all()  # none is longer than its norm
        if not isinstance(query, HistogramQuery):
            assert (query.total(records) == values.sum(axis=0)).all()
            assert (query.total(records[order]) == query.total(records)).all()


def test_no_vector_is_longer_than_its_norm():
    columns, queries = asked("gaussian", 0)
    rng = np.random.default_rng(1)
    X = np.stack([rng.integers(0, column.size, 500) for column in columns], axis=1).astype(np.int16)
    records = LabelledRows(X, rng.integers(-STEPS, STEPS + 1, 500))
    for query in queries:
        if not isinstance(query, HistogramQuery):
            squares = (query.values(records).astype(np.int64) ** 2).sum(axis=1)
            assert 0 < squares.max() <= query.norm**2


def test_factors_of_other_records_are_never_taken_from_the_cache():
    rows = Rows.of([np.array([[1.0], [9.0]])], constant=0.0, length=1.0, bits=3)
    near, far = (LabelledRows(np.array([[cell]]), np.array([0])) for cell in (0, 1))
    assert rows.block(near).weights.tolist() == [1024]
    assert rows.block(far).weights.tolist() == [1024 // 9]
    assert rows.block(near).weights.tolist() == [1024]
    for cell in (0, 1) * 20:  # objects that are gone at once, so that others get their identity
        found = rows.block(LabelledRows(np.array([[cell]]), np.array([0]))).weights.tolist()
        assert found == [1024 // 9 if cell else 1024]


@pytest.mark.parametrize("order", [1, 2])
def test_a_shortening_factor_is_the_greatest_that_keeps_the_norm(order):
    rows = Rows([], 0, 512, 1.0, order)
    lengths = np.array([0, 1, 512**order - 1, 512**order, 512**order + 1, 3**19, 2**40 + 1, 2**61])
    for k, length in zip(rows.shortened(lengths).tolist(), lengths.tolist(), strict=True):
        assert k**order * length <= (512 << 10) ** order
        assert k == 1024 or (k + 1) ** order * length > (512 << 10) ** order


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, -1e300])
def test_released_tables_of_any_numbers_keep_the_norm(bad):
    tables = [np.array([[bad, 1.0], [0.0, bad]]), np.array([[bad], [1e-300]])]
    with np.errstate(all="ignore"):
        rows = Rows.of(tables, constant=bad, length=1.0, bits=9)
    loss = LogisticLoss(Fraction(1))
    query = residual_query(rows, lambda records: loss.targets(records.y), n_outputs=1, reach=2048, bits=11)
    records = LabelledRows(np.array([[i, j] for i in (0, 1) for j in (0, 1)]), np.array([0, 1, 0, 1]))
    assert ((query.values(records).astype(object) ** 2).sum(axis=1) <= query.norm**2).all()
    assert (query.inputs(records) == query.values(records)).all()


def test_products_are_rounded_so_that_they_are_no_longer_than_before():
    rng = np.random.default_rng(0)
    for order in (1, 2):
        residuals = rng.integers(-2000, 2000, (4000, 5))
        reach = int(np.ceil((np.abs(residuals) ** order).sum(axis=1).max() ** (1 / order)))
        weights = rng.integers(0, 1025, 4000)
        for bits in (0, 4, 11):
            shift, products = 12 + 10 - bits, residuals * weights[:, None]
            rounded = queries._rounded(products, shift, (reach * weights) >> shift, order)
            most = reach * weights / 2**shift
            assert ((np.abs(rounded) ** order).sum(axis=1) <= most**order).all()
            assert np.abs(rounded - products / 2**shift).max() < 1
    assert residual_norm(2048, 512, 11) == 2048 * 256


def test_moments_are_those_of_shortened_rows():
    rows = Rows.of([np.array([[3.0], [0.5]]), np.array([[4.0], [0.25]])], constant=0.0, length=1.0, bits=6)
    query = moment_query(rows)
    records = LabelledRows(np.array([[0, 0], [1, 1]]), np.array([0, 0]))
    short = np.array([[0.6, 0.8], [0.5, 0.25]])
    expected = [short[:, 0] @ short[:, 0], short[:, 0] @ short[:, 1], short[:, 1] @ short[:, 1]]
    assert query.total(records) / np.array([5, 7, 5]) / 64**2 == pytest.approx(expected, abs=0.03)


def test_masses_of_a_single_cell_have_noise_although_nothing_moves_them():
    query = mass_query(Rows.of([np.ones((1, 1))], constant=0.0, length=1.0, bits=0))
    assert (query.squared_l2, query.l1, query.norm) == (1, 1, 1)
    assert math.isqrt(query.norm) == 1


def test_adjacent_columns_are_grouped_while_their_codes_are_few():
    assert grouped([66, 66, 66]).bundles == ((66, 66), (66,))
    assert grouped([3, 4, 5, 6, 512, 2]).bundles == ((3, 4, 5, 6), (512, 2))
    assert grouped([1 << 15, 1, 256, 256]).bundles == ((1 << 15,), (1, 256), (256,))
    assert max(grouped([2] * 40).sizes) <= 1 << 13
    assert grouped([1, 1]).bundles == ((1, 1),)
    assert len(grouped([])) == 0


@pytest.mark.parametrize("shape", [(), (3,)])
def test_sums_of_bundles_are_sums_of_columns(shape):
    rng = np.random.default_rng(0)
    sizes = [90, 91, 7, 1, 13, 300, 2]
    bundles = grouped(sizes)
    assert len(bundles) < len(sizes)
    cells = np.stack([rng.integers(0, size, 500) for size in sizes], axis=1).astype(np.int16)
    tables = [rng.integers(-99, 99, (size, *shape)) for size in sizes]
    codes = bundles.codes(cells)
    found = sum(table[each] for table, each in zip(bundles.added(tables), codes, strict=True))
    assert (found == sum(table[column] for table, column in zip(tables, cells.T, strict=True))).all()
    counts = [np.bincount(each, minlength=size) for each, size in zip(codes, bundles.sizes, strict=True)]
    for split, column, size in zip(bundles.split(counts), cells.T, sizes, strict=True):
        assert split.tolist() == np.bincount(column, minlength=size).tolist()


def test_codes_of_the_most_cells_do_not_overflow():
    bundles = ColumnBundles(((90, 91), (8192,)))
    [pairs, alone] = bundles.codes(np.array([[89, 90, 8191]], dtype=np.int16))
    assert pairs.tolist() == [90 * 91 - 1]
    assert alone.tolist() == [8191]


def block_of(records):
    return Rows([], 0, 1, 1.0).block(records)


def test_margins_are_sums_of_whole_numbers_of_one_record():
    margins = margins_of([np.array([[0.5], [np.inf]]), np.array([[-1e300], [0.25]])], np.array([1.0]))
    records = LabelledRows(np.array([[0, 1], [1, 1], [0, 0]], dtype=np.int16), np.zeros(3, dtype=np.int64))
    found = margins(block_of(records))
    assert found.dtype == np.int64
    assert found[0, 0] == 1.75 * 2**MARGIN_BITS
    assert np.abs(found[1:]).max() == pytest.approx(1e6 * 2**MARGIN_BITS, rel=1e-3)
    assert (margins(block_of(records[np.array([2])])) == found[2:]).all()
