"""No named concept class leaves a column out in silence: it uses all, or names those it would not use."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dplearn import ExponentialMechanismClassifier
from dplearn.concepts import CONCEPT_CLASSES
from dplearn.domains import Bits, IntegerRange

N = 300
#: The greatest number of columns; None: any.
MOST = {"stumps": None, "thresholds": 1, "corners": None, "conjunctions": None, "parities": None}


def table_of(width):
    bits = np.random.default_rng(width).integers(0, 2, (N, width))
    return pd.DataFrame(bits, columns=[f"column {place}" for place in range(width)])


def test_every_name_is_in_the_table():
    named = {name for name, kind in CONCEPT_CLASSES.items() if kind.__module__.startswith("dplearn.")}
    assert named == set(MOST)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("name", MOST)
def test_the_last_column_alone_decides_or_is_named_in_the_refusal(name, width):
    X, most = table_of(width), MOST[name]
    y = X.iloc[:, -1].to_numpy()
    of_bits = name in ("conjunctions", "parities")  # which take no learned schema
    for domain in (Bits(), None) if of_bits else (IntegerRange(0, 1), None, "learn"):
        if name == "corners" and width > 2 and not isinstance(domain, IntegerRange):
            continue  # all floats, which have too many corners
        model = ExponentialMechanismClassifier(name, epsilon=500, domain=domain, classes=[0, 1])
        if most is None or width <= most:
            assert model.fit(X, y).score(X, y) == 1
            model.plan(N, n_features=width)
            continue
        unused = ", ".join(f"'column {place}'" for place in range(most, width))
        message = f"at most {most} column.* '{name}', got {width}: \\[{unused}\\] would not be used"
        for protects in ("examples",) if domain == "learn" else ("examples", "labels"):
            refused = clone(model).set_params(protects=protects)
            with pytest.raises(ValueError, match=message):
                refused.fit(X, y)
            with pytest.raises(ValueError, match=message.replace("column ", "x")):
                refused.plan(N, n_features=width)
