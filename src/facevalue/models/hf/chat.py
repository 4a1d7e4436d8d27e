"""From pictures and questions to token ids, split into what the questions share and what is each one's own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from facevalue.models.hf.loaded import Loaded
from facevalue.types import Question

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Group:
    """Questions that share a prefix.

    Attributes
    ----------
    members:
        Which of the questions these are.
    inputs:
        What the model takes to run the prefix; None if the family cannot share one.
    prefix_ids:
        Token ids of the prefix, pictures expanded.
    suffixes:
        For each member, the token ids after the prefix; at least one.
    full:
        From a question's number (one of `members`) to all that the processor makes of it, on the model's device.
    """

    members: list[int]
    inputs: "dict[str, Tensor] | None"
    prefix_ids: list[int]
    suffixes: list[list[int]]
    full: "Callable[[int], Mapping[str, Tensor]]"


def conversation(images: int, question: Question) -> list[dict[str, Any]]:
    """Return a question as messages: the system message, the earlier turns, then the pictures and the prompt."""

    def said(role: str, text: str, pictures: int = 0) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "image"}] * pictures + [{"type": "text", "text": text}]}

    messages = [] if question.system is None else [said("system", question.system)]
    messages += [said(role, text) for role, text in question.turns]
    return [*messages, said("user", question.prompt, images)]


def prepare(loaded: Loaded, images: "Sequence[Image]", questions: Sequence[Question]) -> list[Group]:
    """Turn questions about the same pictures into groups that share a prefix."""
    texts = [
        loaded.processor.apply_chat_template(conversation(len(images), question), add_generation_prompt=True)
        for question in questions
    ]

    def full(number: int) -> "dict[str, Tensor]":
        made = loaded.processor(
            text=texts[number],
            images=list(images) or None,
            return_tensors="pt",
            add_special_tokens=not texts[number].startswith(loaded.tokenizer.bos_token or "\0"),
        )
        return {name: tensor.to(loaded.device) for name, tensor in made.items()}

    first = full(0)
    rows = [full(number)["input_ids"][0].tolist() for number in range(len(questions))]
    shared = min(len(commonprefix(rows)), min(map(len, rows)) - 1)
    length = len(rows[0])
    inputs = {
        name: tensor[:, :shared] if tensor.shape[:2] == (1, length) else tensor for name, tensor in first.items()
    }
    return [Group(list(range(len(questions))), inputs, rows[0][:shared], [row[shared:] for row in rows], full)]
