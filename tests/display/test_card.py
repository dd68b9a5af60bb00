"""The privacy card states the guarantee and contains nothing of the data."""

import datetime
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, PolynomialFeatures, StandardScaler

import dplearn
from dplearn import (
    ApproxDP,
    ExponentialMechanismClassifier,
    PrivacyLedger,
    ThresholdClassifier,
    mechanisms,
    queries,
)
from dplearn.display import privacy_card
from dplearn.display.card import LIMITS, limits_of
from dplearn.display.described import recorded_evidence
from dplearn.display.shapes import ShownCells
from dplearn.domains import Grid, IntegerRange, Product
from dplearn.model_selection import PrivateSearchCV, private_score
from dplearn.preprocessing import CellEncoder, PrivateQuantileTransformer
from dplearn.privacy import LedgerError
from dplearn.releases import (
    SyntheticTable,
    cdf,
    describe,
    grouped,
    interior_point,
    learned_schema,
    mean,
    multiplicative_weights,
    quantiles,
    stable_counts,
    std,
)
from tests.laws.conftest import STAND_FOR_ALL

DAY = datetime.date(2030, 1, 2)
DOMAIN = Grid(-9, 9, 19)  # small, so that so few records are enough
RARE = 0.8642097531  # a value that no text has by chance
GENERATOR = np.random.default_rng(0)
X = np.round(GENERATOR.normal(size=(400, 2)), 3)
Y = (X[:, 0] > 0).astype(int)
PAGE = Path(__file__).parents[2] / "docs" / "limits.md"


SAMPLED = dplearn.SecretSampleClassifier(ExponentialMechanismClassifier(classes=[0, 1]), sample_size=200)
#: One small fit of each class; lines are of two columns of residues.
FITTED = {type(each).__name__: each for each in (*STAND_FOR_ALL, SAMPLED, dplearn.LineClassifier(2))}
del FITTED["LineOfAnyTable"]


def keys(X):
    return list(map(str, X[:, 0]))


#: One small release of each class: from a table, labels and more parameters.
RELEASES = {
    "PrivateScore": lambda X, y, **how: private_score(GaussianNB().fit(np.eye(2), [0, 1]), X, y, **how),
    "Grouped": lambda X, _, **how: grouped(keys(X), X[:, 1], bounds=(-9, 9), categories=["a", "b"], **how),
    "InteriorPoint": lambda X, _, **how: interior_point(X[:, 0], epsilon=1, **how),
    "Quantiles": lambda X, _, **how: quantiles(X[:, 0], [0.5], epsilon=1, **how),
    "StableCounts": lambda X, _, **how: stable_counts(keys(X), epsilon=1, delta=1e-6, **how),
    "LearnedSchema": lambda X, _, **how: learned_schema(X, **how),
    "CDFRelease": lambda X, _, **how: cdf(X[:, 0], epsilon=1, **how),
    "SyntheticTable": lambda X, _, **how: SyntheticTable(domain=Product([DOMAIN] * 2), **how).fit(X),
    "TableFidelity": lambda X, _, **how: (
        SyntheticTable(domain=Product([DOMAIN] * 2), **how).fit(X).fidelity()
    ),
    "ReleasedShares": lambda X, _, **how: multiplicative_weights(
        np.signbit(X[:, 0]).astype(int), [[1, 0]], IntegerRange(0, 1), **how
    ),
    "Described": lambda X, _, **how: describe(X, domain=Product([DOMAIN] * 2), **how),
    "Std": lambda X, _, **how: std(X[:, 0], (0, 1), **how),
    "Mean": lambda X, _, **how: mean(X[:, 0], (0, 1), **how),
}


