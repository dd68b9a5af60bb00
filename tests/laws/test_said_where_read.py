"""What voids a guarantee is said where it is read: in its first line, printed, at the prompt and as HTML."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from dplearn import ExponentialMechanismClassifier, PrivacyLedger, releases
from dplearn.chance import sources as seeded
from dplearn.learners import KnowledgeTransferClassifier, LineClassifier, PointClassifier
from dplearn.learners.votes import OnlineEnsembleClassifier
from dplearn.model_selection import PrivateSearchCV
from dplearn.preprocessing import PrivateStandardScaler
from dplearn.privacy import ApproxDP, pipeline_guarantee
from tests.laws.conftest import STAND_FOR_ALL, public_rows, written

ALONE = "The cost of this {} alone, if no earlier step learned from its {}."
NOT_PRIVATE = "reproducible: not private"


def lines_of(guarantee, what="fit"):
    """The lines of a guarantee, of which there are few, and which are short."""
    lines = str(guarantee).splitlines()
    assert repr(guarantee) == str(guarantee)
    assert lines[0] == ALONE.format(what, "labels" if guarantee.protects == "labels" else "rows")
    assert len(lines) <= 5
    assert max(map(len, lines)) <= 110
    html = guarantee._repr_html_()
    assert html.startswith(f"<table><caption>{lines[0]} ")
    assert (NOT_PRIVATE in str(guarantee)) == ("<td>not private" in html) == guarantee.reproducible
    return lines


@pytest.mark.filterwarnings("ignore")
def test_every_fitted_guarantee_says_what_it_covers(one_a_class, classifier, iris, fitted):
    what = "search" if isinstance(classifier, PrivateSearchCV) else "fit"
    assert lines_of(fitted.guarantee_, what)[1].startswith("ApproxDP(epsilon=")
    seeded = clone(classifier).set_params(random_state=0).fit(*iris)
    assert lines_of(seeded.guarantee_, what)[1].startswith(NOT_PRIVATE)


@pytest.mark.filterwarnings("ignore")
def test_every_transformers_guarantee_says_it_too(one_a_class, any_transformer):
    if hasattr(any_transformer, "epsilon"):
        lines_of(clone(any_transformer).fit(load_iris().data).guarantee_)


def test_a_release_says_it_and_copies_do():
    released = releases.median(np.arange(500.0), epsilon=1, random_state=0)
    assert lines_of(released.guarantee, "release")[1].startswith(NOT_PRIVATE)
    model = ExponentialMechanismClassifier(epsilon=1).fit(np.arange(500.0)[:, None], np.arange(500) > 99)
    assert lines_of(pickle.loads(pickle.dumps(model)).guarantee_) == lines_of(model.guarantee_)
    assert model.guarantee_ == eval(lines_of(model.guarantee_)[1]).__class__.from_json(
        model.guarantee_.to_json()
    )


def test_guarantees_that_are_of_no_single_fit_do_not_say_it():
    X, y = np.random.default_rng(0).normal(size=(900, 2)), np.arange(900) % 2
    ledger = PrivacyLedger(9)
    pipeline = make_pipeline(PrivateStandardScaler(delta=0), ExponentialMechanismClassifier(ledger=ledger))
    pipeline.fit(X, y)
    for guarantee in (ApproxDP(1), ledger.remaining(), ledger.spent(), pipeline_guarantee(pipeline)):
        assert repr(guarantee).startswith("ApproxDP(epsilon=")


@pytest.fixture
def forgotten():
    seeded.warn_once.cache_clear()
    yield
    seeded.warn_once.cache_clear()


SEEDED = {
    "fit": lambda seed: ExponentialMechanismClassifier(random_state=seed).fit(
        [[0.0], [1.0]] * 100, [0, 1] * 100
    ),
    "transformer": lambda seed: PrivateStandardScaler(random_state=seed).fit(np.ones((500, 1))),
    "release": lambda seed: releases.median(np.arange(500.0), epsilon=1, random_state=seed),
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("seed", [0, np.random.default_rng(0)], ids=["integer", "generator"])
@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_warns_once_and_no_seed_never(name, seed, forgotten):
    def texts():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            SEEDED[name](seed)
        return [str(each.message) for each in caught if "random_state" in str(each.message)]

    assert [text.partition(":")[0] for text in texts()] == ["random_state is set"]
    assert texts() == []
    seed = None
    seeded.warn_once.cache_clear()
    assert texts() == []


def test_as_an_error_it_comes_each_time_and_before_the_charge(forgotten):
    ledger = PrivacyLedger(9, allow_reproducible=True)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="random_state is set"):
                ExponentialMechanismClassifier(ledger=ledger, random_state=0).fit([[0.0]] * 9, [0, 1, 1] * 3)
    assert ledger.history() == []


#: Ensembles, keys and lines plan for any number of records; their plans say what it is worth.
FOR_ANY_NUMBER = (OnlineEnsembleClassifier, KnowledgeTransferClassifier, PointClassifier, LineClassifier)
WARNING_OF_FEW = [
    each for each in STAND_FOR_ALL if "ledger" in each.get_params() and not isinstance(each, FOR_ANY_NUMBER)
]


@pytest.mark.filterwarnings("ignore", "error:n_samples is")
@pytest.mark.parametrize("learner", WARNING_OF_FEW, ids=written)
def test_few_records_are_warned_of_before_anything_is_spent(learner):
    given = {"protects": getattr(learner, "protects", "examples"), "allow_reproducible": True}
    model = clone(learner).set_params(ledger=PrivacyLedger(10, 0.9, **given), epsilon=0.1)
    X = np.arange(48.0).reshape(12, 4) % 3
    with pytest.raises(UserWarning, match=r"^n_samples is \d+: "):
        model.fit(X, np.arange(12) % 2, **public_rows(model, X))
    assert model.ledger.history() == []
