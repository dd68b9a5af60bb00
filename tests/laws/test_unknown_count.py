"""Neighbours with one record more or less, for everything that offers them: the number of records is private.

The learners and releases are found by their parameter `neighbors`.
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
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import dplearn
from dplearn import (
    AdditiveClassifier,
    AdditiveRegressor,
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    LinearRegressor,
    PrivateMultiOutputClassifier,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    preprocessing,
    queries,
    releases,
)
from dplearn.audit.fits import ready
from dplearn.chance import SeededDice
from dplearn.display import privacy_card
from dplearn.domains import Grid, IntegerRange
from dplearn.estimator import PrivateEstimator
from dplearn.estimator.public_data import PublicData
from dplearn.learners.several.secret_sample import SecretSampleClassifier
from dplearn.model_selection import PrivateSearchCV, PrivateTunedThresholdClassifier
from dplearn.privacy import ApproxDP, BudgetExceededError, LedgerError, PrivacyLedger
from dplearn.privacy.unknown_count import AT_LEAST_ONE, TAKING_ADDED
from dplearn.queries import HistogramQuery, LocalOracle, MeanQuery
from dplearn.releases import grouped, grouped_plan, stable_counts, stable_counts_plan

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(X))
X, Y = X[ORDER], Y[ORDER]
AGES, TOWNS = MeanQuery(lambda rows: rows, low=-1, high=3), HistogramQuery(lambda rows: rows, categories=3)
SIZES = (1, 2, 3, 150)

LEARNERS = {
    "StatisticalQueryNaiveBayes": StatisticalQueryNaiveBayes(
        domain=Grid(0, 8, 65), classes=[0, 1, 2], neighbors="add_remove"
    ),
    "StatisticalQueryNaiveBayes of numbers": StatisticalQueryNaiveBayes(
        epsilon=0.1, delta=1e-6, classes=[0, 1, 2], n_bins=4, neighbors="add_remove"
    ),
    "StatisticalQueryLogisticRegression": StatisticalQueryLogisticRegression(
        delta=0, domain=Grid(0, 8, 65), classes=[0, 1, 2], neighbors="add_remove"
    ),
    "StatisticalQueryLogisticRegression of numbers": StatisticalQueryLogisticRegression(
        classes=[0, 1, 2], class_weight="balanced", neighbors="add_remove"
    ),
    "LinearRegressor": LinearRegressor(
        domain=Grid(0, 8, 65), target_range=(0, 2), delta=0, neighbors="add_remove"
    ),
    "LinearRegressor of numbers": LinearRegressor(target_range=(0, 2), neighbors="add_remove"),
    "AdditiveClassifier": AdditiveClassifier(
        domain=Grid(0, 8, 17), classes=[0, 1, 2], class_weight="balanced", neighbors="add_remove"
    ),
    "AdditiveClassifier with steps": AdditiveClassifier(
        domain=Grid(0, 8, 17), classes=[0, 1, 2], interactions=True, neighbors="add_remove"
    ),
    "AdditiveClassifier with Laplace noise": AdditiveClassifier(
        domain=Grid(0, 8, 17), delta=0, classes=[0, 1, 2], neighbors="add_remove"
    ),
    "AdditiveRegressor": AdditiveRegressor(
        domain=Grid(0, 8, 17), target_range=(0, 2), delta=0, neighbors="add_remove"
    ),
    "AdditiveRegressor with steps": AdditiveRegressor(
        domain=Grid(0, 8, 17), target_range=(0, 2), interactions=True, neighbors="add_remove"
    ),
    **{
        kind.__name__ + " with trees" * (kind is SoftLabelTransferClassifier): kind(
            GaussianNB(), *student, classes=[0, 1, 2], neighbors="add_remove"
        )
        for kind, *student in (
            (SubsampleAggregateClassifier,),
            (SoftLabelAggregateClassifier,),
            (KnowledgeTransferClassifier, GaussianNB()),
            (SoftLabelTransferClassifier, DecisionTreeRegressor(max_depth=2, random_state=0)),
        )
    },
}


def asked(n, **how):
    oracle = queries.central(Y[:n], neighbors="add_remove", **how)
    answers = oracle.ask([AGES, TOWNS])
    return oracle, [(answer.means, answer.n) for answer in answers]


def released(n, name, **how):
    keys, values = Y[:n].astype(str), X[:n, 0]
    declared = {"bounds": (0, 8), "categories": ["0", "1", "2"], **how}
    found = {
        "stable_counts": lambda: stable_counts(keys, delta=0.2, neighbors="add_remove", **how),
        "grouped": lambda: grouped(keys, values, neighbors="add_remove", **declared),
    }[name]()
    return found, found


#: From a number of records to an object with a guarantee, and all that is published.
RELEASES = {
    "central": asked,
    "stable_counts": lambda n, **how: released(n, "stable_counts", **how),
    "grouped": lambda n, **how: released(n, "grouped", **how),
}
# Fits with many queries take long.
learners = pytest.mark.parametrize(
    "learner",
    [
        pytest.param(each, id=name, marks=pytest.mark.nightly if " with " in name else ())
        for name, each in LEARNERS.items()
    ],
)
every_release = pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)


def public_rows(learner):
    """Further arguments of a fit: public rows, where a learner takes them."""
    return {"X_public": PublicData(X)} if learner.needs_public_rows else {}


def fitted(learner, n, **given):
    """A fit on the first records, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(learner).set_params(**given).fit(X[:n], Y[:n], **public_rows(learner))
    texts = [str(each.message) for each in caught]
    return model, [text for text in texts if not text.startswith(("random_state is set", "domain is None"))]


