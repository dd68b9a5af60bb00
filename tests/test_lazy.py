"""`import dplearn` imports nothing that it does not need, and has every name that it exports."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dplearn

ROOT = Path(dplearn.__file__).parent
#: The package and its rooms, whose exports stand in stubs.
PACKAGES = [
    import_module(".".join(("dplearn", *stub.relative_to(ROOT).parts[:-1])))
    for stub in sorted(ROOT.rglob("__init__.pyi"))
]


def test_there_are_stubs():
    assert len(PACKAGES) > 20


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_exported_name_is_there_and_listed_and_others_are_refused(package):
    assert len(package.__all__) >= 2
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        thing = getattr(package, name)
        assert name in {"__version__", "population"} or name.isupper() or thing.__name__ == name
        assert vars(package)[name] is thing
    with pytest.raises(
        AttributeError, match=rf"module '{package.__name__}' has no attribute 'StandardScaler'"
    ):
        package.StandardScaler  # noqa: B018


PROGRAM = """
import sys
import dplearn
print(*{"sklearn", "scipy", "numpy"} & {*sys.modules}, "nothing else")
from sklearn.linear_model import LogisticRegression
before = {*sys.modules}
for learner in ("ThresholdClassifier", "AdditiveClassifier"):
    getattr(dplearn, learner)
    found = {*sys.modules} - before
    print(len([name for name in {*sys.modules} if name.partition(".")[0] == "dplearn"]))
    others = {name.partition(".")[0] for name in found} - {"dplearn"} - {*sys.stdlib_module_names}
    print(*others, "nothing else")
    print(len([name for name in found if name.partition(".")[0] in sys.stdlib_module_names]))
print(dplearn.releases.median.__name__, dplearn.learners.rules.threshold.__name__)
"""


def test_a_first_learner_loads_few_modules_and_no_library_that_scikit_learn_leaves_alone():
    # More modules take longer to import: before a number is raised, see what `python -X importtime` says.
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    alone, own, others, standard, more, same, all_standard, attributes = done.stdout.splitlines()
    assert alone == others == same == "nothing else"
    assert (int(own) <= 190, int(more) <= 250, int(all_standard) <= 20) == (True, True, True), (own, more)
    assert int(standard) <= int(all_standard)
    assert attributes == "median dplearn.learners.rules.threshold"


ALONE = """
import sys
from importlib import import_module
for package in sys.argv[1:]:
    import_module(package).__all__
    print(*(name for name in sys.modules if name.startswith(package + ".")), end="")
"""
THREADS = """
import sys
from importlib import import_module
from threading import Barrier, Thread

sys.setswitchinterval(1e-6)
for room, *modules in ("releases", "mean", "cdf"), ("privacy", "ledger"), ("learners.counts", "naive_bayes"):
    names = ["dplearn." + room, *(f"dplearn.{room}.{name}" for name in modules)]
    wait, done = Barrier(len(names)), []

    def load(name):
        wait.wait()
        done.append(import_module(name))

    threads = [Thread(target=load, args=(name,)) for name in names]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(done) == len(names), names
from dplearn.releases import cdf, mean
print(type(sys.modules["dplearn.releases.mean"]).__name__, mean.__name__, cdf.__name__, end="")
"""


@pytest.mark.parametrize(("program", "printed"), [(ALONE, ""), (THREADS, "module mean cdf")])
def test_threads_import_a_package_and_its_modules_at_once(program, printed):
    """A package that imports its own modules waits for a thread that waits for the package."""
    names = [package.__name__ for package in PACKAGES if package is not dplearn]
    done = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (printed, "")
