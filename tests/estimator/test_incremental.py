"""`partial_fit`: released means of calls add up, each call has noise of its own, and what may not change."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dplearn import StatisticalQueryNaiveBayes
from dplearn.domains import DomainError, Grid
from dplearn.preprocessing import PrivateStandardScaler
from dplearn.privacy import PrivacyLedger
from tests.audit.changed import with_recipe

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
def test_a_call_that_fails_after_the_charge_leaves_the_model_as_it_was(learner):
    def failing(own):
        return lambda fit, *given: own(fit, *given) if fails is None else 1 / fails

    fails, ledger = None, PrivacyLedger(9, delta=1e-4)
    kind = with_recipe(type(learner), run=failing)
    model = kind(**learner.get_params()).set_params(ledger=ledger).partial_fit(X, Y)
    kept = {name: value for name, value in vars(model).items() if name.endswith("_")}
    fails = 0
    with pytest.raises(ZeroDivisionError):
        model.partial_fit(X, Y)
    fails = None
    assert ledger.spent().epsilon == 2
    assert all(vars(model)[name] is value for name, value in kept.items())
    assert model.partial_fit(X, Y).calls_.n_calls == 2


@both
def test_a_pickle_continues_and_a_clone_begins_anew(learner):
    model = clone(learner).set_params(random_state=0).partial_fit(X, Y)
    copied = pickle.loads(pickle.dumps(model)).set_params(random_state=None)
    np.testing.assert_array_equal(numbers(model), numbers(copied))
    assert copied.partial_fit(X, Y).guarantee_.reproducible  # one seeded call is enough
    assert (model.calls_.n_calls, copied.calls_.n_calls) == (1, 2)
    assert not hasattr(clone(model), "calls_")


@both
def test_columns_must_be_those_of_the_first_call(learner):
    frame = pd.DataFrame(X, columns=["age", "weight"])
    model = clone(learner).partial_fit(frame, Y)
    narrow = frame[["age"]]
    for table, labels in (
        (frame.rename(columns={"age": "years"}), Y),
        ([narrow[:9], narrow[9:]], [Y[:9], Y[9:]]),
    ):
        with pytest.raises(ValueError, match="feature names should match"):
            model.partial_fit(table, labels)
    assert model.calls_.n_calls == 1
    parted = [frame[:9], frame[9:]], [Y[:9], Y[9:]]
    assert model.partial_fit(*parted).calls_.n_samples == 8000


def test_parameters_that_only_read_the_sums_may_change_and_bins_stay():
    model = clone(BAYES).set_params(n_bins="auto", random_state=0)
    model.partial_fit(X[:300], Y[:300]).set_params(priors=[0.5, 0.5], smoothing=3.0).partial_fit(X, Y)
    assert model.n_bins_ == clone(BAYES).set_params(n_bins="auto").plan(300).n_bins
    assert np.exp(model.log_prior_) == pytest.approx([0.5, 0.5])


def test_classes_are_those_of_the_first_call_or_of_a_fit():
    model = clone(BAYES).set_params(classes=None)
    model.partial_fit(X[:50], Y[:50] * 0, classes=np.array([1, 0]))
    assert model.classes_.tolist() == [0, 1]
    model.partial_fit(X, Y).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(DomainError, match="not among the declared classes"):
        model.partial_fit(X, Y + 1)
    words = np.array(["no", "yes"], dtype=object)[Y]
    fitted = clone(model).fit(X, words)
    assert fitted.partial_fit(X, words).classes_.dtype == object  # a fit found them; a call goes on


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
    assert any("each call" in each and "groups" in each for each in model.guarantee_.assumes)
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


def test_a_fit_forgets_what_earlier_fits_published():
    """Else a record of an earlier fit would be in two calls, and `guarantee_` would not say so."""
    X, y = np.random.default_rng(0).random((200, 2)), np.arange(200) % 2
    known = {"domain": Grid(0, 1, 65), "classes": [0, 1]}
    model = StatisticalQueryNaiveBayes(**known).fit(X, y)
    model.set_params(neighbors="add_remove").fit(X, y)
    assert not hasattr(model, "calls_")
    assert not hasattr(model, "partial_fit")
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
