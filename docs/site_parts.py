"""What comments in the pages stand for, filled in by the build."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import reference

ROOT = Path(__file__).parents[1]
CONTENTS = re.compile(r"^<!-- contents -->$", re.MULTILINE)
CHANGES = re.compile(r"^<!-- changes -->$", re.MULTILINE)
FIGURE = re.compile(r"^<!-- figure: (measured/)?plot_(\w+) (\d+): (.*) -->$", re.MULTILINE)
NAME = re.compile(r"^```.*?^```|(?<!\[)`([A-Z]\w+)`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([\w/.]+\.(?:md|py|rst))(?:#[\w-]+)?\)")


def fill_in(_app: Any, name: str, source: list[str]) -> None:
    """Replace the comments of a page, and point its links at the built gallery."""
    if name.startswith("_gallery"):
        return
    text = source[0]
    text = re.sub(r"\]\(((?:\.\./)*)gallery/((?:measured/)?plot_\w+)\.py\)", r"](\1_gallery/\2.rst)", text)
    text = re.sub(r"\]\(((?:\.\./)*)gallery/README\.rst\)", r"](\1_gallery/index.rst)", text)
    text = NAME.sub(_linked, text)
    text = CONTENTS.sub(lambda _: contents(text), text)
    text = CHANGES.sub(lambda _: changes(), text)
    text = reference.MARK.sub(lambda found: f"```{{eval-rst}}\n{reference.as_rst(found[1])}\n```", text)
    source[0] = FIGURE.sub(r"![\4](/_gallery/\1images/sphx_glr_plot_\2_00\3.png)", text)


def contents(text: str) -> str:
    """Return a hidden table of contents of the pages here and below that the text links to, in its order."""
    pages = dict.fromkeys(re.sub(r"\.\w+$", "", link) for link in LINK.findall(text) if link[0] != ".")
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])


def _linked(found: re.Match[str]) -> str:
    """Return a class's name as a link to its reference, and blocks of code as they are."""
    home = next((names[found[1]] for names in reference.homes().values() if found[1] in names), None)
    return f"{{py:obj}}`{found[1]} <{home}.{found[1]}>`" if home else found[0]


def changes() -> str:
    """Return the changes since the last release, as towncrier would write them."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "Not yet released"]
    draft = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603
    return draft[draft.index("## ") :].replace("](../", "](")  # fragments lie one folder below


def check_reference(_app: Any, env: Any) -> None:
    """Warn of each public name that the reference leaves out."""
    from sphinx.util.logging import getLogger

    known = env.domains["py"].objects
    for package, names in reference.homes().items():
        for name, home in names.items():
            if f"{home}.{name}" not in known:
                getLogger(__name__).warning("%s.%s is not in the reference", package, name)