def test_everything_with_the_parameter_is_looked_at_and_named_in_messages():
    classes = {
        name
        for package in (dplearn, preprocessing)
        for name, kind in vars(package).items()
        if inspect.isclass(kind) and issubclass(kind, PrivateEstimator)
        if "neighbors" in inspect.signature(kind).parameters
    }
    functions = {
        name
        for package in (queries, releases)
        for name, function in vars(package).items()
        if inspect.isfunction(function) and "ledger" in inspect.signature(function).parameters
        if "neighbors" in inspect.signature(function).parameters
    }
    assert classes == {name.split()[0] for name in LEARNERS}
    assert functions == set(RELEASES)
    assert all(name in TAKING_ADDED for name in classes | functions)


@parametrize_with_checks(
    [
        StatisticalQueryNaiveBayes(
            epsilon=50.0, n_bins=2, domain=Grid(-1000, 1000, outside="clip"), neighbors="add_remove"
        ),
        StatisticalQueryLogisticRegression(delta=1e-6, neighbors="add_remove"),
        LinearRegressor(target_range=(-1000, 1000), clip_target=True, neighbors="add_remove"),
    ]
)
@pytest.mark.filterwarnings("ignore:the noisy number", "ignore:X is a list")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.nightly
@parametrize_with_checks(
    [
        AdditiveClassifier(epsilon=50.0, domain=None, neighbors="add_remove"),
        AdditiveRegressor(
            epsilon=50.0, domain=None, target_range=(-1000, 1000), clip_target=True, neighbors="add_remove"
        ),
    ]
)
@pytest.mark.filterwarnings("ignore:the noisy number", "ignore:X is a list")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_checks_of_additive_models(estimator, check):
    check(estimator)


