"""Every class has its cases, and every case its class."""

import pytest

import dplearn
from dplearn import model_selection, preprocessing, releases
from dplearn.audit.cases import CASES, MECHANISM_CASES, QUERY_CASES
from dplearn.audit.parity_cases import PARITY_CASES
from dplearn.display.evidence import EVIDENCE, Evidence, checks_of, evidence_of
from dplearn.releases.stages import Released

#: Mechanisms stand for themselves and for no class.
MECHANISMS = {case.name for case in (*MECHANISM_CASES, *QUERY_CASES)} | {
    case.name for case in PARITY_CASES if case.name.startswith("consistent")
}
SAID = {name for evidence in EVIDENCE.values() for name in evidence.cases}


def is_private(kind):
    fields = getattr(kind, "__dataclass_fields__", {})
    if not isinstance(kind, type):
        return False
    return (
        hasattr(kind, "fit")
        or issubclass(kind, Released)
        or bool({"guarantee", "_guarantee"} & fields.keys())
    )


def test_every_public_class_that_promises_something_has_its_evidence():
    packages = (dplearn, model_selection, preprocessing, releases)
    public = {name for each in packages for name in each.__all__ if is_private(getattr(each, name))}
    # A plan guarantees what a fit would, and is none.
    assert {name for name in public if not name.endswith("Plan")} == EVIDENCE.keys()


def test_every_case_that_is_no_mechanism_speaks_for_a_class():
    assert set(CASES) >= SAID
    assert {name for name in CASES.keys() - SAID - MECHANISMS if not name.startswith("small_")} == set()


def test_every_class_without_cases_says_why():
    assert [name for name, each in EVIDENCE.items() if not each.cases and not each.note] == []
    assert evidence_of("StandardScaler") is None


@pytest.mark.parametrize(
    "name",
    ["naive_bayes_of_two_records", "local_naive_bayes_of_two_columns"],
)
def test_figures_are_those_that_a_run_finds(name):
    report, [check] = CASES[name].run(), checks_of(Evidence((name,)))
    assert (check.n_datasets, check.n_pairs) == (report.n_datasets, report.n_pairs)
    assert float(check.exact) == pytest.approx(report.epsilon, abs=1e-6)


@pytest.mark.parametrize("name", EVIDENCE)
def test_nothing_found_is_above_what_is_claimed(name):
    for check in checks_of(EVIDENCE[name]):
        assert float(check.exact) <= check.claimed
