"""What is built from this tree is complete, says one version, and needs no more than it declares.

`.ci/release` builds and tries the archives themselves; here are the rules that a change could break unseen.
"""

import ast
import email.message
import importlib.resources
import importlib.util
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import dplearn
from dplearn.commands import main

ROOT = Path(__file__).parents[1]
PACKAGE = Path(dplearn.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
IMPORTED_AS = {"scikit-learn": "sklearn"}
OF_SCIKIT_LEARN = {"threadpoolctl"}  # every scikit-learn that is admitted requires 3.1 or later itself

# Refuses what the extras bring: it stands before every other finder, so that what is installed is not found.


def name_of(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower()


def lower_bounds(requirements):
    """Return what each requirement's name is bounded by from below, as written."""
    found = (
        re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[\w+\])?>=([\d.]+)", requirement) for requirement in requirements
    )
    return {match[1].lower(): match[2] for match in found if match}


def test_the_version_is_said_once_and_a_package_has_one_lower_bound_wherever_it_is_named(capsys):
    bounds: dict = {}
    for lines in [PROJECT["project"]["dependencies"], *EXTRAS.values()]:
        for name, bound in lower_bounds(lines).items():
            bounds.setdefault(name, set()).add(bound)
    assert len(bounds) > 8
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}
    assert PROJECT["project"]["version"] == dplearn.__version__
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"dplearn {dplearn.__version__}\n"
    citation = (ROOT / ".github/CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == dplearn.__version__


def test_an_index_gets_no_wheel_without_addresses_or_with_links_that_lead_nowhere():
    pytest.importorskip("packaging")
    spec = importlib.util.spec_from_file_location("archives", ROOT / ".ci" / "archives.py")
    archives = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(archives)
    for addresses, text, reasons in (
        ("Documentation Source Issues", "[a](https://a.org/b.md), [c](#d)", []),
        ("Documentation Issues", "", ["no Source in [project.urls]"]),
        (
            "Documentation Source Issues",
            "![a](docs/a.svg) [b](LICENSE)",
            ["2 relative links in the description, such as docs/a.svg"],
        ),
    ):
        told = email.message.Message()
        for name in addresses.split():
            told["Project-URL"] = f"{name}, https://a.org/{name}"
        told.set_payload(text)
        assert archives.lacking(told) == reasons


def test_the_package_has_its_data_and_every_directory_is_a_package():
    files = importlib.resources.files("dplearn")
    assert (files / "py.typed").is_file()
    for name in ("frozen.json", "verified.json"):
        assert (files / "audit" / name).read_text().startswith("{")
    directories = {path.parent for path in PACKAGE.rglob("*.py")}
    assert len(directories) > 15
    assert [str(path) for path in directories if not (path / "__init__.py").is_file()] == []


def test_no_file_of_the_package_is_one_that_git_ignores():
    # The build leaves out what git ignores; so would a package called build, or a model kept as .joblib.
    patterns = [line.strip("/") for line in (ROOT / ".gitignore").read_text().split()]
    patterns.remove("__pycache__")
    paths = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts]
    ignored = [path for path in paths for part in path.parts if any(fnmatch(part, p) for p in patterns)]
    assert ignored == []
    assert any(fnmatch("model.joblib", p) for p in patterns)


