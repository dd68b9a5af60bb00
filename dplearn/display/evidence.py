"""The audit cases that verify each class, and their frozen results.

>>> evidence = evidence_of("PrivateMinMaxClipper")
>>> evidence.whole, [check.name for check in checks_of(evidence)]
(True, ['min_max_clipper'])
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

__all__ = ["EVIDENCE", "Check", "Evidence", "checks_of", "evidence_of"]


@dataclass(frozen=True)
class Evidence:
    """The audit cases of a class.

    Attributes
    ----------
    cases : tuple of str
        Names, as in `python -m dplearn audit NAME`.
    whole : bool
        Whether some cases enumerate a whole fit, from the data to the release; otherwise they enumerate the
        mechanisms of the class.
    note : str
        A remark.
    """

    cases: tuple[str, ...]
    whole: bool = True
    note: str = ""


@dataclass(frozen=True)
class Check:
    """The claim of a case and its frozen result.

    Attributes
    ----------
    name : str
        The name of the case.
    claimed : float
        The claimed epsilon.
    delta : float
        The claimed delta.
    exact : str
        The largest exact epsilon at that delta, a decimal.
    n_datasets, n_pairs : int
        The number of data sets in the universe, and of pairs of neighbours that were compared.
    """

    name: str
    claimed: float
    delta: float
    exact: str
    n_datasets: int
    n_pairs: int


_QUANTILES = ("median", "lower_quartile", "two_quantiles", "quartiles", "quartiles_of_three")
_LEVELS = (*_QUANTILES, "level_of_medians", "level_of_lower_quartiles")
_DISTRIBUTION = (
    "distribution_of_four_values",
    "distribution_of_three_values",
    "distribution_by_gaussian_counts",
    "distribution_by_blocks",
    "distribution_by_blocks_at_large_epsilon",
    "distribution_by_blocks_from_below",
    "distribution_by_filled_blocks",
)

#: Of each public class that learns from private data or is released, by its name.
EVIDENCE: Mapping[str, Evidence] = {
    "ConjunctionClassifier": Evidence(("conjunction", "conjunction_of_two_columns", "local_conjunction")),
    "ExponentialMechanismClassifier": Evidence(
        (
            "exponential_classifier",
            "permute_and_flip_classifier",
            "small_classifier",
            "three_label_classifier",
        )
    ),
    "KnowledgeTransferClassifier": Evidence(("transfer", "transfer_of_labels")),
    "MaskedParityClassifier": Evidence(
        (
            "masked_parity_central",
            "masked_parity_central_one_round",
            "masked_parity_local",
            "masked_parity_local_one_round",
            "masked_parity_local_cells",
            "masked_parity_rounds_of_two_bits",
        )
    ),
    "ParityClassifier": Evidence(
        (
            "parity_elimination",
            "parity_elimination_of_two_bits",
            "parity_elimination_of_three_bits",
            "parity_stable",
            "parity_stable_of_two_bits",
            "parity_stable_of_three_bits",
            "parity_stable_labels",
            "parity_agnostic",
        )
    ),
    "PointClassifier": Evidence(("point_stability", "point_stability_of_many", "point_hashing")),
    "SecretSampleClassifier": Evidence(("secret_sample", "secret_sample_classifier")),
    "SoftLabelAggregateClassifier": Evidence(("soft_labels", "soft_labels_of_three", "soft_means")),
    "SoftLabelTransferClassifier": Evidence(
        ("soft_labels", "soft_labels_of_three", "soft_means"),
        whole=False,
        note="The student sees public rows and released scores only, and adds nothing to what is spent.",
    ),
    "StatisticalQueryLogisticRegression": Evidence(
        ("logistic", "logistic_step", "logistic_second_moments", "logistic_scores", "logistic_local_queries")
    ),
    "StatisticalQueryNaiveBayes": Evidence(
        (
            "naive_bayes",
            "naive_bayes_of_two_records",
            "naive_bayes_of_two_columns",
            "local_naive_bayes",
            "local_naive_bayes_of_two_columns",
        )
    ),
    "SubsampleAggregateClassifier": Evidence(
        (
            "ensemble_sparse_vector",
            "ensemble_three_labels",
            "ensemble_gnmax",
            "ensemble_confident_gnmax",
            "ensemble_lnmax",
        )
    ),
    "ThresholdClassifier": Evidence(
        (
            "threshold_exponential",
            "threshold_exponential_of_two_columns",
            "threshold_interior_point",
            "threshold_interior_point_of_four",
            "threshold_interior_point_of_two_columns",
            "threshold_between",
            "threshold_between_of_two",
        )
    ),
    "PrivateScore": Evidence(("private_score",), whole=False),
    "PrivateSearchCV": Evidence(
        (
            "search_by_permute_and_flip",
            "search_and_refit",
            "search_by_random_stopping",
            "search_with_delta",
            "search_over_folds",
            "best_of_runs",
            "best_of_logarithmically_many_runs",
            "best_of_concentrated_runs",
            "best_of_two_runs",
        ),
        note="The searches that are enumerated fit a tiny learner of their own, and best_of_runs is what one"
        " way of searching is made of.",
    ),
    "CellEncoder": Evidence((), note="It learns nothing from any value, so there is nothing to enumerate."),
    "PrivateKBinsDiscretizer": Evidence(_LEVELS, whole=False),
    "PrivateMinMaxClipper": Evidence(("min_max_clipper",)),
    "PrivateQuantileTransformer": Evidence(_LEVELS, whole=False),
    "PrivateRobustScaler": Evidence(_LEVELS, whole=False),
    "InteriorPoint": Evidence(
        (
            "interior_point_exponential",
            "interior_point_lengths",
            "interior_point_long_lengths",
            "interior_point_prefixes",
            "interior_point_recursive",
            "interior_point_recursive_twice",
        ),
        whole=False,
    ),
    "Quantiles": Evidence(_LEVELS, whole=False),
    "StableCounts": Evidence(("stable_counts", "stable_counts_of_few")),
    "CDFRelease": Evidence(_DISTRIBUTION, whole=False),
}


def evidence_of(name: str) -> Evidence | None:
    """Return the evidence for a class; None if none is recorded.

    Parameters
    ----------
    name : str
        The name of the class.
    """
    return EVIDENCE.get(name)


def checks_of(evidence: Evidence) -> list[Check]:
    """Return the claims and the frozen results of the cases.

    Parameters
    ----------
    evidence : Evidence
        Names the cases.
    """
    from dplearn.audit.cases import CASES  # takes seconds, and only a card needs it

    found = []
    for case in map(CASES.__getitem__, evidence.cases):
        frozen, values = case.frozen(), len(case.universe)
        # A case that ignores the order of records has multisets of n records as data sets.
        datasets = values**case.n if case.ordered else comb(values + case.n - 1, case.n)
        claim = case.claim
        found.append(
            Check(
                case.name,
                float(claim.epsilon),
                float(claim.delta),
                frozen["epsilon"],
                datasets,
                frozen["n_pairs"],
            )
        )
    return found
