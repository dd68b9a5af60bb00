"""Deprecations warn for two minor versions, wherever the thing is used, and are then due for removal."""

import ast
from pathlib import Path
from types import ModuleType

import pytest
from sklearn.base import BaseEstimator, clone

import dplearn
from dplearn._deprecation import DEPRECATED, removed_in, renamed_parameter, warn_deprecated

PACKAGE = Path(dplearn.__file__).parent
SOURCE = """
from dplearn._deprecation import warn_deprecated

def new(): return "new"

def __getattr__(name):
    if name == "old":
        warn_deprecated("module.old", since="0.3", instead="module.new")
        return new
    raise AttributeError(name)
"""


class Learner(BaseEstimator):
    def __init__(self, width=1, scale=DEPRECATED):
        self.width = width
        self.scale = scale

    def fit(self):
        self.width_ = renamed_parameter(self, "scale", "width", since="0.3")
        return self


def test_a_parameter_under_its_old_name_counts_and_warns_where_fit_is_called():
    assert Learner(width=3).fit().width_ == 3
    why = r"^the parameter scale is deprecated since 0\.3 and will be removed in 0\.5; use width$"
    for learner in (Learner(scale=4), clone(Learner(scale=4)), Learner().set_params(scale=4)):
        with pytest.warns(FutureWarning, match=why) as warned:
            assert learner.fit().width_ == 4
        assert warned[0].filename == __file__


def test_an_old_name_of_a_module_warns_where_it_is_used():
    module = ModuleType("module")
    exec(SOURCE, vars(module))
    with pytest.warns(FutureWarning, match=r"module\.old is deprecated .* use module\.new") as warned:
        assert module.old is module.new
    assert warned[0].filename == __file__
    assert module.new() == "new"
    with pytest.raises(AttributeError):
        module.other  # noqa: B018


def deprecated_since(source):
    """Return the versions since which a source deprecates something."""
    return [
        keyword.value.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in NAMES
        for keyword in node.keywords
        if keyword.arg == "since" and isinstance(keyword.value, ast.Constant)
    ]


def is_due(since, version):
    numbers = [tuple(map(int, text.split(".")[:2])) for text in (removed_in(since), version)]
    return numbers[1] >= numbers[0]


NAMES = {warn_deprecated.__name__, renamed_parameter.__name__}


def test_nothing_is_left_that_should_have_been_removed():
    found = [
        (path.name, since)
        for path in PACKAGE.rglob("*.py")
        for since in deprecated_since(path.read_text(encoding="utf-8"))
        if is_due(since, dplearn.__version__)
    ]
    assert found == []


def test_that_check_finds_one():
    assert deprecated_since(SOURCE) == ["0.3"]
    assert [is_due("0.3", version) for version in ("0.3.0", "0.4.7", "0.5.0.dev0", "1.0")] == [
        False, False, True, True,
    ]  # fmt: skip
