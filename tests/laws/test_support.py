"""What the table of supported features says is what happens, for all estimators and releases.

The file of all public facts, which `test_snapshot.py` compares with fits, tells what each setting does in
each form. Where the table says that features are supported, the fit works; else it is refused, with the
message of the table.
"""

import inspect
import re

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.naive_bayes import BernoulliNB
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from dplearn import (
    AdditiveClassifier,
    MaskedParityClassifier,
    ParityClassifier,
    PointClassifier,
    PrivateMultiOutputClassifier,
    PublicData,
    SecretSampleClassifier,
    SoftLabelAggregateClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    learners,
    preprocessing,
    releases,
)
from dplearn.estimator import PrivateEstimator
from dplearn.fit import FEATURES, REFUSALS, supported, supports
from dplearn.model_selection import PrivateSearchCV, PrivateTunedThresholdClassifier, private_score
from dplearn.preprocessing import PrivateStandardScaler
from dplearn.privacy import PrivacyLedger
from tests.audit.changed import recipe_of
from tests.laws.conftest import (
    FEW_VALUES,
    KnowledgeTransferClassifier,
    PrivateLabelsClassifier,
    SoftLabelTransferClassifier,
)
from tests.laws.facts import ALL, NAMES, PARAMETERS
from tests.laws.releases import RELEASES
from tests.laws.test_snapshot import kept

#: From a word of the forms of `facts.py` to a feature.
WORDS = {
    "added": "add_remove",
    "learned": "learn",
    "mixed": "learn",
    "calls": "partial_fit",
    **{each: each for each in ("parts", "groups", "local", "labels", "outputs", "sparse")},
}
#: Parts of errors about values of parameters that do not suit the table; the features are supported.
OF_VALUES = (
    "domain must have",
    "method must fit the table and the budget",
    "the number of outputs must be 1 with method=",
    "n_samples must be at least",
    "X must be a table in memory if protects='labels', except with stumps and thresholds",
)
PLACES = dict(zip(NAMES, range(len(NAMES)), strict=True))
ONES = list({type(each): each for each in reversed(ALL)}.values())
#: Parameters of a learner that uses no feature.
PLAIN = {"domain": None, "protects": "examples", "trust_model": "central", "neighbors": "replace_one"}


def own(setting):
    """The features that the parameters of a setting use."""
    parameters = setting.get_params(deep=False)
    return {value for name, value in PARAMETERS.values() if parameters.get(name) == value}


def features_of(form):
    return {WORDS[word] for word in form.split() if word in WORDS}


def message(pair):
    """A pattern of the one message of features, whose fields are any texts."""
    return "^" + re.sub(r"\\\{.*?\}", ".*", re.escape(REFUSALS[pair])) + "$"


def contradicts(thing, used, told, memory):
    """Whether the table says another thing of features than a fit tells."""
    error = told if isinstance(told, str) and told != "as in memory" else None
    if supports(thing, *used):
        return error is not None and error != memory and not any(each in error for each in OF_VALUES)
    if error is None:
        return True
    if used - supported(thing) not in (set(), {"parts"}) or not isinstance(thing, PrivateEstimator):
        return False  # a parameter that it does not have, or rows of a kind that it does not read
    used = used | {"memory"} if "parts" not in supported(thing) else used
    found = error.partition(": ")[2]
    return not any(re.match(message(pair), found) for pair in REFUSALS if {*pair} <= used)


@pytest.mark.parametrize("name", NAMES)
def test_fits_do_what_the_table_says(name):
    setting, told = ALL[PLACES[name]], kept()["fits"][name]
    forms = {form: own(setting) | features_of(form) for form in told}
    if get_tags(setting).transformer_tags is not None:
        forms = {form: used for form, used in forms.items() if "outputs" not in used}  # there is no y
    assert [form for form in forms if contradicts(setting, forms[form], told[form], told["memory"])] == []


@pytest.mark.parametrize("name", RELEASES)
def test_releases_do_what_the_table_says(name):
    function, told = RELEASES[name].function, kept()["releases"][name]
    thing = function() if inspect.isclass(function) else function
    forms = {form: features_of(form) for form in told}
    given = {feature for used in forms.values() for feature in used}
    assert {"add_remove", "groups"} & given == {"add_remove", "groups"} & supported(thing)
    if name.endswith(", learned"):  # of which the signature tells nothing
        forms = {form: used for form, used in forms.items() if "add_remove" not in used}
    assert [form for form in forms if contradicts(thing, forms[form], told[form], told["memory"])] == []


