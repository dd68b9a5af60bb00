"""The ledger: charges, refusals, display, arguments and copies; its storage has a test file of its own."""

import copy
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from datetime import UTC
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dplearn
from dplearn.kernels.exact import exp_bounds
from dplearn.privacy import (
    ApproxDP,
    BudgetExceededError,
    Guarantee,
    LedgerError,
    PrivacyLedger,
    ReleaseRecord,
    ZeroConcentratedDP,
    open_account,
)
from dplearn.privacy.privacy_filter import PrivacyFilter

repeatable = settings(derandomize=True, deadline=None)


def numbers(guarantee):
    return tuple(getattr(guarantee, name) for name in ("epsilon", "delta", "rho") if hasattr(guarantee, name))


# The filter


def test_ten_charges_of_a_tenth_fill_one_exactly_and_the_eleventh_is_refused():
    ledger = PrivacyLedger(epsilon=1.0)
    for _ in range(10):
        ledger.charge(ApproxDP(0.1))
    assert ledger.spent() == ApproxDP(1)
    assert ledger.remaining() == ApproxDP(0)
    with pytest.raises(BudgetExceededError):
        ledger.charge(ApproxDP(0.1))
    assert len(ledger.history()) == 10


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


def test_either_number_alone_is_enough_to_refuse():
    ledger = PrivacyLedger(1, 1e-6)
    for asked in (ApproxDP(1.1), ApproxDP(0, 2e-6), ApproxDP("1.0000000000000000001")):
        with pytest.raises(BudgetExceededError):
            ledger.charge(asked)
    ledger.charge(ApproxDP(1, 1e-6))


def test_what_is_refused_leaves_no_trace():
    ledger = PrivacyLedger(1)
    ledger.charge(ApproxDP(0.5))
    before = ledger.to_json()
    for asked in (ApproxDP(0.6), ApproxDP(0.1, reproducible=True), ApproxDP(0.1, protects="labels")):
        with pytest.raises(LedgerError):
            ledger.charge(asked)
    assert ledger.to_json() == before


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


def test_a_charge_of_nothing_is_recorded_and_always_fits():
    ledger = PrivacyLedger(0)
    ledger.charge(ApproxDP(0))
    assert len(ledger.history()) == 1
    assert not ledger.can_afford(ApproxDP("1e-30"))


# What it shows


def test_the_refusal_says_in_decimals_what_was_asked_spent_left_and_budgeted():
    ledger = PrivacyLedger(1.0, 1e-6)
    ledger.charge(ApproxDP("2/3", 1e-7))
    with pytest.raises(BudgetExceededError) as refusal:
        ledger.charge(ApproxDP(0.5))
    assert str(refusal.value) == (
        "the release does not fit into the budget: asked epsilon 0.5, delta 0;"
        " spent epsilon 0.666667, delta 1e-07; remaining epsilon 0.333333, delta 9e-07;"
        " budget epsilon 1, delta 1e-06"
    )


def test_a_record_holds_what_was_charged_and_what_it_cost():
    ledger = PrivacyLedger(1)
    guarantee = ApproxDP(0.1, 0, "add_remove", assumes=("the label set",))
    record = ledger.charge(guarantee, estimator="Stump")
    assert [record] == ledger.history()
    assert (record.number, record.estimator, record.version) == (1, "Stump", dplearn.__version__)
    assert record.time.tzinfo is UTC
    assert (record.guarantee, record.cost) == (guarantee, ApproxDP(0.2))
    with pytest.raises(FrozenInstanceError):
        record.number = 2


def test_history_is_a_list_of_ones_own():
    ledger = PrivacyLedger(1)
    ledger.charge(ApproxDP(0.1))
    ledger.history().clear()
    assert len(ledger.history()) == 1


def test_what_is_spent_rests_on_every_releases_assumptions():
    ledger = PrivacyLedger(1)
    ledger.charge(ApproxDP(0.1, assumes=("a", "b")))
    ledger.charge(ApproxDP(0.1, assumes=("b", "c")))
    assert ledger.spent() == ApproxDP(0.2, assumes=("a", "b", "c"))
    assert ledger.remaining() == ApproxDP(0.8)


