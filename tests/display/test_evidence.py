"""Every private class has audit cases as evidence, and every audit case belongs to a class."""

import json
import subprocess
import sys
from importlib import resources

import pytest

import dplearn
from dplearn import mechanisms, model_selection, preprocessing, queries, releases
from dplearn.audit.cases import CASES
from dplearn.audit.cases.__main__ import verified_by
from dplearn.display.described import Evidence, checks_of, evidence_of, recorded_evidence
from dplearn.releases.release import Released

EVIDENCE = recorded_evidence()


def test_the_file_says_what_the_cases_say():
    path = resources.files("dplearn") / "audit" / "verified.json"
    # After a change of cases, `python -m dplearn.audit.cases --verified` writes it again.
    assert path.read_text() == json.dumps(verified_by(CASES), indent=1) + "\n"


CARD = """
import sys
from dplearn import ExponentialMechanismClassifier
from dplearn.display import privacy_card
from dplearn.display.registry import _mechanisms
model = ExponentialMechanismClassifier(classes=[0, 1]).fit([[0], [1]] * 50, [0, 1] * 50)
assert "neighbouring pairs" in privacy_card(model).html
assert "audit cases" in _mechanisms([model])
"""
HELP = """
import sys
from dplearn.commands import main
try:
    main(%s)
except SystemExit as stop:
    assert stop.code == 0
"""
LOADED = "print('\\n', *[name for name in sys.modules if name.startswith(%r)])"


def loaded(code, prefix):
    command = [sys.executable, "-W", "ignore", "-c", code + LOADED % prefix]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].strip()


@pytest.mark.parametrize("code", [CARD, HELP % ["audit", "--help"]], ids=["card", "audit --help"])
def test_a_card_and_the_help_import_no_case(code):
    assert loaded(code, "dplearn.audit.cases") == ""


@pytest.mark.parametrize("prefix", ["dplearn.audit", "sklearn", "numpy"])
def test_the_help_of_the_command_line_imports_nothing_slow(prefix):
    assert loaded(HELP % ["--help"], prefix) == ""


def is_private(kind):
    fields = getattr(kind, "__dataclass_fields__", {})
    if not isinstance(kind, type):
        return False
    return (
        hasattr(kind, "fit")
        or issubclass(kind, Released)
        or bool({"guarantee", "_guarantee"} & fields.keys())
    )


def test_every_public_class_with_a_guarantee_has_evidence():
    packages = (dplearn, model_selection, preprocessing, releases)
    public = {name for each in packages for name in each.__all__ if is_private(getattr(each, name))}
    # A plan guarantees what a fit would, and is none.
    assert {name for name in public if not name.endswith("Plan")} <= EVIDENCE.keys()


def test_all_evidence_is_that_of_a_public_class_or_function():
    packages = (dplearn, mechanisms, model_selection, preprocessing, queries, releases)
    assert EVIDENCE.keys() <= {name for each in packages for name in each.__all__}


def test_every_case_says_what_it_verifies_or_is_a_part_of():
    assert [case.name for case in CASES.values() if not case.verifies and not case.part_of] == []


def test_a_class_is_not_both_verified_and_made_of_the_same_case():
    assert [case.name for case in CASES.values() if {*case.verifies} & {*case.part_of}] == []


def test_every_class_without_cases_has_a_note():
    assert [name for name, each in EVIDENCE.items() if not each.cases and not each.note] == []
    assert evidence_of("StandardScaler") is None


def test_the_cases_of_a_class_are_listed_without_the_small_ones_that_stand_for_them():
    assert evidence_of("KnowledgeTransferClassifier").cases == (
        "added_transfer",
        "transfer",
        "transfer_of_labels",
        "transfer_of_groups",
    )
    assert evidence_of("SecretSampleClassifier").cases == ("secret_sample_classifier", "secret_sample")
    assert evidence_of("SecretSampleClassifier").whole
    assert not evidence_of("PrivateRobustScaler").whole


@pytest.mark.parametrize(
    "name",
    ["naive_bayes_of_two_records", "local_naive_bayes_of_two_columns"],
)
def test_the_recorded_figures_equal_those_of_a_run(name):
    report, [check] = CASES[name].run(), checks_of(Evidence((name,)))
    assert (check.n_datasets, check.n_pairs) == (report.n_datasets, report.n_pairs)
    assert float(check.exact) == pytest.approx(report.epsilon, abs=1e-6)


@pytest.mark.parametrize("name", EVIDENCE)
def test_no_exact_epsilon_exceeds_the_claim(name):
    for check in checks_of(EVIDENCE[name]):
        assert float(check.exact) <= check.claimed
