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
    assert len(package.__all__) >= 4
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        thing = getattr(package, name)
        assert name in {"__version__", "population"} or name.isupper() or thing.__name__ == name
        assert vars(package)[name] is thing
    with pytest.raises(
        AttributeError, match=rf"module '{package.__name__}' has no attribute 'StandardScaler'"
    ):
        package.StandardScaler  # noqa: B018


def test_a_misspelt_name_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match=r"'LogisticRegression'; did you mean 'StatisticalQueryLogistic"):
        dplearn.LogisticRegression  # noqa: B018


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
