"""What cards say: words and numbers of a guarantee, settings, evidence; templates that keep values text."""

import json
import math
import re
from fractions import Fraction
from functools import partial
from importlib import resources
from string import Formatter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import dplearn
from dplearn import (
    ApproxDP,
    PointClassifier,
    PrivacyLedger,
    SecretSampleClassifier,
    ZeroConcentratedDP,
    mechanisms,
    model_selection,
    preprocessing,
    queries,
    releases,
    theory,
)
from dplearn.audit.cases import CASES
from dplearn.audit.cases.__main__ import verified_by
from dplearn.display import PrivacyCard
from dplearn.display.card import filled_html, filled_text
from dplearn.display.described import (
    Evidence,
    Table,
    beliefs,
    checks_of,
    evidence_of,
    figures,
    greatest_belief,
    greatest_factor,
    in_groups,
    in_words,
    recorded_evidence,
    settings_of,
    warnings_of,
)
from dplearn.domains import Bits, IntegerRange, Schema
from dplearn.releases import cdf, stable_counts
from dplearn.releases.release import Released
from tests.display.test_card import Outline

MEAN = "<script>alert(1)</script> & \"quotes\" 'x' </style><b>\n\x1b[31m\u202e"
CSS, HTML, TEXT = (
    resources.files("dplearn.display").joinpath(f"card.{kind}").read_text(encoding="utf-8")
    for kind in ("css", "html", "txt")
)

# the guarantee

MASSES = st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any)


def said(guarantee):
    alerts = [text for alert in warnings_of(guarantee) for text in alert]
    table = beliefs(guarantee)
    return " ".join(
        [*alerts, *in_words(guarantee), table.caption, *(cell for row in table.rows for cell in row)]
    )


def believed(approx, prior):
    text = greatest_belief(approx, prior)
    return 1.0 if text == "no limit" else float(text.removesuffix(" %")) / 100


@given(st.data(), st.sampled_from([Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]))
def test_no_belief_exceeds_the_stated_bound_except_with_probability_two_delta(data, prior):
    size = len(first := data.draw(MASSES))
    second = data.draw(st.lists(st.integers(1, 50), min_size=size, max_size=size))
    true, other = np.array(first) / sum(first), np.array(second) / sum(second)
    epsilon = data.draw(st.sampled_from([0.1, 1, 3]))
    delta = np.maximum(true - math.exp(epsilon) * other, 0).sum()
    delta = 0 if delta < 1e-12 else min(Fraction(float(delta)) + Fraction(1, 10**9), Fraction(999, 1000))
    after = float(prior) * true / (float(prior) * true + float(1 - prior) * other)
    beyond = after > believed(ApproxDP(epsilon, delta), prior) + 1e-12
    assert true[beyond].sum() <= 2 * float(delta) + 1e-12


@given(st.integers(0, 1900))
def test_factors_are_rounded_up_and_randomised_response_attains_the_stated_belief(hundredths):
    text = greatest_factor(ApproxDP(Fraction(hundredths, 100))).rpartition("= ")[2].replace(",", "")
    exact = math.exp(hundredths / 100)
    assert exact * (1 - 1e-12) <= float(text) <= exact * 1.01
    # It tells the truth with odds exp(1): a belief of 1/2 becomes exp(1) / (1 + exp(1)) = 0.73106.
    assert greatest_belief(ApproxDP(1), Fraction(1, 2)) == "73.2 %"
    assert greatest_belief(ApproxDP(0), Fraction(1, 10)) == "10 %"


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (ApproxDP(1, protects="labels"), "the label of any one record"),
        (ApproxDP(1), "all values in any one record"),
        (ApproxDP(1, neighbors="add_remove"), "the presence of any one record in the table"),
        (ApproxDP(1, 1e-6), "one in 500,000"),
        (ApproxDP(1, reproducible=True), "Not for release."),
        (ApproxDP(11), "worth very little"),
        (ApproxDP(10**9), "no limit"),
        (ZeroConcentratedDP("0.005"), "epsilon = 0.429941"),
    ],
)
def test_what_is_said_of_a_guarantee(guarantee, words):
    assert words in said(guarantee).replace("\n", " ")
    assert "delta" not in said(ApproxDP(1))
    assert warnings_of(ApproxDP(10)) == []
    assert figures(ZeroConcentratedDP("0.005"))[0] == ("rho", "0.005")