class Unread:
    """A table whose values must not be read."""

    shape, ndim, dtype = (6, 2), 2, np.dtype(float)

    def __len__(self):
        return 6

    def __getitem__(self, place):
        raise AssertionError("a value was read")

    __iter__ = __array__ = __getitem__


def unread_parts():
    raise AssertionError("a part was read")


#: From a feature to arguments of a fit that use it, where they are no parameters.
ARGUMENTS = {
    "groups": {"groups": [0, 0, 1, 1, 2, 2]},
    "X_public": {"X_public": PublicData([[0.0, 1.0]])},
    "outputs": {"X": np.zeros((6, 2)), "y": [[0, 1], [1, 0]] * 3},  # how many there are is read from y
    "parts": {"X": unread_parts, "y": "target"},
}
VALUES = {value: {name: value} for name, value in PARAMETERS.values()} | {
    "learned target": {"target_range": "learn"},
    "class_weight": {"class_weight": "balanced"},
}


def has(thing, feature):
    """Whether a feature, or one that only pairs of the table name, is one of an estimator."""
    if feature == "memory":
        return not thing.reads_parts
    if feature == "parts":
        return True
    if feature == "n_rows":
        return {"n_rows", "n_features"} <= {*inspect.signature(getattr(thing, "plan", bool)).parameters}
    if feature in FEATURES:
        return feature in supported(thing)
    return {*VALUES.get(feature, [feature])} <= {
        *thing.get_params(deep=False),
        *inspect.signature(thing.fit).parameters,
    }


def adapted(thing, pair):
    """A copy of an estimator with parameters that use features, and none besides."""
    names = thing.get_params(deep=False)
    plain = {name: value for name, value in PLAIN.items() if name in names}
    plain |= {} if thing.can_learn_schema else {name: names[name] for name in plain if name == "domain"}
    values = {name: value for feature in pair for name, value in VALUES.get(feature, {}).items()}
    return clone(thing).set_params(random_state=0, **plain | values)


def error_of(thing, pair):
    """The error of a call that uses features; nothing is read of its table, and nothing charged."""
    neighbors = "add_remove" if "add_remove" in pair else "replace_one"
    always = (
        "examples" if "protects" in thing.get_params(deep=False) else getattr(thing, "protects", "examples")
    )
    protects = next((each for each in ("labels", "groups") if each in pair), always)
    ledger = PrivacyLedger(10**13, 0.9, neighbors=neighbors, protects=protects, allow_reproducible=True)
    given = {"X": Unread(), "y": [0, 1] * 3}
    for feature in pair:
        given |= ARGUMENTS.get(feature, {})
    if "labels" not in pair and "X_public" in inspect.signature(thing.fit).parameters:
        given |= ARGUMENTS["X_public"]
    model = adapted(thing, pair).set_params(ledger=ledger)
    method = next((each for each in ("partial_fit", "n_rows") if each in pair), "fit")
    given = {"n_samples": 9, "n_features": 2, "n_labels": 2, "n_rows": 9} if method == "n_rows" else given
    with pytest.raises((TypeError, ValueError, AttributeError)) as error:
        getattr(model, method.replace("n_rows", "plan"))(**given)
    assert ledger.history() == []
    return str(error.value.__cause__ or error.value)


def with_all(pair):
    """One estimator of each class that has all features of a pair."""
    return [each for each in ONES if isinstance(each, PrivateEstimator) and all(has(each, of) for of in pair)]


@pytest.mark.parametrize("pair", [each for each in REFUSALS if "wrapped" not in each], ids=" and ".join)
def test_pairs_are_refused_with_one_message_before_a_value_is_read_or_charged(pair):
    errors = {type(each).__name__: error_of(each, pair) for each in with_all(pair)}
    assert errors  # else the table needs no such pair
    assert [text for text in errors.values() if not re.match(message(pair), text)] == []
    for each in with_all(pair) if {*pair} <= {*VALUES} else ():  # as plans are, where a recipe is made
        with pytest.raises(ValueError, match=message(pair)):
            recipe_of(adapted(each, pair))


