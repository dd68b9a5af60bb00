"""Every private class has audit cases as evidence, and every audit case belongs to a class."""

import pytest

import dplearn
from dplearn import model_selection, preprocessing, releases
from dplearn.audit.cases import CASES, MECHANISM_CASES, QUERY_CASES
from dplearn.audit.parity_cases import PARITY_CASES
from dplearn.display.evidence import EVIDENCE, Evidence, checks_of, evidence_of
from dplearn.releases.stages import Released

#: Cases of mechanisms, which belong to no class.
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


def test_every_public_class_with_a_guarantee_has_evidence():
    packages = (dplearn, model_selection, preprocessing, releases)
    public = {name for each in packages for name in each.__all__ if is_private(getattr(each, name))}
    # A plan has the guarantee of a fit, but releases nothing.
    assert {name for name in public if not name.endswith("Plan")} == EVIDENCE.keys()


def test_every_case_that_is_not_of_a_mechanism_belongs_to_a_class():
    assert set(CASES) >= SAID
    assert {name for name in CASES.keys() - SAID - MECHANISMS if not name.startswith("small_")} == set()


def test_every_class_without_cases_has_a_note():
    assert [name for name, each in EVIDENCE.items() if not each.cases and not each.note] == []
    assert evidence_of("StandardScaler") is None


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
