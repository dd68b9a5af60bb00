"""The pages show what is true: blocks run, links lead somewhere, and nothing public is left out."""

import ast
import importlib
import inspect
import re
from contextlib import chdir
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

import dplearn
from dplearn import StatisticalQueryLogisticRegression, StatisticalQueryNaiveBayes, preprocessing, releases
from dplearn.audit.cases import CASES
from dplearn.domains import DomainError, Grid
from dplearn.learners.additive.losses import LogisticLoss
from dplearn.privacy import ApproxDP, Approximate
from dplearn.privacy.calibration import gaussian_sigma2
from dplearn.privacy.conversion import concentrated_epsilon
from dplearn.privacy.derived import SampledWithReplacement

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "changelog.d" not in page.parts)
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
#: Pages that only these tests run; others have test files of their own.
RUN_HERE = (
    "additive",
    "classify",
    "composition",
    "contributing",
    "explain",
    "getting_started",
    "groups",
    "hierarchies",
    "incremental",
    "index",
    "large_tables",
    "regress",
    "rules",
    "save_and_load",
    "synthetic",
    "theory/reductions",
    "unknown_n",
    "warnings",
)


@cache
def run(name):
    """Run the blocks of a page one after another, once; return what they printed, and what they made.

    Tests share what is made, and so do not change it.
    """
    page, lines = DOCS / f"{name}.md", []
    scope = {"print": lambda *values: lines.append(values)}
    with TemporaryDirectory() as folder, chdir(folder):
        for _, block in BLOCK.findall(page.read_text(encoding="utf-8")):
            exec(compile(dedent(block), page.name, "exec"), scope)
    return lines, scope


