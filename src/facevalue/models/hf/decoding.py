"""Replies that grow from the prompts of one group, over a shared prefix or by plain forward passes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING, Protocol

from facevalue.models.hf.chat import Group
from facevalue.models.hf.loading import Loaded
from facevalue.models.hf.prefix import Branch, Prefix
from facevalue.models.hf.reference_pass import plain_logits
from facevalue.models.hf.resumption import ModelState, Path, Resumed, resumes

if TYPE_CHECKING:
    from torch import Tensor


class Decoding(Protocol):
    """Source of the logits of what comes after replies that have begun."""

    def read(self, paths: Sequence[Path]) -> "Tensor":
        """Compute what follows some beginnings of replies: logits, float32, (len(paths), vocabulary).

        No path comes twice; its beginnings but for the last token have been read before or are read now.
        """
        ...


class SharedDecoding:
    """Over prefixes that have been run: everything that is read in one call goes through the model in one pass.

    `rows` says which prefix each member comes after, the first if it isn't given.
    """

    def __init__(self, prefix: Prefix, suffixes: Sequence[Sequence[int]], rows: Sequence[int] | None = None) -> None:
        self._branch = Branch(prefix)
        self._suffixes = suffixes
        self._rows = rows
        self._nodes: dict[Path, int] = {}

    def read(self, paths: Sequence[Path]) -> "Tensor":
        """Compute what follows some beginnings of replies, in one forward pass."""
        tree = self._branch.tree
        old, nodes = len(tree), self._nodes
        new = [member for member in dict.fromkeys(member for member, _ in paths) if (member, ()) not in nodes]
        ends = [-1 - (self._rows[member] if self._rows else 0) for member in new]
        tree, grown_nodes = tree.add_branches(zip(ends, [self._suffixes[member] for member in new], strict=True))
        nodes |= {(member, ()): path[-1] for member, path in zip(new, grown_nodes, strict=True)}
        known_lengths = [
            next(n for n in range(len(reply), -1, -1) if (member, reply[:n]) in nodes) for member, reply in paths
        ]
        starts = [nodes[member, reply[:n]] for (member, reply), n in zip(paths, known_lengths, strict=True)]
        tree, grown_nodes = tree.add_branches(
            (at, reply[n:]) for at, (_, reply), n in zip(starts, paths, known_lengths, strict=True)
        )
        for (member, reply), n, path in zip(paths, known_lengths, grown_nodes, strict=True):
            nodes |= {(member, reply[:place]): node for place, node in enumerate(path, n + 1)}
        new_nodes = [nodes[path] - old for path in paths]
        if min(new_nodes) < 0:
            raise ValueError("a place that has been read")
        return self._branch.grow(tree.ids[old:], tree.parents[old:], new_nodes)


class CopiedDecoding:
    """Over states that `generate` has kept of prefixes, copied for each prompt: those as long go through together.

    `rows` says which state each member comes after, the first if it isn't given. In `steps` one token of each prompt is
    read in a pass, whatever their lengths.
    """

    def __init__(
        self,
        states: Sequence[ModelState],
        suffixes: Sequence[Sequence[int]],
        rows: Sequence[int] | None = None,
        *,
        steps: bool = False,
    ) -> None:
        self._states = states
        self._suffixes = suffixes
        self._rows = rows
        self._steps = steps
        self._resumed: dict[int, Resumed] = {}

    def read(self, paths: Sequence[Path]) -> "Tensor":
        """Compute what follows some beginnings of replies: by passes for each length of prompts and for each token."""
        import torch  # noqa: PLC0415

        alike: dict[tuple[int, int], list[int]] = {}
        for member in dict.fromkeys(member for member, _ in paths if member not in self._resumed):
            length = 0 if self._steps else len(self._suffixes[member])
            alike.setdefault((self._rows[member] if self._rows else 0, length), []).append(member)
        for (row, _), members in alike.items():
            for ended, state in self._after(self._states[row], members):
                self._resumed |= dict.fromkeys(ended, Resumed(state, ended))
        some: dict[Resumed, list[Path]] = {}
        for path in paths:
            some.setdefault(self._resumed[path[0]], []).append(path)
        logits = {path: row for resumed, its in some.items() for path, row in zip(its, resumed.read(its), strict=True)}
        return torch.stack([logits[path] for path in paths])

    def _after(self, state: ModelState, members: list[int]) -> Iterator[tuple[list[int], ModelState]]:
        """Yield members with the state after their prompts, a row each."""
        if not self._steps:
            yield members, state.extend_rows([0] * len(members), [self._suffixes[member] for member in members])
            return
        rows, length = [0] * len(members), 0
        while members:
            state = state.extend_rows(rows, [[self._suffixes[member][length]] for member in members])
            length += 1
            ends = [len(self._suffixes[member]) == length for member in members]
            if any(ends):
                yield list(compress(members, ends)), state.part([row for row, end in enumerate(ends) if end])
            rows = [row for row, end in enumerate(ends) if not end]
            members = [members[row] for row in rows]


class PlainDecoding:
    """Decoding of each prompt by itself, right for every model: replies go on from copies of what `generate` keeps.

    Where that fails its trial, by a plain forward pass of the whole conversation for each reply.
    """

    def __init__(self, loaded: Loaded, group: Group) -> None:
        self._loaded = loaded
        self._prompts = group.members
        self._full = cache(group.full)
        self._latest: tuple[int, Resumed] | None = None

    def read(self, paths: Sequence[Path]) -> "Tensor":
        """Compute what follows some beginnings of replies."""
        import torch  # noqa: PLC0415

        rows: dict[Path, Tensor] = {}
        for member in dict.fromkeys(member for member, _ in paths):
            its = [path for path in paths if path[0] == member]
            inputs = self._full(self._prompts[member])
            if resumes(self._loaded, inputs):
                if self._latest is None or self._latest[0] != member:  # no more than one prompt's is kept
                    self._latest = member, Resumed(ModelState.after(self._loaded, inputs), [member])
                rows |= dict(zip(its, self._latest[1].read(its), strict=True))
        for longest in leaves(path for path in paths if path not in rows):
            member, reply = longest
            lengths = [n for n in range(len(reply) + 1) if (member, reply[:n]) in set(paths)]
            logits = plain_logits(self._loaded, self._full(self._prompts[member]), reply, lengths)
            rows |= {(member, reply[:n]): row for n, row in zip(lengths, logits, strict=True)}
        return torch.stack([rows[path] for path in paths])


class SpokenDecoding:
    """Logits of another decoding, minus infinity for the tokens that stand for pictures.

    A model that has been trained gives those next to nothing. A reply with one of them would be no text, and couldn't
    go on: the model would ask for the picture. `note` is told the largest share that was taken away, at temperature 1.
    """

    def __init__(self, decoding: Decoding, loaded: Loaded, note: Callable[[float], None]) -> None:
        self._decoding = decoding
        self._loaded = loaded
        self._note = note

    def read(self, paths: Sequence[Path]) -> "Tensor":
        """Compute what follows some beginnings of replies."""
        logits, share = mask_picture_tokens(self._loaded, self._decoding.read(paths))
        self._note(share)
        return logits


def mask_picture_tokens(loaded: Loaded, logits: "Tensor") -> "tuple[Tensor, float]":
    """Mask the tokens that stand for pictures in logits, in place; returns their largest share of any row."""
    import torch  # noqa: PLC0415

    marks = sorted(mark for mark in loaded.marks if mark < logits.shape[-1])
    if not marks or not len(logits):
        return logits, 0.0
    with torch.inference_mode():
        share = (logits[:, marks].logsumexp(dim=1) - logits.logsumexp(dim=1)).max().exp()
        logits[:, marks] = -torch.inf
    return logits, float(share)


def leaves(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that are no beginning of another one.

    >>> leaves([(0, ()), (0, (5,)), (1, ()), (0, (5, 6)), (0, (7,))])
    [(1, ()), (0, (5, 6)), (0, (7,))]
    """
    ordered = list(dict.fromkeys(paths))
    inner = {(member, reply[:n]) for member, reply in ordered for n in range(len(reply))}
    return [path for path in ordered if path not in inner]
