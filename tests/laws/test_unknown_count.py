"""Neighbours with one record more or less, for everything that offers them: the number of records is private.

The learners and releases are found by their parameter `neighbors`. What they promise, assume and refuse in
each form is in `snapshot.json`.
"""

import inspect
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

import dplearn
from dplearn import AdditiveClassifier, StatisticalQueryNaiveBayes, preprocessing, queries, releases
from dplearn.audit import ready
from dplearn.chance import SeededDice
from dplearn.display import privacy_card
from dplearn.domains import Grid, IntegerRange
from dplearn.estimator import PrivateEstimator
from dplearn.model_selection import PrivateSearchCV
from dplearn.privacy import AT_LEAST_ONE, TAKING_ADDED, BudgetExceededError, LedgerError, PrivacyLedger
from tests.laws.conftest import NIGHTLY, PREDICTORS, STAND_FOR_ALL, is_among, public_rows, shown, written
from tests.laws.releases import RELEASES, TABLES

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(X))
X, Y = X[ORDER], Y[ORDER]
SIZES = (1, 2, 3, 150)
#: All settings of learners with the parameter, at a usual epsilon; by day one of each class.
LEARNERS = [
    pytest.param(
        each,
        id=written(each),
        marks=() if is_among(each, STAND_FOR_ALL) and not is_among(each, NIGHTLY) else pytest.mark.nightly,
    )
    for each in PREDICTORS
    if hasattr(each, "neighbors")
    and getattr(each, "domain", None) != "learn"
    and getattr(each, "trust_model", "central") == "central"
]


@pytest.fixture(params=LEARNERS)
def learner(request):
    given = {"epsilon": 1.0, "neighbors": "add_remove"}
    if "classes" in request.param.get_params():
        given["classes"] = [0, 1, 2]
    if "domain" in request.param.get_params() and request.param.domain is None:
        given["domain"] = Grid(0, 8, 17)
    if "target_range" in request.param.get_params():
        given["target_range"] = (0, 2)
    if "n_teachers" in request.param.get_params():  # as many as are for a large epsilon
        models = {name: GaussianNB() for name in ("estimator", "student") if hasattr(request.param, name)}
        return type(request.param)(**models, **given)
    return clone(request.param).set_params(**given)


ADDED = {
    name: each
    for name, each in RELEASES.items()
    if "neighbors" in each.takes and not name.endswith(", learned")
}
every_release = pytest.mark.parametrize("record", ADDED.values(), ids=ADDED)
NAIVE = StatisticalQueryNaiveBayes(domain=Grid(0, 8, 65), classes=[0, 1, 2], neighbors="add_remove")


