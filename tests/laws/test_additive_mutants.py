"""Deliberate mistakes in additive models: each breaks an enumerated claim, a replay, or the bound on a move
that noise is scaled to, and the original does not."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.audit.cases.additive import (
    ADDITIVE_REPLAYS,
    CASES,
    additive_query_case,
    counts_gradient,
    joint_rows,
    outputs_gradient,
    signed_tables,
    with_far_noise,
)
from dplearn.audit.replay import RULES, moved_by, replay_privacy
from dplearn.chance import SeededDice
from dplearn.domains import Categories, IntegerRange
from dplearn.learners.additive import losses, queries, start, steps
from dplearn.learners.additive.losses import LogisticLoss, OutputsLoss
from dplearn.learners.additive.model import JointFeatures
from dplearn.learners.additive.plan import AdditivePlan
from dplearn.learners.additive.poisson import PoissonLoss
from dplearn.learners.additive.queries import Rows, mass_query, moment_query, outputs_query, residual_query
from dplearn.privacy import BudgetExceededError
from dplearn.queries import LabelledRows
from dplearn.queries.oracle import COUNT_SHARE
from dplearn.table.targets import STEPS
from tests.changed import with_recipe
from tests.laws.conftest import OnePair
from tests.laws.mutants import around, exponent, instead

BY_NAME = {case.name: case for case in CASES}
REPLAYS = {case.name: case for case in ADDITIVE_REPLAYS}
HALF = LogisticLoss(Fraction(1, 2))


def share_moved(query, one, other):
    """By what share of the bound on its Euclidean length a query's totals of two records differ."""
    totals = [
        query.total(LabelledRows(np.array([cells], np.int16), np.array([y]))) for cells, y in (one, other)
    ]
    move = (totals[0] - totals[1]).astype(object)
    return math.sqrt((move**2).sum() / query.squared_l2)


def violations(case, seeds=2):
    """Return what replay finds on two neighbours of each of two places."""
    records = (case.universe * case.n)[: case.n]
    found = []
    for place, record in ((0, case.universe[2]), (case.n // 2, case.universe[1])):
        other = (*records[:place], record, *records[place + 1 :])
        if case.claim.neighbors == "add_remove":
            other = (*records[:place], *records[place + 1 :])
        found += replay_privacy(case.fit, records, other, rules=case.rules, runs=seeds).violations
    return found


#: Of each kind of fits one, as large as it can soon be replayed; the others at night.
BY_DAY = ("additive_gaussian_2_joint", "additive_laplace_numbers", "added_additive_gaussian")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in BY_DAY else pytest.mark.nightly) for name in REPLAYS]
)
def test_larger_fits_draw_as_the_proof_says(name):
    assert violations(REPLAYS[name], seeds=1) == []


def at_the_whole_price(reach):
    """Return a query whose noise is for the residuals of one label, not for those of all together."""
    right = queries.outputs_query

    def query(rows, residuals, sizes, **known):
        return right(rows, residuals, sizes, **{**known, "reach": reach})

    return query


