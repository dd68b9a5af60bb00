"""One law for all sizes: n keeps the promise and n - 1 does not, a harder task takes no fewer records, each
parameter is checked by its name, and a number may be written in any exact form.

What the bounds are worth is tested beside each of them, by brute force.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dplearn import theory
from dplearn.learners.parity import masked_parity_sizes
from dplearn.privacy import ApproxDP

#: Values of parameters that many sizes have, from an easy task to a hard one; and what each must not be.
HARDER = {
    "epsilon": (3, 0.5, 0.1),
    "delta": (1e-2, 1e-6, 1e-9),
    "alpha": (0.3, 0.1, 0.03),
    "beta": (0.3, 0.05, 1e-3),
}
WRONG = {"epsilon": (0, float("inf")), "delta": (1, -1), "alpha": (0, 1), "beta": (0, 1)}
USUAL = {name: values[1] for name, values in HARDER.items() if name != "delta"}
APPROXIMATE = USUAL | {"delta": 1e-6}
WITHOUT_ALPHA = {name: value for name, value in APPROXIMATE.items() if name != "alpha"}


@dataclass(frozen=True)
class Size:
    """A size, how often it fails with n records, values of its own parameters from an easy task to a hard
    one, and such values of usual parameters where those of all sizes do not do."""

    size: Callable
    given: dict
    failure: Callable | None = None
    more: dict = field(default_factory=dict)
    harder: dict = field(default_factory=dict)

    def ladders(self):
        return {name: HARDER[name] for name in self.given if name in HARDER} | self.more | self.harder

    def at(self, **changed):
        found = self.size(**self.given | changed)
        return getattr(found, "n_samples", found)


def hashed_failure(n, **task):
    """The least failure over all numbers of buckets."""
    return min(theory.hashed_point_failure(n, 1 << bits, **task) for bits in range(25))


def once_failure(n, *, method, **task):
    return theory.elimination_failure(**task, n_parts=1, part_size=n, test_size=0)


def agnostic_failure(n, *, method, **task):
    return theory.agnostic_failure(n_samples=n, **task)


def counts_failure(n, *, n_counts, n_moved, epsilon, alpha):
    """Of discrete Laplace noise: some count's noise is above alpha n."""
    ratio = np.exp(-epsilon / n_moved)
    return n_counts * 2 * ratio ** (np.floor(Fraction(str(alpha)) * n) + 1) / (1 + ratio)


def grows(n, **task):
    """A class that grows with the records: a fit of n - 1 records with the class of n rows."""
    n_labels = task.pop("n_labels", 2)
    size = n_labels * (n_labels - 1) * task.pop("n_columns") * n + n_labels
    needed = theory.representation_sample_size(class_size=size, beta=0.05, **task)
    return 0.0 if needed <= n - 1 else 1.0


def with_budget(function, **given):
    """Of a size that takes its budget as one: the size by epsilon and delta."""

    def size(epsilon, delta, **task):
        found = function(privacy=ApproxDP(epsilon, delta), **given | task)
        return getattr(found, "n_private", found)

    return size


