"""What tests of ledgers share: a file for one, and programs of their own."""

import subprocess
import sys

import pytest


@pytest.fixture
def path(tmp_path):
    """Where a ledger may be made."""
    return tmp_path / "budget.ledger"


@pytest.fixture
def script():
    """Run a program that has everything of dplearn.privacy, and return its lines."""

    def run(source, *arguments):
        head = "import os, sys, time\nfrom pathlib import Path\nfrom dplearn.privacy import *\n"
        command = [sys.executable, "-c", head + source, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run
