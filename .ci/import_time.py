"""Measure the time of an import, beside what a user of a scikit-learn classifier pays.

    python .ci/import_time.py [ROUNDS]

Each statement runs in turn in a new process; figures are medians over 9 rounds. The time is the processor's,
not the clock's, so that other programs on the machine count little. A first round, which does not count,
writes the bytecode where it is missing. The exit status is 1 if a learner takes .3 s more than scikit-learn.
"""

import os
import statistics
import subprocess
import sys

THEIRS = "from sklearn.linear_model import LogisticRegression"
OURS = ["import dplearn", "from dplearn import ThresholdClassifier", "from dplearn import AdditiveClassifier"]
ALLOWED = 0.3  # seconds more than theirs


def seconds(statement: str, environment: dict[str, str]) -> float:
    """Return the processor time of a new interpreter that runs a statement."""
    process = subprocess.Popen([sys.executable, "-c", statement], env=environment)  # noqa: S603
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{statement} failed")
    return usage.ru_utime + usage.ru_stime


def main(rounds: int) -> int:
    """Print the figures, and return the exit status."""
    statements = [THEIRS, *OURS]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["OMP_NUM_THREADS"] = "1"
    for statement in statements:
        seconds(statement, environment)
    runs = [[seconds(statement, environment) for statement in statements] for _ in range(rounds)]
    slow = False
    for statement, *times in zip(statements, *runs, strict=True):
        ratio = statistics.median(time / run[0] for time, run in zip(times, runs, strict=True))
        more = statistics.median(time - run[0] for time, run in zip(times, runs, strict=True))
        slow |= more > ALLOWED
        print(f"{statistics.median(times):6.2f} s  {ratio:5.2f} times  {more:+.2f} s  {statement}")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 9))
