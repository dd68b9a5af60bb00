"""The scripts of the pages are modules: they import each other by name, as where they are run."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "docs"), str(ROOT / "benchmarks" / "tables")]
