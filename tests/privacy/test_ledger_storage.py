"""The storage of ledgers: one account in memory or in a file, through damage, threads, forks and kills."""

import copy
import os
import pickle
import random
import re
import sqlite3
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
races = pytest.mark.parametrize("trials", [5, pytest.param(100, marks=pytest.mark.nightly)])
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


def test_all_settings_are_kept_in_the_file_and_it_is_opened_for_no_others(ledger, path, tmp_path):
    for number, make in enumerate(
        (
            lambda at: PrivacyLedger("1/3", 1e-7, at, neighbors="add_remove", allow_reproducible=True),
            lambda at: PrivacyLedger.of_rho("1/7", at, protects="labels"),
            lambda at: PrivacyLedger(2, path=at),
            lambda at: PrivacyLedger(1, 1e-9, at),
            lambda at: PrivacyLedger(1, path=at, neighbors="add_remove"),
            lambda at: PrivacyLedger(1, path=at, protects="labels"),
            lambda at: PrivacyLedger(1, path=at, allow_reproducible=True),
        )
    ):
        made, again = make(tmp_path / str(number)), PrivacyLedger.open(tmp_path / str(number))
        assert (repr(again), again.budget) == (repr(made), made.budget)
        with pytest.raises(
            LedgerError, match=r"was opened for epsilon 1, delta 0, .* and now for .*\.open takes"
        ):
            make(path)
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
    names = {"a?mode=memory", "b#c", "d%20e", ":memory:", "é ü", "f'g"}
    for name in names:
        PrivacyLedger(1, path=tmp_path / name).charge(TENTH)
        assert (tmp_path / name).is_file()
        assert PrivacyLedger.open(tmp_path / name).spent() == TENTH
    assert {file.name for file in tmp_path.iterdir()} == names  # nothing else is left behind


# What is no ledger, and what has become of one


def foreign(path):
    path.unlink()
    sql(path, "CREATE TABLE entries (number, text, digest)")


def other(make):
    """Put something else in the place of the file."""

    def replaced(path):
        path.unlink()
        make(path)

    return replaced


