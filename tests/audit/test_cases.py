"""The registry of cases finds them by itself, and freezing writes what a run finds."""

import json
import math
import warnings
from importlib import resources

import pytest

from dplearn.audit import cases
from dplearn.audit.case import AuditCase, Required
from dplearn.audit.cases import CASES
from dplearn.audit.cases.__main__ import freeze_cases
from dplearn.privacy import ApproxDP

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
        cases._found()


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
