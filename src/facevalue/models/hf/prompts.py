"""Prompts remembered from picture to picture, as mostly the same questions are asked about each.

Processors put pictures into a text by their sizes, and don't look at what is shown. So the tokens of questions about a
picture are made once for each size; of the next ones the pixels alone are new.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from facevalue.models.hf.chat import Group, Written, pixels, prepare, processed, vary, write
from facevalue.models.hf.framing import framed
from facevalue.models.hf.loaded import Loaded
from facevalue.types import Question

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

_MOST = 32
"""So many sets of questions are remembered, and so many sizes of pictures with each."""

Sizes = tuple[tuple[int, int], ...]
Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(slots=True, eq=False)
class _Known:
    """A set of questions: its groups, without pixels, by the first question's tokens and by sizes of pictures.

    What goes with the tokens counts as well: one token may stand for any number of tiles (cross-attention). `alone`
    names what the image processor by itself was seen to make as the whole processor does, or nothing.
    """

    written: Written
    by_tokens: dict[object, list[Group]] = field(default_factory=dict)
    by_sizes: dict[Sizes, list[Group]] = field(default_factory=dict)
    alone: dict[Sizes, frozenset[str]] = field(default_factory=dict)


class Prompts:
    """Questions as a model takes them."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._known: dict[object, _Known] = {}
        self._lock = Lock()

    def groups(self, images: "Sequence[Image]", questions: Sequence[Question]) -> list[Group]:
        """Turn questions about the same pictures into groups, as `facevalue.models.hf.chat.prepare` does."""
        with self._lock:
            return self._groups(images, questions)

    def _groups(self, images: "Sequence[Image]", questions: Sequence[Question]) -> list[Group]:
        asked = len(images), tuple((each.system, each.turns, each.prompt) for each in questions)
        known = self._known.get(asked) or _Known(write(self._loaded, images, questions))
        _remember(self._known, asked, known)
        given = framed(self._loaded.processor.image_processor, images)
        sizes = tuple(image.size for image in given)
        full = partial(_full, self._loaded, given, known.written)
        varied = partial(vary, self._loaded, images, questions)
        if (groups := known.by_sizes.get(sizes)) and (names := known.alone.get(sizes)):
            made = pixels(self._loaded, given)
            return _about(groups, {name: made[name] for name in names}, full, varied)
        first = full(0)
        shown = {name: each for name, each in first.items() if each.shape[:2] != first["input_ids"].shape}
        tokens = tuple((name, str(each.tolist())) for name, each in sorted(first.items()) if name not in shown)
        found = known.by_tokens.get(tokens)
        if found is None:
            found = prepare(self._loaded, images, questions, known.written, lambda n: full(n) if n else first)
            found = [_bare(group, shown) for group in found]
        elif images and groups and sizes not in known.alone:  # the second picture of these sizes
            same = _same(shown, pixels(self._loaded, given))
            _remember(known.alone, sizes, frozenset(shown) if same else frozenset())
        _remember(known.by_tokens, tokens, found)
        _remember(known.by_sizes, sizes, found)
        return _about(found, shown, full, varied)


def _full(loaded: Loaded, images: "Sequence[Image]", written: Written, number: int) -> "dict[str, Tensor]":
    return processed(loaded, images, written.texts[number])


def _bare(group: Group, shown: "Mapping[str, Tensor]") -> Group:
    """Return a group without its pictures."""
    inputs = group.inputs and {name: tensor for name, tensor in group.inputs.items() if name not in shown}
    return replace(group, inputs=inputs, varied=None)


def _about(
    groups: Sequence[Group],
    shown: "Mapping[str, Tensor]",
    full: "partial[dict[str, Tensor]]",
    varied: "partial[Group]",
) -> list[Group]:
    """Return groups with pictures."""
    return [
        replace(
            group,
            inputs=group.inputs and {**group.inputs, **shown},
            full=full,
            varied=partial(varied, group.members),
        )
        for group in groups
    ]


def _same(shown: "Mapping[str, Tensor]", made: "Mapping[str, Tensor]") -> bool:
    import torch  # noqa: PLC0415

    return shown.keys() <= made.keys() and all(torch.equal(each, made[name]) for name, each in shown.items())


def _remember(where: dict[Key, Value], key: Key, value: Value) -> None:
    """Enter something as the latest, and forget what is the oldest of too many."""
    where.pop(key, None)
    where[key] = value
    if len(where) > _MOST:
        del where[next(iter(where))]
