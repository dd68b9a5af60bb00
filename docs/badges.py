"""Draw the badges of the README from pyproject.toml: they are true without a service on the network.

    python docs/badges.py

Writes docs/pictures/badges.svg: the versions of Python, the licence, and that the package has types.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs/pictures/badges.svg"
PYTHON, TYPED = "Programming Language :: Python :: 3.", "Typing :: Typed"
WIDTH, HEIGHT, GAP = 6.6, 20, 6  # of a character, of a badge, and between two
LEFT, RIGHT = "#555", "#2b6a99"


def badges() -> list[tuple[str, str]]:
    """Return the two halves of each badge."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    minors = sorted(
        int(line.removeprefix(PYTHON)) for line in project["classifiers"] if line.startswith(PYTHON)
    )
    found = [("Python", " | ".join(f"3.{minor}" for minor in minors)), ("licence", project["license"])]
    if TYPED in project["classifiers"] and (ROOT / "dplearn/py.typed").is_file():
        found.append(("types", "mypy, pyright"))
    return found


def svg() -> str:
    """Return the picture."""
    x, parts, spoken = 0.0, [], []
    for left, right in badges():
        widths = [len(text) * WIDTH + 12 for text in (left, right)]
        for text, width, colour in zip((left, right), widths, (LEFT, RIGHT), strict=True):
            parts.append(
                f'<rect x="{x:g}" width="{width:g}" height="{HEIGHT}" fill="{colour}"/>'
                f'<text x="{x + width / 2:g}" y="14">{text}</text>'
            )
            x = round(x + width, 1)
        x = round(x + GAP, 1)
        spoken.append(f"{left}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{x - GAP:g}" height="{HEIGHT}" role="img">'
        f"<title>{'; '.join(spoken)}</title>\n"
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">\n'
        + "\n".join(parts)
        + "\n</g></svg>\n"
    )


if __name__ == "__main__":
    TARGET.write_text(svg(), encoding="utf-8")
