"""Where pictures are drawn."""

import builtins

import numpy as np
import pytest

from dplearn.display import EpsilonDisplay
from dplearn.display.axes import axes_or_new, rehearse


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
    with pytest.raises(ImportError, match=r"plot needs matplotlib: pip install '.\[plot\]'"):
        axes_or_new(None)


class Drawn:
    """A display that keeps the axes it was drawn on."""

    def plot(self, ax):
        self.ax = ax


def test_a_rehearsal_is_seen_nowhere(pyplot):
    axes = pyplot.subplots()[1]
    before = pyplot.get_fignums()
    for ax in (None, axes):
        display = Drawn()
        rehearse(display, ax)
        assert display.ax is not axes
        assert pyplot.get_fignums() == before


@pytest.mark.parametrize("own_axes", [False, True])
def test_what_cannot_be_drawn_is_refused_by_name_in_the_rehearsal(pyplot, own_axes):
    ax = pyplot.subplots()[1] if own_axes else None
    before = pyplot.get_fignums()
    with pytest.raises(TypeError, match=r"from_estimator takes no keywords but its own.*'n_jobs'"):
        rehearse(EpsilonDisplay({1: [0.5]}), ax, n_jobs=2)
    with pytest.raises(TypeError, match="ax must be None or matplotlib Axes, got ndarray"):
        rehearse(EpsilonDisplay({1: [0.5]}), np.array([ax]))
    assert pyplot.get_fignums() == before