@pytest.mark.parametrize(
    ("guarantee", "rows"),
    [
        (ApproxDP(1), "1 1 0 23.2 %, 2 2 0 45.1 %, 5 5 0 94.3 %, 10 10 0 no limit"),
        (
            ApproxDP(2, 1e-3),
            f"1 2 0.001 62.2 %, 2 4 0.00838906 92.4 %, 5{3 * ' no limit'}, 10{3 * ' no limit'}",
        ),
        (ZeroConcentratedDP(0.1), "1 0.1 65.5 %, 2 0.4 95.7 %, 5 2.5 no limit, 10 10 no limit"),
    ],
)
def test_the_table_of_groups_states_the_guarantee_for_groups(guarantee, rows):
    assert ", ".join(" ".join(row) for row in in_groups(guarantee).rows) == rows


# settings


def test_seeds_are_not_shown_however_deep_they_are():
    inner = PointClassifier(epsilon=0.25, random_state=918273, ledger=PrivacyLedger(3))
    found = settings_of(make_pipeline(SecretSampleClassifier(inner, sample_size=9, random_state=918273)))
    for hidden in ("random_state", "ledger"):
        assert found[f"secretsampleclassifier__estimator__{hidden}"] == "set (not shown)"
    assert found["secretsampleclassifier__estimator__epsilon"] == "0.25"
    assert "918273" not in str(found)


@pytest.mark.parametrize(
    "value",
    [
        {"random_state": 918273},
        {"inner__random_state": 918273, "ledger": "account"},
        [{"random_state": 918273}],
        partial(max, random_state=918273),
        partial(max, ledger=PrivacyLedger(1, path=None), random_state=918273),
        *(np.arange(1000.0) + 0.125, [np.arange(3) + 0.125], {"a": np.arange(9) + 0.125}),
        *(object(), lambda x: x, np.random.RandomState(0), PrivacyLedger(0.125)),
        LogisticRegression(random_state=918273),
    ],
    ids=range(13),
)
def test_no_seed_ledger_entry_of_an_array_or_address_in_memory_within_a_value_is_shown(value):
    text = settings_of(FunctionTransformer(kw_args={"value": value}))["kw_args"]
    assert not any(hidden in text for hidden in ("918273", "account", "epsilon", "0x", ".125"))


def test_a_long_value_is_short():
    words = [f"word number {place}" for place in range(2_000)]
    for value, said_of_it in (
        (words, "2,000 in all"),
        (dict.fromkeys(words, 1), "2,000 in all"),
        (Schema({word: Bits() for word in words[:14]}, labels=words), "Schema(14 columns, labels=2000)"),
        ("x" * 10**4, "..."),
    ):
        text = settings_of(FunctionTransformer(kw_args={"a": value}))["kw_args"]
        assert said_of_it in text
        assert len(text) < 250


def test_a_seed_is_hidden_before_a_long_value_is_cut():
    for place in range(50, 250):
        value = type("Odd", (), {"__repr__": lambda _, n=place: f"Odd({'x' * n}, random_state=918273)"})()
        text = settings_of(FunctionTransformer(kw_args={"a": value}))["kw_args"]
        assert not any(part in text for part in ("9182", "1827", "8273"))


def test_steps_are_listed_once_by_name_and_releases_show_what_their_plan_takes_as_public():
    found = settings_of(make_pipeline(StandardScaler(), LogisticRegression(C=3.0)))
    assert found["logisticregression"] == "LogisticRegression"
    assert found["logisticregression__C"] == "3.0"
    assert "steps" not in found
    found = settings_of(cdf(np.arange(500) % 10, epsilon=0.5, domain=IntegerRange(0, 9), random_state=1))
    public = {"alpha": "0.05", "beta": "0.05", "method": "'tree'", "n_samples": "500"}
    assert found | {"domain": ""} == public | {"domain": ""}
    assert settings_of(stable_counts(["a"] * 500, delta=1e-6))["threshold"] == "28"


# templates


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


def test_both_templates_of_the_card_have_the_same_fields_and_headings_and_escape_all_but_the_style():
    assert fields(HTML).keys() == fields(TEXT).keys()
    tables = [{name for name, kind in fields(each).items() if kind == "tables"} for each in (HTML, TEXT)]
    assert tables[0] == tables[1]
    assert re.findall(r"\{(\w+):verbatim\}", HTML) == ["style"]
    headings, rules = re.findall(r"<h2>(.*)</h2>", HTML), re.findall(r"^-+$", TEXT, re.MULTILINE)
    assert headings == re.findall(r"^(.*)\n-+$", TEXT, re.MULTILINE)
    assert [len(line) for line in headings] == [len(line) for line in rules]


def test_no_text_opens_an_element_and_all_text_is_kept():
    mean, tame = Outline(full(MEAN).html), Outline(full("tame").html)
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