def fitted(learner, n, **given):
    """A fit on the first records, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(learner).set_params(**given).fit(X[:n], Y[:n], **public_rows(learner, X))
    texts = [str(each.message) for each in caught if each.category is UserWarning]
    return model, [text for text in texts if not text.startswith(("random_state is set", "domain is None"))]


def test_everything_with_the_parameter_is_looked_at_and_named_in_messages():
    classes = {
        name
        for package in (dplearn, preprocessing)
        for name in package.__all__
        if inspect.isclass(kind := getattr(package, name)) and issubclass(kind, PrivateEstimator)
        if "neighbors" in inspect.signature(kind).parameters
    }
    functions = {
        name
        for package in (queries, releases)
        for name in package.__all__
        if inspect.isfunction(function := getattr(package, name))
        if "ledger" in inspect.signature(function).parameters
        if "neighbors" in inspect.signature(function).parameters
    }
    assert classes == {type(each.values[0]).__name__ for each in LEARNERS}
    assert functions == {each.name for each in ADDED.values()}
    assert all(name in TAKING_ADDED for name in classes | functions)
    by_day = {type(each.values[0]).__name__ for each in LEARNERS if not each.marks}
    assert classes == by_day


@pytest.mark.filterwarnings("ignore:the noisy number")
def test_what_a_fit_plans_and_leaves_is_that_of_any_number_of_records(learner):
    plans, shapes, records = [], [], []
    for n in SIZES:
        ready_fit = ready(clone(learner).set_params(random_state=0), X[:n], Y[:n], **public_rows(learner, X))
        plan = ready_fit.plan
        assert plan.public.n_samples is None
        found = vars(ready_fit.run(SeededDice(0))).items()
        attributes = {name: str(value) for name, value in found if name.endswith("in_")}
        plans.append((repr(shown(plan)), plan.warnings, str(plan), attributes))
        ledger = PrivacyLedger(10, 0.01, neighbors="add_remove")
        model, _ = fitted(learner, n, ledger=ledger)
        shapes.append({name: np.shape(value) for name, value in vars(model).items() if name[-1] == "_"})
        records.append([(each.guarantee, each.cost, each.estimator) for each in ledger.history()])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "a pickle of .* contains no teachers")
            assert len(pickle.dumps(model.set_params(ledger=None))) < 20_000
    for told in (plans, shapes, records):
        assert all(each == told[0] for each in told)
    assert records[0][0][0] == model.guarantee_
    assert "added or removed" in str(privacy_card(model))


def test_the_published_number_is_noisy_and_warnings_are_functions_of_it(learner):
    found = {}
    for n in (2, 3, 20):
        for seed in range(4):
            model, notes = fitted(learner, n, random_state=seed)
            count = model.noisy_count_
            assert all(note.startswith(f"the noisy number of records is {count}: ") for note in notes)
            # A warning of a regressor depends on the released spread of its residuals, too.
            told = tuple(note for note in notes if "released spread" not in note)
            found.setdefault(count, set()).add((n, told))
    assert all(len({text for _, text in each}) == 1 for each in found.values())
    assert any(len({n for n, _ in each}) > 1 for each in found.values())  # numbers that look alike
    assert any(text != () for each in found.values() for _, text in each)
    assert len(found) > 3


def test_no_record_is_refused_before_the_charge_as_are_groups_and_parts(learner):
    ledger = PrivacyLedger(1, 1e-5, neighbors="add_remove")
    model, more = clone(learner).set_params(ledger=ledger), public_rows(learner, X)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        model.fit(X[:0], Y[:0], **more)
    assert ledger.history() == []


def test_a_ledger_of_replaced_records_charges_two_steps(learner):
    ledger = PrivacyLedger(2 * Fraction(str(learner.epsilon)), 1e-4)
    model, _ = fitted(learner, 150, ledger=ledger)
    [record] = ledger.history()
    assert record.cost.epsilon == 2 * model.guarantee_.epsilon
    assert record.cost.delta == model.guarantee_.for_group(2).delta
    assert record.guarantee == model.guarantee_
    with pytest.raises(BudgetExceededError):
        fitted(learner, 150, ledger=PrivacyLedger(Fraction(19, 10) * Fraction(str(learner.epsilon)), 1e-4))


@pytest.mark.filterwarnings("ignore:Of a category")
@pytest.mark.filterwarnings("ignore:for any number of records")
@every_release
def test_releases_keep_the_same_laws(record):
    guarantees, plans = set(), set()
    for n in (1, 2, 600):
        ledger = PrivacyLedger(2, 0.5, neighbors="add_remove", allow_reproducible=True)
        more = {name: each[:n] for name, each in record.beside.items()}
        source = record.make(TABLES[record.of][:n], neighbors="add_remove", ledger=ledger, **more)
        guarantees |= {source.guarantee, *(each.guarantee for each in ledger.history())}
        plans.add(str(getattr(source, "plan", source)))
    [guarantee], [_] = guarantees, plans
    assert guarantee.neighbors == "add_remove"
    assert AT_LEAST_ONE in guarantee.assumes
    assert not any("number of records" in each for each in guarantee.assumes)
    ledger = PrivacyLedger(1, 0.5, allow_reproducible=True)
    with pytest.raises(BudgetExceededError):
        record.make(neighbors="add_remove", ledger=ledger)  # twice the epsilon
    assert ledger.history() == []


def test_what_does_not_count_added_records_is_refused_before_the_charge():
    ledger, one = PrivacyLedger(100, 0.1), PrivacyLedger(1, neighbors="add_remove")
    search = PrivateSearchCV(
        clone(NAIVE).set_params(neighbors="replace_one"),
        {"neighbors": ["replace_one", "add_remove"]},
        epsilon=10.0,
        ledger=ledger,
    )
    # Noise can be drawn for a table of one record, and not for the most, whose residuals are not clipped.
    few = AdditiveClassifier(epsilon=3.16e-7, delta=1e-10, domain=Grid(0, 8, 17), interactions=False)
    few.set_params(classes=[0, 1, 2], neighbors="add_remove", ledger=PrivacyLedger(1, 1e-5))
    assert few.plan(1, n_features=4).model == "linear"
    other = dplearn.ExponentialMechanismClassifier(ledger=one)
    for model, error, match in (
        (search, ValueError, "neighbors must be 'replace_one'|estimator must cost"),
        (other, LedgerError, "StatisticalQueryNaiveBayes, StatisticalQueryLogisticRegression"),
        (few, ValueError, "epsilon must be large enough for noise to be drawn"),
    ):
        with pytest.raises(error, match=match):
            model.fit(X, Y)
    with pytest.raises(LedgerError, match="take neighbors='add_remove'"):
        releases.quantiles(X[:, 0], 0.5, ledger=one)
    for each in (ledger, one, few.ledger):
        assert each.history() == []


def test_the_cells_of_an_additive_fit_are_those_of_the_noisy_number_of_records():
    domain = IntegerRange(0, 100_000)
    model = AdditiveClassifier(
        epsilon=1000.0, domain=domain, classes=[0, 1], neighbors="add_remove", random_state=0
    )
    sizes = {}
    for n in (3, 150):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(model).fit(1000 * np.rint(10 * X[:n, :2]).astype(int), Y[:n] > 0)
        assert fitted.noisy_count_ == n  # there is hardly any noise
        plan = model.plan(n, n_features=2)
        assert fitted.residual_clip_ == (1.0 if plan.clear else 0.5)
        sizes[n] = [shape.column.size for shape in fitted.shapes_]
        assert sizes[n] == [column.size for column in plan.columns]
    assert sizes[3] < sizes[150]