def fitted(name, X, y, seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about too few records
        if name in RELEASES:
            return RELEASES[name](X, y, random_state=seed)
        model, X = clone(FITTED[name]), 1 * np.signbit(X) if name == "LineClassifier" else X
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        return model.fit(X, y if "MultiOutput" not in name else np.column_stack([y, 1 - y]))


class Outline(HTMLParser):
    """Lists the elements and the text; fails if elements do not nest."""

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.open += [] if tag in ("meta", "br", "hr", "link", "img", "input") else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += "" if {"style", "title"} & set(self.open) else data


def words(text):
    """Return a text without white space and without the marks of plain text."""
    lines = [line.removeprefix("!!").removeprefix("- ") for line in text.splitlines()]
    return re.sub(r"[\s:.]", "", "".join(line for line in lines if line.strip("-=")))


def learned(**parameters):
    return ExponentialMechanismClassifier(classes=[0, 1], **parameters).fit(X, Y)


def test_there_is_a_fit_of_every_class_that_has_evidence():
    assert FITTED.keys() | RELEASES.keys() == recorded_evidence().keys() - {
        *mechanisms.__all__,
        *queries.__all__,
        *vars(dplearn.theory.reductions),
    }


@pytest.mark.parametrize("name", [*FITTED, *RELEASES])
def test_the_card_depends_neither_on_the_records_nor_on_the_noise(name):
    other, labels = X.copy(), Y.copy()
    other[7], labels[7] = RARE, 1 - labels[7]
    fits = ((X, Y, 0), (other, labels, 0), (X, Y, 1))
    cards = [privacy_card(fitted(name, *fit), date=DAY) for fit in fits]
    assert cards[0].html == cards[1].html == cards[2].html
    assert str(cards[0]) == str(cards[1]) == str(cards[2])
    assert str(RARE) not in cards[1].html
    assert name in cards[0].html
    assert words(Outline(cards[0].html).text) == words(str(cards[0]))


def test_a_card_states_the_guarantee_and_that_a_seeded_fit_is_not_for_release():
    card = privacy_card(learned(epsilon=0.5), date=DAY)
    assert card.guarantee.epsilon == 0.5
    text = " ".join(str(card).split())
    assert "factor of exp(0.5) = 1.65" in text
    assert all(entry in text for entry in card.guarantee.assumes)
    assert f"Made on 2030-01-02 with dplearn {dplearn.__version__}" in text
    assert "Not for release" not in text
    text = str(privacy_card(learned(random_state=45678)))
    assert text.index("Not for release") < text.index("Protected: ")
    assert "45678" not in text
    assert "- no assumption is recorded" in str(privacy_card(SimpleNamespace(guarantee=ApproxDP(1))))


@pytest.mark.parametrize(
    ("whole", "name"),
    [
        (make_pipeline(StandardScaler(), ThresholdClassifier(classes=[0, 1])), "StandardScaler"),
        (make_column_transformer((StandardScaler(), [0]), remainder="passthrough"), "StandardScaler"),
        (make_pipeline(GaussianNB()), "GaussianNB"),
    ],
    ids=["scaler", "columns", "learner"],
)
def test_a_step_that_is_not_private_is_named_and_nothing_is_guaranteed(whole, name):
    card = privacy_card(whole.fit(X, Y))
    assert card.guarantee is None
    text = " ".join(str(card).split())
    assert [words in text for words in ("Nothing is guaranteed.", name)] == [True, True]
    assert [words in text for words in ("Protected: ", "Assumptions")] == [False, False]


def test_the_statement_that_a_step_learns_nothing_becomes_an_assumption():
    chain = make_pipeline(PolynomialFeatures(), ExponentialMechanismClassifier(classes=[0, 1])).fit(X, Y)
    card = privacy_card(chain, stateless=["polynomialfeatures"])
    assert "step 'polynomialfeatures' learns nothing from the data" in card.guarantee.assumes
    assert privacy_card(chain).guarantee is None
    encoder = CellEncoder().fit(X)  # costs nothing
    chain = make_pipeline(encoder, ExponentialMechanismClassifier(domain=encoder.domain(), classes=[0, 1]))
    assert privacy_card(chain.fit(X, Y)).guarantee.epsilon == 1


def test_the_history_of_the_estimators_ledger_is_shown():
    ledger = PrivacyLedger(2, 1e-5)
    model = learned(epsilon=0.5, ledger=ledger)
    said = "Total cost in the ledger so far, this release included: epsilon {}, delta {}."
    assert said.format("0.5", 0) not in str(privacy_card(model))  # of one release alone
    ledger.charge(ApproxDP(0.25, 1e-6), estimator="<b>a survey</b>")
    card = privacy_card(model)
    assert "&lt;b&gt;a survey&lt;/b&gt;" in card.html
    assert said.format("0.75", "1e-06") in str(card)
    lines = [line.split() for line in str(card).splitlines()]
    assert ["spent", "0.75", "1e-06"] in lines
    assert ["left", "1.25", "9e-06"] in lines
    assert ["budget", "2", "1e-05"] in lines


def test_a_given_ledger_replaces_the_estimators_is_cut_if_long_and_may_be_unreadable(monkeypatch):
    ledger, model = PrivacyLedger(2), learned(ledger=PrivacyLedger(7))
    for number in range(102):
        ledger.charge(ApproxDP("0.01"), estimator=f"release {number}")
    text = str(privacy_card(model, ledger=ledger))
    assert "Number of releases charged to the ledger: 102; the latest 100 are listed." in text
    assert [f"release {number} " in text for number in (1, 101)] == [False, True]

    def broken(_):
        raise LedgerError("at a secret place")

    monkeypatch.setattr(PrivacyLedger, "history", broken)
    text = str(privacy_card(model))
    assert "could not be read" in text
    assert "secret place" not in text


def test_the_card_of_a_ledger_has_the_guarantee_of_each_release_and_of_all(tmp_path):
    ledger = PrivacyLedger(9, 1e-5, path=tmp_path / "account")
    with pytest.raises(ValueError, match="must be a ledger with releases"):
        privacy_card(ledger)
    learned(epsilon=0.5, ledger=ledger)
    for _ in range(2):
        quantiles(X[:, 0], [0.5], domain=DOMAIN, ledger=ledger)
    ledger.charge(ApproxDP(0.25, neighbors="add_remove"), estimator="<b>a survey</b>")
    card = privacy_card(ledger)
    assert card.guarantee == ledger.spent()
    (charges,) = card.values["charges"]
    assert [row[1:5] for row in charges.rows[2:4]] == [
        ("1", "0", "quantiles", "epsilon 1, delta 0, one record replaced, whole records"),
        ("0.5", "0", "<b>a survey</b>", "epsilon 0.25, delta 0, one record added or removed, whole records"),
    ]
    assert [row[1] for row in charges.rows[4:]] == ["3", "6", "9"]
    assert [text.caption.partition(":")[0] for text in card.values["enumerations"]] == [
        "ExponentialMechanismClassifier",
        "quantiles",
    ]
    assert "No enumeration is recorded for <b>a survey</b>." in card.values["verification"]
    assert len(set(card.values["assumptions"])) == len(card.values["assumptions"])
    assert not any(each in card.html for each in ("<b>", str(tmp_path)))
    assert words(Outline(card.html).text) == words(str(card))
    with pytest.raises(ValueError, match="ledger must be None for the card of a ledger"):
        privacy_card(ledger, ledger=ledger)


def scaled(first, second):
    return make_pipeline(
        Normalizer(),
        PrivateQuantileTransformer(epsilon=4, n_quantiles=3, domain=DOMAIN, ledger=first),
        ExponentialMechanismClassifier(epsilon=0.5, classes=[0, 1], ledger=second),
    ).fit(X, Y)


def test_the_card_of_a_pipeline_has_the_costs_and_evidence_of_each_step_and_one_ledger(tmp_path):
    first, second = (PrivacyLedger(9, path=tmp_path / "account") for _ in range(2))
    card = privacy_card(scaled(first, second))
    assert card.guarantee.epsilon == 4.5
    assert "4.5" in str(card)
    assert "enumeration of the mechanisms, not the whole fit" in card.html
    assert "exponential_classifier" in card.html
    with pytest.raises(ValueError, match="ledger must be given: the steps are charged to 2 ledgers"):
        privacy_card(scaled(PrivacyLedger(9), PrivacyLedger(9)))


def test_names_labels_titles_and_notes_are_escaped():
    model = ExponentialMechanismClassifier(classes=["<i>0</i>", "1"]).fit(X, np.array(["<i>0</i>", "1"])[Y])
    card = privacy_card(model, title="A <script>", notes=["a </style> note"])
    assert not any(each in card.html for each in ("<i>", "<script", "</style> note"))
    assert "&lt;i&gt;0&lt;/i&gt;" in card.html
    assert "<i>0</i>" in Outline(card.html).text


def test_a_card_is_saved_shown_in_a_notebook_and_printed(tmp_path):
    card = privacy_card(learned(), title="Trial 7")
    assert card._repr_html_() in card.html
    assert str(card).startswith("Trial 7\n=======\n")
    assert repr(card) == "PrivacyCard('Trial 7')"
    for name, written in (("a.html", card.html), ("a.HTM", card.html), ("a.txt", f"{card}\n")):
        card.save(str(tmp_path / name))
        assert (tmp_path / name).read_text(encoding="utf-8") == written
    for name in ("card.pdf", "card"):
        with pytest.raises(ValueError, match=rf"path must end with .html, .htm or .txt, got '.*{name}'"):
            card.save(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_settings_that_a_search_replaces_are_marked_and_no_seed_of_a_splitter_is_shown():
    learner = ThresholdClassifier(domain=IntegerRange(0, 9), classes=[0, 1])
    rows = np.arange(100)[:, None] % 10
    cv = KFold(2, shuffle=True, random_state=4711)
    search = PrivateSearchCV(learner, {"feature": [0]}, epsilon=50.0, cv=cv).fit(rows, rows[:, 0] > 4)
    text = " ".join(str(privacy_card(search)).split())
    assert "ThresholdClassifier (estimator): enumeration of the whole fit, from the data" in text
    assert "1.0 (the search replaces it" in text
    assert "random_state=set (not shown)" in text
    assert "4711" not in text


RAW = GridSearchCV(ExponentialMechanismClassifier(classes=[0, 1]), {"epsilon": [1, 2]}, cv=KFold(2))
META = OneVsOneClassifier(ThresholdClassifier(classes=[0, 1], epsilon=50))
BY_RAW = r"chooses by raw scores on held-out rows.*take dplearn.*PrivateSearchCV"


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (RAW, BY_RAW),
        (clone(RAW).fit(X, Y), BY_RAW),
        (META.fit(X[:, :1], np.arange(400) % 3), r"got OneVsOneClassifier: docs/scikit_learn\.md has"),
    ],
    ids=["search", "fitted search", "meta"],
)
def test_what_learns_by_raw_scores_or_several_fits_has_no_card(estimator, message):
    with pytest.raises(TypeError, match=message):
        privacy_card(estimator)