def parts_of(value, seen):
    """Yield all numbers, texts and sizes that an object holds, for comparison."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} of shape {value.shape}: {value.tolist()}"
    elif isinstance(value, bool | int | float | str | Fraction | None):
        yield f"{type(value).__name__} {value}"
    else:
        if isinstance(value, dict):
            inner = value
        elif isinstance(value, list | tuple):
            inner = dict(enumerate(value))
        else:
            inner = getattr(value, "__dict__", {})
        yield f"{type(value).__name__} of {list(map(str, inner))}"
        for each in inner.values():
            yield from parts_of(each, seen)


@learners
@pytest.mark.filterwarnings("ignore:the noisy number")
def test_the_plan_of_a_fit_and_all_that_it_holds_are_those_of_any_number_of_records(learner):
    plans = []
    for n in SIZES:
        model = clone(learner).set_params(random_state=0)
        fit = ready(model, X[:n], Y[:n], **public_rows(model))
        plan = fit.plan
        assert plan.public.n_samples is None
        plans.append((list(parts_of(plan, {})), plan.warnings, str(plan)))
        found = vars(fit.run(SeededDice(0))).items()
        attributes = {name: str(value) for name, value in found if name.endswith("_in_")}
        plans[-1] += (attributes,)
    assert all(each == plans[0] for each in plans)
    assert all(text.startswith("domain is None: numbers") for text in plans[0][1])


@learners
def test_attributes_sizes_and_records_of_a_ledger_are_those_of_any_number_of_records(learner):
    shapes, records = [], []
    for n in SIZES:
        ledger = PrivacyLedger(10, 0.01, neighbors="add_remove")
        model, _ = fitted(learner, n, ledger=ledger)
        shapes.append({name: np.shape(value) for name, value in vars(model).items() if name[-1] == "_"})
        records.append([(each.guarantee, each.cost, each.estimator) for each in ledger.history()])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "a pickle of .* contains no teachers")
            assert len(pickle.dumps(model.set_params(ledger=None))) < 20_000
    assert all(each == shapes[0] for each in shapes)
    assert all(each == records[0] for each in records)
    assert records[0][0][0] == model.guarantee_
    assert AT_LEAST_ONE in model.guarantee_.assumes
    assert not any("number of records" in each for each in model.guarantee_.assumes)
    assert "added or removed" in str(privacy_card(model))


@learners
def test_warnings_are_functions_of_the_noisy_number(learner):
    found = {}
    for n in (1, 2, 3, 20):
        for seed in range(6):
            model, notes = fitted(learner, n, random_state=seed)
            count = model.noisy_count_
            assert all(note.startswith(f"the noisy number of records is {count}: ") for note in notes)
            # A warning of a regressor depends on the released spread of its residuals, too.
            told = tuple(note for note in notes if "released spread" not in note)
            found.setdefault(count, set()).add((n, told))
    told = {count: {text for _, text in each} for count, each in found.items()}
    assert all(len(texts) == 1 for texts in told.values())
    assert any(len({n for n, _ in each}) > 1 for each in found.values())  # numbers that look alike
    assert any(texts != {()} for texts in told.values())


@learners
def test_the_published_number_of_records_is_noisy(learner):
    counts = {fitted(learner, 150, epsilon=0.5, random_state=seed)[0].noisy_count_ for seed in range(8)}
    assert len(counts) > 2


@learners
def test_no_record_is_refused_before_the_charge_like_groups_and_parts(learner):
    ledger = PrivacyLedger(1, 1e-5, neighbors="add_remove")
    model = clone(learner).set_params(ledger=ledger)
    more = public_rows(learner)
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        model.fit(X[:0], Y[:0], **more)
    with pytest.raises(TypeError, match="groups must be None for neighbors='add_remove'"):
        model.fit(X, Y, groups=np.arange(150) // 2, **more)
    with pytest.raises(TypeError, match="X must be in memory for neighbors='add_remove'"):
        model.fit([X[:75], X[75:]], [Y[:75], Y[75:]], **more)
    with pytest.raises(ValueError, match="neighbors must be one of 'replace_one', 'add_remove', got 'swap'"):
        clone(model).set_params(neighbors="swap").fit(X, Y, **more)
    assert ledger.history() == []


@learners
def test_a_ledger_of_replaced_records_charges_two_steps(learner):
    ledger = PrivacyLedger(2 * Fraction(str(learner.epsilon)), 1e-4)
    model, _ = fitted(learner, 150, ledger=ledger)
    [record] = ledger.history()
    assert (record.cost.epsilon, record.cost.delta) == (
        2 * model.guarantee_.epsilon,
        model.guarantee_.for_group(2).delta,
    )
    assert record.guarantee == model.guarantee_
    with pytest.raises(BudgetExceededError):
        fitted(learner, 150, ledger=PrivacyLedger(Fraction(19, 10) * Fraction(str(learner.epsilon)), 1e-4))


@every_release
def test_releases_keep_the_same_laws(release):
    guarantees, plans = [], []
    for n in SIZES:
        ledger = PrivacyLedger(1, 0.2, neighbors="add_remove")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            source, published = release(n, ledger=ledger)
        guarantees.append((source.guarantee, [each.guarantee for each in ledger.history()]))
        plans.append(str(getattr(source, "plan", source)))
        assert repr(published)
    assert all(each == guarantees[0] for each in guarantees)
    assert all(each == plans[0] for each in plans)
    assert source.guarantee.neighbors == "add_remove"
    assert source.guarantee.assumes[0] == AT_LEAST_ONE
    assert not any("number of records" in each for each in source.guarantee.assumes)
    ledger = PrivacyLedger(1, 0.5)
    with pytest.raises(ValueError, match=r"none|at least 1"):
        release(0, ledger=PrivacyLedger(1, 0.5, neighbors="add_remove"))
    with pytest.raises(BudgetExceededError):
        release(150, ledger=ledger)  # twice the epsilon
    assert ledger.history() == []
    with pytest.raises(ValueError, match="neighbors must be one of"):
        {"central": queries.central, "stable_counts": stable_counts, "grouped": grouped}[
            next(name for name, each in RELEASES.items() if each is release)
        ](Y.astype(str), neighbors="swap", **({"delta": 0.1} if release is not asked else {}))


def test_parts_are_refused_by_releases():
    for name, function in (("stable_counts", stable_counts), ("grouped", grouped)):
        with pytest.raises(TypeError, match="keys must be in memory for neighbors='add_remove'"):
            function(lambda: [Y[:75].astype(str), Y[75:].astype(str)], delta=0.1, neighbors="add_remove")
        assert name


def test_plans_of_releases_need_no_number_of_records():
    found = stable_counts(Y.astype(str), delta=1e-3, neighbors="add_remove")
    assert found.plan == stable_counts_plan(None, delta=1e-3, neighbors="add_remove")
    assert found.plan.n_samples is None
    plan = grouped_plan(None, bounds=(0, 8), delta=1e-3, neighbors="add_remove")
    other = grouped_plan(100, bounds=(0, 8), delta=1e-3)
    assert plan.count_error < other.count_error
    assert plan.mean_error == pytest.approx(other.mean_error / 2, rel=1e-3)
    with pytest.raises(TypeError, match="n_samples"):
        stable_counts_plan(None, delta=1e-3)


@pytest.mark.parametrize("wrapped", ["search", "threshold", "outputs", "sample"])
def test_what_needs_the_number_of_records_refuses(wrapped):
    learner = LEARNERS["StatisticalQueryNaiveBayes"]
    wrapper = {
        "search": lambda: PrivateSearchCV(learner, {"n_bins": [4, 8]}),
        "threshold": lambda: PrivateTunedThresholdClassifier(learner),
        "outputs": lambda: PrivateMultiOutputClassifier(learner),
        "sample": lambda: SecretSampleClassifier(learner, sample_size=20),
    }[wrapped]()
    ledger = PrivacyLedger(100, 0.1)
    with pytest.raises(
        ValueError, match=r"neighbors must be 'replace_one' for .*; StatisticalQueryNaiveBayes"
    ):
        wrapper.set_params(ledger=ledger).fit(X, Y == 1)
    assert ledger.history() == []


def test_a_candidate_of_a_search_that_counts_added_records_is_refused():
    learner = LEARNERS["StatisticalQueryNaiveBayes"]
    grid = {"neighbors": ["replace_one", "add_remove"]}
    search = PrivateSearchCV(clone(learner).set_params(neighbors="replace_one"), grid, epsilon=10.0)
    with pytest.raises(ValueError, match=r"neighbors must be 'replace_one'|estimator must cost at most"):
        search.fit(X, Y)


def test_a_learner_without_the_parameter_is_refused_by_a_ledger_of_added_records():
    ledger = PrivacyLedger(1, neighbors="add_remove")
    with pytest.raises(LedgerError, match="StatisticalQueryNaiveBayes, StatisticalQueryLogisticRegression"):
        ExponentialMechanismClassifier(ledger=ledger).fit(X, Y)
    with pytest.raises(LedgerError, match="take neighbors='add_remove'"):
        releases.quantiles(X[:, 0], 0.5, ledger=ledger)
    assert ledger.history() == []


def test_an_additive_model_of_several_outputs_is_refused_before_the_charge():
    model = AdditiveClassifier(domain=None, neighbors="add_remove", ledger=PrivacyLedger(2, 1e-5))
    with pytest.raises(
        ValueError, match=r"neighbors must be 'replace_one' for several outputs, got 'add_rem.* 2"
    ):
        model.fit(X, np.stack([Y, Y == 1], axis=1))
    with pytest.raises(ValueError, match="neighbors must be 'replace_one' for several outputs"):
        model.set_params(classes=[0, 1]).plan(100, n_features=2, n_outputs=3)
    assert model.ledger.history() == []
    assert not model.__sklearn_tags__().target_tags.multi_output


def test_additive_fits_that_no_estimate_has_a_plan_for_are_refused_before_the_charge():
    ledger = PrivacyLedger(1, 1e-5, neighbors="add_remove")
    # Noise can be drawn for a table of one record, and not for the most, whose residuals are not clipped.
    model = AdditiveClassifier(
        epsilon=3.16e-7, delta=1e-10, domain=Grid(0, 8, 17), classes=[0, 1, 2], interactions=False
    ).set_params(neighbors="add_remove", ledger=ledger)
    assert model.plan(1, n_features=4).linear
    with pytest.raises(ValueError, match="epsilon must be large enough for noise to be drawn"):
        model.fit(X, Y)
    assert ledger.history() == []


def test_the_cells_of_an_additive_fit_are_those_of_the_noisy_number_of_records():
    domain = IntegerRange(0, 100_000)
    model = AdditiveClassifier(
        epsilon=1000.0, domain=domain, classes=[0, 1], neighbors="add_remove", random_state=0
    )
    sizes = {}
    for n in (3, 150):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(model).fit(1000 * np.rint(10 * X[:n]).astype(int), Y[:n] > 0)
        assert fitted.noisy_count_ == n  # there is hardly any noise
        plan = model.plan(n, n_features=4)
        assert fitted.residual_clip_ == (1.0 if plan.clear else 0.5)
        sizes[n] = [shape.column.size for shape in fitted.shapes_]
        assert sizes[n] == [column.size for column in plan.columns]
    assert sizes[3] < sizes[150]


def test_learned_schemas_and_local_reports_are_refused():
    with pytest.raises(ValueError, match="trust_model must be 'central' for neighbors='add_remove'"):
        StatisticalQueryNaiveBayes(neighbors="add_remove", trust_model="local").fit(X, Y)
    with pytest.raises(ValueError, match="neighbors must be 'replace_one' for domain='learn'"):
        StatisticalQueryNaiveBayes(neighbors="add_remove", domain="learn").fit(X, Y)
    for kind, given in ((AdditiveClassifier, {}), (AdditiveRegressor, {"target_range": (0, 2)})):
        with pytest.raises(ValueError, match="neighbors must be 'replace_one' for domain='learn'"):
            kind(neighbors="add_remove", **given).fit(X, Y)
    with pytest.raises(ValueError, match="neighbors must be one of 'replace_one'"):
        LocalOracle(Y, privacy=ApproxDP(1, neighbors="add_remove"), dice=None, stream=None)
