"""Trees of tokens: every branch is found again, shared beginnings are one, and nobody sees a neighbour."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.models.hf.prefix import Tree

BRANCHES = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=8)


def merged(branches: list[list[int]]) -> tuple[Tree, list[list[int]]]:
    return Tree.empty().add_branches((-1, branch) for branch in branches)


def seen_by(tree: Tree, first: int = 0) -> set[tuple[int, int]]:
    """Which nodes attend to which."""
    here, above = tree.visible(first)
    assert len(here) == len(set(zip(here.tolist(), above.tolist(), strict=True)))
    return set(zip(here.tolist(), above.tolist(), strict=True))


def ancestors(tree: Tree, node: int) -> list[int]:
    """A node and all before it, by walking up."""
    walked = []
    while node >= 0:
        walked.append(node)
        node = int(tree.parents[node])
    return walked


@given(BRANCHES)
def test_a_branch_is_what_its_path_spells(branches: list[list[int]]) -> None:
    tree, paths = merged(branches)
    assert [tree.ids[path].tolist() for path in paths] == branches
    for path in paths:
        assert ancestors(tree, path[-1] if path else -1) == path[::-1]


@given(BRANCHES)
def test_each_beginning_is_one_node(branches: list[list[int]]) -> None:
    tree, _ = merged(branches)
    assert len(tree) == len({tuple(branch[: n + 1]) for branch in branches for n in range(len(branch))})


@given(BRANCHES)
def test_a_node_sees_itself_and_its_ancestors_alone(branches: list[list[int]]) -> None:
    tree, _ = merged(branches)
    assert seen_by(tree) == {(node, above) for node in range(len(tree)) for above in ancestors(tree, node)}
    assert [len(ancestors(tree, node)) for node in range(len(tree))] == (tree.depths + 1).tolist()


@given(BRANCHES, st.integers(0, 10))
def test_the_rows_of_new_nodes_are_the_last_rows(branches: list[list[int]], first: int) -> None:
    tree, _ = merged(branches)
    assert seen_by(tree, first) == {(node, above) for node, above in seen_by(tree) if node >= first}


@given(BRANCHES)
def test_parents_come_first(branches: list[list[int]]) -> None:
    tree, _ = merged(branches)
    assert (tree.parents < np.arange(len(tree))).all()


@given(BRANCHES, BRANCHES)
def test_what_grows_later_hangs_where_it_was_put(first: list[list[int]], more: list[list[int]]) -> None:
    tree, _ = merged(first)
    starts = [(at % (len(tree) + 1)) - 1 for at in range(len(more))]
    larger, paths = tree.add_branches(zip(starts, more, strict=True))
    assert larger.ids[: len(tree)].tolist() == tree.ids.tolist()
    assert [larger.ids[path].tolist() for path in paths] == more
    for start, path in zip(starts, paths, strict=True):
        assert min(path, default=len(tree)) >= len(tree)
        assert ancestors(larger, path[-1] if path else start) == path[::-1] + ancestors(tree, start)


@pytest.mark.parametrize("parents", [[0], [-1, 1], [-1, 2, 0]])
def test_a_parent_that_comes_late_is_refused(parents: list[int]) -> None:
    with pytest.raises(ValueError, match="before its children"):
        Tree.empty().add_nodes(np.full(len(parents), 7), np.array(parents))


def test_nodes_without_parents_are_refused() -> None:
    with pytest.raises(ValueError, match="2 nodes and 1 parents"):
        Tree.empty().add_nodes(np.array([1, 2]), np.array([-1]))