#: By what is said: what is done to the file of a ledger with three charges; texts are for SQLite.
DAMAGE = [
    ("is not a file", other(Path.mkdir)),
    ("is not a ledger", other(Path.touch)),
    ("is not a ledger", lambda path: path.write_text("epsilon = 1\n" * 100)),
    ("is not a ledger", foreign),
    ("is damaged|is not a ledger", lambda path: os.truncate(path, path.stat().st_size // 2)),
    (
        "is damaged|is not a ledger",
        lambda path: path.write_bytes(b"no SQLite any more" + path.read_bytes()[18:]),
    ),
    ("cannot be a ledger|is not a file|cannot be made", other(lambda path: path.symlink_to(path))),
    pytest.param("is not a file", other(os.mkfifo), marks=posix),
    ("is a ledger of version 2; this release reads 1", "PRAGMA user_version = 2"),
    ("is damaged at entry 1", "UPDATE entries SET text = replace(text, '1/10', '0') WHERE number = 1"),
    (
        "is damaged at its head",
        """UPDATE entries SET text = replace(text, '"epsilon": "1"', '"epsilon": "9"') WHERE number = 0""",
    ),
    ("is damaged at its head", "DELETE FROM entries WHERE number = 0"),
    ("is damaged at entry 2", "DELETE FROM entries WHERE number = 2"),
    ("is damaged at its end", "DELETE FROM entries WHERE number > 1"),
    ("is damaged at its end", "DELETE FROM entries WHERE number < 0"),
    ("is damaged at entry 1", "UPDATE entries SET text = x'ff00' WHERE number = 1"),
    ("cannot be used: no such table", "DROP TABLE entries"),
]


@pytest.mark.parametrize(("message", "damage"), DAMAGE)
def test_what_is_no_ledger_any_more_is_refused_opened_before_or_now_and_left_as_it_is(
    ledger, path, message, damage
):
    for _ in range(2):
        ledger.charge(TENTH)
    if isinstance(damage, str):
        sql(path, damage)
    else:
        damage(path)
    before = path.read_bytes() if path.is_file() else None
    for opened in (PrivacyLedger.open, lambda path: PrivacyLedger(1, path=path)):
        with pytest.raises(LedgerError, match=message):
            opened(path)
    # A charge reads the first and the last entry, which has the sum; whatever shows releases reads all.
    charges = [] if message == "is damaged at entry 1" else [lambda: ledger.charge(TENTH), ledger.remaining]
    for use in (*charges, ledger.history):
        with pytest.raises(LedgerError):
            use()
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("name", ["absent", "no/such/folder", "nul\0byte", "x" * 300])
def test_a_path_that_leads_nowhere_is_refused(tmp_path, name):
    with pytest.raises(LedgerError, match=r"does not exist|cannot be"):
        PrivacyLedger.open(tmp_path / name)
    if name != "absent":
        with pytest.raises(LedgerError, match=r"cannot be|does not exist"):
            PrivacyLedger(1, path=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_gone_is_not_made_again_and_another_in_its_place_is_not_charged(ledger, path):
    path.unlink()
    for use in (lambda: ledger.charge(TENTH), ledger.spent, ledger.history, ledger.to_json):
        with pytest.raises(LedgerError, match="does not exist"):
            use()
    assert "does not exist" in str(ledger)
    assert "does not exist" in ledger._repr_html_()
    assert repr(ledger).startswith("PrivacyLedger(")
    assert not path.exists()
    for end in ("-journal", "-wal"):
        log = Path(f"{path}{end}")
        log.write_bytes(b"charges")
        with pytest.raises(LedgerError, match=rf"is gone, but its budget\.ledger{end} is there"):
            PrivacyLedger(1, path=path)
        assert not path.exists()
        log.unlink()
    second = PrivacyLedger(1, path=path)
    with pytest.raises(LedgerError, match="another ledger has taken the place of the one opened"):
        ledger.charge(TENTH)
    assert second.spent() == ApproxDP(0)


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
@pytest.mark.parametrize("times", [50, pytest.param(300, marks=pytest.mark.nightly)])
def test_an_interrupt_at_any_moment_leaves_no_lock_behind_and_loses_no_charge(path, script, times):
    assert script(INTERRUPTED, path, times) == ["True 0"]


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
    make = ledger_storage.create

    def overtaken(file, rule):
        monkeypatch.setattr(ledger_storage, "create", make)
        PrivacyLedger(1, path=path)
        journal = Path(f"{path}-journal")
        journal.touch()  # an empty one undoes nothing
        make(file, rule)

    monkeypatch.setattr(ledger_storage, "create", overtaken)
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


#: Another thread is in the middle of a charge; it goes on when it is told to, or after some seconds.
CHARGING = """
import threading
ledger, inside, go_on = PrivacyLedger(1, path=sys.argv[1], timeout=1), threading.Event(), threading.Event()
from dplearn.privacy import PrivacyFilter
def slow(self, spent, cost, original=PrivacyFilter.after):
    inside.set()
    go_on.wait(float(sys.argv[2]))
    return original(self, spent, cost)
PrivacyFilter.after = slow
thread = threading.Thread(target=ledger.charge, args=(ApproxDP("1/2"),))
thread.start()
inside.wait()
"""


FORK = """
child = os.fork()  # waits until the other thread has closed the file
if not child:
    ledger.charge(ApproxDP("1/2"))
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
print(ledger.remaining().epsilon)
"""


@posix
def test_a_child_forked_in_the_middle_of_a_charge_uses_the_ledger_as_any_other(path, script):
    assert script(CHARGING + FORK, path, 0.2) == ["0", "0"]


MEMORY = """
import pickle, threading
from dplearn.privacy import ledger_storage
ledger = PrivacyLedger(1)
ledger.charge(ApproxDP(0.1))
lock = next(iter(ledger_storage.BOOKS.values())).lock
lock.acquire()  # as a thread would that the child does not have
number = os.getpid()
for counts_alike in (False, True):
    if counts_alike:
        os.getpid = lambda: number  # as where two containers count alike, or a number comes round again
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
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
lock.release()
print(ledger.spent().epsilon)
try:
    pickle.loads(Path(sys.argv[1]).read_bytes()).charge(ApproxDP(0.1))
except LedgerError as error:
    print(error)
"""


@posix
def test_no_other_process_has_a_ledger_in_memory(tmp_path, script):
    (tmp_path / "pickled").write_bytes(pickle.dumps(PrivacyLedger(1)))
    why = "this ledger lives in the memory of another process; give it a path=... to share it"
    child = [why] * 3 + [f"PrivacyLedger(epsilon=1, delta=0): {why}", "0"]
    assert script(MEMORY, tmp_path / "pickled") == [*child, *child, "1/10", why]


KILLED = """
import random, signal
file, released = sys.argv[1:]
PrivacyLedger(100, path=file)
for kill in range(6):
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
    assert len(rows) == 6
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
@pytest.mark.parametrize("charges", [25, pytest.param(150, marks=pytest.mark.nightly)])
def test_a_thread_that_reads_the_file_loses_no_charge(path, script, charges):
    PrivacyLedger(1000, path=path)
    with ThreadPoolExecutor(2) as pool:
        lines = list(pool.map(lambda _: script(READ_BY_A_THREAD, path, charges), range(2)))
    assert lines == [[f"{charges}"]] * 2
    assert len(PrivacyLedger.open(path).history()) == 2 * charges


FORKED_INSIDE = """
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
    lines = script(CHARGING + FORKED_INSIDE, path, 100)
    assert lines[-2:] == ["0", "0"]  # how the child ended, and what remains
    assert sorted(lines[:-2]) == ["KeyboardInterrupt", "RuntimeError", why, why]


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


def test_without_the_module_of_locks_the_package_imports_and_a_ledger_in_memory_works(program):
    again = "import sys; sys.modules['fcntl'] = None\n"
    again += (
        "for name in [*sys.modules]:\n    if name.startswith('dplearn'):\n        del sys.modules[name]\n"
    )
    done = program(f"{again}from dplearn import PrivacyLedger\nprint(repr(PrivacyLedger(1)))")
    assert (done.stdout, done.returncode) == ("PrivacyLedger(epsilon=1, delta=0)\n", 0), done.stderr
