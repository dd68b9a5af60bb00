"""`partial_fit`: released means of calls add up, each call has noise of its own, and what may not change."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dplearn import StatisticalQueryNaiveBayes
from dplearn.domains import Categories, DomainError, Grid, Schema
from dplearn.estimator.incremental import NEW_GROUPS
from dplearn.preprocessing import PrivateStandardScaler
from dplearn.privacy import PrivacyLedger

RNG = np.random.default_rng(0)
X = RNG.normal([50, 3], [10, 1], (4000, 2))
Y = (X[:, 0] + RNG.normal(0, 5, 4000) > 50).astype(int)
DOMAIN = [Grid(0, 100, 10_001, outside="clip"), Grid(-2, 8, 10_001, outside="clip")]
BAYES = StatisticalQueryNaiveBayes(domain=DOMAIN, n_bins=8, classes=[0, 1])
SCALER = PrivateStandardScaler(domain=DOMAIN)
both = pytest.mark.parametrize("learner", [BAYES, SCALER], ids=lambda each: type(each).__name__)


def called(learner, parts=4, **parameters):
    model = clone(learner).set_params(**parameters)
    for place in range(parts):
        model.partial_fit(X[place::parts], Y[place::parts])
    return model


def numbers(model):
    """The released numbers of a model."""
    tables = getattr(model, "log_ratios_", None)
    return np.hstack([model.mean_, model.var_]) if tables is None else np.hstack(tables).ravel()


@both
def test_with_a_large_budget_calls_give_the_fit_of_all_records(learner):
    parts, whole = (called(learner, n, epsilon=1e5, delta=0, random_state=0) for n in (5, 1))
    np.testing.assert_allclose(numbers(parts), numbers(whole), atol=0.01, rtol=0.01)
    assert parts.calls_.n_samples == whole.calls_.n_samples == 4000


@both
def test_noise_is_drawn_anew_in_each_call_of_a_seeded_model(learner):
    model = clone(learner).set_params(random_state=0, epsilon=0.5)
    released = []
    for _ in range(3):  # the same table each time: joined means move by the noise alone
        model.partial_fit(X, Y)
        calls = model.calls_
        before = sum(released) if released else 0 * calls.means[0]
        released.append(calls.means[0] * calls.n_calls - before)
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert np.abs(released[one] - released[other]).max() > 1e-6


@both
def test_one_seeded_call_makes_the_guarantee_of_all_calls_reproducible(learner):
    model = clone(learner).set_params(random_state=0).partial_fit(X, Y)
    assert model.set_params(random_state=None).partial_fit(X, Y).guarantee_.reproducible
    assert not clone(model).partial_fit(X, Y).guarantee_.reproducible


@both
@pytest.mark.parametrize("delta", [0, 1e-5])
def test_the_noise_of_the_calls_adds_up_as_stated(learner, delta):
    model = clone(learner).set_params(random_state=5, delta=delta, epsilon=0.1)
    singles = []
    for epsilon in (0.1, 0.3):
        alone = clone(learner).set_params(random_state=5, delta=delta, epsilon=epsilon).fit(X, Y)
        singles.append(alone.calls_.deviations[0])
        model.set_params(epsilon=epsilon).partial_fit(X, Y)
    expected = np.hypot(*singles) / 2  # both calls have 4,000 records
    assert model.calls_.deviations[0] == pytest.approx(expected)


@both
def test_a_call_that_fails_after_the_charge_leaves_the_model_as_it_was(learner, monkeypatch):
    ledger = PrivacyLedger(9, delta=1e-4)
    model = clone(learner).set_params(ledger=ledger).partial_fit(X, Y)
    kept = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with monkeypatch.context() as patch:
        patch.setattr(type(model._recipe(False)), "run", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.partial_fit(X, Y)
    assert ledger.spent().epsilon == 2
    assert all(vars(model)[name] is value for name, value in kept.items())
    assert model.partial_fit(X, Y).calls_.n_calls == 2


@both
def test_a_pickle_continues_and_a_clone_begins_anew(learner):
    model = called(learner, 2)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(numbers(model), numbers(copied))
    assert copied.partial_fit(X, Y).calls_.n_calls == 3
    assert model.calls_.n_calls == 2
    assert not hasattr(clone(model), "calls_")


@both
def test_columns_must_be_those_of_the_first_call(learner):
    frame = pd.DataFrame(X, columns=["age", "weight"])
    model = clone(learner).partial_fit(frame, Y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame.rename(columns={"age": "years"}), Y)
    narrow = frame[["age"]]
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit([narrow[:9], narrow[9:]], [Y[:9], Y[9:]])
    with pytest.raises(ValueError, match="X has 1 features, but"):
        clone(learner).partial_fit(X, Y).partial_fit(X[:, :1], Y)
    assert model.calls_.n_calls == 1
    parted = [frame[:9], frame[9:]], [Y[:9], Y[9:]]
    assert model.partial_fit(*parted).calls_.n_samples == 8000


@pytest.mark.parametrize(
    ("learner", "changed", "message"),
    [
        (BAYES, {"domain": Grid(0, 200, outside="clip")}, "domain must be the same in all calls"),
        (BAYES, {"n_bins": 4}, "n_bins must be the same in all calls of partial_fit, got 4 after 8"),
        (BAYES, {"trust_model": "local"}, "trust_model must be the same in all calls"),
        (BAYES, {"classes": [0, 1, 2]}, "is not the same as on last call to partial_fit"),
        (BAYES, {"domain": "learn"}, "domain must be declared for partial_fit, got 'learn'"),
        (BAYES, {"priors": [1.0]}, "priors must be one for each of the 2 classes"),
        (SCALER, {"domain": "float64"}, "domain must be the same in all calls"),
        (
            SCALER,
            {"with_std": False},
            "with_std must be the same in all calls of partial_fit, got False after",
        ),
        (SCALER, {"with_mean": False}, "with_mean must be the same in all calls"),
    ],
)
def test_parameters_that_shape_the_sums_may_not_change(learner, changed, message):
    ledger = PrivacyLedger(9, delta=1e-4)
    model = clone(learner).set_params(ledger=ledger).partial_fit(X, Y)
    model.set_params(**changed)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, Y)
    assert ledger.spent().epsilon == 1
    if "learn" not in changed.values() and "priors" not in changed:
        model.fit(X, Y)  # which forgets the earlier call


def test_parameters_that_only_read_the_sums_may_change_and_bins_stay():
    model = clone(BAYES).set_params(n_bins="auto", random_state=0)
    model.partial_fit(X[:300], Y[:300]).set_params(priors=[0.5, 0.5], smoothing=3.0).partial_fit(X, Y)
    assert model.n_bins_ == clone(BAYES).set_params(n_bins="auto").plan(300).n_bins
    assert np.exp(model.log_prior_) == pytest.approx([0.5, 0.5])


def test_classes_are_as_scikit_learn_has_them():
    model = clone(BAYES).set_params(classes=None)
    with pytest.raises(ValueError, match=r"^classes must be passed on the first call to partial_fit\."):
        model.partial_fit(X, Y)
    model.partial_fit(X[:50], Y[:50] * 0, classes=np.array([1, 0]))
    assert model.classes_.tolist() == [0, 1]
    model.partial_fit(X, Y).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(
        ValueError, match=r"`classes=\[0, 2\]` is not the same as on last call to partial_fit"
    ):
        model.partial_fit(X, Y, classes=[2, 0])
    with pytest.raises(DomainError, match="not among the declared classes"):
        model.partial_fit(X, Y + 1)
    with pytest.raises(ValueError, match="classes must be distinct"):
        clone(model).partial_fit(X, Y, classes=[0, 0])
    with pytest.raises(ValueError, match="classes must be those of the constructor"):
        clone(BAYES).partial_fit(X, Y, classes=[0, 5])
    words = np.array(["no", "yes"], dtype=object)[Y]
    fitted = clone(model).fit(X, words)
    assert fitted.partial_fit(X, words).classes_.dtype == object  # a fit found them; a call goes on


def test_rare_labels_gaps_texts_and_constant_columns_of_a_declared_table():
    frame = pd.DataFrame(
        {"town": ["north", "south", None, "north"] * 30, "income": [1.0, np.nan, 3.0, 2.0] * 30, "one": 7}
    )
    schema = Schema(
        {
            "town": Categories(["north", "south", None]),
            "income": Grid(0, 10, 11, missing=True),
            "one": Grid(0, 10, 11),
        },
        labels=["a", "b", "rare"],
    )
    y = np.array(["a", "b", "a", "b"] * 30)
    model = StatisticalQueryNaiveBayes(domain=schema, epsilon=5)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (slice(0, 60), slice(60, 119), slice(119, 120)):
            model.partial_fit(frame[part], y[part])
    assert model.classes_.tolist() == ["a", "b", "rare"]
    assert np.isfinite(model.predict_proba(frame)).all()


def test_unbounded_columns_keep_the_ranges_of_the_first_call():
    model = PrivateStandardScaler(epsilon=20, random_state=0).partial_fit(X)
    box = model.calls_.box
    model.partial_fit(X * 1e6)  # clipped
    assert model.calls_.box is box
    assert model.mean_[0] < 200
    free = PrivateStandardScaler(with_mean=False, with_std=False).partial_fit(X).partial_fit(X)
    assert (free.guarantee_.epsilon, free.n_samples_seen_) == (0, 8000)


@both
def test_groups_are_given_in_all_calls_or_in_none(learner):
    groups = np.repeat(np.arange(400), 10)
    model = clone(learner).partial_fit(X, Y, groups=groups).partial_fit(X, Y, groups=groups + 400)
    assert model.guarantee_.protects == "groups"
    assert NEW_GROUPS in model.guarantee_.assumes
    assert model.calls_.n_samples == 800
    with pytest.raises(ValueError, match="groups must be given in all calls"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="groups must be given in all calls"):
        clone(learner).partial_fit(X, Y).partial_fit(X, Y, groups=groups)


def test_a_warning_is_about_the_noise_of_all_calls():
    few = X[:40], Y[:40]
    model = clone(BAYES).set_params(epsilon=0.1)
    with pytest.warns(UserWarning, match="n_samples is 40: "):
        model.partial_fit(*few)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clone(BAYES).partial_fit(X, Y)
        model.partial_fit(*few)  # alone it would warn


def test_calls_of_which_the_numbers_of_records_are_private_are_not_offered():
    model = StatisticalQueryNaiveBayes(neighbors="add_remove")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as refused:
        model.partial_fit([[0.0]], [0])
    assert "neighbors must be 'replace_one' for partial_fit" in str(refused.value.__cause__)
    assert hasattr(model.set_params(neighbors="replace_one"), "partial_fit")


def test_a_fit_forgets_what_earlier_fits_published():
    """Else a record of an earlier fit would be in two calls, and `guarantee_` would not say so."""
    X, y = np.random.default_rng(0).random((200, 2)), np.arange(200) % 2
    known = {"domain": Grid(0, 1, 65), "classes": [0, 1]}
    model = StatisticalQueryNaiveBayes(**known).fit(X, y)
    model.set_params(neighbors="add_remove").fit(X, y)
    assert not hasattr(model, "calls_")
    model.set_params(neighbors="replace_one")
    with pytest.raises(ValueError, match="cannot continue a fit whose number of records is private"):
        model.partial_fit(X, y)
    again, fresh = model.fit(X, y), StatisticalQueryNaiveBayes(**known).fit(X, y)
    assert vars(again).keys() == vars(fresh).keys()
    assert again.calls_.n_calls == 1
    again.set_params(neighbors="add_remove").fit(X, y)
    with pytest.raises(ValueError, match="missing"):
        again.set_params(neighbors="replace_one").fit(np.full((200, 2), np.nan), y)
    assert hasattr(again, "noisy_count_")  # a refused fit leaves the model as it was
