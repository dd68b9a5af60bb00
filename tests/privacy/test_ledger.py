"""The ledger: charges, refusals, display, arguments and copies; its storage has a test file of its own."""

import copy
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace
from datetime import UTC
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dplearn
from dplearn.kernels import exp_bounds
from dplearn.privacy import (
    ApproxDP,
    BudgetExceededError,
    Guarantee,
    LedgerError,
    PrivacyFilter,
    PrivacyLedger,
    ReleaseRecord,
    ZeroConcentratedDP,
    open_account,
)

repeatable = settings(derandomize=True, deadline=None)


def numbers(guarantee):
    return tuple(getattr(guarantee, name) for name in ("epsilon", "delta", "rho") if hasattr(guarantee, name))


def test_ten_charges_of_a_tenth_fill_one_exactly_and_what_is_refused_leaves_no_trace():
    ledger = PrivacyLedger(1.0, 1e-6)
    for _ in range(10):
        ledger.charge(ApproxDP(0.1))
    assert ledger.spent() == ApproxDP(1)
    assert ledger.remaining() == ApproxDP(0, 1e-6)
    before = ledger.to_json()
    for asked in (ApproxDP("1e-30"), ApproxDP(0, 2e-6), ApproxDP(0, "1.00000000001e-6")):
        assert not ledger.can_afford(asked)
        with pytest.raises(BudgetExceededError):
            ledger.charge(asked)
    for asked in (ApproxDP(0, reproducible=True), ApproxDP(0, protects="labels")):
        with pytest.raises(LedgerError):
            ledger.charge(asked)
    ledger.history().clear()
    assert ledger.to_json() == before
    ledger.charge(ApproxDP(0))
    ledger.charge(ApproxDP(0, 1e-6))
    assert len(ledger.history()) == 12


small = st.fractions(0, 1, max_denominator=60)
tiny = st.sampled_from([Fraction(0), Fraction(1, 7), Fraction(1, 10**6), Fraction(1, 3)])


@settings(repeatable, max_examples=200)
@given(st.lists(st.tuples(small, tiny, st.booleans()), max_size=15), small, tiny)
def test_a_charge_is_accepted_exactly_when_its_sum_fits(asked, epsilon, delta):
    ledger = PrivacyLedger(epsilon, delta)
    spent, accepted = (Fraction(0), Fraction(0)), 0
    for each_epsilon, each_delta, two_steps in asked:
        guarantee = ApproxDP(each_epsilon, each_delta, "add_remove" if two_steps else "replace_one")
        if two_steps and each_delta:
            each_delta *= 1 + exp_bounds(each_epsilon)[1]
            each_delta *= 1 + Fraction(1, 10**20)  # which is rounded up; nothing drawn here is that close
        more = (each_epsilon * (1 + two_steps), each_delta)
        total = tuple(map(sum, zip(spent, more, strict=True)))
        fits = total[0] <= epsilon and total[1] <= delta
        assert ledger.can_afford(guarantee) == fits
        try:
            ledger.charge(guarantee)
            spent, accepted = numbers(ledger.spent()), accepted + 1
            assert all(a <= b for a, b in zip(spent, total, strict=True))
            assert fits
        except BudgetExceededError:
            assert not fits
        assert spent[0] <= epsilon
        assert spent[1] <= delta
    assert numbers(ledger.spent()) == spent
    assert len(ledger.history()) == accepted
    assert [a + b for a, b in zip(spent, numbers(ledger.remaining()), strict=True)] == [epsilon, delta]


@settings(repeatable, max_examples=100)
@given(st.lists(st.tuples(small, st.booleans(), st.booleans()), max_size=12), small)
def test_a_budget_of_rho_adds_rho(asked, rho):
    ledger = PrivacyLedger.of_rho(rho)
    spent = Fraction(0)
    for number, pure, two_steps in asked:
        neighbors = "add_remove" if two_steps else "replace_one"
        guarantee = ApproxDP(number, 0, neighbors) if pure else ZeroConcentratedDP(number, neighbors)
        cost = (number**2 / 2 if pure else number) * (4 if two_steps else 1)
        fits = spent + cost <= rho
        assert ledger.can_afford(guarantee) == fits
        if fits:
            assert ledger.charge(guarantee).cost == ZeroConcentratedDP(cost)
            spent += cost
        else:
            with pytest.raises(BudgetExceededError):
                ledger.charge(guarantee)
    assert ledger.spent() == ZeroConcentratedDP(spent)


