"""Fits by stages are whole fits, with the first stages run once; the registry finds and freezes cases."""

import json
import math
import warnings
from collections import Counter
from functools import partial
from importlib import resources

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from dplearn import (
    ExponentialMechanismClassifier,
    PrivacyLedger,
    SecretSampleClassifier,
    StatisticalQueryNaiveBayes,
)
from dplearn.audit import (
    AuditCase,
    Required,
    StagedFit,
    WholeFit,
    cases,
    distribution_on,
    exact_distribution,
    fitted_with,
    observe,
    ready,
    refitted,
    run_on,
)
from dplearn.audit.cases import CASES
from dplearn.audit.cases.__main__ import freeze_cases
from dplearn.audit.fits import ReleaseFit, TableFit
from dplearn.chance import EnumeratingDice, SeededDice
from dplearn.domains import IntegerRange
from dplearn.privacy import ApproxDP
from dplearn.releases.quantiles import _Quantiles
from tests.audit.changed import with_recipe

STAGED = [case for case in CASES.values() if isinstance(case.fit, StagedFit)]
ROWS = ((0, "no"), (1, "yes"), (1, "yes"))
MODEL = ExponentialMechanismClassifier(domain=IntegerRange(0, 1), classes=["no", "yes"], epsilon=1.0)


def table(rows):
    X, y = zip(*rows, strict=True)
    return np.array(X)[:, None], np.array(y)


def shown(fitted):
    return repr(fitted.concept_), fitted


def staged(kind=ExponentialMechanismClassifier):
    return StagedFit(WholeFit(partial(kind, **MODEL.get_params(deep=False)), table, shown))


@pytest.mark.parametrize("case", STAGED, ids=lambda case: case.name)
def test_paths_of_one_table_show_what_whole_fits_with_the_same_draws_show(case):
    records = list(case.universe)
    rows = tuple(records[i * 2 % len(records)] for i in range(case.n))
    run = run_on(case.fit, rows)
    for seed in range(3):
        whole = observe(partial(case.fit.whole, rows), SeededDice(seed, case.name))
        assert observe(run, SeededDice(seed, case.name)) == whole


def test_a_model_is_fitted_with_given_dice_at_once_or_when_ready_and_stays_as_it_was():
    ledger = PrivacyLedger(epsilon=1)
    model = clone(MODEL).set_params(ledger=ledger)
    found = ready(model, *table(ROWS))
    assert found.plan.guarantee == MODEL.plan(3, n_features=1).guarantee
    assert [str(each) for each in found.warnings] == list(found.plan.warnings)
    assert len(found.summary) == 3
    for seed in (0, 1, 0, 2):
        whole = fitted_with(model, *table(ROWS), dice=SeededDice(seed))
        again = fitted_with(model, *table(ROWS), dice=SeededDice(seed))
        assert repr(found.run(SeededDice(seed)).concept_) == repr(whole.concept_) == repr(again.concept_)
        assert whole.guarantee_ == found.plan.guarantee
    assert not any(hasattr(model, name) for name in ("concept_", "n_features_in_"))
    assert ledger.history() == []
    of_groups = StatisticalQueryNaiveBayes(domain=IntegerRange(0, 1), classes=["no", "yes"])
    grouped = fitted_with(of_groups, *table(ROWS), dice=SeededDice(0), groups=[1, 1, 2])
    assert grouped.guarantee_.protects == "groups"
    grouped = ready(model, *table(ROWS), groups=[1, 1, 2])
    assert (grouped.plan.n_samples, grouped.plan.guarantee.protects) == (2, "groups")
    made = refitted(SecretSampleClassifier(MODEL, sample_size=2), _constant=7)()
    assert made.estimator is MODEL  # parameters are shared, and none of those inside is passed on
    assert made._constant == 7
    with pytest.raises(TypeError, match="model must be an estimator of dplearn, got LogisticRegression"):
        fitted_with(LogisticRegression(), *table(ROWS), dice=SeededDice(0))


class Telling(_Quantiles):
    """Warns of the values, and refuses some."""

    n_reads = 0

    def read(self, X, y):
        self.n_reads += 1
        warnings.warn(f"the least value is {min(X)}", UserWarning, stacklevel=1)
        if min(X) == 1:
            raise ValueError("the least value is 1")
        return super().read(X, y)


