"""Replies that go on from a state of the model's own `generate`: what it keeps is copied for each branch.

That holds for what trees cannot be packed for: prompts that look ahead, layers that keep a recurrent state, decoders
with an encoder beside them. Whatever `generate` keeps is kept, and its own code goes on from there: a prompt's rest in
one pass for all prompts that are as long, as a recurrent layer cannot leave filling out, and replies token by token.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from facevalue.models.hf.calls import Rejected, calling
from facevalue.models.hf.loading import Loaded, silence
from facevalue.models.hf.reference_pass import bare, forced_logits, gap, settings

if TYPE_CHECKING:
    from torch import Tensor

Path = tuple[int, tuple[int, ...]]
"""A place in a reply: which member of the group is answered, by its place, and the reply's tokens so far."""

COPY_DIFFERENCE = "copied_state_difference"
_OWN = ("pixel_values", "image_")
"""How names of inputs begin that belong to pictures, and not to rows."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelState:
    """State of `generate` after sequences of one length, a row each, with the logits of the next token.

    `model` is the one that generates, or the language model within it; `given` is what it is called with.
    """

    model: Any
    ids: "Tensor"
    given: dict[str, Any]
    logits: "Tensor"

    @classmethod
    def after(cls, loaded: Loaded, inputs: "Mapping[str, Tensor]") -> "ModelState":
        """Have a model read a processor's inputs, one row."""
        import torch  # noqa: PLC0415

        states: list[ModelState] = []

        def hold(model: Any, input_ids: Any, generation_config: Any, **keywords: Any) -> Any:
            for unused in ("logits_processor", "stopping_criteria", "synced_gpus", "streamer"):
                keywords.pop(unused, None)
            states.append(
                cls._from_output(model, input_ids, keywords, model._prefill(input_ids, generation_config, keywords))
            )
            return input_ids

        with torch.inference_mode(), calling(), silence(), bare(loaded.model):
            loaded.model.generate(**inputs, generation_config=settings(1), custom_generate=hold)
        if len(states) != 1 or len(states[0].logits) != 1:
            raise Rejected("generate() goes ways of its own")
        return states[0]

    @property
    def length(self) -> int:
        """Tokens that were read."""
        return int(self.ids.shape[1])

    @property
    def size(self) -> int:
        """Bytes of what is kept."""
        return _size(list(self.given.values()))

    @classmethod
    def _from_output(cls, network: Any, ids: "Tensor", keywords: dict[str, Any], out: Any) -> "ModelState":
        more = network._update_model_kwargs_for_generation(
            out, keywords, is_encoder_decoder=network.config.is_encoder_decoder
        )
        return cls(network, ids, more, out.logits[:, -1].float())

    def extend_rows(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> "ModelState":
        """Return the state after more tokens, as many each, of copies of some rows; this one stays as it is."""
        import torch  # noqa: PLC0415

        new = torch.as_tensor(tokens, dtype=self.ids.dtype, device=self.ids.device)
        count, network = new.shape[1], self.model
        with torch.inference_mode(), calling():
            copies = self.part(rows)
            keywords, ids = copies.given, torch.cat([copies.ids, new], dim=1)
            if count > 1:  # what is given has room for one
                two_stacks = network.config.is_encoder_decoder
                keywords = network._update_model_kwargs_for_generation(
                    {}, keywords, two_stacks, num_new_tokens=count - 1
                )
            inputs = network.prepare_inputs_for_generation(ids, next_sequence_length=count, **keywords)
            return self._from_output(network, ids, keywords, network(**inputs, return_dict=True))

    def part(self, rows: Sequence[int]) -> "ModelState":
        """Return copies of some rows."""
        import torch  # noqa: PLC0415

        at = torch.as_tensor(rows, device=self.ids.device)
        keywords = {name: _copy_rows(name, value, at, len(self.logits)) for name, value in self.given.items()}
        return ModelState(self.model, self.ids[at], keywords, self.logits[at])


def _copy_rows(name: str, value: Any, at: "Tensor", rows: int) -> Any:
    """Return copies of some rows of what `generate` keeps."""
    import torch  # noqa: PLC0415

    if isinstance(value, torch.Tensor):
        if name == "position_ids":  # where pictures have positions by height and width, those come first
            return value.index_select(-2, at.to(value.device))
        is_own = value.ndim and len(value) == rows and not name.startswith(_OWN)
        return value.index_select(0, at.to(value.device)) if is_own else value
    if hasattr(value, "reorder_cache"):
        copied = deepcopy(value)
        copied.reorder_cache(at)
        return copied
    if isinstance(value, Mapping):
        return type(value)(**{key: _copy_rows(key, element, at, rows) for key, element in value.items()})
    return value


def _size(value: Any) -> int:
    """Return the bytes of all tensors in something that `generate` keeps."""
    import torch  # noqa: PLC0415

    if isinstance(value, torch.Tensor):
        return value.nbytes
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return _size(vars(value)) if hasattr(value, "reorder_cache") else 0


class Resumed:
    """Replies that grow from what `generate` keeps after prompts of one length, a row of the state for each member."""

    def __init__(self, state: ModelState, members: Sequence[int] = (0,)) -> None:
        self._root = self._front = state
        self._starts: list[Path] = [(member, ()) for member in members]
        self._rows = self._starts

    def read(self, paths: Sequence[Path]) -> "Tensor":
        """Compute what follows beginnings of replies, by member: logits, float32, (len(paths), vocabulary).

        One pass for each token of the longest; fewer where they all go on from the ends that were read last.
        """
        import torch  # noqa: PLC0415

        depth, before = len(self._rows[0][1]), set(self._rows)
        if not all(len(reply) > depth and (member, reply[:depth]) in before for member, reply in paths):
            self._front, self._rows, depth = self._root, self._starts, 0
        logits_by_path: dict[Path, Tensor] = dict(zip(self._starts, self._root.logits, strict=True))
        for length in range(depth + 1, max(len(reply) for _, reply in paths) + 1):
            level = list(dict.fromkeys((member, reply[:length]) for member, reply in paths if len(reply) >= length))
            places = {path: row for row, path in enumerate(self._rows)}
            above = [places[member, reply[:-1]] for member, reply in level]
            self._front, self._rows = self._front.extend_rows(above, [reply[-1:] for _, reply in level]), level
            logits_by_path |= dict(zip(level, self._front.logits, strict=True))
        return torch.stack([logits_by_path[path] for path in paths])


def resumes(loaded: Loaded, inputs: "Mapping[str, Tensor]") -> bool:
    """Return whether replies continued from copies equal those of the model's own `generate`; tried once."""
    form = ("resumed", *sorted(inputs))
    if form not in loaded.at_once:
        loaded.at_once[form] = _is_resumable(loaded, inputs)
    return loaded.at_once[form]


def _is_resumable(loaded: Loaded, inputs: "Mapping[str, Tensor]") -> bool:
    import torch  # noqa: PLC0415

    words = [token for token in inputs["input_ids"][0].tolist() if token not in loaded.marks]
    first, second = tuple(words[-3:]), (words[-3], *words[:2])
    more = (*second[:2], first[2])  # so that there are more rows than before
    want = [forced_logits(loaded, inputs, reply, range(4)) for reply in (first, second, more)]
    try:
        replies = Resumed(ModelState.after(loaded, inputs))
        calls = ([(), first[:1], first[:2], second[:2]], [first, second, more], [first[:1]])
        logits_of_calls = [replies.read([(0, reply) for reply in call]) for call in calls]
    except (Rejected, TypeError, AttributeError, KeyError):  # a cache or a `generate` that cannot be copied
        return False
    expected = [want[0][0], want[0][1], want[0][2], want[1][2], want[0][3], want[1][3], want[2][3], want[0][1]]
    return loaded.agrees(COPY_DIFFERENCE, gap(torch.cat(logits_of_calls), torch.stack(expected)))