def test_a_sum_of_too_many_digits_is_refused_and_not_rounded():
    ledger = PrivacyLedger(1)
    ledger.charge(ApproxDP(Fraction(1, 3**8000)))
    with pytest.raises(LedgerError, match="the exact sum of all releases has too many digits to be kept"):
        ledger.charge(ApproxDP(Fraction(1, 7**4000)))
    assert ledger.spent() == ApproxDP(Fraction(1, 3**8000))


@pytest.mark.parametrize("number", ["1e5000", "1e-5000"])
def test_a_number_of_too_many_digits_is_refused_where_it_enters(number, tmp_path):
    for path in (None, tmp_path / "ledger"):
        with pytest.raises(ValueError, match="budget must be of numbers with at most 14000 bits"):
            PrivacyLedger(number, path=path)
    assert list(tmp_path.iterdir()) == []
    for ledger in (PrivacyLedger("1e4000"), PrivacyLedger("1e4000", path=tmp_path / "ledger")):
        with pytest.raises(LedgerError, match="the release's numbers have too many digits to be kept"):
            ledger.charge(ApproxDP(number))
        ledger.charge(ApproxDP("1e4000"))
        assert "e+4000" in str(ledger)
        assert "e+4000" in ledger._repr_html_()
        assert ledger.spent() == ApproxDP("1e4000")
        assert len(ledger.to_json()) > 4000


def test_a_record_holds_what_was_charged_and_what_it_cost():
    ledger = PrivacyLedger(1)
    guarantee = ApproxDP(0.1, 0, "add_remove", assumes=("a", "b"))
    record = ledger.charge(guarantee, estimator="Stump")
    assert [record] == ledger.history()
    assert (record.number, record.estimator, record.version) == (1, "Stump", dplearn.__version__)
    assert record.time.tzinfo is UTC
    assert (record.guarantee, replace(record.cost, assumes=())) == (guarantee, ApproxDP(0.2))
    with pytest.raises(FrozenInstanceError):
        record.number = 2
    assert ledger.charge(ApproxDP(0.1, assumes=("b", "c"))).number == 2
    assert ledger.spent() == ApproxDP("0.3", assumes=("a", "b", "c"))
    assert ledger.remaining() == ApproxDP(0.7)
    assert not ledger.spent().reproducible
    seeded = PrivacyLedger(1, allow_reproducible=True)
    for repeats in (True, False):
        seeded.charge(ApproxDP(0.1, reproducible=repeats))
    assert seeded.spent().reproducible  # one of them is enough


@pytest.mark.parametrize(
    "guarantee", [ApproxDP("1/3", 1e-7, assumes=("'",)), ZeroConcentratedDP("1/300"), ApproxDP(0)], ids=repr
)
def test_a_record_comes_back_from_json_and_nothing_else_does(guarantee):
    ledger = PrivacyLedger.of_rho(1) if not getattr(guarantee, "delta", 0) else PrivacyLedger(1, 1e-3)
    record = ledger.charge(guarantee, estimator="it's <b>")
    assert ReleaseRecord.from_json(record.to_json()) == record
    whole = json.loads(ledger.to_json())
    assert whole["format"] == "dplearn.PrivacyLedger"
    assert ReleaseRecord.from_json(json.dumps(whole["releases"][0])) == record
    assert Guarantee.from_json(json.dumps(whole["spent"])) == ledger.spent()
    assert Guarantee.from_json(json.dumps(whole["budget"])) == ledger.budget
    wrong = {"format": ["dplearn.ApproxDP"], "version": [2, True], "number": ["1", True], "time": ["noon", 5]}
    wrong |= {"estimator": [None], "guarantee": [{}], "cost": [None], "dplearn": [1]}
    texts = ["[]", "{}", "null"] + [
        json.dumps(json.loads(record.to_json()) | {key: each})
        for key, values in wrong.items()
        for each in values
    ]
    for text in texts:
        with pytest.raises(ValueError, match=r"not a dplearn|version must be 1|Invalid isoformat"):
            ReleaseRecord.from_json(text)


