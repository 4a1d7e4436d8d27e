"""A tree of tokens that grows from the end of a prefix, packed into one sequence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Tokens after a prefix, of which several may follow the same one.

    Attributes
    ----------
    ids:
        Token of each node, shape (T,).
    parents:
        The node before it, shape (T,); -1 for one that comes directly after the prefix. A parent comes before its
        children.
    depths:
        How many nodes come before it, shape (T,): its position is that of the prefix's end plus its depth.

    Examples
    --------
    >>> tree, paths = Tree.merged([[5, 6], [5, 7, 8]])
    >>> tree.ids.tolist(), tree.parents.tolist(), tree.depths.tolist()
    ([5, 6, 7, 8], [-1, 0, 0, 2], [0, 1, 1, 2])
    >>> paths
    [[0, 1], [0, 2, 3]]
    """

    ids: Ints
    parents: Ints
    depths: Ints

    @classmethod
    def of(cls, ids: Iterable[int], parents: Iterable[int]) -> Self:
        """Build a tree from its nodes and their parents.

        Raises
        ------
        ValueError
            The two differ in length, or a parent doesn't come before its child.
        """
        tokens, above = np.array(list(ids), dtype=np.int64), np.array(list(parents), dtype=np.int64)
        if tokens.shape != above.shape:
            raise ValueError(f"{tokens.size} nodes and {above.size} parents")
        if ((above < -1) | (above >= np.arange(above.size))).any():
            raise ValueError("a parent comes before its children")
        depths = np.zeros_like(above)
        for node, parent in enumerate(above.tolist()):
            depths[node] = depths[parent] + 1 if parent >= 0 else 0
        return cls(tokens, above, depths)

    @classmethod
    def merged(cls, branches: Iterable[Sequence[int]]) -> tuple[Self, list[list[int]]]:
        """Build a tree from branches of token ids, as `grown` does."""
        return cls.of((), ()).grown((-1, branch) for branch in branches)

    def grown(self, branches: Iterable[tuple[int, Sequence[int]]]) -> tuple[Self, list[list[int]]]:
        """Return the tree with new branches. Beginnings that the new ones share are taken once.

        Parameters
        ----------
        branches:
            For each one the node it grows from, -1 for the prefix, and its token ids. The old nodes are never taken for
            new ones: what follows a new node can be read in the call that computes it and not later.

        Returns
        -------
        tuple
            The tree, its old nodes first, and for each branch the new nodes that it runs through.
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
        depths = self.depths.tolist()
        for parent, _ in nodes:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        ids = np.fromiter((token for _, token in nodes), dtype=np.int64, count=len(nodes))
        parents = np.fromiter((parent for parent, _ in nodes), dtype=np.int64, count=len(nodes))
        joined = np.concatenate([self.ids, ids]), np.concatenate([self.parents, parents])
        return type(self)(*joined, np.array(depths, dtype=np.int64)), paths

    def __len__(self) -> int:
        return int(self.ids.size)

    def visible(self, first: int = 0) -> Bools:
        """Return which nodes each node attends to: its ancestors and itself.

        Parameters
        ----------
        first:
            Leave out the rows of the nodes before this one.

        Returns
        -------
        Booleans
            Shape (T - first, T).
        """
        seen = np.eye(len(self), dtype=np.bool_)
        for node, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                seen[node] |= seen[parent]
        return seen[first:]
