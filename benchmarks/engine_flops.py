"""The arithmetic that each way to ask must do at least, from the models' configurations.

Two floating-point operations for each weight that a token meets, and four for each component of each key that it
attends to. What normalisations, activations and softmaxes cost is left out, as is all that is no arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.engine_models import Size

_PATCH = 14
_WINDOW = 64
"""Patches of a window in Qwen2.5-VL's encoder: 112 pixels along a side."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The questions about one picture, in tokens.

    Attributes
    ----------
    prefix:
        What they share, the picture included.
    suffixes:
        Token ids of what is each one's own.
    inner:
        Places after each prompt that are read to weigh its options.
    replies:
        Tokens of each reply that `generate` makes, its end included.
    """

    prefix: int
    suffixes: Sequence[Sequence[int]]
    inner: Sequence[int]
    replies: Sequence[int]


def vision(family: str, size: Size) -> float:
    """Return the operations that a picture takes before the language model sees it."""
    width, mlp, layers, _ = size.vision
    text = size.text[0]
    if family == "qwen2.5-vl":
        patches, merged = (size.side // _PATCH) ** 2, (size.side // _PATCH // 2) ** 2
        full = sum((place + 1) % max(2, layers // 4) == 0 for place in range(layers))
        seen = full * patches + (layers - full) * min(_WINDOW, patches)
        linear = patches * layers * (8 * width**2 + 6 * width * mlp) + 4 * patches * seen * width
        first = 2 * patches * 2 * 3 * _PATCH**2 * width  # two frames, both of them the picture
        return linear + first + 2 * merged * (16 * width**2 + 4 * width * text)
    tiles = 1 if family == "llava" else (size.side // size.tile) ** 2 + 1
    patches = (size.tile // _PATCH) ** 2 + (family == "llava")
    each = layers * (patches * (8 * width**2 + 4 * width * mlp) + 4 * patches**2 * width)
    each += 2 * patches * 3 * _PATCH**2 * width
    if family == "llava":
        each += 2 * (patches - 1) * (width * text + text**2)
    else:
        each += 2 * (patches // 4) * 4 * width * text
    return tiles * each


def _tokens(size: Size, before: float, count: float) -> float:
    """Operations of so many tokens, one after another, that follow others."""
    width, mlp, layers, heads, groups = size.text
    each = width // heads
    weights = width * each * (heads + 2 * groups) + heads * each * width + 3 * width * mlp
    seen = count * before + count * (count + 1) / 2
    return layers * (2 * weights * count + 4 * heads * each * seen)


def _head(size: Size, places: float) -> float:
    return 2 * size.text[0] * size.vocabulary * places


def each_alone(family: str, size: Size, prompts: Prompts, *, generate: bool) -> float:
    """Return the operations for a question where each is asked by itself, on average.

    Parameters
    ----------
    family, size:
        The model.
    prompts:
        The questions.
    generate:
        Whether a reply is generated; otherwise what an option begins with is given with the prompt.
    """
    total = 0.0
    for suffix, reply in zip(prompts.suffixes, prompts.replies, strict=True):
        more, read = (reply - 1, reply) if generate else (reply - 2, reply - 1)
        total += vision(family, size) + _tokens(size, 0, prompts.prefix + len(suffix) + more) + _head(size, read)
    return total / len(prompts.suffixes)


def shared(family: str, size: Size, prompts: Prompts) -> float:
    """Return the operations for a question where nothing is run twice, on average: the floor.

    The picture and the prefix are run once, and so is each beginning that some of the questions share after it.
    """
    total = vision(family, size) + _tokens(size, 0, prompts.prefix)
    begun = {tuple(suffix[:length]) for suffix in prompts.suffixes for length in range(1, len(suffix) + 1)}
    total += sum(_tokens(size, prompts.prefix + len(beginning) - 1, 1) for beginning in begun)
    for suffix, inner in zip(prompts.suffixes, prompts.inner, strict=True):
        total += _tokens(size, prompts.prefix + len(suffix), inner) + _head(size, 1 + inner)
    return total / len(prompts.suffixes)
