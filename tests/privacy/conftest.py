"""What tests of ledgers share: a file for one, and programs of their own."""

import pytest


@pytest.fixture
def path(tmp_path):
    """Where a ledger may be made."""
    return tmp_path / "budget.ledger"


@pytest.fixture
def script(program):
    """Run a program that has everything of dplearn.privacy, and return its lines."""

    def run(source, *arguments):
        head = "import os, sys, time\nfrom pathlib import Path\nfrom dplearn.privacy import *\n"
        done = program(head + source, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run
