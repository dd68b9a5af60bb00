"""Private state: one holder, one process, one thread at a time, and nothing to be seen."""

import copy
import errno
import gc
import os
import pickle
import stat
import threading
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor
from html import escape
from itertools import product

import joblib
import pytest
from sklearn.base import BaseEstimator, clone

from dplearn.privacy import OneTimeState
from dplearn.privacy import one_time_state as state_module

SECRET = "Xq7-secret"
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork or permissions of POSIX")


@pytest.fixture
def holder():
    return OneTimeState({"votes": [3, 1, 2], "name": SECRET})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state"


class Online(BaseEstimator):
    """An estimator that answers after its fit."""

    def __init__(self, level=1):
        self.level = level

    def fit(self, X=None, y=None):
        self.holder_ = OneTimeState({"name": SECRET})
        return self


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy])
def test_copies_share_the_state_which_is_used_in_place(holder, twin):
    with holder.use() as state:
        state["votes"].append(4)
    assert twin(holder) is holder
    with twin(holder).use() as state:
        assert state["votes"] == [3, 1, 2, 4]
    assert holder != OneTimeState({"votes": [3, 1, 2, 4], "name": SECRET})
    fitted = Online().fit()
    assert twin(fitted).holder_ is fitted.holder_
    assert clone(fitted).level == 1
    assert not hasattr(clone(fitted), "holder_")


def test_pickling_is_refused_and_says_what_to_do(holder):
    for value, protocol in product((holder, [holder], Online().fit()), range(pickle.HIGHEST_PROTOCOL + 1)):
        with pytest.raises(
            TypeError,
            match=r"not pickled: .*\.export\(path\), which closes .*\.load\(path\)",
        ):
            pickle.dumps(value, protocol)
    with pytest.raises(TypeError, match="not pickled"):
        joblib.hash(holder)


def test_the_state_goes_with_the_last_holder():
    class Weighty:
        pass

    state = Weighty()
    alive = weakref.ref(state)
    holder = OneTimeState(state)
    del state
    assert alive() is not None
    del holder
    gc.collect()
    assert alive() is None


# Nothing to be seen


def test_no_attribute_text_or_page_shows_the_state(holder):
    fitted = Online().fit()
    shown = [repr(holder), str(holder), f"{holder}", repr(fitted), fitted._repr_html_(), repr(vars(fitted))]
    shown += [repr(fitted.get_params()), repr([getattr(holder, name) for name in dir(holder)])]
    for text in shown:
        assert SECRET not in text
        assert escape(SECRET) not in text
    with pytest.raises(TypeError):
        vars(holder)
    with pytest.raises(AttributeError):
        holder.state = 1
    assert repr(holder) == "<OneTimeState>"


def seen_with_variables(error):
    """A traceback as pytest -l, rich and error trackers show it."""
    return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


@posix
def test_what_fails_leaves_the_holder_open_and_shows_nothing_of_the_state_in_tracebacks(
    holder, path, tmp_path, monkeypatch
):
    path.write_text("mine")
    with pytest.raises(FileExistsError) as existing:
        holder.export(path)
    with pytest.raises(FileNotFoundError) as nowhere:
        holder.export(tmp_path / "no" / "folder")
    with monkeypatch.context() as windows:
        windows.setattr(state_module.sys, "platform", "win32")
        with pytest.raises(OSError, match="cannot be exported on this system, win32") as elsewhere:
            holder.export(str(tmp_path / "other"))
    assert elsewhere.value.errno == errno.ENOTSUP
    unpicklable = OneTimeState(lambda: 0)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        unpicklable.export(tmp_path / "other")
    with holder.use(), pytest.raises(RuntimeError) as nested, holder.use():
        pass
    with pytest.raises(ZeroDivisionError), holder.use():
        raise ZeroDivisionError
    assert path.read_text() == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["state"]
    for each in (holder, unpicklable):
        with each.use() as state:
            assert state
    exporting = threading.Thread(target=holder.export, args=(tmp_path / "other",), daemon=True)
    exporting.start()
    exporting.join(timeout=10)
    assert holder.closed
    with pytest.raises(RuntimeError) as closed, holder.use():
        pass
    assert SECRET.encode() in (tmp_path / "other").read_bytes()
    os.truncate(tmp_path / "other", (tmp_path / "other").stat().st_size - 1)
    with pytest.raises(ValueError, match="not private state") as damaged:
        OneTimeState.load(tmp_path / "other")
    for refusal in (existing, nowhere, elsewhere, nested, closed, damaged):
        shown = seen_with_variables(refusal.value)
        assert "/one_time_state.py" in shown
        assert SECRET not in shown


