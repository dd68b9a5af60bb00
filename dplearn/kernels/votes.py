"""Votes of teachers, for labels or with scores: the winner of each query, and its distance to instability.

**Labels.** For few labels, eight teachers are counted together: their codes, label plus one, or 0 for no
vote, are regrouped into bytes of the lowest bits of all eight, of their second bits, and so on. A product ``a
& b`` of bytes marks the teachers with both bits set; the numbers with each code follow by Moebius inversion
over supersets. For many labels, a histogram has one bin for each label and query.

**Scores.** A score in [0, 1] is rounded down to a multiple of 1 / `FIXED_POINT_ONE`. With b bins it is in one
of 2 b half bins: 2 j and 2 j + 1 form bin j, and 2 j + 1 and 2 j + 2 shifted bin j. The first and the last
half bin have the last shifted label, b - 1, an abstention.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.kernels.rows import blocks

_SLICED = 127  # greatest number of labels for which bit slices are faster than a histogram
_QUERIES = 1 << 14  # number of queries counted together by bit slices
_BINS = 1 << 18  # number of bins of one histogram
_CHECKED = 1 << 16  # number of labels that are checked together


@dataclass(frozen=True, eq=False, repr=False)  # a traceback may show it
class Votes:
    """The result of the votes for each query. Private."""

    counts: NDArray[np.int64]  # (n_queries, n_labels)
    winner: NDArray[np.int64]  # the first label with the most votes
    distance: NDArray[np.int64]  # to instability, see `plurality`

    def __len__(self) -> int:
        return len(self.winner)


def plurality(counts: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first label with the most votes of each query, and its distance to instability.

    The distance is one less than the least number of changed votes after which another label wins; one vote
    moves it by at most 1. At a gap g it is ceil(g / 2) - 1 for a label before the winner, which wins a tie,
    and that of g + 1 for a label after it; ceil(g / 2) - 1 = floor((g - 1) / 2).
    """
    counts = np.asarray(counts, dtype=np.int64)
    winner = counts.argmax(axis=-1)[..., None]
    gaps = np.take_along_axis(counts, winner, axis=-1) - counts
    gaps += np.arange(counts.shape[-1]) > winner
    np.put_along_axis(gaps, winner, np.iinfo(np.int64).max, axis=-1)
    return winner[..., 0], (gaps.min(axis=-1) - 1) // 2


