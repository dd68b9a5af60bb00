"""The values that stages hand on, and the order in which they run."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dplearn.chance import SeededDice
from dplearn.core.gf2 import pack
from dplearn.domains import Categories, DomainError, IntegerRange, Product
from dplearn.estimator.stages import Params, Public, Read, cost_of_fit, planned_columns, planned_table
from dplearn.fit import execute
from dplearn.learners import ExponentialMechanismClassifier, ParityClassifier, SecretSampleClassifier
from dplearn.learners.parity_methods import Equations
from dplearn.privacy import ApproxDP
from dplearn.records.rows import Columns, Examples, count_of, taken

X, Y = np.arange(20)[:, None] % 10, np.arange(20) % 2
STAGES = ("_params", "_cost", "open_account", "_read", "_plan", "_summarize", "_release", "_publish")


def learner(**parameters):
    return ExponentialMechanismClassifier(domain=IntegerRange(0, 9), classes=[0, 1], **parameters)


def test_parameters_do_not_change():
    params = Params(ApproxDP(1), method="a")
    with pytest.raises(AttributeError, match="do not change, got 'method'"):
        params.method = "b"
    with pytest.raises(AttributeError, match="no parameter 'x'"):
        _ = params.x
    assert params.method == "a"


def test_the_number_of_labels_is_that_of_the_classes():
    assert Public(5, 2, classes=np.array(["a", "b", "c"])).n_labels == 3
    assert Public(5, 2, n_labels=4).n_labels == 4


def test_declared_sizes_take_precedence_in_a_planned_table():
    pair = Product([IntegerRange(0, 9), Categories(["a", "b"])])
    declared = Params(ApproxDP(1), declared=pair, classes=["a", "b", "c"])
    assert planned_columns(declared, 7, n_features=None) == Public(7, 2)
    assert planned_table(declared, 7, n_features=5, n_labels=9) == Public(7, 2, 3)
    free = Params(ApproxDP(1), declared=None, classes=None)
    assert planned_columns(free, 7, n_features=5) == Public(7, 5)
    assert planned_table(free, 7, n_features=5, n_labels=9) == Public(7, 5, 9)
    with pytest.raises(ValueError, match="n_features must be given, since domain does not determine it"):
        planned_columns(free, 7, n_features=None)
    with pytest.raises(ValueError, match="n_labels must be given, since classes does not determine it"):
        planned_table(free, 7, n_features=5, n_labels=None)


@pytest.mark.parametrize(
    "rows",
    [
        np.arange(6),
        Columns([np.arange(6), np.arange(6) * 2]),
        Examples(Columns([np.arange(6)]), np.arange(6)),
        Examples(csr_matrix(np.eye(6)), np.arange(6)),
        Equations(pack(np.eye(6, dtype=np.uint8)), np.zeros((6, 1), np.uint8)),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_records_are_taken_at_their_places(rows):
    assert count_of(taken(rows, np.array([4, 4, 1]))) == 3
    assert len(Read(Public(6, 1), rows).rows) == 6


def test_a_table_has_n_samples_rows():
    with pytest.raises(AssertionError):
        Read(Public(5), np.arange(6))


def test_stages_run_in_order_and_the_charge_comes_before_anything_is_summarised(monkeypatch):
    seen = []

    def given(name, stage):
        def run(*arguments, **options):
            seen.append(name)
            result = stage(*arguments, **options)
            if name != "open_account":
                return result
            return lambda guarantee: (seen.append("charge"), result(guarantee))

        return run

    for name in STAGES:
        owner = execute if name == "open_account" else ExponentialMechanismClassifier
        monkeypatch.setattr(owner, name, given(name, getattr(owner, name)))
    learner().fit(X, Y)
    assert seen == [*STAGES[:5], "charge", *STAGES[5:]]


def test_begin_draws_nothing_and_refuses_values_outside_the_domain():
    model = learner()
    table, plan = model._begin(X, Y, model._params(reproducible=False))
    assert not hasattr(model, "concept_")
    with pytest.raises(DomainError, match="outside the declared domain"):
        model._begin(X + 5, Y, model._params(reproducible=False))
    model._finish(table, plan, SeededDice(0))
    assert model.guarantee_ == plan.guarantee == learner().plan(20, n_features=1).guarantee


def test_the_cost_follows_from_parameters_or_shapes_without_a_fit():
    assert cost_of_fit(learner(epsilon=2)) == ApproxDP(2)
    assert cost_of_fit(learner(epsilon=-1)) is None
    assert cost_of_fit(learner(random_state=0)) == ApproxDP(1, reproducible=True)
    stable = ParityClassifier(method="stable", delta=1e-6)
    assert cost_of_fit(stable) is None
    assert cost_of_fit(stable, np.zeros((500, 3)), Y) == ApproxDP(1, "1e-6")
    sampled = SecretSampleClassifier(learner(), sample_size=10)
    assert cost_of_fit(sampled) is None
    assert cost_of_fit(sampled, np.zeros((100, 1)), Y).epsilon < 1
