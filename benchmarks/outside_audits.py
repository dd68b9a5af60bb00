"""What do the audit tools of others find in our fits? dp-recorder and dp-auditorium, each by itself.

    python benchmarks/outside_audits.py --environments DIR [--work DIR] [--samples N] [--seconds S]
        [--targets NAME ...] [--source TOOL=PATH ...] [--jobs N] [--json PATH]

Neither tool is on PyPI. An environment that DIR does not have is made there with pip: each tool from its
repository, at the commit named in TOOLS, or from a copy (`--source dp-recorder=PATH`). Our outcomes are drawn
here by `audit_targets.py`; the tools get them from files, because dp-auditorium needs NumPy below 2 and we
need at least 2. dp-recorder also replays whole fits of ours in its own process: NumPy 2 and this checkout are
installed after it. pip then reports a conflict with its dp-accounting, which asks for NumPy 1.

With `--jobs 2` two targets are drawn at a time, and both tools run together: one on each core.

What is done already in the folder `--work` is not done again, so an interrupted run goes on. Broken variants
of our fits, with a third of the noise, show whether a tool can refute anything on as many outcomes.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from audit_targets import TARGETS
from side_by_side import lined_up, options_of, write

__all__ = ["TOOLS", "environment", "merged", "shown"]

HERE = Path(__file__).parent
CHECKOUT = HERE.parent
#: For each tool: where pip gets it, and what else its environment needs.
TOOLS: dict[str, tuple[str, Sequence[str]]] = {
    "dp-recorder": (
        "git+https://github.com/ObliviousAI/dp-recorder@85d189ebd7ff81a52984708322ee2c2d8c479db4",
        ("numpy>=2", str(CHECKOUT)),
    ),
    "dp-auditorium": (
        "git+https://github.com/google/differential-privacy@b5b0286e313b64a692abfc8c528d54ef47d960a0"
        "#subdirectory=python/dp_auditorium",
        (),
    ),
}
DRIVERS = {"dp-recorder": "recorder_driver.py", "dp-auditorium": "auditorium_driver.py"}


def environment(tool: str, folder: Path, source: str | None = None) -> Path:
    """Return the Python of a tool's environment, which is made if it is not there.

    Parameters
    ----------
    tool : str
        A key of TOOLS.
    folder : Path
        The environments' folder.
    source : str, optional
        What pip installs in place of the repository, such as a folder with a copy of it.
    """
    python = folder / tool / "bin" / "python"
    if not python.exists():
        address, more = TOOLS[tool]
        subprocess.run([sys.executable, "-m", "venv", folder / tool], check=True)
        for packages in ([source or address], more):  # in two steps: pip would refuse both together
            if packages:
                subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


def run(python: Path | str, program: str, *arguments: Any) -> None:
    """Run a program of this folder; what it says goes on to standard error."""
    paths = os.pathsep.join([str(CHECKOUT), str(HERE)])
    variables = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [str(python), str(HERE / program), *map(str, arguments)]
    subprocess.run(command, check=True, env={**os.environ, **variables}, stdout=sys.stderr)


def merged(pools: Path, found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each target: its claim, exact epsilons and what each tool found."""
    rows = []
    for path in sorted(pools.glob("*.json")):
        about = json.loads(path.read_text())
        tools = {
            tool: each["results"][path.stem] for tool, each in found.items() if path.stem in each["results"]
        }
        rows.append({"target": path.stem, **about, "tools": tools})
    return rows


def shown(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table of claims, exact epsilons, lower bounds and refutations."""
    lines = [["target", "variant", "claim", "exact", "best lower bound", "refuted by"]]
    for row in rows:
        for variant in ("correct", "broken"):
            testers = {}
            for tool, of_variants in row["tools"].items():
                found = of_variants[variant]
                testers |= (
                    {tool: found}
                    if "refutes" in found
                    else {name: each for name, each in found.items() if isinstance(each, dict)}
                )
            exact = row["exact"][variant]
            lines.append(
                [
                    row["target"],
                    variant,
                    f"{row['epsilon']:g}",
                    "" if exact is None else f"{exact:.3f}",
                    f"{max((each['epsilon_lower'] for each in testers.values()), default=0):.3f}",
                    ", ".join(name for name, each in testers.items() if each["refutes"]),
                ]
            )
    return lined_up(lines, left=2)


def main() -> None:
    parser = options_of("outside_audits", __doc__)
    default = Path(gettempdir()) / "outside_audits"
    parser.add_argument("--environments", type=Path, default=default / "environments")
    parser.add_argument("--work", type=Path, default=default / "work", help="where outcomes are kept")
    parser.add_argument("--samples", type=int, default=20_000, help="outcomes of each table at most")
    parser.add_argument("--seconds", type=float, default=60, help="for the outcomes of each table")
    parser.add_argument("--targets", nargs="*", default=[], help="what is audited; all unless given")
    parser.add_argument("--jobs", type=int, default=1, help="programs that run at a time, a core each")
    parser.add_argument("--source", action="append", default=[], metavar="TOOL=PATH", help="a copy of a tool")
    options = parser.parse_args()
    sources = dict(each.split("=", 1) for each in options.source)
    pools = options.work / "outcomes"
    limits = ("--samples", options.samples, "--seconds", options.seconds)
    with ThreadPoolExecutor(options.jobs) as pool:

        def draw(target: str) -> None:
            run(sys.executable, "audit_targets.py", target, "--out", pools, *limits)

        def ask(tool: str) -> dict[str, Any]:
            python = environment(tool, options.environments, sources.get(tool))
            out = options.work / f"{tool}.json"
            run(python, DRIVERS[tool], pools, out)
            return json.loads(out.read_text())

        list(pool.map(draw, options.targets or TARGETS))
        found = dict(zip(DRIVERS, pool.map(ask, DRIVERS), strict=True))
    rows = merged(pools, found)
    print(shown(rows))
    tools = {
        tool: {"from": TOOLS[tool][0], "versions": each["versions"], "failure": each["failure"]}
        for tool, each in found.items()
    }
    write(
        options.json,
        ("differentially-private-learners", "numpy", "scikit-learn"),
        tools=tools,
        replays=found["dp-recorder"]["replays"],
        rows=rows,
    )


if __name__ == "__main__":
    main()
