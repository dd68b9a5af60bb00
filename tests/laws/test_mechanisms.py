"""Every mechanism says what it guarantees, and is verified: a new one is tested by being there."""

import inspect
import re
import sys

import pytest

from dplearn import mechanisms
from dplearn.audit.cases import CASES, MECHANISM_FITS
from dplearn.chance import EnumeratingDice, SystemDice

MECHANISMS = sorted(mechanisms.__all__)
NOTES = ["Privacy", "Assumes", "Accuracy", "Source"]


def documented(name):
    return inspect.getdoc(getattr(mechanisms, name))


def sections(name):
    """From each heading of a docstring to its text."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", documented(name), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def cases_of(name):
    return [case for case in CASES.values() if name in case.verifies]


def code_called_by(computation):
    """The code of all Python functions that run while a function without parameters does."""
    called = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: called.add(frame.f_code) if event == "call" else None)
    try:
        computation()
    finally:
        sys.setprofile(before)
    return called


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_cases_that_run_it(name):
    mechanism = getattr(mechanisms, name)
    code = (mechanism.__init__ if inspect.isclass(mechanism) else mechanism).__code__
    assert cases_of(name)
    for case in cases_of(name):
        rows = tuple(list(case.universe)[:1]) * case.n
        assert code in code_called_by(lambda case=case, rows=rows: case.fit(rows, SystemDice()))


def test_every_case_that_takes_the_mechanism_as_an_argument_verifies_mechanisms_alone():
    for case in map(CASES.get, MECHANISM_FITS):
        assert case.verifies
        assert {*case.verifies} <= {*MECHANISMS}
        assert not case.part_of


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_takes_privacy_and_dice_by_name_and_documents_itself(name):
    parameters = inspect.signature(getattr(mechanisms, name)).parameters
    for required in ("privacy", "dice"):
        assert parameters[required].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[required].default is inspect.Parameter.empty
    listed = re.findall(r"^(\w[\w, ]*) : ", sections(name)["Parameters"], flags=re.MULTILINE)
    assert [each for names in listed for each in names.split(", ")] == list(parameters)
    lines = re.split(r"^\*\*(\w+)\.\*\*", sections(name)["Notes"], flags=re.MULTILINE)
    assert lines[1::2] == NOTES
    assert all(len(line.split()) >= 3 for line in lines[2::2])


@pytest.mark.parametrize("case", [CASES[name] for name in MECHANISM_FITS], ids=lambda case: case.name)
def test_the_type_of_what_is_released_does_not_depend_on_data_noise_or_dice(case):
    universe, kinds = list(case.universe), set()
    for record in (universe[0], universe[-1]):
        for dice in (*[SystemDice()] * 20, EnumeratingDice(tail_bits=case.tail_bits)):
            label, released = case.fit((record,) * case.n, dice)
            assert isinstance(label, str)
            assert not callable(released)
            kinds.add((type(released), getattr(released, "dtype", None)))
    allowed = 2 if (type(None), None) in kinds else 1  # None is the answer "no answer"
    assert len(kinds) <= allowed