SMALLER_EPSILON = {"epsilon": (0.5, 0.1, 0.01)}
CLASS = {"class_size": (2, 11, 2**64, 10**400)}
BITS = {"n_unknowns": (1, 9, 100)}
FEATURES = {"n_features": (1, 9, 100), "fit_intercept": (False, True)}
TEACHERS = {"max_abstentions": 5, "n_queries": 100, "epsilon": 1, "delta": 1e-6, "beta": 0.05}
OF_TEACHERS = {"max_abstentions": (1, 5, 50), "n_queries": (10, 100, 10**5)}
SIZES = {
    "generic": Size(
        theory.generic_sample_size,
        {"class_size": 11, **USUAL},
        lambda n, **task: theory.generic_failure_bound(n_samples=n, **task),
        CLASS,
    ),
    "representation": Size(
        theory.representation_sample_size,
        {"class_size": 11, "kappa": 0.01, "miss": 0.01, **USUAL},
        lambda n, **task: theory.representation_failure(n_samples=n, **task),
        CLASS | {"kappa": (0, 0.01, 0.02), "miss": (0, 0.0005, 0.01), "agnostic": (False, True)},
        harder={"beta": (0.3, 0.05, 0.02)},
    ),
    "dichotomies": Size(
        theory.dichotomy_sample_size,
        {"n_columns": 30, **USUAL},
        grows,
        {"n_columns": (1, 30, 10**6), "n_labels": (2, 5), "agnostic": (False, True)},
    ),
    "public cuts": Size(
        theory.public_cut_sample_size,
        {"n_columns": 30, "n_rows": 400, **USUAL},
        more={"n_columns": (1, 30, 10**6), "n_rows": (1000, 400), "agnostic": (False, True)},
    ),
    "a parity by elimination": Size(
        theory.elimination_sizes,
        {"n_unknowns": 9, **USUAL},
        lambda n, **task: theory.elimination_split(n, beta=0.05, **task).failure,
        BITS,
    ),
    "a parity": Size(theory.parity_sample_size, {"n_unknowns": 9, **USUAL}, more=BITS),
    "a parity by one part": Size(
        theory.parity_sample_size,
        {"n_unknowns": 9, "method": "once", **USUAL, "beta": 0.3},
        once_failure,
        BITS,
        harder={"epsilon": (3, 2, 1.9), "beta": (0.5, 0.35, 0.3)},
    ),
    "any parity": Size(
        theory.parity_sample_size, {"n_unknowns": 9, "method": "agnostic", **USUAL}, agnostic_failure, BITS
    ),
    **{
        f"{name}, published": Size(size, {**given, "bound": "paper", **USUAL}, None, more, SMALLER_EPSILON)
        for name, size, given, more in (
            ("generic", theory.generic_sample_size, {"class_size": 11}, CLASS),
            ("a parity", theory.parity_sample_size, {"n_unknowns": 9}, BITS),
            ("any parity", theory.parity_sample_size, {"n_unknowns": 9, "method": "agnostic"}, BITS),
        )
    },
    "a parity without privacy": Size(
        theory.nonprivate_parity_sample_size, {"n_unknowns": 9, "alpha": 0.1, "beta": 0.05}, more=BITS
    ),
    "stable parities": Size(
        theory.stable_parity_sizes, {"n_features": 9, **WITHOUT_ALPHA, "epsilon": 1}, more=FEATURES
    ),
    **{
        f"a masked parity, {trust}": Size(
            theory.masked_parity_sample_size,
            {"n_bits": 8, "trust_model": trust, "epsilon": 0.5, "beta": 0.05},
            lambda n, **task: masked_parity_sizes(n, **task).failure,
            {"n_bits": (1, 8, 32), "interactive": (False, True)},
        )
        for trust in ("central", "local")
    },
    "a key by name": Size(
        theory.stable_point_sample_size,
        {**APPROXIMATE, "n_outputs": 5},
        lambda n, **task: theory.stable_point_failure(n_samples=n, **task),
        {"n_outputs": (1, 2, 5)},
    ),
    "a hashed key": Size(theory.hashed_point_sizes, USUAL, hashed_failure),
    "hashed keys": Size(
        theory.hashed_point_sizes, {**USUAL, "n_keys": 5}, hashed_failure, {"n_keys": (1, 2, 5, 20)}
    ),
    "a hashed prefix": Size(
        theory.hashed_point_sizes, {**USUAL, "n_columns": 16}, hashed_failure, {"n_columns": (2, 16, 64)}
    ),
    "a line": Size(
        theory.line_sample_size,
        {**APPROXIMATE, "epsilon": 3, "alpha": 0.3},
        lambda n, **task: theory.line_failure(n_samples=n, **task),
        harder={"epsilon": (5, 3), "delta": (1e-2, 1e-6), "alpha": (0.4, 0.3), "beta": (0.3, 0.05)},
    ),
    "any line": Size(
        theory.pure_line_sample_size,
        {"p": 101, **USUAL},
        lambda n, **task: theory.pure_line_failure(n_samples=n, **task),
        {"p": (2, 101, 2**61 - 1)},
    ),
    **{
        f"a threshold by {method}": Size(
            theory.threshold_sample_size,
            {"method": method, "n_cuts": 1000, "realizable": True, **USUAL},
            more={"n_cuts": (10, 1000, 2**64), "n_columns": (1, 2, 100)},
        )
        for method in ("exponential", "interior_point")
    },
    **{
        f"errors of a threshold by {method}": Size(
            theory.threshold_excess_errors,
            {"method": method, "n_cuts": 1000, "epsilon": 0.5, "beta": 0.05},
            more={"n_cuts": (10, 1000, 2**64), "n_columns": (1, 2, 100)},
        )
        for method in ("exponential", "interior_point")
    },
    "few errors at large": Size(
        theory.generalisation_sample_size,
        {"vc_dimension": 3, "empirical_alpha": 0.01, "alpha": 0.1, "beta": 0.05},
        lambda n, **task: theory.generalisation_failure(n_samples=n, **task),
        {"vc_dimension": (0, 1, 10), "empirical_alpha": (0, 0.01, 0.02)},
    ),
    "noisy counts": Size(
        theory.noisy_counts_sample_size,
        {"n_counts": 30, "n_moved": 10, **USUAL},
        counts_failure,
        {"n_counts": (1, 30, 1000), "n_moved": (1, 10, 30)},
    ),
    "normal counts": Size(
        theory.noisy_counts_sample_size,
        {"n_counts": 30, "n_moved": 10, **APPROXIMATE},
        more={"n_counts": (1, 30, 1000), "n_moved": (1, 10, 30)},
    ),
    "a small database": Size(
        theory.small_database_sizes,
        {"domain_size": 2**12, "n_queries": 24, **USUAL, "alpha": 0.2},
        more={"domain_size": (2, 16, 2**14), "n_queries": (2, 24, 2**16)},
        harder={"beta": (0.3, 0.05, 0.01), "alpha": (0.3, 0.2, 0.1)},
    ),
    **{
        f"queries, {trust}": Size(
            theory.query_sample_size,
            {
                "tolerance": 0.1,
                "queries": 3,
                "width": 1.0,
                "trust_model": trust,
                "epsilon": 0.5,
                "beta": 0.05,
            },
            more={"tolerance": (0.3, 0.1, 0.03), "queries": (1, 3, 10), "width": (0.5, 1.0, 2)},
        )
        for trust in ("central", "local")
    },
    "classification queries": Size(
        with_budget(theory.classification_queries_sample_size, n_queries=10**7),
        {"vc_dimension": 3, "epsilon": 1, "delta": 1e-6, "alpha": 0.1, "beta": 0.05},
        more={"vc_dimension": (1, 3, 30), "n_queries": (10**5, 10**7)},
        harder={"beta": (0.1, 0.05, 1e-3), "alpha": (0.3, 0.1)},
    ),
    "a transfer": Size(
        with_budget(theory.knowledge_transfer_sample_size),
        {"vc_dimension": 3, "epsilon": 1, "delta": 1e-6, "alpha": 0.1, "beta": 0.05},
        more={"vc_dimension": (1, 3, 30), "gamma": (None, 0, 0.1), "constant": (1, 2)},
        harder={"beta": (0.1, 0.05, 1e-3), "alpha": (0.3, 0.1)},
    ),
    "teachers": Size(
        with_budget(theory.teachers_needed), TEACHERS, more=OF_TEACHERS | {"agreement": (1, "5/6", "2/3")}
    ),
    "teachers of soft labels": Size(
        with_budget(theory.soft_label_teachers),
        TEACHERS,
        more=OF_TEACHERS | {"probability": ("0.95", "0.75")},
    ),
    "published teachers": Size(
        lambda **task: with_budget(theory.published_setting)(**task).n_teachers,
        TEACHERS,
        more=OF_TEACHERS,
        harder={"beta": (0.05, 1e-9)},
    ),
    "published teachers of soft labels": Size(
        with_budget(theory.published_strong_quality_teachers), TEACHERS, more=OF_TEACHERS
    ),
}
LOWER = {
    "of any pure learner": Size(
        theory.pure_private_lower_bound, {"concepts": 8, **USUAL}, more={"concepts": (0, 2, 64, 128)}
    ),
    "of any table": Size(
        theory.empirical_lower_bound, {"vc_dimension": 3, **APPROXIMATE}, more={"vc_dimension": (1, 3, 100)}
    ),
    "of a key's name": Size(
        theory.proper_point_lower_bound,
        {"domain_size": 2**64, **APPROXIMATE},
        more={"domain_size": (1, 4, 2**64, 2**1024)},
    ),
    "of any line": Size(
        theory.pure_line_lower_bound, {"p": 2**61 - 1, **USUAL}, more={"p": (3, 2**13 - 1, 2**61 - 1)}
    ),
    "of an interior point": Size(
        theory.interior_point_lower_bound,
        {"domain_size": 2**64, **WITHOUT_ALPHA, "epsilon": 0.2},
        more={"domain_size": (2, 2**16, 2**64)},
        harder={"beta": (0.7, 0.01)},
    ),
}
EVERY = SIZES | {f"a lower bound {name}": each for name, each in LOWER.items()}


