"""Tree of tokens that grows from the end of a prefix, packed into one sequence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Tokens after a prefix, of which several may follow the same one. A parent comes before its children.

    `parents` has -1 for a node that comes directly after the prefix, -2 for one after a second prefix, and so on; a
    node's position is the prefix's end plus its depth.

    >>> tree, paths = Tree.empty().grown([(-1, [5, 6]), (-1, [5, 7, 8])])
    >>> tree.ids.tolist(), tree.parents.tolist(), tree.depths.tolist()
    ([5, 6, 7, 8], [-1, 0, 0, 2], [0, 1, 1, 2])
    >>> paths
    [[0, 1], [0, 2, 3]]
    """

    ids: Ints
    parents: Ints
    depths: Ints

    @classmethod
    def empty(cls) -> Self:
        """Return a tree without nodes."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, none)

    def grown(self, branches: Iterable[tuple[int, Sequence[int]]]) -> tuple[Self, list[list[int]]]:
        """Return the tree with new branches, each from a node or a prefix (-1), and the new nodes of each.

        Beginnings that the new ones share are taken once. The old nodes are never taken for new ones: what follows a
        new node can be read in the call that computes it and not later.
        """
        old = len(self)
        nodes: dict[tuple[int, int], int] = {}
        paths = []
        for start, branch in branches:
            path, at = [], start
            for token in branch:
                at = nodes.setdefault((at, int(token)), old + len(nodes))
                path.append(at)
            paths.append(path)
        ids = np.fromiter((token for _, token in nodes), dtype=np.int64, count=len(nodes))
        parents = np.fromiter((parent for parent, _ in nodes), dtype=np.int64, count=len(nodes))
        return self.extended(ids, parents), paths

    def extended(self, ids: Ints, parents: Ints) -> Self:
        """Return the tree with new nodes, each with its parent among the old ones and the new ones before it."""
        if ids.shape != parents.shape or ids.ndim != 1:
            raise ValueError(f"{ids.size} nodes and {parents.size} parents")
        if (parents >= len(self) + np.arange(parents.size)).any():
            raise ValueError("a parent comes before its children")
        depths = np.concatenate([self.depths, np.zeros_like(parents)])
        for node, parent in enumerate(parents.tolist(), len(self)):
            depths[node] = depths[parent] + 1 if parent >= 0 else 0
        return type(self)(np.concatenate([self.ids, ids]), np.concatenate([self.parents, parents]), depths)

    def __len__(self) -> int:
        return int(self.ids.size)

    def visible(self, first: int = 0) -> tuple[Ints, Ints]:
        """Return which nodes from `first` on attend to which ones, themselves and their ancestors: so many pairs."""
        nodes = above = np.arange(min(first, len(self)), len(self))
        pairs = [(nodes, above)]
        while nodes.size:  # up the tree, all nodes at once
            above = self.parents[above]
            nodes, above = nodes[above >= 0], above[above >= 0]
            pairs.append((nodes, above))
        return np.concatenate([nodes for nodes, _ in pairs]), np.concatenate([above for _, above in pairs])