@pytest.mark.parametrize(
    "guarantee", [ApproxDP("1/3", 1e-7, assumes=("'",)), ZeroConcentratedDP("1/300"), ApproxDP(0)], ids=repr
)
def test_a_record_comes_back_from_json(guarantee):
    ledger = PrivacyLedger.of_rho(1) if not getattr(guarantee, "delta", 0) else PrivacyLedger(1, 1e-3)
    record = ledger.charge(guarantee, estimator="it's <b>")
    assert ReleaseRecord.from_json(record.to_json()) == record
    whole = json.loads(ledger.to_json())
    assert whole["format"] == "dplearn.PrivacyLedger"
    assert ReleaseRecord.from_json(json.dumps(whole["releases"][0])) == record
    assert Guarantee.from_json(json.dumps(whole["spent"])) == ledger.spent()
    assert Guarantee.from_json(json.dumps(whole["budget"])) == ledger.budget


@pytest.mark.parametrize(
    "change",
    [
        {"format": "dplearn.ApproxDP"},
        {"version": 2},
        {"version": True},
        {"number": "1"},
        {"number": True},
        {"time": "noon"},
        {"time": 5},
        {"estimator": None},
        {"guarantee": {}},
        {"cost": None},
        {"dplearn": 1},
    ],
    ids=str,
)
def test_records_of_anything_else_are_refused(change):
    record = json.loads(PrivacyLedger(1).charge(ApproxDP(0.1)).to_json()) | change
    with pytest.raises(ValueError, match=r"not a dplearn|version must be 1|Invalid isoformat"):
        ReleaseRecord.from_json(json.dumps(record))
    for text in ("[]", "{}", "null"):
        with pytest.raises(ValueError, match=r"not a dplearn\.ReleaseRecord record"):
            ReleaseRecord.from_json(text)


def test_print_shows_a_table():
    ledger = PrivacyLedger(0.5, 1e-6)
    ledger.charge(ApproxDP(0.2), estimator="Stump")
    ledger.charge(ApproxDP(0.1, 1e-7), estimator="two\nlines")
    lines = str(ledger).splitlines()
    assert lines[0].startswith("A privacy ledger of epsilon 0.5, delta 1e-06, neighbors replace_one")
    assert [line.split()[-2:] for line in lines[1:]] == [
        ["epsilon", "delta"],
        ["0.2", "0"],
        ["0.1", "1e-07"],
        ["0.3", "1e-07"],
        ["0.2", "9e-07"],
    ]
    assert "'two\\nlines'" in lines[3]


@pytest.mark.parametrize(
    "ledger",
    [
        PrivacyLedger(1),
        PrivacyLedger("0.5", 1e-6, neighbors="add_remove", allow_reproducible=True),
        PrivacyLedger.of_rho(0.25, protects="labels"),
    ],
    ids=repr,
)
def test_the_repr_is_one_line_that_reads_as_the_call(ledger):
    assert repr(eval(repr(ledger))) == repr(ledger)
    assert "\n" not in repr(ledger)


def test_html_is_escaped():
    ledger = PrivacyLedger(1)
    ledger.charge(ApproxDP(0.1), estimator="<script>alert('x')</script>")
    html = ledger._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<tr>") == 4


# Arguments


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": -1}, ValueError, "epsilon must be a finite number at least 0, got -1"),
        ({"epsilon": float("inf")}, ValueError, "epsilon must be"),
        ({"epsilon": None}, TypeError, "epsilon must be"),
        ({"delta": 1}, ValueError, "delta must be a finite number at least 0 and below 1, got 1"),
        ({"neighbors": "swap"}, ValueError, "neighbors must be one of"),
        ({"protects": "users"}, ValueError, "protects must be one of"),
        ({"allow_reproducible": 1}, TypeError, "allow_reproducible must be True or False, got 1"),
        ({"timeout": -1}, ValueError, "timeout must be a finite number at least 0"),
        ({"timeout": "soon"}, ValueError, "timeout must be"),
        ({"path": ""}, TypeError, "path must be None, a nonempty string or a path, got ''"),
        ({"path": 3}, TypeError, "path must be"),
        ({"path": b"x"}, TypeError, "path must be"),
    ],
    ids=str,
)
def test_wrong_arguments_are_type_errors_and_value_errors(parameters, error, message):
    with pytest.raises(error, match=message):
        PrivacyLedger(**{"epsilon": 1} | parameters)
    with pytest.raises(TypeError, match="estimator must be a string, got 3"):
        PrivacyLedger(1).charge(ApproxDP(0.1), estimator=3)