BITS = np.random.default_rng(0).integers(0, 2, (200, 2))
#: One setting of each class whose combinations no form of `facts.py` has, fitted soon to a table of bits.
COMBINED = (
    AdditiveClassifier(domain=FEW_VALUES, delta=0),
    ParityClassifier(method="stable", delta=1e-6),
    PointClassifier(method="stability", delta=1e-6),
    PrivateLabelsClassifier(BernoulliNB()),
    MaskedParityClassifier(epsilon=50.0),
    StatisticalQueryLogisticRegression(domain=None, epsilon=50.0),
    StatisticalQueryNaiveBayes(classes=[0, 1], domain=None, epsilon=50.0),
    *(
        kind(BernoulliNB(), *student, n_teachers=2, epsilon=50.0)
        for kind, *student in (
            (SubsampleAggregateClassifier,),
            (SoftLabelAggregateClassifier,),
            (KnowledgeTransferClassifier, BernoulliNB()),
            (SoftLabelTransferClassifier, BernoulliNB()),
        )
    ),
    PrivateStandardScaler(),
)


@pytest.mark.parametrize("setting", COMBINED, ids=lambda each: type(each).__name__)
@pytest.mark.filterwarnings("ignore")
def test_pairs_of_supported_features_that_no_form_has_work(setting):
    features = supported(setting) - {"learn"}
    pairs = [
        (one, other)
        for one in sorted({"sparse", "outputs", "partial_fit"} & features)
        for other in sorted(features - {one})
        if supports(setting, one, other)
    ]
    assert pairs
    for pair in pairs:
        fit_with(clone(setting), pair)


def fit_with(model, features):
    """Fit a setting with features of the table and of parameters."""
    X, y, more = BITS.astype(float), BITS[:, 0], {}
    taken = model.get_params(deep=False)
    model.set_params(
        **{name: value for name, value in PARAMETERS.values() if value in features and name in taken}
    )
    if "outputs" in features:
        y = np.stack([y, 1 - y], axis=1)
    if getattr(model, "needs_public_rows", False):
        more["X_public"] = PublicData(X)
    if "groups" in features:
        more["groups"] = np.arange(200) // 2
    if "sparse" in features:
        X = csr_matrix(X)
    if "parts" in features:
        X, y = [X[:90], X[90:]], [y[:90], y[90:]]
    if "partial_fit" in features:
        model.partial_fit(X, y, **more).partial_fit(X, y, **more)
    else:
        model.fit(X, y, **more)
    check_is_fitted(model)


def test_wrapped_estimators_of_added_records_are_refused_with_one_message():
    inner = StatisticalQueryNaiveBayes(domain=None, neighbors="add_remove")
    for outer in (
        SecretSampleClassifier(inner, sample_size=2),
        PrivateMultiOutputClassifier(inner),
        PrivateSearchCV(inner, {"n_bins": [2, 3]}),
        PrivateTunedThresholdClassifier(inner),
    ):
        outer.set_params(ledger=(ledger := PrivacyLedger(100, 0.1)))
        with pytest.raises(ValueError, match=message(("add_remove", "wrapped"))):
            outer.fit(Unread(), [0, 1] * 3)
        assert ledger.history() == []


def test_scores_and_grouped_statistics_are_of_groups_in_parts_too():
    assert all(supports(each, "parts", "groups") for each in (private_score, releases.grouped))


def test_the_settings_are_of_all_classes():
    exported = {
        name
        for module in (learners, preprocessing)
        for name in module.__all__
        if hasattr(getattr(module, name), "fit")
    }
    missing = exported - {type(each).__name__ for each in ONES}
    assert missing <= {"LineClassifier", "SecretSampleClassifier"}  # they take arguments that no table suits


def test_the_law_notices_a_feature_that_is_said_to_be_supported(monkeypatch):
    monkeypatch.setattr(type(ALL[PLACES[name := NAMES[0]]]), "reads_parts", False)
    with pytest.raises(AssertionError):
        test_fits_do_what_the_table_says(name)


def test_all_classes_with_such_features_are_combined():
    such = {type(each) for each in ALL if {"sparse", "outputs", "partial_fit"} & supported(each)}
    assert such - {PrivateMultiOutputClassifier} <= set(map(type, COMBINED))
    assert all({"sparse", "outputs", "partial_fit"} & supported(each) for each in COMBINED)


def test_every_feature_is_supported_by_something():
    assert set().union(*map(supported, ONES)) == {*FEATURES}
