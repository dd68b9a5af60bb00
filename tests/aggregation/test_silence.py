"""No warning leaves while anybody is silent, and all do afterwards."""

import sys
import threading
import warnings

import pytest

from dplearn.aggregation.silence import silence


def state():
    return list(warnings.filters), warnings.showwarning, warnings._showwarnmsg_impl


def test_warnings_are_heard_again_afterwards():
    before = state()
    with silence():
        warnings.warn("unheard", stacklevel=1)
    assert state() == before
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)


def test_an_error_inside_ends_the_silence_too():
    before = state()
    with pytest.raises(KeyError), silence():
        raise KeyError
    assert state() == before


def test_whoever_leaves_last_restores_what_the_first_found():
    before, inside, left = state(), threading.Event(), threading.Event()

    def overlap():
        with silence():
            inside.set()
            left.wait()

    with silence():
        other = threading.Thread(target=overlap)
        other.start()
        inside.wait()
    warnings.warn("unheard: the other is still inside", stacklevel=1)
    left.set()
    other.join()
    assert state() == before


def test_silence_within_silence_lasts_as_long_as_the_outer_one():
    with silence():
        with silence():
            pass
        warnings.warn("unheard", stacklevel=1)


def interrupted(action, number):
    """Return True if an interrupt came at that call; calls are where Python looks for one."""
    left = number

    def count(frame, event, arg):
        nonlocal left
        left -= event in ("call", "c_call", "c_return")
        if left == 0:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        action()
        left = 0  # none comes any more
    except KeyboardInterrupt:
        return True
    sys.setprofile(None)
    return False


def test_an_interrupt_at_any_time_ends_the_silence():
    def visit():
        with silence():
            pass

    before, number = state(), 1
    while interrupted(visit, number):
        assert state() == before, number
        number += 1
    assert number > 10
