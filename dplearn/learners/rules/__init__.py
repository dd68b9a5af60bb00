"""Rules that a private selection chooses: concepts of a finite class, thresholds, points, lines.

How data flow: a domain turns records into codes. From codes and labels a summary computes the errors of each
rule (`dplearn.concepts`), or a leading rule and its distance to a change of the leader. A fit draws once or
twice: a private selection by errors, an interior point, or a release that abstains unless the leader is
stable. Each learner stands in one file with its plan and sample sizes; those of points are in
`point_sizes.py`.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