def test_the_effects_of_an_additive_model_are_shown_on_request_only():
    model = fitted("AdditiveClassifier", X, Y)
    plain, shown = privacy_card(model, date=DAY), privacy_card(model, date=DAY, shapes=True)
    assert "Released effects" not in str(plain) + plain.html
    assert "no released value." in " ".join(str(plain).split())
    assert "no released value, except the effects." in " ".join(str(shown).split())
    first = max(model.shapes_, key=lambda shape: shape.importance)
    (table,) = shown.values["effects"]
    assert table.rows[0][:2] == (first.name, f"{first.importance:.3g}")
    effects = first.effects[ShownCells.of(first).places]
    assert table.rows[0][2].startswith(f"{effects.min():.2g} ± ")
    assert words(Outline(shown.html).text) == words(str(shown))


def test_the_card_says_which_columns_interact_and_has_a_table_for_each_output():
    signs = np.random.default_rng(0).integers(-3, 4, (2000, 3))
    labels = (signs[:, 0] * signs[:, 2] > 0).astype(int)
    model = dplearn.AdditiveClassifier(domain=IntegerRange(-3, 3), classes=[0, 1], epsilon=20.0)
    (table,) = privacy_card(model.fit(signs, labels), shapes=True).values["effects"]
    assert "x0 and x2 have the strongest sign" in table.caption
    model = clone(model).set_params(interactions=False)
    tables = privacy_card(model.fit(signs, np.stack([labels, 1 - labels], axis=1)), shapes=True)
    captions = [table.caption for table in tables.values["effects"]]
    assert all("it has no interactions" in caption for caption in captions)
    begins = [f"Output {place}. Effects on the logit of 1" for place in range(2)]
    assert [caption.partition(",")[0] for caption in captions] == begins


def test_each_limit_is_a_heading_of_the_page_and_applies_to_some_models():
    def titles(*classes, **how):
        return [title for title, _ in limits_of(ApproxDP(1, **how), classes)]

    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert [title for title in LIMITS if f"**{title}" not in page] == []
    assert sorted(titles("PrivatePCA", "SubsampleAggregateClassifier", reproducible=True)) == sorted(LIMITS)
    few = titles("ThresholdClassifier", neighbors="add_remove")
    assert not {"Teachers", "Queries", "Seeds", "Caches", "The number of records"} & set(few)
    assert {"Timing and memory", "The small universe"} <= set(few)
