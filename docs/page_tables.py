"""Places in the pages that scripts fill in, and tables in Markdown.

A page holds `<!-- WORD: NAME -->`, the text of that name, and `<!-- end -->`; the text between these two
comments is replaced by what the function NAME of the script for WORD returns.

>>> marked = Marked("computed", [lambda: "new"])
>>> list(marked.texts)
['<lambda>']
>>> print(markdown_table(["count", "epsilon"], [["all", "1"]]))
| count | epsilon |
| --- | --: |
| all | 1 |
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

DOCS = Path(__file__).parent


class Marked:
    """The texts of one script, by name.

    Attributes
    ----------
    texts : dict of str to callable
        Each returns the text of its name.
    """

    def __init__(self, word: str, texts: Iterable[Callable[[], str]]):
        self.texts = {each.__name__: each for each in texts}
        self._places = re.compile(rf"(<!-- {word}: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

    def names(self, text: str) -> list[str]:
        """Return the names of the texts that a page holds."""
        return [name for _, name, _ in self._places.findall(text)]

    def written(self, text: str) -> str:
        """Return a page with its texts as they are now."""
        return self._places.sub(lambda found: f"{found[1]}{self.texts[found[2]]()}\n{found[3]}", text)

    def pages(self) -> list[Path]:
        """Return the pages that hold such texts."""
        pages = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
        return [page for page in pages if self.names(page.read_text(encoding="utf-8"))]

    def write(self) -> None:
        """Write the texts into all pages."""
        for page in self.pages():
            page.write_text(self.written(page.read_text(encoding="utf-8")), encoding="utf-8")


def markdown_table(head: list[str], body: list[list[str]], texts: int = 1) -> str:
    """Return a table in Markdown, all columns flush right but the first ones, which hold text."""
    rule = ["---"] * texts + ["--:"] * (len(head) - texts)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))