@pytest.mark.parametrize("rows", [(0, 1, 1), (1, 2, 2)])
def test_a_release_is_read_once_and_shows_its_warnings_and_errors_on_every_path(rows):
    release = Telling("quantiles", [0.5], 1, IntegerRange(0, 2))
    run = run_on(ReleaseFit(lambda: release, np.array, lambda found: (str(found.values), found)), rows)
    seen = [observe(run, SeededDice(seed)) for seed in range(4, 12)]
    assert {each[:2] for each in seen} == {("warned", (("UserWarning", f"the least value is {rows[0]}"),))}
    assert (len({each[2] for each in seen}) > 1) == (rows[0] == 0)
    assert ("raised" in repr(seen)) == bool(rows[0])
    assert release.n_reads == (8 if rows[0] else 1)


def test_every_class_has_a_case_of_which_the_whole_fit_is_run():
    fitted = {name for case in STAGED for name in case.verifies}
    whole = {name for case in CASES.values() if isinstance(case.fit, WholeFit) for name in case.verifies}
    assert len(STAGED) > 20
    assert fitted <= whole


CALLS = Counter()


def counted(name):
    def change(own):
        def counting(*given, **named):
            CALLS[name] += 1
            return own(*given, **named)

        return counting

    return change


#: Counts how often each method of the recipe is run.
Counting = with_recipe(
    ExponentialMechanismClassifier, **{name: counted(name) for name in ("encoded", "summarize", "run")}
)


def test_the_stages_before_the_draws_run_once_for_all_paths_and_once_for_those_run_twice():
    CALLS.clear()
    distribution = distribution_on(staged(Counting), ROWS)
    assert distribution == exact_distribution(partial(staged(Counting).whole, ROWS))
    n_paths = len(distribution.masses)
    CALLS.clear()
    distribution_on(staged(Counting), ROWS)
    assert CALLS["encoded"] == CALLS["summarize"] == 2
    assert CALLS["run"] > n_paths


def refusing(own):
    """Warn of a value, and refuse another."""

    def encoded(self, X, y, reader):
        warnings.warn(f"the least value is {X.min()}", UserWarning, stacklevel=1)
        if X.min() == 1:
            raise ValueError("the least value is 1")
        return own(self, X, y, reader)

    return encoded


Refusing = with_recipe(ExponentialMechanismClassifier, encoded=refusing)


@pytest.mark.parametrize("rows", [ROWS, ROWS[1:] + ROWS[1:2]])
def test_warnings_and_errors_of_the_first_stages_are_seen_on_every_path(rows):
    fit = staged(Refusing)
    distribution = distribution_on(fit, rows)
    assert distribution == exact_distribution(partial(fit.whole, rows))
    assert all(seen[0] == "warned" for seen in distribution.masses)
    assert all("the least value is" in repr(seen[1]) for seen in distribution.masses)


def test_a_warning_that_records_are_few_is_a_part_of_what_is_published():
    text, (_, notes) = staged()(ROWS, SeededDice(0))
    assert text
    assert [note.split(":")[0] for note in notes] == ["n_samples is 3"]


RNG = np.random.default_rng(0)


def drawing(own):
    """Read the table with chance that does not come from the dice."""
    return lambda self, X, y, reader: own(self, X, y[RNG.integers(0, len(y), len(y))], reader)


def remembering(own):
    """Leave the outcome of one path in the summary, for the next."""

    def run(self, summary, plan, dice):
        summary.append(own(self, summary[0], plan, dice))
        return summary[1]

    return run


Draws = with_recipe(ExponentialMechanismClassifier, encoded=drawing)
Remembers = with_recipe(
    ExponentialMechanismClassifier,
    summarize=lambda own: lambda self, rows, plan: [own(self, rows, plan)],
    run=remembering,
)


@pytest.mark.parametrize("kind", [Draws, Remembers], ids=["chance", "state"])
def test_chance_from_elsewhere_and_state_that_one_path_leaves_to_the_next_are_found(kind):
    fit = staged(kind)
    with pytest.raises(RuntimeError, match="does not come from the dice"):
        [distribution_on(fit, ROWS, turn=turn) for turn in range(7)]  # in which each path is run twice


def test_nothing_is_computed_before_the_first_path():
    class Never(TableFit):
        def on(self, rows):
            return lambda dice: (str(rows), dice.below(2))

    StagedFit(WholeFit(None, table, shown)).on(ROWS)
    assert Never()((0,), EnumeratingDice([])) == ("(0,)", 0)


