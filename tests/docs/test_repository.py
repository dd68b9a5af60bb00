"""What a host of the repository reads: workflows with the commands of `.ci/run`, forms, links to files."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HOST = ROOT / ".github"
YAML = [*HOST.rglob("*.yml"), *ROOT.glob(".*.yaml")]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in HOST.glob("workflows/*")}


def commands(workflow):
    jobs = WORKFLOWS[workflow]["jobs"].values()
    return "\n".join(step["run"] for job in jobs for step in job["steps"] if "run" in step)


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_files_for_the_host_can_be_read(path):
    assert yaml.safe_load(path.read_text(encoding="utf-8"))


def test_workflows_run_the_commands_that_the_repository_names():
    test_command = re.search(
        r"<!-- test command -->\n```sh\n(.+)\n", (ROOT / "README.md").read_text("utf-8")
    )[1]
    steps = [step.rpartition("bin/")[2] for step in test_command.split(" && ")[1:]]
    for step in steps:  # as an environment of the host, without a virtual one
        assert f"python -m {step}" in commands("tests")
    assert "bash .ci/run" in commands("tests")
    site = re.search(
        r"^\.venv/bin/(sphinx-build .+) -d", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE
    )[1]
    assert site in commands("docs")
    assert ".ci/release" in commands("release")


def test_no_workflow_uploads_or_may_write_to_the_repository():
    for name, workflow in WORKFLOWS.items():
        assert workflow["permissions"].get("contents") == "read", name
        assert not re.search(
            r"twine upload|gh-action-pypi-publish", (HOST / f"workflows/{name}.yml").read_text()
        )


def test_supported_pythons_are_those_of_the_metadata():
    metadata = (ROOT / "pyproject.toml").read_text("utf-8")
    stated = re.findall(r"Python :: (3\.\d+)", metadata)
    assert {"3.11", *WORKFLOWS["tests"]["jobs"]["pythons"]["strategy"]["matrix"]["python"]} == set(stated)


@pytest.mark.parametrize("path", [*HOST.glob("*.md")], ids=lambda path: path.name)
def test_links_lead_to_files(path):
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target
