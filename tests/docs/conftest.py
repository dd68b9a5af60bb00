"""The scripts of the pages are modules: they import each other by name, as where they are run."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "docs"))
