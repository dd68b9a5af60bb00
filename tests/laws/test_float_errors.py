"""Whatever `np.seterr` was set to, no private row raises, warns or changes a result by its magnitude.

Tables hold floats at all edges: zeros, denormal, tiny and huge ones of both signs.
"""

import inspect
import warnings

import numpy as np
import pytest
import scipy.special
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression

from dplearn import releases
from dplearn.chance import SeededDice
from dplearn.domains import (
    Bits,
    Categories,
    Floats,
    Grid,
    Hashed,
    IntegerRange,
    LargeIntegerRange,
    Product,
    Schema,
)
from dplearn.kernels import IgnoresFloatErrors
from dplearn.model_selection import private_score
from dplearn.queries import HistogramQuery, MeanQuery, VectorQuery, central, local, on_grid, population
from dplearn.theory import Request, run_locally, simulate_locally
from tests.laws.conftest import protects_labels, shown
from tests.laws.releases import RELEASES, N

EDGES = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-308, -1e-308, 1.0, -1.0, 1.7e308, -1.7e308, 1e300, 2.0**63])
ENDS = np.array([-(2**63), 2**63 - 1, 0, 1, -1, 2**53 + 1])
pytestmark = pytest.mark.filterwarnings("ignore:n_(teachers|samples) is", "ignore:.* has values beyond its")


def table(values, d=4):
    """Return a table in whose columns all values occur, in different orders."""
    return np.stack([np.roll(np.tile(values, 5), 7 * place) for place in range(d)], axis=1)


