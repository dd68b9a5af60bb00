"""Kernels with no privacy in them: exact numbers, distributions, counting."""
