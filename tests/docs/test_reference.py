"""The reference documents every public package, and every name of each once."""

import importlib
import importlib.util
import pkgutil
from pathlib import Path

import pytest

import dplearn

DOCS = Path(__file__).parents[2] / "docs"
#: Packages whose names are public elsewhere, or that users do not call.
NOT_PUBLIC = {
    "dplearn.audit.cases",
    "dplearn.commands",
    "dplearn.kernels",
    "dplearn.fit",
    "dplearn.learners.additive",
    "dplearn.learners.counts",
    "dplearn.learners.linear",
    "dplearn.learners.parity",
    "dplearn.learners.rules",
    "dplearn.learners.several",
    "dplearn.learners.votes",
    "dplearn.table",
}


def _load(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = _load("reference")


def test_every_public_package_has_a_page():
    packages = {module.name for module in pkgutil.walk_packages(dplearn.__path__, "dplearn.") if module.ispkg}
    assert set(reference.documented()) == (packages | {"dplearn", "dplearn.kernels.gf2"}) - NOT_PUBLIC


@pytest.mark.parametrize("package", reference.documented())
def test_a_page_has_every_public_name_or_says_where_it_is(package):
    text = reference.as_rst(package)
    for name, home in reference.homes()[package].items():
        assert f":: {home}.{name}" in text or f"`{home}.{name}`" in text
        assert name in importlib.import_module(home).__all__


def test_every_name_is_documented_once():
    entries = [
        line.split(":: ")[1]
        for package in reference.documented()
        for line in reference.as_rst(package).splitlines()
        if line.startswith(".. auto") and not line.startswith(".. autosummary")
    ]
    assert len(entries) == len(set(entries)) > 200


def test_what_dplearn_passes_on_is_documented_where_it_belongs():
    where = reference.homes()["dplearn"]
    assert where["PrivacyLedger"] == "dplearn.privacy"
    assert where["ParityClassifier"] == "dplearn"
    assert reference.homes()["dplearn.learners"]["ParityClassifier"] == "dplearn"


def test_an_entry_lists_methods_that_dplearn_wrote_and_leaves_out_scikit_learns():
    entry = reference.as_rst("dplearn")
    entry = entry[entry.index("autoclass:: dplearn.ThresholdClassifier") :]
    members = entry.splitlines()[1]
    assert "plan" in members
    assert "fit" in members
    assert "set_params" not in members
