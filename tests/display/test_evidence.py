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


PROGRAM = """
import sys
from dplearn import ExponentialMechanismClassifier
from dplearn.display import privacy_card
model = ExponentialMechanismClassifier(classes=[0, 1]).fit([[0], [1]] * 50, [0, 1] * 50)
assert "neighbouring pairs" in privacy_card(model).html
assert not [name for name in sys.modules if name.startswith("dplearn.audit.cases")]
"""


def test_a_card_imports_no_case():
    subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, check=True)


def is_private(kind):
    fields = getattr(kind, "__dataclass_fields__", {})
    has_guarantee = bool({"guarantee", "_guarantee"} & fields.keys())
    return isinstance(kind, type) and (hasattr(kind, "fit") or issubclass(kind, Released) or has_guarantee)


def test_every_public_class_with_a_guarantee_has_evidence_and_every_case_a_class():
    packages = (dplearn, model_selection, preprocessing, releases)
    public = {name for each in packages for name in each.__all__ if is_private(getattr(each, name))}
    # A plan guarantees what a fit would, and is none.
    assert {name for name in public if not name.endswith("Plan")} <= EVIDENCE.keys()
    packages += (mechanisms, queries)
    assert EVIDENCE.keys() <= {name for each in packages for name in each.__all__}
    for case in CASES.values():
        assert case.verifies or case.part_of, case.name
        assert not {*case.verifies} & {*case.part_of}, case.name
    assert all(each.cases or each.note for each in EVIDENCE.values())
    assert evidence_of("StandardScaler") is None


def test_the_cases_of_a_class_are_listed_without_the_small_ones_that_stand_for_them():
    transfer = ("added_transfer", "transfer", "transfer_of_labels", "transfer_of_groups")
    assert evidence_of("KnowledgeTransferClassifier").cases == transfer
    assert evidence_of("SecretSampleClassifier").whole
    assert not evidence_of("PrivateRobustScaler").whole


def test_recorded_figures_equal_those_of_a_run_and_none_exceeds_its_claim():
    name = "local_naive_bayes_of_two_columns"
    report, [check] = CASES[name].run(), checks_of(Evidence((name,)))
    assert (check.n_datasets, check.n_pairs) == (report.n_datasets, report.n_pairs)
    assert float(check.exact) == pytest.approx(report.epsilon, abs=1e-6)
    for each in EVIDENCE.values():
        assert all(float(check.exact) <= check.claimed for check in checks_of(each))