def tally(labels: Any, n_labels: int) -> Votes:
    """Count the teachers' votes for each query: labels of shape (n_teachers, n_queries), -1 for no vote."""
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
    # Rows that fit the cache are read once for both ends.
    parts = [array[rows] for rows in blocks(len(array), max(1, _CHECKED // max(1, array.shape[1])))]
    if any(part.size and (part.min() < -1 or part.max() >= n_labels) for part in parts):
        raise ValueError(f"labels must be from -1 to n_labels - 1 = {n_labels - 1}")
    return array


def _leading(counts: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return `plurality` of at most 256 labels, faster if each label's counts are contiguous."""
    # `rival` is the greatest of the counts of labels before the winner and of the counts, minus 1, of labels
    # after it. The winner's gap to it is at least 1, and ceil(gap / 2) votes must change.
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


def sliced_counts(labels: NDArray[Any], n_labels: int) -> NDArray[Any]:
    """Count votes for at most 255 labels, by bit slices, in the narrowest dtype for -n_teachers - 1."""
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
    """Count votes for any number of labels, by a histogram; the counts of a query are contiguous."""
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
    ones = np.empty((len(codes) // 8, codes.shape[1]), dtype=np.uint8)
    totals = np.empty((n_labels, codes.shape[1]), dtype=np.uint8)
    # By its lowest bit, the marks of the last code: with all others, they would not fit the cache.
    marks, spare = list(planes), [np.empty_like(plane) for plane in planes]
    for code, total in enumerate(totals, start=1):
        bit, rest = (code & -code).bit_length() - 1, code & (code - 1)
        marks[bit] = planes[bit]
        if rest:  # it is the last code so far with its own lowest bit
            above = marks[(rest & -rest).bit_length() - 1]
            marks[bit] = np.bitwise_and(planes[bit], above, out=spare[bit])
        np.bitwise_count(marks[bit].view(np.uint8).reshape(ones.shape), out=ones)
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
    """Return `bits` arrays: array i has bit i of a byte of each of the eight rows, which are overwritten."""
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


_DIGITS = 12
#: The fixed-point representation of 1: the number of steps between 0 and 1.
FIXED_POINT_ONE = 1 << _DIGITS


def scores_per_row(n_labels: int) -> int:
    """Return the number of scores of a row: one for each label, but only the second's for two labels."""
    return 1 if n_labels == 2 else n_labels


def fixed_point(scores: NDArray[Any]) -> NDArray[np.int16]:
    """Return scores, clipped to [0, 1], in units of 1 / `FIXED_POINT_ONE`, below it; -1 for NaN."""
    scores = np.asarray(scores, dtype=np.float64)
    known = ~np.isnan(scores)
    whole = np.floor(np.where(known, scores, 0.0).clip(0, 1) * FIXED_POINT_ONE).clip(max=FIXED_POINT_ONE - 1)
    return np.where(known, whole, -1).astype(np.int16)


def half_bins(fixed_scores: NDArray[Any], n_bins: int) -> NDArray[np.int64]:
    """Return the half bin of each fixed-point score, from 0 to 2 n_bins - 1; -1 is kept."""
    return (
        fixed_scores.astype(np.int64) * (2 * n_bins)
    ) >> _DIGITS  # -1 * 2 n_bins >= -FIXED_POINT_ONE gives -1


def shifted_bins(half: NDArray[np.int64], n_bins: int) -> NDArray[np.int64]:
    """Return the shifted bin of each half bin, n_bins - 1 for the first and the last; -1 is kept."""
    shifted = ((half + 1) >> 1) - 1
    return np.where(half == 0, n_bins - 1, shifted)


def midpoints(winner: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
    return (2 * winner + 1) / (2 * n_bins)


def shifted_midpoints(winner: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
    """Return the midpoints of shifted bins, NaN for the label n_bins - 1."""
    return np.where(winner == n_bins - 1, np.nan, (winner + 1) / n_bins)


ENTRIES = 1 << 21  # scores, or counts of bins, eight bytes each, at a time


@dataclass(frozen=True, eq=False, repr=False)  # a traceback may show it
class Lead:
    """The first bin of each query with the most scores, and its distance to instability. Private."""

    winner: NDArray[np.int64]
    distance: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class SoftVotes:
    """Teachers' scores for queries, with the winning bins and shifted bins."""

    fixed_scores: NDArray[Any]  # Private. (n_teachers, n_queries); -1 if a teacher has none
    n_bins: int  # Public
    width: int  # Public. Queries that belong to one row
    plain: Lead
    shifted: Lead  # label n_bins - 1 stands for the first and the last half bin

    def __len__(self) -> int:
        return self.fixed_scores.shape[1] // self.width


def soft_tally(fixed_scores: NDArray[Any], n_bins: int, width: int = 1) -> SoftVotes:
    """Count the scores, as from `fixed_point`, in each bin and shifted bin, with `width` scores a row."""
    leads = np.zeros((4, fixed_scores.shape[1]), dtype=np.int64)
    for block in blocks(fixed_scores.shape[1], max(1, ENTRIES // max(len(fixed_scores), n_bins))):
        half = half_bins(fixed_scores[:, block], n_bins)
        plain, shifted = tally(half >> 1, n_bins), tally(shifted_bins(half, n_bins), n_bins)
        leads[:, block] = plain.winner, plain.distance, shifted.winner, shifted.distance
    return SoftVotes(fixed_scores, n_bins, width, Lead(leads[0], leads[1]), Lead(leads[2], leads[3]))
