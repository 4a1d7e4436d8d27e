"""Prompts remembered from picture to picture, as mostly the same questions are asked about each.

Processors put pictures into a text by their sizes, and don't look at what is shown. So the tokens of questions about a
picture are made once for each size; of the next ones the pixels alone are new.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from facevalue.models.hf.chat import Group, WrittenChat, pixels, prepare, process_inputs, vary, write
from facevalue.models.hf.framing import frame_pictures
from facevalue.models.hf.loading import Loaded
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
class _KnownPrompt:
    """A set of questions: its groups, without pixels, by the first question's tokens and by sizes of pictures.

    What goes with the tokens counts as well: one token may stand for any number of tiles (cross-attention). `alone`
    names what the image processor by itself was seen to make as the whole processor does, or nothing.
    """

    written: WrittenChat
    by_tokens: dict[object, list[Group]] = field(default_factory=dict)
    by_sizes: dict[Sizes, list[Group]] = field(default_factory=dict)
    alone: dict[Sizes, frozenset[str]] = field(default_factory=dict)


class Prompts:
    """Questions as a model takes them."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._known: dict[object, _KnownPrompt] = {}
        self._lock = Lock()

    def groups(self, images: "Sequence[Image]", questions: Sequence[Question]) -> list[Group]:
        """Turn questions about the same pictures into groups, as `facevalue.models.hf.chat.prepare` does."""
        with self._lock:
            return self._groups(images, questions)

    def _groups(self, images: "Sequence[Image]", questions: Sequence[Question]) -> list[Group]:
        key = len(images), tuple((element.system, element.turns, element.prompt) for element in questions)
        written_prompt = self._known.get(key) or _KnownPrompt(write(self._loaded, images, questions))
        _remember(self._known, key, written_prompt)
        framed_images = frame_pictures(self._loaded.processor.image_processor, images)
        sizes = tuple(image.size for image in framed_images)
        full = partial(_full, self._loaded, framed_images, written_prompt.written)
        varied = partial(vary, self._loaded, images, questions)
        if (groups := written_prompt.by_sizes.get(sizes)) and (names := written_prompt.alone.get(sizes)):
            tensors = pixels(self._loaded, framed_images)
            return _about(groups, {name: tensors[name] for name in names}, full, varied)
        first = full(0)
        of_pictures = {
            name: element for name, element in first.items() if element.shape[:2] != first["input_ids"].shape
        }
        tokens = tuple(
            (name, str(element.tolist())) for name, element in sorted(first.items()) if name not in of_pictures
        )
        group_list = written_prompt.by_tokens.get(tokens)
        if group_list is None:
            group_list = prepare(
                self._loaded, images, questions, written_prompt.written, lambda n: full(n) if n else first
            )
            group_list = [_bare(group, of_pictures) for group in group_list]
        elif images and groups and sizes not in written_prompt.alone:  # the second picture of these sizes
            same = _has_same_tensors(of_pictures, pixels(self._loaded, framed_images))
            _remember(written_prompt.alone, sizes, frozenset(of_pictures) if same else frozenset())
        _remember(written_prompt.by_tokens, tokens, group_list)
        _remember(written_prompt.by_sizes, sizes, group_list)
        return _about(group_list, of_pictures, full, varied)


def _full(loaded: Loaded, images: "Sequence[Image]", written: WrittenChat, number: int) -> "dict[str, Tensor]":
    return process_inputs(loaded, images, written.texts[number])


def _bare(group: Group, of_pictures: "Mapping[str, Tensor]") -> Group:
    """Return a group without its pictures."""
    inputs = group.inputs and {name: tensor for name, tensor in group.inputs.items() if name not in of_pictures}
    return replace(group, inputs=inputs, varied=None)


def _about(
    groups: Sequence[Group],
    of_pictures: "Mapping[str, Tensor]",
    full: "partial[dict[str, Tensor]]",
    varied: "partial[Group]",
) -> list[Group]:
    """Return groups with pictures."""
    return [
        replace(
            group,
            inputs=group.inputs and {**group.inputs, **of_pictures},
            full=full,
            varied=partial(varied, group.members),
        )
        for group in groups
    ]


def _has_same_tensors(of_pictures: "Mapping[str, Tensor]", tensors: "Mapping[str, Tensor]") -> bool:
    import torch  # noqa: PLC0415

    return of_pictures.keys() <= tensors.keys() and all(
        torch.equal(tensor, tensors[name]) for name, tensor in of_pictures.items()
    )


def _remember(memory: dict[Key, Value], key: Key, value: Value) -> None:
    """Enter something as the latest, and forget what is the oldest of too many."""
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > _MOST:
        del memory[next(iter(memory))]