def test_a_write_or_a_sync_that_fails_shows_nothing_of_the_state(holder, path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space left") as writing:
            holder.export(path)
    assert not holder.closed
    holder.export(path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space left") as loading:
            OneTimeState.load(path)
    for refusal in (writing, loading):
        assert SECRET not in seen_with_variables(refusal.value)
    assert [file.name for file in path.parent.iterdir()] == ["state"]
    assert not OneTimeState.load(path).closed


# One thread


def test_two_threads_never_use_the_state_at_once():
    holder, inside, most = OneTimeState([0]), [], []

    def work(_):
        for _ in range(3):
            with holder.use() as state:
                inside.append(1)
                most.append(len(inside))
                value = state[0]
                threading.Event().wait(0.001)  # in which the others would come in
                state[0] = value + 1
                inside.pop()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert set(most) == {1}
    with holder.use() as state:
        assert state == [24]


def test_an_interrupt_on_the_way_in_leaves_the_holder_usable(holder, monkeypatch):
    def set_and_stop(self, name, value):
        object.__setattr__(self, name, value)
        if (name, value) == ("in_use", True):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(state_module.Kept, "__setattr__", set_and_stop)
        with pytest.raises(KeyboardInterrupt), holder.use():
            pass
    with holder.use() as state:
        assert state["votes"] == [3, 1, 2]


def test_a_thread_that_uses_the_state_does_not_export_close_or_enter_again(holder, path):
    with holder.use() as state:
        for again in (lambda: holder.export(path), holder.close, lambda: holder.use().__enter__()):
            with pytest.raises(RuntimeError, match="in use by this thread: end that use first"):
                again()
        assert state["votes"] == [3, 1, 2]
    assert list(path.parent.iterdir()) == []
    holder.export(path)
    assert holder.closed


def test_an_export_or_a_close_closes_the_holder_and_a_load_opens_another(holder, path):
    holder.export(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for close in (lambda: None, holder.close):  # which keeps what is said of the export
        close()
        assert holder.closed
        with pytest.raises(RuntimeError, match=r"it was exported to .*state"), holder.use():
            pass
    again = OneTimeState.load(path)
    assert not again.closed
    with again.use() as state:
        assert state == {"votes": [3, 1, 2], "name": SECRET}
    assert list(path.parent.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="no private state to load, or it was loaded already"):
        OneTimeState.load(path)
    again.close()
    again.close()
    assert again.closed
    with pytest.raises(RuntimeError, match="cannot be used any more: it was closed"), again.use():
        pass
    with pytest.raises(RuntimeError, match="it was closed"):
        again.export("anywhere")


def test_of_eight_loads_of_one_file_one_wins(tmp_path, monkeypatch):
    for trial in range(10):
        path = tmp_path / str(trial)
        OneTimeState(trial).export(path)
        start = threading.Barrier(8)

        def load(_, path=path, start=start):
            start.wait()
            try:
                return OneTimeState.load(path)
            except FileNotFoundError:
                return None

        with ThreadPoolExecutor(8) as pool:
            won = [holder for holder in pool.map(load, range(8)) if holder is not None]
        assert len(won) == 1
        with won[0].use() as state:
            assert state == trial
    read = state_module.read_state

    def overtaken(source):
        read(source)
        source.unlink()  # as another load does between this one's look and its claim

    monkeypatch.setattr(state_module, "read_state", overtaken)
    OneTimeState(0).export(tmp_path / "late")
    with pytest.raises(FileNotFoundError, match="or it was loaded already"):
        OneTimeState.load(tmp_path / "late")


@posix
def test_a_file_with_two_names_is_not_loaded_under_either_and_through_a_symbolic_link_once(
    holder, path, tmp_path
):
    holder.export(path)
    twin, link = tmp_path / "twin", tmp_path / "link"
    os.link(path, twin)
    link.symlink_to(twin)
    for name in (path, twin, link):
        with pytest.raises(ValueError, match=r"private state that has 2 names \(links\)"):
            OneTimeState.load(name)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "state", "twin"]
    path.unlink()
    OneTimeState.load(link)
    assert not twin.exists()
    for name in (link, twin):
        with pytest.raises(FileNotFoundError, match="or it was loaded already"):
            OneTimeState.load(name)


KILLED = """
import os, signal, sys
from dplearn.privacy import OneTimeState
link = os.link
def link_and_die(*names):
    link(*names)
    os.kill(os.getpid(), signal.SIGKILL)
os.link = link_and_die
OneTimeState([1]).export(sys.argv[1])
"""


@posix
def test_an_export_that_is_killed_half_way_leaves_nothing_that_loads_twice(path, tmp_path, program):
    killed = program(KILLED, path)
    assert killed.returncode < 0
    left = list(tmp_path.iterdir())
    assert len(left) == 2
    for name in left:
        with pytest.raises(ValueError, match="2 names"):
            OneTimeState.load(name)
    next(name for name in left if name != path).unlink()
    assert not OneTimeState.load(path).closed


@posix
def test_a_link_that_worked_and_was_reported_as_failed_does_not_open_the_holder_again(
    holder, path, monkeypatch
):
    link = os.link

    def report(source, target):
        link(source, target)
        raise OSError(errno.EIO, "timed out")

    monkeypatch.setattr(os, "link", report)
    holder.export(path)
    assert holder.closed
    assert not OneTimeState.load(path).closed


@posix
def test_the_folder_is_on_the_disk_before_the_state_answers(holder, path, tmp_path, monkeypatch):
    holder.export(path)
    synced, sync = [], os.fsync

    def watch(descriptor):
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), len(list(tmp_path.iterdir()))))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    OneTimeState.load(path)
    assert synced[-1] == (True, 0)