X, Y = table(EDGES), np.tile([0, 1, 1], len(EDGES) * 5 // 3)


def given(action):
    """Return what an action returns, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    told = [(each.category, str(each.message)) for each in caught]
    return repr(result), [each for each in told if "random_state is set" not in each[1]]  # once a process


def assert_the_setting_changes_nothing(action):
    with np.errstate(all="ignore"):
        expected = given(action)
    for told_how in ("raise", "warn"):
        with np.errstate(all=told_how), scipy.special.errstate(all=told_how):
            assert given(action) == expected
            assert set(np.geterr().values()) == {told_how}


def of_arrays(*arrays):
    return [np.asarray(array).tolist() for array in arrays]


def test_classifiers(one_a_class, classifier):
    of_public = protects_labels(classifier) or getattr(classifier, "needs_public_rows", False)
    rows = X.clip(-1e150, 1e150) if of_public else X

    def fitted_and_asked():
        model = clone(classifier).set_params(random_state=0).fit(rows, Y)
        methods = ("predict", "predict_proba", "predict_log_proba", "decision_function")
        return of_arrays(*(getattr(model, name)(rows) for name in methods if hasattr(model, name)))

    assert_the_setting_changes_nothing(fitted_and_asked)


@pytest.mark.parametrize("as_table", [np.asarray, np.ndarray.tolist], ids=["array", "list"])
@pytest.mark.parametrize(
    "domain",
    [
        Floats(missing=True),
        IntegerRange(-9, 9, outside="clip", missing=True),
        Grid(-1e-300, 1, outside="clip", missing=True),
        Hashed(8),
        Bits(1e-310),
        [Floats(), Hashed(8)] * 2,
    ],
    ids=repr,
)
def test_classifiers_of_declared_columns(one_a_class, classifier, domain, as_table):
    if "domain" not in classifier.get_params():
        return  # read by the test above
    rows = X.copy()
    if getattr(domain, "accepts_missing", False):
        rows[::5, 1] = np.nan
    if domain == Hashed(8):
        rows[::7, 2] = np.inf

    def fitted_and_asked():
        learner = clone(classifier).set_params(random_state=0, domain=domain)
        try:
            return of_arrays(learner.fit(as_table(rows), Y).predict(as_table(rows)))
        except ValueError as error:  # of a domain that a learner does not take
            return str(error)

    assert_the_setting_changes_nothing(fitted_and_asked)


def test_transformers(one_a_class, any_transformer):
    def fitted_and_asked():
        learner = clone(any_transformer)
        if "random_state" in learner.get_params():
            learner.set_params(random_state=0)
        turned = learner.fit_transform(X)
        back = learner.inverse_transform(turned) if hasattr(learner, "inverse_transform") else ()
        return of_arrays(getattr(turned, "toarray", lambda: turned)(), back)

    assert_the_setting_changes_nothing(fitted_and_asked)


#: Columns, and their domain where one is taken; releases of keys and of tables have fewer different ones.
COLUMNS = {
    "floats": (EDGES, "float64"),
    "clipped": (EDGES, Grid(-1, 1, outside="clip")),
    "counted": (EDGES, IntegerRange(0, 9, outside="clip")),
    "integers": (ENDS[1:], IntegerRange(-(2**63) + 1, 2**63 - 1)),
}
OF_VALUES = [name for name, each in RELEASES.items() if each.name in releases.__all__]


@pytest.mark.filterwarnings("ignore:.* records are fewer than")
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", OF_VALUES)
def test_releases(name, column):
    record, (values, domain) = RELEASES[name], COLUMNS[column]
    values = np.resize(values, N)
    more = {"values": values} if "values" in record.parameters else {}
    if record.of == "keys":
        values = np.floor(values)
    if not record.is_of_a_column and record.of not in ("ages", "keys"):
        values, domain = np.stack([values.astype(float)] * 2, axis=1), Product([Grid(-1, 1, 9, "clip")] * 2)
    if "domain" in record.parameters:
        more["domain"] = domain

    def released():
        try:
            return shown(record.make(values, **more))
        except (TypeError, ValueError) as error:  # of a domain that is too wide, or of no kind that it takes
            return str(error)

    assert_the_setting_changes_nothing(released)


class SpecialFunction(ClassifierMixin, BaseEstimator):
    """Predict by a function of scipy.special that is singular at some records."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        self.n_features_in_ = 1
        return self

    def predict(self, X):
        return (scipy.special.gammaln(X[:, 0]) > 0).astype(int)


def test_a_private_score():
    model = LogisticRegression().fit([[-1.0, 0], [1, 0], [0, 1], [0, 2]], [0, 1, 0, 1])
    assert_the_setting_changes_nothing(
        lambda: private_score(model, X[:, :2], Y, random_state=0)  # the margin of 1.7e308 is infinite
    )
    rows = np.tile([[-1.0], [0.5], [3.0], [1e306]], (30, 1))
    with scipy.special.errstate(all="raise"), pytest.raises(scipy.special.SpecialFunctionError):
        SpecialFunction().predict(rows)
    assert_the_setting_changes_nothing(
        lambda: private_score(SpecialFunction().fit(rows, None), rows, np.tile([0, 1], 60), random_state=0)
    )


QUERIES = [
    MeanQuery(lambda rows: np.exp(rows[:, 0]) > 1, low=0, high=1),
    HistogramQuery(lambda rows: (rows[:, 0] / 1e-300).clip(0, 2).astype(np.int64), categories=3),
    VectorQuery(on_grid(lambda rows: rows[:, :2] * rows[:, 2:], 16), size=2, norm=100),
]


@pytest.mark.parametrize(
    "factory",
    [
        lambda: central(X, epsilon=2, random_state=0),
        lambda: central(X, epsilon=2, delta=1e-6, random_state=0),
        lambda: local(X, epsilon=2, random_state=0),
        lambda: local(X, epsilon=2, randomizer="laplace", random_state=0),
        lambda: population(X),
    ],
    ids=["laplace", "gaussian", "bit", "laplace report", "population"],
)
def test_answers_of_oracles(factory):
    assert_the_setting_changes_nothing(lambda: of_arrays(*(each.means for each in factory().ask(QUERIES))))


@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_queries_that_are_computed_directly(query):
    assert_the_setting_changes_nothing(lambda: of_arrays(query.inputs(X), query.total(X)))


def test_reports_of_single_records():
    first = QUERIES[0]

    def algorithm():
        with np.errstate(all="raise"):  # of its own, which is none of the records'
            reports = yield [Request(i, first, first.randomizer(1, "bit")) for i in range(len(X))]
            more = yield [Request(i, first, first.randomizer(1, "bit")) for i in range(len(X))]
        return reports + more

    def simulated():
        how = {"n_queries": 1, "tolerance": 0.2, "random_state": 0}
        return simulate_locally(lambda oracle: oracle.ask(first)[0].mean, np.tile(X, (400, 1)), **how).result

    assert_the_setting_changes_nothing(lambda: run_locally(algorithm, X, epsilon=2, dice=SeededDice(0)))
    assert_the_setting_changes_nothing(simulated)


NUMBERS = ("float64", "float32", "object")


@pytest.mark.parametrize(
    ("domain", "holders"),
    [
        (Floats(), ("float64", "object")),
        (Floats(significand_bits=3, smallest=1e-300, largest=1e300), NUMBERS),
        (Floats(missing=True), NUMBERS),
        (Grid(-1e308, 1e-308, 2**32, outside="clip"), ("float64", "object")),
        (IntegerRange(-(2**63) + 1, 2**63 - 1, outside="clip"), ("float64", "int64", "object")),
        (IntegerRange(-(2**63) + 2, 2**63 - 1, "clip", missing=True), (*NUMBERS, "int64")),
        (IntegerRange(0, 9, "clip", missing=True), NUMBERS),
        (Grid(-1e308, 1e-308, 2**32, "clip", missing=True), NUMBERS),
        (Bits(), ("float64", "int64", "object")),
        (Categories([0.0, 5e-324, 1e-308], other=True), NUMBERS),
        (Hashed(8), NUMBERS),
        (LargeIntegerRange(-(2**80), 2**80), ("int64",)),
    ],
    ids=repr,
)
def test_domains(domain, holders):
    for holder in holders:
        values = ENDS if holder == "int64" else EDGES
        if holder == "float32":
            values = np.array([0, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38], dtype=np.float32)
        if domain.accepts_missing and holder != "int64":
            values = np.append(values, values.dtype.type(np.nan))
        values = values.astype(holder)
        if holder == "object":  # beyond float64, on machines that have such numbers
            values = np.append(values, [np.longdouble("1e-4000"), np.longdouble("1e300") * 10**8])

        def coded(values=values):
            codes = domain.encode(values)
            back = domain.decode(codes) if hasattr(domain, "decode") else ()
            schema = Schema({"a": domain}).encode(values[:, None])
            return of_arrays(
                codes, domain.nearest(values), back, *schema, Product([domain]).nearest(values[:, None])[0]
            )

        assert_the_setting_changes_nothing(coded)


def subclasses(kind):
    return {kind, *(each for child in kind.__subclasses__() for each in subclasses(child))}


def test_every_method_that_reads_rows_is_among_those_that_ignore_errors():
    kinds = subclasses(IgnoresFloatErrors)
    assert len(kinds) > 20
    for kind in kinds:
        for name in kind.row_methods & vars(kind).keys():
            method = inspect.getattr_static(kind, name)
            method = getattr(method, "fn", method)  # behind `available_if`
            assert isinstance(method, property) or hasattr(method, "__wrapped__"), (kind, name)
