"""How a fit of naive Bayes is laid out, by public numbers alone."""

from fractions import Fraction

import pytest

from dplearn.domains import Categories, Floats, Grid, Hashed, Product
from dplearn.learners.naive_bayes_terms import NaiveBayesTerms
from dplearn.privacy import ApproxDP


def terms(model="central", n_bins=None, epsilon=1, delta=0):
    return NaiveBayesTerms(ApproxDP(epsilon, delta), model, None, n_bins, 1.0, None)


@pytest.mark.parametrize("model", ["central", "local"])
def test_as_many_bins_as_leave_an_average_count_clear_of_the_noise(model):
    columns = Product([Grid(0, 1)] * 5)
    for n in (10**3, 10**4, 10**5, 10**6, 10**7):
        layout = terms(model).layout(n, columns, 3)
        clear = 1 / (3 * layout.n_bins) / layout.noise(layout.n_bins).deviation
        assert clear >= 4 or layout.n_bins == {"central": 4, "local": 2}[model]  # 5, of one query less


def test_the_noise_of_the_task_is_that_of_each_column():
    layout = terms("local").layout(1000, Product([Grid(0, 1), Categories(["a", "b", "c"])]), 2)
    task = layout.task(1.0)
    assert task.deviations == tuple(layout.noise(each.size).deviation for each in layout.bins)
    assert task.deviations[0] < task.deviations[1]
    assert task.class_deviation == layout.noise(1).deviation


def test_in_the_local_model_a_column_has_few_bins():
    columns = Product([Hashed(1000), Floats()])
    assert max(each.size for each in terms("local", 4).layout(1000, columns, 2).bins) <= 32
    assert terms("central", 4).layout(1000, columns, 2).bins[0].size == 1000


def test_classes_are_asked_for_where_bins_are_many():
    many, few = Product([Hashed(64)]), Product([Grid(0, 1)] * 2)
    assert terms(n_bins=2).layout(10, many, 2).n_queries == 2
    assert terms(n_bins=2).layout(10, few, 2).n_queries == 2


def test_delta_is_in_the_guarantee_only_where_noise_is_gaussian():
    for d, delta in [(2, 0), (60, Fraction(1, 1000))]:
        settled = terms(delta=0.001)
        columns = Product([Grid(0, 1)] * d)
        assert settled.guarantee(settled.layout(10, columns, 2), columns).delta == delta
