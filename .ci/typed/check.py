"""Let mypy and pyright read programs that use an installed dplearn.

    python .ci/typed/check.py PYTHON

PYTHON is an interpreter with dplearn; the checkers are those beside the interpreter that runs this. Both must
find no error in `use.py`, nor in a program that imports every public name, and exactly the marked lines in
`mistakes.py`.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE, PLACE = Path(__file__).parent, Path(sys.executable).parent
FOUND = re.compile(r"^.*?\.py:(\d+):.*\berror\b", re.MULTILINE)
NAMES = """
import importlib, pkgutil, dplearn
packages = [each.name for each in pkgutil.iter_modules(dplearn.__path__, "dplearn.") if each.ispkg]
for package in ["dplearn", *packages]:
    names = getattr(importlib.import_module(package), "__all__", [])
    for name in names:
        print(f"from {package} import {name} as {package.replace('.', '_')}_{name}")
"""


def errors(program: Path, python: str) -> dict[str, tuple[set[int], str]]:
    """Return the lines in which each checker finds an error, and its output."""
    commands = {
        "mypy": [PLACE / "mypy", "--strict", "--python-executable", python, "--cache-dir", "/dev/null"],
        "pyright": [PLACE / "pyright", "--pythonpath", python],
    }
    found = {}
    for checker, command in commands.items():
        # Outside the checkout, whose configuration and package would be read.
        done = subprocess.run(  # noqa: S603
            [*command, program], capture_output=True, text=True, cwd=program.parent, check=False
        )
        lines = {int(match[1]) for match in FOUND.finditer(done.stdout)}
        if (done.returncode == 0) != (not lines):
            sys.exit(f"{checker} failed:\n{done.stdout}{done.stderr}")
        found[checker] = lines, done.stdout
    return found


def main(python: str) -> None:
    """Check the three programs; exit with a message if a checker finds anything else than it should."""
    names = subprocess.run([python, "-c", NAMES], capture_output=True, text=True, check=True).stdout  # noqa: S603
    if names.count("\n") < 200:
        sys.exit("the public names were not found")
    sources = {name: (HERE / name).read_text() for name in ("use.py", "mistakes.py")} | {"names.py": names}
    with tempfile.TemporaryDirectory() as folder:
        for name, source in sources.items():
            program = Path(folder) / name
            program.write_text(source)
            lines = source.splitlines()
            wanted = {number for number, line in enumerate(lines, 1) if line.endswith("# a mistake")}
            for checker, (found, output) in errors(program, python).items():
                if found != wanted:
                    sys.exit(f"{checker}, {name}: errors in {sorted(found)}, not {sorted(wanted)}\n{output}")
                print(f"{checker}: {name}, {len(lines)} lines, {len(found)} mistakes found")


if __name__ == "__main__":
    main(sys.argv[1])
