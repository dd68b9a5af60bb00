"""The line shows the theory's sample sizes, and the points show the simulated ones."""

import pytest

from dplearn.display import SampleSizeDisplay
from dplearn.theory import generic_sample_size, interior_point_sample_size, parity_sample_size

GENERIC = {"class_size": 64, "beta": 0.05}
PARITY = {"epsilon": 1, "alpha": 0.1, "beta": 0.3}
INTERIOR = {"method": "exponential", "epsilon": 1}
CASES = [
    (generic_sample_size, "epsilon", [0.1, 0.01], GENERIC | {"alpha": 0.1}),
    (generic_sample_size, "alpha", [0.1, 0.2], GENERIC | {"epsilon": 1}),
    (parity_sample_size, "n_unknowns", [2, 5], PARITY),
    (interior_point_sample_size, "domain_size", [2**64, 2**8], INTERIOR),
]


@pytest.mark.parametrize(("count", "vary", "values", "fixed"), CASES, ids=["0", "1", "2", "3"])
def test_the_line_is_the_calculators(count, vary, values, fixed):
    display = SampleSizeDisplay.of(count.__name__, values, vary=vary, **fixed)
    assert display.values.tolist() == sorted(map(float, values))
    assert display.sizes.tolist() == [count(**{vary: value}, **fixed) for value in sorted(values)]


def test_simulated_points_stand_beside_the_line(pyplot):
    axes = pyplot.subplots()[1]
    display = SampleSizeDisplay.from_theory(
        lambda epsilon, d: d / epsilon, [1, 2], simulated=[(1, 3), (2, 2.5)], ax=axes, d=8
    )
    assert display.line_.get_xydata().tolist() == [[1, 8], [2, 4]]
    assert display.points_.get_xydata().tolist() == [[1, 3], [2, 2.5]]
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlabel()) == ("log", "log", "epsilon")
    assert display.figure_ is axes.figure


def test_a_value_of_0_makes_the_axis_linear_and_points_are_optional(pyplot):
    display = SampleSizeDisplay([0, 1], [3, 4], vary="delta").plot()
    assert display.ax_.get_xscale() == "linear"
    assert display.points_ is None


def test_an_unknown_calculator_and_arrays_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"calculator must be callable or among.*got 'guess'"):
        SampleSizeDisplay.of("guess", [1])
    with pytest.raises(ValueError, match="values and sizes must be of one length"):
        SampleSizeDisplay([1, 2], [3])
