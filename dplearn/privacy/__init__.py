"""Guarantees: what is promised, about whom, and on what assumptions."""

from dplearn.privacy.guarantees import ApproxDP

__all__ = ["ApproxDP"]
