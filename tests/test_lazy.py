"""`import dplearn` imports nothing that it does not need, and has every name that it exports."""

import subprocess
import sys

import pytest

import dplearn
from dplearn import learners, theory


@pytest.mark.parametrize("package", [dplearn, learners, theory], ids=lambda package: package.__name__)
def test_every_exported_name_is_there_and_listed(package):
    assert len(package.__all__) > 20
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        thing = getattr(package, name)
        assert name in {"__version__", "ORDERS"} or thing.__name__ == name
        assert vars(package)[name] is thing


@pytest.mark.parametrize("package", [dplearn, learners, theory], ids=lambda package: package.__name__)
def test_other_names_are_refused(package):
    with pytest.raises(
        AttributeError, match=rf"module '{package.__name__}' has no attribute 'StandardScaler'"
    ):
        package.StandardScaler  # noqa: B018


def test_subpackages_are_attributes():
    code = (
        "import dplearn; print(dplearn.releases.median.__name__, dplearn.learners.rules.threshold.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["median", "dplearn.learners.rules.threshold"]


def test_the_package_alone_imports_neither_scikit_learn_nor_scipy():
    code = "import sys, dplearn; print(len({'sklearn', 'scipy', 'numpy'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


LOADED = """
import sys
from sklearn.linear_model import LogisticRegression
before = {*sys.modules}
from dplearn import %s
found = {*sys.modules} - before
print(len([name for name in found if name.partition(".")[0] == "dplearn"]))
print(*{name.partition(".")[0] for name in found} - {"dplearn"} - {*sys.stdlib_module_names})
print(len([name for name in found if name.partition(".")[0] in sys.stdlib_module_names]))
"""


@pytest.mark.parametrize(("learner", "most"), [("ThresholdClassifier", 190), ("AdditiveClassifier", 240)])
def test_a_first_learner_loads_few_modules_and_no_library_that_scikit_learn_leaves_alone(learner, most):
    # More modules take longer to import: before a number is raised, see what `python -X importtime` says.
    done = subprocess.run(
        [sys.executable, "-c", LOADED % learner], capture_output=True, text=True, check=True
    )
    own, others, standard = done.stdout.splitlines()
    assert (int(own) <= most, others, int(standard) <= 20) == (True, "", True), (own, others, standard)
