"""Templates: every value stays text, empty parts are omitted, and the page of a card needs no other file."""

import re
from html.parser import HTMLParser
from importlib import resources
from string import Formatter

import pytest

from dplearn.display.card import PrivacyCard, filled_html, filled_text
from dplearn.display.described import Table

VOID = {"meta", "br", "hr", "link", "img", "input"}
MEAN = "<script>alert(1)</script> & \"quotes\" 'x' </style><b>\n\x1b[31m\u202e"
CSS, HTML, TEXT = (
    resources.files("dplearn.display").joinpath(f"card.{kind}").read_text(encoding="utf-8")
    for kind in ("css", "html", "txt")
)


class Outline(HTMLParser):
    """Lists the elements and the text; fails if elements do not nest."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def outline(html):
    found = Outline()
    found.feed(html)
    found.close()
    assert found.open == []
    return found


def fields(template):
    """Return the kinds of the fields of a template by name."""
    found = [(name, kind) for _, name, kind, _ in Formatter().parse(template) if name is not None]
    return {name: kind for name, kind in found if kind not in ("underline", "verbatim")}


def full(text):
    """Return a card whose every value is `text`."""
    tables = [Table(text, (text, text), [(text, text)]), Table("of three", tuple("abc"), [("1", text, "3")])]
    values = {
        name: text if not kind else tables if kind == "tables" else [(text,) * kind.count("%s")] * 2
        for name, kind in fields(HTML).items()
    }
    return PrivacyCard(values, None)


def test_both_templates_of_the_card_have_the_same_fields():
    assert fields(HTML).keys() == fields(TEXT).keys()
    assert {name for name, kind in fields(HTML).items() if kind == "tables"} == {
        name for name, kind in fields(TEXT).items() if kind == "tables"
    }


def test_only_the_style_sheet_is_not_escaped():
    assert re.findall(r"\{(\w+):verbatim\}", HTML) == ["style"]


def test_both_templates_of_the_card_have_the_same_headings():
    headings = re.findall(r"<h2>(.*)</h2>", HTML)
    assert headings == re.findall(r"^(.*)\n-+$", TEXT, re.MULTILINE)
    assert [len(line) for line in headings] == [len(line) for line in re.findall(r"^-+$", TEXT, re.MULTILINE)]


def test_no_text_opens_an_element_and_all_text_is_kept():
    mean, tame = outline(full(MEAN).html), outline(full("tame").html)
    assert [tag for tag, _ in mean.seen] == [tag for tag, _ in tame.seen]
    assert mean.text.count("<script>alert(1)</script>") == tame.text.count("tame")
    assert "\x1b" not in full(MEAN).html
    assert "\u202e" not in full(MEAN).html + str(full(MEAN))


def test_no_text_passes_for_another_line_or_field():
    lines = str(full("x\n- epsilon: 0\n\nGuarantee")).splitlines()
    assert "- epsilon: 0" not in lines
    assert lines.count("Guarantee") == 1
    assert "{title} %s {0}" in filled_text("{a:- %s}", {"a": ["{title} %s {0}"]})
    assert "{title} %s {0}" in filled_html("{a:<p>%s</p>}", {"a": ["{title} %s {0}"]})


@pytest.mark.parametrize("filled", [filled_html, filled_text], ids=["html", "text"])
def test_a_part_without_any_value_is_omitted_with_its_heading(filled):
    template = "A\n{one:- %s}\n\nB\n{two:tables}{three:%s}\n\nend"
    assert filled(template, {"one": [], "three": ["x"]}) == "B\nx\n\nend"
    assert filled(template, {}) == "end"


def test_a_kind_of_field_that_does_not_exist_is_an_error():
    for filled in (filled_html, filled_text):
        with pytest.raises(TypeError):
            filled("{a:paragraphs}", {"a": ["x"]})


def test_the_page_needs_no_network_and_runs_no_script():
    page = outline(full("x").html)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in page.seen}
    assert not any({"src", "href", "style", "onclick"} & attrs.keys() for _, attrs in page.seen)
    assert "url(" not in CSS
    assert "@import" not in CSS


def test_headings_tables_and_language_are_marked_for_screen_readers():
    page = outline(full("x").html)
    tags = [tag for tag, _ in page.seen]
    assert page.seen[0] == ("html", {"lang": "en"})
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    assert tags.index("h1") < tags.index("h2")
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in page.seen if tag == "th")
    assert all(attrs["aria-label"] for tag, attrs in page.seen if tag in ("table",) or "tabindex" in attrs)


def test_a_notebook_shows_the_article_of_the_page():
    card = full("</article> x")
    shown = outline(card._repr_html_())
    assert shown.seen[0][0] == "article"
    assert "title" not in [tag for tag, _ in shown.seen]
    assert [tag for tag, _ in shown.seen] == [tag for tag, _ in outline(card.html).seen][-len(shown.seen) :]
    assert card._repr_html_() in card.html


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
@pytest.mark.parametrize(
    "pair",
    [
        ("ink", "paper"),
        ("ink", "band"),
        ("soft", "paper"),
        ("soft", "band"),
        ("mark", "paper"),
        ("alert-ink", "alert-paper"),
    ],
    ids=" on ".join,
)
def test_text_has_enough_contrast(scheme, pair):
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", CSS.split("@media")[0]))
    part = {"dark": "color-scheme: dark", "print": "media print"}.get(scheme)
    if part:
        colours |= dict(re.findall(r"--([\w-]+): (#\w{6})", CSS.split(part)[1].split("@media")[0]))
    light, dark = sorted((luminance(colours[name]) for name in pair), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, AA


def luminance(colour):
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_names_of_settings_keep_their_width_beside_long_values():
    page = filled_html("{a:tables}", {"a": [Table("c", ("setting", "value"), [("domain", "x" * 500)])]})
    assert '<table class="pairs"' in page
    assert ".pairs { table-layout: fixed; }" in CSS
    assert ".pairs th:first-child { width: 36%; }" in CSS
