"""Pieces cover a domain once, and tell of each code how many others are below it and up to it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.core.intervals import pieces

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=200)


@repeatable
@given(st.lists(st.integers(2, 11)), st.integers(0, 2), st.integers(0, 5))
def test_every_code_lies_in_one_piece_and_has_the_ranks_of_its_piece(codes, start, before):
    codes = sorted(codes)
    starts, lengths, below, upto = pieces(codes, 13, start=start, before=before)
    found = []
    for first, length, less, not_greater in zip(starts, lengths, below, upto, strict=True):
        assert length >= 1
        for code in range(first, first + length):
            found.append(code)
            assert less == before + sum(other < code for other in codes)
            assert not_greater == before + sum(other <= code for other in codes)
    assert found == list(range(start, 13))


def test_codes_of_any_size_are_cut_exactly():
    starts, lengths, _, _ = pieces([0, 2**100], 2**200)
    assert starts == [0, 1, 2**100, 2**100 + 1]
    assert lengths == [1, 2**100 - 1, 1, 2**200 - 2**100 - 1]