class Shy:
    """Can be pickled, and not be unpickled."""

    def __reduce__(self):
        return int, ("not a number",)


def test_what_was_not_exported_or_cannot_be_read_here_is_refused_and_stays(holder, path, tmp_path):
    holder.export(path)
    content = path.read_bytes()
    OneTimeState(Shy()).export(tmp_path / "other")
    foreign = [b"", b"pickle", b"dplearn private state, version 2\n" + bytes(40)]
    foreign += [content[:-1], content[:60], content[:-5] + b"x" + content[-4:]]
    shy = (tmp_path / "other").read_bytes()
    for damaged in [*foreign, shy]:
        path.write_bytes(damaged)
        message = "invalid literal" if damaged is shy else "not private state that this version of dplearn"
        with pytest.raises(ValueError, match=message):
            OneTimeState.load(path)
        assert path.read_bytes() == damaged
    assert sorted(file.name for file in tmp_path.iterdir()) == ["other", "state"]


FORK = """
import os
from dplearn.privacy import OneTimeState
holder = OneTimeState([1])
with holder.use():  # the child's copy of the lock stays held
    number = os.getpid()
    os.getpid = lambda: number  # as in two nested containers: only the token of the process differs
    child = os.fork()
    if not child:
        try:
            with holder.use():
                print("answered twice", flush=True)
        except RuntimeError as error:
            print(error, holder.closed, flush=True)
        try:
            holder.export("anywhere")
        except RuntimeError:
            print("not exported", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
with holder.use() as state:
    print(state)
"""


@posix
def test_a_forked_child_finds_its_holder_closed(program):
    done = program(FORK)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "this private state belongs to the process that this one was forked from True",
        "not exported",
        "[1]",
    ]
