"""Documents: whatever is said stays text, and the page stands alone."""

import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from dplearn.display.document import Alert, Document, Figure, Items, Paragraph, Section, Table

VOID = {"meta", "br", "hr", "link", "img", "input"}
MEAN = "<script>alert(1)</script> & \"quotes\" 'x' </style><b>\n\x1b[31m\u202e"
CSS = resources.files("dplearn.display").joinpath("card.css").read_text(encoding="utf-8")


class Outline(HTMLParser):
    """Which elements there are; fails where they do not nest."""

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


def full(text):
    blocks = (
        Paragraph(text),
        Alert(text, text),
        Figure(((text, text),)),
        Items((text, (text, text))),
        Table(text, (text, text), ((text, text),)),
        Table("of three", ("a", "b", "c"), (("1", text, "3"),)),
    )
    return Document(text, (Section("", blocks), Section(text, blocks)))


def test_whatever_a_text_holds_it_opens_no_element_and_is_all_there():
    mean, tame = outline(full(MEAN).as_html()), outline(full("tame").as_html())
    assert [tag for tag, _ in mean.seen] == [tag for tag, _ in tame.seen]
    assert "<script>alert(1)</script>" in mean.text
    assert "\x1b" not in full(MEAN).as_html()
    assert "\u202e" not in full(MEAN).as_html() + full(MEAN).as_text()


def test_no_text_passes_for_a_line_of_its_own():
    assert "epsilon: 0" not in full("x\nepsilon: 0").as_text().splitlines()


def test_the_page_needs_no_network_and_runs_no_script():
    page = outline(full("x").as_html())
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in page.seen}
    assert not any({"src", "href", "style", "onclick"} & attrs.keys() for _, attrs in page.seen)
    assert "url(" not in CSS
    assert "@import" not in CSS


def test_headings_tables_and_language_tell_a_screen_reader_what_they_are():
    page = outline(full("x").as_html())
    tags = [tag for tag, _ in page.seen]
    assert page.seen[0] == ("html", {"lang": "en"})
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    assert tags.index("h1") < tags.index("h2")
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in page.seen if tag == "th")
    assert all(attrs["aria-label"] for tag, attrs in page.seen if tag in ("table",) or "tabindex" in attrs)


def test_a_fragment_is_balanced_and_is_the_body_of_the_page():
    document = full("x")
    outline(document.as_fragment())
    assert document.as_fragment() in document.as_html()


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
def test_text_stands_out_from_its_ground(scheme, pair):
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
    table = Table("c", ("setting", "value"), (("domain", "x" * 500),))
    page = Document("T", (Section("", (table,)),)).as_html()
    assert '<table class="pairs"' in page
    assert ".pairs { table-layout: fixed; }" in page
    assert ".pairs th:first-child { width: 36%; }" in page
