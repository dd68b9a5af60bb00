"""One account for many threads and processes, through forks and kills."""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dplearn.privacy import ApproxDP, BudgetExceededError, PrivacyLedger

TENTH = ApproxDP(0.1)
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals of POSIX")


def test_eight_threads_never_overspend(tmp_path):
    for trial in range(100):
        ledger = PrivacyLedger(0.1, path=tmp_path / str(trial))
        start = threading.Barrier(8)

        def last_unit(_, ledger=ledger, start=start):
            start.wait()
            try:
                ledger.charge(TENTH)
            except BudgetExceededError:
                return 0
            return 1

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(last_unit, range(8))) == 1
        assert ledger.spent() == TENTH


RACE = """
import multiprocessing
folder, trials = Path(sys.argv[1]), int(sys.argv[2])
context = multiprocessing.get_context("fork")

def tries(ledger, epsilon):
    try:
        ledger.charge(ApproxDP(epsilon))
    except BudgetExceededError:
        return 0
    return 1

def work(start, won):
    for trial in range(trials):
        start.wait()
        ledger = PrivacyLedger(1, path=folder / str(trial))  # which one of the four makes
        first = tries(ledger, 0.3)
        start.wait()
        won.put((trial, first, tries(ledger, 0.1)))

start, won = context.Barrier(4, timeout=60), context.Queue()
workers = [context.Process(target=work, args=(start, won)) for _ in range(4)]
for worker in workers:
    worker.start()
for _ in range(4 * trials):
    print(*won.get(timeout=60))
"""


@posix
def test_four_processes_make_one_ledger_and_never_overspend(tmp_path, script):
    trials = 100
    rows = [tuple(map(int, line.split())) for line in script(RACE, tmp_path, trials)]
    assert len(rows) == 4 * trials
    for trial in range(trials):
        mine = [row for row in rows if row[0] == trial]
        assert sum(first for _, first, _ in mine) == 3
        assert sum(last for _, _, last in mine) == 1
        assert PrivacyLedger.open(tmp_path / str(trial)).spent() == ApproxDP(1)
    assert len(list(tmp_path.iterdir())) == trials


FORK = """
import threading
ledger, inside, go_on = PrivacyLedger(1, path=sys.argv[1]), threading.Event(), threading.Event()
from dplearn.privacy import terms
def slow(self, spent, cost, original=terms.Terms.after):
    inside.set()
    go_on.wait(0.2)
    return original(self, spent, cost)
terms.Terms.after = slow
thread = threading.Thread(target=ledger.charge, args=(ApproxDP(0.1),))
thread.start()
inside.wait()
child = os.fork()  # waits until the other thread has closed the file
if not child:
    ledger.charge(ApproxDP(0.1))
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
print(ledger.spent().epsilon)
"""


@posix
def test_a_child_forked_in_the_middle_of_a_charge_uses_the_ledger_as_any_other(path, script):
    assert script(FORK, path) == ["0", "1/5"]


MEMORY = """
import pickle, threading
from dplearn.privacy import accounts
ledger = PrivacyLedger(1)
ledger.charge(ApproxDP(0.1))
lock = next(iter(accounts._BOOKS.values())).lock
lock.acquire()  # as a thread would that the child does not have
child = os.fork()
if not child:
    promise = ApproxDP(0.1)
    for use in (lambda: ledger.charge(promise), lambda: ledger.can_afford(promise), ledger.history):
        try:
            use()
        except LedgerError as error:
            print(error, flush=True)
    print(ledger, flush=True)
    PrivacyLedger(1).charge(ApproxDP(1))
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
lock.release()
print(ledger.spent().epsilon)
"""
ELSEWHERE = "this ledger lives in the memory of another process; give it a path=... to share it"


@posix
def test_a_forked_child_does_not_have_a_ledger_in_memory(script):
    shown = f"PrivacyLedger(epsilon=1, delta=0): {ELSEWHERE}"
    assert script(MEMORY) == [ELSEWHERE] * 3 + [shown, "0", "1/10"]


def test_another_process_does_not_have_a_ledger_in_memory(tmp_path, script):
    (tmp_path / "pickled").write_bytes(pickle.dumps(PrivacyLedger(1)))
    source = """
import pickle
ledger = pickle.loads(Path(sys.argv[1]).read_bytes())
try:
    ledger.charge(ApproxDP(0.1))
except LedgerError as error:
    print(repr(ledger), error)
"""
    assert script(source, tmp_path / "pickled") == [f"PrivacyLedger(epsilon=1, delta=0) {ELSEWHERE}"]


