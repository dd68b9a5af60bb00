"""Votes: the counts of teachers' votes, the plurality winner of each query, and its distance to instability.

For few labels, eight teachers are counted together. The code of a vote is its label plus one, and 0 for no
vote. The codes of eight teachers are regrouped into bytes such that one byte has the lowest bits of all
eight, another their second bits, and so on. This is the transpose of an 8 x 8 matrix of bits, by three rounds
of exchanges on 64-bit words. The product ``a & b`` of two such bytes marks the teachers with both bits set,
and one instruction counts the marks. So for each c the number of teachers with a code that has all bits of c
is counted. The numbers of teachers with code c follow by Moebius inversion over supersets: for each bit in
turn, subtract the count with the bit from the count without it.

For many labels, a histogram has one bin for each label and query.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count

_SLICED = 127  # greatest number of labels for which bit slices are faster than a histogram
_QUERIES = 1 << 14  # number of queries counted together by bit slices
_BINS = 1 << 18  # number of bins of one histogram


@dataclass(frozen=True, eq=False, repr=False)  # a traceback may show it
class Votes:
    """The result of the votes for each query. Private.

    `counts` (n_queries, n_labels): number of votes for each label. `winner` (n_queries,): the first label
    with the most votes. `distance` (n_queries,): the distance to instability, as defined in `plurality`.
    """

    counts: NDArray[np.int64]
    winner: NDArray[np.int64]
    distance: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.winner)


def plurality(counts: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the winner of each query and its distance to instability.

    `counts` (..., n_labels): number of votes for each label; at least two labels. `winner` (...): the first
    label with the most votes. `distance` (...): one less than the least number of changed votes after which
    another label wins. It is 0 if one changed vote may change the winner; one changed, added or removed vote
    changes it by at most 1.

    Notes
    -----
    The fewest changes that make label j win turn votes for the winner w into votes for j; each reduces their
    gap g by 2. A label before w wins a tie and needs ceil(g / 2) changes; a label after w needs ceil((g + 1)
    / 2), the same as for a gap that is larger by 1. One less than ceil(g / 2) is floor((g - 1) / 2).
    """
    counts = np.asarray(counts, dtype=np.int64)
    winner = counts.argmax(axis=-1)[..., None]
    gaps = np.take_along_axis(counts, winner, axis=-1) - counts
    gaps += np.arange(counts.shape[-1]) > winner
    np.put_along_axis(gaps, winner, np.iinfo(np.int64).max, axis=-1)
    return winner[..., 0], (gaps.min(axis=-1) - 1) // 2


def tally(labels: Any, n_labels: int) -> Votes:
    """Count the teachers' votes for each query.

    `labels` (n_teachers, n_queries): Private. From 0 to n_labels - 1, or -1 for no vote. `n_labels`: at least
    2; public.

    Notes
    -----
    Besides the result, and an array made of a list, the function needs some megabytes for any number of
    teachers and queries; if n_labels is above 2**18, the memory is proportional to it.
    """
    n_labels = check_count("n_labels", n_labels, low=2)
    array = _checked(labels, n_labels)
    few = n_labels <= _SLICED
    shape = (array.shape[1], n_labels)
    votes = Votes(
        np.empty(shape, dtype=np.int64, order="F" if few else "C"),
        np.empty(shape[0], dtype=np.int64),
        np.empty(shape[0], dtype=np.int64),
    )
    for block in blocks(shape[0], _QUERIES if few else max(1, _BINS // n_labels)):
        counts = (sliced_counts if few else binned_counts)(array[:, block], n_labels)
        votes.counts[block] = counts.T
        votes.winner[block], votes.distance[block] = _leading(counts) if few else plurality(counts.T)
    return votes


def _checked(labels: Any, n_labels: int) -> NDArray[Any]:
    """Return `labels` as an array if they are valid votes; the errors do not show them."""
    array = np.asarray(labels)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError("labels must be an array of integers")
    if array.ndim != 2:
        raise ValueError("labels must have a row for each teacher and a column for each query")
    if array.size and (array.min() < -1 or array.max() >= n_labels):
        raise ValueError(f"labels must be from -1 to n_labels - 1 = {n_labels - 1}")
    return array


def _leading(counts: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the result of `plurality` for at most 256 labels, faster if each label's counts are contiguous.

    `counts` has a row for each label, of any signed integer dtype. A rival before the winner needs as many
    changed votes as a rival after it with one vote more. So let `rival` be the greatest of the counts of
    labels before the winner and of the counts, minus 1, of labels after it. The winner's gap to it is at
    least 1, and ceil(gap / 2) votes must change.
    """
    top = counts[0]
    winner, rival = np.zeros(top.size, dtype=np.uint8), np.full_like(top, -1)
    for label, votes in enumerate(counts[1:], start=1):
        winner = np.maximum(winner, (votes > top) * np.uint8(label))
        # With more votes than `top` the label becomes the winner: then top <= votes - 1, and all labels
        # before it have at most `top` votes. Otherwise it is after the winner, and votes - 1 < top.
        rival = np.maximum(rival, np.minimum(top, votes - 1))
        top = np.maximum(top, votes)
    return winner, (top - 1 - rival) // 2


Words = NDArray[np.uint64]

_BYTE = 255  # greatest count of a byte
_SLICES = 1 << 23  # bytes of slices in a block, a row for each label and eight teachers; they fit the cache
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

    `labels` (n_teachers, n_queries): from 0 to n_labels - 1, or -1 for no vote. `n_labels`: from 1 to 255.
    Result: of the narrowest signed integer dtype for -n_teachers - 1.
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

    `labels` (n_teachers, n_queries): from 0 to n_labels - 1, or -1 for no vote. `n_labels`: at least 1.
    Result: the counts of one query are contiguous in memory.
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
