"""Counts of teachers' votes for each label and query, by bit slices for few labels and by bins for many.

For few labels, eight teachers are counted together. The code of a vote is its label plus one, and 0 for no
vote. The codes of eight teachers are regrouped into bytes such that one byte has the lowest bits of all
eight, another their second bits, and so on. This is the transpose of an 8 x 8 matrix of bits, by three rounds
of exchanges on 64-bit words. The product ``a & b`` of two such bytes marks the teachers with both bits set,
and one instruction counts the marks. So for each c the number of teachers with a code that has all bits of c
is counted. The numbers of teachers with code c follow by Moebius inversion over supersets: for each bit in
turn, subtract the count with the bit from the count without it.

For many labels, a histogram has one bin for each label and query.

>>> votes = np.array([[2, 0], [2, 1], [2, -1], [0, 1]])  # four teachers, two queries
>>> sliced_counts(votes, 3).tolist()
[[1, 1], [0, 2], [3, 0]]
>>> binned_counts(votes, 3).tolist()
[[1, 1], [0, 2], [3, 0]]
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["binned_counts", "blocks", "sliced_counts"]

Words = NDArray[np.uint64]

_BYTE = 255  # greatest count of a byte
_SLICES = 1 << 23  # bytes of slices in a block, a row for each label and eight teachers; they fit the cache
_BINS = 1 << 18  # number of votes, of eight bytes each, that are put into bins together
# The distance of an exchange in bits, as int and uint64, and the mask of the lower half of each group of
# bits.
_EXCHANGES = tuple(
    (places, np.uint64(places), np.uint64(lower * 0x0101_0101_0101_0101))
    for places, lower in ((4, 0x0F), (2, 0x33), (1, 0x55))
)


def blocks(length: int, step: int) -> Iterator[slice]:
    """Yield slices that cut 0..length-1 into pieces of at most `step`."""
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def sliced_counts(labels: NDArray[Any], n_labels: int) -> NDArray[Any]:
    """Count votes for at most 255 labels, by bit slices.

    Parameters
    ----------
    labels : ndarray of int of shape (n_teachers, n_queries)
        From 0 to n_labels - 1, or -1 for no vote.
    n_labels : int
        From 1 to 255.

    Returns
    -------
    ndarray of shape (n_labels, n_queries)
        Of the narrowest signed integer dtype for -n_teachers - 1.

    """
    n_teachers, n_queries = labels.shape
    bits = n_labels.bit_length()
    totals = np.zeros((1 << bits, n_queries), dtype=np.min_scalar_type(-n_teachers - 1))
    for some in blocks(n_teachers, _BYTE):
        eights = (some.stop - some.start) // 8 + 1
        for part in blocks(n_queries, max(8, _SLICES // (n_labels * eights))):
            totals[1 : n_labels + 1, part] += _with_all_bits(labels[some, part], n_labels)
    for bit in range(
        bits
    ):  # totals[c] counts codes with all bits of c; those with this bit in addition are subtracted
        pairs = totals.reshape(1 << (bits - bit - 1), 2, 1 << bit, n_queries)
        pairs[:, 0] -= pairs[:, 1]
    return totals[1 : n_labels + 1]


def binned_counts(labels: NDArray[Any], n_labels: int) -> NDArray[np.int64]:
    """Count votes for any number of labels, by a histogram.

    Parameters
    ----------
    labels : ndarray of int of shape (n_teachers, n_queries)
        From 0 to n_labels - 1, or -1 for no vote.
    n_labels : int
        At least 1.

    Returns
    -------
    ndarray of int64 of shape (n_labels, n_queries)
        The counts of one query are contiguous in memory.
    """
    n_teachers, n_queries = labels.shape
    firsts = 1 + (n_labels + 1) * np.arange(n_queries)  # the bin before a query's first is for no votes
    counts = np.zeros((n_labels + 1) * n_queries, dtype=np.int64)
    for part in blocks(n_teachers, max(1, _BINS // max(1, n_queries))):
        bins = labels[part].astype(np.intp) + firsts
        counts += np.bincount(bins.ravel(), minlength=counts.size)
    return counts.reshape(n_queries, n_labels + 1)[:, 1:].T


def _with_all_bits(labels: NDArray[Any], n_labels: int) -> NDArray[np.uint8]:
    """Count the codes, of at most 255 teachers, that have all bits of c, for c = 1..n_labels."""
    codes, n_queries = _codes(labels), labels.shape[1]
    planes = _bit_planes(codes.reshape(8, -1).view(np.uint64), n_labels.bit_length())
    marks = {1 << bit: plane for bit, plane in enumerate(planes)}
    ones = np.empty((len(codes) // 8, codes.shape[1]), dtype=np.uint8)
    totals = np.empty((n_labels, codes.shape[1]), dtype=np.uint8)
    for code, total in enumerate(totals, start=1):
        lowest = code & -code
        if code != lowest:
            marks[code] = marks[lowest] & marks[code - lowest]
        np.bitwise_count(marks[code].view(np.uint8).reshape(ones.shape), out=ones)
        np.add.reduce(ones, axis=0, dtype=np.uint8, out=total)
    return totals[:, :n_queries]


def _codes(labels: NDArray[Any]) -> NDArray[np.int8]:
    """Return each label plus one as a byte, padded with rows and columns of 0 to multiples of 8."""
    n_teachers, n_queries = labels.shape
    codes = np.empty([-(-length // 8) * 8 for length in labels.shape], dtype=np.int8)
    one, votes = np.int8(1), codes[:n_teachers, :n_queries]
    np.add(labels, one, out=votes, dtype=np.int8, casting="unsafe")  # modulo 256: code 255 becomes -1
    codes[n_teachers:] = codes[:, n_queries:] = 0
    return codes


def _bit_planes(eights: Words, bits: int) -> list[Words]:
    """Return `bits` arrays; in array i, each byte has bit i of the same byte in each of the eight rows.

    The rows are overwritten. Each bit of a byte comes from a different row.
    """
    spare, groups = np.empty_like(eights[:4]), [eights]
    for places, shift, lower in _EXCHANGES:
        groups = [
            plane
            for group in groups
            for plane in _exchanged(group, shift, lower if bits > places else None, spare[: len(group) // 2])
        ]
    return [group[0] for group in groups[:bits]]


def _exchanged(group: Words, shift: np.uint64, lower: np.uint64 | None, spare: Words) -> tuple[Words, ...]:
    """Return half as many rows with the lower bits of all and, unless `lower` is None, with the upper."""
    first, second = group[: len(spare)], group[len(spare) :]
    if lower is None:
        second <<= shift
        first |= second
        return (first,)
    np.right_shift(first, shift, out=spare)
    spare ^= second
    spare &= lower  # the differences between the upper bits of `first` and the lower bits of `second`
    second ^= spare
    spare <<= shift
    first ^= spare
    return first, second
