"""Public facts of all settings are those of one file, `snapshot.json`: signatures, defaults, plans, warnings,
what fits promise, assume and charge, errors for a table of mistakes, what the calls of `calls/*.txt` return,
and the audit's distributions.

`python -m tests.laws.test_snapshot` writes the file anew, in some minutes; with a text, facts of the settings
whose names contain it; with "nothing", all but facts of settings. Each line that differs is a change that
users see.
"""

import hashlib
import json
import sys
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn

import dplearn
from dplearn import ExponentialMechanismClassifier, StatisticalQueryNaiveBayes
from dplearn.privacy import PrivacyLedger
from tests.laws.conftest import STAND_FOR_ALL, is_among, written
from tests.laws.facts import (
    ALL,
    BY_DAY,
    MODULES,
    NAMES,
    PACKAGE,
    facts_of,
    fits,
    mistakes,
    plain,
    plans,
    signatures,
)
from tests.laws.release_facts import release_mistakes, released
from tests.laws.releases import RELEASES

FILE = Path(__file__).with_name("snapshot.json")
CALLS = {path.stem: path for path in sorted(Path(__file__).with_name("calls").glob("*.txt"))}


def values(room):
    """What the calls of a file of `calls` return as text, or their errors, none of which comes after a charge
    of `ledger` or `of_labels`; names are those of users.
    """
    known = {"np": np, "pd": pd, "pl": pl, "sklearn": sklearn, "Fraction": Fraction, **vars(dplearn)}
    for part in (
        "compose",
        "ensemble",
        "frozen",
        "linear_model",
        "naive_bayes",
        "neighbors",
        "pipeline",
        "svm",
    ):
        import_module(f"sklearn.{part}")
    for module in MODULES:
        package = import_module(f"dplearn.{module}")
        known |= {module: package} | {name: getattr(package, name) for name in package.__all__}
    found = {}
    for each in CALLS[room].read_text().splitlines():
        ledgers = [PrivacyLedger(100, 0.1), PrivacyLedger(100, 0.1, protects="labels")]
        names = known | dict(zip(("ledger", "of_labels"), ledgers, strict=True))
        told = facts_of(lambda each=each, names=names: {"text": plain(eval(each, names))})
        assert isinstance(told, dict) or not any(ledger.history() for ledger in ledgers), each
        if isinstance(told, dict):
            told["text"] = [line.rstrip() for line in told["text"].splitlines()]
            told = told if told.keys() > {"text"} else told["text"]
        found[each] = told
    return found


def cases():
    """The audit's exact distributions, by their digests."""
    frozen = json.loads(Path(PACKAGE, "audit", "frozen.json").read_text())
    texts = {name: json.dumps(each, sort_keys=True) for name, each in frozen.items()}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:32] for name, text in texts.items()}


OF_SETTINGS = {"fits": fits, "plans": plans, "mistakes": mistakes}
OF_RELEASES = {"releases": released, "release mistakes": release_mistakes}
OF_ALL = {
    "cases": cases,
    "signatures": signatures,
    **{f"calls of {room}": partial(values, room) for room in CALLS},
}


def first_of_class(place):
    """The name of the first setting of the class that a setting is of."""
    return NAMES[[type(each) for each in ALL].index(type(ALL[place]))]


@cache
def kept():
    """The facts of the file, where mistakes that are those of the first setting of a class are once."""
    found = json.loads(FILE.read_text())
    told = found["mistakes"]
    places = {name: place for place, name in enumerate(NAMES) if name in told}
    found["mistakes"] = {name: told[first_of_class(place)] | told[name] for name, place in places.items()}
    return found


