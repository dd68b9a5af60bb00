"""Run dp-recorder on ours; `outside_audits.py` calls this in its environment.

    python benchmarks/recorder_driver.py FOLDER OUT

Two audits, both by the tool's own `Auditor`. Its distributional audit gets the outcomes that
`audit_targets.py` drew, as their exact log-ratios where these are known and one-hot elsewhere, through a
mechanism that the tool records, replays and samples. Its deterministic audit records a real fit of ours, all
of whose draws are instrumented, and replays it on a neighbouring table that the tool's own generator made
(see `recorder_fits.py`).
"""

import contextlib
import io
import json
import math
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import recorder_fits
from dp_recorder.auditing import Auditor, audit_spec

PACKAGES = ("dp-recorder", "dp-accounting", "scikit-learn", "numpy", "scipy")
FAILURE = 1e-4  # of all bounds of one variant of one target together
POOLS = {}


@audit_spec(
    kind="release",
    input_arg="table",
    sensitivity_arg="sensitivity",
    metric_fn=lambda mine, theirs: float(np.sum(mine != theirs)),
)
def release(table, sensitivity):  # noqa: ARG001 - the tool reads it
    """Return the features of the next outcome of a table."""
    return next(POOLS[int(table[0])])


def features_of(drawn, variant, n_outcomes):
    """Return the features of each outcome: its exact log-ratio if that is known, else one-hot."""
    if f"{variant}_ratios" in drawn:
        return drawn[f"{variant}_ratios"][:, None]
    return np.eye(n_outcomes)


def sampled(first, second, about):
    """Return what the tool's distributional audit says of one variant of a target."""
    n = min(len(first), len(second))
    auditor = Auditor()
    POOLS.update({0: iter(first), 1: iter(second)})
    with auditor:
        release(table=np.array([0]), sensitivity=1)
    auditor.set_replay()
    with auditor:
        release(table=np.array([1]), sensitivity=1)
    auditor.validate_records()
    POOLS.update({0: iter(first), 1: iter(second)})
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        auditor.run_distributional_audit(n_samples=2 * n, alpha=FAILURE)
    (entry,) = auditor.log
    # The tool's own bound is for delta 0. At the claim's delta it follows from the same two rates.
    at_0 = float(entry.empirical_epsilon_lb)
    at_delta = bound(entry.tradeoff_curve, about["delta"])
    return {
        "samples": n,
        "refutes": at_delta > about["epsilon"],
        "epsilon_lower": at_delta,
        "epsilon_lower_at_delta_0": at_0,
        "auc": float(entry.auc),
    }


def bound(curve, delta):
    """Return the lower bound on epsilon at a delta that upper bounds on both error rates imply."""
    best = 0.0
    for false_positive, false_negative in curve[1:-1]:
        for this, other in ((false_positive, false_negative), (false_negative, false_positive)):
            left = 1 - delta - this
            if left > other:
                best = max(best, math.log(left / other) if other > 0 else math.inf)
    return best


def main():
    folder, out = map(Path, sys.argv[1:3])
    about = {"versions": {name: version(name) for name in PACKAGES}, "failure": FAILURE, "results": {}}
    if out.exists():  # a run that was interrupted goes on
        before = json.loads(out.read_text())
        about |= {name: before[name] for name in ("results", "replays") if name in before}
    for path in sorted(folder.glob("*.npz")):
        if path.stem not in about["results"]:
            target, drawn = json.loads(path.with_suffix(".json").read_text()), np.load(path)
            about["results"][path.stem] = {}
            for variant, n_outcomes in target["outcomes"].items():
                features = features_of(drawn, variant, n_outcomes)
                both = (features[drawn[f"{variant}_{side}"]] for side in ("rows", "neighbour"))
                about["results"][path.stem][variant] = sampled(*both, target)
            print(path.stem, about["results"][path.stem], file=sys.stderr, flush=True)
    if "replays" not in about:
        about["replays"] = recorder_fits.replayed()
    out.write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main()
