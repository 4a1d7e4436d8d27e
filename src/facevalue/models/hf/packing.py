"""Batch sizes: how much goes through the model at once, and what happens when memory runs out."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from facevalue.errors import FaceValueError
from facevalue.models.hf.calls import is_memory
from facevalue.models.hf.loading import Loaded

Item = TypeVar("Item")
Result = TypeVar("Result")

_CPU = 384
"""Tokens of a pack on a CPU. In fewer the weights' way through the caches costs more than the arithmetic; in more, what
nodes don't see of each other does."""
_LEAST_GPU = 2048
_MOST = 16_384
_SHARE = 0.25
"""Part of the free memory that the logits and masks of a pack may take."""


_KEPT_CPU, _KEPT_GPU = 2 << 30, 0.5
"""Bytes that may be kept of what was read, and the part of the free memory of a GPU."""


def kept_bytes(loaded: Loaded) -> float:
    """Return how many bytes of keys, values and states there is room for."""
    if loaded.device.type != "cuda":
        return _KEPT_CPU
    import torch  # noqa: PLC0415

    return float(_KEPT_GPU * torch.cuda.mem_get_info(loaded.device)[0])


class Row(NamedTuple):
    """Item of a pack: tokens, whose beginning others may share, and a number of further tokens.

    `place` is that of its prefix among those in the pack.
    """

    tokens: Sequence[int]
    more: int
    place: int = 0


class OutOfMemory(FaceValueError):  # noqa: N818 - what happened, as torch says it
    """Error for a single question that doesn't fit into memory."""


class TokenBudget:
    """Number of tokens that are packed into one sequence; a number that once did not fit is not tried again."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._limit = _MOST

    def tokens(self, prefix: int) -> int:
        """Return how many tokens may be packed over a prefix.

        The mask has a row for each of them, as long as the prefix and the pack together; so packs about as long as the
        prefix double that work at most, and more would not spread the cost of reading the weights any further.
        """
        limit = max(_LEAST_GPU, prefix) if self._loaded.device.type == "cuda" else _CPU
        return max(1, min(self._limit, limit, self._fitting(prefix)))

    def _fitting(self, prefix: int) -> int:
        """Tokens whose logits and masks fit into a part of a GPU's free memory."""
        if self._loaded.device.type != "cuda":
            return _MOST
        import torch  # noqa: PLC0415

        free, _ = torch.cuda.mem_get_info(self._loaded.device)
        text = self._loaded.model.config.get_text_config()
        heads = getattr(text, "num_attention_heads", 32)
        width = 4 * getattr(text, "intermediate_size", 4 * text.hidden_size)
        bytes_per_token = 4 * text.vocab_size + 4 * heads * (prefix + _LEAST_GPU) + 4 * width
        return int(_SHARE * free / bytes_per_token)

    def halve(self, size: int) -> None:
        """Record that so many tokens didn't fit."""
        self._limit = max(1, min(self._limit, size) // 2)


def work_in_packs(
    items: Sequence[Item],
    rows: Sequence[Row],
    prefix: int,
    budget: TokenBudget,
    work: Callable[[list[Item]], list[Result]],
) -> Iterator[tuple[list[Item], list[Result] | OutOfMemory, float]]:
    """Work on items in packs, in order. A pack that runs out of memory is halved and done anew.

    A pack takes what rows begin with alike once, so rows in lexicographic order take the fewest tokens; and for each
    prefix as much as for the one after which most comes. Yields the items of a pack, their results, and each one's part
    of the seconds that the pack took; for an item that doesn't fit even by itself `OutOfMemory` instead of results.
    """
    waiting = deque(zip(items, rows, strict=True))
    while waiting:
        pack, sizes, total, before = list[tuple[Item, Row]](), dict[int, int](), 0, Row((), 0)
        room = budget.tokens(prefix)
        while waiting:
            row = waiting[0][1]
            shared = shared_length(before.tokens, row.tokens) if row.place == before.place else 0
            sizes[row.place] = sizes.get(row.place, 0) + len(row.tokens) - shared + row.more
            if pack and len(sizes) * max(sizes.values()) > room:
                break
            pack.append(waiting.popleft())
            total, before = len(sizes) * max(sizes.values()), row
        began = time.perf_counter()
        together = [item for item, _ in pack]
        results = attempt(work, together)
        if not isinstance(results, OutOfMemory):
            yield together, results, (time.perf_counter() - began) / len(pack)
        elif len(pack) == 1:
            yield together, results, 0.0
        else:
            budget.halve(total)
            waiting.extendleft(reversed(pack))


def shared_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many tokens two rows begin with alike."""
    shorter = min(len(first), len(second))
    return next((n for n in range(shorter) if first[n] != second[n]), shorter)


def attempt(work: Callable[[Item], Result], item: Item) -> Result | OutOfMemory:
    """Do something; return `OutOfMemory` if memory didn't suffice, and free what was taken."""
    import torch  # noqa: PLC0415

    try:
        return work(item)
    except (RuntimeError, MemoryError) as error:
        if not is_memory(error):
            raise
        problem = OutOfMemory(f"out of memory: {str(error).strip().splitlines()[0][:200] if str(error) else 'no more'}")
    if torch.cuda.is_available():  # only now has the failed pack been let go
        torch.cuda.empty_cache()
    return problem
