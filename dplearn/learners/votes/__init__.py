"""Sub-sample and aggregate: teachers on disjoint shards, and what is released of their votes.

How data flow: an ensemble's recipe (`recipe.py`) cuts a private table into shards, one for each teacher.
`teachers.py` trains the teachers and asks them, isolated from each other, in this process or in workers
(`worker_pool.py`), where possible many at once (`batches.py`). What they are asked, labels or scores, is
`asked.py`; `aggregators.py` releases answers with noise. An estimator keeps its teachers, and each prediction
asks them (`online.py`), or it teaches a student (`student.py`) by their answers to public rows, and drops
them (`transfer.py`). `dry_runs.py` finds estimators that fail, before a fit is charged; `standard.py` has the
default ones.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
