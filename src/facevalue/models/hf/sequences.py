"""Token sequences of any number and length that go through the model together, each after its prefix."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from facevalue.models.hf.attending import LEAST, Pass, attending
from facevalue.models.hf.calls import calling, logits_of
from facevalue.models.hf.loaded import Loaded
from facevalue.models.hf.prefix import Prefix
from facevalue.models.hf.resumed import Path
from facevalue.models.hf.shelves import Shelves, TokenSequence

if TYPE_CHECKING:
    from torch import Tensor


class Sequences:
    """Reads tokens of many sequences in passes of one width.

    On a GPU every pass has just `width` tokens, filled up if there are fewer, and on a CPU as many as a multiple of
    `LEAST`: the kernels are the same then whatever else is in the pass, and so are a sequence's numbers.
    """

    def __init__(self, loaded: Loaded, width: int) -> None:
        self.loaded = loaded
        self.width = width
        self.shelves = Shelves()

    def read(self, steps: Sequence[tuple[TokenSequence, Sequence[int]]], rows_wanted: Sequence[int]) -> "Tensor":
        """Read further tokens of sequences, no more than `width` in all.

        Return what follows the last token of those that are `wanted`, by their numbers: logits, float32, (len(wanted),
        vocabulary). After an error the sequences are as they were.
        """
        import torch  # noqa: PLC0415

        loaded = self.loaded
        for sequence, _ in steps:
            if not sequence.shelf.prompt:
                self.shelves.extend(sequence)
        current = Pass(loaded, steps)
        total = len(current.ids)
        width = self._filled(total)
        ids = current.ids + [current.ids[0]] * (width - total)
        positions = current.positions + [current.positions[0]] * (width - total)
        places = [current.ends[n] for n in rows_wanted] or [0]
        padded = places + [places[0]] * (self._filled(len(places)) - len(places))
        with torch.inference_mode(), calling(), attending(loaded, current, width) as caches:
            logits = logits_of(
                loaded.model,
                torch.as_tensor(padded),
                input_ids=torch.as_tensor([ids], device=loaded.device),
                position_ids=torch.as_tensor([positions], device=loaded.device),
                **caches,
            )
        for sequence, tokens in steps:
            sequence.length += len(tokens)
        return logits[0, : len(rows_wanted)].float()

    def _filled(self, count: int) -> int:
        """Return how many rows a product has for so many."""
        if self.loaded.device.type != "cpu":
            return max(self.width, count)
        return -(-count // LEAST) * LEAST


class SequenceDecoding:
    """Gives logits as `decoding.Decoding` does, so that sequences can be tried beside plain passes."""

    def __init__(self, sequences: Sequences, prefixes: Sequence[Prefix], suffixes: Sequence[Sequence[int]]) -> None:
        self._sequences = sequences
        self._prefixes = prefixes
        self._suffixes = suffixes
        self._kept: dict[Path, TokenSequence] = {}

    def read(self, paths: Sequence[Path]) -> "Tensor":
        """Compute what follows some beginnings of replies, all of a length at once."""
        import torch  # noqa: PLC0415

        rows: dict[Path, Tensor] = {}
        for member in dict.fromkeys(member for member, _ in paths):
            if (member, ()) not in self._kept:
                rows[member, ()] = self._begun(member)
        for length in range(1, max((len(reply) for _, reply in paths), default=0) + 1):
            level = list(dict.fromkeys((m, reply[:length]) for m, reply in paths if len(reply) >= length))
            level = [path for path in level if path not in self._kept]
            for m, reply in level:
                self._kept[m, reply] = self._sequences.shelves.fork(self._kept[m, reply[:-1]])
            if level:
                level_logits = self._sequences.read([(self._kept[p], p[1][-1:]) for p in level], range(len(level)))
                rows |= dict(zip(level, level_logits, strict=True))
        return torch.stack([rows[path] for path in paths])

    def _begun(self, member: int) -> "Tensor":
        """Read a prompt in two pieces, as passes with little room do."""
        suffix = self._suffixes[member]
        sequence = self._sequences.shelves.begin(self._prefixes[member], len(suffix))
        self._kept[member, ()] = sequence
        pieces = [suffix[: len(suffix) // 2], suffix[len(suffix) // 2 :]]
        for piece in pieces:
            if piece:
                logits = self._sequences.read([(sequence, piece)], [0])
        return logits[0]