# One account, whatever copies are made


@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda ledger: pickle.loads(pickle.dumps(ledger))]
)
def test_copies_are_the_same_account(twin):
    ledger = PrivacyLedger(1)
    other = twin(ledger)
    other.charge(ApproxDP(0.7))
    assert ledger.spent() == other.spent() == ApproxDP(0.7)
    with pytest.raises(BudgetExceededError):
        ledger.charge(ApproxDP(0.7))


def test_a_pickle_finds_its_account_even_if_no_object_was_left():
    ledger = PrivacyLedger(1)
    ledger.charge(ApproxDP(0.7))
    kept = pickle.dumps(ledger)
    del ledger
    assert pickle.loads(kept).spent() == ApproxDP(0.7)


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


def test_two_ledgers_are_two_accounts():
    first, second = PrivacyLedger(1), PrivacyLedger(1)
    first.charge(ApproxDP(1))
    assert second.can_afford(ApproxDP(1))


def test_eight_threads_never_overspend_in_memory():
    for _ in range(100):
        ledger = PrivacyLedger(1)
        ledger.charge(ApproxDP(0.9))
        start = threading.Barrier(8)

        def last_unit(_, ledger=ledger, start=start):
            start.wait()
            try:
                ledger.charge(ApproxDP(0.1))
            except BudgetExceededError:
                return 0
            return 1

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(last_unit, range(8))) == 1
        assert ledger.spent() == ApproxDP(1)


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


# The account of a release


@pytest.mark.parametrize("path", ["my.ledger", Path("my.ledger")], ids=["text", "path"])
def test_a_path_is_refused_and_the_error_says_how_to_open_it(path):
    words = r"or a PrivacyLedger, got .*my\.ledger'.*: PrivacyLedger\.open\(path\) opens the one in a file"
    with pytest.raises(TypeError, match=words):
        open_account(path, ApproxDP(1), name="a fit")


def test_anything_else_than_a_ledger_is_refused_without_advice():
    with pytest.raises(TypeError, match=r"got 3$"):
        open_account(3, ApproxDP(1), name="a fit")


def test_the_advice_for_a_path_works(tmp_path):
    path = tmp_path / "my.ledger"
    PrivacyLedger(1, path=path)
    open_account(PrivacyLedger.open(path), ApproxDP(1), name="a fit")(ApproxDP(1))
    assert PrivacyLedger.open(path).remaining().epsilon == 0


# The errors


def test_no_except_exception_swallows_a_ledgers_error():
    assert not issubclass(LedgerError, Exception)
    assert issubclass(BudgetExceededError, LedgerError)
    for kind in (LedgerError, BudgetExceededError):
        again = pickle.loads(pickle.dumps(kind("why")))
        assert (type(again), str(again)) == (kind, "why")


def test_what_remains_is_exact_and_shown_rounded_down():
    ledger = PrivacyLedger(1)
    third = ApproxDP(Fraction(1, 3))
    ledger.charge(third)
    left = ledger.remaining()
    assert left == ApproxDP(Fraction(2, 3))
    assert repr(left).startswith("ApproxDP(epsilon=0.666666,")
    assert "<td>0.666666</td>" in left._repr_html_()
    assert repr(ApproxDP(Fraction(2, 3))).startswith("ApproxDP(epsilon=0.666667,")
    ledger.charge(left)
    assert ledger.remaining() == ApproxDP(0)
