"""Rows held as numbers and places of encodings: equal to those of the matrix, and of bounded norm."""

import numpy as np
import pytest

from dplearn.domains import Bits, Categories, Grid, Product
from dplearn.estimator import FitFacts
from dplearn.kernels import unit_rows
from dplearn.learners import LinearPlan
from dplearn.learners.linear import (
    LogisticPlan,
    label_parts,
    logistic_queries,
    products_query,
    score_queries,
    target_moments_query,
)
from dplearn.learners.linear.logistic_queries import (
    MappedPlaces,
    mapped_rows,
    mean_row_query,
    moments_query,
    predicted_parts,
)
from dplearn.learners.linear.logistic_steps import LogisticModel
from dplearn.learners.linear.regression import bounded_rows
from dplearn.learners.linear.rows import OneHotRows, prediction_blocks, second_moments
from dplearn.privacy import ApproxDP
from dplearn.queries import LabelledRows
from dplearn.table.encodings import DesignMatrix
from dplearn.table.targets import STEPS, TargetRange
from tests.learners.moves import greatest_moves, grid

GAPS = Grid(0, 1, 5, "accept", missing=True)
DOMAINS = {
    "numbers and words": [GAPS, Categories(range(30)), Bits(), Categories(range(12))],
    "words": [Categories(range(20)), Categories(range(9), other=True)],
}


def logistic(domains, k=2, **grid):
    design = DesignMatrix(Product(domains))
    public = FitFacts(100, len(domains), k)
    return LogisticPlan(ApproxDP(1, "1e-6"), "gaussian", 2, True, design=design, public=public, **grid)


def encoded(plan, n, seed=0):
    rng = np.random.default_rng(seed)
    domains = plan.design.domain.domains
    columns = [rng.integers(each.size, size=n) for each in domains]
    X = np.column_stack(
        [each.decode(c) if each is GAPS else c for each, c in zip(domains, columns, strict=True)]
    )
    return plan.design.encoded(X), rng.integers(plan.n_classes, size=n)


def queries(plan, seed=0):
    rng = np.random.default_rng(seed)
    mapped = mapped_rows(plan, rng.normal(size=(plan.n_columns, plan.n_columns)))
    weights = 40 * rng.normal(size=(plan.n_columns, plan.n_classes))
    by_class = np.array([1.0, *rng.random(plan.n_classes - 1)])
    return [
        products_query(plan, mapped, parts, given)
        for parts in (label_parts(plan), predicted_parts(plan, weights))
        for given in (None, by_class)
    ] + score_queries(plan, mapped, weights, shift=0.1, reach=200.0)


@pytest.mark.parametrize("name", DOMAINS)
def test_rows_and_their_sums_are_those_of_the_matrix(name):
    plan = logistic(DOMAINS[name])
    X, _ = encoded(plan, 300)
    rows = plan.rows(X)
    matrix = unit_rows(X, plan.reach, intercept=True).astype(np.int64)
    assert isinstance(rows, OneHotRows)
    assert np.array_equal(rows.toarray(), matrix)
    assert np.array_equal(second_moments(rows), matrix.T @ matrix)
    rng = np.random.default_rng(1)
    vectors, weights = (rng.integers(-50, 50, size=(size, 3)) for size in matrix.shape[::-1])
    assert np.array_equal(rows.times(vectors.astype(float)), matrix @ vectors)
    assert np.array_equal(rows.sums(weights.astype(float)), matrix.T @ weights)
    gram = vectors @ vectors.T
    assert np.array_equal(rows.squares(gram), ((matrix @ vectors) ** 2).sum(axis=1))
    assert np.allclose(rows.squares(gram.astype(float)), rows.squares(gram))


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("k", [2, 3])
def test_sums_are_those_of_each_record_by_itself_for_every_division(name, k):
    plan = logistic(DOMAINS[name], k)
    X, y = encoded(plan, 200)
    records = LabelledRows(plan.rows(X), y)
    for query in [*queries(plan), moments_query(plan), mean_row_query(plan)]:
        total = query.total(records)
        each = query.inputs(records)  # no row is so long that it counts as zeros
        assert np.array_equal(query.values(records), each)
        assert np.array_equal(
            total, np.eye(query.size, dtype=int)[each].sum(axis=0) if each.ndim == 1 else each.sum(axis=0)
        )
        parts = [LabelledRows(plan.rows(X[part]), y[part]) for part in (slice(7), slice(7, None))]
        assert np.array_equal(total, sum(query.total(part) for part in parts))