def test_print_and_a_notebook_show_a_table_and_the_repr_is_one_line_that_reads_as_the_call():
    ledger = PrivacyLedger(0.5, 1e-6)
    ledger.charge(ApproxDP(0.2), estimator="<script>")
    ledger.charge(ApproxDP(0.1, 1e-7), estimator="two\nlines")
    lines = str(ledger).splitlines()
    assert lines[0].startswith("A privacy ledger of epsilon 0.5, delta 1e-06, neighbors replace_one")
    ends = ["epsilon delta", "0.2 0", "0.1 1e-07", "0.3 1e-07", "0.2 9e-07"]
    assert [" ".join(line.split()[-2:]) for line in lines[1:]] == ends
    assert "'two\\nlines'" in lines[3]
    html = ledger._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<tr>") == 5
    added = PrivacyLedger("0.5", 1e-6, neighbors="add_remove", allow_reproducible=True)
    for each in (ledger, added, PrivacyLedger.of_rho(0.25, protects="labels")):
        assert repr(eval(repr(each))) == repr(each)
        assert "\n" not in repr(each)


def test_copies_are_the_same_account_even_if_no_object_was_left_and_two_ledgers_are_two():
    ledger, second = PrivacyLedger(1), PrivacyLedger(1)
    for twin in (copy.copy(ledger), copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        twin.charge(ApproxDP(0.3))
    assert ledger.spent() == ApproxDP(0.9)
    with pytest.raises(BudgetExceededError):
        ledger.charge(ApproxDP(0.2))
    kept = pickle.dumps(ledger)
    del ledger, twin
    assert pickle.loads(kept).spent() == ApproxDP(0.9)
    assert second.can_afford(ApproxDP(1))


def test_a_charge_in_the_middle_of_another_of_the_same_thread_is_refused(monkeypatch):
    """As by the handler of a signal; it must neither wait for itself nor spend twice."""
    decide, ledger, refused = PrivacyFilter.after, PrivacyLedger(1), []

    def interrupted(self, spent, cost):
        monkeypatch.setattr(PrivacyFilter, "after", decide)
        with pytest.raises(LedgerError, match="in the middle of another charge of the same thread"):
            ledger.charge(ApproxDP(1))
        refused.append(ledger.spent().epsilon)
        return decide(self, spent, cost)

    monkeypatch.setattr(PrivacyFilter, "after", interrupted)
    ledger.charge(ApproxDP(1))
    assert refused == [0]
    assert ledger.remaining() == ApproxDP(0)


def test_no_thread_decides_while_another_is_deciding(monkeypatch):
    decide, ledger = PrivacyFilter.after, PrivacyLedger(1)

    def slowly(self, spent, cost):
        total = decide(self, spent, cost)
        threading.Event().wait(0.01)  # in which the others would decide on what was spent before
        return total

    monkeypatch.setattr(PrivacyFilter, "after", slowly)

    def last_unit(_):
        try:
            ledger.charge(ApproxDP(1))
        except BudgetExceededError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(last_unit, range(8))) == 1


def test_a_path_is_refused_and_the_error_says_how_to_open_it(path):
    words = r"or a PrivacyLedger, got .*my\.ledger'.*: PrivacyLedger\.open\(path\) opens the one in a file"
    for wrong, message in (("my.ledger", words), (Path("my.ledger"), words), (3, r"got 3$")):
        with pytest.raises(TypeError, match=message):
            open_account(wrong, ApproxDP(1), name="a fit")
    PrivacyLedger(1, path=path)
    open_account(PrivacyLedger.open(path), ApproxDP(1), name="a fit")(ApproxDP(1))
    assert PrivacyLedger.open(path).remaining().epsilon == 0


def test_no_except_exception_swallows_a_ledgers_error():
    assert not issubclass(LedgerError, Exception)
    assert issubclass(BudgetExceededError, LedgerError)
    for kind in (LedgerError, BudgetExceededError):
        again = pickle.loads(pickle.dumps(kind("why")))
        assert (type(again), str(again)) == (kind, "why")