@pytest.fixture(autouse=True)
def figures():
    """Draw figures on no screen, and close them after each test."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", RUN_HERE)
def test_every_block_of_a_page_runs(name):
    _, scope = run(name)
    assert len(scope) > 2


def test_the_page_on_groups_prints_what_it_says_and_states_the_exact_epsilon_of_its_cases():
    (protects,), (sentence,), (number,), (_, of_release) = run("groups")[0]
    assert 2800 < number <= 3000
    assert of_release == protects
    text = (DOCS / "groups.md").read_text(encoding="utf-8")
    assert f"# {protects}\n" in text
    assert f"# {sentence}\n" in text
    names = ("naive_bayes_of_groups", "classifier_of_groups", "transfer_of_groups")
    exact = [float(CASES[name].frozen()["epsilon"]) for name in names]
    found = f"{exact[0]:.4f} of 1, {exact[1]:.2f} of 1 and {exact[2]:.2f} of 12"
    assert found in " ".join(text.split())
    names = ("sums_of_groups_in_parts", "counts_of_groups", "median_of_groups", "sums_of_groups_by_category")
    names += ("learned_categories_of_groups",)
    in_parts, counts, middle, sums, learned = (float(CASES[name].frozen()["epsilon"]) for name in names)
    assert f"lie in two parts: {in_parts:.4f} of 1" in " ".join(text.split())
    found = f"{counts:.4f} of 1, {middle:.2f} of 1, {sums:.4f} of 2 and {learned:.2f} of 6"
    assert found in " ".join(text.split())


def test_groups_are_matched_by_position_and_a_search_without_routing_protects_rows():
    def model():
        return StatisticalQueryNaiveBayes(epsilon=1, domain=Grid(0, 1, 5), classes=[0, 1], random_state=0)

    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.random((600, 2))), pd.Series(rng.integers(0, 2, 600))
    persons = pd.Series(rng.integers(0, 200, 600))
    other = persons.set_axis(persons.index + 600)  # of a table whose rows have been numbered anew
    first, second = (model().fit(X, y, groups=each).predict_proba(X) for each in (persons, other))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match=r"give groups\.loc\[X\.index\]"):
        model().fit(X, y, groups=persons[::-1])
    for routing, protects in ((False, "examples"), (True, "groups")):
        with config_context(enable_metadata_routing=routing):
            search = GridSearchCV(model(), {"epsilon": [1]}, cv=GroupKFold(2)).fit(X, y, groups=persons)
        assert search.best_estimator_.guarantee_.protects == protects


@pytest.mark.parametrize(("page", "option"), [("groups", "fits"), ("imbalance", "seeds")])
def test_a_caption_names_the_option_of_its_benchmark(page, option):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    program = (DOCS.parent / "benchmarks" / f"bench_{page}.py").read_text(encoding="utf-8")
    assert f"`--{option} 3`" in text
    assert f'"--{option}"' in program


def test_the_page_on_calls_prints_what_it_says_and_states_the_exact_epsilon_of_its_cases():
    printed = [str(value) for (value,) in run("incremental")[0]]
    text = (DOCS / "incremental.md").read_text(encoding="utf-8")
    assert re.findall(r"print\(.*  # (.*)\n", text) == printed
    names = re.findall(r"`(\w+_of_two_\w+)`", text)
    exact = [f"{float(CASES[name].frozen()['epsilon']):.4f} of {CASES[name].claim.epsilon}" for name in names]
    assert len(exact) == 4
    assert ", ".join(exact[:3]) + f" and {exact[3]}" in " ".join(text.split())


def test_a_fit_on_parts_is_that_on_the_whole_table():
    (same,), (assumed,), (middle,) = run("large_tables")[0]
    assert same
    assert 40 < middle < 68
    assert assumed == "the number of parts, their lengths, and the part and place of"


@pytest.mark.nightly
def test_large_tables_are_fitted_on_a_cluster_of_processes():
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as client:
        before = sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())
        (same,), *_ = run.__wrapped__("large_tables")[0]
        after = sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())
    assert same
    assert after - before > 3 * 20  # partitions and passes


def test_the_fits_of_large_tables_on_dask_and_arrow_are_those_on_the_table():
    _, scope = run("large_tables")
    table, model = scope["table"], clone(scope["bayes"]).set_params(random_state=0)
    whole = clone(model).fit(table[["age", "town"]], table["moved"]).predict_proba(table)
    arrow = pytest.importorskip("pyarrow").Table.from_pandas(table, preserve_index=False)
    for parts in (scope["frame"], arrow):
        assert np.array_equal(clone(model).fit(parts, "moved").predict_proba(table), whole)


def test_large_tables_predicts_partitions_and_parts_of_a_pipeline():
    _, scope = run("large_tables")
    assert np.array_equal(scope["predictions"], scope["model"].predict(scope["table"][["age", "town"]]))
    labels = np.concatenate(scope["labels"])
    assert (labels == scope["table"]["moved"]).mean() > 0.6


def test_getting_started_shows_what_it_says():
    lines, scope = run("getting_started")
    (rule,), (score,), (guarantee,), plan, (own,), (quick,), both, (schema,), (assumed,), (refusal,) = lines
    assert "if x" in str(rule)
    assert score > 0.8
    assert (guarantee.epsilon, guarantee.delta, guarantee.reproducible) == (1, 0, False)
    assert plan[0] == 6973
    for rule in (own, quick):
        assert "else 'no'" in str(rule) or "else 'yes'" in str(rule)
    assert both == (9700, 9838)
    assert schema.names == ("age", "job", "wage")
    assert assumed == "the number of records and the number, names and types of the columns are public"
    assert "asked epsilon 0.5, delta 0; spent epsilon 1" in str(refusal)
    assert scope["piped"].score(scope["columns"], scope["table"]["member"]) > 0.7


def test_the_first_page_ends_in_a_score_and_a_guarantee():
    (score,), (guarantee,) = run("index")[0]
    assert score == pytest.approx(0.94, abs=0.06)
    assert (guarantee.epsilon, guarantee.delta, guarantee.reproducible) == (1, Fraction(1, 10**6), False)


def test_the_pages_of_tasks_show_what_they_say():
    for name, least, most in (("classify", 0.72, 0.84), ("regress", 0.7, 0.9)):
        (score,), *middle = run(name)[0]
        epsilon, delta = middle[1 if name == "regress" else -1]
        assert least < score < most
        assert (epsilon, float(delta)) == (1, 1e-6)
    (within,), _, ((low, high),), (learned,), (needed,) = run("regress")[0][1:]
    assert within == pytest.approx(0.9, abs=0.06)
    assert 500 < low < 2000 < 3000 < high < 6000
    assert 0.65 < learned < 0.9
    assert needed < 6000
    *ranked, (title,) = run("explain")[0]
    assert sorted(name for name, _ in ranked) == ["worst concave points", "worst radius", "worst texture"]
    assert title == "Tumours"
    (true, released), (epsilon, _) = run("synthetic")[0]
    assert released == pytest.approx(true, abs=0.05)
    assert epsilon == 1


def test_a_saved_model_is_what_was_saved():
    lines, scope = run("save_and_load")
    assert lines == [(True,), (True,), (True,)]
    assert scope["loaded"] is not scope["model"]


def test_a_warning_that_is_an_error_stops_a_fit_before_its_charge():
    ((warning,), (spent,), (planned,)), scope = run("warnings")
    assert planned == (str(warning),)
    assert spent == 0
    assert not hasattr(scope["model"], "guarantee_")


@cache
def texts_of_the_package():
    """Return all strings of the package, those of formatted strings in parts, one a line."""
    found = []
    for module in Path(dplearn.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def test_limits_say_what_is_read_of_arrow():
    page = " ".join((DOCS / "limits.md").read_text(encoding="utf-8").split())
    assert "A table of Arrow is read like a data frame, with its own types." in page
    assert "Arrow arrays as `y` or `groups=`, are refused; releases take Arrow arrays." in page
    pa = pytest.importorskip("pyarrow")
    labels = np.arange(400) % 2
    table, y = pa.table({"x": labels * 2.0}), pa.array(labels)
    model = StatisticalQueryNaiveBayes(epsilon=9, domain=Grid(0, 2, 3))
    assert model.fit(table, labels).predict(table).tolist() == labels.tolist()
    preprocessing.PrivateMinMaxClipper(domain=Grid(0, 2, 3)).fit(table).transform(table)
    releases.median(y, epsilon=1)
    releases.median(table["x"], epsilon=1)
    for refused in ({"y": y}, {"y": labels, "groups": y}):
        with pytest.raises(TypeError, match="Array is not supported: turn it into pandas or polars first"):
            model.fit(table, **refused)


WARNINGS = (DOCS / "warnings.md").read_text(encoding="utf-8")
QUOTED = [
    text
    for line in WARNINGS.partition("## Warnings")[2].partition("## Errors")[0].splitlines()[4:]
    for text in re.findall('"([^"]+)"', line.split("|")[1] if line.startswith("|") else "")
]


@pytest.mark.parametrize("text", QUOTED)
def test_the_package_has_each_warning_that_its_page_explains(text):
    assert text in texts_of_the_package()


def test_the_page_explains_warnings():
    assert len(QUOTED) >= 25
    assert "no such warning" not in texts_of_the_package()


def test_additive_shows_what_it_says():
    lines, scope = run("additive")
    (score,), (likely,), shape, (name, resolution) = lines[:4]
    (fit,), (linear,), (covered,), (spread,), (events, means), first, second = lines[4:11]
    (starts,), (effects,), (intercept,), (strength,), (corners,), (glass,), (titles,), *plans = lines[11:]
    assert (shape, name, resolution) == (((2, 2), 2), "worst radius", 13.8)
    assert score > 0.8
    assert np.allclose(likely.sum(axis=1), 1, atol=0.02)
    assert 0.82 < fit < 0.87
    assert 0.33 < linear < 0.39
    assert covered > 0.86
    assert 1.0 < spread < 1.3
    assert np.allclose(events, means, rtol=0.3, atol=0.3)
    assert (first, second) == (("x0", pytest.approx(1.7, abs=0.11)), ("x1", 64))
    assert starts.tolist() == [-0.5, 0.5]
    assert np.allclose(effects, [-1.5, 1.5], atol=0.4)
    assert np.allclose(intercept, 4 / 3, atol=0.3)
    strengths = scope["regressor"].interactions_.strengths
    assert strength > 10
    assert (strengths > 3).mean() < 0.1  # two of the hundred are those of the product
    # Their standard deviations over fits are .4, about means of 3.6: at 1.5 one run in 70 failed.
    assert np.allclose(corners, [4, -4, -4, 4], atol=2)
    assert 0.5 < glass < 0.56
    assert len(titles) == 4
    assert plans == [(19.5, 10, 0, 0), (916.8, 10, 4, 128)]
    assert scope["model"].guarantee_.epsilon == 1


def test_the_odds_of_two_labels_rise_as_additive_says():
    margins = np.linspace(-6, 6, 241)[:, None]  # twenty steps of a margin are 1
    for clip, least in ((Fraction(1), np.e), (Fraction(1, 2), 1.75)):
        odds = (lambda p: p[:, 1] / p[:, 0])(LogisticLoss(clip).probabilities(margins))
        ratios = odds[20:] / odds[:-20]
        assert ratios.max() < 2.72
        assert ratios.min() == pytest.approx(least, abs=0.01)


def test_new_records_outside_a_schema_are_predicted_as_getting_started_says():
    _, scope = run("getting_started")
    model = scope["own"]
    row = {"age": 34, "job": "clerk", "wage": 2100.0, "member": "no"}

    def predicted(**cells):
        return model.predict(scope["pd"].DataFrame([row | cells])).tolist()

    for odd, same in (
        ({"age": 999}, {"age": 120}),
        ({"age": 34.5}, {"age": 34}),
        ({"job": "x"}, {"job": "y"}),
    ):
        assert predicted(**odd) == predicted(**same)
    for cells in ({"age": None}, {"wage": float("nan")}, {"wage": float("inf")}, {"age": "34"}):
        with pytest.raises(DomainError, match="lies outside the declared domain"):
            predicted(**cells)


def test_the_noise_of_logistic_regression_is_what_queries_says():
    learner = StatisticalQueryLogisticRegression(epsilon=1.0, classes=[0, 1])
    pure, approximate = (learner.set_params(delta=d).plan(569, n_features=30) for d in (0, 1e-6))
    assert (round(pure.noise_to_signal, 2), round(approximate.noise_to_signal, 2)) == (1.05, 0.28)
    assert (pure.n_queries, approximate.n_queries) == (3, 3)
    assert pure.tolerance < approximate.tolerance


def test_a_point_can_be_read_with_a_delta_and_not_without_as_rules_says():
    _, scope = run("rules")
    pure = clone(scope["point"]).set_params(delta=0).fit(scope["ward"], scope["outbreak"])
    assert re.fullmatch(r"'sick' if ward hashes to \d+ of 8192, else 'healthy'", str(pure.concept_))


def test_rules_are_what_the_page_says():
    lines, _ = run("rules")
    (
        (stump,),
        (needed,),
        (mine,),
        (corner,),
        *public,
        (both,),
        (noisy, score),
        (cut,),
        (few,),
        (point,),
        (points,),
        (more,),
    ) = lines
    assert "smoker" in str(stump)
    assert needed < 10_000
    assert str(mine) == "high above 80"
    assert str(corner).startswith("'high' if age > ")
    assert " and pressure >= 1" in str(corner)
    assert public == [("labels",), ([6973, 3027],), ("examples",), (3236,)]
    assert "smoker == 'yes'" in str(both)
    assert str(noisy) == "1 if smoker > 0 and over 40 > 0, else 0"
    assert 0.94 < score < 0.96
    assert "age <= 6" in str(cut)
    assert few == 310
    assert str(point) == "'sick' if ward == 'east', else 'healthy'"
    assert (points, more) == (["east", "west", "east"], 415)


def test_two_releases_find_the_threshold_of_the_page_on_reductions():
    assert run("theory/reductions")[0] == [(True,)]


def test_hierarchies_show_what_the_page_says():
    lines, scope = run("hierarchies")
    (place,), (right,), (of_places,), (tyrol,), (chapter,), (keys,), (most, found), sizes, *rest = lines
    assert re.fullmatch(r"'sick' if \(country, region\) hashes to \d+ of 8192, else 'healthy'", str(place))
    assert right > 0.99
    assert (of_places, tyrol) == (375, ["sick"] * 3)
    assert re.fullmatch(r"1 if \(chapter, block\) hashes to \d+ of 8192, else 0", str(chapter))
    assert re.fullmatch(r"1 if code hashes to \d+, \d+ or \d+ of 16384, else 0", str(keys))
    assert most > 0.99
    assert found == [1, 0]
    assert sizes[0] == 861
    assert 7e11 < sizes[1] < 8e11
    (pair, exact), (for_any,), (needed,), (kept, epsilon) = rest
    assert "columns 1, 4 are in bucket" in str(pair)
    assert exact > 0.99
    assert (for_any, needed) == (3382, 419)
    assert kept
    assert 0.62 < epsilon < 0.625
    assert scope["learner"].seed_ > 1 << 200


def test_a_drawn_class_of_the_page_is_another_for_each_seed_and_the_same_for_one():
    _, scope = run("hierarchies")
    X, alarm, learner = scope["X"], scope["alarm"], scope["learner"]
    seeds = {clone(learner).fit(X, alarm).seed_ for _ in range(2)}
    assert len(seeds) == 2
    again = [clone(learner).set_params(random_state=7).fit(X, alarm) for _ in range(2)]
    assert again[0].seed_ == again[1].seed_
    numbers = scope["pairs"].draw(again[0].seed_).numbers
    assert np.array_equal(again[0].concept_.concept.drawn.numbers, numbers)


def test_the_mechanism_the_learner_and_the_release_that_contributing_shows_are_right():
    lines, scope = run("contributing")
    assert lines == [(True,), ("no",), (True,), (100,)]
    report, case = scope["case"].run(), scope["case"]
    assert report.n_distributions >= case.required.n_distributions
    assert report.tightness(case.claim) >= case.required.tightness


def test_the_figures_in_the_text_on_composition_are_what_calculators_return():
    said = set(re.findall(r"\d*\.\d+", (DOCS / "composition.md").read_text(encoding="utf-8")))
    sample = SampledWithReplacement(Approximate(1, 1e-6), 100, 1000)
    delta = Fraction(1, 10**6)
    exact = float(gaussian_sigma2(ApproxDP(1, delta)))
    found = {f"{float(sample.pure):.4f}"[1:], f"{float(sample.failure) * 1e7:.2f}", f"{exact:.3f}"}
    at, below = (concentrated_epsilon(1 / (2 * Fraction(s)), delta) for s in ("20.529", "20.528"))
    assert at <= 1 < below
    assert found | {"20.529"} <= said


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_link_between_pages_leads_somewhere(page):
    links = re.findall(r"\]\(((?!https?:|#)[^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_comments_are_filled_in_before_a_page_is_built(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    site_parts = importlib.import_module("site_parts")
    source = [
        "Next: [z](z.md).\n\n- [a](gallery/plot_a.py), [b](b.md)\n\n## Measured\n\n"
        "- [c](gallery/measured/plot_c.py), [b](b.md)\n\n## Empty\n\n<!-- contents -->\n"
        "<!-- figure: plot_a 1: A -->\n<!-- figure: measured/plot_c 2: C -->"
    ]
    site_parts.fill_in(None, "page", source)
    assert source[0].splitlines() == [
        *("Next: [z](z.md).", "", "- [a](_gallery/plot_a.rst), [b](b.md)", "", "## Measured", ""),
        *("- [c](_gallery/measured/plot_c.rst), [b](b.md)", "", "## Empty", ""),
        *("```{toctree}", ":hidden:", "", "_gallery/plot_a", "b", "```", ""),
        *("```{toctree}", ":hidden:", ":caption: Measured", "", "_gallery/measured/plot_c", "```"),
        "![A](/_gallery/images/sphx_glr_plot_a_001.png)",
        "![C](/_gallery/measured/images/sphx_glr_plot_c_002.png)",
    ]


def test_cards_and_named_contents_are_filled_in(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    site_parts = importlib.import_module("site_parts")
    source = [
        "Next: [z](z.md).\n\n<!-- search -->\n\n<!-- cards -->\n\n- [A b](a.md): learn it,\n  now.\n"
        "- [C](c.md): try.\n\n- [D](d.md): E.\n\n<!-- contents, named as here -->"
    ]
    site_parts.fill_in(None, "page", source)
    head, cards = source[0].split("{.cards}\n")
    assert 'action="search.html"' in head
    assert cards.splitlines() == [
        *("- [A b](a.md) Learn it,", "  now.", "- [C](c.md) Try.", "", "- [D](d.md): E.", ""),
        *("```{toctree}", ":hidden:", "", "D <d>", "```"),
    ]


def test_whatever_learns_or_releases_is_in_choose_a_learner():
    text = (DOCS / "choose_a_learner.md").read_text(encoding="utf-8")
    learners = [name for name in dplearn.__all__ if hasattr(getattr(dplearn, name), "plan")]
    functions = [name for name in releases.__all__ if "ledger" in _parameters(getattr(releases, name))]
    names = [*learners, *preprocessing.__all__, *functions]
    assert len(learners) >= 13
    assert len(functions) >= 5
    assert [name for name in names if f"`{name}`" not in text] == []


def _parameters(thing):
    return inspect.signature(thing).parameters


def test_every_figure_is_drawn_by_a_script_of_the_gallery(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    figure = importlib.import_module("site_parts").FIGURE
    drawn = {
        f"{folder}plot_{name}.py"
        for page in PAGES
        for folder, name, _, _ in figure.findall(page.read_text(encoding="utf-8"))
    }
    assert len(drawn) >= 6
    assert [script for script in sorted(drawn) if not (DOCS / "gallery" / script).is_file()] == []
    others = re.compile(r"^!\[[^]]*\]\((?!pictures/)", re.MULTILINE)  # pictures are tested against records
    assert [str(page) for page in PAGES if others.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("page", [*PAGES, DOCS.parent / "README.md"], ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page):
    named = re.findall(r"`((?:tests|benchmarks|dplearn)/[\w/]+\.py)", page.read_text(encoding="utf-8"))
    assert [name for name in named if not (DOCS.parent / name).exists()] == []
