"""The badges of the README say what the metadata say."""

import importlib.util
import tomllib
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("badges", ROOT / "docs" / "badges.py")
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


def test_the_picture_is_the_one_that_the_metadata_give():
    assert script.TARGET.read_text(encoding="utf-8") == script.svg()
    assert "(docs/pictures/badges.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_tells_each_version_of_python_the_licence_and_the_types():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = ElementTree.fromstring(script.svg()).find("{*}title").text
    versions = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: Python :: 3." in line]
    assert versions[0] == project["requires-python"].removeprefix(">=")
    assert all(version in told for version in [*versions, project["license"], "mypy, pyright"])
