"""Run in an environment of a peer: fit what is asked for, and print a line of JSON for each.

    python worker.py PEER_FILE < request

The request is JSON: the path of a task (an archive of arrays, see `tasks.py`), and a list of cells. Only
numpy and scikit-learn are imported here, of any version that a peer needs.

A file of a peer has three functions. `rows(task, learner)` returns the rows of a task in the form that a
learner takes, before time is measured. `fitted(task, learner, epsilon, rows, y)` returns a model with
`predict_proba` and `classes_`, or `predict` for numbers. `checked(cell)` returns the outcome of a check
(see `peers/checking.py`).
"""

import importlib.util
import json
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score


class Task:
    """A table as arrays, what is declared of it, and its splits.

    Attributes
    ----------
    X : ndarray of shape (n, width)
        Numbers scaled to [0, 1] by their declared ends, categories one-hot.
    codes : ndarray of shape (n, d)
        Numbers, and the places of categories in their lists.
    ends : ndarray of shape (d, 2)
        The declared ends of `codes`.
    cells, sizes : ndarray of shape (n, d + 1), ndarray of shape (d + 1,)
        Public bins of all columns and of the target, and how many there are of each.
    middles : ndarray
        The number in the middle of each bin of the target.
    y : ndarray of shape (n,)
        Places of labels, or numbers.
    target : None or (float, float)
        The declared ends of the target; None for labels.
    """

    def __init__(self, path):
        data = np.load(path, allow_pickle=False)
        self.about = json.loads(str(data["about"]))
        for name in ("X", "codes", "ends", "cells", "sizes", "middles", "y"):
            setattr(self, name, data[name])
        self.splits = [(data[f"private_{k}"], data[f"tested_{k}"]) for k in range(self.about["fits"])]
        self.n_numbers, self.delta = self.about["n_numbers"], self.about["delta"]
        self.n_labels = self.about["n_labels"]
        self.target = self.about["target"] and tuple(self.about["target"])


def of_places(rows, places):
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]


def scored(task, model, rows, truth):
    """Return how well a model predicts; a label that it does not know has probability 0."""
    if task.target:
        return {"r2": float(r2_score(truth, np.asarray(model.predict(rows)).ravel()))}
    shares = np.zeros((len(truth), task.n_labels))
    shares[:, np.asarray(model.classes_, int)] = np.nan_to_num(np.asarray(model.predict_proba(rows)))
    found = {"accuracy": float(np.mean(shares.argmax(axis=1) == truth))}
    if task.n_labels == 2:
        found["auc"] = float(roc_auc_score(truth, shares[:, 1]))
    return found


def peak():
    """Return the most memory that this process has had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def measured(peer, task, cell):
    """Return the scores, CPU seconds, wall seconds and memory of one fit."""
    private, tested = task.splits[cell["repetition"] % len(task.splits)]
    rows = peer.rows(task, cell["learner"])
    given, y = of_places(rows, private), task.y[private]
    before, wall, cpu = peak(), time.perf_counter(), time.process_time()
    model = peer.fitted(task, cell["learner"], cell["epsilon"], given, y)
    found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "above": peak() - before}
    found |= getattr(model, "times", {})
    return found | scored(task, model, of_places(rows, tested), task.y[tested])


def loaded(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sentence(error):
    """Return the type and the first line of an error, without what is around it."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:160]


def main():
    request = json.loads(sys.stdin.read())
    out = sys.stdout
    sys.stdout = sys.stderr  # what peers print is not an answer
    warnings.simplefilter("ignore")
    sys.path[:0] = [str(Path(sys.argv[1]).parent), str(Path(__file__).parent)]
    peer = loaded(sys.argv[1])
    task = Task(request["task"]) if "task" in request else None
    for cell in request["cells"]:
        try:
            found = peer.checked(cell) if "check" in cell else measured(peer, task, cell)
        except Exception as error:
            traceback.print_exc()
            found = {"error": sentence(error)}
        print(json.dumps(found), file=out, flush=True)


if __name__ == "__main__":
    main()
