"""Every accounting figure has an outside oracle or a reason; quick grids are compared again."""

import importlib.util
import inspect
import pkgutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dplearn import privacy
from dplearn.privacy import composition

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def oracles():
    benchmarks = str(ROOT / "benchmarks")
    sys.path.insert(0, benchmarks)
    try:
        spec = importlib.util.spec_from_file_location(
            "accounting_oracles", ROOT / "benchmarks" / "accounting_oracles.py"
        )
        module = sys.modules["accounting_oracles"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(benchmarks)
        sys.modules.pop("accounting_oracles", None)


def test_every_accounting_name_has_an_oracle_or_a_reason_and_not_both(oracles):
    covered, excused = oracles.oracles(), set(oracles.WITHOUT)
    assert oracles.names() == covered | excused
    assert covered & excused == set()
    modules = {each.name for each in pkgutil.iter_modules(privacy.__path__)}
    accounting = {name.removeprefix("privacy.") for name in oracles.MODULES if name.startswith("privacy.")}
    assert modules == accounting | set(oracles.OTHER_MODULES)
    assert accounting & set(oracles.OTHER_MODULES) == set()
    for name, (reason, path) in oracles.WITHOUT.items():  # such a name is tested elsewhere
        assert reason
        assert (ROOT / path).exists(), (name, path)


def test_a_new_name_would_be_found(oracles, monkeypatch):
    source = inspect.getsource(composition) + "\n\ndef best():\n    pass\n"
    monkeypatch.setattr(oracles.inspect, "getsource", lambda module: source if module is composition else "")
    assert "privacy.composition.best" in oracles.names() - oracles.oracles() - set(oracles.WITHOUT)


QUICK = (
    "privacy.calibration.gaussian_sigma2",
    "privacy.composition.least_epsilon",
    "privacy.conversion.epsilon_at",
    "privacy.attack_risk.epsilon_for_risk",
    "privacy.gaussian_dp.sums_sigma2",
    "privacy.privacy_filter.PrivacyFilter",
    "privacy.random_stopping.RandomStopping",
    "privacy.conversion.pure_and_concentrated",
    "privacy.composition.optimal_homogeneous",
    "kernels.exact.decay_ratio",
    "privacy.gaussian_dp.tail_bounds",
)


def test_quick_comparisons_are_on_the_safe_side(oracles):
    rows, _ = oracles.compared(only=set(QUICK))
    assert {row.name for row in rows} == set(QUICK)
    assert [row for row in rows if not row.kept] == []


def test_a_figure_on_the_wrong_side_is_found(oracles):
    rows, _ = oracles.compared(only={"privacy.conversion.epsilon_at"})
    for row in rows:
        assert not replace(row, ours=0.999 * row.theirs).kept
        assert not replace(row, ours=1.001 * row.theirs, kind="lower").kept
