"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.fit.execute import Facts as Facts
from dplearn.fit.execute import Recipe as Recipe
from dplearn.fit.execute import begin as begin
from dplearn.fit.relation import GROUPS as GROUPS
from dplearn.fit.relation import N_IS_PUBLIC as N_IS_PUBLIC
from dplearn.fit.relation import PARTS as PARTS
from dplearn.fit.relation import PARTS_OF_GROUPS as PARTS_OF_GROUPS
from dplearn.fit.relation import PUBLIC_ROWS as PUBLIC_ROWS
from dplearn.fit.relation import TABLE as TABLE
from dplearn.fit.relation import noisy_count as noisy_count
from dplearn.fit.relation import shares_with_count as shares_with_count
from dplearn.fit.relation import without_count as without_count
from dplearn.fit.support import FEATURES as FEATURES
from dplearn.fit.support import REFUSALS as REFUSALS
from dplearn.fit.support import refuse_unsupported as refuse_unsupported
from dplearn.fit.support import refuse_wrapped as refuse_wrapped
from dplearn.fit.support import supported as supported
from dplearn.fit.support import supports as supports