def moves(k, monkeypatch):
    """The greatest moves of totals over all pairs of records, in parts of what the noise is for."""
    monkeypatch.setattr(logistic_queries, "NORM_BITS", 23)  # so that `greatest_moves` is exact
    plan = logistic([GAPS, Categories(range(16)), Categories(range(18))], k, bits=7)
    records = grid([np.nan, 0, 0.5, 1], range(16), range(0, 18, 5), range(k))
    rows = plan.rows(plan.design.encoded(records[:, :-1]))
    assert isinstance(rows, OneHotRows)
    records = LabelledRows(rows, records[:, -1].astype(int))
    return np.array([greatest_moves(query, records)[1] for query in queries(plan)[:4]])


@pytest.mark.parametrize("k", [2, 3])
def test_no_pair_of_records_moves_totals_further_than_is_claimed(k, monkeypatch):
    found = moves(k, monkeypatch)
    assert found.max() <= 1
    assert found[0].min() > 0.7  # of labels


def half_of_the_length(mapped, records):
    return -(-right(mapped, records) // 2)


def without_pairs_of_encodings(mapped, records):
    gram = mapped.metric @ mapped.metric.T
    for block in mapped.plan.blocks:
        for other in mapped.plan.blocks:
            gram[block, other] *= block == other
    return np.maximum(np.sqrt(np.abs(records.X.squares(gram))).astype(np.int64), 1)


right = MappedPlaces.of_records


@pytest.mark.parametrize("mutant", [half_of_the_length, without_pairs_of_encodings])
def test_rows_that_are_longer_than_is_assumed_are_found(mutant, monkeypatch):
    monkeypatch.setattr(MappedPlaces, "of_records", mutant)
    assert moves(2, monkeypatch).max() > 1


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_bounded_rows_and_their_moments_are_those_of_the_matrix(noise, monkeypatch):
    plan = logistic(DOMAINS["numbers and words"])
    X, _ = encoded(plan, 300)
    codes = np.random.default_rng(2).integers(-STEPS, STEPS + 1, size=300)
    plan = LinearPlan(
        ApproxDP(1, "1e-6"),
        noise,
        design=plan.design,
        target=TargetRange(0.0, 1.0),
        public=plan.public,
        bits=8,
    )
    rows = bounded_rows(X, codes, plan)
    assert isinstance(rows, OneHotRows)
    query = target_moments_query(plan)
    assert np.array_equal(query.total(rows), query.inputs(rows).sum(axis=0))
    monkeypatch.setattr(LinearPlan, "by_place", False)
    assert np.array_equal(bounded_rows(X, codes, plan), rows.toarray())


@pytest.mark.parametrize("order", [1, 2])
def test_margins_of_encoded_rows_are_those_of_the_matrix(order):
    plan, rng = logistic(DOMAINS["numbers and words"]), np.random.default_rng(3)
    X, _ = encoded(plan, 300)
    metric = rng.normal(size=(plan.n_columns, plan.n_columns))
    model = LogisticModel(order, metric, rng.normal(size=(plan.n_columns, 2)), np.array([0.1, 0.2]))
    whole = model.margins(X.toarray())
    assert np.allclose(model.margins(X), whole)
    assert np.allclose(model.margins(X[:3]), whole[:3])


def test_products_of_rows_without_encodings_are_those_of_the_matrix_with_a_constant():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((10_000, 4)) * [1, 1e100, 1e-3, 5]
    vectors = generator.standard_normal((5, 3)) * np.array([1, 1e-100, 1e3, 0.2, 1])[:, None]
    matrix = np.column_stack([X, np.ones(len(X))])
    gram = vectors @ vectors.T
    for block, rows, largest in prediction_blocks(X):
        expected = matrix[block] @ vectors
        scale = np.abs(expected).max()
        assert np.abs(rows.times(vectors) * largest[:, None] - expected).max() <= 1e-12 * scale
        squares = rows.squares(gram) * largest**2
        assert np.abs(squares - (expected**2).sum(axis=1)).max() <= 1e-12 * scale**2