@pytest.mark.parametrize("name", [name for name, each in SIZES.items() if each.failure])
def test_the_size_is_the_least_that_keeps_the_promise(name):
    each = SIZES[name]
    task = {key: value for key, value in each.given.items() if key != "beta"}
    for more in [{}, *({key: values[0]} for key, values in each.more.items())]:
        n, beta = each.at(**more), each.given["beta"]
        failures = [float(each.failure(m, **task | more)) for m in (n - 1, n, n + 1, 2 * n) if m]
        assert failures[-3] <= beta * (1 + 1e-12)
        assert n == 1 or failures[0] > beta * (1 - 1e-12)
        assert all(after <= max(before * 1.001, beta) for before, after in pairwise(failures))


@pytest.mark.parametrize("name", EVERY)
def test_a_harder_task_takes_no_fewer_records(name):
    each = EVERY[name]
    for parameter, values in each.ladders().items():
        found = [each.at(**{parameter: value}) for value in values]
        assert {type(n) for n in found} == {int}
        assert found == sorted(found), parameter
        assert found[0] < found[-1], parameter


@pytest.mark.parametrize("name", EVERY)
def test_numbers_are_exact_and_their_ranges_are_checked_by_name(name):
    each = EVERY[name]
    for parameter in each.given.keys() & HARDER:
        value = str(each.given[parameter])
        written = [value, Fraction(value), Decimal(value), float(value), np.float32(value)]
        assert len({each.at(**{parameter: number}) for number in written}) == 1
        for wrong in WRONG[parameter]:
            with pytest.raises(ValueError, match=f"{parameter} must be a finite number"):
                each.at(**{parameter: wrong})
    for parameter in each.more.keys() - {"n_labels"}:
        if type(each.given.get(parameter)) is int:
            for wrong in (-1, 2.5):
                with pytest.raises((TypeError, ValueError), match=f"{parameter} must be"):
                    each.at(**{parameter: wrong})


@pytest.mark.parametrize("epsilon", [0.1, 1, 30])
@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.1), (0.01, 0.3), (0.45, 0.4)])
@pytest.mark.parametrize("bits", [1, 20, 65536])
def test_no_lower_bound_is_above_a_size_that_suffices(epsilon, alpha, beta, bits):
    asked = {"epsilon": epsilon, "alpha": alpha, "beta": beta}
    assert theory.pure_private_lower_bound(2, **asked) <= theory.hashed_point_sizes(**asked).n_samples
    generic = theory.representation_sample_size(2**bits, **asked)
    assert theory.pure_private_lower_bound(bits, **asked) <= generic  # all functions on so many points
    public = {"domain_size": 2**bits, "epsilon": epsilon, "beta": beta}
    for delta, methods in ((0, ("exponential",)), (1e-6, ("exponential", "recursive"))):
        least = theory.interior_point_lower_bound(**public, delta=delta)
        for method in methods:
            assert least <= theory.interior_point_sample_size(method, **public, delta=delta)
    named = theory.stable_point_sample_size(**asked, delta=1e-6)
    assert theory.proper_point_lower_bound(2**4096, **asked, delta=1e-6) <= named
