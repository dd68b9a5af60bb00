"""Explicit trees: every leaf is checked, and a wrong leaf is found."""

from dataclasses import replace

import numpy as np
import pytest

from dplearn.theory import (
    MistakeTree,
    ball_mistake_tree,
    box_mistake_tree,
    halfspace_mistake_tree,
    littlestone_dimension,
)


@pytest.mark.parametrize(("bits", "d"), [(1, 1), (5, 1), (10, 1), (3, 2), (2, 3), (1, 4), (3, 3), (1, 5)])
def test_halfspaces_and_balls_have_trees_of_the_stated_depth(bits, d):
    for grown in (halfspace_mistake_tree, ball_mistake_tree):
        tree = grown(bits, d)
        tree.check()
        assert tree.depth == bits * (d * (d - 1) // 2 + 1)
        assert all(0 <= x < 2**bits for point in tree.points for x in point)


@pytest.mark.parametrize(("bits", "d"), [(1, 3), (2, 1), (4, 1), (3, 2), (2, 3), (3, 3), (2, 5)])
def test_boxes_have_trees_of_the_stated_depth(bits, d):
    tree = box_mistake_tree(bits, d)
    tree.check()
    assert tree.depth == 2 * d * (bits - 1)
    assert all(0 <= x < 2**bits for point in tree.points for x in point)
    assert all(0 <= x < 2**bits for box in tree.concepts for x in (*box.low, *box.high))


def test_balls_are_balls():
    assert min(ball.radius2 for ball in ball_mistake_tree(2, 3).concepts) >= 0


@pytest.mark.parametrize("tree", [halfspace_mistake_tree(2, 2), box_mistake_tree(2, 2)])
def test_the_concepts_of_a_tree_have_its_depth_as_a_table(tree):
    points = sorted(set(tree.points))
    table = np.array([[concept(point) for point in points] for concept in tree.concepts])
    assert littlestone_dimension(table).lower >= tree.depth


def test_a_wrong_leaf_a_wrong_point_and_a_missing_leaf_are_found():
    tree = halfspace_mistake_tree(2, 2)
    swapped = replace(tree, concepts=tree.concepts[::-1])
    with pytest.raises(ValueError, match="concept 0 must have label 0 at"):
        swapped.check()
    moved = replace(tree, points=(tree.points[1], *tree.points[1:]))
    with pytest.raises(ValueError, match="node 1"):
        moved.check()
    for short in (replace(tree, concepts=tree.concepts[:-1]), replace(tree, points=tree.points[:-1])):
        with pytest.raises(ValueError, match="must have a power of two"):
            short.check()
    with pytest.raises(ValueError, match="power of two"):
        MistakeTree((), ()).check()


@pytest.mark.parametrize("grown", [box_mistake_tree, halfspace_mistake_tree, ball_mistake_tree])
def test_trees_that_cannot_be_listed_are_refused(grown):
    with pytest.raises(ValueError, match="at most 16 levels, got"):
        grown(20, 3)
    with pytest.raises(ValueError, match="n_features must be an integer at least 1"):
        grown(2, 0)