class Category(UserWarning):
    """Another category than that of plans."""


def carrying(secret):
    warning = UserWarning("n_samples is 3: few")
    warning.secret = secret
    return warning


#: What the warning is made of a record, and what of the record it is made of: no part of what is published.
CARRIED = {}


def noting(own):
    def encoded(self, X, y, reader):
        CARRIED["secret"] = bool(y[0] == "yes")
        return own(self, X, y, reader)

    return encoded


def warning(own):
    """Warn that records are few, with a warning that depends on the first label."""

    def run(self, summary, plan, dice):
        warnings.warn(CARRIED["warn"](CARRIED["secret"]), stacklevel=1)
        return own(self, summary, plan, dice)

    return run


Warns = with_recipe(ExponentialMechanismClassifier, encoded=noting, run=warning)


@pytest.mark.parametrize(
    ("warn", "is_seen"),
    [
        (lambda secret: UserWarning("n_samples is 3: few"), False),
        (lambda secret: UserWarning(f"n_samples is 3: {secret}"), True),
        (carrying, True),
        (lambda secret: (Category if secret else UserWarning)("n_samples is 3: few"), True),
    ],
    ids=["constant", "text", "attribute", "category"],
)
def test_a_warning_that_records_are_few_hides_nothing(warn, is_seen):
    CARRIED["warn"] = warn
    tables = (ROWS, ((0, "yes"), *ROWS[1:]))
    one, other = (set(distribution_on(staged(Warns), rows).masses) for rows in tables)
    assert one.isdisjoint(other) == is_seen


def test_a_replay_without_a_draw_is_a_violation():
    case = AuditCase("none", lambda rows, dice: str(len(rows)), (0, 1), 2, ApproxDP(1))
    assert set(case.replay(seeds=1)) == {"no draw was recorded"}


def test_calls_of_partial_fit_show_each_release():
    case = CASES["naive_bayes_of_two_calls"]
    dice = SeededDice(0, "calls")
    text, (released, learner) = case.fit(((0, 0), (0, 1)), dice)
    assert text == str(released)
    assert len(released) == learner.calls_.n_calls == 2
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        case.fit(((0, 0),), dice)


FROZEN = resources.files("dplearn.audit") / "frozen.json"


def test_every_module_of_cases_is_found_and_every_case_is_frozen():
    modules = {
        path.name.removesuffix(".py")
        for path in resources.files("dplearn.audit.cases").iterdir()
        if path.name.endswith(".py") and not path.name.startswith("__")
    }
    assert modules <= vars(cases).keys()
    listed = [case.name for name in modules for case in vars(cases)[name].CASES]
    assert sorted(listed) == sorted(CASES) == sorted(json.loads(FROZEN.read_text()))


def test_two_cases_of_one_name_are_refused(monkeypatch):
    again = (*cases.threshold.CASES, cases.parity.CASES[0])
    monkeypatch.setattr(cases.threshold, "CASES", again)
    with pytest.raises(ValueError, match="two cases are named 'parity_elimination'"):
        cases._found("CASES")


@pytest.mark.nightly
def test_freezing_a_case_writes_the_report_that_ships_and_leaves_all_others_as_they_are(tmp_path):
    path = tmp_path / "frozen.json"
    reports = json.loads(FROZEN.read_text())
    stale = {"gone": {}, **reports, "central_vector": {"digest": "another"}}
    path.write_text(json.dumps(stale))
    freeze_cases(["central_vector"], path)
    assert path.read_text() == FROZEN.read_text()
    with pytest.raises(KeyError):
        freeze_cases(["nothing"], path)


@pytest.mark.parametrize("warns", [False, True])
def test_the_last_bits_of_a_published_number_are_not_in_a_digest(warns):
    """They depend on the processor: that of a logarithm was another with AVX-512, after a warning only."""

    def case(number, words="few records"):
        def fit(rows, dice):
            if warns:
                warnings.warn(words, UserWarning, stacklevel=1)
            return str(round(number, 6)), [number]

        return AuditCase("case", fit, (0, 1), 1, ApproxDP(1), required=Required(1, 0))

    last = math.nextafter(0.5, 1)
    assert case(0.5).digest() == case(last).digest()
    assert case(0.5).digest() != case(0.6).digest()
    assert (case(0.5).digest() != case(0.5, "none").digest()) == warns
