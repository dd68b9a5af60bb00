"""What is published about data: interior points, quantiles, distributions, counts of unknown keys."""

from dplearn.releases.interior_point import InteriorPoint, interior_point

__all__ = [
    "InteriorPoint",
    "interior_point",
]
