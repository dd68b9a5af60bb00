"""The storage of ledgers: one account in memory or in a file, through damage, threads, forks and kills."""

import copy
import os
import pickle
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from dplearn.privacy import ApproxDP, BudgetExceededError, LedgerError, PrivacyLedger, ledger_storage

TENTH = ApproxDP(0.1)
#: How often a race is run.
races = pytest.mark.parametrize("trials", [20, pytest.param(100, marks=pytest.mark.nightly)])
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, permissions or signals of POSIX")


@pytest.fixture
def ledger(path):
    """A ledger with 0.1 of 1 spent."""
    ledger = PrivacyLedger(1, path=path)
    ledger.charge(TENTH, estimator="Stump")
    return ledger


def sql(path, statement):
    with closing(sqlite3.connect(path)) as db, db:
        return db.execute(statement).fetchall()


# One account


def test_a_file_is_opened_again_with_its_budget_and_its_releases(ledger, path, script):
    for again in (PrivacyLedger(1, path=path), PrivacyLedger.open(path), PrivacyLedger.open(str(path))):
        assert again.history() == ledger.history()
        assert again.budget == ApproxDP(1)
        assert again.path == str(path)
        assert repr(again) == f"PrivacyLedger(epsilon=1, delta=0, path={str(path)!r})"
    assert script("print(PrivacyLedger.open(sys.argv[1]).remaining().epsilon)", path) == ["9/10"]


def test_all_settings_are_kept_in_the_file(tmp_path):
    for number, ledger in enumerate(
        [
            PrivacyLedger("1/3", 1e-7, tmp_path / "0", neighbors="add_remove", allow_reproducible=True),
            PrivacyLedger.of_rho("1/7", tmp_path / "1", protects="labels"),
        ]
    ):
        assert repr(PrivacyLedger.open(tmp_path / str(number))) == repr(ledger)
        assert PrivacyLedger.open(tmp_path / str(number)).budget == ledger.budget


@pytest.mark.parametrize(
    "other",
    [
        lambda path: PrivacyLedger(2, path=path),
        lambda path: PrivacyLedger(1, 1e-9, path),
        lambda path: PrivacyLedger(1, path=path, neighbors="add_remove"),
        lambda path: PrivacyLedger(1, path=path, protects="labels"),
        lambda path: PrivacyLedger(1, path=path, allow_reproducible=True),
        lambda path: PrivacyLedger.of_rho(1, path),
    ],
)
def test_opened_again_for_anything_else_it_says_what_it_was_opened_for(ledger, path, other):
    with pytest.raises(
        LedgerError, match=r"was opened for epsilon 1, delta 0, .* and now for .*\.open takes"
    ):
        other(path)
    assert ledger.spent() == TENTH