KILLED = """
import random, signal
file, released = sys.argv[1:]
PrivacyLedger(100, path=file)
for kill in range(15):
    before = os.path.getsize(released)
    child = os.fork()
    if not child:
        ledger = PrivacyLedger.open(file)
        out = os.open(released, os.O_APPEND | os.O_WRONLY)
        while True:
            ledger.charge(ApproxDP("0.001"))
            os.write(out, b"x")
            os.fsync(out)
    while os.path.getsize(released) == before:
        time.sleep(0.001)
    time.sleep(random.Random(kill).random() / 20)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(PrivacyLedger.open(file).spent().epsilon * 1000, os.path.getsize(released))
"""


@posix
def test_whenever_a_process_is_killed_all_that_it_released_is_charged(path, tmp_path, script):
    (tmp_path / "released").touch()
    rows = [tuple(map(int, line.split())) for line in script(KILLED, path, tmp_path / "released")]
    assert len(rows) == 15
    for kills, (spent, released) in enumerate(rows, start=1):
        assert kills <= released <= spent <= released + kills  # one charge at most is lost for each kill


READ_BY_A_THREAD = """
import threading
ledger, stop, charged = PrivacyLedger(1000, path=sys.argv[1]), threading.Event(), 0
def read():
    while not stop.is_set():
        Path(sys.argv[1]).read_bytes()  # to close any descriptor of a file drops SQLite's locks
thread = threading.Thread(target=read, daemon=True)
thread.start()
for _ in range(150):
    ledger.charge(ApproxDP(1))
    charged += 1
stop.set()
thread.join()
print(charged)
"""


@posix
def test_a_thread_that_reads_the_file_loses_no_charge(path, script):
    PrivacyLedger(1000, path=path)
    with ThreadPoolExecutor(2) as pool:
        lines = list(pool.map(lambda _: script(READ_BY_A_THREAD, path), range(2)))
    assert lines == [["150"]] * 2
    assert len(PrivacyLedger.open(path).history()) == 300


CRASHED = """
import signal, sqlite3
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("SELECT * FROM entries").fetchall()  # somebody else has the file open
PrivacyLedger.open(sys.argv[1]).charge(ApproxDP(1))
print("released", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_after_a_crash_the_file_alone_holds_every_charge(path, tmp_path):
    PrivacyLedger(1, path=path)
    source = f"import os, sys\nfrom dplearn.privacy import *\n{CRASHED}"
    done = subprocess.run([sys.executable, "-c", source, path], capture_output=True, text=True, check=False)
    assert done.stdout == "released\n"
    assert PrivacyLedger.open(path.rename(tmp_path / "moved")).remaining() == ApproxDP(0)


FORKED_INSIDE = """
import threading
ledger, inside, go_on = PrivacyLedger(1, path=sys.argv[1], timeout=1), threading.Event(), threading.Event()
from dplearn.privacy import sessions, terms
def slow(self, spent, cost, original=terms.Terms.after):
    inside.set()
    go_on.wait()
    return original(self, spent, cost)
terms.Terms.after = slow
thread = threading.Thread(target=ledger.charge, args=(ApproxDP("1/2"),))
thread.start()
inside.wait()
import signal
def stop(*arguments):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)
sys.unraisablehook = lambda report: os.write(1, report.exc_type.__name__.encode() + b"\\n")
signal.setitimer(signal.ITIMER_REAL, 0.3)  # ends the fork's wait: Python reports it, and forks
child = os.fork()
if not child:
    for use in (lambda: ledger.charge(ApproxDP("1/2")), ledger.spent):
        try:
            use()
        except LedgerError as error:
            os.write(1, str(error).partition("cannot be used: ")[2].encode() + b"\\n")
    if not os.fork():  # which waits for nobody either
        os._exit(0)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
go_on.set()
thread.join()
ledger.charge(ApproxDP("1/2"))
print(ledger.remaining().epsilon)
"""


@posix
def test_a_child_forked_without_the_wait_cannot_use_a_ledger_and_harms_none(path, script):
    why = "this process was forked while a ledger was in use; start a new one"
    lines = script(FORKED_INSIDE, path)
    assert lines[-2:] == ["0", "0"]  # how the child ended, and what remains
    assert sorted(lines[:-2]) == ["KeyboardInterrupt", "RuntimeError", why, why]


NAMESAKE = """
ledger, number = PrivacyLedger(1), os.getpid()
os.getpid = lambda: number  # as where two containers count alike, or a number comes round again
child = os.fork()
if not child:
    try:
        ledger.charge(ApproxDP(1))
    except LedgerError:
        print("refused", flush=True)
    os._exit(0)
os.waitpid(child, 0)
ledger.charge(ApproxDP(1))
"""


@posix
def test_a_forked_child_of_the_same_number_does_not_have_a_ledger_in_memory(script):
    assert script(NAMESAKE) == ["refused"]
