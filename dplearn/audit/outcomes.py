"""What a run lets the world see, as a hashable value: everything that a pickle of it would hold.

>>> import numpy as np
>>> freeze({"a": np.array([1, 2], dtype=np.int16)})
('dict', (('a', ('ndarray', '<i2', (2,), (1, 2))),))
"""

from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["freeze"]

_PLAIN = (type(None), bool, int, str, bytes)


def freeze(value: Any) -> Any:
    """Return a hashable stand-in for `value`, equal for two values exactly if nothing tells them apart.

    Types, dtypes, orders of dictionaries and attributes with a leading underscore all count: whoever gets
    the object can look at them. Objects are taken apart as pickle would do it.

    Parameters
    ----------
    value : object
        Anything that can be pickled; functions and classes stand for their names.
    """
    if type(value) in _PLAIN:
        # True == 1 as a key, so a bool carries its type.
        return value if type(value) is not bool else ("bool", int(value))
    if isinstance(value, (float, complex, Fraction)):
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray):
        items = value.ravel().tolist()
        frozen = tuple(map(freeze, items)) if value.dtype.kind in "OfcV" else tuple(items)
        return "ndarray", value.dtype.str, value.shape, frozen
    if isinstance(value, np.generic):
        return "scalar", value.dtype.str, freeze(value.item())
    if type(value) in (list, tuple):
        return type(value).__name__, tuple(map(freeze, value))
    if type(value) is dict:
        return "dict", tuple((freeze(k), freeze(v)) for k, v in value.items())
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, tuple(sorted(map(freeze, value), key=repr))
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return "name", f"{value.__module__}.{value.__qualname__}"
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return "global", reduced
    return "object", tuple(freeze(list(p) if hasattr(p, "__next__") else p) for p in reduced)