def test_two_objects_links_relative_paths_and_pickles_are_one_account(ledger, path, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    relative = PrivacyLedger(1, path="budget.ledger")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    others = [relative, PrivacyLedger.open("../link"), copy.copy(ledger), copy.deepcopy(ledger)]
    others.append(pickle.loads(pickle.dumps(ledger)))
    for other in others:
        other.charge(TENTH)
    assert ledger.spent() == ApproxDP(0.6)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_names_with_signs_that_mean_something_to_sqlite_are_names(tmp_path):
    for name in ("a?mode=memory", "b#c", "d%20e", ":memory:", "é ü", "f'g"):
        PrivacyLedger(1, path=tmp_path / name).charge(TENTH)
        assert (tmp_path / name).is_file()
        assert PrivacyLedger.open(tmp_path / name).spent() == TENTH


def test_only_the_file_is_left_behind(ledger, path):
    assert [file.name for file in path.parent.iterdir()] == [path.name]


# What is no ledger, and what has become of one


def foreign(path):
    sql(path, "CREATE TABLE entries (number, text, digest)")


def newer(path):
    PrivacyLedger(1, path=path)
    sql(path, "PRAGMA user_version = 2")


def halved(path):
    PrivacyLedger(1, path=path)
    os.truncate(path, path.stat().st_size // 2)


def forged(path):
    PrivacyLedger(1, path=path).charge(TENTH)
    sql(path, "UPDATE entries SET text = replace(text, '1/10', '0') WHERE number = 1")


def richer(path):
    PrivacyLedger(1, path=path).charge(TENTH)
    sql(
        path,
        """UPDATE entries SET text = replace(text, '"epsilon": "1"', '"epsilon": "9"') WHERE number = 0""",
    )


def headless(path):
    PrivacyLedger(1, path=path).charge(TENTH)
    sql(path, "DELETE FROM entries WHERE number = 0")


def gap(path):
    for _ in range(3):
        PrivacyLedger(1, path=path).charge(TENTH)
    sql(path, "DELETE FROM entries WHERE number = 2")


def shortened(path):
    for _ in range(3):
        PrivacyLedger(1, path=path).charge(TENTH)
    sql(path, "DELETE FROM entries WHERE number > 1")


def endless(path):
    PrivacyLedger(1, path=path)
    sql(path, "DELETE FROM entries WHERE number < 0")


def not_text(path):
    PrivacyLedger(1, path=path).charge(TENTH)
    sql(path, "UPDATE entries SET text = x'ff00' WHERE number = 1")


def tableless(path):
    PrivacyLedger(1, path=path)
    sql(path, "DROP TABLE entries")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Path.mkdir, "is not a file"),
        (Path.touch, "is not a ledger"),
        (lambda path: path.write_text("epsilon = 1\n" * 100), "is not a ledger"),
        (foreign, "is not a ledger"),
        (newer, "is a ledger of version 2; this release reads 1"),
        (halved, "is damaged|is not a ledger"),
        (forged, "is damaged at entry 1"),
        (richer, "is damaged at its head"),
        (headless, "is damaged at its head"),
        (gap, "is damaged at entry 2"),
        (shortened, "is damaged at its end"),
        (endless, "is damaged at its end"),
        (not_text, "is damaged at entry 1"),
        (tableless, "cannot be used: no such table"),
        pytest.param(os.mkfifo, "is not a file", marks=posix),
        (lambda path: path.symlink_to(path), "cannot be a ledger|is not a file|cannot be made"),
    ],
)
def test_what_is_no_ledger_is_refused_and_left_as_it_is(path, make, message):
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for opened in (PrivacyLedger.open, lambda path: PrivacyLedger(1, path=path)):
        with pytest.raises(LedgerError, match=message):
            opened(path)
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("name", ["absent", "no/such/folder", "nul\0byte", "x" * 300])
def test_a_path_that_leads_nowhere_is_refused(tmp_path, name):
    with pytest.raises(LedgerError, match=r"does not exist|cannot be"):
        PrivacyLedger.open(tmp_path / name)
    if name != "absent":
        with pytest.raises(LedgerError, match=r"cannot be|does not exist"):
            PrivacyLedger(1, path=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_gone_is_not_made_again(ledger, path):
    path.unlink()
    for use in (lambda: ledger.charge(TENTH), ledger.spent, ledger.history, ledger.to_json):
        with pytest.raises(LedgerError, match="does not exist"):
            use()
    assert "does not exist" in str(ledger)
    assert "does not exist" in ledger._repr_html_()
    assert repr(ledger).startswith("PrivacyLedger(")
    assert not path.exists()


def test_a_file_that_was_replaced_is_not_charged(ledger, path):
    path.unlink()
    other = PrivacyLedger(1, path=path)
    with pytest.raises(LedgerError, match="another ledger has taken the place of the one opened"):
        ledger.charge(TENTH)
    assert other.spent() == ApproxDP(0)


@pytest.mark.parametrize("end", ["-journal", "-wal"])
def test_a_file_of_which_only_the_log_is_left_is_not_made_again(path, end):
    Path(f"{path}{end}").write_bytes(b"charges")
    with pytest.raises(LedgerError, match=rf"is gone, but its budget\.ledger{end} is there"):
        PrivacyLedger(1, path=path)
    assert not path.exists()


@posix
def test_a_file_with_two_names_is_refused_under_both_until_one_is_removed(ledger, path, tmp_path):
    second = tmp_path / "second"
    os.link(path, second)
    for name in (path, second):
        with pytest.raises(LedgerError, match="has a second name, a hard link, which must be removed"):
            PrivacyLedger.open(name)
    with pytest.raises(LedgerError, match="second name"):
        ledger.charge(TENTH)
    second.unlink()
    assert ledger.spent() == TENTH


def test_a_file_that_another_program_gave_a_log_is_one_file_again(ledger, path):
    assert sql(path, "PRAGMA journal_mode = WAL") == [("wal",)]
    ledger.charge(TENTH)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert ledger.spent() == ApproxDP(0.2)


def test_a_file_that_lost_its_last_entries_is_not_charged(ledger, path):
    sql(path, "DELETE FROM entries WHERE number = 1")
    for use in (lambda: ledger.charge(TENTH), ledger.remaining, ledger.history):
        with pytest.raises(LedgerError, match="is damaged at its end"):
            use()


def test_a_file_that_becomes_damaged_is_not_charged(ledger, path):
    with path.open("r+b") as file:
        file.write(b"not SQLite any more")
    damaged = path.read_bytes()
    with pytest.raises(LedgerError, match=r"is not a ledger|is damaged"):
        ledger.charge(TENTH)
    assert path.read_bytes() == damaged


@pytest.mark.nightly
def test_whatever_byte_is_damaged_it_never_shows_less_spent(path, tmp_path):
    ledger = PrivacyLedger(1, path=path)
    for _ in range(9):
        ledger.charge(TENTH)
    whole, chosen = path.read_bytes(), random.Random(0)  # public positions
    noticed = 0
    for trial in range(400):
        damaged = bytearray(whole)
        for _ in range(1 + trial % 3):
            damaged[chosen.randrange(len(whole))] ^= 1 << chosen.randrange(8)
        file = tmp_path / f"{trial}"
        file.write_bytes(damaged)
        try:
            opened = PrivacyLedger.open(file, timeout=0)
            assert opened.spent().epsilon >= ledger.spent().epsilon
            assert not opened.can_afford(ApproxDP(0.2))
        except LedgerError:
            noticed += 1
    assert noticed > 20  # most bytes of a small file are in no row


def test_a_locked_file_is_waited_for_and_then_refused(ledger, path):
    impatient = PrivacyLedger.open(path, timeout=0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            LedgerError, match=r"is locked by another process or thread, for more than 0\.01 seconds"
        ):
            impatient.charge(TENTH)
        db.execute("ROLLBACK")
    impatient.charge(TENTH)
    assert ledger.spent() == ApproxDP(0.2)


READ_ONLY = """
folder, (mode, folder_mode) = Path(sys.argv[1]), (int(text, 8) for text in sys.argv[2:])
file = folder / "l"
PrivacyLedger(1, path=file).charge(ApproxDP(0.1))
os.chmod(file, mode)
os.chmod(folder, folder_mode)
if os.getuid() == 0:  # whom no permission binds
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for name in ("l", "new"):
    try:
        PrivacyLedger(1, path=folder / name).charge(ApproxDP(0.1))
        print("charged")
    except LedgerError as error:
        print("refused:" + str(error).removeprefix(str(folder / name)))
"""


@posix
@pytest.mark.parametrize(
    ("mode", "folder_mode", "expected"),
    [
        ("444", "555", ["refused: cannot be (opened|written to)", "refused: cannot be made: .*"]),
        ("444", "777", ["refused: cannot be (opened|written to)", "charged"]),
        ("666", "000", ["refused:.* cannot be .*"] * 2),
    ],
)
def test_what_cannot_be_written_is_refused(mode, folder_mode, expected, script):
    with tempfile.TemporaryDirectory() as folder:
        lines = script(READ_ONLY, folder, mode, folder_mode)
        os.chmod(folder, 0o700)
        for line, wanted in zip(lines, expected, strict=True):
            assert re.fullmatch(wanted, line), line
        assert PrivacyLedger.open(Path(folder) / "l").spent() == TENTH


FULL = """
import resource
ledger = PrivacyLedger(1, path=sys.argv[1])
size = os.stat(sys.argv[1]).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # the log of one charge is longer than a new ledger
try:
    for _ in range(5):
        ledger.charge(ApproxDP(0.1))
        print("charged")
except LedgerError as error:
    print("refused")
"""


@posix
def test_a_disk_that_takes_no_more_refuses_and_loses_nothing(path, script):
    lines = script(FULL, path)
    assert lines[-1] == "refused"
    assert PrivacyLedger.open(path).spent().epsilon == TENTH.epsilon * lines.count("charged")


def test_a_file_that_is_locked_keeps_no_other_ledger_and_no_fork_waiting(ledger, path, tmp_path):
    other = PrivacyLedger(1, path=tmp_path / "other", timeout=0)
    with closing(sqlite3.connect(path, isolation_level=None)) as db, ThreadPoolExecutor(1) as pool:
        db.execute("BEGIN IMMEDIATE")
        waiting = pool.submit(ledger.charge, TENTH)
        for _ in range(20):
            other.charge(ApproxDP(0.01))
        assert not waiting.done()
        db.execute("ROLLBACK")
        waiting.result()
    assert ledger.spent() == ApproxDP(0.2)


INTERRUPTED = """
import random, signal
def stop(*arguments):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)
ledger, chosen, charged = PrivacyLedger(10**6, path=sys.argv[1], timeout=1), random.Random(0), 0
for _ in range(int(sys.argv[2])):
    try:
        signal.setitimer(signal.ITIMER_REAL, chosen.uniform(1e-5, 5e-3))
        while True:
            ledger.charge(ApproxDP(1))
            charged += 1
    except KeyboardInterrupt:
        pass
signal.setitimer(signal.ITIMER_REAL, 0)
spent = PrivacyLedger.open(sys.argv[1], timeout=1).spent().epsilon
child = os.fork()
if not child:
    ledger.charge(ApproxDP(1))
    os._exit(0)
print(charged <= spent <= charged + int(sys.argv[2]), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@posix
@pytest.mark.parametrize("times", [100, pytest.param(300, marks=pytest.mark.nightly)])
def test_an_interrupt_at_any_moment_leaves_no_lock_behind_and_loses_no_charge(path, script, times):
    assert script(INTERRUPTED, path, times) == ["True 0"]


def test_a_copy_of_the_file_is_another_budget_as_the_guide_says(ledger, path, tmp_path):
    shutil.copy(path, tmp_path / "copy")
    PrivacyLedger.open(tmp_path / "copy").charge(TENTH)
    assert ledger.spent() == TENTH


def test_every_operation_writes_through_to_the_disk(ledger, path, monkeypatch):
    settings, connect = [], sqlite3.connect

    class Watched(sqlite3.Connection):
        def close(self):
            names = ("journal_mode", "synchronous", "fullfsync")
            settings.append([self.execute(f"PRAGMA {name}").fetchone()[0] for name in names])
            super().close()

    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, factory=Watched, **kwargs))
    PrivacyLedger(1, path=path.with_name("new")).charge(TENTH)
    assert len(settings) >= 4
    assert all(each == ["delete", 3, 1] for each in settings)  # 3 is EXTRA


def test_a_ledger_that_another_has_just_made_and_is_charging_is_opened(path, monkeypatch):
    """The file was absent at first, and its journal exists when this process is about to make the file."""
    make = ledger_storage._create

    def overtaken(file, rule):
        monkeypatch.setattr(ledger_storage, "_create", make)
        PrivacyLedger(1, path=path)
        journal = Path(f"{path}-journal")
        journal.touch()  # an empty one undoes nothing
        make(file, rule)

    monkeypatch.setattr(ledger_storage, "_create", overtaken)
    assert PrivacyLedger(1, path=path).spent().epsilon == 0


# Threads and processes


@races
def test_eight_threads_never_overspend_in_a_file(tmp_path, trials):
    for trial in range(trials):
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
@races
def test_four_processes_make_one_ledger_and_never_overspend(tmp_path, script, trials):
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
from dplearn.privacy.privacy_filter import PrivacyFilter
def slow(self, spent, cost, original=PrivacyFilter.after):
    inside.set()
    go_on.wait(0.2)
    return original(self, spent, cost)
PrivacyFilter.after = slow
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
from dplearn.privacy import ledger_storage
ledger = PrivacyLedger(1)
ledger.charge(ApproxDP(0.1))
lock = next(iter(ledger_storage._BOOKS.values())).lock
lock.acquire()  # as a thread would that the child does not have
child = os.fork()
if not child:
    guarantee = ApproxDP(0.1)
    for use in (lambda: ledger.charge(guarantee), lambda: ledger.can_afford(guarantee), ledger.history):
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
for _ in range(int(sys.argv[2])):
    ledger.charge(ApproxDP(1))
    charged += 1
stop.set()
thread.join()
print(charged)
"""


@posix
@pytest.mark.parametrize("charges", [50, pytest.param(150, marks=pytest.mark.nightly)])
def test_a_thread_that_reads_the_file_loses_no_charge(path, script, charges):
    PrivacyLedger(1000, path=path)
    with ThreadPoolExecutor(2) as pool:
        lines = list(pool.map(lambda _: script(READ_BY_A_THREAD, path, charges), range(2)))
    assert lines == [[f"{charges}"]] * 2
    assert len(PrivacyLedger.open(path).history()) == 2 * charges


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
from dplearn.privacy.privacy_filter import PrivacyFilter
def slow(self, spent, cost, original=PrivacyFilter.after):
    inside.set()
    go_on.wait()
    return original(self, spent, cost)
PrivacyFilter.after = slow
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


# Systems without file locks


@posix
def test_a_system_without_file_locks_neither_makes_nor_uses_a_file(ledger, path, tmp_path, monkeypatch):
    monkeypatch.setattr(ledger_storage, "fcntl", None)  # as after a failed import
    monkeypatch.setattr(sys, "platform", "win32")
    why = r"needs file locks \(fcntl\), which this system, win32, does not have: leave path=None"
    for use in (
        lambda: PrivacyLedger(1, path=tmp_path / "new"),
        lambda: PrivacyLedger.open(path),
        lambda: pickle.loads(pickle.dumps(ledger)).remaining(),
        lambda: ledger.charge(TENTH),
    ):
        with pytest.raises(LedgerError, match=why):
            use()
    assert [file.name for file in tmp_path.iterdir() if file.name == "new" or file.name[0] == "."] == []
    in_memory = PrivacyLedger(1)
    in_memory.charge(TENTH)
    assert in_memory.spent() == TENTH


def test_without_the_module_of_locks_the_package_imports_and_a_ledger_in_memory_works():
    hidden = "import sys; sys.modules['fcntl'] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{hidden}from dplearn import PrivacyLedger; print(repr(PrivacyLedger(1)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "PrivacyLedger(epsilon=1, delta=0)\n"
