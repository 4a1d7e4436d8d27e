"""Replies that go on from a state of the model's own `generate`: what it keeps is copied for each branch.

That holds for what trees cannot be packed for: prompts that look ahead, layers that keep a recurrent state, decoders
with an encoder beside them. Whatever `generate` keeps is kept, and its own code goes on from there, one token at a time
for all branches together.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from facevalue.models.hf.calls import Rejected, calling
from facevalue.models.hf.led import bare, led, settings
from facevalue.models.hf.loaded import Loaded, silence
from facevalue.models.hf.reference_pass import gap

if TYPE_CHECKING:
    from torch import Tensor

Reply = tuple[int, ...]

COPIES = "copied_state_difference"
_OWN = ("pixel_values", "image_")
"""How names of inputs begin that belong to pictures, and not to rows."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where `generate` stands after some sequences of one length, a row each, and the logits of what comes next.

    `part` is the model that generates, or the language model within it; `given` is what it is called with.
    """

    part: Any
    ids: "Tensor"
    given: dict[str, Any]
    logits: "Tensor"

    @classmethod
    def after(cls, loaded: Loaded, inputs: "Mapping[str, Tensor]") -> "State":
        """Have a model read a processor's inputs, one row."""
        import torch  # noqa: PLC0415

        found: list[State] = []

        def hold(model: Any, input_ids: Any, generation_config: Any, **given: Any) -> Any:
            for unused in ("logits_processor", "stopping_criteria", "synced_gpus", "streamer"):
                given.pop(unused, None)
            found.append(cls._of(model, input_ids, given, model._prefill(input_ids, generation_config, given)))
            return input_ids

        with torch.inference_mode(), calling(), silence(), bare(loaded.model):
            loaded.model.generate(**inputs, generation_config=settings(1), custom_generate=hold)
        if len(found) != 1 or len(found[0].logits) != 1:
            raise Rejected("generate() goes ways of its own")
        return found[0]

    @classmethod
    def _of(cls, part: Any, ids: "Tensor", given: dict[str, Any], out: Any) -> "State":
        more = part._update_model_kwargs_for_generation(out, given, is_encoder_decoder=part.config.is_encoder_decoder)
        return cls(part, ids, more, out.logits[:, -1].float())

    def grown(self, rows: Sequence[int], tokens: Sequence[int]) -> "State":
        """Return the state after one more token each of copies of some rows; this one stays as it is."""
        import torch  # noqa: PLC0415

        at = torch.as_tensor(rows, device=self.ids.device)
        new = torch.as_tensor(tokens, dtype=self.ids.dtype, device=self.ids.device)[:, None]
        with torch.inference_mode(), calling():
            given = {name: _taken(name, value, at, len(self.logits)) for name, value in self.given.items()}
            ids = torch.cat([self.ids[at], new], dim=1)
            asked = self.part.prepare_inputs_for_generation(ids, next_sequence_length=1, **given)
            return self._of(self.part, ids, given, self.part(**asked, return_dict=True))


def _taken(name: str, value: Any, at: "Tensor", rows: int) -> Any:
    """Return copies of some rows of what `generate` keeps."""
    import torch  # noqa: PLC0415

    if isinstance(value, torch.Tensor):
        if name == "position_ids":  # where pictures have positions by height and width, those come first
            return value.index_select(-2, at.to(value.device))
        own = value.ndim and len(value) == rows and not name.startswith(_OWN)
        return value.index_select(0, at.to(value.device)) if own else value
    if hasattr(value, "reorder_cache"):
        copied = deepcopy(value)
        copied.reorder_cache(at)
        return copied
    if isinstance(value, Mapping):
        return type(value)(**{key: _taken(key, each, at, rows) for key, each in value.items()})
    return value


class Resumed:
    """Replies to one prompt that grow from what `generate` keeps after it."""

    def __init__(self, state: State) -> None:
        self._root = self._front = state
        self._rows: list[Reply] = [()]

    def read(self, replies: Sequence[Reply]) -> "Tensor":
        """Compute what follows beginnings of replies: logits, float32, (len(replies), vocabulary).

        One pass for each token of the longest; fewer where they all go on from the ends that were read last.
        """
        import torch  # noqa: PLC0415

        depth = len(self._rows[0])
        if not all(len(reply) > depth and reply[:depth] in self._rows for reply in replies):
            self._front, self._rows, depth = self._root, [()], 0
        found: dict[Reply, Tensor] = {(): self._root.logits[0]}
        for length in range(depth + 1, max(map(len, replies)) + 1):
            level = list(dict.fromkeys(reply[:length] for reply in replies if len(reply) >= length))
            above = [self._rows.index(reply[:-1]) for reply in level]
            self._front, self._rows = self._front.grown(above, [reply[-1] for reply in level]), level
            found |= dict(zip(level, self._front.logits, strict=True))
        return torch.stack([found[reply] for reply in replies])


def resumes(loaded: Loaded, inputs: "Mapping[str, Tensor]") -> bool:
    """Whether replies that go on from copies are those that the model's own `generate` is led to; tried once."""
    form = ("resumed", *sorted(inputs))
    if form not in loaded.at_once:
        loaded.at_once[form] = _tried(loaded, inputs)
    return loaded.at_once[form]


def _tried(loaded: Loaded, inputs: "Mapping[str, Tensor]") -> bool:
    import torch  # noqa: PLC0415

    words = [token for token in inputs["input_ids"][0].tolist() if token not in loaded.marks]
    one, other = tuple(words[-3:]), (words[-3], *words[:2])
    want = [led(loaded, inputs, reply, range(4)) for reply in (one, other)]
    try:
        replies = Resumed(State.after(loaded, inputs))
        read = [replies.read([(), one[:1], one[:2], other[:2]]), replies.read([one, other]), replies.read([one[:1]])]
    except (Rejected, TypeError, AttributeError, KeyError):  # a cache or a `generate` that cannot be copied
        return False
    wanted = [want[0][0], want[0][1], want[0][2], want[1][2], want[0][3], want[1][3], want[0][1]]
    return loaded.agrees(COPIES, gap(torch.cat(read), torch.stack(wanted)))
