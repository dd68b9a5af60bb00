"""The limits on a card are headings of docs/limits.md, and only those that apply are listed."""

from pathlib import Path

from dplearn.display.card import LIMITS, limits_of

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"


def titles(*classes, neighbors="replace_one", reproducible=False, whole_pipeline=False):
    found = limits_of(classes, neighbors=neighbors, reproducible=reproducible, whole_pipeline=whole_pipeline)
    return [title for title, _ in found]


def test_each_limit_is_a_heading_of_the_page():
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert [title for title in LIMITS if f"**{title}" not in page] == []


def test_every_limit_applies_to_some_model():
    every = titles("SubsampleAggregateClassifier", reproducible=True, whole_pipeline=True)
    assert set(every) == LIMITS.keys()
    assert len(every) == len(LIMITS)


def test_limits_that_do_not_apply_are_omitted():
    few = titles("ThresholdClassifier", neighbors="add_remove")
    assert not {"Teachers", "Queries", "Seeds", "Caches", "The number of records"} & set(few)
    assert {"Timing and memory", "The small universe"} <= set(few)
