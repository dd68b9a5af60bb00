"""The nonuniform float grid: all float64 numbers, rounded more coarsely for magnitudes further from 1.

Seven in eight of all 2**64 floats have magnitudes above 2**128 or below 2**-128, so a uniform choice among
floats almost always has an uncommon magnitude. In this grid, magnitudes from 2**e to 2**(e + 1) have 52 minus
the number of binary digits of e significand bits. So the ranges e = 1, e from 2 to 3, from 4 to 7, ..., from
512 to 1,023 have equally many grid places. No bounds need to be guessed, and a common exponent has more than
a thousand times as many places as the rarest.

>>> import numpy as np
>>> magnitudes = (2047 << 52) - 1  # the code of 0 among all finite floats, in rising order
>>> half, one = (magnitudes + int(np.float64(x).view(np.int64)) for x in (0.5, 1.0))
>>> places = nonuniform_codes(np.array([half, one], dtype=np.uint64))
>>> int(places[1] - places[0]) == 2**51
True
>>> last_code(int(places[1]) - 1) == one - 1
True
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NONUNIFORM_SIZE", "last_code", "nonuniform_codes"]

_SIGNIFICAND = 52
_MAGNITUDES = (2047 << _SIGNIFICAND) - 1  # positive float64 values; also the code of 0
_SHIFTS = np.array([abs(exponent - 1023).bit_length() for exponent in range(2047)])  # number of dropped bits
_ENDS = np.cumsum(1 << (_SIGNIFICAND - _SHIFTS))
_STARTS = np.concatenate((np.zeros(1, dtype=np.int64), _ENDS[:-1]))  # first place of each exponent
_LARGEST = int(_ENDS[-1]) - 1

#: The number of places: 0, and equally many on each side.
NONUNIFORM_SIZE = 2 * _LARGEST + 1


def nonuniform_codes(codes: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the place of each float in the grid, after rounding towards 0.

    Parameters
    ----------
    codes : ndarray of unsigned int of shape (n,)
        Positions in the order of all finite float64 values, with 0 and -0 equal, as returned by
        `Floats().encode`.

    Returns
    -------
    ndarray of uint64 of shape (n,)
        From 0 to NONUNIFORM_SIZE - 1, nondecreasing in the code.
    """
    steps = (codes.astype(np.uint64) - np.uint64(_MAGNITUDES)).view(np.int64)  # modulo 2**64
    sign = steps >> 63  # 0 or -1
    bits = (steps ^ sign) - sign
    exponents = bits >> _SIGNIFICAND
    bits &= (1 << _SIGNIFICAND) - 1
    bits >>= _SHIFTS[exponents]
    bits += _STARTS[exponents]
    places: NDArray[np.uint64] = ((bits ^ sign) - sign + _LARGEST).view(np.uint64)
    return places


def last_code(place: int) -> int:
    """Return the greatest code with at most this place; -1 for place -1.

    Parameters
    ----------
    place : int
        From -1 to NONUNIFORM_SIZE - 1.
    """
    if place < 0:
        return -1
    step = place - _LARGEST
    exponent = int(np.searchsorted(_ENDS, abs(step), side="right"))
    shift = int(_SHIFTS[exponent])
    bits = (exponent << _SIGNIFICAND) + ((abs(step) - int(_STARTS[exponent])) << shift)
    # The last code of a positive place has its largest magnitude, that of a negative place its smallest.
    return _MAGNITUDES + bits + (1 << shift) - 1 if step >= 0 else _MAGNITUDES - bits
