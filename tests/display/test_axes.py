"""Where pictures are drawn."""

import builtins

import pytest

from dplearn.display.axes import axes_or_new


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
