"""Run dp-auditorium on outcomes that `audit_targets.py` drew, in the environment of dp-auditorium.

    python benchmarks/auditorium_driver.py FOLDER OUT

Each target becomes a mechanism in the tool's sense: it returns the outcomes of ours on one of two datasets,
as numbers for the histogram tester; the hockey-stick tester, whose classifier needs features, gets the exact
log-ratio of each outcome where that is known, and one-hot outcomes elsewhere.
The tool's own test runner decides whether the claim is refuted. A lower bound on epsilon is the greatest of
a fixed list of values that the same tester refutes at the claimed delta; the probability of failure is
divided among all tests of a target. A classifier takes seconds to train, so the hockey-stick tester tests
the claim alone.
"""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from absl import logging
from dp_auditorium import privacy_test_runner
from dp_auditorium.configs import privacy_property, privacy_test_runner_config, property_tester_config
from dp_auditorium.generators import ConstantDatasetGenerator
from dp_auditorium.testers import HistogramTester, HockeyStickPropertyTester, hockey_stick_tester

PACKAGES = ("dp-auditorium", "tensorflow", "numpy", "scipy")
FAILURE = 1e-4  # of all tests of one variant of one target together
MULTIPLES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
TRAINED = (1.0,)
DIRECTIONS, EPOCHS = 2, 10


class Drawn:
    """A mechanism whose outcomes were drawn before; a dataset is the name of its table."""

    def __init__(self, pools, features):
        self.pools, self.features = pools, features

    def __call__(self, dataset, num_samples):
        codes = self.pools[dataset][:num_samples]
        return codes if self.features is None else self.features[codes]


def histogram(claim, n_outcomes):
    return HistogramTester(
        property_tester_config.HistogramPropertyTesterConfig(
            test_discrete_mechanism=True,
            histogram_size=n_outcomes,
            min_value=0,
            max_value=n_outcomes - 1,
            approximate_dp=claim,
        )
    )


def hockey_stick(claim, _):
    tf.keras.backend.clear_session()
    tf.keras.utils.set_random_seed(0)
    training = hockey_stick_tester.make_default_hs_training_config()
    training.training_epochs = EPOCHS
    config = property_tester_config.HockeyStickPropertyTesterConfig(
        training_config=training, approximate_dp=claim
    )
    return HockeyStickPropertyTester(
        config=config, base_model=hockey_stick_tester.make_default_hs_base_model()
    )


TESTERS = {
    "histogram": (histogram, MULTIPLES, False, privacy_test_runner_config.PropertyTester.HISTOGRAM_TESTER),
    "hockey_stick": (
        hockey_stick,
        TRAINED,
        True,
        privacy_test_runner_config.PropertyTester.HOCKEY_STICK_TESTER,
    ),
}
N_TESTS = DIRECTIONS * (len(MULTIPLES) + len(TRAINED))


def tested(pools, features, about, n_outcomes):
    """Return what each tester says of one variant of a target."""
    n = min(map(len, pools.values()))
    found = {"samples": n}
    for name, (make, multiples, with_features, kind) in TESTERS.items():
        refuted = []
        for multiple in multiples:
            claim = privacy_property.ApproximateDp(epsilon=multiple * about["epsilon"], delta=about["delta"])
            runner = privacy_test_runner.PrivacyTestRunner(
                config=privacy_test_runner_config.PrivacyTestRunnerConfig(
                    property_tester=kind,
                    max_num_trials=1,
                    failure_of=FAILURE / N_TESTS,
                    num_samples=n,
                    post_processing=privacy_test_runner_config.PostProcessing.NONE,
                ),
                dataset_generator=ConstantDatasetGenerator(tuple(pools)),
                property_tester=make(claim, n_outcomes),
            )
            result = runner.test_privacy(Drawn(pools, features if with_features else None), name)
            if result.found_privacy_violation is not None:
                refuted.append(multiple)
            if multiple == 1:
                delta_lower = float(result.lower_bound_divergence_estimates[0])
        found[name] = {
            "refutes": 1.0 in refuted,
            "epsilon_lower": max(refuted, default=0.0) * about["epsilon"],
            "delta_lower": max(0.0, delta_lower),
        }
    return found


def features_of(drawn, variant, n_outcomes):
    """Return the features of each outcome: its exact log-ratio if that is known, else one-hot."""
    if f"{variant}_ratios" in drawn:
        return drawn[f"{variant}_ratios"].astype(np.float32)[:, None]
    return np.eye(n_outcomes, dtype=np.float32)


def main():
    logging.set_verbosity(logging.ERROR)
    folder, out = map(Path, sys.argv[1:3])
    about = {"versions": {name: version(name) for name in PACKAGES}, "failure": FAILURE, "results": {}}
    if out.exists():  # a run that was interrupted goes on
        about["results"] = json.loads(out.read_text())["results"]
    for path in sorted(folder.glob("*.npz")):
        if path.stem not in about["results"]:
            target, drawn = json.loads(path.with_suffix(".json").read_text()), np.load(path)
            about["results"][path.stem] = {
                variant: tested(
                    {side: drawn[f"{variant}_{side}"] for side in ("rows", "neighbour")},
                    features_of(drawn, variant, n_outcomes),
                    target,
                    n_outcomes,
                )
                for variant, n_outcomes in target["outcomes"].items()
            }
            out.write_text(json.dumps(about, indent=2) + "\n")
            print(path.stem, about["results"][path.stem], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