def test_the_build_takes_the_package_and_whatever_the_tests_read():
    targets = PROJECT["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["packages"] == ["dplearn"]
    read = {
        path.name for path in ROOT.iterdir() if path.name in {".ci", ".github", "docs", "tests", "README.md"}
    }
    assert {"dplearn", "docs", "tests", "LICENSE"} | read <= set(targets["sdist"]["include"])


@pytest.mark.parametrize("script", [".ci/run", ".ci/release"])
def test_the_tests_that_a_script_runs_exist(script):
    named = re.findall(r"\btests/[\w/.]+", (ROOT / script).read_text())
    assert len(named) > 4
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_a_python_of_32_bits_is_refused():
    code = "import sys; sys.maxsize = 2**31 - 1; import dplearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("ImportError: dplearn needs a Python of 64 bits")


def test_what_modules_import_is_declared():
    declared = {name_of(line) for line in PROJECT["project"]["dependencies"]}
    allowed = {IMPORTED_AS.get(name, name) for name in declared} | {"dplearn"} | set(sys.stdlib_module_names)
    allowed |= OF_SCIKIT_LEARN
    imported, line = set(), re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if (found := set(line.findall(text))) - allowed:  # or a line of a docstring begins like an import
            nodes = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
            found = {name for node in nodes for name in line.findall(ast.unparse(node))}
        imported |= found
    assert "sklearn" in imported
    assert imported - allowed == set()


#: Test files that import names of a module which is no room: of so many, each tests that module.
MOST_DEEP = 59


def test_tests_ask_rooms_for_names():
    """A mutant names the module that it changes, by an import of the module from its room."""
    rooms = {".".join(path.parent.relative_to(PACKAGE.parent).parts) for path in PACKAGE.rglob("__init__.py")}
    line = re.compile(r"^ *(?:from|import) (dplearn\.\w+\.[\w.]+)", re.MULTILINE)
    found = {path: set(line.findall(path.read_text("utf-8"))) for path in (ROOT / "tests").rglob("*.py")}
    deep = [path.name for path, modules in found.items() if modules - rooms - {"dplearn.kernels.gf2"}]
    assert len(deep) <= MOST_DEEP, sorted(deep)


#: Underscored names of Python and of other libraries that tests read: of these nothing public tells as much.
UNDERSCORED = {"_asdict", "_replace", "_exit", "_getframe", "_repr_html_", "_repr_mimebundle_"}
UNDERSCORED |= {"_calls", "_hypothesis_internal_use_settings", "_label_binarizer", "_predict_proba_lr"}
UNDERSCORED |= {"_showwarnmsg_impl", "_skl_callbacks", "_callback_fit_ctx", "_skl_callbacks_to_teardown"}


def underscored(source, mutants=False):
    """Return the underscored attributes and names that a test reads, imports or, as strings, patches."""
    if set(re.findall(r"\b_[A-Za-z]\w*", source)) <= UNDERSCORED:
        return set()  # most files
    found, nodes = set(), list(ast.walk(ast.parse(source)))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.module != "dplearn":  # whose modules have such names
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and id(node) not in parts and not mutants:  # they edit sources
            found.update(re.findall(r"^[\w.]*\b(_[A-Za-z]\w*)$", str(node.value)))
    return {name for name in found if re.match("_[A-Za-z]", name)} - UNDERSCORED


def test_tests_read_no_underscored_attribute_outside_audit():
    """The helpers of `tests/audit` reach whole fits and recipes for all others."""
    tests = ROOT / "tests"
    paths = [path for path in tests.rglob("*.py") if path.relative_to(tests).parts[0] != "audit"]
    found = {path: underscored(path.read_text("utf-8"), path.stem.endswith("mutants")) for path in paths}
    assert {path.name: names for path, names in found.items() if names} == {}
    for wrong in ("model._fit(X)", 'patch(a, "_b")', 'patch("dplearn.a._b", 1)', "from dplearn.a import _b"):
        assert len(underscored(wrong)) == 1, wrong


def test_the_oldest_versions_that_are_tested_are_the_lowest_that_are_admitted():
    needed = lower_bounds(PROJECT["project"]["dependencies"])
    assert len(needed) == len(PROJECT["project"]["dependencies"])
    bounds = needed | lower_bounds(line for lines in EXTRAS.values() for line in lines)
    pins = dict(re.findall(r"^([\w.-]+)==([\d.]+)$", (ROOT / ".ci/oldest.txt").read_text(), re.MULTILINE))
    assert {"scikit-learn", "numpy", "scipy", "joblib"} <= set(pins) <= set(bounds) | OF_SCIKIT_LEARN
    assert {name: pin for name, pin in pins.items() if padded(pin) != padded(bounds.get(name, "3.1"))} == {}


def padded(version):
    """Return a version's three numbers: 1.6 is 1.6.0."""
    return ([int(number) for number in version.split(".")] + [0, 0])[:3]
