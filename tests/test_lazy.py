"""`import dplearn` imports nothing that it does not need, and has every name that it exports."""

import subprocess
import sys

import pytest

import dplearn
from dplearn import learners


@pytest.mark.parametrize("package", [dplearn, learners], ids=lambda package: package.__name__)
def test_every_exported_name_is_there_and_listed(package):
    assert len(package.__all__) > 20
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        thing = getattr(package, name)
        assert name == "__version__" or thing.__name__ == name
        assert vars(package)[name] is thing


@pytest.mark.parametrize("package", [dplearn, learners], ids=lambda package: package.__name__)
def test_other_names_are_refused(package):
    with pytest.raises(
        AttributeError, match=rf"module '{package.__name__}' has no attribute 'StandardScaler'"
    ):
        package.StandardScaler  # noqa: B018


def test_subpackages_are_attributes():
    code = "import dplearn; print(dplearn.releases.median.__name__, dplearn.learners.threshold.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["median", "dplearn.learners.threshold"]


def test_the_package_alone_imports_neither_scikit_learn_nor_scipy():
    code = "import sys, dplearn; print(len({'sklearn', 'scipy', 'numpy'} & {*sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