def test_a_part_without_any_value_is_omitted_with_its_heading_and_unknown_kinds_are_errors():
    template = "A\n{one:- %s}\n\nB\n{two:tables}{three:%s}\n\nend"
    for filled in (filled_html, filled_text):
        assert filled(template, {"one": [], "three": ["x"]}) == "B\nx\n\nend"
        assert filled(template, {}) == "end"
        with pytest.raises(TypeError):
            filled("{a:paragraphs}", {"a": ["x"]})


def test_the_page_needs_no_network_runs_no_script_and_is_marked_for_screen_readers():
    page = Outline(full("x").html)
    tags = [tag for tag, _ in page.seen]
    assert not {"script", "link", "img", "iframe", "object"} & set(tags)
    assert not any({"src", "href", "style", "onclick"} & attrs.keys() for _, attrs in page.seen)
    assert not re.search(r"url\(|@import", CSS)
    assert page.seen[0] == ("html", {"lang": "en"})
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    assert tags.index("h1") < tags.index("h2")
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in page.seen if tag == "th")
    assert all(attrs["aria-label"] for tag, attrs in page.seen if tag == "table" or "tabindex" in attrs)


def test_a_notebook_shows_the_article_of_the_page():
    card = full("</article> x")
    shown = Outline(card._repr_html_())
    assert shown.seen[0][0] == "article"
    assert "title" not in [tag for tag, _ in shown.seen]
    assert [tag for tag, _ in shown.seen] == [tag for tag, _ in Outline(card.html).seen][-len(shown.seen) :]
    assert card._repr_html_() in card.html


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_text_has_enough_contrast(scheme):
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", CSS.split("@media")[0]))
    part = {"dark": "color-scheme: dark", "print": "media print"}.get(scheme)
    if part:
        colours |= dict(re.findall(r"--([\w-]+): (#\w{6})", CSS.split(part)[1].split("@media")[0]))
    pairs = [(ink, paper) for ink in ("ink", "soft") for paper in ("paper", "band")]
    for pair in [*pairs, ("mark", "paper"), ("alert-ink", "alert-paper")]:
        light, dark = sorted((luminance(colours[name]) for name in pair), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, AA


def luminance(colour):
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


# evidence: every private class has audit cases, and every audit case belongs to a class

EVIDENCE = recorded_evidence()


def test_the_file_says_what_the_cases_say():
    path = resources.files("dplearn") / "audit" / "verified.json"
    # After a change of cases, `python -m dplearn.audit.cases --verified` writes it again.
    assert path.read_text() == json.dumps(verified_by(CASES), indent=1) + "\n"


PROGRAM = """
import sys
from dplearn import ExponentialMechanismClassifier
from dplearn.display import privacy_card
model = ExponentialMechanismClassifier(classes=[0, 1]).fit([[0], [1]] * 50, [0, 1] * 50)
assert "neighbouring pairs" in privacy_card(model).html
assert not [name for name in sys.modules if name.startswith("dplearn.audit.cases")]
"""


def test_a_card_imports_no_case(program):
    program(PROGRAM).check_returncode()


def is_private(kind):
    has_guarantee = "guarantee" in getattr(kind, "__dataclass_fields__", {})
    return isinstance(kind, type) and (hasattr(kind, "fit") or issubclass(kind, Released) or has_guarantee)


def test_every_public_class_with_a_guarantee_has_evidence_and_every_case_a_class():
    packages = (dplearn, model_selection, preprocessing, releases)
    public = {name for each in packages for name in each.__all__ if is_private(getattr(each, name))}
    # A plan guarantees what a fit would, and is none.
    assert {name for name in public if not name.endswith("Plan")} <= EVIDENCE.keys()
    packages += (mechanisms, queries, theory)
    assert EVIDENCE.keys() <= {name for each in packages for name in each.__all__}
    for case in CASES.values():
        assert case.verifies or case.part_of, case.name
        assert not {*case.verifies} & {*case.part_of}, case.name
    assert all(each.cases or each.note for each in EVIDENCE.values())
    assert evidence_of("StandardScaler") is None


def test_the_cases_of_a_class_are_listed_without_the_small_ones_that_stand_for_them():
    transfer = ("added_transfer", "transfer", "transfer_of_groups")
    assert evidence_of("KnowledgeTransferClassifier").cases == transfer
    assert evidence_of("SecretSampleClassifier").whole
    assert not evidence_of("PrivateRobustScaler").whole


def test_recorded_figures_equal_those_of_a_run_and_none_exceeds_its_claim():
    name = "local_naive_bayes_of_two_columns"
    report, [check] = CASES[name].run(), checks_of(Evidence((name,)))
    assert (check.n_datasets, check.n_pairs) == (report.n_datasets, report.n_pairs)
    assert float(check.exact) == pytest.approx(report.epsilon, abs=1e-6)
    for each in EVIDENCE.values():
        assert all(float(check.exact) <= check.claimed for check in checks_of(each))
