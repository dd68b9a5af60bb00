"""What is no ledger is refused, and a path with what takes it."""

from pathlib import Path

import pytest

from dplearn.privacy import ApproxDP, PrivacyLedger, open_account


@pytest.mark.parametrize("path", ["my.ledger", Path("my.ledger")], ids=["text", "path"])
def test_a_path_is_refused_with_what_opens_it(path):
    words = r"or a PrivacyLedger, got .*my\.ledger'.*: PrivacyLedger\.open\(path\) opens the one in a file"
    with pytest.raises(TypeError, match=words):
        open_account(path, ApproxDP(1), name="a fit")


def test_anything_else_is_refused_without_advice():
    with pytest.raises(TypeError, match=r"got 3$"):
        open_account(3, ApproxDP(1), name="a fit")


def test_the_way_that_is_told_leads_somewhere(tmp_path):
    path = tmp_path / "my.ledger"
    PrivacyLedger(1, path=path)
    open_account(PrivacyLedger.open(path), ApproxDP(1), name="a fit")(ApproxDP(1))
    assert PrivacyLedger.open(path).remaining().epsilon == 0
