"""Transformers that fit in front of a private learner."""

from dplearn.preprocessing.cells import CellEncoder

__all__ = ["CellEncoder"]
