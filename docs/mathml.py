"""Formulas as MathML: browsers show it without a script, a font or a network."""

import re
from functools import cache
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

#: What latex2mathml does not know, and GitHub does, in terms of what both know.
WORDS = {r"\operatorname*": r"\operatorname", r"\lVert": r"\|", r"\rVert": r"\|"}
#: A bar stands at the side that its command says: between two terms it would stand apart from both.
BAR = re.compile(r"<mo[^>]*>(&#x0007C;|&#x02016;)</mo>")
SIDES = {"l": "prefix", "r": "postfix"}
#: A command that was not understood is left in the result as it was written.
LEFT = re.compile(r"\\[A-Za-z]+|<mi>&</mi>")
#: Names of functions are no operators, which would stand apart from their arguments.
UPRIGHT = re.compile(r"<mo[^>]*>([A-Za-z]+)</mo>")
#: A name of several letters, with what stands below it, stands apart from an argument without parentheses.
BELOW = r"(?:<mi>[^<]*</mi>|<mn>[^<]*</mn>|<mrow>(?:(?!</?mrow>).)*</mrow>)"
APART = re.compile(
    rf"((?<!<msub>)(?<!<msup>)(?<!<munder>)<mi>[A-Za-z]{{2,}}</mi>"
    rf"|<m(sub|under)><mi>[A-Za-z]{{2,}}</mi>{BELOW}</m\2>)(?=<m(?:i|n|sub|sup|row|sqrt|frac|text)\b)"
)
#: A minus after a sign or an opening parenthesis is a sign itself, without space around it.
SIGN = re.compile(
    r"(<mo[^>]*>(?:&#x00028;|\[|&#x0003D;|&#x0002C;|&#x02264;|&#x02265;)</mo>)<mo>&#x02212;</mo>"
)
#: Commas between thousands are part of a number.
THOUSANDS = re.compile(r"(\d),(\d{3})(?!\d)")
COMMA = "</mn><mrow><mo>&#x0002C;</mo></mrow><mn>"


@cache
def mathml(formula: str, display: str) -> str:
    """Return a formula in LaTeX as MathML.

    Parameters
    ----------
    formula : str
        LaTeX, without dollars.
    display : {"inline", "block"}
        Whether it stands in a line or by itself.

    Raises
    ------
    ValueError
        If a part of the formula is not understood.
    """
    sides = iter(re.findall(r"\\([lr])[vV]ert", formula))
    formula = THOUSANDS.sub(r"\1{,}\2", formula)
    for word, other in WORDS.items():
        formula = formula.replace(word, other)
    try:
        found = convert(formula, display=display)
    except Exception as error:
        raise ValueError(f"formula {formula!r} is no LaTeX that latex2mathml reads: {error!r}") from error
    if left := LEFT.findall(found):
        raise ValueError(
            f"formula {formula!r} has commands that latex2mathml does not know: {', '.join(left)}"
        )
    found = BAR.sub(
        lambda bar: f'<mo form="{SIDES.get(next(sides, ""), "infix")}" stretchy="false">{bar[1]}</mo>', found
    )
    found = UPRIGHT.sub(r"<mi>\1</mi>", found.replace(COMMA, ","))
    found = SIGN.sub(r'\1<mo form="prefix">&#x02212;</mo>', found)
    found = found.replace("<mo>&#x0002F;</mo>", '<mo lspace="0" rspace="0">&#x0002F;</mo>')
    return APART.sub(r'\1<mspace width="0.17em"/>', found)


def show_inline(writer: Any, node: nodes.math) -> None:
    """Write a formula of a line."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def show_block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula by itself, which scrolls if it is wider than the page."""
    writer.body.append(writer.starttag(node, "div", CLASS="math", tabindex="0"))
    writer.body.append(mathml(node.astext(), "block"))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Add the renderer; `html_math_renderer` chooses it."""
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
