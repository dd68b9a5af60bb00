"""Exact distributions as dictionaries, which tests compare with a formula."""

from collections import Counter

from dplearn.audit import exact_distribution


def law(run, tail_bits=40):
    """From all that `run(dice)` may release, lists and booleans as tuples and integers, to probabilities."""
    found = exact_distribution(run, tail_bits)
    return Counter({plain(seen): found.probability(seen) for seen in found.masses})


def plain(seen):
    """Return a frozen outcome without the names of its types."""
    if isinstance(seen, tuple) and seen[0] in ("tuple", "list"):
        return tuple(map(plain, seen[1]))
    return seen[1] if isinstance(seen, tuple) and seen[0] == "bool" else seen


def left_out(distribution):
    """Return the probability of what enumeration leaves out of noise without ends."""
    return 1 - sum(distribution.values())