def differences(before, now, path=""):
    """The paths at which facts differ, with both."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted(before.keys() | now.keys()):
            yield from differences(before.get(name), now.get(name), f"{path} > {name}")
    elif before != now:
        yield f"{path}: {before!r} is now {now!r}"


def by_day(section, before):
    """The facts that are looked at with every change: of mistakes, those that are refused without a fit."""
    if section == "fits":
        return {form: told for form, told in before.items() if form in BY_DAY}
    if section == "plans":
        return {name: told for name, told in before.items() if name != "1000000"}
    return {name: told for name, told in before.items() if is_refused(name, told)}


def is_refused(name, told):
    return not told.startswith("no error") and not name.startswith(("predict of", "transform of"))


def changed(section, place, late):
    """What differs of a setting."""
    before = kept()[section].get(NAMES[place])
    assert before is not None, f"no facts of it yet: python -m tests.laws.test_snapshot {NAMES[place]!r}"
    if late:
        return list(differences(before, OF_SETTINGS[section](place)))
    before = by_day(section, before)
    return list(differences(before, OF_SETTINGS[section](place, only=set(before))))


EVERY = [
    pytest.param(place, late, id=f"{written(each)}{', all' * late}", marks=[pytest.mark.nightly] * late)
    for late in (False, True)
    for place, each in enumerate(ALL)
    if late or is_among(each, STAND_FOR_ALL)
]
of_settings = pytest.mark.parametrize(("place", "late"), EVERY)


@of_settings
def test_fits_promise_assume_and_charge_what_they_did(place, late):
    assert changed("fits", place, late) == []


@of_settings
def test_plans_are_what_they_were(place, late):
    assert changed("plans", place, late) == []


@of_settings
def test_mistakes_are_refused_as_they_were(place, late):
    assert changed("mistakes", place, late) == []


@pytest.mark.parametrize("name", RELEASES)
def test_releases_tell_what_they_did(name):
    assert list(differences(kept()["releases"][name], released(name))) == []


@pytest.mark.parametrize("name", RELEASES)
def test_mistakes_of_releases_are_refused_as_they_were(name):
    assert list(differences(kept()["release mistakes"][name], release_mistakes(name))) == []


@pytest.mark.parametrize("section", OF_ALL)
def test_signatures_values_and_frozen_distributions_are_what_they_were(section):
    assert list(differences(kept()[section], OF_ALL[section]())) == []


def test_the_file_has_all_settings_and_no_others():
    assert all(kept()[section].keys() == set(NAMES) for section in OF_SETTINGS)
    assert all(kept()[section].keys() == RELEASES.keys() for section in OF_RELEASES)
    assert kept().keys() == {*OF_SETTINGS, *OF_RELEASES, *OF_ALL}


def test_another_default_is_noticed(monkeypatch):
    defaults = StatisticalQueryNaiveBayes.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "smoothing", 2.0)
    found = list(differences(kept()["signatures"], signatures()))
    changed = [each for each in found if "StatisticalQueryNaiveBayes: " in each and "smoothing=2.0" in each]
    assert len(changed) == 2


def test_errors_and_refusals_of_other_types_are_noticed(monkeypatch):
    fit = ExponentialMechanismClassifier.fit

    def without_groups(self, *given, **more):
        if "groups" in more:
            raise TypeError("groups")
        return fit(self, *given, **more)

    monkeypatch.setattr(ExponentialMechanismClassifier, "fit", without_groups)
    assert any("> groups > " in each or "> groups: " in each for each in changed("fits", 0, False))
    assert any("> fewer groups: " in each for each in changed("mistakes", 0, False))


@pytest.mark.parametrize("name", ["assumes", "guarantee", "charges"])
def test_a_fact_that_is_gone_or_another_is_noticed(name):
    told = kept()["fits"][NAMES[0]]["memory"]
    for other in (None, told[name][:-1], [*told[name], "more"]):
        assert len(list(differences(told, told | {name: other}))) == 1
    assert list(differences(told, dict(told))) == []


def write(wanted=""):
    """Write the facts of the settings whose names contain a text, by default all, and all other facts."""
    found = json.loads(json.dumps(kept())) if wanted else {section: {} for section in OF_SETTINGS}
    for section, facts in OF_SETTINGS.items():
        found[section] |= {name: facts(place) for place, name in enumerate(NAMES) if wanted in name}
        found[section] = {name: found[section][name] for name in NAMES}
    told = found["mistakes"]
    for place, name in enumerate(NAMES):
        first = first_of_class(place)
        own = {key: text for key, text in told[name].items() if name == first or told[first].get(key) != text}
        found["mistakes"] = found["mistakes"] | {name: own}
    found |= {section: {name: facts(name) for name in RELEASES} for section, facts in OF_RELEASES.items()}
    found |= {section: facts() for section, facts in OF_ALL.items()}
    found = {section: found[section] for section in (*OF_SETTINGS, *OF_RELEASES, *OF_ALL)}
    FILE.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write(*sys.argv[1:])