@pytest.mark.nightly  # their histograms, below, with every change
def test_masses_once_and_the_sums_of_each_output_at_the_whole_price_break_the_claim(monkeypatch):
    right = start.residual_query

    def query(rows, residuals, *, n_outputs, reach, bits):
        return right(rows, residuals, n_outputs=n_outputs, reach=reach // n_outputs, bits=bits)

    cases = [
        OnePair.of(BY_NAME[f"additive_outputs_{name}"], ((("a", (0, 0)),), (("a", (1, 1)),)))
        for name in ("shapes", "step")
    ]
    assert all(0.99 < exponent(case) <= 1 for case in cases)
    monkeypatch.setattr(queries, "outputs_query", at_the_whole_price(HALF.reach))
    monkeypatch.setattr(start, "residual_query", query)
    assert all(exponent(case.with_fit(case.fit)) > 1.9 for case in cases)


def test_histograms_of_labels_at_the_whole_price_of_their_query_are_refused_by_the_oracle(monkeypatch):
    def ask_base(loss, oracle, share):
        return loss.base([oracle.ask(query, share)[0] for query in loss.base_queries()])

    learner = AdditiveClassifier(delta=0, domain=[Categories(["a"])], classes=[0, 1], random_state=0)
    X, Y = np.array([["a"]] * 4, dtype=object), np.array([[0, 1], [1, 0], [0, 0], [1, 1]])
    learner.fit(X, Y)
    monkeypatch.setattr(losses.OutputsLoss, "ask_base", ask_base)
    with pytest.raises(BudgetExceededError, match="remaining budget"):
        learner.fit(X, Y)


def test_the_shares_of_enumerated_queries_are_those_of_the_plan():
    how, rest = {"delta": 0, "domain": [Categories(["a", "b"])]}, 1 - COUNT_SHARE
    numbers = AdditiveRegressor(target_range=(-1, 1), **how).plan(1).shares
    labels = AdditiveClassifier(classes=[0, 1], **how).plan(1).shares
    outputs = AdditiveClassifier(classes=[0, 1], **how).plan(1, n_outputs=2).shares
    for prefix, shares, factor, first, others in [
        ("additive_numbers", numbers, 1, {"target": numbers.target}, ("masses", "shapes", "step")),
        ("added_additive_numbers", numbers, rest, {}, ("shapes", "step")),
        ("added_additive_fit", labels, rest, {"count": COUNT_SHARE / rest}, ("labels", "masses", "step")),
        ("additive_outputs", outputs, 1, {"labels": outputs.target}, ("masses", "shapes", "step")),
    ]:
        known = {"labels": shares.target, "step": shares.steps} | shares._asdict()
        asked = first | {name: known[name] for name in others}
        claimed = {case.name: case.claim.epsilon / 8 for case in CASES if case.name.startswith(f"{prefix}_")}
        assert claimed == {f"{prefix}_{name}": factor * share for name, share in asked.items()}
    assert sum((numbers.target, numbers.masses, numbers.shapes, numbers.steps, 2 * numbers.spread)) == 1
    assert sum((outputs.target, outputs.masses, outputs.shapes, outputs.steps)) == 1


# How far a query's totals move, as a share of the bound that noise is scaled to

#: A row of many numbers just above half a step, which rounding makes longer than it was.
LONG = np.full((2, 30), 0.51)
LONG[1] *= -1
SURE, MANY = np.array([[-20 << 12]]), 16
RARE, ONE = LogisticLoss(Fraction(1, 2), 0.25), LogisticLoss(Fraction(1))
SIGNED = np.where(np.arange(MANY) % 2, 1, -1)[None, :] * math.isqrt(4096**2 // MANY)


def rounded(length):
    return Rows.of([LONG], constant=0.0, length=length, bits=0)


def of_residuals(rows, values, bits, *, reach=2048, n_outputs=1):
    return residual_query(rows, values, n_outputs=n_outputs, reach=reach, bits=bits)


def of_targets(rows, bits, loss=HALF, reach=2048):
    return of_residuals(rows, lambda records: loss.targets(records.y), bits, reach=reach)


def of_sure_residuals(loss=HALF):
    return of_residuals(signed_tables(1, -1), lambda records: loss.residuals(SURE, records.y), 6)


def of_many_outputs():
    def values(records):
        return np.where(records.y[:, None] == 1, SIGNED, -SIGNED)

    return of_residuals(signed_tables(4, constant=0, reach=4), values, 1, reach=4096, n_outputs=MANY)


def of_many_labels():
    loss = OutputsLoss([HALF] * MANY, reach=2080)  # of each 520 of 4096, just above half a step

    def values(tables):
        return loss.residuals(np.zeros((len(tables[0]), MANY), dtype=np.int64), tables[0].y)

    return outputs_query([signed_tables(4, reach=4)] * MANY, values, [1] * MANY, reach=loss.reach, bits=2)


def of_joint_rows():
    return of_targets(replace(joint_rows(2), constant=1), 11)


def without_joint_features(right, rows, records):
    alone = right(replace(rows, joint=None), records)
    return replace(right(rows, records), weights=alone.weights)


EVEN = signed_tables(1, 0, -1, order=1)
#: A title or patch, a query, one of the mistake if it is no patch, neighbours; shares before and after.
MOVES = [
    (
        "not_shortened_together",
        outputs_gradient,
        partial(outputs_gradient, loss_reach=None, reach=2048),
        (([0], (0, 0)), ([0], (1, 1))),
        0.7,
        1.4,
    ),
    (
        instead(queries, "_towards_zero", lambda products, _: np.sign(products), "away_from_zero"),
        of_many_labels,
        None,
        (([0], (0,) * MANY), ([0], (1,) * MANY)),
        -1,
        1.5,
    ),
    (
        "the_reach_of_even_labels",
        partial(of_targets, EVEN, 2, RARE, RARE.target_reach),
        partial(of_targets, EVEN, 2, RARE, HALF.target_reach),
        (([0], 1), ([2], 1)),
        0.99,
        1.4,
    ),
    (
        instead(
            Rows, "lengths", lambda rows: [(LONG**2).sum(axis=1).astype(np.int64)], "lengths_before_rounding"
        ),
        lambda: of_targets(rounded(1.0), 6),
        None,
        (([0], 1), ([1], 1)),
        0.5,
        1.5,
    ),
    (
        instead(queries, "_widest", lambda *_: int(4 * (LONG[0] ** 2).sum()), "distances_before_rounding"),
        lambda: mass_query(rounded(1.0)),
        None,
        (([0], 0), ([1], 0)),
        0.99,
        1.5,
    ),
    (
        instead(queries, "_rounded", lambda products, *_: np.sign(products), "rounded_to_longer_ones"),
        of_many_outputs,
        None,
        (([0], 0), ([0], 1)),
        -1,
        1.5,
    ),
    ("not_clipped", of_sure_residuals, partial(of_sure_residuals, ONE), (([0], 1), ([1], 1)), 0.99, 1.9),
    (
        around(Rows, "block", without_joint_features),
        of_joint_rows,
        None,
        (([0, 0], 1), ([0, 0], 0)),
        0.99,
        1.4,
    ),
]


@pytest.mark.parametrize(
    ("mistake", "query", "wrong", "ends", "least", "most"),
    MOVES,
    ids=[getattr(row[0], "__name__", row[0]) for row in MOVES],
)
def test_a_mistake_in_a_query_moves_its_totals_too_far(mistake, query, wrong, ends, least, most, monkeypatch):
    assert least < share_moved(query(), *ends) <= 1
    if callable(mistake):
        mistake(monkeypatch)
    assert share_moved((wrong or query)(), *ends) > most


def test_residuals_of_counts_that_are_not_clipped_break_the_claim():
    loss = PoissonLoss(mean=STEPS // 2, scale=STEPS // 2)
    loss.reach = 1 << 20
    # The oracle keeps sums within n of them, so that of one record alone it hides the mistake.
    universe = ((0, STEPS), (2, -STEPS))
    for query, least, most in ((counts_gradient, 0.99, 1), (lambda: counts_gradient(loss), 1.9, math.inf)):
        assert least < exponent(additive_query_case("counts", query, universe, n=2)) <= most


@pytest.mark.parametrize("weights", [(5, 10), (7, 7)])
def test_other_weights_of_moments_with_the_factor_of_5_move_them_too_far(monkeypatch, weights):
    rows = Rows([np.array([[89], [89]]), np.array([[89], [-89]])], 0, 127, 1.0)
    diagonal = Rows([np.array([[127], [0]]), np.array([[0], [127]])], 0, 127, 1.0)
    pairs = ((rows, ([0, 0], 0), ([1, 1], 0)), (diagonal, ([0, 0], 0), ([1, 1], 0)))
    right = [share_moved(moment_query(table), *pair) for table, *pair in pairs]
    assert max(right) <= 1
    assert max(right) > 0.99

    def asked(table):
        query = moment_query(table)
        query.total = lambda records: (total_of(records) / from_ * weights_of).astype(np.int64)
        total_of = type(query).total.__get__(query)
        from_, weights_of = np.array([5, 7, 5]), np.array([weights[0], weights[1], weights[0]])
        return query

    assert max(share_moved(asked(table), *pair) for table, *pair in pairs) > 1.01


def fitted(made, y=(0, 1) * 8, **parameters):
    X = np.array([["a", 1.0], ["b", 5.0], ["a", 3.0], ["b", 9.0]] * 4, dtype=object)
    domain = [Categories(["a", "b", "c"]), IntegerRange(0, 9)]
    learner = made(domain=domain, classes=[0, 1], random_state=0, **parameters)
    return X, np.array(y), learner


def replayed(made, changed, y_changed=None, **parameters):
    """Replay a fit on the table of `fitted`, in whose first row some cells are replaced."""
    X, y, _ = fitted(made, **parameters)
    other = X.copy()
    other[0] = changed
    flipped = y.copy()
    flipped[0] = flipped[0] if y_changed is None else y_changed

    def fit(rows, dice):
        learner = fitted(made, **parameters)[2]
        learner._steps = 2
        learner._fit(*rows, dice)
        return learner.intercept_.tolist()

    rules = {**RULES, "discrete_laplace": moved_by(1 << 22)}
    return replay_privacy(with_far_noise(fit), (X, y), (other, flipped), rules=rules, runs=1).violations


def with_plan(plan_of):
    """Return a classifier whose plan another function changes, given the table."""

    table = []

    def known(own):
        return lambda self, facts, rows: table.append(rows.blocks.rows) or own(self, facts, rows)

    def plan(own):
        return lambda self, facts, **more: plan_of(table[-1], own(self, facts, **more))

    return with_recipe(AdditiveClassifier, known=known, plan=plan)


def coded(table, place):
    return table.X.columns[place].astype(np.int64)


MISTAKES = {
    "categories_read_off_the_table": lambda table, plan: replace(
        plan, columns=(replace(plan.columns[0], size=int(coded(table, 0).max()) + 1), plan.columns[1])
    ),
    "a_range_from_the_data": lambda table, plan: replace(
        plan,
        columns=(
            plan.columns[0],
            replace(
                plan.columns[1],
                starts=np.unique(np.concatenate([[0], coded(table, 1)])).astype(np.uint64),
                size=len(np.unique(np.concatenate([[0], coded(table, 1)]))),
            ),
        ),
    ),
    "steps_until_the_data_are_fitted": lambda table, plan: replace(
        plan, n_steps=plan.n_steps + int(coded(table, 0)[0])
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_plans_that_depend_on_the_table_break_replay(name):
    changed = ["c", 7.0]
    assert replayed(AdditiveClassifier, changed, y_changed=1) == ()
    assert replayed(with_plan(MISTAKES[name]), changed)


def test_masses_that_are_counted_in_the_data_break_replay(monkeypatch):
    """With exact masses the norms of rows, and so the noise, depend on the records."""
    right = start.mass_query

    def spied(rows):
        query = right(rows)
        return CountedQuery(query)

    class CountedQuery:
        def __new__(cls, query):
            exact = query.total

            def total(records):
                query.squared_l2 = max(1, int(np.abs(exact(records)).sum()))
                return exact(records)

            query.total = total
            return query

    assert replayed(AdditiveClassifier, ["c", 7.0]) == ()
    monkeypatch.setattr(start, "mass_query", spied)
    assert replayed(AdditiveClassifier, ["c", 7.0])


def twins(**parameters):
    """Return the models of two neighbouring tables, given the same answers, with several joint features."""
    X, y, _ = fitted(AdditiveClassifier)
    models = []
    for first in ("a", "c"):
        X[0, 0] = first
        learner = fitted(AdditiveClassifier, **parameters)[2]
        learner._steps = 1
        with_far_noise(lambda rows, dice, model=learner: model._fit(*rows, dice))((X, y), SeededDice(10))
        models.append(learner)
    return models


def outcomes_differ(**parameters):
    """Return whether the same answers lead to two models, given neighbouring tables."""
    one, other = ([part.tolist() for part in released(model)] for model in twins(**parameters))
    return one != other


def released(learner):
    """Return the masses of a column, and all numbers of the interactions if there are any."""
    found, joint = [learner.shapes_[0].masses], learner.interactions_
    if joint:
        features, kernels = joint.features, joint.features.kernels
        found += [joint.weights, joint.constant, joint.roots, *joint.effects, features.weights]
        found += [features.means, np.array(features.step), kernels.turn, kernels.landmarks, *kernels.scores]
    return found


def test_landmarks_that_are_records_are_published(monkeypatch):
    right = steps._refined

    def refined(oracle, plan, base, shapes, copulas):
        with oracle._account.use() as account:
            cells = account.tables[0].blocks.rows.X.astype(np.int64)
        drawn = copulas[0].drawn
        object.__setattr__(copulas[0], "drawn", lambda n: np.concatenate([cells, drawn(n)])[:n])
        return right(oracle, plan, base, shapes, copulas)

    settings = {"interactions": True, "epsilon": 1000}
    assert twins(**settings)[0].interactions_.features.size > 2
    assert not outcomes_differ(**settings)
    monkeypatch.setattr(steps, "_refined", refined)
    assert outcomes_differ(**settings)


def test_joint_features_less_their_mean_over_records_break_the_claim(monkeypatch):
    """A record moves the mean, and with it the features of all others."""
    right = JointFeatures.of

    def centred(features, cells):
        found = right(features, cells)
        return np.rint(found - found.mean(axis=0)).astype(np.int16)

    # The feature is 1 for all records but for the last of the second table.
    pair = ((0, 0, 1), (0, 0, 1), (0, 0, 0)), ((0, 0, 1), (0, 0, 1), (0, 1, 0))
    case = OnePair.of(replace(BY_NAME["additive_joint"], n=3), pair)
    assert 0.99 < exponent(case) <= 1
    monkeypatch.setattr(JointFeatures, "of", centred)
    assert exponent(case.with_fit(case.fit)) > 1.4


def test_shares_above_1_are_refused_and_the_shares_of_all_plans_are_1(monkeypatch):
    X, y, learner = fitted(AdditiveClassifier)
    right = AdditivePlan.shares
    monkeypatch.setattr(
        AdditivePlan, "shares", property(lambda plan: right.fget(plan)._replace(steps=Fraction(2, 3)))
    )
    with pytest.raises(BudgetExceededError, match="remaining budget"):
        learner.fit(X, y)


def test_class_weights_from_the_labels_break_the_claim(monkeypatch):
    case = BY_NAME["additive_balanced"]
    assert 0.999 < exponent(case) <= 1
    right = LogisticLoss.ask_base

    def true_shares(loss, oracle, share):
        base = right(loss, oracle, share)
        with oracle._account.use() as account:
            base.loss.shares = (np.bincount(account.tables[0].y, minlength=2) + 1) / (
                len(account.tables[0]) + 2
            )
        return base

    monkeypatch.setattr(LogisticLoss, "ask_base", true_shares)
    assert exponent(replace(case)) == math.inf
