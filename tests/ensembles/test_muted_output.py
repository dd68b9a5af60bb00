"""No warning is shown while any thread is inside the context, and warnings are shown again afterwards."""

import sys
import threading
import warnings

import pytest

from dplearn.ensembles import muted_output as module
from dplearn.ensembles.muted_output import muted_output


def state():
    return list(warnings.filters), warnings.showwarning, warnings._showwarnmsg_impl


def test_warnings_are_shown_again_afterwards():
    before = state()
    with muted_output():
        warnings.warn("unheard", stacklevel=1)
    assert state() == before
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)


def test_an_error_inside_ends_the_context_too():
    before = state()
    with pytest.raises(KeyError), muted_output():
        raise KeyError
    assert state() == before


def test_the_last_thread_to_leave_restores_the_filters_that_the_first_found():
    before, inside, left = state(), threading.Event(), threading.Event()

    def overlap():
        with muted_output():
            inside.set()
            left.wait()

    with muted_output():
        other = threading.Thread(target=overlap)
        other.start()
        inside.wait()
    warnings.warn("unheard: the other is still inside", stacklevel=1)
    left.set()
    other.join()
    assert state() == before


def test_a_nested_context_ends_with_the_outer_one():
    with muted_output():
        with muted_output():
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
        left = 0  # no further interrupt
    except KeyboardInterrupt:
        return True
    sys.setprofile(None)
    return False


def test_an_interrupt_at_any_time_ends_the_muted_output(monkeypatch):
    # A profiler can raise before `with` calls the `__exit__` of the lock, unlike an interrupt. This thread
    # then holds the lock for ever, and other threads wait. So the test uses a lock of its own.
    monkeypatch.setattr(module, "_lock", threading.RLock())

    def visit():
        with muted_output():
            pass

    before, number = state(), 1
    while interrupted(visit, number):
        assert state() == before, number
        number += 1
    assert number > 10
