"""Axes for displays, and the dry run."""

import builtins

import numpy as np
import pytest

from dplearn.display import EpsilonDisplay
from dplearn.display.axes import axes_or_new, dry_run


def test_given_axes_are_drawn_on_and_others_are_made(pyplot):
    axes = pyplot.subplots()[1]
    assert axes_or_new(axes) is axes
    assert axes_or_new(None) is pyplot.gca()


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    load = builtins.__import__

    def without(name, *rest, **named):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return load(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="plot needs matplotlib: pip install matplotlib"):
        axes_or_new(None)


class Drawn:
    """A display that remembers its axes."""

    def plot(self, ax):
        self.ax = ax


def test_a_dry_run_leaves_no_figure(pyplot):
    axes = pyplot.subplots()[1]
    before = pyplot.get_fignums()
    for ax in (None, axes):
        display = Drawn()
        dry_run(display, ax)
        assert display.ax is not axes
        assert pyplot.get_fignums() == before


@pytest.mark.parametrize("own_axes", [False, True])
def test_the_dry_run_names_an_unknown_keyword_and_refuses_other_axes(pyplot, own_axes):
    ax = pyplot.subplots()[1] if own_axes else None
    before = pyplot.get_fignums()
    with pytest.raises(TypeError, match=r"from_estimator takes only its own keywords.*'n_jobs'"):
        dry_run(EpsilonDisplay({1: [0.5]}), ax, n_jobs=2)
    with pytest.raises(TypeError, match="ax must be None or matplotlib Axes, got ndarray"):
        dry_run(EpsilonDisplay({1: [0.5]}), np.array([ax]))
    assert pyplot.get_fignums() == before
