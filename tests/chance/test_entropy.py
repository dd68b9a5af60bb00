"""System dice give out fresh bytes once: to one thread, in one process, and keep no copy."""

import itertools
import os
import random
import signal
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SystemDice
from dplearn.chance.sources import CHUNK, Entropy, system_entropy

pytestmark = pytest.mark.system_entropy

HALF = Fraction(1, 2)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
# A fork while threads run is what these tests are about; Python 3.12 and later warn of it.
may_fork = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def in_child(function) -> bytes:
    """Run `function` in a forked child and return its bytes; a child that hangs is killed and gives none."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        os.write(writable, function())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def drawn(count: int) -> bytes:
    return SystemDice().below(256**count).to_bytes(count, "big")


class Counter8:
    """Stand in for os.urandom: consecutive numbers of eight bytes, so that each draw can be told."""

    def __init__(self):
        self.lock = threading.Lock()
        self.next = 1

    def __call__(self, count: int) -> bytes:
        with self.lock:
            first, self.next = self.next, self.next + -(-count // 8)
            return np.arange(first, self.next, dtype=">u8").tobytes()[:count]


def takers(entropy, size: int, threads: int = 8, each: int = 500) -> list[bytes]:
    """Take `each` pieces of `size` bytes in each of several threads that start together."""
    together = threading.Barrier(threads)
    taken = [[] for _ in range(threads)]

    def take(mine):
        together.wait()
        mine.extend(entropy.take(size) for _ in range(each))

    workers = [threading.Thread(target=take, args=(mine,)) for mine in taken]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    return list(itertools.chain(*taken))


def test_no_byte_of_the_system_is_given_out_twice_or_made_up(monkeypatch):
    # The source gives 1, 2, 3, ... as eight bytes each: whole numbers in what is taken are distinct, not 0.
    monkeypatch.setattr(os, "urandom", Counter8())
    mixed = [0, 7, CHUNK // 4, CHUNK // 4 + 1, CHUNK, 10**5]
    for sizes in ([1] * 9, [8, 3, 16_000, 5], [16_384] * 9, [20_000, 8] * 2, [9999] * 20, mixed):
        entropy, numbers = Entropy(), []
        for size in sizes:
            taken = entropy.take(size)
            assert len(taken) == size
            entropy.take(-size % 8)  # the next request begins with a whole number again
            numbers.extend(np.frombuffer(taken[: size // 8 * 8], dtype=">u8").tolist())
        assert 0 not in numbers
        assert len(set(numbers)) == len(numbers)


def test_what_was_given_out_is_wiped_from_the_buffer():
    entropy = Entropy()
    entropy.take(1000)
    taken = entropy.take(500)
    assert any(taken)
    assert not any(entropy.buffer[:1500])
    assert bytes(entropy.buffer[1500:]).count(0) < 1000  # of 64000 random bytes: 250 are expected


def test_a_refused_request_does_not_make_the_next_draws_known():
    # A negative count would move the cursor back, over bytes that are wiped: the next draws would be zeros.
    for draw in (lambda dice: dice.below(256, size=-64), lambda dice: dice.bernoulli(HALF, size=-32)):
        system_entropy.discard()
        dice = SystemDice()
        dice.below(256, size=1000)
        with pytest.raises(ValueError, match=r"size|count"):
            draw(dice)
        assert any(dice.below(256, size=64))  # all 64 are zero once in 2**512 runs
        assert vars(dice) == {}


def test_threads_never_share_bytes(monkeypatch):
    monkeypatch.setattr(os, "urandom", Counter8())
    taken = takers(Entropy(), 8)
    assert len(set(taken)) == len(taken) == 4000
    assert bytes(8) not in taken


def test_the_cursor_is_read_and_moved_under_the_lock_alone():
    class Watched(Entropy):
        held: list = []  # noqa: RUF012 - one per test

        @property
        def used(self):
            self.held.append(self.lock.locked())
            return self.cursor

        @used.setter
        def used(self, cursor):
            self.held.append(self.lock.locked())
            self.cursor = cursor

    entropy = Watched()
    entropy.held.clear()  # of the cursor's first value
    for _ in range(3):
        entropy.take(CHUNK // 5)
    assert len(entropy.held) >= 9
    assert all(entropy.held)


@needs_fork
@may_fork
def test_a_forked_child_draws_other_bytes_from_a_warm_buffer():
    system_entropy.take(8)
    rest = bytes(system_entropy.buffer[system_entropy.used :])
    child, other = (in_child(lambda: drawn(4096)) for _ in range(2))
    parents = system_entropy.take(4096)
    assert parents == rest[:4096]  # so the buffer was warm, and the child's share of it would have been these
    assert len(child) == len(other) == 4096
    assert child[:16] not in rest
    assert len({child, other, parents}) == 3


@needs_fork
@may_fork
def test_a_fork_is_noticed_by_the_number_too_and_without_both_a_child_repeats_its_parent(monkeypatch):
    """The control: this is what hook and number are for, and the test above would see it."""
    monkeypatch.setattr(os, "register_at_fork", lambda **hooks: None)
    entropy = Entropy()
    entropy.take(8)
    assert in_child(lambda: entropy.take(4096)) != entropy.take(4096)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    entropy = Entropy()
    entropy.take(8)
    assert in_child(lambda: entropy.take(4096)) == entropy.take(4096)


@needs_fork
@may_fork
def test_a_child_forked_while_another_thread_holds_the_lock_still_draws():
    held, done = threading.Event(), threading.Event()

    def hold():
        with system_entropy.lock:
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        childs = in_child(lambda: drawn(64))
    finally:
        done.set()
        holder.join()
    assert len(childs) == 64
    assert childs != drawn(64)


def test_the_global_generators_of_numpy_and_the_standard_library_are_left_alone():
    def states():
        kind, keys, *rest = np.random.get_state()
        return random.getstate(), kind, keys.tolist(), rest

    before = states()
    dice = SystemDice()
    dice.below(10, size=100)
    dice.bernoulli(Fraction(1, 3), size=100)
    dice.power_weighted(HALF, [0, 1], [1, 1])
    dice.permute_and_flip(HALF, [0, 1], [1, 1])
    dice.discrete_laplace(HALF, -9, 9, size=100)
    dice.discrete_gaussian(Fraction(100), size=100)
    assert states() == before
