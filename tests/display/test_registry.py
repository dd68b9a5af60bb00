"""An entry for the registry of deployments fits the recorded schema and states the guarantee."""

import datetime
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dplearn import (
    ApproxDP,
    ExponentialMechanismClassifier,
    PrivacyLedger,
    StatisticalQueryNaiveBayes,
    ZeroConcentratedDP,
)
from dplearn.display import registry_entry, registry_schema
from dplearn.domains import IntegerRange
from dplearn.releases import cdf

X, Y = [[value] for value in range(200)], [0] * 100 + [1] * 100
GIVEN = {
    "name": "Readmissions: spring",
    "data_curators": ["A hospital"],
    "intended_use": "Research",
    "description": 'A rule, "as released".\nTwo lines: \u00fc, \U0001f600, \x85.',
    "data_product_region": "Utopia",
    "publication_date": "2026-11-26",
    "registry_authors": ["A. Person"],
}
TYPES = {"text": str, "integer": int, "number": float, "number or text": (str, float)}
RELEASES = {
    "rule": lambda: ExponentialMechanismClassifier(classes=[0, 1]).fit(X, Y),
    "labels": lambda: ExponentialMechanismClassifier(classes=[0, 1], protects="labels").fit(X, Y),
    "bayes": lambda: StatisticalQueryNaiveBayes(delta=1e-6, classes=[0, 1]).fit(np.tile(X, 30), Y),
    "local": lambda: StatisticalQueryNaiveBayes(trust_model="local", epsilon=9, classes=[0, 1]).fit(X, Y),
    "distribution": lambda: cdf(np.arange(100), domain=IntegerRange(0, 99)),
    "third": lambda: SimpleNamespace(guarantee=ApproxDP("1/3")),
    "rho": lambda: SimpleNamespace(guarantee=ZeroConcentratedDP(0.1)),
}


def flat(nested, path=""):
    """Return the values of an entry by their paths."""
    found = {}
    for key, value in nested.items():
        found |= flat(value, f"{path}{key}.") if isinstance(value, dict) else {f"{path}{key}": value}
    return found


def is_of(rule, value):
    """Whether a value fits the rule of a field."""
    if rule["type"] == "date":
        return datetime.date.fromisoformat(value).isoformat() == value
    if rule["type"] == "texts":
        return bool(value) and all(isinstance(each, str) for each in value)
    return isinstance(value, TYPES[rule["type"]]) and value in rule.get("choices", [value])


def violations(nested):
    """Return the fields that the registry's own tests would refuse, by the recorded schema."""
    fields, given = registry_schema()["fields"], flat(nested)
    missing = [path for path, rule in fields.items() if rule.get("required") and path not in given]
    return missing + [path for path in given if path not in fields or not is_of(fields[path], given[path])]


def test_the_validator_sees_wrong_entries():
    good = registry_entry(RELEASES["rule"](), **GIVEN).nested
    assert violations(good) == []
    assert violations(good | {"surprise": 1, "tier": 0}) == ["tier", "surprise"]
    assert violations({key: value for key, value in good.items() if key != "status"}) == ["status"]


@pytest.mark.parametrize("kind", RELEASES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_entry_fits_the_schema_and_reads_back_from_its_file(kind, tmp_path):
    yaml = pytest.importorskip("yaml")
    entry = registry_entry(RELEASES[kind](), **GIVEN)
    assert violations(entry.nested) == []
    entry.save(tmp_path / "readmissions_2026.yaml")
    read = yaml.safe_load((tmp_path / "readmissions_2026.yaml").read_text(encoding="utf-8"))
    assert read == entry.nested


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_guarantee_is_stated_and_never_rounded_down():
    def parts(kind):
        found = registry_entry(RELEASES[kind](), **GIVEN).fields.items()
        return {path.removeprefix("deployment."): value for path, value in found}

    fields = parts("bayes")
    assert fields["dp_variant.variant_name"] == "Approximate DP"
    assert fields["privacy_loss.privacy_parameters.epsilon"] == 1.0
    assert fields["privacy_loss.privacy_parameters.delta"] == 1e-6
    assert fields["deployment_model.model_name"] == "Central"
    assert "noise of the kind 'gaussian'" in fields["implementation.mechanisms"]
    assert "cases of the class, of all its settings: naive_bayes" in fields["implementation.mechanisms"]
    assert fields["dp_variant.data_domain"].startswith("All tables in which in every column, values")
    assert "public" not in fields["dp_variant.data_domain"]
    assert "values are" not in fields["dp_variant.unprotected_quantities"]
    begins = "The guarantee assumes: each row of X is made from one record alone"
    assert fields["implementation.preprocessing_and_hyperparameter_tuning"].startswith(begins)
    assert parts("local")["deployment_model.model_name"] == "Local"
    assert "label" in parts("labels")["privacy_loss.privacy_unit"]
    assert "all features are public" in parts("labels")["dp_variant.unprotected_quantities"]
    written = parts("third")["privacy_loss.privacy_parameters.epsilon"]
    assert Fraction(1, 3) <= Fraction(repr(written)) <= Fraction(repr(math.nextafter(1 / 3, 1)))
    assert parts("rho")["dp_variant.variant_name"] == "Zero-concentrated DP"
    assert parts("rho")["privacy_loss.privacy_parameters.rho"] == 0.1


def test_a_ledger_gives_the_composition_and_further_fields_raise_the_tier():
    ledger = PrivacyLedger(epsilon=3)
    model = ExponentialMechanismClassifier(classes=[0, 1], ledger=ledger).fit(X, Y)
    entry = registry_entry(model, **GIVEN)
    assert "budget of epsilon 3" in entry.fields["deployment.accounting.composition"]
    assert "charged 1 release(s), which cost epsilon 1" in entry.fields["deployment.accounting.composition"]
    more = {
        "deployment_model.release_type": "One release",
        "deployment_model.data_source_type": "Static",
        "deployment_model.access_type": "Non-interactive",
        "privacy_loss.privacy_unit": "one patient, who has one record",
    }
    entry = registry_entry(model, details=more, **GIVEN)
    assert entry.fields["deployment.privacy_loss.privacy_unit"] == "one patient, who has one record"
    assert violations(entry.nested) == []
    known = registry_schema()["fields"].items()
    rest = [path for path, rule in known if rule.get("tier") == 3 and path not in entry.fields]
    whole = more | {path.removeprefix("deployment."): "known" for path in rest}
    tiers = [registry_entry(model, details=each, **GIVEN).fields["tier"] for each in ({}, more, whole)]
    assert tiers == [1, 2, 3]


def test_releases_that_must_not_be_published_are_refused_and_dates_are_written_as_demanded(tmp_path):
    seeded = ExponentialMechanismClassifier(classes=[0, 1], random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="fitted without a seed"):
        registry_entry(seeded, **GIVEN)
    entry = registry_entry(RELEASES["rule"](), **GIVEN | {"publication_date": datetime.date(2026, 1, 2)})
    assert entry.fields["deployment.basic.publication_date"] == "2026-01-02"
    assert entry.fields["url_slug"] == "readmissions_spring"
    with pytest.raises(ValueError, match=r"path must have a name of lower-case letters.* got 'A.yaml'"):
        entry.save(tmp_path / "A.yaml")
    with pytest.raises(TypeError, match="details must be None or a mapping"):
        registry_entry(RELEASES["rule"](), **GIVEN, details=["a"])
