"""What comments in the pages stand for, filled in by the build."""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import computed_tables
import reference

ROOT = Path(__file__).parents[1]
CONTENTS = re.compile(r"^<!-- contents -->$", re.MULTILINE)
NAMED_CONTENTS = re.compile(r"((?:^(?:- |  ).*\n)+)\n?<!-- contents, named as here -->$", re.MULTILINE)
CARDS = re.compile(r"^<!-- cards -->\n+((?:(?:- |  ).*\n)+)", re.MULTILINE)
SEARCH = re.compile(r"^<!-- search -->$", re.MULTILINE)
FIELD = """```{raw} html
<form class="search-field" action="search.html" method="get" role="search">
<input type="search" name="q" placeholder="Search these pages" aria-label="Search these pages">
<button type="submit">Search</button>
</form>
```"""
CHANGES = re.compile(r"^<!-- changes -->$", re.MULTILINE)
FIGURE = re.compile(r"^<!-- figure: (measured/)?plot_(\w+) (\d+): (.*) -->$", re.MULTILINE)
NAME = re.compile(r"^```.*?^```|(?<!\[)`([A-Z]\w+)`", re.DOTALL | re.MULTILINE)
NO_PAGES = ("changelog.d", "changelog.md")  # the page of changes shows them
LINK = re.compile(r"\]\(([\w/.]+\.(?:md|py|rst))(?:#[\w-]+)?\)")


def fill_in(_app: Any, name: str, source: list[str]) -> None:
    """Replace the comments of a page, and point its links at the built gallery."""
    if name.startswith(("_gallery", "_notebooks")):
        return
    text = computed_tables.TABLES.written(source[0])
    text = re.sub(r"\]\(((?:\.\./)*)gallery/((?:measured/)?plot_\w+)\.py\)", r"](\1_gallery/\2.rst)", text)
    text = re.sub(r"\]\(((?:\.\./)*)(gallery|notebooks)/README\.rst\)", r"](\1_\2/index.rst)", text)
    text = re.sub(r"\]\(((?:\.\./)*)notebooks/(\d_\w+)\.py\)", r"](\1_notebooks/\2.rst)", text)
    text = NAME.sub(_linked, text)
    text = NAMED_CONTENTS.sub(lambda found: f"{found[1]}\n{named_contents(found[1])}", text)
    text = CONTENTS.sub(lambda _: contents(text), text)
    text = CARDS.sub(lambda found: "{.cards}\n" + cards(found[1]), text)
    text = SEARCH.sub(FIELD, text)
    text = CHANGES.sub(lambda _: changes(), text)
    text = reference.MARK.sub(lambda found: f"```{{eval-rst}}\n{reference.as_rst(found[1])}\n```", text)
    source[0] = FIGURE.sub(r"![\4](/_gallery/\1images/sphx_glr_plot_\2_00\3.png)", text)


def contents(text: str) -> str:
    """Return hidden tables of contents of the pages here and below that lists of a text link to.

    Each heading that has such a list gets a table of its own, with its name. A page is in the first list that
    has it. What stands above the first list, where a page says what to read next, does not count.
    """
    known: set[str] = set()
    tables = []
    parts = ["", *re.split(r"^##+ (.*)$", text, flags=re.MULTILINE)]
    for heading, part in zip(parts[::2], parts[1::2], strict=True):
        lists = part[start:] if (start := part.find("\n- ")) >= 0 else ""
        pages = dict.fromkeys(re.sub(r"\.\w+$", "", link) for link in LINK.findall(lists) if link[0] != ".")
        new = [page for page in pages if page not in known]
        known.update(new)
        caption = [f":caption: {heading}"] if heading else []
        if new:
            tables.append("\n".join(["```{toctree}", ":hidden:", *caption, "", *new, "```"]))
    return "\n\n".join(tables)


def named_contents(text: str) -> str:
    """Return a hidden table of contents of the links of a list, each under the text of its link."""
    found = re.findall(r"^- \**\[([^]]+)\]\(([\w/.]+)\.\w+\)", text, re.MULTILINE)
    return "\n".join(["```{toctree}", ":hidden:", "", *(f"{name} <{page}>" for name, page in found), "```"])


def cards(text: str) -> str:
    """Return a list of links, each with a colon and a text, as a list of titles and sentences."""
    return re.sub(
        r"^(- \[.*?\]\(.*?\)): (\w)", lambda found: f"{found[1]} {found[2].upper()}", text, flags=re.MULTILINE
    )


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
    known = env.domains["py"].objects
    for package, names in reference.homes().items():
        for name, home in names.items():
            if f"{home}.{name}" not in known:
                _warn(f"{package}.{name} is not in the reference")


def check_pages(app: Any, env: Any) -> None:
    """Warn of each page that the site would lose, or that no reader of the site would find."""
    for message in lost_pages(Path(app.srcdir), env.found_docs, app.config.root_doc, env.toctree_includes):
        _warn(message)


def check_name(app: Any, page: str, _template: str, _context: Any, doctree: Any) -> None:
    """Warn if a page that Sphinx writes without a source, such as search.html, replaces one of ours."""
    if doctree is None and page.lower() in {name.lower() for name in app.env.found_docs}:
        _warn(
            f"{page}.html is written by Sphinx itself and replaces the page of the same name: rename the page"
        )


def lost_pages(
    folder: Path, pages: Iterable[str], root: str, toctrees: Mapping[str, Iterable[str]]
) -> Iterator[str]:
    """Yield what is wrong with the set of pages.

    Parameters
    ----------
    folder : Path
        Where the sources are.
    pages : iterable of str
        The pages that Sphinx builds, without suffix.
    root : str
        The page from which all others must be reached.
    toctrees : mapping of str to iterable of str
        The pages in the tables of contents of each page.
    """
    known, same = set(pages), defaultdict(list)
    for page in sorted(known):
        same[page.lower()].append(page)
    for names in same.values():
        if len(names) > 1:
            yield f"{', '.join(names)} are one file where names ignore case"
    for page in sorted(known - reached(root, toctrees)):
        yield f"{page} is in no table of contents that leads back to {root}"
    for source in sorted(folder.rglob("*.md")):
        name = source.relative_to(folder)
        if name.parts[0] not in NO_PAGES and name.with_suffix("").as_posix() not in known:
            yield f"{name} is not built: exclude_patterns in conf.py leaves it out"


def reached(root: str, toctrees: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the pages that tables of contents lead to from `root`, itself included."""
    found, ahead = {root}, [root]
    while ahead:
        following = set(toctrees.get(ahead.pop(), ())) - found
        found |= following
        ahead += following
    return found


def _warn(message: str) -> None:
    """Log a warning, which -W makes an error."""
    from sphinx.util.logging import getLogger

    getLogger(__name__).warning(message)
