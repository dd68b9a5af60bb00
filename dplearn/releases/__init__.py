"""What is published about data: interior points, quantiles, distributions, counts of unknown keys."""

__all__: list[str] = []
